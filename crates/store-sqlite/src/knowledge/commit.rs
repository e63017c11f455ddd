//! Changes knowledge.

use async_trait::async_trait;
use sqlx::SqliteConnection;
use uuid::Uuid;

use super::super::{
    SqliteStore,
    codec::{Word, bytes, id_list, json, millis, signed},
    failure::Failure,
    rows::Columns,
    transaction::WriteTransaction,
};
use recall_domain::{
    Caller, Decision, Entity, EntityId, EntityKey, Evidence, Fact, FactId, Mention, Message, MessageId, MessageKind, SessionId, Stance,
    UserId,
};
use recall_ports::{AnswerCommit, Claim, CommitError, KnowledgeCommit, KnowledgeStore, StoreError};
use recall_store::{KnowledgeStatements, commit_answer, commit_plan, search_text};

const VERSION: &str = "SELECT knowledge_version FROM users WHERE id = ?";

/// The knowledge version inside a transaction; 0 for a user who never wrote.
pub(in super::super) async fn version(c: &mut SqliteConnection, user: Uuid) -> Result<u64, Failure> {
    let version: Option<i64> = sqlx::query_scalar(VERSION).bind(bytes(&user)).fetch_optional(c).await?;
    Ok(version.unwrap_or(0).unsigned_abs())
}

#[async_trait]
impl KnowledgeStore for SqliteStore {
    async fn knowledge_version(&self, caller: &Caller) -> Result<u64, StoreError> {
        let user = caller.user().0;
        let version = sqlx::query_scalar(VERSION).bind(bytes(&user)).fetch_optional(self.readers.for_user(caller)).await;
        let version: Option<i64> = version.map_err(Failure::from)?;
        Ok(version.unwrap_or(0).unsigned_abs())
    }

    async fn commit(&self, caller: &Caller, plan: &KnowledgeCommit, claim: Option<&Claim>) -> Result<Vec<u64>, CommitError> {
        let (caller, plan, claim) = (*caller, plan.clone(), claim.cloned());
        Ok(self
            .write(move |c| Box::pin(async move { commit_plan(&mut WriteTransaction(c), &caller, &plan, claim.as_ref()).await }))
            .await?)
    }

    async fn commit_answer(&self, caller: &Caller, answer: &AnswerCommit, claim: &Claim) -> Result<Message, CommitError> {
        let (caller, answer, claim) = (*caller, answer.clone(), claim.clone());
        Ok(self.write(move |c| Box::pin(async move { commit_answer(&mut WriteTransaction(c), &caller, &answer, &claim).await })).await?)
    }
}

