//! Measures recall, the effect of each part of the ranking, and the speed of the index.
//!
//! Input: conversations and questions with known evidence in the layout of LoCoMo, one JSON object a line.
//! `tests/data/recall` contains an example.
//!
//! ```text
//! cargo run --release --example locomo -- recall TURNS.jsonl QUESTIONS.jsonl
//! cargo run --release --example locomo -- ablate TURNS.jsonl QUESTIONS.jsonl
//! cargo run --release --example locomo -- speed TURNS.jsonl QUESTIONS.jsonl [MESSAGES]
//! ```

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use anyhow::{Context as _, bail};
use chrono::NaiveDateTime;
use recall_domain::{
    Caller, MessageId, SessionId, UserId, ViewerRole,
    context::{Method, Scope},
};
use recall_embedding::LocalEmbedder;
use recall_ports::{Embedder, IndexQuery, MessageIndex};
use recall_retrieval::{RecallIndex, RecallIndexOptions};
use serde::Deserialize;
use uuid::Uuid;

#[allow(dead_code, reason = "tests delete sessions, measurements do not")]
#[path = "../crates/retrieval/src/fixture.rs"]
mod fixture;
use fixture::{MemoryFeed, TestMessage};

#[derive(Deserialize)]
struct Turn {
    conversation: String,
    session: u32,
    date: String,
    turn: String,
    speaker: Option<String>,
    text: String,
}

#[derive(Deserialize)]
struct Question {
    conversation: String,
    question: String,
    category: String,
    evidence: Vec<String>,
}

fn read<T: for<'a> Deserialize<'a>>(path: &str) -> anyhow::Result<Vec<T>> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {path}"))?;
    text.lines().map(|line| serde_json::from_str(line).with_context(|| format!("a line of {path}"))).collect()
}

fn caller(name: &str) -> Caller {
    Caller::verified(UserId(Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes())), ViewerRole::User)
}

fn message_id(user: &str, turn: &str) -> MessageId {
    MessageId(Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("{user}/{turn}").as_bytes()))
}

/// Stores turns as messages, with one user per conversation or one given user.
///
/// `round` distinguishes copies of the same turns.
fn store_turns(feed: &MemoryFeed, embedder: &LocalEmbedder, turns: &[Turn], user: Option<&str>, round: usize) -> anyhow::Result<()> {
    for turn in turns {
        let owner = user.unwrap_or(&turn.conversation);
        let session = format!("{}/{}/{round}", turn.conversation, turn.session);
        feed.add(TestMessage {
            caller: &caller(owner),
            message: message_id(owner, &format!("{}/{round}", turn.turn)),
            session: SessionId(Uuid::new_v5(&Uuid::NAMESPACE_OID, session.as_bytes())),
            speaker: turn.speaker.as_deref(),
            sent_at: NaiveDateTime::parse_from_str(&turn.date, "%I:%M %p on %d %B, %Y")?.and_utc(),
            text: &turn.text,
            embedding: embedder.vector(&turn.text).0,
        });
    }
    Ok(())
}

fn query(embedder: &LocalEmbedder, text: &str, methods: &[Method]) -> IndexQuery {
    IndexQuery {
        text: text.into(),
        embedding: Some(embedder.vector(text)),
        model: embedder.model().to_owned(),
        scope: Scope::User,
        first: 10,
        methods: methods.to_vec(),
        until: None,
        sources: recall_ports::IndexSources::default(),
        exclude: None,
        boosts: Vec::new(),
        second: None,
    }
}

/// Returns the percentage of evidence among the first 10 results, and for all questions also among fewer.
///
/// Groups by category and by conversation, to show a gain that comes from a single conversation.
async fn recall_by_group(
    index: &RecallIndex,
    embedder: &LocalEmbedder,
    questions: &[Question],
    methods: &[Method],
) -> anyhow::Result<BTreeMap<String, f64>> {
    let mut sums: BTreeMap<String, (f64, u32)> = BTreeMap::new();
    for question in questions.iter().filter(|q| !q.evidence.is_empty()) {
        let result = index.search(&caller(&question.conversation), &query(embedder, &question.question, methods)).await?;
        let wanted: Vec<MessageId> =
            question.evidence.iter().map(|turn| message_id(&question.conversation, &format!("{turn}/0"))).collect();
        let share = |k: usize| {
            let found = wanted.iter().filter(|id| result.hits.iter().take(k).any(|hit| hit.message == **id)).count();
            found as f64 / wanted.len() as f64
        };
        let groups = [(&*question.category, 10), (&*question.conversation, 10), ("all", 10), ("all@5", 5), ("all@3", 3), ("all@1", 1)];
        for (name, share) in groups.map(|(name, k)| (name, share(k))) {
            let sum = sums.entry(name.to_owned()).or_default();
            sum.0 += share;
            sum.1 += 1;
        }
    }
    Ok(sums.into_iter().map(|(category, (sum, count))| (category, 100.0 * sum / f64::from(count))).collect())
}

fn resident_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").ok().and_then(|s| s.split(' ').nth(1).and_then(|p| p.parse::<u64>().ok()));
    pages.unwrap_or(0) * 4096
}

async fn measure_recall(turns: &[Turn], questions: &[Question]) -> anyhow::Result<()> {
    let embedder = LocalEmbedder::load()?;
    let feed = Arc::new(MemoryFeed::default());
    store_turns(&feed, &embedder, turns, None, 0)?;
    let index = RecallIndex::new(feed, &embedder, RecallIndexOptions::default());
    for (name, methods) in
        [("vector", &[Method::Vector][..]), ("keyword", &[Method::Keyword][..]), ("fused", &[Method::Vector, Method::Keyword][..])]
    {
        let figures = recall_by_group(&index, &embedder, questions, methods).await?;
        println!("recall@10 {name:8} {}", format_figures(&figures));
    }
    Ok(())
}

