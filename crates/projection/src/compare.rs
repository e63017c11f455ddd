//! Compares the graph with the store.
//!
//! Other processes write during the comparison, so a difference may be temporary. A difference is checked again once the
//! graph has received everything that the store held before. It counts if both sides are then unchanged.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::Projection;
use recall_domain::{Caller, UserId};
use recall_ports::{GraphContents, GraphError};

/// Maximum number of repeated comparisons, while the differences keep changing.
const MAX_ROUNDS: u32 = 10;
/// A graph whose position does not change for this long has no projector.
const STALLED: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

/// One difference between store and graph. It holds ids only, because it may be written to a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The owner.
    pub user: UserId,
    /// `session`, `entity`, `message`, `document`, `chunk`, `topic`, `fact` or `checkpoint`.
    pub kind: &'static str,
    /// Its id. A node without an id does not come from the store.
    pub id: Option<Uuid>,
    /// `missing`, `extra`, `double` or `different`; for a checkpoint also `behind`.
    pub what: &'static str,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "user {}: {} ", self.user, self.kind)?;
        match self.id {
            Some(id) => write!(f, "{id} ")?,
            None if self.kind == CHECKPOINT => {}
            None => write!(f, "without an id ")?,
        }
        write!(f, "is {} in the graph", self.what)
    }
}

/// The kind of a checkpoint, which holds the position of a user's graph in the feed.
const CHECKPOINT: &str = "checkpoint";
/// Means that the graph has not received all changes.
const BEHIND: &str = "behind";

/// Compares the graphs of all users with the store and calls `report` with each difference.
///
/// Returns the number of compared things.
///
/// # Errors
/// Fails if either side cannot be read.
pub async fn compare(projection: &Projection, mut report: impl FnMut(Difference) + Send) -> Result<u64, GraphError> {
    let feed = projection.feed_name().await?;
    let mut compared = 0;
    for caller in projection.users_of_both().await? {
        let (things, differences) = find_differences(projection, &feed, &caller).await?;
        compared += things;
        differences.into_iter().for_each(&mut report);
    }
    Ok(compared)
}

/// A difference with the fingerprint of both sides.
type Observation = (Difference, u64);

/// Returns the number of compared things of a user, and the differences that are not temporary.
async fn find_differences(projection: &Projection, feed: &str, caller: &Caller) -> Result<(u64, Vec<Difference>), GraphError> {
    let (mut things, mut seen) = compare_once(projection, feed, caller).await?;
    for round in 1..=MAX_ROUNDS {
        if seen.is_empty() || !wait_for_head(projection, feed, caller).await? {
            break;
        }
        let (compared, again) = compare_once(projection, feed, caller).await?;
        things = compared;
        // The graph has received what the store held. Other differences, and changes still to send, are newer.
        let is_old = |(difference, _): &Observation| difference.what != BEHIND && seen.iter().any(|(before, _)| before == difference);
        let mut remaining: Vec<Observation> = again.into_iter().filter(is_old).collect();
        let is_stable = remaining.iter().all(|difference| seen.contains(difference));
        if round == MAX_ROUNDS {
            // A thing that differs in another way each time is being changed, and the graph follows.
            remaining.retain(|difference| seen.contains(difference));
        }
        seen = remaining;
        if is_stable {
            break;
        }
    }
    Ok((things, seen.into_iter().map(|(difference, _)| difference).collect()))
}

/// Waits until the graph has received the latest change of this moment; false if no projector runs.
async fn wait_for_head(projection: &Projection, feed: &str, caller: &Caller) -> Result<bool, GraphError> {
    let head = projection.feed().head(caller).await?;
    let (mut last, mut moved) = (None, Instant::now());
    loop {
        let position = projection.engine().checkpoint(caller).await?.filter(|c| c.feed == feed).map(|c| c.position);
        if position.is_some_and(|position| position >= head) || (position.is_none() && head == 0) {
            return Ok(true);
        }
        if position != last {
            (last, moved) = (position, Instant::now());
        } else if moved.elapsed() > STALLED {
            return Ok(false);
        }
        sleep(POLL).await;
    }
}

