//! Topics: groups of texts of about the same meaning.

use async_trait::async_trait;
use rusqlite::params;

use super::{
    SqliteStore,
    codec::{id_list, json, millis, signed, vector},
    failure::Failure,
    keys,
    rows::Columns,
    transaction::{WriteTransaction, run},
};
use recall_domain::{Caller, DocumentId, EntityId, MessageId, Page, SessionId, Slice, Topic, TopicId, UserId};
use recall_ports::{CommitError, Embedding, SessionTopics, StoreError, TopicPart, TopicStore, TopicText, TopicTexts};
use recall_store::{KnownPart, MAX_COMPARED, TopicStatements, rank_related};

/// Topics with their sizes and the names of their largest parts. `?1` is the user.
macro_rules! topics {
    ($condition:literal, $rest:literal) => {
        concat!(
            "SELECT topic_id, SUM(size) AS total, (
                 SELECT name FROM visible_topic_parts n WHERE n.user_id = ?1 AND n.topic_id = p.topic_id
                 ORDER BY n.size DESC, n.session_id, n.part LIMIT 1) AS name
             FROM visible_topic_parts p WHERE user_id = ?1 ",
            $condition,
            " GROUP BY topic_id ",
            $rest
        )
    };
}

#[async_trait]
impl TopicStore for SqliteStore {
    async fn topic_texts(&self, caller: &Caller, texts: &TopicTexts) -> Result<Vec<TopicText>, StoreError> {
        let values = (caller.user().0, texts.session.0, signed(texts.from), signed(texts.step.max(1)), texts.limit);
        let found = self.read(caller, move |db| {
            let sql = "SELECT m.id, m.text, i.model, i.embedding FROM visible_messages m
                 JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
                 WHERE m.user_id = ?1 AND m.session_id = ?2 AND m.position >= ?3 AND m.position % ?4 = 0
                 AND m.forgotten IS NULL AND m.kind IS NOT 'other' ORDER BY m.position DESC LIMIT ?5";
            db.rows("messages", sql, values, |c| {
                Ok(TopicText {
                    message: MessageId(c.id("id")?),
                    text: c.text("text")?.into(),
                    model: c.text("model")?,
                    embedding: Embedding(c.vector("embedding")?),
                })
            })
        });
        Ok(found.await?)
    }

    async fn replace_topics(&self, caller: &Caller, topics: &SessionTopics) -> Result<(), CommitError> {
        let (caller, topics) = (*caller, topics.clone());
        Ok(self.write(move |tx| run(recall_store::replace_topics(tx, &caller, &topics))).await?)
    }

    async fn list_topics(&self, caller: &Caller, page: &Page) -> Result<Slice<Topic>, StoreError> {
        let (size, id) = keys::least_before(page.after.as_deref())?;
        let values = (caller.user().0, size, id, keys::limit(page));
        let found = self.read(caller, move |db| {
            let sql = topics!("", "HAVING total < ?2 OR (total = ?2 AND topic_id > ?3) ORDER BY total DESC, topic_id LIMIT ?4");
            db.rows("topic_parts", sql, values, topic)
        });
        let key = |topic: &Topic| keys::number_and_id(signed(topic.size), topic.id.0);
        Ok(keys::page(found.await?.into_iter().map(Ok::<_, Failure>), page, key)?)
    }

    async fn topics_by_id(&self, caller: &Caller, ids: &[TopicId]) -> Result<Vec<Topic>, StoreError> {
        let values = (caller.user().0, id_list(ids.iter().map(|id| &id.0)));
        let found = self.read(caller, move |db| {
            db.rows("topic_parts", topics!("AND topic_id IN (SELECT unhex(value) FROM json_each(?2))", ""), values, topic)
        });
        Ok(found.await?)
    }

    async fn topics_of_sessions(&self, caller: &Caller, sessions: &[SessionId]) -> Result<Vec<(SessionId, TopicId)>, StoreError> {
        let values = (caller.user().0, id_list(sessions.iter().map(|id| &id.0)));
        let found = self.read(caller, move |db| {
            let sql = "SELECT session_id, topic_id FROM visible_topic_parts
                 WHERE user_id = ?1 AND session_id IN (SELECT unhex(value) FROM json_each(?2))
                 GROUP BY session_id, topic_id ORDER BY session_id, SUM(size) DESC, MIN(part)";
            db.rows("topic_parts", sql, values, |c| Ok((SessionId(c.id("session_id")?), topic_id(c)?)))
        });
        Ok(found.await?)
    }

    async fn documents_of_topic(&self, caller: &Caller, id: TopicId, limit: u32) -> Result<Vec<DocumentId>, StoreError> {
        let values = (caller.user().0, id.0, limit);
        let found = self.read(caller, move |db| {
            let sql = "SELECT d.id FROM visible_topic_parts p JOIN documents d ON d.user_id = p.user_id AND d.id = p.session_id
                 WHERE p.user_id = ?1 AND p.topic_id = ?2 GROUP BY d.id ORDER BY SUM(p.size) DESC, d.id LIMIT ?3";
            db.rows("topic_parts", sql, values, |c| Ok(DocumentId(c.id("id")?)))
        });
        Ok(found.await?)
    }

    async fn messages_of_topic(&self, caller: &Caller, id: TopicId, page: &Page) -> Result<Slice<MessageId>, StoreError> {
        let before = page.after.as_deref().map_or(Ok(uuid::Uuid::max()), keys::parse_id)?;
        let values = (caller.user().0, id.0, before, keys::limit(page));
        let found = self.read(caller, move |db| db.rows("topic_messages", LISTED, values, |c| Ok(MessageId(c.id("message_id")?))));
        let key = |message: &MessageId| message.0.as_simple().to_string();
        Ok(keys::page(found.await?.into_iter().map(Ok::<_, Failure>), page, key)?)
    }

