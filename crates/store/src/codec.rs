//! Encodes single column values in the form that all engines use.

use std::time::Duration;

use recall_domain::fold;
use serde::Serialize;

use super::Refusal;

/// A counter as the column type. Counters start at 0 and grow by one, so they never leave the range.
pub fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// A duration in whole milliseconds.
pub fn duration_millis(d: Duration) -> i64 {
    i64::try_from(d.as_millis()).unwrap_or(i64::MAX)
}

/// The similarity of two vectors at a cosine distance, from -1 to 1.
///
/// The distance is computed in `f32`, so a rounding error may put it outside the interval.
#[allow(clippy::cast_possible_truncation)]
pub fn similarity(distance: f64) -> f32 {
    (1.0 - distance).clamp(-1.0, 1.0) as f32
}

/// Serializes one of our own types as JSON. This succeeds for all of them.
///
/// # Errors
/// `Unstorable`, with what `what` says.
pub fn json<T: Serialize + ?Sized>(value: &T, what: &'static str) -> Result<String, Refusal> {
    serde_json::to_string(value).map_err(|_| Refusal::Unstorable(what))
}

/// Serializes a client's JSON, if it can be read back.
///
/// JSON nested deeper than the parser's limit could be written but never read. It would break every list with its message.
///
/// # Errors
/// `Unstorable`, with what `what` says.
pub fn client_json(value: &serde_json::Value, what: &'static str) -> Result<String, Refusal> {
    let text = json(value, what)?;
    serde_json::from_str::<serde_json::Value>(&text).map_err(|_| Refusal::Unstorable(what))?;
    Ok(text)
}

/// The text that entity searches look in: all names [`fold`]ed, one a line.
pub fn search_text(name: &str, aliases: &[String]) -> String {
    let names = std::iter::once(name).chain(aliases.iter().map(String::as_str));
    names.map(fold).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use recall_domain::ACCENTED;

    use super::*;

    #[test]
    fn searches_look_in_all_names() {
        assert_eq!(search_text("Zoë", &["Zoé B.".to_owned()]), "zoe\nzoe b.");
    }

    #[test]
    fn migrations_fold_the_same_letters() {
        let pairs: Vec<(char, char)> =
            ACCENTED.iter().flat_map(|(plain, accented)| accented.chars().map(|letter| (letter, *plain))).collect();
        let sqlite = include_str!("../../../migrations/sqlite/0044_accents.sql");
        let postgres = include_str!("../../../migrations/postgres/0044_accents.sql");
        for (letter, plain) in &pairs {
            assert!(sqlite.contains(&format!("'{letter}', '{plain}'")), "{letter}");
        }
        assert_eq!(sqlite.matches("replace(").count(), 2 * pairs.len());
        let lists: Vec<&str> = postgres.split('\'').filter(|part| part.chars().count() == pairs.len()).collect();
        for pair in lists.chunks(2) {
            let mut migrated: Vec<(char, char)> = pair[0].chars().zip(pair[1].chars()).collect();
            migrated.sort_by_key(|(letter, _)| pairs.iter().position(|(known, _)| known == letter));
            assert_eq!(migrated, pairs);
        }
        assert_eq!(lists.len(), 4);
    }

    #[test]
    fn too_deeply_nested_json_is_refused() {
        let mut value = serde_json::Value::Null;
        for _ in 0..200 {
            value = serde_json::Value::Array(vec![value]);
        }
        assert_eq!(client_json(&value, "it"), Err(Refusal::Unstorable("it")));
    }
}
