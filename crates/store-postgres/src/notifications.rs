//! Notifies this process and the other processes of the database about changed sessions; the others by LISTEN and NOTIFY.
//!
//! A notification is only a hint and may be lost, so every receiver also polls now and then.
//!
//! One task sends them after the commit, many in one statement. PostgreSQL takes one global lock for a commit that notifies. So if
//! the transactions themselves notified, all commits of the database would wait for each other.

use std::{
    borrow::Cow,
    collections::HashSet,
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::{
    sync::{Notify, mpsc},
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{failure::Failure, pool::Pool, row_security::RowAccess};
use recall_domain::{Caller, SessionId, UserId, ViewerRole};
use recall_ports::CommitListener;

const CHANNEL: &str = "recall";
/// Most notifications that may wait to be sent. Further ones are dropped, and other processes find the change by polling.
const QUEUE: usize = 4_096;
/// Most notifications in one statement.
const BATCH: usize = 256;
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(5);
/// How long a connection may be silent before it is pinged. A cut cable sends no signal.
const SILENCE: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(5);

/// What happened to the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// New events were committed.
    Events,
    /// New events and jobs were committed.
    Work,
    /// The session was deleted.
    Deleted,
}

/// A change of one user's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Notification {
    kind: Kind,
    user: Uuid,
    session: Uuid,
}

impl Notification {
    /// Formats the payload: `<instance> <kind> <user> <session>`.
    fn payload(&self, instance: Uuid) -> String {
        let kind = match self.kind {
            Kind::Events => "events",
            Kind::Work => "work",
            Kind::Deleted => "deleted",
        };
        format!("{} {kind} {} {}", instance.as_simple(), self.user.as_simple(), self.session.as_simple())
    }

    /// Parses a payload into the sending process and the notification; `None` if another program sent it.
    fn parse(payload: &str) -> Option<(Uuid, Self)> {
        let mut words = payload.split(' ');
        let instance = Uuid::try_parse(words.next()?).ok()?;
        let kind = match words.next()? {
            "events" => Kind::Events,
            "work" => Kind::Work,
            "deleted" => Kind::Deleted,
            _ => return None,
        };
        let (user, session) = (Uuid::try_parse(words.next()?).ok()?, Uuid::try_parse(words.next()?).ok()?);
        words.next().is_none().then_some((instance, Self { kind, user, session }))
    }
}

/// Sends and receives notifications until it is stopped or dropped.
pub(super) struct NotificationListener {
    queue: mpsc::Sender<Notification>,
    pool: Pool,
    instance: Uuid,
    listener: OnceLock<Weak<dyn CommitListener>>,
    stop: CancellationToken,
}

impl Drop for NotificationListener {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl NotificationListener {
    /// Starts to send. `instance` identifies this process.
    pub(super) fn start(pool: Pool, instance: Uuid) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let stop = CancellationToken::new();
        let sending = send(pool.clone(), waiting, instance);
        tokio::spawn(stop.clone().run_until_cancelled_owned(sending));
        Self { queue, pool, instance, listener: OnceLock::new(), stop }
    }

    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Reports committed events.
    pub(super) fn committed(&self, caller: &Caller, session: SessionId) {
        self.report(caller, Some(session));
        self.enqueue(Kind::Events, caller, session);
    }

    /// Reports a committed event that belongs to no session.
    pub(super) fn committed_to_memory(&self, caller: &Caller) {
        self.report(caller, None);
        // Servers of the version before expect a session. Nobody has this one.
        self.enqueue(Kind::Events, caller, SessionId(Uuid::nil()));
    }

    /// Reports committed events and jobs.
    pub(super) fn queued(&self, caller: &Caller, session: SessionId) {
        self.report(caller, Some(session));
        self.enqueue(Kind::Work, caller, session);
    }

    /// Sets the listener for this process's own commits. Only the first call has an effect.
    pub(super) fn report_to(&self, listener: Weak<dyn CommitListener>) {
        let _ = self.listener.set(listener);
    }

    fn report(&self, caller: &Caller, session: Option<SessionId>) {
        if let Some(listener) = self.listener.get().and_then(Weak::upgrade) {
            listener.committed(caller, session);
        }
    }

    /// Reports a deleted session. The log of the memory says so.
    pub(super) fn deleted(&self, caller: &Caller, session: SessionId) {
        self.report(caller, None);
        self.enqueue(Kind::Deleted, caller, session);
    }

    fn enqueue(&self, kind: Kind, caller: &Caller, session: SessionId) {
        // If the queue is full or closed, the notification is lost and others find the change by polling.
        let _ = self.queue.try_send(Notification { kind, user: caller.user().0, session: session.0 });
    }

