//! Reads the change feed for a graph engine.
//!
//! Triggers (`migrations/sqlite/0004_graph.sql`) keep one row per node with the number of its latest change. The nodes are read in
//! their current state, in the same snapshot.

use std::collections::HashMap;

use async_trait::async_trait;
use sqlx::{Row, SqliteConnection};
use uuid::Uuid;

use super::super::{
    SqliteStore,
    codec::{bytes, id_list, signed},
    failure::Failure,
    rows,
    rows::Columns,
    transaction::Snapshot,
};
use recall_domain::{Caller, Entity, EntityId, FactId, MessageId, SessionId, UserId, UserText, ViewerRole};
use recall_ports::{Change, ChangeFeed, GraphMessage, GraphSession, NodeId, StoreError};
use recall_store::{FactWithSource, GraphStatements, changed_node, load_changes};

#[async_trait]
impl ChangeFeed for SqliteStore {
    async fn start(&self) -> Result<String, StoreError> {
        Ok(self.write(|c| Box::pin(start_recording(c))).await?)
    }

    async fn users_after(&self, mark: u64) -> Result<(Vec<Caller>, u64), StoreError> {
        let found = sqlx::query("SELECT user_id, MAX(number) AS number FROM graph_changes WHERE number > ? GROUP BY user_id")
            .bind(signed(mark))
            .fetch_all(self.readers.for_server())
            .await
            .map_err(Failure::from)?;
        let (mut users, mut last) = (Vec::with_capacity(found.len()), mark);
        for row in &found {
            let c = Columns::of(row, "graph_changes");
            last = last.max(c.count("number")?);
            users.push(Caller::verified(UserId(c.id("user_id")?), ViewerRole::User));
        }
        Ok((users, last))
    }

    async fn head(&self, caller: &Caller) -> Result<u64, StoreError> {
        let head: Option<i64> = sqlx::query_scalar("SELECT MAX(number) FROM graph_changes WHERE user_id = ?")
            .bind(bytes(&caller.user().0))
            .fetch_one(self.readers.for_user(caller))
            .await
            .map_err(Failure::from)?;
        Ok(head.unwrap_or(0).unsigned_abs())
    }

    async fn size(&self, caller: &Caller) -> Result<(u64, u64), StoreError> {
        let counted = sqlx::query(
            "SELECT
                 (SELECT count(*) FROM sessions WHERE user_id = ?1) + (SELECT count(*) FROM entities WHERE user_id = ?1)
                     + (SELECT count(*) FROM messages WHERE user_id = ?1) AS nodes,
                 (SELECT count(*) FROM facts WHERE user_id = ?1) + (SELECT count(*) FROM messages WHERE user_id = ?1)
                     + (SELECT count(*) FROM (SELECT DISTINCT message_id, entity_id FROM mentions WHERE user_id = ?1)) AS relationships",
        );
        let row = counted.bind(bytes(&caller.user().0)).fetch_one(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        let c = Columns::of(&row, "graph_changes");
        Ok((c.count("nodes")?, c.count("relationships")?))
    }

    async fn changes(&self, caller: &Caller, after: u64, limit: u32) -> Result<Vec<Change>, StoreError> {
        let mut snapshot = self.readers.for_server().begin().await.map_err(Failure::from)?;
        let changes = load_changes(&mut Snapshot(&mut snapshot), caller.user(), after, limit).await?;
        snapshot.commit().await.map_err(Failure::from)?;
        Ok(changes)
    }
}

async fn start_recording(c: &mut SqliteConnection) -> Result<String, Failure> {
    let first = sqlx::query("UPDATE graph_feed SET recording = 1 WHERE recording = 0").execute(&mut *c).await?.rows_affected() > 0;
    if first {
        for sql in [
            "INSERT INTO graph_changes (user_id, kind, id) SELECT user_id, 'session', id FROM sessions",
            "INSERT INTO graph_changes (user_id, kind, id) SELECT user_id, 'entity', id FROM entities",
            "INSERT INTO graph_changes (user_id, kind, id) SELECT user_id, 'message', id FROM messages",
            "INSERT INTO graph_changes (user_id, kind, id) SELECT user_id, 'fact', id FROM facts",
        ] {
            sqlx::query(sql).execute(&mut *c).await?;
        }
    }
    Ok(sqlx::query_scalar("SELECT name FROM graph_feed").fetch_one(c).await?)
}

#[async_trait]
impl GraphStatements for Snapshot<'_> {
    type Error = Failure;

