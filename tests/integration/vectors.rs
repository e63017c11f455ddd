//! Recall of vector search, compared with the exact result.
//! Covers the index in memory, and the store for users who are too large for it; a small version of
//! `benches/vectors`.

#[path = "../../benches/vectors/clusters.rs"]
mod clusters;

use std::sync::Arc;

use async_trait::async_trait;
use clusters::{Clusters, nearest};
use recall_domain::{
    Caller, EventId, MessageId, Role, SessionId, Timestamp, UserId, UserText, ViewerRole,
    context::{Method, Scope},
};
use recall_ports::{EmbedError, Embedder, Embedding, FollowUp, IndexEntry, IndexQuery, MessageIndex, NewMessage, Store};
use recall_retrieval::{RecallIndex, RecallIndexOptions, Tuning};
use sqlx::{AssertSqlSafe, Executor};
use uuid::Uuid;

use crate::{
    postgres::{Schema, patient},
    stored::Stored,
};

const MODEL: &str = "clusters";
const DIMENSION: usize = 256;
const COUNT: usize = 10;

struct Model;

#[async_trait]
impl Embedder for Model {
    fn model(&self) -> &str {
        MODEL
    }

    fn dimension(&self) -> usize {
        DIMENSION
    }

    async fn embed(&self, _: &[UserText]) -> Result<Vec<Embedding>, EmbedError> {
        Err(EmbedError::Permanent("there is none".into()))
    }
}

struct Person {
    caller: Caller,
    vectors: Vec<Vec<f32>>,
    ids: Vec<MessageId>,
}

async fn person(store: &Arc<dyn Store>, number: usize, count: usize, clusters: &mut Clusters) -> Person {
    let caller = Caller::verified(UserId(Uuid::now_v7()), ViewerRole::User);
    let session = store.create_session(&caller, SessionId(Uuid::now_v7()), None, "e".into(), Timestamp::default()).await.unwrap().id;
    let mut person = Person { caller, vectors: (0..count).map(|_| clusters.draw(number)).collect(), ids: Vec::new() };
    for chunk in person.vectors.chunks(1_000) {
        let message = |v: &Vec<f32>| NewMessage {
            id: MessageId(Uuid::now_v7()),
            session,
            role: Role::User,
            speaker: None,
            text: "Hello.".into(),
            sent_at: Timestamp::default(),
            created_at: Timestamp::default(),
            source_metadata: None,
            external_id: None,
            resources: Vec::new(),
            prepared: IndexEntry { terms: vec![], model: MODEL.into(), embedding: Embedding(v.clone()), further: vec![] },
            mining: FollowUp::Nothing,
            answer_from: Default::default(),
            kind: None,
            event: EventId(Uuid::now_v7()),
            title: None,
            answers: None,
        };
        let batch: Vec<NewMessage> = chunk.iter().map(message).collect();
        person.ids.extend(batch.iter().map(|m| m.id));
        store.append(&caller, session, batch).await.unwrap();
    }
    person
}

/// Draws queries with their exact nearest messages.
fn questions<'a>(people: &'a [Person], count: usize, clusters: &mut Clusters) -> Vec<(&'a Person, Vec<f32>, Vec<MessageId>)> {
    (0..count)
        .map(|q| {
            let person = &people[q % people.len()];
            let asked = clusters.draw(q % people.len());
            let exact = nearest(&person.vectors, &asked, COUNT).into_iter().map(|i| person.ids[i]).collect();
            (person, asked, exact)
        })
        .collect()
}

fn share(found: &[MessageId], exact: &[MessageId]) -> f64 {
    exact.iter().filter(|id| found.contains(id)).count() as f64 / exact.len() as f64
}

/// Returns the mean share of the exact nearest messages that a search finds.
async fn recall(store: &Arc<dyn Store>, budget_bytes: usize, questions: &[(&Person, Vec<f32>, Vec<MessageId>)]) -> f64 {
    // Only vectors influence the ranking, so that nothing else is measured.
    let tuning = Tuning { speaker: 0.0, neighbour: 0.0, graph: 0.0, names: 0.0, length: 0.0, asks: 0.0, ..Tuning::default() };
    let index = RecallIndex::new(store.clone(), &Model, RecallIndexOptions { budget_bytes, tuning });
    let mut sum = 0.0;
    for (person, asked, exact) in questions {
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
        let found: Vec<_> = index.search(&person.caller, &query).await.unwrap().hits.into_iter().map(|h| h.message).collect();
        sum += share(&found, exact);
    }
    sum / questions.len() as f64
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vector_search_finds_98_percent_of_exact_results() {
    for stored in Stored::all().await {
        let store = &stored.store;
        let mut clusters = Clusters::new(DIMENSION, 11);
        let mut many = Vec::new();
        for number in 0..50 {
            many.push(person(store, number, 200, &mut clusters).await);
        }
        let large = [person(store, 0, 20_500, &mut clusters).await];
        for (who, people, asked) in [("many", many.as_slice(), 100), ("one", large.as_slice(), 40)] {
            let questions = questions(people, asked, &mut clusters);
            for (way, budget) in [("in memory", usize::MAX), ("in the store", 1)] {
                let recall = recall(store, budget, &questions).await;
                assert!(recall >= 0.98, "{who}, {way}, {}: {recall}", store.engine());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approximate_index_is_never_used() {
    let Some(schema) = Schema::new().await else { return };
    let store: Arc<dyn Store> = Arc::new(schema.open(patient(), Timestamp::default()).await.unwrap());
    let mut clusters = Clusters::new(DIMENSION, 12);
    let mut people = Vec::new();
    for number in 0..50 {
        people.push(person(&store, number, 200, &mut clusters).await);
    }
    let mut connection = schema.connection().await;
    let index = format!(
        "CREATE INDEX approximate ON message_index USING hnsw ((embedding::vector({DIMENSION})) vector_cosine_ops); ANALYZE message_index"
    );
    connection.execute(AssertSqlSafe(index)).await.unwrap();
    let questions = questions(&people, 100, &mut clusters);
    // Queries by this index find the nearest messages of all users, and then drop those of others.
    connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off").await.unwrap();
    let mut by_it = 0.0;
    for (person, asked, exact) in &questions {
        let sql =
            format!("SELECT message_id FROM message_index WHERE user_id = $1 ORDER BY embedding::vector({DIMENSION}) <=> $2 LIMIT {COUNT}");
        let found: Vec<Uuid> = sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(person.caller.user().0)
            .bind(pgvector::Vector::from(asked.clone()))
            .fetch_all(&mut connection)
            .await
            .unwrap();
        let found: Vec<MessageId> = found.into_iter().map(MessageId).collect();
        by_it += share(&found, exact) / questions.len() as f64;
    }
    assert!(by_it < 0.9, "the data cannot show the fault of such an index: {by_it}");
    let kept = recall(&store, 1, &questions).await;
    assert!(kept >= 0.98, "{kept}");
}
