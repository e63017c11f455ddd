//! Recognises words that limit when a statement holds: "on Fridays", "in two weeks". The rules and the network share them.

/// Weekdays without "day".
const WEEKDAYS: [&str; 7] = ["mon", "tues", "wednes", "thurs", "fri", "satur", "sun"];
const MONTHS: [&str; 12] =
    ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];
const PARTS_OF_DAYS: [&str; 6] = ["weekends", "mornings", "afternoons", "evenings", "nights", "night"];

/// A month that a word names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedMonth {
    /// 1 to 12.
    pub number: u32,
    /// Whether the word is a short form: "aug", "sept".
    pub is_short: bool,
}

/// Returns the month that a lower-case word names, in full or by its short form. "May" is in full.
pub fn named_month(word: &str) -> Option<NamedMonth> {
    let is_short = |month: &str| month != word && (word == "sept" || word.len() == 3) && month.starts_with(word);
    let (number, month) = (1..).zip(MONTHS).find(|(_, month)| *month == word || is_short(month))?;
    Some(NamedMonth { number, is_short: is_short(month) })
}

/// Whether a lower-case word is a weekday or a month.
pub fn is_weekday_or_month(word: &str) -> bool {
    MONTHS.contains(&word) || word.strip_suffix("day").is_some_and(|day| WEEKDAYS.contains(&day))
}

/// Whether lower-case words limit a statement to some days or times of day: "on fridays", "at weekends", "in the mornings".
pub fn is_of_some_days(words: &[&str]) -> bool {
    let is_weekday = |word: &str| word.strip_suffix("days").is_some_and(|day| WEEKDAYS.contains(&day));
    let is_part = |word: &&str| PARTS_OF_DAYS.contains(word) || is_weekday(word);
    (0..words.len()).any(|i| {
        let after = if words.get(i + 1) == Some(&"the") { i + 2 } else { i + 1 };
        matches!(words[i], "on" | "at" | "in") && words.get(after).is_some_and(is_part)
    })
}

/// Whether lower-case words tell a day to come: "tomorrow", "on monday", "in two weeks". `is_date` recognises what may follow a preposition.
pub fn has_day_to_come(words: &[&str], is_date: impl Fn(&str) -> bool) -> bool {
    let is_date = |i: usize| words.get(i).is_some_and(|word| is_date(word));
    (0..words.len()).any(|i| match words[i] {
        "tomorrow" | "soon" | "next" => true,
        "on" | "from" => is_date(i + 1) || is_date(i + 2),
        "in" => is_date(i + 1) || is_date(i + 2) || words.get(i + 2) == Some(&"weeks"),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        text.split(' ').collect()
    }

    #[test]
    fn months_have_names_and_short_forms() {
        let found = |word| named_month(word).map(|month| (month.number, month.is_short));
        assert_eq!(["may", "august", "aug", "sept"].map(found), [Some((5, false)), Some((8, false)), Some((8, true)), Some((9, true))]);
        assert_eq!(["marc", "ju", "monday", ""].map(found), [None; 4]);
    }

    #[test]
    fn some_days_are_recognized() {
        for (text, expected) in [
            ("i work there on fridays", true),
            ("at weekends", true),
            ("in the mornings", true),
            ("on friday", false),
            ("on the mondays", true),
            ("the nights are long", false),
        ] {
            assert_eq!(is_of_some_days(&words(text)), expected, "{text}");
        }
    }

    #[test]
    fn days_to_come_are_recognized() {
        for (text, expected) in [
            ("i start there tomorrow", true),
            ("i start there on monday", true),
            ("i start there in two weeks", true),
            ("i start there in early may", true),
            ("i start there at ikea", false),
            ("on mondays", false),
        ] {
            assert_eq!(has_day_to_come(&words(text), is_weekday_or_month), expected, "{text}");
        }
    }
}
