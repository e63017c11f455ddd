//! The statements that forget mentions, evidence and entities.

use std::borrow::Cow;

use async_trait::async_trait;

use super::{
    codec::{Word, column, opt_text, text},
    delete::entity_ids,
    failure::Failure,
    jobs::HeldRow,
    rows::{Column, MentionRow},
    transaction::WriteTransaction,
};
use recall_domain::{Decision, EntityId, FactId, ForgettingId, MessageId, SessionId, UserId, UserText};
use recall_ports::ForgottenMention;
use recall_store::{EvidenceKey, ForgetStatements, ForgettingRow, ForgottenMessage, HeldJob, Treatment};

#[async_trait]
impl ForgetStatements for WriteTransaction<'_> {
    async fn insert_forgetting(&mut self, user: UserId, row: &ForgettingRow) -> Result<(), Failure> {
        self.insert_forgetting_row(user, row).await
    }

    async fn lock_forgetting(&mut self, user: UserId, id: ForgettingId) -> Result<Option<ForgettingRow>, Failure> {
        self.lock_forgetting_row(user, id).await
    }

    async fn delete_forgetting(&mut self, user: UserId, id: ForgettingId) -> Result<(), Failure> {
        sqlx::query!("DELETE FROM forgettings WHERE user_id = $1 AND id = $2", user.0, id.0).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn forgettings_of(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<ForgettingId>, Failure> {
        let found = sqlx::query_scalar!(
            r#"SELECT DISTINCT forgetting_id AS "id!" FROM messages WHERE user_id = $1 AND id = ANY($2) AND forgetting_id IS NOT NULL"#,
            user.0,
            &column(messages, |m| m.0)[..],
        );
        Ok(found.fetch_all(&mut *self.0).await?.into_iter().map(ForgettingId).collect())
    }

    async fn jobs_of_messages(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<HeldJob>, Failure> {
        let found = sqlx::query_as!(
            HeldRow,
            "SELECT id, session_id, lane, message_id, answer, document FROM jobs
             WHERE user_id = $1 AND message_id = ANY($2) AND state = 'live' ORDER BY id FOR UPDATE",
            user.0,
            &column(messages, |m| m.0)[..],
        );
        found.fetch_all(&mut *self.0).await?.into_iter().map(|row| row.read(user)).collect()
    }

    async fn mark_forgotten(
        &mut self,
        user: UserId,
        messages: &[MessageId],
        treatment: Treatment,
        id: ForgettingId,
    ) -> Result<u64, Failure> {
        self.mark_messages(user, messages, treatment, id).await
    }

    async fn external_ids(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<(MessageId, String)>, Failure> {
        self.external_ids_of(user, messages).await
    }

    async fn restore_external_ids(&mut self, user: UserId, ids: &[(MessageId, String)]) -> Result<(), Failure> {
        self.set_external_ids(user, ids).await
    }

    async fn forgotten_messages(&mut self, user: UserId, id: ForgettingId) -> Result<Vec<ForgottenMessage>, Failure> {
        self.messages_of_forgetting(user, id).await
    }

    async fn clear_forgotten(&mut self, user: UserId, id: ForgettingId) -> Result<(), Failure> {
        let clear = sqlx::query!(
            "UPDATE messages SET forgotten = NULL, forgetting_id = NULL WHERE user_id = $1 AND forgetting_id = $2",
            user.0,
            id.0
        );
        clear.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn erase_texts(&mut self, user: UserId, messages: &[MessageId]) -> Result<(), Failure> {
        self.erase_message_texts(user, messages).await
    }

    async fn delete_summaries(&mut self, user: UserId, messages: &[MessageId]) -> Result<(), Failure> {
        let cleared = sqlx::query!(
            "UPDATE documents SET summary = NULL WHERE user_id = $1 AND id IN (
                 SELECT session_id FROM messages WHERE user_id = $1 AND id = ANY($2))",
            user.0,
            &column(messages, |m| m.0)[..],
        );
        cleared.execute(&mut *self.0).await?;
        let topics = sqlx::query!(
            "DELETE FROM topic_parts WHERE user_id = $1 AND (session_id, part) IN (
                 SELECT session_id, part FROM topic_messages WHERE user_id = $1 AND message_id = ANY($2))",
            user.0,
            &column(messages, |m| m.0)[..],
        );
        topics.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn metadata_of_replies(&mut self, user: UserId, message: MessageId) -> Result<Vec<(MessageId, String)>, Failure> {
        let found = sqlx::query!(
            r#"SELECT id, source_metadata::text AS "metadata!" FROM messages
             WHERE user_id = $1 AND answer_to = $2 AND source_metadata IS NOT NULL"#,
            user.0,
            message.0,
        );
        Ok(found.fetch_all(&mut *self.0).await?.into_iter().map(|row| (MessageId(row.id), row.metadata)).collect())
    }

    async fn set_metadata(&mut self, user: UserId, message: MessageId, metadata: &str) -> Result<(), Failure> {
        let set = sqlx::query!(
            "UPDATE messages SET source_metadata = $3::text::json WHERE user_id = $1 AND id = $2",
            user.0,
            message.0,
            metadata
        );
        set.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn full_mentions_in(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<ForgottenMention>, Failure> {
        let found = sqlx::query!(
            "SELECT message_id, ordinal, entity_id, said_at, name, entity_type, span_start, span_end, confidence, description, score, reason
             FROM mentions WHERE user_id = $1 AND message_id = ANY($2) ORDER BY message_id, ordinal",
            user.0,
            &column(messages, |m| m.0)[..],
        );
        let of = |column| Column("mentions", column);
        let mentions = found.fetch_all(&mut *self.0).await?.into_iter().map(|row| {
            let reason = of("reason").opt_text(row.reason)?;
            let (message, ordinal, entity) = (MessageId(row.message_id), of("ordinal").small(row.ordinal)?, EntityId(row.entity_id));
            let mention = MentionRow {
                message_id: row.message_id,
                ordinal: row.ordinal,
                entity_id: row.entity_id,
                said_at: row.said_at,
                name: row.name,
                entity_type: row.entity_type,
                span_start: row.span_start,
                span_end: row.span_end,
                confidence: row.confidence,
                description: row.description,
            };
            let decision = row.score.zip(reason).map(|(score, reason)| Decision { score, reason });
            Ok(ForgottenMention { message, ordinal, entity, mention: mention.read()?, decision })
        });
        mentions.collect()
    }

    async fn delete_mention_rows(&mut self, user: UserId, rows: &[(MessageId, u32)]) -> Result<(), Failure> {
        let gone = sqlx::query!(
            "DELETE FROM mentions m USING unnest($2::uuid[], $3::bigint[]) AS g (message, ordinal)
             WHERE m.user_id = $1 AND m.message_id = g.message AND m.ordinal = g.ordinal",
            user.0,
            &column(rows, |(message, _)| message.0)[..],
            &column(rows, |(_, ordinal)| i64::from(*ordinal))[..],
        );
        gone.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_mention_rows(&mut self, user: UserId, rows: &[ForgottenMention]) -> Result<(), Failure> {
        for row in rows {
            let (m, decision) = (&row.mention, row.decision.as_ref());
            let (description, reason) = (opt_text(m.description.as_deref()), opt_text(decision.map(|d| d.reason.as_str())));
            let insert = sqlx::query!(
                "INSERT INTO mentions (user_id, message_id, ordinal, entity_id, session_id, said_at, name, entity_type, span_start,
                                       span_end, confidence, description, score, reason)
                 SELECT $1, m.id, $3, e.id, m.session_id, m.sent_at, $5, $6, $7, $8, $9, $10, $11, $12
                 FROM messages m JOIN entities e ON e.user_id = $1 AND e.id = coalesce(
                     (SELECT into_id FROM entity_merges WHERE user_id = $1 AND gone_id = $4), $4)
                 WHERE m.user_id = $1 AND m.id = $2 ON CONFLICT DO NOTHING",
                user.0,
                row.message.0,
                i64::from(row.ordinal),
                row.entity.0,
                &*text(&m.name),
                m.entity_type.word(),
                i64::from(m.span.start),
                i64::from(m.span.end),
                m.confidence,
                description.as_deref(),
                decision.map(|d| d.score),
                reason.as_deref(),
            );
            insert.execute(&mut *self.0).await?;
        }
        Ok(())
    }

    async fn first_messages(&mut self, user: UserId, entities: &[EntityId]) -> Result<Vec<(EntityId, MessageId)>, Failure> {
        let found = sqlx::query!(
            r#"SELECT id, first_message AS "first!" FROM entities WHERE user_id = $1 AND id = ANY($2) AND first_message IS NOT NULL"#,
            user.0,
            &column(entities, |e| e.0)[..],
        );
        Ok(found.fetch_all(&mut *self.0).await?.into_iter().map(|row| (EntityId(row.id), MessageId(row.first))).collect())
    }

    async fn add_mentions(&mut self, user: UserId, counts: &[(EntityId, u32)]) -> Result<(), Failure> {
        let added = sqlx::query!(
            "UPDATE entities e SET mention_count = e.mention_count + back.number FROM (
                 SELECT coalesce(m.into_id, g.id) AS id, sum(g.number)::bigint AS number
                 FROM unnest($2::uuid[], $3::bigint[]) AS g (id, number)
                 LEFT JOIN entity_merges m ON m.user_id = $1 AND m.gone_id = g.id GROUP BY 1) AS back
             WHERE e.user_id = $1 AND e.id = back.id",
            user.0,
            &column(counts, |(entity, _)| entity.0)[..],
            &column(counts, |(_, count)| i64::from(*count))[..],
        );
        added.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn set_first_messages(&mut self, user: UserId, first: &[(EntityId, MessageId)]) -> Result<(), Failure> {
        let set = sqlx::query!(
            "UPDATE entities e SET first_message = f.message FROM unnest($2::uuid[], $3::uuid[]) AS f (entity, message)
             WHERE e.user_id = $1 AND e.id = f.entity AND EXISTS (SELECT 1 FROM messages m WHERE m.user_id = $1 AND m.id = f.message)",
            user.0,
            &column(first, |(entity, _)| entity.0)[..],
            &column(first, |(_, message)| message.0)[..],
        );
        set.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn replace_title(
        &mut self,
        user: UserId,
        session: SessionId,
        from: Option<&UserText>,
        to: Option<&UserText>,
    ) -> Result<(), Failure> {
        let (from, to) = (opt_text(from.map(UserText::as_str)), opt_text(to.map(UserText::as_str)));
        let replaced = sqlx::query!(
            "UPDATE sessions SET title = $4 WHERE user_id = $1 AND id = $2 AND title IS NOT DISTINCT FROM $3",
            user.0,
            session.0,
            from.as_deref(),
            to.as_deref(),
        );
        replaced.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn set_excerpts(&mut self, user: UserId, excerpts: &[(EvidenceKey, &str)]) -> Result<(), Failure> {
        let set = sqlx::query!(
            "UPDATE evidence v SET excerpt = g.excerpt
             FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[]) AS g (fact, message, stance, excerpt)
             WHERE v.user_id = $1 AND v.fact_id = g.fact AND v.message_id = g.message AND v.stance = g.stance",
            user.0,
            &column(excerpts, |(key, _)| key.fact.0)[..],
            &column(excerpts, |(key, _)| key.message.0)[..],
            &column(excerpts, |(key, _)| Cow::Borrowed(key.stance.word()))[..],
            &column(excerpts, |(_, excerpt)| text(excerpt))[..],
        );
        set.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn hide_unused_entities(&mut self, user: UserId, entities: &[EntityId], id: ForgettingId) -> Result<(), Failure> {
        let hidden = sqlx::query!(
            "UPDATE entities e SET forgetting_id = $3
             WHERE user_id = $1 AND id = ANY($2) AND NOT is_viewer AND forgetting_id IS NULL
             AND NOT EXISTS (SELECT 1 FROM mentions m WHERE m.user_id = $1 AND m.entity_id = e.id)
             AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.user_id = $1 AND f.subject_id = e.id)
             AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.user_id = $1 AND f.object_id = e.id)",
            user.0,
            &column(entities, |e| e.0)[..],
            id.0,
        );
        hidden.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn show_entities(&mut self, user: UserId, id: ForgettingId, used: &[EntityId]) -> Result<Vec<EntityId>, Failure> {
        let shown = sqlx::query_scalar!(
            "UPDATE entities SET forgetting_id = NULL WHERE user_id = $1 AND forgetting_id IS NOT NULL
             AND (forgetting_id = $2 OR id = ANY($3)) RETURNING id",
            user.0,
            id.0,
            &column(used, |e| e.0)[..],
        );
        Ok(entity_ids(shown.fetch_all(&mut *self.0).await?))
    }

    async fn delete_merged_facts(&mut self, user: UserId, facts: &[FactId]) -> Result<(), Failure> {
        let ids = &column(facts, |f| f.0)[..];
        sqlx::query!("DELETE FROM merged_evidence WHERE user_id = $1 AND fact_id = ANY($2)", user.0, ids).execute(&mut *self.0).await?;
        sqlx::query!("DELETE FROM merged_facts WHERE user_id = $1 AND id = ANY($2)", user.0, ids).execute(&mut *self.0).await?;
        Ok(())
    }
}
