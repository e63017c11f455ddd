//! Tries another user's ids everywhere.
//! The cases come from the schema: every root field with every argument that is an id or a cursor. Boris tries Anna's
//! ids and must get the same answer as for an unknown id, at the same cost. An uncovered field or route fails the
//! test.

mod schema;

use std::{collections::BTreeSet, path::Path};

use serde_json::{Value, json};

pub(super) use self::schema::Schema;
use self::schema::{named, written};
use super::harness::{ADMIN, ANNA, BORIS, Server, text};
use recall_domain::{Caller, MessageId, TopicId, UserId, ViewerRole};
use recall_ports::{SessionTopics, TopicPart};

/// Is in every text of Anna's. No answer to Boris may contain it.
const SECRET: &str = "Xylophagia";

/// One user's data: one id of each kind, and cursors.
pub(super) struct Own {
    pub(super) session: String,
    pub(super) message: String,
    pub(super) entity: String,
    /// An entity with a fact about `entity` and one about something that `entity` also has a fact about.
    friend: String,
    pub(super) fact: String,
    access_token: String,
    document: String,
    comparison: String,
    topic: String,
    cursors: Vec<String>,
}

impl Own {
    pub(super) async fn of(server: &Server, user: &str, word: &str) -> Self {
        let session = server.session(user).await;
        Self::in_session(server, user, word, session).await
    }

    /// The same in shared memory.
    pub(super) async fn shared(server: &Server, word: &str) -> Self {
        let session = server.shared_session().await;
        Self::in_session(server, ADMIN, word, session).await
    }

    async fn in_session(server: &Server, user: &str, word: &str, session: String) -> Self {
        let shared = user == ADMIN;
        let message = server.say(user, &session, &format!("The code of {word} is 4711.")).await;
        let fact = server.fact(user, &session, [word, "LIVES_IN", &format!("{word} town")]).await;
        server.fact(user, &session, [word, "LIKES", &format!("{word} food")]).await;
        let likes = server.fact(user, &session, [&format!("{word} friend"), "LIKES", word]).await;
        server.fact(user, &session, [&format!("{word} friend"), "LIKES", &format!("{word} food")]).await;
        let query = "query($f: ID!, $l: ID!, $s: ID!, $shared: Boolean!) { likes: fact(id: $l) { subject { id } } fact(id: $f) { subject { id } evidence(first: 1) { pageInfo { endCursor } } }
            session(id: $s) { head messages(first: 1) { pageInfo { endCursor } } }
            sessions(shared: $shared) { pageInfo { endCursor } } facts(first: 1, shared: $shared) { pageInfo { endCursor } }
            entities(first: 1, shared: $shared) { pageInfo { endCursor } } }";
        let data = server.data(user, query, json!({ "f": fact, "l": likes, "s": session, "shared": shared })).await;
        let pages = ["/sessions", "/facts", "/entities", "/session/messages", "/fact/evidence"];
        let mut cursors: Vec<String> = pages.iter().map(|p| text(data.pointer(&format!("{p}/pageInfo/endCursor")).unwrap())).collect();
        cursors.push(text(&data["session"]["head"]));
        let access_token = access_token(server, user, word).await;
        let fields: &[(&str, &str)] = if shared { &[("shared", "true")] } else { &[] };
        let added = server.upload(user, &format!("{word}.txt"), format!("All about {word}.").as_bytes(), fields).await;
        let document = text(&added.json::<Value>().await.unwrap()["id"]);
        let query = "query($shared: Boolean!) { documents(first: 1, shared: $shared) { pageInfo { endCursor } } }";
        let listed = server.data(user, query, json!({ "shared": shared })).await;
        cursors.insert(0, text(&listed["documents"]["pageInfo"]["endCursor"]));
        let comparison = server.comparison(user, &document, &format!("What about {word}?")).await;
        let listed = server.data(user, "{ comparisons(first: 1) { pageInfo { endCursor } } }", json!({})).await;
        cursors.insert(0, text(&listed["comparisons"]["pageInfo"]["endCursor"]));
        let topic = topic(server, user, word, &session, &message).await;
        let query = "query($topic: ID!, $shared: Boolean!) { topics(first: 1, shared: $shared) { pageInfo { endCursor } }
            topic(id: $topic) { messages { pageInfo { endCursor } } } }";
        let listed = server.data(user, query, json!({ "topic": topic, "shared": shared })).await;
        cursors.insert(0, text(&listed["topics"]["pageInfo"]["endCursor"]));
        cursors.insert(0, text(&listed["topic"]["messages"]["pageInfo"]["endCursor"]));
        Self {
            session,
            message,
            entity: text(&data["fact"]["subject"]["id"]),
            friend: text(&data["likes"]["subject"]["id"]),
            fact,
            access_token,
            document,
            comparison,
            topic,
            cursors,
        }
    }

    pub(super) fn ids(&self) -> [&str; 8] {
        [&self.session, &self.message, &self.entity, &self.fact, &self.access_token, &self.document, &self.comparison, &self.topic]
    }

    /// A valid own value for a required argument.
    fn value(&self, name: &str, ty: &str) -> Value {
        json!(match (name, ty) {
            ("sessionId", "ID") => self.session.as_str(),
            ("intoId" | "fromId" | "toId" | "oneId" | "otherId", "ID") => &self.friend,
            ("text" | "query", "String") => "Where is the code?",
            ("title", "String") => "Plans",
            ("uri", "String") => "https://example.org/page",
            ("subject" | "name" | "mention", "String") => "Peter",
            ("object", "String") => "Mary",
            ("relation", "String") => "LIKES",
            ("offer", "String") => super::streams::OFFER,
            other => panic!("{other:?} is new: add a good value for it to the sweep"),
        })
    }
}

