//! Opens the adapters that the configuration names.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Context;

use super::models;
use crate::{
    config::{Config, Engine},
    system::SystemClock,
};
use recall_api::Check;
use recall_documents::{ChildLimits, ChildParser};
use recall_domain::Ontology;
use recall_embedding::{FallbackEmbedders, LocalEmbedder};
use recall_neural::{MiniLmEncoder, MiniLmVerifier, Network, NeuralExtractor};
use recall_ports::{AnswerVerifier, Clock, DocumentParser, Embedder, Extractor, PassageEncoder, Store};
use recall_store_postgres::{PostgresConfig, PostgresStore};
use recall_store_sqlite::{ServerLock, SqliteConfig, SqliteStore};
use recall_understand::{DialogueExtractor, LocalExtractor, Pipeline};

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

/// Builds the built-in extractor: the rules, the network unless it is switched off, and corrections of the message before.
pub(super) fn built_in_extractor(config: &Config, ontology: Arc<Ontology>) -> anyhow::Result<Arc<dyn Extractor>> {
    let rules = Arc::new(LocalExtractor::new(Arc::new(Pipeline::new(ontology.clone()))));
    if !config.understanding.learned {
        return Ok(Arc::new(DialogueExtractor::new(rules)));
    }
    let network = NeuralExtractor::new(rules, Arc::new(Network::load()?), ontology);
    Ok(Arc::new(DialogueExtractor::new(Arc::new(network))))
}

/// Loads the encoder that orders chunks and messages, unless it is switched off or a server makes the vectors.
pub(super) fn passages(config: &Config) -> anyhow::Result<Option<Arc<dyn PassageEncoder>>> {
    if !config.documents.encoder || config.embeddings.url.is_some() {
        return Ok(None);
    }
    Ok(Some(Arc::new(MiniLmEncoder::load()?)))
}

/// Loads the network that judges whether a text answers a question, unless learned parts are switched off.
pub(super) fn verifier(config: &Config) -> anyhow::Result<Option<Arc<dyn AnswerVerifier>>> {
    if !config.understanding.learned {
        return Ok(None);
    }
    Ok(Some(Arc::new(MiniLmVerifier::load()?)))
}

/// An open store.
pub(super) struct OpenStore {
    pub(super) store: Arc<dyn Store>,
    /// The same store if it is PostgreSQL, which several servers share.
    pub(super) shared: Option<Arc<PostgresStore>>,
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

/// The parser of documents, which starts this program again for each document.
pub(super) fn document_parser(config: &Config) -> anyhow::Result<Arc<dyn DocumentParser>> {
    let c = &config.documents;
    let limits = ChildLimits { memory: c.parser_megabytes.saturating_mul(1 << 20), seconds: c.parser_seconds, children: c.parsers };
    Ok(Arc::new(ChildParser::of_this_program(limits).context("the file of this program cannot be found")?))
}

/// The configured embedder and the built-in one.
pub(super) struct Embedders {
    /// The configured embedder.
    pub(super) embedder: Arc<dyn Embedder>,
    /// The built-in embedder, which is always loaded.
    pub(super) local: LocalEmbedder,
    /// The readiness check of the embeddings server, if one is configured.
    pub(super) check: Option<Arc<dyn Check>>,
}

/// Loads the built-in embedder and connects to the configured one.
pub(super) async fn embedders(config: &Config) -> anyhow::Result<Embedders> {
    // Not in the blocking pool: the allocator would keep what is freed there for that thread. Nothing is served yet.
    let local = LocalEmbedder::load()?;
    let Some(model) = models::embedder(config).await? else {
        return Ok(Embedders { embedder: Arc::new(local.clone()), local, check: None });
    };
    let check = models::ServerCheck { name: "embeddings", client: model.client().clone() };
    let embedder = FallbackEmbedders::new(Arc::new(model), vec![Arc::new(local.clone())]);
    Ok(Embedders { embedder: Arc::new(embedder), local, check: Some(Arc::new(check)) })
}
