//! Stores messages: checks, indexes and writes them in one transaction. The durable queue extracts facts later.

use std::{borrow::Cow, collections::HashSet, time::Duration};

use super::{check, error::UseCaseError, forget_command::forget_command, resources::add_links, shared, use_cases::UseCases};
use recall_domain::{
    Caller, DocumentId, EventId, Message, MessageId, MessageKind, Resource, Role, SessionId, Timestamp, UserText,
    context::{SearchSource, SearchSources},
};
use recall_ports::{Appended, FollowUp, IndexEntry, NewMessage};
use recall_text::{ASKS, CONSULTS};
use unicode_segmentation::UnicodeSegmentation;

/// Most messages in one import.
pub const MAX_IMPORT: usize = 500;
/// How far a client's clock may be ahead.
const MAX_AHEAD: Duration = Duration::from_secs(24 * 3600);

/// A message as a client sends it.
#[derive(Clone, Debug)]
pub struct SendMessage {
    /// The conversation.
    pub session: SessionId,
    /// The text.
    pub text: String,
    /// Who writes it.
    pub role: Role,
    /// The speaker, if not the user.
    pub speaker: Option<String>,
    /// When it was said; default: now.
    pub sent_at: Option<Timestamp>,
    /// Data that the client stores with it.
    pub source_metadata: Option<serde_json::Value>,
    /// The client's id of the message.
    pub client_message_id: Option<String>,
    /// What the client sends with the text. A message with a resource needs no text.
    pub resources: Vec<Resource>,
    /// Where the answer may look, if the message is answered.
    pub answer_from: SearchSources,
}

impl UseCases {
    /// Stores a message and queues its processing. A repeated `client_message_id` returns the first message.
    ///
    /// # Errors
    /// `Invalid` for bad input, `NotFound` for a session that is not the caller's. Nothing is stored on an error.
    pub async fn send(&self, caller: &Caller, message: SendMessage) -> Result<Message, UseCaseError> {
        self.check_sources(caller, &message.answer_from).await?;
        let session = message.session;
        // A question from another speaker in a recorded conversation is not addressed to the assistant.
        let mining = match (message.role, &message.speaker) {
            (Role::Assistant | Role::Document, _) => FollowUp::Nothing,
            (Role::User, Some(_)) => FollowUp::Facts,
            (Role::User, None) => FollowUp::FactsAndAnswer,
        };
        let stored = self.keep(caller, session, vec![(message, mining)]).await?;
        stored.into_iter().next().map(|a| a.message).ok_or_else(|| UseCaseError::Internal { cause: "the store kept nothing".into() })
    }

    /// Checks where an answer may look: the collections have valid names, and the caller may read the documents.
    async fn check_sources(&self, caller: &Caller, sources: &SearchSources) -> Result<(), UseCaseError> {
        for name in &sources.collections {
            check::collection(name, "collections")?;
        }
        let mut missing: HashSet<DocumentId> = sources.documents.iter().copied().collect();
        if missing.is_empty() {
            return Ok(());
        }
        let whose = std::iter::once(*caller).chain(self.shared_reader(caller).await?);
        for whose in whose {
            let ids: Vec<DocumentId> = missing.iter().copied().collect();
            for document in self.parts.store.documents_by_id(&whose, &ids).await? {
                missing.remove(&document.id);
            }
            if missing.is_empty() {
                return Ok(());
            }
        }
        Err(UseCaseError::NotFound { noun: "document" })
    }

    /// Stores up to [`MAX_IMPORT`] messages of a past conversation, in order, all or none. Questions are not answered.
    ///
    /// # Errors
    /// As [`UseCases::send`]. One bad message refuses the whole import, and its place is part of the path of the error.
    pub async fn import(&self, caller: &Caller, session: SessionId, messages: Vec<SendMessage>) -> Result<Vec<Message>, UseCaseError> {
        if messages.is_empty() || messages.len() > MAX_IMPORT {
            let n = messages.len();
            let message = format!("An import of {n} messages is not possible. Send 1 to {MAX_IMPORT} at a time.");
            return Err(UseCaseError::invalid("IMPORT_SIZE", "messages", message));
        }
        let latest = self.latest_time();
        for (i, m) in messages.iter().enumerate() {
            check_message(m, latest).map_err(|e| e.within(&format!("messages.{i}")))?;
        }
        let mining = |m: &SendMessage| if m.role == Role::User { FollowUp::Facts } else { FollowUp::Nothing };
        let messages = messages
            .into_iter()
            .map(|m| {
                let how = mining(&m);
                (m, how)
            })
            .collect();
        Ok(self.keep(caller, session, messages).await?.into_iter().map(|a| a.message).collect())
    }

    /// The latest time at which a message may have been sent.
    fn latest_time(&self) -> Timestamp {
        self.parts.clock.now() + chrono::Duration::from_std(MAX_AHEAD).unwrap_or_default()
    }

    pub(super) async fn keep(
        &self,
        caller: &Caller,
        session: SessionId,
        messages: Vec<(SendMessage, FollowUp)>,
    ) -> Result<Vec<Appended>, UseCaseError> {
        let messages = self.new_messages(caller, session, messages).await?;
        self.append(caller, session, messages).await
    }

