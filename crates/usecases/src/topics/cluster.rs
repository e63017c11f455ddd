//! Groups vectors by direction: spherical k-means, after which similar groups are joined. Pure.
//!
//! Nothing is random: the first seed is the vector nearest to the mean, and each further one is the vector that is least like the
//! seeds. So the same vectors always have the same groups.

use super::background::unit;

/// Most groups.
const MAX_GROUPS: usize = 8;
/// Rounds after which the groups are taken as they are. They settle in fewer than ten.
const MAX_ROUNDS: usize = 20;
/// Groups with centroids of at least this cosine are one.
const ALIKE: f32 = 0.85;
/// From so many vectors on, a group of one joins the next one: a single odd text is no topic of a longer one.
const ENOUGH: usize = 8;

/// Vectors of about the same direction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    /// The indexes of the vectors, ascending.
    pub(super) members: Vec<usize>,
    /// Their mean, of unit length.
    pub(super) centroid: Vec<f32>,
}

/// Returns the groups of vectors, largest first. Each vector with a direction is in one group. All vectors have the same length.
pub(super) fn cluster(vectors: &[Vec<f32>]) -> Vec<Group> {
    let units: Vec<(usize, Vec<f32>)> = vectors.iter().enumerate().filter_map(|(n, v)| Some((n, unit(v)?))).collect();
    let mut centroids = seeds(&units, wanted(units.len()));
    let mut assigned = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let next: Vec<usize> = units.iter().map(|(_, v)| nearest(v, &centroids)).collect();
        if next == assigned {
            break;
        }
        assigned = next;
        centroids =
            centroids.iter().enumerate().map(|(c, before)| mean(of_group(&units, &assigned, c)).unwrap_or(before.clone())).collect();
    }
    let mut groups: Vec<Group> = Vec::new();
    for c in 0..centroids.len() {
        let members: Vec<usize> = units.iter().zip(&assigned).filter(|(_, a)| **a == c).map(|((n, _), _)| *n).collect();
        if let Some(centroid) = mean(of_group(&units, &assigned, c)) {
            groups.push(Group { members, centroid });
        }
    }
    join(&mut groups, vectors, units.len());
    groups.sort_by(|a, b| b.members.len().cmp(&a.members.len()).then(a.members.cmp(&b.members)));
    groups
}

/// The number of groups to begin with.
fn wanted(vectors: usize) -> usize {
    ((vectors as f64 / 2.0).sqrt().ceil() as usize).clamp(1, MAX_GROUPS)
}

fn seeds(units: &[(usize, Vec<f32>)], wanted: usize) -> Vec<Vec<f32>> {
    let Some(middle) = mean(units.iter().map(|(_, v)| v)).or_else(|| units.first().map(|(_, v)| v.clone())) else { return Vec::new() };
    let vectors: Vec<&Vec<f32>> = units.iter().map(|(_, v)| v).collect();
    let first = vectors.iter().copied().reduce(|best, v| if dot(v, &middle) > dot(best, &middle) { v } else { best });
    let mut seeds: Vec<Vec<f32>> = first.into_iter().cloned().collect();
    // The greatest similarity of each vector to a seed.
    let mut similar: Vec<f32> = seeds.first().map(|seed| vectors.iter().map(|v| dot(v, seed)).collect()).unwrap_or_default();
    while seeds.len() < wanted {
        let farthest = similar.iter().zip(&vectors).reduce(|least, next| if next.0 < least.0 { next } else { least });
        let Some((_, seed)) = farthest.filter(|(similarity, _)| **similarity < ALIKE) else { break };
        let seed = (*seed).clone();
        for (known, v) in similar.iter_mut().zip(&vectors) {
            *known = known.max(dot(v, &seed));
        }
        seeds.push(seed);
    }
    seeds
}

fn of_group<'u>(units: &'u [(usize, Vec<f32>)], assigned: &'u [usize], group: usize) -> impl Iterator<Item = &'u Vec<f32>> {
    units.iter().zip(assigned).filter(move |(_, a)| **a == group).map(|((_, v), _)| v)
}

