//! A change of the embedding model under queries: at every moment a query finds what it found before.

mod binary;
mod real;

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use recall::{
    app::reembed::{Pace, Reembedder, Round, RoundError},
    system::{RandomIds, SystemClock},
};
use recall_answering::{ExtractiveAnswerer, Networks};
use recall_api::event_log::{HubAnnouncer, LogSource};
use recall_comparing::AlignmentComparer;
use recall_domain::{
    Caller, MessageId, Ontology, Role, UserId, UserText, ViewerRole,
    context::{ContextQuery, Method, Scope},
};
use recall_embedding::{FallbackEmbedders, LocalEmbedder};
use recall_ports::{EmbedError, Embedder, Embedding, Store, VectorBacklog};
use recall_retrieval::{RecallIndex, RecallIndexOptions};
use recall_text::{SensitiveKind, SensitivePatterns};
use recall_understand::{LocalExtractor, Pipeline, default_ontology};
use recall_usecases::{Parts, RetentionTimes, SendMessage, UseCases};
use signaling::{Hub, HubConfig};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::{models::server::vector, stored::Stored};

const ANIMALS: [&str; 16] = [
    "horse", "spider", "penguin", "tiger", "rabbit", "salmon", "eagle", "snake", "donkey", "whale", "monkey", "goat", "owl", "bear", "fox",
    "duck",
];
const CITIES: [&str; 16] = [
    "Paris", "Tokyo", "Cairo", "Oslo", "Lima", "Dublin", "Madrid", "Vienna", "Boston", "Delhi", "Rome", "Athens", "Berlin", "Havana",
    "Seoul", "Prague",
];
const PLENTY: usize = 1 << 28;

/// The text of the `n`th message; a query is derived from it.
fn text(n: usize) -> String {
    format!("we saw a {} in {}", ANIMALS[n % 16], CITIES[n / 16 % 16])
}

/// Hashes words into bins; each model has another number of bins. It fails after `left` vectors.
struct BinEmbedder {
    name: String,
    dimension: usize,
    left: AtomicI64,
}

impl BinEmbedder {
    fn new(dimension: usize, left: i64) -> Arc<Self> {
        Arc::new(Self { name: format!("bins/{dimension}"), dimension, left: AtomicI64::new(left) })
    }
}

#[async_trait]
impl Embedder for BinEmbedder {
    fn model(&self) -> &str {
        &self.name
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    async fn embed(&self, texts: &[UserText]) -> Result<Vec<Embedding>, EmbedError> {
        // Takes some time, so that an interruption happens midway.
        tokio::time::sleep(Duration::from_millis(1)).await;
        if self.left.fetch_sub(texts.len() as i64, Ordering::SeqCst) < texts.len() as i64 {
            return Err(EmbedError::Transient("it is used up".into()));
        }
        // This embedder permanently refuses texts with this word.
        if texts.iter().any(|t| t.as_str().contains("unbearable")) {
            return Err(EmbedError::Permanent("refused".into()));
        }
        let unit = |v: Vec<f32>| {
            let norm = v.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-6);
            Embedding(v.into_iter().map(|x| x / norm).collect())
        };
        Ok(texts.iter().map(|t| unit(vector(t.as_str(), self.dimension))).collect())
    }
}

/// Builds the use cases of a server with this embedder, as a separate process would have them.
fn server(store: &Arc<dyn Store>, embedder: Arc<dyn Embedder>, budget_bytes: usize) -> UseCases {
    let ontology = Arc::new(Ontology::parse(default_ontology()).unwrap());
    let hub = Hub::new(LogSource::new(store.clone()), HubConfig::default());
    let options = RecallIndexOptions { budget_bytes, ..RecallIndexOptions::default() };
    UseCases::new(Parts {
        passages: None,
        store: store.clone(),
        index: Arc::new(RecallIndex::new(store.clone(), embedder.as_ref(), options)),
        extractor: Arc::new(LocalExtractor::new(Arc::new(Pipeline::new(ontology.clone())))),
        answerer: Arc::new(ExtractiveAnswerer::new(&ontology, LocalEmbedder::load().unwrap(), Networks::default())),
        comparer: Arc::new(AlignmentComparer::new(LocalEmbedder::load().unwrap())),
        embedder,
        announcer: Arc::new(HubAnnouncer(hub)),
        ontology,
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds::default()),
        wake: Arc::new(Notify::new()),
        session_limits: recall_facts::SessionLimits::default(),
        never_stored: Arc::new(SensitivePatterns::new(SensitiveKind::ALL, &[]).unwrap()),
        retention: RetentionTimes::default(),
        documents: None,
    })
}

fn reembedder(store: &Arc<dyn Store>, embedder: Arc<dyn Embedder>) -> Reembedder {
    let pace = Pace { lease: Duration::from_millis(300), pause: Duration::ZERO, gentle: false };
    Reembedder::new(store.clone(), embedder, Arc::new(SystemClock), pace)
}

