//! Reads back the checkpoints and the contents of a graph.

use std::collections::BTreeMap;

use neo4rs::{Query, Row, query};
use uuid::Uuid;

use super::{
    client::{Client, STATUS_TIMEOUT},
    documents,
    failure::Failure,
    values::{Columns, id},
    write::LABELS,
};
use recall_domain::{DocumentId, Entity, EntityId, FactId, MessageId, SessionId, UserId, UserText};
use recall_ports::{Checkpoint, GraphContents, GraphFact, GraphMessage, GraphSession, UnreadableNode};

pub(super) async fn users(client: &Client) -> Result<Vec<UserId>, Failure> {
    let labels = LABELS.iter().chain(&["Projection"]);
    let each: Vec<String> = labels.map(|label| format!("MATCH (n:{label}) RETURN n.user_id AS id")).collect();
    let statement = query(&format!("CALL () {{ {} }} WITH DISTINCT id WHERE id IS NOT NULL RETURN id ORDER BY id", each.join(" UNION ")));
    let rows = client.read(client.write_timeout, statement).await?;
    // A checkpoint without a valid user id is reported as a stray.
    Ok(rows.iter().filter_map(|row| Columns(row).id("id").ok()).map(UserId).collect())
}

pub(super) async fn marker(client: &Client) -> Result<Option<String>, Failure> {
    let rows = client.read(STATUS_TIMEOUT, query("MATCH (m:ProjectionMarker {id: 'recall'}) RETURN m.epoch AS epoch")).await?;
    rows.first().map_or(Ok(None), |row| Columns(row).get("epoch"))
}

/// Reads all checkpoints. Unreadable ones are left out.
pub(super) async fn checkpoints(client: &Client) -> Result<BTreeMap<UserId, Checkpoint>, Failure> {
    let statement = query("MATCH (p:Projection) WHERE p.maker IS NULL RETURN p.user_id AS id, p.feed AS feed, p.position AS position");
    let rows = client.read(client.write_timeout, statement).await?;
    let read = |row: &Row| {
        let c = Columns(row);
        Some((UserId(c.id("id").ok()?), Checkpoint { feed: c.get("feed").ok()?, position: c.count("position").ok()? }))
    };
    Ok(rows.iter().filter_map(read).collect())
}

pub(super) async fn checkpoint(client: &Client, user: UserId) -> Result<Option<Checkpoint>, Failure> {
    let statement =
        user_query("MATCH (p:Projection {user_id: $user}) WHERE p.maker IS NULL RETURN p.feed AS feed, p.position AS position", user);
    let rows = client.read(STATUS_TIMEOUT, statement).await?;
    // A checkpoint that someone made unreadable counts as missing, and the graph is rebuilt.
    Ok(rows.first().map(Columns).and_then(|row| Some(Checkpoint { feed: row.get("feed").ok()?, position: row.count("position").ok()? })))
}

/// Numbers of nodes and relationships. Every relationship starts at one of these nodes.
pub(super) async fn size(client: &Client, user: UserId) -> Result<(u64, u64), Failure> {
    let count = |label| {
        format!(
            "MATCH (n:{label}) WHERE n.user_id = $user AND n.id IS NOT NULL OPTIONAL MATCH (n)-[r]->()
             RETURN count(DISTINCT n) AS nodes, count(r) AS relationships"
        )
    };
    let counts = LABELS.map(count).join(" UNION ALL ");
    let text = format!("CALL () {{ {counts} }} RETURN sum(nodes) AS nodes, sum(relationships) AS relationships");
    let rows = client.read(client.write_timeout, user_query(&text, user)).await?;
    rows.first().map_or(Ok((0, 0)), |row| Ok((Columns(row).count("nodes")?, Columns(row).count("relationships")?)))
}

/// Reads the whole graph of a user.
///
/// Times are requested as milliseconds, because the driver's own types for them differ between protocol versions.
pub(super) async fn read_all(client: &Client, user: UserId) -> Result<GraphContents, Failure> {
    let mut contents = GraphContents::default();
    let damaged = &mut contents.damaged;
    contents.sessions = readable(sessions(client, user).await?, "session", damaged, session);
    contents.entities = readable(entities(client, user).await?, "entity", damaged, entity);
    contents.messages = readable(messages(client, user).await?, "message", damaged, message);
    contents.documents = readable(documents::documents(client, user).await?, "document", damaged, documents::document);
    contents.chunks = readable(documents::chunks(client, user).await?, "chunk", damaged, documents::chunk);
    contents.topics = readable(documents::topics(client, user).await?, "topic", damaged, documents::topic);
    contents.facts = readable(facts(client, user).await?, "fact", damaged, fact);
    Ok(contents)
}

/// Parses the rows and reports unreadable ones by id.
///
/// Other programs may have changed them. A comparison must list all damaged rows, not stop at the first.
fn readable<T>(rows: Vec<Row>, kind: &'static str, damaged: &mut Vec<UnreadableNode>, read: fn(&Columns) -> Result<T, Failure>) -> Vec<T> {
    let mut things = Vec::with_capacity(rows.len());
    for row in &rows {
        let columns = Columns(row);
        // The row has labels or properties that this program does not write.
        let has_more = columns.get::<bool>("has_more").unwrap_or(true);
        match read(&columns) {
            Ok(thing) if !has_more => things.push(thing),
            _ => damaged.push(UnreadableNode { kind, id: columns.opt_id("id").ok().flatten() }),
        }
    }
    things
}

pub(super) fn user_query(text: &str, user: UserId) -> Query {
    query(text).param("user", id(user.0))
}

