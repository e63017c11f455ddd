//! Latency of many users at a moderate rate, alone and while another user floods the server.
//! Limits have their defaults. Every user comes through a trusted proxy, which is this program, from another address.

use std::{
    collections::HashMap,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{sleep, sleep_until},
};

use crate::{
    figures::{Figures, Times},
    flooder::{self, Kind, Person, SEND},
    follow::{Follower, now},
    people::People,
    place::{Engine, Place},
    sentences::Writer,
    server::Server,
};

/// Number of users besides the flooding one.
const OTHERS: usize = 200;
/// Interval between two requests of one user.
const PACE: Duration = Duration::from_secs(4);
/// Duration of each measurement.
const PHASE: Duration = Duration::from_secs(20);
/// Pause between two phases, so that one does not affect the next.
const PAUSE: Duration = Duration::from_secs(5);
/// Messages of each user at the start.
const BEFORE: usize = 5;

const CONTEXT: &str = "query($q: String!) { context(input: { query: $q, first: 5 }) { facts { score } messages { score } } }";
const LISTS: &str =
    "{ sessions(first: 5) { nodes { id title messages(last: 5) { nodes { text status } } } } facts(first: 10) { nodes { id belief } } }";

/// A user with a moderate rate.
struct Other {
    person: Person,
    session: String,
    follower: Follower,
}

/// The measured latencies.
#[derive(Default)]
struct Waits {
    asked: Times,
    sent: Times,
    /// Time at which each message was sent.
    messages: HashMap<String, DateTime<Utc>>,
}

impl Waits {
    fn all(&self) -> Times {
        let mut all = self.asked.clone();
        all.extend(self.sent.clone());
        all
    }
}