    /// Starts to forward notifications of other processes.
    pub(super) fn follow(&self, listener: Arc<dyn CommitListener>, wake: Arc<Notify>) {
        let receiver = Receiver { pool: self.pool.clone(), instance: self.instance, listener, wake };
        tokio::spawn(self.stop.clone().run_until_cancelled_owned(receiver.run()));
    }
}

async fn send(pool: Pool, mut waiting: mpsc::Receiver<Notification>, instance: Uuid) {
    let mut batch = Vec::with_capacity(BATCH);
    while waiting.recv_many(&mut batch, BATCH).await > 0 {
        let once: HashSet<Notification> = batch.drain(..).collect();
        let payloads: Vec<Cow<'_, str>> = once.iter().map(|notification| notification.payload(instance).into()).collect();
        let sent = sqlx::query!("SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload", CHANNEL, &payloads[..]);
        if let Err(e) = sent.execute(pool.writing(RowAccess::Nobody)).await {
            tracing::debug!(error = %e, "notifications to other processes were lost");
        }
    }
}

/// Listens on its own connection.
struct Receiver {
    pool: Pool,
    instance: Uuid,
    listener: Arc<dyn CommitListener>,
    wake: Arc<Notify>,
}

impl Receiver {
    async fn run(self) {
        let mut retry = FIRST_RETRY;
        loop {
            let mut server = self.pool.server();
            let options = server.borrow_and_update().options.clone();
            let lost = match self.connect(options).await {
                Ok(listener) => {
                    retry = FIRST_RETRY;
                    // Jobs may have been queued while this process did not listen.
                    self.wake.notify_one();
                    tokio::select! {
                        lost = self.listen(listener) => lost,
                        // The other processes are connected to the new server, too.
                        Ok(()) = server.changed() => continue,
                    }
                }
                Err(e) => e,
            };
            self.pool.report_trouble();
            tracing::warn!(error = %lost, retry_ms = retry.as_millis(), "cannot listen to other processes; their events arrive with a delay");
            tokio::time::sleep(retry).await;
            retry = (retry * 2).min(LAST_RETRY);
        }
    }

    async fn connect(&self, options: PgConnectOptions) -> Result<PgListener, Failure> {
        let connecting = async {
            let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(ANSWER).connect_lazy_with(options);
            let mut listener = PgListener::connect_with(&pool).await?;
            listener.ignore_pool_close_event(true);
            listener.eager_reconnect(false);
            listener.listen(CHANNEL).await?;
            Ok(listener)
        };
        timeout(ANSWER, connecting).await.map_err(|_| Failure::NoAnswer(ANSWER))?
    }

    /// Forwards notifications until the connection is lost.
    async fn listen(&self, mut listener: PgListener) -> Failure {
        loop {
            match timeout(SILENCE, listener.try_recv()).await {
                Ok(Ok(Some(notification))) => self.forward(notification.payload()),
                Ok(Ok(None)) => return Failure::Sql(sqlx::Error::WorkerCrashed),
                Ok(Err(e)) => return e.into(),
                Err(_) => match timeout(ANSWER, sqlx::query_scalar!("SELECT 1").fetch_one(&mut listener)).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(e)) => return e.into(),
                    Err(_) => return Failure::NoAnswer(ANSWER),
                },
            }
        }
    }

    fn forward(&self, payload: &str) {
        let Some((from, notification)) = Notification::parse(payload) else { return };
        if from == self.instance {
            return;
        }
        // The process that made the change vouches for the user. Streams are found by user; the role is not used.
        let caller = Caller::verified(UserId(notification.user), ViewerRole::User);
        match notification.kind {
            Kind::Events => self.listener.committed(&caller, Some(SessionId(notification.session))),
            Kind::Work => {
                self.listener.committed(&caller, Some(SessionId(notification.session)));
                self.wake.notify_one();
            }
            Kind::Deleted => self.listener.deleted(&caller, SessionId(notification.session)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn notifications_round_trip(instance: u128, user: u128, session: u128, kind in prop_oneof![Just(Kind::Events), Just(Kind::Work), Just(Kind::Deleted)]) {
            let notification = Notification { kind, user: Uuid::from_u128(user), session: Uuid::from_u128(session) };
            let instance = Uuid::from_u128(instance);
            prop_assert_eq!(Notification::parse(&notification.payload(instance)), Some((instance, notification)));
        }

        #[test]
        fn foreign_payloads_are_ignored_without_panic(payload in ".*") {
            prop_assert_eq!(Notification::parse(&payload), None);
        }
    }
}
