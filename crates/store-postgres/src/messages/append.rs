//! Stores messages with their index entries, jobs and events, in the caller's transaction.

use std::{borrow::Cow, collections::HashMap};

use pgvector::Vector;
use sqlx::PgConnection;
use uuid::Uuid;

use super::super::{
    account_deletion,
    codec::{self, Word, client_json, json, signed, time},
    events,
    failure::Failure,
    jobs,
    rows::{self, MessageRow},
    sessions, visits,
};
use recall_domain::{
    Caller, Citation, EventBody, EventDraft, Message, MessageId, MessageStatus, SessionId, Timestamp, event::MessageStored,
};
use recall_ports::{Appended, FollowUp, JobWork, NewMessage};

/// Stores the new messages and loads the known ones. Results are in the given order.
pub(super) async fn append(
    c: &mut PgConnection,
    caller: &Caller,
    session: SessionId,
    messages: &[NewMessage],
) -> Result<Vec<Appended>, Failure> {
    let known = load_existing(c, caller, session, messages).await?;
    // If one external id occurs several times in this call, the first message is stored and the others return it.
    let mut first: HashMap<&str, usize> = HashMap::new();
    let mut fresh = Vec::new();
    let mut places = Vec::with_capacity(messages.len());
    for message in messages {
        if message.session != session {
            return Err(Failure::Unstorable("a message of another session"));
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
                fresh.push(PendingMessage { message, answer_to: None, citations: &[] });
                ResultSource::New(fresh.len() - 1)
            }
        };
        places.push(place);
    }
    let stored = store(c, caller, session, &fresh).await?;
    // After `store`, which locks session and user in the fixed order.
    visits::use_message_quota(c, caller, fresh.len()).await?;
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
///
/// Locks the session first, so that no message is stored after the read.
async fn load_existing(
    c: &mut PgConnection,
    caller: &Caller,
    session: SessionId,
    messages: &[NewMessage],
) -> Result<HashMap<String, Message>, Failure> {
    let ids = codec::texts(messages.iter().filter_map(|m| m.external_id.as_deref()));
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    sessions::lock(c, caller.user().0, session.0).await?;
    let found = rows::messages!("WHERE user_id = $1 AND session_id = $2 AND external_id = ANY($3)", caller.user().0, session.0, &ids[..]);
    let found = found.fetch_all(c).await?.into_iter().map(MessageRow::read);
    let messages = found.map(|m| m.map(|m| (m.external_id.clone().unwrap_or_default(), m)));
    messages.collect()
}

/// A message to store, and the question that it answers.
pub(in super::super) struct PendingMessage<'a> {
    pub(in super::super) message: &'a NewMessage,
    pub(in super::super) answer_to: Option<MessageId>,
    pub(in super::super) citations: &'a [Citation],
}

