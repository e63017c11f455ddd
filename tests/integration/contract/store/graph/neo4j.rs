//! The graph contract on Neo4j, which follows the store through the change feed.

use std::{sync::Arc, time::Instant};

use recall_domain::{Entity, Evidence, Stance};
use recall_graph_neo4j::Neo4jGraph;
use recall_ports::{ChangeFeed, GraphQueries, KnowledgeCommit, NeighbourQuery, PathQuery};
use recall_projection::{Projection, compare};

use super::{
    super::given::{entity, evidence, new_message},
    Answering, Folder, World,
    queries::graph_contract,
    service::{Neo4jServer, ontology},
    strong,
};

struct FollowingGraph {
    projection: Projection,
    graph: Arc<Neo4jGraph>,
    feed: String,
}

#[async_trait::async_trait]
impl Answering for FollowingGraph {
    fn queries(&self) -> Arc<dyn GraphQueries> {
        self.graph.clone()
    }
    async fn settle(&self, world: &World) {
        self.projection.catch_up(&self.feed, &world.caller).await.unwrap();
    }
}

async fn answering(folder: &Folder) -> Option<Box<dyn Answering>> {
    let server = Neo4jServer::shared().await?;
    let feed: Arc<dyn ChangeFeed> = folder.store.clone();
    let projection = Projection::new(feed, server.graph());
    let feed = projection.prepare().await.unwrap();
    Some(Box::new(FollowingGraph { projection, graph: server.graph(), feed }))
}

async fn folder() -> Option<Folder> {
    Some(Folder::new().await)
}

graph_contract!(folder, answering);

/// Commits this many entities, and facts between them, with evidence, a thousand at a time.
pub(super) async fn fill(w: &World, entities: usize, facts: usize, seed: usize) {
    let session = w.session().await;
    let message = w.append(new_message(session, "words")).await;
    let all: Vec<Entity> = (0..entities).map(|i| entity(&format!("Thing {seed}.{i}"))).collect();
    for part in all.chunks(1_000) {
        w.commit(KnowledgeCommit { entities: part.to_vec(), ..w.plan(session).await }).await;
    }
    let verbs: Vec<&str> = ontology().iter().map(|r| r.name.as_str()).collect();
    let of = |i: usize| {
        // Every pair once per relation; a few entities have many facts, as in real data.
        let (s, o) = (i * i % entities, (i * 7 + 1 + i / entities) % entities);
        strong(&all[s], verbs[i % verbs.len()], &all[o], 1.0 + (i % 5) as f64)
    };
    let mut seen = std::collections::HashSet::new();
    let facts: Vec<_> = (0..facts * 2).map(of).filter(|f| seen.insert((f.subject, f.relation.clone(), f.object))).take(facts).collect();
    for part in facts.chunks(1_000) {
        let evidence: Vec<Evidence> = part.iter().map(|f| evidence(f, &message, Stance::Supports)).collect();
        w.commit(KnowledgeCommit { facts: part.to_vec(), evidence, ..w.plan(session).await }).await;
    }
}

/// `cargo test --test integration measure_neo4j -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "prints figures"]
async fn measure_neo4j() {
    let Some(server) = Neo4jServer::start().await else { return };
    let folder = Folder::new().await;
    let w = folder.world();
    let (things, facts) = (20_000, 100_000);
    fill(&w, things, facts, 0).await;
    let projection = Projection::new(folder.feed(), server.graph());
    for run in ["the first", "a second"] {
        let started = Instant::now();
        let done = projection.rebuild().await.unwrap();
        let seconds = started.elapsed().as_secs_f64();
        println!("rebuild, {run} time: {} things, {seconds:.1} s, {:.0} facts/s", done.changes, facts as f64 / seconds);
    }
    let started = Instant::now();
    let mut differences = 0;
    let compared = compare(&projection, |_| differences += 1).await.unwrap();
    println!("check: {compared} things in {:.1} s, {differences} differences", started.elapsed().as_secs_f64());
    assert_eq!(differences, 0);

    let some = w.store.list_entities(&w.caller, &Default::default(), &recall_domain::Page::first(100)).await.unwrap();
    let some: Vec<_> = some.items.iter().map(|(_, e)| e.id).collect();
    let engines: [(&str, Arc<dyn GraphQueries>); 2] = [("sqlite", folder.graph()), ("neo4j", server.graph())];
    for (name, q) in engines {
        let (mut rings, mut ways) = (Vec::new(), Vec::new());
        for pair in some.windows(2) {
            let started = Instant::now();
            q.around(&w.caller, &NeighbourQuery { entity: pair[0], hops: 2, relations: vec![], first: 20 }).await.unwrap();
            rings.push(started.elapsed().as_secs_f64() * 1e3);
            let started = Instant::now();
            q.ways(&w.caller, &PathQuery { from: pair[0], to: pair[1], hops: 3, first: 10 }).await.unwrap();
            ways.push(started.elapsed().as_secs_f64() * 1e3);
        }
        for (what, mut times) in [("neighbours, 2 hops", rings), ("paths, 3 hops", ways)] {
            times.sort_by(f64::total_cmp);
            println!("{name}: {what}: p50 {:.1} ms, p95 {:.1} ms", times[times.len() / 2], times[times.len() * 95 / 100]);
        }
    }
}
