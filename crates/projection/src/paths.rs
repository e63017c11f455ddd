//! Finds paths of one, two and three facts between two entities, from the facts around both. Pure.

use std::collections::{BTreeSet, HashMap};

use recall_domain::{EntityId, FactId};
use recall_ports::{Edge, Path};

/// Keeps the best paths only, because there may be a million.
struct BestPaths {
    paths: BTreeSet<OrderedPath>,
    first: usize,
}

/// A path, ordered among paths of the same length: by falling weight, then by the ids of the facts.
struct OrderedPath(Path);

impl OrderedPath {
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        other.0.weight.total_cmp(&self.0.weight).then_with(|| self.0.facts.cmp(&other.0.facts))
    }
}

impl PartialEq for OrderedPath {
    fn eq(&self, other: &Self) -> bool {
        self.order(other).is_eq()
    }
}
impl Eq for OrderedPath {}
impl PartialOrd for OrderedPath {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for OrderedPath {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order(other)
    }
}

impl BestPaths {
    fn new(first: usize) -> Self {
        Self { paths: BTreeSet::new(), first }
    }

    /// Adds the path over these edges if it is among the best so far.
    fn offer(&mut self, edges: &[Edge]) {
        let Some(weight) = edges.iter().map(|e| e.weight).min_by(f64::total_cmp) else { return };
        let full = self.paths.len() >= self.first;
        if full && self.paths.last().is_none_or(|worst| weight < worst.0.weight) {
            return;
        }
        let facts: Vec<FactId> = edges.iter().map(|e| e.fact).collect();
        let entities = edges.first().map(|e| e.from).into_iter().chain(edges.iter().map(|e| e.to)).collect();
        self.paths.insert(OrderedPath(Path { entities, facts, weight }));
        if self.paths.len() > self.first {
            self.paths.pop_last();
        }
    }

    fn into_paths(self) -> Vec<Path> {
        self.paths.into_iter().map(|p| p.0).collect()
    }
}

/// Returns the paths of one fact. `from` are the facts around the start.
pub(super) fn one_hop(from: &[Edge], to: EntityId) -> Vec<Path> {
    let mut best = BestPaths::new(from.len());
    from.iter().filter(|e| e.to == to).for_each(|e| best.offer(&[*e]));
    best.into_paths()
}

/// Returns the best paths of two facts. `from` and `to` are the facts around both ends.
pub(super) fn two_hops(from: &[Edge], to: &[Edge], first: usize) -> Vec<Path> {
    let last = by_far_side(to);
    let mut best = BestPaths::new(first);
    for a in from {
        for b in last.get(&a.to).into_iter().flatten() {
            best.offer(&[*a, *b]);
        }
    }
    best.into_paths()
}

/// Returns the best paths of three facts. `middle` are facts around the neighbours of the start, from their side.
pub(super) fn three_hops(from: &[Edge], middle: &[Edge], to: &[Edge], first: usize) -> Vec<Path> {
    let (Some(start), Some(end)) = (from.first().map(|e| e.from), to.first().map(|e| e.from)) else { return Vec::new() };
    let inner = |e: EntityId| e != start && e != end;
    let last = by_far_side(to);
    let mut before: HashMap<EntityId, Vec<Edge>> = HashMap::new();
    from.iter().filter(|e| inner(e.to)).for_each(|e| before.entry(e.to).or_default().push(*e));
    let mut best = BestPaths::new(first);
    for m in middle.iter().filter(|m| inner(m.from) && inner(m.to)) {
        let (Some(firsts), Some(lasts)) = (before.get(&m.from), last.get(&m.to)) else { continue };
        for a in firsts {
            for b in lasts {
                best.offer(&[*a, *m, *b]);
            }
        }
    }
    best.into_paths()
}

/// Groups the facts around the end by their other side, with their direction reversed.
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

    /// Returns every fact as seen from both sides.
    fn both_ways(facts: &[(u8, u8, u8)]) -> Vec<Edge> {
        let real = facts.iter().zip(1u128..).filter(|((a, b, _), _)| a != b);
        let edges = real.flat_map(|((a, b, w), id)| {
            let (a, b, fact, weight) = (entity(*a), entity(*b), FactId(Uuid::from_u128(id)), f64::from(*w));
            [Edge { from: a, to: b, fact, weight }, Edge { from: b, to: a, fact, weight }]
        });
        edges.collect()
    }

    /// Finds all simple paths by trying each.
    fn find_all(edges: &[Edge], at: EntityId, to: EntityId, way: &mut Vec<Edge>, found: &mut Vec<Path>) {
        if at == to {
            let mut best = BestPaths::new(1);
            best.offer(way);
            found.extend(best.into_paths());
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
            find_all(edges, e.to, to, way, found);
            way.pop();
        }
    }

    proptest! {
        #[test]
        fn paths_equal_those_of_an_exhaustive_search(
            facts in proptest::collection::vec((0u8..6, 0u8..6, 1u8..4), 0..14), first in 1usize..30,
        ) {
            let edges = both_ways(&facts);
            let (a, b) = (entity(0), entity(1));
            let mut all = Vec::new();
            find_all(&edges, a, b, &mut Vec::new(), &mut all);
            all.sort_by(|x, y| x.facts.len().cmp(&y.facts.len())
                .then(y.weight.total_cmp(&x.weight)).then_with(|| x.facts.cmp(&y.facts)));
            all.truncate(first);

            let of = |e: EntityId| edges.iter().filter(|x| x.from == e).copied().collect::<Vec<_>>();
            let (from, to) = (of(a), of(b));
            let mut found = one_hop(&from, b);
            found.extend(two_hops(&from, &to, first));
            found.extend(three_hops(&from, &edges, &to, first));
            found.truncate(first);
            prop_assert_eq!(found, all);
        }
    }
}
