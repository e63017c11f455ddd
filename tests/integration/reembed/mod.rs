//! A change of the embedding model, with whoever asks meanwhile: at every moment a question finds what it found before.

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
use recall_answering::ExtractiveAnswerer;
use recall_api::streaming::{HubAnnouncer, LogSource};
use recall_domain::{
    Caller, MessageId, Ontology, Role, UserId, UserText, ViewerRole,
    context::{ContextQuery, Method, Scope},
};
use recall_embedding::{Beside, LocalEmbedder};
use recall_ports::{EmbedError, Embedder, Embedding, Store, VectorBacklog};
use recall_retrieval::{RecallIndex, RecallIndexOptions};
use recall_understand::{LocalExtractor, Pipeline, default_ontology};
use recall_usecases::{Conversation, Parts, SendMessage};
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

/// What is said as the `n`th message, and how it is asked for.
fn text(n: usize) -> String {
    format!("we saw a {} in {}", ANIMALS[n % 16], CITIES[n / 16 % 16])
}

/// Words thrown into bins; each model has another number of them. It fails once it has made so many vectors.
struct Bins {
    name: String,
    dimension: usize,
    left: AtomicI64,
}

impl Bins {
    fn new(dimension: usize, left: i64) -> Arc<Self> {
        Arc::new(Self { name: format!("bins/{dimension}"), dimension, left: AtomicI64::new(left) })
    }
}

