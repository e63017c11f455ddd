//! Documents in a real Neo4j: written, cited, changed, deleted and rebuilt, apart for each user.

use std::collections::BTreeSet;

use recall_domain::{Caller, Document, UserId};
use recall_ports::GraphEngine;
use recall_projection::{Projection, compare};

use super::{
    super::{
        documents::{store_document, store_large, store_linking},
        forget,
        given::{World, at},
        topics::{PETS, TAXES, group_chunks},
        visits::visitor,
    },
    Folder,
    documents::{answered, chunks_of, citing, mention_in},
    service::Neo4jServer,
};

async fn folders() -> Vec<Folder> {
    [Some(Folder::new().await), Folder::postgres().await].into_iter().flatten().collect()
}

/// A store and a server that follows it.
struct Mirror<'s> {
    server: &'s Neo4jServer,
    folder: Folder,
    projection: Projection,
    feed: String,
}

impl<'s> Mirror<'s> {
    async fn of(folder: Folder, server: &'s Neo4jServer) -> Self {
        let projection = Projection::new(folder.feed(), server.graph());
        let feed = projection.prepare().await.unwrap();
        Self { server, folder, projection, feed }
    }

    /// Sends the changes of a user and compares both sides.
    async fn settle(&self, caller: &Caller) {
        self.projection.catch_up(&self.feed, caller).await.unwrap();
        assert_eq!(self.differences(caller).await, [""; 0]);
        let (here, there) = (self.folder.feed().size(caller).await.unwrap(), self.server.graph().size(caller).await.unwrap());
        assert_eq!(here, there, "store and graph count differently");
    }

    async fn differences(&self, caller: &Caller) -> Vec<String> {
        let mut found = Vec::new();
        compare(&self.projection, |d| found.push(d)).await.unwrap();
        found.into_iter().filter(|d| d.user == caller.user()).map(|d| format!("{} {}", d.kind, d.what)).collect()
    }

    /// Runs a query that begins at nodes of this user, written `(n)`.
    async fn names(&self, user: UserId, rest: &str) -> Vec<String> {
        self.server.names(&format!("MATCH (n {{user_id: '{user}'}}) WITH n {rest}")).await
    }

    /// The number of nodes of a user by label, without the checkpoint.
    async fn labels(&self, user: UserId) -> Vec<String> {
        let rest =
            "WHERE NOT n:Projection UNWIND labels(n) AS label WITH label, count(*) AS c RETURN label + ' ' + c AS name ORDER BY name";
        self.names(user, rest).await
    }
}

