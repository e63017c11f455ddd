//! Chooses the adapters that the configuration names and joins them to the use cases.

use std::{path::Path, sync::Arc};

use anyhow::Context;
use signaling::{Hub, HubConfig};
use tokio::sync::Notify;

use super::models;
use crate::adapters::{
    local::{ExtractiveAnswerer, LocalEmbedder, LocalExtractor, RecallIndex, RecallIndexOptions},
    sqlite::{SqliteConfig, SqliteStore},
    system::{RandomIds, SystemClock},
};
use crate::config::Config;
use crate::conversation::{Conversation, Parts};
use crate::domain::Ontology;
use crate::ports::{Answerer, Clock, Embedder, Extractor, Store};
use crate::streaming::{EventHub, HubAnnouncer, LogSource};
use crate::understand::Pipeline;

/// Everything behind the street side.
pub(super) struct House {
    pub(super) store: Arc<dyn Store>,
    pub(super) conversation: Conversation,
    pub(super) hub: Arc<EventHub>,
    pub(super) announcer: Arc<HubAnnouncer>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) wake: Arc<Notify>,
    pub(super) graph: super::graph::GraphParts,
}

/// The relations in force.
pub(super) fn ontology(config: &Config) -> anyhow::Result<Arc<Ontology>> {
    let text = match &config.understanding.ontology {
        None => crate::understand::default_ontology().to_owned(),
        Some(path) => {
            std::fs::read_to_string(path).with_context(|| format!("understanding.ontology: {} cannot be read", path.display()))?
        }
    };
    Ok(Arc::new(Ontology::parse(&text)?))
}

/// Opens the store.
pub(super) async fn store(config: &Config, migrate: bool) -> anyhow::Result<Arc<SqliteStore>> {
    let path = config.storage.database();
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
        create(folder).with_context(|| format!("storage.data: {} cannot be made", folder.display()))?;
    }
    let settings = SqliteConfig { migrate, ..SqliteConfig::default() };
    let opened = SqliteStore::open(&path, settings, SystemClock.now()).await;
    Ok(Arc::new(opened.with_context(|| format!("the database {} cannot be opened", path.display()))?))
}

/// Makes a folder that only its owner can read: it holds what people told the server.
fn create(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens and joins everything.
pub(super) async fn house(config: &Config) -> anyhow::Result<House> {
    let ontology = ontology(config)?;
    let store = store(config, config.storage.migrate).await?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let local = tokio::task::spawn_blocking(LocalEmbedder::load).await??;
    let embedder: Arc<dyn Embedder> = match models::embedder(config).await? {
        Some(model) => Arc::new(model),
        None => Arc::new(local.clone()),
    };
    let mut extractor: Arc<dyn Extractor> = Arc::new(LocalExtractor::new(Arc::new(Pipeline::new(ontology.clone()))));
    let mut answerer: Arc<dyn Answerer> = Arc::new(ExtractiveAnswerer::new(&ontology, local));
    if let Some(client) = models::client(config)? {
        models::announce(client.clone());
        let budget = models::budget(config, clock.clone());
        extractor = models::extractor(config, extractor, client.clone(), ontology.clone(), budget.clone());
        answerer = models::answerer(config, answerer, client, ontology.clone(), budget);
    }
    let options = RecallIndexOptions {
        budget_bytes: usize::try_from(config.retrieval.index_megabytes).unwrap_or(usize::MAX).saturating_mul(1024 * 1024),
        ..RecallIndexOptions::default()
    };
    let index = Arc::new(RecallIndex::new(store.clone(), embedder.as_ref(), options));
    let hub = Hub::new(LogSource::new(store.clone()), HubConfig::default());
    let announcer = Arc::new(HubAnnouncer(hub.clone()));
    let wake = Arc::new(Notify::new());
    let graph = super::graph::parts(config, &ontology, &store)?;
    let conversation = Conversation::new(Parts {
        store: store.clone(),
        index,
        embedder,
        extractor,
        answerer,
        announcer: announcer.clone(),
        ontology,
        clock: clock.clone(),
        ids: Arc::new(RandomIds::default()),
        wake: wake.clone(),
    });
    Ok(House { store, conversation, hub, announcer, clock, wake, graph })
}