    async fn changed_nodes(&mut self, user: UserId, after: u64, limit: u32) -> Result<Vec<(u64, NodeId)>, Failure> {
        let found = sqlx::query("SELECT number, kind, id FROM graph_changes WHERE user_id = ? AND number > ? ORDER BY number LIMIT ?");
        let found = found.bind(bytes(&user.0)).bind(signed(after)).bind(limit).fetch_all(&mut *self.0).await?;
        let changed = found.iter().map(|row| {
            let c = Columns::of(row, "graph_changes");
            Ok((c.count("number")?, changed_node(row.try_get("kind")?, c.id("id")?)?))
        });
        changed.collect()
    }

    async fn graph_sessions(&mut self, user: UserId, ids: &[SessionId]) -> Result<Vec<GraphSession>, Failure> {
        let found =
            sqlx::query("SELECT id, title, created_at FROM sessions WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))");
        let found = found.bind(bytes(&user.0)).bind(id_list(ids.iter().map(|id| &id.0))).fetch_all(&mut *self.0).await?;
        let sessions = found.iter().map(|row| {
            let c = Columns::of(row, "sessions");
            let title = c.opt_text("title")?.map(UserText::from);
            Ok(GraphSession { id: SessionId(c.id("id")?), title, created_at: c.time("created_at")? })
        });
        sessions.collect()
    }

    async fn graph_entities(&mut self, user: UserId, ids: &[EntityId]) -> Result<Vec<Entity>, Failure> {
        let found = sqlx::query("SELECT * FROM entities WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))");
        let found = found.bind(bytes(&user.0)).bind(id_list(ids.iter().map(|id| &id.0))).fetch_all(&mut *self.0).await?;
        found.iter().map(rows::entity).collect()
    }

    async fn graph_messages(&mut self, user: UserId, ids: &[MessageId]) -> Result<Vec<GraphMessage>, Failure> {
        let list = id_list(ids.iter().map(|id| &id.0));
        let found = sqlx::query(
            "SELECT DISTINCT message_id, entity_id FROM mentions
             WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?)) ORDER BY message_id, entity_id",
        );
        let found = found.bind(bytes(&user.0)).bind(&list).fetch_all(&mut *self.0).await?;
        let mut mentions: HashMap<Uuid, Vec<EntityId>> = HashMap::new();
        for row in &found {
            let c = Columns::of(row, "mentions");
            mentions.entry(c.id("message_id")?).or_default().push(EntityId(c.id("entity_id")?));
        }
        let found = sqlx::query(
            "SELECT id, session_id, position, role, speaker, kind, sent_at FROM messages
             WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))",
        );
        let found = found.bind(bytes(&user.0)).bind(&list).fetch_all(&mut *self.0).await?;
        let messages = found.iter().map(|row| {
            let c = Columns::of(row, "messages");
            let id = c.id("id")?;
            Ok(GraphMessage {
                id: MessageId(id),
                session: SessionId(c.id("session_id")?),
                position: c.count("position")?,
                role: c.word("role")?,
                speaker: c.opt_text("speaker")?,
                kind: c.opt_word("kind")?,
                sent_at: c.time("sent_at")?,
                mentions: mentions.remove(&id).unwrap_or_default(),
            })
        });
        messages.collect()
    }

    async fn graph_facts(&mut self, user: UserId, ids: &[FactId]) -> Result<Vec<FactWithSource>, Failure> {
        let found = sqlx::query(
            "SELECT f.*, m.id AS source_id, m.session_id AS source_session
             FROM facts f LEFT JOIN messages m ON m.user_id = f.user_id AND m.id = (
                 SELECT v.message_id FROM evidence v WHERE v.user_id = f.user_id AND v.fact_id = f.id AND v.stance = 'supports'
                 ORDER BY v.created_at DESC, v.message_id DESC LIMIT 1)
             WHERE f.user_id = ? AND f.id IN (SELECT unhex(value) FROM json_each(?))",
        );
        let found = found.bind(bytes(&user.0)).bind(id_list(ids.iter().map(|id| &id.0))).fetch_all(&mut *self.0).await?;
        let facts = found.iter().map(|row| {
            let c = Columns::of(row, "facts");
            let source = c.opt_id("source_id")?.zip(c.opt_id("source_session")?);
            Ok((rows::fact(row)?, source.map(|(message, session)| (MessageId(message), SessionId(session)))))
        });
        facts.collect()
    }
}