#[async_trait]
impl Embedder for Bins {
    fn model(&self) -> &str {
        &self.name
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    async fn embed(&self, texts: &[UserText]) -> Result<Vec<Embedding>, EmbedError> {
        // Some time passes, so that whoever is interrupted is so in the middle.
        tokio::time::sleep(Duration::from_millis(1)).await;
        if self.left.fetch_sub(texts.len() as i64, Ordering::SeqCst) < texts.len() as i64 {
            return Err(EmbedError::Transient("it is used up".into()));
        }
        // Of one text that is said to be unbearable the model will have nothing.
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

/// A server's inside with an embedder, as a process of its own would have it.
fn server(store: &Arc<dyn Store>, embedder: Arc<dyn Embedder>, budget_bytes: usize) -> Conversation {
    let ontology = Arc::new(Ontology::parse(default_ontology()).unwrap());
    let hub = Hub::new(LogSource::new(store.clone()), HubConfig::default());
    let options = RecallIndexOptions { budget_bytes, ..RecallIndexOptions::default() };
    Conversation::new(Parts {
        store: store.clone(),
        index: Arc::new(RecallIndex::new(store.clone(), embedder.as_ref(), options)),
        extractor: Arc::new(LocalExtractor::new(Arc::new(Pipeline::new(ontology.clone())))),
        answerer: Arc::new(ExtractiveAnswerer::new(&ontology, LocalEmbedder::load().unwrap())),
        embedder,
        announcer: Arc::new(HubAnnouncer(hub)),
        ontology,
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds::default()),
        wake: Arc::new(Notify::new()),
        session_limits: recall_facts::SessionLimits::default(),
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

    async fn tell(&mut self, server: &Conversation, count: usize) {
        let session = server.create_session(&self.caller, None).await.unwrap().id;
        let say = |n: usize| SendMessage {
            session,
            text: text(n),
            role: Role::User,
            speaker: None,
            sent_at: None,
            source_metadata: None,
            client_message_id: None,
        };
        let batch = (self.messages.len()..self.messages.len() + count).map(say).collect();
        self.messages.extend(server.import(&self.caller, session, batch).await.unwrap().iter().map(|m| m.id));
    }

    /// The share of messages that are among the ten found for their words, and which ways found them.
    async fn recall(&self, server: &Conversation, methods: &[Method]) -> (f64, Vec<Method>) {
        let (mut found, mut asked, mut used) = (0, 0, Vec::new());
        for (n, id) in self.messages.iter().enumerate().filter(|(n, _)| n % 7 == 0 || *n + 4 > self.messages.len()) {
            let text = text(n).replace("we saw a ", "").into();
            let query =
                ContextQuery { text, scope: Scope::User, first: 10, methods: methods.to_vec(), as_of: None, exclude: None, shared: true };
            let context = server.context(&self.caller, query).await.unwrap();
            found += usize::from(context.messages.iter().any(|m| m.message.id == *id));
            asked += 1;
            used.extend(context.methods_used);
        }
        used.sort();
        used.dedup();
        (f64::from(u32::try_from(found).unwrap()) / f64::from(u32::try_from(asked).unwrap()), used)
    }

    async fn is_found_by_meaning(&self, server: &Conversation, when: &str) {
        let (recall, used) = self.recall(server, &[Method::Vector]).await;
        assert!(recall >= 0.98 && used == [Method::Vector], "{when}: {recall} by {used:?}");
    }

    async fn in_use(&self, store: &Arc<dyn Store>) -> Option<String> {
        store.feed_state(&self.caller).await.unwrap().model
    }
}

/// Rounds until nothing is left, each ended after a moment as if the process were killed.
async fn interrupted(store: &Arc<dyn Store>, embedder: &Arc<dyn Embedder>, mut between: impl AsyncFnMut()) {
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
    panic!("it does not come to an end");
}

async fn until_nothing(store: &Arc<dyn Store>, embedder: &Arc<dyn Embedder>) {
    let work = reembedder(store, embedder.clone());
    work.announce().await.unwrap();
    while work.round().await.unwrap() != Round::Nothing {}
    assert_eq!(store.vector_backlog(embedder.model()).await.unwrap(), VectorBacklog::default());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_find_as_much_at_every_moment_of_a_change() {
    for (stored, budget) in Stored::all().await.into_iter().zip([PLENTY, PLENTY]).chain(Stored::all().await.into_iter().zip([1, 1])) {
        let store = &stored.store;
        let local: Arc<dyn Embedder> = Arc::new(LocalEmbedder::load().unwrap());
        let first = server(store, local.clone(), budget);
        let (mut jane, mut joe) = (Person::new(), Person::new());
        jane.tell(&first, 150).await;
        joe.tell(&first, 20).await;
        jane.is_found_by_meaning(&first, "before").await;

        // To a server's model, which is used up after one page; then to another; then back; each in the middle of the one before.
        for (dimension, enough) in [(211, 70), (307, 130)] {
            let bins = Bins::new(dimension, enough);
            let beside: Arc<dyn Embedder> = Arc::new(Beside::new(bins.clone(), vec![local.clone()]));
            let second = server(store, beside.clone(), budget);
            let work = reembedder(store, beside);
            work.announce().await.unwrap();
            for _ in 0..3 {
                assert!(matches!(work.round().await, Err(RoundError::Embed(EmbedError::Transient(_))) | Ok(_)));
            }
            bins.left.store(i64::MAX, Ordering::SeqCst);
            jane.is_found_by_meaning(&second, "in the middle").await;
            jane.tell(&second, 3).await;
            jane.is_found_by_meaning(&second, "with new messages in the middle").await;
            jane.is_found_by_meaning(&first, "on a server that has the old model").await;
        }
        assert_eq!(jane.in_use(store).await.as_deref(), Some(local.model()));

        let bins: Arc<dyn Embedder> = Bins::new(211, i64::MAX);
        let beside: Arc<dyn Embedder> = Arc::new(Beside::new(bins, vec![local.clone()]));
        let second = server(store, beside.clone(), budget);
        let mut rest = 40;
        interrupted(store, &beside, async || {
            if rest > 0 {
                jane.tell(&second, 1).await;
                rest -= 1;
            }
            jane.is_found_by_meaning(&second, "interrupted").await;
        })
        .await;
        for person in [&jane, &joe] {
            assert_eq!(person.in_use(store).await.as_deref(), Some("bins/211"));
            person.is_found_by_meaning(&second, "after").await;
        }
        let feed = store.feed(&jane.caller, local.model(), 0, 1_000).await.unwrap();
        assert!(feed.len() > 150 && feed.iter().all(|row| row.embedding.is_empty()), "the old ones are gone");

        // A server without that model has words alone, says so, and compares no vectors of two models.
        let (recall, used) = jane.recall(&first, &[]).await;
        assert!(!used.contains(&Method::Vector), "{used:?}");
        assert!(budget == 1 || recall >= 0.98, "{recall}");
        assert_eq!(jane.recall(&first, &[Method::Vector]).await, (0.0, vec![]));
        jane.tell(&first, 1).await;
        until_nothing(store, &local).await;
        jane.is_found_by_meaning(&first, "back again").await;
        assert_eq!(jane.in_use(store).await.as_deref(), Some(local.model()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_the_model_refuses_keeps_nobody_from_it() {
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
        };
        first.send(&jane.caller, send).await.unwrap();
        let bins: Arc<dyn Embedder> = Bins::new(211, i64::MAX);
        until_nothing(store, &bins).await;
        jane.is_found_by_meaning(&server(store, bins, PLENTY), "after").await;

        // A model that refuses everything is not believed: nothing is changed.
        let wrong: Arc<dyn Embedder> = Arc::new(Refusing);
        let work = reembedder(store, wrong);
        work.announce().await.unwrap();
        assert!(matches!(work.round().await, Err(RoundError::Embed(EmbedError::Permanent(_)))));
        assert_eq!(store.vector_backlog("refusing").await.unwrap(), VectorBacklog { users: 1, messages: 11 });
    }
}

struct Refusing;

#[async_trait]
impl Embedder for Refusing {
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
async fn two_workers_share_users_and_make_no_vector_twice() {
    for stored in Stored::all().await {
        let store = &stored.store;
        let first = server(store, Arc::new(LocalEmbedder::load().unwrap()), PLENTY);
        let mut people = Vec::new();
        for _ in 0..6 {
            let mut person = Person::new();
            person.tell(&first, 100).await;
            people.push(person);
        }
        let bins = Bins::new(211, i64::MAX);
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
        until_nothing(store, &(bins.clone() as Arc<dyn Embedder>)).await;
        assert_eq!(i64::MAX - bins.left.load(Ordering::SeqCst), 600);
        let second = server(store, bins, PLENTY);
        for person in &people {
            person.is_found_by_meaning(&second, "after").await;
        }
    }
}
