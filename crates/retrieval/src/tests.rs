//! Tests of the whole index over a feed in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::{Arc, LazyLock, atomic::Ordering};

use proptest::prelude::*;
use uuid::Uuid;

use super::{
    fixture::{MemoryFeed, TestMessage},
    *,
};
use recall_domain::{DocumentId, SessionId, Timestamp, UserId, ViewerRole};
use recall_embedding::LocalEmbedder;
use recall_ports::{IndexHit, IndexSources, IndexedDocuments};

static EMBEDDER: LazyLock<LocalEmbedder> = LazyLock::new(|| LocalEmbedder::load().unwrap());

const SPEAKERS: [Option<&str>; 3] = [None, Some("Caroline"), Some("Melanie")];
const WORDS: [&str; 16] = [
    "garden",
    "paint",
    "sunrise",
    "puppy",
    "couch",
    "deployment",
    "certificate",
    "the",
    "went",
    "holiday",
    "May",
    "Caroline",
    "beach",
    "guitar",
    "2023",
    "école",
];

fn caller(number: u128) -> Caller {
    Caller::verified(UserId(Uuid::from_u128(number)), ViewerRole::User)
}

fn session(number: u128) -> SessionId {
    SessionId(Uuid::from_u128(0x5e55_0000 + number))
}

fn message(number: usize) -> MessageId {
    MessageId(Uuid::from_u128(0x3355_0000 + number as u128))
}

fn day(number: i64) -> Timestamp {
    Timestamp::from_timestamp(1_683_500_000 + number * 86_400, 0).unwrap()
}

/// A generated message: user, session, speaker, day, words.
type DrawnMessage = (u128, u128, usize, i64, Vec<usize>);

fn any_message() -> impl Strategy<Value = DrawnMessage> {
    (0..2_u128, 0..3_u128, 0..SPEAKERS.len(), 0..400_i64, prop::collection::vec(0..WORDS.len(), 0..8))
}

fn add_generated(feed: &MemoryFeed, number: usize, drawn: &DrawnMessage) {
    let (user, s, speaker, d, words) = drawn;
    let text = words.iter().map(|w| WORDS[*w]).collect::<Vec<_>>().join(" ");
    feed.add(TestMessage {
        caller: &caller(*user),
        message: message(number),
        // Sessions belong to one user.
        session: session(user * 10 + s),
        speaker: SPEAKERS[*speaker],
        sent_at: day(*d),
        text: &text,
        embedding: EMBEDDER.vector(&text).0,
    });
}

fn query(words: &[usize]) -> IndexQuery {
    let text = words.iter().map(|w| WORDS[*w]).collect::<Vec<_>>().join(" ");
    IndexQuery {
        embedding: Some(EMBEDDER.vector(&text)),
        text: text.into(),
        model: EMBEDDER.model().to_owned(),
        scope: Scope::User,
        sources: recall_ports::IndexSources::default(),
        first: 10,
        methods: vec![Method::Vector, Method::Keyword],
        until: None,
        exclude: None,
        boosts: Vec::new(),
        second: None,
    }
}

