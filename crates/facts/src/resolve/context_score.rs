//! Scores a candidate by context: recent mentions in the session, and facts with other named entities. Pure.

use super::{ResolvedEntities, Resolver, names::NameMatch};
use recall_domain::{Entity, EntityId, EntityKey, EntityType, Party};

/// Bonus for the candidate mentioned last in the session, and for one of several mentioned there.
const LATEST_BONUS: f64 = 0.35;
const RECENT_BONUS: f64 = 0.25;
/// Bonus for a fact with another person, place, organization or project that the text names, and with any other entity.
const NEIGHBOUR_BONUS: f64 = 0.25;
const COMMON_NEIGHBOUR_BONUS: f64 = 0.1;

impl Resolver<'_> {
    /// Returns the context bonus of one candidate, with reasons.
    pub(super) fn score_context(
        &self,
        index: usize,
        e: &Entity,
        score: f64,
        latest: Option<EntityId>,
        resolved: &ResolvedEntities,
    ) -> (f64, Vec<&'static str>) {
        let (mut total, mut reasons) = (0.0, Vec::new());
        let fresh = resolved.fresh.iter().any(|f| f.id == e.id);
        if fresh || self.recent.contains_key(&e.id) {
            // A weak name match gets no extra bonus for being the latest.
            let last = (fresh || latest == Some(e.id)) && score >= NameMatch::ShortOfFull.score();
            total += if last { LATEST_BONUS } else { RECENT_BONUS };
            reasons.push("spoken of in this session");
        }
        let near = self.neighbour_score(index, e);
        if near > 0.0 {
            total += near;
            reasons.push("has to do with what else is named");
        }
        (total, reasons)
    }

    fn neighbour_score(&self, index: usize, e: &Entity) -> f64 {
        let mut best: f64 = 0.0;
        let mut same_of_speaker = None;
        // An entity with the mentioned name is not another named entity.
        let own = self.mentions.get(index).and_then(|m| EntityKey::of(&m.name)).and_then(|k| self.by_key.get(k.as_str()));
        let own = |id: EntityId| own.is_some_and(|found| found.iter().any(|e| e.id == id));
        for f in self.facts.get(&e.id).into_iter().flatten() {
            let other = if f.subject == e.id { f.object } else { f.subject };
            if own(other) {
                continue;
            }
            if Some(other) == self.viewer {
                // The user has facts with most entities, so only the same relation counts.
                let relations = same_of_speaker.get_or_insert_with(|| self.relations_with_speaker(index));
                best = best.max(if relations.contains(&f.relation.as_str()) { NEIGHBOUR_BONUS } else { 0.0 });
            } else if let Some(entity_type) = self.named.get(&other) {
                use EntityType as T;
                let telling = matches!(entity_type, T::Person | T::Organization | T::Place | T::Project);
                best = best.max(if telling { NEIGHBOUR_BONUS } else { COMMON_NEIGHBOUR_BONUS });
            }
        }
        best
    }

    /// Returns the relations that the text states between the user and a mention.
    fn relations_with_speaker(&self, index: usize) -> Vec<&str> {
        let party = Party::Mention(index);
        let of_both = |a: Party, b: Party| a == Party::Speaker && b == party;
        let by_user = self.speaker == self.viewer;
        let claims = self.claims.iter().filter(|c| by_user && (of_both(c.subject, c.object) || of_both(c.object, c.subject)));
        claims.map(|c| c.relation.as_str()).collect()
    }
}
