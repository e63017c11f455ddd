//! Topics: groups of texts of about the same meaning.

use async_trait::async_trait;
use pgvector::Vector;
use sqlx::PgExecutor;
use uuid::Uuid;

use super::{
    PostgresStore,
    codec::{self, JsonText, column, json, signed, time},
    failure::Failure,
    keys,
    rows::Column,
    transaction::WriteTransaction,
};
use recall_domain::{Caller, DocumentId, EntityId, MessageId, Page, SessionId, Slice, Topic, TopicId, UserId};
use recall_ports::{CommitError, Embedding, SessionTopics, StoreError, TopicPart, TopicStore, TopicText, TopicTexts};
use recall_store::{KnownPart, MAX_COMPARED, TopicStatements, rank_related};

/// A topic with its size and the name of its largest part.
struct TopicRow {
    topic_id: Uuid,
    total: i64,
    name: String,
}

impl TopicRow {
    fn read(self) -> Result<Topic, Failure> {
        let of = |column| Column("topic_parts", column);
        let name = of("name").text(self.name)?.into();
        Ok(Topic { id: TopicId(self.topic_id), size: of("size").count(self.total)?, name })
    }
}

/// Selects topics of the user `$1`.
macro_rules! topics {
    ($condition:literal, $rest:literal $(, $value:expr)* $(,)?) => {
        sqlx::query_as!(
            TopicRow,
            r#"SELECT topic_id AS "topic_id!", sum(size)::bigint AS "total!", (
                 SELECT name FROM visible_topic_parts n WHERE n.user_id = $1 AND n.topic_id = p.topic_id
                 ORDER BY n.size DESC, n.session_id, n.part LIMIT 1) AS "name!"
             FROM visible_topic_parts p WHERE user_id = $1 "# + $condition + " GROUP BY topic_id " + $rest $(, $value)*
        )
    };
}

/// What is known of a part of a topic.
struct PartRow {
    topic_id: Uuid,
    terms: JsonText,
    centroid: Vector,
}

impl PartRow {
    fn read(self) -> Result<KnownPart, Failure> {
        let terms = Column("topic_parts", "terms").json(&self.terms)?;
        Ok(KnownPart { topic: TopicId(self.topic_id), terms, centroid: self.centroid.into() })
    }
}

