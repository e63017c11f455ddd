//! What must hold for the index as a whole, over a feed in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::{Arc, LazyLock, atomic::Ordering};

use proptest::prelude::*;
use uuid::Uuid;

use super::{
    fixture::{MemoryFeed, Told},
    *,
};
use recall_domain::{SessionId, Timestamp, UserId, ViewerRole};
use recall_embedding::LocalEmbedder;
use recall_ports::IndexHit;

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

/// A message as a property test draws it: user, session, speaker, day, words.
type DrawnMessage = (u128, u128, usize, i64, Vec<usize>);

fn drawn() -> impl Strategy<Value = DrawnMessage> {
    (0..2_u128, 0..3_u128, 0..SPEAKERS.len(), 0..400_i64, prop::collection::vec(0..WORDS.len(), 0..8))
}

fn tell(feed: &MemoryFeed, number: usize, drawn: &DrawnMessage) {
    let (user, s, speaker, d, words) = drawn;
    let text = words.iter().map(|w| WORDS[*w]).collect::<Vec<_>>().join(" ");
    feed.tell(Told {
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
        first: 10,
        methods: vec![Method::Vector, Method::Keyword],
        until: None,
        exclude: None,
        boosts: Vec::new(),
        beside: None,
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
    fn made_bit_by_bit_equals_made_at_once(
        told in prop::collection::vec(drawn(), 0..40),
        asked_after in prop::collection::vec(any::<bool>(), 40),
        words in prop::collection::vec(0..WORDS.len(), 1..4),
    ) {
        run(async {
            let feed = Arc::new(MemoryFeed::default());
            let grown = index(&feed, PLENTY);
            for (i, drawn) in told.iter().enumerate() {
                tell(&feed, i, drawn);
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
    fn what_was_let_go_is_made_again_as_it_was(
        told in prop::collection::vec(drawn(), 1..30), words in prop::collection::vec(0..WORDS.len(), 1..4),
    ) {
        run(async {
            let feed = Arc::new(MemoryFeed::default());
            told.iter().enumerate().for_each(|(i, drawn)| tell(&feed, i, drawn));
            let index = index(&feed, PLENTY);
            let before = hits(&index, 0, &query(&words)).await;
            index.forget(&caller(0));
            assert_eq!(hits(&index, 0, &query(&words)).await, before);
        });
    }

    #[test]
    fn only_what_is_in_scope_is_found_with_scores_from_0_to_1(
        told in prop::collection::vec(drawn(), 0..40),
        words in prop::collection::vec(0..WORDS.len(), 0..4),
        user in 0..2_u128, s in 0..3_u128, until in prop::option::of(0..400_i64), exclude in prop::option::of(0..40_usize),
        boosts in prop::collection::vec((0..45_usize, 0.0_f32..1.0), 0..5),
        way in 0..4_usize, small in any::<bool>(), scoped in any::<bool>(),
    ) {
        run(async {
            let feed = Arc::new(MemoryFeed::default());
            told.iter().enumerate().for_each(|(i, drawn)| tell(&feed, i, drawn));
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
                let place = (0..told.len()).find(|i| message(*i) == hit.message).unwrap();
                let (owner, its_session, _, said, _) = &told[place];
                assert!(*owner == user && (!scoped || *its_session == s));
                assert!(until.is_none_or(|t| *said <= t) && exclude != Some(place));
                assert!((0.0..=1.0).contains(&hit.score) && !hit.methods.is_empty());
            }
        });
    }
}

fn said(feed: &MemoryFeed, number: usize, user: u128, s: u128, speaker: Option<&str>, text: &str) {
    let embedding = EMBEDDER.vector(text).0;
    feed.tell(Told {
        caller: &caller(user),
        message: message(number),
        session: session(s),
        speaker,
        sent_at: day(number as i64),
        text,
        embedding,
    });
}

fn asked(text: &str) -> IndexQuery {
    IndexQuery { text: text.into(), embedding: Some(EMBEDDER.vector(text)), ..query(&[]) }
}

fn small_talk(feed: &MemoryFeed, user: u128) {
    for (i, text) in
        ["Lovely weather today", "The train was late again", "We had soup", "My phone broke", "See you at noon"].iter().enumerate()
    {
        said(feed, 100 + user as usize * 100 + i, user, user * 10 + 7, None, text);
    }
}

#[tokio::test]
async fn words_meaning_previous_message_date_and_speaker_all_find() {
    let feed = Arc::new(MemoryFeed::default());
    small_talk(&feed, 0);
    said(&feed, 1, 0, 1, Some("Caroline"), "Did you ever adopt the kitten from Riverside shelter?");
    said(&feed, 2, 0, 1, Some("Melanie"), "Yes! On Tuesday, she is called Biscuit.");
    said(&feed, 3, 0, 2, Some("Melanie"), "The sofa was destroyed by our puppy");
    let index = index(&feed, PLENTY);
    let first = |hits: Vec<IndexHit>| hits.first().map(|h| h.message);
    assert_eq!(first(hits(&index, 0, &asked("who mentioned Biscuit?")).await), Some(message(2)));
    assert_eq!(first(hits(&index, 0, &asked("the couch that a dog chewed up")).await), Some(message(3)));
    let kitten = hits(&index, 0, &asked("adopt kitten Riverside shelter")).await;
    assert!(kitten[..2].iter().any(|h| h.message == message(2)), "the reply is found by the words of what it replies to");
    let mut by_date = asked("What happened on 9 May 2023?");
    by_date.methods = vec![Method::Keyword];
    assert_eq!(first(hits(&index, 0, &by_date).await), Some(message(2)), "{}", day(2));
    let mut by_speaker = asked("Caroline");
    by_speaker.methods = vec![Method::Keyword];
    assert_eq!(first(hits(&index, 0, &by_speaker).await), Some(message(1)));
}

#[tokio::test]
async fn graph_search_brings_in_what_neither_words_nor_meaning_find() {
    let feed = Arc::new(MemoryFeed::default());
    small_talk(&feed, 0);
    let mut query = asked("zzz");
    query.embedding = None;
    query.boosts = vec![(message(102), 0.9), (message(4444), 1.0)];
    let found = hits(&index(&feed, PLENTY), 0, &query).await;
    assert_eq!(found.iter().map(|h| (h.message, h.methods.clone())).collect::<Vec<_>>(), [(message(102), vec![Method::Graph])]);
}

#[tokio::test]
async fn a_deletion_makes_the_index_void_and_a_new_message_costs_one_page() {
    let feed = Arc::new(MemoryFeed::default());
    small_talk(&feed, 0);
    said(&feed, 1, 0, 1, None, "The garden gate is green");
    let index = index(&feed, PLENTY);
    assert_eq!(hits(&index, 0, &asked("garden gate")).await[0].message, message(1));
    let reads = feed.reads.load(Ordering::SeqCst);
    said(&feed, 2, 0, 1, None, "The cellar door is purple");
    assert_eq!(hits(&index, 0, &asked("cellar door")).await[0].message, message(2));
    assert_eq!(feed.reads.load(Ordering::SeqCst), reads + 1);
    feed.delete(session(1));
    assert!(hits(&index, 0, &asked("garden gate cellar door")).await.iter().all(|h| h.message != message(1) && h.message != message(2)));
}

#[tokio::test]
async fn the_budget_holds_for_all_users_and_the_least_recently_used_goes() {
    let feed = Arc::new(MemoryFeed::default());
    (0..4).for_each(|user| small_talk(&feed, user));
    let one = {
        let index = index(&feed, PLENTY);
        hits(&index, 0, &asked("soup")).await;
        index.bytes()
    };
    let index = index(&feed, one * 2 + one / 2);
    for user in [0, 1, 0, 2, 3] {
        assert_eq!(hits(&index, user, &asked("soup")).await[0].message, message(102 + user as usize * 100));
        assert!(index.bytes() <= one * 2 + one / 2 && index.users() <= 2);
    }
    let reads = feed.reads.load(Ordering::SeqCst);
    hits(&index, 2, &asked("soup")).await;
    assert_eq!(feed.reads.load(Ordering::SeqCst), reads + 1, "2 was used lately and is still held");
}

#[tokio::test]
async fn users_too_large_for_the_budget_are_served_from_the_store() {
    let feed = Arc::new(MemoryFeed::default());
    for i in 0..700 {
        said(&feed, 1000 + i, 0, 7, None, &format!("note number {i} about nothing much"));
    }
    said(&feed, 1, 0, 1, None, "The garden gate is green");
    let (whole, half) = (index(&feed, PLENTY), index(&feed, 250_000));
    hits(&whole, 0, &asked("garden gate")).await;
    assert!(whole.bytes() > 350_000, "{}", whole.bytes());
    // Words only; then candidates only.
    for small in [half, index(&feed, 10_000)] {
        let found = hits(&small, 0, &asked("garden gate")).await;
        assert_eq!((found[0].message, found[0].methods.len()), (message(1), 2));
        assert!(small.bytes() <= 250_000, "{}", small.bytes());
        let reads = feed.reads.load(Ordering::SeqCst);
        hits(&small, 0, &asked("garden gate")).await;
        assert!(feed.reads.load(Ordering::SeqCst) <= reads + 1, "it is not made anew for each question");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_and_cancelled_searches_all_see_what_was_stored_before_them() {
    let feed = Arc::new(MemoryFeed::default());
    let index = Arc::new(index(&feed, PLENTY));
    for i in 0..3000 {
        said(&feed, 1000 + i, 0, 7, None, &format!("note number {i}"));
    }
    let mut tasks = tokio::task::JoinSet::new();
    for i in 0..60_usize {
        let (feed, index) = (Arc::clone(&feed), Arc::clone(&index));
        tasks.spawn(async move {
            let text = format!("token{i}x arrives");
            said(&feed, i, 0, 8, None, &text);
            if i % 3 == 0 {
                // Cut off after a few steps; others must not notice.
                let (who, question) = (caller(0), asked("note"));
                let mut cut = index.search(&who, &question);
                for _ in 0..i % 5 {
                    if futures_util::FutureExt::now_or_never(&mut cut).is_some() {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
            }
            if i == 30 {
                feed.delete(session(99));
            }
            let found = hits(&index, 0, &asked(&format!("token{i}x"))).await;
            assert_eq!(found[0].message, message(i), "{text}");
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}
