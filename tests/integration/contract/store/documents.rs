//! Documents: stored with everything that belongs to them, continued after an interruption, and deleted without a trace.

use std::sync::Arc;

use recall_domain::{
    Chunk, Document, DocumentId, DocumentProgress, DocumentStatus, EventId, MessageStatus, Page, PageRange, Role, Section, UserText,
};
use recall_ports::{
    AddedDocument, CommitError, DocumentFilter, DocumentOutline, DocumentStep, FollowUp, Job, JobWork, NewDocument, NewMessage, Original,
    SessionFilter, Store, StoreError,
};

use super::{
    given::{MODEL, World, at, content, event, fresh, new_message},
    visits::visitor,
};
use crate::planned::Finish;

const PAGE: Page = Page { first: 100, after: None };

pub(super) fn document(content: &str, path: Option<&str>) -> NewDocument {
    let id = DocumentId(fresh());
    let document = Document {
        id,
        collection: "notes".into(),
        path: path.map(UserText::from),
        version: 1,
        is_current: true,
        filename: "a.txt".into(),
        media_type: None,
        bytes: 6,
        sha256: format!("{content:a>64}"),
        status: DocumentStatus::Pending,
        error: None,
        title: None,
        summary: None,
        pages: None,
        links: vec![],
        chunk_count: 0,
        stored: 0,
        understood: 0,
        chunk_chars: 1024,
        chunk_overlap: 200,
        has_original: true,
        created_at: at(0),
        updated_at: at(0),
        viewed_at: None,
    };
    let message = NewMessage { role: Role::Document, mining: FollowUp::Parse, ..new_message(id.session(), "a.txt") };
    let original = Original::Pieces(vec![b"abc".to_vec(), vec![0, 255, 7]]);
    NewDocument { document, original, message, epoch: format!("epoch-{id}"), event: EventId(fresh()) }
}

async fn add(w: &World, new: NewDocument) -> Document {
    match w.store.add_document(&w.caller, new).await.unwrap() {
        AddedDocument::Added(document) => document,
        AddedDocument::Duplicate(_) => panic!("it is known"),
    }
}

fn outline(document: DocumentId, chunk_count: u32, digest: &str) -> DocumentOutline {
    DocumentOutline {
        document,
        media_type: "text/plain".into(),
        title: Some("Größe \0".into()),
        summary: Some("Länge \0 zählt.".into()),
        pages: Some(3),
        links: vec!["https://example.org/".into()],
        chunk_count,
        digest: digest.into(),
        event: EventId(fresh()),
        now: at(1),
    }
}

/// Chunks `first..end` of a document, three to a section.
fn step(document: DocumentId, first: u32, end: u32) -> DocumentStep {
    let chunk = |position: u32| {
        let text = format!("Chunk {position} \0.");
        let message = NewMessage { role: Role::Document, ..new_message(document.session(), &text) };
        let chunk = Chunk {
            id: message.id,
            document,
            position,
            section: position / 3,
            heading: None,
            char_offset: u64::from(position) * 10,
            pages: Some(PageRange { first: position + 1, last: position + 2 }),
            text: text.into(),
        };
        (message, chunk)
    };
    let section = |position: u32| Section {
        position,
        heading: Some(format!("Section {position}").into()),
        level: 1,
        char_offset: u64::from(position) * 30,
        chars: 30,
        pages: None,
    };
    let sections = (first / 3..end.div_ceil(3)).map(section).collect();
    DocumentStep { document, first, sections, chunks: (first..end).map(chunk).collect(), event: EventId(fresh()), now: at(2) }
}

async fn job_of(w: &World, document: &Document, ms: i64) -> Job {
    let jobs = w.claim(ms).await;
    jobs.into_iter().find(|job| job.session == document.id.session()).unwrap()
}

/// Stores a document with `chunks` chunks. Their jobs wait.
pub(super) async fn stored(w: &World, new: NewDocument, chunks: u32) -> Document {
    let document = add(w, new).await;
    let job = job_of(w, &document, 0).await;
    w.store.begin_document(&w.caller, &job.claim, &outline(document.id, chunks, "d")).await.unwrap();
    w.store.store_chunks(&w.caller, &job.claim, &step(document.id, 0, chunks)).await.unwrap();
    read(w, document.id).await
}

