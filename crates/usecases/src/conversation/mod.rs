//! Remembers conversations that clients of the OpenAI protocol send whole each time.
//!
//! `chain` recognises messages, `plan` finds the new ones, `block` writes what is known for the model, and `local` answers without one.

mod block;
mod chain;
mod local;
mod plan;
mod turn;

use std::collections::{HashMap, HashSet};

use super::{
    check,
    error::UseCaseError,
    resources::describe,
    send::{MAX_IMPORT, SendMessage},
    use_cases::UseCases,
};
use recall_domain::{Caller, Citation, FactId, Message, MessageId, Resource, Role, Session, SessionId};
use recall_ports::{AnsweredQuestion, FollowUp, SessionUpdate};

pub use block::{Recollection, Source, write_sources};
use plan::Unstored;
use turn::name_of_chat;
pub use turn::{Conversation, Turn};

/// Stored messages that are read at a time to find a place in a conversation.
const PAGE: u32 = 100;
/// Most pages that are read to find the message that an edited one replaces.
const MAX_PAGES: usize = 5;
/// How long a message without an answer may be the question of another device.
const UNSETTLED: chrono::Duration = chrono::Duration::minutes(1);

/// The stored messages of a conversation by their keys.
type Known = HashMap<String, Place>;

/// A stored message and its position in the session.
#[derive(Clone, Copy, Debug)]
struct Place {
    id: MessageId,
    position: u64,
}

impl Place {
    fn of(message: Message) -> Option<(String, Self)> {
        Some((message.external_id?, Self { id: message.id, position: message.position }))
    }
}

/// A conversation whose place in the memory is known.
#[derive(Debug)]
pub struct Recognised {
    session: Session,
    /// The key of the last user message.
    last: String,
    known: Known,
    new: Vec<SendMessage>,
    /// The message that the first new one replaces, if it is to be deleted.
    outdated: Option<MessageId>,
}

impl Recognised {
    /// Returns how many messages are new.
    pub fn new_messages(&self) -> usize {
        self.new.len()
    }
}

/// A conversation whose messages are stored.
#[derive(Clone, Debug)]
pub struct Remembered {
    session: SessionId,
    last: String,
    /// The last user message, unless it has no text.
    question: Option<MessageId>,
    /// The stored messages that the client sent.
    history: HashSet<MessageId>,
    /// The message that an edited one replaced, if it was deleted.
    deleted: Option<MessageId>,
}

impl Remembered {
    /// Returns the last user message, unless it has no text.
    pub fn question(&self) -> Option<MessageId> {
        self.question
    }

    /// Returns the message that an edited one replaced, if it was deleted.
    pub fn deleted(&self) -> Option<MessageId> {
        self.deleted
    }
}

/// An answer to a conversation, as its client gets it.
pub struct WrittenAnswer<'a> {
    /// The text, which may end with a list of sources.
    pub text: &'a str,
    /// The sources of the marks in the text.
    pub citations: Vec<Citation>,
    /// What comes nearest to an answer, if nothing answers.
    pub nearest: Vec<Citation>,
    /// What wrote it.
    pub model: &'a str,
}