/// Stores a topic of a message. The jobs that find topics do not run here.
async fn topic(server: &Server, user: &str, word: &str, session: &str, message: &str) -> String {
    let owner = if user == ADMIN { UserId::SHARED } else { user.parse().unwrap() };
    let message: MessageId = message.parse().unwrap();
    let part = TopicPart {
        fresh: TopicId(uuid::Uuid::new_v5(&message.0, b"topic")),
        name: word.into(),
        terms: vec![word.to_owned()],
        centroid: vec![1.0, 0.0],
        messages: vec![message],
    };
    let session = session.parse().unwrap();
    let now = recall_domain::Timestamp::UNIX_EPOCH;
    let topics = SessionTopics { session, model: "test".to_owned(), parts: vec![part], now };
    let caller = Caller::verified(owner, ViewerRole::User);
    server.store.replace_topics(&caller, &topics).await.unwrap();
    server.store.topics_of_sessions(&caller, &[session]).await.unwrap()[0].1.to_string()
}

/// Replaces the user's access tokens by a new one, because their number is limited.
async fn access_token(server: &Server, user: &str, word: &str) -> String {
    let before = server.data(user, "{ accessTokens { id } }", json!({})).await;
    for token in before["accessTokens"].as_array().unwrap() {
        let revoke = "mutation($id: ID!) { revokeAccessToken(input: { id: $id }) { errors { code } } }";
        server.data(user, revoke, json!({ "id": token["id"] })).await;
    }
    let create = "mutation($name: String!) { createAccessToken(input: { name: $name, scopes: [\"recall.read\"] }) { accessToken { id } } }";
    text(&server.data(user, create, json!({ "name": word })).await["createAccessToken"]["accessToken"]["id"])
}

/// One operation with an argument for an id or a cursor.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) query: String,
    arguments: Vec<Value>,
    place: Vec<String>,
}

impl Case {
    pub(super) fn all(schema: &Schema) -> Vec<Self> {
        let mut cases = Vec::new();
        // A mutation can return 500 messages, so it selects less of each.
        for (kind, root, depth) in [("query", "Query", 2), ("mutation", "Mutation", 1)] {
            for field in schema.fields(root) {
                let name = text(&field["name"]);
                let arguments = field["args"].as_array().unwrap().clone();
                let mut places = Vec::new();
                arguments.iter().for_each(|a| schema.places(a, Vec::new(), &mut places));
                let ty = named(&field["type"]);
                let selection = schema.selected(&ty, depth);
                for place in places {
                    let types = arguments.iter().map(|a| {
                        let default = a["defaultValue"].as_str().map(|d| format!(" = {d}")).unwrap_or_default();
                        format!("${}: {}{default}", text(&a["name"]), written(&a["type"]))
                    });
                    let given = arguments.iter().map(|a| format!("{0}: ${0}", text(&a["name"])));
                    let query = format!(
                        "{kind}({}) {{ {name}({}) {selection} }}",
                        types.collect::<Vec<_>>().join(", "),
                        given.collect::<Vec<_>>().join(", ")
                    );
                    cases.push(Self { name: format!("{name}({})", place.join(".")), query, arguments: arguments.clone(), place });
                }
            }
        }
        cases
    }

