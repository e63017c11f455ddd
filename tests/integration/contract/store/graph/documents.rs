//! The graph feed lists documents, their chunks, and the messages that cite them.

use std::sync::Arc;

use recall_domain::{Citation, CitedChunk, Document, DocumentStatus, Message, MessageId, MessageKind, Page, PageRange, SessionId};
use recall_ports::{
    AnswerCommit, AnsweredQuestion, GraphChunk, GraphMessage, GraphTopic, JobWork, KnowledgeCommit, NewMessage, NodeId, NodeState, Store,
};

use super::{
    super::{
        documents::{store_document, store_linking},
        forget,
        given::{World, answer_of, at, entity, event, mention},
        topics::{PETS, TAXES, group_chunks, store_topic},
    },
    Folder,
    feed::changes,
};

/// A question and its answer, which cites a document.
pub(super) struct Answered {
    pub(super) session: SessionId,
    pub(super) question: Message,
    pub(super) answer: Message,
}

/// The chunks of a document in order.
pub(super) async fn chunks_of(w: &World, document: &Document) -> Vec<MessageId> {
    w.store.list_chunks(&w.caller, document.id, &Page::first(50)).await.unwrap().items.into_iter().map(|(_, c)| c.id).collect()
}

/// Cites a chunk of a document; `shared` says that both belong to shared memory.
pub(super) fn citing(document: &Document, chunk: MessageId, shared: bool) -> Citation {
    let chunk = CitedChunk { chunk_id: chunk, document_id: document.id, filename: "a\0\\u0000.txt".into(), pages: None };
    // The words look like another citation.
    let excerpt = "\0\"document_id\":\"00000000-0000-0000-0000-000000000000\"".into();
    Citation { index: 1, message_id: None, chunk: Some(chunk), fact_id: None, excerpt, shared }
}

/// Asks a question and answers it with these citations.
pub(super) async fn answered(w: &World, citations: Vec<Citation>) -> Answered {
    answered_from(w, citations, Vec::new()).await
}

/// Asks a question and answers it with these citations, or says what comes nearest.
async fn answered_from(w: &World, citations: Vec<Citation>, nearest: Vec<Citation>) -> Answered {
    let session = w.session().await;
    let question = w.note(session, "What does it say?").await;
    let plan = KnowledgeCommit {
        message: Some((question.id, MessageKind::Question, vec![])),
        follow_up: Some(JobWork::Answer(question.id)),
        ..w.plan(session).await
    };
    w.commit(plan).await;
    let (own, others): (Vec<_>, Vec<_>) = w.claim(0).await.into_iter().partition(|job| job.work == JobWork::Answer(question.id));
    w.store.release(&others.into_iter().map(|job| job.claim).collect::<Vec<_>>()).await.unwrap();
    let answers = Some(AnsweredQuestion { question: question.id, citations, nearest });
    let message = NewMessage { answers, ..answer_of(question.id, "It says so [1].", vec![], session) };
    let answer = AnswerCommit { message, events: vec![event(session)] };
    let answer = w.store.commit_answer(&w.caller, &answer, &own[0].claim).await.unwrap();
    Answered { session, question, answer }
}

/// Names an entity in a message or chunk.
pub(super) async fn mention_in(w: &World, session: SessionId, message: MessageId, name: &str) -> recall_domain::Entity {
    let named = entity(name);
    let plan = KnowledgeCommit {
        message: Some((message, MessageKind::Statement, vec![(named.id, mention(name))])),
        entities: vec![named.clone()],
        ..w.plan(session).await
    };
    w.commit(plan).await;
    named
}

async fn message(folder: &Folder, w: &World, after: u64, wanted: MessageId) -> Option<GraphMessage> {
    changes(folder, w, after).await.into_iter().find_map(|c| match c.thing {
        NodeState::Message(m) if m.id == wanted => Some(m),
        _ => None,
    })
}