fn format_figures(figures: &BTreeMap<String, f64>) -> String {
    figures.iter().map(|(name, r)| format!("{name} {r:.1}")).collect::<Vec<_>>().join("  ")
}

/// Disables or changes one part of the ranking.
type Ablation = fn(&mut RecallIndexOptions);

/// Measures recall without each part of the ranking.
async fn measure_ablations(turns: &[Turn], questions: &[Question]) -> anyhow::Result<()> {
    let ablations: [(&str, Ablation); 14] = [
        ("full ranking", |_| ()),
        ("no words after", |o| o.tuning.after = [0.0; 2]),
        ("words of 1 before", |o| o.tuning.before = [0.4, 0.0, 0.0, 0.0]),
        ("own words only", |o| (o.tuning.before, o.tuning.after, o.tuning.length_before) = ([0.0; 4], [0.0; 2], 0.0)),
        ("names as words", |o| o.tuning.speaker_term = 1.0),
        ("no speaker boost", |o| o.tuning.speaker = 0.0),
        ("no neighbours", |o| o.tuning.neighbour = 0.0),
        ("no prior", |o| (o.tuning.names, o.tuning.length, o.tuning.asks) = (0.0, 0.0, 0.0)),
        ("prior without names", |o| o.tuning.names = 0.0),
        ("prior without length", |o| o.tuning.length = 0.0),
        ("prior without asks", |o| o.tuning.asks = 0.0),
        ("prior twice", |o| (o.tuning.names, o.tuning.length, o.tuning.asks) = (0.2, 0.24, 0.1)),
        ("words .3", |o| o.tuning.keyword = 0.3),
        ("words .5", |o| o.tuning.keyword = 0.5),
    ];
    let embedder = LocalEmbedder::load()?;
    let feed = Arc::new(MemoryFeed::default());
    store_turns(&feed, &embedder, turns, None, 0)?;
    for (name, ablation) in ablations {
        let mut options = RecallIndexOptions::default();
        ablation(&mut options);
        let index = RecallIndex::new(Arc::clone(&feed) as Arc<_>, &embedder, options);
        let figures = recall_by_group(&index, &embedder, questions, &[Method::Vector, Method::Keyword]).await?;
        println!("{name:22} {}", format_figures(&figures));
    }
    Ok(())
}

async fn measure_speed(turns: &[Turn], questions: &[Question], messages: usize) -> anyhow::Result<()> {
    let before = resident_bytes();
    let started = Instant::now();
    let embedder = LocalEmbedder::load()?;
    println!("embedder loaded in {:.1} ms, {:.1} MB", started.elapsed().as_secs_f64() * 1e3, (resident_bytes() - before) as f64 / 1e6);
    let started = Instant::now();
    turns.iter().for_each(|t| drop(std::hint::black_box(embedder.vector(&t.text))));
    println!("embedding: {:.1} us per text", started.elapsed().as_secs_f64() * 1e6 / turns.len() as f64);

    let feed = Arc::new(MemoryFeed::default());
    for round in 0..messages.div_ceil(turns.len()) {
        let left = messages - round * turns.len();
        store_turns(&feed, &embedder, &turns[..left.min(turns.len())], Some("one"), round)?;
    }
    let index = RecallIndex::new(Arc::clone(&feed) as Arc<_>, &embedder, RecallIndexOptions::default());
    let both = [Method::Vector, Method::Keyword];
    let (before, started) = (resident_bytes(), Instant::now());
    index.search(&caller("one"), &query(&embedder, "hello", &both)).await?;
    println!(
        "index of {messages} messages built in {:.0} ms, {:.1} MB by its own count, {:.1} MB resident, {} pages read",
        started.elapsed().as_secs_f64() * 1e3,
        index.bytes() as f64 / 1e6,
        (resident_bytes() as f64 - before as f64) / 1e6,
        feed.reads.load(Ordering::SeqCst)
    );
    let mut times: HashMap<&str, Vec<f64>> = HashMap::new();
    for question in questions {
        let query = query(&embedder, &question.question, &both);
        let started = Instant::now();
        let result = index.search(&caller("one"), &query).await?;
        times.entry("search").or_default().push(started.elapsed().as_secs_f64() * 1e3);
        times.entry("keyword part").or_default().push(result.keyword_ms);
        times.entry("vector part").or_default().push(result.vector_ms);
    }
    for (name, mut times) in times {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN);
        println!("{name}: p50 {:.2} ms, p99 {:.2} ms", at(0.5), at(0.99));
    }
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, turns, questions, rest @ ..] = arguments.as_slice() else {
        bail!("usage: locomo recall|ablate|speed TURNS.jsonl QUESTIONS.jsonl [MESSAGES]")
    };
    let (turns, questions) = (read::<Turn>(turns)?, read::<Question>(questions)?);
    match what.as_str() {
        "recall" => measure_recall(&turns, &questions).await,
        "ablate" => measure_ablations(&turns, &questions).await,
        "speed" => measure_speed(&turns, &questions, rest.first().map_or(Ok(100_000), |n| n.parse())?).await,
        other => bail!("unknown measurement {other:?}; use recall, ablate or speed"),
    }
}