fn index(feed: &Arc<MemoryFeed>, budget_bytes: usize) -> RecallIndex {
    RecallIndex::new(Arc::clone(feed) as Arc<dyn MessageStore>, &*EMBEDDER, RecallIndexOptions { budget_bytes, ..Default::default() })
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

async fn hits(index: &RecallIndex, user: u128, query: &IndexQuery) -> Vec<IndexHit> {
    index.search(&caller(user), query).await.unwrap().hits
}

const PLENTY: usize = 1 << 30;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn incremental_index_equals_one_built_at_once(
        messages in prop::collection::vec(any_message(), 0..40),
        asked_after in prop::collection::vec(any::<bool>(), 40),
        words in prop::collection::vec(0..WORDS.len(), 1..4),
    ) {
        run(async {
            let feed = Arc::new(MemoryFeed::default());
            let grown = index(&feed, PLENTY);
            for (i, drawn) in messages.iter().enumerate() {
                add_generated(&feed, i, drawn);
                if asked_after[i] {
                    hits(&grown, drawn.0, &query(&words)).await;
                }
            }
            let whole = index(&feed, PLENTY);
            for user in 0..2 {
                assert_eq!(hits(&grown, user, &query(&words)).await, hits(&whole, user, &query(&words)).await);
            }
        });
    }

    #[test]
    fn evicted_index_is_rebuilt_the_same(
        messages in prop::collection::vec(any_message(), 1..30), words in prop::collection::vec(0..WORDS.len(), 1..4),
    ) {
        run(async {
            let feed = Arc::new(MemoryFeed::default());
            messages.iter().enumerate().for_each(|(i, drawn)| add_generated(&feed, i, drawn));
            let index = index(&feed, PLENTY);
            let before = hits(&index, 0, &query(&words)).await;
            index.forget(&caller(0));
            assert_eq!(hits(&index, 0, &query(&words)).await, before);
        });
    }

    #[test]
    fn hits_are_in_scope_with_scores_from_0_to_1(
        messages in prop::collection::vec(any_message(), 0..40),
        words in prop::collection::vec(0..WORDS.len(), 0..4),
        user in 0..2_u128, s in 0..3_u128, until in prop::option::of(0..400_i64), exclude in prop::option::of(0..40_usize),
        boosts in prop::collection::vec((0..45_usize, 0.0_f32..1.0), 0..5),
        way in 0..4_usize, small in any::<bool>(), scoped in any::<bool>(),
    ) {
        run(async {
            let feed = Arc::new(MemoryFeed::default());
            messages.iter().enumerate().for_each(|(i, drawn)| add_generated(&feed, i, drawn));
            let mut query = query(&words);
            if scoped {
                query.scope = Scope::Session(session(user * 10 + s));
            }
            query.until = until.map(day);
            query.exclude = exclude.map(message);
            query.boosts = boosts.iter().map(|(m, score)| (message(*m), *score)).collect();
            query.methods = [vec![Method::Vector, Method::Keyword], vec![Method::Vector], vec![Method::Keyword], vec![]][way].clone();
            let found = hits(&index(&feed, if small { 1 } else { PLENTY }), user, &query).await;
            assert!(found.is_sorted_by(|a, b| a.score >= b.score));
            for hit in &found {
                let number = (0..messages.len()).find(|i| message(*i) == hit.message).unwrap();
                let (owner, its_session, _, said, _) = &messages[number];
                assert!(*owner == user && (!scoped || *its_session == s));
                assert!(until.is_none_or(|t| *said <= t) && exclude != Some(number));
                assert!((0.0..=1.0).contains(&hit.score) && !hit.methods.is_empty());
            }
        });
    }
}

fn add(feed: &MemoryFeed, number: usize, user: u128, s: u128, speaker: Option<&str>, text: &str) {
    let embedding = EMBEDDER.vector(text).0;
    feed.add(TestMessage {
        caller: &caller(user),
        message: message(number),
        session: session(s),
        speaker,
        sent_at: day(number as i64),
        text,
        embedding,
    });
}

fn question(text: &str) -> IndexQuery {
    IndexQuery { text: text.into(), embedding: Some(EMBEDDER.vector(text)), ..query(&[]) }
}

fn add_small_talk(feed: &MemoryFeed, user: u128) {
    for (i, text) in
        ["Lovely weather today", "The train was late again", "We had soup", "My phone broke", "See you at noon"].iter().enumerate()
    {
        add(feed, 100 + user as usize * 100 + i, user, user * 10 + 7, None, text);
    }
}

