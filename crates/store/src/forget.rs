//! Forgets facts and messages in one transaction, undoes that, and deletes for good.
//!
//! Messages stay where they are: a mark hides them in the views `visible_…`. Facts, evidence and mentions move into a record, so that
//! statements that weigh facts or count mentions never meet them. Entities that nothing else mentions get a mark.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    EvidenceKey, ForgetStatements, ForgettingRow, PrunedLog, Refusal, Treatment, append_events, enqueue, events::delete_events_below, json,
    reject_while_locked, signed,
};
use recall_domain::{
    Caller, EntityId, EventDraft, Evidence, ForgettingId, MessageId, MessageStatus, SessionId, Timestamp, UndoableForgetting, UserId,
};
use recall_ports::{ForgetPlan, Forgetting, ForgottenKnowledge, ForgottenMention, JobWork, ReplacedTitle, RestorePlan};

/// The content of the column `record`.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    knowledge: ForgottenKnowledge,
    mentions: Vec<ForgottenMention>,
    /// The first messages of the entities whose mentions were deleted.
    first_messages: Vec<(EntityId, MessageId)>,
    /// The clients' ids of hidden messages. Meanwhile, a client may store such a message again.
    external_ids: Vec<(MessageId, String)>,
    /// The titles that quoted the messages.
    titles: Vec<ReplacedTitle>,
    /// Each log with the number of its last event that still names what is forgotten.
    logs: Vec<(SessionId, u64)>,
}

/// Commits a forgetting. Earlier forgettings of the same messages become final.
///
/// # Errors
/// `Stale` if the knowledge or the messages changed since the plan was made; `BeingErased` or `BeingImported` if the user is locked.
pub async fn forget<T: ForgetStatements>(tx: &mut T, user: UserId, plan: &ForgetPlan) -> Result<(), T::Error> {
    lock_and_void(tx, user, &plan.events, plan.version).await?;
    let messages: Vec<MessageId> = plan.hidden.iter().chain(&plan.redacted).copied().collect();
    let mut record = Record { knowledge: plan.knowledge.clone(), titles: plan.titles.clone(), ..Record::default() };
    for title in &plan.titles {
        tx.replace_title(user, title.session, Some(&title.before), title.after.as_ref()).await?;
    }
    if !messages.is_empty() {
        for earlier in tx.forgettings_of(user, &messages).await? {
            if let Some(row) = tx.lock_forgetting(user, earlier).await? {
                purge(tx, user, &row).await?;
            }
        }
        for job in tx.jobs_of_messages(user, &messages).await? {
            super::jobs::finish(tx, &job, plan.now).await?;
        }
        remove_mentions(tx, user, plan, &messages, &mut record).await?;
    }
    remove_knowledge(tx, user, &plan.knowledge).await?;
    if !plan.hidden.is_empty() {
        record.external_ids = tx.external_ids(user, &plan.hidden).await?;
    }
    for (list, treatment) in [(&plan.hidden, Treatment::Hidden), (&plan.redacted, Treatment::Redacted)] {
        if !list.is_empty() && tx.mark_forgotten(user, list, treatment, plan.id).await? < list.len() as u64 {
            return Err(Refusal::Stale.into());
        }
    }
    let entities = touched_entities(&record);
    if !entities.is_empty() {
        tx.hide_unused_entities(user, &entities, plan.id).await?;
    }
    for (session, events) in &plan.events {
        let head = begin_log_again(tx, user, *session, events, plan.now).await?;
        record.logs.push((*session, head));
    }
    let row = ForgettingRow { id: plan.id, created_at: plan.now, until: plan.until, record: json(&record, "a record")? };
    tx.insert_forgetting(user, &row).await
}

/// Locks sessions in the order of their ids, voids indexes and counts one more commit.
async fn lock_and_void<T: ForgetStatements>(
    tx: &mut T,
    user: UserId,
    events: &[(SessionId, Vec<EventDraft>)],
    version: u64,
) -> Result<(), T::Error> {
    reject_while_locked(tx, user).await?;
    let sessions: BTreeSet<SessionId> = events.iter().map(|(session, _)| *session).collect();
    for session in sessions {
        if !tx.lock_session(user, session).await? {
            return Err(Refusal::Stale.into());
        }
    }
    if !tx.void_indexes(user, Some(version)).await? {
        reject_while_locked(tx, user).await?;
        return Err(Refusal::Stale.into());
    }
    Ok(())
}

