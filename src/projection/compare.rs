//! Whether a graph says what the store says.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use uuid::Uuid;

use super::Projection;
use crate::domain::UserId;
use crate::ports::{GraphContents, GraphError};

/// One thing that differs. Ids only: what is printed may end in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Whose.
    pub user: UserId,
    /// `session`, `entity`, `message` or `fact`.
    pub kind: &'static str,
    /// Which; something that has no id is none of the store's.
    pub id: Option<Uuid>,
    /// `missing`, `extra`, `double` or `different`.
    pub what: &'static str,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "user {}: {} ", self.user, self.kind)?;
        match self.id {
            Some(id) => write!(f, "{id}")?,
            None => write!(f, "without an id")?,
        }
        write!(f, " is {} in the graph", self.what)
    }
}

/// Compares the graphs of all users with the store and hands each difference to `report`. Returns how many things were compared.
/// What changes meanwhile may show as a difference.
///
/// # Errors
/// When either side cannot be read.
pub async fn compare(projection: &Projection, mut report: impl FnMut(Difference) + Send) -> Result<u64, GraphError> {
    projection.feed().start().await?;
    let mut compared = 0;
    for caller in projection.users_of_both().await? {
        let truth = projection.truth(&caller).await?;
        let found = projection.engine().contents(&caller).await?;
        compared += (truth.sessions.len() + truth.entities.len() + truth.messages.len() + truth.facts.len()) as u64;
        for difference in differences(caller.user(), &truth, &found) {
            report(difference);
        }
    }
    Ok(compared)
}

fn differences(user: UserId, truth: &GraphContents, found: &GraphContents) -> Vec<Difference> {
    let mut all = Vec::new();
    let mut add = |kind, pairs: fn(&GraphContents, &GraphContents, &[Option<Uuid>]) -> Found| {
        let damaged: Vec<Option<Uuid>> = found.damaged.iter().filter(|d| d.kind == kind).map(|d| d.id).collect();
        all.extend(pairs(truth, found, &damaged).into_iter().map(|(id, what)| Difference { user, kind, id, what }));
    };
    add("session", |t, f, damaged| pairs(&t.sessions, &f.sessions, damaged, |s| s.id.0));
    add("entity", |t, f, damaged| pairs(&t.entities, &f.entities, damaged, |e| e.id.0));
    add("message", |t, f, damaged| pairs(&t.messages, &f.messages, damaged, |m| m.id.0));
    add("fact", |t, f, damaged| pairs(&t.facts, &f.facts, damaged, |f| f.id.0));
    all
}

type Found = Vec<(Option<Uuid>, &'static str)>;

fn pairs<T: PartialEq>(truth: &[T], found: &[T], damaged: &[Option<Uuid>], id: impl Fn(&T) -> Uuid) -> Found {
    let mut open: BTreeMap<Uuid, &T> = truth.iter().map(|t| (id(t), t)).collect();
    let mut seen: BTreeSet<Uuid> = BTreeSet::new();
    let mut differences = Vec::new();
    // What cannot be read equals nothing.
    for (id, item) in found.iter().map(|t| (Some(id(t)), Some(t))).chain(damaged.iter().map(|id| (*id, None))) {
        let expected = id.and_then(|id| open.remove(&id));
        if id.is_some_and(|id| !seen.insert(id)) {
            differences.push((id, "double"));
        } else if expected.is_none() {
            differences.push((id, "extra"));
        } else if expected != item {
            differences.push((id, "different"));
        }
    }
    differences.extend(open.into_keys().map(|id| (Some(id), "missing")));
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sort_of_difference_is_named() {
        let id = |t: &(u8, u8)| Uuid::from_u128(u128::from(t.0));
        let damaged = [Some(Uuid::from_u128(6)), Some(Uuid::from_u128(7)), Some(Uuid::from_u128(1)), None];
        let found = pairs(&[(1, 0), (2, 0), (3, 0), (4, 0), (6, 0)], &[(1, 0), (2, 9), (4, 0), (4, 0), (5, 0)], &damaged, id);
        let found: Vec<_> = found.into_iter().map(|(id, what)| (id.map(|id| id.as_u128()), what)).collect();
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
