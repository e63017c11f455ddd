//! Deletion of sessions: nothing of them is left.

use std::sync::{Arc, Mutex};

use crate::planned::Finish;
use recall_domain::{Entity, EntityId, Evidence, Fact, FactId, MessageId, MessageKind, Page, SessionId, Stance};
use recall_ports::{
    CommitError, Embedding, EntityFilter, KnowledgeCommit, NewMessage, SessionDeleted, SessionFilter, SessionRemainder, Store, StoreError,
};

use super::given::{LEASE, MODEL, World, at, entity, event, evidence, fact, fresh, mention, new_message};

pub(super) async fn deleted_session_leaves_nothing_behind(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    w.say(known.session, "another, with a job").await;
    let generation = store.feed_generation(&w.caller).await.unwrap();
    let version = store.knowledge_version(&w.caller).await.unwrap();
    let deleted = store
        .delete_session(&w.caller, known.session, at(9), &|fact, left| {
            assert_eq!((fact.id, left.len()), (known.fact.id, 0));
            None
        })
        .await
        .unwrap();
    assert_eq!(deleted, SessionDeleted { messages: 2, facts_deleted: 1, facts_reweighed: 0, entities_deleted: 2 });
    let c = &w.caller;
    assert_eq!(store.count_sessions(c, &SessionFilter::ALL).await.unwrap(), 0);
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
    assert!(store.knowledge_version(c).await.unwrap() > version, "a plan from before the deletion is not stale");
    // That it was created and deleted.
    assert_eq!(store.prune_events(at(1_000_000), 0).await.unwrap(), 2);

    // Numbers of the feed continue, so that an index that saw row n does not miss the next message.
    let session = w.session().await;
    let next = w.say(session, "next").await;
    let feed = store.feed(c, MODEL, 2, 10).await.unwrap();
    assert_eq!(feed.iter().map(|r| r.message).collect::<Vec<_>>(), [next.id]);
}

pub(super) async fn facts_with_other_evidence_are_reweighed_on_deletion(store: Arc<dyn Store>) {
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
        .delete_session(&w.caller, known.session, at(9), &|fact, left| {
            asked.lock().unwrap().push((fact.id, left.iter().map(|e| e.message).collect::<Vec<_>>()));
            (!left.is_empty()).then(|| Fact { support: 0.25, ..fact.clone() })
        })
        .await
        .unwrap();
    assert_eq!(deleted, SessionDeleted { messages: 1, facts_deleted: 1, facts_reweighed: 1, entities_deleted: 1 });
    let mut asked = asked.into_inner().unwrap();
    asked.sort();
    assert_eq!(asked, [(known.fact.id, vec![later.id, latest.id]), (only_here.id, vec![])], "a fact without evidence here was reweighed");
    assert_eq!(store.facts_by_id(&w.caller, &[known.fact.id]).await.unwrap()[0].support, 0.25);
    assert!(store.facts_by_id(&w.caller, &[only_here.id]).await.unwrap().is_empty());
    assert_eq!(store.facts_by_id(&w.caller, &[elsewhere.id]).await.unwrap(), [elsewhere]);
    assert_eq!(store.evidence_of(&w.caller, &[known.fact.id], 10).await.unwrap().len(), 2);

    let john = store.entities_by_id(&w.caller, &[known.john.id]).await.unwrap().remove(0);
    assert_eq!((john.mention_count, john.first_message), (1, Some(later.id)));
    let mary = store.entities_by_id(&w.caller, &[known.mary.id]).await.unwrap().remove(0);
    assert_eq!((mary.mention_count, mary.first_message), (0, None), "an entity with a fact is deleted or wrong");
    assert!(store.entities_by_id(&w.caller, &[bob.id]).await.unwrap().is_empty());
    assert_eq!(store.list_messages(&w.caller, other, &Page::first(10), false).await.unwrap().items.len(), 2);
}

pub(super) async fn deleting_unknown_session_is_not_found(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = SessionId(fresh());
    assert!(matches!(store.delete_session(&w.caller, session, at(9), &|_, _| None).await, Err(StoreError::NotFound)));
    let session = w.session().await;
    store.delete_session(&w.caller, session, at(9), &|_, _| None).await.unwrap();
    assert!(matches!(store.delete_session(&w.caller, session, at(9), &|_, _| None).await, Err(StoreError::NotFound)));
    assert!(matches!(store.append_events(&w.caller, session, &[event(session)], at(0)).await, Err(StoreError::NotFound)));
}

