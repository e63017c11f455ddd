//! Files of documents outside the store: at any time a document has a file, or the store knows that it must be deleted.

use std::sync::Arc;

use recall_domain::{Document, FileId};
use recall_ports::{AddedDocument, Original, Store, StoreError};

use super::{
    documents::{document, stored},
    given::{World, at, fresh},
    visits::visitor,
};

/// When files are due that a document takes before. Far behind the times at which the tests look.
const LATER: i64 = 1_000_000;

async fn registered(store: &Arc<dyn Store>) -> FileId {
    let file = FileId(fresh());
    store.register_file(file, at(LATER)).await.unwrap();
    file
}

/// Whether the file must be deleted now. Tests share a store, so the files of the others must stay due.
async fn is_due(store: &Arc<dyn Store>, file: FileId, ms: i64) -> bool {
    store.take_due_files(at(ms), at(0), 100_000).await.unwrap().contains(&file)
}

/// Adds a document with a file outside the store, which waits to be read.
pub(super) async fn add_with_file(w: &World, content: &str) {
    let mut new = document(content, None);
    new.original = Original::File(registered(&w.store).await);
    assert!(matches!(w.store.add_document(&w.caller, new).await.unwrap(), AddedDocument::Added(_)));
}

/// Stores a document with a file outside the store.
async fn with_file(w: &World, content: &str) -> (Document, FileId) {
    let file = registered(&w.store).await;
    let mut new = document(content, None);
    new.original = Original::File(file);
    (stored(w, new, 1).await, file)
}

pub(super) async fn file_is_due_unless_a_document_takes_it(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let file = FileId(fresh());
    store.register_file(file, at(LATER)).await.unwrap();
    assert!(!is_due(&store, file, LATER - 1).await);
    let mut new = document("1", None);
    new.original = Original::File(file);
    let AddedDocument::Added(added) = store.add_document(&w.caller, new).await.unwrap() else { panic!("it is known") };
    assert!(store.documents_by_id(&w.caller, &[added.id]).await.unwrap()[0].has_original);
    assert_eq!(store.original_file(&w.caller, added.id).await.unwrap(), Some(file));
    assert_eq!(store.original_piece(&w.caller, added.id, 0).await.unwrap(), None, "the store holds no piece");
    assert!(!is_due(&store, file, LATER).await);
    // A file of another document, one that nobody registered, and one whose deletion may have begun.
    let taken = registered(&store).await;
    store.register_file(taken, at(1)).await.unwrap();
    assert!(is_due(&store, taken, 1).await);
    for (n, refused) in [file, FileId(fresh()), taken].into_iter().enumerate() {
        let mut new = document(&format!("2{n}"), None);
        new.original = Original::File(refused);
        let (id, added) = (new.document.id, store.add_document(&w.caller, new).await);
        assert!(matches!(added, Err(StoreError::Permanent(_))), "{n}: {added:?}");
        assert!(store.documents_by_id(&w.caller, &[id]).await.unwrap().is_empty());
    }
    assert_eq!(store.original_file(&w.caller, added.id).await.unwrap(), Some(file));
}

pub(super) async fn known_content_leaves_its_file_due(store: Arc<dyn Store>) {
    let w = World::new(&store);
    with_file(&w, "1").await;
    let file = registered(&store).await;
    let mut new = document("1", None);
    new.original = Original::File(file);
    assert!(matches!(store.add_document(&w.caller, new).await.unwrap(), AddedDocument::Duplicate(_)));
    assert!(is_due(&store, file, LATER).await);
}

pub(super) async fn file_is_due_once_its_document_is_deleted(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let (alone, first) = with_file(&w, "1").await;
    let (small, second) = with_file(&w, "2").await;
    let (large, third) = with_file(&w, "3").await;
    let (_, fourth) = with_file(&w, "4").await;
    store.delete_original(&w.caller, alone.id, at(1)).await.unwrap();
    assert!(is_due(&store, first, 2).await);
    assert!(!store.documents_by_id(&w.caller, &[alone.id]).await.unwrap()[0].has_original);
    store.delete_session(&w.caller, small.id.session(), at(9), &|_, _| None).await.unwrap();
    assert!(is_due(&store, second, 2).await);
    store.hide_session(&w.caller, large.id.session(), None, at(2)).await.unwrap();
    assert_eq!(store.original_file(&w.caller, large.id).await.unwrap(), None);
    while store.delete_hidden(&w.caller, large.id.session(), at(3), 2, &|_, _| None).await.is_ok() {}
    assert!(is_due(&store, third, 3).await);
    store.begin_erasure(&w.caller, at(4)).await.unwrap();
    while store.erase(&w.caller, at(5), 2).await.unwrap().erasure.ended_at.is_none() {}
    assert!(is_due(&store, fourth, 5).await);
}

pub(super) async fn deleted_file_is_forgotten_and_others_are_tried_again(store: Arc<dyn Store>) {
    let [deleted, kept] = [registered(&store).await, registered(&store).await];
    for file in [deleted, kept] {
        store.register_file(file, at(1)).await.unwrap();
    }
    let due = store.take_due_files(at(1), at(LATER), 100_000).await.unwrap();
    assert!(due.contains(&deleted) && due.contains(&kept));
    // Files of other tests stay due.
    for other in due.iter().filter(|file| ![deleted, kept].contains(file)) {
        store.register_file(*other, at(1)).await.unwrap();
    }
    assert!(!is_due(&store, kept, LATER - 1).await, "two processes delete the same file");
    store.forget_files(&[deleted]).await.unwrap();
    store.forget_files(&[]).await.unwrap();
    assert!(!is_due(&store, deleted, LATER).await && is_due(&store, kept, LATER).await);
}

pub(super) async fn account_takes_over_the_files_of_a_visit(store: Arc<dyn Store>) {
    let (visit, account) = (visitor(&store, 10, 10).await, World::new(&store));
    let (document, file) = with_file(&visit.0, "1").await;
    store.adopt(&account.caller, visit.1.digest, at(5)).await.unwrap().unwrap();
    while store.erase(&visit.0.caller, at(6), 1_000).await.unwrap().erasure.ended_at.is_none() {}
    assert_eq!(store.original_file(&account.caller, document.id).await.unwrap(), Some(file));
    assert!(!is_due(&store, file, LATER).await);
}

pub(super) async fn files_of_others_are_unknown(store: Arc<dyn Store>) {
    let (a, b) = (World::new(&store), World::new(&store));
    let (theirs, file) = with_file(&a, "1").await;
    b.session().await;
    assert_eq!(store.original_file(&b.caller, theirs.id).await.unwrap(), None);
    assert!(matches!(store.delete_original(&b.caller, theirs.id, at(1)).await, Err(StoreError::NotFound)));
    assert_eq!(store.original_file(&a.caller, theirs.id).await.unwrap(), Some(file));
}
