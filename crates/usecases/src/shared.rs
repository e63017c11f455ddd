//! Shared memory: one tenant, [`UserId::SHARED`], that signed-in users read beside their own and administrators write. Nothing in the
//! store knows of it. Whoever reads or changes it does so as a [`Caller`] of its own, who is made from the person's in `domain::caller`.
//!
//! [`UserId::SHARED`]: recall_domain::UserId::SHARED

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{UseCaseError, UseCases};
use recall_domain::{
    Caller, EntityId, FactId, Message, MessageId, Page, Role, SessionId,
    context::{Context, SHARED_SPEAKER},
};
use recall_ports::StoreError;

/// How long it is remembered whether there is anything in shared memory. What another process writes first is seen so much later.
const REMEMBERED: Duration = Duration::from_secs(5);

/// Whether there is anything in shared memory, as far as is known.
#[derive(Default)]
pub(super) struct InUse(Mutex<Option<(Instant, bool)>>);

impl InUse {
    fn known(&self) -> Option<bool> {
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|(since, _)| since.elapsed() < REMEMBERED).map(|(_, used)| used)
    }

    pub(super) fn note(&self, used: bool) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), used));
    }
}

/// Something that may be of shared memory.
#[derive(Clone, Copy, Debug)]
pub enum ResourceId {
    /// A session.
    Session(SessionId),
    /// A message.
    Message(MessageId),
    /// An entity.
    Entity(EntityId),
    /// A fact.
    Fact(FactId),
}

impl UseCases {
    /// The one who reads shared memory for a caller; nobody for who may not, for who is that one already, and while nothing is in it:
    /// on a server without shared memory nobody asks for it but this, every few seconds.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn shared_reader(&self, caller: &Caller) -> Result<Option<Caller>, StoreError> {
        let Some(reader) = caller.shared_reader().filter(|_| !caller.is_shared()) else { return Ok(None) };
        let used = match self.shared_in_use.known() {
            Some(used) => used,
            None => {
                let used = !self.parts.store.list_sessions(&reader, &Page::first(1)).await?.items.is_empty();
                self.shared_in_use.note(used);
                used
            }
        };
        Ok(used.then_some(reader))
    }

    /// Whether one of some things is there for a reader.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn holds_any(&self, reader: &Caller, things: &[ResourceId]) -> Result<bool, StoreError> {
        let store = &self.parts.store;
        for thing in things {
            let found = match thing {
                ResourceId::Session(id) => !store.sessions_by_id(reader, &[*id]).await?.is_empty(),
                ResourceId::Message(id) => !store.messages_by_id(reader, &[*id]).await?.is_empty(),
                ResourceId::Entity(id) => !store.entities_by_id(reader, &[*id]).await?.is_empty(),
                ResourceId::Fact(id) => !store.facts_by_id(reader, &[*id]).await?.is_empty(),
            };
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Refuses who may only read. Every use case that changes something asks this first, so that a reader of shared memory who is handed
/// to one by mistake changes nothing.
pub(super) fn may_write(caller: &Caller) -> Result<(), UseCaseError> {
    match caller.may_write() {
        true => Ok(()),
        false => Err(UseCaseError::Forbidden { message: "Only administrators may change shared memory. Ask one of them." }),
    }
}

/// The context as an answerer is shown it: what nobody in particular says in shared memory is not said by the one who asks.
pub(super) fn told(mut context: Context) -> Context {
    let nobody = |m: &Message| m.role == Role::User && m.speaker.is_none();
    for m in context.messages.iter_mut().filter(|m| m.shared && nobody(&m.message)) {
        m.message.speaker = Some(SHARED_SPEAKER.to_owned());
    }
    context
}
