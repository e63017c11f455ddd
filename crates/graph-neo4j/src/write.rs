//! Applies changes to the graph.
//!
//! Each batch is one transaction that also moves the user's checkpoint. So a batch that is delivered twice is refused the second
//! time, and two concurrent writers cannot mix.

use std::collections::{BTreeMap, BTreeSet};

use neo4rs::{BoltType, Query, Txn, query};
use uuid::Uuid;

use super::{
    client::{Client, rows},
    documents,
    failure::Failure,
    relationship_types::RelationshipTypes,
    values::{self, Columns, count, id, ids, list, map, optional, time},
};
use recall_domain::{Entity, EntityId, MessageId, SessionId, UserId, Word};
use recall_ports::{GraphBatch, GraphFact, GraphMessage, GraphSession, NodeId};

/// Most nodes or relationships deleted in one transaction. Neo4j keeps all of them in memory.
pub(super) const DELETE_BATCH: i64 = 5_000;

/// Seconds of silence after which a process that clears a graph is considered dead.
const STALE_AFTER: i64 = 10;

/// Most types of facts that are written by a statement each. The statement for all types is long: a server that has just started plans it for
/// seconds.
const FEW_TYPES: usize = 4;

/// The labels of nodes that belong to a user. Messages that ask something have the second label `Question`.
pub(super) const LABELS: [&str; 8] = ["Message", "Chunk", "Session", "Document", "Topic", "Resource", "User", "Entity"];

/// Creates the constraints and indexes that are missing. Neo4j requires a separate transaction for each.
pub(super) async fn prepare(client: &Client, types: &RelationshipTypes) -> Result<(), Failure> {
    let mut wanted = vec![
        ("recall_projection".to_owned(), "CONSTRAINT", "FOR (n:Projection) REQUIRE n.user_id IS UNIQUE".to_owned()),
        ("recall_marker".to_owned(), "CONSTRAINT", "FOR (n:ProjectionMarker) REQUIRE n.id IS UNIQUE".to_owned()),
        // For people, who search by name.
        ("recall_entity_name".to_owned(), "INDEX", "FOR (n:Entity) ON (n.name)".to_owned()),
    ];
    for label in LABELS {
        let rule = format!("FOR (n:{label}) REQUIRE (n.user_id, n.id) IS UNIQUE");
        wanted.push((format!("recall_{}", label.to_lowercase()), "CONSTRAINT", rule));
    }
    for rel_type in types.all() {
        wanted.push((format!("recall_fact_{}", rel_type.to_lowercase()), "INDEX", format!("FOR ()-[r:{rel_type}]-() ON (r.id)")));
    }
    // The index of a constraint does not show that the constraint exists.
    let (constraints, indexes) = (existing(client, "CONSTRAINTS").await?, existing(client, "INDEXES").await?);
    let exists = |name: &String, kind: &str| if kind == "CONSTRAINT" { constraints.contains(name) } else { indexes.contains(name) };
    for (name, kind, rule) in wanted.into_iter().filter(|(name, kind, _)| !exists(name, kind)) {
        match client.read(client.write_timeout, query(&format!("CREATE {kind} {name} IF NOT EXISTS {rule}"))).await {
            // Another instance is creating the same one; `IF NOT EXISTS` did not see it yet.
            Err(Failure::Refused(code)) if code.ends_with(".EquivalentSchemaRuleAlreadyExists") => {}
            done => drop(done?),
        }
    }
    // Neo4j fills indexes in the background.
    client.read(client.write_timeout, query("CALL db.awaitIndexes(60)")).await?;
    // Each wipe gives the marker a new epoch, so that the projectors notice.
    let marker = query("MERGE (m:ProjectionMarker {id: 'recall'}) ON CREATE SET m.epoch = randomUUID() RETURN m.epoch AS epoch");
    client.read(client.write_timeout, marker).await?;
    Ok(())
}