#[async_trait]
impl KnowledgeStatements for WriteTransaction<'_> {
    async fn lock_session(&mut self, user: UserId, session: SessionId) -> Result<bool, Failure> {
        // SQLite has one writer, so there is nothing to lock.
        let found = sqlx::query("SELECT 1 FROM visible_sessions WHERE user_id = ? AND id = ?");
        Ok(found.bind(bytes(&user.0)).bind(bytes(&session.0)).fetch_optional(&mut *self.0).await?.is_some())
    }

    async fn advance_knowledge(&mut self, user: UserId, version: u64) -> Result<bool, Failure> {
        let current = sqlx::query(
            "UPDATE users SET knowledge_version = knowledge_version + 1
             WHERE id = ? AND knowledge_version = ? AND erasing = 0 AND importing = 0",
        );
        Ok(current.bind(bytes(&user.0)).bind(signed(version)).execute(&mut *self.0).await?.rows_affected() > 0)
    }

    async fn is_in_session(&mut self, user: UserId, message: MessageId, session: SessionId) -> Result<bool, Failure> {
        let found = sqlx::query("SELECT 1 FROM messages WHERE user_id = ? AND id = ? AND session_id = ?");
        let found = found.bind(bytes(&user.0)).bind(bytes(&message.0)).bind(bytes(&session.0));
        Ok(found.fetch_optional(&mut *self.0).await?.is_some())
    }

    async fn upsert_entity(&mut self, user: UserId, e: &Entity) -> Result<(), Failure> {
        sqlx::query(
            "INSERT INTO entities (user_id, id, name, entity_type, aliases, description, mention_count, confidence, is_viewer,
                                   first_message, search, created_at, updated_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT (user_id, id) DO UPDATE SET name = excluded.name, entity_type = excluded.entity_type, aliases = excluded.aliases,
                 description = excluded.description, mention_count = excluded.mention_count, confidence = excluded.confidence,
                 is_viewer = excluded.is_viewer, first_message = excluded.first_message, search = excluded.search,
                 created_at = excluded.created_at, updated_at = excluded.updated_at",
        )
        .bind(bytes(&user.0))
        .bind(bytes(&e.id.0))
        .bind(&e.name)
        .bind(e.entity_type.word())
        .bind(json(&e.aliases, "aliases")?)
        .bind(&e.description)
        .bind(signed(e.mention_count))
        .bind(e.confidence)
        .bind(e.is_viewer)
        .bind(e.first_message.as_ref().map(|m| bytes(&m.0)))
        .bind(search_text(&e.name, &e.aliases))
        .bind(millis(e.created_at))
        .bind(millis(e.updated_at))
        .execute(&mut *self.0)
        .await?;
        Ok(())
    }

    async fn clear_viewer_mark(&mut self, user: UserId, entity: EntityId) -> Result<(), Failure> {
        let cleared = sqlx::query("UPDATE entities SET is_viewer = 0 WHERE user_id = ? AND id = ?");
        cleared.bind(bytes(&user.0)).bind(bytes(&entity.0)).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_key(&mut self, user: UserId, entity: EntityId, key: &EntityKey) -> Result<(), Failure> {
        let put = sqlx::query("INSERT INTO entity_keys (user_id, key, entity_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
        put.bind(bytes(&user.0)).bind(key.as_str()).bind(bytes(&entity.0)).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_hint(&mut self, user: UserId, entity: EntityId, hint: &str) -> Result<(), Failure> {
        let put = sqlx::query("INSERT INTO entity_hints (user_id, hint, entity_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
        put.bind(bytes(&user.0)).bind(hint).bind(bytes(&entity.0)).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn fact_exists(&mut self, user: UserId, fact: FactId) -> Result<bool, Failure> {
        let found = sqlx::query("SELECT 1 FROM facts WHERE user_id = ? AND id = ?").bind(bytes(&user.0)).bind(bytes(&fact.0));
        Ok(found.fetch_optional(&mut *self.0).await?.is_some())
    }

    async fn upsert_fact(&mut self, user: UserId, f: &Fact) -> Result<(), Failure> {
        sqlx::query(
            "INSERT INTO facts (user_id, id, subject_id, relation, object_id, support, opposition, weighed_at, status, flagged,
                                valid_from, valid_to, last_support, created_at, updated_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT (user_id, id) DO UPDATE SET subject_id = excluded.subject_id, relation = excluded.relation,
                 object_id = excluded.object_id, support = excluded.support, opposition = excluded.opposition,
                 weighed_at = excluded.weighed_at, status = excluded.status, flagged = excluded.flagged,
                 valid_from = excluded.valid_from, valid_to = excluded.valid_to, last_support = excluded.last_support,
                 created_at = excluded.created_at, updated_at = excluded.updated_at",
        )
        .bind(bytes(&user.0))
        .bind(bytes(&f.id.0))
        .bind(bytes(&f.subject.0))
        .bind(&f.relation)
        .bind(bytes(&f.object.0))
        .bind(f.support)
        .bind(f.opposition)
        .bind(millis(f.weighed_at))
        .bind(f.status.word())
        .bind(f.flagged)
        .bind(f.valid_from.map(millis))
        .bind(f.valid_to.map(millis))
        .bind(f.last_support.map(millis))
        .bind(millis(f.created_at))
        .bind(millis(f.updated_at))
        .execute(&mut *self.0)
        .await?;
        Ok(())
    }

    async fn delete_facts(&mut self, user: UserId, facts: &[FactId]) -> Result<(), Failure> {
        let gone = sqlx::query("DELETE FROM facts WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))");
        gone.bind(bytes(&user.0)).bind(id_list(facts.iter().map(|f| &f.0))).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn release_statements(&mut self, user: UserId, facts: &[Fact]) -> Result<(), Failure> {
        let released =
            sqlx::query("UPDATE facts SET relation = hex(id) WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))");
        released.bind(bytes(&user.0)).bind(id_list(facts.iter().map(|f| &f.id.0))).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_evidence(&mut self, user: UserId, e: &Evidence) -> Result<(), Failure> {
        sqlx::query(
            "INSERT INTO evidence (user_id, fact_id, message_id, stance, session_id, confidence, span_start, span_end, excerpt, created_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, fact_id, message_id, stance) DO NOTHING",
        )
        .bind(bytes(&user.0))
        .bind(bytes(&e.fact.0))
        .bind(bytes(&e.message.0))
        .bind(e.stance.word())
        .bind(bytes(&e.session.0))
        .bind(e.confidence)
        .bind(e.span.map(|s| s.start))
        .bind(e.span.map(|s| s.end))
        .bind(e.excerpt.as_str())
        .bind(millis(e.created_at))
        .execute(&mut *self.0)
        .await?;
        Ok(())
    }

    async fn move_evidence(&mut self, user: UserId, from: FactId, to: FactId) -> Result<(), Failure> {
        let moved = sqlx::query("UPDATE OR IGNORE evidence SET fact_id = ?3 WHERE user_id = ?1 AND fact_id = ?2");
        moved.bind(bytes(&user.0)).bind(bytes(&from.0)).bind(bytes(&to.0)).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn delete_evidence(&mut self, user: UserId, fact: FactId, message: MessageId, stance: Stance) -> Result<(), Failure> {
        let gone = sqlx::query("DELETE FROM evidence WHERE user_id = ? AND fact_id = ? AND message_id = ? AND stance = ?");
        let gone = gone.bind(bytes(&user.0)).bind(bytes(&fact.0)).bind(bytes(&message.0)).bind(stance.word());
        gone.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn record_extraction(
        &mut self,
        user: UserId,
        message: MessageId,
        kind: MessageKind,
        mentions: &[(EntityId, Mention)],
        decisions: &[Decision],
    ) -> Result<bool, Failure> {
        let row =
            sqlx::query("UPDATE messages SET kind = ?, status = 'processed' WHERE user_id = ? AND id = ? RETURNING session_id, sent_at")
                .bind(kind.word())
                .bind(bytes(&user.0))
                .bind(bytes(&message.0))
                .fetch_optional(&mut *self.0)
                .await?;
        let Some(row) = row else { return Ok(false) };
        let columns = Columns::of(&row, "messages");
        let (session, said_at) = (columns.id("session_id")?, columns.integer("sent_at")?);
        let earlier = sqlx::query("DELETE FROM mentions WHERE user_id = ? AND message_id = ?").bind(bytes(&user.0)).bind(bytes(&message.0));
        earlier.execute(&mut *self.0).await?;
        for (i, (entity, m)) in mentions.iter().enumerate() {
            let decision = decisions.get(i);
            sqlx::query(
                "INSERT INTO mentions (user_id, message_id, ordinal, entity_id, session_id, said_at, name, entity_type,
                                       span_start, span_end, confidence, description, score, reason)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )
            .bind(bytes(&user.0))
            .bind(bytes(&message.0))
            .bind(signed(i as u64))
            .bind(bytes(&entity.0))
            .bind(bytes(&session))
            .bind(said_at)
            .bind(&m.name)
            .bind(m.entity_type.word())
            .bind(m.span.start)
            .bind(m.span.end)
            .bind(m.confidence)
            .bind(&m.description)
            .bind(decision.map(|d| d.score))
            .bind(decision.map(|d| d.reason.as_str()))
            .execute(&mut *self.0)
            .await?;
        }
        Ok(true)
    }
}
