//! Traces knowledge back to its messages: evidence and mentions.

use super::super::{
    PostgresStore,
    codec::{Word, millis, parse_time_and_id},
    failure::Failure,
    keys,
    rows::{self, Column, EvidenceRow},
};
use recall_domain::{Decision, EntityId, Evidence, FactId, Mention, MessageId, Page, SessionId, Slice, Stance, UserId};
use recall_store::Refusal;

pub(super) async fn evidence_of(store: &PostgresStore, user: UserId, facts: &[FactId], limit: u32) -> Result<Vec<Evidence>, Failure> {
    // The index gives the latest rows of each fact, so no more is read than returned.
    let facts: Vec<_> = facts.iter().map(|id| id.0).collect();
    let found = rows::evidence!(
        FROM "(SELECT DISTINCT unnest($2::uuid[]) AS id) f CROSS JOIN LATERAL (
             SELECT * FROM evidence WHERE user_id = $1 AND fact_id = f.id
             AND session_id <> ALL (ARRAY(SELECT id FROM sessions WHERE user_id = $1 AND deletion_at IS NOT NULL))
             ORDER BY created_at DESC, message_id DESC, stance DESC LIMIT $3) v
         ORDER BY v.fact_id, v.created_at DESC, v.message_id DESC, v.stance DESC",
        user.0,
        &facts[..],
        i64::from(limit),
    );
    found.fetch_all(store.pool.reading(user)).await?.into_iter().map(EvidenceRow::read).collect()
}

/// Lists evidence of one fact, latest first.
///
/// A message may have several stances on one fact, so the key includes the stance: `<time>.<message>.<stance>`.
pub(super) async fn list_evidence(store: &PostgresStore, user: UserId, fact: FactId, page: &Page) -> Result<Slice<Evidence>, Failure> {
    let (limit, reading) = (keys::limit(page), store.pool.reading(user));
    let found = match &page.after {
        None => {
            rows::evidence!(
                FROM "evidence v WHERE user_id = $1 AND fact_id = $2
                 AND session_id <> ALL (ARRAY(SELECT id FROM sessions WHERE user_id = $1 AND deletion_at IS NOT NULL))
                 ORDER BY created_at DESC, message_id DESC, stance DESC LIMIT $3",
                user.0,
                fact.0,
                limit
            )
            .fetch_all(reading)
            .await?
        }
        Some(key) => {
            let (rest, stance) = key.rsplit_once('.').ok_or(Refusal::BadCursor)?;
            let (created_at, message) = parse_time_and_id(rest)?;
            let stance = Stance::parse_word(stance).ok_or(Refusal::BadCursor)?;
            rows::evidence!(
                FROM "evidence v WHERE user_id = $1 AND fact_id = $2 AND (created_at, message_id, stance) < ($3, $4, $5)
                 AND session_id <> ALL (ARRAY(SELECT id FROM sessions WHERE user_id = $1 AND deletion_at IS NOT NULL))
                 ORDER BY created_at DESC, message_id DESC, stance DESC LIMIT $6",
                user.0,
                fact.0,
                created_at,
                message,
                stance.word(),
                limit
            )
            .fetch_all(reading)
            .await?
        }
    };
    let items = found.into_iter().map(|row| {
        let evidence = row.read()?;
        let place = keys::number_and_id(millis(evidence.created_at), evidence.message.0);
        Ok((format!("{place}.{}", evidence.stance.word()), evidence))
    });
    Ok(keys::slice(items.collect::<Result<_, Failure>>()?, page))
}

pub(super) async fn mentions_in(
    store: &PostgresStore,
    user: UserId,
    messages: &[MessageId],
) -> Result<Vec<(MessageId, EntityId, Mention)>, Failure> {
    let messages: Vec<_> = messages.iter().map(|id| id.0).collect();
    let found = rows::mentions!(
        "WHERE user_id = $1 AND message_id = ANY($2)
         AND session_id <> ALL (ARRAY(SELECT id FROM sessions WHERE user_id = $1 AND deletion_at IS NOT NULL))
         ORDER BY message_id, ordinal",
        user.0,
        &messages[..]
    );
    let found = found.fetch_all(store.pool.reading(user)).await?.into_iter();
    found.map(|row| Ok((MessageId(row.message_id), EntityId(row.entity_id), row.read()?))).collect()
}

pub(super) async fn decisions_in(
    store: &PostgresStore,
    user: UserId,
    messages: &[MessageId],
) -> Result<Vec<(MessageId, u32, Decision)>, Failure> {
    let messages: Vec<_> = messages.iter().map(|id| id.0).collect();
    let found = sqlx::query!(
        r#"SELECT message_id, ordinal, score AS "score!", reason AS "reason!" FROM mentions
         WHERE user_id = $1 AND message_id = ANY($2) AND score IS NOT NULL AND reason IS NOT NULL ORDER BY message_id, ordinal"#,
        user.0,
        &messages[..],
    );
    let of = |column| Column("mentions", column);
    let decisions = found.fetch_all(store.pool.reading(user)).await?.into_iter().map(|row| {
        let decision = Decision { score: row.score, reason: of("reason").text(row.reason)? };
        Ok((MessageId(row.message_id), of("ordinal").small(row.ordinal)?, decision))
    });
    decisions.collect()
}