    /// Whether the operation changes data.
    pub(super) fn is_mutation(&self) -> bool {
        self.query.starts_with("mutation")
    }

    /// Whether the tried argument is a cursor.
    pub(super) fn is_cursor(&self) -> bool {
        ["after", "before"].contains(&self.place.last().unwrap().as_str())
    }

    pub(super) fn variables(&self, schema: &Schema, own: &Own, value: &Value) -> Value {
        let fill = |a: &Value| match a["name"].as_str() {
            // The cost per item is high, so two items are enough.
            Some("first") => Some(json!(2)),
            _ => schema.fill(a, own, &self.place, value),
        };
        let filled = self.arguments.iter().filter_map(|a| Some((text(&a["name"]), fill(a)?)));
        Value::Object(filled.collect())
    }
}

/// The answer without the tried value, which it may echo.
pub(super) fn without(answer: &Value, value: &str) -> String {
    answer.to_string().replace(value, "<tried>")
}

/// What Anna sees of her own data, to compare before and after.
async fn state(server: &Server, session: &str) -> Value {
    let query = "query($s: ID!) { session(id: $s) { title head messages(first: 50) { nodes { id text status } } facts { nodes { id status weight } } }
        accessTokens { id name } sessions { totalCount } facts { nodes { id status weight } } entities { nodes { id name aliases mentionCount } } }";
    server.data(ANNA, query, json!({ "s": session })).await
}

#[tokio::test]
async fn foreign_id_equals_unknown_id_in_every_operation() {
    let server = Server::start().await;
    let schema = Schema::of(&server).await;
    let (anna, boris) = (Own::of(&server, ANNA, SECRET).await, Own::of(&server, BORIS, "Peter").await);
    let before = state(&server, &anna.session).await;
    let cases = Case::all(&schema);
    assert!(cases.len() >= 20, "only {} cases were made", cases.len());
    let mut tried = 0;
    for case in &cases {
        let is_cursor = case.is_cursor();
        let ask = async |value: &str| {
            let before = server.stored.statements().await;
            let answer = server.graphql(BORIS, &case.query, case.variables(&schema, &boris, &json!(value))).await;
            (answer, server.stored.statements().await - before)
        };
        if is_cursor {
            for cursor in &anna.cursors {
                let (answer, _) = ask(cursor).await;
                assert!(!leaks(&answer, &anna, cursor), "{}: {answer:#}", case.name);
                tried += 1;
            }
            continue;
        }
        let unknown = uuid::Uuid::from_u128(0x7000_8000_0000_0000_0007).to_string();
        // Twice, so that the second call finds what the first had to load for Boris.
        ask(&unknown).await;
        let (as_unknown, cost_unknown) = ask(&unknown).await;
        for id in anna.ids() {
            let (as_foreign, cost_foreign) = ask(id).await;
            assert_eq!(without(&as_foreign, id), without(&as_unknown, &unknown), "{}", case.name);
            assert!(!leaks(&as_foreign, &anna, id), "{}: {as_foreign:#}", case.name);
            assert!(cost_foreign.abs_diff(cost_unknown) <= 1, "{}: {cost_foreign} statements against {cost_unknown}", case.name);
            tried += 1;
        }
    }
    println!("{} places, {tried} tries", cases.len());
    // The opposite check: Boris' own ids give another answer, so the cases do reach the argument.
    let unknown = json!(uuid::Uuid::from_u128(7).to_string());
    let mut blind = Vec::new();
    for (n, case) in cases.iter().enumerate().filter(|(_, c)| !c.is_cursor()) {
        let (mut differs, mut last) = (false, String::new());
        for kind in 0..8 {
            let own = Own::of(&server, BORIS, &format!("Word{n}x{kind}")).await;
            let tried = own.ids()[kind];
            let of_none = server.graphql(BORIS, &case.query, case.variables(&schema, &own, &unknown)).await;
            let of_own = server.graphql(BORIS, &case.query, case.variables(&schema, &own, &json!(tried))).await;
            assert!(!of_own.to_string().contains("QUERY_TOO_COMPLEX"), "{}", case.name);
            last = without(&of_own, tried);
            differs |= last != without(&of_none, unknown.as_str().unwrap());
        }
        // Documents that wait for the parser have no chunks that a search could find, and cannot be compared.
        let needs_chunks = ["context(input.documentIds)", "compareDocuments(input.documentIds)"].contains(&case.name.as_str());
        if !differs && !needs_chunks {
            blind.push(format!("{}: {last}", case.name));
        }
    }
    assert!(blind.is_empty(), "{blind:?}");
    assert_eq!(state(&server, &anna.session).await, before, "Anna's memory changed");
}

