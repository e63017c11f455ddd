//! Renames, retypes and merges entities, and resolves names. For the undoing of merges, see `separation`.

use std::collections::HashSet;

use uuid::Uuid;

use super::manual_edits::{Heard, MAX_SESSIONS, MAX_STALE};
use super::{check, error::UseCaseError, shared, use_cases::UseCases};
use recall_domain::{Caller, Decision, Entity, EntityId, EntityKey, EntityType, Fact, FactId, Page, SessionId, names_user};
use recall_facts::{CandidateEntity, KnownEntities, NameQuery, edit, merge};
use recall_ports::{CommitError, EntityFilter, KnowledgeCommit};

/// Most facts moved by one merge or separation.
pub(super) const MAX_MERGED_FACTS: u32 = 10_000;
/// Most entities considered for one name.
const MAX_LIKELY: u32 = 50;

/// The result of resolving a mention.
#[derive(Clone, Debug)]
pub struct Resolution {
    /// The resolved entity, if one matches well enough.
    pub entity: Option<Entity>,
    /// Its canonical name.
    pub canonical_form: Option<String>,
    /// Confidence, 0 to 1.
    pub confidence: f64,
    /// All candidates with scores and reasons, best first.
    pub candidates: Vec<CandidateEntity>,
}

/// How to merge an entity that was adopted from a visit.
#[derive(Clone, Copy)]
pub(super) struct Came {
    /// It was the visitor's own entity.
    pub(super) is_viewer: bool,
    pub(super) score: f64,
    pub(super) reason: &'static str,
}

/// Why two entities are merged.
#[derive(Clone, Copy)]
pub(super) enum MergeCause {
    /// A user merges them.
    ByHand,
    /// One of them was adopted from a visit.
    Adopted(Came),
    /// A message says that they are one.
    Stated,
}

/// What a merge changes.
#[derive(Clone, Debug)]
pub struct MergeOutcome {
    /// The entity that stays, as it is after the merge.
    pub entity: Entity,
    /// Mentions that move to it.
    pub mentions: u64,
    /// Facts that move to it.
    pub moved: usize,
    /// Facts that become one with a fact that it has already.
    pub joined: usize,
    /// Facts that are deleted because they would relate it to itself.
    pub removed: usize,
}

/// A merge that is not committed yet.
struct PlannedMerge {
    plan: KnowledgeCommit,
    sessions: Vec<SessionId>,
    heard: Heard,
    /// The entity that stays, as it will be.
    entity: Entity,
    /// Facts of the other one.
    moving: usize,
    /// Mentions of the other one.
    mentions: u64,
}

impl PlannedMerge {
    fn outcome(&self) -> MergeOutcome {
        let (joined, removed) = (self.plan.dropped_facts.len(), self.plan.deleted_facts.len());
        let moved = self.moving.saturating_sub(joined + removed);
        MergeOutcome { entity: self.entity.clone(), mentions: self.mentions, moved, joined, removed }
    }
}

impl UseCases {
    /// Renames an entity and keeps the old name as an alias.
    ///
    /// # Errors
    /// `Invalid` for a bad name, `NotFound` when the entity is not the caller's.
    pub async fn rename_entity(&self, caller: &Caller, id: EntityId, name: String) -> Result<Entity, UseCaseError> {
        let name = self.masked(&check::name(&name, "name")?).into_owned();
        self.edit_entity(caller, id, |at, entity, ids| edit::rename(at, entity, &name, ids)).await
    }

    /// Gives an entity another type, which no later mention changes.
    ///
    /// # Errors
    /// `Invalid` for the user's own entity, `NotFound` when the entity is not the caller's.
    pub async fn retype_entity(&self, caller: &Caller, id: EntityId, entity_type: EntityType) -> Result<Entity, UseCaseError> {
        if entity_type != EntityType::Person && self.entity(caller, id).await?.is_viewer {
            return Err(UseCaseError::invalid("OWN_ENTITY", "type", "The user is a person. Choose another entity."));
        }
        self.edit_entity(caller, id, |at, entity, ids| edit::retype(at, entity, entity_type, ids)).await
    }