impl UseCases {
    /// Finds the session of a conversation, and which of its messages are new. Creates the session if it is new.
    ///
    /// # Errors
    /// As [`UseCases::session_named`].
    pub async fn recognise(&self, caller: &Caller, conversation: &Conversation) -> Result<Recognised, UseCaseError> {
        // Stored messages are masked, and the conversation is compared with them.
        let (usecases, whole) = (self.clone(), conversation.clone());
        let mask = move || whole.with_texts(|text| usecases.masked(text.as_str()).into_owned().into());
        let masked = tokio::task::spawn_blocking(mask).await.map_err(|e| UseCaseError::Internal { cause: e.into() })?;
        let conversation = &masked;
        let session = self.session_named(caller, &conversation.name(), None).await?;
        let mut turns = conversation.turns.as_slice();
        let mut keys = chain::keys_of(turns, None);
        let mut known = HashMap::new();
        // Some clients send only the latest message.
        let mut comes_alone = false;
        if session.message_count > 0 {
            known = self.known_messages(caller, &session, &keys).await?;
            let begins_elsewhere = keys.first().is_some_and(|first| !known.contains_key(first));
            if begins_elsewhere && (turns.len() > 1 || conversation.chat.is_some()) {
                let latest = self.parts.store.messages_before(caller, session.id, session.message_count + 1, PAGE).await?;
                let found = match turns {
                    [turn] => chain::key_alone(turn, &latest).map(|key| (0, vec![key])),
                    turns => chain::continue_from(turns, &latest),
                };
                if let Some((at, found)) = found {
                    comes_alone = turns.len() == 1;
                    (turns, keys) = (turns.get(at..).unwrap_or_default(), found);
                    known = self.known_messages(caller, &session, &keys).await?;
                }
            }
            self.rejoin(caller, &session, turns, &mut keys, &mut known).await?;
        }
        let (unstored, first) = plan::unstored(turns, &keys, &known);
        let mut new = self.messages_of_client(session.id, unstored).await?;
        let parent = first.and_then(|at| Some(keys.get(at.checked_sub(1)?)?.as_str()));
        let after = match parent {
            Some(parent) => known.get(parent).map(|place| place.position),
            // This client sends the whole history, so a first message can replace another only if it is the only one.
            None => (first == Some(0) && turns.len() == 1 && !comes_alone).then_some(0),
        };
        let mut outdated = None;
        if conversation.chat.is_some()
            && let Some(after) = after
            && let Some(replaced) = self.edited_message(caller, &session, parent, after).await?
            && let Some(message) = new.iter_mut().find(|message| message.role == Role::User)
        {
            message.source_metadata = Some(serde_json::json!({ "edits": replaced.id }));
            // An edit of the first message begins the conversation again. The other version stays.
            if parent.is_some() && self.is_settled(caller, &session, &replaced).await? {
                outdated = Some(replaced.id);
            }
        }
        Ok(Recognised { session, last: keys.pop().unwrap_or_default(), known, new, outdated })
    }

    /// Prepares new messages. A message without a text is left out, unless it has an attachment that can be read.
    async fn messages_of_client(&self, session: SessionId, new: Vec<Unstored>) -> Result<Vec<SendMessage>, UseCaseError> {
        let ids = self.parts.ids.clone();
        let prepare = move || {
            let message = |message: Unstored| {
                let resources = describe(&message.attachments, || ids.fresh());
                of_client(session, message, resources)
            };
            new.into_iter().map(message).filter(|m| !m.text.is_empty() || !m.resources.is_empty()).collect::<Vec<_>>()
        };
        // A digest of several megabytes takes milliseconds.
        tokio::task::spawn_blocking(prepare).await.map_err(|error| UseCaseError::Internal { cause: Box::new(error) })
    }

    /// Finds the stored messages behind a place where the client changed or left out one. Otherwise they would look new.
    async fn rejoin(
        &self,
        caller: &Caller,
        session: &Session,
        turns: &[Turn],
        keys: &mut Vec<String>,
        known: &mut Known,
    ) -> Result<(), UseCaseError> {
        let is_new = |(turn, key): (&Turn, &String)| !plan::is_blank(&turn.text) && !known.contains_key(key);
        let Some(at) = turns.iter().zip(keys.iter()).position(is_new) else { return Ok(()) };
        // The last message is usually the new one, and it may repeat an earlier text by chance.
        if at == 0 || at + 1 >= turns.len() {
            return Ok(());
        }
        let mut latest = self.parts.store.messages_before(caller, session.id, session.message_count + 1, PAGE).await?;
        latest.retain(|message| message.external_id.as_ref().is_none_or(|key| !known.contains_key(key)));
        if let Some((changed, found)) = chain::continue_from(turns.get(at..).unwrap_or_default(), &latest) {
            keys.truncate(at + changed);
            keys.extend(found);
            known.extend(self.known_messages(caller, session, keys).await?);
        }
        Ok(())
    }

