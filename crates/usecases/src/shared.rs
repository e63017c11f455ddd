//! Shared memory: the data of the user [`UserId::SHARED`], which signed-in users read and administrators write.
//!
//! The store does not treat it specially. Access uses a separate [`Caller`], derived from the person's in `domain::caller`.
//!
//! [`UserId::SHARED`]: recall_domain::UserId::SHARED

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::error::UseCaseError;
use recall_domain::{
    Caller, Message, Role,
    context::{Context, SHARED_SPEAKER},
};

/// How long it is cached whether shared memory is in use. First data from another process is visible after this time.
const REMEMBERED: Duration = Duration::from_secs(5);

/// Cached knowledge of whether shared memory is in use.
#[derive(Default)]
pub(super) struct InUse(Mutex<Option<(Instant, bool)>>);

impl InUse {
    pub(super) fn known(&self) -> Option<bool> {
        let known = *self.0.lock();
        known.filter(|(since, _)| since.elapsed() < REMEMBERED).map(|(_, used)| used)
    }

    pub(super) fn note(&self, used: bool) {
        *self.0.lock() = Some((Instant::now(), used));
    }
}

/// Refuses callers that may only read.
///
/// Every use case that changes something checks this first, so a reader of shared memory passed by mistake changes nothing.
pub(super) fn may_write(caller: &Caller) -> Result<(), UseCaseError> {
    match caller.may_write() {
        true => Ok(()),
        false => Err(UseCaseError::Forbidden { message: "Only administrators may change shared memory. Ask one of them." }),
    }
}

/// Prepares a context for the answerer: messages of shared memory without a speaker get one, so that they are not attributed to the user.
pub(super) fn name_shared_speakers(mut context: Context) -> Context {
    let nobody = |m: &Message| m.role == Role::User && m.speaker.is_none();
    for m in context.messages.iter_mut().filter(|m| m.shared && nobody(&m.message)) {
        m.message.speaker = Some(SHARED_SPEAKER.to_owned());
    }
    context
}
