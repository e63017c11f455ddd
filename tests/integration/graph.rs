//! The built server with a real Neo4j under faults.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    contract::store::graph::service::Neo4jServer,
    postgres::Schema,
    server::{Server, TIMEOUT},
};

/// A server's data folder and settings.
struct Place {
    folder: TempDir,
    settings: Vec<(&'static str, String)>,
}

/// Runs `recall graph …` on the same data and returns success and output.
fn graph(command: &str, place: &Place) -> (bool, String) {
    let mut recall = Command::new(env!("CARGO_BIN_EXE_recall"));
    for (name, _) in std::env::vars().filter(|(n, _)| n.starts_with("RECALL_")) {
        recall.env_remove(name);
    }
    let done = recall.args(["graph", command, "--data"]).arg(place.folder.path()).envs(place.settings.clone()).output().unwrap();
    (done.status.success(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
}

async fn wait_until_equal(place: &Place) {
    let started = Instant::now();
    loop {
        let (equal, words) = graph("check", place);
        if equal {
            return;
        }
        assert!(started.elapsed() < TIMEOUT * 10, "{words}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn tell(server: &Server, session: &str, text: &str) {
    server.send(json!({ "sessionId": session, "text": text })).await.unwrap();
    server.settle(session).await;
}

/// Adds a document named `plan.txt` and returns its id.
async fn add_document(server: &Server, text: &str) -> String {
    let body = format!("--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"plan.txt\"\r\n\r\n{text}\r\n--b--\r\n");
    let request = server.http.post(server.url("/documents")).header("content-type", "multipart/form-data; boundary=b").body(body);
    let added: Value = request.send().await.unwrap().json().await.unwrap();
    added["id"].as_str().unwrap_or_else(|| panic!("{added}")).to_owned()
}

/// Returns the neighbours of John by name.
async fn around_john(server: &Server) -> Vec<String> {
    let query =
        "{ entities(filter: {text: \"John\"}, first: 1) { nodes { neighbours(hops: 2) { distance entity { name } fact { relation } } } } }";
    let data = server.graphql(query, json!({})).await;
    let found = data["entities"]["nodes"][0]["neighbours"].as_array().unwrap().clone();
    found.iter().map(|n| format!("{} {}", n["distance"], n["entity"]["name"].as_str().unwrap())).collect()
}

async fn ready(server: &Server, query: &str) -> (u16, Value) {
    let answer = server.http.get(server.url(&format!("/readyz{query}"))).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

/// Waits until `/readyz` reports this status; it caches its checks for a second.
async fn wait_until_status(server: &Server, expected: &str) {
    let started = Instant::now();
    while ready(server, "").await.1["status"] != expected {
        assert!(started.elapsed() < TIMEOUT, "{expected}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Tells something, deletes all data, and returns the receipt. The receipt of a slow engine says that the deletion is pending there, or does
/// not count it, so this is repeated until the engine was fast enough.
async fn delete_until_confirmed(server: &Server, place: &Place) -> Value {
    let delete = "mutation { deleteMyData(input: { confirm: \"DELETE\" }) { receipt { endedAt pending deleted { engine kind count } } errors { code } } }";
    let started = Instant::now();
    loop {
        let session = server.create_session().await;
        tell(server, &session, "John likes Mary.").await;
        wait_until_equal(place).await;
        let receipt = server.graphql(delete, json!({})).await["deleteMyData"]["receipt"].clone();
        let is_counted = receipt["deleted"].as_array().unwrap().iter().any(|row| row["engine"] == "neo4j");
        if is_counted && receipt["pending"] == json!([]) {
            return receipt;
        }
        assert!(started.elapsed() < TIMEOUT * 10, "{receipt}");
    }
}

async fn metric(server: &Server, name: &str) -> Vec<String> {
    let text = server.http.get(server.url("/metrics")).send().await.unwrap().text().await.unwrap();
    text.lines().filter(|l| l.starts_with(name)).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neo4j_faults_change_no_answer_on_sqlite() {
    if let Some(neo4j) = Neo4jServer::start().await {
        assert_faults_change_no_answer(neo4j, "sqlite", None).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neo4j_faults_change_no_answer_on_postgres() {
    let Some(schema) = Schema::new().await else { return };
    if let Some(neo4j) = Neo4jServer::start().await {
        assert_faults_change_no_answer(neo4j, "postgres", Some(schema.url)).await;
    }
}

async fn assert_faults_change_no_answer(mut neo4j: Neo4jServer, store: &str, database: Option<String>) {
    let settings = neo4j.settings().into_iter().chain(database.map(|url| ("RECALL_DATABASE_URL", url))).collect();
    let place = Place { folder: tempfile::tempdir().unwrap(), settings };
    let env: Vec<(&str, &str)> = place.settings.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let server = Server::start_with(place.folder.path(), &env);
    let session = server.create_session().await;
    tell(&server, &session, "John likes Mary.").await;
    tell(&server, &session, "Mary works on Project Apollo.").await;
    let before = around_john(&server).await;
    assert_eq!(before.len(), 2, "{before:?}");
    assert!(before[0] == "1 Mary" && before[1].starts_with("2 "), "{before:?}");
    wait_until_equal(&place).await;
    assert_eq!(around_john(&server).await, before);
    wait_until_status(&server, "ready").await;

    // The query of an analyst from the documentation.
    let names = neo4j.names("MATCH (:Entity {name: 'John'})-[:LIKES]->(e:Entity) RETURN e.name AS name").await;
    assert_eq!(names, ["Mary"]);
    let names =
        neo4j.names("MATCH (e:Entity {name: 'Mary'})-[:MENTIONED_IN]->(m:Message)-[:PART_OF]->(:Session) RETURN m.role AS name").await;
    assert_eq!(names, ["user", "user"]);

    // Neo4j is killed.
    neo4j.kill();
    assert_eq!(around_john(&server).await, before, "the store does not answer");
    wait_until_status(&server, "not_ready").await;
    let (status, body) = ready(&server, "").await;
    assert_eq!(status, 503, "{body}");
    let checks = body["checks"].as_array().unwrap();
    assert!(checks.iter().any(|c| c["name"] == "neo4j" && c["ready"] == false), "{body}");
    for query in ["?exclude=neo4j", "?exclude=model,neo4j", "?exclude=model&exclude=neo4j", "?exclude=optional"] {
        let (status, body) = ready(&server, query).await;
        assert_eq!((status, &body["status"]), (200, &json!("degraded")), "not degraded with status 200: {query}");
    }
    assert_eq!(ready(&server, "?exclude=model").await.0, 503);
    tell(&server, &session, "John likes Bob.").await;
    assert_eq!(around_john(&server).await.len(), 3);
    let answered = metric(&server, "recall_graph_queries_total").await;
    assert!(answered.iter().any(|l| l.contains(&format!("answered_by=\"{store}\""))), "{answered:?}");

    // Neo4j starts again with its data.
    neo4j.restart().await;
    wait_until_equal(&place).await;
    wait_until_status(&server, "ready").await;

    // Neo4j starts again without its data.
    neo4j.kill();
    neo4j.wipe();
    tell(&server, &session, "John likes Chess.").await;
    neo4j.restart().await;
    wait_until_equal(&place).await;
    assert_eq!(around_john(&server).await.len(), 4);

    // Neo4j accepts connections and does not answer.
    neo4j.freeze(true);
    assert_eq!(around_john(&server).await.len(), 4);
    wait_until_status(&server, "not_ready").await;
    neo4j.freeze(false);
    tell(&server, &session, "John likes Tea.").await;
    wait_until_equal(&place).await;

    // Somebody deletes data in Neo4j: the running server repairs it without writes or queries.
    for by_hand in ["MATCH (e:Entity {name: 'Mary'}) DETACH DELETE e", "MATCH (p:Projection) DELETE p", "MATCH (n) DETACH DELETE n"] {
        neo4j.rows(&format!("{by_hand} RETURN 1")).await;
        let started = Instant::now();
        while neo4j.names("MATCH (e:Entity {name: 'Mary'}), (:Projection) RETURN e.name AS name").await != ["Mary"] {
            assert!(started.elapsed() < TIMEOUT * 10, "{by_hand}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        wait_until_equal(&place).await;
        wait_until_status(&server, "ready").await;
    }
    let document = add_document(&server, "Mary works on Project Apollo. See https://example.org/plan for more.").await;
    let started = Instant::now();
    while neo4j.names("MATCH (d:Document {status: 'completed'}) RETURN d.filename AS name").await != ["plan.txt"] {
        assert!(started.elapsed() < TIMEOUT * 2, "the document does not come");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    wait_until_equal(&place).await;
    let query =
        "MATCH (:Entity {name: 'Mary'})-[:MENTIONED_IN]->(:Chunk)<-[:CONTAINS]-(d:Document)-[:LINKS_TO]->(x:Resource) RETURN x.uri AS name";
    assert_eq!(neo4j.names(query).await, ["https://example.org/plan"]);

    // A rebuild next to the running server changes nothing, and foreign nodes are reported.
    let (done, words) = graph("rebuild", &place);
    assert!(done, "{words}");
    wait_until_equal(&place).await;
    neo4j.rows("CREATE (:Foreign) RETURN 1").await;
    let (equal, words) = graph("check", &place);
    assert!(!equal && words.contains("does not belong to recall"), "{words}");
    neo4j.rows("MATCH (n:Foreign) DELETE n RETURN 1").await;

    // A deleted document or session leaves nothing.
    let deleted = server.http.delete(server.url(&format!("/documents/{document}"))).send().await.unwrap();
    assert!(deleted.status().is_success(), "{deleted:?}");
    wait_until_equal(&place).await;
    let query = "MATCH (n) WHERE n:Document OR n:Chunk OR n:Resource OR n:User RETURN labels(n)[0] AS name";
    assert_eq!(neo4j.names(query).await, [""; 0]);
    server.graphql("mutation($id: ID!) { deleteSession(input: {id: $id}) { errors { code } } }", json!({ "id": session })).await;
    wait_until_equal(&place).await;
    assert_eq!(neo4j.names("MATCH (n:Message) RETURN n.role AS name").await, [""; 0]);

    // A deletion of all data leaves nothing either, and the receipt lists what was deleted.
    let receipt = delete_until_confirmed(&server, &place).await;
    for (kind, count) in [("nodes", 4), ("relationships", 4)] {
        let row = json!({ "engine": "neo4j", "kind": kind, "count": count });
        assert!(receipt["deleted"].as_array().unwrap().contains(&row), "{receipt}");
    }
    assert_eq!(neo4j.names("MATCH (n) WHERE n:Entity OR n:Message OR n:Session RETURN n.id AS name").await, [""; 0]);
    wait_until_equal(&place).await;
    let (well, _) = server.stop();
    assert!(well);
}

#[tokio::test]
async fn graph_queries_work_without_engine() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let session = server.create_session().await;
    tell(&server, &session, "John likes Mary.").await;
    tell(&server, &session, "John likes Bob.").await;
    let facts = server.graphql("{ facts(first: 2) { nodes { subject { id name } object { id name } } } }", json!({})).await;
    let facts = facts["facts"]["nodes"].as_array().unwrap().clone();
    let (one, other) = (&facts[0]["object"]["id"], &facts[1]["object"]["id"]);
    let query = "query($a: ID!, $b: ID!) { paths(fromId: $a, toId: $b) { entities { name } facts { relation } }
        commonNeighbours(oneId: $a, otherId: $b) { entity { name } facts { relation } } }";
    let found = server.graphql(query, json!({ "a": one, "b": other })).await;
    assert_eq!(found["paths"][0]["entities"][1]["name"], "John");
    assert_eq!(found["paths"][0]["facts"].as_array().unwrap().len(), 2);
    assert_eq!(found["commonNeighbours"][0]["entity"]["name"], "John");
    let refused =
        server.try_graphql("query($a: ID!) { paths(fromId: $a, toId: $a, maxHops: 4) { facts { id } } }", json!({ "a": one })).await;
    assert_eq!(refused.unwrap()["errors"][0]["extensions"]["code"], "INVALID_HOPS");
    let hostile = "query($a: ID!) { entity(id: $a) { neighbours(relations: [\"LIKES]->() DETACH DELETE n //\"]) { distance } } }";
    let found = server.graphql(hostile, json!({ "a": one })).await;
    assert_eq!(found["entity"]["neighbours"], json!([]));
}
