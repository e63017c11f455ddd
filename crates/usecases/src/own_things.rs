//! Recognises how people tell things of theirs that they then ask to forget by a noun: "my address", "my salary".

/// Returns the noun of "my address", if it is all that the words say.
pub(super) fn owned_noun(words: &str) -> Option<String> {
    let words = words.to_lowercase();
    let noun = words.strip_prefix("my ").or_else(|| words.strip_prefix("our "))?.trim();
    (!noun.is_empty() && noun.chars().all(char::is_alphanumeric)).then(|| noun.to_owned())
}

/// Whether a text tells what the user's own thing is: "My address is …", but not "my address book is …".
pub(super) fn tells_own(text: &str, noun: &str) -> bool {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_colon = |word: &str| word.strip_suffix([':', '=']).is_some_and(|bare| bare == noun);
    let is_verb = |word: Option<&&str>| matches!(word, Some(&("is" | "was" | "=" | ":" | "will" | "has" | "are" | "were")));
    words
        .windows(2)
        .enumerate()
        .any(|(i, pair)| matches!(pair[0], "my" | "our") && (pair[1] == noun && is_verb(words.get(i + 2)) || is_colon(pair[1])))
}

/// Returns the verbs with which people tell a thing of theirs that they then ask to forget by its noun.
pub(super) fn verbs_of(noun: &str) -> &'static [&'static str] {
    match noun {
        "salary" | "income" | "pay" | "wage" | "wages" | "earnings" => &["earn", "make"],
        "address" => &["live"],
        _ => &[],
    }
}

/// Whether a text tells a number of the user with one of these verbs: "I make 42k", "I live at 12 Rose Lane".
pub(super) fn tells_with(text: &str, verbs: &[&str]) -> bool {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_number = |word: &str| word.trim_start_matches(['€', '$', '£']).starts_with(|c: char| c.is_ascii_digit());
    words.windows(2).enumerate().any(|(i, pair)| {
        let is_own = matches!(pair[0], "i" | "we") && verbs.contains(&pair[1]);
        let mut after = words[i + 2..].iter().skip_while(|word| matches!(**word, "at" | "in" | "about" | "around" | "number"));
        is_own && after.next().is_some_and(|word| is_number(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_things_are_told_with_a_verb() {
        assert_eq!(owned_noun("my address").as_deref(), Some("address"));
        assert_eq!([owned_noun("my home address"), owned_noun("the address"), owned_noun("my ")], [None, None, None]);
        assert!(tells_own("Hi, my address is 5 Elm Street", "address") && tells_own("My PIN: 4471", "pin"));
        assert!(!tells_own("I lost my address book", "address") && !tells_own("The address is known", "address"));
    }

    #[test]
    fn own_numbers_are_told_with_other_words() {
        for (text, noun, expected) in [
            ("I make 42k at Siemens", "salary", true),
            ("we live at 12 Rose Lane", "address", true),
            ("I earn about £31,000", "pay", true),
            ("I make cakes", "salary", false),
            ("I live in Lisbon", "address", false),
            ("I make 42k at Siemens", "address", false),
        ] {
            assert_eq!(tells_with(text, verbs_of(noun)), expected, "{text}");
        }
    }
}
