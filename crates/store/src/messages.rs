//! Stores messages with their index entries, jobs and events.

use std::collections::HashMap;

use async_trait::async_trait;

use super::{
    EventNumbers, JobStatements, NewEvent, Quota, Refusal, Transaction, UserStatements, enqueue, reject_while_locked, signed, use_quota,
};
use recall_domain::{
    Caller, EventBody, EventDraft, Message, MessageId, MessageStatus, Resource, Role, SessionId, Timestamp, UserId, context::SearchSources,
    event::MessageStored, fold,
};
use recall_ports::{Appended, Embedding, FollowUp, JobWork, NewMessage};

/// A message to store.
#[derive(Clone, Copy, Debug)]
pub struct PendingMessage<'m> {
    /// The message.
    pub message: &'m NewMessage,
    /// Whether it may be remembered. An answer is remembered only if its question is.
    pub may_be_remembered: bool,
}

/// What a session's counters are increased for.
#[derive(Clone, Copy, Debug)]
pub struct NumbersWanted<'m> {
    /// The number of messages.
    pub count: i64,
    /// The number of events.
    pub events: i64,
    /// Whether the session must store a document, or must not.
    pub document: bool,
    /// When the first message was stored.
    pub first_at: Option<Timestamp>,
    /// When the latest message was stored.
    pub latest_at: Option<Timestamp>,
    /// The title, used if the session has none.
    pub title: Option<&'m str>,
    /// The title in lower case.
    pub search: Option<&'m str>,
}

/// The counters of a session.
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    /// The position of its last message.
    pub messages: i64,
    /// The number of its last event.
    pub events: i64,
    /// Whether remembering is paused in it.
    pub paused: bool,
}

/// The counters of a user.
#[derive(Clone, Debug)]
pub struct FeedCounters {
    /// The row of the last message.
    pub head: i64,
    /// The number of the last event of the memory.
    pub memory_head: i64,
    /// The model whose vectors are in use.
    pub model: Option<String>,
    /// Whether remembering is paused for all messages of the user.
    pub paused: bool,
}

