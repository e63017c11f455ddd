//! Decides the kind of a message from what the rules and the network say.

use recall_domain::{Extraction, MessageKind};

/// Verbs after "I need to" that ask the assistant for something.
const REQUESTS: &[&str] =
    &["know", "find", "understand", "learn", "see", "check", "figure", "decide", "choose", "write", "translate", "hear"];

/// Past forms with which people begin to tell what they did, besides those in "-ed".
const DEEDS: &[&str] = &[
    "bought", "got", "paid", "went", "met", "made", "sold", "lost", "found", "left", "gave", "took", "saw", "had", "sent", "began",
    "spent", "lent", "ate", "ran", "won", "built", "wrote", "taught", "drove", "flew",
];

/// Fewest digits of a code. Times and ages have fewer.
const MIN_DIGITS: usize = 3;

/// Returns the kind that the network says, unless it takes for a question what the speaker tells.
pub(crate) fn kind_of(text: &str, rules: &Extraction, by_network: MessageKind) -> MessageKind {
    let is_told = rules.kind == MessageKind::Statement && !rules.facts.is_empty() && declares(text);
    if by_network == MessageKind::Question && is_told { rules.kind } else { by_network }
}

/// Whether the first words of a text say that it tells something: "I need to call the plumber", "Did I mention that …", "Ordered a sofa". What somebody needs
/// to know, or needs without a verb, is a request to the assistant.
fn declares(text: &str) -> bool {
    let text = text.trim_start().to_lowercase().replace('’', "'");
    let after = |beginnings: &[&str]| beginnings.iter().find_map(|beginning| text.strip_prefix(beginning)?.strip_prefix(' '));
    let is_request = |rest: &str| REQUESTS.contains(&rest.split(' ').next().unwrap_or_default());
    after(&["i need to", "we need to"]).is_some_and(|rest| !is_request(rest) && !text.contains('?'))
        || !text.contains('?') && (tells_deed(&text) || tells_code(&text))
        || after(&["did i", "have i", "can you", "could you", "remind me that"]).is_some()
}

/// Whether a text in lower case begins with what the speaker did: "ordered a sofa", but not "got any tips" or "need a recipe".
fn tells_deed(text: &str) -> bool {
    let mut words = text.split(' ');
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_past = first.len() > 5 && first.ends_with("ed") && !first.ends_with("eed") || DEEDS.contains(&first);
    is_past && !matches!(second, "any" | "some" | "anything" | "anyone")
}

/// Whether a text ends with a number or a code after "is": "hotel confirmation number is QX7781".
fn tells_code(text: &str) -> bool {
    let digits = |word: &str| word.chars().filter(char::is_ascii_digit).count();
    text.split_once(" is ").is_some_and(|(_, rest)| rest.split(' ').next_back().is_some_and(|last| digits(last) >= MIN_DIGITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_speaker_needs_is_told() {
        for (text, expected) in [
            ("I need to call the plumber on Monday", true),
            ("Did I mention my brother Al is a pilot?", true),
            ("ordered a sofa from Ikea", true),
            ("Bought a bike today.", true),
            ("hotel confirmation number is QX7781", true),
            ("Need a recipe for bread", false),
            ("what is 12 by 1234?", false),
            ("the meeting is at 10", false),
            ("Got any tips for my wife Anna who lives in Lisbon", false),
            ("Indeed my wife Anna lives in Lisbon", false),
            ("I need to know where Ann lives", false),
            ("I need a recipe for lasagne", false),
            ("I'm looking for a restaurant in Porto", false),
            ("Is my brother a pilot?", false),
            ("In May it rains", false),
        ] {
            assert_eq!(declares(text), expected, "{text}");
        }
    }
}
