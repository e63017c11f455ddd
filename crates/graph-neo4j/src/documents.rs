//! Documents in the graph: their chunks, links, topics and owner, and the answers that cite them. This file writes and reads them.

use std::collections::{BTreeMap, BTreeSet};

use neo4rs::{BoltType, Row};
use uuid::Uuid;

use super::{
    client::Client,
    contents::user_query,
    failure::Failure,
    values::{Columns, count, id, ids, list, map, optional, time},
    write::{DELETE_BATCH, at_position},
};
use recall_domain::{DocumentId, EntityId, MessageId, PageRange, Timestamp, TopicId, UserId, UserText, Word};
use recall_ports::{GraphBatch, GraphChunk, GraphDocument, GraphMessage, GraphTopic, NodeId};

/// The id of the node of an address. A hash, because Neo4j indexes no long texts.
fn resource_id(uri: &UserText) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_URL, uri.as_str().as_bytes())
}

/// Deletes the relationships of gone documents in steps, with the resources that only they link to. Then they can be deleted at once.
///
/// Each step looks at the position of the graph, because these documents are gone in this feed only.
pub(super) async fn unlink_gone(client: &Client, user: UserId, feed: &str, batch: &GraphBatch) -> Result<(), Failure> {
    let gone = batch.gone.iter().filter_map(|node| if let NodeId::Session(id) = node { Some(id.0) } else { None });
    let gone: Vec<Uuid> = gone.collect();
    while !batch.fresh && !gone.is_empty() {
        let statement = at_position(
            "UNWIND $gone AS id MATCH (:Document {user_id: $user, id: id})-[r]-(x) WITH r, x LIMIT $limit DELETE r
             WITH count(r) AS count, [x IN collect(DISTINCT x) WHERE x:Resource] AS xs
             CALL (xs) { UNWIND xs AS x WITH x WHERE NOT EXISTS { (x)<-[:LINKS_TO]-() } DELETE x } RETURN count",
            user,
            feed,
            batch,
        );
        let statement = statement.param("gone", ids(gone.iter().copied())).param("limit", DELETE_BATCH);
        let done = client.read(client.write_timeout, statement).await?;
        if done.first().map_or(Ok(0), |row| Columns(row).get::<i64>("count"))? < DELETE_BATCH {
            break;
        }
    }
    Ok(())
}

/// Writes documents with their owner, the owner's view and their links, and creates documents that the batch references and does not contain.
pub(super) fn write_documents(batch: &GraphBatch, add: &mut impl FnMut(&str, BoltType)) {
    add(
        "MERGE (u:User {user_id: $user, id: $user}) WITH u UNWIND $rows AS row
         MERGE (d:Document {user_id: $user, id: row.id}) SET d += row.set MERGE (u)-[:OWNS]->(d)
         FOREACH (at IN row.viewed | MERGE (u)-[v:VIEWED]->(d) SET v.at = at)",
        list(batch.documents.iter().map(document_row)),
    );
    let known: BTreeSet<DocumentId> = batch.documents.iter().map(|d| d.id).collect();
    let cited = batch.messages.iter().flat_map(|m| m.cited.iter().chain(&m.answered_by).copied());
    let others = batch.chunks.iter().map(|c| c.document).chain(batch.topics.iter().flat_map(|t| t.documents.iter().copied()));
    let pointed: BTreeSet<DocumentId> = others.chain(cited).filter(|d| !known.contains(d)).collect();
    add("UNWIND $rows AS id MERGE (:Document {user_id: $user, id: id})", ids(pointed.into_iter().map(|d| d.0)));

    let links = |d: &GraphDocument| ids(d.links.iter().map(resource_id));
    let resources: BTreeMap<Uuid, &UserText> = batch.documents.iter().flat_map(|d| &d.links).map(|uri| (resource_id(uri), uri)).collect();
    add(
        "UNWIND $rows AS row MERGE (x:Resource {user_id: $user, id: row.id}) SET x.uri = row.uri",
        list(resources.into_iter().map(|(key, uri)| map([("id", id(key)), ("uri", uri.as_str().into())]))),
    );
    add(
        "UNWIND $rows AS row MATCH (d:Document {user_id: $user, id: row.id}) UNWIND row.links AS link
         MATCH (x:Resource {user_id: $user, id: link}) MERGE (d)-[:LINKS_TO]->(x)",
        list(batch.documents.iter().filter(|d| !d.links.is_empty()).map(|d| map([("id", id(d.id.0)), ("links", links(d))]))),
    );
    if !batch.fresh {
        add(
            "UNWIND $rows AS row MATCH (:Document {user_id: $user, id: row.id})-[r:LINKS_TO]->(x:Resource)
             WHERE NOT x.id IN row.links DELETE r
             WITH collect(DISTINCT x) AS xs UNWIND xs AS x WITH x WHERE NOT EXISTS { (x)<-[:LINKS_TO]-() } DELETE x",
            list(batch.documents.iter().map(|d| map([("id", id(d.id.0)), ("links", links(d))]))),
        );
    }
}