#[tokio::test]
async fn words_meaning_context_date_and_speaker_find_messages() {
    let feed = Arc::new(MemoryFeed::default());
    add_small_talk(&feed, 0);
    add(&feed, 1, 0, 1, Some("Caroline"), "Did you ever adopt the kitten from Riverside shelter?");
    add(&feed, 2, 0, 1, Some("Melanie"), "Yes! On Tuesday, she is called Biscuit.");
    add(&feed, 3, 0, 2, Some("Melanie"), "The sofa was destroyed by our puppy");
    let index = index(&feed, PLENTY);
    let first = |hits: Vec<IndexHit>| hits.first().map(|h| h.message);
    assert_eq!(first(hits(&index, 0, &question("who mentioned Biscuit?")).await), Some(message(2)));
    assert_eq!(first(hits(&index, 0, &question("the couch that a dog chewed up")).await), Some(message(3)));
    let kitten = hits(&index, 0, &question("adopt kitten Riverside shelter")).await;
    assert!(kitten[..2].iter().any(|h| h.message == message(2)), "the reply is found by the words of what it replies to");
    let mut by_date = question("What happened on 9 May 2023?");
    by_date.methods = vec![Method::Keyword];
    assert_eq!(first(hits(&index, 0, &by_date).await), Some(message(2)), "{}", day(2));
    let mut by_speaker = question("Caroline");
    by_speaker.methods = vec![Method::Keyword];
    assert_eq!(first(hits(&index, 0, &by_speaker).await), Some(message(1)));
}

#[tokio::test]
async fn sources_limit_the_search_and_hits_tell_chunks() {
    let feed = Arc::new(MemoryFeed::default());
    add_small_talk(&feed, 0);
    add(&feed, 1, 0, 1, None, "The garden gate is green");
    for (number, chunked) in [(2, 2), (3, 3)] {
        add(&feed, number, 0, chunked, None, "I painted the garden gate");
        feed.turn_into_document(session(chunked));
    }
    let document = |n: u128| DocumentId::from(session(n));
    let found = async |messages, documents, budget| {
        let sources = IndexSources { messages, documents };
        let query = IndexQuery { sources, methods: vec![Method::Keyword], ..question("garden gate") };
        let mut found: Vec<_> = hits(&index(&feed, budget), 0, &query).await.into_iter().map(|h| (h.message, h.is_chunk)).collect();
        found.sort_unstable();
        found
    };
    let [talk, one, other] = [(message(1), false), (message(2), true), (message(3), true)];
    assert_eq!(found(true, IndexedDocuments::AllBut(Vec::new()), PLENTY).await, [talk, one, other]);
    assert_eq!(found(true, IndexedDocuments::None, PLENTY).await, [talk]);
    assert_eq!(found(false, IndexedDocuments::AllBut(vec![document(2)]), PLENTY).await, [other]);
    assert_eq!(found(false, IndexedDocuments::Only(vec![document(2), document(1)]), PLENTY).await, [one]);
    assert_eq!(found(false, IndexedDocuments::None, PLENTY).await, []);
    // "I" is the user, whose messages rank before the same words of a document.
    add(&feed, 4, 0, 4, None, "I painted the garden gate");
    let first = hits(&index(&feed, PLENTY), 0, &question("When did I paint the garden gate?")).await.remove(0);
    assert_eq!(first.message, message(4));
}

#[tokio::test]
async fn chunk_is_found_by_its_own_words_alone() {
    let feed = Arc::new(MemoryFeed::default());
    add_small_talk(&feed, 0);
    for (number, text) in [(1, "Keys are kept at the reception"), (2, "Dogs may come to the office"), (3, "The kitchen closes at nine")] {
        add(&feed, number, 0, 1, None, text);
    }
    let found = async || {
        let query = IndexQuery { methods: vec![Method::Keyword], ..question("keys reception") };
        hits(&index(&feed, PLENTY), 0, &query).await.into_iter().map(|h| h.message).collect::<Vec<_>>()
    };
    assert!(found().await.contains(&message(2)), "a message is found by the words before it");
    feed.turn_into_document(session(1));
    assert_eq!(found().await, [message(1)]);
}

