//! Builds the adapters that the configuration names, and the use cases on top of them.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use anyhow::Context;
use signaling::{Hub, HubConfig};
use tokio::sync::Notify;

use super::{
    models,
    reembed::{Pace, Reembedder},
};
use crate::config::{Config, Engine};
use crate::system::{RandomIds, SystemClock};
use recall_answering::ExtractiveAnswerer;
use recall_api::event_log::{EventHub, HubAnnouncer, LogSource};
use recall_api::{Admission, Check, Documents};
use recall_domain::Ontology;
use recall_embedding::{FallbackEmbedders, LocalEmbedder};
use recall_facts::SessionLimits;
use recall_ports::{Allowances, Answerer, Clock, Embedder, Extractor, Store};
use recall_retrieval::{RecallIndex, RecallIndexOptions};
use recall_store_postgres::{PostgresConfig, PostgresStore};
use recall_store_sqlite::{ServerLock, SqliteConfig, SqliteStore};
use recall_understand::LocalExtractor;
use recall_understand::Pipeline;
use recall_usecases::{Parts, UseCases};

/// Names this process in the audit log: `HOSTNAME` or `recall`, and the port.
pub(super) fn instance_name(address: SocketAddr) -> String {
    let machine = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty() && name.len() <= 64);
    format!("{}:{}", machine.as_deref().unwrap_or("recall"), address.port())
}

/// The use cases and everything they need, without the HTTP layer.
pub(super) struct Services {
    pub(super) store: Arc<dyn Store>,
    pub(super) usecases: UseCases,
    pub(super) hub: Arc<EventHub>,
    pub(super) announcer: Arc<HubAnnouncer>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) wake: Arc<Notify>,
    pub(super) graph: super::graph::GraphParts,
    pub(super) reembedder: Reembedder,
    /// Readiness checks of the services other than the store.
    pub(super) checks: Vec<Arc<dyn Check>>,
    /// The limits that several servers share through one store.
    pub(super) allowances: Option<Arc<dyn Allowances>>,
}

/// Loads the ontology: the configured file or the built-in one.
pub(super) fn ontology(config: &Config) -> anyhow::Result<Arc<Ontology>> {
    let text = match &config.understanding.ontology {
        None => recall_understand::default_ontology().to_owned(),
        Some(path) => {
            std::fs::read_to_string(path).with_context(|| format!("understanding.ontology: {} cannot be read", path.display()))?
        }
    };
    Ok(Arc::new(Ontology::parse(&text)?))
}

/// Loads the rules for GraphQL operations: introspection and persisted documents.
pub(super) fn admission(config: &Config) -> anyhow::Result<Admission> {
    let c = &config.graphql;
    let named = |path: &Path| format!("graphql.documents (RECALL_GRAPHQL_DOCUMENTS): {}", path.display());
    let list = c.documents.as_deref().map(|path| std::fs::read_to_string(path).with_context(|| named(path))).transpose()?;
    let documents = Documents::of(list.as_deref(), c.documents_only);
    let documents = documents.with_context(|| named(c.documents.as_deref().unwrap_or(Path::new(""))))?;
    Ok(Admission { introspection: c.introspection, documents: Arc::new(documents) })
}

/// How often the hub polls the log of a stream if other servers write to the same store. A lost notification delays events by at most
/// this.
const SHARED_STORE_POLL: Duration = Duration::from_secs(1);

/// An open store.
pub(super) struct OpenStore {
    pub(super) store: Arc<dyn Store>,
    /// The same store if it is PostgreSQL, which several servers share.
    shared: Option<Arc<PostgresStore>>,
}

/// Locks a SQLite file against a second server while the lock is held. A PostgreSQL database needs no lock.
pub(super) fn lock_database(config: &Config) -> anyhow::Result<Option<ServerLock>> {
    let Engine::Sqlite(path) = config.storage.engine() else { return Ok(None) };
    create_parent(&path)?;
    Ok(Some(ServerLock::take(&path)?))
}

fn create_parent(path: &Path) -> anyhow::Result<()> {
    let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) else { return Ok(()) };
    create_private_folder(folder).with_context(|| format!("storage.data: {} cannot be created", folder.display()))
}