/// Returns the names of the existing constraints or indexes of this adapter; none if the user may not list them.
async fn existing(client: &Client, kind: &str) -> Result<BTreeSet<String>, Failure> {
    let text = format!("SHOW {kind} YIELD name WHERE name STARTS WITH 'recall_' RETURN name");
    match client.read(client.write_timeout, query(&text)).await {
        Err(Failure::Refused(code)) if code.ends_with(".Security.Forbidden") => Ok(BTreeSet::new()),
        listed => listed?.iter().map(|row| Columns(row).get("name")).collect(),
    }
}

/// Deletes all data of the user, and the checkpoint.
pub(super) async fn wipe(client: &Client, user: UserId) -> Result<(), Failure> {
    let maker = lock_for_clearing(client, user).await?;
    clear(client, user, &maker).await?;
    finish(client, while_locked(user, &maker, "DELETE p RETURN 1 AS done")).await
}

/// Deletes all data of the user, and sets the checkpoint to the start of `feed`.
pub(super) async fn begin(client: &Client, user: UserId, feed: &str) -> Result<(), Failure> {
    let maker = lock_for_clearing(client, user).await?;
    clear(client, user, &maker).await?;
    let text = "SET p.feed = $feed, p.position = 0, p.updated_at = datetime() REMOVE p.maker, p.maker_at RETURN 1 AS done";
    finish(client, while_locked(user, &maker, text).param("feed", feed)).await
}

/// Takes the lock for clearing a graph; while it is held, nobody reads or writes the graph.
///
/// Clearing takes several transactions, and several servers may find at the same moment that a graph is missing. Without the lock
/// one of them would delete what another had already written.
async fn lock_for_clearing(client: &Client, user: UserId) -> Result<String, Failure> {
    // Writing first takes Neo4j's lock, so the next read sees what another writer left.
    let statement = query(
        "MERGE (p:Projection {user_id: $user}) SET p.touched_at = datetime()
         WITH p WHERE p.maker IS NULL OR p.maker_at < datetime() - duration({seconds: $stale})
         SET p.maker = randomUUID(), p.maker_at = datetime() REMOVE p.feed, p.position RETURN p.maker AS maker",
    )
    .param("user", id(user.0))
    .param("stale", STALE_AFTER);
    let taken = client.read(client.write_timeout, statement).await?;
    Columns(taken.first().ok_or(Failure::Moved)?).get("maker")
}

/// A statement on the checkpoint `p` that matches only while this process holds the lock.
fn while_locked(user: UserId, maker: &str, text: &str) -> Query {
    let text = format!("MATCH (p:Projection {{user_id: $user}}) SET p.touched_at = datetime() WITH p WHERE p.maker = $maker {text}");
    query(&text).param("user", id(user.0)).param("maker", maker)
}

async fn finish(client: &Client, last: Query) -> Result<(), Failure> {
    let done = client.read(client.write_timeout, last).await?;
    if done.is_empty() { Err(Failure::Moved) } else { Ok(()) }
}

async fn clear(client: &Client, user: UserId, maker: &str) -> Result<(), Failure> {
    for label in LABELS {
        // The second condition lets Neo4j use the index on both properties. Relationships are deleted first, because a node may
        // have any number of them.
        let nodes = format!("MATCH (n:{label}) WHERE n.user_id = $user AND n.id IS NOT NULL");
        let all = [
            format!("{nodes} MATCH (n)-[r]-() WITH DISTINCT r LIMIT $limit DELETE r RETURN count(*) AS gone"),
            format!("{nodes} WITH n LIMIT $limit DETACH DELETE n RETURN count(*) AS gone"),
        ];
        for text in all {
            while clear_step(client, user, maker, &text).await? >= DELETE_BATCH {}
        }
    }
    Ok(())
}

/// Runs one step of clearing. Returns the number of deleted items.
async fn clear_step(client: &Client, user: UserId, maker: &str, text: &str) -> Result<i64, Failure> {
    let hold = while_locked(user, maker, "SET p.maker_at = datetime() RETURN 1 AS done");
    let statement = query(text).param("user", id(user.0)).param("limit", DELETE_BATCH);
    let work = async move |txn: &mut Txn| {
        if rows(txn, hold).await?.is_empty() {
            return Err(Failure::Moved);
        }
        let done = rows(txn, statement).await?;
        done.first().map_or(Ok(0), |row| Columns(row).get("gone"))
    };
    client.transaction(client.write_timeout, |txn| Box::pin(work(txn))).await
}

