//! No store function shows, changes or counts another user's data, even to a caller who knows every id.

use std::sync::Arc;

use crate::planned::Finish;
use recall_domain::{Day, Entity, EntityKey, Fact, Message, MessageKind, ModelOperation, Page, Session, Spending, StoredEvent, TokenCount};
use recall_ports::{
    AnswerCommit, CommitError, Embedding, EntityFilter, FactFilter, FactKey, FeedRow, KnowledgeCommit, LogState, LostNames, MessageRange,
    SessionFilter, Store, StoreError, Unmerge, UsageTotals,
};

use super::given::{MODEL, World, answer_of, at, event, mention, new_message, with_external_id, word};

const PAGE: Page = Page { first: 100, after: None };

/// Everything that a user sees of a session.
#[derive(Debug, PartialEq)]
struct View {
    sessions: Vec<(String, Session)>,
    messages: Vec<(String, Message)>,
    entities: Vec<(String, Entity)>,
    facts: Vec<(String, Fact)>,
    evidence: usize,
    events: Vec<StoredEvent>,
    feed: Vec<FeedRow>,
    log: LogState,
    counters: (u64, u64),
}

async fn view(w: &World, known: &super::given::Known) -> View {
    let (s, c) = (&w.store, &w.caller);
    View {
        sessions: s.list_sessions(c, &SessionFilter::ALL, &PAGE).await.unwrap().items,
        messages: s.list_messages(c, known.session, &PAGE, false).await.unwrap().items,
        entities: s.list_entities(c, &EntityFilter::default(), &PAGE).await.unwrap().items,
        facts: s.list_facts(c, &FactFilter::default(), &PAGE).await.unwrap().items,
        evidence: s.evidence_of(c, &[known.fact.id], 100).await.unwrap().len(),
        events: s.events_after(c, known.session, 0, 100).await.unwrap(),
        feed: s.feed(c, MODEL, 0, 100).await.unwrap(),
        log: s.log_state(c, known.session).await.unwrap(),
        counters: (s.knowledge_version(c).await.unwrap(), s.feed_generation(c).await.unwrap()),
    }
}