    /// Returns the stored messages of a conversation by their keys.
    async fn known_messages(&self, caller: &Caller, session: &Session, keys: &[String]) -> Result<Known, UseCaseError> {
        let ids: Vec<String> = keys.iter().flat_map(|key| [key.clone(), chain::answer_key(key, 0)]).collect();
        let found = self.parts.store.messages_by_external_id(caller, session.id, &ids).await?;
        Ok(found.into_iter().filter_map(Place::of).collect())
    }

    /// Returns the latest message that followed the user message `parent`, which has the position `after`.
    async fn edited_message(
        &self,
        caller: &Caller,
        session: &Session,
        parent: Option<&str>,
        after: u64,
    ) -> Result<Option<Message>, UseCaseError> {
        let mut before = session.message_count + 1;
        for _ in 0..MAX_PAGES {
            if before <= after + 1 {
                break;
            }
            let found = self.parts.store.messages_before(caller, session.id, before, PAGE).await?;
            let oldest = found.first().map_or(0, |oldest| oldest.position);
            if let Some(message) = found.into_iter().rev().find(|m| m.position > after && chain::follows(m, parent)) {
                return Ok(Some(message));
            }
            before = oldest;
        }
        Ok(None)
    }

    /// Whether a message that seems to be replaced has an answer, or is old.
    ///
    /// Otherwise another device of the user may have sent it just now.
    async fn is_settled(&self, caller: &Caller, session: &Session, message: &Message) -> Result<bool, UseCaseError> {
        if self.now() - message.created_at > UNSETTLED {
            return Ok(true);
        }
        let Some(key) = &message.external_id else { return Ok(false) };
        let answer = self.parts.store.messages_by_external_id(caller, session.id, &[chain::answer_key(key, 0)]).await?;
        Ok(!answer.is_empty())
    }

    /// Stores the new messages of a conversation in order, in one transaction for each [`MAX_IMPORT`]. Questions are not answered.
    ///
    /// # Errors
    /// As [`UseCases::send`].
    pub async fn remember(&self, caller: &Caller, recognised: Recognised) -> Result<Remembered, UseCaseError> {
        let Recognised { session, last, mut known, mut new, outdated } = recognised;
        while !new.is_empty() {
            let rest = new.split_off(new.len().min(MAX_IMPORT));
            let messages = new.into_iter().map(|message| {
                let states = message.role == Role::User && !message.text.is_empty();
                let follow_up = if states { FollowUp::Facts } else { FollowUp::Nothing };
                (message, follow_up)
            });
            let stored = self.keep(caller, session.id, messages.collect()).await?;
            known.extend(stored.into_iter().filter_map(|appended| Place::of(appended.message)));
            new = rest;
        }
        let deleted = match outdated {
            Some(outdated) => self.delete_outdated(caller, outdated).await.then_some(outdated),
            None => None,
        };
        let question = known.get(&last).map(|place| place.id);
        let history = known.into_values().map(|place| place.id).collect();
        Ok(Remembered { session: session.id, last, question, history, deleted })
    }

    /// Deletes a message that the user has replaced, and returns whether it did. If that fails, the message stays; the new one still names it.
    ///
    /// Nobody would get the token that undoes a forgetting.
    async fn delete_outdated(&self, caller: &Caller, message: MessageId) -> bool {
        match self.delete_message(caller, message).await {
            Ok(()) => true,
            // Another request has deleted it.
            Err(UseCaseError::NotFound { .. }) => false,
            Err(failure) => {
                tracing::warn!(code = failure.code(), "a replaced message was not deleted");
                false
            }
        }
    }

