//! Comparisons of documents: stored with their job, continued step by step, failed for a reason, and deleted without a trace.

use std::sync::Arc;

use recall_domain::{
    Citation, CitedChunk, Comparison, ComparisonId, ComparisonPoint, ComparisonStatus, DocumentId, EventId, MessageId, MessageStatus, Page,
    PageRange, PassageGroup, PointKind, Role, UserText,
};
use recall_ports::{CommitError, ComparisonStep, FollowUp, Job, JobWork, NewComparison, NewMessage, SessionFilter, Store, StoreError};

use super::given::{World, at, content, event, fresh, new_message};

const PAGE: Page = Page { first: 100, after: None };

fn comparison(documents: &[DocumentId]) -> NewComparison {
    let id = ComparisonId(fresh());
    let comparison = Comparison {
        id,
        question: Some(UserText::from("What about \0 Größe?")),
        documents: documents.to_vec(),
        status: ComparisonStatus::Pending,
        error: None,
        done: 0,
        total: 0,
        comparer: None,
        groups: Vec::new(),
        points: Vec::new(),
        created_at: at(0),
        updated_at: at(0),
    };
    let message = NewMessage { role: Role::Document, mining: FollowUp::Compare, ..new_message(id.session(), "Size?") };
    NewComparison { comparison, message, epoch: format!("epoch-{id}"), event: EventId(fresh()) }
}

fn point() -> ComparisonPoint {
    let chunk = |pages| CitedChunk { chunk_id: MessageId(fresh()), document_id: DocumentId(fresh()), filename: "ä\0.pdf".into(), pages };
    let citation = |index, pages| Citation {
        index,
        message_id: None,
        chunk: Some(chunk(pages)),
        fact_id: None,
        excerpt: "Größe \0".into(),
        shared: index == 2,
    };
    ComparisonPoint {
        kind: PointKind::Difference,
        text: "One says \0 [1], the other [2]".into(),
        citations: vec![citation(1, Some(PageRange { first: 1, last: 2 })), citation(2, None)],
        silent: vec![DocumentId(fresh())],
        importance: 0.5,
    }
}

fn step(of: ComparisonId, before: u32, total: u32, groups: usize) -> ComparisonStep {
    ComparisonStep {
        comparison: of,
        before,
        total,
        groups: (0..groups).map(|_| PassageGroup { chunks: vec![MessageId(fresh()), MessageId(fresh())] }).collect(),
        points: (0..before).map(|_| point()).collect(),
        comparer: Some("alignment".into()),
        event: EventId(fresh()),
        now: at(i64::from(before) + 1),
    }
}

async fn job_of(w: &World, id: ComparisonId) -> Job {
    w.claim(0).await.into_iter().find(|job| job.session == id.session()).unwrap()
}

async fn read(w: &World, id: ComparisonId) -> Option<Comparison> {
    w.store.comparisons_by_id(&w.caller, &[id]).await.unwrap().into_iter().next()
}

/// Status and completed steps of each event.
async fn log(w: &World, id: ComparisonId) -> Vec<(String, u64)> {
    let events = w.store.events_after(&w.caller, id.session(), 0, 100).await.unwrap();
    events.iter().map(|e| (content(e)["status"].as_str().unwrap().to_owned(), content(e)["done"].as_u64().unwrap())).collect()
}

/// Stores a completed comparison without a waiting job. Other jobs keep waiting.
pub(super) async fn store_comparison(w: &World, document: DocumentId) -> Comparison {
    let added = w.store.add_comparison(&w.caller, comparison(&[document, DocumentId(fresh())])).await.unwrap();
    let (own, others): (Vec<Job>, Vec<Job>) = w.claim(0).await.into_iter().partition(|job| job.session == added.id.session());
    let claims: Vec<_> = others.into_iter().map(|job| job.claim).collect();
    w.store.release(&claims).await.unwrap();
    for (before, groups) in [(0, 1), (1, 0), (2, 0)] {
        w.store.save_comparison(&w.caller, &own[0].claim, &step(added.id, before, 3, groups)).await.unwrap();
    }
    read(w, added.id).await.unwrap()
}

