//! People who come without a login: how long they last, what they may store, and how an account takes over what they had.

use std::{collections::BTreeSet, sync::Arc};

use recall::{
    domain::{Adopted, Caller, Day, Entity, EntityKey, MessageId, Page, SessionId, TokenDigest, UserId, ViewerRole, Visit},
    ports::{ChangeFeed, CommitError, KnowledgeCommit, Store, StoreError, Thing, ThingId},
};
use serde_json::Value;

use super::{
    archive::{body, export, rich},
    given::{MODEL, World, at, entity, event, fact, fresh, new_message},
};

pub(super) fn visit(messages_left: u32, sessions_left: u32) -> Visit {
    let mut digest = [7; 32];
    digest[..16].copy_from_slice(fresh().as_bytes());
    Visit { digest: TokenDigest(digest), messages_left, sessions_left, created_at: at(0), ends_at: at(10_000) }
}

/// Somebody on a visit.
pub(super) async fn visitor(store: &Arc<dyn Store>, messages: u32, sessions: u32) -> (World, Visit) {
    let w = World { store: store.clone(), caller: Caller::verified(UserId(fresh()), ViewerRole::Anonymous) };
    let visit = visit(messages, sessions);
    assert!(store.begin_visit(&w.caller, &visit, 1_000).await.unwrap());
    (w, visit)
}

pub(super) async fn a_visit_is_found_by_its_secret_until_it_is_over(store: Arc<dyn Store>) {
    let (w, visit) = visitor(&store, 3, 1).await;
    assert_eq!(store.visit(visit.digest, at(9_999)).await.unwrap(), Some((w.caller, visit.clone())), "read back the same");
    assert_eq!(store.visit(TokenDigest([9; 32]), at(0)).await.unwrap(), None);
    assert_eq!(store.visit(visit.digest, at(10_000)).await.unwrap(), None, "it is over");
    let ended = async |ms| store.ended_visits(at(ms), 100).await.unwrap().contains(&w.caller);
    assert_eq!((ended(9_999).await, ended(10_000).await), (false, true));

    store.use_visit(visit.digest, at(20_000)).await.unwrap();
    store.use_visit(visit.digest, at(15_000)).await.unwrap();
    assert_eq!((ended(19_999).await, ended(20_000).await), (false, true), "no earlier than said before");
    store.use_visit(TokenDigest([9; 32]), at(20_000)).await.unwrap();

    store.begin_erasure(&w.caller, at(0)).await.unwrap();
    assert_eq!(store.visit(visit.digest, at(0)).await.unwrap(), None, "with the deletion of everything it ends at once");
    assert!(!ended(30_000).await);
}