#[tokio::test]
async fn long_chunks_do_not_change_the_order_of_messages() {
    let feed = Arc::new(MemoryFeed::default());
    let order = async || {
        let sources = IndexSources { messages: true, documents: IndexedDocuments::None };
        let query = IndexQuery { methods: vec![Method::Keyword], sources, ..question("guitar") };
        let found = hits(&index(&feed, PLENTY), 0, &query).await;
        found.into_iter().map(|h| (h.message, (h.score * 1e4).round())).collect::<Vec<_>>()
    };
    for number in 0..12 {
        add(&feed, number, 0, number as u128, None, &format!("guitar {}", "holiday ".repeat(number)));
    }
    // The words of the documents are others, so that "guitar" becomes rarer in the same way for all messages.
    let before = order().await;
    for number in 100..112 {
        add(&feed, number, 0, number as u128, None, &"certificate deployment ".repeat(90));
        feed.turn_into_document(session(number as u128));
    }
    assert_eq!(order().await, before);
}

#[tokio::test]
async fn graph_hits_are_included_without_other_matches() {
    let feed = Arc::new(MemoryFeed::default());
    add_small_talk(&feed, 0);
    let mut query = question("zzz");
    query.embedding = None;
    query.boosts = vec![(message(102), 0.9), (message(4444), 1.0)];
    let found = hits(&index(&feed, PLENTY), 0, &query).await;
    assert_eq!(found.iter().map(|h| (h.message, h.methods.clone())).collect::<Vec<_>>(), [(message(102), vec![Method::Graph])]);
}

#[tokio::test]
async fn deletion_rebuilds_the_index_and_a_message_costs_one_page() {
    let feed = Arc::new(MemoryFeed::default());
    add_small_talk(&feed, 0);
    add(&feed, 1, 0, 1, None, "The garden gate is green");
    let index = index(&feed, PLENTY);
    assert_eq!(hits(&index, 0, &question("garden gate")).await[0].message, message(1));
    let reads = feed.reads.load(Ordering::SeqCst);
    add(&feed, 2, 0, 1, None, "The cellar door is purple");
    assert_eq!(hits(&index, 0, &question("cellar door")).await[0].message, message(2));
    assert_eq!(feed.reads.load(Ordering::SeqCst), reads + 1);
    feed.delete(session(1));
    assert!(hits(&index, 0, &question("garden gate cellar door")).await.iter().all(|h| h.message != message(1) && h.message != message(2)));
}

#[tokio::test]
async fn least_recently_used_index_is_evicted_over_budget() {
    let feed = Arc::new(MemoryFeed::default());
    (0..4).for_each(|user| add_small_talk(&feed, user));
    let one = {
        let index = index(&feed, PLENTY);
        hits(&index, 0, &question("soup")).await;
        index.bytes()
    };
    let index = index(&feed, one * 2 + one / 2);
    for user in [0, 1, 0, 2, 3] {
        assert_eq!(hits(&index, user, &question("soup")).await[0].message, message(102 + user as usize * 100));
        assert!(index.bytes() <= one * 2 + one / 2 && index.users() <= 2);
    }
    let reads = feed.reads.load(Ordering::SeqCst);
    hits(&index, 2, &question("soup")).await;
    assert_eq!(feed.reads.load(Ordering::SeqCst), reads + 1, "2 was used recently and is still in memory");
}

