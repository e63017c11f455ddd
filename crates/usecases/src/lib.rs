//! The use cases: keep a message, find context, answer, and change what is known. One function per thing a person
//! wants; everything that speaks HTTP or GraphQL stays in `api`, every engine behind `ports`.

mod account_deletion;
mod adopt;
mod cancel;
mod check;
mod context;
mod entities;
mod error;
mod knowledge;
mod manual_edits;
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
pub use send::{MAX_IMPORT, SendMessage};
pub use shared::ResourceId;
pub use work::MessageWork;

use recall_domain::{Caller, Entity, Ontology, Session, SessionId, Timestamp, UserText};
use recall_facts::{Learner, SessionLimits};
use recall_ports::{Announcer, Answerer, BackgroundTasks, Clock, Embedder, Extractor, Ids, MessageIndex, Store};

/// Everything the use cases work with.
#[derive(Clone)]
pub struct Parts {
    /// The truth.
    pub store: Arc<dyn Store>,
    /// Finds messages.
    pub index: Arc<dyn MessageIndex>,
    /// Makes vectors.
    pub embedder: Arc<dyn Embedder>,
    /// Finds facts in text.
    pub extractor: Arc<dyn Extractor>,
    /// Answers questions.
    pub answerer: Arc<dyn Answerer>,
    /// Tells listeners.
    pub announcer: Arc<dyn Announcer>,
    /// The relations in force.
    pub ontology: Arc<Ontology>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Fresh ids.
    pub ids: Arc<dyn Ids>,
    /// Notified when a job was queued.
    pub wake: Arc<Notify>,
    /// How much one session may add to what is known.
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
    /// The use cases over these parts.
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

    /// The store, for reads that need no use case.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.parts.store
    }

    /// Work that goes on when whoever asked for it has gone, until whoever owns the use cases ends it.
    pub fn background_tasks(&self) -> &BackgroundTasks {
        &self.background_tasks
    }

    /// The relations in force.
    pub fn ontology(&self) -> &Arc<Ontology> {
        &self.parts.ontology
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        self.parts.clock.now()
    }

    /// Starts a conversation.
    ///
    /// # Errors
    /// `Invalid` for a title that is empty or too long.
    pub async fn create_session(&self, caller: &Caller, title: Option<String>) -> Result<Session, UseCaseError> {
        shared::may_write(caller)?;
        let title = title.map(|t| check::title(&t)).transpose()?;
        let p = &self.parts;
        // The log's name only has to differ from that of any other log under this session id.
        let epoch = format!("{:08x}", (p.ids.fresh().as_u128() & 0xffff_ffff) as u32);
        let made = p.store.create_session(caller, SessionId(p.ids.fresh()), title.map(UserText::from), epoch, p.clock.now()).await?;
        if caller.is_shared() {
            self.shared_in_use.note(true);
        }
        Ok(made)
    }

    /// The session, if it is the caller's.
    ///
    /// # Errors
    /// `NotFound` when it is not.
    pub async fn session(&self, caller: &Caller, id: SessionId) -> Result<Session, UseCaseError> {
        let found = self.parts.store.sessions_by_id(caller, &[id]).await?;
        found.into_iter().next().ok_or(UseCaseError::NotFound { noun: "session" })
    }

    /// The user's own node, once a message has spoken of them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn viewer_entity(&self, caller: &Caller) -> Result<Option<Entity>, UseCaseError> {
        Ok(self.parts.store.viewer_entity(caller).await?)
    }
}