/// Stores each message with its terms, vector, `message_stored` event and job.
///
/// All numbers come from the counters of session and user, which are incremented first. This locks both rows until the end.
pub(in super::super) async fn store(
    c: &mut PgConnection,
    caller: &Caller,
    session: SessionId,
    new: &[PendingMessage<'_>],
) -> Result<Vec<Message>, Failure> {
    let user = caller.user().0;
    let count = signed(new.len() as u64);
    let title = codec::opt_text(new.iter().find_map(|n| n.message.title.as_ref()).map(|t| t.as_str()));
    let counters = sqlx::query!(
        "UPDATE sessions SET message_count = message_count + $3, event_head = event_head + $3,
             updated_at = greatest(updated_at, $4), title = coalesce(title, $5), oldest_event_at = coalesce(oldest_event_at, $6)
         WHERE user_id = $1 AND id = $2 AND deletion_at IS NULL RETURNING message_count, event_head",
        user,
        session.0,
        count,
        new.iter().map(|n| time(n.message.created_at)).max(),
        title.as_deref(),
        new.first().map(|n| time(n.message.created_at)),
    );
    let counters = counters.fetch_optional(&mut *c).await?.ok_or(Failure::NotFound)?;
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let position = counters.message_count - count + 1;
    let seq = counters.event_head - count + 1;
    // The first message sets the model that searches the user's vectors. If a later message uses another model, its vectors are
    // re-embedded later.
    let counters = sqlx::query!(
        "UPDATE users SET feed_head = feed_head + $2,
             embedding_model = CASE WHEN feed_head = 0 THEN $3 ELSE embedding_model END,
             embedding_settled = feed_head = 0 OR embedding_settled AND embedding_model IS NOT DISTINCT FROM $3
         WHERE id = $1 AND NOT erasing AND NOT importing RETURNING feed_head, embedding_model",
        user,
        count,
        new.first().map(|n| n.message.prepared.model.as_str()),
    );
    let Some(counters) = counters.fetch_optional(&mut *c).await? else {
        account_deletion::reject_while_locked(c, user).await?;
        return Err(Failure::BeingErased);
    };
    let (feed_head, in_use) = (counters.feed_head, counters.embedding_model);

    let messages: Vec<Message> = new.iter().zip(position..).map(|(n, position)| as_stored(n, session, position)).collect();
    insert_messages(c, caller, session, &messages, feed_head - count + 1).await?;
    insert_index(c, caller, new).await?;
    insert_extra_vectors(c, user, new, in_use.as_deref()).await?;

    let drafts: Vec<(EventDraft, Timestamp)> = new.iter().zip(&messages).map(|(n, m)| (stored_event(n, m), m.created_at)).collect();
    let numbered: Vec<_> = drafts.iter().zip(seq..).map(|((draft, at), seq)| (seq, draft, *at)).collect();
    events::insert(c, user, session.0, &numbered).await?;

    let work: Vec<_> = new.iter().filter_map(|n| Some((job_for(n.message)?, n.message.created_at))).collect();
    jobs::enqueue(c, caller, session, &work).await?;
    Ok(messages)
}

/// The message as it will be read back.
fn as_stored(new: &PendingMessage<'_>, session: SessionId, position: i64) -> Message {
    let m = new.message;
    Message {
        id: m.id,
        session,
        position: position.unsigned_abs(),
        role: m.role,
        speaker: m.speaker.clone(),
        text: m.text.clone(),
        kind: m.kind,
        status: if m.mining != FollowUp::Nothing { MessageStatus::Processing } else { MessageStatus::Processed },
        sent_at: time(m.sent_at),
        created_at: time(m.created_at),
        source_metadata: m.source_metadata.clone(),
        external_id: m.external_id.clone(),
        answer_to: new.answer_to,
        citations: new.citations.to_vec(),
    }
}

/// Inserts any number of messages with one statement. Each column is an array.
async fn insert_messages(
    c: &mut PgConnection,
    caller: &Caller,
    session: SessionId,
    messages: &[Message],
    feed_row: i64,
) -> Result<(), Failure> {
    let (mut metadata, mut citations) = (Vec::with_capacity(messages.len()), Vec::with_capacity(messages.len()));
    for m in messages {
        metadata.push(m.source_metadata.as_ref().map(|v| client_json(v, "source metadata")).transpose()?);
        citations.push(Cow::Owned(json(&m.citations, "citations")?));
    }
    let first = messages.first().map_or(1, |m| signed(m.position));
    let insert = sqlx::query!(
        "INSERT INTO messages (user_id, session_id, position, feed_row, id, role, speaker, text, kind, status, sent_at, created_at,
                               source_metadata, external_id, answer_to, citations)
         SELECT $1, $2, $3::bigint + place - 1, $4::bigint + place - 1, id, role, speaker, text, kind, status, sent_at, created_at,
                metadata::json, external_id, answer_to, citations::json
         FROM unnest($5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[],
                     $13::text[], $14::text[], $15::uuid[], $16::text[]) WITH ORDINALITY
              AS m (id, role, speaker, text, kind, status, sent_at, created_at, metadata, external_id, answer_to, citations, place)",
        caller.user().0,
        session.0,
        first,
        feed_row,
        &column(messages, |m| m.id.0)[..],
        &codec::texts(messages.iter().map(|m| m.role.word()))[..],
        &column(messages, |m| codec::opt_text(m.speaker.as_deref())) as &[Option<Cow<'_, str>>],
        &codec::texts(messages.iter().map(|m| m.text.as_str()))[..],
        &column(messages, |m| m.kind.map(Word::word)) as &[Option<&str>],
        &codec::texts(messages.iter().map(|m| m.status.word()))[..],
        &column(messages, |m| m.sent_at)[..],
        &column(messages, |m| m.created_at)[..],
        &metadata as &[Option<String>],
        &column(messages, |m| codec::opt_text(m.external_id.as_deref())) as &[Option<Cow<'_, str>>],
        &column(messages, |m| m.answer_to.map(|id| id.0)) as &[Option<Uuid>],
        &citations[..],
    );
    insert.execute(c).await?;
    Ok(())
}

async fn insert_index(c: &mut PgConnection, caller: &Caller, new: &[PendingMessage<'_>]) -> Result<(), Failure> {
    let terms = new.iter().map(|n| json(&n.message.prepared.terms, "index terms").map(Cow::Owned)).collect::<Result<Vec<_>, _>>()?;
    let vector = |n: &PendingMessage<'_>| Some(&n.message.prepared.embedding.0).filter(|v| !v.is_empty()).cloned().map(Vector::from);
    let insert = sqlx::query!(
        "INSERT INTO message_index (user_id, message_id, model, terms, embedding, dimensions)
         SELECT $1, id, model, terms::json, embedding, coalesce(vector_dims(embedding), 0)
         FROM unnest($2::uuid[], $3::text[], $4::text[], $5::vector[]) AS i (id, model, terms, embedding)",
        caller.user().0,
        &column(new, |n| n.message.id.0)[..],
        &column(new, |n| Cow::Borrowed(n.message.prepared.model.as_str()))[..],
        &terms[..],
        &column(new, vector) as &[Option<Vector>],
    );
    insert.execute(c).await?;
    Ok(())
}

/// Stores the vectors of the model in use while another model is replacing it.
async fn insert_extra_vectors(c: &mut PgConnection, user: Uuid, new: &[PendingMessage<'_>], in_use: Option<&str>) -> Result<(), Failure> {
    let further = new.iter().filter(|n| in_use != Some(n.message.prepared.model.as_str())).filter_map(|n| {
        let (_, embedding) = n.message.prepared.further.iter().find(|(model, _)| in_use == Some(model.as_str()))?;
        Some((n.message.id.0, Vector::from(embedding.0.clone())))
    });
    let (ids, vectors): (Vec<_>, Vec<_>) = further.unzip();
    if ids.is_empty() {
        return Ok(());
    }
    let insert = sqlx::query!(
        "INSERT INTO message_vectors (user_id, message_id, model, embedding, dimensions)
         SELECT $1, id, $2, embedding, vector_dims(embedding) FROM unnest($3::uuid[], $4::vector[]) AS v (id, embedding)",
        user,
        in_use,
        &ids[..],
        &vectors as &[Vector],
    );
    insert.execute(c).await?;
    Ok(())
}

fn column<'a, T, U>(items: &'a [T], of: impl Fn(&'a T) -> U) -> Vec<U> {
    items.iter().map(of).collect()
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
    };
    EventDraft { id: new.message.event, body: EventBody::MessageStored(body) }
}

/// The job that extracts facts from a message.
fn job_for(m: &NewMessage) -> Option<JobWork> {
    match m.mining {
        FollowUp::Nothing => None,
        FollowUp::Facts => Some(JobWork::Understand { message: m.id, answer: false }),
        FollowUp::FactsAndAnswer => Some(JobWork::Understand { message: m.id, answer: true }),
    }
}
