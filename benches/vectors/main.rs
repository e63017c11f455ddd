//! Recall and speed of vector search: `cargo bench --bench vectors [-- --database-url postgres://… --questions N
//! --small]`.
//! 50 users with 2,000 vectors each, and one with 200,000; prints lines of JSON, times in milliseconds.
//!
//! Measures both paths of production: the index in memory, and the store for users who are too large for it.

mod clusters;

use std::{path::Path, sync::Arc, time::Instant};

use clusters::{Clusters, nearest};
use recall_domain::{
    Caller, EventId, MessageId, Role, SessionId, Timestamp, UserId, UserText, ViewerRole,
    context::{Method, Scope},
};
use recall_ports::{EmbedError, Embedder, Embedding, FollowUp, IndexEntry, IndexQuery, MessageIndex, NewMessage, Store};
use recall_retrieval::{RecallIndex, RecallIndexOptions, Tuning};
use recall_store_postgres::{PostgresConfig, PostgresStore};
use recall_store_sqlite::{SqliteConfig, SqliteStore};
use uuid::Uuid;

const MODEL: &str = "clusters";
const COUNT: usize = 10;

/// Only names the model; nothing embeds with it.
struct Model(usize);

#[async_trait::async_trait]
impl Embedder for Model {
    fn model(&self) -> &str {
        MODEL
    }

    fn dimension(&self) -> usize {
        self.0
    }

    async fn embed(&self, _: &[UserText]) -> Result<Vec<Embedding>, EmbedError> {
        Err(EmbedError::Permanent("there is none".into()))
    }
}

fn message(session: SessionId, embedding: Vec<f32>) -> NewMessage {
    NewMessage {
        id: MessageId(Uuid::now_v7()),
        session,
        role: Role::User,
        speaker: None,
        text: "I went hiking with Mary in the Alps last weekend.".into(),
        sent_at: Timestamp::default(),
        created_at: Timestamp::default(),
        source_metadata: None,
        external_id: None,
        resources: Vec::new(),
        prepared: IndexEntry {
            terms: ["went", "hike", "mari", "alp", "last", "weekend"].map(|t| (t.to_owned(), 1)).to_vec(),
            model: MODEL.into(),
            embedding: Embedding(embedding),
            further: vec![],
        },
        mining: FollowUp::Nothing,
        answer_from: recall_domain::context::SearchSources::default(),
        kind: None,
        event: EventId(Uuid::now_v7()),
        title: None,
        answers: None,
    }
}

/// Only vectors influence the ranking, so that nothing else is measured.
fn meaning_alone() -> Tuning {
    Tuning { speaker: 0.0, neighbour: 0.0, graph: 0.0, names: 0.0, length: 0.0, asks: 0.0, ..Tuning::default() }
}

struct Person {
    caller: Caller,
    vectors: Vec<Vec<f32>>,
    ids: Vec<MessageId>,
}

async fn people(store: &Arc<dyn Store>, users: usize, each: usize, clusters: &mut Clusters) -> anyhow::Result<Vec<Person>> {
    let mut people = Vec::new();
    for user in 0..users {
        let caller = Caller::verified(UserId(Uuid::now_v7()), ViewerRole::User);
        let mut person = Person { caller, vectors: (0..each).map(|_| clusters.draw(user)).collect(), ids: Vec::new() };
        for chunk in person.vectors.chunks(500) {
            let session = store.create_session(&caller, SessionId(Uuid::now_v7()), None, "e".into(), Timestamp::default()).await?.id;
            let batch: Vec<NewMessage> = chunk.iter().map(|v| message(session, v.clone())).collect();
            person.ids.extend(batch.iter().map(|m| m.id));
            store.append(&caller, session, batch).await?;
        }
        people.push(person);
    }
    Ok(people)
}

async fn measure(
    store: &Arc<dyn Store>,
    users: usize,
    each: usize,
    dimension: usize,
    questions: usize,
) -> anyhow::Result<serde_json::Value> {
    let mut clusters = Clusters::new(dimension, 7);
    let people = people(store, users, each, &mut clusters).await?;
    let mut all = serde_json::Map::new();
    for (name, budget_bytes) in [("in memory", usize::MAX), ("in the store", 1)] {
        let index = RecallIndex::new(store.clone(), &Model(dimension), RecallIndexOptions { budget_bytes, tuning: meaning_alone() });
        let (mut found, mut times, mut store_times) = (0, Vec::new(), Vec::new());
        for q in 0..questions {
            let Some(person) = people.get(q % users) else { continue };
            let asked = clusters.draw(q % users);
            let exact = nearest(&person.vectors, &asked, COUNT);
            let query = IndexQuery {
                text: "".into(),
                embedding: Some(Embedding(asked.clone())),
                model: MODEL.into(),
                scope: Scope::User,
                sources: recall_ports::IndexSources::default(),
                first: COUNT,
                methods: vec![Method::Vector],
                until: None,
                exclude: None,
                boosts: vec![],
                second: None,
            };
            if q < users {
                // The index is built at the first use.
                index.search(&person.caller, &query).await?;
            }
            let started = Instant::now();
            let hits = index.search(&person.caller, &query).await?.hits;
            times.push(started.elapsed().as_secs_f64() * 1e3);
            found += exact.iter().filter(|i| hits.iter().any(|h| h.message == person.ids[**i])).count();
            if budget_bytes == 1 {
                let started = Instant::now();
                store.nearest(&person.caller, MODEL, &Embedding(asked), None, 400).await?;
                store_times.push(started.elapsed().as_secs_f64() * 1e3);
            }
        }
        let mut figures = serde_json::json!({ "recall@10": found as f64 / (questions * COUNT) as f64, "search": percentiles(times) });
        if !store_times.is_empty() {
            figures["nearest 400 alone"] = percentiles(store_times);
        }
        all.insert(name.into(), figures);
    }
    Ok(all.into())
}

/// 50th and 99th percentile.
fn percentiles(mut times: Vec<f64>) -> serde_json::Value {
    times.sort_by(f64::total_cmp);
    let at = |q: f64| times.get(((times.len().saturating_sub(1)) as f64 * q) as usize);
    serde_json::json!({ "p50": at(0.5), "p99": at(0.99) })
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let after = |flag: &str| args.iter().position(|a| a == flag).and_then(|i| args.get(i + 1));
    let url = after("--database-url");
    let questions = after("--questions").map_or(Ok(200), |n| n.parse())?;
    let small = args.iter().any(|a| a == "--small");
    let folder = tempfile::TempDir::new_in(Path::new("."))?;
    let now = Timestamp::default();
    let store: Arc<dyn Store> = match url {
        None => Arc::new(SqliteStore::open(&folder.path().join("bench.sqlite"), SqliteConfig::default(), now).await?),
        Some(url) => Arc::new(PostgresStore::open(url, PostgresConfig::default(), now).await?),
    };
    for (users, each, dimension) in if small { [(50, 200, 256), (1, 22_000, 384)] } else { [(50, 2_000, 256), (1, 200_000, 384)] } {
        let measured = measure(&store, users, each, dimension, questions).await?;
        println!("{}", serde_json::json!({ format!("{users} x {each}, {dimension} dimensions, {}", store.engine()): measured }));
    }
    store.close().await;
    Ok(())
}