/// Arguments below the root that take an id or a cursor, and how Boris reaches them.
const NESTED: &[(&str, &str)] = &[
    ("Document.chunks(after)", "document(id: $document) { chunks(after: $tried) { nodes { id text } } }"),
    ("Document.entities(after)", "document(id: $document) { entities(after: $tried) { nodes { id name } } }"),
    ("Document.questions(after)", "document(id: $document) { questions(after: $tried) { nodes { id text } } }"),
    ("Document.references(after)", "document(id: $document) { references(after: $tried) { nodes { id text } } }"),
    ("Entity.facts(after)", "entity(id: $entity) { facts(after: $tried) { nodes { id } } }"),
    ("Entity.mentions(after)", "entity(id: $entity) { mentions(after: $tried) { nodes { id text } } }"),
    ("Entity.notes(after)", "entity(id: $entity) { notes(after: $tried) { nodes { id } } }"),
    ("Fact.evidence(after)", "fact(id: $fact) { evidence(after: $tried) { nodes { excerpt message { id } } } }"),
    ("Topic.messages(after)", "topic(id: $topic) { messages(after: $tried) { nodes { id text } } }"),
    ("Session.facts(after)", "session(id: $session) { facts(after: $tried) { nodes { id } } }"),
    ("Session.messages(after)", "session(id: $session) { messages(first: 5, after: $tried) { nodes { id text } } }"),
    ("Session.messages(before)", "session(id: $session) { messages(last: 5, before: $tried) { nodes { id text } } }"),
];

#[tokio::test]
async fn foreign_cursors_reveal_nothing_in_nested_fields() {
    let server = Server::start().await;
    let schema = Schema::of(&server).await;
    let mut found = BTreeSet::new();
    for name in schema.0.keys().filter(|n| !["Query", "Mutation", "Subscription"].contains(&n.as_str())) {
        for field in schema.fields(name) {
            for argument in field["args"].as_array().unwrap() {
                let mut places = Vec::new();
                schema.places(argument, Vec::new(), &mut places);
                found.extend(places.iter().map(|p| format!("{name}.{}({})", text(&field["name"]), p.join("."))));
            }
        }
    }
    assert_eq!(found, NESTED.iter().map(|n| n.0.to_owned()).collect(), "an argument has no case here");
    let (anna, boris) = (Own::of(&server, ANNA, SECRET).await, Own::of(&server, BORIS, "Peter").await);
    for (name, query) in NESTED {
        for tried in anna.cursors.iter().map(String::as_str).chain(anna.ids()) {
            let declared = [
                ("document", &boris.document),
                ("entity", &boris.entity),
                ("fact", &boris.fact),
                ("session", &boris.session),
                ("topic", &boris.topic),
            ];
            let (variable, id) = declared.into_iter().find(|(n, _)| query.contains(&format!("${n}"))).unwrap();
            let query = format!("query(${variable}: ID!, $tried: String) {{ {query} }}");
            let answer = server.graphql(BORIS, &query, json!({ variable: id, "tried": tried })).await;
            assert!(!leaks(&answer, &anna, tried), "{name}: {answer:#}");
        }
    }
}