pub(super) async fn comparison_continues_step_by_step(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let new = comparison(&[DocumentId(fresh()), DocumentId(fresh())]);
    let head = new.message.id;
    let added = store.add_comparison(&w.caller, new).await.unwrap();
    assert_eq!(read(&w, added.id).await.unwrap(), added);
    assert!(store.list_sessions(&w.caller, &SessionFilter::ALL, &PAGE).await.unwrap().items.is_empty(), "a comparison is no conversation");
    let job = job_of(&w, added.id).await;
    assert_eq!(job.work, JobWork::Compare(head));
    // It is not the answer to a question, which could be cancelled.
    assert!(!store.cancel_answer(&w.caller, head, &event(added.id.session()), at(1)).await.unwrap());

    let first = step(added.id, 0, 3, 2);
    store.save_comparison(&w.caller, &job.claim, &first).await.unwrap();
    let known = read(&w, added.id).await.unwrap();
    assert_eq!((known.status, known.done, known.total, &known.groups), (ComparisonStatus::Processing, 1, 3, &first.groups));
    // A step that is repeated, or comes too early, writes nothing.
    for before in [0, 2] {
        let again = store.save_comparison(&w.caller, &job.claim, &step(added.id, before, 3, 0)).await;
        assert!(matches!(again, Err(CommitError::Stale)), "{again:?}");
    }
    store.save_comparison(&w.caller, &job.claim, &step(added.id, 1, 3, 0)).await.unwrap();
    let last = step(added.id, 2, 3, 0);
    store.save_comparison(&w.caller, &job.claim, &last).await.unwrap();
    let known = read(&w, added.id).await.unwrap();
    assert_eq!((known.status, known.done, &known.points, known.updated_at), (ComparisonStatus::Completed, 3, &last.points, at(3)));
    assert_eq!(known.comparer.as_deref(), Some("alignment"));
    let said = [("pending", 0), ("processing", 1), ("processing", 2), ("completed", 3)];
    assert_eq!(log(&w, added.id).await, said.map(|(status, done)| (status.to_owned(), done)));
    let message = store.messages_by_id(&w.caller, &[head]).await.unwrap().remove(0);
    assert_eq!(message.status, MessageStatus::Processed);
    // The job has ended.
    let late = store.save_comparison(&w.caller, &job.claim, &step(added.id, 3, 4, 0)).await;
    assert!(matches!(late, Err(CommitError::NotOurs)), "{late:?}");
    assert_eq!(store.depth().await.unwrap(), (0, 0));
}

pub(super) async fn failed_comparison_says_why(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let ids = [DocumentId(fresh()), DocumentId(fresh())];
    let (one, other) = (comparison(&ids), comparison(&ids));
    let one = store.add_comparison(&w.caller, one).await.unwrap();
    let job = job_of(&w, one.id).await;
    store.fail_comparison(&w.caller, &job.claim, one.id, "It was deleted.", EventId(fresh()), at(4)).await.unwrap();
    let known = read(&w, one.id).await.unwrap();
    assert_eq!((known.status, known.error.as_deref()), (ComparisonStatus::Failed, Some("It was deleted.")));
    assert_eq!(log(&w, one.id).await.last(), Some(&("failed".to_owned(), 0)));
    // So does one whose attempts are used up.
    let other = store.add_comparison(&w.caller, other).await.unwrap();
    let job = job_of(&w, other.id).await;
    store.save_comparison(&w.caller, &job.claim, &step(other.id, 0, 3, 1)).await.unwrap();
    store.bury(&w.caller, &job.claim, &event(other.id.session()), "COMPARER", at(5)).await.unwrap();
    let known = read(&w, other.id).await.unwrap();
    assert_eq!((known.status, known.groups.len()), (ComparisonStatus::Failed, 0));
    assert!(known.error.unwrap().contains("could not be compared"));
    assert_eq!(log(&w, other.id).await.last(), Some(&("failed".to_owned(), 1)));
}