pub(super) async fn deletion_decides_again_after_concurrent_commit(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let other = w.session().await;
    let later = w.note(other, "Still.").await;
    // New evidence is committed once between decision and deletion, so the decision must be made again.
    let (ask, asked) = tokio::sync::mpsc::unbounded_channel();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = Mutex::new(Some(wait));
    let deletion = {
        let w = w.clone();
        tokio::spawn(async move {
            let reweigh = move |fact: &Fact, left: &[recall_domain::Evidence]| {
                ask.send(left.len()).unwrap();
                if let Some(wait) = wait.lock().unwrap().take() {
                    tokio::task::block_in_place(|| wait.recv().unwrap());
                }
                Some(fact.clone())
            };
            w.store.delete_session(&w.caller, known.session, at(9), &reweigh).await
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

pub(super) async fn only_unused_sessions_are_deleted_for_age(store: Arc<dyn Store>) {
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

    let none = |_: &Fact, _: &[recall_domain::Evidence]| None;
    let delete = async |w: &World, session| store.delete_session_unused_since(&w.caller, session, Some(at(5_000)), at(9), &none).await;
    assert!(matches!(delete(&anna, used).await, Err(StoreError::NotFound)), "a session with a new message was deleted");
    assert!(matches!(delete(&anna, first).await, Err(StoreError::NotFound)), "another user's session was deleted");
    // Two processes find the same session, and one of them deletes it.
    let (one, two) = tokio::join!(delete(&boris, first), delete(&boris, first));
    assert_eq!([&one, &two].iter().filter(|done| done.is_ok()).count(), 1, "{one:?} {two:?}");
    assert_eq!(all(10).await, expected.into_iter().filter(|(_, s)| *s != first).collect::<Vec<_>>());
}

/// Two sessions with common facts; the first has fifty messages.
struct TwoSessions {
    first: SessionId,
    other: SessionId,
    messages: Vec<MessageId>,
    facts: Vec<FactId>,
    entities: Vec<EntityId>,
}

/// Creates fifty messages, each with two mentions of John and one of another entity.
/// Each is evidence of three facts: one with evidence elsewhere, one without, and one of its own.
async fn spoken(w: &World) -> TwoSessions {
    let (first, other) = (w.session().await, w.session().await);
    let elsewhere = w.note(other, "John likes Mary.").await;
    let (john, mary, bob) = (entity("John"), entity("Mary"), entity("Bob"));
    let (shared, here) = (fact(&john, "LIKES", &mary), fact(&john, "KNOWS", &bob));
    let mut all = (vec![shared.id, here.id], vec![john.id, mary.id, bob.id], Vec::new());
    for n in 0..50 {
        let message = match n {
            // The first two messages have a job, of which one is claimed.
            0 | 1 => w.say(first, "John, John and another").await,
            _ => w.note(first, "John, John and another").await,
        };
        let one = entity(&format!("Other {n}"));
        let own = fact(&john, "MET", &one);
        let known = Entity { mention_count: n + 1, first_message: Some(message.id), ..john.clone() };
        let mut plan = KnowledgeCommit {
            message: Some((
                message.id,
                MessageKind::Statement,
                vec![(john.id, mention("John")), (one.id, mention("another")), (john.id, mention("John"))],
            )),
            entities: vec![known, Entity { mention_count: 1, ..one.clone() }],
            facts: vec![own.clone()],
            evidence: [&shared, &here, &own].map(|f| evidence(f, &message, Stance::Supports)).to_vec(),
            events: vec![event(first)],
            ..w.plan(first).await
        };
        if n == 0 {
            plan.entities.extend([mary.clone(), bob.clone()]);
            plan.facts.extend([shared.clone(), here.clone()]);
        }
        w.commit(plan).await;
        all.0.push(own.id);
        all.1.push(one.id);
        all.2.push(message.id);
    }
    let known = Entity { mention_count: 51, first_message: all.2.first().copied(), ..john.clone() };
    w.commit(KnowledgeCommit {
        message: Some((elsewhere.id, MessageKind::Statement, vec![(john.id, mention("John"))])),
        entities: vec![known],
        evidence: vec![evidence(&shared, &elsewhere, Stance::Supports)],
        ..w.plan(other).await
    })
    .await;
    TwoSessions { first, other, messages: all.2, facts: all.0, entities: all.1 }
}

/// Returns the remaining facts and entities without random values.
async fn left(w: &World, s: &TwoSessions) -> Vec<String> {
    let facts = w.store.facts_by_id(&w.caller, &s.facts).await.unwrap();
    let mut left: Vec<_> = facts.iter().map(|f| format!("{} {}", f.relation, f.support)).collect();
    for entity in w.store.entities_by_id(&w.caller, &s.entities).await.unwrap() {
        let first = entity.first_message.map(|m| s.messages.contains(&m));
        left.push(format!("{} {} {first:?}", entity.name, entity.mention_count));
    }
    left.sort();
    left
}

fn reweigh(fact: &Fact, left: &[Evidence]) -> Option<Fact> {
    (!left.is_empty()).then(|| Fact { support: left.len() as f64, ..fact.clone() })
}

async fn steps(w: &World, session: SessionId, limit: u32) -> SessionDeleted {
    for _ in 0..2_000 {
        let step = w.store.delete_hidden(&w.caller, session, at(9), limit, &reweigh).await.unwrap();
        if step.left == SessionRemainder::Nothing {
            return step.deleted;
        }
    }
    panic!("the deletion does not end");
}

pub(super) async fn hidden_session_behaves_as_nonexistent(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let s = spoken(&w).await;
    let c = &w.caller;
    let held = store.claim(at(0), LEASE, 1).await.unwrap().remove(0);
    let generation = store.feed_generation(c).await.unwrap();
    assert_eq!(store.hide_session(c, s.first, None, at(5)).await.unwrap(), 50);

    let rows = store.holdings(c).await.unwrap();
    assert!(rows["messages"] == 51 && rows["events"] > 50, "{rows:?}");
    assert!(store.feed_generation(c).await.unwrap() > generation, "an older index is still valid");
    assert!(store.sessions_by_id(c, &[s.first]).await.unwrap().is_empty());
    assert_eq!(store.count_sessions(c, &SessionFilter::ALL).await.unwrap(), 1);
    let page = Page::first(100);
    assert_eq!(
        store.list_sessions(c, &SessionFilter::ALL, &page).await.unwrap().items.iter().map(|found| found.1.id).collect::<Vec<_>>(),
        [s.other]
    );
    assert!(store.messages_by_id(c, &s.messages).await.unwrap().is_empty());
    assert!(store.list_messages(c, s.first, &page, false).await.unwrap().items.is_empty());
    assert!(store.list_messages(c, s.first, &page, true).await.unwrap().items.is_empty());
    assert!(store.messages_before(c, s.first, 20, 10).await.unwrap().is_empty());
    assert_eq!(store.feed(c, MODEL, 0, 100).await.unwrap().len(), 1);
    let near = Embedding(vec![1.0, 0.0]);
    assert_eq!(store.nearest(c, MODEL, &near, None, 100).await.unwrap().len(), 1);
    assert!(store.nearest(c, MODEL, &near, Some(s.first), 100).await.unwrap().is_empty());
    assert_eq!(store.evidence_of(c, &s.facts, 100).await.unwrap().len(), 1);
    assert_eq!(store.list_evidence(c, s.facts[0], &page).await.unwrap().items.len(), 1);
    assert_eq!(store.sessions_of_fact(c, s.facts[0], 10).await.unwrap(), [s.other]);
    assert_eq!(store.list_mentions(c, s.entities[0], &page).await.unwrap().items.len(), 1);
    assert!(store.mentions_in(c, &s.messages).await.unwrap().is_empty());
    assert!(store.facts_in(c, &s.messages).await.unwrap().is_empty());
    let facts = recall_ports::FactFilter { session: Some(s.first), ..Default::default() };
    assert_eq!(store.count_facts(c, &facts).await.unwrap(), 0);
    let facts = recall_ports::FactFilter { message: Some(s.messages[0]), ..Default::default() };
    assert_eq!(store.count_facts(c, &facts).await.unwrap(), 0);
    let all = recall_ports::FactFilter::default();
    let listed = store.list_facts(c, &all, &page).await.unwrap().items;
    assert_eq!(listed.iter().map(|found| found.1.id).collect::<Vec<_>>(), [s.facts[0]], "a fact without other evidence is listed");
    assert_eq!(store.count_facts(c, &all).await.unwrap(), 1);
    let entities = EntityFilter { session: Some(s.first), ..Default::default() };
    assert_eq!(store.count_entities(c, &entities).await.unwrap(), 0);
    assert!(matches!(store.log_state(c, s.first).await, Err(StoreError::NotFound)));
    assert!(matches!(store.events_after(c, s.first, 0, 10).await, Err(StoreError::NotFound)));

    // Nothing can be added, and no job runs or is claimed.
    assert!(matches!(store.append(c, s.first, vec![new_message(s.first, "more")]).await, Err(StoreError::NotFound)));
    assert!(matches!(store.append_events(c, s.first, &[event(s.first)], at(6)).await, Err(StoreError::NotFound)));
    assert!(matches!(store.finish(c, &w.plan(s.first).await, &held).await, Err(CommitError::NotOurs)));
    assert!(!store.cancel_answer(c, s.messages[0], &event(s.first), at(6)).await.unwrap());
    assert!(store.claim(at(1_000_000), LEASE, 10).await.unwrap().is_empty());
    assert_eq!(store.next_due(at(0)).await.unwrap(), None);
    // And that two sessions were created and one was deleted.
    assert_eq!(store.prune_events(at(1_000_000), 0).await.unwrap(), 1 + 3, "not only the event of the other session was pruned");

    // Also for another deletion, and for other users.
    assert!(matches!(store.hide_session(c, s.first, None, at(6)).await, Err(StoreError::NotFound)));
    assert!(matches!(store.delete_session(c, s.first, at(9), &reweigh).await, Err(StoreError::NotFound)));
    assert!(store.unused_sessions(at(1_000_000), None, 10).await.unwrap().iter().all(|(_, id)| *id != s.first));
    let boris = World::new(&store);
    boris.session().await;
    assert!(matches!(store.delete_hidden(&boris.caller, s.first, at(6), 10, &reweigh).await, Err(StoreError::NotFound)));
    assert!(
        matches!(store.delete_hidden(c, s.other, at(6), 10, &reweigh).await, Err(StoreError::NotFound)),
        "a session that is not hidden was deleted"
    );
    // Exporting facts known only from this session would make them permanent in the target.
    assert!(matches!(store.snapshot(c.user()).await.err(), Some(StoreError::SessionBeingDeleted)));

    // Another worker finds it and finishes the deletion.
    let hidden = async |since| store.hidden_sessions(at(since)).await.unwrap().iter().map(|(c, id)| (c.user(), *id)).collect::<Vec<_>>();
    assert_eq!((hidden(5).await, hidden(6).await), (vec![], vec![(c.user(), s.first)]));
    steps(&w, s.first, 7).await;
    assert!(hidden(1_000_000).await.is_empty());
    assert!(matches!(store.delete_hidden(c, s.first, at(9), 10, &reweigh).await, Err(StoreError::NotFound)));
    let exported = super::archive::export(&store, c.user()).await;
    assert!(exported.contains(&s.other.to_string()) && exported.contains(&s.facts[0].to_string()));
    assert!(!exported.contains(&s.first.to_string()) && !exported.contains(&s.facts[1].to_string()));
}

pub(super) async fn stepwise_deletion_equals_deletion_at_once(store: Arc<dyn Store>) {
    let whole = World::new(&store);
    let s = spoken(&whole).await;
    let deleted = store.delete_session(&whole.caller, s.first, at(9), &reweigh).await.unwrap();
    assert_eq!(deleted, SessionDeleted { messages: 50, facts_deleted: 51, facts_reweighed: 1, entities_deleted: 51 });
    // A deletion in steps is told twice.
    let rows_of = async |w: &World| {
        let mut rows = store.holdings(&w.caller).await.unwrap();
        rows.remove("session_changes");
        rows
    };
    let (expected, rows) = (left(&whole, &s).await, rows_of(&whole).await);
    assert_eq!(expected, ["John 1 Some(false)", "LIKES 1", "Mary 0 None"]);
    for limit in [1, 2, 13, 1_000] {
        let w = World::new(&store);
        let s = spoken(&w).await;
        store.hide_session(&w.caller, s.first, None, at(5)).await.unwrap();
        assert_eq!(steps(&w, s.first, limit).await, deleted, "in steps of {limit}");
        assert_eq!((left(&w, &s).await, rows_of(&w).await), (expected.clone(), rows.clone()), "in steps of {limit}");
    }
    assert_eq!(store.depth().await.unwrap(), (0, 0));
}

pub(super) async fn concurrent_workers_finish_hidden_session_deletion(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let s = spoken(&w).await;
    store.hide_session(&w.caller, s.first, None, at(5)).await.unwrap();
    // Three workers at once, while knowledge is committed.
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let w = w.clone();
            tokio::spawn(async move {
                loop {
                    match w.store.delete_hidden(&w.caller, s.first, at(9), 9, &reweigh).await {
                        Ok(step) if step.left == SessionRemainder::Nothing => return Some(step.deleted),
                        Ok(_) => {}
                        Err(StoreError::NotFound) => return None,
                        Err(StoreError::Transient(_)) => tokio::task::yield_now().await,
                        Err(e) => panic!("{e}"),
                    }
                }
            })
        })
        .collect();
    let later = w.note(s.other, "Still.").await;
    loop {
        let plan = KnowledgeCommit {
            message: Some((later.id, MessageKind::Statement, vec![(s.entities[0], mention("John"))])),
            ..w.plan(s.other).await
        };
        match store.commit(&w.caller, &plan).await {
            Ok(_) => break,
            Err(CommitError::Stale) => {}
            Err(e) => panic!("{e}"),
        }
    }
    let mut ends = Vec::new();
    for worker in workers {
        ends.extend(worker.await.unwrap());
    }
    assert_eq!(ends, [SessionDeleted { messages: 50, facts_deleted: 51, facts_reweighed: 1, entities_deleted: 51 }]);
    let rows = store.holdings(&w.caller).await.unwrap();
    assert_eq!((rows["sessions"], rows["messages"], rows["evidence"], rows["mentions"]), (1, 2, 1, 2));
}
