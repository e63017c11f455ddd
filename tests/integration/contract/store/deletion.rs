//! A deleted session is as if it had never been.

use std::sync::{Arc, Mutex};

use recall::{
    domain::{Entity, Fact, MessageKind, Page, SessionId, Stance},
    ports::{Embedding, EntityFilter, KnowledgeCommit, NewMessage, SessionDeleted, Store, StoreError},
};

use super::given::{MODEL, World, at, entity, event, evidence, fact, fresh, mention, new_message};

pub(super) async fn a_deleted_session_leaves_nothing_behind(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    w.say(known.session, "another, with a job").await;
    let generation = store.feed_generation(&w.caller).await.unwrap();
    let version = store.knowledge_version(&w.caller).await.unwrap();
    let deleted = store
        .delete_session(&w.caller, known.session, &|fact, left| {
            assert_eq!((fact.id, left.len()), (known.fact.id, 0));
            None
        })
        .await
        .unwrap();
    assert_eq!(deleted, SessionDeleted { messages: 2, facts_deleted: 1, facts_reweighed: 0, entities_deleted: 2 });
    let c = &w.caller;
    assert_eq!(store.count_sessions(c).await.unwrap(), 0);
    assert!(store.messages_by_id(c, &[known.message.id]).await.unwrap().is_empty());
    assert!(store.feed(c, MODEL, 0, 10).await.unwrap().is_empty());
    assert!(store.nearest(c, MODEL, &Embedding(vec![1.0, 0.0]), None, 10).await.unwrap().is_empty());
    assert!(store.facts_by_id(c, &[known.fact.id]).await.unwrap().is_empty());
    assert!(store.evidence_of(c, &[known.fact.id], 10).await.unwrap().is_empty());
    assert_eq!(store.count_entities(c, &EntityFilter::default()).await.unwrap(), 0);
    assert!(store.mentions_in(c, &[known.message.id]).await.unwrap().is_empty());
    assert_eq!(store.depth().await.unwrap(), (0, 0));
    assert_eq!(store.next_due(at(0)).await.unwrap(), None);
    assert!(matches!(store.log_state(c, known.session).await, Err(StoreError::NotFound)));
    assert!(store.feed_generation(c).await.unwrap() > generation);
    assert!(store.knowledge_version(c).await.unwrap() > version, "a plan made before the deletion must be stale");
    assert_eq!(store.prune_events(at(1_000_000), 0).await.unwrap(), 0);

    // Numbers of the feed go on: an index that saw row n must not miss the next message.
    let session = w.session().await;
    let next = w.say(session, "next").await;
    let feed = store.feed(c, MODEL, 2, 10).await.unwrap();
    assert_eq!(feed.iter().map(|r| r.message).collect::<Vec<_>>(), [next.id]);
}

pub(super) async fn facts_with_evidence_elsewhere_are_weighed_anew(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let other = w.session().await;
    let (later, latest) = (w.note(other, "Still.").await, w.note(other, "Still so.").await);
    let (bob, untouched) = (entity("Bob"), entity("Ann"));
    let only_here = fact(&known.john, "KNOWS", &bob);
    let elsewhere = fact(&untouched, "LIKES", &known.mary);
    let first = evidence(&only_here, &known.message, Stance::Supports);
    let plan = KnowledgeCommit {
        message: Some((later.id, MessageKind::Statement, vec![(known.john.id, mention("John"))])),
        entities: vec![
            Entity { mention_count: 2, first_message: Some(known.message.id), ..known.john.clone() },
            bob.clone(),
            untouched.clone(),
        ],
        facts: vec![only_here.clone(), elsewhere.clone()],
        evidence: vec![
            evidence(&known.fact, &latest, Stance::Opposes),
            evidence(&known.fact, &later, Stance::Supports),
            first,
            evidence(&elsewhere, &later, Stance::Supports),
        ],
        ..w.plan(other).await
    };
    w.commit(plan).await;

    let asked = Mutex::new(Vec::new());
    let deleted = store
        .delete_session(&w.caller, known.session, &|fact, left| {
            asked.lock().unwrap().push((fact.id, left.iter().map(|e| e.message).collect::<Vec<_>>()));
            (!left.is_empty()).then(|| Fact { support: 0.25, ..fact.clone() })
        })
        .await
        .unwrap();
    assert_eq!(deleted, SessionDeleted { messages: 1, facts_deleted: 1, facts_reweighed: 1, entities_deleted: 1 });
    let mut asked = asked.into_inner().unwrap();
    asked.sort();
    assert_eq!(
        asked,
        [(known.fact.id, vec![later.id, latest.id]), (only_here.id, vec![])],
        "facts without evidence here are not asked about"
    );
    assert_eq!(store.facts_by_id(&w.caller, &[known.fact.id]).await.unwrap()[0].support, 0.25);
    assert!(store.facts_by_id(&w.caller, &[only_here.id]).await.unwrap().is_empty());
    assert_eq!(store.facts_by_id(&w.caller, &[elsewhere.id]).await.unwrap(), [elsewhere]);
    assert_eq!(store.evidence_of(&w.caller, &[known.fact.id], 10).await.unwrap().len(), 2);

    let john = store.entities_by_id(&w.caller, &[known.john.id]).await.unwrap().remove(0);
    assert_eq!((john.mention_count, john.first_message), (1, Some(later.id)));
    let mary = store.entities_by_id(&w.caller, &[known.mary.id]).await.unwrap().remove(0);
    assert_eq!((mary.mention_count, mary.first_message), (0, None), "kept: a fact is about her");
    assert!(store.entities_by_id(&w.caller, &[bob.id]).await.unwrap().is_empty());
    assert_eq!(store.list_messages(&w.caller, other, &Page::first(10), false).await.unwrap().items.len(), 2);
}