/// A statement on the checkpoint `p` that matches only while the graph is at the position before the batch.
pub(super) fn at_position(text: &str, user: UserId, feed: &str, batch: &GraphBatch) -> Query {
    // Writing first takes Neo4j's lock on the checkpoint, so the next read sees what another writer left.
    let text = format!(
        "MATCH (p:Projection {{user_id: $user}}) SET p.updated_at = datetime() WITH p WHERE p.feed = $feed AND p.position = $after {text}"
    );
    query(&text).param("user", id(user.0)).param("feed", feed).param("after", count(batch.after))
}

pub(super) async fn apply(client: &Client, types: &RelationshipTypes, user: UserId, feed: &str, batch: &GraphBatch) -> Result<(), Failure> {
    let statements = statements(types, user, batch);
    documents::unlink_gone(client, user, feed, batch).await?;
    let moved = at_position("SET p.position = $upto RETURN p.position AS position", user, feed, batch).param("upto", count(batch.upto));
    let work = async move |txn: &mut Txn| {
        if rows(txn, moved).await?.is_empty() {
            return Err(Failure::Moved);
        }
        for statement in statements {
            txn.run(statement).await?;
        }
        Ok(())
    };
    client.transaction(client.write_timeout, |txn| Box::pin(work(txn))).await
}

/// The statements for all changes of a batch.
///
/// If a change references a node that comes later, an empty node is created. The node's own change fills it.
fn statements(types: &RelationshipTypes, user: UserId, batch: &GraphBatch) -> Vec<Query> {
    let mut all = Vec::new();
    let mut add = |text: &str, rows: BoltType| {
        if !matches!(&rows, BoltType::List(list) if list.is_empty()) {
            all.push(query(text).param("user", id(user.0)).param("rows", rows));
        }
    };
    if !batch.fresh {
        delete_gone(types, &batch.gone, &mut add);
    }
    add(
        "UNWIND $rows AS row MERGE (n:Session {user_id: $user, id: row.id}) SET n += row.set",
        list(batch.sessions.iter().map(session_row)),
    );
    add("UNWIND $rows AS row MERGE (n:Entity {user_id: $user, id: row.id}) SET n += row.set", list(batch.entities.iter().map(entity_row)));
    documents::write_documents(batch, &mut add);
    documents::write_topics(batch, &mut add);
    // Sorted and without duplicates: two writers that lock the same nodes in different orders would deadlock.
    let known: BTreeSet<EntityId> = batch.entities.iter().map(|e| e.id).collect();
    let sides = batch.facts.iter().flat_map(|f| [f.subject, f.object]);
    let mentions = batch.messages.iter().flat_map(|m| &m.mentions).chain(batch.chunks.iter().flat_map(|c| &c.mentions));
    let pointed: BTreeSet<EntityId> = sides.chain(mentions.copied()).filter(|e| !known.contains(e)).collect();
    add("UNWIND $rows AS id MERGE (:Entity {user_id: $user, id: id})", ids(pointed.into_iter().map(|e| e.0)));
    write_messages(batch, &mut add);
    documents::write_chunks(batch, &mut add);
    write_mentions("Message", batch.fresh, batch.messages.iter().map(|m| (m.id, &m.mentions[..])), &mut add);
    write_mentions("Chunk", batch.fresh, batch.chunks.iter().map(|c| (c.id, &c.mentions[..])), &mut add);
    documents::write_citations(batch, &mut add);
    write_facts(types, batch, &mut add);
    all
}

