//! What is related to documents: messages that cite them, entities that they mention, views, and summaries.

use std::sync::Arc;

use recall_domain::{
    Caller, Citation, CitedChunk, Document, DocumentId, EntityId, Message, MessageId, MessageKind, Page, SessionId, Slice, UserId,
    UserText, ViewerRole,
};
use recall_ports::{AnswerCommit, AnsweredQuestion, JobWork, KnowledgeCommit, NewMessage, Store, StoreError};

use super::{
    documents::store_document,
    forget,
    given::{World, answer_of, at, entity, fresh, mention},
};
use crate::planned::Finish;

const PAGE: Page = Page { first: 100, after: None };

fn cited(document: DocumentId) -> Citation {
    let chunk = CitedChunk { chunk_id: MessageId(fresh()), document_id: document, filename: "a.txt".into(), pages: None };
    Citation { index: 1, message_id: None, chunk: Some(chunk), fact_id: None, excerpt: "Chunk \0 and \\u0000".into(), shared: false }
}

/// Asks and answers. Returns the question and the answer.
pub(super) async fn answered(w: &World, session: SessionId, documents: &[DocumentId]) -> (Message, Message) {
    answered_from(w, session, documents, &[]).await
}

/// Asks, and answers with these sources, or with what only comes nearest.
async fn answered_from(w: &World, session: SessionId, documents: &[DocumentId], nearest: &[DocumentId]) -> (Message, Message) {
    let question = w.ask(session, "What does it say?").await;
    let waiting = w.claim(100_000).await;
    let job = waiting.iter().find(|job| matches!(job.work, JobWork::Understand { message, .. } if message == question.id)).unwrap();
    let plan = KnowledgeCommit { follow_up: Some(JobWork::Answer(question.id)), ..w.plan(session).await };
    w.store.finish(&w.caller, &plan, job).await.unwrap();
    let jobs = w.claim(100_000).await;
    let job = jobs.iter().find(|job| job.work == JobWork::Answer(question.id)).unwrap();
    let others: Vec<_> = waiting.iter().chain(&jobs).filter(|j| j.session != session).map(|j| j.claim.clone()).collect();
    w.store.release(&others).await.unwrap();
    let of = |documents: &[DocumentId]| documents.iter().copied().map(cited).collect();
    let answers = Some(AnsweredQuestion { question: question.id, citations: of(documents), nearest: of(nearest) });
    let message = NewMessage { answers, ..answer_of(question.id, "It says so [1].", vec![], session) };
    let answer = AnswerCommit { message, events: vec![] };
    let answer = w.store.commit_answer(&w.caller, &answer, &job.claim).await.unwrap();
    (question, answer)
}

fn values<T: Clone>(slice: &Slice<T>) -> Vec<T> {
    slice.items.iter().map(|(_, value)| value.clone()).collect()
}

async fn citing(w: &World, id: DocumentId) -> (Vec<MessageId>, Vec<MessageId>) {
    let questions = w.store.questions_answered_by(&w.caller, id, &PAGE).await.unwrap();
    (values(&questions), values(&w.store.messages_citing(&w.caller, id, &PAGE).await.unwrap()))
}

async fn read(w: &World, id: DocumentId) -> Document {
    w.store.documents_by_id(&w.caller, &[id]).await.unwrap().remove(0)
}

pub(super) async fn citations_lead_from_a_document_to_questions_and_answers(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let (document, other) = (store_document(&w).await.id, DocumentId(fresh()));
    let session = w.session().await;
    // A citation twice, and one of shared memory, which is no document of the user.
    let (first, one) = answered(&w, session, &[document, document]).await;
    let (second, two) = answered(&w, session, &[other]).await;
    let (third, three) = answered(&w, session, &[other, document]).await;
    let (_, unknown) = answered_from(&w, session, &[], &[document]).await;
    assert!(unknown.citations.is_empty() && unknown.nearest.len() == 1, "{unknown:?}");
    assert_eq!(citing(&w, document).await, (vec![third.id, first.id], vec![three.id, one.id]));
    assert_eq!(citing(&w, other).await, (vec![third.id, second.id], vec![three.id, two.id]));
    assert_eq!(citing(&w, DocumentId(fresh())).await, (vec![], vec![]));
    for list in 0..2 {
        let list = async |page: &Page| match list {
            0 => store.questions_answered_by(&w.caller, document, page).await,
            _ => store.messages_citing(&w.caller, document, page).await,
        };
        let all = list(&PAGE).await.unwrap();
        let head = list(&Page::first(1)).await.unwrap();
        assert!(head.has_next && head.items == all.items[..1]);
        let rest = list(&Page { first: 1, after: Some(head.items[0].0.clone()) }).await.unwrap();
        assert!(!rest.has_next && rest.items == all.items[1..]);
        assert!(matches!(list(&Page { first: 1, after: Some("x".into()) }).await, Err(StoreError::BadCursor)));
    }

    // What is forgotten leads nowhere, now and after it is deleted for good.
    let mut plan = forget::plan(&w, session, &[third.id]).await;
    plan.redacted = vec![one.id];
    store.forget(&w.caller, &plan).await.unwrap();
    assert_eq!(citing(&w, document).await, (vec![], vec![three.id]));
    store.restore_forgotten(&w.caller, &forget::undoing(&w, &plan).await).await.unwrap();
    assert_eq!(citing(&w, document).await.0, [third.id, first.id]);
    let mut plan = forget::plan(&w, session, &[third.id]).await;
    plan.redacted = vec![one.id];
    store.forget(&w.caller, &plan).await.unwrap();
    store.purge_forgotten(&w.caller, plan.id, plan.until).await.unwrap();
    assert_eq!(citing(&w, document).await, (vec![], vec![three.id]));
    assert_eq!(store.holdings(&w.caller).await.unwrap()["document_citations"], 3);
    store.delete_session(&w.caller, session, at(9), &|_, _| None).await.unwrap();
    assert_eq!(citing(&w, document).await, (vec![], vec![]));
    assert!(!store.holdings(&w.caller).await.unwrap().contains_key("document_citations"));
}

