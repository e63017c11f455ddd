//! Reads mentions of entities.

use async_trait::async_trait;

use super::{
    super::{SqliteStore, codec::id_list, connection::Db, failure::Failure, keys, rows},
    merge,
};
use recall_domain::{Caller, Decision, EntityId, Mention, MessageId, Page, SessionId, Slice, UserId};
use recall_ports::{MentionStore, StoreError};

/// Finds which entities a session mentioned last. Runs for each message with an ambiguous name.
///
/// For equal times, the message with the greater id is the later one.
pub(in super::super) const RECENTLY_MENTIONED: &str = "SELECT entity_id FROM visible_mentions
     WHERE user_id = ? AND session_id = ? AND entity_id IN (SELECT unhex(value) FROM json_each(?))
     GROUP BY entity_id ORDER BY MAX(said_at) DESC, MAX(message_id) DESC, entity_id";

#[async_trait]
impl MentionStore for SqliteStore {
    async fn mentions_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, EntityId, Mention)>, StoreError> {
        let values = (caller.user().0, id_list(messages.iter().map(|id| &id.0)));
        let found = self.read(caller, move |db| {
            let sql = "SELECT * FROM visible_mentions WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?))
             ORDER BY message_id, ordinal";
            db.rows("mentions", sql, values, |c| Ok((MessageId(c.id("message_id")?), EntityId(c.id("entity_id")?), rows::mention(c)?)))
        });
        Ok(found.await?)
    }

    async fn mentions_of(&self, caller: &Caller, entity: EntityId) -> Result<Vec<(MessageId, u32, Mention)>, StoreError> {
        let user = caller.user();
        Ok(self.read(caller, move |db| merge::mentions_of(db, user, entity)).await?)
    }

    /// A message that names the entity in two ways is listed once, with the first mention.
    async fn list_mentions(&self, caller: &Caller, entity: EntityId, page: &Page) -> Result<Slice<(MessageId, Mention)>, StoreError> {
        let (said_at, message) = keys::latest_before(page.after.as_deref())?;
        let values = (caller.user().0, entity.0, said_at, message, keys::limit(page));
        let found = self.read(caller, move |db| {
            let sql =
                "SELECT m.* FROM visible_mentions m WHERE m.user_id = ?1 AND m.entity_id = ?2 AND (m.said_at, m.message_id) < (?3, ?4)
             AND NOT EXISTS (SELECT 1 FROM visible_mentions o WHERE o.user_id = m.user_id AND o.message_id = m.message_id
                             AND o.entity_id = m.entity_id AND o.ordinal < m.ordinal)
             ORDER BY m.said_at DESC, m.message_id DESC LIMIT ?5";
            db.rows("mentions", sql, values, |c| {
                let message = c.id("message_id")?;
                Ok((keys::number_and_id(c.integer("said_at")?, message), (MessageId(message), rows::mention(c)?)))
            })
        });
        Ok(keys::slice(found.await?, page))
    }

    async fn recently_mentioned(&self, caller: &Caller, session: SessionId, entities: &[EntityId]) -> Result<Vec<EntityId>, StoreError> {
        let (user, entities) = (caller.user(), entities.to_vec());
        Ok(self.read(caller, move |db| recently_mentioned(db, user, session, &entities)).await?)
    }

    async fn decisions_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, u32, Decision)>, StoreError> {
        let values = (caller.user().0, id_list(messages.iter().map(|id| &id.0)));
        let found = self.read(caller, move |db| {
            let sql = "SELECT message_id, ordinal, score, reason FROM visible_mentions
             WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?)) AND score IS NOT NULL AND reason IS NOT NULL
             ORDER BY message_id, ordinal";
            db.rows("mentions", sql, values, |c| Ok((MessageId(c.id("message_id")?), c.small("ordinal")?, rows::decision(c)?)))
        });
        Ok(found.await?)
    }
}

/// Those of the entities that the session mentions, latest first.
pub(in super::super) fn recently_mentioned(
    db: &Db,
    user: UserId,
    session: SessionId,
    entities: &[EntityId],
) -> Result<Vec<EntityId>, Failure> {
    let values = (user.0, session.0, id_list(entities.iter().map(|id| &id.0)));
    db.rows("mentions", RECENTLY_MENTIONED, values, |c| Ok(EntityId(c.id("entity_id")?)))
}
