//! The answers in progress in this process, so that they can be cancelled.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

use tokio_util::sync::CancellationToken;

use recall_domain::{MessageId, UserId};

/// The answers in progress in this process.
#[derive(Default)]
pub(super) struct Answering(Mutex<HashMap<(UserId, MessageId), CancellationToken>>);

impl Answering {
    /// Registers an answer until the returned guard is dropped.
    pub(super) fn begin(self: &Arc<Self>, user: UserId, question: MessageId) -> AnswerGuard {
        let token = CancellationToken::new();
        self.lock().insert((user, question), token.clone());
        AnswerGuard { all: self.clone(), key: (user, question), token }
    }

    /// Cancels an answer, if it is in progress here.
    pub(super) fn cancel(&self, user: UserId, question: MessageId) {
        if let Some(token) = self.lock().get(&(user, question)) {
            token.cancel();
        }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, HashMap<(UserId, MessageId), CancellationToken>> {
        self.0.lock()
    }
}

/// One answer in progress.
pub(super) struct AnswerGuard {
    all: Arc<Answering>,
    key: (UserId, MessageId),
    token: CancellationToken,
}

impl AnswerGuard {
    /// Completes when the answer is cancelled.
    pub(super) async fn cancelled(&self) {
        self.token.cancelled().await;
    }
}

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        self.all.lock().remove(&self.key);
    }
}