pub(super) async fn comparisons_are_listed_by_document(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let (a, b, c) = (DocumentId(fresh()), DocumentId(fresh()), DocumentId(fresh()));
    let mut ids = Vec::new();
    for (ms, documents) in [(1, [a, b]), (2, [b, c]), (3, [a, c])] {
        let mut new = comparison(&documents);
        (new.comparison.created_at, new.comparison.updated_at) = (at(ms), at(ms));
        ids.push(store.add_comparison(&w.caller, new).await.unwrap().id);
    }
    let list = async |document, page: &Page| {
        let slice = store.list_comparisons(&w.caller, document, page).await.unwrap();
        (slice.items.into_iter().map(|(_, c)| c.id).collect::<Vec<_>>(), slice.has_next)
    };
    assert_eq!(list(None, &PAGE).await, (vec![ids[2], ids[1], ids[0]], false));
    assert_eq!(list(Some(a), &PAGE).await, (vec![ids[2], ids[0]], false));
    assert_eq!(store.count_comparisons(&w.caller, Some(b)).await.unwrap(), 2);
    let (first, has_next) = list(None, &Page::first(2)).await;
    assert_eq!((first, has_next), (vec![ids[2], ids[1]], true));
    let cursor = store.list_comparisons(&w.caller, None, &Page::first(2)).await.unwrap().items.pop().unwrap().0;
    assert_eq!(list(None, &Page { first: 2, after: Some(cursor) }).await, (vec![ids[0]], false));
}

pub(super) async fn comparisons_of_others_are_unknown(store: Arc<dyn Store>) {
    let (w, other) = (World::new(&store), World::new(&store));
    other.session().await;
    let document = DocumentId(fresh());
    let added = store.add_comparison(&w.caller, comparison(&[document, DocumentId(fresh())])).await.unwrap();
    let job = job_of(&w, added.id).await;
    assert_eq!(store.comparisons_by_id(&other.caller, &[added.id]).await.unwrap(), vec![]);
    assert!(store.list_comparisons(&other.caller, Some(document), &PAGE).await.unwrap().items.is_empty());
    assert_eq!(store.count_comparisons(&other.caller, None).await.unwrap(), 0);
    let saved = store.save_comparison(&other.caller, &job.claim, &step(added.id, 0, 3, 1)).await;
    assert!(matches!(saved, Err(CommitError::NotOurs)), "{saved:?}");
    let failed = store.fail_comparison(&other.caller, &job.claim, added.id, "x", EventId(fresh()), at(1)).await;
    assert!(matches!(failed, Err(CommitError::NotOurs)), "{failed:?}");
    assert_eq!(read(&w, added.id).await.unwrap(), added);
}

pub(super) async fn deleted_comparison_leaves_nothing_behind(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let added = store.add_comparison(&w.caller, comparison(&[DocumentId(fresh()), DocumentId(fresh())])).await.unwrap();
    let job = job_of(&w, added.id).await;
    // It is hidden at once, also from its worker.
    store.hide_session(&w.caller, added.id.session(), None, at(1)).await.unwrap();
    assert_eq!(read(&w, added.id).await, None);
    let saved = store.save_comparison(&w.caller, &job.claim, &step(added.id, 0, 3, 1)).await;
    assert!(matches!(saved, Err(CommitError::NotOurs)), "{saved:?}");
    loop {
        match store.delete_hidden(&w.caller, added.id.session(), at(2), 100, &|_, _| None).await {
            Ok(_) => {}
            Err(StoreError::NotFound) => break,
            Err(e) => panic!("{e}"),
        }
    }
    let left = store.holdings(&w.caller).await.unwrap();
    assert!(!left.contains_key("comparisons") && !left.contains_key("jobs"), "{left:?}");
}
