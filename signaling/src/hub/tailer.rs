//! Follows the log of one active stream in a task: reads new entries after each wake and at intervals.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::Hub;
use super::stream::ActiveStream;
use crate::frame::ByeCode;
use crate::source::{EventSource, LogPage, SourceError};

const FIRST_RETRY: Duration = Duration::from_millis(50);
const LAST_RETRY: Duration = Duration::from_secs(2);
/// Consecutive empty reads below the head, after which the tailer waits for the next wake.
///
/// This prevents a busy loop over a log with a gap at its end.
const MAX_EMPTY_READS: u32 = 3;

pub(super) fn spawn<S: EventSource>(hub: &Arc<Hub<S>>, stream: Arc<ActiveStream<S>>) {
    // A weak reference, so that the tailer does not keep the hub alive.
    let hub = Arc::downgrade(hub);
    tokio::spawn(async move {
        let stop = stream.stop.clone();
        stop.run_until_cancelled(follow(hub, stream)).await;
    });
}

async fn follow<S: EventSource>(hub: Weak<Hub<S>>, stream: Arc<ActiveStream<S>>) {
    let mut retry = FIRST_RETRY;
    loop {
        let wait = {
            let Some(hub) = hub.upgrade() else { return };
            match read_new(&hub, &stream).await {
                Ok(()) => {
                    retry = FIRST_RETRY;
                    hub.config.poll
                }
                Err(SourceError::NotFound) => {
                    hub.end_active(&stream, ByeCode::Deleted);
                    return;
                }
                Err(SourceError::Unavailable(error)) => {
                    tracing::warn!(error = %error, retry_ms = retry.as_millis(), "the event log cannot be read");
                    let wait = retry;
                    retry = (retry * 2).min(LAST_RETRY);
                    wait
                }
            }
        };
        let linger = hub.upgrade().map(|hub| hub.config.linger);
        let Some(linger) = linger else { return };
        let deadline = Instant::now() + wait;
        loop {
            let idle_for = stream.idle_since().map(|since| since.elapsed());
            if idle_for.is_some_and(|idle| idle >= linger) {
                let Some(hub) = hub.upgrade() else { return };
                if hub.retire(&stream) {
                    return;
                }
            }
            // The last subscriber does not wake the tailer when it leaves, so check at least once per linger.
            let until_idle = linger.saturating_sub(idle_for.unwrap_or_default());
            let pause = deadline.saturating_duration_since(Instant::now()).min(until_idle.max(Duration::from_millis(1)));
            tokio::select! {
                () = stream.wait_for_wake() => break,
                () = sleep(pause) => if Instant::now() >= deadline { break },
            }
        }
    }
}

/// Reads pages until the head of the log.
async fn read_new<S: EventSource>(hub: &Arc<Hub<S>>, stream: &Arc<ActiveStream<S>>) -> Result<(), SourceError> {
    let mut empty_reads = 0;
    loop {
        let after = stream.head();
        let page = hub.config.page;
        let read = hub.source.read(&stream.key, after, page);
        // If the epoch is unchanged, the entries are of this epoch: it was read with them or after them, and a
        // replaced epoch never comes back.
        let LogPage { head, events } = match timeout(hub.config.read_timeout, read).await {
            Ok(result) => result?,
            Err(elapsed) => return Err(SourceError::Unavailable(Box::new(elapsed))),
        };
        if head.epoch != stream.epoch() || head.head < after {
            hub.end_active(stream, ByeCode::Restart);
            return Ok(());
        }
        if events.is_empty() {
            if head.head <= after {
                return Ok(());
            }
            if head.floor > after + 1 {
                stream.skip_to(head.floor - 1);
            } else {
                empty_reads += 1;
                if empty_reads >= MAX_EMPTY_READS {
                    return Ok(());
                }
            }
        } else {
            empty_reads = 0;
            stream.append(events);
            if stream.head() >= head.head {
                return Ok(());
            }
        }
    }
}
