//! Tells from the roles next to a name that two people share it: "my mum Anna and my daughter Anna".

use std::collections::HashMap;
use std::sync::OnceLock;

const ROLES: &str = include_str!("../../../data/lexicon/roles.txt");

/// Class and common word of each word for a role.
fn roles() -> &'static HashMap<&'static str, (&'static str, &'static str)> {
    static ROLES_BY_WORD: OnceLock<HashMap<&'static str, (&'static str, &'static str)>> = OnceLock::new();
    ROLES_BY_WORD.get_or_init(|| {
        let lines = ROLES.lines().filter(|line| !line.starts_with('#'));
        let lists = lines.filter_map(|line| {
            let (head, words) = line.split_once(": ")?;
            Some((head.split(' ').next()?, words.split(", ").next()?, words))
        });
        lists.flat_map(|(class, name, words)| words.split(", ").map(move |word| (word, (class, name)))).collect()
    })
}

/// Whether nobody is said to be both in one message: a mother is no daughter, and a brother is no colleague. A boss may be a friend.
pub(crate) fn are_two_people(role: &str, other: &str) -> bool {
    let of = |word: &str| roles().get(word.to_lowercase().as_str());
    matches!((of(role), of(other)), (Some(a), Some(b)) if a.1 != b.1 && (a.0 == "kin" || b.0 == "kin"))
}

/// Whether people say a name after the word: "my niece rose". A service has things named after it: "my vet bill".
pub(crate) fn precedes_names(word: &str) -> bool {
    roles().get(word).is_some_and(|role| role.0 != "service")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kin_excludes_other_roles() {
        for (a, b, expected) in [
            ("mum", "daughter", true),
            ("brother", "colleague", true),
            ("Grandma", "niece", true),
            ("mum", "mother", false),
            ("boss", "friend", false),
            ("brother", "pilot", false),
        ] {
            assert_eq!(are_two_people(a, b), expected, "{a} and {b}");
            assert_eq!(are_two_people(b, a), expected, "{b} and {a}");
        }
    }
}
