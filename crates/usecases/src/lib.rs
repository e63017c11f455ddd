//! Implements the use cases: store messages, find context, answer, and change knowledge.
//!
//! There is one function per user action. HTTP and GraphQL stay in `api`; every engine is behind `ports`.

mod account_deletion;
mod adopt;
mod cancel;
mod check;
mod context;
mod entities;
mod error;
mod knowledge;
mod manual_edits;
mod memory;
mod rank;
mod reading;
mod send;
mod session_deletion;
mod shared;
mod vectors;
mod work;

use std::sync::Arc;

use tokio::sync::Notify;

pub use cancel::CANCELLED;
pub use entities::Resolution;
pub use error::UseCaseError;
pub use knowledge::AssertFact;
pub use memory::{MAX_RIVALS, MemoryReader, evidence_key};
pub use send::{MAX_IMPORT, SendMessage};
pub use shared::ResourceId;
pub use work::MessageWork;

use recall_domain::{Caller, Entity, Ontology, Session, SessionId, Timestamp, UserText};
use recall_facts::{Learner, SessionLimits};
use recall_ports::{Announcer, Answerer, BackgroundTasks, Clock, Embedder, Extractor, Ids, MessageIndex, Store};

/// The adapters and settings that the use cases need.
#[derive(Clone)]
pub struct Parts {
    /// The store, which is the source of truth.
    pub store: Arc<dyn Store>,
    /// Searches messages.
    pub index: Arc<dyn MessageIndex>,
    /// Embeds text.
    pub embedder: Arc<dyn Embedder>,
    /// Extracts facts from text.
    pub extractor: Arc<dyn Extractor>,
    /// Answers questions.
    pub answerer: Arc<dyn Answerer>,
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
}

/// The use cases.
#[derive(Clone)]
pub struct UseCases {
    parts: Arc<Parts>,
    learner: Learner,
    cues: Arc<rank::CueTerms>,
    answering: Arc<cancel::Answering>,
    shared_in_use: Arc<shared::InUse>,
    background_tasks: BackgroundTasks,
    being_erased: Arc<account_deletion::BeingErased>,
}

impl UseCases {
    /// Creates the use cases.
    pub fn new(parts: Parts) -> Self {
        let learner = Learner::new(parts.store.clone(), parts.ontology.clone(), parts.clock.clone(), parts.ids.clone())
            .with_limits(parts.session_limits);
        let cues = Arc::new(rank::CueTerms::of(&parts.ontology));
        Self {
            parts: Arc::new(parts),
            learner,
            cues,
            answering: Arc::default(),
            shared_in_use: Arc::default(),
            background_tasks: BackgroundTasks::default(),
            being_erased: Arc::default(),
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

    /// Returns the present time.
    pub fn now(&self) -> Timestamp {
        self.parts.clock.now()
    }

    /// Creates a session.
    ///
    /// # Errors
    /// `Invalid` for a title that is empty or too long.
    pub async fn create_session(&self, caller: &Caller, title: Option<String>) -> Result<Session, UseCaseError> {
        shared::may_write(caller)?;
        let title = title.map(|t| check::title(&t)).transpose()?;
        let p = &self.parts;
        // The epoch must only differ from that of other logs with this session id.
        let epoch = format!("{:08x}", (p.ids.fresh().as_u128() & 0xffff_ffff) as u32);
        let made = p.store.create_session(caller, SessionId(p.ids.fresh()), title.map(UserText::from), epoch, p.clock.now()).await?;
        if caller.is_shared() {
            self.shared_in_use.note(true);
        }
        Ok(made)
    }

    /// Returns the session, if it is the caller's.
    ///
    /// # Errors
    /// `NotFound` otherwise.
    pub async fn session(&self, caller: &Caller, id: SessionId) -> Result<Session, UseCaseError> {
        let found = self.parts.store.sessions_by_id(caller, &[id]).await?;
        found.into_iter().next().ok_or(UseCaseError::NotFound { noun: "session" })
    }

    /// Returns the user's own entity, which exists once a message mentions the user.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn viewer_entity(&self, caller: &Caller) -> Result<Option<Entity>, UseCaseError> {
        Ok(self.parts.store.viewer_entity(caller).await?)
    }
}
