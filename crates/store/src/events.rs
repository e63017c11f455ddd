//! Appends to and prunes the numbered event log of each session.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{MemoryLogStatements, Refusal, json, memory_log::expire_until, signed};
use recall_domain::{EventDraft, EventId, SessionId, Timestamp, UserId};

/// Most events that one [`prune_events`] removes. The transaction then takes milliseconds only.
const PRUNE_EVENTS: u64 = 2_000;
/// Most logs that one call examines.
const PRUNE_LOGS: u32 = 100;
/// Most changes of sessions that one call examines.
const PRUNE_CHANGES: u32 = 1_000;

/// An event to insert.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// Its number in the log of the session.
    pub seq: i64,
    /// Its number in the log of the memory.
    pub memory_seq: i64,
    /// Its id.
    pub id: EventId,
    /// Its kind.
    pub kind: &'static str,
    /// When it was made.
    pub created_at: Timestamp,
    /// Its body, in JSON.
    pub data: String,
}

impl NewEvent {
    /// Encodes an event.
    ///
    /// # Errors
    /// `Unstorable` if it cannot be written as JSON.
    pub fn encode(numbers: EventNumbers, event: &EventDraft, created_at: Timestamp) -> Result<Self, Refusal> {
        let EventNumbers { seq, memory_seq } = numbers;
        Ok(Self { seq, memory_seq, id: event.id, kind: event.body.kind(), created_at, data: json(&event.body, "an event")? })
    }
}

/// The numbers of an event in the log of its session and in that of the memory.
#[derive(Clone, Copy, Debug)]
pub struct EventNumbers {
    /// In the log of the session.
    pub seq: i64,
    /// In the log of the memory.
    pub memory_seq: i64,
}

impl EventNumbers {
    /// Returns the numbers of `count` events in order, of which these are the last.
    pub fn last_of(self, count: i64) -> impl Iterator<Item = Self> {
        let Self { seq, memory_seq } = self;
        (seq - count + 1..).zip(memory_seq - count + 1..).map(|(seq, memory_seq)| Self { seq, memory_seq })
    }
}

/// Events that were deleted.
#[derive(Clone, Copy, Debug)]
pub struct DeletedEvents {
    /// How many.
    pub count: u64,
    /// The highest of their numbers in the log of the memory.
    pub last: Option<i64>,
}

/// A log with events to remove.
#[derive(Clone, Copy, Debug)]
pub struct PrunedLog {
    /// Its owner.
    pub user: UserId,
    /// Its session.
    pub session: SessionId,
    /// The number of the newest event.
    pub head: i64,
    /// The number of the oldest event.
    pub floor: i64,
}

/// Statements on `events` and on the counters of their logs.
#[async_trait]
pub trait EventStatements: MemoryLogStatements {
    /// Adds to the heads of the logs of a session and of the memory, in this order, and returns them; `None` if the session is unknown or
    /// being deleted.
    async fn reserve_event_numbers(
        &mut self,
        user: UserId,
        session: SessionId,
        count: i64,
        now: Timestamp,
    ) -> Result<Option<EventNumbers>, Self::Error>;
    /// Inserts events, at least one, under numbers that were reserved in the same transaction.
    async fn insert_events(&mut self, user: UserId, session: SessionId, events: &[NewEvent]) -> Result<(), Self::Error>;
    /// Returns logs with an event from before `before`, or with at least `keep` events. Logs that another transaction is writing may be
    /// left out.
    async fn logs_to_prune(&mut self, before: Timestamp, keep: i64, limit: u32) -> Result<Vec<PrunedLog>, Self::Error>;
    /// Returns the number of the first event from `time` on, among those below `bound`.
    async fn first_event_since(&mut self, log: &PrunedLog, time: Timestamp, bound: i64) -> Result<Option<i64>, Self::Error>;
    /// Deletes the events below `floor`, which becomes the number of the oldest event unless that is higher.
    async fn delete_events_below(&mut self, log: &PrunedLog, floor: i64) -> Result<DeletedEvents, Self::Error>;
}

/// Appends events under the next numbers of the log, and returns these numbers.
///
/// # Errors
/// `NotFound` if the session is unknown or being deleted.
pub async fn append_events<T: EventStatements>(
    tx: &mut T,
    user: UserId,
    session: SessionId,
    events: &[EventDraft],
    now: Timestamp,
) -> Result<Vec<u64>, T::Error> {
    let count = signed(events.len() as u64);
    let last = tx.reserve_event_numbers(user, session, count, now).await?.ok_or(Refusal::NotFound)?;
    let numbered = events.iter().zip(last.last_of(count)).map(|(event, numbers)| NewEvent::encode(numbers, event, now));
    let numbered = numbered.collect::<Result<Vec<_>, _>>()?;
    if !numbered.is_empty() {
        tx.insert_events(user, session, &numbered).await?;
    }
    Ok(numbered.iter().map(|event| event.seq.unsigned_abs()).collect())
}

/// Removes the oldest events of some logs, and old changes of sessions. It always removes a prefix, so the rest has no gaps. Returns how
/// many it removed.
///
/// # Errors
/// If a statement fails.
pub async fn prune_events<T: EventStatements>(tx: &mut T, before: Timestamp, keep: i64) -> Result<u64, T::Error> {
    // In the order of users, whose rows are locked: otherwise two servers could wait for each other.
    let mut users: BTreeMap<UserId, (Vec<PrunedLog>, Option<i64>)> = BTreeMap::new();
    for log in tx.logs_to_prune(before, keep, PRUNE_LOGS).await? {
        users.entry(log.user).or_default().0.push(log);
    }
    for (user, last) in tx.changes_to_prune(before, PRUNE_CHANGES).await? {
        users.entry(user).or_default().1 = Some(last);
    }
    let mut removed = 0;
    for (user, (logs, changes)) in users {
        tx.act_for(user).await?;
        for log in logs {
            if removed >= PRUNE_EVENTS {
                return Ok(removed);
            }
            let bound = log.floor.saturating_add(signed(PRUNE_EVENTS - removed)).min(log.head + 1);
            // The first event that is young enough to stay. Pruning by time alone would leave gaps after the clock jumped back.
            let young = tx.first_event_since(&log, before, bound).await?;
            let floor = young.unwrap_or(bound).max(log.head.saturating_sub(keep) + 1).min(bound);
            removed += delete_events_below(tx, &log, floor).await?;
        }
        if let Some(last) = changes {
            removed += tx.delete_changes_until(user, last).await?;
            expire_until(tx, user, Some(last)).await?;
        }
    }
    Ok(removed)
}

/// Deletes the events of a log below `floor`. Returns how many.
pub(super) async fn delete_events_below<T: EventStatements>(tx: &mut T, log: &PrunedLog, floor: i64) -> Result<u64, T::Error> {
    let deleted = tx.delete_events_below(log, floor).await?;
    expire_until(tx, log.user, deleted.last).await?;
    Ok(deleted.count)
}