    /// Stores prepared messages.
    pub(super) async fn append(
        &self,
        caller: &Caller,
        session: SessionId,
        messages: Vec<NewMessage>,
    ) -> Result<Vec<Appended>, UseCaseError> {
        let stored = self.parts.store.append(caller, session, messages).await.map_err(|e| UseCaseError::of(e, "session"))?;
        // The words of a command to forget are soon removed.
        let stays = |m: &Message| m.remembered && forget_command(m.text.as_str()).is_none();
        let new = stored.iter().filter(|a| !a.duplicate && stays(&a.message)).map(|a| a.message.id);
        self.encode_when_idle(caller, new);
        if stored.iter().any(|a| !a.duplicate) {
            metrics::counter!("recall_messages_total").increment(stored.iter().filter(|a| !a.duplicate).count() as u64);
            self.parts.wake.notify_one();
        }
        Ok(stored)
    }

    /// Checks messages and prepares them for the store.
    pub(super) async fn new_messages(
        &self,
        caller: &Caller,
        session: SessionId,
        messages: Vec<(SendMessage, FollowUp)>,
    ) -> Result<Vec<NewMessage>, UseCaseError> {
        shared::may_write(caller)?;
        let now = self.parts.clock.now();
        let latest = self.latest_time();
        let mut speakers = Vec::with_capacity(messages.len());
        for (m, _) in &messages {
            speakers.push(check_message(m, latest)?.map(|name| self.masked(&name).into_owned()));
        }
        let messages = self.mask_messages(messages).await?;
        // The text is indexed without the speaker's name, which would make all texts of a speaker similar. The name is matched separately.
        let texts: Vec<UserText> = messages.iter().map(|(m, _)| UserText::from(m.text.as_str())).collect();
        let prepared = self.prepare(&texts).await?;
        let rows = messages
            .into_iter()
            .zip(speakers)
            .zip(prepared)
            .enumerate()
            .map(|(i, (((mut m, mining), speaker), mut prepared))| {
                let answer_from = if mining == FollowUp::FactsAndAnswer { m.answer_from } else { SearchSources::default() };
                // A message that is limited to documents is a search, also if it is only a few words.
                let is_search = answer_from.names_documents() || !answer_from.include(SearchSource::Messages);
                // What is told before a question is no part of it.
                let is_question = prepared.terms.iter().any(|(term, _)| term == ASKS) && m.text.unicode_sentences().count() == 1;
                if mining == FollowUp::FactsAndAnswer && (is_search || is_question) {
                    mark_consultation(&mut prepared);
                }
                add_links(&mut m.resources, &m.text, || self.parts.ids.fresh());
                NewMessage {
                    id: MessageId(self.parts.ids.fresh()),
                    session,
                    role: m.role,
                    title: (m.role == Role::User && !m.text.is_empty()).then(|| UserText::from(check::title_of(&m.text))),
                    // Undated messages of an import keep their order.
                    sent_at: m.sent_at.map_or(now + chrono::Duration::milliseconds(i as i64), whole_millis),
                    created_at: now,
                    source_metadata: m.source_metadata,
                    external_id: m.client_message_id,
                    prepared,
                    mining,
                    answer_from,
                    kind: is_search.then_some(MessageKind::Question),
                    event: EventId(self.parts.ids.fresh()),
                    text: UserText::from(m.text),
                    resources: m.resources,
                    speaker,
                    answers: None,
                }
            })
            .collect();
        Ok(rows)
    }
}

/// Most bytes of text that are masked on the threads of requests. It takes a millisecond, whatever the text.
const MASKED_AT_ONCE: usize = 2 * 1024;

impl UseCases {
    /// Replaces what is never stored in messages.
    async fn mask_messages(&self, mut messages: Vec<(SendMessage, FollowUp)>) -> Result<Vec<(SendMessage, FollowUp)>, UseCaseError> {
        let usecases = self.clone();
        let bytes: usize = messages.iter().map(|(m, _)| m.text.len()).sum();
        let mask = move || {
            for (m, _) in &mut messages {
                if let Cow::Owned(masked) = usecases.masked(&m.text) {
                    m.text = masked;
                }
            }
            messages
        };
        if bytes <= MASKED_AT_ONCE {
            return Ok(mask());
        }
        tokio::task::spawn_blocking(mask).await.map_err(|e| UseCaseError::Internal { cause: e.into() })
    }
}

/// Checks a message, and returns its speaker.
fn check_message(m: &SendMessage, latest: Timestamp) -> Result<Option<String>, UseCaseError> {
    if m.resources.is_empty() || !m.text.is_empty() {
        check::text(&m.text)?;
    }
    if m.role == Role::Document {
        let message = "Only the server writes messages of documents. Add a document instead.";
        return Err(UseCaseError::invalid("ROLE_NOT_ALLOWED", "role", message));
    }
    let speaker = m.speaker.as_deref().map(|s| check::name(s, "speaker")).transpose()?;
    m.client_message_id.as_deref().map_or(Ok(()), |id| check::client_id(id, "clientMessageId"))?;
    m.source_metadata.as_ref().map_or(Ok(()), check::metadata)?;
    if m.sent_at.is_some_and(|at| at > latest) {
        let message = "The message was sent more than a day in the future. Check its time.";
        return Err(UseCaseError::invalid("SENT_AT_IN_FUTURE", "sentAt", message));
    }
    Ok(speaker)
}

/// Marks a question to the server, or its answer, for the index.
pub(super) fn mark_consultation(prepared: &mut IndexEntry) {
    prepared.terms.push((CONSULTS.to_owned(), 1));
}

/// Cuts a time to milliseconds, so the value read equals the value written.
fn whole_millis(at: Timestamp) -> Timestamp {
    Timestamp::from_timestamp_millis(at.timestamp_millis()).unwrap_or(at)
}
