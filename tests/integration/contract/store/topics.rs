//! Topics: found per session, joined across sessions, and gone with their texts.

use std::sync::Arc;

use recall_domain::{DocumentId, Message, MessageId, MessageKind, Page, SessionId, Topic, TopicId};
use recall_ports::{CommitError, KnowledgeCommit, SessionTopics, Store, StoreError, TopicPart, TopicTexts};

use super::{
    documents::store_document,
    forget,
    given::{MODEL, World, at, entity, fresh, mention},
};

const PAGE: Page = Page { first: 100, after: None };
pub(super) const PETS: [f32; 3] = [1.0, 0.0, 0.0];
pub(super) const TAXES: [f32; 3] = [0.0, 1.0, 0.0];

fn part(name: &str, centroid: [f32; 3], messages: &[MessageId]) -> TopicPart {
    let terms = name.split(' ').map(str::to_owned).collect();
    TopicPart { fresh: TopicId(fresh()), name: name.into(), terms, centroid: centroid.into(), messages: messages.into() }
}

async fn replace(w: &World, session: SessionId, parts: Vec<TopicPart>) -> Result<(), CommitError> {
    let topics = SessionTopics { session, model: MODEL.into(), parts, now: at(3) };
    w.store.replace_topics(&w.caller, &topics).await
}

/// Replaces the topics of a document by groups of its chunks. Each has a name, a meaning, and the places of its chunks.
pub(super) async fn group_chunks(w: &World, document: DocumentId, groups: &[(&str, [f32; 3], &[usize])]) {
    let chunks = w.store.list_chunks(&w.caller, document, &PAGE).await.unwrap().items;
    let parts = groups.iter().map(|(name, centroid, places)| {
        let messages: Vec<_> = places.iter().map(|place| chunks[*place].1.id).collect();
        part(name, *centroid, &messages)
    });
    replace(w, document.session(), parts.collect()).await.unwrap();
}

/// Stores a topic of a session without jobs.
pub(super) async fn store_topic(w: &World, message: &Message) {
    replace(w, message.session, vec![part("odd\0 name\u{10FFFF}", [0.6, 0.8, 0.0], &[message.id])]).await.unwrap();
}

async fn notes(w: &World, session: SessionId, count: usize) -> Vec<MessageId> {
    let mut ids = Vec::new();
    for n in 0..count {
        ids.push(w.note(session, &format!("Note {n}")).await.id);
    }
    ids
}

/// Names and sizes of all topics.
async fn listed(w: &World) -> Vec<(String, u64)> {
    let topics = w.store.list_topics(&w.caller, &PAGE).await.unwrap();
    topics.items.into_iter().map(|(_, topic)| (topic.name.into_string(), topic.size)).collect()
}

async fn all(w: &World) -> Vec<Topic> {
    w.store.list_topics(&w.caller, &PAGE).await.unwrap().items.into_iter().map(|(_, topic)| topic).collect()
}

async fn messages(w: &World, id: TopicId) -> Vec<MessageId> {
    w.store.messages_of_topic(&w.caller, id, &PAGE).await.unwrap().items.into_iter().map(|(_, id)| id).collect()
}

fn pair(name: &str, size: u64) -> (String, u64) {
    (name.to_owned(), size)
}

