//! Removes quotations of several sentences and of the first person: what somebody else said is no statement of the speaker.

use recall_domain::FirstPerson;

use super::tokens::{Pos, Token};

/// Removes the words between two quotation marks if a sentence ends between them, or if they say "I" or "my".
pub(super) fn remove_quotations(tokens: &mut Vec<Token>) {
    let mut from = 0;
    while let Some(open) = (from..tokens.len()).find(|&i| tokens[i].is("\"")) {
        let Some(close) = (open + 1..tokens.len()).find(|&i| tokens[i].is("\"")) else { return };
        let inner = &tokens[open + 1..close];
        let ends = |t: &Token| t.pos == Pos::Break || t.pos == Pos::Punct && t.norm.starts_with(['.', '!', '?']);
        let several = inner.split_last().is_some_and(|(_, before)| before.iter().any(ends));
        let own_words = inner.len() > 2 && inner.iter().any(|t| FirstPerson::of(&t.norm).is_some_and(FirstPerson::acts_or_owns));
        if several || own_words {
            tokens.drain(open + 1..close);
            from = open + 2;
        } else {
            from = close + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{normalise::clean, tokens::tokenise};

    #[test]
    fn quotations_of_several_sentences_are_removed() {
        for (text, expected) in [
            ("She read: \"I moved. I regret nothing.\" I liked it.", "She read : \" \" I liked it ."),
            ("I read \"The Matrix\" twice.", "I read \" The Matrix \" twice ."),
            ("She said \"I own a horse\" again.", "She said \" \" again ."),
            ("a 5\" pipe. Long.", "a 5 \" pipe . Long ."),
        ] {
            let mut tokens = tokenise(&clean(text));
            remove_quotations(&mut tokens);
            assert_eq!(tokens.iter().map(|t| t.text.as_str()).collect::<Vec<_>>().join(" "), expected, "{text}");
        }
    }
}
