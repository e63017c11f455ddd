//! Stores messages with their index entries, jobs and events, in the caller's transaction.

use std::collections::HashMap;

use sqlx::{QueryBuilder, Row, Sqlite, SqliteConnection};

use super::super::{
    account_deletion,
    codec::{Word, bytes, client_json, json, millis, signed, truncate_to_millis, vector},
    events,
    failure::Failure,
    jobs, rows, visits,
};
use recall_domain::{
    Caller, Citation, EventBody, EventDraft, Message, MessageId, MessageStatus, SessionId, Timestamp, event::MessageStored,
};
use recall_ports::{Appended, FollowUp, JobWork, NewMessage};

/// Stores the new messages and loads the known ones. Results are in the given order.
pub(super) async fn append(
    c: &mut SqliteConnection,
    caller: &Caller,
    session: SessionId,
    messages: Vec<NewMessage>,
) -> Result<Vec<Appended>, Failure> {
    let known = load_existing(c, caller, session, &messages).await?;
    // If one external id occurs several times in this call, the first message is stored and the others return it.
    let mut first: HashMap<String, usize> = HashMap::new();
    let mut fresh = Vec::new();
    let mut places = Vec::with_capacity(messages.len());
    for message in messages {
        if message.session != session {
            return Err(Failure::Unstorable("a message of another session"));
        }
        let stored_before = message.external_id.as_ref().and_then(|id| known.get(id));
        let given_before = message.external_id.as_ref().and_then(|id| first.get(id));
        let place = match (stored_before, given_before) {
            (Some(message), _) => ResultSource::Existing(Box::new(message.clone())),
            (None, Some(&at)) => ResultSource::Duplicate(at),
            (None, None) => {
                if let Some(id) = &message.external_id {
                    first.insert(id.clone(), fresh.len());
                }
                fresh.push(PendingMessage { message, answer_to: None, citations: Vec::new() });
                ResultSource::New(fresh.len() - 1)
            }
        };
        places.push(place);
    }
    let count = fresh.len();
    let stored = store(c, caller, session, fresh).await?;
    visits::use_message_quota(c, caller, count).await?;
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
async fn load_existing(
    c: &mut SqliteConnection,
    caller: &Caller,
    session: SessionId,
    messages: &[NewMessage],
) -> Result<HashMap<String, Message>, Failure> {
    let ids: Vec<&str> = messages.iter().filter_map(|m| m.external_id.as_deref()).collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let found =
        sqlx::query("SELECT * FROM messages WHERE user_id = ? AND session_id = ? AND external_id IN (SELECT value FROM json_each(?))")
            .bind(bytes(&caller.user().0))
            .bind(bytes(&session.0))
            .bind(json(&ids, "an external id")?)
            .fetch_all(c)
            .await?;
    let messages = found.iter().map(|row| Ok((row.try_get("external_id")?, rows::message(row)?)));
    messages.collect()
}

/// A message to store, and the question that it answers.
pub(in super::super) struct PendingMessage {
    pub(in super::super) message: NewMessage,
    pub(in super::super) answer_to: Option<MessageId>,
    pub(in super::super) citations: Vec<Citation>,
}

/// Stores each message with its terms, vector, `message_stored` event and job.
///
/// All numbers come from the counters of session and user, which are incremented first. So no second writer can get the same
/// numbers.
pub(in super::super) async fn store(
    c: &mut SqliteConnection,
    caller: &Caller,
    session: SessionId,
    new: Vec<PendingMessage>,
) -> Result<Vec<Message>, Failure> {
    let user = caller.user().0;
    let count = signed(new.len() as u64);
    let title = new.iter().find_map(|n| n.message.title.as_ref()).map(|t| t.as_str().to_owned());
    let latest = new.iter().map(|n| millis(n.message.created_at)).max();
    let counters = sqlx::query(
        "UPDATE sessions SET message_count = message_count + ?3, event_head = event_head + ?3,
             updated_at = MAX(updated_at, COALESCE(?4, updated_at)), title = COALESCE(title, ?5),
             oldest_event_at = COALESCE(oldest_event_at, ?6)
         WHERE user_id = ?1 AND id = ?2 AND deletion_at IS NULL RETURNING message_count, event_head",
    )
    .bind(bytes(&user))
    .bind(bytes(&session.0))
    .bind(count)
    .bind(latest)
    .bind(title)
    .bind(new.first().map(|n| millis(n.message.created_at)))
    .fetch_optional(&mut *c)
    .await?
    .ok_or(Failure::NotFound)?;
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let position = counters.try_get::<i64, _>("message_count")? - count + 1;
    let seq = counters.try_get::<i64, _>("event_head")? - count + 1;
    // The first message sets the model that searches the user's vectors. If a later message uses another model, its vectors are
    // re-embedded later.
    let counters = sqlx::query(
        "UPDATE users SET feed_head = feed_head + ?2,
             embedding_model = CASE WHEN feed_head = 0 THEN ?3 ELSE embedding_model END,
             embedding_settled = CASE WHEN feed_head = 0 THEN 1 ELSE embedding_settled AND embedding_model IS ?3 END
         WHERE id = ?1 AND erasing = 0 AND importing = 0 RETURNING feed_head, embedding_model",
    )
    .bind(bytes(&user))
    .bind(count)
    .bind(new.first().map(|n| n.message.prepared.model.as_str()))
    .fetch_optional(&mut *c)
    .await?;
    let Some(counters) = counters else {
        account_deletion::reject_while_locked(c, user).await?;
        return Err(Failure::BeingErased);
    };
    let feed_row = counters.try_get::<i64, _>("feed_head")? - count + 1;
    let in_use: Option<String> = counters.try_get("embedding_model")?;

    let single = new.len() == 1;
    let messages: Vec<Message> = new.iter().zip(position..).map(|(n, position)| as_stored(n, session, position)).collect();
    insert_messages(c, caller, &messages, feed_row).await?;

    let index = new.iter().map(|n| Ok((n, json(&n.message.prepared.terms, "index terms")?))).collect::<Result<Vec<_>, Failure>>()?;
    let mut sql = QueryBuilder::<Sqlite>::new("INSERT INTO message_index (user_id, message_id, model, terms, embedding) ");
    sql.push_values(index, |mut row, (n, terms)| {
        row.push_bind(bytes(&user)).push_bind(bytes(&n.message.id.0)).push_bind(n.message.prepared.model.as_str());
        row.push_bind(terms).push_bind(vector(&n.message.prepared.embedding.0));
    });
    sql.build().persistent(single).execute(&mut *c).await?;
    insert_extra_vectors(c, user, &new, in_use.as_deref()).await?;

    let drafts: Vec<(EventDraft, Timestamp)> = new.iter().zip(&messages).map(|(n, m)| (stored_event(n, m), m.created_at)).collect();
    let numbered: Vec<_> = drafts.iter().zip(seq..).map(|((draft, at), seq)| (seq, draft, *at)).collect();
    events::insert(c, user, session.0, &numbered).await?;

    let work: Vec<_> = new.iter().filter_map(|n| Some((job_for(&n.message)?, n.message.created_at))).collect();
    jobs::enqueue(c, caller, session, &work).await?;
    Ok(messages)
}

/// The message as it will be read back.
fn as_stored(new: &PendingMessage, session: SessionId, position: i64) -> Message {
    let m = &new.message;
    Message {
        id: m.id,
        session,
        position: position.unsigned_abs(),
        role: m.role,
        speaker: m.speaker.clone(),
        text: m.text.clone(),
        kind: m.kind,
        status: if m.mining != FollowUp::Nothing { MessageStatus::Processing } else { MessageStatus::Processed },
        sent_at: truncate_to_millis(m.sent_at),
        created_at: truncate_to_millis(m.created_at),
        source_metadata: m.source_metadata.clone(),
        external_id: m.external_id.clone(),
        answer_to: new.answer_to,
        citations: new.citations.clone(),
    }
}

async fn insert_messages(c: &mut SqliteConnection, caller: &Caller, messages: &[Message], feed_row: i64) -> Result<(), Failure> {
    let user = caller.user().0;
    let rows = messages
        .iter()
        .zip(feed_row..)
        .map(|(m, row)| {
            let metadata = m.source_metadata.as_ref().map(|v| client_json(v, "source metadata")).transpose()?;
            Ok((m, row, metadata, json(&m.citations, "citations")?))
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let mut sql = QueryBuilder::<Sqlite>::new(
        "INSERT INTO messages (user_id, id, session_id, position, feed_row, role, speaker, text, kind, status, sent_at, created_at,
                               source_metadata, external_id, answer_to, citations) ",
    );
    sql.push_values(rows, |mut row, (m, feed_row, metadata, citations)| {
        row.push_bind(bytes(&user)).push_bind(bytes(&m.id.0)).push_bind(bytes(&m.session.0));
        row.push_bind(signed(m.position)).push_bind(feed_row).push_bind(m.role.word());
        row.push_bind(m.speaker.as_deref()).push_bind(m.text.as_str()).push_bind(m.kind.map(Word::word)).push_bind(m.status.word());
        row.push_bind(millis(m.sent_at)).push_bind(millis(m.created_at)).push_bind(metadata);
        row.push_bind(m.external_id.as_deref()).push_bind(m.answer_to.as_ref().map(|id| bytes(&id.0))).push_bind(citations);
    });
    sql.build().persistent(messages.len() == 1).execute(c).await?;
    Ok(())
}

/// Stores the vectors of the model in use while another model is replacing it.
async fn insert_extra_vectors(
    c: &mut SqliteConnection,
    user: uuid::Uuid,
    new: &[PendingMessage],
    in_use: Option<&str>,
) -> Result<(), Failure> {
    for n in new.iter().filter(|n| in_use != Some(n.message.prepared.model.as_str())) {
        let further = n.message.prepared.further.iter().find(|(model, _)| in_use == Some(model.as_str()));
        if let Some((model, embedding)) = further {
            sqlx::query("INSERT INTO message_vectors (user_id, message_id, model, embedding) VALUES (?, ?, ?, ?)")
                .bind(bytes(&user))
                .bind(bytes(&n.message.id.0))
                .bind(model.as_str())
                .bind(vector(&embedding.0))
                .execute(&mut *c)
                .await?;
        }
    }
    Ok(())
}

fn stored_event(new: &PendingMessage, m: &Message) -> EventDraft {
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
