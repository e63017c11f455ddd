//! Visitors without a login: lifetime, quota, and adoption of a visit by an account.

use std::{collections::BTreeSet, sync::Arc};

use crate::planned::Finish;
use recall_domain::{
    Adopted, Caller, Day, Entity, EntityKey, MessageId, Page, SessionId, TokenDigest, UserId, ViewerRole, Visit, VisitLimits,
};
use recall_ports::{ChangeFeed, CommitError, EntityFilter, FactFilter, KnowledgeCommit, NodeId, NodeState, Store, StoreError};
use serde_json::Value;

use super::{
    archive::{body, export, rich},
    given::{LEASE, MODEL, World, at, entity, event, fact, fresh, new_message},
};

pub(super) fn visit(messages_left: u32, sessions_left: u32) -> Visit {
    let mut digest = [7; 32];
    digest[..16].copy_from_slice(fresh().as_bytes());
    Visit { digest: TokenDigest(digest), messages_left, sessions_left, created_at: at(0), ends_at: at(10_000), empty_until: None }
}

/// A limit that admits many visits.
pub(crate) const ROOM: VisitLimits = VisitLimits { most: 1_000, origin: None, most_of_origin: 0 };

/// Creates a visitor with a visit.
pub(super) async fn visitor(store: &Arc<dyn Store>, messages: u32, sessions: u32) -> (World, Visit) {
    let w = World { store: store.clone(), caller: Caller::verified(UserId(fresh()), ViewerRole::Anonymous) };
    let visit = visit(messages, sessions);
    assert!(store.begin_visit(&w.caller, &visit, &ROOM).await.unwrap());
    (w, visit)
}

pub(super) async fn visit_is_found_until_it_ends(store: Arc<dyn Store>) {
    let (w, visit) = visitor(&store, 3, 1).await;
    assert_eq!(store.visit(visit.digest, at(9_999)).await.unwrap(), Some((w.caller, visit.clone())), "the stored visit differs");
    assert_eq!(store.visit(TokenDigest([9; 32]), at(0)).await.unwrap(), None);
    assert_eq!(store.visit(visit.digest, at(10_000)).await.unwrap(), None, "the visit did not end");
    let ended = async |ms| store.ended_visits(at(ms), 100).await.unwrap().contains(&w.caller);
    assert_eq!((ended(9_999).await, ended(10_000).await), (false, true));

    store.use_visit(visit.digest, at(9_999), at(20_000), at(20_000)).await.unwrap();
    store.use_visit(visit.digest, at(9_999), at(15_000), at(15_000)).await.unwrap();
    assert_eq!((ended(19_999).await, ended(20_000).await), (false, true), "use shortened the visit");
    store.use_visit(TokenDigest([9; 32]), at(9_999), at(20_000), at(20_000)).await.unwrap();
    store.use_visit(visit.digest, at(20_000), at(30_000), at(30_000)).await.unwrap();
    assert!(ended(20_000).await, "use revived an ended visit");

    store.begin_erasure(&w.caller, at(0)).await.unwrap();
    assert_eq!(store.visit(visit.digest, at(0)).await.unwrap(), None, "the deletion of all data did not end the visit");
    assert!(!ended(30_000).await);
}

