//! Recognises sentences that deny as a whole what they tell: "It is not true that Rita lives in Faro." Pure.
//!
//! Readers find the fact in the part behind "that" and may read it as affirmed.

use recall_domain::{Span, Stance};

/// Beginnings of sentences that deny what follows, in lower case.
const DENIALS: &[&str] = &[
    "i deny that",
    "it is not true that",
    "it's not true that",
    "it isn't true that",
    "it is untrue that",
    "it's untrue that",
    "it is false that",
    "it's false that",
    "it is wrong that",
    "it's wrong that",
    "it is not the case that",
    "it's not the case that",
    "i was wrong that",
    "i was mistaken that",
    "not true that",
];
/// Beginnings of sentences that say that what follows has ended.
const ENDS: &[&str] =
    &["it is no longer true that", "it's no longer true that", "it is not true anymore that", "it's not true anymore that"];
/// Words before the correct statement in the same sentence.
const TURNS: &[&str] = &[" but ", ", instead "];
/// Words before such a beginning.
const BEFORE: &[&str] = &["no, ", "actually, ", "actually ", "correction: ", "sorry, ", "and ", "but "];

/// Returns what a sentence that begins with a denial says about the fact in a span of it; `None` if it begins otherwise.
pub(super) fn denied_as(text: &str, span: Span) -> Option<Stance> {
    let chars: Vec<char> = text.chars().collect();
    let sentence = span.sentence(&chars);
    let end = (span.end as usize).min(sentence.end);
    // The end of the fact is in it, so that a turn after the fact does not count.
    let told: String = chars.get(sentence.start..end)?.iter().collect::<String>().to_lowercase().replace('’', "'");
    let told = told.trim_start();
    let told = BEFORE.iter().find_map(|word| told.strip_prefix(word)).unwrap_or(told).trim_start();
    let begins = |list: &[&str]| list.iter().any(|opening| told.strip_prefix(opening).is_some_and(|rest| rest.starts_with(' ')));
    let stance = match (begins(ENDS), begins(DENIALS)) {
        (true, _) => Stance::Ends,
        (_, true) => Stance::Opposes,
        _ => return None,
    };
    (!TURNS.iter().any(|turn| told.contains(turn))).then_some(stance)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn denial_at_the_beginning_of_its_sentence_counts() {
        let read = |text: &str, words: &str| {
            let start = text[..text.find(words).unwrap()].chars().count() as u32;
            denied_as(text, Span { start, end: start + words.chars().count() as u32 })
        };
        for text in [
            "I deny that Rita lives in Faro.",
            "Hello! It's not true that Rita lives in Faro",
            "No, it isn’t true that Rita lives in Faro.",
            "It is false that Rita lives in Faro.",
        ] {
            assert_eq!(read(text, "Rita lives in Faro"), Some(Stance::Opposes), "{text}");
            assert_eq!(read(text, "that Rita lives in Faro"), Some(Stance::Opposes), "{text}");
        }
        assert_eq!(read("It is no longer true that Rita lives in Faro.", "Rita lives in Faro"), Some(Stance::Ends));
        for (text, words) in [
            ("Rita lives in Faro.", "Rita lives in Faro"),
            ("It is true that Rita lives in Faro.", "Rita lives in Faro"),
            ("It is not true that Rita lives in Faro. Ana lives in Rome.", "Ana lives in Rome"),
            ("It is not true that Rita lives in Faro, but Ana lives in Faro.", "Ana lives in Faro"),
            ("I doubt that Rita lives in Faro.", "Rita lives in Faro"),
        ] {
            assert_eq!(read(text, words), None, "{text}");
        }
    }
}