pub(super) async fn document_lists_its_entities_by_mentions(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let document = store_document(&w).await;
    let chunks = store.list_chunks(&w.caller, document.id, &PAGE).await.unwrap();
    let [rare, often, some, elsewhere] = [entity("Rare"), entity("Often"), entity("Some"), entity("Elsewhere")];
    let session = w.session().await;
    let note = w.note(session, "Elsewhere and Rare, Rare, Rare.").await;
    let plan = KnowledgeCommit {
        entities: vec![rare.clone(), often.clone(), some.clone(), elsewhere.clone()],
        message: Some((note.id, MessageKind::Statement, [&elsewhere, &rare, &rare, &rare].map(|e| (e.id, mention("x"))).into())),
        ..w.plan(session).await
    };
    w.commit(plan).await;
    for (n, named) in [vec![&often, &some, &often], vec![&often, &rare], vec![&some]].into_iter().enumerate() {
        let mentions = named.iter().map(|e| (e.id, mention("x"))).collect();
        let message = Some((chunks.items[n].1.id, MessageKind::Statement, mentions));
        w.commit(KnowledgeCommit { message, ..w.plan(document.id.session()).await }).await;
    }
    let expected = [often.id, some.id, rare.id];
    let all = store.entities_in_document(&w.caller, document.id, &PAGE).await.unwrap();
    assert_eq!(values(&all), expected);
    let (mut seen, mut page): (Vec<EntityId>, _) = (vec![], Page::first(1));
    loop {
        let slice = store.entities_in_document(&w.caller, document.id, &page).await.unwrap();
        seen.extend(values(&slice));
        page.after = slice.items.last().map(|(key, _)| key.clone());
        if !slice.has_next {
            break;
        }
    }
    assert_eq!(seen, expected);
    let wrong = Page { first: 1, after: Some("x".into()) };
    assert!(matches!(store.entities_in_document(&w.caller, document.id, &wrong).await, Err(StoreError::BadCursor)));
    let stranger = World::new(&store);
    assert!(store.entities_in_document(&stranger.caller, document.id, &PAGE).await.unwrap().items.is_empty());
}

pub(super) async fn views_are_recorded_for_their_viewer_only(store: Arc<dyn Store>) {
    let (a, b) = (World::new(&store), World::new(&store));
    let shared = World { caller: Caller::verified(UserId::SHARED, ViewerRole::Admin), ..World::new(&store) };
    b.session().await;
    let (own, common) = (store_document(&a).await, store_document(&shared).await.id);
    assert_eq!(own.viewed_at, None);
    store.view_document(&a.caller, own.id, at(7)).await.unwrap();
    store.view_document(&a.caller, own.id, at(8)).await.unwrap();
    assert_eq!(read(&a, own.id).await, Document { viewed_at: Some(at(8)), ..own.clone() }, "a view is no change");
    for unknown in [own.id, common, DocumentId(fresh())] {
        assert!(matches!(store.view_document(&b.caller, unknown, at(9)).await, Err(StoreError::NotFound)));
    }
    assert_eq!(read(&a, own.id).await.viewed_at, Some(at(8)));

    store.view_shared_document(&a.caller, common, at(1)).await.unwrap();
    store.view_shared_document(&a.caller, common, at(2)).await.unwrap();
    assert_eq!(store.shared_views(&a.caller, &[common, own.id]).await.unwrap(), [(common, at(2))]);
    for other in [&b.caller, &shared.caller] {
        assert!(store.shared_views(other, &[common]).await.unwrap().is_empty());
    }
    assert_eq!(read(&shared, common).await.viewed_at, None, "the viewers of a shared document are not shared");
    store.hide_session(&a.caller, own.id.session(), None, at(9)).await.unwrap();
    assert!(matches!(store.view_document(&a.caller, own.id, at(9)).await, Err(StoreError::NotFound)));
}

pub(super) async fn summary_is_hidden_while_a_chunk_is_forgotten(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let document = store_document(&w).await;
    let (id, session) = (document.id, document.id.session());
    let summary = document.summary.clone();
    assert!(summary.is_some());
    let chunk = store.list_chunks(&w.caller, id, &PAGE).await.unwrap().items[1].1.id;
    let plan = forget::plan(&w, session, &[chunk]).await;
    store.forget(&w.caller, &plan).await.unwrap();
    let shown = async || read(&w, id).await.summary.map(UserText::into_string);
    assert_eq!(shown().await, None);
    store.restore_forgotten(&w.caller, &forget::undoing(&w, &plan).await).await.unwrap();
    assert_eq!(shown().await, summary.map(UserText::into_string));
    let plan = forget::plan(&w, session, &[chunk]).await;
    store.forget(&w.caller, &plan).await.unwrap();
    store.purge_forgotten(&w.caller, plan.id, plan.until).await.unwrap();
    assert_eq!(shown().await, None, "what is forgotten for good stays in the summary");
}
