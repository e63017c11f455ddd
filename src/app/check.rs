//! `recall migrate` and `recall check`.

use std::sync::Arc;

use crate::config::{Config, Engine, Originals};
use crate::system::SystemClock;
use recall_domain::UserId;
use recall_embedding::LocalEmbedder;
use recall_ports::{Clock, Embedder, GraphEngine};

use super::{adapters, models, output::say, tls::Certificate, wiring};

/// Applies the migrations.
pub(super) async fn migrate(config: &Config) -> anyhow::Result<()> {
    let store = adapters::store(config, true).await?.store;
    store.close().await;
    say!("database: {} is up to date", config.storage.engine())?;
    Ok(())
}

/// Checks the configuration, contacts every configured service, and prints the results.
pub(super) async fn run(config: &Config) -> anyhow::Result<()> {
    say!("configuration: valid; listens on {}", config.server.listen)?;
    if Certificate::load(config)?.is_some() {
        say!("tls: the certificate and its key can be used")?;
    }
    wiring::admission(config)?;
    let ontology = adapters::ontology(config)?;
    say!("ontology: {} relations", ontology.iter().count())?;
    let engine = config.storage.engine();
    let mut open_store = None;
    if matches!(&engine, Engine::Sqlite(path) if !path.exists()) {
        say!("database: {engine} does not exist yet; the first start creates it")?;
    } else {
        let store = adapters::store(config, false).await?.store;
        store.ping().await?;
        let (waiting, dead) = store.depth().await?;
        say!("database: {engine} answers; {waiting} jobs waiting, {dead} dead")?;
        open_store = Some(store);
    }
    if config.documents.originals == Originals::Folder {
        say!("documents: new files go to {}", config.originals_folder().display())?;
    }
    match super::graph::engine(config, &ontology)? {
        None => say!("graph: in the database; no graph engine is configured")?,
        Some(engine) => {
            engine.ping().await?;
            say!("graph: {} answers", config.neo4j.url.as_deref().unwrap_or_default())?;
        }
    }
    models::check(config).await?;
    let started = std::time::Instant::now();
    let embedder = LocalEmbedder::load()?;
    say!("built-in embedder: {}, {} dimensions, loaded in {} ms", embedder.model(), embedder.dimension(), started.elapsed().as_millis())?;
    if let Some(store) = open_store {
        let configured = models::embedder(config).await?;
        let model = configured.as_ref().map_or(embedder.model(), Embedder::model);
        let left = store.vector_backlog(model).await?;
        match left.users {
            0 => say!("vectors: all are of {model}")?,
            users => say!("vectors: {users} users are not finished; {} of their messages have no vector of {model}", left.messages)?,
        }
        store.close().await;
    }
    let answerer = config.model.name.as_deref().filter(|_| config.model.url.is_some()).unwrap_or("extractive");
    say!("extractor: {}; answerer: {answerer}; clock: {}", config.extractor(), SystemClock.now().to_rfc3339())?;
    check_login(config).await
}

/// Fetches the keys of every token issuer.
async fn check_login(config: &Config) -> anyhow::Result<()> {
    if config.frontend.key.is_some() {
        let users = if config.frontend.unsigned_user { "unsigned users are accepted" } else { "users are signed" };
        say!("front ends: a key is set; {users}")?;
    }
    if !config.has_login() {
        say!("login: none; only clients on this machine are served")?;
        return Ok(());
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let tokens = super::login::tokens(config, UserId(uuid::Uuid::nil()), None, &clock)?;
    let mut failed = Vec::new();
    for (issuer, outcome) in tokens.probe().await {
        match outcome {
            Ok(keys) => say!("login: {issuer} answers; {keys} keys")?,
            Err(error) => failed.push(format!("{issuer}: {error}")),
        }
    }
    if let Some(issuer) = config.login.issuer(&config.auth) {
        match tokens.probe_login(issuer).await {
            Ok(()) => say!("login: users log in through {issuer}")?,
            Err(error) => failed.push(format!("{issuer}, for logins: {error}")),
        }
    }
    if config.auth.token.is_some() {
        say!("login: a static token is set")?;
    }
    anyhow::ensure!(failed.is_empty(), "login: {}", failed.join("; "));
    Ok(())
}