pub(super) async fn store_functions_never_cross_users(store: Arc<dyn Store>) {
    let (a, b) = (World::new(&store), World::new(&store));
    let known = a.john_likes_mary().await;
    let answer_job = {
        let plan = KnowledgeCommit { follow_up: Some(recall_ports::JobWork::Answer(known.message.id)), ..a.plan(known.session).await };
        a.commit(plan).await;
        a.claim(0).await.into_iter().next().unwrap()
    };
    let tokens = TokenCount { input: 3, output: 4 };
    let spending = Spending { operation: ModelOperation::Answer, tokens, messages: vec![(known.message.id, tokens)] };
    store.spend(&a.caller, Day(1), &spending).await.unwrap();
    let own = b.session().await;
    let before = view(&a, &known).await;
    let (s, c) = (&store, &b.caller);

    // Reads.
    assert!(s.sessions_by_id(c, &[known.session]).await.unwrap().is_empty());
    assert_eq!(s.list_sessions(c, &SessionFilter::ALL, &PAGE).await.unwrap().items.len(), 1);
    assert_eq!(s.count_sessions(c, &SessionFilter::ALL).await.unwrap(), 1);
    assert!(s.messages_by_id(c, &[known.message.id]).await.unwrap().is_empty());
    let stored = World::new(&store);
    let theirs = stored.session().await;
    stored.append(with_external_id(new_message(theirs, "x"), "an id of a client")).await;
    assert!(s.messages_by_external_id(c, theirs, &["an id of a client".to_owned()]).await.unwrap().is_empty());
    assert!(s.list_messages(c, known.session, &PAGE, false).await.unwrap().items.is_empty());
    assert!(s.list_messages(c, known.session, &PAGE, true).await.unwrap().items.is_empty());
    assert!(s.messages_before(c, known.session, 100, 10).await.unwrap().is_empty());
    assert_eq!(s.count_messages(c, known.session).await.unwrap(), 0);
    assert!(s.resources_of(c, &[known.message.id]).await.unwrap().is_empty());
    let theirs = MessageRange { session: Some(known.session), ..MessageRange::default() };
    assert!(s.messages_within(c, &theirs, 10).await.unwrap().is_empty());
    assert!(s.answers_to(c, &[known.message.id]).await.unwrap().is_empty());
    assert!(s.feed(c, MODEL, 0, 100).await.unwrap().is_empty());
    assert_eq!(s.feed_generation(c).await.unwrap(), 0);
    let vector = Embedding(vec![1.0, 0.0]);
    assert!(s.nearest(c, MODEL, &vector, None, 10).await.unwrap().is_empty());
    assert!(s.nearest(c, MODEL, &vector, Some(known.session), 10).await.unwrap().is_empty());
    assert_eq!(s.knowledge_version(c).await.unwrap(), 0);
    assert_eq!(s.viewer_entity(c).await.unwrap(), None);
    assert!(s.entities_by_key(c, &[EntityKey::of("John").unwrap()]).await.unwrap().is_empty());
    assert!(s.entities_by_hint(c, &["john".into()], 10).await.unwrap().is_empty());
    assert!(s.recently_mentioned(c, known.session, &[known.john.id]).await.unwrap().is_empty());
    assert!(s.mentions_of(c, known.john.id).await.unwrap().is_empty());
    assert!(s.decisions_in(c, &[known.message.id]).await.unwrap().is_empty());
    assert_eq!(s.merge_record(c, known.john.id).await.unwrap(), None);
    assert!(s.merged_into(c, &[known.john.id]).await.unwrap().is_empty());
    assert!(s.entities_by_id(c, &[known.john.id]).await.unwrap().is_empty());
    let key = FactKey { subject: known.john.id, relation: "LIKES".into(), object: None, value: None };
    assert!(s.facts_by_key(c, &[key], 9).await.unwrap().is_empty());
    assert!(s.facts_by_id(c, &[known.fact.id]).await.unwrap().is_empty());
    assert!(s.facts_of_entities(c, &[known.john.id], 10).await.unwrap().is_empty());
    assert!(s.facts_between(c, &[known.john.id], &[known.fact.subject, known.fact.object]).await.unwrap().is_empty());
    for filter in [EntityFilter::default(), EntityFilter { session: Some(known.session), ..EntityFilter::default() }] {
        assert!(s.list_entities(c, &filter, &PAGE).await.unwrap().items.is_empty());
        assert_eq!(s.count_entities(c, &filter).await.unwrap(), 0);
    }
    for filter in [
        FactFilter::default(),
        FactFilter { subject: Some(known.john.id), ..FactFilter::default() },
        FactFilter { session: Some(known.session), ..FactFilter::default() },
        FactFilter { message: Some(known.message.id), ..FactFilter::default() },
        FactFilter { text: vec![word("John")], ..FactFilter::default() },
    ] {
        assert!(s.list_facts(c, &filter, &PAGE).await.unwrap().items.is_empty());
        assert_eq!(s.count_facts(c, &filter).await.unwrap(), 0);
    }
    assert!(s.evidence_of(c, &[known.fact.id], 10).await.unwrap().is_empty());
    assert!(s.list_evidence(c, known.fact.id, &PAGE).await.unwrap().items.is_empty());
    assert!(s.mentions_in(c, &[known.message.id]).await.unwrap().is_empty());
    assert!(s.facts_in(c, &[known.message.id]).await.unwrap().is_empty());
    assert!(s.list_mentions(c, known.john.id, &PAGE).await.unwrap().items.is_empty());
    assert!(s.sessions_of_fact(c, known.fact.id, 10).await.unwrap().is_empty());
    assert!(matches!(s.log_state(c, known.session).await, Err(StoreError::NotFound)));
    assert!(matches!(s.events_after(c, known.session, 0, 10).await, Err(StoreError::NotFound)));

    assert_eq!(s.spent(c, Day(1)).await.unwrap(), UsageTotals { own: 0, visitors: 0, all: 7 }, "more than the total is visible");
    assert!(s.usage_since(c, Day(0)).await.unwrap().is_empty());
    assert!(s.usage_of_messages(c, &[known.message.id]).await.unwrap().is_empty());

    // Writes.
    let tokens = TokenCount { input: 1, output: 2 };
    let mine = Spending { operation: ModelOperation::Extract, tokens, messages: vec![(known.message.id, tokens)] };
    s.spend(c, Day(1), &mine).await.unwrap();
    assert!(s.usage_of_messages(c, &[known.message.id]).await.unwrap().is_empty());
    assert_eq!(s.usage_of_messages(&a.caller, &[known.message.id]).await.unwrap().len(), 1);
    assert_eq!(s.spent(&a.caller, Day(1)).await.unwrap(), UsageTotals { own: 7, visitors: 0, all: 10 });
    let message = new_message(known.session, "mine now");
    assert!(matches!(s.append(c, known.session, vec![message.clone()]).await, Err(StoreError::NotFound)));
    assert!(matches!(s.append(c, known.session, vec![]).await, Err(StoreError::NotFound)));
    assert!(matches!(s.append_events(c, known.session, &[event(known.session)], at(1)).await, Err(StoreError::NotFound)));
    assert!(matches!(s.delete_session(c, known.session, at(9), &|_, _| None).await, Err(StoreError::NotFound)));
    let refused = |r: Result<Vec<u64>, CommitError>| assert!(matches!(r, Err(CommitError::Store(_))), "{r:?}");
    refused(s.commit(c, &KnowledgeCommit { session: known.session, ..b.plan(own).await }).await);
    let foreign_message = Some((known.message.id, MessageKind::Other, vec![(known.john.id, mention("John"))]));
    refused(s.commit(c, &KnowledgeCommit { message: foreign_message, ..b.plan(own).await }).await);
    refused(s.commit(c, &KnowledgeCommit { facts: vec![known.fact.clone()], ..b.plan(own).await }).await);
    refused(s.commit(c, &KnowledgeCommit { evidence: vec![known.evidence.clone()], ..b.plan(own).await }).await);
    refused(s.commit(c, &KnowledgeCommit { hints: vec![(known.john.id, "john".into())], ..b.plan(own).await }).await);
    let foreign = Unmerge { gone: known.john.id, from: known.mary.id, mentions: vec![(known.message.id, 0)], names: LostNames::Recorded };
    let stale = s.commit(c, &KnowledgeCommit { unmerged: vec![foreign], ..b.plan(own).await }).await;
    assert!(matches!(stale, Err(CommitError::Stale)));
    let answer = AnswerCommit { message: answer_of(known.message.id, "mine now", vec![], known.session), events: vec![] };
    assert!(matches!(s.commit_answer(c, &answer, &answer_job.claim).await, Err(CommitError::NotOurs)));
    assert!(matches!(s.finish(c, &b.plan(own).await, &answer_job).await, Err(CommitError::NotOurs)));
    let buried = s.bury(c, &answer_job.claim, &event(own), "test", at(1)).await;
    assert!(matches!(buried, Err(CommitError::NotOurs)));
    assert!(!s.cancel_answer(c, known.message.id, &event(own), at(1)).await.unwrap());

    assert_eq!(view(&a, &known).await, before);
    assert_eq!(s.log_state(c, own).await.unwrap().head, 0, "a refused commit wrote into the caller's own log");
    assert_eq!(s.knowledge_version(c).await.unwrap(), 0, "a refused commit counted");
    // The worker still holds the job.
    assert!(s.extend(&answer_job.claim, at(1), super::given::LEASE).await.unwrap());
}

pub(super) async fn two_users_can_have_same_ids(store: Arc<dyn Store>) {
    let (a, b) = (World::new(&store), World::new(&store));
    let known = a.john_likes_mary().await;
    // The server chooses ids; if two are equal by chance, nothing may break or leak.
    store.create_session(&b.caller, known.session, None, "other".into(), at(0)).await.unwrap();
    let plan = KnowledgeCommit {
        entities: vec![known.john.clone(), known.mary.clone()],
        facts: vec![Fact { support: 7.0, ..known.fact.clone() }],
        ..b.plan(known.session).await
    };
    b.commit(plan).await;
    assert_eq!(store.facts_by_id(&a.caller, &[known.fact.id]).await.unwrap()[0].support, 1.0);
    assert_eq!(store.facts_by_id(&b.caller, &[known.fact.id]).await.unwrap()[0].support, 7.0);
    store.delete_session(&b.caller, known.session, at(9), &|_, _| None).await.unwrap();
    assert_eq!(store.count_sessions(&a.caller, &SessionFilter::ALL).await.unwrap(), 1);
    assert_eq!(store.messages_by_id(&a.caller, &[known.message.id]).await.unwrap().len(), 1);
}