/// Stores a document without jobs. Other jobs keep waiting.
pub(super) async fn store_document(w: &World) -> Document {
    store_linking(w, "1", &["https://example.org/"]).await
}

/// Stores a document with this content and these links, without jobs.
pub(super) async fn store_linking(w: &World, content: &str, links: &[&str]) -> Document {
    store_large(w, content, 4, links).await
}

/// The same with any number of chunks.
pub(super) async fn store_large(w: &World, content: &str, chunks: u32, links: &[&str]) -> Document {
    let document = add(w, document(content, Some("/path\0/ä"))).await;
    let (own, others): (Vec<Job>, Vec<Job>) = w.claim(0).await.into_iter().partition(|job| job.session == document.id.session());
    let claims: Vec<_> = others.into_iter().map(|job| job.claim).collect();
    w.store.release(&claims).await.unwrap();
    let job = &own[0];
    let outline = DocumentOutline { links: links.iter().map(|l| (*l).into()).collect(), ..outline(document.id, chunks, "d") };
    w.store.begin_document(&w.caller, &job.claim, &outline).await.unwrap();
    for first in (0..chunks).step_by(1_000) {
        let mut step = step(document.id, first, chunks.min(first + 1_000));
        step.chunks.iter_mut().for_each(|(message, _)| message.mining = FollowUp::Nothing);
        w.store.store_chunks(&w.caller, &job.claim, &step).await.unwrap();
    }
    read(w, document.id).await
}

async fn read(w: &World, id: DocumentId) -> Document {
    w.store.documents_by_id(&w.caller, &[id]).await.unwrap().remove(0)
}

/// Kind and status of each event of a document.
async fn log(w: &World, id: DocumentId) -> Vec<(String, u64, u64)> {
    let events = w.store.events_after(&w.caller, id.session(), 0, 100).await.unwrap();
    let said = |e: &recall_domain::StoredEvent| {
        let data = content(e);
        (data["status"].as_str().unwrap_or(&e.kind).to_owned(), data["done"].as_u64().unwrap_or(0), data["total"].as_u64().unwrap_or(0))
    };
    events.iter().map(said).collect()
}

pub(super) async fn document_is_stored_with_its_file_job_and_event(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let new = document("1", Some("/x/ä"));
    let head = new.message.id;
    let added = add(&w, new).await;
    assert_eq!(read(&w, added.id).await, added);
    assert_eq!(store.original_piece(&w.caller, added.id, 0).await.unwrap().unwrap(), b"abc");
    assert_eq!(store.original_piece(&w.caller, added.id, 1).await.unwrap().unwrap(), [0, 255, 7]);
    assert_eq!(store.original_piece(&w.caller, added.id, 2).await.unwrap(), None);
    assert_eq!(log(&w, added.id).await, [("pending".to_owned(), 0, 0)]);
    assert!(store.list_sessions(&w.caller, &SessionFilter::ALL, &PAGE).await.unwrap().items.is_empty(), "a document is no conversation");
    assert_eq!(store.count_sessions(&w.caller, &SessionFilter::ALL).await.unwrap(), 0);
    let job = job_of(&w, &added, 0).await;
    assert_eq!(job.work, JobWork::Parse(head));
    let message = store.messages_by_id(&w.caller, &[head]).await.unwrap().remove(0);
    assert_eq!((message.role, message.position, message.text.as_str()), (Role::Document, 1, "a.txt"));
    // Nobody but the server writes in the session of a document.
    let refused = store.append(&w.caller, added.id.session(), vec![new_message(added.id.session(), "m")]).await;
    assert!(matches!(refused, Err(StoreError::NotFound)));
    assert!(matches!(store.delete_original(&w.caller, added.id, at(1)).await, Err(StoreError::NotFound)), "it is needed");
}