/// Statements on `messages`, `message_index` and the counters of session and user.
#[async_trait]
pub trait MessageStatements: JobStatements + UserStatements {
    /// Returns those messages of the session that have one of the external ids, at least one. No other transaction adds one until this
    /// one ends.
    async fn messages_by_external_id(&mut self, user: UserId, session: SessionId, ids: &[&str]) -> Result<Vec<Message>, Self::Error>;
    /// Increases the counters of a session and returns them; `None` if it is unknown or being deleted.
    async fn reserve_positions(
        &mut self,
        user: UserId,
        session: SessionId,
        wanted: NumbersWanted<'_>,
    ) -> Result<Option<Counters>, Self::Error>;
    /// Increases the counters of a user's messages and events and returns them; `None` if the user is unknown or locked.
    ///
    /// The first message sets the model that searches the user's vectors. If a later message uses another model, the vectors count as
    /// not settled, and are made again later.
    async fn reserve_feed_rows(&mut self, user: UserId, count: i64, events: i64, model: &str) -> Result<Option<FeedCounters>, Self::Error>;
    /// Inserts messages, at least one; `feed_row` is the row of the first.
    async fn insert_messages(&mut self, user: UserId, messages: &[Message], feed_row: i64) -> Result<(), Self::Error>;
    /// Inserts resources, at least one, with their messages and places in them.
    async fn insert_resources(&mut self, user: UserId, resources: &[(MessageId, u32, &Resource)]) -> Result<(), Self::Error>;
    /// Inserts where the answer to a message may look.
    async fn insert_answer_sources(&mut self, user: UserId, message: MessageId, sources: &SearchSources) -> Result<(), Self::Error>;
    /// Inserts the terms and vectors of messages, at least one.
    async fn insert_index(&mut self, user: UserId, messages: &[PendingMessage<'_>]) -> Result<(), Self::Error>;
    /// Inserts vectors, at least one, next to those of the index. Skips deleted messages, and those that have a vector of the model.
    async fn insert_vectors(&mut self, user: UserId, model: &str, vectors: &[(MessageId, &Embedding)]) -> Result<(), Self::Error>;
}

/// Stores the new messages and loads the known ones. Results are in the given order.
///
/// # Errors
/// `NotFound` if the session is unknown, `BeingErased` or `BeingImported` if the user is locked, `QuotaUsed` if a visitor has no
/// messages left.
pub async fn append_messages<T: MessageStatements>(
    tx: &mut T,
    caller: &Caller,
    session: SessionId,
    messages: &[NewMessage],
) -> Result<Vec<Appended>, T::Error> {
    let known = load_existing(tx, caller.user(), session, messages).await?;
    // If one external id occurs several times in this call, the first message is stored and the others return it.
    let mut first: HashMap<&str, usize> = HashMap::new();
    let mut fresh = Vec::new();
    let mut places = Vec::with_capacity(messages.len());
    for message in messages {
        if message.session != session {
            return Err(Refusal::Unstorable("a message of another session").into());
        }
        let external = message.external_id.as_deref();
        let stored_before = external.and_then(|id| known.get(id));
        let given_before = external.and_then(|id| first.get(id));
        let place = match (stored_before, given_before) {
            (Some(message), _) => ResultSource::Existing(Box::new(message.clone())),
            (None, Some(&at)) => ResultSource::Duplicate(at),
            (None, None) => {
                if let Some(id) = external {
                    first.insert(id, fresh.len());
                }
                fresh.push(PendingMessage { message, may_be_remembered: true });
                ResultSource::New(fresh.len() - 1)
            }
        };
        places.push(place);
    }
    let stored = store(tx, caller, session, &fresh).await?;
    // After `store`, which locks session and user in the fixed order.
    use_quota(tx, caller, Quota::Messages, fresh.len()).await?;
    let appended = places.into_iter().filter_map(|place| match place {
        ResultSource::New(at) => stored.get(at).map(|message| Appended { message: message.clone(), duplicate: false }),
        ResultSource::Duplicate(at) => stored.get(at).map(|message| Appended { message: message.clone(), duplicate: true }),
        ResultSource::Existing(message) => Some(Appended { message: *message, duplicate: true }),
    });
    Ok(appended.collect())
}

/// Where the result for a given message comes from.
enum ResultSource {
    /// Stored by this call; the index into the new messages.
    New(usize),
    /// A duplicate external id in this call; the index of the first one in the new messages.
    Duplicate(usize),
    /// Stored by an earlier call.
    Existing(Box<Message>),
}

/// Loads the messages of the session that already have one of the external ids.
async fn load_existing<T: MessageStatements>(
    tx: &mut T,
    user: UserId,
    session: SessionId,
    messages: &[NewMessage],
) -> Result<HashMap<String, Message>, T::Error> {
    let ids: Vec<&str> = messages.iter().filter_map(|m| m.external_id.as_deref()).collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let found = tx.messages_by_external_id(user, session, &ids).await?;
    Ok(found.into_iter().map(|m| (m.external_id.clone().unwrap_or_default(), m)).collect())
}

/// Stores each message with its resources, terms, vector, `message_stored` event and job.
///
/// All numbers come from the counters of session and user, which are increased first. So no second writer can get the same numbers.
pub(super) async fn store<T: MessageStatements>(
    tx: &mut T,
    caller: &Caller,
    session: SessionId,
    new: &[PendingMessage<'_>],
) -> Result<Vec<Message>, T::Error> {
    let user = caller.user();
    let count = signed(new.len() as u64);
    // The chunks of a document are announced together, as its progress.
    let announced: Vec<_> = new.iter().map(|n| n.message.role != Role::Document).collect();
    let events = signed(announced.iter().filter(|announced| **announced).count() as u64);
    let title = new.iter().find_map(|n| n.message.title.as_ref()).map(|title| title.as_str());
    let search = title.map(fold);
    let wanted = NumbersWanted {
        count,
        events,
        document: new.iter().any(|n| n.message.role == Role::Document),
        first_at: new.first().map(|n| n.message.created_at),
        latest_at: new.iter().map(|n| n.message.created_at).max(),
        title,
        search: search.as_deref(),
    };
    let counters = tx.reserve_positions(user, session, wanted).await?.ok_or(Refusal::NotFound)?;
    let Some(model) = new.first().map(|n| n.message.prepared.model.as_str()) else { return Ok(Vec::new()) };
    let position = counters.messages - count + 1;
    let Some(feed) = tx.reserve_feed_rows(user, count, events, model).await? else {
        reject_while_locked(tx, user).await?;
        return Err(Refusal::BeingErased.into());
    };

    let paused = counters.paused || feed.paused;
    let messages: Vec<Message> = new.iter().zip(position..).map(|(n, position)| as_stored::<T>(n, session, position, paused)).collect();
    tx.insert_messages(user, &messages, feed.head - count + 1).await?;
    let placed = new.iter().flat_map(|n| (0..).zip(&n.message.resources).map(move |(place, resource)| (n.message.id, place, resource)));
    let resources: Vec<_> = placed.collect();
    if !resources.is_empty() {
        tx.insert_resources(user, &resources).await?;
    }
    for n in new.iter().filter(|n| !n.message.answer_from.is_all()) {
        tx.insert_answer_sources(user, n.message.id, &n.message.answer_from).await?;
    }
    // A message without a text, such as an image, cannot be searched. One that is not remembered must not be found.
    let is_indexed = |(n, stored): &(&PendingMessage<'_>, &Message)| stored.remembered && !n.message.text.as_str().is_empty();
    let indexed: Vec<_> = new.iter().zip(&messages).filter(is_indexed).map(|(n, _)| *n).collect();
    if !indexed.is_empty() {
        tx.insert_index(user, &indexed).await?;
    }
    if let Some(in_use) = &feed.model {
        insert_further_vectors(tx, user, &indexed, in_use).await?;
    }

    let told = new.iter().zip(&messages).zip(&announced).filter(|(_, announced)| **announced).map(|(stored, _)| stored);
    let last = EventNumbers { seq: counters.events, memory_seq: feed.memory_head };
    let events = told.zip(last.last_of(events)).map(|((n, m), numbers)| NewEvent::encode(numbers, &stored_event(n, m), m.created_at));
    let events = events.collect::<Result<Vec<_>, _>>()?;
    if !events.is_empty() {
        tx.insert_events(user, session, &events).await?;
    }

    let work: Vec<_> = new.iter().filter_map(|n| Some((job_for(n.message)?, n.message.created_at))).collect();
    enqueue(tx, caller, session, &work).await?;
    Ok(messages)
}

/// The message as it will be read back.
fn as_stored<T: Transaction>(new: &PendingMessage<'_>, session: SessionId, position: i64, paused: bool) -> Message {
    let m = new.message;
    let has_job = job_for(m).is_some();
    Message {
        id: m.id,
        session,
        position: position.unsigned_abs(),
        role: m.role,
        speaker: m.speaker.clone(),
        text: m.text.clone(),
        kind: m.kind,
        status: if has_job { MessageStatus::Processing } else { MessageStatus::Processed },
        sent_at: T::stored_time(m.sent_at),
        created_at: T::stored_time(m.created_at),
        source_metadata: m.source_metadata.clone(),
        external_id: m.external_id.clone(),
        answer_to: m.answers.as_ref().map(|a| a.question),
        citations: m.answers.as_ref().map(|a| a.citations.clone()).unwrap_or_default(),
        nearest: m.answers.as_ref().map(|a| a.nearest.clone()).unwrap_or_default(),
        remembered: new.may_be_remembered && (!paused || m.role == Role::Document || m.mining == FollowUp::Asserted),
    }
}

/// Stores the vectors of the model in use while another model is replacing it.
async fn insert_further_vectors<T: MessageStatements>(
    tx: &mut T,
    user: UserId,
    new: &[PendingMessage<'_>],
    in_use: &str,
) -> Result<(), T::Error> {
    let further = new.iter().filter(|n| n.message.prepared.model != in_use).filter_map(|n| {
        let (_, embedding) = n.message.prepared.further.iter().find(|(model, _)| model == in_use)?;
        Some((n.message.id, embedding))
    });
    let vectors: Vec<_> = further.collect();
    if vectors.is_empty() { Ok(()) } else { tx.insert_vectors(user, in_use, &vectors).await }
}

fn stored_event(new: &PendingMessage<'_>, m: &Message) -> EventDraft {
    let body = MessageStored {
        session_id: m.session,
        message_id: m.id,
        role: m.role,
        speaker: m.speaker.clone(),
        text: m.text.clone(),
        status: m.status,
        sent_at: m.sent_at,
        created_at: m.created_at,
        client_message_id: m.external_id.clone(),
        answer_to: m.answer_to,
        remembered: m.remembered,
    };
    EventDraft { id: new.message.event, body: EventBody::MessageStored(body) }
}

/// The job that extracts facts from a message.
fn job_for(m: &NewMessage) -> Option<JobWork> {
    match m.mining {
        FollowUp::Nothing | FollowUp::Asserted => None,
        FollowUp::Facts => Some(JobWork::Understand { message: m.id, answer: false }),
        FollowUp::Parse => Some(JobWork::Parse(m.id)),
        FollowUp::Compare => Some(JobWork::Compare(m.id)),
        FollowUp::FactsAndAnswer => Some(JobWork::Understand { message: m.id, answer: true }),
    }
}
