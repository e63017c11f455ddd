//! An engine that is behind, down, wiped, or of another store.
//! The engine is in memory, so that the tests control every fault.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use recall_domain::{Caller, Entity, Stance};
use recall_ports::{GraphEngine, GraphQueries, NeighbourQuery};
use recall_projection::{GraphReader, GraphStatus, Projection, Projector, compare};

use super::{
    super::given::{World, at, entity, evidence, fact},
    Folder, know,
    memory::MemoryEngine,
};

const TIMEOUT: Duration = Duration::from_secs(60);

struct Pair {
    folder: Folder,
    engine: Arc<MemoryEngine>,
    projection: Projection,
}

impl Pair {
    async fn new() -> Self {
        Self::over(Folder::new().await)
    }

    fn over(folder: Folder) -> Self {
        let engine = Arc::new(MemoryEngine::default());
        let projection = Projection::new(folder.feed(), engine.clone());
        Self { folder, engine, projection }
    }

    async fn differences(&self) -> Vec<String> {
        let mut all = Vec::new();
        compare(&self.projection, |d| all.push(d.to_string())).await.unwrap();
        all
    }

    async fn catch_up(&self, w: &World) -> u64 {
        let feed = self.projection.prepare().await.unwrap();
        self.projection.catch_up(&feed, &w.caller).await.unwrap()
    }

    fn reader(&self, within: Duration) -> GraphReader {
        GraphReader::new(self.projection.clone(), self.engine.clone(), self.folder.graph(), within)
    }