pub(super) async fn chunks_are_stored_in_steps_and_understood_in_order(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let added = add(&w, document("1", None)).await;
    let job = job_of(&w, &added, 0).await;
    assert_eq!(store.begin_document(&w.caller, &job.claim, &outline(added.id, 5, "d")).await.unwrap(), 0);
    store.store_chunks(&w.caller, &job.claim, &step(added.id, 0, 2)).await.unwrap();
    // A step that is repeated, or comes too early, writes nothing.
    for first in [0, 3] {
        let again = store.store_chunks(&w.caller, &job.claim, &step(added.id, first, first + 2)).await;
        assert!(matches!(again, Err(CommitError::Stale)), "{again:?}");
    }
    // The chunks wait behind the job. After an interruption the next attempt continues.
    assert!(w.claim(0).await.is_empty());
    let next = job_of(&w, &added, 60_000).await;
    let late = store.store_chunks(&w.caller, &job.claim, &step(added.id, 2, 3)).await;
    assert!(matches!(late, Err(CommitError::NotOurs)), "{late:?}");
    let other = store.begin_document(&w.caller, &next.claim, &outline(added.id, 4, "other")).await;
    assert!(matches!(other, Err(CommitError::Stale)), "{other:?}");
    assert_eq!(store.begin_document(&w.caller, &next.claim, &outline(added.id, 5, "d")).await.unwrap(), 2);
    store.store_chunks(&w.caller, &next.claim, &step(added.id, 2, 5)).await.unwrap();

    let document = read(&w, added.id).await;
    assert_eq!((document.status, document.stored, document.understood), (DocumentStatus::Processing, 5, 0));
    assert_eq!((document.media_type.as_deref(), document.pages), (Some("text/plain"), Some(3)));
    assert_eq!((document.title.unwrap(), document.links), ("Größe \0".into(), vec!["https://example.org/".into()]));
    let chunks = store.list_chunks(&w.caller, added.id, &Page::first(3)).await.unwrap();
    assert_eq!((chunks.items.len(), chunks.has_next), (3, true));
    let rest = Page { first: 3, after: Some(chunks.items[2].0.clone()) };
    let rest = store.list_chunks(&w.caller, added.id, &rest).await.unwrap().items;
    let all: Vec<Chunk> = chunks.items.into_iter().chain(rest).map(|(_, chunk)| chunk).collect();
    assert_eq!(all.iter().map(|c| c.position).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    let last = &all[4];
    assert_eq!((last.text.as_str(), last.heading.as_ref().unwrap().as_str(), last.char_offset), ("Chunk 4 \0.", "Section 1", 40));
    assert_eq!(last.pages, Some(PageRange { first: 5, last: 6 }));
    assert_eq!(store.chunks_by_id(&w.caller, &[last.id]).await.unwrap(), std::slice::from_ref(last));
    assert_eq!(store.chunks_from(&w.caller, added.id, 3, 10).await.unwrap(), all[3..]);
    assert_eq!(store.sections_from(&w.caller, added.id, 0, 10).await.unwrap().len(), 2);
    let feed = store.feed(&w.caller, MODEL, 0, 100).await.unwrap();
    assert_eq!(feed.iter().filter(|row| row.role == Role::Document).count(), 6, "the first message and the chunks");

    // Facts are extracted chunk by chunk. One that cannot be understood does not keep the document from its end.
    for n in 0..5 {
        let job = job_of(&w, &document_of(added.id, &added), 100_000 + n).await;
        assert_eq!(job.work, JobWork::Understand { message: all[n as usize].id, answer: false });
        match n {
            2 => store.bury(&w.caller, &job.claim, &event(job.session), "test", at(5)).await.unwrap(),
            _ => drop(store.finish(&w.caller, &w.plan(job.session).await, &job).await.unwrap()),
        }
    }
    let document = read(&w, added.id).await;
    assert_eq!((document.status, document.understood), (DocumentStatus::Completed, 5));
    let messages = store.messages_by_id(&w.caller, &[all[2].id]).await.unwrap();
    assert_eq!(messages[0].status, MessageStatus::Failed);
    let log: Vec<_> = log(&w, added.id).await.into_iter().filter(|(kind, ..)| kind != "answer_failed").collect();
    let steps = [("pending", 0, 0), ("processing", 0, 10), ("processing", 2, 10), ("processing", 5, 10)];
    let understood = [6, 7, 8, 9].map(|done| ("processing", done, 10));
    let expected = steps.into_iter().chain(understood).chain([("completed", 10, 10)]);
    assert_eq!(log, expected.map(|(status, done, total)| (status.to_owned(), done, total)).collect::<Vec<_>>());
}

fn document_of(id: DocumentId, like: &Document) -> Document {
    Document { id, ..like.clone() }
}

pub(super) async fn known_content_is_recognised_and_new_content_is_a_version(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let first = stored(&w, document("1", Some("/p")), 1).await;
    let again = store.add_document(&w.caller, document("1", Some("/q"))).await.unwrap();
    assert_eq!(again, AddedDocument::Duplicate(first.clone()));
    let mut elsewhere = document("1", Some("/p"));
    elsewhere.document.collection = "other".into();
    assert_eq!(add(&w, elsewhere).await.version, 1, "collections are apart");

    let second = add(&w, document("2", Some("/p"))).await;
    assert_eq!((second.version, read(&w, first.id).await.is_current), (2, true), "the new version is not searchable yet");
    let job = job_of(&w, &second, 0).await;
    store.begin_document(&w.caller, &job.claim, &outline(second.id, 1, "d")).await.unwrap();
    store.store_chunks(&w.caller, &job.claim, &step(second.id, 0, 1)).await.unwrap();
    assert!(!read(&w, first.id).await.is_current && read(&w, second.id).await.is_current);
    assert_eq!(store.superseded_documents(&w.caller).await.unwrap(), [first.id]);
    assert_eq!(store.list_chunks(&w.caller, first.id, &PAGE).await.unwrap().items.len(), 1, "the old version stays readable");
    let current = DocumentFilter { current: true, collections: vec!["notes".into()], ..DocumentFilter::default() };
    assert_eq!(store.document_ids(&w.caller, &current).await.unwrap(), [second.id]);
    // The content of an old version is new again.
    let third = add(&w, document("1", Some("/p"))).await;
    assert_eq!(third.version, 3);
    store.delete_session(&w.caller, second.id.session(), at(9), &|_, _| None).await.unwrap();
    assert!(read(&w, first.id).await.is_current, "the newest searchable version");
    assert!(store.superseded_documents(&w.caller).await.unwrap().is_empty());
}

pub(super) async fn failed_document_says_why_and_can_be_added_again(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let added = add(&w, document("1", None)).await;
    let job = job_of(&w, &added, 0).await;
    store.fail_document(&w.caller, &job.claim, added.id, "It is empty.", EventId(fresh()), at(3)).await.unwrap();
    let failed = read(&w, added.id).await;
    assert_eq!((failed.status, failed.error.as_deref()), (DocumentStatus::Failed, Some("It is empty.")));
    assert_eq!(log(&w, added.id).await.last().unwrap().0, "failed");
    assert!(w.claim(100_000).await.is_empty());
    store.delete_original(&w.caller, added.id, at(4)).await.unwrap();
    assert!(!read(&w, added.id).await.has_original);
    // A job that crashes each time leaves a failed document, too.
    let next = add(&w, document("1", None)).await;
    let job = job_of(&w, &next, 0).await;
    store.bury(&w.caller, &job.claim, &event(job.session), "CRASHED", at(5)).await.unwrap();
    let dead = read(&w, next.id).await;
    assert!(dead.status == DocumentStatus::Failed && dead.error.is_some());
    assert_eq!(store.depth().await.unwrap(), (0, 1));
}

pub(super) async fn documents_are_listed_and_filtered(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let mut ids = Vec::new();
    for n in 0..5 {
        let mut new = document(&n.to_string(), None);
        new.document.created_at = at(n);
        new.document.filename = format!("Report {n}.pdf").into();
        new.document.collection = if n < 2 { "a".into() } else { "b".into() };
        ids.push(add(&w, new).await.id);
    }
    ids.reverse();
    let (mut seen, mut page) = (Vec::new(), Page::first(2));
    loop {
        let slice = store.list_documents(&w.caller, &DocumentFilter::default(), &page).await.unwrap();
        seen.extend(slice.items.iter().map(|(_, document)| document.id));
        page.after = slice.items.last().map(|(key, _)| key.clone());
        if !slice.has_next {
            break;
        }
    }
    assert_eq!(seen, ids);
    let count = async |filter: DocumentFilter| store.count_documents(&w.caller, &filter).await.unwrap();
    let none = DocumentFilter::default;
    assert_eq!(count(none()).await, 5);
    assert_eq!(count(DocumentFilter { collections: vec!["a".into()], ..none() }).await, 2);
    assert_eq!(count(DocumentFilter { collections: vec!["a".into(), "b".into(), "c".into()], ..none() }).await, 5);
    assert_eq!(count(DocumentFilter { ids: vec![ids[0], DocumentId(fresh())], ..none() }).await, 1);
    assert_eq!(count(DocumentFilter { status: Some(DocumentStatus::Completed), ..none() }).await, 0);
    assert_eq!(count(DocumentFilter { text: Some("REPORT 3".into()), ..none() }).await, 1);
    assert_eq!(count(DocumentFilter { current: true, ..none() }).await, 5);
    let job = w.claim(0).await.into_iter().find(|job| job.session == ids[1].session()).unwrap();
    let linked = DocumentOutline { links: vec!["odd \0".into(), "https://example.org/".into()], ..outline(ids[1], 1, "d") };
    store.begin_document(&w.caller, &job.claim, &linked).await.unwrap();
    let linking = |uri: &str| DocumentFilter { links_to: Some(uri.into()), ..DocumentFilter::default() };
    assert_eq!(store.document_ids(&w.caller, &linking("https://example.org/")).await.unwrap(), [ids[1]]);
    let listed = store.list_documents(&w.caller, &linking("https://example.org/"), &PAGE).await.unwrap();
    assert_eq!((listed.items.len(), count(linking("https://example.org/")).await, count(linking("https://example.org")).await), (1, 1, 0));
    let named = |text: &str| DocumentFilter { text: Some(text.into()), ..DocumentFilter::default() };
    let mut accented = document("9", None);
    accented.document.filename = "Étude.md".into();
    let accented = add(&w, accented).await.id;
    // Whether "étude" finds it depends on the locale of the database.
    assert_eq!(store.document_ids(&w.caller, &named("Étude.MD")).await.unwrap(), [accented]);
    let wrong = Page { first: 1, after: Some("x".into()) };
    assert!(matches!(store.list_documents(&w.caller, &none(), &wrong).await, Err(StoreError::BadCursor)));
    assert!(matches!(store.list_chunks(&w.caller, ids[0], &wrong).await, Err(StoreError::BadCursor)));
}

pub(super) async fn documents_of_others_are_unknown(store: Arc<dyn Store>) {
    let (a, b) = (World::new(&store), World::new(&store));
    let theirs = add(&a, document("1", Some("/p"))).await;
    let job = job_of(&a, &theirs, 0).await;
    a.store.begin_document(&a.caller, &job.claim, &outline(theirs.id, 2, "d")).await.unwrap();
    a.store.store_chunks(&a.caller, &job.claim, &step(theirs.id, 0, 1)).await.unwrap();
    let before = read(&a, theirs.id).await;
    let chunk = store.list_chunks(&a.caller, theirs.id, &PAGE).await.unwrap().items.remove(0).1;
    let (c, id) = (&b.caller, theirs.id);
    b.session().await;
    assert!(store.documents_by_id(c, &[id]).await.unwrap().is_empty());
    assert!(store.list_documents(c, &DocumentFilter::default(), &PAGE).await.unwrap().items.is_empty());
    assert_eq!(store.count_documents(c, &DocumentFilter::default()).await.unwrap(), 0);
    assert!(store.document_ids(c, &DocumentFilter { ids: vec![id], ..DocumentFilter::default() }).await.unwrap().is_empty());
    assert!(store.superseded_documents(c).await.unwrap().is_empty());
    assert_eq!(store.original_piece(c, id, 0).await.unwrap(), None);
    assert!(matches!(store.delete_original(c, id, at(9)).await, Err(StoreError::NotFound)));
    assert!(store.chunks_by_id(c, &[chunk.id]).await.unwrap().is_empty());
    assert!(store.list_chunks(c, id, &PAGE).await.unwrap().items.is_empty());
    assert!(store.chunks_from(c, id, 0, 9).await.unwrap().is_empty());
    assert!(store.sections_from(c, id, 0, 9).await.unwrap().is_empty());
    assert!(store.messages_citing(c, id, &PAGE).await.unwrap().items.is_empty());
    assert!(store.questions_answered_by(c, id, &PAGE).await.unwrap().items.is_empty());
    let foreign = store.begin_document(c, &job.claim, &outline(id, 1, "x")).await;
    assert!(matches!(foreign, Err(CommitError::NotOurs)), "{foreign:?}");
    let foreign = store.store_chunks(c, &job.claim, &step(id, 1, 2)).await;
    assert!(matches!(foreign, Err(CommitError::NotOurs)), "{foreign:?}");
    let foreign = store.fail_document(c, &job.claim, id, "x", EventId(fresh()), at(9)).await;
    assert!(matches!(foreign, Err(CommitError::NotOurs)), "{foreign:?}");
    // The same content is not known here, and no version either.
    let own = add(&b, document("1", Some("/p"))).await;
    assert_eq!(own.version, 1);
    assert_eq!(read(&a, theirs.id).await, before);
}

pub(super) async fn deleted_document_leaves_nothing_behind(store: Arc<dyn Store>) {
    for hidden in [false, true] {
        let w = World::new(&store);
        let document = stored(&w, document("1", None), 4).await;
        let (id, session) = (document.id, document.id.session());
        if hidden {
            store.hide_session(&w.caller, session, None, at(9)).await.unwrap();
            assert!(store.documents_by_id(&w.caller, &[id]).await.unwrap().is_empty());
            assert_eq!(store.original_piece(&w.caller, id, 0).await.unwrap(), None);
            assert!(store.list_chunks(&w.caller, id, &PAGE).await.unwrap().items.is_empty());
            assert!(store.sections_from(&w.caller, id, 0, 9).await.unwrap().is_empty());
            assert!(w.claim(100_000).await.iter().all(|job| job.session != session));
            while store.delete_hidden(&w.caller, session, at(9), 2, &|_, _| None).await.is_ok() {}
        } else {
            store.delete_session(&w.caller, session, at(9), &|_, _| None).await.unwrap();
        }
        let left = store.holdings(&w.caller).await.unwrap();
        assert!(left.keys().all(|table| !table.starts_with("document") && table != "messages"), "{left:?}");
        assert!(store.feed(&w.caller, MODEL, 0, 100).await.unwrap().is_empty());
    }
}

pub(super) async fn visitor_adds_as_much_as_the_visit_allows(store: Arc<dyn Store>) {
    let (w, _) = visitor(&store, 3, 2).await;
    let (small, large) = (add(&w, document("1", None)).await, add(&w, document("2", None)).await);
    let third = store.add_document(&w.caller, document("3", None)).await;
    assert!(matches!(third, Err(StoreError::QuotaUsed)), "{third:?}");
    let jobs = w.claim(0).await;
    let of = |d: &Document| jobs.iter().find(|job| job.session == d.id.session()).unwrap().claim.clone();
    let refused = store.begin_document(&w.caller, &of(&large), &outline(large.id, 4, "d")).await;
    assert!(matches!(refused, Err(CommitError::Store(StoreError::QuotaUsed))), "{refused:?}");
    store.begin_document(&w.caller, &of(&small), &outline(small.id, 3, "d")).await.unwrap();
    // A second attempt takes nothing again.
    store.begin_document(&w.caller, &of(&small), &outline(small.id, 3, "d")).await.unwrap();
    store.store_chunks(&w.caller, &of(&small), &step(small.id, 0, 3)).await.unwrap();
    let progress: DocumentProgress = read(&w, small.id).await.progress();
    assert_eq!((progress.done(), progress.total()), (3, 6));
}
