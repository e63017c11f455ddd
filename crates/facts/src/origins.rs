//! Tells where somebody comes from apart from where somebody is: "I'm from Warsaw, but I live in Berlin". Pure.
//!
//! An origin counts as the object of its relation only until another one is stated.

use std::collections::HashSet;

use super::{claims::ResolvedClaim, decide::KnownFacts};
use recall_domain::{Fact, FactId, FactStatus, Ontology, Relation, Stance};

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
    ontology.get(&claim.relation).is_some_and(|r| tells_origin(r, words))
}

/// Returns the facts of which only an origin was told.
pub(super) fn origins(known: &KnownFacts, ontology: &Ontology) -> HashSet<FactId> {
    let only_origin = |f: &&Fact| {
        let supports = || known.evidence.iter().filter(|e| e.fact == f.id && e.stance == Stance::Supports);
        let relation = ontology.get(&f.relation).filter(|r| !r.origins.is_empty());
        relation.is_some_and(|r| supports().count() > 0 && supports().all(|e| tells_origin(r, e.excerpt.as_str())))
    };
    known.facts.iter().filter(only_origin).map(|f| f.id).collect()
}

/// Whether the words that state a fact tell where its subject comes from, and nothing of a move: "moved here from Leeds" does.
fn tells_origin(relation: &Relation, words: &str) -> bool {
    const OF_NOW: &[&str] = &["now", "here", "live", "lives", "living", "moved", "moving", "based", "settled"];
    let words = words.to_lowercase();
    let mut said = words.split(|c: char| !c.is_alphanumeric());
    said.clone().any(|word| relation.origins.iter().any(|origin| origin == word)) && !said.any(|word| OF_NOW.contains(&word))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn origin_is_told_apart_from_a_move() {
        let ontology = Ontology::parse(include_str!("../../../data/ontology.toml")).unwrap();
        let lives_in = ontology.get("LIVES_IN").unwrap();
        for (words, expected) in [
            ("I am from Warsaw", true),
            ("born in Leeds", true),
            ("I grew up in Cork", true),
            ("moved here from Leeds", false),
            ("I moved from Leeds to York", false),
            ("I live in Leeds", false),
        ] {
            assert_eq!(tells_origin(lives_in, words), expected, "{words}");
        }
    }
}
