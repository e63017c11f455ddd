//! Recorded conversations: time to store, time to notify clients, and whether questions find the right turns.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::ensure;
use serde_json::{Value, json};

use crate::{
    data::{self, Question, Turn},
    figures::{Figures, Times},
    ingest::{self, Ingest, ranked},
    place::{Engine, Place},
    server::Server,
};

/// The query of a chat front end.
pub(crate) const CONTEXT: &str = "query($q: String!) { context(input: { query: $q, first: 10, scope: USER }) {
    messages { score message { id text speaker sentAt } }
    facts { score fact { id relation belief subject { name } object { name } } }
    route { chosen }
    timings { embedMs vectorMs keywordMs graphMs totalMs } } }";

/// The same on one route only.
const ROUTED: &str = "query($q: String!, $route: RetrievalRoute!) { context(input: { query: $q, first: 10, scope: USER, route: $route }) {
    messages { score message { id } } } }";

/// Number of concurrent senders for throughput.
const AT_ONCE: usize = 4;
/// Number of turns that are sent at the rate of a busy chat instead of as fast as possible.
pub(crate) const PACED: usize = 400;
pub(crate) const PACE: Duration = Duration::from_millis(50);

/// Runs the whole workload.
///
/// # Errors
/// When an event was lost, duplicated or out of order, or the server refused something.
pub(crate) async fn run(turns: &Path, questions: &Path, engine: &Engine, figures: &mut Figures) -> anyhow::Result<()> {
    let turns: Vec<Turn> = data::lines(turns)?;
    let questions: Vec<Question> = data::lines(questions)?;

    let paced = run_turns(&turns[..PACED.min(turns.len())], 1, Some(PACE), "20 a second", engine, figures).await?;
    let single = run_turns(&turns, 1, None, "one at a time", engine, figures).await?;
    run_turns(&turns, AT_ONCE, None, "four at a time", engine, figures).await?;
    recall(&turns, &questions, engine, figures).await?;

    figures.limit("sendMessage p50 at 20 a second", paced.send.quantile(0.5), engine.either(5.0, 10.0), "ms");
    figures.limit("sendMessage p50 one at a time", single.send.quantile(0.5), engine.either(5.0, 10.0), "ms");
    for (name, ingest) in [("at 20 a second", &paced), ("one at a time", &single)] {
        figures.limit(&format!("fact to client p50 {name}, commit included"), ingest.fact.quantile(0.5), engine.either(3.0, 10.0), "ms");
        figures.limit(&format!("fact to client p99 {name}, commit included"), ingest.fact.quantile(0.99), 15.0, "ms");
    }
    Ok(())
}

/// Sends turns to a new server.
async fn run_turns(
    turns: &[Turn],
    at_once: usize,
    pace: Option<Duration>,
    heading: &str,
    engine: &Engine,
    figures: &mut Figures,
) -> anyhow::Result<Ingest> {
    let place = Place::new(engine).await?;
    let server = Arc::new(Server::start_at(&place)?);
    let ingest = ingest::run(std::slice::from_ref(&server), &[], turns, at_once, pace).await?;
    ingest.add_figures(heading, figures);
    figures.number(&format!("{heading}: memory at the end"), server.memory()?.resident, "MB");
    stop_server(server)?;
    place.remove().await?;
    Ok(ingest)
}

pub(crate) fn stop_server(server: Arc<Server>) -> anyhow::Result<()> {
    let server = Arc::into_inner(server);
    ensure!(server.is_some(), "the server is still in use");
    server.map_or(Ok(()), Server::stop)
}

#[derive(Default)]
struct Shares {
    at_5: f64,
    at_10: f64,
    questions: u32,
}

impl Shares {
    /// Adds a question: the turns that it needs, and those that were found, best first.
    fn add(&mut self, wanted: &[String], found: &[&str]) {
        let share = |k: usize| {
            let hits = wanted.iter().filter(|turn| found.iter().take(k).any(|f| f == turn)).count();
            hits as f64 / wanted.len().max(1) as f64
        };
        self.at_5 += share(5);
        self.at_10 += share(10);
        self.questions += 1;
    }
}

