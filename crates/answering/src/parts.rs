//! Splits a question in two parts: "What city does my brother live in, and who does he work for?".

use super::{
    lexicon::is_person_noun,
    question::Question,
    words::{is_first_person, words},
};

const QUESTION_WORDS: [&str; 8] = ["who", "whom", "what", "which", "where", "when", "how", "since"];

/// Returns both questions, or `None` if there is only one. `parse` parses a question.
///
/// A pronoun in the second one becomes the one that the first is about.
pub(super) fn split(text: &str, parse: impl Fn(&str) -> Question) -> Option<[String; 2]> {
    let spoken = words(text);
    let starts = |i: usize| spoken.get(i).is_some_and(|w| QUESTION_WORDS.contains(&w.plain.as_str()));
    let opens = spoken.iter().take(3).any(|w| QUESTION_WORDS.contains(&w.plain.as_str()));
    let and = (2..spoken.len()).find(|i| spoken[*i].plain == "and" && (starts(i + 1) || starts(i + 2)) && spoken.len() > i + 3)?;
    let first = text.get(..spoken[and].span.0).filter(|_| opens)?.trim_end_matches([' ', ',']);
    let second = text.get(spoken[and].span.1..)?.trim_start();
    let (one, two) = (parse(first), parse(second));
    let own = |n: &&super::names::NameMention| !n.possessive || one.words.get(n.end).is_some_and(|w| is_person_noun(&w.plain));
    let about = one.named.iter().filter(own).find(|n| n.possessive || !is_first_person(&one.words[n.start].plain))?;
    let end = about.end + usize::from(about.possessive);
    let antecedent = first.get(one.words.get(about.start)?.span.0..one.words.get(end - 1)?.span.1)?;
    let antecedent = antecedent.trim_end_matches("'s").trim_end_matches("’s");
    let Some(pronoun) = two.words.iter().find(|w| matches!(w.plain.as_str(), "he" | "she" | "they" | "his" | "her" | "their")) else {
        return Some([first.to_owned(), second.to_owned()]);
    };
    let possessive = if matches!(pronoun.plain.as_str(), "his" | "her" | "their") { "'s" } else { "" };
    let (start, end) = pronoun.span;
    Some([first.to_owned(), format!("{}{antecedent}{possessive}{}", second.get(..start)?, second.get(end..)?)])
}