pub(in super::super) async fn feed_lists_documents_with_chunks_and_citations(store: Arc<dyn Store>) {
    let folder = Folder::over(store);
    folder.feed().start().await.unwrap();
    let w = folder.world();
    let document = store_document(&w).await;
    let chunks = chunks_of(&w, &document).await;
    let named = mention_in(&w, document.id.session(), chunks[3], "Ada").await;
    let all = changes(&folder, &w, 0).await;
    assert_eq!(all.len(), 1 + 1 + 4 + 1, "document, first message, chunks, entity: {all:?}");
    let found = all.iter().find_map(|c| if let NodeState::Document(d) = &c.thing { Some(d) } else { None }).unwrap();
    assert_eq!((found.id, &found.collection, &found.path, found.version), (document.id, &document.collection, &document.path, 1));
    assert_eq!((&found.filename, &found.title, &found.media_type), (&document.filename, &document.title, &document.media_type));
    assert_eq!((found.bytes, found.pages, found.chunk_count, found.status), (6, Some(3), 4, DocumentStatus::Processing));
    assert_eq!((&found.links, found.created_at), (&document.links, document.created_at));
    let last = all.iter().find_map(|c| if let NodeState::Chunk(c) = &c.thing { Some(c).filter(|c| c.id == chunks[3]) } else { None });
    let expected = GraphChunk {
        id: chunks[3],
        document: document.id,
        position: 3,
        heading: Some("Section 1".into()),
        char_offset: 30,
        pages: Some(PageRange { first: 4, last: 5 }),
        mentions: vec![named.id],
    };
    assert_eq!(last, Some(&expected));
    let gone: Vec<NodeId> = all.iter().filter(|c| matches!(c.thing, NodeState::Gone(_))).map(|c| c.thing.id()).collect();
    assert!(matches!(gone[..], [NodeId::Message(first)] if !chunks.contains(&first)), "only the first message is not in the graph");

    let mark = folder.feed().head(&w.caller).await.unwrap();
    let answered = answered(&w, vec![citing(&document, chunks[0], false), citing(&document, chunks[1], false)]).await;
    let answer = message(&folder, &w, mark, answered.answer.id).await.unwrap();
    assert_eq!((&answer.cited[..], &answer.answered_by[..], answer.asks()), (&[document.id][..], &[][..], false));
    let question = message(&folder, &w, mark, answered.question.id).await.unwrap();
    assert_eq!((&question.cited[..], &question.answered_by[..], question.asks()), (&[][..], &[document.id][..], true));
    assert_eq!(folder.feed().size(&w.caller).await.unwrap(), (1 + 1 + 4 + 1 + 1 + 3, 1 + 4 + 1 + 1 + 2 + 1 + 1));

    let unknown = answered_from(&w, vec![], vec![citing(&document, chunks[0], false)]).await;
    assert!(message(&folder, &w, mark, unknown.answer.id).await.unwrap().cited.is_empty(), "what is nearest has answered nothing");
    assert!(message(&folder, &w, mark, unknown.question.id).await.unwrap().answered_by.is_empty());
    w.store.delete_session(&w.caller, unknown.session, at(9), &|_, _| None).await.unwrap();

    w.store.delete_session(&w.caller, document.id.session(), at(9), &|_, _| None).await.unwrap();
    let all = changes(&folder, &w, 0).await;
    assert!(all.iter().all(|c| !matches!(c.thing, NodeState::Document(_) | NodeState::Chunk(_))), "{all:?}");
    let left = message(&folder, &w, 0, answered.answer.id).await.unwrap();
    assert!(left.cited.is_empty(), "a deleted document is cited");
    assert_eq!(folder.feed().size(&w.caller).await.unwrap(), (3, 2));
}

pub(in super::super) async fn feed_leaves_out_citations_of_hidden_answers_and_shared_documents(store: Arc<dyn Store>) {
    let folder = Folder::over(store.clone());
    folder.feed().start().await.unwrap();
    let (w, other) = (folder.world(), folder.world());
    let (document, theirs) = (store_document(&w).await, store_document(&other).await);
    let (chunk, foreign) = (chunks_of(&w, &document).await[0], chunks_of(&other, &theirs).await[0]);
    let citations = vec![citing(&document, chunk, true), citing(&theirs, foreign, true), citing(&theirs, foreign, false)];
    let elsewhere = answered(&w, citations).await;
    let found = message(&folder, &w, 0, elsewhere.answer.id).await.unwrap();
    assert!(found.cited.is_empty(), "a document of shared memory or of another user is cited");

    let own = answered(&w, vec![citing(&document, chunk, false)]).await;
    let cites = async || {
        let (question, answer) = (message(&folder, &w, 0, own.question.id).await.unwrap(), message(&folder, &w, 0, own.answer.id).await);
        (question.answered_by.len(), answer.map(|m| m.cited.len()))
    };
    assert_eq!(cites().await, (1, Some(1)));
    let mark = folder.feed().head(&w.caller).await.unwrap();
    let plan = forget::plan(&w, own.session, &[own.answer.id]).await;
    store.forget(&w.caller, &plan).await.unwrap();
    assert_eq!(cites().await, (0, None));
    assert!(message(&folder, &w, mark, own.question.id).await.is_some(), "the question is not listed again");
    let mark = folder.feed().head(&w.caller).await.unwrap();
    store.restore_forgotten(&w.caller, &forget::undoing(&w, &plan).await).await.unwrap();
    assert_eq!(cites().await, (1, Some(1)));
    assert!(message(&folder, &w, mark, own.question.id).await.is_some(), "the question is not listed again");
}

