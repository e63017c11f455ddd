//! Workloads against the built server, as seen by a client. Starts the binary on free ports with its own folders.
//! Measured code is never called directly; only `users` and `documents` run inside this process.
//!
//! ```text
//! cargo bench --bench workload -- real TURNS.jsonl QUESTIONS.jsonl    a recorded conversation: ingest, events, recall
//! cargo bench --bench workload -- scale [N] [--no-wait]               N generated messages of one user, then questions
//! cargo bench --bench workload -- documents [N]                       N generated chunks of one user, then questions
//! cargo bench --bench workload -- users [USERS EACH]                  many users in one store, then questions of all
//! cargo bench --bench workload -- spread TURNS.jsonl [SERVERS]        several servers on one PostgreSQL (3)
//! cargo bench --bench workload -- flood [PEOPLE SECONDS]              200 users at a moderate rate while one floods the server
//! cargo bench --bench workload -- idle                                start-up time and memory at rest
//! cargo bench --bench workload -- peers [SECONDS ROUNDS]              an event to its subscribers, next to NATS and centrifuge
//! ```
//! `--database-url postgres://…` also runs `real`, `scale`, `documents`, `users`, `flood` and `peers` on that PostgreSQL, in new schemas.
//! `RECALL_BIN` names another server binary. `WORKLOAD_RECALL_…` is the setting `RECALL_…` of the servers.
//! `--json FILE` also writes the figures. `real` exits with 1 when an event was lost, duplicated or out of order.

mod data;
mod documents;
mod figures;
mod flood;
mod flooder;
mod follow;
mod idle;
mod ingest;
mod inside;
mod peers;
mod people;
mod place;
mod real;
mod scale;
mod sentences;
mod server;
mod spread;
mod users;

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};

use figures::Figures;
use place::Engine;

/// The command line.
struct Asked {
    words: Vec<String>,
    json: Option<PathBuf>,
    engines: Vec<Engine>,
    wait: bool,
}

impl Asked {
    fn read(arguments: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let mut asked = Self { words: Vec::new(), json: None, engines: vec![Engine::Embedded], wait: true };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                // Cargo adds this option.
                "--bench" => {}
                "--no-wait" => asked.wait = false,
                "--database-url" => asked.engines.push(Engine::Postgres(arguments.next().context("--database-url needs a URL")?)),
                "--json" => asked.json = Some(arguments.next().context("--json needs a file")?.into()),
                flag if flag.starts_with('-') => bail!("unknown option {flag}"),
                _ => asked.words.push(argument),
            }
        }
        Ok(asked)
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let asked = Asked::read(std::env::args().skip(1))?;
    let mut figures = Figures::default();
    for engine in &asked.engines {
        figures.set_prefix(engine.name());
        run(&asked, engine, &mut figures).await?;
    }
    figures.print();
    if let Some(file) = asked.json {
        std::fs::write(&file, figures.json()).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(())
}

async fn run(asked: &Asked, engine: &Engine, figures: &mut Figures) -> anyhow::Result<()> {
    let embedded = matches!(engine, Engine::Embedded);
    match asked.words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["real", turns, questions] => real::run(turns.as_ref(), questions.as_ref(), engine, figures).await?,
        ["scale"] => scale::run(100_000, asked.wait, engine, figures).await?,
        ["scale", n] => scale::run(n.parse().context("how many messages")?, asked.wait, engine, figures).await?,
        ["idle"] if !embedded => bail!("--database-url is for real, scale, documents, users, flood and peers"),
        ["documents"] => documents::run(100_000, engine, figures).await?,
        ["documents", n] => documents::run(n.parse().context("how many chunks")?, engine, figures).await?,
        ["users"] => users::run(1_000, 1_000, engine, figures).await?,
        ["users", n, each] => {
            users::run(n.parse().context("how many users")?, each.parse().context("how many messages")?, engine, figures).await?;
        }
        // One SQLite file serves one process.
        ["spread", ..] if embedded => ensure!(asked.engines.len() > 1, "spread needs --database-url"),
        ["spread", turns] => spread::run(turns.as_ref(), 3, engine, figures).await?,
        ["spread", turns, n] => spread::run(turns.as_ref(), n.parse().context("how many servers")?, engine, figures).await?,
        ["idle"] => idle::run(figures).await?,
        ["peers", ref words @ ..] => peers::run(words, engine, figures).await?,
        ["flood", ref words @ ..] => flood::run(words, engine, figures).await?,
        // The flooding half of `flood`, in a separate process.
        ["flooder", ref words @ ..] => flooder::run(words).await?,
        // `cargo bench` without arguments runs every target; this one needs arguments.
        [] => {
            println!(
                "usage: workload real TURNS.jsonl QUESTIONS.jsonl | scale [N] [--no-wait] | documents [N] | users [N EACH] | spread TURNS.jsonl [SERVERS] | flood [PEOPLE SECONDS] | idle | peers [SECONDS ROUNDS]   [--database-url URL] [--json FILE]"
            );
        }
        _ => bail!("unknown workload {:?}", asked.words),
    }
    Ok(())
}