fn delete_gone(types: &RelationshipTypes, things: &[NodeId], add: &mut impl FnMut(&str, BoltType)) {
    let of = |pick: fn(&NodeId) -> Option<Uuid>| ids(things.iter().filter_map(pick));
    // The feed no longer knows the relation of a deleted fact.
    let text = for_each_type(types, |rel_type| {
        format!("UNWIND $rows AS id MATCH ()-[r:{rel_type} {{id: id}}]->() WHERE r.user_id = $user DELETE r")
    });
    add(&text, of(|t| if let NodeId::Fact(f) = t { Some(f.0) } else { None }));
    // A chunk has the id of its message, and a document that of its session. A topic is listed as a session.
    let kinds = [
        ("messages", "Message"),
        ("messages", "Chunk"),
        ("sessions", "Session"),
        ("sessions", "Document"),
        ("sessions", "Topic"),
        ("entities", "Entity"),
    ];
    let delete =
        |(list, label)| format!("CALL () {{ UNWIND $rows.{list} AS id MATCH (n:{label} {{user_id: $user, id: id}}) DETACH DELETE n }}");
    // The owner's node goes with the last document.
    let owner = "CALL () { MATCH (u:User {user_id: $user, id: $user}) WHERE NOT EXISTS { (u)-[:OWNS]->() } DELETE u }".to_owned();
    let text: Vec<String> = kinds.into_iter().map(delete).chain([owner]).collect();
    if !things.is_empty() {
        let rows = map([
            ("messages", of(|t| if let NodeId::Message(m) = t { Some(m.0) } else { None })),
            ("sessions", of(|t| if let NodeId::Session(s) = t { Some(s.0) } else { None })),
            ("entities", of(|t| if let NodeId::Entity(e) = t { Some(e.0) } else { None })),
        ]);
        add(&text.join("\n"), rows);
    }
}

fn write_messages(batch: &GraphBatch, add: &mut impl FnMut(&str, BoltType)) {
    let sessions: BTreeSet<SessionId> = batch.messages.iter().map(|m| m.session).collect();
    add("UNWIND $rows AS id MERGE (:Session {user_id: $user, id: id})", ids(sessions.into_iter().map(|s| s.0)));
    add(
        "UNWIND $rows AS row MATCH (s:Session {user_id: $user, id: row.set.session_id})
         MERGE (m:Message {user_id: $user, id: row.id}) SET m += row.set MERGE (m)-[:PART_OF]->(s)
         FOREACH (_ IN CASE WHEN row.asks THEN [1] ELSE [] END | SET m:Question)
         FOREACH (_ IN CASE WHEN row.asks THEN [] ELSE [1] END | REMOVE m:Question)",
        list(batch.messages.iter().map(message_row)),
    );
}

/// Writes in which messages or chunks entities are mentioned.
fn write_mentions<'m>(
    label: &str,
    fresh: bool,
    texts: impl Iterator<Item = (MessageId, &'m [EntityId])> + Clone,
    add: &mut impl FnMut(&str, BoltType),
) {
    if !fresh {
        let row = |(message, entities): (MessageId, &[EntityId])| {
            map([("message", id(message.0)), ("mentions", ids(entities.iter().map(|e| e.0)))])
        };
        add(
            &format!(
                "UNWIND $rows AS row MATCH (m:{label} {{user_id: $user, id: row.message}})<-[r:MENTIONED_IN]-(e:Entity)
                 WHERE NOT e.id IN row.mentions DELETE r"
            ),
            list(texts.clone().map(row)),
        );
    }
    let rows = texts.flat_map(|(message, entities)| entities.iter().map(move |e| map([("message", id(message.0)), ("entity", id(e.0))])));
    add(
        &format!(
            "UNWIND $rows AS row MATCH (m:{label} {{user_id: $user, id: row.message}})
             MATCH (e:Entity {{user_id: $user, id: row.entity}}) MERGE (e)-[:MENTIONED_IN]->(m)"
        ),
        list(rows),
    );
}

