//! Splits a question in two parts: "What city does my brother live in, and who does he work for?".

use super::{
    lexicon::is_person_noun,
    names::NameMention,
    question::{Question, QuestionKind},
    words::{is_first_person, words},
};

const QUESTION_WORDS: [&str; 8] = ["who", "whom", "what", "which", "where", "when", "how", "since"];

/// Two questions in one sentence.
pub(super) struct Parts {
    /// The first, as text and parsed.
    pub(super) first: String,
    pub(super) one: Question,
    /// The second as asked, with its pronouns.
    pub(super) second: String,
}

impl Parts {
    /// Whether the first asks who someone's relative or colleague is, so that a pronoun in the second is the answer.
    pub(super) fn first_asks_who(&self) -> bool {
        self.one.kind == QuestionKind::Who && self.one.named.iter().any(|n| n.possessive)
    }
}

/// Finds the two questions, or `None` if there is only one. `parse` parses a question.
pub(super) fn find(text: &str, parse: impl Fn(&str) -> Question) -> Option<Parts> {
    let spoken = words(text);
    let starts = |i: usize| spoken.get(i).is_some_and(|w| QUESTION_WORDS.contains(&w.plain.as_str()));
    let opens = spoken.iter().take(3).any(|w| QUESTION_WORDS.contains(&w.plain.as_str()));
    let and = (2..spoken.len()).find(|i| spoken[*i].plain == "and" && (starts(i + 1) || starts(i + 2)) && spoken.len() > i + 3)?;
    let first = text.get(..spoken[and].span.0).filter(|_| opens)?.trim_end_matches([' ', ',']).to_owned();
    let second = text.get(spoken[and].span.1..)?.trim_start().to_owned();
    Some(Parts { one: parse(&first), first, second })
}

/// Returns both questions, or `None` if there is only one. `parse` parses a question.
///
/// A pronoun in the second one becomes the one that the first is about.
pub(super) fn split(text: &str, parse: impl Fn(&str) -> Question) -> Option<[String; 2]> {
    let Parts { first, one, second } = find(text, &parse)?;
    let two = parse(&second);
    let Some(pronoun) = two.words.iter().find(|w| matches!(w.plain.as_str(), "he" | "she" | "they" | "his" | "her" | "their")) else {
        return Some([first, second]);
    };
    let own = |n: &&NameMention| !n.possessive || one.words.get(n.end).is_some_and(|w| is_person_noun(&w.plain));
    let about = one.named.iter().filter(own).find(|n| n.possessive || !is_first_person(&one.words[n.start].plain))?;
    let end = about.end + usize::from(about.possessive);
    let antecedent = first.get(one.words.get(about.start)?.span.0..one.words.get(end - 1)?.span.1)?;
    let antecedent = antecedent.trim_end_matches("'s").trim_end_matches("’s");
    let possessive = if matches!(pronoun.plain.as_str(), "his" | "her" | "their") { "'s" } else { "" };
    let (start, end) = pronoun.span;
    Some([first.clone(), format!("{}{antecedent}{possessive}{}", second.get(..start)?, second.get(end..)?)])
}
