//! Shared memory: the data of the user [`UserId::SHARED`], which signed-in users read and administrators write.
//!
//! The store does not treat it specially. Access uses a separate [`Caller`], derived from the person's in `domain::caller`.
//!
//! [`UserId::SHARED`]: recall_domain::UserId::SHARED

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::error::UseCaseError;
use recall_domain::{
    Caller, Message, Role,
    context::{Context, SHARED_SPEAKER},
};

/// How long it is cached that shared memory is not in use. First data from another process is found after this time.
const REMEMBERED: Duration = Duration::from_secs(5);

/// Cached knowledge of whether shared memory is in use. Once in use, it stays so.
#[derive(Default)]
pub(super) struct InUse {
    used: AtomicBool,
    /// When it was last seen unused.
    unused_at: Mutex<Option<Instant>>,
}

impl InUse {
    pub(super) fn known(&self) -> Option<bool> {
        if self.used.load(Ordering::Acquire) {
            return Some(true);
        }
        let unused_at = *self.unused_at.lock();
        unused_at.filter(|at| at.elapsed() < REMEMBERED).map(|_| false)
    }

    /// Notes what was seen. A first use that is noted meanwhile is not undone.
    pub(super) fn note(&self, used: bool) {
        match used {
            true => self.used.store(true, Ordering::Release),
            false => *self.unused_at.lock() = Some(Instant::now()),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_use_is_not_undone_by_an_older_look() {
        let in_use = InUse::default();
        assert_eq!(in_use.known(), None);
        in_use.note(false);
        assert_eq!(in_use.known(), Some(false));
        in_use.note(true);
        // It looked before the first use.
        in_use.note(false);
        assert_eq!(in_use.known(), Some(true));
    }
}
