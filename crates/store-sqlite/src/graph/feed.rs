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
};
use recall_domain::{Caller, Entity, EntityId, Fact, FactId, MessageId, SessionId, UserId, UserText, ViewerRole};
use recall_ports::{Change, ChangeFeed, GraphMessage, GraphSession, NodeId, NodeState, StoreError};
use recall_store::Refusal;

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
        Ok(load_changes(self, caller.user().0, after, limit).await?)
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

/// The ids in the rows of the feed, by kind.
#[derive(Default)]
struct ChangedIds {
    sessions: Vec<Uuid>,
    entities: Vec<Uuid>,
    messages: Vec<Uuid>,
    facts: Vec<Uuid>,
}

async fn load_changes(store: &SqliteStore, user: Uuid, after: u64, limit: u32) -> Result<Vec<Change>, Failure> {
    let mut snapshot = store.readers.for_server().begin().await?;
    let found = sqlx::query("SELECT number, kind, id FROM graph_changes WHERE user_id = ? AND number > ? ORDER BY number LIMIT ?")
        .bind(bytes(&user))
        .bind(signed(after))
        .bind(i64::from(limit))
        .fetch_all(&mut *snapshot)
        .await?;
    let (mut changed, mut order) = (ChangedIds::default(), Vec::with_capacity(found.len()));
    for row in &found {
        let c = Columns::of(row, "graph_changes");
        let (number, id, kind) = (c.count("number")?, c.id("id")?, row.try_get::<&str, _>("kind")?);
        let thing = match kind {
            "session" => {
                changed.sessions.push(id);
                NodeId::Session(SessionId(id))
            }
            "entity" => {
                changed.entities.push(id);
                NodeId::Entity(EntityId(id))
            }
            "message" => {
                changed.messages.push(id);
                NodeId::Message(MessageId(id))
            }
            "fact" => {
                changed.facts.push(id);
                NodeId::Fact(FactId(id))
            }
            _ => return Err(Refusal::Damaged { table: "graph_changes", column: "kind" }.into()),
        };
        order.push((number, thing));
    }
    let mut things: HashMap<NodeId, NodeState> = HashMap::with_capacity(order.len());
    for session in load_sessions(&mut snapshot, user, &changed.sessions).await? {
        things.insert(NodeId::Session(session.id), NodeState::Session(session));
    }
    for entity in load_entities(&mut snapshot, user, &changed.entities).await? {
        things.insert(NodeId::Entity(entity.id), NodeState::Entity(entity));
    }
    for message in load_messages(&mut snapshot, user, &changed.messages).await? {
        things.insert(NodeId::Message(message.id), NodeState::Message(message));
    }
    for (fact, source) in load_facts(&mut snapshot, user, &changed.facts).await? {
        things.insert(NodeId::Fact(fact.id), NodeState::Fact(fact, source));
    }
    snapshot.commit().await?;
    let changes = order.into_iter().map(|(number, id)| Change { number, thing: things.remove(&id).unwrap_or(NodeState::Gone(id)) });
    Ok(changes.collect())
}

async fn load_sessions(c: &mut SqliteConnection, user: Uuid, ids: &[Uuid]) -> Result<Vec<GraphSession>, Failure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let found =
        sqlx::query("SELECT id, title, created_at FROM sessions WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))")
            .bind(bytes(&user))
            .bind(id_list(ids))
            .fetch_all(c)
            .await?;
    let sessions = found.iter().map(|row| {
        let c = Columns::of(row, "sessions");
        let title = c.opt_text("title")?.map(UserText::from);
        Ok(GraphSession { id: SessionId(c.id("id")?), title, created_at: c.time("created_at")? })
    });
    sessions.collect()
}

async fn load_entities(c: &mut SqliteConnection, user: Uuid, ids: &[Uuid]) -> Result<Vec<Entity>, Failure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let found = sqlx::query("SELECT * FROM entities WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))")
        .bind(bytes(&user))
        .bind(id_list(ids))
        .fetch_all(c)
        .await?;
    found.iter().map(rows::entity).collect()
}

async fn load_messages(c: &mut SqliteConnection, user: Uuid, ids: &[Uuid]) -> Result<Vec<GraphMessage>, Failure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let list = id_list(ids);
    let found = sqlx::query(
        "SELECT DISTINCT message_id, entity_id FROM mentions
         WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?)) ORDER BY message_id, entity_id",
    )
    .bind(bytes(&user))
    .bind(&list)
    .fetch_all(&mut *c)
    .await?;
    let mut mentions: HashMap<Uuid, Vec<EntityId>> = HashMap::new();
    for row in &found {
        let c = Columns::of(row, "mentions");
        mentions.entry(c.id("message_id")?).or_default().push(EntityId(c.id("entity_id")?));
    }
    let found = sqlx::query(
        "SELECT id, session_id, position, role, speaker, kind, sent_at FROM messages
         WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))",
    )
    .bind(bytes(&user))
    .bind(&list)
    .fetch_all(c)
    .await?;
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

type FactWithSource = (Fact, Option<(MessageId, SessionId)>);

async fn load_facts(c: &mut SqliteConnection, user: Uuid, ids: &[Uuid]) -> Result<Vec<FactWithSource>, Failure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let found = sqlx::query(
        "SELECT f.*, m.id AS source_id, m.session_id AS source_session
         FROM facts f LEFT JOIN messages m ON m.user_id = f.user_id AND m.id = (
             SELECT v.message_id FROM evidence v WHERE v.user_id = f.user_id AND v.fact_id = f.id AND v.stance = 'supports'
             ORDER BY v.created_at DESC, v.message_id DESC LIMIT 1)
         WHERE f.user_id = ? AND f.id IN (SELECT unhex(value) FROM json_each(?))",
    )
    .bind(bytes(&user))
    .bind(id_list(ids))
    .fetch_all(c)
    .await?;
    let facts = found.iter().map(|row| {
        let c = Columns::of(row, "facts");
        let source = c.opt_id("source_id")?.zip(c.opt_id("source_session")?);
        Ok((rows::fact(row)?, source.map(|(message, session)| (MessageId(message), SessionId(session)))))
    });
    facts.collect()
}