/// Opens the store.
pub(super) async fn store(config: &Config, migrate: bool) -> anyhow::Result<OpenStore> {
    let engine = config.storage.engine();
    let failed = || format!("the database {engine} cannot be opened");
    match &engine {
        Engine::Sqlite(path) => {
            create_parent(path)?;
            let settings = SqliteConfig { migrate, ..SqliteConfig::default() };
            let store = SqliteStore::open(path, settings, SystemClock.now()).await.with_context(failed)?;
            Ok(OpenStore { store: Arc::new(store), shared: None })
        }
        Engine::Postgres(url) => {
            let storage = &config.storage;
            let settings = PostgresConfig {
                connections: storage.connections,
                acquire_timeout: Duration::from_secs(storage.connect_seconds),
                statement_timeout: Duration::from_secs(storage.statement_seconds),
                lock_timeout: Duration::from_secs(storage.lock_seconds),
                migrate,
                pooler: storage.pooler,
                require_row_security: storage.require_row_security,
            };
            let store = Arc::new(PostgresStore::open(url.expose(), settings, SystemClock.now()).await.with_context(failed)?);
            Ok(OpenStore { store: store.clone(), shared: Some(store) })
        }
    }
}

/// Creates a folder that only its owner can read, because it holds private messages.
fn create_private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The configured embedder and the built-in one.
pub(super) struct Embedders {
    /// The configured embedder.
    pub(super) embedder: Arc<dyn Embedder>,
    /// The built-in embedder, which is always loaded.
    local: LocalEmbedder,
    /// The readiness check of the embeddings server, if one is configured.
    check: Option<Arc<dyn Check>>,
}

/// Loads the built-in embedder and connects to the configured one.
pub(super) async fn embedders(config: &Config) -> anyhow::Result<Embedders> {
    let local = tokio::task::spawn_blocking(LocalEmbedder::load).await??;
    let Some(model) = models::embedder(config).await? else {
        return Ok(Embedders { embedder: Arc::new(local.clone()), local, check: None });
    };
    let check = models::ServerCheck { name: "embeddings", client: model.client().clone() };
    let embedder = FallbackEmbedders::new(Arc::new(model), vec![Arc::new(local.clone())]);
    Ok(Embedders { embedder: Arc::new(embedder), local, check: Some(Arc::new(check)) })
}

/// Opens all adapters and builds the use cases.
pub(super) async fn services(config: &Config) -> anyhow::Result<Services> {
    let ontology = ontology(config)?;
    let OpenStore { store, shared } = store(config, config.storage.migrate).await?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let Embedders { embedder, local, check } = embedders(config).await?;
    let mut checks: Vec<Arc<dyn Check>> = check.into_iter().collect();
    let mut extractor: Arc<dyn Extractor> = Arc::new(LocalExtractor::new(Arc::new(Pipeline::new(ontology.clone()))));
    let mut answerer: Arc<dyn Answerer> = Arc::new(ExtractiveAnswerer::new(&ontology, local));
    if let Some(client) = models::client(config)? {
        models::probe_in_background(client.clone());
        checks.push(Arc::new(models::ServerCheck { name: "model", client: client.clone() }));
        let budget = models::budget(config, clock.clone(), store.clone());
        extractor = models::extractor(config, extractor, client.clone(), ontology.clone(), budget.clone());
        answerer = models::answerer(config, answerer, client, ontology.clone(), budget);
    }
    let options = RecallIndexOptions {
        budget_bytes: usize::try_from(config.retrieval.index_megabytes).unwrap_or(usize::MAX).saturating_mul(1024 * 1024),
        ..RecallIndexOptions::default()
    };
    let index = Arc::new(RecallIndex::new(store.clone(), embedder.as_ref(), options));
    let mut hub_config = HubConfig::default();
    if shared.is_some() {
        hub_config.poll = SHARED_STORE_POLL;
    }
    let hub = Hub::new(LogSource::new(store.clone()), hub_config);
    let announcer = Arc::new(HubAnnouncer(hub.clone()));
    let wake = Arc::new(Notify::new());
    let graph = super::graph::parts(config, &ontology, &store)?;
    checks.extend(graph.checks());
    if let Some(shared) = &shared {
        shared.follow(announcer.clone(), wake.clone());
    }
    let allowances = shared.map(|shared| -> Arc<dyn Allowances> { shared });
    // Session limits protect users from each other. With the static token alone there is only one user.
    let has_several_users = !config.auth.issuers.is_empty() || config.anonymous.enabled;
    let some = |count: u32| (count > 0 && has_several_users).then_some(count);
    let session_limits = SessionLimits { entities: some(config.limits.entities_per_session), facts: some(config.limits.facts_per_session) };
    let reembedder = Reembedder::new(store.clone(), embedder.clone(), clock.clone(), Pace::from_config(config));
    let usecases = UseCases::new(Parts {
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
        session_limits,
    });
    Ok(Services { store, usecases, hub, announcer, clock, wake, graph, reembedder, checks, allowances })
}