#[tokio::test]
async fn users_over_the_budget_are_served_from_the_store() {
    let feed = Arc::new(MemoryFeed::default());
    for i in 0..700 {
        add(&feed, 1000 + i, 0, 7, None, &format!("note number {i} about nothing much"));
    }
    add(&feed, 1, 0, 1, None, "The garden gate is green");
    let (whole, half) = (index(&feed, PLENTY), index(&feed, 250_000));
    hits(&whole, 0, &question("garden gate")).await;
    assert!(whole.bytes() > 350_000, "{}", whole.bytes());
    // The first has words only; the second, candidates only.
    for small in [half, index(&feed, 10_000)] {
        let found = hits(&small, 0, &question("garden gate")).await;
        assert_eq!((found[0].message, found[0].methods.len()), (message(1), 2));
        assert!(small.bytes() <= 250_000, "{}", small.bytes());
        let reads = feed.reads.load(Ordering::SeqCst);
        hits(&small, 0, &question("garden gate")).await;
        assert!(feed.reads.load(Ordering::SeqCst) <= reads + 1, "it is not rebuilt for each question");
    }
}

#[tokio::test]
async fn index_of_a_feed_with_missing_rows_has_all_others() {
    let feed = Arc::new(MemoryFeed::default());
    for i in 0..6000_usize {
        // Single rows are missing, and more rows than a page has.
        let is_deleted = i % 3 == 0 || (2000..3500).contains(&i);
        add(&feed, i, 0, if is_deleted { 8 } else { 7 }, None, &format!("token{i}x arrives"));
    }
    feed.delete(session(8));
    let index = index(&feed, PLENTY);
    for i in (0..6000).step_by(71) {
        let is_deleted = i % 3 == 0 || (2000..3500).contains(&i);
        let query = IndexQuery { methods: vec![Method::Keyword], ..question(&format!("token{i}x")) };
        let found = hits(&index, 0, &query).await;
        assert_eq!(found.first().map(|hit| hit.message), (!is_deleted).then(|| message(i)), "{i}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_searches_see_every_message_stored_before() {
    let feed = Arc::new(MemoryFeed::default());
    let index = Arc::new(index(&feed, PLENTY));
    for i in 0..3000 {
        add(&feed, 1000 + i, 0, 7, None, &format!("note number {i}"));
    }
    let mut tasks = tokio::task::JoinSet::new();
    for i in 0..60_usize {
        let (feed, index) = (Arc::clone(&feed), Arc::clone(&index));
        tasks.spawn(async move {
            let text = format!("token{i}x arrives");
            add(&feed, i, 0, 8, None, &text);
            if i % 3 == 0 {
                // This search is cancelled after a few steps; others must not notice.
                let (user, question) = (caller(0), question("note"));
                let mut cancelled = index.search(&user, &question);
                for _ in 0..i % 5 {
                    if futures_util::FutureExt::now_or_never(&mut cancelled).is_some() {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
            }
            if i == 30 {
                feed.delete(session(99));
            }
            let found = hits(&index, 0, &question(&format!("token{i}x"))).await;
            assert_eq!(found[0].message, message(i), "{text}");
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}

#[tokio::test]
async fn word_with_a_typing_error_finds_what_is_meant() {
    let feed = Arc::new(MemoryFeed::default());
    add(&feed, 1, 0, 7, None, "The deposit is 900 euros.");
    add(&feed, 2, 0, 9, None, "The puppy chews the couch.");
    let index = index(&feed, PLENTY);
    let found = async |text: &str, exclude: Option<usize>| {
        let query = IndexQuery { methods: vec![Method::Keyword], exclude: exclude.map(message), ..question(text) };
        hits(&index, 0, &query).await.into_iter().map(|hit| hit.message).collect::<Vec<_>>()
    };
    assert_eq!(found("How much is the depsoit?", None).await, [message(1)]);
    assert_eq!(found("How much is the Depsoit?", None).await, []);
    // The question itself is a message, and so are those before it.
    add(&feed, 3, 0, 8, None, "How much is the depsoit?");
    add(&feed, 4, 0, 8, None, "depsoit");
    assert_eq!(found("depsoit", Some(4)).await[0], message(1));
    // A word that somebody has told is a word.
    add(&feed, 5, 0, 8, None, "My depsoit is a pet name.");
    assert!(!found("depsoit", None).await.contains(&message(1)));
}
