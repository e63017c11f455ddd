//! Reads the change feed for a graph engine.
//!
//! Triggers (`migrations/postgres/0002_graph.sql`) keep one row per node with the number of its latest change. The nodes are read
//! in their current state, in the same snapshot.

use std::collections::HashMap;

use async_trait::async_trait;
use sqlx::PgConnection;
use uuid::Uuid;

use super::super::{
    PostgresStore,
    codec::signed,
    failure::Failure,
    row_security::RowAccess,
    rows::{self, Column, EntityRow},
};
use recall_domain::{Caller, Entity, EntityId, Fact, FactId, MessageId, SessionId, UserId, UserText, ViewerRole};
use recall_ports::{Change, ChangeFeed, GraphMessage, GraphSession, NodeId, NodeState, StoreError};
use recall_store::Refusal;

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
        Ok(users_after(self, mark).await?)
    }

    async fn head(&self, caller: &Caller) -> Result<u64, StoreError> {
        let head = sqlx::query_scalar!("SELECT head FROM graph_heads WHERE user_id = $1", caller.user().0);
        let head = head.fetch_optional(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(head.unwrap_or(0).unsigned_abs())
    }

    async fn size(&self, caller: &Caller) -> Result<(u64, u64), StoreError> {
        let counted = sqlx::query!(
            r#"SELECT
                 (SELECT count(*) FROM sessions WHERE user_id = $1) + (SELECT count(*) FROM entities WHERE user_id = $1)
                     + (SELECT count(*) FROM messages WHERE user_id = $1) AS "nodes!",
                 (SELECT count(*) FROM facts WHERE user_id = $1) + (SELECT count(*) FROM messages WHERE user_id = $1)
                     + (SELECT count(DISTINCT (message_id, entity_id)) FROM mentions WHERE user_id = $1) AS "relationships!""#,
            caller.user().0
        );
        let counted = counted.fetch_one(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok((counted.nodes.unsigned_abs(), counted.relationships.unsigned_abs()))
    }

    async fn changes(&self, caller: &Caller, after: u64, limit: u32) -> Result<Vec<Change>, StoreError> {
        Ok(load_changes(self, caller.user().0, after, limit).await?)
    }
}

/// Lists users with changes after the mark, and the next mark.
///
/// The mark is the oldest running transaction. The next call reads the changes of this and later transactions, so it may read some
/// of them twice.
async fn users_after(store: &PostgresStore, mark: u64) -> Result<(Vec<Caller>, u64), Failure> {
    let found = sqlx::query!(
        r#"SELECT array(SELECT user_id FROM graph_heads WHERE changed_in >= $1::text::xid8) AS "users!",
             pg_snapshot_xmin(pg_current_snapshot())::text AS "mark!""#,
        mark.to_string(),
    );
    let found = found.fetch_one(store.pool.reading(RowAccess::Graph)).await?;
    let mark = found.mark.parse().map_err(|_| Refusal::Damaged { table: "graph_heads", column: "changed_in" })?;
    Ok((found.users.into_iter().map(|u| Caller::verified(UserId(u), ViewerRole::User)).collect(), mark))
}

/// The ids in the rows of the feed, by kind.
#[derive(Default)]
struct ChangedIds {
    sessions: Vec<Uuid>,
    entities: Vec<Uuid>,
    messages: Vec<Uuid>,
    facts: Vec<Uuid>,
}

async fn load_changes(store: &PostgresStore, user: Uuid, after: u64, limit: u32) -> Result<Vec<Change>, Failure> {
    let mut snapshot = store.pool.snapshot(UserId(user)).await?;
    let found = sqlx::query!(
        "SELECT number, kind, id FROM graph_changes WHERE user_id = $1 AND number > $2 ORDER BY number LIMIT $3",
        user,
        signed(after),
        i64::from(limit),
    );
    let found = found.fetch_all(&mut *snapshot).await?;
    let (mut changed, mut order) = (ChangedIds::default(), Vec::with_capacity(found.len()));
    for row in found {
        let id = row.id;
        let (list, thing) = match row.kind.as_str() {
            "session" => (&mut changed.sessions, NodeId::Session(SessionId(id))),
            "entity" => (&mut changed.entities, NodeId::Entity(EntityId(id))),
            "message" => (&mut changed.messages, NodeId::Message(MessageId(id))),
            "fact" => (&mut changed.facts, NodeId::Fact(FactId(id))),
            _ => return Err(Refusal::Damaged { table: "graph_changes", column: "kind" }.into()),
        };
        list.push(id);
        order.push((Column("graph_changes", "number").count(row.number)?, thing));
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

async fn load_sessions(c: &mut PgConnection, user: Uuid, ids: &[Uuid]) -> Result<Vec<GraphSession>, Failure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let found = sqlx::query!("SELECT id, title, created_at FROM sessions WHERE user_id = $1 AND id = ANY($2)", user, ids);
    let sessions = found.fetch_all(c).await?.into_iter().map(|row| {
        let title = Column("sessions", "title").opt_text(row.title)?.map(UserText::from);
        Ok(GraphSession { id: SessionId(row.id), title, created_at: row.created_at })
    });
    sessions.collect()
}

async fn load_entities(c: &mut PgConnection, user: Uuid, ids: &[Uuid]) -> Result<Vec<Entity>, Failure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let found = rows::entities!("WHERE user_id = $1 AND id = ANY($2)", user, ids);
    found.fetch_all(c).await?.into_iter().map(EntityRow::read).collect()
}

async fn load_messages(c: &mut PgConnection, user: Uuid, ids: &[Uuid]) -> Result<Vec<GraphMessage>, Failure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let found = sqlx::query!(
        r#"SELECT id, session_id, position, role, speaker, kind, sent_at, array(
             SELECT DISTINCT n.entity_id FROM mentions n WHERE n.user_id = m.user_id AND n.message_id = m.id ORDER BY 1) AS "mentions!"
         FROM messages m WHERE user_id = $1 AND id = ANY($2)"#,
        user,
        ids,
    );
    let of = |column| Column("messages", column);
    let messages = found.fetch_all(c).await?.into_iter().map(|row| {
        Ok(GraphMessage {
            id: MessageId(row.id),
            session: SessionId(row.session_id),
            position: of("position").count(row.position)?,
            role: of("role").word(&row.role)?,
            speaker: of("speaker").opt_text(row.speaker)?,
            kind: row.kind.map(|kind| of("kind").word(&kind)).transpose()?,
            sent_at: row.sent_at,
            mentions: row.mentions.into_iter().map(EntityId).collect(),
        })
    });
    messages.collect()
}

type FactWithSource = (Fact, Option<(MessageId, SessionId)>);

async fn load_facts(c: &mut PgConnection, user: Uuid, ids: &[Uuid]) -> Result<Vec<FactWithSource>, Failure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let found = rows::facts_with!(
        r#"v.message_id AS "source_id?", v.session_id AS "source_session?""#,
        "FROM facts f LEFT JOIN LATERAL (
             SELECT message_id, session_id FROM evidence
             WHERE user_id = f.user_id AND fact_id = f.id AND stance = 'supports'
             ORDER BY created_at DESC, message_id DESC LIMIT 1) v ON true
         WHERE f.user_id = $1 AND f.id = ANY($2)",
        user,
        ids,
    );
    let facts = found.fetch_all(c).await?.into_iter().map(|row| {
        let source = row.source_id.zip(row.source_session);
        Ok((rows::fact_of!(row)?, source.map(|(message, session)| (MessageId(message), SessionId(session)))))
    });
    facts.collect()
}
