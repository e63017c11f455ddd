//! Reads the change feed for a graph engine.
//!
//! Triggers (`migrations/sqlite/0004_graph.sql`) keep one row per node with the number of its latest change. The nodes are read in
//! their current state, in the same snapshot.

use std::collections::HashMap;

use async_trait::async_trait;

use super::super::{
    SqliteStore,
    codec::{id_list, signed},
    failure::Failure,
    rows,
    transaction::{ReadTransaction, WriteTransaction, run},
};
use recall_domain::{Caller, Entity, EntityId, FactId, MessageId, SessionId, UserId, UserText, ViewerRole};
use recall_ports::{Change, ChangeFeed, GraphMessage, GraphSession, NodeId, StoreError};
use recall_store::{FactWithSource, GraphStatements, changed_node, load_changes, role_of};

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
        let counted = self.read(caller, move |db| {
            let sql = "SELECT
                 (SELECT count(*) FROM sessions WHERE user_id = ?1) + (SELECT count(*) FROM entities WHERE user_id = ?1 AND forgetting_id IS NULL)
                     + (SELECT count(*) FROM messages WHERE user_id = ?1 AND forgotten IS NOT 'hidden') AS nodes,
                 (SELECT count(*) FROM facts WHERE user_id = ?1) + (SELECT count(*) FROM messages WHERE user_id = ?1 AND forgotten IS NOT 'hidden')
                     + (SELECT count(*) FROM (SELECT DISTINCT message_id, entity_id FROM mentions WHERE user_id = ?1)) AS relationships";
            db.only_row("graph_changes", sql, (user.0,), |c| Ok((c.count("nodes")?, c.count("relationships")?)))
        });
        Ok(counted.await?)
    }

    async fn changes(&self, caller: &Caller, after: u64, limit: u32) -> Result<Vec<Change>, StoreError> {
        let user = caller.user();
        let changes = self.read(caller, move |db| db.snapshot(|db| run(load_changes(&mut ReadTransaction(db), user, after, limit))));
        Ok(changes.await?)
    }
}

fn start_recording(tx: &mut WriteTransaction<'_>) -> Result<String, Failure> {
    let first = tx.0.execute("UPDATE graph_feed SET recording = 1 WHERE recording = 0", ())? > 0;
    if first {
        for sql in [
            "INSERT INTO graph_changes (user_id, kind, id) SELECT user_id, 'session', id FROM sessions",
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

    async fn graph_sessions(&mut self, user: UserId, ids: &[SessionId]) -> Result<Vec<GraphSession>, Failure> {
        let sql = "SELECT id, title, created_at FROM sessions WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))";
        self.0.rows("sessions", sql, (user.0, id_list(ids.iter().map(|id| &id.0))), |c| {
            let title = c.opt_text("title")?.map(UserText::from);
            Ok(GraphSession { id: SessionId(c.id("id")?), title, created_at: c.time("created_at")? })
        })
    }

    async fn graph_entities(&mut self, user: UserId, ids: &[EntityId]) -> Result<Vec<Entity>, Failure> {
        let sql = "SELECT * FROM entities WHERE user_id = ? AND forgetting_id IS NULL AND id IN (SELECT unhex(value) FROM json_each(?))";
        self.0.rows("entities", sql, (user.0, id_list(ids.iter().map(|id| &id.0))), rows::entity)
    }

    async fn graph_messages(&mut self, user: UserId, ids: &[MessageId]) -> Result<Vec<GraphMessage>, Failure> {
        let list = id_list(ids.iter().map(|id| &id.0));
        let sql = "SELECT DISTINCT message_id, entity_id FROM mentions
             WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?)) ORDER BY message_id, entity_id";
        let found =
            self.0.rows("mentions", sql, (user.0, &list), |c| Ok((MessageId(c.id("message_id")?), EntityId(c.id("entity_id")?))))?;
        let mut mentions: HashMap<MessageId, Vec<EntityId>> = HashMap::new();
        for (message, entity) in found {
            mentions.entry(message).or_default().push(entity);
        }
        let sql = "SELECT id, session_id, position, role, chunk, speaker, kind, sent_at FROM messages
             WHERE user_id = ? AND forgotten IS NOT 'hidden' AND id IN (SELECT unhex(value) FROM json_each(?))";
        let mut messages = self.0.rows("messages", sql, (user.0, &list), |c| {
            Ok(GraphMessage {
                id: MessageId(c.id("id")?),
                session: SessionId(c.id("session_id")?),
                position: c.count("position")?,
                role: role_of(c.word("role")?, Some(c.opt_flag("chunk")?)),
                speaker: c.opt_text("speaker")?,
                kind: c.opt_word("kind")?,
                sent_at: c.time("sent_at")?,
                mentions: Vec::new(),
            })
        })?;
        for message in &mut messages {
            message.mentions = mentions.remove(&message.id).unwrap_or_default();
        }
        Ok(messages)
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
