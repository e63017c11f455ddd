//! Changes knowledge.

use async_trait::async_trait;
use sqlx::PgConnection;
use uuid::Uuid;

use super::super::{
    PostgresStore,
    codec::{self, Word, column, json, signed, time},
    failure::Failure,
    transaction::WriteTransaction,
};
use recall_domain::{
    Caller, Decision, Entity, EntityId, EntityKey, Evidence, Fact, FactId, Mention, Message, MessageId, MessageKind, SessionId, Stance,
    UserId,
};
use recall_ports::{AnswerCommit, Claim, CommitError, KnowledgeCommit, KnowledgeStore, StoreError};
use recall_store::{KnowledgeStatements, commit_answer, commit_plan, search_text};

/// The knowledge version inside a transaction; 0 for a user who never wrote.
pub(in super::super) async fn version(c: &mut PgConnection, user: Uuid) -> Result<u64, Failure> {
    let version = sqlx::query_scalar!("SELECT knowledge_version FROM users WHERE id = $1", user).fetch_optional(c).await?;
    Ok(version.unwrap_or(0).unsigned_abs())
}

#[async_trait]
impl KnowledgeStore for PostgresStore {
    async fn knowledge_version(&self, caller: &Caller) -> Result<u64, StoreError> {
        let version = sqlx::query_scalar!("SELECT knowledge_version FROM users WHERE id = $1", caller.user().0);
        let version = version.fetch_optional(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(version.unwrap_or(0).unsigned_abs())
    }

    async fn commit(&self, caller: &Caller, plan: &KnowledgeCommit, claim: Option<&Claim>) -> Result<Vec<u64>, CommitError> {
        let input = (caller, plan, claim);
        let committed = self.write(caller, &input, |c, &(caller, plan, claim)| {
            Box::pin(async move { commit_plan(&mut WriteTransaction(c), caller, plan, claim).await })
        });
        let seqs = committed.await?;
        match plan.follow_up {
            Some(_) => self.notifications.queued(caller, plan.session),
            None => self.notifications.committed(caller, plan.session),
        }
        Ok(seqs)
    }

    async fn commit_answer(&self, caller: &Caller, answer: &AnswerCommit, claim: &Claim) -> Result<Message, CommitError> {
        let input = (caller, answer, claim);
        let committed = self.write(caller, &input, |c, &(caller, answer, claim)| {
            Box::pin(async move { commit_answer(&mut WriteTransaction(c), caller, answer, claim).await })
        });
        let message = committed.await?;
        self.notifications.committed(caller, message.session);
        Ok(message)
    }
}

#[async_trait]
impl KnowledgeStatements for WriteTransaction<'_> {
    async fn lock_session(&mut self, user: UserId, session: SessionId) -> Result<bool, Failure> {
        let locked =
            sqlx::query_scalar!("SELECT 1 FROM visible_sessions WHERE user_id = $1 AND id = $2 FOR NO KEY UPDATE", user.0, session.0);
        Ok(locked.fetch_optional(&mut *self.0).await?.is_some())
    }

    async fn advance_knowledge(&mut self, user: UserId, version: u64) -> Result<bool, Failure> {
        let current = sqlx::query!(
            "UPDATE users SET knowledge_version = knowledge_version + 1
             WHERE id = $1 AND knowledge_version = $2 AND NOT erasing AND NOT importing",
            user.0,
            signed(version),
        );
        Ok(current.execute(&mut *self.0).await?.rows_affected() > 0)
    }

    async fn is_in_session(&mut self, user: UserId, message: MessageId, session: SessionId) -> Result<bool, Failure> {
        let found =
            sqlx::query_scalar!("SELECT 1 FROM messages WHERE user_id = $1 AND id = $2 AND session_id = $3", user.0, message.0, session.0);
        Ok(found.fetch_optional(&mut *self.0).await?.is_some())
    }

