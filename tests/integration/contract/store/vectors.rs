//! A change of the embedding model: searches lose nothing at any step, and workers do not undo each other's work.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use recall_domain::{MessageId, SessionId};
use recall_ports::{Embedding, IndexEntry, NewMessage, Replaced, Store, VectorBacklog, VectorClaim, VectorStep};

use super::given::{LEASE, MODEL, World, at, fresh, new_message};

const NEXT: &str = "test-model-2";
const PAUSE: Duration = Duration::from_secs(60);

/// Returns a vector whose length depends on the model.
fn vector(model: &str, n: usize) -> Embedding {
    let angle = n as f32 * 0.1;
    let mut v = vec![angle.cos(), angle.sin()];
    v.resize(if model == MODEL { 2 } else { 3 }, 0.0);
    Embedding(v)
}

fn embedded(session: SessionId, model: &str, n: usize, further: &[&str]) -> NewMessage {
    let further = further.iter().map(|m| ((*m).to_owned(), vector(m, n))).collect();
    let prepared = IndexEntry { terms: vec![], model: model.into(), embedding: vector(model, n), further };
    NewMessage { prepared, ..new_message(session, &format!("m{n}")) }
}

impl World {
    async fn told(&self, count: usize) -> Vec<MessageId> {
        let session = self.session().await;
        let mut all = Vec::new();
        for n in 0..count {
            all.push(self.append(embedded(session, MODEL, n, &[])).await.id);
        }
        all
    }

    /// Claims vectors of this user; claims of other tests' users in the same store are over.
    async fn claim_for(&self, model: &str, ms: i64) -> Option<VectorClaim> {
        let claim = self.store.claim_vectors(model, at(ms), LEASE).await.unwrap()?;
        assert_eq!(claim.caller.user(), self.caller.user());
        Some(claim)
    }

    async fn missing(&self, model: &str) -> Vec<MessageId> {
        let found = self.store.without_vector(&self.caller, model, 0, 1_000).await.unwrap();
        found.into_iter().map(|m| m.message).collect()
    }

    /// Makes vectors for these messages, whose text contains their number.
    async fn make(&self, claim: &VectorClaim, model: &str, messages: &[MessageId]) -> VectorStep {
        let found = self.store.without_vector(&self.caller, model, 0, 1_000).await.unwrap();
        let wanted = found.iter().filter(|m| messages.contains(&m.message));
        let vectors = wanted.map(|m| (m.message, vector(model, m.text.as_str()[1..].parse().unwrap()))).collect();
        self.store.keep_vectors(claim, model, vectors, at(0), LEASE).await.unwrap()
    }

    async fn replace_all(&self, claim: &VectorClaim, model: &str) {
        let mut after = None;
        loop {
            match self.store.replace_vectors(claim, model, after, 2, at(0), LEASE).await.unwrap() {
                Replaced::UpTo(message) => after = Some(message),
                Replaced::All => return,
                Replaced::NotOurs => panic!("the claim was lost"),
            }
        }
    }

    /// Returns the messages that vector search finds; the feed and `nearest` must agree, without duplicates.
    async fn seen(&self, model: &str) -> BTreeSet<MessageId> {
        let feed = self.store.feed(&self.caller, model, 0, 1_000).await.unwrap();
        let with: BTreeSet<_> = feed.iter().filter(|r| !r.embedding.is_empty()).map(|r| r.message).collect();
        let near = self.store.nearest(&self.caller, model, &vector(model, 1), None, 1_000).await.unwrap();
        assert_eq!(near.len(), with.len());
        assert_eq!(near.iter().map(|(m, _)| *m).collect::<BTreeSet<_>>(), with);
        let mut in_sessions = BTreeSet::new();
        for session in feed.iter().map(|r| r.session).collect::<BTreeSet<_>>() {
            let near = self.store.nearest(&self.caller, model, &vector(model, 1), Some(session), 1_000).await.unwrap();
            in_sessions.extend(near.into_iter().map(|(m, _)| m));
        }
        assert_eq!(in_sessions, with);
        with
    }

