//! Several servers on one PostgreSQL: messages are sent to one and followed at another, so each event crosses
//! servers.

use std::{path::Path, sync::Arc};

use anyhow::ensure;

use crate::{
    data::{self, Turn},
    figures::Figures,
    ingest::{self, Ingest},
    people::People,
    place::{Engine, Place},
    real::{PACE, PACED, stop_server},
    server::Server,
};

/// Number of concurrent sessions on all servers, for throughput.
const AT_ONCE: usize = 12;

/// Number of users: commits of one user wait for each other, those of different users do not.
const PEOPLE: usize = 40;

/// Starts `servers` servers, sends turns at the rate of a chat, and then all turns as fast as possible.
///
/// # Errors
/// When an event was lost, duplicated or out of order, or a server refused something.
pub(crate) async fn run(turns: &Path, servers: usize, engine: &Engine, figures: &mut Figures) -> anyhow::Result<()> {
    ensure!(servers > 0, "how many servers?");
    let turns: Vec<Turn> = data::lines(turns)?;
    let people = People::start().await?;
    let paced = PACED.min(turns.len());
    let ingest = run_turns(&turns[..paced], servers, 1, true, &people, engine).await?;
    ingest.add_figures(&format!("{servers} servers, 20 a second"), figures);
    figures.limit("message noted -> client of another server, p50", ingest.stored.quantile(0.5), 10.0, "ms");
    figures.limit("fact noted -> client of another server, p50", ingest.fact.quantile(0.5), 10.0, "ms");
    let ingest = run_turns(&turns, servers, AT_ONCE, false, &people, engine).await?;
    ingest.add_figures(&format!("{servers} servers, {AT_ONCE} sessions at a time"), figures);
    Ok(())
}

async fn run_turns(
    turns: &[Turn],
    servers: usize,
    at_once: usize,
    is_paced: bool,
    people: &People,
    engine: &Engine,
) -> anyhow::Result<Ingest> {
    let place = Place::new(engine).await?;
    let start = |_| Ok(Arc::new(Server::start_with(&place, &people.settings())?));
    let servers = (0..servers).map(start).collect::<anyhow::Result<Vec<_>>>()?;
    let ingest = ingest::run(&servers, &people.tokens(PEOPLE)?, turns, at_once, is_paced.then_some(PACE)).await?;
    servers.into_iter().try_for_each(stop_server)?;
    place.remove().await?;
    Ok(ingest)
}