/// Writes topics with their documents, which exist.
pub(super) fn write_topics(batch: &GraphBatch, add: &mut impl FnMut(&str, BoltType)) {
    let rows = || {
        list(
            batch
                .topics
                .iter()
                .map(|t| map([("id", id(t.id.0)), ("name", t.name.as_str().into()), ("documents", ids(t.documents.iter().map(|d| d.0)))])),
        )
    };
    add("UNWIND $rows AS row MERGE (t:Topic {user_id: $user, id: row.id}) SET t.name = row.name", rows());
    if !batch.fresh {
        add(
            "UNWIND $rows AS row MATCH (t:Topic {user_id: $user, id: row.id})<-[r:BELONGS_TO]-(d:Document)
             WHERE NOT d.id IN row.documents DELETE r",
            rows(),
        );
    }
    add(
        "UNWIND $rows AS row MATCH (t:Topic {user_id: $user, id: row.id}) UNWIND row.documents AS id
         MATCH (d:Document {user_id: $user, id: id}) MERGE (d)-[:BELONGS_TO]->(t)",
        rows(),
    );
}

/// Writes chunks, whose documents exist.
pub(super) fn write_chunks(batch: &GraphBatch, add: &mut impl FnMut(&str, BoltType)) {
    add(
        "UNWIND $rows AS row MATCH (d:Document {user_id: $user, id: row.document})
         MERGE (c:Chunk {user_id: $user, id: row.id}) SET c += row.set
         MERGE (d)-[r:CONTAINS]->(c) SET r.position = row.position",
        list(batch.chunks.iter().map(chunk_row)),
    );
}

/// Writes which documents messages cite, and which documents answered them. All of them exist.
pub(super) fn write_citations(batch: &GraphBatch, add: &mut impl FnMut(&str, BoltType)) {
    let both = |m: &GraphMessage| {
        let documents = |all: &[DocumentId]| ids(all.iter().map(|d| d.0));
        map([("id", id(m.id.0)), ("cited", documents(&m.cited)), ("answered_by", documents(&m.answered_by))])
    };
    if !batch.fresh {
        add(
            "UNWIND $rows AS row MATCH (m:Message {user_id: $user, id: row.id})-[r:REFERENCES|ANSWERED_BY]->(d:Document)
             WHERE NOT d.id IN CASE type(r) WHEN 'REFERENCES' THEN row.cited ELSE row.answered_by END DELETE r",
            list(batch.messages.iter().map(both)),
        );
    }
    let citing = batch.messages.iter().filter(|m| !m.cited.is_empty() || !m.answered_by.is_empty());
    add(
        "UNWIND $rows AS row MATCH (m:Message {user_id: $user, id: row.id})
         CALL (m, row) { UNWIND row.cited AS id MATCH (d:Document {user_id: $user, id: id}) MERGE (m)-[:REFERENCES]->(d) }
         CALL (m, row) { UNWIND row.answered_by AS id MATCH (d:Document {user_id: $user, id: id}) MERGE (m)-[:ANSWERED_BY]->(d) }",
        list(citing.map(both)),
    );
}

fn document_row(d: &GraphDocument) -> BoltType {
    let set = map([
        ("collection", d.collection.as_str().into()),
        ("path", optional(d.path.as_ref(), |t| t.as_str().into())),
        ("version", count(d.version.into())),
        ("filename", d.filename.as_str().into()),
        ("title", optional(d.title.as_ref(), |t| t.as_str().into())),
        ("media_type", optional(d.media_type.as_deref(), Into::into)),
        ("bytes", count(d.bytes)),
        ("pages", optional(d.pages, |n| count(n.into()))),
        ("chunk_count", count(d.chunk_count.into())),
        ("status", d.status.word().into()),
        ("created_at", time(d.created_at)),
    ]);
    map([("id", id(d.id.0)), ("set", set), ("viewed", list(d.viewed_at.map(time)))])
}

fn chunk_row(c: &GraphChunk) -> BoltType {
    let set = map([
        ("heading", optional(c.heading.as_ref(), |t| t.as_str().into())),
        ("char_offset", count(c.char_offset)),
        ("first_page", optional(c.pages, |p| count(p.first.into()))),
        ("last_page", optional(c.pages, |p| count(p.last.into()))),
    ]);
    map([("id", id(c.id.0)), ("document", id(c.document.0)), ("position", count(c.position.into())), ("set", set)])
}

