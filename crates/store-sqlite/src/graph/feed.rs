//! Reads the change feed for a graph engine.
//!
//! Triggers (`0004_graph.sql` and later migrations) keep one row per node with the number of its latest change. The nodes are read in
//! their current state, in the same snapshot.

use std::collections::HashMap;

use async_trait::async_trait;
use uuid::Uuid;

use super::super::{
    SqliteStore,
    codec::{id_list, signed},
    connection::Db,
    failure::Failure,
    rows,
    transaction::{ReadTransaction, WriteTransaction, run},
};
use recall_domain::{Caller, DocumentId, Entity, EntityId, FactId, MessageId, PageRange, SessionId, TopicId, UserId, UserText, ViewerRole};
use recall_ports::{Change, ChangeFeed, GraphChunk, GraphDocument, GraphMessage, GraphSession, GraphTopic, NodeId, StoreError};
use recall_store::{FactWithSource, GraphStatements, changed_node, load_changes};

#[async_trait]
impl ChangeFeed for SqliteStore {
    async fn start(&self) -> Result<String, StoreError> {
        Ok(self.write(start_recording).await?)
    }

    async fn users_after(&self, mark: u64) -> Result<(Vec<Caller>, u64), StoreError> {
        let found = self.readers.for_server(move |db| {
            let sql = "SELECT user_id, MAX(number) AS number FROM graph_changes WHERE number > ? GROUP BY user_id";
            db.rows("graph_changes", sql, (signed(mark),), |c| Ok((UserId(c.id("user_id")?), c.count("number")?)))
        });
        let found = found.await?;
        let last = found.iter().fold(mark, |last, (_, number)| last.max(*number));
        let users = found.into_iter().map(|(user, _)| Caller::verified(user, ViewerRole::User));
        Ok((users.collect(), last))
    }

    async fn head(&self, caller: &Caller) -> Result<u64, StoreError> {
        let user = caller.user();
        let head = self.read(caller, move |db| {
            let sql = "SELECT MAX(number) AS number FROM graph_changes WHERE user_id = ?";
            db.only_row("graph_changes", sql, (user.0,), |c| c.get::<Option<i64>>("number"))
        });
        Ok(head.await?.unwrap_or(0).unsigned_abs())
    }

    async fn size(&self, caller: &Caller) -> Result<(u64, u64), StoreError> {
        let user = caller.user();
        let counted = self
            .read(caller, move |db| db.only_row("graph_changes", SIZE, (user.0,), |c| Ok((c.count("nodes")?, c.count("relationships")?))));
        Ok(counted.await?)
    }

    async fn changes(&self, caller: &Caller, after: u64, limit: u32) -> Result<Vec<Change>, StoreError> {
        let user = caller.user();
        let changes = self.read(caller, move |db| db.snapshot(|db| run(load_changes(&mut ReadTransaction(db), user, after, limit))));
        Ok(changes.await?)
    }
}