/// Whether an answer contains another user's data, except an echo of the tried value.
fn leaks(answer: &Value, owner: &Own, tried: &str) -> bool {
    let answer = answer.to_string();
    answer.contains(SECRET) || owner.ids().iter().any(|id| *id != tried && answer.contains(id))
}

/// Every route and how the sweep tries it.
const ROUTES: &[(&str, &str)] = &[
    ("/graphql", "by the schema"),
    ("/graphql/ws", "subscriptions"),
    ("/chat", "session_id, user_id, document_ids"),
    ("/context/{session_id}", "session_id"),
    ("/entity/resolve", "session_id"),
    ("/forget", "fact_ids, message_ids, entity_ids, session_id"),
    ("/sessions", "cursor"),
    ("/sessions/{session_id}/messages", "session_id, cursor"),
    ("/documents", "cursor"),
    ("/documents/{document_id}", "document_id"),
    ("/documents/{document_id}/original", "document_id"),
    ("/documents/{document_id}/chunks", "document_id, cursor"),
    ("/facts", "ids of the filter, cursor"),
    ("/entities", "session_id, cursor"),
    ("/signaling/{session_id}", "session_id"),
    ("/signaling/{session_id}/{peer_id}", "session_id, peer_id"),
    ("/sessions/{session_id}/events", "session_id, cursor"),
    ("/events", "cursor; api/memory_events"),
    ("/export", "takes no id"),
    ("/metrics", "takes no id"),
    ("/openapi.json", "takes no id"),
    ("/v1/responses", "chat ids name sessions of the caller only; openai/people"),
    ("/v1/chat/completions", "chat ids name sessions of the caller only; openai/people"),
    ("/v1/models", "takes no id"),
    ("/v1/models/{*model}", "takes the id of a model, which is not of a user"),
    ("/v1/embeddings", "takes no id"),
    ("/v1/memory", "chat ids name sessions of the caller only; openai/webui"),
    ("/healthz", "takes no id"),
    ("/readyz", "takes no id"),
    ("METADATA_PATH", "takes no id"),
    ("MCP_METADATA_PATH", "takes no id"),
    ("/mcp", "ids of facts, entities and sessions; mcp/isolation"),
    ("/auth/session", "takes no id"),
    ("/auth/login", "takes no id"),
    ("/auth/visit", "takes no id; auth/login/visits"),
    ("/auth/adopt", "takes no id but the secret of a cookie; auth/login/visits"),
    ("/auth/callback", "takes no id of this server; auth/login"),
    ("/auth/logout", "takes no id"),
    ("/auth/backchannel-logout", "takes no id of this server; auth/login"),
];

/// Returns the paths of all routes, as the code of the HTTP layer writes them.
pub(super) fn routes() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/api/src")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|e| e.unwrap().path()));
            continue;
        }
        let code = std::fs::read_to_string(path).unwrap();
        for (at, _) in code.match_indices(".route(") {
            let rest = code[at + ".route(".len()..].trim_start();
            let end = rest.find(',').unwrap();
            let route = rest[..end].trim().trim_matches('"').trim_start_matches("auth::").to_owned();
            // Routers in tests use this path.
            if route != "/" {
                found.insert(route);
            }
        }
    }
    found
}

#[test]
fn every_route_has_sweep_case() {
    assert_eq!(routes(), ROUTES.iter().map(|r| r.0.to_owned()).collect(), "a route has no case in the sweep");
}