#[async_trait]
impl TopicStore for PostgresStore {
    async fn topic_texts(&self, caller: &Caller, texts: &TopicTexts) -> Result<Vec<TopicText>, StoreError> {
        let found = sqlx::query!(
            r#"SELECT m.id AS "id!", m.text AS "text!", i.model, i.embedding FROM visible_messages m
             JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = $1 AND m.session_id = $2 AND m.position >= $3 AND m.position % $4 = 0
             AND m.forgotten IS NULL AND m.kind IS DISTINCT FROM 'other' ORDER BY m.position DESC LIMIT $5"#,
            caller.user().0,
            texts.session.0,
            signed(texts.from),
            signed(texts.step.max(1)),
            i64::from(texts.limit),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let texts = found.into_iter().map(|row| {
            Ok::<_, Failure>(TopicText {
                message: MessageId(row.id),
                text: Column("messages", "text").text(row.text)?.into(),
                model: row.model,
                embedding: Embedding(row.embedding.map(Vec::from).unwrap_or_default()),
            })
        });
        Ok(texts.collect::<Result<_, _>>()?)
    }

    async fn replace_topics(&self, caller: &Caller, topics: &SessionTopics) -> Result<(), CommitError> {
        let input = (caller, topics);
        let replaced = self.write(caller, &input, |c, &(caller, topics)| {
            Box::pin(async move { recall_store::replace_topics(&mut WriteTransaction(c), caller, topics).await })
        });
        Ok(replaced.await?)
    }

    async fn list_topics(&self, caller: &Caller, page: &Page) -> Result<Slice<Topic>, StoreError> {
        let (size, id) = keys::least_before(page.after.as_deref())?;
        let found = topics!(
            "",
            "HAVING sum(size)::bigint < $2 OR (sum(size)::bigint = $2 AND topic_id > $3) ORDER BY sum(size) DESC, topic_id LIMIT $4",
            caller.user().0,
            size,
            id,
            keys::limit(page),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let key = |topic: &Topic| keys::number_and_id(signed(topic.size), topic.id.0);
        Ok(keys::page(found.into_iter().map(TopicRow::read), page, key)?)
    }

    async fn topics_by_id(&self, caller: &Caller, ids: &[TopicId]) -> Result<Vec<Topic>, StoreError> {
        let found = topics!("AND topic_id = ANY($2)", "", caller.user().0, &column(ids, |id| id.0)[..]);
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(TopicRow::read).collect::<Result<_, _>>()?)
    }

    async fn topics_of_sessions(&self, caller: &Caller, sessions: &[SessionId]) -> Result<Vec<(SessionId, TopicId)>, StoreError> {
        let found = sqlx::query!(
            r#"SELECT session_id AS "session_id!", topic_id AS "topic_id!" FROM visible_topic_parts
             WHERE user_id = $1 AND session_id = ANY($2)
             GROUP BY session_id, topic_id ORDER BY session_id, sum(size) DESC, min(part)"#,
            caller.user().0,
            &column(sessions, |id| id.0)[..],
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(|row| (SessionId(row.session_id), TopicId(row.topic_id))).collect())
    }

    async fn documents_of_topic(&self, caller: &Caller, id: TopicId, limit: u32) -> Result<Vec<DocumentId>, StoreError> {
        let found = sqlx::query_scalar!(
            "SELECT d.id FROM visible_topic_parts p JOIN documents d ON d.user_id = p.user_id AND d.id = p.session_id
             WHERE p.user_id = $1 AND p.topic_id = $2 GROUP BY d.id ORDER BY sum(p.size) DESC, d.id LIMIT $3",
            caller.user().0,
            id.0,
            i64::from(limit),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(DocumentId).collect())
    }

    async fn messages_of_topic(&self, caller: &Caller, id: TopicId, page: &Page) -> Result<Slice<MessageId>, StoreError> {
        let before = page.after.as_deref().map_or(Ok(Uuid::max()), keys::parse_id)?;
        let found = sqlx::query_scalar!(
            r#"SELECT message_id AS "message_id!" FROM visible_topic_messages
             WHERE user_id = $1 AND topic_id = $2 AND message_id < $3 AND chunk IS NULL ORDER BY message_id DESC LIMIT $4"#,
            caller.user().0,
            id.0,
            before,
            keys::limit(page),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let key = |message: &MessageId| message.0.as_simple().to_string();
        Ok(keys::page(found.into_iter().map(MessageId).map(Ok::<_, Failure>), page, key)?)
    }

    async fn entities_of_topic(&self, caller: &Caller, id: TopicId, limit: u32) -> Result<Vec<EntityId>, StoreError> {
        let found = sqlx::query_scalar!(
            r#"SELECT m.entity_id AS "entity_id!" FROM visible_topic_parts p
             JOIN topic_messages t ON t.user_id = p.user_id AND t.session_id = p.session_id AND t.part = p.part
             JOIN visible_mentions m ON m.user_id = t.user_id AND m.message_id = t.message_id
             WHERE p.user_id = $1 AND p.topic_id = $2 AND m.entity_id NOT IN (SELECT id FROM hidden_entities WHERE user_id = $1)
             GROUP BY m.entity_id ORDER BY count(*) DESC, m.entity_id LIMIT $3"#,
            caller.user().0,
            id.0,
            i64::from(limit),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(EntityId).collect())
    }

    async fn related_topics(&self, caller: &Caller, id: TopicId, limit: u32) -> Result<Vec<TopicId>, StoreError> {
        let found = sqlx::query!(
            r#"SELECT model AS "model!", centroid AS "centroid!: Vector" FROM visible_topic_parts WHERE user_id = $1 AND topic_id = $2
             ORDER BY size DESC, session_id, part LIMIT 10"#,
            caller.user().0,
            id.0,
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let Some(model) = found.first().map(|row| row.model.clone()) else { return Ok(Vec::new()) };
        let part = |centroid: Vector| KnownPart { topic: id, terms: Vec::new(), centroid: centroid.into() };
        let of: Vec<KnownPart> = found.into_iter().filter(|row| row.model == model).map(|row| part(row.centroid)).collect();
        let all = known_parts(self.pool.reading(caller), caller.user(), &model, MAX_COMPARED).await?;
        Ok(rank_related(id, &of, &all, limit))
    }
}

/// Reads the largest parts with vectors of one model.
async fn known_parts(db: impl PgExecutor<'_>, user: UserId, model: &str, limit: u32) -> Result<Vec<KnownPart>, Failure> {
    let found = sqlx::query_as!(
        PartRow,
        r#"SELECT topic_id AS "topic_id!", terms AS "terms!: JsonText", centroid AS "centroid!: Vector" FROM visible_topic_parts
         WHERE user_id = $1 AND model = $2 ORDER BY size DESC, session_id DESC, part DESC LIMIT $3"#,
        user.0,
        model,
        i64::from(limit),
    );
    found.fetch_all(db).await?.into_iter().map(PartRow::read).collect()
}

#[async_trait]
impl TopicStatements for WriteTransaction<'_> {
    async fn lock_topics(&mut self, user: UserId) -> Result<(), Failure> {
        sqlx::query!("SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE", user.0).fetch_optional(&mut *self.0).await?;
        Ok(())
    }

    async fn count_readable(&mut self, user: UserId, session: SessionId, messages: &[MessageId]) -> Result<u64, Failure> {
        let count = sqlx::query_scalar!(
            r#"SELECT count(*) AS "count!" FROM visible_messages WHERE user_id = $1 AND session_id = $2 AND forgotten IS NULL
             AND id = ANY($3)"#,
            user.0,
            session.0,
            &column(messages, |id| id.0)[..],
        );
        Ok(count.fetch_one(&mut *self.0).await?.unsigned_abs())
    }

    async fn known_parts(&mut self, user: UserId, model: &str, limit: u32) -> Result<Vec<KnownPart>, Failure> {
        known_parts(&mut *self.0, user, model, limit).await
    }

    async fn delete_topics(&mut self, user: UserId, session: SessionId) -> Result<(), Failure> {
        let deleted = sqlx::query!("DELETE FROM topic_parts WHERE user_id = $1 AND session_id = $2", user.0, session.0);
        deleted.execute(&mut *self.0).await?;
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
        let inserted = sqlx::query!(
            "INSERT INTO topic_parts (user_id, session_id, part, topic_id, name, terms, size, model, centroid, created_at)
             VALUES ($1, $2, $3, $4, $5, $6::text::json, $7, $8, $9, $10)",
            user.0,
            topics.session.0,
            i64::from(place),
            topic.0,
            &*codec::text(part.name.as_str()),
            json(&part.terms, "terms")?,
            signed(part.messages.len() as u64),
            topics.model,
            Vector::from(part.centroid.clone()) as Vector,
            time(topics.now),
        );
        inserted.execute(&mut *self.0).await?;
        let members = sqlx::query!(
            "INSERT INTO topic_messages (user_id, message_id, topic_id, session_id, part, chunk)
             SELECT user_id, id, $3, session_id, $4, chunk FROM visible_messages WHERE user_id = $1 AND session_id = $2 AND id = ANY($5)",
            user.0,
            topics.session.0,
            topic.0,
            i64::from(place),
            &column(&part.messages, |id| id.0)[..],
        );
        members.execute(&mut *self.0).await?;
        Ok(())
    }
}