struct Person {
    caller: Caller,
    messages: Vec<MessageId>,
}

impl Person {
    fn new() -> Self {
        Self { caller: Caller::verified(UserId(Uuid::now_v7()), ViewerRole::User), messages: Vec::new() }
    }

    async fn tell(&mut self, server: &UseCases, count: usize) {
        let session = server.create_session(&self.caller, None).await.unwrap().id;
        let say = |n: usize| SendMessage {
            session,
            text: text(n),
            role: Role::User,
            speaker: None,
            sent_at: None,
            source_metadata: None,
            client_message_id: None,
            resources: Vec::new(),
            answer_from: Default::default(),
        };
        let batch = (self.messages.len()..self.messages.len() + count).map(say).collect();
        self.messages.extend(server.import(&self.caller, session, batch).await.unwrap().iter().map(|m| m.id));
    }

    /// Returns the share of messages among the ten results for their words, and the methods used.
    async fn recall(&self, server: &UseCases, methods: &[Method]) -> (f64, Vec<Method>) {
        let (mut found, mut asked, mut used) = (0, 0, Vec::new());
        for (n, id) in self.messages.iter().enumerate().filter(|(n, _)| n % 7 == 0 || *n + 4 > self.messages.len()) {
            let text = text(n).replace("we saw a ", "").into();
            let query = ContextQuery {
                text,
                scope: Scope::User,
                first: 10,
                sources: recall_domain::context::SearchSources::default(),
                methods: methods.to_vec(),
                route: None,
                as_of: None,
                exclude: None,
                shared: true,
                waits: false,
            };
            let context = server.context(&self.caller, query).await.unwrap();
            found += usize::from(context.messages.iter().any(|m| m.message.id == *id));
            asked += 1;
            used.extend(context.methods_used);
        }
        used.sort();
        used.dedup();
        (f64::from(u32::try_from(found).unwrap()) / f64::from(u32::try_from(asked).unwrap()), used)
    }

    async fn assert_found_by_meaning(&self, server: &UseCases, when: &str) {
        let (recall, used) = self.recall(server, &[Method::Vector]).await;
        assert!(recall >= 0.98 && used == [Method::Vector], "{when}: {recall} by {used:?}");
    }

    async fn in_use(&self, store: &Arc<dyn Store>) -> Option<String> {
        store.feed_state(&self.caller).await.unwrap().model
    }
}

/// Runs rounds until nothing is left; each is interrupted after a moment, as if the process were killed.
async fn reembed_with_interruptions(store: &Arc<dyn Store>, embedder: &Arc<dyn Embedder>, mut between: impl AsyncFnMut()) {
    let mut moment = 3;
    for _ in 0..2_000 {
        let work = reembedder(store, embedder.clone());
        work.announce().await.unwrap();
        if let Ok(done) = tokio::time::timeout(Duration::from_millis(moment), work.round()).await {
            done.unwrap();
        }
        between().await;
        moment = moment % 40 + 7;
        if store.vector_backlog(embedder.model()).await.unwrap() == VectorBacklog::default() {
            return;
        }
    }
    panic!("the change does not finish");
}