pub(super) async fn visitor_cannot_exceed_visit_quota(store: Arc<dyn Store>) {
    let (w, visit) = visitor(&store, 3, 1).await;
    let session = w.session().await;
    let another = store.create_session(&w.caller, SessionId(fresh()), None, "e".into(), at(0)).await;
    assert!(matches!(another, Err(StoreError::QuotaUsed)), "{another:?}");
    let several = |n: usize| (0..n).map(|_| new_message(session, "m")).collect::<Vec<_>>();
    let append = async |n| store.append(&w.caller, session, several(n)).await;
    assert_eq!(append(2).await.unwrap().len(), 2);
    assert!(matches!(append(2).await, Err(StoreError::QuotaUsed)), "part of a batch was stored");
    assert_eq!(append(1).await.unwrap().len(), 1);
    assert!(matches!(append(1).await, Err(StoreError::QuotaUsed)));
    assert_eq!(w.store.list_messages(&w.caller, session, &Page::first(9), false).await.unwrap().items.len(), 3);
    let (_, left) = store.visit(visit.digest, at(0)).await.unwrap().unwrap();
    assert_eq!((left.messages_left, left.sessions_left), (0, 0));
    // A deletion does not restore the quota.
    store.delete_session(&w.caller, session, at(9), &|_, _| None).await.unwrap();
    assert!(matches!(store.create_session(&w.caller, SessionId(fresh()), None, "e".into(), at(0)).await, Err(StoreError::QuotaUsed)));
    // Users without a visit have no quota.
    let other = World::new(&store);
    let session = other.session().await;
    other.say(session, "m").await;

    // Concurrent writes share the quota.
    let (w, _) = visitor(&store, 5, 1).await;
    let session = w.session().await;
    let all = (0..20).map(|_| {
        let w = w.clone();
        tokio::spawn(async move { w.store.append(&w.caller, session, vec![new_message(session, "m")]).await.is_ok() })
    });
    let mut stored = 0;
    for done in all.collect::<Vec<_>>() {
        stored += u32::from(done.await.unwrap());
    }
    assert_eq!(stored, 5);
}

pub(super) async fn number_of_visits_is_limited(store: Arc<dyn Store>) {
    let (w, _) = visitor(&store, 1, 1).await;
    let next = Caller::verified(UserId(fresh()), ViewerRole::Anonymous);
    // Other tests may have visits in this store, but this test has at least one.
    assert!(!store.begin_visit(&next, &visit(1, 1), &VisitLimits { most: 1, ..ROOM }).await.unwrap());
    assert_eq!(store.holdings(&next).await.unwrap().len(), 0);
    store.begin_erasure(&w.caller, at(0)).await.unwrap();
    assert!(store.begin_visit(&next, &visit(1, 1), &ROOM).await.unwrap());
}

pub(super) async fn empty_visit_ends_early_until_first_message(store: Arc<dyn Store>) {
    let empty = || Visit { empty_until: Some(at(100)), ..visit(3, 3) };
    let begin = async || {
        let w = World { store: store.clone(), caller: Caller::verified(UserId(fresh()), ViewerRole::Anonymous) };
        let visit = empty();
        assert!(store.begin_visit(&w.caller, &visit, &ROOM).await.unwrap());
        (w, visit)
    };
    let is_over = async |w: &World, visit: &Visit, ms| {
        let listed = store.ended_visits(at(ms), 1_000).await.unwrap().contains(&w.caller);
        assert_eq!(listed, store.visit(visit.digest, at(ms)).await.unwrap().is_none());
        listed
    };
    let ((silent, first), (speaks, second)) = (begin().await, begin().await);
    assert_eq!(store.visit(first.digest, at(99)).await.unwrap(), Some((silent.caller, first.clone())), "the stored visit differs");
    let session = speaks.session().await;
    assert!(is_over(&speaks, &second, 100).await, "a session without messages counts as used");
    store.use_visit(first.digest, at(50), at(10_050), at(150)).await.unwrap();
    assert!(!is_over(&silent, &first, 149).await && is_over(&silent, &first, 150).await);
    speaks.say(session, "m").await;
    store.use_visit(second.digest, at(50), at(10_050), at(150)).await.unwrap();
    assert!(!is_over(&speaks, &second, 10_049).await && is_over(&speaks, &second, 10_050).await);
    store.use_visit(first.digest, at(150), at(20_000), at(20_000)).await.unwrap();
    assert!(is_over(&silent, &first, 150).await, "use revived an ended visit");
    let account = World::new(&store);
    assert_eq!(store.adopt(&account.caller, first.digest, at(150)).await.unwrap(), None);
}