#[tokio::test]
async fn foreign_id_equals_unknown_id_on_every_route() {
    let server = Server::start().await;
    let anna = Own::of(&server, ANNA, SECRET).await;
    let boris = Own::of(&server, BORIS, "Peter").await;
    let before = state(&server, &anna.session).await;
    let offer = |user: &str, session: &str| {
        server.post(user, &format!("/signaling/{session}")).header("content-type", "application/sdp").body(super::streams::OFFER)
    };
    let opened = offer(ANNA, &anna.session).send().await.unwrap();
    assert_eq!(opened.status(), 201);
    let peer = opened.headers()["location"].to_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let tag = opened.headers()["etag"].to_str().unwrap().to_owned();

    let unknown = uuid::Uuid::from_u128(7).to_string();
    let at = |session: &str, peer: &str| server.url(&format!("/signaling/{session}/{peer}"));
    let fragment = |url: String, tag: &str| {
        let request = server.http.patch(url).header("x-test-user", BORIS).header("if-match", tag);
        request.header("content-type", "application/trickle-ice-sdpfrag").body("a=ice-ufrag:bk0/\r\na=ice-pwd:vLwEpeo/+yqcZqPLT8hRnQhm\r\n")
    };
    let delete = |url: String| server.http.delete(url).header("x-test-user", BORIS);
    let post = |path: &str, body: Value| server.post(BORIS, path).json(&body);
    let chat = |session: &str| post("/chat", json!({ "session_id": session, "message": "Hello" }));
    let chat_about = |document: &str| post("/chat", json!({ "session_id": boris.session, "message": "Hello", "document_ids": [document] }));
    let resolve = |session: &str| post("/entity/resolve", json!({ "mention": SECRET, "session_id": session }));
    let forget = |kind: &str, id: &str| post("/forget", json!({ kind: [id], "dry_run": false }));
    let forget_session = |id: &str| post("/forget", json!({ "session_id": id, "dry_run": false }));
    let context = |session: &str| server.get(BORIS, &format!("/context/{session}?q=code&scope=session"));
    let messages = |session: &str| server.get(BORIS, &format!("/sessions/{session}/messages"));
    let list = |filter: &str, id: &str| server.get(BORIS, &format!("/{filter}={id}"));
    let document = |id: &str, rest: &str| server.get(BORIS, &format!("/documents/{id}{rest}"));
    let without_document = |id: &str, rest: &str| delete(server.url(&format!("/documents/{id}{rest}")));
    let events = |session: &str, after: &str| server.get(BORIS, &format!("/sessions/{session}/events?after={after}"));
    let head = anna.cursors.last().unwrap();
    let own_peer = peer.replace(|c: char| c.is_ascii_digit(), "0");
    for (name, foreign, as_unknown) in [
        ("chat", chat(&anna.session), chat(&unknown)),
        ("chat about a document", chat_about(&anna.document), chat_about(&unknown)),
        ("context", context(&anna.session), context(&unknown)),
        ("waiting chat", chat(&anna.session).header("prefer", "wait=1"), chat(&unknown).header("prefer", "wait=1")),
        ("messages", messages(&anna.session), messages(&unknown)),
        ("facts of a subject", list("facts?subject_id", &anna.entity), list("facts?subject_id", &unknown)),
        ("facts of an object", list("facts?object_id", &anna.entity), list("facts?object_id", &unknown)),
        ("facts of an entity", list("facts?entity_id", &anna.entity), list("facts?entity_id", &unknown)),
        ("facts of a session", list("facts?session_id", &anna.session), list("facts?session_id", &unknown)),
        ("entities of a session", list("entities?session_id", &anna.session), list("entities?session_id", &unknown)),
        ("resolve", resolve(&anna.session), resolve(&unknown)),
        ("forget a fact", forget("fact_ids", &anna.fact), forget("fact_ids", &unknown)),
        ("forget a message", forget("message_ids", &anna.message), forget("message_ids", &unknown)),
        ("forget an entity", forget("entity_ids", &anna.entity), forget("entity_ids", &unknown)),
        ("forget a session", forget_session(&anna.session), forget_session(&unknown)),
        ("document", document(&anna.document, ""), document(&unknown, "")),
        ("file", document(&anna.document, "/original"), document(&unknown, "/original")),
        ("chunks", document(&anna.document, "/chunks"), document(&unknown, "/chunks")),
        ("delete a document", without_document(&anna.document, ""), without_document(&unknown, "")),
        ("delete a file", without_document(&anna.document, "/original"), without_document(&unknown, "/original")),
        ("events of a document", events(&anna.document, "a:0"), events(&unknown, "a:0")),
        ("events", events(&anna.session, "a:0"), events(&unknown, "a:0")),
        ("events after a foreign cursor", events(&anna.session, head), events(&unknown, head)),
        ("offer", offer(BORIS, &anna.session), offer(BORIS, &unknown)),
        ("patch", fragment(at(&anna.session, &peer), &tag), fragment(at(&unknown, &own_peer), &tag)),
        ("patch with a wrong tag", fragment(at(&anna.session, &peer), "x"), fragment(at(&unknown, &own_peer), "x")),
        ("delete", delete(at(&anna.session, &peer)), delete(at(&unknown, &own_peer))),
    ] {
        let ask = async |request: reqwest::RequestBuilder| {
            let before = server.stored.statements().await;
            let answer = request.send().await.unwrap();
            let answer = (answer.status(), answer.text().await.unwrap());
            (answer, server.stored.statements().await - before)
        };
        // The first call does what happens only once, so its cost does not count.
        ask(as_unknown.try_clone().unwrap()).await;
        let ((foreign, cost_foreign), (as_unknown, cost_unknown)) = (ask(foreign).await, ask(as_unknown).await);
        assert_eq!(foreign, as_unknown, "{name}");
        assert!(cost_foreign.abs_diff(cost_unknown) <= 1, "{name}: {cost_foreign} statements against {cost_unknown}");
        assert!(!foreign.1.contains(&anna.fact) && !foreign.1.contains(&anna.entity), "{name}");
        let is_empty_list = foreign.1 == r#"{"items":[],"next":null}"#;
        assert!(name == "resolve" || is_empty_list || foreign.0 == 404, "{name}: {foreign:?}");
    }
    let boris_session = boris.session.as_str();
    let boris_chunks = format!("documents/{}/chunks", boris.document);
    for path in ["sessions", "facts", "entities", "documents", &boris_chunks, &format!("sessions/{boris_session}/messages")] {
        for cursor in &anna.cursors {
            let answer = server.get(BORIS, &format!("/{path}?after={cursor}")).send().await.unwrap().text().await.unwrap();
            assert!(!leaks(&json!(answer), &anna, cursor), "{path} after {cursor}: {answer}");
        }
    }
    let foreign_user = post("/chat", json!({ "user_id": ANNA, "message": "Hello" })).send().await.unwrap();
    let unknown_user = post("/chat", json!({ "user_id": unknown, "message": "Hello" })).send().await.unwrap();
    assert_eq!((foreign_user.status(), foreign_user.text().await.unwrap()), (unknown_user.status(), unknown_user.text().await.unwrap()));
    assert_eq!(state(&server, &anna.session).await, before, "Anna's memory changed");
    let closed = server.http.delete(at(&anna.session, &peer)).header("x-test-user", ANNA).send().await.unwrap();
    assert_eq!(closed.status(), 200, "Anna's connection was closed");
}