    async fn until_equal(&self) {
        let started = Instant::now();
        while !self.differences().await.is_empty() {
            assert!(started.elapsed() < TIMEOUT, "{:?}", self.differences().await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test]
async fn known_changes_are_not_sent_again() {
    let pair = Pair::new().await;
    let w = pair.folder.world();
    let known = w.john_likes_mary().await;
    assert_eq!(pair.catch_up(&w).await, 5);
    assert_eq!(pair.catch_up(&w).await, 0);
    assert_eq!(pair.differences().await, [""; 0]);
    know(&w, known.session, &[&entity("Bob")], &[]).await;
    let differences = pair.differences().await;
    assert!(differences.len() == 2 && differences[0].contains("is missing"), "{differences:?}");
    assert!(differences[1].ends_with("checkpoint is behind in the graph"), "{differences:?}");
    assert_eq!(pair.catch_up(&w).await, 1);
    assert_eq!(pair.differences().await, [""; 0]);
}

#[tokio::test]
async fn incremental_projection_of_random_history_equals_store() {
    assert_random_history_is_projected(Pair::new().await).await;
}

async fn assert_erasure_empties_graph(pair: Pair) {
    let (w, other) = (pair.folder.world(), pair.folder.world());
    for w in [&w, &other] {
        w.john_likes_mary().await;
        pair.catch_up(w).await;
    }
    assert_ne!(pair.engine.size(&w.caller).await.unwrap(), (0, 0));
    let neighbours = pair.engine.size(&other.caller).await.unwrap();
    w.store.begin_erasure(&w.caller, at(0)).await.unwrap();
    // The projector runs between the steps.
    while w.store.erase(&w.caller, at(0), 3).await.unwrap().erasure.ended_at.is_none() {
        pair.catch_up(&w).await;
    }
    pair.catch_up(&w).await;
    assert_eq!(pair.engine.size(&w.caller).await.unwrap(), (0, 0));
    assert_eq!(pair.engine.size(&other.caller).await.unwrap(), neighbours);
    assert_eq!(pair.differences().await, [""; 0]);
    w.john_likes_mary().await;
    pair.catch_up(&w).await;
    assert_eq!(pair.differences().await, [""; 0], "the projection stopped");
}

#[tokio::test]
async fn erased_user_leaves_nothing_in_graph() {
    assert_erasure_empties_graph(Pair::new().await).await;
}

#[tokio::test]
async fn erased_postgres_user_leaves_nothing_in_graph() {
    if let Some(folder) = Folder::postgres().await {
        assert_erasure_empties_graph(Pair::over(folder)).await;
    }
}

#[tokio::test]
async fn incremental_projection_of_random_postgres_history_equals_store() {
    if let Some(folder) = Folder::postgres().await {
        assert_random_history_is_projected(Pair::over(folder)).await;
    }
}

async fn assert_random_history_is_projected(pair: Pair) {
    let w = pair.folder.world();
    let mut state = 7u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let mut sessions = vec![w.session().await];
    let mut people: Vec<Entity> = Vec::new();
    for round in 0..60 {
        match next(5) {
            0 => sessions.push(w.session().await),
            1 if sessions.len() > 1 => {
                let gone = sessions.remove(next(sessions.len()));
                w.store.delete_session(&w.caller, gone, at(9), &|f, left| (!left.is_empty()).then(|| f.clone())).await.unwrap();
                let ids: Vec<_> = people.iter().map(|p| p.id).collect();
                let left = w.store.entities_by_id(&w.caller, &ids).await.unwrap();
                people.retain(|p| left.iter().any(|l| l.id == p.id));
            }
            _ => {
                let session = sessions[next(sessions.len())];
                let message = w.note(session, "words").await;
                let new = entity(&format!("Person {round}"));
                let mut plan = recall_ports::KnowledgeCommit { entities: vec![new.clone()], ..w.plan(session).await };
                if let Some(other) = (!people.is_empty()).then(|| people[next(people.len())].clone()) {
                    let f = fact(&new, "KNOWS", &other);
                    plan.evidence = vec![evidence(&f, &message, Stance::Supports)];
                    plan.facts = vec![f];
                }
                w.commit(plan).await;
                people.push(new);
            }
        }
        if next(3) == 0 {
            pair.catch_up(&w).await;
            assert_eq!(pair.differences().await, [""; 0], "after round {round}");
        }
    }
}

#[tokio::test]
async fn batch_without_confirmation_is_applied_once() {
    let pair = Pair::new().await;
    let w = pair.folder.world();
    w.john_likes_mary().await;
    let feed = pair.projection.prepare().await.unwrap();
    pair.engine.unconfirmed.store(1, Ordering::SeqCst);
    assert!(pair.projection.catch_up(&feed, &w.caller).await.is_err());
    assert_eq!(pair.projection.catch_up(&feed, &w.caller).await.unwrap(), 0);
    assert_eq!(pair.differences().await, [""; 0]);
}

#[tokio::test]
async fn graph_of_another_store_or_newer_state_is_rebuilt() {
    let pair = Pair::new().await;
    let w = pair.folder.world();
    w.john_likes_mary().await;
    pair.catch_up(&w).await;
    let feed = pair.projection.prepare().await.unwrap();
    let head = pair.engine.position(&w.caller).unwrap();

    pair.engine.begin(&w.caller, "another feed").await.unwrap();
    assert_eq!(pair.catch_up(&w).await, 5);
    // The store was restored from a backup, so the graph is ahead of it.
    let ahead = recall_ports::GraphBatch { after: head, upto: head + 100, ..Default::default() };
    pair.engine.apply(&w.caller, &feed, &ahead).await.unwrap();
    assert_eq!(pair.catch_up(&w).await, 5);
    assert_eq!(pair.differences().await, [""; 0]);
}

#[tokio::test]
async fn rebuild_removes_unknown_users_from_graph() {
    let pair = Pair::new().await;
    let (w, stranger) = (pair.folder.world(), pair.folder.world());
    w.john_likes_mary().await;
    let other = Pair::new().await;
    let foreign = World { caller: stranger.caller, ..other.folder.world() };
    foreign.john_likes_mary().await;
    Projection::new(other.folder.feed(), pair.engine.clone()).rebuild().await.unwrap();
    assert_eq!(pair.differences().await.len(), 12, "not 5 missing, 5 extra and both checkpoints");
    let done = pair.projection.rebuild().await.unwrap();
    assert_eq!((done.users, done.changes), (1, 5));
    assert_eq!(pair.differences().await, [""; 0]);
}

#[tokio::test]
async fn projector_recovers_from_downtime_refusal_and_wipe() {
    let pair = Pair::new().await;
    let w = pair.folder.world();
    let known = w.john_likes_mary().await;
    pair.engine.down.store(true, Ordering::SeqCst);
    let reader = pair.reader(TIMEOUT);
    let projector = Projector::start(pair.projection.clone(), reader.missed(), Arc::default());
    pair.folder.feed().start().await.unwrap();
    know(&w, known.session, &[&entity("Bob")], &[]).await;
    pair.engine.down.store(false, Ordering::SeqCst);
    pair.until_equal().await;

    // The engine goes down and up while the projector runs.
    pair.engine.down.store(true, Ordering::SeqCst);
    know(&w, known.session, &[&entity("Cleo")], &[]).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    pair.engine.down.store(false, Ordering::SeqCst);
    pair.until_equal().await;

    // The engine refuses a batch, so the graph of that user is rebuilt.
    pair.engine.refusing.store(1, Ordering::SeqCst);
    know(&w, known.session, &[&entity("Dan")], &[]).await;
    pair.until_equal().await;

    // The graph is wiped unnoticed until the next query.
    pair.engine.forget();
    let around = NeighbourQuery { entity: known.john.id, hops: 1, relations: vec![], first: 10 };
    assert_eq!(reader.around(&w.caller, &around).await.unwrap().len(), 1, "the store does not answer meanwhile");
    pair.until_equal().await;
    projector.shutdown(TIMEOUT).await;
}

async fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < TIMEOUT, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn damaged_graph_heals_without_writes_or_queries() {
    let pair = Pair::new().await;
    let users = [pair.folder.world(), pair.folder.world(), pair.folder.world()];
    for w in &users {
        w.john_likes_mary().await;
    }
    let status = Arc::new(GraphStatus::default());
    let projector = Projector::start(pair.projection.clone(), Arc::default(), status.clone());
    pair.until_equal().await;
    let size = pair.engine.size(&users[0].caller).await.unwrap();
    let damage: [(&str, &dyn Fn()); 3] = [
        ("all is wiped", &|| pair.engine.forget()),
        ("one user is gone", &|| pair.engine.forget_one(&users[1].caller)),
        ("one user lost everything but the checkpoint", &|| pair.engine.hollow(&users[2].caller)),
    ];
    for (what, damage) in damage {
        damage();
        for w in &users {
            let started = Instant::now();
            while pair.engine.size(&w.caller).await.unwrap() != size {
                assert!(started.elapsed() < TIMEOUT, "{what}");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        pair.until_equal().await;
        wait_until(what, || status.behind() == 0).await;
    }
    projector.shutdown(TIMEOUT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comparison_during_writes_reports_only_real_damage() {
    let pair = Arc::new(Pair::new().await);
    let w = pair.folder.world();
    let known = w.john_likes_mary().await;
    let projector = Projector::start(pair.projection.clone(), Arc::default(), Arc::default());
    pair.until_equal().await;
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let writing = tokio::spawn({
        let (stop, w) = (stop.clone(), w.clone());
        async move {
            for round in 0.. {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                know(&w, known.session, &[&entity(&format!("Person {round}"))], &[]).await;
            }
        }
    });
    for _ in 0..6 {
        assert_eq!(pair.differences().await, [""; 0]);
    }
    stop.store(true, Ordering::SeqCst);
    writing.await.unwrap();
    projector.shutdown(TIMEOUT).await;
    pair.engine.hollow(&w.caller);
    assert!(pair.differences().await.len() >= 5);
}

#[tokio::test]
async fn unwritable_graph_of_one_user_does_not_block_others() {
    let pair = Pair::new().await;
    let (bad, good) = (pair.folder.world(), pair.folder.world());
    pair.folder.feed().start().await.unwrap();
    bad.john_likes_mary().await;
    // Refused at first, and again after the rebuild.
    pair.engine.refusing.store(2, Ordering::SeqCst);
    let status = Arc::new(GraphStatus::default());
    let projector = Projector::start(pair.projection.clone(), pair.reader(TIMEOUT).missed(), status.clone());
    let at_head = async |caller: &Caller| pair.engine.position(caller) == Some(pair.folder.feed().head(caller).await.unwrap());
    let started = Instant::now();
    while pair.engine.refusing.load(Ordering::SeqCst) > 0 {
        assert!(started.elapsed() < TIMEOUT);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    good.john_likes_mary().await;
    while !at_head(&good.caller).await {
        assert!(started.elapsed() < TIMEOUT);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!at_head(&bad.caller).await);
    wait_until("it is told that a graph is behind", || status.behind() == 1).await;
    projector.shutdown(TIMEOUT).await;
}

#[tokio::test]
async fn engine_answers_only_when_current_and_fast() {
    let pair = Pair::new().await;
    let w = pair.folder.world();
    let known = w.john_likes_mary().await;
    let around = NeighbourQuery { entity: known.john.id, hops: 1, relations: vec![], first: 10 };
    let asked = || pair.engine.asked.load(Ordering::SeqCst);

    let reader = pair.reader(TIMEOUT);
    assert_eq!(reader.around(&w.caller, &around).await.unwrap().len(), 1);
    assert_eq!(asked(), 0, "an empty engine was asked");
    pair.catch_up(&w).await;
    assert_eq!(reader.around(&w.caller, &around).await.unwrap(), [], "the engine in memory was not used");
    assert_eq!(asked(), 1);
    know(&w, known.session, &[&entity("Bob")], &[]).await;
    assert_eq!(reader.around(&w.caller, &around).await.unwrap().len(), 1);
    assert_eq!(asked(), 1, "an engine that is behind was asked");
    pair.catch_up(&w).await;
    pair.engine.moving.store(true, Ordering::SeqCst);
    assert_eq!(reader.around(&w.caller, &around).await.unwrap().len(), 1, "an answer that spans two states was used");
    assert_eq!(asked(), 2);
    pair.engine.moving.store(false, Ordering::SeqCst);
    pair.engine.forget();
    pair.catch_up(&w).await;

    // A small limit only where the engine is slow on purpose: a busy machine is slow, too.
    let reader = pair.reader(Duration::from_millis(50));
    pair.engine.slow.store(true, Ordering::SeqCst);
    assert_eq!(reader.around(&w.caller, &around).await.unwrap().len(), 1, "the store does not answer instead");
    pair.engine.slow.store(false, Ordering::SeqCst);
    assert_eq!(reader.around(&w.caller, &around).await.unwrap().len(), 1);
    assert_eq!(asked(), 2, "the slow engine was asked again at once");

    let reader = pair.reader(TIMEOUT);
    pair.engine.down.store(true, Ordering::SeqCst);
    assert_eq!(reader.around(&w.caller, &around).await.unwrap().len(), 1);
    assert_eq!(reader.ways(&w.caller, &between(&known.john, &known.mary)).await.unwrap().len(), 1);
    assert_eq!(reader.shared(&w.caller, known.john.id, known.mary.id, 10).await.unwrap(), []);
}

fn between(from: &Entity, to: &Entity) -> recall_ports::PathQuery {
    recall_ports::PathQuery { from: from.id, to: to.id, hops: 1, first: 10 }
}