pub(super) async fn parts_of_sessions_with_the_same_meaning_are_one_topic(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let document = store_document(&w).await.id;
    let chunks: Vec<_> = store.list_chunks(&w.caller, document, &PAGE).await.unwrap().items.into_iter().map(|(_, c)| c.id).collect();
    let session = w.session().await;
    let said = notes(&w, session, 6).await;
    replace(&w, document.session(), vec![part("dog cat", PETS, &chunks[..3]), part("tax", TAXES, &chunks[3..])]).await.unwrap();
    assert_eq!(listed(&w).await, [pair("dog cat", 3), pair("tax", 1)]);
    let before = all(&w).await;
    replace(&w, session, vec![part("cat dog leash", [0.8, 0.6, 0.0], &said[..4]), part("rain", [0.0, 0.0, 1.0], &said[4..])])
        .await
        .unwrap();
    // The name is that of the largest part.
    assert_eq!(listed(&w).await, [pair("cat dog leash", 7), pair("rain", 2), pair("tax", 1)]);
    let topics = all(&w).await;
    let [pets, rain, taxes] = [0, 1, 2].map(|n: usize| topics[n].id);
    assert_eq!((pets, taxes), (before[0].id, before[1].id));

    let mut newest = said[..4].to_vec();
    newest.reverse();
    assert_eq!((messages(&w, pets).await, messages(&w, taxes).await), (newest.clone(), vec![]), "without chunks");
    let head = store.messages_of_topic(&w.caller, pets, &Page::first(3)).await.unwrap();
    let rest = Page { first: 3, after: Some(head.items[2].0.clone()) };
    let rest = store.messages_of_topic(&w.caller, pets, &rest).await.unwrap();
    assert!(head.has_next && !rest.has_next && rest.items[0].1 == newest[3] && rest.items.len() == 1);
    assert_eq!(store.documents_of_topic(&w.caller, pets, 9).await.unwrap(), [document]);
    assert!(store.documents_of_topic(&w.caller, rain, 9).await.unwrap().is_empty());
    let of = store.topics_of_sessions(&w.caller, &[document.session(), session]).await.unwrap();
    let of = |wanted: SessionId| of.iter().filter(|(s, _)| *s == wanted).map(|(_, topic)| *topic).collect::<Vec<_>>();
    assert_eq!((of(document.session()), of(session)), (vec![pets, taxes], vec![pets, rain]));
    let [john, mary] = [entity("John"), entity("Mary")];
    for (message, named) in [(said[0], vec![&mary, &john]), (said[1], vec![&john]), (said[5], vec![&mary])] {
        let mentions = named.iter().map(|e| (e.id, mention("x"))).collect();
        let entities = vec![john.clone(), mary.clone()];
        w.commit(KnowledgeCommit { entities, message: Some((message, MessageKind::Statement, mentions)), ..w.plan(session).await }).await;
    }
    assert_eq!(store.entities_of_topic(&w.caller, pets, 9).await.unwrap(), [john.id, mary.id]);
    assert_eq!(store.entities_of_topic(&w.caller, pets, 1).await.unwrap(), [john.id]);
    assert!(store.entities_of_topic(&w.caller, taxes, 9).await.unwrap().is_empty());
    assert_eq!(store.related_topics(&w.caller, taxes, 9).await.unwrap(), [pets]);
    assert!(store.related_topics(&w.caller, TopicId(fresh()), 9).await.unwrap().is_empty());
    let page = store.list_topics(&w.caller, &Page::first(2)).await.unwrap();
    let next = Page { first: 2, after: Some(page.items[1].0.clone()) };
    let next = store.list_topics(&w.caller, &next).await.unwrap();
    assert!(page.has_next && !next.has_next);
    assert_eq!(page.items.into_iter().chain(next.items).map(|(_, topic)| topic).collect::<Vec<_>>(), topics);
    let wrong = Page { first: 1, after: Some("x".into()) };
    assert!(matches!(store.list_topics(&w.caller, &wrong).await, Err(StoreError::BadCursor)));
    assert!(matches!(store.messages_of_topic(&w.caller, pets, &wrong).await, Err(StoreError::BadCursor)));

    // The next time, the session keeps its topic, and a topic without parts is gone.
    replace(&w, session, vec![part("cat dog", PETS, &said)]).await.unwrap();
    assert_eq!(listed(&w).await, [pair("cat dog", 9), pair("tax", 1)]);
    assert_eq!(all(&w).await[0].id, pets);
    assert!(store.topics_by_id(&w.caller, &[rain]).await.unwrap().is_empty());
    assert_eq!(store.topics_by_id(&w.caller, &[pets, TopicId(fresh())]).await.unwrap(), all(&w).await[..1]);
    // The name of a deleted conversation goes with it.
    store.hide_session(&w.caller, session, None, at(9)).await.unwrap();
    assert_eq!(listed(&w).await, [pair("dog cat", 3), pair("tax", 1)]);
    assert!(messages(&w, pets).await.is_empty());
    while store.delete_hidden(&w.caller, session, at(9), 2, &|_, _| None).await.is_ok() {}
    assert_eq!(listed(&w).await, [pair("dog cat", 3), pair("tax", 1)]);
    store.delete_session(&w.caller, document.session(), at(9), &|_, _| None).await.unwrap();
    assert!(listed(&w).await.is_empty());
    let left = store.holdings(&w.caller).await.unwrap();
    assert!(left.keys().all(|table| !table.starts_with("topic")), "{left:?}");
}

