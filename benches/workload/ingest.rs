//! Sends turns one by one, each session in order, with a follower per session that detects lost or duplicated events.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::{
    data::Turn,
    figures::{Figures, Times},
    follow::{Follower, millis, now},
    server::{Server, TIMEOUT},
};

const SEND: &str = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { status message { id } errors { code message } } }";
const HEAD: &str = "query($id: ID!) { session(id: $id) { head } }";

/// The results of an ingest.
#[derive(Default)]
pub(crate) struct Ingest {
    /// Time of `sendMessage` as seen by the client.
    pub(crate) send: Times,
    /// From the server's time of a message event to its arrival.
    pub(crate) stored: Times,
    /// From the server's time of a fact event to its arrival. Includes the commit.
    pub(crate) fact: Times,
    /// From the response of `sendMessage` to the event of the same commit; negative when the event was first.
    pub(crate) after_answer: Times,
    /// From the start of the request to the first fact of the message.
    pub(crate) send_to_fact: Times,
    events: usize,
    sending: Duration,
    settling: Duration,
    processor: Duration,
    /// Conversation and turn of each message id.
    pub(crate) turns: HashMap<String, (String, String)>,
}

/// A session: its id, its user, and the turns to send.
type Work = (String, Option<String>, Vec<Turn>);

struct Open {
    id: String,
    token: Option<String>,
    turns: Vec<Turn>,
    follower: Follower,
}

/// A message from its sender's view.
struct Sent {
    session: usize,
    id: String,
    turn: (String, String),
    asked: DateTime<Utc>,
    answered: DateTime<Utc>,
    took: Duration,
}

/// Sends `turns` in `at_once` concurrent sessions, each message after the last response, or one per `pace`.
/// With several servers, each session is sent to one and followed at the next. With tokens, sessions alternate
/// between users.
///
/// # Errors
/// When a server refuses something, or events are lost, duplicated or out of order.
pub(crate) async fn run(
    servers: &[Arc<Server>],
    tokens: &[String],
    turns: &[Turn],
    at_once: usize,
    pace: Option<Duration>,
) -> anyhow::Result<Ingest> {
    let token = |n: usize| tokens.get(n.checked_rem(tokens.len())?).cloned();
    let server = |n: usize| &servers[n % servers.len()];
    let processed = Arc::new(AtomicU64::new(0));
    let mut sessions: Vec<Open> = Vec::new();
    let mut places: HashMap<(String, u32), usize> = HashMap::new();
    for turn in turns {
        let key = (turn.conversation.clone(), turn.session);
        let place = match places.get(&key) {
            Some(place) => *place,
            None => {
                let n = sessions.len();
                let token = token(n);
                let (id, head) = server(n).session(token.as_deref(), &format!("{} {}", key.0, key.1)).await?;
                let follower = Follower::start(&server(n + 1).address, token.as_deref(), &id, &head, processed.clone()).await?;
                sessions.push(Open { id, token, turns: Vec::new(), follower });
                places.insert(key, sessions.len() - 1);
                sessions.len() - 1
            }
        };
        sessions[place].turns.push(turn.clone());
    }

    let work: Arc<Vec<Work>> = Arc::new(sessions.iter().map(|s| (s.id.clone(), s.token.clone(), s.turns.clone())).collect());
    let next = Arc::new(AtomicUsize::new(0));
    let processor = || servers.iter().map(|s| s.processor_time()).sum::<anyhow::Result<Duration>>();
    let (begun, busy) = (Instant::now(), processor()?);
    let mut senders = tokio::task::JoinSet::new();
    for _ in 0..at_once {
        senders.spawn(send_sessions(servers.to_vec(), work.clone(), next.clone(), pace));
    }
    let mut sent: Vec<Sent> = Vec::new();
    while let Some(done) = senders.join_next().await {
        sent.extend(done??);
    }
    let sending = begun.elapsed();
    wait_until_processed(&processed, turns.len() as u64).await?;
    let settling = begun.elapsed();
    let processor = processor()?.saturating_sub(busy);
    check_deliveries(server(0), sessions, sent, Ingest { sending, settling, processor, ..Ingest::default() }).await
}