/// Reads all documents of a user.
pub(super) async fn documents(client: &Client, user: UserId) -> Result<Vec<Row>, Failure> {
    let statement = user_query(
        "MATCH (n:Document) WHERE n.user_id = $user AND n.id IS NOT NULL
         RETURN n.id AS id, [(n)<-[:OWNS]-(u:User) | u.id] AS owners, [(n)-[:LINKS_TO]->(x:Resource) | x.uri] AS links,
             n.collection AS collection, n.path AS path, n.version AS version, n.filename AS filename, n.title AS title,
             n.media_type AS media_type, n.bytes AS bytes, n.pages AS pages, n.chunk_count AS chunk_count, n.status AS status,
             n.created_at.epochMillis AS created_at, n.user_id AS user, [(n)<-[v:VIEWED]-(:User) | v.at.epochMillis] AS viewed,
             any(k IN keys(n) WHERE NOT k IN ['user_id', 'id', 'collection', 'path', 'version', 'filename', 'title', 'media_type', 'bytes',
                 'pages', 'chunk_count', 'status', 'created_at']) AS has_more
         ORDER BY id",
        user,
    );
    client.read(client.write_timeout, statement).await
}

pub(super) fn document(c: &Columns) -> Result<GraphDocument, Failure> {
    if c.ids("owners")? != [c.id("user")?] {
        return Err(Failure::Damaged("owners"));
    }
    let viewed = c.get::<Vec<Option<i64>>>("viewed")?;
    let viewed_at = match viewed[..] {
        [] => None,
        [Some(ms)] => Some(Timestamp::from_timestamp_millis(ms).ok_or(Failure::Damaged("viewed"))?),
        _ => return Err(Failure::Damaged("viewed")),
    };
    let mut links: Vec<UserText> = c.get::<Vec<String>>("links")?.into_iter().map(UserText::from).collect();
    links.sort();
    Ok(GraphDocument {
        id: DocumentId(c.id("id")?),
        collection: c.get("collection")?,
        path: c.get::<Option<String>>("path")?.map(UserText::from),
        version: c.small("version")?,
        filename: c.get::<String>("filename")?.into(),
        title: c.get::<Option<String>>("title")?.map(UserText::from),
        media_type: c.get("media_type")?,
        bytes: c.count("bytes")?,
        pages: c.opt_small("pages")?,
        chunk_count: c.small("chunk_count")?,
        status: c.word("status")?,
        links,
        created_at: c.time("created_at")?,
        viewed_at,
    })
}

/// Reads all topics of a user.
pub(super) async fn topics(client: &Client, user: UserId) -> Result<Vec<Row>, Failure> {
    let statement = user_query(
        "MATCH (n:Topic) WHERE n.user_id = $user AND n.id IS NOT NULL
         RETURN n.id AS id, n.name AS name, [(n)<-[:BELONGS_TO]-(d:Document) | d.id] AS documents,
             any(k IN keys(n) WHERE NOT k IN ['user_id', 'id', 'name']) AS has_more ORDER BY id",
        user,
    );
    client.read(client.write_timeout, statement).await
}

pub(super) fn topic(c: &Columns) -> Result<GraphTopic, Failure> {
    let mut documents = c.ids("documents")?;
    documents.sort();
    let name = c.get::<String>("name")?.into();
    Ok(GraphTopic { id: TopicId(c.id("id")?), name, documents: documents.into_iter().map(DocumentId).collect() })
}

/// Reads all chunks of a user.
pub(super) async fn chunks(client: &Client, user: UserId) -> Result<Vec<Row>, Failure> {
    let statement = user_query(
        "MATCH (n:Chunk) WHERE n.user_id = $user AND n.id IS NOT NULL
         RETURN n.id AS id, [(n)<-[:CONTAINS]-(d:Document) | d.id] AS documents, [(n)<-[r:CONTAINS]-(:Document) | r.position] AS positions,
             n.heading AS heading, n.char_offset AS char_offset, n.first_page AS first_page, n.last_page AS last_page,
             [(n)<-[:MENTIONED_IN]-(e:Entity) | e.id] AS mentions,
             any(k IN keys(n) WHERE NOT k IN ['user_id', 'id', 'heading', 'char_offset', 'first_page', 'last_page']) AS has_more
         ORDER BY id",
        user,
    );
    client.read(client.write_timeout, statement).await
}

pub(super) fn chunk(c: &Columns) -> Result<GraphChunk, Failure> {
    let &[document] = c.ids("documents")?.as_slice() else { return Err(Failure::Damaged("documents")) };
    let &[position] = c.get::<Vec<i64>>("positions")?.as_slice() else { return Err(Failure::Damaged("positions")) };
    let mut mentions = c.ids("mentions")?;
    mentions.sort();
    Ok(GraphChunk {
        id: MessageId(c.id("id")?),
        document: DocumentId(document),
        position: u32::try_from(position).map_err(|_| Failure::Damaged("positions"))?,
        heading: c.get::<Option<String>>("heading")?.map(UserText::from),
        char_offset: c.count("char_offset")?,
        pages: c.opt_small("first_page")?.zip(c.opt_small("last_page")?).map(|(first, last)| PageRange { first, last }),
        mentions: mentions.into_iter().map(EntityId).collect(),
    })
}
