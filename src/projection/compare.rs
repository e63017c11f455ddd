//! Whether a graph says what the store says.

use std::{collections::BTreeMap, fmt};

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
    /// Which.
    pub id: Uuid,
    /// `missing`, `extra`, `double` or `different`.
    pub what: &'static str,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "user {}: {} {} is {} in the graph", self.user, self.kind, self.id, self.what)
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
    let mut add = |kind, list: Vec<(Uuid, &'static str)>| {
        all.extend(list.into_iter().map(|(id, what)| Difference { user, kind, id, what }));
    };
    add("session", pairs(&truth.sessions, &found.sessions, |s| s.id.0));
    add("entity", pairs(&truth.entities, &found.entities, |e| e.id.0));
    add("message", pairs(&truth.messages, &found.messages, |m| m.id.0));
    add("fact", pairs(&truth.facts, &found.facts, |f| f.id.0));
    all
}

fn pairs<T: PartialEq>(truth: &[T], found: &[T], id: impl Fn(&T) -> Uuid) -> Vec<(Uuid, &'static str)> {
    let mut open: BTreeMap<Uuid, &T> = truth.iter().map(|t| (id(t), t)).collect();
    let mut seen: BTreeMap<Uuid, u32> = BTreeMap::new();
    let mut differences = Vec::new();
    for item in found {
        let id = id(item);
        let times = seen.entry(id).or_default();
        *times += 1;
        match open.remove(&id) {
            _ if *times > 1 => differences.push((id, "double")),
            None => differences.push((id, "extra")),
            Some(expected) if expected != item => differences.push((id, "different")),
            Some(_) => {}
        }
    }
    differences.extend(open.into_keys().map(|id| (id, "missing")));
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sort_of_difference_is_named() {
        let id = |t: &(u8, u8)| Uuid::from_u128(u128::from(t.0));
        let found = pairs(&[(1, 0), (2, 0), (3, 0), (4, 0)], &[(1, 0), (2, 9), (4, 0), (4, 0), (5, 0)], id);
        let found: Vec<_> = found.into_iter().map(|(id, what)| (id.as_u128(), what)).collect();
        assert_eq!(found, [(2, "different"), (4, "double"), (5, "extra"), (3, "missing")]);
    }
}
