//! Neo4j beyond the contract: concurrent writers, damage, indexes, and the queries of docs/neo4j.md.

use std::collections::BTreeSet;

use recall_domain::{Caller, FactStatus, MessageKind};
use recall_ports::{GraphBatch, GraphEngine, GraphError, KnowledgeCommit};
use recall_projection::{Projection, compare};

use super::{
    super::documents::store_document,
    super::given::{World, at, entity, fact, mention},
    Folder,
    documents::chunks_of,
    know,
    neo4j::fill,
    service::{Neo4jServer, ontology},
};

/// Returns the differences of this user without ids.
async fn differences(projection: &Projection, caller: &Caller) -> Vec<String> {
    let mut found = Vec::new();
    compare(projection, |d| found.push(d)).await.unwrap();
    found.into_iter().filter(|d| d.user == caller.user()).map(|d| format!("{} {}", d.kind, d.what)).collect()
}

async fn catch_up_all(writers: &[Projection], feed: &str, w: &World) {
    let done = futures_util::future::join_all(writers.iter().map(|p| p.catch_up(feed, &w.caller))).await;
    assert!(done.iter().any(Result::is_ok), "{done:?}");
    assert!(done.iter().all(|d| matches!(d, Ok(_) | Err(GraphError::Contended))), "{done:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_writers_keep_graph_consistent() {
    let Some(server) = Neo4jServer::shared().await else { return };
    let folder = Folder::new().await;
    let w = folder.world();
    let writers = [0, 1, 2].map(|_| Projection::new(folder.feed(), server.graph()));
    let feed = writers[0].prepare().await.unwrap();
    for i in 0..5 {
        fill(&w, 40, 60, i).await;
        catch_up_all(&writers, &feed, &w).await;
        assert_eq!(differences(&writers[0], &w.caller).await, [""; 0]);
    }
    // All find the graph wiped at once and rebuild it, without duplicates and without effect on other users.
    for _ in 0..5 {
        server.graph().wipe(&w.caller).await.unwrap();
        catch_up_all(&writers, &feed, &w).await;
        assert_eq!(differences(&writers[0], &w.caller).await, [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_batch_holds_no_lock() {
    let Some(server) = Neo4jServer::shared().await else { return };
    let folder = Folder::new().await;
    let caller = &folder.world().caller;
    let engine = server.graph();
    engine.prepare().await.unwrap();
    engine.begin(caller, "feed").await.unwrap();
    // With one connection, the next use would end what the last one left.
    let uses = futures_util::future::join_all((0..4).map(|_| engine.ping())).await;
    assert!(uses.iter().all(Result::is_ok), "{uses:?}");
    let elsewhere = GraphBatch { after: 5, upto: 6, ..GraphBatch::default() };
    assert!(matches!(engine.apply(caller, "feed", &elsewhere).await, Err(GraphError::Contended)));
    let next = GraphBatch { after: 0, upto: 1, ..GraphBatch::default() };
    engine.apply(caller, "feed", &next).await.unwrap();
    engine.wipe(caller).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn graph_lock_blocks_other_writers_until_it_expires() {
    let Some(server) = Neo4jServer::shared().await else { return };
    let folder = Folder::new().await;
    let w = folder.world();
    let known = w.john_likes_mary().await;
    let projection = Projection::new(folder.feed(), server.graph());
    let feed = projection.prepare().await.unwrap();
    projection.catch_up(&feed, &w.caller).await.unwrap();
    let user = w.caller.user();
    let taken = |since: &str| {
        format!(
            "MATCH (p:Projection {{user_id: '{user}'}}) SET p.maker = 'another', p.maker_at = {since} REMOVE p.feed, p.position RETURN 1"
        )
    };
    server.rows(&taken("datetime()")).await;
    let graph = server.graph();
    assert_eq!(graph.checkpoint(&w.caller).await.unwrap(), None);
    assert!(matches!(graph.begin(&w.caller, &feed).await, Err(GraphError::Contended)));
    assert!(matches!(graph.wipe(&w.caller).await, Err(GraphError::Contended)));
    know(&w, known.session, &[&entity("Bob")], &[]).await;
    assert!(matches!(projection.catch_up(&feed, &w.caller).await, Err(GraphError::Contended)));
    // The holder of the lock was killed a minute ago.
    server.rows(&taken("datetime() - duration('PT1M')")).await;
    projection.catch_up(&feed, &w.caller).await.unwrap();
    assert_eq!(differences(&projection, &w.caller).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comparison_finds_manual_changes_and_rebuild_repairs_them() {
    let Some(server) = Neo4jServer::start().await else { return };
    let folder = Folder::new().await;
    let w = folder.world();
    let known = w.john_likes_mary().await;
    let (bob, cleo) = (entity("Bob"), entity("Cleo"));
    know(&w, known.session, &[&bob, &cleo], &[&fact(&bob, "KNOWS", &cleo)]).await;
    let projection = Projection::new(folder.feed(), server.graph());
    projection.rebuild().await.unwrap();
    for (by_hand, expected) in [
        ("MATCH (s:Session) DETACH DELETE s", &["session missing", "message different"][..]),
        ("MATCH (e:Entity {name: 'Bob'}) REMOVE e.name", &["entity different"]),
        ("MATCH (e:Entity {name: 'Bob'}) SET e.type = 'no such type'", &["entity different"]),
        ("MATCH (m:Message) SET m.position = 2", &["message different"]),
        ("MATCH (:Entity)-[r:MENTIONED_IN]->() WITH r LIMIT 1 DELETE r", &["message different"]),
        ("MATCH ()-[r:KNOWS]->() SET r.weight = 7.5", &["fact different"]),
        ("MATCH ()-[r:KNOWS]->() DELETE r", &["fact missing"]),
        ("MATCH (a)-[r:KNOWS]->(b) CREATE (a)-[x:KNOWS]->(b) SET x = properties(r)", &["fact double"]),
        ("MATCH (a {name: 'John'}), (b {name: 'Bob'}) CREATE (a)-[:KNOWS]->(b)", &["fact extra"]),
        ("MATCH (e:Entity {name: 'Bob'}) CREATE (:Entity {user_id: e.user_id, id: randomUUID()})", &["entity extra"]),
        ("MATCH (p:Projection) DETACH DELETE p", &["checkpoint missing"]),
        ("MATCH (p:Projection) SET p.position = p.position + 1000", &["checkpoint different"]),
        ("MATCH (p:Projection) SET p.position = 1", &["checkpoint behind"]),
        ("MATCH (p:Projection) SET p.feed = 'another'", &["checkpoint different"]),
        ("MATCH (e:Entity {name: 'Bob'}) SET e.salary = 7", &["entity different"]),
        ("MATCH (s:Session) SET s.owner = 'x'", &["session different"]),
        ("MATCH (m:Message) SET m.text = 'x'", &["message different"]),
        ("MATCH ()-[r:KNOWS]->() SET r.note = 'x'", &["fact different"]),
        ("MATCH (m:Message) SET m.session_id = randomUUID()", &["message different"]),
    ] {
        server.rows(&format!("{by_hand} RETURN 1")).await;
        let found: BTreeSet<String> = differences(&projection, &w.caller).await.into_iter().collect();
        assert_eq!(found, expected.iter().map(|e| (*e).to_owned()).collect(), "{by_hand}");
        projection.rebuild().await.unwrap();
        assert_eq!(differences(&projection, &w.caller).await, [""; 0], "{by_hand}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comparison_reports_stray_nodes_and_relationships() {
    let Some(server) = Neo4jServer::start().await else { return };
    let folder = Folder::new().await;
    let w = folder.world();
    w.john_likes_mary().await;
    let projection = Projection::new(folder.feed(), server.graph());
    projection.rebuild().await.unwrap();
    let kinds = async || server.graph().strays(10).await.unwrap().into_iter().map(|stray| stray.kind).collect::<Vec<_>>();
    assert_eq!(kinds().await, [""; 0]);
    for (by_hand, undone, expected) in [
        ("CREATE (:Foreign {x: 1})", "MATCH (n:Foreign) DELETE n", "node"),
        ("CREATE ({x: 1})", "MATCH (n {x: 1}) DELETE n", "node"),
        ("CREATE (:Entity {name: 'Nobody'})", "MATCH (n:Entity {name: 'Nobody'}) DELETE n", "node"),
        ("CREATE (:Entity {user_id: 7, id: 'x'})", "MATCH (n:Entity {id: 'x'}) DELETE n", "node"),
        ("MATCH (n:Entity {name: 'John'}) SET n:Person", "MATCH (n:Person) REMOVE n:Person", "node"),
        ("MATCH (p:Projection) SET p.owner = 'x'", "MATCH (p:Projection) REMOVE p.owner", "node"),
        ("MATCH (e:Entity {name: 'John'}), (s:Session) CREATE (e)-[:SAID_IN]->(s)", "MATCH ()-[r:SAID_IN]->() DELETE r", "relationship"),
        ("MATCH ()-[r:PART_OF]->() SET r.x = 1", "MATCH ()-[r:PART_OF]->() REMOVE r.x", "relationship"),
    ] {
        server.rows(&format!("{by_hand} RETURN 1")).await;
        assert_eq!(kinds().await, [expected], "{by_hand}");
        server.rows(&format!("{undone} RETURN 1")).await;
        assert_eq!(kinds().await, [""; 0], "{undone}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wiped_graph_gets_new_marker() {
    let Some(server) = Neo4jServer::start().await else { return };
    let graph = server.graph();
    assert_eq!(graph.marker().await.unwrap(), None);
    graph.prepare().await.unwrap();
    let first = graph.marker().await.unwrap();
    graph.prepare().await.unwrap();
    assert!(first.is_some() && graph.marker().await.unwrap() == first);
    server.rows("MATCH (n) DETACH DELETE n RETURN 1").await;
    assert_eq!(graph.marker().await.unwrap(), None);
    graph.prepare().await.unwrap();
    assert_ne!(graph.marker().await.unwrap(), first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readme_cypher_queries_return_rows() {
    let Some(server) = Neo4jServer::shared().await else { return };
    let readme = include_str!("../../../../../docs/neo4j.md");
    let (_, rest) = readme.split_once("```cypher").unwrap();
    let (questions, _) = rest.split_once("```").unwrap();
    let questions: Vec<&str> = questions.split(';').map(str::trim).filter(|q| !q.is_empty()).collect();
    assert_eq!(questions.len(), 6);

    let folder = Folder::new().await;
    let w = folder.world();
    let known = w.john_likes_mary().await;
    let (hiking, apollo) = (entity("Hiking"), entity("Apollo of the README"));
    let mut ended = known.fact.clone();
    // In 2100, because the query compares with the server's clock.
    (ended.status, ended.valid_to) = (FactStatus::Ended, Some(at(2_400_000_000_000)));
    let (mut john, mut mary) = (known.john, known.mary);
    (john.name, mary.name) = ("John of the README".into(), "Mary of the README".into());
    let facts = [ended, fact(&john, "LIKES", &hiking), fact(&mary, "LIKES", &hiking), fact(&mary, "WORKS_ON", &apollo)];
    know(&w, known.session, &[&john, &mary, &hiking, &apollo], &facts.iter().collect::<Vec<_>>()).await;
    let document = store_document(&w).await;
    let message = (chunks_of(&w, &document).await[0], MessageKind::Statement, vec![(mary.id, mention("Mary"))]);
    let plan = w.plan(document.id.session()).await;
    w.commit(KnowledgeCommit { message: Some(message), entities: vec![mary], ..plan }).await;
    let projection = Projection::new(folder.feed(), server.graph());
    let feed = projection.prepare().await.unwrap();
    projection.catch_up(&feed, &w.caller).await.unwrap();

    for (question, expected) in questions.iter().zip([2, 1, 1, 1, 1, 1]) {
        // The server also contains data of other tests with these names.
        let named = ["John", "Mary", "Apollo"]
            .iter()
            .fold((*question).to_owned(), |q, name| q.replace(&format!("'{name}'"), &format!("'{name} of the README'")));
        let found = server.rows(&named).await.len();
        assert!(if named == *question { found >= expected } else { found == expected }, "{found} rows: {question}");
    }
}

/// Facts of a few types are written by a statement for each type, those of many by one statement for all types.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn facts_of_few_and_of_many_types_are_written_changed_and_moved() {
    let Some(server) = Neo4jServer::shared().await else { return };
    for types in [1, 4, 5, 12] {
        let folder = Folder::new().await;
        let w = folder.world();
        let known = w.john_likes_mary().await;
        let (bob, cleo, dan) = (entity("Bob"), entity("Cleo"), entity("Dan"));
        let mut facts: Vec<_> = ontology().iter().take(types).map(|relation| fact(&bob, &relation.name, &cleo)).collect();
        know(&w, known.session, &[&bob, &cleo, &dan], &facts.iter().collect::<Vec<_>>()).await;
        let projection = Projection::new(folder.feed(), server.graph());
        let feed = projection.prepare().await.unwrap();
        projection.catch_up(&feed, &w.caller).await.unwrap();
        assert_eq!(differences(&projection, &w.caller).await, [""; 0], "{types} types in an empty graph");
        for f in &mut facts {
            (f.support, f.object) = (f.support + 1.0, dan.id);
        }
        know(&w, known.session, &[], &facts.iter().collect::<Vec<_>>()).await;
        projection.catch_up(&feed, &w.caller).await.unwrap();
        assert_eq!(differences(&projection, &w.caller).await, [""; 0], "{types} types changed and moved");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_relation_has_index_and_prepare_is_idempotent() {
    let Some(server) = Neo4jServer::shared().await else { return };
    let folder = Folder::new().await;
    // The projection retries what conflicts with other tests: Neo4j locks labels while it creates an index.
    let projection = Projection::new(folder.feed(), server.graph());
    for _ in 0..2 {
        projection.prepare().await.unwrap();
    }
    let names = server.names("SHOW INDEXES YIELD name RETURN name").await;
    for relation in ontology().iter() {
        assert!(names.contains(&format!("recall_fact_{}", relation.name.to_lowercase())), "{} of {names:?}", relation.name);
    }
    let names = server.names("SHOW CONSTRAINTS YIELD name RETURN name").await;
    for name in ["recall_entity", "recall_session", "recall_message", "recall_projection"] {
        assert!(names.iter().any(|n| n == name), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_constraint_and_index_are_made_again() {
    let Some(server) = Neo4jServer::start().await else { return };
    let folder = Folder::new().await;
    let projection = Projection::new(folder.feed(), server.graph());
    projection.prepare().await.unwrap();
    for text in ["DROP CONSTRAINT recall_topic", "DROP INDEX recall_fact_likes"] {
        server.rows(text).await;
    }
    projection.prepare().await.unwrap();
    assert!(server.names("SHOW CONSTRAINTS YIELD name RETURN name").await.contains(&"recall_topic".to_owned()));
    assert!(server.names("SHOW INDEXES YIELD name RETURN name").await.contains(&"recall_fact_likes".to_owned()));
}