fn edge(from: &str, kind: &str, to: &str) -> String {
    format!("MATCH (n:{from})-[r:{kind}]->(m:{to}) RETURN DISTINCT n.id + ' ' + m.id AS name ORDER BY name")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_are_mirrored_with_chunks_links_and_citations() {
    let Some(server) = Neo4jServer::shared().await else { return };
    for folder in folders().await {
        let mirror = Mirror::of(folder, server).await;
        let (w, other) = (mirror.folder.world(), mirror.folder.world());
        let (user, theirs) = (w.caller.user(), other.caller.user());
        let document = store_document(&w).await;
        let chunks = chunks_of(&w, &document).await;
        let named = mention_in(&w, document.id.session(), chunks[1], "Ada").await;
        let told = answered(&w, vec![citing(&document, chunks[1], false)]).await;
        store_document(&other).await;
        for caller in [&w.caller, &other.caller] {
            mirror.settle(caller).await;
        }

        let found = async |from, kind, to| mirror.names(user, &edge(from, kind, to)).await;
        assert_eq!(found("User", "OWNS", "Document").await, [format!("{user} {}", document.id)]);
        assert_eq!(found("Entity", "MENTIONED_IN", "Chunk").await, [format!("{} {}", named.id, chunks[1])]);
        assert_eq!(found("Message", "REFERENCES", "Document").await, [format!("{} {}", told.answer.id, document.id)]);
        assert_eq!(found("Question", "ANSWERED_BY", "Document").await, [format!("{} {}", told.question.id, document.id)]);
        let contains = "MATCH (n:Document)-[r:CONTAINS]->(c:Chunk)
             RETURN r.position + ' ' + c.id + ' ' + c.first_page + ' ' + c.heading AS name ORDER BY name";
        let expected: Vec<_> = chunks.iter().enumerate().map(|(i, id)| format!("{i} {id} {} Section {}", i + 1, i / 3)).collect();
        assert_eq!(mirror.names(user, contains).await, expected);
        let links = "MATCH (n:Document)-[:LINKS_TO]->(x:Resource) RETURN x.uri AS name";
        assert_eq!(mirror.names(user, links).await, ["https://example.org/"]);
        let properties = "WHERE n:Document RETURN n.filename + ' ' + n.media_type + ' ' + n.status + ' ' + n.chunk_count AS name";
        assert_eq!(mirror.names(user, properties).await, ["a.txt text/plain processing 4"]);
        let texts = "UNWIND keys(n) AS key WITH n, key WHERE toStringOrNull(n[key]) STARTS WITH 'Chunk ' RETURN key AS name";
        assert_eq!(mirror.names(user, texts).await, [""; 0], "the graph has texts of chunks");

        // Each user has an own node of the same address, and nothing connects two users.
        assert_eq!(mirror.names(theirs, links).await, ["https://example.org/"]);
        let across = format!("MATCH (n {{user_id: '{user}'}})-[*1..4]-(m) WHERE m.user_id <> '{user}' RETURN m.user_id AS name LIMIT 1");
        assert_eq!(server.names(&across).await, [""; 0], "another user is reachable");
        let strays = server.graph().strays(10).await.unwrap();
        assert_eq!(strays, [], "{strays:?}");

        w.store.delete_session(&w.caller, document.id.session(), at(9), &|_, _| None).await.unwrap();
        mirror.settle(&w.caller).await;
        assert_eq!(mirror.labels(user).await, ["Message 2", "Question 1", "Session 1"]);
        assert_eq!(mirror.labels(theirs).await, ["Chunk 4", "Document 1", "Resource 1", "User 1"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_and_views_of_documents_are_mirrored() {
    let Some(server) = Neo4jServer::shared().await else { return };
    for folder in folders().await {
        let mirror = Mirror::of(folder, server).await;
        let w = mirror.folder.world();
        let user = w.caller.user();
        let (first, second) = (store_linking(&w, "1", &[]).await, store_linking(&w, "2", &[]).await);
        group_chunks(&w, first.id, &[("dog cat leash", PETS, &[0, 1, 2])]).await;
        group_chunks(&w, second.id, &[("cat dog", PETS, &[0, 1]), ("tax", TAXES, &[2])]).await;
        w.store.view_document(&w.caller, second.id, at(7)).await.unwrap();
        mirror.settle(&w.caller).await;
        let about = async || {
            let rest = "MATCH (n:Document)-[:BELONGS_TO]->(t:Topic) RETURN t.name + ' ' + n.id AS name ORDER BY name";
            mirror.names(user, rest).await
        };
        let views = "MATCH (n:User)-[v:VIEWED]->(d:Document) RETURN d.id + ' ' + v.at.epochMillis AS name";
        let pair = |name: &str, of: &Document| format!("{name} {}", of.id);
        let mut pets = vec![pair("dog cat leash", &first), pair("dog cat leash", &second)];
        pets.sort();
        pets.push(pair("tax", &second));
        assert_eq!(about().await, pets);
        assert_eq!(mirror.names(user, views).await, [format!("{} {}", second.id, at(7).timestamp_millis())]);
        let strays = server.graph().strays(10).await.unwrap();
        assert_eq!(strays, [], "{strays:?}");

        // A later view replaces the earlier one, and a document leaves a topic that it is no longer about.
        w.store.view_document(&w.caller, second.id, at(8)).await.unwrap();
        group_chunks(&w, second.id, &[("tax", TAXES, &[1, 2])]).await;
        mirror.settle(&w.caller).await;
        assert_eq!(about().await, [pair("dog cat leash", &first), pair("tax", &second)]);
        assert_eq!(mirror.names(user, views).await, [format!("{} {}", second.id, at(8).timestamp_millis())]);
        let plan = forget::plan(&w, first.id.session(), &[chunks_of(&w, &first).await[0]]).await;
        w.store.forget(&w.caller, &plan).await.unwrap();
        mirror.settle(&w.caller).await;
        assert_eq!(about().await, [pair("tax", &second)], "the graph has a name with words of a forgotten text");
        w.store.delete_session(&w.caller, second.id.session(), at(9), &|_, _| None).await.unwrap();
        mirror.settle(&w.caller).await;
        assert_eq!(mirror.labels(user).await, ["Chunk 3", "Document 1", "User 1"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resources_and_owner_stay_while_a_document_needs_them() {
    let Some(server) = Neo4jServer::shared().await else { return };
    for folder in folders().await {
        let mirror = Mirror::of(folder, server).await;
        let w = mirror.folder.world();
        let first = store_linking(&w, "1", &["https://a.example/", "https://both.example/", "https://a.example/"]).await;
        let second = store_linking(&w, "2", &["https://both.example/", "https://b.example/"]).await;
        mirror.settle(&w.caller).await;
        let links = async |of: &Document| {
            let rest = format!("MATCH (n:Document {{id: '{}'}})-[:LINKS_TO]->(x) RETURN x.uri AS name ORDER BY name", of.id);
            mirror.names(w.caller.user(), &rest).await
        };
        assert_eq!(links(&first).await, ["https://a.example/", "https://both.example/"]);
        assert_eq!(links(&second).await, ["https://b.example/", "https://both.example/"]);
        for (gone, left) in [(&first, vec!["Chunk 4", "Document 1", "Resource 2", "User 1"]), (&second, vec![])] {
            w.store.delete_session(&w.caller, gone.id.session(), at(9), &|_, _| None).await.unwrap();
            mirror.settle(&w.caller).await;
            assert_eq!(mirror.labels(w.caller.user()).await, left);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn citations_follow_forgetting_and_deletion_of_their_messages() {
    let Some(server) = Neo4jServer::shared().await else { return };
    for folder in folders().await {
        let mirror = Mirror::of(folder, server).await;
        let w = mirror.folder.world();
        let document = store_document(&w).await;
        let chunk = chunks_of(&w, &document).await[0];
        let told = answered(&w, vec![citing(&document, chunk, false)]).await;
        let kept = answered(&w, vec![citing(&document, chunk, false)]).await;
        mirror.settle(&w.caller).await;
        let cites = async || {
            let count = |kind| format!("MATCH (n)-[r:{kind}]->(:Document) RETURN n.id AS name");
            (
                mirror.names(w.caller.user(), &count("REFERENCES")).await.len(),
                mirror.names(w.caller.user(), &count("ANSWERED_BY")).await.len(),
            )
        };
        assert_eq!(cites().await, (2, 2));
        for hidden in [told.answer.id, told.question.id] {
            let plan = forget::plan(&w, told.session, &[hidden]).await;
            w.store.forget(&w.caller, &plan).await.unwrap();
            mirror.settle(&w.caller).await;
            assert_eq!(cites().await, if hidden == told.answer.id { (1, 1) } else { (2, 1) });
            w.store.restore_forgotten(&w.caller, &forget::undoing(&w, &plan).await).await.unwrap();
            mirror.settle(&w.caller).await;
            assert_eq!(cites().await, (2, 2));
        }
        w.store.delete_session(&w.caller, told.session, at(9), &|_, _| None).await.unwrap();
        mirror.settle(&w.caller).await;
        assert_eq!(cites().await, (1, 1));
        assert!(w.store.messages_by_id(&w.caller, &[kept.answer.id]).await.unwrap().len() == 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adopted_and_erased_documents_follow_their_owner() {
    let Some(server) = Neo4jServer::shared().await else { return };
    for folder in folders().await {
        let mirror = Mirror::of(folder, server).await;
        let account = mirror.folder.world();
        let (w, visit) = visitor(&mirror.folder.store, 100, 100).await;
        let document = store_document(&w).await;
        let chunks = chunks_of(&w, &document).await;
        mention_in(&w, document.id.session(), chunks[0], "Ada").await;
        group_chunks(&w, document.id, &[("dog", PETS, &[1, 2])]).await;
        answered(&w, vec![citing(&document, chunks[0], false)]).await;
        mirror.settle(&w.caller).await;
        let all = mirror.labels(w.caller.user()).await;
        assert!(all.contains(&"Document 1".to_owned()), "{all:?}");

        mirror.folder.store.adopt(&account.caller, visit.digest, at(1)).await.unwrap().unwrap();
        mirror.settle(&account.caller).await;
        assert_eq!(mirror.labels(account.caller.user()).await, all);
        while mirror.folder.store.erase(&w.caller, at(2), 3).await.unwrap().erasure.ended_at.is_none() {
            mirror.projection.catch_up(&mirror.feed, &w.caller).await.unwrap();
        }
        mirror.settle(&w.caller).await;
        assert_eq!(mirror.labels(w.caller.user()).await, [""; 0]);
        assert_eq!(mirror.labels(account.caller.user()).await, all);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comparison_finds_changed_documents_and_rebuild_repairs_them() {
    let Some(server) = Neo4jServer::start().await else { return };
    let mirror = Mirror::of(Folder::new().await, &server).await;
    let w = mirror.folder.world();
    let document = store_document(&w).await;
    let chunks = chunks_of(&w, &document).await;
    mention_in(&w, document.id.session(), chunks[0], "Ada").await;
    answered(&w, vec![citing(&document, chunks[0], false)]).await;
    group_chunks(&w, document.id, &[("dog", PETS, &[1, 2])]).await;
    w.store.view_document(&w.caller, document.id, at(7)).await.unwrap();
    mirror.projection.rebuild().await.unwrap();
    mirror.settle(&w.caller).await;
    let strays = async || server.graph().strays(10).await.unwrap().into_iter().map(|stray| stray.kind).collect::<Vec<_>>();
    for (by_hand, expected, stray) in [
        ("MATCH (d:Document) SET d.filename = 'x'", &["document different"][..], None),
        ("MATCH (d:Document) SET d.owner = 'x'", &["document different"], None),
        ("MATCH (:User)-[r:OWNS]->() DELETE r", &["document different"], Some("node")),
        ("MATCH (u:User) DETACH DELETE u", &["document different"], None),
        ("MATCH (x:Resource) SET x.uri = 'https://x.example/'", &["document different"], None),
        ("MATCH (:Document)-[r:LINKS_TO]->() DELETE r", &["document different"], Some("node")),
        (
            "MATCH (d:Document) DETACH DELETE d",
            &["chunk different", "document missing", "message different", "topic different"],
            Some("node"),
        ),
        ("MATCH (t:Topic) SET t.name = 'x'", &["topic different"], None),
        ("MATCH (t:Topic) SET t.size = 3", &["topic different"], None),
        ("MATCH (t:Topic) DETACH DELETE t", &["topic missing"], None),
        ("MATCH (d:Document) CREATE (:Topic {user_id: d.user_id, id: randomUUID(), name: 'x'})", &["topic extra"], None),
        ("MATCH (:Document)-[r:BELONGS_TO]->() DELETE r", &["topic different"], None),
        ("MATCH (:Document)-[r:BELONGS_TO]->() SET r.x = 1", &[], Some("relationship")),
        ("MATCH (:User)-[r:VIEWED]->() DELETE r", &["document different"], None),
        ("MATCH (:User)-[r:VIEWED]->() SET r.at = datetime()", &["document different"], None),
        ("MATCH (:User)-[r:VIEWED]->() SET r.x = 1", &[], Some("relationship")),
        ("MATCH (:Document)-[r:CONTAINS {position: 2}]->() SET r.position = 7", &["chunk different"], None),
        ("MATCH (:Document)-[r:CONTAINS {position: 2}]->() SET r.x = 7", &[], Some("relationship")),
        ("MATCH (c:Chunk) WITH c LIMIT 1 DETACH DELETE c", &["chunk missing"], None),
        ("MATCH (c:Chunk) WITH c LIMIT 1 SET c.text = 'x'", &["chunk different"], None),
        ("MATCH (:Entity)-[r:MENTIONED_IN]->(:Chunk) DELETE r", &["chunk different"], None),
        ("MATCH ()-[r:REFERENCES]->() DELETE r", &["message different"], None),
        ("MATCH ()-[r:ANSWERED_BY]->() DELETE r", &["message different"], None),
        ("MATCH (m:Question) REMOVE m:Question", &["message different"], None),
        ("MATCH (d:Document) CREATE (:Chunk {user_id: d.user_id, id: randomUUID()})", &["chunk extra"], None),
        ("MATCH (d:Document), (s:Session) CREATE (d)-[:OWNS]->(s)", &[], Some("relationship")),
        ("MATCH (u:User) SET u.name = 'x'", &[], Some("node")),
        ("MATCH (x:Resource) SET x.name = 'x'", &[], Some("node")),
        ("MATCH (c:Chunk) SET c:Message", &["message extra"], Some("node")),
    ] {
        server.rows(&format!("{by_hand} RETURN 1")).await;
        let found: BTreeSet<String> = mirror.differences(&w.caller).await.into_iter().collect();
        assert_eq!(found, expected.iter().map(|e| (*e).to_owned()).collect(), "{by_hand}");
        let found: BTreeSet<&str> = strays().await.into_iter().collect();
        assert_eq!(found, stray.into_iter().collect(), "{by_hand}");
        server.rows("MATCH (n) DETACH DELETE n RETURN 1").await;
        mirror.projection.rebuild().await.unwrap();
        mirror.settle(&w.caller).await;
        assert_eq!(strays().await, [""; 0], "{by_hand}");
    }
}

/// Random changes, which are sent in random portions, lead to the same graph as a rebuild.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn incremental_projection_of_random_documents_equals_store() {
    let Some(server) = Neo4jServer::shared().await else { return };
    for (folder, seed) in folders().await.into_iter().zip([3u64, 11]) {
        let mirror = Mirror::of(folder, server).await;
        assert_random_documents_are_projected(&mirror, seed).await;
    }
}

async fn assert_random_documents_are_projected(mirror: &Mirror<'_>, mut state: u64) {
    let w: World = mirror.folder.world();
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let (mut documents, mut told) = (Vec::new(), Vec::new());
    for round in 0..25 {
        match next(6) {
            0 if !documents.is_empty() => {
                let gone: Document = documents.remove(next(documents.len()));
                w.store.delete_session(&w.caller, gone.id.session(), at(9), &|_, _| None).await.unwrap();
            }
            1 if !told.is_empty() => {
                let gone: super::documents::Answered = told.remove(next(told.len()));
                w.store.delete_session(&w.caller, gone.session, at(9), &|_, _| None).await.unwrap();
            }
            2 if !told.is_empty() => {
                let one = &told[next(told.len())];
                let hidden = if next(2) == 0 { one.answer.id } else { one.question.id };
                let plan = forget::plan(&w, one.session, &[hidden]).await;
                w.store.forget(&w.caller, &plan).await.unwrap();
                if next(2) == 0 {
                    mirror.settle(&w.caller).await;
                }
                w.store.restore_forgotten(&w.caller, &forget::undoing(&w, &plan).await).await.unwrap();
            }
            3 | 4 if !documents.is_empty() => {
                let mut citations = Vec::new();
                for _ in 0..=next(2) {
                    let document = &documents[next(documents.len())];
                    citations.push(citing(document, chunks_of(&w, document).await[next(4)], false));
                }
                told.push(answered(&w, citations).await);
            }
            _ => {
                let link = format!("https://{}.example/", next(3));
                let document = store_linking(&w, &round.to_string(), &[&link, "https://all.example/"]).await;
                let chunk = chunks_of(&w, &document).await[next(4)];
                mention_in(&w, document.id.session(), chunk, &format!("Person {round}")).await;
                group_chunks(&w, document.id, &[(&format!("dog {round}"), PETS, &[0, next(2) + 1]), ("tax", TAXES, &[3])]).await;
                if next(2) == 0 {
                    w.store.view_document(&w.caller, document.id, at(round)).await.unwrap();
                }
                documents.push(document);
            }
        }
        if next(3) == 0 {
            mirror.settle(&w.caller).await;
        }
    }
    mirror.settle(&w.caller).await;
}

/// `cargo test --test integration measure_large_document_in_neo4j -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "prints figures"]
async fn measure_large_document_in_neo4j() {
    let Some(server) = Neo4jServer::start().await else { return };
    let mirror = Mirror::of(Folder::new().await, &server).await;
    let w = mirror.folder.world();
    let links: Vec<String> = (0..1_000).map(|n| format!("https://{n}.example/")).collect();
    let document = store_large(&w, "1", 50_000, &links.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let seconds = async |what: &str| {
        let started = std::time::Instant::now();
        let sent = mirror.projection.catch_up(&mirror.feed, &w.caller).await.unwrap();
        println!("{what}: {sent} changes in {:.1} s", started.elapsed().as_secs_f64());
    };
    seconds("written").await;
    let started = std::time::Instant::now();
    mirror.settle(&w.caller).await;
    println!("compared in {:.1} s", started.elapsed().as_secs_f64());
    w.store.delete_session(&w.caller, document.id.session(), at(9), &|_, _| None).await.unwrap();
    seconds("deleted").await;
    mirror.settle(&w.caller).await;
    assert_eq!(mirror.labels(w.caller.user()).await, [""; 0]);
}
