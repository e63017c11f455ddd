//! The statements that store messages.

use async_trait::async_trait;
use sqlx::{QueryBuilder, Sqlite};

use super::super::{
    codec::{Word, bytes, client_json, json, millis, signed, vector},
    failure::Failure,
    rows::{self, Columns},
    transaction::WriteTransaction,
};
use recall_domain::{Message, MessageId, SessionId, UserId};
use recall_ports::Embedding;
use recall_store::{Counters, FeedCounters, MessageStatements, NumbersWanted, PendingMessage};

#[async_trait]
impl MessageStatements for WriteTransaction<'_> {
    async fn messages_by_external_id(&mut self, user: UserId, session: SessionId, ids: &[&str]) -> Result<Vec<Message>, Failure> {
        let found = sqlx::query(
            "SELECT * FROM visible_messages WHERE user_id = ? AND session_id = ? AND external_id IN (SELECT value FROM json_each(?))",
        );
        let found = found.bind(bytes(&user.0)).bind(bytes(&session.0)).bind(json(ids, "an external id")?);
        found.fetch_all(&mut *self.0).await?.iter().map(rows::message).collect()
    }

    async fn reserve_positions(
        &mut self,
        user: UserId,
        session: SessionId,
        wanted: NumbersWanted<'_>,
    ) -> Result<Option<Counters>, Failure> {
        let counters = sqlx::query(
            "UPDATE sessions SET message_count = message_count + ?3, event_head = event_head + ?3,
                 updated_at = MAX(updated_at, COALESCE(?4, updated_at)), title = COALESCE(title, ?5),
                 oldest_event_at = COALESCE(oldest_event_at, ?6)
             WHERE user_id = ?1 AND id = ?2 AND deletion_at IS NULL RETURNING message_count, event_head",
        );
        let counters = counters.bind(bytes(&user.0)).bind(bytes(&session.0)).bind(wanted.count).bind(wanted.latest_at.map(millis));
        let row = counters.bind(wanted.title).bind(wanted.first_at.map(millis)).fetch_optional(&mut *self.0).await?;
        let counters = row.map(|row| {
            let c = Columns::of(&row, "sessions");
            Ok::<_, Failure>(Counters { messages: c.integer("message_count")?, events: c.integer("event_head")? })
        });
        counters.transpose()
    }

    async fn reserve_feed_rows(&mut self, user: UserId, count: i64, model: &str) -> Result<Option<FeedCounters>, Failure> {
        let feed = sqlx::query(
            "UPDATE users SET feed_head = feed_head + ?2,
                 embedding_model = CASE WHEN feed_head = 0 THEN ?3 ELSE embedding_model END,
                 embedding_settled = CASE WHEN feed_head = 0 THEN 1 ELSE embedding_settled AND embedding_model IS ?3 END
             WHERE id = ?1 AND erasing = 0 AND importing = 0 RETURNING feed_head, embedding_model",
        );
        let row = feed.bind(bytes(&user.0)).bind(count).bind(model).fetch_optional(&mut *self.0).await?;
        let feed = row.map(|row| {
            let c = Columns::of(&row, "users");
            Ok::<_, Failure>(FeedCounters { head: c.integer("feed_head")?, model: c.opt_text("embedding_model")? })
        });
        feed.transpose()
    }

    async fn insert_messages(&mut self, user: UserId, messages: &[Message], feed_row: i64) -> Result<(), Failure> {
        let rows = messages
            .iter()
            .zip(feed_row..)
            .map(|(m, row)| {
                let metadata = m.source_metadata.as_ref().map(|v| client_json(v, "source metadata")).transpose()?;
                Ok((m, row, metadata, json(&m.citations, "citations")?))
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        let mut sql = QueryBuilder::<Sqlite>::new(
            "INSERT INTO messages (user_id, id, session_id, position, feed_row, role, speaker, text, kind, status, sent_at, created_at,
                                   source_metadata, external_id, answer_to, citations) ",
        );
        sql.push_values(rows, |mut row, (m, feed_row, metadata, citations)| {
            row.push_bind(bytes(&user.0)).push_bind(bytes(&m.id.0)).push_bind(bytes(&m.session.0));
            row.push_bind(signed(m.position)).push_bind(feed_row).push_bind(m.role.word());
            row.push_bind(m.speaker.as_deref()).push_bind(m.text.as_str()).push_bind(m.kind.map(Word::word)).push_bind(m.status.word());
            row.push_bind(millis(m.sent_at)).push_bind(millis(m.created_at)).push_bind(metadata);
            row.push_bind(m.external_id.as_deref()).push_bind(m.answer_to.as_ref().map(|id| bytes(&id.0))).push_bind(citations);
        });
        sql.build().persistent(messages.len() == 1).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_index(&mut self, user: UserId, messages: &[PendingMessage<'_>]) -> Result<(), Failure> {
        let index = messages
            .iter()
            .map(|n| Ok((n.message, json(&n.message.prepared.terms, "index terms")?)))
            .collect::<Result<Vec<_>, Failure>>()?;
        let mut sql = QueryBuilder::<Sqlite>::new("INSERT INTO message_index (user_id, message_id, model, terms, embedding) ");
        sql.push_values(index, |mut row, (m, terms)| {
            row.push_bind(bytes(&user.0)).push_bind(bytes(&m.id.0)).push_bind(m.prepared.model.as_str());
            row.push_bind(terms).push_bind(vector(&m.prepared.embedding.0));
        });
        sql.build().persistent(messages.len() == 1).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_vectors(&mut self, user: UserId, model: &str, vectors: &[(MessageId, &Embedding)]) -> Result<(), Failure> {
        let mut sql = QueryBuilder::<Sqlite>::new("WITH v (message_id, embedding) AS (");
        sql.push_values(vectors, |mut row, (message, embedding)| {
            row.push_bind(bytes(&message.0)).push_bind(vector(&embedding.0));
        });
        sql.push(") INSERT INTO message_vectors (user_id, message_id, model, embedding) SELECT i.user_id, i.message_id, ");
        sql.push_bind(model).push(", v.embedding FROM v CROSS JOIN message_index i ON i.message_id = v.message_id AND i.user_id = ");
        sql.push_bind(bytes(&user.0)).push(" WHERE i.model <> ").push_bind(model).push(" ON CONFLICT DO NOTHING");
        sql.build().persistent(vectors.len() == 1).execute(&mut *self.0).await?;
        Ok(())
    }
}
