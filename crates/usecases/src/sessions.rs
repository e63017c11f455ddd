//! Creates and finds sessions, and finds the user's own entity.

use super::{check, error::UseCaseError, shared, use_cases::UseCases};
use recall_domain::{Caller, Entity, Message, MessageKind, Page, Role, Session, SessionId, UserText};
use recall_ports::SessionUpdate;
use recall_text::summarize;
use uuid::Uuid;

/// How many messages a summary is made of, and how much of each is read, in bytes.
const SUMMARIZED_MESSAGES: u32 = 100;
const SUMMARIZED_BYTES: usize = 2_000;
/// Longest summary, in characters.
const SUMMARY_CHARS: usize = 400;

impl UseCases {
    /// Creates a session.
    ///
    /// # Errors
    /// `Invalid` for a title that is empty or too long.
    pub async fn create_session(&self, caller: &Caller, title: Option<String>) -> Result<Session, UseCaseError> {
        self.create_session_with_id(caller, SessionId(self.parts.ids.fresh()), title).await
    }

    /// Returns the session that a front end calls `name`, and creates it if it does not exist.
    ///
    /// The id is computed from the user and the name, so clients that begin the same conversation at the same time get the same session.
    ///
    /// # Errors
    /// `Invalid` for a title that is empty or too long. The title of a session that exists stays.
    pub async fn session_named(&self, caller: &Caller, name: &str, title: Option<String>) -> Result<Session, UseCaseError> {
        let id = SessionId(Uuid::new_v5(&caller.user().0, name.as_bytes()));
        match self.session(caller, id).await {
            Err(UseCaseError::NotFound { .. }) => {}
            found => return found,
        }
        match self.create_session_with_id(caller, id, title).await {
            Ok(created) => Ok(created),
            // Another request may have created it meanwhile.
            Err(failure) => self.session(caller, id).await.map_err(|_| failure),
        }
    }

    /// Changes what the user decides about a session.
    ///
    /// # Errors
    /// `Invalid` for a title that is empty or too long, `NotFound` if the session is not the caller's.
    pub async fn update_session(&self, caller: &Caller, id: SessionId, mut update: SessionUpdate) -> Result<Session, UseCaseError> {
        shared::may_write(caller)?;
        update.title = update.title.map(|title| self.checked_title(title.as_str())).transpose()?;
        if update == SessionUpdate::default() {
            return self.session(caller, id).await;
        }
        let p = &self.parts;
        p.store.update_session(caller, id, &update, p.clock.now()).await.map_err(|e| UseCaseError::of(e, "session"))
    }

    /// Returns whether remembering is paused for all messages of the user.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn is_paused(&self, caller: &Caller) -> Result<bool, UseCaseError> {
        Ok(self.parts.store.is_paused(caller).await?)
    }

    /// Pauses or resumes remembering for all messages of the user, from the next one on.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn set_paused(&self, caller: &Caller, paused: bool) -> Result<(), UseCaseError> {
        shared::may_write(caller)?;
        Ok(self.parts.store.set_paused(caller, paused, self.now()).await?)
    }

    /// Summarizes the latest messages of a session with sentences of people in it. `None` if they say nothing.
    ///
    /// It is not stored, because each message may change it, and a forgotten message must not remain in it.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn session_summary(&self, caller: &Caller, id: SessionId) -> Result<Option<UserText>, UseCaseError> {
        let latest = self.parts.store.list_messages(caller, id, &Page::first(SUMMARIZED_MESSAGES), true).await?;
        let messages: Vec<Message> = latest.items.into_iter().rev().map(|(_, message)| message).collect();
        Ok(summary(&messages))
    }

    async fn create_session_with_id(&self, caller: &Caller, id: SessionId, title: Option<String>) -> Result<Session, UseCaseError> {
        shared::may_write(caller)?;
        let title = title.map(|title| self.checked_title(&title)).transpose()?;
        let p = &self.parts;
        // The epoch must only differ from that of other logs with this session id.
        let epoch = format!("{:08x}", (p.ids.fresh().as_u128() & 0xffff_ffff) as u32);
        let made = p.store.create_session(caller, id, title, epoch, p.clock.now()).await?;
        if caller.is_shared() {
            self.shared_in_use.note(true);
        }
        Ok(made)
    }

    /// Checks a title, and masks what is never stored.
    fn checked_title(&self, title: &str) -> Result<UserText, UseCaseError> {
        Ok(UserText::from(self.masked(&check::title(title)?).into_owned()))
    }

    /// Returns the session, if it is the caller's.
    ///
    /// # Errors
    /// `NotFound` otherwise.
    pub async fn session(&self, caller: &Caller, id: SessionId) -> Result<Session, UseCaseError> {
        let found = self.parts.store.sessions_by_id(caller, &[id]).await?;
        found.into_iter().next().ok_or(UseCaseError::NotFound { noun: "session" })
    }

    /// Returns the user's own entity, which exists once a message mentions the user.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn viewer_entity(&self, caller: &Caller) -> Result<Option<Entity>, UseCaseError> {
        Ok(self.parts.store.viewer_entity(caller).await?)
    }
}

/// Summarizes what people say in messages; what assistants say, if nobody else says anything.
fn summary(messages: &[Message]) -> Option<UserText> {
    let said = |by_people: bool| {
        let relevant = move |m: &&Message| m.kind != Some(MessageKind::Other) && (m.role == Role::User) == by_people;
        let text = |m: &Message| {
            let text = m.text.as_str();
            text.get(..text.floor_char_boundary(SUMMARIZED_BYTES)).unwrap_or_default().to_owned()
        };
        let texts: Vec<String> = messages.iter().filter(relevant).map(text).collect();
        summarize(texts.iter().map(String::as_str), SUMMARY_CHARS)
    };
    said(true).or_else(|| said(false)).map(UserText::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recall_domain::{MessageId, MessageStatus, Timestamp};

    fn message(role: Role, kind: MessageKind, text: &str) -> Message {
        Message {
            id: MessageId(Uuid::nil()),
            session: SessionId(Uuid::nil()),
            position: 1,
            role,
            speaker: None,
            text: text.into(),
            kind: Some(kind),
            status: MessageStatus::Processed,
            sent_at: Timestamp::UNIX_EPOCH,
            created_at: Timestamp::UNIX_EPOCH,
            source_metadata: None,
            external_id: None,
            answer_to: None,
            citations: Vec::new(),
            nearest: Vec::new(),
            remembered: true,
        }
    }

    #[test]
    fn summary_quotes_people_before_assistants() {
        let hello = message(Role::User, MessageKind::Other, "Hello there, nice to meet you all today!");
        let fact = message(Role::User, MessageKind::Statement, "My sister Maren moved to Oslo last spring.");
        let answer = message(Role::Assistant, MessageKind::Statement, "Oslo is the capital of Norway and a lovely city.");
        let text = |messages: &[Message]| summary(messages).map(UserText::into_string);
        assert_eq!(text(&[hello.clone(), fact.clone(), answer.clone()]).as_deref(), Some(fact.text.as_str()));
        assert_eq!(text(&[hello.clone(), answer.clone()]).as_deref(), Some(answer.text.as_str()));
        assert_eq!(text(&[hello]), None);
    }
}