/// Measures with `others` users, for `phase` each time.
pub(crate) async fn run(words: &[&str], engine: &Engine, figures: &mut Figures) -> anyhow::Result<()> {
    let mut numbers = words.iter().map(|word| word.parse::<u32>().with_context(|| format!("{word} is no number")));
    let others = numbers.next().transpose()?.map_or(OTHERS, |n| n as usize);
    let phase = numbers.next().transpose()?.map_or(PHASE, |n| Duration::from_secs(n.into()));

    let place = Place::new(engine).await?;
    let people = People::start().await?;
    let mut settings = people.identities();
    settings.push(("RECALL_TRUSTED_PROXIES", "127.0.0.0/8".to_owned()));
    let server = Arc::new(Server::start_with(&place, &settings)?);
    let tokens = people.tokens(others + 1)?;
    let processed = Arc::new(AtomicU64::new(0));
    let mut crowd = Vec::new();
    for (n, token) in tokens.iter().enumerate().skip(1) {
        let person = Person::new(&server.address, token, n)?;
        let (session, head) = person.session().await?;
        let follower = Follower::start(&server.address, Some(token), &session, &head, processed.clone()).await?;
        let other = Arc::new(Other { person, session, follower });
        let mut writer = Writer::another(n as u64);
        for _ in 0..BEFORE {
            other.person.graphql(SEND, json!({ "s": other.session, "t": writer.statement().1 })).await?;
        }
        crowd.push(other);
    }
    let flooder = Person::new(&server.address, &tokens[0], 0)?;
    flooder::prepare(&flooder).await?;
    while processed.load(Ordering::Relaxed) < (others * BEFORE) as u64 {
        sleep(Duration::from_millis(100)).await;
    }

    measure(&crowd, phase, 0).await?;
    let alone = measure(&crowd, phase, 1).await?;
    add_figures("alone", &alone, &crowd, figures);
    let (usual, before) = (alone.all().quantile(0.5), alone.all().quantile(0.99));
    for (n, kind) in Kind::ALL.into_iter().enumerate() {
        sleep(PAUSE).await;
        let busy = server.processor_time()?;
        let mut child = Command::new("nice")
            .args(["-n", "19"])
            .arg(std::env::current_exe()?)
            .args(["flooder", &server.address, &tokens[0], kind.name(), &(phase.as_secs() + 2).to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .context("nice(1) cannot be run")?;
        sleep(Duration::from_secs(1)).await;
        let waits = measure(&crowd, phase, n as u64 + 2).await;
        if waits.is_err() {
            let _ = child.kill();
        }
        let said = child.wait_with_output()?;
        let busy = server.processor_time()?.saturating_sub(busy);
        let said: Value = serde_json::from_slice(&said.stdout).context("the flooder said nothing")?;
        let waits = waits?;
        add_figures(kind.name(), &waits, &crowd, figures);
        let count = |name: &str| said[name].as_f64().unwrap_or_default();
        figures.number(&format!("flood of {}: served", kind.name()), count("served"), "");
        figures.number(&format!("flood of {}: refused", kind.name()), count("refused"), "");
        figures.number(&format!("flood of {}: processor time of the server", kind.name()), busy.as_secs_f64(), "s");
        figures.number(&format!("p50 under a flood of {}, times that without", kind.name()), waits.all().quantile(0.5) / usual, "");
        figures.limit(
            &format!("p99 under a flood of {}, times that without", kind.name()),
            waits.all().quantile(0.99) / before,
            kind.bound(),
            "",
        );
    }
    sleep(PAUSE).await;
    add_figures("alone again", &measure(&crowd, phase, 9).await?, &crowd, figures);
    drop(crowd);
    match Arc::into_inner(server) {
        Some(server) => server.stop()?,
        None => bail!("the server is still in use"),
    }
    place.remove().await
}

fn add_figures(phase: &str, waits: &Waits, crowd: &[Arc<Other>], figures: &mut Figures) {
    figures.times(&format!("{phase}: questions and lists"), &waits.asked);
    figures.times(&format!("{phase}: sendMessage"), &waits.sent);
    let mut understood = Times::default();
    for other in crowd {
        for (message, at) in other.follower.ended() {
            if let Some(sent) = waits.messages.get(&message) {
                understood.push(crate::follow::millis(at - *sent));
            }
        }
    }
    figures.times(&format!("{phase}: message sent -> understood"), &understood);
}

/// Lets all users send requests for a while.
async fn measure(crowd: &[Arc<Other>], phase: Duration, round: u64) -> anyhow::Result<Waits> {
    let begun = Instant::now();
    let mut asking = JoinSet::new();
    for (n, other) in crowd.iter().enumerate() {
        // Spread evenly, because simultaneous requests would wait for each other.
        let first = begun + PACE.mul_f64(n as f64 / crowd.len() as f64);
        asking.spawn(ask(other.clone(), n, first, begun + phase, round));
    }
    let mut all = Waits::default();
    while let Some(done) = asking.join_next().await {
        let waits = done??;
        all.asked.extend(waits.asked);
        all.sent.extend(waits.sent);
        all.messages.extend(waits.messages);
    }
    // Waits until the last messages are processed.
    sleep(Duration::from_secs(2)).await;
    Ok(all)
}

async fn ask(other: Arc<Other>, n: usize, first: Instant, end: Instant, round: u64) -> anyhow::Result<Waits> {
    let mut waits = Waits::default();
    let mut writer = Writer::another(round * 100_000 + n as u64);
    let mut due = first;
    for turn in n.. {
        if due >= end {
            break;
        }
        sleep_until(due.into()).await;
        due += PACE;
        let begun = Instant::now();
        match turn % 3 {
            0 => {
                other.person.graphql(CONTEXT, json!({ "q": writer.question() })).await?;
                waits.asked.note(begun.elapsed());
            }
            1 => {
                other.person.graphql(LISTS, json!({})).await?;
                waits.asked.note(begun.elapsed());
            }
            _ => {
                let at = now();
                let sent = other.person.graphql(SEND, json!({ "s": other.session, "t": writer.statement().1 })).await?;
                waits.sent.note(begun.elapsed());
                let id = sent["sendMessage"]["message"]["id"].as_str().context("a message was refused")?;
                waits.messages.insert(id.to_owned(), at);
            }
        }
    }
    Ok(waits)
}
