//! Finds the entities that a question names, and the facts about them.

use std::collections::{HashMap, HashSet};

use crate::{error::UseCaseError, named_relation::RequestWords, rank, use_cases::UseCases};
use recall_domain::{
    Caller, Entity, EntityId, EntityKey, Evidence, Fact, FactId, FactStatus, RelationName, Timestamp,
    context::{ContextQuery, RankedFact, Scope},
};

/// Facts loaded per named entity, strongest first, unless more are wanted.
const FACTS_PER_ENTITY: usize = 100;
/// Most entities that one name in a question means, most mentioned first.
const MAX_NAMESAKES: usize = 8;
/// Most entities matched by a part of their name, most mentioned first.
const MAX_BY_PART: u32 = 3;
/// Most evidence rows loaded per fact.
const EVIDENCE_PER_FACT: u32 = 5;
/// Most evidence rows loaded per fact to decide whether a session mentions it.
const EVIDENCE_FOR_SESSION: u32 = 200;

/// A fact with its score.
type Scored = (f64, Fact);

impl UseCases {
    /// Returns the entities named in the question and the facts about them, best first, at most `most` facts.
    pub(super) async fn facts_about_named(
        &self,
        caller: &Caller,
        query: &ContextQuery,
        asked: &rank::QuestionTerms,
        most: usize,
    ) -> Result<(Vec<Entity>, Vec<RankedFact>), UseCaseError> {
        let named = self.entities_in_question(caller, asked).await?;
        if named.is_empty() {
            return Ok((named, Vec::new()));
        }
        let scored = self.scored_facts(caller, query, asked, &named, most).await?;
        let (scored, evidence) = self.facts_with_evidence(caller, query.scope, scored, most).await?;
        let facts = self.with_both_sides(caller, scored, evidence).await?;
        Ok((named, facts))
    }

    async fn entities_in_question(&self, caller: &Caller, asked: &rank::QuestionTerms) -> Result<Vec<Entity>, UseCaseError> {
        let store = &self.parts.store;
        let mut named: Vec<Entity> = Vec::new();
        let by_key = rank::most_mentioned(store.entities_by_key(caller, &asked.keys).await?, MAX_NAMESAKES);
        // A word that is no complete name may be a part of one. Entities named in full are not searched by parts.
        let whole = |part: &EntityKey| by_key.iter().any(|(key, _)| key.as_str().split(' ').any(|word| word == part.as_str()));
        let parts: Vec<String> = asked.capitals.iter().filter(|part| !whole(part)).map(|part| part.as_str().to_owned()).collect();
        let by_part = if parts.is_empty() { Vec::new() } else { store.entities_by_hint(caller, &parts, MAX_BY_PART).await? };
        for e in by_key.into_iter().map(|(_, e)| e).chain(by_part.into_iter().map(|(_, e)| e)) {
            if !named.iter().any(|n| n.id == e.id) {
                named.push(e);
            }
        }
        // In shared memory "I" means nobody.
        if asked.first_person && !caller.is_shared() {
            named.extend(store.viewer_entity(caller).await?.filter(|v| !named.iter().any(|n| n.id == v.id)));
        }
        hide_viewer_of_shared(caller, named.iter_mut());
        Ok(named)
    }

