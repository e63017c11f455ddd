//! Ways of one, two and three facts between two things, put together from the facts around both. Pure.

use std::collections::{BTreeSet, HashMap};

use recall_domain::{EntityId, FactId};
use recall_ports::{Edge, Path};

/// The best of many ways, so that a million of them never lie in memory.
struct Best {
    ways: BTreeSet<Place>,
    first: usize,
}

/// A way, ordered as ways of one length are: by falling weight, then by the ids of the facts.
struct Place(Path);

impl Place {
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        other.0.weight.total_cmp(&self.0.weight).then_with(|| self.0.facts.cmp(&other.0.facts))
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.order(other).is_eq()
    }
}
impl Eq for Place {}
impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Place {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order(other)
    }
}

impl Best {
    fn of(first: usize) -> Self {
        Self { ways: BTreeSet::new(), first }
    }

    /// Takes the way over these edges if it is among the best so far.
    fn offer(&mut self, edges: &[Edge]) {
        let Some(weight) = edges.iter().map(|e| e.weight).min_by(f64::total_cmp) else { return };
        let full = self.ways.len() >= self.first;
        if full && self.ways.last().is_none_or(|worst| weight < worst.0.weight) {
            return;
        }
        let facts: Vec<FactId> = edges.iter().map(|e| e.fact).collect();
        let entities = edges.first().map(|e| e.from).into_iter().chain(edges.iter().map(|e| e.to)).collect();
        self.ways.insert(Place(Path { entities, facts, weight }));
        if self.ways.len() > self.first {
            self.ways.pop_last();
        }
    }

    fn take(self) -> Vec<Path> {
        self.ways.into_iter().map(|p| p.0).collect()
    }
}

/// Ways of one fact: `from` are the facts around one end.
pub(super) fn one(from: &[Edge], to: EntityId) -> Vec<Path> {
    let mut best = Best::of(from.len());
    from.iter().filter(|e| e.to == to).for_each(|e| best.offer(&[*e]));
    best.take()
}

/// Ways of two facts: `from` and `to` are the facts around both ends.
pub(super) fn two(from: &[Edge], to: &[Edge], first: usize) -> Vec<Path> {
    let last = by_far_side(to);
    let mut best = Best::of(first);
    for a in from {
        for b in last.get(&a.to).into_iter().flatten() {
            best.offer(&[*a, *b]);
        }
    }
    best.take()
}

/// Ways of three facts: `middle` are facts around the neighbours of the one end, seen from there.
pub(super) fn three(from: &[Edge], middle: &[Edge], to: &[Edge], first: usize) -> Vec<Path> {
    let (Some(start), Some(end)) = (from.first().map(|e| e.from), to.first().map(|e| e.from)) else { return Vec::new() };
    let inner = |e: EntityId| e != start && e != end;
    let last = by_far_side(to);
    let mut before: HashMap<EntityId, Vec<Edge>> = HashMap::new();
    from.iter().filter(|e| inner(e.to)).for_each(|e| before.entry(e.to).or_default().push(*e));
    let mut best = Best::of(first);
    for m in middle.iter().filter(|m| inner(m.from) && inner(m.to)) {
        let (Some(firsts), Some(lasts)) = (before.get(&m.from), last.get(&m.to)) else { continue };
        for a in firsts {
            for b in lasts {
                best.offer(&[*a, *m, *b]);
            }
        }
    }
    best.take()
}

/// The facts around the end, turned so that they lead there, by where they come from.
fn by_far_side(to: &[Edge]) -> HashMap<EntityId, Vec<Edge>> {
    let mut found: HashMap<EntityId, Vec<Edge>> = HashMap::new();
    for e in to {
        found.entry(e.to).or_default().push(Edge { from: e.to, to: e.from, ..*e });
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn entity(n: u8) -> EntityId {
        EntityId(Uuid::from_u128(u128::from(n)))
    }

    /// Every fact from both sides.
    fn both_ways(facts: &[(u8, u8, u8)]) -> Vec<Edge> {
        let real = facts.iter().zip(1u128..).filter(|((a, b, _), _)| a != b);
        let edges = real.flat_map(|((a, b, w), id)| {
            let (a, b, fact, weight) = (entity(*a), entity(*b), FactId(Uuid::from_u128(id)), f64::from(*w));
            [Edge { from: a, to: b, fact, weight }, Edge { from: b, to: a, fact, weight }]
        });
        edges.collect()
    }

    /// All simple ways, by trying every one.
    fn every(edges: &[Edge], at: EntityId, to: EntityId, way: &mut Vec<Edge>, found: &mut Vec<Path>) {
        if at == to {
            let mut best = Best::of(1);
            best.offer(way);
            found.extend(best.take());
            return;
        }
        if way.len() == 3 {
            return;
        }
        for e in edges.iter().filter(|e| e.from == at) {
            if way.iter().any(|w| w.from == e.to) {
                continue;
            }
            way.push(*e);
            every(edges, e.to, to, way, found);
            way.pop();
        }
    }

    proptest! {
        #[test]
        fn ways_are_those_that_trying_everything_finds(
            facts in proptest::collection::vec((0u8..6, 0u8..6, 1u8..4), 0..14), first in 1usize..30,
        ) {
            let edges = both_ways(&facts);
            let (a, b) = (entity(0), entity(1));
            let mut all = Vec::new();
            every(&edges, a, b, &mut Vec::new(), &mut all);
            all.sort_by(|x, y| x.facts.len().cmp(&y.facts.len())
                .then(y.weight.total_cmp(&x.weight)).then_with(|| x.facts.cmp(&y.facts)));
            all.truncate(first);

            let of = |e: EntityId| edges.iter().filter(|x| x.from == e).copied().collect::<Vec<_>>();
            let (from, to) = (of(a), of(b));
            let mut found = one(&from, b);
            found.extend(two(&from, &to, first));
            found.extend(three(&from, &edges, &to, first));
            found.truncate(first);
            prop_assert_eq!(found, all);
        }
    }
}