    async fn upsert_entity(&mut self, user: UserId, e: &Entity) -> Result<(), Failure> {
        let description = codec::opt_text(e.description.as_deref());
        let search = search_text(&e.name, &e.aliases);
        let put = sqlx::query!(
            "INSERT INTO entities (user_id, id, name, entity_type, aliases, description, mention_count, confidence, is_viewer,
                                   first_message, search, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5::text::json, $6, $7, $8, $9, $10, $11, $12, $13)
             ON CONFLICT (user_id, id) DO UPDATE SET name = excluded.name, entity_type = excluded.entity_type, aliases = excluded.aliases,
                 description = excluded.description, mention_count = excluded.mention_count, confidence = excluded.confidence,
                 is_viewer = excluded.is_viewer, first_message = excluded.first_message, search = excluded.search,
                 created_at = excluded.created_at, updated_at = excluded.updated_at",
            user.0,
            e.id.0,
            &*codec::text(&e.name),
            e.entity_type.word(),
            json(&e.aliases, "aliases")?,
            description.as_deref(),
            signed(e.mention_count),
            e.confidence,
            e.is_viewer,
            e.first_message.map(|m| m.0),
            &*codec::text(&search),
            time(e.created_at),
            time(e.updated_at),
        );
        put.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn clear_viewer_mark(&mut self, user: UserId, entity: EntityId) -> Result<(), Failure> {
        let cleared = sqlx::query!("UPDATE entities SET is_viewer = false WHERE user_id = $1 AND id = $2", user.0, entity.0);
        cleared.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_key(&mut self, user: UserId, entity: EntityId, key: &EntityKey) -> Result<(), Failure> {
        let put = sqlx::query!(
            "INSERT INTO entity_keys (user_id, key, entity_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            user.0,
            &*codec::key(key.as_str()),
            entity.0,
        );
        put.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_hint(&mut self, user: UserId, entity: EntityId, hint: &str) -> Result<(), Failure> {
        let put = sqlx::query!(
            "INSERT INTO entity_hints (user_id, hint, entity_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            user.0,
            &*codec::key(hint),
            entity.0,
        );
        put.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn fact_exists(&mut self, user: UserId, fact: FactId) -> Result<bool, Failure> {
        let found = sqlx::query_scalar!("SELECT 1 FROM facts WHERE user_id = $1 AND id = $2", user.0, fact.0);
        Ok(found.fetch_optional(&mut *self.0).await?.is_some())
    }

    async fn upsert_fact(&mut self, user: UserId, f: &Fact) -> Result<(), Failure> {
        let put = sqlx::query!(
            "INSERT INTO facts (user_id, id, subject_id, relation, object_id, support, opposition, weighed_at, status, flagged,
                                valid_from, valid_to, last_support, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
             ON CONFLICT (user_id, id) DO UPDATE SET subject_id = excluded.subject_id, relation = excluded.relation,
                 object_id = excluded.object_id, support = excluded.support, opposition = excluded.opposition,
                 weighed_at = excluded.weighed_at, status = excluded.status, flagged = excluded.flagged,
                 valid_from = excluded.valid_from, valid_to = excluded.valid_to, last_support = excluded.last_support,
                 created_at = excluded.created_at, updated_at = excluded.updated_at",
            user.0,
            f.id.0,
            f.subject.0,
            &*codec::text(&f.relation),
            f.object.0,
            // Adding 0.0 removes the sign of a negative zero, which SQLite does not keep either.
            f.support + 0.0,
            f.opposition + 0.0,
            time(f.weighed_at),
            f.status.word(),
            f.flagged,
            f.valid_from.map(time),
            f.valid_to.map(time),
            f.last_support.map(time),
            time(f.created_at),
            time(f.updated_at),
        );
        put.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn delete_facts(&mut self, user: UserId, facts: &[FactId]) -> Result<(), Failure> {
        let gone = sqlx::query!("DELETE FROM facts WHERE user_id = $1 AND id = ANY($2)", user.0, &column(facts, |f| f.0)[..]);
        gone.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn release_statements(&mut self, user: UserId, facts: &[Fact]) -> Result<(), Failure> {
        let facts = column(facts, |f| f.id.0);
        let released = sqlx::query!("UPDATE facts SET relation = id::text WHERE user_id = $1 AND id = ANY($2)", user.0, &facts[..]);
        released.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_evidence(&mut self, user: UserId, e: &Evidence) -> Result<(), Failure> {
        let put = sqlx::query!(
            "INSERT INTO evidence (user_id, fact_id, message_id, stance, session_id, confidence, span_start, span_end, excerpt, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (user_id, fact_id, message_id, stance) DO NOTHING",
            user.0,
            e.fact.0,
            e.message.0,
            e.stance.word(),
            e.session.0,
            e.confidence,
            e.span.map(|s| i64::from(s.start)),
            e.span.map(|s| i64::from(s.end)),
            &*codec::text(e.excerpt.as_str()),
            time(e.created_at),
        );
        put.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn move_evidence(&mut self, user: UserId, from: FactId, to: FactId) -> Result<(), Failure> {
        let moved = sqlx::query!(
            "UPDATE evidence e SET fact_id = $3 WHERE user_id = $1 AND fact_id = $2 AND NOT EXISTS (
                 SELECT 1 FROM evidence o
                 WHERE o.user_id = $1 AND o.fact_id = $3 AND o.message_id = e.message_id AND o.stance = e.stance)",
            user.0,
            from.0,
            to.0,
        );
        moved.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn delete_evidence(&mut self, user: UserId, fact: FactId, message: MessageId, stance: Stance) -> Result<(), Failure> {
        let gone = sqlx::query!(
            "DELETE FROM evidence WHERE user_id = $1 AND fact_id = $2 AND message_id = $3 AND stance = $4",
            user.0,
            fact.0,
            message.0,
            stance.word(),
        );
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
        let row = sqlx::query!(
            "UPDATE messages SET kind = $1, status = 'processed' WHERE user_id = $2 AND id = $3 RETURNING session_id, sent_at",
            kind.word(),
            user.0,
            message.0,
        );
        let Some(of) = row.fetch_optional(&mut *self.0).await? else { return Ok(false) };
        sqlx::query!("DELETE FROM mentions WHERE user_id = $1 AND message_id = $2", user.0, message.0).execute(&mut *self.0).await?;
        for (i, (entity, m)) in mentions.iter().enumerate() {
            let decision = decisions.get(i);
            let (description, reason) = (codec::opt_text(m.description.as_deref()), codec::opt_text(decision.map(|d| d.reason.as_str())));
            let mention = sqlx::query!(
                "INSERT INTO mentions (user_id, message_id, ordinal, entity_id, session_id, said_at, name, entity_type,
                                       span_start, span_end, confidence, description, score, reason)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
                user.0,
                message.0,
                signed(i as u64),
                entity.0,
                of.session_id,
                of.sent_at,
                &*codec::text(&m.name),
                m.entity_type.word(),
                i64::from(m.span.start),
                i64::from(m.span.end),
                m.confidence,
                description.as_deref(),
                decision.map(|d| d.score),
                reason.as_deref(),
            );
            mention.execute(&mut *self.0).await?;
        }
        Ok(true)
    }
}