pub(super) async fn empty_visit_is_replaced_when_limit_is_reached(store: Arc<dyn Store>) {
    let [here, there] = ["192.0.2.1", "2001:db8::"].map(|address| Some(address.parse().unwrap()));
    let begin = async |n: i64, origin, most, most_of_origin| {
        let w = World { store: store.clone(), caller: Caller::verified(UserId(fresh()), ViewerRole::Anonymous) };
        let visit = Visit { created_at: at(n), ends_at: at(10_000 + n), empty_until: Some(at(1_000 + n)), ..visit(3, 3) };
        let begun = store.begin_visit(&w.caller, &visit, &VisitLimits { most, origin, most_of_origin }).await.unwrap();
        begun.then_some((w, visit))
    };
    let is_there = async |(_, visit): &(World, Visit)| store.visit(visit.digest, at(20)).await.unwrap().is_some();

    // Two visits from one address; the older one has a message.
    let first = begin(1, here, 10, 2).await.unwrap();
    let second = begin(2, here, 10, 2).await.unwrap();
    let session = first.0.session().await;
    first.0.say(session, "m").await;
    let third = begin(3, here, 10, 2).await.unwrap();
    assert_eq!((is_there(&first).await, is_there(&second).await, is_there(&third).await), (true, false, true));
    assert!(store.ended_visits(at(20), 10).await.unwrap().contains(&second.0.caller), "the replaced visit is not deleted");
    // A request of the replaced visitor that is still running stores nothing.
    let late = store.create_session(&second.0.caller, SessionId(fresh()), None, "e".into(), at(3)).await;
    assert!(matches!(late, Err(StoreError::QuotaUsed)), "{late:?}");

    // Another address has room, and its empty visit is not replaced for this address.
    let other = begin(4, there, 10, 2).await.unwrap();
    let session = third.0.session().await;
    third.0.say(session, "m").await;
    assert!(begin(5, here, 10, 2).await.is_none(), "a visit in use was replaced");
    assert!(is_there(&other).await);

    // When the total is reached, the least recently used empty visit of any address is replaced; ended visits do not
    // count.
    let unknown = begin(6, None, 10, 0).await.unwrap();
    store.use_visit(other.1.digest, at(7), at(10_007), at(1_007)).await.unwrap();
    let newest = begin(8, None, 4, 0).await.unwrap();
    assert_eq!((is_there(&other).await, is_there(&unknown).await, is_there(&newest).await), (true, false, true));
    for one in [&other, &newest] {
        let session = one.0.session().await;
        one.0.say(session, "m").await;
    }
    assert!(begin(9, there, 4, 2).await.is_none(), "a visit in use was replaced");

    // Concurrent visitors do not exceed the limit.
    let many = (0..12).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            let caller = Caller::verified(UserId(fresh()), ViewerRole::Anonymous);
            let room = VisitLimits { most: 7, origin: None, most_of_origin: 0 };
            store.begin_visit(&caller, &Visit { created_at: at(50), ..visit(1, 1) }, &room).await.unwrap()
        })
    });
    let mut begun = 0;
    for done in many.collect::<Vec<_>>() {
        begun += u32::from(done.await.unwrap());
    }
    assert_eq!(begun, 3);
}

pub(super) async fn empty_account_adopts_visit_unchanged(store: Arc<dyn Store>) {
    let (visitor, session) = rich(&store).await;
    let mine = visit(100, 100);
    store.begin_visit(&visitor.caller, &mine, &ROOM).await.unwrap();
    let before = export(&store, visitor.caller.user()).await;
    let told = log(&store, &visitor.caller, session).await;
    let state = store.feed_state(&visitor.caller).await.unwrap();

    let account = World::new(&store);
    let adoption = store.adopt(&account.caller, mine.digest, at(5)).await.unwrap().unwrap();
    assert_eq!(adoption.visitor, visitor.caller.user());
    let after = export(&store, account.caller.user()).await;
    assert_eq!(body(&before)[1..], body(&after)[1..], "records or ids differ");
    assert_eq!((adoption.sessions.len(), adoption.messages), (records(&after, "session"), records(&after, "message") as u64));
    assert_eq!(log(&store, &account.caller, session).await, told, "the event log does not continue");
    assert_eq!(store.feed_state(&account.caller).await.unwrap().model, state.model);
    assert_eq!(store.feed(&account.caller, MODEL, 0, 100).await.unwrap().len(), records(&after, "index"));

    // The visitor's copy is being deleted and can no longer change.
    assert_eq!(store.visit(mine.digest, at(0)).await.unwrap(), None);
    assert!(store.erasure(&visitor.caller).await.unwrap().unwrap().ended_at.is_none());
    let late = store.append(&visitor.caller, session, vec![new_message(session, "late")]).await;
    assert!(matches!(late, Err(StoreError::BeingErased)), "{late:?}");
    while store.erase(&visitor.caller, at(6), 50).await.unwrap().erasure.ended_at.is_none() {}
    assert_eq!(store.holdings(&visitor.caller).await.unwrap().into_keys().collect::<Vec<_>>(), [""; 0]);
    assert_eq!(export(&store, account.caller.user()).await, after, "the account's data changed");
}