/// Moves the mentions in forgotten messages into the record, and subtracts them from the counts of their entities.
async fn remove_mentions<T: ForgetStatements>(
    tx: &mut T,
    user: UserId,
    plan: &ForgetPlan,
    messages: &[MessageId],
    record: &mut Record,
) -> Result<(), T::Error> {
    let kept: BTreeSet<_> = plan.kept_mentions.iter().copied().collect();
    record.mentions = tx.full_mentions_in(user, messages).await?;
    record.mentions.retain(|m| !kept.contains(&(m.message, m.entity)));
    if record.mentions.is_empty() {
        return Ok(());
    }
    let counts = count_mentions(&record.mentions);
    let entities: Vec<_> = counts.iter().map(|(entity, _)| *entity).collect();
    record.first_messages = tx.first_messages(user, &entities).await?;
    let rows: Vec<_> = record.mentions.iter().map(|m| (m.message, m.ordinal)).collect();
    tx.delete_mention_rows(user, &rows).await?;
    tx.subtract_mentions(user, &counts, messages).await
}

/// The number of messages that mention each entity, however often.
fn count_mentions(mentions: &[ForgottenMention]) -> Vec<(EntityId, u32)> {
    let pairs: BTreeSet<_> = mentions.iter().map(|m| (m.entity, m.message)).collect();
    let mut counts = BTreeMap::new();
    for (entity, _) in pairs {
        *counts.entry(entity).or_insert(0u32) += 1;
    }
    counts.into_iter().collect()
}

async fn remove_knowledge<T: ForgetStatements>(tx: &mut T, user: UserId, knowledge: &ForgottenKnowledge) -> Result<(), T::Error> {
    let rows: Vec<_> = knowledge.evidence.iter().map(evidence_key).collect();
    if !rows.is_empty() {
        tx.delete_evidence_rows(user, &rows).await?;
    }
    let blank: Vec<_> = knowledge.excerpts.iter().map(|e| (evidence_key(e), "")).collect();
    if !blank.is_empty() {
        tx.set_excerpts(user, &blank).await?;
    }
    let changed: Vec<_> = knowledge.changed.iter().map(|(_, after)| after.clone()).collect();
    if !changed.is_empty() {
        tx.upsert_facts(user, &changed).await?;
    }
    let facts: Vec<_> = knowledge.facts.iter().map(|fact| fact.id).collect();
    if !facts.is_empty() {
        tx.delete_facts(user, &facts).await?;
    }
    Ok(())
}

fn evidence_key(e: &Evidence) -> EvidenceKey {
    EvidenceKey { fact: e.fact, message: e.message, stance: e.stance }
}

/// The entities that may be unused without what is in the record.
fn touched_entities(record: &Record) -> Vec<EntityId> {
    let sides = record.knowledge.facts.iter().flat_map(|fact| [fact.subject, fact.object]);
    let entities: BTreeSet<_> = sides.chain(record.mentions.iter().map(|m| m.entity)).collect();
    entities.into_iter().collect()
}

/// Appends events to a log and deletes the older ones, which may contain what is forgotten. Returns the number of the last event.
///
/// Readers that have not read the deleted ones learn of the gap and load the session again.
async fn begin_log_again<T: ForgetStatements>(
    tx: &mut T,
    user: UserId,
    session: SessionId,
    events: &[EventDraft],
    now: Timestamp,
) -> Result<u64, T::Error> {
    let head = append_events(tx, user, session, events, now).await?.last().copied().ok_or(Refusal::Unstorable("no event"))?;
    let floor = head - events.len() as u64 + 1;
    delete_events_below(tx, &PrunedLog { user, session, head: signed(head), floor: 0 }, signed(floor)).await?;
    Ok(head)
}

/// Reads a forgetting.
///
/// # Errors
/// `Damaged` if the record cannot be read.
pub fn read_forgetting(row: &ForgettingRow, messages: Vec<(MessageId, SessionId)>) -> Result<Forgetting, Refusal> {
    Ok(Forgetting { id: row.id, until: row.until, messages, knowledge: record(row)?.knowledge })
}

fn record(row: &ForgettingRow) -> Result<Record, Refusal> {
    // The parser's own error may quote the text, which belongs to the user.
    serde_json::from_str(&row.record).map_err(|_| Refusal::Damaged { table: "forgettings", column: "record" })
}

