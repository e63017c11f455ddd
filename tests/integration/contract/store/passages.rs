//! What an encoder made of chunks and messages, to order what a search has found.

use std::sync::Arc;

use recall_domain::{DocumentId, MessageId, Page};
use recall_ports::{Embedding, EncodedText, Passage, Store, WordVectors};

use super::{
    documents::store_document,
    forget,
    given::{World, at, fresh},
};

const MODEL: &str = "passages/1";

fn passage(first: f32) -> Passage {
    let mut words = WordVectors::default();
    words.push(&[first; WordVectors::DIMENSION]);
    words.push(&std::array::from_fn(|i| first - i as f32));
    Passage::of(&EncodedText { vector: Embedding(vec![first, 1.0, -0.5]), words })
}

async fn chunks(w: &World, document: DocumentId) -> Vec<MessageId> {
    let found = w.store.list_chunks(&w.caller, document, &Page::first(100)).await.unwrap();
    found.items.into_iter().map(|(_, chunk)| chunk.id).collect()
}

/// Stores the passage of one chunk of a document.
pub(super) async fn store_passage(w: &World, document: DocumentId) {
    let chunk = chunks(w, document).await[0];
    w.store.keep_passages(&w.caller, MODEL, vec![(chunk, passage(0.1))]).await.unwrap();
}

pub(super) async fn passages_are_kept_and_replaced(store: Arc<dyn Store>) {
    let (w, stranger) = (World::new(&store), World::new(&store));
    let chunks = chunks(&w, store_document(&w).await.id).await;
    let unknown = MessageId(fresh());
    let kept = vec![(chunks[0], passage(0.1)), (chunks[1], passage(0.2)), (unknown, passage(0.3))];
    store.keep_passages(&w.caller, MODEL, kept).await.unwrap();
    let mut found = store.passages(&w.caller, MODEL, &[chunks[2], chunks[1], chunks[0], unknown]).await.unwrap();
    found.sort_by_key(|(id, _)| chunks.iter().position(|chunk| chunk == id));
    assert_eq!(found, [(chunks[0], passage(0.1)), (chunks[1], passage(0.2))], "a chunk that is unknown has none");
    assert!(store.passages(&w.caller, "passages/2", &chunks).await.unwrap().is_empty(), "of another model");
    assert!(store.passages(&w.caller, MODEL, &[]).await.unwrap().is_empty());

    store.keep_passages(&stranger.caller, MODEL, vec![(chunks[0], passage(0.9))]).await.unwrap();
    assert!(store.passages(&stranger.caller, MODEL, &chunks).await.unwrap().is_empty(), "a chunk of somebody else");

    store.keep_passages(&w.caller, "passages/2", vec![(chunks[0], passage(0.4))]).await.unwrap();
    assert_eq!(store.passages(&w.caller, MODEL, &chunks).await.unwrap(), [(chunks[1], passage(0.2))]);
    assert_eq!(store.passages(&w.caller, "passages/2", &chunks).await.unwrap(), [(chunks[0], passage(0.4))]);
}

pub(super) async fn passages_go_with_their_chunks(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let document = store_document(&w).await;
    let chunks = chunks(&w, document.id).await;
    let keep = || w.store.keep_passages(&w.caller, MODEL, chunks.iter().map(|id| (*id, passage(0.1))).collect());
    keep().await.unwrap();
    let plan = forget::plan(&w, document.id.session(), &chunks[..1]).await;
    store.forget(&w.caller, &plan).await.unwrap();
    store.purge_forgotten(&w.caller, plan.id, plan.until).await.unwrap();
    assert_eq!(store.holdings(&w.caller).await.unwrap()["passage_vectors"], chunks.len() as u64 - 1, "it tells what was forgotten");
    keep().await.unwrap();
    assert_eq!(store.holdings(&w.caller).await.unwrap()["passage_vectors"], chunks.len() as u64 - 1, "it is made again");
    store.delete_session(&w.caller, document.id.session(), at(9), &|_, _| None).await.unwrap();
    assert!(!store.holdings(&w.caller).await.unwrap().contains_key("passage_vectors"));
}

pub(super) async fn messages_have_passages_as_long_as_they_have_their_text(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let message = known.message.id;
    let keep = || w.store.keep_passages(&w.caller, MODEL, vec![(message, passage(0.1))]);
    keep().await.unwrap();
    assert_eq!(store.passages(&w.caller, MODEL, &[message]).await.unwrap(), [(message, passage(0.1))]);
    let mut plan = forget::whole(&w, &known).await;
    plan.redacted = std::mem::take(&mut plan.hidden);
    store.forget(&w.caller, &plan).await.unwrap();
    store.purge_forgotten(&w.caller, plan.id, plan.until).await.unwrap();
    keep().await.unwrap();
    assert!(store.passages(&w.caller, MODEL, &[message]).await.unwrap().is_empty(), "its words are erased");
}
