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

/// Removes the openers of a sentence, as long as a clause is left. Returns whether one of them asks to remember it.
pub(super) fn remove_openers(tokens: &mut Vec<Token>) -> bool {
    let mut is_ordered = false;
    loop {
        let order = opener(ORDERS_TO_REMEMBER, tokens);
        let Some(words) = order.or_else(|| opener(OPENERS, tokens)) else { return is_ordered };
        let separators = tokens[words..].iter().take_while(|t| is_separator(t)).count();
        let rest = &tokens[words + separators..];
        if rest.iter().filter(|t| t.pos != Pos::Punct).count() < 2 {
            return is_ordered;
        }
        is_ordered |= order.is_some();
        tokens.drain(..words + separators);
    }
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
            ("Oh, and btw I moved", "I moved"),
            ("Right now I live here", "Right now I live here"),
            ("Anyway.", "Anyway ."),
            ("Update the index", "Update the index"),
        ] {
            let mut tokens = tokenise(&clean(text));
            assert_eq!(remove_openers(&mut tokens), text.contains("remember"), "{text}");
            assert_eq!(tokens.iter().map(|t| t.text.as_str()).collect::<Vec<_>>().join(" "), expected, "{text}");
        }
    }
}
