//! Reads mentions of entities.

use async_trait::async_trait;
use sqlx::PgExecutor;

use super::{
    super::{
        PostgresStore,
        codec::{column, latest_before},
        failure::Failure,
        keys,
        rows::{self, Column, MentionRow},
    },
    merge,
};
use recall_domain::{Caller, Decision, EntityId, Mention, MessageId, Page, SessionId, Slice, UserId};
use recall_ports::{MentionStore, StoreError};

#[async_trait]
impl MentionStore for PostgresStore {
    async fn mentions_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, EntityId, Mention)>, StoreError> {
        let found = rows::mentions!(
            FROM "visible_mentions WHERE user_id = $1 AND message_id = ANY($2) ORDER BY message_id, ordinal",
            caller.user().0,
            &column(messages, |id| id.0)[..]
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let mentions = found.into_iter().map(|row| Ok::<_, Failure>((MessageId(row.message_id), EntityId(row.entity_id), row.read()?)));
        Ok(mentions.collect::<Result<_, _>>()?)
    }

    async fn mentions_of(&self, caller: &Caller, entity: EntityId) -> Result<Vec<(MessageId, u32, Mention)>, StoreError> {
        Ok(merge::mentions_of(self, caller.user(), entity).await?)
    }

    /// A message that names the entity in two ways is listed once, with the first mention.
    async fn list_mentions(&self, caller: &Caller, entity: EntityId, page: &Page) -> Result<Slice<(MessageId, Mention)>, StoreError> {
        let (said_at, message) = latest_before(page.after.as_deref())?;
        let found = rows::mentions!(
            FROM "visible_mentions m WHERE m.user_id = $1 AND m.entity_id = $2 AND (m.said_at, m.message_id) < ($3, $4)
             AND NOT EXISTS (SELECT 1 FROM visible_mentions o WHERE o.user_id = m.user_id AND o.message_id = m.message_id
                             AND o.entity_id = m.entity_id AND o.ordinal < m.ordinal)
             ORDER BY m.said_at DESC, m.message_id DESC LIMIT $5",
            caller.user().0,
            entity.0,
            said_at,
            message,
            keys::limit(page),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let item = |row: MentionRow| {
            let (key, message) = (keys::time_and_id(row.said_at, row.message_id), MessageId(row.message_id));
            Ok::<_, Failure>((key, (message, row.read()?)))
        };
        Ok(keys::slice(found.into_iter().map(item).collect::<Result<_, _>>()?, page))
    }

    async fn recently_mentioned(&self, caller: &Caller, session: SessionId, entities: &[EntityId]) -> Result<Vec<EntityId>, StoreError> {
        Ok(recently_mentioned(self.pool.reading(caller), caller.user(), session, entities).await?)
    }

    async fn decisions_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, u32, Decision)>, StoreError> {
        let found = sqlx::query!(
            r#"SELECT message_id AS "message_id!", ordinal AS "ordinal!", score AS "score!", reason AS "reason!" FROM visible_mentions
             WHERE user_id = $1 AND message_id = ANY($2) AND score IS NOT NULL AND reason IS NOT NULL ORDER BY message_id, ordinal"#,
            caller.user().0,
            &column(messages, |id| id.0)[..],
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let of = |column| Column("mentions", column);
        let decisions = found.into_iter().map(|row| {
            let decision = Decision { score: row.score, reason: of("reason").text(row.reason)? };
            Ok::<_, Failure>((MessageId(row.message_id), of("ordinal").small(row.ordinal)?, decision))
        });
        Ok(decisions.collect::<Result<_, _>>()?)
    }
}

/// For equal times, the message with the greater id is the later one. The ids are compared as text, because `max` of uuids needs
/// PostgreSQL 18.
pub(in super::super) async fn recently_mentioned(
    db: impl PgExecutor<'_>,
    user: UserId,
    session: SessionId,
    entities: &[EntityId],
) -> Result<Vec<EntityId>, Failure> {
    let found = sqlx::query_scalar!(
        r#"SELECT entity_id AS "entity_id!" FROM visible_mentions WHERE user_id = $1 AND session_id = $2 AND entity_id = ANY($3)
         GROUP BY entity_id ORDER BY max(said_at) DESC, max(message_id::text COLLATE "C") DESC, entity_id"#,
        user.0,
        session.0,
        &column(entities, |id| id.0)[..],
    );
    Ok(found.fetch_all(db).await?.into_iter().map(EntityId).collect())
}
