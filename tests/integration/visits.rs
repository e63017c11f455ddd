//! Visits on the built binary: deletion at their end, adoption despite kills, and no secrets in the log.

use std::{
    collections::BTreeMap,
    io::Write,
    path::Path,
    process::{Output, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use sqlx::{Connection, Executor, SqliteConnection};

use crate::{
    contract::store::graph::service::Neo4jServer,
    postgres::Schema,
    server::{Server, TIMEOUT, recall},
};

const TOKEN: &str = "fixed-token-0123456789-0123456789-0123456789";
const TURN_SECRET: &str = "shared-with-the-turn-server";
const SAID: [&str; 6] =
    ["Maren likes Tom.", "I live in Ghent.", "I use Docker.", "Tom knows Maren.", "I live in Bern.", "Maren works on Project Apollo."];

fn environment() -> Vec<(&'static str, &'static str)> {
    vec![
        ("RECALL_TOKEN", TOKEN),
        ("RECALL_ANONYMOUS", "true"),
        ("RECALL_ATTEMPTS", "100"),
        ("RECALL_STUN_URLS", "stun:stun.example.org"),
        ("RECALL_TURN_URLS", "turn:turn.example.org"),
        ("RECALL_TURN_SECRET", TURN_SECRET),
    ]
}

/// A visitor, or the holder of the static token.
struct Person {
    http: reqwest::Client,
    headers: Vec<(&'static str, String)>,
}

impl Person {
    fn with_token(server: &Server) -> Self {
        Self { http: server.http.clone(), headers: vec![("authorization", format!("Bearer {TOKEN}"))] }
    }

    async fn visiting(server: &Server) -> Self {
        let answer = server.http.post(server.url("/auth/visit")).send().await.unwrap();
        let cookie = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let said: Value = answer.json().await.unwrap();
        let csrf = said["csrfToken"].as_str().unwrap().to_owned();
        Self { http: server.http.clone(), headers: vec![("cookie", cookie), ("x-csrf-token", csrf)] }
    }

    fn request(&self, method: reqwest::Method, url: String) -> reqwest::RequestBuilder {
        self.headers.iter().fold(self.http.request(method, url), |request, (name, value)| request.header(*name, value))
    }

    async fn graphql(&self, server: &Server, query: &str, variables: Value) -> Value {
        let request = self.request(reqwest::Method::POST, server.url("/graphql"));
        let answer: Value = request.json(&json!({ "query": query, "variables": variables })).send().await.unwrap().json().await.unwrap();
        assert!(answer.get("errors").is_none(), "{answer}");
        answer["data"].clone()
    }

    /// Sends all texts in a new session and waits until they are processed.
    async fn tell(&self, server: &Server) -> String {
        let made = self.graphql(server, "mutation { createSession(input: {}) { session { id } } }", json!({})).await;
        let session = made["createSession"]["session"]["id"].as_str().unwrap().to_owned();
        for (i, text) in SAID.iter().enumerate() {
            let input = json!({ "sessionId": session, "text": text, "sentAt": format!("2026-01-01T00:00:{i:02}Z") });
            let query = "mutation($i: SendMessageInput!) { sendMessage(input: $i) { errors { code } } }";
            assert_eq!(self.graphql(server, query, json!({ "i": input })).await["sendMessage"]["errors"], json!([]));
        }
        let query = "query($id: ID!) { session(id: $id) { messages(first: 50) { nodes { status } } } }";
        wait_until("the messages to be understood", async || {
            let data = self.graphql(server, query, json!({ "id": session })).await;
            data["session"]["messages"]["nodes"].as_array().unwrap().iter().all(|m| m["status"] == "PROCESSED")
        })
        .await;
        session
    }

    /// Returns the facts with the number of messages for or against each.
    async fn facts(&self, server: &Server) -> BTreeMap<String, u64> {
        let query =
            "{ facts(first: 40) { nodes { subject { name } relation object { name } evidence(first: 100) { nodes { stance } } } } }";
        let data = self.graphql(server, query, json!({})).await;
        let nodes = data["facts"]["nodes"].as_array().unwrap();
        let facts = nodes.iter().map(|f| {
            let text = |v: &Value| v.as_str().unwrap().to_owned();
            let words = format!("{} {} {}", text(&f["subject"]["name"]), text(&f["relation"]), text(&f["object"]["name"]));
            (words, f["evidence"]["nodes"].as_array().unwrap().len() as u64)
        });
        let facts: BTreeMap<_, _> = facts.collect();
        // A duplicate statement means two entities with one name.
        if facts.len() < nodes.len() { BTreeMap::new() } else { facts }
    }
}

async fn wait_until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let end = std::time::Instant::now() + TIMEOUT;
    while !done().await {
        assert!(std::time::Instant::now() < end, "timed out: {what}");
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

async fn database(data: &Path) -> SqliteConnection {
    SqliteConnection::connect(&format!("sqlite:{}", data.join("recall.db").display())).await.unwrap()
}

#[tokio::test]
async fn ended_visit_is_deleted_and_log_contains_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let server = Server::start_logging_with(&data, &log, "trace", &environment());
    let visitor = Person::visiting(&server).await;
    let session = visitor.tell(&server).await;
    let stays = Person::with_token(&server);
    stays.tell(&server).await;

    // Only an authenticated caller receives the relays.
    let place = server.url(&format!("/signaling/{session}"));
    let strangers = server.http.request(reqwest::Method::OPTIONS, &place).send().await.unwrap();
    assert_eq!((strangers.status().as_u16(), strangers.headers().get("link")), (401, None));
    let told = visitor.request(reqwest::Method::OPTIONS, place).send().await.unwrap();
    assert_eq!(told.status(), 204);
    let links: Vec<_> = told.headers().get_all("link").iter().map(|l| l.to_str().unwrap().to_owned()).collect();
    assert_eq!((links.len(), links[0].as_str()), (2, "<stun:stun.example.org>; rel=\"ice-server\""));
    let part = |name: &str| links[1].split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().to_owned();
    let (name, credential) = (part("username"), part("credential"));
    let me = visitor.graphql(&server, "{ viewer { id } }", json!({})).await["viewer"]["id"].as_str().unwrap().to_owned();
    assert!(!name.contains(&me) && name.split_once(':').unwrap().0.parse::<i64>().unwrap() > 1_700_000_000, "{name}");
    assert!(server.stop().0);

    let written = std::fs::read_to_string(&log).unwrap();
    assert!(written.len() > 1_000);
    let secret = visitor.headers[0].1.split_once('=').unwrap().1.to_owned();
    for hidden in [secret, visitor.headers[1].1.clone(), credential, name, TURN_SECRET.to_owned()] {
        assert!(!written.contains(&hidden), "{hidden} is in the log");
    }

    // Lets the visit end.
    let mut rows = database(&data).await;
    sqlx::query("UPDATE visits SET ends_at = 1").execute(&mut rows).await.unwrap();
    let server = Server::start_with(&data, &environment());
    let gone = visitor.request(reqwest::Method::POST, server.url("/graphql")).json(&json!({ "query": "{ viewer { id } }" }));
    assert_eq!(gone.send().await.unwrap().status(), 401);
    let of_visitor = "SELECT (SELECT COUNT(*) FROM messages WHERE user_id = ?1) + (SELECT COUNT(*) FROM facts WHERE user_id = ?1)
        + (SELECT COUNT(*) FROM events WHERE user_id = ?1) + (SELECT COUNT(*) FROM message_index WHERE user_id = ?1)
        + (SELECT COUNT(*) FROM entities WHERE user_id = ?1) + (SELECT COUNT(*) FROM visits WHERE user_id = ?1)";
    let id: uuid::Uuid = me.parse().unwrap();
    wait_until("everything of the visitor to go", async || {
        sqlx::query_scalar::<_, i64>(of_visitor).bind(id.as_bytes().as_slice()).fetch_one(&mut rows).await.unwrap() == 0
    })
    .await;
    assert!(!Person::with_token(&server).facts(&server).await.is_empty(), "another user's data is gone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_nine_during_adoption_loses_and_duplicates_nothing() {
    let kills: u64 = std::env::var("CRASH_KILLS").ok().and_then(|v| v.parse().ok()).unwrap_or(8);
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start_with(folder.path(), &environment());
    let account = Person::with_token(&server);
    account.tell(&server).await;
    let once = account.facts(&server).await;
    assert!(once.len() > 4, "{once:?}");
    for round in 1..=kills {
        let visitor = Person::visiting(&server).await;
        visitor.tell(&server).await;
        let adopt =
            |server: &Server| account.request(reqwest::Method::POST, server.url("/auth/adopt")).header("cookie", &visitor.headers[0].1);
        let asked = tokio::spawn(adopt(&server).send());
        // The kill happens between before the first statement and after the last.
        tokio::time::sleep(Duration::from_millis(round * 97 % 60)).await;
        drop(server);
        drop(asked.await);
        server = Server::start_with(folder.path(), &environment());
        assert_eq!(adopt(&server).send().await.unwrap().status(), 200, "the repeated adoption failed");
        let expected: BTreeMap<_, _> = once.iter().map(|(words, count)| (words.clone(), count * (round + 1))).collect();
        wait_until("one knowledge", async || account.facts(&server).await == expected).await;
        let all = account.graphql(&server, "{ sessions(first: 99) { nodes { messages { totalCount } } } }", json!({})).await;
        let counts: Vec<_> =
            all["sessions"]["nodes"].as_array().unwrap().iter().map(|s| s["messages"]["totalCount"].as_u64().unwrap()).collect();
        assert_eq!(counts, vec![SAID.len() as u64; usize::try_from(round).unwrap() + 1], "round {round}");
    }
    let mut rows = database(folder.path()).await;
    wait_until("the visitors to go", async || {
        let left: i64 = sqlx::query_scalar("SELECT COUNT(DISTINCT user_id) FROM messages").fetch_one(&mut rows).await.unwrap();
        left == 1
    })
    .await;
}

#[tokio::test]
async fn visitors_are_limited_by_address_number_and_day() {
    let folder = tempfile::tempdir().unwrap();
    let limits = [("RECALL_ANONYMOUS_VISITS", "3"), ("RECALL_ANONYMOUS_MESSAGES_PER_DAY", "4"), ("RECALL_ANONYMOUS_STREAMS", "1")];
    let server = Server::start_with(folder.path(), &[&environment()[..], &limits].concat());
    let visitor = Person::visiting(&server).await;
    let made = visitor.graphql(&server, "mutation { createSession(input: {}) { session { id } } }", json!({})).await;
    let session = made["createSession"]["session"]["id"].as_str().unwrap().to_owned();
    let query = "mutation($s: ID!) { sendMessage(input: { sessionId: $s, text: \"Hello.\" }) { errors { code } } }";
    let mut codes = Vec::new();
    for _ in 0..5 {
        let request = visitor.request(reqwest::Method::POST, server.url("/graphql"));
        let answer: Value =
            request.json(&json!({ "query": query, "variables": { "s": session } })).send().await.unwrap().json().await.unwrap();
        codes.push(answer.to_string().contains("RATE_LIMITED"));
    }
    assert_eq!(codes, [false, false, false, false, true]);
    let events = || visitor.request(reqwest::Method::GET, server.url(&format!("/sessions/{session}/events"))).send();
    let open = events().await.unwrap();
    assert_eq!((open.status().as_u16(), events().await.unwrap().status().as_u16()), (200, 429));

    // An empty visit is replaced by a new one; a visit with messages stays.
    let silent = Person::visiting(&server).await;
    for _ in 0..2 {
        let speaks = Person::visiting(&server).await;
        let made = speaks.graphql(&server, "mutation { createSession(input: {}) { session { id } } }", json!({})).await;
        speaks.graphql(&server, query, json!({ "s": made["createSession"]["session"]["id"] })).await;
    }
    let gone = silent.request(reqwest::Method::POST, server.url("/graphql")).json(&json!({ "query": "{ viewer { id } }" }));
    assert_eq!(gone.send().await.unwrap().status(), 401);
    let full = server.http.post(server.url("/auth/visit")).send().await.unwrap();
    assert_eq!(full.status(), 429);
    assert_eq!(full.json::<Value>().await.unwrap()["code"], "TOO_MANY_VISITS");
    let mut limited = false;
    for _ in 0..80 {
        let answer = server.http.post(server.url("/auth/visit")).send().await.unwrap();
        if answer.headers().contains_key("retry-after") {
            assert_eq!(answer.json::<Value>().await.unwrap()["code"], "RATE_LIMITED");
            limited = true;
            break;
        }
    }
    assert!(limited, "a flood from one address is not limited");
    assert!(server.http.get(server.url("/auth/session")).send().await.unwrap().status().is_success(), "the page does not open");
}

/// Runs a command on a data folder.
fn run(data: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut child = recall();
    child.args(args).arg("--data").arg(data).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The command may end before it has read everything.
    let writing = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let done = child.wait_with_output().unwrap();
    writing.join().unwrap();
    done
}

#[tokio::test]
async fn visitor_archive_needs_id_and_target_account() {
    let folder = tempfile::tempdir().unwrap();
    let [here, there, another] = ["here", "there", "another"].map(|name| folder.path().join(name));
    let server = Server::start_with(&here, &environment());
    let (visitor, account) = (Person::visiting(&server).await, Person::with_token(&server));
    let session = visitor.tell(&server).await;
    account.tell(&server).await;
    let facts = visitor.facts(&server).await;
    let who = |data: Value| data["viewer"]["id"].as_str().unwrap().to_owned();
    let id = who(visitor.graphql(&server, "{ viewer { id } }", json!({})).await);
    let other = who(account.graphql(&server, "{ viewer { id } }", json!({})).await);
    assert!(server.stop().0);

    let all = run(&here, &["export"], b"");
    let (archive, said) = (String::from_utf8(all.stdout.clone()).unwrap(), String::from_utf8(all.stderr).unwrap());
    assert!(archive.contains(&other) && !archive.contains(&id) && !archive.contains(&session), "data of a visitor was exported");
    assert!(said.contains("1 visitors left out"), "{said}");
    assert!(String::from_utf8(run(&here, &["user", "list"], b"").stdout).unwrap().contains(&format!("{id} (visitor)")));
    assert!(run(&there, &["import", "--trust-owners"], &all.stdout).status.success());

    // A visitor can be exported by id, and imported only into an account.
    let one = run(&here, &["export", "--user", &id], b"");
    assert!(String::from_utf8(one.stdout.clone()).unwrap().contains("\"visitor\":true"));
    let refused = run(&there, &["import"], &one.stdout);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && said.contains("line 2") && said.contains("ARCHIVE_VISITOR"), "{said}");
    assert!(!String::from_utf8(run(&there, &["user", "list"], b"").stdout).unwrap().contains(&id));
    let done = run(&another, &["import", "--into", "local"], &one.stdout);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let server = Server::start(&another);
    let local = Person { http: server.http.clone(), headers: vec![] };
    assert_eq!(local.facts(&server).await, facts);
}

#[tokio::test]
async fn receipts_of_many_visits_are_forgotten_after_the_day() {
    const MANY: i64 = 2_345;
    let folder = tempfile::tempdir().unwrap();
    drop(Server::start_with(folder.path(), &environment()));
    let mut rows = database(folder.path()).await;
    rows.execute(sqlx::AssertSqlSafe(format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY})
         INSERT INTO users (id, visitor) SELECT unhex(printf('%032x', i)), 1 FROM n;
         INSERT INTO erasures (user_id, begun_at, touched_at, ended_at) SELECT id, 0, 0, 1 FROM users WHERE visitor = 1"
    )))
    .await
    .unwrap();
    let server = Server::start_with(folder.path(), &environment());
    let left = "SELECT (SELECT count(*) FROM erasures) + (SELECT count(*) FROM users WHERE visitor)";
    wait_until("SQLite to forget", async || sqlx::query_scalar::<_, i64>(left).fetch_one(&mut rows).await.unwrap() == 0).await;
    drop(server);

    let Some(schema) = Schema::new().await else { return };
    let settings = [&environment()[..], &[("RECALL_DATABASE_URL", schema.url.as_str())]].concat();
    drop(Server::start_with(folder.path(), &settings));
    let mut rows = schema.connection().await;
    rows.execute(sqlx::AssertSqlSafe(format!(
        "INSERT INTO users (id, visitor) SELECT gen_random_uuid(), true FROM generate_series(1, {MANY});
         INSERT INTO erasures (user_id, begun_at, touched_at, ended_at)
         SELECT id, to_timestamp(0), to_timestamp(0), to_timestamp(1) FROM users WHERE visitor"
    )))
    .await
    .unwrap();
    let _server = Server::start_with(folder.path(), &settings);
    wait_until("PostgreSQL to forget", async || sqlx::query_scalar::<_, i64>(left).fetch_one(&mut rows).await.unwrap() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adopted_visit_moves_to_account_in_neo4j() {
    let Some(neo4j) = Neo4jServer::start().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let settings = neo4j.settings();
    let beside: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let server = Server::start_with(folder.path(), &[environment(), beside].concat());
    let (visitor, account) = (Person::visiting(&server).await, Person::with_token(&server));
    visitor.tell(&server).await;
    let who = |data: Value| data["viewer"]["id"].as_str().unwrap().to_owned();
    let theirs = who(visitor.graphql(&server, "{ viewer { id } }", json!({})).await);
    let own = who(account.graphql(&server, "{ viewer { id } }", json!({})).await);
    let likes = |user: &str| format!("MATCH (:Entity {{user_id: '{user}', name: 'Maren'}})-[:LIKES]->(e:Entity) RETURN e.name AS name");
    wait_until("the visitor's graph", async || neo4j.names(&likes(&theirs)).await == ["Tom"]).await;
    assert_eq!(neo4j.names(&likes(&own)).await, [""; 0]);

    let adopt = account.request(reqwest::Method::POST, server.url("/auth/adopt")).header("cookie", &visitor.headers[0].1);
    assert_eq!(adopt.send().await.unwrap().status(), 200);
    wait_until("the account's graph", async || neo4j.names(&likes(&own)).await == ["Tom"]).await;
    let query = "{ entities(filter: {text: \"Maren\"}, first: 1) { nodes { neighbours(hops: 1) { entity { name } fact { relation } } } } }";
    let found = account.graphql(&server, query, json!({})).await;
    let names: Vec<_> =
        found["entities"]["nodes"][0]["neighbours"].as_array().unwrap().iter().map(|n| n["entity"]["name"].clone()).collect();
    assert!(names.contains(&json!("Tom")), "{found}");
    let left = format!("MATCH (n) WHERE n.user_id = '{theirs}' AND NOT n:Projection RETURN labels(n)[0] AS name");
    wait_until("the visitor's graph to go", async || neo4j.names(&left).await.is_empty()).await;
    let lines = format!("MATCH ()-[r]->() WHERE r.user_id = '{theirs}' RETURN type(r) AS name");
    assert_eq!(neo4j.names(&lines).await, [""; 0]);
    assert_eq!(neo4j.names(&likes(&own)).await, ["Tom"]);
}
