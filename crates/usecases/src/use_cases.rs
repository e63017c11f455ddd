//! The use cases as one value, with the adapters that they need. Each use case is in the file of its subject.

use std::{borrow::Cow, sync::Arc, time::Duration};

use tokio::sync::{Notify, OnceCell};

use super::{
    answering::Answering, being_erased::BeingErased, documents::DocumentSettings, encoding_queue::EncodingQueue, error::UseCaseError,
    foreground::Foreground, memory::MemoryReader, rank::CueTerms, shared::InUse,
};
use recall_domain::{Caller, Ontology, Timestamp};
use recall_facts::{Learner, SessionLimits};
use recall_ports::{Announcer, Answerer, BackgroundTasks, Clock, Comparer, Embedder, Extractor, Ids, MessageIndex, PassageEncoder, Store};
use recall_text::{SensitiveKind, SensitivePatterns};

/// The adapters and settings that the use cases need.
#[derive(Clone)]
pub struct Parts {
    /// The store, which is the source of truth.
    pub store: Arc<dyn Store>,
    /// Searches messages.
    pub index: Arc<dyn MessageIndex>,
    /// Embeds text.
    pub embedder: Arc<dyn Embedder>,
    /// Encodes messages and chunks of documents with a better and slower model, to order what a search finds. Without it, the search alone decides.
    pub passages: Option<Arc<dyn PassageEncoder>>,
    /// Extracts facts from text.
    pub extractor: Arc<dyn Extractor>,
    /// Answers questions.
    pub answerer: Arc<dyn Answerer>,
    /// Compares passages of documents.
    pub comparer: Arc<dyn Comparer>,
    /// Notifies the followers of event logs.
    pub announcer: Arc<dyn Announcer>,
    /// The ontology in use.
    pub ontology: Arc<Ontology>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of ids.
    pub ids: Arc<dyn Ids>,
    /// Notified when a job is queued.
    pub wake: Arc<Notify>,
    /// Limits of the knowledge that one session may add.
    pub session_limits: SessionLimits,
    /// Masks what is never stored.
    pub never_stored: Arc<SensitivePatterns>,
    /// How long data is kept.
    pub retention: RetentionTimes,
    /// What documents need; without it, none are taken.
    pub documents: Option<DocumentSettings>,
}

/// How long data is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionTimes {
    /// The time without a new message after which a session is deleted; `None` keeps all sessions.
    pub unused_sessions: Option<Duration>,
    /// The time after the last request of a visitor, after which all their data is deleted.
    pub visits: Duration,
    /// How long a forgetting can be undone.
    pub forget_undo: Duration,
    /// How long entries of the audit log are kept.
    pub audit: Duration,
}

impl Default for RetentionTimes {
    fn default() -> Self {
        let days = |days: u64| Duration::from_secs(days * 24 * 3600);
        Self { unused_sessions: None, visits: days(1), forget_undo: Duration::from_secs(600), audit: days(365) }
    }
}

/// The use cases.
#[derive(Clone)]
pub struct UseCases {
    pub(super) parts: Arc<Parts>,
    pub(super) learner: Learner,
    pub(super) cues: Arc<CueTerms>,
    pub(super) answering: Arc<Answering>,
    pub(super) shared_in_use: Arc<InUse>,
    pub(super) background_tasks: BackgroundTasks,
    pub(super) being_erased: Arc<BeingErased>,
    /// What all vectors of the embedder have in common, once it is known.
    pub(super) common_vector: Arc<OnceCell<Option<Arc<Vec<f32>>>>>,
    /// What is encoded when the server is idle.
    pub(super) unencoded: Arc<EncodingQueue>,
    pub(super) foreground: Arc<Foreground>,
}

impl UseCases {
    /// Creates the use cases.
    pub fn new(parts: Parts) -> Self {
        let Parts { store, ontology, clock, ids, session_limits, .. } = &parts;
        let learner = Learner::new(store.clone(), ontology.clone(), clock.clone(), ids.clone(), *session_limits);
        let cues = Arc::new(CueTerms::of(&parts.ontology));
        Self {
            parts: Arc::new(parts),
            learner,
            cues,
            answering: Arc::default(),
            shared_in_use: Arc::default(),
            background_tasks: BackgroundTasks::default(),
            being_erased: Arc::default(),
            common_vector: Arc::default(),
            unencoded: Arc::default(),
            foreground: Arc::default(),
        }
    }

    /// Returns the reader of the memory that a caller may read.
    pub fn memory(&self, caller: Caller) -> MemoryReader {
        MemoryReader::new(caller, self.parts.store.clone(), self.parts.ontology.clone())
    }

    /// Returns the name of the store's engine, such as `sqlite`.
    pub fn engine(&self) -> &'static str {
        self.parts.store.engine()
    }

    /// Returns the background tasks, which outlive their requests and end on shutdown.
    pub fn background_tasks(&self) -> &BackgroundTasks {
        &self.background_tasks
    }

    /// Returns the ontology in use.
    pub fn ontology(&self) -> &Arc<Ontology> {
        &self.parts.ontology
    }

    /// Returns how long data is kept.
    pub fn retention(&self) -> RetentionTimes {
        self.parts.retention
    }

    /// Returns the kinds of text that are never stored.
    pub fn never_stored(&self) -> Vec<SensitiveKind> {
        self.parts.never_stored.kinds().collect()
    }

    /// Replaces what is never stored by marks.
    pub(super) fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let masked = self.parts.never_stored.mask(text);
        if !masked.found.is_empty() {
            metrics::counter!("recall_masked_texts_total").increment(1);
        }
        masked.text
    }

    /// Refuses a statement with text that is never stored. With a mark instead, it would state something else.
    pub(super) fn refuse_sensitive(&self, text: &str, path: &'static str) -> Result<(), UseCaseError> {
        if self.parts.never_stored.mask(text).found.is_empty() {
            return Ok(());
        }
        let message = "The statement contains text that this server never stores, such as a password. Leave it out.";
        Err(UseCaseError::invalid("NEVER_STORED", path, message))
    }

    /// Returns the present time.
    pub fn now(&self) -> Timestamp {
        self.parts.clock.now()
    }
}