async fn reembed_completely(store: &Arc<dyn Store>, embedder: &Arc<dyn Embedder>) {
    let work = reembedder(store, embedder.clone());
    work.announce().await.unwrap();
    while work.round().await.unwrap() != Round::Nothing {}
    assert_eq!(store.vector_backlog(embedder.model()).await.unwrap(), VectorBacklog::default());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_find_as_much_throughout_model_change() {
    for (stored, budget) in Stored::all().await.into_iter().zip([PLENTY, PLENTY]).chain(Stored::all().await.into_iter().zip([1, 1])) {
        let store = &stored.store;
        let local: Arc<dyn Embedder> = Arc::new(LocalEmbedder::load().unwrap());
        let first = server(store, local.clone(), budget);
        let (mut jane, mut joe) = (Person::new(), Person::new());
        jane.tell(&first, 150).await;
        joe.tell(&first, 20).await;
        jane.assert_found_by_meaning(&first, "before").await;

        // Changes to a model that fails after one page, then to another, then back; each starts midway in the one
        // before.
        for (dimension, enough) in [(211, 70), (307, 130)] {
            let bins = BinEmbedder::new(dimension, enough);
            let beside: Arc<dyn Embedder> = Arc::new(FallbackEmbedders::new(bins.clone(), vec![local.clone()]));
            let second = server(store, beside.clone(), budget);
            let work = reembedder(store, beside);
            work.announce().await.unwrap();
            for _ in 0..3 {
                assert!(matches!(work.round().await, Err(RoundError::Embed(EmbedError::Transient(_))) | Ok(_)));
            }
            bins.left.store(i64::MAX, Ordering::SeqCst);
            jane.assert_found_by_meaning(&second, "in the middle").await;
            jane.tell(&second, 3).await;
            jane.assert_found_by_meaning(&second, "with new messages in the middle").await;
            jane.assert_found_by_meaning(&first, "on a server that has the old model").await;
        }
        assert_eq!(jane.in_use(store).await.as_deref(), Some(local.model()));

        let bins: Arc<dyn Embedder> = BinEmbedder::new(211, i64::MAX);
        let beside: Arc<dyn Embedder> = Arc::new(FallbackEmbedders::new(bins, vec![local.clone()]));
        let second = server(store, beside.clone(), budget);
        let mut rest = 40;
        reembed_with_interruptions(store, &beside, async || {
            if rest > 0 {
                jane.tell(&second, 1).await;
                rest -= 1;
            }
            jane.assert_found_by_meaning(&second, "interrupted").await;
        })
        .await;
        for person in [&jane, &joe] {
            assert_eq!(person.in_use(store).await.as_deref(), Some("bins/211"));
            person.assert_found_by_meaning(&second, "after").await;
        }
        let feed = store.feed(&jane.caller, local.model(), 0, 1_000).await.unwrap();
        assert!(feed.len() > 150 && feed.iter().all(|row| row.embedding.is_empty()), "old vectors are left");

        // A server without that model searches by words only, reports this, and never compares vectors of two models.
        let (recall, used) = jane.recall(&first, &[]).await;
        assert!(!used.contains(&Method::Vector), "{used:?}");
        assert!(budget == 1 || recall >= 0.98, "{recall}");
        assert_eq!(jane.recall(&first, &[Method::Vector]).await, (0.0, vec![]));
        jane.tell(&first, 1).await;
        reembed_completely(store, &local).await;
        jane.assert_found_by_meaning(&first, "back again").await;
        assert_eq!(jane.in_use(store).await.as_deref(), Some(local.model()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_text_does_not_block_model_change() {
    for stored in Stored::all().await {
        let store = &stored.store;
        let local: Arc<dyn Embedder> = Arc::new(LocalEmbedder::load().unwrap());
        let first = server(store, local.clone(), PLENTY);
        let mut jane = Person::new();
        let session = first.create_session(&jane.caller, None).await.unwrap().id;
        jane.tell(&first, 10).await;
        let send = SendMessage {
            session,
            text: "This is unbearable.".into(),
            role: Role::User,
            speaker: None,
            sent_at: None,
            source_metadata: None,
            client_message_id: None,
            resources: Vec::new(),
            answer_from: Default::default(),
        };
        first.send(&jane.caller, send).await.unwrap();
        let bins: Arc<dyn Embedder> = BinEmbedder::new(211, i64::MAX);
        reembed_completely(store, &bins).await;
        jane.assert_found_by_meaning(&server(store, bins, PLENTY), "after").await;

        // A model that refuses everything changes nothing.
        let wrong: Arc<dyn Embedder> = Arc::new(RefusingEmbedder);
        let work = reembedder(store, wrong);
        work.announce().await.unwrap();
        assert!(matches!(work.round().await, Err(RoundError::Embed(EmbedError::Permanent(_)))));
        assert_eq!(store.vector_backlog("refusing").await.unwrap(), VectorBacklog { users: 1, messages: 11 });
    }
}

struct RefusingEmbedder;

#[async_trait]
impl Embedder for RefusingEmbedder {
    fn model(&self) -> &str {
        "refusing"
    }

    fn dimension(&self) -> usize {
        2
    }

    async fn embed(&self, _: &[UserText]) -> Result<Vec<Embedding>, EmbedError> {
        Err(EmbedError::Permanent("the key is wrong".into()))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workers_share_users_without_duplicate_work() {
    for stored in Stored::all().await {
        let store = &stored.store;
        let first = server(store, Arc::new(LocalEmbedder::load().unwrap()), PLENTY);
        let mut people = Vec::new();
        for _ in 0..6 {
            let mut person = Person::new();
            person.tell(&first, 100).await;
            people.push(person);
        }
        let bins = BinEmbedder::new(211, i64::MAX);
        let pace = Pace { lease: Duration::from_secs(60), pause: Duration::ZERO, gentle: false };
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let work = Reembedder::new(store.clone(), bins.clone(), Arc::new(SystemClock), pace);
                tokio::spawn(async move { while work.round().await.unwrap() != Round::Nothing {} })
            })
            .collect();
        reembedder(store, bins.clone()).announce().await.unwrap();
        for worker in workers {
            worker.await.unwrap();
        }
        reembed_completely(store, &(bins.clone() as Arc<dyn Embedder>)).await;
        assert_eq!(i64::MAX - bins.left.load(Ordering::SeqCst), 600);
        let second = server(store, bins, PLENTY);
        for person in &people {
            person.assert_found_by_meaning(&second, "after").await;
        }
    }
}