pub(super) async fn account_with_data_adopts_visit_next_to_it(store: Arc<dyn Store>) {
    let account = World::new(&store);
    let own = account.john_likes_mary().await;
    let me = Entity { is_viewer: true, ..entity("Ann") };
    account.commit(KnowledgeCommit { entities: vec![me.clone()], ..account.plan(own.session).await }).await;
    let rows = store.feed(&account.caller, MODEL, 0, 100).await.unwrap();
    let generation = store.feed_generation(&account.caller).await.unwrap();

    let (w, visit) = visitor(&store, 100, 100).await;
    let theirs = w.john_likes_mary().await;
    let you = Entity { is_viewer: true, ..entity("You") };
    let likes = fact(&you, "LIKES", &theirs.mary);
    w.commit(KnowledgeCommit { entities: vec![you.clone()], facts: vec![likes.clone()], ..w.plan(theirs.session).await }).await;
    let stale = KnowledgeCommit { events: vec![event(own.session)], ..account.plan(own.session).await };
    let of = Some(theirs.session);
    let entities = store.count_entities(&w.caller, &EntityFilter { session: of, ..EntityFilter::default() }).await.unwrap();
    let counts = (entities, store.count_facts(&w.caller, &FactFilter { session: of, ..FactFilter::default() }).await.unwrap());
    assert!(counts.0 > 0 && counts.1 > 0, "{counts:?}");
    let job = w.claim(0).await.into_iter().find(|j| j.session == theirs.session).unwrap();

    let held = w.store.extend(&job.claim, at(1), LEASE).await.unwrap();
    assert!(held);
    let account_as_admin = Caller::verified(account.caller.user(), ViewerRole::Admin);
    let adoption = store.adopt(&account_as_admin, visit.digest, at(1)).await.unwrap().unwrap();
    assert_eq!((adoption.sessions, adoption.messages, adoption.facts), (vec![theirs.session], 1, 2));

    // An index of the account continues after the rows it knows.
    assert_eq!(store.feed_generation(&account.caller).await.unwrap(), generation);
    let after = rows.last().unwrap().row;
    let more: Vec<_> = store.feed(&account.caller, MODEL, after, 100).await.unwrap().iter().map(|r| r.message).collect();
    assert_eq!(more, [theirs.message.id]);
    let next = account.say(own.session, "one more").await;
    assert_eq!(store.feed(&account.caller, MODEL, after + 1, 100).await.unwrap()[0].message, next.id, "the numbers do not continue");

    // The visitor's viewer entity is an ordinary entity of the account for now, and all facts are there.
    assert_eq!(store.viewer_entity(&account.caller).await.unwrap().unwrap().id, me.id);
    let seen: BTreeSet<_> =
        store.entities_by_id(&account.caller, &[you.id, theirs.john.id]).await.unwrap().iter().map(|e| (e.id, e.is_viewer)).collect();
    assert_eq!(seen, BTreeSet::from([(you.id, false), (theirs.john.id, false)]));
    assert_eq!(store.facts_by_id(&account.caller, &[own.fact.id, theirs.fact.id, likes.id]).await.unwrap().len(), 3);
    let johns = store.entities_by_key(&account.caller, &[EntityKey::of("John").unwrap()]).await.unwrap();
    assert_eq!(johns.len(), 2, "the entities were merged already");

    // An older plan is stale. A job in progress for the visitor is lost and runs again for the account.
    assert!(matches!(store.commit(&account.caller, &stale).await, Err(CommitError::Stale)));
    let late = KnowledgeCommit { events: vec![event(theirs.session)], ..w.plan(theirs.session).await };
    assert!(store.finish(&w.caller, &late, &job).await.is_err());
    // The worker learns this by its heartbeat, and no worker claims the job for the visitor again, even after the
    // lease.
    assert!(!store.extend(&job.claim, at(2), LEASE).await.unwrap());
    assert!(matches!(store.retry(&job.claim, at(2), LEASE, "X").await, Err(CommitError::NotOurs)));
    store.release(&[job.claim]).await.unwrap();
    let mut again = w.claim(20).await;
    again.extend(w.claim(1_000_000).await);
    again.retain(|j| j.session == theirs.session);
    assert!(again.iter().all(|j| (j.work, j.caller) == (job.work, account_as_admin)), "{again:?}");
    assert_eq!(again.iter().map(|j| j.claim.job).collect::<BTreeSet<_>>().len(), 1, "not exactly one job is left");
    assert_eq!(w.store.holdings(&w.caller).await.unwrap().get("jobs"), None);

    // The limits of a session count the adopted data.
    let of = Some(theirs.session);
    let entities = store.count_entities(&account.caller, &EntityFilter { session: of, ..EntityFilter::default() }).await.unwrap();
    let facts = store.count_facts(&account.caller, &FactFilter { session: of, ..FactFilter::default() }).await.unwrap();
    assert_eq!((entities, facts), counts);
}