    async fn in_use(&self) -> Option<String> {
        self.store.feed_state(&self.caller).await.unwrap().model
    }
}

fn set(messages: &[MessageId]) -> BTreeSet<MessageId> {
    messages.iter().copied().collect()
}

pub(super) async fn first_message_sets_embedding_model_of_user(store: Arc<dyn Store>) {
    let w = World::new(&store);
    assert_eq!(w.in_use().await, None);
    let all = w.told(2).await;
    assert_eq!(w.in_use().await.as_deref(), Some(MODEL));
    store.want_model(MODEL).await.unwrap();
    assert_eq!(w.claim_for(MODEL, 0).await, None, "there is nothing to do");
    assert_eq!(store.vector_backlog(MODEL).await.unwrap(), VectorBacklog::default());
    assert_eq!(store.vector_backlog(NEXT).await.unwrap(), VectorBacklog { users: 1, messages: 2 });
    // Another process has another model already, or still.
    let session = w.session().await;
    let other = w.append(embedded(session, NEXT, 7, &[])).await.id;
    assert_eq!(w.in_use().await.as_deref(), Some(MODEL));
    assert_eq!((w.seen(MODEL).await, w.missing(MODEL).await), (set(&all), vec![other]));
    let claim = w.claim_for(MODEL, 0).await.expect("a missing vector is not claimed");
    assert_eq!((claim.in_use.as_deref(), claim.head), (Some(MODEL), 3));
}

pub(super) async fn old_vectors_serve_until_new_ones_are_complete(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let all = w.told(5).await;
    store.want_model(NEXT).await.unwrap();
    let before = store.feed_state(&w.caller).await.unwrap();
    let claim = w.claim_for(NEXT, 0).await.unwrap();
    assert_eq!((claim.in_use.as_deref(), claim.head), (Some(MODEL), 5));
    let newest_first: Vec<_> = all.iter().rev().copied().collect();
    assert_eq!(w.missing(NEXT).await, newest_first);
    assert_eq!(store.without_vector(&w.caller, NEXT, 1, 3).await.unwrap().len(), 2);
    assert_eq!(w.make(&claim, NEXT, &newest_first[..2]).await, VectorStep::Done);
    assert_eq!(w.make(&claim, NEXT, &newest_first[..2]).await, VectorStep::Done, "a repeated step changed something");
    assert_eq!((w.seen(MODEL).await, w.seen(NEXT).await), (set(&all), set(&newest_first[..2])));
    assert_eq!(store.feed_state(&w.caller).await.unwrap(), before);
    assert_eq!(store.vector_backlog(NEXT).await.unwrap(), VectorBacklog { users: 1, messages: 3 });
    assert_eq!(store.use_vectors(&claim, NEXT, 0, at(0), PAUSE).await.unwrap(), VectorStep::Incomplete(5));

    w.make(&claim, NEXT, &all).await;
    assert_eq!(store.use_vectors(&claim, NEXT, 5, at(0), PAUSE).await.unwrap(), VectorStep::Done);
    let after = store.feed_state(&w.caller).await.unwrap();
    assert_eq!(after.model.as_deref(), Some(NEXT));
    assert!(after.generation > before.generation, "indexes of the old vectors are still valid");
    // A search that began before ends with the old vectors, which nothing removes meanwhile.
    assert_eq!(w.claim_for(NEXT, 59_999).await, None);
    assert_eq!((w.seen(MODEL).await, w.seen(NEXT).await), (set(&all), set(&all)));

    let claim = w.claim_for(NEXT, 60_000).await.unwrap();
    let step = store.replace_vectors(&claim, NEXT, None, 2, at(0), LEASE).await.unwrap();
    assert!(matches!(step, Replaced::UpTo(_)), "{step:?}");
    assert_eq!((w.seen(MODEL).await.len(), w.seen(NEXT).await), (3, set(&all)));
    w.replace_all(&claim, NEXT).await;
    assert_eq!((w.seen(MODEL).await, w.seen(NEXT).await), (set(&[]), set(&all)));
    assert_eq!(store.settle_vectors(&claim, NEXT, 5).await.unwrap(), VectorStep::Done);
    assert_eq!(store.vector_backlog(NEXT).await.unwrap(), VectorBacklog::default());
    assert_eq!(w.claim_for(NEXT, 1_000_000).await, None);
    assert_eq!(store.feed_state(&w.caller).await.unwrap(), after, "the search results changed");
}

