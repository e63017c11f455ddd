//! Hints between the processes that share a database, by LISTEN and NOTIFY: "this session's log has grown". A hint is never the
//! truth and may be lost; whoever waits for one looks by itself now and then.
//!
//! Hints are sent after the commit by one task, many in one statement. As part of the transactions themselves they would make
//! all commits of the database wait for each other: PostgreSQL takes one global lock for a commit that notifies.

use std::{borrow::Cow, collections::HashSet, sync::Arc, time::Duration};

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::{
    sync::{Notify, mpsc},
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{failure::Failure, pool::Pool, row_security::RowAccess};
use recall_domain::{Caller, SessionId, UserId, ViewerRole};
use recall_ports::Announcer;

const CHANNEL: &str = "recall";
/// Hints that may wait to be sent. What comes on top is dropped: others find out by looking.
const QUEUE: usize = 4_096;
/// Most hints in one statement.
const BATCH: usize = 256;
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(5);
/// A silent connection is asked whether it is still there: a cut wire says nothing.
const SILENCE: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(5);

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// New events.
    Events,
    /// New events, and work.
    Work,
    /// The session is no more.
    Deleted,
}

/// What happened to a session of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Notification {
    kind: Kind,
    user: Uuid,
    session: Uuid,
}

impl Notification {
    /// `<instance> <kind> <user> <session>`.
    fn payload(&self, instance: Uuid) -> String {
        let kind = match self.kind {
            Kind::Events => "events",
            Kind::Work => "work",
            Kind::Deleted => "deleted",
        };
        format!("{} {kind} {} {}", instance.as_simple(), self.user.as_simple(), self.session.as_simple())
    }

    /// The hint with the process it came from; `None` for what another program sent.
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

/// Sends and receives hints until it is stopped or dropped.
pub(super) struct NotificationListener {
    queue: mpsc::Sender<Notification>,
    pool: Pool,
    instance: Uuid,
    stop: CancellationToken,
}

impl Drop for NotificationListener {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl NotificationListener {
    /// `instance` tells this process from the others.
    pub(super) fn start(pool: Pool, instance: Uuid) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let stop = CancellationToken::new();
        let sending = send(pool.clone(), waiting, instance);
        tokio::spawn(stop.clone().run_until_cancelled_owned(sending));
        Self { queue, pool, instance, stop }
    }

    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Events were committed.
    pub(super) fn committed(&self, caller: &Caller, session: SessionId) {
        self.put(Kind::Events, caller, session);
    }

    /// Events and jobs were committed.
    pub(super) fn queued(&self, caller: &Caller, session: SessionId) {
        self.put(Kind::Work, caller, session);
    }

    /// A session was deleted.
    pub(super) fn deleted(&self, caller: &Caller, session: SessionId) {
        self.put(Kind::Deleted, caller, session);
    }

    fn put(&self, kind: Kind, caller: &Caller, session: SessionId) {
        // Full or closed: a lost hint costs others a look.
        let _ = self.queue.try_send(Notification { kind, user: caller.user().0, session: session.0 });
    }

    /// Passes on what others send.
    pub(super) fn follow(&self, announcer: Arc<dyn Announcer>, wake: Arc<Notify>) {
        let receiver = Receiver { pool: self.pool.clone(), instance: self.instance, announcer, wake };
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
            tracing::debug!(error = %e, "hints to other processes were lost");
        }
    }
}

/// Listens on a connection of its own.
struct Receiver {
    pool: Pool,
    instance: Uuid,
    announcer: Arc<dyn Announcer>,
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
                    // Work that was queued while nobody listened.
                    self.wake.notify_one();
                    tokio::select! {
                        lost = self.listen(listener) => lost,
                        // The others are at the new server, too.
                        Ok(()) = server.changed() => continue,
                    }
                }
                Err(e) => e,
            };
            self.pool.report_trouble();
            tracing::warn!(error = %lost, retry_ms = retry.as_millis(), "other processes are not heard; their news arrive later");
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

    /// Passes hints on until the connection is lost.
    async fn listen(&self, mut listener: PgListener) -> Failure {
        loop {
            match timeout(SILENCE, listener.try_recv()).await {
                Ok(Ok(Some(notification))) => self.pass_on(notification.payload()),
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

    fn pass_on(&self, payload: &str) {
        let Some((from, notification)) = Notification::parse(payload) else { return };
        if from == self.instance {
            return;
        }
        // Vouched for by the process that made the change. Streams are found by user; the role plays no part.
        let caller = Caller::verified(UserId(notification.user), ViewerRole::User);
        match notification.kind {
            Kind::Events => self.announcer.committed(&caller, SessionId(notification.session)),
            Kind::Work => {
                self.announcer.committed(&caller, SessionId(notification.session));
                self.wake.notify_one();
            }
            Kind::Deleted => self.announcer.deleted(&caller, SessionId(notification.session)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn hints_read_back(instance: u128, user: u128, session: u128, kind in prop_oneof![Just(Kind::Events), Just(Kind::Work), Just(Kind::Deleted)]) {
            let notification = Notification { kind, user: Uuid::from_u128(user), session: Uuid::from_u128(session) };
            let instance = Uuid::from_u128(instance);
            prop_assert_eq!(Notification::parse(&notification.payload(instance)), Some((instance, notification)));
        }

        #[test]
        fn anything_else_is_passed_over_and_never_panics(payload in ".*") {
            prop_assert_eq!(Notification::parse(&payload), None);
        }
    }
}
