//! Many generated messages of one user: ingest rate, and latency of questions afterwards.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use crate::{
    figures::{Figures, Times},
    place::{Engine, Place},
    real::{CONTEXT, ask_at_once, server_ms, stop_server},
    sentences::Writer,
    server::{Server, TIMEOUT},
};

/// Messages per call, which is one session.
const CALL: usize = 500;
const QUESTIONS: usize = 300;
const IMPORT: &str = "mutation($input: ImportMessagesInput!) { importMessages(input: $input) { errors { code message } } }";

/// Imports `n` messages, optionally waits until they are processed, and asks questions.
pub(crate) async fn run(n: usize, wait: bool, engine: &Engine, figures: &mut Figures) -> anyhow::Result<()> {
    let place = Place::new(engine).await?;
    let server = Arc::new(Server::start_at(&place)?);
    let mut writer = Writer::new();
    let first: DateTime<Utc> = "2023-01-01T08:00:00Z".parse()?;
    let mut calls = Times::default();
    let begun = Instant::now();
    let mut left = n;
    while left > 0 {
        let (session, _) = server.session(None, "generated").await?;
        let messages: Vec<_> = (0..left.min(CALL))
            .map(|i| {
                let (speaker, text) = writer.statement();
                let at = first + TimeDelta::seconds(60 * (n - left + i) as i64);
                json!({ "speaker": speaker, "text": text, "sentAt": at.to_rfc3339() })
            })
            .collect();
        left -= messages.len();
        let started = Instant::now();
        let data = server.graphql(IMPORT, json!({ "input": { "sessionId": session, "messages": messages } })).await?;
        ensure!(data["importMessages"]["errors"] == json!([]), "{data}");
        calls.note(started.elapsed());
    }
    let imported = begun.elapsed();
    figures.times("importMessages, 500 a call", &calls);
    figures.number("imported", n as f64 / imported.as_secs_f64(), "messages/s");
    figures.number("memory after the import", server.memory()?.resident, "MB");
    if wait {
        wait_until_processed(&server, n).await?;
        figures.number("imported and processed", n as f64 / begun.elapsed().as_secs_f64(), "messages/s");
        figures.number("server's processor time", server.processor_time()?.as_secs_f64() * 1e3 / n as f64, "ms/message");
        figures.number("messages given up", server.metric("recall_jobs_total", "outcome=\"dead\"").await?, "messages");
        for list in ["facts", "entities"] {
            let data = server.graphql(&format!("{{ {list}(first: 1) {{ totalCount }} }}"), json!({})).await?;
            figures.number(list, data[list]["totalCount"].as_f64().unwrap_or(f64::NAN), list);
        }
        figures.number("memory after processing", server.memory()?.resident, "MB");
        server.rest().await?;
    }
    figures.number("data on disk", place.bytes().await? as f64 / n as f64, "bytes/message");

    let started = Instant::now();
    server.graphql(CONTEXT, json!({ "q": "Who went hiking?" })).await?;
    figures.number("first context, which makes the index", started.elapsed().as_secs_f64() * 1e3, "ms");
    let questions: Vec<String> = (0..QUESTIONS).map(|_| writer.question()).collect();
    let (mut requests, mut inside) = (Times::default(), Times::default());
    let mut parts = ["embedMs", "vectorMs", "keywordMs", "graphMs"].map(|p| (p, Times::default()));
    for question in &questions {
        let started = Instant::now();
        let data = server.graphql(CONTEXT, json!({ "q": question })).await?;
        requests.note(started.elapsed());
        inside.push(server_ms(&data));
        for (part, times) in &mut parts {
            times.push(data["context"]["timings"][*part].as_f64().context("no timing")?);
        }
    }
    figures.times("context: request, one at a time", &requests);
    figures.times("context: timings.totalMs", &inside);
    for (part, times) in &parts {
        figures.times(&format!("context: timings.{part}"), times);
    }
    let started = Instant::now();
    let crowded = ask_at_once(&server, questions).await?;
    figures.times("context: request, four at a time", &crowded);
    figures.number("context: four at a time", QUESTIONS as f64 / started.elapsed().as_secs_f64(), "questions/s");
    let memory = server.memory()?;
    figures.number("memory at the end, resident", memory.resident, "MB");
    figures.number("memory at the end, not backed by a file", memory.anonymous, "MB");
    figures.number("memory, peak", memory.peak, "MB");
    figures.limit(&format!("context p99 with {n} messages"), requests.quantile(0.99), engine.either(20.0, 50.0), "ms");
    stop_server(server)?;
    place.remove().await
}

/// Waits until the queue is empty; fails without progress.
async fn wait_until_processed(server: &Server, expected: usize) -> anyhow::Result<()> {
    let (mut before, mut since, mut told) = (0.0, Instant::now(), Instant::now());
    loop {
        let done =
            server.metric("recall_jobs_total", "outcome=\"done\"").await? + server.metric("recall_jobs_total", "outcome=\"dead\"").await?;
        if done >= expected as f64 {
            return Ok(());
        }
        if done > before {
            (before, since) = (done, Instant::now());
        }
        if told.elapsed() > Duration::from_secs(10) {
            eprintln!("{done} of {expected} processed");
            told = Instant::now();
        }
        ensure!(since.elapsed() < TIMEOUT, "only {done} of {expected} messages were processed");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
