//! Reading back where a graph stands and what it holds.

use std::time::Duration;

use neo4rs::{Query, query};
use uuid::Uuid;

use super::{
    client::Client,
    failure::Failure,
    values::{Columns, id},
};
use crate::{
    domain::{Entity, EntityId, FactId, MessageId, SessionId, UserId, UserText},
    ports::{Checkpoint, GraphContents, GraphFact, GraphMessage, GraphSession},
};

pub(super) async fn users(client: &Client) -> Result<Vec<UserId>, Failure> {
    let statement = query(
        "CALL () { MATCH (n:Projection) RETURN n.user_id AS id UNION MATCH (n:Entity) RETURN n.user_id AS id
             UNION MATCH (n:Session) RETURN n.user_id AS id UNION MATCH (n:Message) RETURN n.user_id AS id }
         WITH DISTINCT id WHERE id IS NOT NULL RETURN id ORDER BY id",
    );
    let rows = client.read(client.write_timeout, statement).await?;
    rows.iter().map(|row| Ok(UserId(Columns(row).id("id")?))).collect()
}

/// Longest time for reading a checkpoint. Who asks for a user has less, and stops waiting; the projector has time, and must not
/// take a server that is warming up for one that is gone.
const LOOK: Duration = Duration::from_secs(5);

pub(super) async fn checkpoint(client: &Client, user: UserId) -> Result<Option<Checkpoint>, Failure> {
    let statement = of_user("MATCH (p:Projection {user_id: $user}) RETURN p.feed AS feed, p.position AS position", user);
    let rows = client.read(LOOK, statement).await?;
    let Some(row) = rows.first().map(Columns) else { return Ok(None) };
    Ok(Some(Checkpoint { feed: row.get("feed")?, position: row.count("position")? }))
}

/// Times are asked for as milliseconds; the driver's own types for them differ between versions of the protocol.
pub(super) async fn of(client: &Client, user: UserId) -> Result<GraphContents, Failure> {
    Ok(GraphContents {
        sessions: sessions(client, user).await?,
        entities: entities(client, user).await?,
        messages: messages(client, user).await?,
        facts: facts(client, user).await?,
    })
}

fn of_user(text: &str, user: UserId) -> Query {
    query(text).param("user", id(user.0))
}

async fn sessions(client: &Client, user: UserId) -> Result<Vec<GraphSession>, Failure> {
    let statement = of_user(
        "MATCH (n:Session) WHERE n.user_id = $user AND n.id IS NOT NULL
         RETURN n.id AS id, n.title AS title, n.created_at.epochMillis AS created_at ORDER BY id",
        user,
    );
    let rows = client.read(client.write_timeout, statement).await?;
    let sessions = rows.iter().map(Columns).map(|c| {
        let title = c.get::<Option<String>>("title")?.map(UserText::from);
        Ok(GraphSession { id: SessionId(c.id("id")?), title, created_at: c.time("created_at")? })
    });
    sessions.collect()
}

async fn entities(client: &Client, user: UserId) -> Result<Vec<Entity>, Failure> {
    let statement = of_user(
        "MATCH (n:Entity) WHERE n.user_id = $user AND n.id IS NOT NULL
         RETURN n.id AS id, n.name AS name, n.type AS type, n.aliases AS aliases, n.description AS description,
             n.mention_count AS mention_count, n.confidence AS confidence, n.is_viewer AS is_viewer, n.first_message AS first_message,
             n.created_at.epochMillis AS created_at, n.updated_at.epochMillis AS updated_at ORDER BY id",
        user,
    );
    let rows = client.read(client.write_timeout, statement).await?;
    let entities = rows.iter().map(Columns).map(|c| {
        Ok(Entity {
            id: EntityId(c.id("id")?),
            name: c.get("name")?,
            entity_type: c.word("type")?,
            aliases: c.get("aliases")?,
            description: c.get("description")?,
            mention_count: c.count("mention_count")?,
            confidence: c.get("confidence")?,
            is_viewer: c.get("is_viewer")?,
            first_message: c.opt_id("first_message")?.map(MessageId),
            created_at: c.time("created_at")?,
            updated_at: c.time("updated_at")?,
        })
    });
    entities.collect()
}

async fn messages(client: &Client, user: UserId) -> Result<Vec<GraphMessage>, Failure> {
    // The session as the relationship says it, so that a comparison sees whether that is there.
    let statement = of_user(
        "MATCH (n:Message) WHERE n.user_id = $user AND n.id IS NOT NULL
         RETURN n.id AS id, [(n)-[:PART_OF]->(s:Session) | s.id] AS sessions, n.position AS position, n.role AS role,
             n.speaker AS speaker, n.kind AS kind, n.sent_at.epochMillis AS sent_at,
             [(n)<-[:MENTIONED_IN]-(e:Entity) | e.id] AS mentions ORDER BY id",
        user,
    );
    let rows = client.read(client.write_timeout, statement).await?;
    let messages = rows.iter().map(Columns).map(|c| {
        let mut mentions: Vec<Uuid> = c.ids("mentions")?;
        mentions.sort();
        let &[session] = c.ids("sessions")?.as_slice() else { return Err(Failure::Damaged("sessions")) };
        Ok(GraphMessage {
            id: MessageId(c.id("id")?),
            session: SessionId(session),
            position: c.count("position")?,
            role: c.word("role")?,
            speaker: c.get("speaker")?,
            kind: c.opt_word("kind")?,
            sent_at: c.time("sent_at")?,
            mentions: mentions.into_iter().map(EntityId).collect(),
        })
    });
    messages.collect()
}

/// Whatever connects two things, whether or not the ontology knows its type.
async fn facts(client: &Client, user: UserId) -> Result<Vec<GraphFact>, Failure> {
    let statement = of_user(
        "MATCH (s:Entity)-[r]->(o:Entity) WHERE s.user_id = $user AND s.id IS NOT NULL
         RETURN r.id AS id, s.id AS subject, coalesce(r.relation, type(r)) AS relation, o.id AS object, r.weight AS weight,
             r.opposition AS opposition, r.belief AS belief, r.status AS status, r.flagged AS flagged, r.source AS source,
             r.session_id AS session, r.timestamp.epochMillis AS timestamp, r.valid_from.epochMillis AS valid_from,
             r.valid_to.epochMillis AS valid_to, r.created_at.epochMillis AS created_at, r.updated_at.epochMillis AS updated_at
         ORDER BY id",
        user,
    );
    let rows = client.read(client.write_timeout, statement).await?;
    let facts = rows.iter().map(Columns).map(|c| {
        Ok(GraphFact {
            id: FactId(c.id("id")?),
            subject: EntityId(c.id("subject")?),
            relation: c.get("relation")?,
            object: EntityId(c.id("object")?),
            weight: c.get("weight")?,
            opposition: c.get("opposition")?,
            belief: c.get("belief")?,
            status: c.word("status")?,
            flagged: c.get("flagged")?,
            source: c.opt_id("source")?.zip(c.opt_id("session")?).map(|(m, s)| (MessageId(m), SessionId(s))),
            timestamp: c.time("timestamp")?,
            valid_from: c.opt_time("valid_from")?,
            valid_to: c.opt_time("valid_to")?,
            created_at: c.time("created_at")?,
            updated_at: c.time("updated_at")?,
        })
    });
    facts.collect()
}