    /// Commits a change of one entity, planned for its current state.
    async fn edit_entity(
        &self,
        caller: &Caller,
        id: EntityId,
        plan: impl Fn(&edit::EditContext<'_>, &Entity, &mut dyn FnMut() -> Uuid) -> KnowledgeCommit + Send + Sync,
    ) -> Result<Entity, UseCaseError> {
        shared::may_write(caller)?;
        let _guard = self.learner.lock_user(caller).await;
        for _ in 0..MAX_STALE {
            let version = self.parts.store.knowledge_version(caller).await?;
            let entity = self.entity(caller, id).await?;
            let sessions = self.sessions_of(caller, entity.id).await?;
            let session = sessions.first().copied().ok_or(UseCaseError::NotFound { noun: "entity" })?;
            let mut fresh = || self.parts.ids.fresh();
            let at = edit::EditContext { version, session, ontology: &self.parts.ontology, now: self.now() };
            let plan = plan(&at, &entity, &mut fresh);
            if self.commit_by_hand(caller, &plan, &sessions, None).await? {
                return plan.entities.into_iter().next().ok_or(UseCaseError::NotFound { noun: "entity" });
            }
        }
        Err(CommitError::Stale.into())
    }

    /// Merges two entities: names, mentions, facts and evidence of `from` move to `into`.
    ///
    /// # Errors
    /// `Invalid` when both are the same, `NotFound` when one is not the caller's.
    pub async fn merge_entities(&self, caller: &Caller, into: EntityId, from: EntityId) -> Result<MergeOutcome, UseCaseError> {
        self.make_one(caller, into, from, MergeCause::ByHand).await
    }

    /// Returns what [`Self::merge_entities`] would do, and changes nothing.
    ///
    /// # Errors
    /// As [`Self::merge_entities`].
    pub async fn preview_merge(&self, caller: &Caller, into: EntityId, from: EntityId) -> Result<MergeOutcome, UseCaseError> {
        shared::may_write(caller)?;
        Ok(self.plan_merge(caller, into, from, MergeCause::ByHand).await?.outcome())
    }

    /// Merges as [`Self::merge_entities`] does, with the decision of its cause.
    pub(super) async fn make_one(
        &self,
        caller: &Caller,
        into: EntityId,
        from: EntityId,
        cause: MergeCause,
    ) -> Result<MergeOutcome, UseCaseError> {
        shared::may_write(caller)?;
        let _guard = self.learner.lock_user(caller).await;
        for _ in 0..MAX_STALE {
            let planned = self.plan_merge(caller, into, from, cause).await?;
            if self.commit_by_hand(caller, &planned.plan, &planned.sessions, Some(&planned.heard)).await? {
                return Ok(planned.outcome());
            }
        }
        Err(CommitError::Stale.into())
    }

    async fn plan_merge(&self, caller: &Caller, into: EntityId, from: EntityId, cause: MergeCause) -> Result<PlannedMerge, UseCaseError> {
        let store = &self.parts.store;
        let version = store.knowledge_version(caller).await?;
        let (into, mut from) = (self.entity(caller, into).await?, self.entity(caller, from).await?);
        if into.id == from.id {
            return Err(UseCaseError::invalid("SAME_ENTITY", "fromId", "An entity cannot be merged with itself. Name two."));
        }
        let facts = store.facts_of_entities(caller, &[into.id, from.id], MAX_MERGED_FACTS).await?;
        let ids: Vec<FactId> = facts.iter().map(|f| f.id).collect();
        let evidence = store.evidence_of(caller, &ids, MAX_MERGED_FACTS).await?;
        let sides = store.entities_by_id(caller, &sides(&facts)).await?;
        let sessions = self.sessions_of_all(caller, &[into.id, from.id]).await?;
        let session = sessions.first().copied().ok_or(UseCaseError::NotFound { noun: "entity" })?;
        from.is_viewer |= matches!(cause, MergeCause::Adopted(came) if came.is_viewer);
        let merge = merge::Merge { into: &into, from: &from, facts: &facts, evidence: &evidence, sides: &sides };
        let mut fresh = || self.parts.ids.fresh();
        let at = edit::EditContext { version, session, ontology: &self.parts.ontology, now: self.now() };
        let plan = match cause {
            MergeCause::ByHand => merge::merge(&at, &merge, &mut fresh),
            MergeCause::Stated => KnowledgeCommit {
                merge_decision: Some(Decision { score: 0.95, reason: "said to be the same".to_owned() }),
                ..merge::merge(&at, &merge, &mut fresh)
            },
            MergeCause::Adopted(came) => KnowledgeCommit {
                merge_decision: Some(Decision { score: came.score, reason: came.reason.to_owned() }),
                ..merge::merge_across_memories(&at, &merge, &mut fresh)
            },
        };
        let entity = plan.entities.first().cloned().ok_or(UseCaseError::NotFound { noun: "entity" })?;
        let moving = facts.iter().filter(|f| f.subject == from.id || f.object == from.id).count();
        Ok(PlannedMerge { entity, moving, mentions: from.mention_count, heard: Heard::of(&evidence), plan, sessions })
    }

    /// Resolves a mention to a known entity.
    ///
    /// # Errors
    /// `Invalid` for a bad mention, `NotFound` for a session that is not the caller's.
    pub async fn resolve(
        &self,
        caller: &Caller,
        mention: &str,
        wanted: Option<EntityType>,
        session: Option<SessionId>,
    ) -> Result<Resolution, UseCaseError> {
        let mention = check::name(mention, "mention")?;
        if let Some(id) = session {
            self.session(caller, id).await?;
        }
        let store = &self.parts.store;
        let asked = NameQuery::of(&mention, wanted);
        let mut candidates: Vec<CandidateEntity> = Vec::new();
        let viewer = store.viewer_entity(caller).await?;
        let own = names_user(&mention);
        let key = EntityKey::of(asked.name());
        let called = |e: &Entity| std::iter::once(&e.name).chain(&e.aliases).any(|n| key.is_some() && EntityKey::of(n) == key);
        if let Some(viewer) = viewer.filter(|v| own || called(v)) {
            let (score, reason) = if own { (1.0, "the user") } else { (0.9, "the user's own name") };
            candidates.push(CandidateEntity { entity: viewer, score, reason: reason.to_owned() });
        }
        if let Some(key) = &key {
            let (keys, hints) = asked.lookup_terms();
            let mut known = KnownEntities {
                by_key: store.entities_by_key(caller, &keys).await?,
                by_hint: store.entities_by_hint(caller, &hints, MAX_LIKELY).await?,
                ..KnownEntities::default()
            };
            let likely = NameQuery::candidate_ids(&known);
            if let Some(session) = session {
                known.recent = store.recently_mentioned(caller, session, &likely).await?;
            }
            candidates.extend(asked.rank(&known));
            let filter = EntityFilter { entity_type: wanted, text: Some(key.as_str().to_owned()), session };
            for (_, e) in store.list_entities(caller, &filter, &Page::first(20)).await?.items {
                let share = key.as_str().chars().count() as f64 / e.name.chars().count().max(1) as f64;
                candidates.push(CandidateEntity { entity: e, score: 0.3 + 0.4 * share.min(1.0), reason: "a name contains it".to_owned() });
            }
        }
        let mut seen = HashSet::new();
        candidates.retain(|c| seen.insert(c.entity.id));
        let often = |c: &CandidateEntity| c.entity.mention_count;
        candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| often(b).cmp(&often(a))));
        // Several equally good candidates share the confidence.
        let best = candidates.first().map_or(0.0, |c| c.score);
        let equals = candidates.iter().filter(|c| c.score >= best - 0.05).count().max(1);
        let confidence = best / equals as f64;
        let entity = candidates.first().filter(|_| confidence >= 0.5).map(|c| c.entity.clone());
        Ok(Resolution { canonical_form: entity.as_ref().map(|e| e.name.clone()), entity, confidence, candidates })
    }

    pub(super) async fn entity(&self, caller: &Caller, id: EntityId) -> Result<Entity, UseCaseError> {
        let found = self.parts.store.entities_by_id(caller, &[id]).await?;
        found.into_iter().next().ok_or(UseCaseError::NotFound { noun: "entity" })
    }

    pub(super) async fn sessions_of_all(&self, caller: &Caller, entities: &[EntityId]) -> Result<Vec<SessionId>, UseCaseError> {
        let mut sessions = Vec::new();
        for e in entities {
            sessions.extend(self.sessions_of(caller, *e).await?);
        }
        let mut seen = HashSet::new();
        sessions.retain(|s| seen.insert(*s));
        Ok(sessions)
    }

    /// Returns the sessions that mention an entity, latest first.
    async fn sessions_of(&self, caller: &Caller, entity: EntityId) -> Result<Vec<SessionId>, UseCaseError> {
        let store = &self.parts.store;
        let mentions = store.list_mentions(caller, entity, &Page::first(MAX_SESSIONS)).await?;
        let ids: Vec<_> = mentions.items.iter().map(|(_, (m, _))| *m).collect();
        let mut sessions: Vec<SessionId> = store.messages_by_id(caller, &ids).await?.into_iter().map(|m| m.session).collect();
        // The user's own entity is mentioned as "I", which is no mention of a name.
        for fact in store.facts_of_entities(caller, &[entity], MAX_SESSIONS).await? {
            sessions.extend(store.sessions_of_fact(caller, fact.id, 1).await?);
        }
        let mut seen = HashSet::new();
        sessions.retain(|s| seen.insert(*s));
        Ok(sessions)
    }
}

/// Returns the entities on either side of facts, each once.
pub(super) fn sides(facts: &[Fact]) -> Vec<EntityId> {
    let mut sides: Vec<EntityId> = facts.iter().flat_map(|f| [f.subject, f.object]).collect();
    sides.sort();
    sides.dedup();
    sides
}
