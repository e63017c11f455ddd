//! `recall migrate` and `recall check`.

use crate::adapters::{local::LocalEmbedder, system::SystemClock};
use crate::config::Config;
use crate::ports::{Clock, Embedder, GraphEngine, Inspect, JobQueue};

use super::{models, wiring};

/// Applies migrations.
pub(super) async fn migrate(config: &Config) -> anyhow::Result<()> {
    let path = config.storage.database();
    let store = wiring::store(config, true).await?;
    store.close().await;
    println!("database: {} is up to date", path.display());
    Ok(())
}

/// Reaches everything that is configured and prints what it found.
pub(super) async fn run(config: &Config) -> anyhow::Result<()> {
    println!("configuration: valid; listens on {}", config.server.listen);
    let ontology = wiring::ontology(config)?;
    println!("ontology: {} relations", ontology.iter().count());
    let path = config.storage.database();
    if path.exists() {
        let store = wiring::store(config, false).await?;
        store.ping().await?;
        let (waiting, dead) = store.depth().await?;
        println!("database: {} answers; {waiting} jobs wait, {dead} were given up", path.display());
        store.close().await;
    } else {
        println!("database: {} does not exist yet; the first start makes it", path.display());
    }
    match super::graph::engine(config, &ontology)? {
        None => println!("graph: in the database; no graph engine is configured"),
        Some(engine) => {
            engine.ping().await?;
            println!("graph: {} answers", config.neo4j.url.as_deref().unwrap_or_default());
        }
    }
    models::check(config).await?;
    let started = std::time::Instant::now();
    let embedder = LocalEmbedder::load()?;
    println!(
        "built-in embedder: {}, {} dimensions, loaded in {} ms",
        embedder.model(),
        embedder.dimension(),
        started.elapsed().as_millis()
    );
    let answerer = config.model.name.as_deref().filter(|_| config.model.url.is_some()).unwrap_or("extractive");
    println!(
        "extractor: {}; answerer: {answerer}; clock: {}",
        models::name(config.understanding.extraction),
        SystemClock.now().to_rfc3339()
    );
    Ok(())
}