    async fn entities_of_topic(&self, caller: &Caller, id: TopicId, limit: u32) -> Result<Vec<EntityId>, StoreError> {
        let values = (caller.user().0, id.0, limit);
        let found = self.read(caller, move |db| {
            let sql = "SELECT m.entity_id FROM visible_topic_parts p
                 JOIN topic_messages t ON t.user_id = p.user_id AND t.session_id = p.session_id AND t.part = p.part
                 JOIN visible_mentions m ON m.user_id = t.user_id AND m.message_id = t.message_id
                 WHERE p.user_id = ?1 AND p.topic_id = ?2 AND m.entity_id NOT IN (SELECT id FROM hidden_entities WHERE user_id = ?1)
                 GROUP BY m.entity_id ORDER BY COUNT(*) DESC, m.entity_id LIMIT ?3";
            db.rows("mentions", sql, values, |c| Ok(EntityId(c.id("entity_id")?)))
        });
        Ok(found.await?)
    }

    async fn related_topics(&self, caller: &Caller, id: TopicId, limit: u32) -> Result<Vec<TopicId>, StoreError> {
        let user = caller.user();
        let found = self.read(caller, move |db| {
            let sql = "SELECT topic_id, terms, centroid, model FROM visible_topic_parts WHERE user_id = ? AND topic_id = ?
                 ORDER BY size DESC, session_id, part LIMIT 10";
            let of = db.rows("topic_parts", sql, (user.0, id.0), |c| Ok((known_part(c)?, c.text("model")?)))?;
            let Some(model) = of.first().map(|(_, model)| model.clone()) else { return Ok(Vec::new()) };
            let of: Vec<_> = of.into_iter().filter(|(_, other)| *other == model).map(|(part, _)| part).collect();
            let all = db.rows("topic_parts", KNOWN, (user.0, model, MAX_COMPARED), known_part)?;
            Ok(rank_related(id, &of, &all, limit))
        });
        Ok(found.await?)
    }
}

/// Messages of a topic. Names the index because SQLite, without statistics, would read all messages of the user.
pub(super) const LISTED: &str = "SELECT message_id FROM topic_messages INDEXED BY topic_messages_listed
     WHERE user_id = ?1 AND topic_id = ?2 AND message_id < ?3 AND chunk IS NULL
     AND (user_id, session_id, part) NOT IN (SELECT user_id, session_id, part FROM hidden_topic_parts)
     ORDER BY message_id DESC LIMIT ?4";

/// The largest parts with vectors of one model.
pub(super) const KNOWN: &str = "SELECT topic_id, terms, centroid FROM visible_topic_parts WHERE user_id = ? AND model = ?
     ORDER BY size DESC, session_id DESC, part DESC LIMIT ?";

fn topic(c: &Columns<'_, '_>) -> Result<Topic, Failure> {
    Ok(Topic { id: topic_id(c)?, size: c.count("total")?, name: c.text("name")?.into() })
}

fn topic_id(c: &Columns<'_, '_>) -> Result<TopicId, Failure> {
    Ok(TopicId(c.id("topic_id")?))
}

fn known_part(c: &Columns<'_, '_>) -> Result<KnownPart, Failure> {
    Ok(KnownPart { topic: topic_id(c)?, terms: c.json("terms")?, centroid: c.vector("centroid")? })
}

#[async_trait]
impl TopicStatements for WriteTransaction<'_> {
    async fn lock_topics(&mut self, _user: UserId) -> Result<(), Failure> {
        // SQLite has one writer.
        Ok(())
    }

    async fn count_readable(&mut self, user: UserId, session: SessionId, messages: &[MessageId]) -> Result<u64, Failure> {
        let sql = "SELECT COUNT(*) FROM visible_messages WHERE user_id = ? AND session_id = ? AND forgotten IS NULL
             AND id IN (SELECT unhex(value) FROM json_each(?))";
        Ok(self.0.number(sql, (user.0, session.0, id_list(messages.iter().map(|id| &id.0))))?.unsigned_abs())
    }

    async fn known_parts(&mut self, user: UserId, model: &str, limit: u32) -> Result<Vec<KnownPart>, Failure> {
        self.0.rows("topic_parts", KNOWN, (user.0, model, limit), known_part)
    }

    async fn delete_topics(&mut self, user: UserId, session: SessionId) -> Result<(), Failure> {
        self.0.execute("DELETE FROM topic_parts WHERE user_id = ? AND session_id = ?", (user.0, session.0))?;
        Ok(())
    }

    async fn insert_part(
        &mut self,
        user: UserId,
        topics: &SessionTopics,
        place: u32,
        topic: TopicId,
        part: &TopicPart,
    ) -> Result<(), Failure> {
        self.0.execute(
            "INSERT INTO topic_parts (user_id, session_id, part, topic_id, name, terms, size, model, centroid, created_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                user.0,
                topics.session.0,
                place,
                topic.0,
                part.name.as_str(),
                json(&part.terms, "terms")?,
                signed(part.messages.len() as u64),
                topics.model,
                vector(&part.centroid),
                millis(topics.now),
            ],
        )?;
        self.0.execute(
            "INSERT INTO topic_messages (user_id, message_id, topic_id, session_id, part, chunk)
             SELECT user_id, id, ?3, session_id, ?4, chunk FROM visible_messages
             WHERE user_id = ?1 AND session_id = ?2 AND id IN (SELECT unhex(value) FROM json_each(?5))",
            params![user.0, topics.session.0, topic.0, place, id_list(part.messages.iter().map(|id| &id.0))],
        )?;
        Ok(())
    }
}
