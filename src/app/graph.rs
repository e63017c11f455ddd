//! Wires the graph engine, and implements `recall graph rebuild` and `recall graph check`.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use async_trait::async_trait;

use super::{adapters, output::say};
use crate::config::{Config, Secret};
use recall_api::{Check, Problem};
use recall_domain::{Caller, Ontology};
use recall_graph_neo4j::{Neo4jConfig, Neo4jGraph};
use recall_ports::{GraphEngine, GraphQueries, Store};
use recall_projection::{GraphReader, GraphStatus, Missed, Projection, Projector, StoreGraph, compare};

/// Time that a graph query waits for the engine before the store answers it.
const QUERY_TIMEOUT: Duration = Duration::from_millis(750);
/// Maximum number of differences printed.
const MAX_PRINTED: u64 = 100;
/// Maximum number of foreign elements of each kind that the engine reports.
const MAX_STRAYS: u32 = 100;

/// The graph adapters of the server.
pub(super) struct GraphParts {
    /// Answers graph queries.
    pub(super) queries: Arc<dyn GraphQueries>,
    engine: Option<(Projection, Arc<Missed>)>,
    /// How far the engine is behind the store, if there is one.
    pub(super) status: Option<Arc<GraphStatus>>,
}

impl GraphParts {
    /// Starts the projector, which keeps the engine in step with the store, if there is an engine.
    pub(super) fn start_projector(&self) -> Option<Projector> {
        let status = self.status.clone()?;
        self.engine.as_ref().map(|(projection, missed)| Projector::start(projection.clone(), missed.clone(), status))
    }

    /// The readiness checks of the engine.
    pub(super) fn checks(&self) -> Vec<Arc<dyn Check>> {
        let engine = self.engine.as_ref().map(|(projection, _)| projection.engine().clone());
        engine
            .zip(self.status.clone())
            .map(|(engine, status)| Arc::new(EngineCheck { engine, status }) as Arc<dyn Check>)
            .into_iter()
            .collect()
    }
}

struct EngineCheck {
    engine: Arc<dyn GraphEngine>,
    status: Arc<GraphStatus>,
}

#[async_trait]
impl Check for EngineCheck {
    fn name(&self) -> &str {
        "neo4j"
    }

    /// Without the engine the store answers graph queries.
    fn is_needed(&self) -> bool {
        false
    }

    async fn check(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        self.engine.ping().await?;
        match self.status.behind() {
            0 => Ok(()),
            _ => Err(Problem("is behind").into()),
        }
    }
}

/// Builds the client of the configured engine. The engine need not be reachable yet.
pub(super) fn engine(config: &Config, ontology: &Ontology) -> anyhow::Result<Option<Arc<Neo4jGraph>>> {
    let c = &config.neo4j;
    let Some(url) = &c.url else { return Ok(None) };
    let password = c.password.as_ref().map(Secret::expose).unwrap_or_default();
    let settings = Neo4jConfig { database: c.database.clone(), ..Neo4jConfig::at(url, &c.user, password) };
    let graph = Neo4jGraph::new(settings, ontology).context("neo4j.url (RECALL_NEO4J_URL)")?;
    Ok(Some(Arc::new(graph)))
}

/// Builds the graph adapters over the store and the engine.
pub(super) fn parts(config: &Config, ontology: &Ontology, store: &Arc<dyn Store>) -> anyhow::Result<GraphParts> {
    let queries: Arc<dyn GraphQueries> = Arc::new(StoreGraph::new(store.clone(), store.engine()));
    let Some(engine) = engine(config, ontology)? else { return Ok(GraphParts { queries, engine: None, status: None }) };
    let projection = Projection::new(store.clone(), engine.clone());
    let reader = GraphReader::new(projection.clone(), engine, queries, QUERY_TIMEOUT);
    let missed = reader.missed();
    Ok(GraphParts { queries: Arc::new(reader), engine: Some((projection, missed)), status: Some(Arc::default()) })
}

/// Opens store and projection for a command; `None` if no engine is configured.
async fn open(config: &Config) -> anyhow::Result<Option<(Arc<dyn Store>, Projection)>> {
    let Some(engine) = engine(config, &*adapters::ontology(config)?)? else {
        say!("graph: no graph engine is configured, so there is nothing to do; the database answers graph queries")?;
        return Ok(None);
    };
    let store = adapters::store(config, config.storage.migrate).await?.store;
    Ok(Some((store.clone(), Projection::new(store, engine))))
}

/// Sends the changes of one user to the engine. Returns their number, or `None` if no engine is configured.
pub(super) async fn project_user(config: &Config, caller: &Caller, store: Arc<dyn Store>) -> anyhow::Result<Option<u64>> {
    let Some(engine) = engine(config, &*adapters::ontology(config)?)? else { return Ok(None) };
    let projection = Projection::new(store, engine);
    let feed = projection.prepare().await?;
    Ok(Some(projection.catch_up(&feed, caller).await?))
}

/// Rebuilds the graph. A server may run meanwhile.
pub(super) async fn rebuild(config: &Config) -> anyhow::Result<()> {
    let Some((store, projection)) = open(config).await? else { return Ok(()) };
    let started = std::time::Instant::now();
    let done = projection.rebuild().await?;
    let seconds = started.elapsed().as_secs_f64();
    say!("graph: {} elements of {} users written in {seconds:.1} s", done.changes, done.users)?;
    store.close().await;
    Ok(())
}

/// Compares the graph with the store. Fails if anything differs.
pub(super) async fn check(config: &Config) -> anyhow::Result<()> {
    let Some((store, projection)) = open(config).await? else { return Ok(()) };
    let (mut found, mut printed) = (0u64, Ok(()));
    let compared = compare(&projection, |difference| {
        found += 1;
        if found <= MAX_PRINTED && printed.is_ok() {
            printed = say!("{difference}");
        }
    })
    .await?;
    for stray in projection.engine().strays(MAX_STRAYS).await? {
        found += 1;
        if found <= MAX_PRINTED && printed.is_ok() {
            printed = say!("{} {} in the graph does not belong to recall", stray.kind, stray.element);
        }
    }
    store.close().await;
    printed?;
    if found > MAX_PRINTED {
        say!("and {} more", found - MAX_PRINTED)?;
    }
    anyhow::ensure!(found == 0, "{found} differences in {compared} elements; `recall graph rebuild` rebuilds the graph");
    say!("graph: {compared} elements, no difference")?;
    Ok(())
}
