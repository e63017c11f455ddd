//! Records the state before a merge of two entities, undoes merges, and separates names.

use std::collections::HashMap;

use async_trait::async_trait;

use super::{Refusal, Transaction};
use recall_domain::{Decision, Entity, EntityId, EntityKey, FactId, MessageId, Timestamp, UserId};
use recall_ports::{KnowledgeCommit, LostNames, Unmerge};

/// Which state of which entity a merge record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The merged entity, before the merge.
    Gone,
    /// The surviving entity, before the merge.
    Before,
    /// The surviving entity, after the merge.
    After,
}

impl Side {
    /// The word in the column `side`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// Statements on merges and their records.
#[async_trait]
pub trait MergeStatements: Transaction {
    /// Whether an entity exists.
    async fn entity_exists(&mut self, user: UserId, entity: EntityId) -> Result<bool, Self::Error>;
    /// Deletes an entity.
    async fn delete_entity(&mut self, user: UserId, entity: EntityId) -> Result<(), Self::Error>;
    /// Redirects the id of a merged entity to another one.
    async fn redirect_entity(&mut self, user: UserId, gone: EntityId, into: EntityId) -> Result<(), Self::Error>;
    /// Moves keys, hints, mentions and earlier merges of an entity to another one.
    async fn move_entity_rows(&mut self, user: UserId, gone: EntityId, into: EntityId) -> Result<(), Self::Error>;

    /// Begins the record of a merge.
    async fn insert_merge(&mut self, user: UserId, gone: EntityId, at: Timestamp, decision: &Decision) -> Result<(), Self::Error>;
    /// Copies the current state of an entity into the record of the merge of `gone`, if there is one.
    async fn record_entity(&mut self, user: UserId, gone: EntityId, entity: EntityId, side: Side) -> Result<(), Self::Error>;
    /// Copies keys, hints, mentions and earlier merges of `gone`, and these facts with their evidence, into the record.
    async fn record_entity_rows(&mut self, user: UserId, gone: EntityId, into: EntityId, facts: &[FactId]) -> Result<(), Self::Error>;

    /// Whether there is a record of the merge of an entity.
    async fn has_merge_record(&mut self, user: UserId, gone: EntityId) -> Result<bool, Self::Error>;
    /// Gives mentions, each a message and a position, from one entity to another.
    async fn move_mentions(&mut self, user: UserId, from: EntityId, to: EntityId, mentions: &[(MessageId, u32)])
    -> Result<(), Self::Error>;
    /// Gives the recorded keys, hints and earlier merges back to the entity `gone`, and ends the redirection of its id.
    async fn restore_entity_rows(&mut self, user: UserId, gone: EntityId, from: EntityId) -> Result<(), Self::Error>;
    /// Takes keys and hints from an entity.
    async fn delete_names(&mut self, user: UserId, entity: EntityId, keys: &[EntityKey], hints: &[String]) -> Result<(), Self::Error>;
}

/// Records the state before a merge, and redirects the merged id to the other entity.
pub(super) async fn record<T: MergeStatements>(
    tx: &mut T,
    user: UserId,
    gone: EntityId,
    into: EntityId,
    plan: &KnowledgeCommit,
) -> Result<(), T::Error> {
    if !tx.entity_exists(user, into).await? {
        // The target is created by this plan, so there is no earlier state to restore.
        return Ok(());
    }
    tx.redirect_entity(user, gone, into).await?;
    let decision = plan.merge_decision.clone().unwrap_or(Decision { score: 1.0, reason: String::new() });
    tx.insert_merge(user, gone, plan.now, &decision).await?;
    tx.record_entity(user, gone, gone, Side::Gone).await?;
    tx.record_entity(user, gone, into, Side::Before).await?;
    let joined = plan.dropped_facts.iter().flat_map(|(a, b)| [*a, *b]);
    let touched: Vec<FactId> = plan.facts.iter().map(|f| f.id).chain(plan.deleted_facts.iter().copied()).chain(joined).collect();
    tx.record_entity_rows(user, gone, into, &touched).await
}

/// Undoes a merge, or separates a name. The plan has already written both entities; it writes their facts and evidence next.
pub(super) async fn undo<T: MergeStatements>(tx: &mut T, user: UserId, unmerge: &Unmerge) -> Result<(), T::Error> {
    let Unmerge { gone, mentions, from, names } = unmerge;
    if *names == LostNames::Recorded && !tx.has_merge_record(user, *gone).await? {
        return Err(Refusal::Stale.into());
    }
    tx.move_mentions(user, *from, *gone, mentions).await?;
    match names {
        LostNames::Recorded => tx.restore_entity_rows(user, *gone, *from).await,
        LostNames::Given { keys, hints } => tx.delete_names(user, *from, keys, hints).await,
    }
}

/// Finds the entities of a merge record by their side: the merged entity, then the surviving one before and after the merge.
///
/// # Errors
/// `Damaged` if one is missing.
pub fn recorded_entities(mut by_side: HashMap<String, Entity>) -> Result<[Entity; 3], Refusal> {
    let damaged = Refusal::Damaged { table: "merged_entities", column: "side" };
    let mut take = |side: Side| by_side.remove(side.word()).ok_or(damaged);
    Ok([take(Side::Gone)?, take(Side::Before)?, take(Side::After)?])
}
