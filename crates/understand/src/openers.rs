//! Finds the words that open a sentence without being part of what it says: "For the record, …", "Turns out …", "Remember that …".

use super::tokens::{Pos, Token};

/// Openers that ask to keep what follows.
const ORDERS_TO_REMEMBER: &[&str] = &[
    "please remember that",
    "remember that",
    "do not forget that",
    "never forget that",
    "please note that",
    "kindly note that",
    "note that",
    "keep in mind that",
    "bear in mind that",
    "please save that",
    "please store that",
    "please store",
    "add to memory",
    "please remind me that",
    "remind me that",
];

/// Openers that ask the addressee to keep what follows, after "can you" and the like.
const REQUESTS_TO_REMEMBER: &[&str] = &[
    "remember that",
    "note that",
    "note down that",
    "make a note that",
    "keep in mind that",
    "bear in mind that",
    "save that",
    "store that",
    "remind me that",
];

/// Polite words before them.
const POLITE: &[&str] =
    &["can you please", "could you please", "would you please", "can you", "could you", "would you", "will you", "can u"];

/// Questions that tell what follows: "Did I mention Al is a pilot?"
const TELLING_QUESTIONS: &[&str] = &[
    "did i mention to you that",
    "did i mention that",
    "did i mention",
    "did i tell you that",
    "did i tell you",
    "have i told you that",
    "have i told you",
    "have i mentioned that",
    "have i mentioned",
    "did you know that",
    "did you know",
];

/// Other openers in lower case, with contractions split. One that begins another comes later.
const OPENERS: &[&str] = &[
    "please be advised that",
    "please be informed that",
    "be informed that",
    "i hereby inform you that",
    "i regret to inform you that",
    "just so you know",
    "just for the record",
    "for the record",
    "for your notes",
    "for your records",
    "for context",
    "some context",
    "for what it is worth",
    "it turns out that",
    "it turns out",
    "turns out that",
    "turns out",
    "turned out",
    "believe it or not",
    "long story short",
    "between you and me",
    "between us",
    "which reminds me",
    "truth be told",
    "to be honest",
    "to be fair",
    "not going to lie",
    "fun fact",
    "small correction",
    "quick correction",
    "correction",
    "quick update",
    "small update",
    "update",
    "reminder",
    "heads up",
    "confession",
    "good news",
    "bad news",
    "note to self",
    "news",
    "edit",
    "ps",
    "p.s.",
    "nb",
    "in other news",
    "by the way",
    "as of today",
    "as of now",
    "can confirm",
    "good catch",
    "scratch that",
    "i mean",
    "idk man",
    "idk",
    "oh",
    "fyi",
    "btw",
    "tbh",
    "fwiw",
    "honestly",
    "seriously",
    "actually",
    "basically",
    "anyway",
    "anyways",
    "also",
    "ok so",
    "okay so",
    "ok",
    "okay",
    "so",
    "well",
    "right",
    "and",
    "but",
];

/// Openers that are also other words: only a comma or a colon after them makes them openers.
const WITH_COMMA: &[&str] = &["right", "well", "news", "edit", "update", "reminder", "correction", "so", "okay", "ok", "turned out", "oh"];

/// What the removed openers of a sentence say about the rest.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Opening {
    /// One of them asks to remember it.
    pub(super) is_ordered: bool,
    /// One of them has the form of a question, so the rest tells something only if it is a clause.
    pub(super) is_asked: bool,
}

/// Removes the openers of a sentence, as long as a clause is left.
pub(super) fn remove_openers(tokens: &mut Vec<Token>) -> Opening {
    let mut opening = Opening::default();
    loop {
        let order = opener(ORDERS_TO_REMEMBER, tokens);
        let request = request_to_remember(tokens);
        let question = request.or_else(|| opener(TELLING_QUESTIONS, tokens));
        let Some(words) = order.or(question).or_else(|| opener(OPENERS, tokens)) else { return opening };
        let separators = tokens[words..].iter().take_while(|t| is_separator(t)).count();
        let rest = &tokens[words + separators..];
        if rest.iter().filter(|t| t.pos != Pos::Punct).count() < 2 {
            return opening;
        }
        opening.is_ordered |= order.or(request).is_some();
        opening.is_asked |= order.is_none() && question.is_some();
        tokens.drain(..words + separators);
    }
}