/// Counts the nodes and relationships of a user's graph, one kind in each line.
const SIZE: &str = "
    SELECT s.n + e.n + t.n + d.n + min(d.n, 1) + c.n + l.resources + b.topics AS nodes,
        f.n + t.n + m.n + d.n + d.viewed + c.n + l.n + b.n + r.n + a.n AS relationships
    FROM (SELECT count(*) AS n FROM sessions WHERE user_id = ?1 AND document IS NULL) s,
         (SELECT count(*) AS n FROM entities WHERE user_id = ?1 AND forgetting_id IS NULL) e,
         (SELECT count(*) AS n FROM messages WHERE user_id = ?1 AND chunk IS NULL AND forgotten IS NOT 'hidden') t,
         (SELECT count(*) AS n, count(viewed_at) AS viewed FROM documents WHERE user_id = ?1) d,
         (SELECT count(*) AS n FROM document_chunks c CROSS JOIN messages m ON m.user_id = c.user_id AND m.id = c.message_id
          WHERE c.user_id = ?1 AND m.forgotten IS NOT 'hidden') c,
         (SELECT count(*) AS n, count(DISTINCT uri) AS resources FROM (
              SELECT DISTINCT d.id, l.value AS uri FROM documents d CROSS JOIN json_each(d.links) l WHERE d.user_id = ?1)) l,
         (SELECT count(*) AS n, count(DISTINCT topic_id) AS topics FROM (
              SELECT DISTINCT p.topic_id, p.session_id FROM graph_topic_parts p
              CROSS JOIN documents d ON d.user_id = p.user_id AND d.id = p.session_id WHERE p.user_id = ?1)) b,
         (SELECT count(*) AS n FROM facts WHERE user_id = ?1) f,
         (SELECT count(*) AS n FROM (SELECT DISTINCT message_id, entity_id FROM mentions WHERE user_id = ?1)) m,
         (SELECT count(*) AS n FROM (SELECT DISTINCT message_id, document_id FROM cited_documents WHERE user_id = ?1)) r,
         (SELECT count(*) AS n FROM (
              SELECT DISTINCT v.answer_to, v.document_id FROM cited_documents v
              CROSS JOIN messages q ON q.user_id = v.user_id AND q.id = v.answer_to
              WHERE v.user_id = ?1 AND q.forgotten IS NOT 'hidden')) a";

fn start_recording(tx: &mut WriteTransaction<'_>) -> Result<String, Failure> {
    let first = tx.0.execute("UPDATE graph_feed SET recording = 1 WHERE recording = 0", ())? > 0;
    if first {
        for sql in [
            "INSERT INTO graph_changes (user_id, kind, id) SELECT user_id, 'session', id FROM sessions",
            "INSERT INTO graph_changes (user_id, kind, id) SELECT DISTINCT user_id, 'session', topic_id FROM topic_parts",
            "INSERT INTO graph_changes (user_id, kind, id) SELECT user_id, 'entity', id FROM entities",
            "INSERT INTO graph_changes (user_id, kind, id) SELECT user_id, 'message', id FROM messages",
            "INSERT INTO graph_changes (user_id, kind, id) SELECT user_id, 'fact', id FROM facts",
        ] {
            tx.0.execute(sql, ())?;
        }
    }
    tx.0.only_row("graph_feed", "SELECT name FROM graph_feed", (), |c| c.text("name"))
}

