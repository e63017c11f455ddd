//! Whether a graph says what the store says.
//!
//! Both are read while others write, so a difference may be one of moments only. What differs is looked at again once the graph was
//! told all that the store held when it was first seen; it counts if both sides are then as they were before.

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

/// How often what differs is looked at again, while it is different in other ways than before.
const LOOKS: u32 = 10;
/// A graph that is told nothing for so long is not followed.
const QUIET: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

/// One thing that differs. Ids only: what is printed may end in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Whose.
    pub user: UserId,
    /// `session`, `entity`, `message`, `fact` or `checkpoint`.
    pub kind: &'static str,
    /// Which; something that has no id is none of the store's.
    pub id: Option<Uuid>,
    /// `missing`, `extra`, `double` or `different`; of a checkpoint also `behind`.
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

/// What says up to where the graph of a user was told.
const CHECKPOINT: &str = "checkpoint";
/// Of a checkpoint: the graph was not told all that the store holds.
const BEHIND: &str = "behind";

/// Compares the graphs of all users with the store and hands each difference to `report`. Returns how many things were compared.
///
/// # Errors
/// When either side cannot be read.
pub async fn compare(projection: &Projection, mut report: impl FnMut(Difference) + Send) -> Result<u64, GraphError> {
    let feed = projection.feed().start().await?;
    let mut compared = 0;
    for caller in projection.users_of_both().await? {
        let (things, differences) = settled(projection, &feed, &caller).await?;
        compared += things;
        differences.into_iter().for_each(&mut report);
    }
    Ok(compared)
}

/// A difference, and what both sides of it are, as a number.
type Seen = (Difference, u64);

/// How many things of a user were compared, and what of them is different.
async fn settled(projection: &Projection, feed: &str, caller: &Caller) -> Result<(u64, Vec<Difference>), GraphError> {
    let (mut things, mut seen) = look(projection, feed, caller).await?;
    for round in 1..=LOOKS {
        if seen.is_empty() || !reaches_head(projection, feed, caller).await? {
            break;
        }
        let (compared, again) = look(projection, feed, caller).await?;
        things = compared;
        // The graph was told what the store held. What was not different before, and what it has to be told now, came since.
        let is_old = |(difference, _): &Seen| difference.what != BEHIND && seen.iter().any(|(before, _)| before == difference);
        let mut still: Vec<Seen> = again.into_iter().filter(is_old).collect();
        let is_settled = still.iter().all(|difference| seen.contains(difference));
        if round == LOOKS {
            // What is different in another way each time is being changed, and the graph follows.
            still.retain(|difference| seen.contains(difference));
        }
        seen = still;
        if is_settled {
            break;
        }
    }
    Ok((things, seen.into_iter().map(|(difference, _)| difference).collect()))
}

/// Waits until the graph was told what the store holds now; false when nobody tells it.
async fn reaches_head(projection: &Projection, feed: &str, caller: &Caller) -> Result<bool, GraphError> {
    let head = projection.feed().head(caller).await?;
    let (mut last, mut moved) = (None, Instant::now());
    loop {
        let position = projection.engine().checkpoint(caller).await?.filter(|c| c.feed == feed).map(|c| c.position);
        if position.is_some_and(|position| position >= head) || (position.is_none() && head == 0) {
            return Ok(true);
        }
        if position != last {
            (last, moved) = (position, Instant::now());
        } else if moved.elapsed() > QUIET {
            return Ok(false);
        }
        sleep(POLL).await;
    }
}

/// Compares once.
async fn look(projection: &Projection, feed: &str, caller: &Caller) -> Result<(u64, Vec<Seen>), GraphError> {
    let truth = projection.truth(caller).await?;
    let found = projection.engine().contents(caller).await?;
    let compared = (truth.sessions.len() + truth.entities.len() + truth.messages.len() + truth.facts.len()) as u64;
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

fn differences(user: UserId, truth: &GraphContents, found: &GraphContents) -> Vec<Seen> {
    let mut all = Vec::new();
    let mut add = |kind, pairs: fn(&GraphContents, &GraphContents, &[Option<Uuid>]) -> Found| {
        let damaged: Vec<Option<Uuid>> = found.damaged.iter().filter(|d| d.kind == kind).map(|d| d.id).collect();
        let pairs = pairs(truth, found, &damaged).into_iter();
        all.extend(pairs.map(|(id, what, number)| (Difference { user, kind, id, what }, number)));
    };
    add("session", |t, f, damaged| pairs(&t.sessions, &f.sessions, damaged, |s| s.id.0));
    add("entity", |t, f, damaged| pairs(&t.entities, &f.entities, damaged, |e| e.id.0));
    add("message", |t, f, damaged| pairs(&t.messages, &f.messages, damaged, |m| m.id.0));
    add("fact", |t, f, damaged| pairs(&t.facts, &f.facts, damaged, |f| f.id.0));
    all
}

type Found = Vec<(Option<Uuid>, &'static str, u64)>;

fn pairs<T: PartialEq + fmt::Debug>(truth: &[T], found: &[T], damaged: &[Option<Uuid>], id: impl Fn(&T) -> Uuid) -> Found {
    let mut open: BTreeMap<Uuid, &T> = truth.iter().map(|t| (id(t), t)).collect();
    let mut seen: BTreeSet<Uuid> = BTreeSet::new();
    let mut differences = Vec::new();
    // What cannot be read equals nothing.
    for (id, item) in found.iter().map(|t| (Some(id(t)), Some(t))).chain(damaged.iter().map(|id| (*id, None))) {
        let expected = id.and_then(|id| open.remove(&id));
        let number = fingerprint(&(expected, item));
        if id.is_some_and(|id| !seen.insert(id)) {
            differences.push((id, "double", number));
        } else if expected.is_none() {
            differences.push((id, "extra", number));
        } else if expected != item {
            differences.push((id, "different", number));
        }
    }
    differences.extend(open.into_iter().map(|(id, expected)| (Some(id), "missing", fingerprint(expected))));
    differences
}

/// Another number for every state, as far as that can be told without the words of users.
fn fingerprint(state: &(impl fmt::Debug + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{state:?}").hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sort_of_difference_is_named() {
        let id = |t: &(u8, u8)| Uuid::from_u128(u128::from(t.0));
        let damaged = [Some(Uuid::from_u128(6)), Some(Uuid::from_u128(7)), Some(Uuid::from_u128(1)), None];
        let found = pairs(&[(1, 0), (2, 0), (3, 0), (4, 0), (6, 0)], &[(1, 0), (2, 9), (4, 0), (4, 0), (5, 0)], &damaged, id);
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