pub(super) async fn new_message_is_found_by_both_models_during_change(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let mut all = w.told(3).await;
    store.want_model(NEXT).await.unwrap();
    let session = w.session().await;
    all.push(w.append(embedded(session, NEXT, 3, &["a-third", MODEL])).await.id);
    assert_eq!((w.seen(MODEL).await, w.seen(NEXT).await), (set(&all), set(&all[3..])));
    assert!(w.seen("a-third").await.is_empty(), "a vector of an unused model is stored");
    let claim = w.claim_for(NEXT, 0).await.unwrap();
    w.make(&claim, NEXT, &all).await;
    assert_eq!(store.use_vectors(&claim, NEXT, 4, at(0), Duration::ZERO).await.unwrap(), VectorStep::Done);
    all.push(w.append(embedded(session, NEXT, 4, &[MODEL])).await.id);
    w.replace_all(&claim, NEXT).await;
    assert_eq!(store.settle_vectors(&claim, NEXT, 4).await.unwrap(), VectorStep::Done);
    assert_eq!((w.seen(MODEL).await, w.seen(NEXT).await), (set(&[]), set(&all)));
}

pub(super) async fn late_message_delays_use_of_new_vectors(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let mut all = w.told(3).await;
    store.want_model(NEXT).await.unwrap();
    let claim = w.claim_for(NEXT, 0).await.unwrap();
    w.make(&claim, NEXT, &all).await;
    // From a process with the old model.
    let session = w.session().await;
    all.push(w.append(embedded(session, MODEL, 3, &[])).await.id);
    assert_eq!(store.use_vectors(&claim, NEXT, 3, at(0), PAUSE).await.unwrap(), VectorStep::Incomplete(4));
    w.make(&claim, NEXT, &all).await;
    assert_eq!(store.use_vectors(&claim, NEXT, 4, at(0), Duration::ZERO).await.unwrap(), VectorStep::Done);
    let late = w.append(embedded(session, MODEL, 4, &[])).await.id;
    w.replace_all(&claim, NEXT).await;
    assert_eq!(store.settle_vectors(&claim, NEXT, 4).await.unwrap(), VectorStep::Incomplete(5));
    assert_eq!(w.missing(NEXT).await, [late]);
    w.make(&claim, NEXT, &[late]).await;
    assert_eq!(store.use_vectors(&claim, NEXT, 5, at(0), Duration::ZERO).await.unwrap(), VectorStep::Done);
    w.replace_all(&claim, NEXT).await;
    assert_eq!(store.settle_vectors(&claim, NEXT, 5).await.unwrap(), VectorStep::Done);
    all.push(late);
    assert_eq!((w.seen(MODEL).await, w.seen(NEXT).await), (set(&[]), set(&all)));
    // One more after the end: there is work again.
    w.append(embedded(session, MODEL, 5, &[])).await;
    assert!(w.claim_for(NEXT, 0).await.is_some());
}