/// Compares one user once.
async fn compare_once(projection: &Projection, feed: &str, caller: &Caller) -> Result<(u64, Vec<Observation>), GraphError> {
    let truth = projection.expected_contents(caller).await?;
    let found = projection.engine().contents(caller).await?;
    let compared = truth.len() as u64;
    let mut seen = differences(caller.user(), &truth, &found);

    let at = projection.engine().checkpoint(caller).await?;
    let head = projection.feed().head(caller).await?;
    let what = match &at {
        None if head > 0 => Some("missing"),
        Some(at) if at.feed != feed || at.position > head => Some("different"),
        Some(at) if at.position < head => Some(BEHIND),
        _ => None,
    };
    let number = fingerprint(&(head, at.map(|at| at.position)));
    seen.extend(what.map(|what| (Difference { user: caller.user(), kind: CHECKPOINT, id: None, what }, number)));
    Ok((compared, seen))
}

fn differences(user: UserId, truth: &GraphContents, found: &GraphContents) -> Vec<Observation> {
    let mut all = Vec::new();
    let mut add = |kind, match_kind: fn(&GraphContents, &GraphContents, &[Option<Uuid>]) -> Mismatches| {
        let damaged: Vec<Option<Uuid>> = found.damaged.iter().filter(|d| d.kind == kind).map(|d| d.id).collect();
        let mismatches = match_kind(truth, found, &damaged).into_iter();
        all.extend(mismatches.map(|(id, what, number)| (Difference { user, kind, id, what }, number)));
    };
    add("session", |t, f, damaged| match_by_id(&t.sessions, &f.sessions, damaged, |s| s.id.0));
    add("entity", |t, f, damaged| match_by_id(&t.entities, &f.entities, damaged, |e| e.id.0));
    add("message", |t, f, damaged| match_by_id(&t.messages, &f.messages, damaged, |m| m.id.0));
    add("document", |t, f, damaged| match_by_id(&t.documents, &f.documents, damaged, |d| d.id.0));
    add("chunk", |t, f, damaged| match_by_id(&t.chunks, &f.chunks, damaged, |c| c.id.0));
    add("topic", |t, f, damaged| match_by_id(&t.topics, &f.topics, damaged, |t| t.id.0));
    add("fact", |t, f, damaged| match_by_id(&t.facts, &f.facts, damaged, |f| f.id.0));
    all
}

/// Id, kind of difference and fingerprint of each.
type Mismatches = Vec<(Option<Uuid>, &'static str, u64)>;

/// Matches things by id and returns those that differ. `damaged` are the ids of things that cannot be read.
fn match_by_id<T: PartialEq + fmt::Debug>(truth: &[T], found: &[T], damaged: &[Option<Uuid>], id: impl Fn(&T) -> Uuid) -> Mismatches {
    let mut unmatched: BTreeMap<Uuid, &T> = truth.iter().map(|t| (id(t), t)).collect();
    let mut seen: BTreeSet<Uuid> = BTreeSet::new();
    let mut differences = Vec::new();
    // A thing that cannot be read equals nothing.
    for (id, item) in found.iter().map(|t| (Some(id(t)), Some(t))).chain(damaged.iter().map(|id| (*id, None))) {
        let expected = id.and_then(|id| unmatched.remove(&id));
        let number = fingerprint(&(expected, item));
        if id.is_some_and(|id| !seen.insert(id)) {
            differences.push((id, "double", number));
        } else if expected.is_none() {
            differences.push((id, "extra", number));
        } else if expected != item {
            differences.push((id, "different", number));
        }
    }
    differences.extend(unmatched.into_iter().map(|(id, expected)| (Some(id), "missing", fingerprint(expected))));
    differences
}

/// Returns a hash of a state. `Debug` shows no text of users, so texts of equal length are not distinguished.
fn fingerprint(state: &(impl fmt::Debug + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{state:?}").hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_difference_is_reported() {
        let id = |t: &(u8, u8)| Uuid::from_u128(u128::from(t.0));
        let damaged = [Some(Uuid::from_u128(6)), Some(Uuid::from_u128(7)), Some(Uuid::from_u128(1)), None];
        let found = match_by_id(&[(1, 0), (2, 0), (3, 0), (4, 0), (6, 0)], &[(1, 0), (2, 9), (4, 0), (4, 0), (5, 0)], &damaged, id);
        let found: Vec<_> = found.into_iter().map(|(id, what, _)| (id.map(|id| id.as_u128()), what)).collect();
        let expected = [
            (Some(2), "different"),
            (Some(4), "double"),
            (Some(5), "extra"),
            (Some(6), "different"),
            (Some(7), "extra"),
            (Some(1), "double"),
            (None, "extra"),
            (Some(3), "missing"),
        ];
        assert_eq!(found, expected);
    }
}