async fn sessions(client: &Client, user: UserId) -> Result<Vec<Row>, Failure> {
    let statement = user_query(
        "MATCH (n:Session) WHERE n.user_id = $user AND n.id IS NOT NULL
         RETURN n.id AS id, n.title AS title, n.created_at.epochMillis AS created_at,
             any(k IN keys(n) WHERE NOT k IN ['user_id', 'id', 'title', 'created_at']) AS has_more ORDER BY id",
        user,
    );
    client.read(client.write_timeout, statement).await
}

fn session(c: &Columns) -> Result<GraphSession, Failure> {
    let title = c.get::<Option<String>>("title")?.map(UserText::from);
    Ok(GraphSession { id: SessionId(c.id("id")?), title, created_at: c.time("created_at")? })
}

async fn entities(client: &Client, user: UserId) -> Result<Vec<Row>, Failure> {
    let statement = user_query(
        "MATCH (n:Entity) WHERE n.user_id = $user AND n.id IS NOT NULL
         RETURN n.id AS id, n.name AS name, n.type AS type, n.aliases AS aliases, n.description AS description,
             n.mention_count AS mention_count, n.confidence AS confidence, n.is_viewer AS is_viewer, n.first_message AS first_message,
             n.created_at.epochMillis AS created_at, n.updated_at.epochMillis AS updated_at,
             any(k IN keys(n) WHERE NOT k IN ['user_id', 'id', 'name', 'type', 'aliases', 'description', 'mention_count', 'confidence',
                 'is_viewer', 'first_message', 'created_at', 'updated_at']) AS has_more ORDER BY id",
        user,
    );
    client.read(client.write_timeout, statement).await
}

fn entity(c: &Columns) -> Result<Entity, Failure> {
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
}

async fn messages(client: &Client, user: UserId) -> Result<Vec<Row>, Failure> {
    // The session comes from the relationship, so that a comparison notices a missing one.
    let statement = user_query(
        "MATCH (n:Message) WHERE n.user_id = $user AND n.id IS NOT NULL
         RETURN n.id AS id, [(n)-[:PART_OF]->(s:Session) | s.id] AS sessions, n.position AS position, n.role AS role,
             n.speaker AS speaker, n.kind AS kind, n.sent_at.epochMillis AS sent_at,
             [(n)<-[:MENTIONED_IN]-(e:Entity) | e.id] AS mentions, n.session_id AS session_id, n:Question AS asks,
             [(n)-[:REFERENCES]->(d:Document) | d.id] AS cited, [(n)-[:ANSWERED_BY]->(d:Document) | d.id] AS answered_by,
             any(k IN keys(n) WHERE NOT k IN ['user_id', 'id', 'session_id', 'position', 'role', 'speaker', 'kind', 'sent_at']) AS has_more
         ORDER BY id",
        user,
    );
    client.read(client.write_timeout, statement).await
}

fn message(c: &Columns) -> Result<GraphMessage, Failure> {
    let sorted = |column| {
        let mut ids: Vec<Uuid> = c.ids(column)?;
        ids.sort();
        Ok::<_, Failure>(ids)
    };
    let &[session] = c.ids("sessions")?.as_slice() else { return Err(Failure::Damaged("sessions")) };
    if c.id("session_id")? != session {
        return Err(Failure::Damaged("session_id"));
    }
    let message = GraphMessage {
        id: MessageId(c.id("id")?),
        session: SessionId(session),
        position: c.count("position")?,
        role: c.word("role")?,
        speaker: c.get("speaker")?,
        kind: c.opt_word("kind")?,
        sent_at: c.time("sent_at")?,
        mentions: sorted("mentions")?.into_iter().map(EntityId).collect(),
        cited: sorted("cited")?.into_iter().map(DocumentId).collect(),
        answered_by: sorted("answered_by")?.into_iter().map(DocumentId).collect(),
    };
    if c.get::<bool>("asks")? == message.asks() { Ok(message) } else { Err(Failure::Damaged("labels")) }
}

/// Reads all relationships between two entities, even if the ontology does not know their type.
async fn facts(client: &Client, user: UserId) -> Result<Vec<Row>, Failure> {
    let statement = user_query(
        "MATCH (s:Entity)-[r]->(o:Entity) WHERE s.user_id = $user AND s.id IS NOT NULL
         RETURN r.id AS id, s.id AS subject, coalesce(r.relation, type(r)) AS relation, o.id AS object, r.value AS value, r.weight AS weight,
             r.opposition AS opposition, r.belief AS belief, r.status AS status, r.flagged AS flagged, r.source AS source,
             r.session_id AS session, r.timestamp.epochMillis AS timestamp, r.valid_from.epochMillis AS valid_from,
             r.valid_to.epochMillis AS valid_to, r.created_at.epochMillis AS created_at, r.updated_at.epochMillis AS updated_at,
             any(k IN keys(r) WHERE NOT k IN ['user_id', 'id', 'relation', 'value', 'weight', 'opposition', 'belief', 'status', 'flagged', 'source',
                 'session_id', 'timestamp', 'valid_from', 'valid_to', 'created_at', 'updated_at']) AS has_more
         ORDER BY id",
        user,
    );
    client.read(client.write_timeout, statement).await
}

fn fact(c: &Columns) -> Result<GraphFact, Failure> {
    Ok(GraphFact {
        id: FactId(c.id("id")?),
        subject: EntityId(c.id("subject")?),
        relation: c.get("relation")?,
        object: EntityId(c.id("object")?),
        value: c.get::<Option<String>>("value")?.map(UserText::from),
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
}