pub(super) async fn visit_is_adopted_once_without_losing_messages(store: Arc<dyn Store>) {
    let (w, visit) = visitor(&store, 10_000, 10).await;
    let account = World::new(&store);
    let session = w.session().await;
    let writing = {
        let w = w.clone();
        tokio::spawn(async move {
            let mut stored = BTreeSet::new();
            for _ in 0..500 {
                match w.store.append(&w.caller, session, vec![new_message(session, "m")]).await {
                    Ok(done) => stored.extend(done.iter().map(|a| a.message.id)),
                    Err(StoreError::BeingErased) => break,
                    Err(e) => panic!("{e}"),
                }
            }
            stored
        })
    };
    tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    let adopting = (0..4).map(|_| {
        let (store, account) = (store.clone(), account.caller);
        tokio::spawn(async move { store.adopt(&account, visit.digest, at(1)).await.unwrap().is_some() })
    });
    let mut taken = 0;
    for done in adopting.collect::<Vec<_>>() {
        taken += u32::from(done.await.unwrap());
    }
    assert_eq!(taken, 1);
    let stored = writing.await.unwrap();
    let page = store.list_messages(&account.caller, session, &Page::first(1_000), false).await.unwrap();
    let there: Vec<MessageId> = page.items.iter().map(|(_, m)| m.id).collect();
    assert_eq!(there.iter().copied().collect::<BTreeSet<_>>(), stored);
    assert_eq!(there.len(), stored.len());
    let other = World::new(&store);
    assert_eq!(store.adopt(&other.caller, visit.digest, at(1)).await.unwrap(), None, "another account adopted the same visit");
}

pub(super) async fn unsettled_adoptions_are_listed_until_settled(store: Arc<dyn Store>) {
    let account = World::new(&store);
    let (w, visit) = visitor(&store, 100, 100).await;
    let known = w.john_likes_mary().await;
    let you = Entity { is_viewer: true, ..entity("You") };
    w.commit(KnowledgeCommit { entities: vec![you.clone()], ..w.plan(known.session).await }).await;
    store.adopt(&account.caller, visit.digest, at(1)).await.unwrap().unwrap();
    let listed = store.adopted(&account.caller, 100).await.unwrap();
    assert_eq!(listed[0], Adopted { entity: you.id, is_viewer: true });
    assert_eq!(listed.len(), 3);
    let unsettled = async || store.unsettled_adoptions(1_000).await.unwrap().iter().any(|c| c.user() == account.caller.user());
    assert!(unsettled().await);
    for a in listed {
        store.settle_adopted(&account.caller, a.entity).await.unwrap();
        store.settle_adopted(&account.caller, a.entity).await.unwrap();
    }
    assert!(!unsettled().await && store.adopted(&account.caller, 100).await.unwrap().is_empty());
}

