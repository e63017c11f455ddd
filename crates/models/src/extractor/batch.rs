//! Batches of messages of one session in one request.
//!
//! Each result is checked against its own message. If it does not pass, the message is asked about alone.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use serde::Deserialize;

use super::proposal::Proposal;
use crate::dialect::object;
use recall_domain::{Extraction, MessageId, UserId};

/// Most messages in one request.
pub(super) const MAX_BATCH: usize = 8;
/// Most bytes of the texts of a batch, so that its reply fits the limit for one long message.
pub(super) const MAX_BATCH_BYTES: usize = 4 * 1024;
/// Most cached results.
const MAX_CACHED: usize = 1_024;

#[derive(Deserialize)]
struct Answer {
    messages: Vec<serde_json::Value>,
}

/// Returns the proposal for each of `count` messages, numbered from 1.
///
/// It is `None` if the number is missing or occurs twice, or if the item is not a proposal.
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

/// The result for a message before its own job.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EarlyResult {
    /// An extraction that passed the check.
    Found(Extraction),
    /// The result did not pass: ask about this message alone.
    Alone,
}

/// Caches results for messages whose job is still waiting. In memory only: a lost result is requested again.
#[derive(Default)]
pub(super) struct ResultCache(Mutex<Entries>);

type Key = (UserId, MessageId);

#[derive(Default)]
struct Entries {
    known: HashMap<Key, EarlyResult>,
    /// Keys, the oldest first.
    order: VecDeque<Key>,
}

impl ResultCache {
    /// Returns the result for a message. It stays cached, because a job may be retried.
    pub(super) fn get(&self, user: UserId, message: MessageId) -> Option<EarlyResult> {
        self.0.lock().known.get(&(user, message)).cloned()
    }

    pub(super) fn put(&self, user: UserId, message: MessageId, ahead: EarlyResult) {
        let mut entries = self.0.lock();
        let Entries { known, order } = &mut *entries;
        if known.insert((user, message), ahead).is_none() {
            order.push_back((user, message));
        }
        if order.len() > MAX_CACHED
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
    fn each_message_has_its_own_proposal_or_none() {
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
    fn cache_is_bounded_and_separate_for_each_user() {
        let cache = ResultCache::default();
        let (anna, boris) = (UserId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
        let id = |n: usize| MessageId(Uuid::from_u128(n as u128));
        let found = EarlyResult::Found(Extraction::empty(MessageKind::Other));
        for n in 0..MAX_CACHED + 10 {
            cache.put(anna, id(n), EarlyResult::Alone);
            cache.put(anna, id(n), found.clone());
        }
        assert_eq!(cache.0.lock().known.len(), MAX_CACHED);
        assert_eq!((cache.get(anna, id(9)), cache.get(anna, id(10))), (None, Some(found)));
        assert_eq!(cache.get(boris, id(10)), None);
    }

    proptest! {
        #[test]
        fn arbitrary_replies_do_not_panic(said in "\\PC{0,40}", count in 0usize..4) {
            let _ = proposals(&said, count);
        }
    }
}