/// Joins similar groups, and groups of one with their nearest. Most similar first.
fn join(groups: &mut Vec<Group>, vectors: &[Vec<f32>], count: usize) {
    loop {
        let mut best: Option<(f32, usize, usize)> = None;
        for (a, one) in groups.iter().enumerate() {
            for (b, other) in groups.iter().enumerate().skip(a + 1) {
                let similarity = dot(&one.centroid, &other.centroid);
                let is_odd = count >= ENOUGH && (one.members.len() == 1 || other.members.len() == 1);
                if (similarity >= ALIKE || is_odd) && best.is_none_or(|(known, ..)| similarity > known) {
                    best = Some((similarity, a, b));
                }
            }
        }
        let Some((_, a, b)) = best else { return };
        let gone = groups.remove(b);
        let Some(kept) = groups.get_mut(a) else { return };
        kept.members.extend(gone.members);
        kept.members.sort_unstable();
        let units: Vec<Vec<f32>> = kept.members.iter().filter_map(|n| unit(vectors.get(*n)?)).collect();
        kept.centroid = mean(units.iter()).unwrap_or(gone.centroid);
    }
}

fn nearest(vector: &[f32], centroids: &[Vec<f32>]) -> usize {
    let mut best = (0, f32::NEG_INFINITY);
    for (n, centroid) in centroids.iter().enumerate() {
        let similarity = dot(vector, centroid);
        if similarity > best.1 {
            best = (n, similarity);
        }
    }
    best.0
}

/// The mean of vectors, of unit length; `None` if it has no direction.
fn mean<'v>(vectors: impl Iterator<Item = &'v Vec<f32>>) -> Option<Vec<f32>> {
    let mut sum: Vec<f32> = Vec::new();
    for vector in vectors {
        sum.resize(vector.len(), 0.0);
        sum.iter_mut().zip(vector).for_each(|(s, v)| *s += v);
    }
    unit(&sum)
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn members(vectors: &[Vec<f32>]) -> Vec<Vec<usize>> {
        cluster(vectors).into_iter().map(|group| group.members).collect()
    }

    #[test]
    fn directions_are_told_apart() {
        let vectors: Vec<Vec<f32>> = [[1.0, 0.1], [0.0, 2.0], [3.0, 0.0], [0.1, 1.0], [5.0, 0.2]].map(Vec::from).into();
        assert_eq!(members(&vectors), [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(members(&vectors[..1]), [vec![0]]);
        assert!(members(&[]).is_empty());
    }

    #[test]
    fn similar_vectors_are_one_group() {
        let vectors: Vec<Vec<f32>> = (0u8..20).map(|n| vec![1.0, f32::from(n) / 100.0]).collect();
        assert_eq!(cluster(&vectors).len(), 1);
    }

    #[test]
    fn odd_vector_of_many_is_no_group() {
        let mut vectors: Vec<Vec<f32>> = (0u8..10).map(|n| vec![1.0, f32::from(n) / 100.0, 0.0]).collect();
        vectors.push(vec![0.0, 0.0, 1.0]);
        assert_eq!(members(&vectors).len(), 1);
    }

    #[test]
    fn vectors_without_direction_are_left_out() {
        assert_eq!(members(&[vec![0.0, 0.0], vec![0.0, 1.0], vec![f32::NAN, 0.0]]), [vec![1]]);
    }

    proptest! {
        #[test]
        fn groups_are_disjoint_bounded_and_repeatable(vectors in proptest::collection::vec(proptest::collection::vec(-1.0f32..1.0, 4), 0..60)) {
            let groups = cluster(&vectors);
            prop_assert_eq!(&groups, &cluster(&vectors));
            prop_assert!(groups.len() <= MAX_GROUPS);
            let mut all: Vec<usize> = groups.iter().flat_map(|g| g.members.clone()).collect();
            all.sort_unstable();
            let expected: Vec<usize> = (0..vectors.len()).filter(|n| unit(&vectors[*n]).is_some()).collect();
            prop_assert_eq!(all, expected);
            for group in &groups {
                prop_assert!((dot(&group.centroid, &group.centroid) - 1.0).abs() < 1e-3);
            }
            prop_assert!(groups.is_sorted_by(|a, b| a.members.len() >= b.members.len()));
        }
    }
}
