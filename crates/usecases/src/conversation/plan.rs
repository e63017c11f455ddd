//! Decides which messages of a conversation are new. Pure.

use std::collections::HashMap;

use super::{super::resources::Attachment, Turn, chain::answer_key};
use recall_domain::{Role, UserText};

/// A message of a conversation that is not stored yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unstored {
    /// The key, which becomes the client's id of the message.
    pub(super) key: String,
    pub(super) role: Role,
    pub(super) text: UserText,
    pub(super) attachments: Vec<Attachment>,
}

/// Returns the new messages in order, and the index of the first new user message.
///
/// An answer is new if no answer to its user message is known: the conversation began elsewhere, or the answer was not recorded. Answers
/// before the last known user message are not stored any more, because they would come after it.
pub(super) fn unstored<V>(turns: &[Turn], keys: &[String], known: &HashMap<String, V>) -> (Vec<Unstored>, Option<usize>) {
    let last_known = keys.iter().rposition(|key| known.contains_key(key)).unwrap_or(0);
    let (mut new, mut first) = (Vec::new(), None);
    for (at, (turn, key)) in turns.iter().zip(keys).enumerate() {
        if !known.contains_key(key) && !(is_blank(&turn.text) && turn.attachments.is_empty()) {
            first.get_or_insert(at);
            let (text, attachments) = (turn.text.clone(), turn.attachments.clone());
            new.push(Unstored { key: key.clone(), role: Role::User, text, attachments });
        }
        if at < last_known || known.contains_key(&answer_key(key, 0)) {
            continue;
        }
        let answers = turn.answers.iter().filter(|text| !is_blank(text)).enumerate();
        let answer = |(n, text): (usize, &UserText)| Unstored {
            key: answer_key(key, n),
            role: Role::Assistant,
            text: text.clone(),
            attachments: Vec::new(),
        };
        new.extend(answers.map(answer));
    }
    (new, first)
}

/// Whether a message has no text, such as an image.
pub(super) fn is_blank(text: &UserText) -> bool {
    text.as_str().trim().is_empty()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::{super::chain::keys_of, *};

    fn turn(text: &str, answers: &[&str]) -> Turn {
        Turn { text: text.into(), attachments: Vec::new(), answers: answers.iter().map(|a| (*a).into()).collect() }
    }

    /// Stores as the store does: each key once.
    #[derive(Default)]
    struct Stored(Vec<Unstored>);

    impl Stored {
        fn known(&self) -> HashMap<String, ()> {
            self.0.iter().map(|m| (m.key.clone(), ())).collect()
        }

        fn take(&mut self, turns: &[Turn]) -> Option<usize> {
            let (new, first) = unstored(turns, &keys_of(turns, None), &self.known());
            self.0.extend(new);
            first
        }

        fn texts(&self) -> Vec<&str> {
            self.0.iter().map(|m| m.text.as_str()).collect()
        }
    }

    #[test]
    fn growing_conversation_is_stored_once() {
        let mut stored = Stored::default();
        let all = [turn("a", &["A"]), turn("b", &["B"]), turn("c", &[])];
        assert_eq!(stored.take(&[turn("a", &[])]), Some(0));
        assert_eq!(stored.take(&all[..1]), None);
        assert_eq!(stored.take(&all), Some(1));
        assert_eq!(stored.take(&all), None);
        assert_eq!(stored.texts(), ["a", "A", "b", "B", "c"]);
    }

    #[test]
    fn altered_answer_and_blank_messages_are_not_stored() {
        let mut stored = Stored::default();
        stored.take(&[turn("a", &["A"]), turn("b", &[])]);
        stored.take(&[turn("a", &["altered", "twice"]), turn("b", &[" "]), turn("  ", &["C"])]);
        assert_eq!(stored.texts(), ["a", "A", "b", "C"], "the answer to an image is kept, the image is not");
        assert_eq!(stored.take(&[turn("a", &[]), turn("changed", &[])]), Some(1));
    }

    #[test]
    fn late_answer_is_not_stored_out_of_order() {
        let mut stored = Stored::default();
        stored.take(&[turn("a", &[]), turn("b", &[])]);
        stored.take(&[turn("a", &["A"]), turn("b", &["B"]), turn("c", &[])]);
        assert_eq!(stored.texts(), ["a", "b", "B", "c"]);
    }

    proptest! {
        /// Requests grow, are repeated, lose their end and go another way; answers change at random.
        #[test]
        fn each_user_message_is_stored_once_in_order(
            steps in prop::collection::vec((0usize..4, 0usize..6, "[ab]{0,2}", prop::option::of("[x-z]{0,2}")), 1..40)
        ) {
            let (mut stored, mut turns) = (Stored::default(), Vec::<Turn>::new());
            let mut sent = std::collections::BTreeSet::new();
            for (kind, at, text, answer) in steps {
                match kind {
                    // Go back and go on from there.
                    0 => turns.truncate(at),
                    // Change an answer of the history.
                    1 => if let Some(turn) = turns.get_mut(at) {
                        turn.answers = answer.iter().map(|a| a.as_str().into()).collect();
                    },
                    _ => turns.push(turn(&text, &answer.iter().map(String::as_str).collect::<Vec<_>>())),
                }
                let keys = keys_of(&turns, None);
                stored.take(&turns);
                sent.extend(keys.iter().zip(&turns).filter(|(_, t)| !t.text.as_str().trim().is_empty()).map(|(k, _)| k.clone()));
                // Of this request, all user messages are stored, in its order.
                let places: Vec<usize> = keys.iter().filter(|k| sent.contains(*k))
                    .map(|k| stored.0.iter().position(|m| m.key == *k).unwrap()).collect();
                prop_assert!(places.is_sorted(), "{places:?}");
            }
            let users = stored.0.iter().filter(|m| m.role == Role::User).count();
            prop_assert_eq!(users, sent.len(), "a user message is missing or stored twice");
            let keys: std::collections::BTreeSet<_> = stored.0.iter().map(|m| &m.key).collect();
            prop_assert_eq!(keys.len(), stored.0.len());
        }
    }
}