pub(super) async fn forgotten_message_takes_its_topic_along(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let said = notes(&w, session, 4).await;
    let parts = || vec![part("dog cat", PETS, &said[..2]), part("tax", TAXES, &said[2..])];
    replace(&w, session, parts()).await.unwrap();
    let plan = forget::plan(&w, session, &said[..1]).await;
    store.forget(&w.caller, &plan).await.unwrap();
    assert_eq!(listed(&w).await, [pair("tax", 2)]);
    let stale = replace(&w, session, parts()).await;
    assert!(matches!(stale, Err(CommitError::Stale)), "{stale:?}");
    store.restore_forgotten(&w.caller, &forget::undoing(&w, &plan).await).await.unwrap();
    assert_eq!(listed(&w).await.len(), 2);
    let mut plan = forget::plan(&w, session, &said[..1]).await;
    plan.redacted = vec![said[2]];
    store.forget(&w.caller, &plan).await.unwrap();
    assert!(listed(&w).await.is_empty());
    store.purge_forgotten(&w.caller, plan.id, plan.until).await.unwrap();
    assert!(listed(&w).await.is_empty());
    let left = store.holdings(&w.caller).await.unwrap();
    assert!(left.keys().all(|table| !table.starts_with("topic")), "{left:?}");
    replace(&w, session, vec![part("tax", TAXES, &said[3..])]).await.unwrap();
    assert_eq!(listed(&w).await, [pair("tax", 1)]);
}

pub(super) async fn topics_of_others_are_unknown(store: Arc<dyn Store>) {
    let (a, b) = (World::new(&store), World::new(&store));
    let document = store_document(&a).await.id;
    let chunks: Vec<_> = store.list_chunks(&a.caller, document, &PAGE).await.unwrap().items.into_iter().map(|(_, c)| c.id).collect();
    replace(&a, document.session(), vec![part("dog cat", PETS, &chunks)]).await.unwrap();
    let theirs = all(&a).await.remove(0);
    let (own, c) = (b.session().await, &b.caller);
    let mine = notes(&b, own, 1).await;
    assert!(store.topics_by_id(c, &[theirs.id]).await.unwrap().is_empty());
    assert!(store.list_topics(c, &PAGE).await.unwrap().items.is_empty());
    assert!(store.topics_of_sessions(c, &[document.session()]).await.unwrap().is_empty());
    assert!(store.documents_of_topic(c, theirs.id, 9).await.unwrap().is_empty());
    assert!(messages(&b, theirs.id).await.is_empty());
    assert!(store.entities_of_topic(c, theirs.id, 9).await.unwrap().is_empty());
    assert!(store.related_topics(c, theirs.id, 9).await.unwrap().is_empty());
    let texts = TopicTexts { session: document.session(), from: 1, step: 1, limit: 9 };
    assert!(store.topic_texts(c, &texts).await.unwrap().is_empty());
    for (session, message) in [(document.session(), chunks[0]), (own, chunks[0]), (document.session(), mine[0])] {
        let refused = replace(&b, session, vec![part("dog cat", PETS, &[message])]).await;
        assert!(matches!(refused, Err(CommitError::Stale)), "{refused:?}");
    }
    // The same meaning is another topic in another memory.
    replace(&b, own, vec![part("dog cat", PETS, &mine)]).await.unwrap();
    assert_ne!(all(&b).await[0].id, theirs.id);
    assert_eq!(all(&a).await, [theirs]);
}

pub(super) async fn texts_of_a_session_are_read_for_its_topics(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let said = notes(&w, session, 8).await;
    let greeting = Some((said[6], MessageKind::Other, vec![]));
    w.commit(KnowledgeCommit { message: greeting, ..w.plan(session).await }).await;
    store.forget(&w.caller, &forget::plan(&w, session, &said[4..5]).await).await.unwrap();
    let read = async |from: u64, step: u64, limit: u32| {
        let texts = store.topic_texts(&w.caller, &TopicTexts { session, from, step, limit }).await.unwrap();
        assert!(texts.iter().all(|text| text.model == MODEL && text.embedding.0 == [1.0, 0.0] && text.text.as_str().starts_with("Note")));
        texts.iter().map(|text| said.iter().position(|id| *id == text.message).unwrap() + 1).collect::<Vec<_>>()
    };
    assert_eq!(read(1, 1, 100).await, [8, 6, 4, 3, 2, 1]);
    assert_eq!(read(3, 2, 100).await, [8, 6, 4]);
    assert_eq!(read(1, 1, 2).await, [8, 6]);
    assert!(store.topics_of_sessions(&w.caller, &[DocumentId(fresh()).session()]).await.unwrap().is_empty());
}
