//! Tells where somebody comes from apart from where somebody is: "I'm from Warsaw, but I live in Berlin". Pure.
//!
//! An origin counts as the object of its relation only until another one is stated.

use std::collections::HashSet;

use super::{claims::ResolvedClaim, decide::KnownFacts};
use recall_domain::{Fact, FactId, FactStatus, Ontology, Stance};

/// Removes the claims of an origin if the same message states another object for the same subject, or one is known that is no origin: it says nothing
/// about when the subject was there.
pub(super) fn drop_outdated_origins(
    claims: &mut Vec<ResolvedClaim>,
    known: &KnownFacts,
    known_origins: &HashSet<FactId>,
    words: impl Fn(&ResolvedClaim) -> String,
    ontology: &Ontology,
) {
    let is_origin = |c: &ResolvedClaim| is_origin(c, &words(c), ontology);
    let is_home = |f: &Fact| f.status == FactStatus::Active && !known_origins.contains(&f.id);
    let is_outdated = |c: &ResolvedClaim| {
        let in_message =
            |o: &&ResolvedClaim| o.stance == Stance::Supports && o.subject == c.subject && o.relation == c.relation && o.object != c.object;
        let in_memory = |f: &&Fact| f.subject == c.subject && f.relation == c.relation && f.object != c.object && is_home(f);
        claims.iter().filter(in_message).any(|o| !is_origin(o)) || known.facts.iter().any(|f| in_memory(&f))
    };
    let outdated: Vec<bool> = claims.iter().map(|c| c.stance == Stance::Supports && is_origin(c) && is_outdated(c)).collect();
    let mut outdated = outdated.into_iter();
    claims.retain(|_| !outdated.next().unwrap_or_default());
}

/// Whether a claim, stated with these words, tells an origin.
pub(super) fn is_origin(claim: &ResolvedClaim, words: &str, ontology: &Ontology) -> bool {
    ontology.get(&claim.relation).is_some_and(|r| r.tells_origin(words))
}

/// Returns the facts of which only an origin was told.
pub(super) fn origins(known: &KnownFacts, ontology: &Ontology) -> HashSet<FactId> {
    let only_origin = |f: &&Fact| {
        let supports = || known.evidence.iter().filter(|e| e.fact == f.id && e.stance == Stance::Supports);
        let relation = ontology.get(&f.relation).filter(|r| !r.origins.is_empty());
        relation.is_some_and(|r| supports().count() > 0 && supports().all(|e| r.tells_origin(e.excerpt.as_str())))
    };
    known.facts.iter().filter(only_origin).map(|f| f.id).collect()
}