/// The topics in the graph: names and documents.
async fn topics(folder: &Folder, w: &World, after: u64) -> Vec<GraphTopic> {
    let mut found: Vec<GraphTopic> = changes(folder, w, after)
        .await
        .into_iter()
        .filter_map(|c| if let NodeState::Topic(topic) = c.thing { Some(topic) } else { None })
        .collect();
    found.sort_by(|a, b| a.name.as_str().cmp(b.name.as_str()));
    found
}

pub(in super::super) async fn feed_lists_topics_of_documents(store: Arc<dyn Store>) {
    let folder = Folder::over(store.clone());
    let w = folder.world();
    let first = store_document(&w).await;
    group_chunks(&w, first.id, &[("dog cat", PETS, &[0, 1, 2])]).await;
    folder.feed().start().await.unwrap();
    let listed =
        async |after| topics(&folder, &w, after).await.into_iter().map(|t| (t.name.into_string(), t.documents)).collect::<Vec<_>>();
    assert_eq!(listed(0).await, [("dog cat".to_owned(), vec![first.id])], "a topic from before the start");
    let size = async || folder.feed().size(&w.caller).await.unwrap();
    let before = size().await;

    // A topic of a conversation is not in the graph.
    let session = w.session().await;
    let told = w.note(session, "Something else.").await;
    store_topic(&w, &told).await;
    let mark = folder.feed().head(&w.caller).await.unwrap();
    let second = store_linking(&w, "2", &[]).await;
    group_chunks(&w, second.id, &[("cat dog", PETS, &[0, 1]), ("tax", TAXES, &[2, 3])]).await;
    let mut both = vec![first.id, second.id];
    both.sort();
    assert_eq!(listed(mark).await, [("dog cat".to_owned(), both.clone()), ("tax".to_owned(), vec![second.id])]);
    let (nodes, relationships) = size().await;
    assert_eq!((nodes - before.0, relationships - before.1), (2 + 1 + 4 + 1, 1 + 1 + 4 + 2), "session, message, document, chunks, topics");

    // A forgotten chunk hides its group, and the topic has the name of the next one.
    let hidden = chunks_of(&w, &first).await[0];
    let plan = forget::plan(&w, first.id.session(), &[hidden]).await;
    let mark = folder.feed().head(&w.caller).await.unwrap();
    store.forget(&w.caller, &plan).await.unwrap();
    assert_eq!(listed(mark).await, [("cat dog".to_owned(), vec![second.id])]);
    let mark = folder.feed().head(&w.caller).await.unwrap();
    store.restore_forgotten(&w.caller, &forget::undoing(&w, &plan).await).await.unwrap();
    assert_eq!(listed(mark).await, [("dog cat".to_owned(), both)]);

    let mark = folder.feed().head(&w.caller).await.unwrap();
    store.delete_session(&w.caller, second.id.session(), at(9), &|_, _| None).await.unwrap();
    assert_eq!(listed(mark).await, [("dog cat".to_owned(), vec![first.id])]);
    store.delete_session(&w.caller, first.id.session(), at(9), &|_, _| None).await.unwrap();
    assert_eq!(listed(0).await, []);
    assert_eq!(size().await, (2, 1), "a topic is left");
}

pub(in super::super) async fn feed_records_document_changes_once_started(store: Arc<dyn Store>) {
    let folder = Folder::over(store.clone());
    let w = folder.world();
    let before = store_document(&w).await;
    assert_eq!(folder.feed().head(&w.caller).await.unwrap(), 0);
    folder.feed().start().await.unwrap();
    let all = changes(&folder, &w, 0).await;
    assert!(all.iter().any(|c| matches!(&c.thing, NodeState::Document(d) if d.id == before.id)), "{all:?}");
    assert_eq!(all.iter().filter(|c| matches!(c.thing, NodeState::Chunk(_))).count(), 4);

    // Progress is not in the graph, and the end of the processing is.
    let mark = folder.feed().head(&w.caller).await.unwrap();
    store.delete_original(&w.caller, before.id, at(9)).await.unwrap();
    assert_eq!(changes(&folder, &w, mark).await, []);
    // A view is a relationship of its owner.
    let (nodes, relationships) = folder.feed().size(&w.caller).await.unwrap();
    store.view_document(&w.caller, before.id, at(11)).await.unwrap();
    let viewed = changes(&folder, &w, mark).await;
    assert!(matches!(&viewed[..], [c] if matches!(&c.thing, NodeState::Document(d) if d.viewed_at == Some(at(11)))), "{viewed:?}");
    assert_eq!(folder.feed().size(&w.caller).await.unwrap(), (nodes, relationships + 1));
}