#[tokio::test]
async fn foreign_id_equals_unknown_id_in_every_subscription() {
    let server = Server::start().await;
    let schema = Schema::of(&server).await;
    let names: Vec<String> = schema.fields("Subscription").iter().map(|f| text(&f["name"])).collect();
    // `memoryEvents` takes no id, and its cursors have a case in `memory_events`.
    assert_eq!(names, ["sessionEvents", "memoryEvents"], "a new subscription has no case here");
    let anna = Own::of(&server, ANNA, SECRET).await;
    let head = anna.cursors.last().unwrap();
    let mut socket = super::streams::connect(&server, BORIS).await;
    let mut ask = async |id: &str, after: Option<&str>| {
        super::streams::follow(&mut socket, "1", id, after).await;
        let answer = super::streams::hear(&mut socket).await;
        assert_eq!(super::streams::hear(&mut socket).await["type"], "complete");
        answer
    };
    let unknown = uuid::Uuid::from_u128(7).to_string();
    for after in [None, Some(head.as_str()), Some("x:0")] {
        let as_unknown = ask(&unknown, after).await;
        for id in anna.ids() {
            let as_foreign = ask(id, after).await;
            assert_eq!(without(&as_foreign, id), without(&as_unknown, &unknown));
            assert!(as_foreign.to_string().contains("NOT_FOUND"), "{as_foreign}");
        }
    }
}