pub(super) async fn a_visitor_stores_no_more_than_the_visit_has_left(store: Arc<dyn Store>) {
    let (w, visit) = visitor(&store, 3, 1).await;
    let session = w.session().await;
    let another = store.create_session(&w.caller, SessionId(fresh()), None, "e".into(), at(0)).await;
    assert!(matches!(another, Err(StoreError::QuotaUsed)), "{another:?}");
    let several = |n: usize| (0..n).map(|_| new_message(session, "m")).collect::<Vec<_>>();
    let append = async |n| store.append(&w.caller, session, several(n)).await;
    assert_eq!(append(2).await.unwrap().len(), 2);
    assert!(matches!(append(2).await, Err(StoreError::QuotaUsed)), "together or not at all");
    assert_eq!(append(1).await.unwrap().len(), 1);
    assert!(matches!(append(1).await, Err(StoreError::QuotaUsed)));
    assert_eq!(w.store.list_messages(&w.caller, session, &Page::first(9), false).await.unwrap().items.len(), 3);
    let (_, left) = store.visit(visit.digest, at(0)).await.unwrap().unwrap();
    assert_eq!((left.messages_left, left.sessions_left), (0, 0));
    // What is deleted gives nothing back.
    store.delete_session(&w.caller, session, &|_, _| None).await.unwrap();
    assert!(matches!(store.create_session(&w.caller, SessionId(fresh()), None, "e".into(), at(0)).await, Err(StoreError::QuotaUsed)));
    // Nobody else is counted.
    let other = World::new(&store);
    let session = other.session().await;
    other.say(session, "m").await;

    // Many at once share what there is.
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

pub(super) async fn there_are_no_more_visits_than_may_be(store: Arc<dyn Store>) {
    let (w, _) = visitor(&store, 1, 1).await;
    let next = Caller::verified(UserId(fresh()), ViewerRole::Anonymous);
    // Others may have some in this store, too, but never fewer than this one.
    assert!(!store.begin_visit(&next, &visit(1, 1), 1).await.unwrap());
    assert_eq!(store.holdings(&next).await.unwrap().len(), 0);
    store.begin_erasure(&w.caller, at(0)).await.unwrap();
    assert!(store.begin_visit(&next, &visit(1, 1), 1_000).await.unwrap());
}

pub(super) async fn an_account_without_anything_takes_a_visit_over_as_it_is(store: Arc<dyn Store>) {
    let (visitor, session) = rich(&store).await;
    let mine = visit(100, 100);
    store.begin_visit(&visitor.caller, &mine, 1_000).await.unwrap();
    let before = export(&store, visitor.caller.user()).await;
    let told = log(&store, &visitor.caller, session).await;
    let state = store.feed_state(&visitor.caller).await.unwrap();

    let account = World::new(&store);
    let adoption = store.adopt(&account.caller, mine.digest, at(5)).await.unwrap().unwrap();
    assert_eq!(adoption.visitor, visitor.caller.user());
    let after = export(&store, account.caller.user()).await;
    assert_eq!(body(&before)[1..], body(&after)[1..], "every record, under the same ids");
    assert_eq!((adoption.sessions.len(), adoption.messages), (records(&after, "session"), records(&after, "message") as u64));
    assert_eq!(log(&store, &account.caller, session).await, told, "whoever follows the log goes on in it");
    assert_eq!(store.feed_state(&account.caller).await.unwrap().model, state.model);
    assert_eq!(store.feed(&account.caller, MODEL, 0, 100).await.unwrap().len(), records(&after, "index"));

    // The visitor's own begin to go, and nothing of it can be changed any more.
    assert_eq!(store.visit(mine.digest, at(0)).await.unwrap(), None);
    assert!(store.erasure(&visitor.caller).await.unwrap().unwrap().ended_at.is_none());
    let late = store.append(&visitor.caller, session, vec![new_message(session, "late")]).await;
    assert!(matches!(late, Err(StoreError::BeingErased)), "{late:?}");
    while store.erase(&visitor.caller, at(6), 50).await.unwrap().erasure.ended_at.is_none() {}
    assert_eq!(store.holdings(&visitor.caller).await.unwrap().into_keys().collect::<Vec<_>>(), [""; 0]);
    assert_eq!(export(&store, account.caller.user()).await, after, "and the account's stay");
}

pub(super) async fn an_account_takes_a_visit_over_beside_what_it_has(store: Arc<dyn Store>) {
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
    let job = w.claim(0).await.into_iter().find(|j| j.session == theirs.session).unwrap();

    let account_as_admin = Caller::verified(account.caller.user(), ViewerRole::Admin);
    let adoption = store.adopt(&account_as_admin, visit.digest, at(1)).await.unwrap().unwrap();
    assert_eq!((adoption.sessions, adoption.messages, adoption.facts), (vec![theirs.session], 1, 2));

    // An index that knew the rows of before reads on after them.
    assert_eq!(store.feed_generation(&account.caller).await.unwrap(), generation);
    let after = rows.last().unwrap().row;
    let more: Vec<_> = store.feed(&account.caller, MODEL, after, 100).await.unwrap().iter().map(|r| r.message).collect();
    assert_eq!(more, [theirs.message.id]);
    let next = account.say(own.session, "one more").await;
    assert_eq!(store.feed(&account.caller, MODEL, after + 1, 100).await.unwrap()[0].message, next.id, "numbers go on");

    // Who was "I" there is somebody of the account's for now, and both facts are there.
    assert_eq!(store.viewer_entity(&account.caller).await.unwrap().unwrap().id, me.id);
    let seen: BTreeSet<_> =
        store.entities_by_id(&account.caller, &[you.id, theirs.john.id]).await.unwrap().iter().map(|e| (e.id, e.is_viewer)).collect();
    assert_eq!(seen, BTreeSet::from([(you.id, false), (theirs.john.id, false)]));
    assert_eq!(store.facts_by_id(&account.caller, &[own.fact.id, theirs.fact.id, likes.id]).await.unwrap().len(), 3);
    let johns = store.entities_by_key(&account.caller, &[EntityKey::of("John").unwrap()]).await.unwrap();
    assert_eq!(johns.len(), 2, "nothing was made one yet");

    // A plan of before is void, and so is the work that was being done for the visitor: it is done again, for the account.
    assert!(matches!(store.commit(&account.caller, &stale, None).await, Err(CommitError::Stale)));
    let late = KnowledgeCommit { events: vec![event(theirs.session)], ..w.plan(theirs.session).await };
    assert!(store.commit(&w.caller, &late, Some(&job.claim)).await.is_err());
    let again = w.claim(20).await.into_iter().find(|j| j.session == theirs.session && j.caller.user() == account.caller.user()).unwrap();
    assert_eq!((again.work, again.caller), (job.work, account_as_admin));
}

pub(super) async fn a_visit_is_taken_over_once_and_nothing_written_meanwhile_is_lost(store: Arc<dyn Store>) {
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
    assert_eq!(store.adopt(&other.caller, visit.digest, at(1)).await.unwrap(), None, "nobody else gets it afterwards");
}

pub(super) async fn what_is_not_settled_is_listed_until_it_is(store: Arc<dyn Store>) {
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

pub(super) async fn of_a_visitor_nothing_is_left_in_the_end(store: Arc<dyn Store>) {
    let (w, _) = visitor(&store, 100, 100).await;
    w.john_likes_mary().await;
    let (stays, _) = visitor(&store, 100, 100).await;
    let account = World::new(&store);
    account.john_likes_mary().await;
    for gone in [&w, &account] {
        store.begin_erasure(&gone.caller, at(0)).await.unwrap();
        while store.erase(&gone.caller, at(0), 100).await.unwrap().erasure.ended_at.is_none() {}
    }
    store.forget_erasures(Day(Day::of(at(0)).0 + 1)).await.unwrap();
    assert!(matches!(store.begin_erasure(&w.caller, at(0)).await, Err(StoreError::NotFound)), "the store never had anything of theirs");
    assert!(store.begin_erasure(&account.caller, at(0)).await.is_ok(), "of an account the counters stay");
    stays.session().await;
    // Whoever still believes to be on that visit writes nothing.
    let late = store.create_session(&w.caller, SessionId(fresh()), None, "e".into(), at(0)).await;
    assert!(matches!(late, Err(StoreError::QuotaUsed)), "{late:?}");
    assert!(matches!(store.begin_erasure(&w.caller, at(0)).await, Err(StoreError::NotFound)));
}

pub(super) async fn a_graph_engine_is_told_what_came_and_what_went(store: Arc<dyn Store>) {
    let feed: &dyn ChangeFeed = store.as_ref();
    feed.start().await.unwrap();
    let account = World::new(&store);
    account.john_likes_mary().await;
    let (w, visit) = visitor(&store, 100, 100).await;
    let theirs = w.john_likes_mary().await;
    let head = feed.head(&account.caller).await.unwrap();
    store.adopt(&account.caller, visit.digest, at(1)).await.unwrap().unwrap();
    let expected = BTreeSet::from([
        ThingId::Session(theirs.session),
        ThingId::Message(theirs.message.id),
        ThingId::Entity(theirs.john.id),
        ThingId::Entity(theirs.mary.id),
        ThingId::Fact(theirs.fact.id),
    ]);
    let told =
        async |caller: &Caller, after| feed.changes(caller, after, 1_000).await.unwrap().into_iter().map(|c| c.thing).collect::<Vec<_>>();
    let came = told(&account.caller, head).await;
    let id = |thing: &Thing| match thing {
        Thing::Session(s) => ThingId::Session(s.id),
        Thing::Entity(e) => ThingId::Entity(e.id),
        Thing::Message(m) => ThingId::Message(m.id),
        Thing::Fact(f, _) => ThingId::Fact(f.id),
        Thing::Gone(id) => panic!("{id:?} is gone"),
    };
    assert_eq!((came.iter().map(id).collect::<BTreeSet<_>>(), came.len()), (expected.clone(), expected.len()));
    while store.erase(&w.caller, at(2), 100).await.unwrap().erasure.ended_at.is_none() {}
    let went: BTreeSet<_> =
        told(&w.caller, 0).await.into_iter().map(|t| if let Thing::Gone(id) = t { id } else { panic!("{t:?} stays") }).collect();
    assert_eq!(went, expected);
}

/// How many records of a sort an archive has.
fn records(archive: &str, sort: &str) -> usize {
    archive.lines().filter(|l| serde_json::from_str::<Value>(l).unwrap()["type"] == sort).count()
}

/// Where the log of a session stands, and what it says.
pub(super) async fn log(store: &Arc<dyn Store>, caller: &Caller, session: SessionId) -> (recall::ports::LogState, Vec<String>) {
    let events = store.events_after(caller, session, 0, 1_000).await.unwrap();
    let said = events.iter().map(|e| format!("{} {} {} {} {}", e.seq, e.id, e.kind, e.created_at, e.data)).collect();
    (store.log_state(caller, session).await.unwrap(), said)
}
