//! Changes knowledge.

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    super::{
        PostgresStore,
        codec::{self, Word, column, json, signed, time},
        failure::Failure,
        transaction::WriteTransaction,
    },
    reads::Reads,
};
use recall_domain::{
    Caller, Decision, Entity, EntityId, EntityKey, Evidence, Fact, FactId, Mention, Message, MessageId, MessageKind, SessionId, Stance,
    Timestamp, UserId,
};
use recall_ports::{
    AnswerCommit, Claim, CommitError, KnowledgeCommit, KnowledgeReads, KnowledgeStore, MessagePlanner, NewMessage, StoreError,
};
use recall_store::{KnowledgeStatements, append_and_learn, commit_answer, commit_plan, learn, search_text};

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

    async fn commit(&self, caller: &Caller, plan: &KnowledgeCommit) -> Result<Vec<u64>, CommitError> {
        let input = (caller, plan);
        let committed = self
            .write(caller, &input, |c, &(caller, plan)| Box::pin(async move { commit_plan(&mut WriteTransaction(c), caller, plan).await }));
        let seqs = committed.await?;
        match plan.follow_up {
            Some(_) => self.notifications.queued(caller, plan.session),
            None => self.notifications.committed(caller, plan.session),
        }
        Ok(seqs)
    }

    async fn learn(
        &self,
        caller: &Caller,
        messages: &[Arc<dyn MessagePlanner>],
        claim: Option<&Claim>,
    ) -> Result<Vec<Vec<Fact>>, CommitError> {
        let input = (caller, messages, claim);
        let learned = self.write(caller, &input, |c, &(caller, messages, claim)| {
            Box::pin(async move { learn(&mut WriteTransaction(c), caller, messages, claim).await })
        });
        let facts = learned.await?;
        if let Some(message) = messages.first() {
            match claim {
                // The message may have a follow-up job.
                Some(_) => self.notifications.queued(caller, message.session()),
                None => self.notifications.committed(caller, message.session()),
            }
        }
        Ok(facts)
    }

    async fn append_and_learn(
        &self,
        caller: &Caller,
        message: &NewMessage,
        planner: Arc<dyn MessagePlanner>,
    ) -> Result<Vec<Fact>, CommitError> {
        let input = (caller, message, &planner);
        let learned = self.write(caller, &input, |c, &(caller, message, planner)| {
            Box::pin(async move { append_and_learn(&mut WriteTransaction(c), caller, message, planner).await })
        });
        let facts = learned.await?;
        self.notifications.committed(caller, message.session);
        self.count_new_rows(1).await;
        Ok(facts)
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

    fn reads(&mut self, user: UserId) -> Box<dyn KnowledgeReads + '_> {
        Box::new(Reads { connection: &mut *self.0, user })
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

    async fn is_remembered(&mut self, user: UserId, message: MessageId, session: SessionId) -> Result<Option<bool>, Failure> {
        let found = sqlx::query_scalar!(
            r#"SELECT unremembered IS NULL AS "remembered!" FROM messages WHERE user_id = $1 AND id = $2 AND session_id = $3"#,
            user.0,
            message.0,
            session.0
        );
        Ok(found.fetch_optional(&mut *self.0).await?)
    }

    /// Writes the rows in the order of the entities, like the other statements on arrays.
    async fn any_hidden(&mut self, user: UserId, messages: &[MessageId]) -> Result<bool, Failure> {
        let found = sqlx::query_scalar!(
            "SELECT id FROM messages WHERE user_id = $1 AND id = ANY($2) AND forgotten = 'hidden' LIMIT 1",
            user.0,
            &column(messages, |m| m.0)[..],
        );
        Ok(found.fetch_optional(&mut *self.0).await?.is_some())
    }

    async fn upsert_entities(&mut self, user: UserId, entities: &[Entity]) -> Result<(), Failure> {
        let aliases = entities.iter().map(|e| json(&e.aliases, "aliases").map(Cow::Owned)).collect::<Result<Vec<_>, _>>()?;
        let search = column(entities, |e| search_text(&e.name, &e.aliases));
        let put = sqlx::query!(
            "INSERT INTO entities (user_id, id, name, entity_type, aliases, description, mention_count, confidence, is_viewer,
                                   first_message, search, created_at, updated_at)
             SELECT $1, id, name, entity_type, aliases::json, description, mention_count, confidence, is_viewer,
                    first_message, search, created_at, updated_at
             FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::double precision[], $9::boolean[],
                         $10::uuid[], $11::text[], $12::timestamptz[], $13::timestamptz[])
                  AS e (id, name, entity_type, aliases, description, mention_count, confidence, is_viewer,
                        first_message, search, created_at, updated_at)
             ON CONFLICT (user_id, id) DO UPDATE SET name = excluded.name, entity_type = excluded.entity_type, aliases = excluded.aliases,
                 description = excluded.description, mention_count = excluded.mention_count, confidence = excluded.confidence,
                 is_viewer = excluded.is_viewer, first_message = excluded.first_message, search = excluded.search,
                 created_at = excluded.created_at, updated_at = excluded.updated_at",
            user.0,
            &column(entities, |e| e.id.0)[..],
            &column(entities, |e| codec::text(&e.name))[..],
            &column(entities, |e| Cow::Borrowed(e.entity_type.word()))[..],
            &aliases[..],
            &column(entities, |e| codec::opt_text(e.description.as_deref())) as &[Option<Cow<'_, str>>],
            &column(entities, |e| signed(e.mention_count))[..],
            &column(entities, |e| e.confidence)[..],
            &column(entities, |e| e.is_viewer)[..],
            &column(entities, |e| e.first_message.map(|m| m.0)) as &[Option<Uuid>],
            &column(&search, |search| codec::text(search))[..],
            &column(entities, |e| time(e.created_at))[..],
            &column(entities, |e| time(e.updated_at))[..],
        );
        put.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn clear_viewer_mark(&mut self, user: UserId, entity: EntityId) -> Result<(), Failure> {
        let cleared = sqlx::query!("UPDATE entities SET is_viewer = false WHERE user_id = $1 AND id = $2", user.0, entity.0);
        cleared.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_keys(&mut self, user: UserId, keys: &[(EntityId, EntityKey)]) -> Result<(), Failure> {
        let put = sqlx::query!(
            "INSERT INTO entity_keys (user_id, key, entity_id)
             SELECT $1, key, entity FROM unnest($2::text[], $3::uuid[]) AS k (key, entity) ON CONFLICT DO NOTHING",
            user.0,
            &column(keys, |(_, key)| codec::key(key.as_str()))[..],
            &column(keys, |(entity, _)| entity.0)[..],
        );
        put.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_hints(&mut self, user: UserId, hints: &[(EntityId, String)]) -> Result<(), Failure> {
        let put = sqlx::query!(
            "INSERT INTO entity_hints (user_id, hint, entity_id)
             SELECT $1, hint, entity FROM unnest($2::text[], $3::uuid[]) AS h (hint, entity) ON CONFLICT DO NOTHING",
            user.0,
            &column(hints, |(_, hint)| codec::key(hint))[..],
            &column(hints, |(entity, _)| entity.0)[..],
        );
        put.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn fact_exists(&mut self, user: UserId, fact: FactId) -> Result<bool, Failure> {
        let found = sqlx::query_scalar!("SELECT 1 FROM facts WHERE user_id = $1 AND id = $2", user.0, fact.0);
        Ok(found.fetch_optional(&mut *self.0).await?.is_some())
    }

    async fn upsert_facts(&mut self, user: UserId, facts: &[Fact]) -> Result<(), Failure> {
        let values: Vec<Option<String>> =
            facts.iter().map(|f| f.value.as_ref().map(|v| codec::json(&v.stored(), "value")).transpose()).collect::<Result<_, _>>()?;
        let put = sqlx::query!(
            "INSERT INTO facts (user_id, id, subject_id, relation, object_id, support, opposition, weighed_at, status, flagged,
                                valid_from, valid_to, last_support, created_at, updated_at, value, said_period)
             SELECT $1, id, subject_id, relation, object_id, support, opposition, weighed_at, status, flagged,
                    valid_from, valid_to, last_support, created_at, updated_at, value::json, said_period
             FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::double precision[], $7::double precision[],
                         $8::timestamptz[], $9::text[], $10::boolean[], $11::timestamptz[], $12::timestamptz[], $13::timestamptz[],
                         $14::timestamptz[], $15::timestamptz[], $16::text[], $17::text[])
                  AS f (id, subject_id, relation, object_id, support, opposition, weighed_at, status, flagged,
                        valid_from, valid_to, last_support, created_at, updated_at, value, said_period)
             ON CONFLICT (user_id, id) DO UPDATE SET subject_id = excluded.subject_id, relation = excluded.relation,
                 object_id = excluded.object_id, support = excluded.support, opposition = excluded.opposition,
                 weighed_at = excluded.weighed_at, status = excluded.status, flagged = excluded.flagged,
                 valid_from = excluded.valid_from, valid_to = excluded.valid_to, last_support = excluded.last_support,
                 created_at = excluded.created_at, updated_at = excluded.updated_at, value = excluded.value,
                 said_period = excluded.said_period",
            user.0,
            &column(facts, |f| f.id.0)[..],
            &column(facts, |f| f.subject.0)[..],
            &column(facts, |f| codec::text(&f.relation))[..],
            &column(facts, |f| f.object.0)[..],
            // Adding 0.0 removes the sign of a negative zero, which SQLite does not keep either.
            &column(facts, |f| f.support + 0.0)[..],
            &column(facts, |f| f.opposition + 0.0)[..],
            &column(facts, |f| time(f.weighed_at))[..],
            &column(facts, |f| Cow::Borrowed(f.status.word()))[..],
            &column(facts, |f| f.flagged)[..],
            &column(facts, |f| f.valid_from.map(time)) as &[Option<Timestamp>],
            &column(facts, |f| f.valid_to.map(time)) as &[Option<Timestamp>],
            &column(facts, |f| f.last_support.map(time)) as &[Option<Timestamp>],
            &column(facts, |f| time(f.created_at))[..],
            &column(facts, |f| time(f.updated_at))[..],
            &values as &[Option<String>],
            &column(facts, |f| f.said_period.text()) as &[Option<String>],
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

    async fn insert_evidence(&mut self, user: UserId, evidence: &[Evidence]) -> Result<(), Failure> {
        let put = sqlx::query!(
            "INSERT INTO evidence (user_id, fact_id, message_id, stance, session_id, confidence, span_start, span_end, excerpt, created_at,
                                   said_period)
             SELECT $1, fact_id, message_id, stance, session_id, confidence, span_start, span_end, excerpt, created_at, said_period
             FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::double precision[], $7::bigint[], $8::bigint[], $9::text[],
                         $10::timestamptz[], $11::text[])
                  AS v (fact_id, message_id, stance, session_id, confidence, span_start, span_end, excerpt, created_at, said_period)
             ON CONFLICT (user_id, fact_id, message_id, stance) DO NOTHING",
            user.0,
            &column(evidence, |e| e.fact.0)[..],
            &column(evidence, |e| e.message.0)[..],
            &column(evidence, |e| Cow::Borrowed(e.stance.word()))[..],
            &column(evidence, |e| e.session.0)[..],
            &column(evidence, |e| e.confidence)[..],
            &column(evidence, |e| e.span.map(|s| i64::from(s.start))) as &[Option<i64>],
            &column(evidence, |e| e.span.map(|s| i64::from(s.end))) as &[Option<i64>],
            &column(evidence, |e| codec::text(e.excerpt.as_str()))[..],
            &column(evidence, |e| time(e.created_at))[..],
            &column(evidence, |e| e.said_period.text()) as &[Option<String>],
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

    /// One statement: earlier mentions are overwritten by those at the same place, and the others are deleted.
    async fn record_extraction(
        &mut self,
        user: UserId,
        message: MessageId,
        kind: MessageKind,
        mentions: &[(EntityId, Mention)],
        decisions: &[Decision],
    ) -> Result<bool, Failure> {
        // A mention may have no decision.
        let decisions: Vec<_> = (0..mentions.len()).map(|place| decisions.get(place)).collect();
        let recorded = sqlx::query_scalar!(
            "WITH recorded AS (
                 UPDATE messages SET kind = $3, status = 'processed' WHERE user_id = $1 AND id = $2 RETURNING session_id, sent_at),
             gone AS (DELETE FROM mentions WHERE user_id = $1 AND message_id = $2 AND ordinal >= cardinality($4::uuid[])),
             put AS (
                 INSERT INTO mentions (user_id, message_id, ordinal, entity_id, session_id, said_at, name, entity_type,
                                       span_start, span_end, confidence, description, score, reason)
                 SELECT $1, $2, place - 1, entity_id, session_id, sent_at, name, entity_type,
                        span_start, span_end, confidence, description, score, reason
                 FROM recorded CROSS JOIN unnest($4::uuid[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::double precision[],
                                                 $10::text[], $11::double precision[], $12::text[]) WITH ORDINALITY
                      AS m (entity_id, name, entity_type, span_start, span_end, confidence, description, score, reason, place)
                 ON CONFLICT (user_id, message_id, ordinal) DO UPDATE SET entity_id = excluded.entity_id,
                     session_id = excluded.session_id, said_at = excluded.said_at, name = excluded.name,
                     entity_type = excluded.entity_type, span_start = excluded.span_start, span_end = excluded.span_end,
                     confidence = excluded.confidence, description = excluded.description, score = excluded.score,
                     reason = excluded.reason)
             SELECT 1 FROM recorded",
            user.0,
            message.0,
            kind.word(),
            &column(mentions, |(entity, _)| entity.0)[..],
            &column(mentions, |(_, m)| codec::text(&m.name))[..],
            &column(mentions, |(_, m)| Cow::Borrowed(m.entity_type.word()))[..],
            &column(mentions, |(_, m)| i64::from(m.span.start))[..],
            &column(mentions, |(_, m)| i64::from(m.span.end))[..],
            &column(mentions, |(_, m)| m.confidence)[..],
            &column(mentions, |(_, m)| codec::opt_text(m.description.as_deref())) as &[Option<Cow<'_, str>>],
            &column(&decisions, |d| d.map(|d| d.score)) as &[Option<f64>],
            &column(&decisions, |d| codec::opt_text(d.map(|d| d.reason.as_str()))) as &[Option<Cow<'_, str>>],
        );
        Ok(recorded.fetch_optional(&mut *self.0).await?.is_some())
    }
}