/// Whether a sentence asks only whether something was told, which the sentence before tells: "I have a parrot, did I tell you?"
pub(super) fn asks_whether_told(tokens: &[Token]) -> bool {
    let words: Vec<&str> = tokens.iter().filter(|t| t.pos != Pos::Punct).map(|t| t.norm.as_str()).collect();
    TELLING_QUESTIONS.contains(&words.join(" ").as_str())
}

/// Returns the number of tokens of "can you remember that" and the like.
fn request_to_remember(tokens: &[Token]) -> Option<usize> {
    let polite = opener(POLITE, tokens)?;
    let rest = &tokens[polite..];
    Some(polite + opener(REQUESTS_TO_REMEMBER, rest).or_else(|| order_before_clause(rest))?)
}

/// Returns the length of "remember" before a clause about the speaker: "remember my bike is at Tom's", but not "remember my name" or "what I said".
fn order_before_clause(tokens: &[Token]) -> Option<usize> {
    const OWN: [&str; 4] = ["i", "we", "my", "our"];
    const VERBS: [&str; 14] = ["am", "are", "'m", "'re", "'ve", "'ll", "is", "has", "have", "had", "was", "were", "will", "need"];
    let [order, own, rest @ ..] = tokens else { return None };
    let is_own = matches!(order.norm.as_str(), "remember" | "note" | "save") && OWN.contains(&own.norm.as_str());
    let clause = rest.iter().take_while(|t| !matches!(t.norm.as_str(), "who" | "which" | "that" | "what" | "where" | "when" | "i" | "we"));
    (is_own && clause.take(5).any(|t| VERBS.contains(&t.norm.as_str()))).then_some(1)
}

fn is_separator(t: &Token) -> bool {
    t.pos == Pos::Punct && t.norm.starts_with([',', ':', '-', '—', '–', '.', '…'])
}

/// Returns the number of tokens of the opener that the sentence begins with.
fn opener(openers: &[&str], tokens: &[Token]) -> Option<usize> {
    openers.iter().find_map(|opener| {
        let words = opener.split(' ').count();
        let matches = tokens.len() > words && opener.split(' ').zip(tokens).all(|(w, t)| t.norm == w);
        let closed = || is_separator(&tokens[words]);
        (matches && (!WITH_COMMA.contains(opener) || closed())).then_some(words)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{normalise::clean, tokens::tokenise};

    #[test]
    fn openers_are_removed_if_a_clause_is_left() {
        for (text, expected) in [
            ("Turns out I hate running", "I hate running"),
            ("For the record, Ann likes tea", "Ann likes tea"),
            ("Correction: it is Lisbon", "it is Lisbon"),
            ("Please remember that Ann likes tea", "Ann likes tea"),
            ("Can you please remember that Ann likes tea?", "Ann likes tea ?"),
            ("Can you remember Ann?", "Can you remember Ann ?"),
            ("Can you remember my bike is at Tom's", "my bike is at Tom 's"),
            ("Can you remember I've a meeting at 3?", "I 've a meeting at 3 ?"),
            ("Can you remember my name?", "Can you remember my name ?"),
            ("Can you remember the film that we saw?", "Can you remember the film that we saw ?"),
            ("Oh, and btw I moved", "I moved"),
            ("Right now I live here", "Right now I live here"),
            ("Anyway.", "Anyway ."),
            ("Update the index", "Update the index"),
        ] {
            let mut tokens = tokenise(&clean(text));
            let opening = remove_openers(&mut tokens);
            let is_asked = text.starts_with("Can you") && !expected.starts_with("Can you");
            assert_eq!((opening.is_ordered, opening.is_asked), (is_asked || text.contains("that Ann"), is_asked), "{text}");
            assert_eq!(tokens.iter().map(|t| t.text.as_str()).collect::<Vec<_>>().join(" "), expected, "{text}");
        }
    }
}
