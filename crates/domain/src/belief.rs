//! How much a fact counts: decay, belief and uncertainty.
//!
//! This is the beta reputation of Josang and Ismail (2002) with a continuous forgetting factor. `recall_facts::weigh` says how
//! messages change the support and the opposition of a fact.

use super::{Relation, Timestamp};

/// Support, and opposition, that a fact without evidence is given. Belief is then 0.5.
pub const PRIOR: f64 = 1.0;
/// Half-life, in days, of facts whose relation is no longer in the ontology.
pub const DEFAULT_HALF_LIFE_DAYS: f64 = 365.0;
/// Confidence below which a candidate is dropped.
pub const DROP_BELOW: f64 = 0.5;
/// Confidence below which a fact is flagged as uncertain.
pub const FLAG_BELOW: f64 = 0.7;

/// Share of its confidence with which a statement of a document counts. So evidence of a document has less than [`DROP_BELOW`], and all
/// other evidence has more.
pub const DOCUMENT_SHARE: f64 = 0.4;
/// Most support, and most opposition, that statements of documents add up to. Any statement of a person counts for more.
pub const DOCUMENT_MOST: f64 = 0.45;

/// Whether evidence with this confidence comes from a document.
pub fn is_of_document(confidence: f64) -> bool {
    confidence < DROP_BELOW
}

/// Returns the half-life of a relation in days.
pub fn half_life(relation: Option<&Relation>) -> f64 {
    relation.map_or(DEFAULT_HALF_LIFE_DAYS, |r| r.half_life_days)
}

/// Returns the remaining fraction of a weight after the time from `from` to `to`; 1 if `to` is not later.
pub fn decay(from: Timestamp, to: Timestamp, half_life_days: f64) -> f64 {
    let days = (to - from).num_milliseconds() as f64 / 86_400_000.0;
    if days <= 0.0 { 1.0 } else { (-days / half_life_days).exp2() }
}

/// Returns the expected probability that a fact holds, 0 to 1; 0.5 without evidence.
///
/// The stores compute the same in SQL, from [`PRIOR`], to filter facts by belief.
pub fn belief(support: f64, opposition: f64) -> f64 {
    (support + PRIOR) / (support + opposition + 2.0 * PRIOR)
}

/// Returns how little evidence there is, 0 to 1; 1 without evidence.
pub fn uncertainty(support: f64, opposition: f64) -> f64 {
    2.0 * PRIOR / (support + opposition + 2.0 * PRIOR)
}
