//! Separates entities: undoes merges, and gives what was said under a name to an entity of its own.

use super::entities::{MAX_MERGED_FACTS, sides};
use super::manual_edits::{Heard, MAX_STALE};
use super::{check, error::UseCaseError, shared, use_cases::UseCases};
use recall_domain::{Caller, Entity, EntityId, Fact, FactId, SessionId};
use recall_facts::{
    edit::EditContext,
    separate::{NotSeparable, Separation, separate},
    unmerge::{EntityState, Undo, unmerge},
};
use recall_ports::{CommitError, KnowledgeCommit, MergeRecord};

/// What a separation changes.
#[derive(Clone, Debug)]
pub struct SeparationOutcome {
    /// The restored or new entity, as it is afterwards.
    pub entity: Entity,
    /// The entity from which it was separated.
    pub from: Entity,
    /// Mentions that it gets.
    pub mentions: u64,
    /// Facts that it gets.
    pub facts: usize,
}

/// A separation that is not committed yet.
struct PlannedSeparation {
    plan: KnowledgeCommit,
    sessions: Vec<SessionId>,
    heard: Heard,
    outcome: SeparationOutcome,
}

impl UseCases {
    /// Undoes a merge, or separates a name.
    ///
    /// Without a name, `id` is the merged entity, or the surviving one, whose latest merge is undone. The restored entity gets back its
    /// mentions, keys, facts and evidence. With a name, what was said under this alias of the entity `id` goes to a new one.
    ///
    /// # Errors
    /// `NotFound` if the entity does not exist, `Invalid` if no merge into it is recorded, or nothing was said under the name.
    pub async fn separate_entities(&self, caller: &Caller, id: EntityId, name: Option<&str>) -> Result<SeparationOutcome, UseCaseError> {
        shared::may_write(caller)?;
        let _guard = self.learner.lock_user(caller).await;
        for _ in 0..MAX_STALE {
            let planned = self.plan_separation(caller, id, name).await?;
            if self.commit_by_hand(caller, &planned.plan, &planned.sessions, Some(&planned.heard)).await? {
                return Ok(planned.outcome);
            }
        }
        Err(CommitError::Stale.into())
    }

    /// Returns what [`Self::separate_entities`] would do, and changes nothing.
    ///
    /// # Errors
    /// As [`Self::separate_entities`].
    pub async fn preview_separation(&self, caller: &Caller, id: EntityId, name: Option<&str>) -> Result<SeparationOutcome, UseCaseError> {
        shared::may_write(caller)?;
        Ok(self.plan_separation(caller, id, name).await?.outcome)
    }

    async fn plan_separation(&self, caller: &Caller, id: EntityId, name: Option<&str>) -> Result<PlannedSeparation, UseCaseError> {
        let version = self.parts.store.knowledge_version(caller).await?;
        let survivor = self.entity(caller, id).await?;
        let name = name.map(|name| check::name(name, "name")).transpose()?;
        let record = if name.is_none() { Some(self.record_of_merge(caller, id, &survivor).await?) } else { None };
        let state = self.state_of(caller, survivor, record.as_ref().map_or(&[], |r| &r.facts)).await?;
        let merged = if record.is_none() { self.merged_entities(caller, state.entity.id).await? } else { Vec::new() };
        let sessions = self.sessions_of_all(caller, &[state.entity.id]).await?;
        let session = sessions.first().copied().ok_or(UseCaseError::NotFound { noun: "entity" })?;
        let mut fresh = || self.parts.ids.fresh();
        let at = EditContext { version, session, ontology: &self.parts.ontology, now: self.now() };
        let plan = match &record {
            Some(record) => unmerge(&at, &Undo { record, state: &state }, &mut fresh),
            None => {
                let separation = Separation { state: &state, name: name.as_deref().unwrap_or_default(), merged: &merged };
                separate(&at, &separation, &mut fresh).map_err(cannot_separate)?
            }
        };
        let recorded = record.as_ref().map_or(&[][..], |r| &r.evidence);
        let heard = Heard::of(&[state.evidence.as_slice(), recorded, plan.evidence.as_slice()].concat());
        let outcome = outcome_of(&plan, state.entity.id)?;
        Ok(PlannedSeparation { outcome, heard, plan, sessions })
    }

    /// Returns the record of the merge of `id` into `survivor`, or of the latest merge into it.
    async fn record_of_merge(&self, caller: &Caller, id: EntityId, survivor: &Entity) -> Result<MergeRecord, UseCaseError> {
        let store = &self.parts.store;
        let gone = match store.merged_into(caller, &[survivor.id]).await?.first() {
            Some((_, latest)) if survivor.id == id => latest.entity,
            _ => id,
        };
        let record = store.merge_record(caller, gone).await?;
        record.filter(|r| r.holder == survivor.id).ok_or_else(|| {
            let message = "No merge of this entity is recorded. `Entity.merged` lists those that can be undone.";
            UseCaseError::invalid("NOT_MERGED", "entityId", message)
        })
    }

    /// Returns the entities that were merged into this one, as they were before.
    async fn merged_entities(&self, caller: &Caller, id: EntityId) -> Result<Vec<Entity>, UseCaseError> {
        let store = &self.parts.store;
        let mut entities = Vec::new();
        for (_, merged) in store.merged_into(caller, &[id]).await? {
            entities.extend(store.merge_record(caller, merged.entity).await?.map(|record| record.gone));
        }
        Ok(entities)
    }

    /// Returns an entity with all that is known of it. It also reads the sides of the `recorded` facts.
    async fn state_of(&self, caller: &Caller, entity: Entity, recorded: &[Fact]) -> Result<EntityState, UseCaseError> {
        let store = &self.parts.store;
        let facts = store.facts_of_entities(caller, &[entity.id], MAX_MERGED_FACTS).await?;
        let ids: Vec<FactId> = facts.iter().map(|f| f.id).collect();
        let evidence = store.evidence_of(caller, &ids, MAX_MERGED_FACTS).await?;
        let mentions = store.mentions_of(caller, entity.id).await?;
        let sides = store.entities_by_id(caller, &[sides(&facts), sides(recorded)].concat()).await?;
        Ok(EntityState { entity, facts, evidence, mentions, sides })
    }
}

fn outcome_of(plan: &KnowledgeCommit, survivor: EntityId) -> Result<SeparationOutcome, UseCaseError> {
    let none = UseCaseError::NotFound { noun: "entity" };
    let (from, restored): (Vec<&Entity>, Vec<&Entity>) = plan.entities.iter().partition(|e| e.id == survivor);
    let (Some(&from), Some(&entity)) = (from.first(), restored.first()) else { return Err(none) };
    let mentions = plan.unmerged.iter().map(|u| u.mentions.len() as u64).sum();
    let facts = plan.facts.iter().filter(|f| f.subject == entity.id || f.object == entity.id).count();
    Ok(SeparationOutcome { entity: entity.clone(), from: from.clone(), mentions, facts })
}

fn cannot_separate(reason: NotSeparable) -> UseCaseError {
    let (code, message) = match reason {
        NotSeparable::NoAlias => ("NOT_AN_ALIAS", "The entity has no such other name. `Entity.aliases` lists its other names."),
        NotSeparable::NeverMentioned => ("NAME_NOT_MENTIONED", "No message mentions it by this name, so there is nothing to separate."),
        NotSeparable::Merged => ("NAME_OF_MERGE", "This name came with a merge. Undo the merge instead; `Entity.merged` lists it."),
        NotSeparable::NothingStays => ("NOTHING_STAYS", "All that was said of it was said under this name. Rename it instead."),
    };
    UseCaseError::invalid(code, "name", message)
}