pub(super) async fn deleted_visitor_leaves_nothing_at_all(store: Arc<dyn Store>) {
    let (w, _) = visitor(&store, 100, 100).await;
    w.john_likes_mary().await;
    let (stays, _) = visitor(&store, 100, 100).await;
    let account = World::new(&store);
    account.john_likes_mary().await;
    for gone in [&w, &account] {
        store.begin_erasure(&gone.caller, at(0)).await.unwrap();
        while store.erase(&gone.caller, at(0), 100).await.unwrap().erasure.ended_at.is_none() {}
    }
    while store.forget_erasures(Day(Day::of(at(0)).0 + 1), 1).await.unwrap() > 0 {}
    assert!(matches!(store.begin_erasure(&w.caller, at(0)).await, Err(StoreError::NotFound)), "something of the visitor is left");
    assert!(store.begin_erasure(&account.caller, at(0)).await.is_ok(), "the counters of an account are gone");
    stays.session().await;
    // A late request of the deleted visitor writes nothing.
    let late = store.create_session(&w.caller, SessionId(fresh()), None, "e".into(), at(0)).await;
    assert!(matches!(late, Err(StoreError::QuotaUsed)), "{late:?}");
    assert!(matches!(store.begin_erasure(&w.caller, at(0)).await, Err(StoreError::NotFound)));
}

pub(super) async fn adoption_is_listed_in_graph_feeds(store: Arc<dyn Store>) {
    let feed: &dyn ChangeFeed = store.as_ref();
    feed.start().await.unwrap();
    let account = World::new(&store);
    account.john_likes_mary().await;
    let (w, visit) = visitor(&store, 100, 100).await;
    let theirs = w.john_likes_mary().await;
    let head = feed.head(&account.caller).await.unwrap();
    store.adopt(&account.caller, visit.digest, at(1)).await.unwrap().unwrap();
    let expected = BTreeSet::from([
        NodeId::Session(theirs.session),
        NodeId::Message(theirs.message.id),
        NodeId::Entity(theirs.john.id),
        NodeId::Entity(theirs.mary.id),
        NodeId::Fact(theirs.fact.id),
    ]);
    let told =
        async |caller: &Caller, after| feed.changes(caller, after, 1_000).await.unwrap().into_iter().map(|c| c.thing).collect::<Vec<_>>();
    let came = told(&account.caller, head).await;
    assert!(came.iter().all(|thing| !matches!(thing, NodeState::Gone(_))), "{came:?}");
    assert_eq!((came.iter().map(NodeState::id).collect::<BTreeSet<_>>(), came.len()), (expected.clone(), expected.len()));
    while store.erase(&w.caller, at(2), 100).await.unwrap().erasure.ended_at.is_none() {}
    let went: BTreeSet<_> =
        told(&w.caller, 0).await.into_iter().map(|t| if let NodeState::Gone(id) = t { id } else { panic!("{t:?} stays") }).collect();
    assert_eq!(went, expected);
}

/// Returns the number of records of this type in an archive.
fn records(archive: &str, sort: &str) -> usize {
    archive.lines().filter(|l| serde_json::from_str::<Value>(l).unwrap()["type"] == sort).count()
}

/// Returns the state and the events of a session's log.
pub(super) async fn log(store: &Arc<dyn Store>, caller: &Caller, session: SessionId) -> (recall_ports::LogState, Vec<String>) {
    let events = store.events_after(caller, session, 0, 1_000).await.unwrap();
    let said = events.iter().map(|e| format!("{} {} {} {} {}", e.seq, e.id, e.kind, e.created_at, e.data.get())).collect();
    (store.log_state(caller, session).await.unwrap(), said)
}
