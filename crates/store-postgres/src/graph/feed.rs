//! Reads the change feed for a graph engine.
//!
//! Triggers (`0002_graph.sql` and later migrations) keep one row per node with the number of its latest change. The nodes are read
//! in their current state, in the same snapshot.

use std::collections::HashMap;

use async_trait::async_trait;

use super::super::{
    PostgresStore,
    codec::{column, signed},
    documents::pages,
    failure::Failure,
    row_security::RowAccess,
    rows::{self, Column, EntityRow},
    transaction::Snapshot,
};
use recall_domain::{Caller, DocumentId, Entity, EntityId, FactId, MessageId, SessionId, TopicId, UserId, UserText, ViewerRole};
use recall_ports::{Change, ChangeFeed, GraphChunk, GraphDocument, GraphMessage, GraphSession, GraphTopic, NodeId, StoreError};
use recall_store::{FactWithSource, GraphStatements, Refusal, changed_node, load_changes};

#[async_trait]
impl ChangeFeed for PostgresStore {
    async fn start(&self) -> Result<String, StoreError> {
        let feed = self.write(RowAccess::Owners, &(), |c, ()| {
            Box::pin(async move {
                // The first listing of all nodes may take longer than any other statement.
                sqlx::query!("SET LOCAL statement_timeout = 0").execute(&mut *c).await?;
                Ok(sqlx::query_scalar!(r#"SELECT graph_feed_start() AS "feed!""#).fetch_one(c).await?)
            })
        });
        Ok(feed.await?)
    }

    async fn users_after(&self, mark: u64) -> Result<(Vec<Caller>, u64), StoreError> {
        // The mark is the oldest running transaction. The next call reads the changes of this and later transactions, so it may read some
        // of them twice.
        let found = sqlx::query!(
            r#"SELECT array(SELECT user_id FROM graph_heads WHERE changed_in >= $1::text::xid8) AS "users!",
                 pg_snapshot_xmin(pg_current_snapshot())::text AS "mark!""#,
            mark.to_string(),
        );
        let found = found.fetch_one(self.pool.reading(RowAccess::Graph)).await.map_err(Failure::from)?;
        let mark = found.mark.parse().map_err(|_| Refusal::Damaged { table: "graph_heads", column: "changed_in" })?;
        Ok((found.users.into_iter().map(|user| Caller::verified(UserId(user), ViewerRole::User)).collect(), mark))
    }

    async fn head(&self, caller: &Caller) -> Result<u64, StoreError> {
        let head = sqlx::query_scalar!("SELECT head FROM graph_heads WHERE user_id = $1", caller.user().0);
        let head = head.fetch_optional(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(head.unwrap_or(0).unsigned_abs())
    }

    async fn size(&self, caller: &Caller) -> Result<(u64, u64), StoreError> {
        // One kind of node or relationship in each line.
        let counted = sqlx::query!(
            r#"SELECT s.n + e.n + t.n + d.n + least(d.n, 1) + c.n + l.resources + b.topics AS "nodes!",
                 f.n + t.n + m.n + d.n + d.viewed + c.n + l.n + b.n + r.n + a.n AS "relationships!"
             FROM (SELECT count(*) AS n FROM sessions WHERE user_id = $1 AND document IS NULL) s,
                 (SELECT count(*) AS n FROM entities WHERE user_id = $1 AND forgetting_id IS NULL) e,
                 (SELECT count(*) AS n FROM messages WHERE user_id = $1 AND chunk IS NULL AND forgotten IS DISTINCT FROM 'hidden') t,
                 (SELECT count(*) AS n, count(viewed_at) AS viewed FROM documents WHERE user_id = $1) d,
                 (SELECT count(*) AS n FROM document_chunks c JOIN messages m ON m.user_id = c.user_id AND m.id = c.message_id
                  WHERE c.user_id = $1 AND m.forgotten IS DISTINCT FROM 'hidden') c,
                 (SELECT count(*) AS n, count(DISTINCT uri) AS resources FROM (
                      SELECT DISTINCT d.id, l.value::text AS uri FROM documents d, json_array_elements(d.links) AS l (value)
                      WHERE d.user_id = $1) links) l,
                 (SELECT count(DISTINCT (p.topic_id, p.session_id)) AS n, count(DISTINCT p.topic_id) AS topics FROM graph_topic_parts p
                  JOIN documents d ON d.user_id = p.user_id AND d.id = p.session_id WHERE p.user_id = $1) b,
                 (SELECT count(*) AS n FROM facts WHERE user_id = $1) f,
                 (SELECT count(DISTINCT (message_id, entity_id)) AS n FROM mentions WHERE user_id = $1) m,
                 (SELECT count(DISTINCT (message_id, document_id)) AS n FROM cited_documents WHERE user_id = $1) r,
                 (SELECT count(DISTINCT (v.answer_to, v.document_id)) AS n FROM cited_documents v
                  JOIN messages q ON q.user_id = v.user_id AND q.id = v.answer_to
                  WHERE v.user_id = $1 AND q.forgotten IS DISTINCT FROM 'hidden') a"#,
            caller.user().0
        );
        let counted = counted.fetch_one(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok((counted.nodes.unsigned_abs(), counted.relationships.unsigned_abs()))
    }

    async fn changes(&self, caller: &Caller, after: u64, limit: u32) -> Result<Vec<Change>, StoreError> {
        let mut snapshot = self.pool.snapshot(caller.user()).await.map_err(Failure::from)?;
        let changes = load_changes(&mut Snapshot(&mut snapshot), caller.user(), after, limit).await?;
        snapshot.commit().await.map_err(Failure::from)?;
        Ok(changes)
    }
}

#[async_trait]
impl GraphStatements for Snapshot<'_> {
    type Error = Failure;

    async fn changed_nodes(&mut self, user: UserId, after: u64, limit: u32) -> Result<Vec<(u64, NodeId)>, Failure> {
        let found = sqlx::query!(
            "SELECT number, kind, id FROM graph_changes WHERE user_id = $1 AND number > $2 ORDER BY number LIMIT $3",
            user.0,
            signed(after),
            i64::from(limit),
        );
        let changed = found.fetch_all(&mut *self.0).await?.into_iter();
        changed.map(|row| Ok((Column("graph_changes", "number").count(row.number)?, changed_node(&row.kind, row.id)?))).collect()
    }

    async fn link_counts(&mut self, user: UserId, ids: &[SessionId]) -> Result<HashMap<SessionId, usize>, Failure> {
        let found = sqlx::query!(
            r#"SELECT id, json_array_length(links) AS "links!" FROM documents WHERE user_id = $1 AND id = ANY($2)"#,
            user.0,
            &column(ids, |id| id.0)[..]
        );
        let counts = found.fetch_all(&mut *self.0).await?.into_iter();
        Ok(counts.map(|row| (SessionId(row.id), usize::try_from(row.links).unwrap_or(usize::MAX))).collect())
    }

    async fn graph_documents(&mut self, user: UserId, ids: &[DocumentId]) -> Result<Vec<GraphDocument>, Failure> {
        let found = sqlx::query!(
            "SELECT id, collection, path, version, filename, title, media_type, bytes, pages, chunk_count, status, links, created_at,
                 viewed_at FROM documents WHERE user_id = $1 AND id = ANY($2)",
            user.0,
            &column(ids, |id| id.0)[..]
        );
        let of = |column| Column("documents", column);
        let documents = found.fetch_all(&mut *self.0).await?.into_iter().map(|row| {
            Ok(GraphDocument {
                id: DocumentId(row.id),
                collection: of("collection").text(row.collection)?,
                path: of("path").opt_text(row.path)?.map(UserText::from),
                version: of("version").small(row.version)?,
                filename: of("filename").text(row.filename)?.into(),
                title: of("title").opt_text(row.title)?.map(UserText::from),
                media_type: row.media_type,
                bytes: of("bytes").count(row.bytes)?,
                pages: row.pages.map(|pages| of("pages").small(pages)).transpose()?,
                chunk_count: of("chunk_count").small(row.chunk_count)?,
                status: of("status").word(&row.status)?,
                links: of("links").json(&row.links)?,
                created_at: row.created_at,
                viewed_at: row.viewed_at,
            })
        });
        documents.collect()
    }

    async fn graph_chunks(&mut self, user: UserId, ids: &[MessageId]) -> Result<Vec<GraphChunk>, Failure> {
        let found = sqlx::query!(
            r#"SELECT c.message_id, c.document_id, c.position, s.heading AS "heading?", c.char_offset, c.first_page, c.last_page, array(
                 SELECT DISTINCT n.entity_id FROM mentions n WHERE n.user_id = m.user_id AND n.message_id = m.id ORDER BY 1) AS "mentions!"
             FROM document_chunks c JOIN messages m ON m.user_id = c.user_id AND m.id = c.message_id
             LEFT JOIN document_sections s ON s.user_id = c.user_id AND s.document_id = c.document_id AND s.position = c.section
             WHERE c.user_id = $1 AND c.message_id = ANY($2) AND m.forgotten IS DISTINCT FROM 'hidden'"#,
            user.0,
            &column(ids, |id| id.0)[..],
        );
        let of = |column| Column("document_chunks", column);
        let chunks = found.fetch_all(&mut *self.0).await?.into_iter().map(|row| {
            Ok(GraphChunk {
                id: MessageId(row.message_id),
                document: DocumentId(row.document_id),
                position: of("position").small(row.position)?,
                heading: of("heading").opt_text(row.heading)?.map(UserText::from),
                char_offset: of("char_offset").count(row.char_offset)?,
                pages: pages(row.first_page, row.last_page)?,
                mentions: row.mentions.into_iter().map(EntityId).collect(),
            })
        });
        chunks.collect()
    }

    async fn graph_sessions(&mut self, user: UserId, ids: &[SessionId]) -> Result<Vec<GraphSession>, Failure> {
        let found = sqlx::query!(
            "SELECT id, title, created_at FROM sessions WHERE user_id = $1 AND document IS NULL AND id = ANY($2)",
            user.0,
            &column(ids, |id| id.0)[..]
        );
        let sessions = found.fetch_all(&mut *self.0).await?.into_iter().map(|row| {
            let title = Column("sessions", "title").opt_text(row.title)?.map(UserText::from);
            Ok(GraphSession { id: SessionId(row.id), title, created_at: row.created_at })
        });
        sessions.collect()
    }

    async fn graph_topics(&mut self, user: UserId, ids: &[TopicId]) -> Result<Vec<GraphTopic>, Failure> {
        // The name of a topic is that of its largest part.
        let found = sqlx::query!(
            r#"SELECT topic_id AS "topic_id!", (array_agg(name ORDER BY size DESC, session_id, part))[1] AS "name!", array(
                 SELECT DISTINCT d.id FROM graph_topic_parts o JOIN documents d ON d.user_id = o.user_id AND d.id = o.session_id
                 WHERE o.user_id = $1 AND o.topic_id = p.topic_id ORDER BY 1) AS "documents!"
             FROM graph_topic_parts p WHERE user_id = $1 AND topic_id = ANY($2) GROUP BY topic_id"#,
            user.0,
            &column(ids, |id| id.0)[..]
        );
        let topics = found.fetch_all(&mut *self.0).await?.into_iter().filter(|row| !row.documents.is_empty()).map(|row| {
            let name = Column("topic_parts", "name").text(row.name)?.into();
            Ok(GraphTopic { id: TopicId(row.topic_id), name, documents: row.documents.into_iter().map(DocumentId).collect() })
        });
        topics.collect()
    }

    async fn graph_entities(&mut self, user: UserId, ids: &[EntityId]) -> Result<Vec<Entity>, Failure> {
        let found = rows::entities!("WHERE user_id = $1 AND forgetting_id IS NULL AND id = ANY($2)", user.0, &column(ids, |id| id.0)[..]);
        found.fetch_all(&mut *self.0).await?.into_iter().map(EntityRow::read).collect()
    }

    async fn graph_messages(&mut self, user: UserId, ids: &[MessageId]) -> Result<Vec<GraphMessage>, Failure> {
        let found = sqlx::query!(
            r#"SELECT id, session_id, position, role, speaker, kind, sent_at, array(
                 SELECT DISTINCT n.entity_id FROM mentions n WHERE n.user_id = m.user_id AND n.message_id = m.id ORDER BY 1) AS "mentions!",
                 CASE WHEN m.answer_to IS NULL THEN '{}' ELSE array(
                     SELECT DISTINCT v.document_id FROM cited_documents v WHERE v.user_id = m.user_id AND v.message_id = m.id ORDER BY 1)
                 END AS "cited!",
                 array(SELECT DISTINCT v.document_id FROM cited_documents v WHERE v.user_id = m.user_id AND v.answer_to = m.id ORDER BY 1)
                     AS "answered_by!"
             FROM messages m WHERE user_id = $1 AND chunk IS NULL AND forgotten IS DISTINCT FROM 'hidden' AND id = ANY($2)"#,
            user.0,
            &column(ids, |id| id.0)[..],
        );
        let of = |column| Column("messages", column);
        let messages = found.fetch_all(&mut *self.0).await?.into_iter().map(|row| {
            Ok(GraphMessage {
                id: MessageId(row.id),
                session: SessionId(row.session_id),
                position: of("position").count(row.position)?,
                role: of("role").word(&row.role)?,
                speaker: of("speaker").opt_text(row.speaker)?,
                kind: row.kind.map(|kind| of("kind").word(&kind)).transpose()?,
                sent_at: row.sent_at,
                mentions: row.mentions.into_iter().map(EntityId).collect(),
                cited: row.cited.into_iter().map(DocumentId).collect(),
                answered_by: row.answered_by.into_iter().map(DocumentId).collect(),
            })
        });
        messages.collect()
    }

    async fn graph_facts(&mut self, user: UserId, ids: &[FactId]) -> Result<Vec<FactWithSource>, Failure> {
        let found = rows::facts_with!(
            r#"v.message_id AS "source_id?", v.session_id AS "source_session?""#,
            "FROM facts f LEFT JOIN LATERAL (
                 SELECT message_id, session_id FROM evidence
                 WHERE user_id = f.user_id AND fact_id = f.id AND stance = 'supports'
                 ORDER BY created_at DESC, message_id DESC LIMIT 1) v ON true
             WHERE f.user_id = $1 AND f.id = ANY($2)",
            user.0,
            &column(ids, |id| id.0)[..],
        );
        let facts = found.fetch_all(&mut *self.0).await?.into_iter().map(|row| {
            let source = row.source_id.zip(row.source_session);
            Ok((rows::fact_of!(row)?, source.map(|(message, session)| (MessageId(message), SessionId(session)))))
        });
        facts.collect()
    }
}
