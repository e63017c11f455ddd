//! How fast an event travels from a publisher to subscribers, next to NATS JetStream and centrifuge in the same run.
//!
//! The servers take turns, each with new data. This process is the only client: it speaks the protocol of each server, and
//! times publish, acknowledgement and delivery with one clock. Peers get events of the length of a `fact_update`.

mod centrifuge;
mod deliveries;
mod disk;
mod kind;
mod line;
mod nats;
mod process;
mod recall;
mod report;
mod system;
mod webrtc;

use std::{sync::Arc, time::Duration};

use anyhow::{Context, bail};

use crate::{
    figures::{Figures, Times},
    place::Engine,
};
use deliveries::WARM_UP;
use kind::Kind;
use line::Line;
use process::Programs;
use report::{Report, Row};
use system::System;

/// Events a second, and the interval between two.
const RATE: usize = 20;
const PACE: Duration = Duration::from_millis(1000 / RATE as u64);
/// Number of subscribers to one stream.
const SUBSCRIBERS: [usize; 2] = [1, 100];
/// Number of events that a new subscriber gets, and of such subscribers for each server.
const REPLAYED: usize = 5_000;
const REPLAYS: usize = 10;

/// Runs the whole workload. `words` are the seconds of one measurement and the number of rounds.
///
/// # Errors
/// When an event was lost or duplicated, or a server refused something.
pub(crate) async fn run(words: &[&str], engine: &Engine, figures: &mut Figures) -> anyhow::Result<()> {
    let (seconds, rounds) = match words {
        [] => (20, 3),
        [seconds, rounds] => (seconds.parse().context("how many seconds?")?, rounds.parse().context("how many rounds?")?),
        _ => bail!("peers [SECONDS ROUNDS]"),
    };
    let publishes = WARM_UP + RATE * seconds;
    let programs = Programs::build();
    let (mut lines, mut disk) = (plan(programs.as_ref()), Times::default());
    for round in 1..=rounds {
        for line in &mut lines {
            eprintln!("round {round} of {rounds}: {}, {}", line.kind.name(), line.audience());
            let system = Arc::new(line.kind.start(engine, programs.as_ref()).await?);
            line.measure(&system, publishes).await?;
            Arc::into_inner(system).context("the server is still in use")?.stop().await?;
        }
        disk.extend(tokio::task::spawn_blocking(move || disk::append(RATE * seconds, PACE)).await??);
    }
    let mut report = Report::default();
    lines.into_iter().for_each(|line| line.add_to(&mut report));
    replay(engine, programs.as_ref(), &mut report).await?;
    report.add(Row::new("disk".to_owned(), "append of 1 KiB with fdatasync", disk));
    report.add_figures(figures);
    Ok(())
}

/// Returns what is measured in each round, in this order.
fn plan(programs: Option<&Programs>) -> Vec<Line> {
    let [one, many] = SUBSCRIBERS;
    let kinds = Kind::ALL.map(|kind| (kind, one)).into_iter().chain(Kind::MANY.map(|kind| (kind, many)));
    kinds.filter(|(kind, _)| kind.is_built(programs)).map(|(kind, subscribers)| Line::new(kind, subscribers)).collect()
}

/// Measures the time from connecting to the last event, for new subscribers of servers with many events.
async fn replay(engine: &Engine, programs: Option<&Programs>, report: &mut Report) -> anyhow::Result<()> {
    let kinds = Kind::REPLAYING.into_iter().filter(|kind| kind.is_built(programs));
    let mut lines: Vec<Line> = kinds.map(|kind| Line::new(kind, 1)).collect();
    let mut systems: Vec<System> = Vec::new();
    for Line { kind, .. } in &lines {
        if systems.iter().any(|system| kind.is_of(system)) {
            continue;
        }
        eprintln!("replay: {REPLAYED} events for {}", kind.name());
        let system = kind.start(engine, programs).await?;
        for n in 0..REPLAYED {
            system.publish(n).await?;
        }
        systems.push(system);
    }
    for _ in 0..REPLAYS {
        for line in &mut lines {
            let system = systems.iter_mut().find(|system| line.kind.is_of(system)).context("no server")?;
            if let (System::Recall(recall), Kind::Recall(_, transport)) = (&mut *system, line.kind) {
                recall.set_transport(transport);
            }
            line.replay(system, REPLAYED).await?;
        }
    }
    for mut line in lines {
        report.add(line.row(format!("replay of {REPLAYED} events"), "replay"));
    }
    for system in systems {
        system.stop().await?;
    }
    Ok(())
}
