//! Entities, facts and evidence. `read` looks them up, `list` and `trace` list them, and only `commit` changes them.

mod commit;
mod list;
mod merge;
mod read;
mod trace;

use async_trait::async_trait;

pub(super) use self::read::version;
#[cfg(test)]
pub(super) use self::{
    read::{ENTITIES_BY_HINT, FACTS_BETWEEN},
    trace::RECENTLY_MENTIONED,
};
use super::{SqliteStore, transaction::WriteTransaction};
use recall_domain::{
    Caller, Decision, Entity, EntityId, EntityKey, Evidence, Fact, FactId, Mention, Message, MessageId, Page, SessionId, Slice, Stance,
};
use recall_ports::{
    AnswerCommit, Claim, CommitError, EntityFilter, EntityStore, EvidenceStore, FactFilter, FactKey, FactStore, KnowledgeCommit,
    KnowledgeStore, MentionStore, MergeRecord, Merged, StoreError,
};

#[async_trait]
impl EntityStore for SqliteStore {
    async fn viewer_entity(&self, caller: &Caller) -> Result<Option<Entity>, StoreError> {
        Ok(read::viewer(self, caller.user()).await?)
    }

    async fn entities_by_key(&self, caller: &Caller, keys: &[EntityKey]) -> Result<Vec<(EntityKey, Entity)>, StoreError> {
        Ok(read::entities_by_key(self, caller.user(), keys).await?)
    }

    async fn entities_by_hint(&self, caller: &Caller, hints: &[String], limit: u32) -> Result<Vec<(String, Entity)>, StoreError> {
        Ok(read::entities_by_hint(self, caller.user(), hints, limit).await?)
    }

    async fn entities_by_id(&self, caller: &Caller, ids: &[EntityId]) -> Result<Vec<Entity>, StoreError> {
        Ok(read::entities_by_id(self, caller.user(), ids).await?)
    }

    async fn list_entities(&self, caller: &Caller, filter: &EntityFilter, page: &Page) -> Result<Slice<Entity>, StoreError> {
        Ok(list::entities(self, caller.user(), filter, page).await?)
    }

    async fn count_entities(&self, caller: &Caller, filter: &EntityFilter) -> Result<u64, StoreError> {
        Ok(list::count_entities(self, caller.user(), filter).await?)
    }

    async fn merge_record(&self, caller: &Caller, gone: EntityId) -> Result<Option<MergeRecord>, StoreError> {
        Ok(merge::load_record(self, caller.user(), gone).await?)
    }

    async fn merged_into(&self, caller: &Caller, entities: &[EntityId]) -> Result<Vec<(EntityId, Merged)>, StoreError> {
        Ok(merge::merged_into(self, caller.user(), entities).await?)
    }
}

#[async_trait]
impl MentionStore for SqliteStore {
    async fn mentions_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, EntityId, Mention)>, StoreError> {
        Ok(trace::mentions_in(self, caller.user(), messages).await?)
    }

    async fn mentions_of(&self, caller: &Caller, entity: EntityId) -> Result<Vec<(MessageId, u32, Mention)>, StoreError> {
        Ok(trace::mentions_of(self, caller.user(), entity).await?)
    }

    async fn list_mentions(&self, caller: &Caller, entity: EntityId, page: &Page) -> Result<Slice<(MessageId, Mention)>, StoreError> {
        Ok(trace::list_mentions(self, caller.user(), entity, page).await?)
    }

    async fn recently_mentioned(&self, caller: &Caller, session: SessionId, entities: &[EntityId]) -> Result<Vec<EntityId>, StoreError> {
        Ok(trace::recently_mentioned(self, caller.user(), session, entities).await?)
    }

    async fn decisions_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, u32, Decision)>, StoreError> {
        Ok(trace::decisions_in(self, caller.user(), messages).await?)
    }
}

#[async_trait]
impl FactStore for SqliteStore {
    async fn facts_by_key(&self, caller: &Caller, keys: &[FactKey], most: u32) -> Result<Vec<Fact>, StoreError> {
        Ok(read::facts_by_key(self, caller.user(), keys, most).await?)
    }

    async fn facts_by_id(&self, caller: &Caller, ids: &[FactId]) -> Result<Vec<Fact>, StoreError> {
        Ok(read::facts_by_id(self, caller.user(), ids).await?)
    }

    async fn facts_of_entities(&self, caller: &Caller, entities: &[EntityId], limit: u32) -> Result<Vec<Fact>, StoreError> {
        Ok(read::facts_of_entities(self, caller.user(), entities, limit).await?)
    }

    async fn facts_between(&self, caller: &Caller, some: &[EntityId], others: &[EntityId]) -> Result<Vec<Fact>, StoreError> {
        Ok(read::facts_between(self, caller.user(), some, others).await?)
    }

    async fn list_facts(&self, caller: &Caller, filter: &FactFilter, page: &Page) -> Result<Slice<Fact>, StoreError> {
        Ok(list::facts(self, caller.user(), filter, page).await?)
    }

    async fn count_facts(&self, caller: &Caller, filter: &FactFilter) -> Result<u64, StoreError> {
        Ok(list::count_facts(self, caller.user(), filter).await?)
    }
}

#[async_trait]
impl EvidenceStore for SqliteStore {
    async fn evidence_of(&self, caller: &Caller, facts: &[FactId], limit: u32) -> Result<Vec<Evidence>, StoreError> {
        Ok(trace::evidence_of(self, caller.user(), facts, limit).await?)
    }

    async fn list_evidence(&self, caller: &Caller, fact: FactId, page: &Page) -> Result<Slice<Evidence>, StoreError> {
        Ok(trace::list_evidence(self, caller.user(), fact, page).await?)
    }

    async fn facts_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, FactId, Stance)>, StoreError> {
        Ok(trace::facts_in(self, caller.user(), messages).await?)
    }

    async fn sessions_of_fact(&self, caller: &Caller, fact: FactId, limit: u32) -> Result<Vec<SessionId>, StoreError> {
        Ok(trace::sessions_of_fact(self, caller.user(), fact, limit).await?)
    }
}

#[async_trait]
impl KnowledgeStore for SqliteStore {
    async fn knowledge_version(&self, caller: &Caller) -> Result<u64, StoreError> {
        Ok(read::current_version(self, caller.user()).await?)
    }

    async fn commit(&self, caller: &Caller, plan: &KnowledgeCommit, claim: Option<&Claim>) -> Result<Vec<u64>, CommitError> {
        let (caller, plan, claim) = (*caller, plan.clone(), claim.cloned());
        Ok(self
            .write(move |c| {
                Box::pin(async move { recall_store::commit_plan(&mut WriteTransaction(c), &caller, &plan, claim.as_ref()).await })
            })
            .await?)
    }

    async fn commit_answer(&self, caller: &Caller, answer: &AnswerCommit, claim: &Claim) -> Result<Message, CommitError> {
        let (caller, answer, claim) = (*caller, answer.clone(), claim.clone());
        Ok(self
            .write(move |c| Box::pin(async move { recall_store::commit_answer(&mut WriteTransaction(c), &caller, &answer, &claim).await }))
            .await?)
    }
}