/// Measures recall with one server per conversation, because a local server has one user.
async fn recall(turns: &[Turn], questions: &[Question], engine: &Engine, figures: &mut Figures) -> anyhow::Result<()> {
    let (mut shares, mut routed): (BTreeMap<&str, Shares>, BTreeMap<String, Shares>) = Default::default();
    let (mut requests, mut crowded) = (Times::default(), Times::default());
    let mut parts: BTreeMap<&str, Times> = BTreeMap::new();
    let mut crowd = Duration::ZERO;
    let mut conversations: Vec<&str> = turns.iter().map(|t| t.conversation.as_str()).collect();
    conversations.dedup();
    for conversation in conversations {
        let place = Place::new(engine).await?;
        let server = Arc::new(Server::start_at(&place)?);
        let turns: Vec<Turn> = turns.iter().filter(|t| t.conversation == conversation).cloned().collect();
        let asked: Vec<&Question> = questions.iter().filter(|q| q.conversation == conversation).collect();
        let ingest = ingest::run(std::slice::from_ref(&server), &[], &turns, AT_ONCE, None).await?;
        server.rest().await?;
        // The first question builds the index.
        server.graphql(CONTEXT, json!({ "q": "Who went hiking?" })).await?;
        for question in &asked {
            let started = Instant::now();
            let data = server.graphql(CONTEXT, json!({ "q": question.question })).await?;
            requests.note(started.elapsed());
            for part in ["totalMs", "embedMs", "vectorMs", "keywordMs", "graphMs"] {
                parts.entry(part).or_default().push(data["context"]["timings"][part].as_f64().unwrap_or(f64::NAN));
            }
            let turns_of = |data: &Value| -> Vec<String> {
                ranked(&data["context"]).iter().filter_map(|id| Some(ingest.turns.get(*id)?.1.clone())).collect()
            };
            let found = turns_of(&data);
            let found: Vec<&str> = found.iter().map(String::as_str).collect();
            for name in ["all", question.category.as_str()] {
                shares.entry(name).or_default().add(&question.evidence, &found);
            }
            let route = data["context"]["route"]["chosen"].as_str().unwrap_or_default();
            let by_route = turns_of(&server.graphql(ROUTED, json!({ "q": question.question, "route": route })).await?);
            let by_route: Vec<&str> = by_route.iter().map(String::as_str).collect();
            for (name, found) in [("only its route", &by_route), ("all methods", &found)] {
                routed.entry(format!("{route}, {name}")).or_default().add(&question.evidence, found);
            }
            routed.entry("all routes, only its route".to_owned()).or_default().add(&question.evidence, &by_route);
        }
        let started = Instant::now();
        let texts: Vec<String> = asked.iter().map(|q| q.question.clone()).collect();
        crowded.extend(ask_at_once(&server, texts).await?);
        crowd += started.elapsed();
        stop_server(server)?;
        place.remove().await?;
    }
    for (name, s) in &shares {
        let n = f64::from(s.questions);
        figures.number(&format!("recall@10, {name} ({n} questions)"), 100.0 * s.at_10 / n, "%");
        figures.number(&format!("recall@5, {name}"), 100.0 * s.at_5 / n, "%");
    }
    for (name, s) in &routed {
        let n = f64::from(s.questions);
        figures.number(&format!("recall@10, {name} ({n} questions)"), 100.0 * s.at_10 / n, "%");
    }
    figures.times("context: request, one at a time", &requests);
    for (part, times) in &parts {
        figures.times(&format!("context: timings.{part}"), times);
    }
    figures.times("context: request, four at a time", &crowded);
    figures.number("context: four at a time", questions.len() as f64 / crowd.as_secs_f64(), "questions/s");
    Ok(())
}

/// Asks all questions, several at a time.
pub(crate) async fn ask_at_once(server: &Arc<Server>, questions: Vec<String>) -> anyhow::Result<Times> {
    let share = questions.len().div_ceil(AT_ONCE).max(1);
    let mut asking = tokio::task::JoinSet::new();
    for chunk in questions.chunks(share) {
        let (server, chunk) = (server.clone(), chunk.to_vec());
        asking.spawn(async move {
            let mut times = Times::default();
            for question in chunk {
                let started = Instant::now();
                server.graphql(CONTEXT, json!({ "q": question })).await?;
                times.note(started.elapsed());
            }
            anyhow::Ok(times)
        });
    }
    let mut all = Times::default();
    while let Some(times) = asking.join_next().await {
        all.extend(times??);
    }
    Ok(all)
}

/// Returns the milliseconds that the server reports.
pub(crate) fn server_ms(data: &Value) -> f64 {
    data["context"]["timings"]["totalMs"].as_f64().unwrap_or(f64::NAN)
}
