//! The use cases inside this process, without a server.

use std::sync::Arc;

use recall::system::{RandomIds, SystemClock};
use recall_answering::{ExtractiveAnswerer, Networks};
use recall_api::event_log::{HubAnnouncer, LogSource};
use recall_comparing::AlignmentComparer;
use recall_domain::Ontology;
use recall_embedding::LocalEmbedder;
use recall_ports::{Clock, PassageEncoder, Store};
use recall_retrieval::{RecallIndex, RecallIndexOptions};
use recall_store_postgres::{PostgresConfig, PostgresStore};
use recall_store_sqlite::{SqliteConfig, SqliteStore};
use recall_text::{SensitiveKind, SensitivePatterns};
use recall_understand::{LocalExtractor, Pipeline, default_ontology};
use recall_usecases::{Parts, RetentionTimes, UseCases};
use signaling::{Hub, HubConfig};
use tokio::sync::Notify;

use crate::place::Place;

/// The use cases over a new store.
pub(crate) struct Inside {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) usecases: UseCases,
    pub(crate) embedder: LocalEmbedder,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) wake: Arc<Notify>,
}

impl Inside {
    /// Opens the store of a place. `passages` orders the chunks of documents.
    pub(crate) async fn open(place: &Place, passages: Option<Arc<dyn PassageEncoder>>) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let store: Arc<dyn Store> = match place.database_url() {
            None => Arc::new(SqliteStore::open(&place.folder.path().join("recall.db"), SqliteConfig::default(), clock.now()).await?),
            Some(url) => Arc::new(PostgresStore::open(url, PostgresConfig::default(), clock.now()).await?),
        };
        let embedder = LocalEmbedder::load()?;
        let ontology = Arc::new(Ontology::parse(default_ontology())?);
        let hub = Hub::new(LogSource::new(store.clone()), HubConfig::default());
        let wake = Arc::new(Notify::new());
        let networks = Networks { passages: passages.clone(), verifier: None };
        let usecases = UseCases::new(Parts {
            store: store.clone(),
            index: Arc::new(RecallIndex::new(store.clone(), &embedder, RecallIndexOptions::default())),
            extractor: Arc::new(LocalExtractor::new(Arc::new(Pipeline::new(ontology.clone())))),
            answerer: Arc::new(ExtractiveAnswerer::new(&ontology, embedder.clone(), networks)),
            comparer: Arc::new(AlignmentComparer::new(embedder.clone())),
            embedder: Arc::new(embedder.clone()),
            passages,
            announcer: Arc::new(HubAnnouncer(hub)),
            ontology,
            clock: clock.clone(),
            ids: Arc::new(RandomIds::default()),
            wake: wake.clone(),
            session_limits: recall_facts::SessionLimits::default(),
            never_stored: Arc::new(SensitivePatterns::new(SensitiveKind::ALL, &[])?),
            retention: RetentionTimes::default(),
            documents: None,
        });
        Ok(Self { store, usecases, embedder, clock, wake })
    }
}