    /// Returns facts about entities with their scores, best first.
    ///
    /// Of an entity with more facts than are read, those of the relations that are asked for are read by themselves: of the hundreds of facts
    /// about a user, "Where do I live?" asks for one that is seldom among the strongest.
    async fn scored_facts(
        &self,
        caller: &Caller,
        query: &ContextQuery,
        asked: &rank::QuestionTerms,
        named: &[Entity],
        most: usize,
    ) -> Result<Vec<Scored>, UseCaseError> {
        let ids: Vec<EntityId> = named.iter().map(|e| e.id).collect();
        let cued = self.cues.asked_for(asked);
        let words = RequestWords::of(query.text.as_str());
        let is_meant = |relation: &&&str| self.parts.ontology.get(relation).is_some_and(|r| words.side_of(r).is_some());
        let meant = cued.iter().filter(is_meant).copied().collect();
        let relations: Vec<RelationName> = cued.iter().map(|relation| (*relation).to_owned()).collect();
        let asked_for = rank::AskedFor { named: &ids, relations: cued, meant };
        let per_entity = most.max(FACTS_PER_ENTITY);
        let limit = |facts: usize| u32::try_from(facts).unwrap_or(u32::MAX);
        let store = &self.parts.store;
        let mut facts = store.facts_of_entities(caller, &ids, limit(per_entity)).await?;
        let has_more = |id: &EntityId| facts.iter().filter(|f| f.subject == *id || f.object == *id).count() >= per_entity;
        let large: Vec<EntityId> = ids.iter().copied().filter(has_more).collect();
        if !large.is_empty() && !relations.is_empty() {
            let known: HashSet<FactId> = facts.iter().map(|f| f.id).collect();
            let of_relations = store.facts_of_relations(caller, &large, &relations, limit(most)).await?;
            facts.extend(of_relations.into_iter().filter(|f| !known.contains(&f.id)));
        }
        facts.retain(|f| f.status != FactStatus::Retracted && query.as_of.is_none_or(|at| known_at(f, at)));
        let now = query.as_of.unwrap_or_else(|| self.now());
        let score = |f: Fact| (rank::score(&f, &asked_for, &self.parts.ontology, now), f);
        let mut scored: Vec<Scored> = facts.into_iter().map(score).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| b.1.updated_at.cmp(&a.1.updated_at)).then_with(|| a.1.id.cmp(&b.1.id)));
        Ok(scored)
    }

    /// Returns the `most` best facts that have evidence in the scope, with this evidence.
    async fn facts_with_evidence(
        &self,
        caller: &Caller,
        scope: Scope,
        mut scored: Vec<Scored>,
        most: usize,
    ) -> Result<(Vec<Scored>, HashMap<FactId, Vec<Evidence>>), UseCaseError> {
        let mut rest = if scope == Scope::User { scored.split_off(most.min(scored.len())) } else { Vec::new() };
        let mut evidence: HashMap<FactId, Vec<Evidence>> = HashMap::new();
        // Whether a fact belongs to a session must not depend on later repetitions elsewhere.
        let per_fact = if scope == Scope::User { EVIDENCE_PER_FACT } else { EVIDENCE_FOR_SESSION };
        loop {
            let of: Vec<FactId> = scored.iter().map(|(_, f)| f.id).filter(|id| !evidence.contains_key(id)).collect();
            for e in self.parts.store.evidence_of(caller, &of, per_fact).await? {
                evidence.entry(e.fact).or_default().push(e);
            }
            // A fact whose only session is being deleted has no evidence; the next fact takes its place.
            let before = scored.len();
            scored.retain(|(_, f)| evidence.contains_key(&f.id));
            if scored.len() == before || rest.is_empty() {
                break;
            }
            scored.extend(rest.drain(..(before - scored.len()).min(rest.len())));
        }
        if let Scope::Session(session) = scope {
            for list in evidence.values_mut() {
                list.retain(|e| e.session == session);
                list.truncate(EVIDENCE_PER_FACT as usize);
            }
        }
        scored.retain(|(_, f)| evidence.get(&f.id).is_some_and(|l| !l.is_empty()));
        scored.truncate(most);
        Ok((scored, evidence))
    }

    /// Adds subject and object to facts. Facts without them are left out.
    async fn with_both_sides(
        &self,
        caller: &Caller,
        scored: Vec<Scored>,
        mut evidence: HashMap<FactId, Vec<Evidence>>,
    ) -> Result<Vec<RankedFact>, UseCaseError> {
        let sides: HashSet<EntityId> = scored.iter().flat_map(|(_, f)| [f.subject, f.object]).collect();
        let sides: Vec<EntityId> = sides.into_iter().collect();
        let found = self.parts.store.entities_by_id(caller, &sides).await?;
        let mut entities: HashMap<EntityId, Entity> = found.into_iter().map(|e| (e.id, e)).collect();
        hide_viewer_of_shared(caller, entities.values_mut());
        let ranked = |(score, fact): Scored| {
            let (subject, object) = (entities.get(&fact.subject)?.clone(), entities.get(&fact.object)?.clone());
            let evidence = evidence.remove(&fact.id).unwrap_or_default();
            Some(RankedFact { fact, subject, object, evidence, score, shared: caller.is_shared() })
        };
        Ok(scored.into_iter().filter_map(ranked).collect())
    }
}

/// An entity imported into shared memory may have been a user's own entity; there it is not.
fn hide_viewer_of_shared<'e>(caller: &Caller, entities: impl Iterator<Item = &'e mut Entity>) {
    entities.for_each(|e| e.is_viewer &= !caller.is_shared());
}

/// Whether a fact was recorded and held at a moment.
fn known_at(f: &Fact, at: Timestamp) -> bool {
    f.valid_from.is_some_and(|v| v <= at) && f.valid_to.is_none_or(|v| v > at)
}