/// Updates existing facts by id and creates missing ones. A fresh batch only creates.
///
/// If one end of a fact was merged into another entity, the relationship is deleted and created again, because a relationship
/// cannot move.
fn write_facts(types: &RelationshipTypes, batch: &GraphBatch, add: &mut impl FnMut(&str, BoltType)) {
    let mut by_type: BTreeMap<&str, Vec<BoltType>> = BTreeMap::new();
    for f in &batch.facts {
        let rel_type = types.of_relation(&f.relation);
        let row =
            map([("id", id(f.id.0)), ("subject", id(f.subject.0)), ("object", id(f.object.0)), ("set", fact_properties(f, rel_type))]);
        by_type.entry(rel_type).or_default().push(row);
    }
    if by_type.is_empty() {
        return;
    }
    let ends = "MATCH (s:Entity {user_id: $user, id: row.subject}) MATCH (o:Entity {user_id: $user, id: row.object})";
    let create = |rel_type: &str| {
        format!("UNWIND $rows.{rel_type} AS row {ends} CREATE (s)-[r:{rel_type} {{user_id: $user, id: row.id}}]->(o) SET r += row.set")
    };
    let delete_moved = |rel_type: &str| {
        format!(
            "UNWIND $rows.{rel_type} AS row MATCH (s)-[r:{rel_type} {{id: row.id}}]->(o)
             WHERE r.user_id = $user AND (s.id <> row.subject OR o.id <> row.object) DELETE r"
        )
    };
    let update = |rel_type: &str| {
        format!("UNWIND $rows.{rel_type} AS row {ends} MERGE (s)-[r:{rel_type} {{id: row.id}}]->(o) SET r += row.set, r.user_id = $user")
    };
    let texts: &[&dyn Fn(&str) -> String] = if batch.fresh { &[&create] } else { &[&delete_moved, &update] };
    for text in texts {
        if by_type.len() <= FEW_TYPES {
            for (rel_type, rows) in &by_type {
                add(&text(rel_type), values::map_of([(*rel_type, rows.clone())]));
            }
        } else {
            add(&for_each_type(types, text), values::map_of(by_type.clone()));
        }
    }
}

/// Combines the statements for all types into one.
///
/// Each statement is a message. The network delays the end of a long message until its beginning is confirmed, which takes 40 ms.
/// One statement per type took five times as long for a large batch.
fn for_each_type(types: &RelationshipTypes, text: impl Fn(&str) -> String) -> String {
    types.all().map(|rel_type| format!("CALL () {{ {} }}", text(rel_type))).collect::<Vec<_>>().join("\n")
}

fn session_row(s: &GraphSession) -> BoltType {
    let set = map([("title", optional(s.title.as_ref(), |t| t.as_str().into())), ("created_at", time(s.created_at))]);
    map([("id", id(s.id.0)), ("set", set)])
}

fn entity_row(e: &Entity) -> BoltType {
    let set = map([
        ("name", e.name.as_str().into()),
        ("type", e.entity_type.word().into()),
        ("aliases", e.aliases.clone().into()),
        ("description", optional(e.description.as_deref(), Into::into)),
        ("mention_count", count(e.mention_count)),
        ("confidence", e.confidence.into()),
        ("is_viewer", e.is_viewer.into()),
        ("first_message", optional(e.first_message, |m| id(m.0))),
        ("created_at", time(e.created_at)),
        ("updated_at", time(e.updated_at)),
    ]);
    map([("id", id(e.id.0)), ("set", set)])
}

fn message_row(m: &GraphMessage) -> BoltType {
    let set = map([
        ("session_id", id(m.session.0)),
        ("position", count(m.position)),
        ("role", m.role.word().into()),
        ("speaker", optional(m.speaker.as_deref(), Into::into)),
        ("kind", optional(m.kind, |k| k.word().into())),
        ("sent_at", time(m.sent_at)),
    ]);
    map([("id", id(m.id.0)), ("asks", m.asks().into()), ("set", set)])
}

fn fact_properties(f: &GraphFact, rel_type: &str) -> BoltType {
    map([
        ("relation", if f.relation == rel_type { values::null() } else { f.relation.as_str().into() }),
        ("value", optional(f.value.as_ref(), |v| v.as_str().into())),
        ("weight", f.weight.into()),
        ("opposition", f.opposition.into()),
        ("belief", f.belief.into()),
        ("status", f.status.word().into()),
        ("flagged", f.flagged.into()),
        ("source", optional(f.source, |(m, _)| id(m.0))),
        ("session_id", optional(f.source, |(_, s)| id(s.0))),
        ("timestamp", time(f.timestamp)),
        ("valid_from", optional(f.valid_from, time)),
        ("valid_to", optional(f.valid_to, time)),
        ("created_at", time(f.created_at)),
        ("updated_at", time(f.updated_at)),
    ])
}