async fn send_sessions(
    servers: Vec<Arc<Server>>,
    work: Arc<Vec<Work>>,
    next: Arc<AtomicUsize>,
    pace: Option<Duration>,
) -> anyhow::Result<Vec<Sent>> {
    let mut sent = Vec::new();
    let mut clock = pace.map(tokio::time::interval);
    loop {
        let session = next.fetch_add(1, Ordering::Relaxed);
        let Some((id, token, turns)) = work.get(session) else { return Ok(sent) };
        let server = &servers[session % servers.len()];
        for turn in turns {
            if let Some(clock) = &mut clock {
                clock.tick().await;
            }
            let input = json!({ "sessionId": id, "text": turn.text, "speaker": turn.speaker, "sentAt": turn.said_at()?.to_rfc3339() });
            let (started, asked) = (Instant::now(), now());
            let data = server.graphql_as(token.as_deref(), SEND, json!({ "input": input })).await?;
            let (took, answered) = (started.elapsed(), now());
            let payload = &data["sendMessage"];
            let id = payload["message"]["id"].as_str().with_context(|| format!("not stored: {payload}"))?.to_owned();
            sent.push(Sent { session, id, turn: (turn.conversation.clone(), turn.turn.clone()), asked, answered, took });
        }
    }
}

/// Waits until this many messages are processed; fails without progress.
async fn wait_until_processed(processed: &AtomicU64, expected: u64) -> anyhow::Result<()> {
    let (mut before, mut since) = (0, Instant::now());
    loop {
        let done = processed.load(Ordering::Relaxed);
        if done >= expected {
            return Ok(());
        }
        if done != before {
            (before, since) = (done, Instant::now());
        }
        ensure!(since.elapsed() < TIMEOUT / 4, "lost: only {done} of {expected} messages were reported as processed");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn check_deliveries(server: &Server, sessions: Vec<Open>, sent: Vec<Sent>, mut ingest: Ingest) -> anyhow::Result<Ingest> {
    let mut ids = vec![Vec::new(); sessions.len()];
    for s in &sent {
        ids[s.session].push(s.id.clone());
    }
    let mut known: HashMap<&str, &Sent> = sent.iter().map(|s| (s.id.as_str(), s)).collect();
    for (session, ids) in sessions.into_iter().zip(&ids) {
        let data = server.graphql_as(session.token.as_deref(), HEAD, json!({ "id": session.id })).await?;
        let head = data["session"]["head"].as_str().and_then(|h| h.rsplit_once(':')).context("no head")?.1.parse()?;
        let waiting = Instant::now();
        while session.follower.last() < head && waiting.elapsed() < TIMEOUT / 4 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let seen = session.follower.finish(ids, head).await.with_context(|| format!("session of {} messages", ids.len()))?;
        ingest.events += seen.len();
        for event in &seen {
            match event.kind.as_str() {
                "message_stored" => {
                    ingest.stored.push(event.delay_ms());
                    if let Some(sent) = known.get(event.message.as_str()) {
                        ingest.after_answer.push(millis(event.received - sent.answered));
                    }
                }
                "fact_update" => {
                    ingest.fact.push(event.delay_ms());
                    // Only the first fact, because the others of a message arrive at the same time.
                    if let Some(sent) = known.remove(event.message.as_str()) {
                        ingest.send_to_fact.push(millis(event.received - sent.asked));
                    }
                }
                _ => {}
            }
        }
    }
    for s in sent {
        ingest.send.note(s.took);
        ingest.turns.insert(s.id, s.turn);
    }
    Ok(ingest)
}

impl Ingest {
    /// Adds the figures under a heading.
    pub(crate) fn add_figures(&self, heading: &str, figures: &mut Figures) {
        let n = self.turns.len() as f64;
        figures.times(&format!("{heading}: sendMessage"), &self.send);
        figures.times(&format!("{heading}: message noted -> client"), &self.stored);
        figures.times(&format!("{heading}: answer of sendMessage -> its event"), &self.after_answer);
        figures.times(&format!("{heading}: fact noted -> commit -> client"), &self.fact);
        figures.times(&format!("{heading}: sendMessage -> fact at client"), &self.send_to_fact);
        figures.number(&format!("{heading}: sent"), n / self.sending.as_secs_f64(), "messages/s");
        figures.number(&format!("{heading}: sent and processed"), n / self.settling.as_secs_f64(), "messages/s");
        figures.number(&format!("{heading}: events, all once and in order"), self.events as f64, "events");
        figures.number(&format!("{heading}: server's processor time"), self.processor.as_secs_f64() * 1e3 / n, "ms/message");
    }
}

/// Returns the message ids of a ranked list, best first.
pub(crate) fn ranked(context: &Value) -> Vec<&str> {
    context["messages"].as_array().into_iter().flatten().filter_map(|m| m["message"]["id"].as_str()).collect()
}