#[async_trait]
impl GraphStatements for ReadTransaction<'_> {
    type Error = Failure;

    async fn changed_nodes(&mut self, user: UserId, after: u64, limit: u32) -> Result<Vec<(u64, NodeId)>, Failure> {
        let sql = "SELECT number, kind, id FROM graph_changes WHERE user_id = ? AND number > ? ORDER BY number LIMIT ?";
        self.0.rows("graph_changes", sql, (user.0, signed(after), limit), |c| {
            Ok((c.count("number")?, changed_node(&c.text("kind")?, c.id("id")?)?))
        })
    }

    async fn link_counts(&mut self, user: UserId, ids: &[SessionId]) -> Result<HashMap<SessionId, usize>, Failure> {
        let sql = "SELECT id, json_array_length(links) AS links FROM documents
             WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))";
        let counts = self.0.rows("documents", sql, (user.0, id_list(ids.iter().map(|id| &id.0))), |c| {
            Ok((SessionId(c.id("id")?), usize::try_from(c.count("links")?).unwrap_or(usize::MAX)))
        });
        Ok(counts?.into_iter().collect())
    }

    async fn graph_documents(&mut self, user: UserId, ids: &[DocumentId]) -> Result<Vec<GraphDocument>, Failure> {
        let sql = "SELECT id, collection, path, version, filename, title, media_type, bytes, pages, chunk_count, status, links, created_at,
                 viewed_at FROM documents WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))";
        self.0.rows("documents", sql, (user.0, id_list(ids.iter().map(|id| &id.0))), |c| {
            Ok(GraphDocument {
                id: DocumentId(c.id("id")?),
                collection: c.text("collection")?,
                path: c.opt_text("path")?.map(UserText::from),
                version: c.small("version")?,
                filename: c.text("filename")?.into(),
                title: c.opt_text("title")?.map(UserText::from),
                media_type: c.opt_text("media_type")?,
                bytes: c.count("bytes")?,
                pages: c.opt_small("pages")?,
                chunk_count: c.small("chunk_count")?,
                status: c.word("status")?,
                links: c.json("links")?,
                created_at: c.time("created_at")?,
                viewed_at: c.opt_time("viewed_at")?,
            })
        })
    }

    async fn graph_chunks(&mut self, user: UserId, ids: &[MessageId]) -> Result<Vec<GraphChunk>, Failure> {
        let list = id_list(ids.iter().map(|id| &id.0));
        let mut mentions = mentions_in(self.0, user, &list)?;
        let sql = "SELECT c.message_id, c.document_id, c.position, s.heading, c.char_offset, c.first_page, c.last_page
             FROM document_chunks c JOIN messages m ON m.user_id = c.user_id AND m.id = c.message_id
             LEFT JOIN document_sections s ON s.user_id = c.user_id AND s.document_id = c.document_id AND s.position = c.section
             WHERE c.user_id = ? AND c.message_id IN (SELECT unhex(value) FROM json_each(?)) AND m.forgotten IS NOT 'hidden'";
        self.0.rows("document_chunks", sql, (user.0, &list), |c| {
            let id = MessageId(c.id("message_id")?);
            Ok(GraphChunk {
                id,
                document: DocumentId(c.id("document_id")?),
                position: c.small("position")?,
                heading: c.opt_text("heading")?.map(UserText::from),
                char_offset: c.count("char_offset")?,
                pages: c.opt_small("first_page")?.zip(c.opt_small("last_page")?).map(|(first, last)| PageRange { first, last }),
                mentions: mentions.remove(&id).unwrap_or_default(),
            })
        })
    }

    async fn graph_sessions(&mut self, user: UserId, ids: &[SessionId]) -> Result<Vec<GraphSession>, Failure> {
        let sql = "SELECT id, title, created_at FROM sessions WHERE user_id = ? AND document IS NULL AND id IN (SELECT unhex(value) FROM json_each(?))";
        self.0.rows("sessions", sql, (user.0, id_list(ids.iter().map(|id| &id.0))), |c| {
            let title = c.opt_text("title")?.map(UserText::from);
            Ok(GraphSession { id: SessionId(c.id("id")?), title, created_at: c.time("created_at")? })
        })
    }

    async fn graph_topics(&mut self, user: UserId, ids: &[TopicId]) -> Result<Vec<GraphTopic>, Failure> {
        let list = id_list(ids.iter().map(|id| &id.0));
        let sql = "SELECT DISTINCT p.topic_id, p.session_id FROM graph_topic_parts p
             CROSS JOIN documents d ON d.user_id = p.user_id AND d.id = p.session_id
             WHERE p.user_id = ? AND p.topic_id IN (SELECT unhex(value) FROM json_each(?)) ORDER BY p.topic_id, p.session_id";
        let pair = |c: &rows::Columns<'_, '_>| Ok((TopicId(c.id("topic_id")?), DocumentId(c.id("session_id")?)));
        let mut documents: HashMap<TopicId, Vec<DocumentId>> = HashMap::new();
        for (topic, document) in self.0.rows("topic_parts", sql, (user.0, &list), pair)? {
            documents.entry(topic).or_default().push(document);
        }
        // The first part of a topic is its largest, which has its name.
        let sql = "SELECT topic_id, name FROM graph_topic_parts WHERE user_id = ? AND topic_id IN (SELECT unhex(value) FROM json_each(?))
             ORDER BY size DESC, session_id, part";
        let names = self.0.rows("topic_parts", sql, (user.0, &list), |c| Ok((TopicId(c.id("topic_id")?), c.text("name")?)))?;
        let topics = names.into_iter().filter_map(|(id, name)| {
            let documents = documents.remove(&id)?;
            Some(GraphTopic { id, name: name.into(), documents })
        });
        Ok(topics.collect())
    }

    async fn graph_entities(&mut self, user: UserId, ids: &[EntityId]) -> Result<Vec<Entity>, Failure> {
        let sql = "SELECT * FROM entities WHERE user_id = ? AND forgetting_id IS NULL AND id IN (SELECT unhex(value) FROM json_each(?))";
        self.0.rows("entities", sql, (user.0, id_list(ids.iter().map(|id| &id.0))), rows::entity)
    }

    async fn graph_messages(&mut self, user: UserId, ids: &[MessageId]) -> Result<Vec<GraphMessage>, Failure> {
        let list = id_list(ids.iter().map(|id| &id.0));
        let mut mentions = mentions_in(self.0, user, &list)?;
        let documents = |sql| grouped(self.0, "documents", sql, user, &list, DocumentId);
        let mut cited = documents(
            "SELECT DISTINCT message_id AS whole, document_id AS part FROM cited_documents
             WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?)) ORDER BY whole, part",
        )?;
        let mut answered_by = documents(
            "SELECT DISTINCT answer_to AS whole, document_id AS part FROM cited_documents
             WHERE user_id = ? AND answer_to IN (SELECT unhex(value) FROM json_each(?)) ORDER BY whole, part",
        )?;
        let sql = "SELECT id, session_id, position, role, speaker, kind, sent_at FROM messages
             WHERE user_id = ? AND chunk IS NULL AND forgotten IS NOT 'hidden' AND id IN (SELECT unhex(value) FROM json_each(?))";
        self.0.rows("messages", sql, (user.0, &list), |c| {
            let id = MessageId(c.id("id")?);
            Ok(GraphMessage {
                id,
                session: SessionId(c.id("session_id")?),
                position: c.count("position")?,
                role: c.word("role")?,
                speaker: c.opt_text("speaker")?,
                kind: c.opt_word("kind")?,
                sent_at: c.time("sent_at")?,
                mentions: mentions.remove(&id).unwrap_or_default(),
                cited: cited.remove(&id).unwrap_or_default(),
                answered_by: answered_by.remove(&id).unwrap_or_default(),
            })
        })
    }

    async fn graph_facts(&mut self, user: UserId, ids: &[FactId]) -> Result<Vec<FactWithSource>, Failure> {
        let sql = "SELECT f.*, m.id AS source_id, m.session_id AS source_session
             FROM facts f LEFT JOIN messages m ON m.user_id = f.user_id AND m.id = (
                 SELECT v.message_id FROM evidence v WHERE v.user_id = f.user_id AND v.fact_id = f.id AND v.stance = 'supports'
                 ORDER BY v.created_at DESC, v.message_id DESC LIMIT 1)
             WHERE f.user_id = ? AND f.id IN (SELECT unhex(value) FROM json_each(?))";
        self.0.rows("facts", sql, (user.0, id_list(ids.iter().map(|id| &id.0))), |c| {
            let source = c.opt_id("source_id")?.zip(c.opt_id("source_session")?);
            Ok((rows::fact(c)?, source.map(|(message, session)| (MessageId(message), SessionId(session)))))
        })
    }
}

fn mentions_in(db: &Db, user: UserId, messages: &str) -> Result<HashMap<MessageId, Vec<EntityId>>, Failure> {
    let sql = "SELECT DISTINCT message_id AS whole, entity_id AS part FROM mentions
         WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?)) ORDER BY whole, part";
    grouped(db, "mentions", sql, user, messages, EntityId)
}

/// Reads the columns `whole`, a message, and `part`, and groups the parts by message.
fn grouped<P>(
    db: &Db,
    table: &'static str,
    sql: &'static str,
    user: UserId,
    messages: &str,
    part: fn(Uuid) -> P,
) -> Result<HashMap<MessageId, Vec<P>>, Failure> {
    let found = db.rows(table, sql, (user.0, messages), |c| Ok((MessageId(c.id("whole")?), part(c.id("part")?))))?;
    let mut groups: HashMap<MessageId, Vec<P>> = HashMap::new();
    for (whole, part) in found {
        groups.entry(whole).or_default().push(part);
    }
    Ok(groups)
}
