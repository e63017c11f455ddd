//! Several messages of one session in one question to the model. Each result is checked against its own message, and one that
//! does not stand the check leaves that message to be asked about alone.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use serde::Deserialize;

use super::check::Proposal;
use crate::dialect::object;
use recall_domain::{Extraction, MessageId, UserId};

/// Most messages in one question.
pub(super) const TOGETHER: usize = 8;
/// Most bytes of their texts, so that the answer about all of them fits where one about a long message does.
pub(super) const TOGETHER_BYTES: usize = 4 * 1024;
/// Most results that are kept for messages whose turn is still to come.
const KEPT: usize = 1_024;

#[derive(Deserialize)]
struct Answer {
    messages: Vec<serde_json::Value>,
}

/// What is proposed for each of `count` messages, numbered from 1; nothing where a number is missing, given twice, or with
/// something else than a proposal.
pub(super) fn proposals(said: &str, count: usize) -> Option<Vec<Option<Proposal>>> {
    let answer: Answer = serde_json::from_str(object(said)?).ok()?;
    let mut found: Vec<Option<Proposal>> = (0..count).map(|_| None).collect();
    let mut given = vec![false; count];
    for value in answer.messages {
        let Some(n) = value.get("n").and_then(serde_json::Value::as_u64).and_then(|n| usize::try_from(n).ok()) else { continue };
        let Some(place) = n.checked_sub(1).filter(|p| *p < count) else { continue };
        let again = given.get_mut(place).is_some_and(|g| std::mem::replace(g, true));
        let proposal = serde_json::from_value::<Proposal>(value).ok().filter(|_| !again);
        if let Some(slot) = found.get_mut(place) {
            *slot = proposal;
        }
    }
    Some(found)
}

/// What is known of a message before its turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ahead {
    /// This was found, and stood the check.
    Found(Extraction),
    /// What was found did not: it is to be asked about alone.
    Alone,
}

/// Results for messages whose turn is still to come. Only in memory: what is lost is asked for again.
#[derive(Default)]
pub(super) struct Kept(Mutex<Shelf>);

type Key = (UserId, MessageId);

#[derive(Default)]
struct Shelf {
    known: HashMap<Key, Ahead>,
    /// The oldest first.
    order: VecDeque<Key>,
}

impl Kept {
    /// What is known of a message. It stays known: a job may be tried again.
    pub(super) fn get(&self, user: UserId, message: MessageId) -> Option<Ahead> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).known.get(&(user, message)).cloned()
    }

    pub(super) fn put(&self, user: UserId, message: MessageId, ahead: Ahead) {
        let mut shelf = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Shelf { known, order } = &mut *shelf;
        if known.insert((user, message), ahead).is_none() {
            order.push_back((user, message));
        }
        if order.len() > KEPT
            && let Some(oldest) = order.pop_front()
        {
            known.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use recall_domain::MessageKind;

    fn given(said: &str, count: usize) -> Option<Vec<bool>> {
        proposals(said, count).map(|p| p.iter().map(Option::is_some).collect())
    }

    #[test]
    fn each_message_has_its_own_answer_or_none() {
        let one = |n: serde_json::Value| json!({ "n": n, "kind": "statement", "entities": [], "facts": [] });
        for (messages, expected) in [
            (json!([one(json!(1)), one(json!(2)), one(json!(3))]), [true, true, true]),
            (json!([one(json!(3)), one(json!(1))]), [true, false, true]),
            (json!([one(json!(1)), one(json!(2)), one(json!(2))]), [true, false, false]),
            (json!([one(json!(0)), one(json!(4)), one(json!("1")), one(json!(-1)), 7, null]), [false, false, false]),
            (json!([{ "n": 1, "facts": "none" }, { "n": 2 }, one(json!(3))]), [false, false, true]),
        ] {
            let said = format!("Here: {}", json!({ "messages": messages }));
            assert_eq!(given(&said, 3), Some(expected.to_vec()), "{said}");
        }
        for said in ["", "no", "[]", "{\"messages\": 3}", "{\"facts\": []}"] {
            assert_eq!(given(said, 3), None, "{said}");
        }
    }

    #[test]
    fn what_is_kept_is_bounded_and_each_users_own() {
        let kept = Kept::default();
        let (anna, boris) = (UserId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
        let id = |n: usize| MessageId(Uuid::from_u128(n as u128));
        let found = Ahead::Found(Extraction::empty(MessageKind::Other));
        for n in 0..KEPT + 10 {
            kept.put(anna, id(n), Ahead::Alone);
            kept.put(anna, id(n), found.clone());
        }
        assert_eq!(kept.0.lock().unwrap().known.len(), KEPT);
        assert_eq!((kept.get(anna, id(9)), kept.get(anna, id(10))), (None, Some(found)));
        assert_eq!(kept.get(boris, id(10)), None);
    }

    proptest! {
        #[test]
        fn nothing_that_is_said_panics(said in "\\PC{0,40}", count in 0usize..4) {
            let _ = proposals(&said, count);
        }
    }
}