pub(super) async fn deleting_what_is_not_there_is_not_found(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = SessionId(fresh());
    assert!(matches!(store.delete_session(&w.caller, session, &|_, _| None).await, Err(StoreError::NotFound)));
    let session = w.session().await;
    store.delete_session(&w.caller, session, &|_, _| None).await.unwrap();
    assert!(matches!(store.delete_session(&w.caller, session, &|_, _| None).await, Err(StoreError::NotFound)));
    assert!(matches!(store.append_events(&w.caller, session, &[event(session)], at(0)).await, Err(StoreError::NotFound)));
}

pub(super) async fn deletion_survives_concurrent_commits(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let other = w.session().await;
    let later = w.note(other, "Still.").await;
    // Between the decision and the deletion new evidence is committed, once: the decision must be made again with it.
    let (ask, asked) = tokio::sync::mpsc::unbounded_channel();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = Mutex::new(Some(wait));
    let deletion = {
        let w = w.clone();
        tokio::spawn(async move {
            let reweigh = move |fact: &Fact, left: &[recall::domain::Evidence]| {
                ask.send(left.len()).unwrap();
                if let Some(wait) = wait.lock().unwrap().take() {
                    tokio::task::block_in_place(|| wait.recv().unwrap());
                }
                Some(fact.clone())
            };
            w.store.delete_session(&w.caller, known.session, &reweigh).await
        })
    };
    let mut asked = asked;
    assert_eq!(asked.recv().await, Some(0));
    w.commit(KnowledgeCommit { evidence: vec![evidence(&known.fact, &later, Stance::Supports)], ..w.plan(other).await }).await;
    go.send(()).unwrap();
    deletion.await.unwrap().unwrap();
    assert_eq!(asked.recv().await, Some(1));
    assert_eq!(store.evidence_of(&w.caller, &[known.fact.id], 10).await.unwrap().len(), 1);
}

pub(super) async fn only_sessions_that_nobody_used_are_deleted_for_that(store: Arc<dyn Store>) {
    let (anna, boris) = (World::new(&store), World::new(&store));
    let old = anna.session().await;
    let used = anna.session().await;
    let message = new_message(used, "lately");
    anna.append(NewMessage { created_at: at(5_000), ..message }).await;
    let (first, second) = (boris.session().await, boris.session().await);
    let all = async |limit: u32| {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = store.unused_sessions(at(5_000), after, limit).await.unwrap();
            let Some((caller, session)) = page.last() else { break };
            after = Some((caller.user(), *session));
            found.extend(page.into_iter().map(|(caller, session)| (caller.user(), session)));
        }
        found
    };
    let mut expected = vec![(anna.caller.user(), old), (boris.caller.user(), first), (boris.caller.user(), second)];
    expected.sort();
    assert_eq!(all(1).await, expected);
    assert_eq!(all(100).await, expected);

    let none = |_: &Fact, _: &[recall::domain::Evidence]| None;
    let delete = async |w: &World, session| store.delete_session_unused_since(&w.caller, session, Some(at(5_000)), &none).await;
    assert!(matches!(delete(&anna, used).await, Err(StoreError::NotFound)), "somebody wrote in it after it was listed");
    assert!(matches!(delete(&anna, first).await, Err(StoreError::NotFound)), "another's");
    // Two processes find the same one: one of them deletes it.
    let (one, two) = tokio::join!(delete(&boris, first), delete(&boris, first));
    assert_eq!([&one, &two].iter().filter(|done| done.is_ok()).count(), 1, "{one:?} {two:?}");
    assert_eq!(all(10).await, expected.into_iter().filter(|(_, s)| *s != first).collect::<Vec<_>>());
}