/// Undoes a forgetting.
///
/// # Errors
/// `NotFound` if it is unknown or expired; otherwise like [`forget`].
pub async fn restore_forgotten<T: ForgetStatements>(tx: &mut T, caller: &Caller, plan: &RestorePlan) -> Result<(), T::Error> {
    let user = caller.user();
    lock_and_void(tx, user, &plan.events, plan.version).await?;
    let row = tx.lock_forgetting(user, plan.id).await?.filter(|row| plan.now < row.until).ok_or(Refusal::NotFound)?;
    let record = record(&row)?;
    let messages = tx.forgotten_messages(user, plan.id).await?;
    tx.clear_forgotten(user, plan.id).await?;
    for title in &record.titles {
        tx.replace_title(user, title.session, title.after.as_ref(), Some(&title.before)).await?;
    }
    if !record.external_ids.is_empty() {
        tx.restore_external_ids(user, &record.external_ids).await?;
    }
    let there: BTreeSet<MessageId> = messages.iter().map(|m| m.id).collect();
    let mentions: Vec<_> = record.mentions.into_iter().filter(|m| there.contains(&m.message)).collect();
    // What returns may name an entity that a later forgetting hid.
    let sides = plan.facts.iter().flat_map(|f| [f.subject, f.object]);
    let used: BTreeSet<EntityId> = sides.chain(mentions.iter().map(|m| m.entity)).collect();
    let entities = tx.show_entities(user, plan.id, &used.into_iter().collect::<Vec<_>>()).await?;
    if !plan.facts.is_empty() {
        tx.upsert_facts(user, &plan.facts).await?;
    }
    if !plan.evidence.is_empty() {
        tx.insert_evidence(user, &plan.evidence).await?;
    }
    let excerpts: Vec<_> = plan.excerpts.iter().map(|e| (evidence_key(e), e.excerpt.as_str())).collect();
    if !excerpts.is_empty() {
        tx.set_excerpts(user, &excerpts).await?;
    }
    if !mentions.is_empty() {
        tx.insert_mention_rows(user, &mentions).await?;
        tx.add_mentions(user, &count_mentions(&mentions)).await?;
        if !record.first_messages.is_empty() {
            tx.set_first_messages(user, &record.first_messages).await?;
        }
    }
    if !entities.is_empty() {
        // Those whose messages were deleted in the meantime.
        tx.delete_unused_entities(user, &entities).await?;
    }
    for m in messages.iter().filter(|m| m.status == MessageStatus::Processing) {
        let work = JobWork::Understand { message: m.id, answer: false };
        enqueue(tx, caller, m.session, &[(work, plan.now)]).await?;
    }
    for (session, events) in &plan.events {
        append_events(tx, user, *session, events, plan.now).await?;
    }
    for (reply, metadata) in tx.metadata_of_replies(user, command_of(plan.id)).await? {
        // Metadata that cannot be read is that of a client.
        let metadata = serde_json::from_str(&metadata).unwrap_or_default();
        if let Some(undone) = UndoableForgetting::undone(metadata, plan.id, plan.now) {
            tx.set_metadata(user, reply, &json(&undone, "metadata of a reply")?).await?;
        }
    }
    tx.delete_forgetting(user, plan.id).await
}

/// The command of a forgetting, if a message commanded it. Its forgetting has the same id.
fn command_of(id: ForgettingId) -> MessageId {
    MessageId(id.0)
}

/// Deletes what was forgotten for good, but not before the reply to its command is stored: a repeated attempt looks for it.
///
/// # Errors
/// If a statement fails.
pub async fn purge_forgotten<T: ForgetStatements>(tx: &mut T, user: UserId, id: ForgettingId, now: Timestamp) -> Result<(), T::Error> {
    match tx.lock_forgetting(user, id).await? {
        Some(row) if row.until <= now && tx.jobs_of_messages(user, &[command_of(id)]).await?.is_empty() => purge(tx, user, &row).await,
        _ => Ok(()),
    }
}

async fn purge<T: ForgetStatements>(tx: &mut T, user: UserId, row: &ForgettingRow) -> Result<(), T::Error> {
    let (id, record) = (row.id, record(row)?);
    // The events of the forgetting itself name the facts. All sessions are locked before the user, whose log gets another floor.
    let mut logs = BTreeMap::new();
    for (session, head) in record.logs.iter().copied().collect::<BTreeMap<_, _>>() {
        if tx.lock_session(user, session).await? {
            logs.insert(session, head);
        }
    }
    for (session, head) in logs {
        let log = PrunedLog { user, session, head: signed(head), floor: 0 };
        delete_events_below(tx, &log, signed(head + 1)).await?;
    }
    let mut hidden = Vec::new();
    let mut redacted = Vec::new();
    for m in tx.forgotten_messages(user, id).await? {
        if m.treatment == Treatment::Hidden { hidden.push(m.id) } else { redacted.push(m.id) }
    }
    for gone in [&hidden, &redacted] {
        if !gone.is_empty() {
            tx.delete_summaries(user, gone).await?;
        }
    }
    let mut merged = BTreeSet::new();
    if !hidden.is_empty() {
        merged.extend(tx.merges_with_messages(user, &hidden).await?);
        tx.delete_messages(user, &hidden).await?;
    }
    if !redacted.is_empty() {
        tx.erase_texts(user, &redacted).await?;
    }
    let facts: Vec<_> = record.knowledge.facts.iter().map(|fact| fact.id).collect();
    if !facts.is_empty() {
        tx.delete_merged_facts(user, &facts).await?;
    }
    tx.show_entities(user, id, &[]).await?;
    let entities = touched_entities(&record);
    if !entities.is_empty() {
        merged.extend(tx.entities_merged_into(user, &entities).await?);
    }
    let merged: Vec<_> = merged.into_iter().collect();
    if !merged.is_empty() {
        tx.delete_unused_merge_records(user, &merged).await?;
    }
    if !entities.is_empty() {
        tx.delete_unused_entities(user, &entities).await?;
    }
    tx.delete_forgetting(user, id).await
}
