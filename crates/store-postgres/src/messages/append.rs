//! The statements that store messages. They insert any number of rows at once: each column is an array.

use std::borrow::Cow;

use async_trait::async_trait;
use pgvector::Vector;
use uuid::Uuid;

use super::super::{
    codec::{self, Word, client_json, column, json, signed, time},
    failure::Failure,
    rows::{self, MessageRow},
    transaction::WriteTransaction,
};
use recall_domain::{Message, MessageId, Resource, SessionId, UserId, context::SearchSources};
use recall_ports::Embedding;
use recall_store::{Counters, FeedCounters, KnowledgeStatements, MessageStatements, NumbersWanted, PendingMessage, Refusal, role_columns};

#[async_trait]
impl MessageStatements for WriteTransaction<'_> {
    /// Locks the session first, so that no message is stored after the read.
    async fn messages_by_external_id(&mut self, user: UserId, session: SessionId, ids: &[&str]) -> Result<Vec<Message>, Failure> {
        if !self.lock_session(user, session).await? {
            return Err(Refusal::NotFound.into());
        }
        let ids = codec::texts(ids.iter().copied());
        let found = rows::messages!("WHERE user_id = $1 AND session_id = $2 AND external_id = ANY($3)", user.0, session.0, &ids[..]);
        found.fetch_all(&mut *self.0).await?.into_iter().map(MessageRow::read).collect()
    }

    async fn reserve_positions(
        &mut self,
        user: UserId,
        session: SessionId,
        wanted: NumbersWanted<'_>,
    ) -> Result<Option<Counters>, Failure> {
        let title = codec::opt_text(wanted.title);
        let search = codec::opt_text(wanted.search);
        let counters = sqlx::query_as!(
            Counters,
            r#"UPDATE sessions SET message_count = message_count + $3, event_head = event_head + $7,
                 updated_at = greatest(updated_at, $4), title = coalesce(title, $5),
                 search = CASE WHEN title IS NULL THEN $9 ELSE search END,
                 oldest_event_at = CASE WHEN $7 > 0 THEN coalesce(oldest_event_at, $6) ELSE oldest_event_at END
             WHERE user_id = $1 AND id = $2 AND deletion_at IS NULL AND document IS NOT DISTINCT FROM $8 
             RETURNING message_count AS messages, event_head AS events, paused IS NOT NULL AS "paused!""#,
            user.0,
            session.0,
            wanted.count,
            wanted.latest_at.map(time),
            title.as_deref(),
            wanted.first_at.map(time),
            wanted.events,
            wanted.document.then_some(true),
            search.as_deref(),
        );
        Ok(counters.fetch_optional(&mut *self.0).await?)
    }

    async fn reserve_feed_rows(&mut self, user: UserId, count: i64, events: i64, model: &str) -> Result<Option<FeedCounters>, Failure> {
        let feed = sqlx::query_as!(
            FeedCounters,
            r#"UPDATE users SET feed_head = feed_head + $2, memory_head = memory_head + $4,
                 embedding_model = CASE WHEN feed_head = 0 THEN $3 ELSE embedding_model END,
                 embedding_settled = feed_head = 0 OR embedding_settled AND embedding_model IS NOT DISTINCT FROM $3
             WHERE id = $1 AND NOT erasing AND NOT importing 
             RETURNING feed_head AS head, memory_head, embedding_model AS model, paused IS NOT NULL AS "paused!""#,
            user.0,
            count,
            model,
            events,
        );
        Ok(feed.fetch_optional(&mut *self.0).await?)
    }

    async fn insert_messages(&mut self, user: UserId, messages: &[Message], feed_row: i64) -> Result<(), Failure> {
        let Some(first) = messages.first() else { return Ok(()) };
        let (mut metadata, mut citations) = (Vec::with_capacity(messages.len()), Vec::with_capacity(messages.len()));
        for m in messages {
            metadata.push(m.source_metadata.as_ref().map(|v| client_json(v, "source metadata")).transpose()?);
            citations.push(Cow::Owned(json(&recall_domain::quoted_by(m), "citations")?));
        }
        let insert = sqlx::query!(
            "INSERT INTO messages (user_id, session_id, position, feed_row, id, role, speaker, text, kind, status, sent_at, created_at,
                                   source_metadata, external_id, answer_to, citations, chunk, unremembered)
             SELECT $1, $2, $3::bigint + place - 1, $4::bigint + place - 1, id, role, speaker, text, kind, status, sent_at, created_at,
                    metadata::json, external_id, answer_to, citations::json, chunk, unremembered
             FROM unnest($5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[],
                         $13::text[], $14::text[], $15::uuid[], $16::text[], $17::boolean[], $18::boolean[]) WITH ORDINALITY
                  AS m (id, role, speaker, text, kind, status, sent_at, created_at, metadata, external_id, answer_to, citations, chunk,
                        unremembered, place)",
            user.0,
            first.session.0,
            signed(first.position),
            feed_row,
            &column(messages, |m| m.id.0)[..],
            &codec::texts(messages.iter().map(|m| role_columns(m.role).0.word()))[..],
            &column(messages, |m| codec::opt_text(m.speaker.as_deref())) as &[Option<Cow<'_, str>>],
            &codec::texts(messages.iter().map(|m| m.text.as_str()))[..],
            &column(messages, |m| m.kind.map(Word::word)) as &[Option<&str>],
            &codec::texts(messages.iter().map(|m| m.status.word()))[..],
            &column(messages, |m| m.sent_at)[..],
            &column(messages, |m| m.created_at)[..],
            &metadata as &[Option<String>],
            &column(messages, |m| codec::opt_text(m.external_id.as_deref())) as &[Option<Cow<'_, str>>],
            &column(messages, |m| m.answer_to.map(|id| id.0)) as &[Option<Uuid>],
            &citations[..],
            &column(messages, |m| role_columns(m.role).1) as &[Option<bool>],
            &column(messages, |m| (!m.remembered).then_some(true)) as &[Option<bool>],
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_resources(&mut self, user: UserId, resources: &[(MessageId, u32, &Resource)]) -> Result<(), Failure> {
        let insert = sqlx::query!(
            "INSERT INTO resources (user_id, id, message_id, ordinal, uri, media_type, bytes, sha256, origin)
             SELECT $1, id, message_id, ordinal, uri, media_type, bytes, sha256, origin
             FROM unnest($2::uuid[], $3::uuid[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[])
                  AS r (id, message_id, ordinal, uri, media_type, bytes, sha256, origin)",
            user.0,
            &column(resources, |(_, _, r)| r.id)[..],
            &column(resources, |(message, _, _)| message.0)[..],
            &column(resources, |(_, ordinal, _)| i64::from(*ordinal))[..],
            &codec::texts(resources.iter().map(|(_, _, r)| r.uri.as_str()))[..],
            &column(resources, |(_, _, r)| codec::opt_text(r.media_type.as_deref())) as &[Option<Cow<'_, str>>],
            &column(resources, |(_, _, r)| r.bytes.map(signed)) as &[Option<i64>],
            &column(resources, |(_, _, r)| r.sha256.as_deref()) as &[Option<&str>],
            &column(resources, |(_, _, r)| Cow::Borrowed(r.origin.word()))[..],
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_answer_sources(&mut self, user: UserId, message: MessageId, sources: &SearchSources) -> Result<(), Failure> {
        let insert = sqlx::query!(
            "INSERT INTO answer_sources (user_id, message_id, sources) VALUES ($1, $2, $3::text::json)",
            user.0,
            message.0,
            json(sources, "sources")?,
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_index(&mut self, user: UserId, new: &[PendingMessage<'_>]) -> Result<(), Failure> {
        let terms = new.iter().map(|n| json(&n.message.prepared.terms, "index terms").map(Cow::Owned)).collect::<Result<Vec<_>, _>>()?;
        let insert = sqlx::query!(
            "INSERT INTO message_index (user_id, message_id, model, terms, embedding, dimensions)
             SELECT $1, id, model, terms::json, embedding, coalesce(vector_dims(embedding), 0)
             FROM unnest($2::uuid[], $3::text[], $4::text[], $5::vector[]) AS i (id, model, terms, embedding)",
            user.0,
            &column(new, |n| n.message.id.0)[..],
            &column(new, |n| Cow::Borrowed(n.message.prepared.model.as_str()))[..],
            &terms[..],
            &column(new, |n| vector(&n.message.prepared.embedding)) as &[Option<Vector>],
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_vectors(&mut self, user: UserId, model: &str, vectors: &[(MessageId, &Embedding)]) -> Result<(), Failure> {
        let insert = sqlx::query!(
            "INSERT INTO message_vectors (user_id, message_id, model, embedding, dimensions)
             SELECT $1, v.id, $2, v.embedding, coalesce(vector_dims(v.embedding), 0)
             FROM unnest($3::uuid[], $4::vector[]) AS v (id, embedding)
             JOIN message_index i ON i.user_id = $1 AND i.message_id = v.id WHERE i.model <> $2 ON CONFLICT DO NOTHING",
            user.0,
            model,
            &column(vectors, |(message, _)| message.0)[..],
            &column(vectors, |(_, embedding)| vector(embedding)) as &[Option<Vector>],
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }
}

/// A vector as it is stored; `None` if it is empty.
fn vector(embedding: &Embedding) -> Option<Vector> {
    Some(&embedding.0).filter(|values| !values.is_empty()).cloned().map(Vector::from)
}
