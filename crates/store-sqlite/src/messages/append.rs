//! The statements that store messages.

use async_trait::async_trait;

use super::{
    super::{
        codec::{Word, client_json, json, millis, signed, vector},
        failure::Failure,
        rows::{self, Columns},
        transaction::WriteTransaction,
    },
    BY_EXTERNAL_ID,
};
use recall_domain::{Message, MessageId, Resource, SessionId, UserId, context::SearchSources};
use recall_ports::Embedding;
use recall_store::{Counters, FeedCounters, MessageStatements, NumbersWanted, PendingMessage, role_columns};
use rusqlite::params;

#[async_trait]
impl MessageStatements for WriteTransaction<'_> {
    async fn messages_by_external_id(&mut self, user: UserId, session: SessionId, ids: &[&str]) -> Result<Vec<Message>, Failure> {
        self.0.rows("messages", BY_EXTERNAL_ID, (user.0, session.0, json(ids, "an external id")?), rows::message)
    }

    async fn reserve_positions(
        &mut self,
        user: UserId,
        session: SessionId,
        wanted: NumbersWanted<'_>,
    ) -> Result<Option<Counters>, Failure> {
        let counters = |c: &Columns<'_, '_>| {
            self.1.epoch = c.text("epoch")?;
            Ok(Counters { messages: c.integer("message_count")?, events: c.integer("event_head")?, paused: c.opt_flag("paused")? })
        };
        let sql = "UPDATE sessions SET message_count = message_count + ?3, event_head = event_head + ?7,
                 updated_at = MAX(updated_at, COALESCE(?4, updated_at)), title = COALESCE(title, ?5),
                 search = CASE WHEN title IS NULL THEN ?9 ELSE search END,
                 oldest_event_at = COALESCE(oldest_event_at, CASE WHEN ?7 > 0 THEN ?6 END)
             WHERE user_id = ?1 AND id = ?2 AND deletion_at IS NULL AND document IS ?8
             RETURNING message_count, event_head, paused, epoch";
        let (latest, first) = (wanted.latest_at.map(millis), wanted.first_at.map(millis));
        let document = wanted.document.then_some(true);
        let values = params![user.0, session.0, wanted.count, latest, wanted.title, first, wanted.events, document, wanted.search];
        self.0.row("sessions", sql, values, counters)
    }

    async fn reserve_feed_rows(&mut self, user: UserId, count: i64, events: i64, model: &str) -> Result<Option<FeedCounters>, Failure> {
        let counters = |c: &Columns<'_, '_>| {
            let (head, memory_head) = (c.integer("feed_head")?, c.integer("memory_head")?);
            Ok(FeedCounters { head, memory_head, model: c.opt_text("embedding_model")?, paused: c.opt_flag("paused")? })
        };
        // Naming the model in SET would write its index again.
        let usual = "UPDATE users SET feed_head = feed_head + ?2, memory_head = memory_head + ?4
             WHERE id = ?1 AND erasing = 0 AND importing = 0 AND feed_head > 0 AND embedding_model IS ?3
             RETURNING feed_head, memory_head, embedding_model, paused";
        if let Some(found) = self.0.row("users", usual, (user.0, count, model, events), counters)? {
            return Ok(Some(found));
        }
        let sql = "UPDATE users SET feed_head = feed_head + ?2, memory_head = memory_head + ?4,
                 embedding_model = CASE WHEN feed_head = 0 THEN ?3 ELSE embedding_model END,
                 embedding_settled = CASE WHEN feed_head = 0 THEN 1 ELSE embedding_settled AND embedding_model IS ?3 END
             WHERE id = ?1 AND erasing = 0 AND importing = 0 RETURNING feed_head, memory_head, embedding_model, paused";
        self.0.row("users", sql, (user.0, count, model, events), counters)
    }

    async fn insert_messages(&mut self, user: UserId, messages: &[Message], feed_row: i64) -> Result<(), Failure> {
        for (m, feed_row) in messages.iter().zip(feed_row..) {
            let metadata = m.source_metadata.as_ref().map(|v| client_json(v, "source metadata")).transpose()?;
            let (role, chunk) = role_columns(m.role);
            self.0.execute(
                "INSERT INTO messages (user_id, id, session_id, position, feed_row, role, speaker, text, kind, status, sent_at,
                                       created_at, source_metadata, external_id, answer_to, citations, chunk, unremembered)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    user.0,
                    m.id.0,
                    m.session.0,
                    signed(m.position),
                    feed_row,
                    role.word(),
                    m.speaker,
                    m.text.as_str(),
                    m.kind.map(Word::word),
                    m.status.word(),
                    millis(m.sent_at),
                    millis(m.created_at),
                    metadata,
                    m.external_id,
                    m.answer_to.map(|id| id.0),
                    json(&recall_domain::quoted_by(m), "citations")?,
                    chunk,
                    (!m.remembered).then_some(true),
                ],
            )?;
        }
        Ok(())
    }

    async fn insert_resources(&mut self, user: UserId, resources: &[(MessageId, u32, &Resource)]) -> Result<(), Failure> {
        for (message, ordinal, r) in resources {
            self.0.execute(
                "INSERT INTO resources (user_id, id, message_id, ordinal, uri, media_type, bytes, sha256, origin)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                params![user.0, r.id, message.0, ordinal, r.uri.as_str(), r.media_type, r.bytes.map(signed), r.sha256, r.origin.word(),],
            )?;
        }
        Ok(())
    }

    async fn insert_answer_sources(&mut self, user: UserId, message: MessageId, sources: &SearchSources) -> Result<(), Failure> {
        let sql = "INSERT INTO answer_sources (user_id, message_id, sources) VALUES (?, ?, ?)";
        self.0.execute(sql, (user.0, message.0, json(sources, "sources")?))?;
        Ok(())
    }

    async fn insert_index(&mut self, user: UserId, messages: &[PendingMessage<'_>]) -> Result<(), Failure> {
        for PendingMessage { message: m, .. } in messages {
            let (terms, embedding) = (json(&m.prepared.terms, "index terms")?, vector(&m.prepared.embedding.0));
            self.0.execute(
                "INSERT INTO message_index (user_id, message_id, model, terms, embedding) VALUES (?, ?, ?, ?, ?)",
                params![user.0, m.id.0, m.prepared.model, terms, embedding],
            )?;
        }
        Ok(())
    }

    async fn insert_vectors(&mut self, user: UserId, model: &str, vectors: &[(MessageId, &Embedding)]) -> Result<(), Failure> {
        for (message, embedding) in vectors {
            self.0.execute(
                "INSERT INTO message_vectors (user_id, message_id, model, embedding)
                 SELECT user_id, message_id, ?3, ?4 FROM message_index WHERE user_id = ?1 AND message_id = ?2 AND model <> ?3
                 ON CONFLICT DO NOTHING",
                params![user.0, message.0, model, vector(&embedding.0)],
            )?;
        }
        Ok(())
    }
}