pub(super) async fn mentions_of(store: &PostgresStore, user: UserId, entity: EntityId) -> Result<Vec<(MessageId, u32, Mention)>, Failure> {
    let found = rows::mentions!("WHERE user_id = $1 AND entity_id = $2 ORDER BY message_id, ordinal", user.0, entity.0);
    let found = found.fetch_all(store.pool.reading(user)).await?.into_iter();
    let ordinal = Column("mentions", "ordinal");
    found.map(|row| Ok((MessageId(row.message_id), ordinal.small(row.ordinal)?, row.read()?))).collect()
}

/// Sorts the entities by their last mention in the session. For equal times, the message with the greater id is the later one.
///
/// The ids are compared as text, because `max` of uuids needs PostgreSQL 18.
pub(super) async fn recently_mentioned(
    store: &PostgresStore,
    user: UserId,
    session: SessionId,
    entities: &[EntityId],
) -> Result<Vec<EntityId>, Failure> {
    let entities: Vec<_> = entities.iter().map(|id| id.0).collect();
    let found = sqlx::query_scalar!(
        r#"SELECT entity_id FROM mentions WHERE user_id = $1 AND session_id = $2 AND entity_id = ANY($3)
         GROUP BY entity_id ORDER BY max(said_at) DESC, max(message_id::text COLLATE "C") DESC, entity_id"#,
        user.0,
        session.0,
        &entities[..],
    );
    Ok(found.fetch_all(store.pool.reading(user)).await?.into_iter().map(EntityId).collect())
}

pub(super) async fn facts_in(
    store: &PostgresStore,
    user: UserId,
    messages: &[MessageId],
) -> Result<Vec<(MessageId, FactId, Stance)>, Failure> {
    let messages: Vec<_> = messages.iter().map(|id| id.0).collect();
    let found = sqlx::query!(
        "SELECT message_id, fact_id, stance FROM evidence
         WHERE user_id = $1 AND message_id = ANY($2)
         AND session_id <> ALL (ARRAY(SELECT id FROM sessions WHERE user_id = $1 AND deletion_at IS NOT NULL))
         ORDER BY message_id, fact_id, CASE stance WHEN 'ends' THEN 0 WHEN 'supports' THEN 1 ELSE 2 END",
        user.0,
        &messages[..],
    );
    let found = found.fetch_all(store.pool.reading(user)).await?.into_iter();
    found.map(|row| Ok((MessageId(row.message_id), FactId(row.fact_id), Column("evidence", "stance").word(&row.stance)?))).collect()
}

/// Lists the messages that mention an entity. A message that names it in two ways is listed once, with the first mention.
pub(super) async fn list_mentions(
    store: &PostgresStore,
    user: UserId,
    entity: EntityId,
    page: &Page,
) -> Result<Slice<(MessageId, Mention)>, Failure> {
    let (limit, reading) = (keys::limit(page), store.pool.reading(user));
    let found = match &page.after {
        None => {
            rows::mentions!(
                "WHERE m.user_id = $1 AND m.entity_id = $2
                 AND NOT EXISTS (SELECT 1 FROM mentions o WHERE o.user_id = m.user_id AND o.message_id = m.message_id
                                 AND o.entity_id = m.entity_id AND o.ordinal < m.ordinal)
                 AND m.session_id <> ALL (ARRAY(SELECT id FROM sessions WHERE user_id = $1 AND deletion_at IS NOT NULL))
                 ORDER BY m.said_at DESC, m.message_id DESC LIMIT $3",
                user.0,
                entity.0,
                limit
            )
            .fetch_all(reading)
            .await?
        }
        Some(key) => {
            let (said_at, message) = parse_time_and_id(key)?;
            rows::mentions!(
                "WHERE m.user_id = $1 AND m.entity_id = $2 AND (m.said_at, m.message_id) < ($3, $4)
                 AND NOT EXISTS (SELECT 1 FROM mentions o WHERE o.user_id = m.user_id AND o.message_id = m.message_id
                                 AND o.entity_id = m.entity_id AND o.ordinal < m.ordinal)
                 AND m.session_id <> ALL (ARRAY(SELECT id FROM sessions WHERE user_id = $1 AND deletion_at IS NOT NULL))
                 ORDER BY m.said_at DESC, m.message_id DESC LIMIT $5",
                user.0,
                entity.0,
                said_at,
                message,
                limit
            )
            .fetch_all(reading)
            .await?
        }
    };
    let items = found.into_iter().map(|row| {
        let (said_at, message) = (row.said_at, row.message_id);
        Ok((keys::number_and_id(millis(said_at), message), (MessageId(message), row.read()?)))
    });
    Ok(keys::slice(items.collect::<Result<_, Failure>>()?, page))
}

pub(super) async fn sessions_of_fact(store: &PostgresStore, user: UserId, fact: FactId, limit: u32) -> Result<Vec<SessionId>, Failure> {
    let found = sqlx::query_scalar!(
        "SELECT session_id FROM evidence WHERE user_id = $1 AND fact_id = $2
         AND session_id <> ALL (ARRAY(SELECT id FROM sessions WHERE user_id = $1 AND deletion_at IS NOT NULL))
         GROUP BY session_id ORDER BY max(created_at) DESC, session_id LIMIT $3",
        user.0,
        fact.0,
        i64::from(limit),
    );
    Ok(found.fetch_all(store.pool.reading(user)).await?.into_iter().map(SessionId).collect())
}
