//! Creates and finds sessions, and finds the user's own entity.

use super::{check, error::UseCaseError, shared, use_cases::UseCases};
use recall_domain::{Caller, Entity, Session, SessionId, UserText};
use uuid::Uuid;

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

    /// Changes the title of a session.
    ///
    /// # Errors
    /// `Invalid` for a title that is empty or too long, `NotFound` if the session is not the caller's.
    pub async fn rename_session(&self, caller: &Caller, id: SessionId, title: String) -> Result<Session, UseCaseError> {
        shared::may_write(caller)?;
        let title = UserText::from(check::title(&title)?);
        self.parts.store.rename_session(caller, id, &title).await.map_err(|e| UseCaseError::of(e, "session"))
    }

    async fn create_session_with_id(&self, caller: &Caller, id: SessionId, title: Option<String>) -> Result<Session, UseCaseError> {
        shared::may_write(caller)?;
        let title = title.map(|t| check::title(&t)).transpose()?;
        let p = &self.parts;
        // The epoch must only differ from that of other logs with this session id.
        let epoch = format!("{:08x}", (p.ids.fresh().as_u128() & 0xffff_ffff) as u32);
        let made = p.store.create_session(caller, id, title.map(UserText::from), epoch, p.clock.now()).await?;
        if caller.is_shared() {
            self.shared_in_use.note(true);
        }
        Ok(made)
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