pub(super) async fn one_worker_holds_user_and_late_worker_writes_nothing(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let all = w.told(3).await;
    store.want_model(NEXT).await.unwrap();
    let late = w.claim_for(NEXT, 0).await.unwrap();
    assert_eq!(w.claim_for(NEXT, 29_999).await, None);
    // Each page extends the lease.
    store.keep_vectors(&late, NEXT, vec![], at(20_000), LEASE).await.unwrap();
    assert_eq!(w.claim_for(NEXT, 49_999).await, None);
    let claim = w.claim_for(NEXT, 50_000).await.expect("the lease did not expire");
    assert_eq!(w.make(&late, NEXT, &all).await, VectorStep::NotOurs);
    assert!(w.seen(NEXT).await.is_empty());
    w.make(&claim, NEXT, &all).await;
    assert_eq!(store.use_vectors(&late, NEXT, 3, at(0), PAUSE).await.unwrap(), VectorStep::NotOurs);
    assert_eq!(store.use_vectors(&claim, NEXT, 3, at(0), Duration::ZERO).await.unwrap(), VectorStep::Done);
    assert_eq!(store.replace_vectors(&late, NEXT, None, 9, at(0), LEASE).await.unwrap(), Replaced::NotOurs);
    assert_eq!(store.settle_vectors(&late, NEXT, 3).await.unwrap(), VectorStep::NotOurs);
    store.release_vectors(&late).await.unwrap();
    let again = w.claim_for(NEXT, 0).await.expect("the pause did not end");
    assert_eq!(w.claim_for(NEXT, 0).await, None);
    store.release_vectors(&again).await.unwrap();
    assert!(w.claim_for(NEXT, 0).await.is_some());
}

pub(super) async fn last_wanted_embedding_model_wins(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let all = w.told(4).await;
    store.want_model(NEXT).await.unwrap();
    let claim = w.claim_for(NEXT, 0).await.unwrap();
    w.make(&claim, NEXT, &all[2..]).await;
    // The wanted model changes twice midway: to a third, and back to the first.
    store.want_model("a-third").await.unwrap();
    assert_eq!(w.make(&claim, NEXT, &all).await, VectorStep::NotOurs);
    assert_eq!(store.use_vectors(&claim, NEXT, 4, at(0), PAUSE).await.unwrap(), VectorStep::NotOurs);
    assert_eq!(w.claim_for(NEXT, 1_000_000).await, None, "an older process took it");
    let claim = w.claim_for("a-third", 1_000_000).await.unwrap();
    w.make(&claim, "a-third", &all[..1]).await;
    let session = w.session().await;
    let came = w.append(embedded(session, "a-third", 4, &[MODEL])).await.id;
    assert_eq!(w.seen(MODEL).await.len(), 5);
    store.want_model(MODEL).await.unwrap();
    let claim = w.claim_for(MODEL, 2_000_000).await.unwrap();
    assert_eq!(w.missing(MODEL).await, [], "{came} came with both");
    w.replace_all(&claim, MODEL).await;
    assert_eq!(store.settle_vectors(&claim, MODEL, 5).await.unwrap(), VectorStep::Done);
    assert_eq!(w.seen(MODEL).await.len(), 5);
    assert!(w.seen(NEXT).await.is_empty() && w.seen("a-third").await.is_empty(), "vectors of abandoned models are left");
}

pub(super) async fn deletion_during_model_change_leaves_no_vector(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let gone = w.told(3).await;
    let stays = w.told(2).await;
    store.want_model(NEXT).await.unwrap();
    let claim = w.claim_for(NEXT, 0).await.unwrap();
    w.make(&claim, NEXT, &gone[..1]).await;
    let session = store.messages_by_id(&w.caller, &gone[..1]).await.unwrap()[0].session;
    store.delete_session(&w.caller, session, at(9), &|_, _| None).await.unwrap();
    let vectors = [gone[1], stays[0], MessageId(fresh())].map(|m| (m, vector(NEXT, 0))).to_vec();
    assert_eq!(store.keep_vectors(&claim, NEXT, vectors, at(0), LEASE).await.unwrap(), VectorStep::Done);
    assert_eq!(w.seen(NEXT).await, set(&stays[..1]));
    w.make(&claim, NEXT, &stays).await;
    assert_eq!(store.use_vectors(&claim, NEXT, 5, at(0), Duration::ZERO).await.unwrap(), VectorStep::Done);
    assert_eq!(w.seen(NEXT).await, set(&stays));
}