    /// Gives the session of a chat the title that the front end found. It may arrive before the first message.
    ///
    /// # Errors
    /// As [`UseCases::session_named`].
    pub async fn title_conversation(&self, caller: &Caller, chat: &str, title: &str) -> Result<(), UseCaseError> {
        let title = check::title_of(&self.masked(chain::storable(title).as_str()));
        let session = self.session_named(caller, &name_of_chat(chat), Some(title.clone())).await?;
        if session.title.is_none_or(|known| known.as_str() != title) {
            let update = SessionUpdate { title: Some(title.into()), ..SessionUpdate::default() };
            self.update_session(caller, session.id, update).await?;
        }
        Ok(())
    }

    /// Stores the answer to the last user message. A new answer to a message that has one is stored after it.
    ///
    /// # Errors
    /// As [`UseCases::send`].
    pub async fn remember_answer(&self, caller: &Caller, to: &Remembered, answer: WrittenAnswer<'_>) -> Result<(), UseCaseError> {
        let WrittenAnswer { text, citations, nearest, model } = answer;
        let text = chain::storable(block::without_sources(text));
        if text.as_str().trim().is_empty() {
            return Ok(());
        }
        let message = |key: Option<String>| SendMessage {
            session: to.session,
            text: text.as_str().to_owned(),
            role: Role::Assistant,
            speaker: None,
            sent_at: None,
            source_metadata: Some(serde_json::json!({ "model": model })),
            client_message_id: key,
            resources: Vec::new(),
            answer_from: recall_domain::context::SearchSources::default(),
        };
        let answers = to.question.map(|question| AnsweredQuestion { question, citations, nearest });
        for key in [Some(chain::answer_key(&to.last, 0)), None] {
            let mut answer = self.new_messages(caller, to.session, vec![(message(key), FollowUp::Nothing)]).await?;
            answer.iter_mut().for_each(|answer| answer.answers = answers.clone());
            let stored = self.append(caller, to.session, answer).await?;
            if let Some(new) = stored.first().filter(|stored| !stored.duplicate) {
                return self.drop_if_source_is_gone(caller, &new.message).await;
            }
        }
        Ok(())
    }

    /// Deletes an answer of which a source was forgotten while it was written. A later forgetting finds the stored answer.
    async fn drop_if_source_is_gone(&self, caller: &Caller, answer: &Message) -> Result<(), UseCaseError> {
        let own = || answer.citations.iter().chain(&answer.nearest).filter(|c| !c.shared);
        let cited: HashSet<MessageId> = own().filter_map(|c| c.message_id.or(c.chunk.as_ref().map(|chunk| chunk.chunk_id))).collect();
        let facts: HashSet<FactId> = own().filter_map(|c| c.fact_id).collect();
        let store = &self.parts.store;
        let left = store.messages_by_id(caller, &cited.iter().copied().collect::<Vec<_>>()).await?;
        // A message that stays as evidence of other facts has no text any more.
        let left = left.iter().filter(|m| !m.text.as_str().is_empty() || m.role == Role::Document).count();
        let known = store.facts_by_id(caller, &facts.iter().copied().collect::<Vec<_>>()).await?.len();
        if left < cited.len() || known < facts.len() {
            self.delete_outdated(caller, answer.id).await;
        }
        Ok(())
    }
}

fn of_client(session: SessionId, message: Unstored, resources: Vec<Resource>) -> SendMessage {
    let text = match message.role {
        Role::User | Role::Document => message.text.as_str(),
        Role::Assistant => block::without_sources(message.text.as_str()),
    };
    let text = if text.trim().is_empty() { "" } else { text };
    SendMessage {
        session,
        text: text.to_owned(),
        role: message.role,
        speaker: None,
        sent_at: None,
        source_metadata: None,
        client_message_id: Some(message.key),
        resources,
        answer_from: recall_domain::context::SearchSources::default(),
    }
}
