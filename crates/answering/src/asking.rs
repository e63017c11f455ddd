//! Finds the question in a message, apart from what the message tells.

use std::ops::Range;

use super::{question::is_subject_pronoun, words::words};

/// Returns the byte range of the question in a message: its last sentence with a question mark, or all of it. What the sentence tells besides is left out.
pub(super) fn asking_part(text: &str) -> Range<usize> {
    let Some(end) = text.rfind('?') else { return without_told(text, 0..text.len()) };
    let before = &text[..end];
    let start = before.rfind(['.', '!', '?', '\n', ';']).filter(|i| before[i + 1..].split_whitespace().count() >= 2).map_or(0, |i| i + 1);
    without_told(text, start..end)
}

/// Leaves out a statement that a comma joins to a question: "What can I eat, I'm vegan", "I'm vegan, what can I eat".
fn without_told(text: &str, part: Range<usize>) -> Range<usize> {
    const QUESTION_WORDS: [&str; 8] = ["what", "where", "who", "which", "how", "when", "why", "whose"];
    let all = words(&text[part.clone()]);
    let plain = |i: usize| all.get(i).map_or("", |w| w.plain.as_str());
    let asks = |i: usize| {
        let is_inverted =
            matches!(plain(i), "can" | "could" | "should" | "may" | "do" | "does" | "did" | "is" | "are" | "am" | "have" | "has");
        QUESTION_WORDS.contains(&plain(i)) || is_inverted && is_subject_pronoun(plain(i + 1))
    };
    let be = ["am", "is", "are", "have", "has"];
    let tells = |i: usize| match plain(i).split_once('\'') {
        Some((subject, verb)) => is_subject_pronoun(subject) && matches!(verb, "m" | "s" | "re" | "ve"),
        None => is_subject_pronoun(plain(i)) && be.contains(&plain(i + 1)),
    };
    let is_after_comma = |i: usize| text[part.start + all[i - 1].span.1..part.start + all[i].span.0].contains(',');
    // "Should I say, I'm vegan?"
    let is_object = |i: usize| matches!(plain(i - 1), "say" | "think" | "know" | "mean" | "tell" | "believe" | "me" | "write");
    let Some(at) = (2..all.len()).find(|&i| is_after_comma(i) && (asks(0) && tells(i) && !is_object(i) || tells(0) && asks(i))) else {
        return part;
    };
    match asks(0) {
        true => part.start..part.start + all[at - 1].span.1,
        false => part.start + all[at].span.0..part.end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn told_clause_is_no_part_of_the_question() {
        for (text, expected) in [
            ("What can I eat, I'm vegan?", "What can I eat"),
            ("What can I cook for Ann, she's vegan", "What can I cook for Ann"),
            ("I'm vegan, what can I eat?", "what can I eat"),
            ("We have a dog, can we go there?", "can we go there"),
            ("Should I say, I'm vegan?", "Should I say, I'm vegan"),
            ("Does Ann, my sister, live in Rome?", "Does Ann, my sister, live in Rome"),
            ("I like it. Where do I live?", " Where do I live"),
        ] {
            assert_eq!(&text[asking_part(text)], expected, "{text}");
        }
    }
}
