//! Reads mentions of entities.

use async_trait::async_trait;
use sqlx::{Row, sqlite::SqliteRow};
use uuid::Uuid;

use super::{
    super::{
        SqliteStore,
        codec::{bytes, id_list},
        failure::Failure,
        keys, rows,
        rows::Columns,
    },
    merge,
};
use recall_domain::{Caller, Decision, EntityId, Mention, MessageId, Page, SessionId, Slice};
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
        let found = sqlx::query(
            "SELECT * FROM visible_mentions WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?))
             ORDER BY message_id, ordinal",
        );
        let found = found.bind(bytes(&caller.user().0)).bind(id_list(messages.iter().map(|id| &id.0)));
        let found = found.fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        let mentions = found.iter().map(|row| {
            let c = Columns::of(row, "mentions");
            Ok::<_, Failure>((MessageId(c.id("message_id")?), EntityId(c.id("entity_id")?), rows::mention(row)?))
        });
        Ok(mentions.collect::<Result<_, _>>()?)
    }

    async fn mentions_of(&self, caller: &Caller, entity: EntityId) -> Result<Vec<(MessageId, u32, Mention)>, StoreError> {
        Ok(merge::mentions_of(self, caller.user(), entity).await?)
    }

    /// A message that names the entity in two ways is listed once, with the first mention.
    async fn list_mentions(&self, caller: &Caller, entity: EntityId, page: &Page) -> Result<Slice<(MessageId, Mention)>, StoreError> {
        let (said_at, message) = keys::latest_before(page.after.as_deref())?;
        let found = sqlx::query(
            "SELECT m.* FROM visible_mentions m WHERE m.user_id = ?1 AND m.entity_id = ?2 AND (m.said_at, m.message_id) < (?3, ?4)
             AND NOT EXISTS (SELECT 1 FROM visible_mentions o WHERE o.user_id = m.user_id AND o.message_id = m.message_id
                             AND o.entity_id = m.entity_id AND o.ordinal < m.ordinal)
             ORDER BY m.said_at DESC, m.message_id DESC LIMIT ?5",
        );
        let found = found.bind(bytes(&caller.user().0)).bind(bytes(&entity.0)).bind(said_at).bind(bytes(&message)).bind(keys::limit(page));
        let found = found.fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        let item = |row: &SqliteRow| {
            let message: Uuid = Columns::of(row, "mentions").id("message_id")?;
            Ok::<_, Failure>((keys::number_and_id(row.try_get("said_at")?, message), (MessageId(message), rows::mention(row)?)))
        };
        Ok(keys::slice(found.iter().map(item).collect::<Result<_, _>>()?, page))
    }

    async fn recently_mentioned(&self, caller: &Caller, session: SessionId, entities: &[EntityId]) -> Result<Vec<EntityId>, StoreError> {
        let found = sqlx::query(RECENTLY_MENTIONED).bind(bytes(&caller.user().0)).bind(bytes(&session.0));
        let found = found.bind(id_list(entities.iter().map(|id| &id.0)));
        let found = found.fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        let entities = found.iter().map(|row| Columns::of(row, "mentions").id("entity_id").map(EntityId));
        Ok(entities.collect::<Result<_, _>>()?)
    }

    async fn decisions_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, u32, Decision)>, StoreError> {
        let found = sqlx::query(
            "SELECT message_id, ordinal, score, reason FROM visible_mentions
             WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?)) AND score IS NOT NULL AND reason IS NOT NULL
             ORDER BY message_id, ordinal",
        );
        let found = found.bind(bytes(&caller.user().0)).bind(id_list(messages.iter().map(|id| &id.0)));
        let found = found.fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        let decisions = found.iter().map(|row| {
            let c = Columns::of(row, "mentions");
            Ok::<_, Failure>((MessageId(c.id("message_id")?), c.small("ordinal")?, rows::decision(&c)?))
        });
        Ok(decisions.collect::<Result<_, _>>()?)
    }
}
