//! Traces knowledge back to its messages: evidence and mentions.

use sqlx::Row;

use super::super::{
    SqliteStore,
    codec::{Word, bytes, id_list, millis},
    failure::Failure,
    keys, rows,
    rows::Columns,
    session_deletion::{hidden_session_ids, push_visible},
};
use recall_domain::{Decision, EntityId, Evidence, FactId, Mention, MessageId, Page, SessionId, Slice, Stance, UserId};
use recall_store::Refusal;

/// Finds which entities a session mentioned last. Runs for each message with an ambiguous name.
///
/// The index is named because SQLite, without statistics, would read all mentions of an entity.
pub(in super::super) const RECENTLY_MENTIONED: &str = "SELECT entity_id FROM mentions INDEXED BY mentions_in_session
     WHERE user_id = ? AND session_id = ? AND entity_id IN (SELECT unhex(value) FROM json_each(?))
     GROUP BY entity_id ORDER BY MAX(said_at) DESC, MAX(message_id) DESC, entity_id";

pub(super) async fn evidence_of(store: &SqliteStore, user: UserId, facts: &[FactId], limit: u32) -> Result<Vec<Evidence>, Failure> {
    // A window function would read all evidence of a fact to rank it. This query reads through the index only the rows that it
    // returns.
    let found = sqlx::query(concat!(
        "SELECT v.* FROM (SELECT DISTINCT unhex(value) AS id FROM json_each(?2)) f CROSS JOIN evidence v
             ON v.user_id = ?1 AND v.fact_id = f.id AND (v.message_id, v.stance) IN (
                 SELECT message_id, stance FROM evidence WHERE user_id = ?1 AND fact_id = f.id AND session_id NOT IN ",
        hidden_session_ids!(),
        " ORDER BY created_at DESC, message_id DESC, stance DESC LIMIT ?3)
         ORDER BY v.fact_id, v.created_at DESC, v.message_id DESC, v.stance DESC"
    ))
    .bind(bytes(&user.0))
    .bind(id_list(facts.iter().map(|id| &id.0)))
    .bind(i64::from(limit))
    .fetch_all(store.readers.for_user(user))
    .await?;
    found.iter().map(rows::evidence).collect()
}

/// Lists evidence of one fact, latest first.
///
/// A message may have several stances on one fact, so the key includes the stance: `<time>.<message>.<stance>`.
pub(super) async fn list_evidence(store: &SqliteStore, user: UserId, fact: FactId, page: &Page) -> Result<Slice<Evidence>, Failure> {
    let query = match &page.after {
        None => sqlx::query(concat!(
            "SELECT * FROM evidence WHERE user_id = ?1 AND fact_id = ?2 AND session_id NOT IN ",
            hidden_session_ids!(),
            " ORDER BY created_at DESC, message_id DESC, stance DESC LIMIT ?3"
        ))
        .bind(bytes(&user.0))
        .bind(bytes(&fact.0)),
        Some(key) => {
            let (rest, stance) = key.rsplit_once('.').ok_or(Refusal::BadCursor)?;
            let (created_at, message) = keys::parse_number_and_id(rest)?;
            let stance = Stance::parse_word(stance).ok_or(Refusal::BadCursor)?;
            sqlx::query(concat!(
                "SELECT * FROM evidence WHERE user_id = ?1 AND fact_id = ?2 AND (created_at, message_id, stance) < (?3, ?4, ?5)
                 AND session_id NOT IN ",
                hidden_session_ids!(),
                " ORDER BY created_at DESC, message_id DESC, stance DESC LIMIT ?6"
            ))
            .bind(bytes(&user.0))
            .bind(bytes(&fact.0))
            .bind(created_at)
            .bind(bytes(&message))
            .bind(stance.word())
        }
    };
    let found = query.bind(keys::limit(page)).fetch_all(store.readers.for_user(user)).await?;
    let items = found.iter().map(|row| {
        let evidence = rows::evidence(row)?;
        let place = keys::number_and_id(millis(evidence.created_at), evidence.message.0);
        Ok((format!("{place}.{}", evidence.stance.word()), evidence))
    });
    Ok(keys::slice(items.collect::<Result<_, Failure>>()?, page))
}

pub(super) async fn mentions_in(
    store: &SqliteStore,
    user: UserId,
    messages: &[MessageId],
) -> Result<Vec<(MessageId, EntityId, Mention)>, Failure> {
    let found = sqlx::query(concat!(
        "SELECT * FROM mentions WHERE user_id = ?1 AND message_id IN (SELECT unhex(value) FROM json_each(?2)) AND session_id NOT IN ",
        hidden_session_ids!(),
        " ORDER BY message_id, ordinal"
    ))
    .bind(bytes(&user.0))
    .bind(id_list(messages.iter().map(|id| &id.0)))
    .fetch_all(store.readers.for_user(user))
    .await?;
    found
        .iter()
        .map(|row| {
            let c = Columns::of(row, "mentions");
            Ok((MessageId(c.id("message_id")?), EntityId(c.id("entity_id")?), rows::mention(row)?))
        })
        .collect()
}

pub(super) async fn decisions_in(
    store: &SqliteStore,
    user: UserId,
    messages: &[MessageId],
) -> Result<Vec<(MessageId, u32, Decision)>, Failure> {
    let found = sqlx::query(
        "SELECT message_id, ordinal, score, reason FROM mentions
         WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?)) AND score IS NOT NULL AND reason IS NOT NULL
         ORDER BY message_id, ordinal",
    )
    .bind(bytes(&user.0))
    .bind(id_list(messages.iter().map(|id| &id.0)))
    .fetch_all(store.readers.for_user(user))
    .await?;
    found
        .iter()
        .map(|row| {
            let c = Columns::of(row, "mentions");
            let decision = Decision { score: c.real("score")?, reason: c.text("reason")? };
            Ok((MessageId(c.id("message_id")?), c.small("ordinal")?, decision))
        })
        .collect()
}

pub(super) async fn mentions_of(store: &SqliteStore, user: UserId, entity: EntityId) -> Result<Vec<(MessageId, u32, Mention)>, Failure> {
    let found = sqlx::query("SELECT * FROM mentions WHERE user_id = ? AND entity_id = ? ORDER BY message_id, ordinal")
        .bind(bytes(&user.0))
        .bind(bytes(&entity.0))
        .fetch_all(store.readers.for_user(user))
        .await?;
    found
        .iter()
        .map(|row| {
            let c = Columns::of(row, "mentions");
            Ok((MessageId(c.id("message_id")?), c.small("ordinal")?, rows::mention(row)?))
        })
        .collect()
}

/// Sorts the entities by their last mention in the session. For equal times, the message with the greater id is the later one.
pub(super) async fn recently_mentioned(
    store: &SqliteStore,
    user: UserId,
    session: SessionId,
    entities: &[EntityId],
) -> Result<Vec<EntityId>, Failure> {
    let found = sqlx::query(RECENTLY_MENTIONED)
        .bind(bytes(&user.0))
        .bind(bytes(&session.0))
        .bind(id_list(entities.iter().map(|id| &id.0)))
        .fetch_all(store.readers.for_user(user))
        .await?;
    found.iter().map(|row| Ok(EntityId(Columns::of(row, "mentions").id("entity_id")?))).collect()
}

pub(super) async fn facts_in(
    store: &SqliteStore,
    user: UserId,
    messages: &[MessageId],
) -> Result<Vec<(MessageId, FactId, Stance)>, Failure> {
    let found = sqlx::query(concat!(
        "SELECT message_id, fact_id, stance FROM evidence
         WHERE user_id = ?1 AND message_id IN (SELECT unhex(value) FROM json_each(?2)) AND session_id NOT IN ",
        hidden_session_ids!(),
        " ORDER BY message_id, fact_id, CASE stance WHEN 'ends' THEN 0 WHEN 'supports' THEN 1 ELSE 2 END"
    ))
    .bind(bytes(&user.0))
    .bind(id_list(messages.iter().map(|id| &id.0)))
    .fetch_all(store.readers.for_user(user))
    .await?;
    found
        .iter()
        .map(|row| {
            let c = Columns::of(row, "evidence");
            Ok((MessageId(c.id("message_id")?), FactId(c.id("fact_id")?), c.word("stance")?))
        })
        .collect()
}

/// Lists the messages that mention an entity. A message that names it in two ways is listed once, with the first mention.
pub(super) async fn list_mentions(
    store: &SqliteStore,
    user: UserId,
    entity: EntityId,
    page: &Page,
) -> Result<Slice<(MessageId, Mention)>, Failure> {
    const FIRST_OF_MESSAGE: &str = "NOT EXISTS (SELECT 1 FROM mentions o WHERE o.user_id = m.user_id AND o.message_id = m.message_id
         AND o.entity_id = m.entity_id AND o.ordinal < m.ordinal)";
    let mut sql = sqlx::QueryBuilder::new("SELECT m.* FROM mentions m WHERE m.user_id = ");
    sql.push_bind(bytes(&user.0)).push(" AND m.entity_id = ").push_bind(bytes(&entity.0));
    if let Some(key) = &page.after {
        let (said_at, message) = keys::parse_number_and_id(key)?;
        sql.push(" AND (m.said_at, m.message_id) < (").push_bind(said_at).push(", ").push_bind(bytes(&message)).push(")");
    }
    sql.push(" AND ").push(FIRST_OF_MESSAGE);
    push_visible(&mut sql, "m.session_id", user.0);
    sql.push(" ORDER BY m.said_at DESC, m.message_id DESC LIMIT ").push_bind(keys::limit(page));
    let found = sql.build().fetch_all(store.readers.for_user(user)).await?;
    let items = found.iter().map(|row| {
        let message = Columns::of(row, "mentions").id("message_id")?;
        Ok((keys::number_and_id(row.try_get("said_at")?, message), (MessageId(message), rows::mention(row)?)))
    });
    Ok(keys::slice(items.collect::<Result<_, Failure>>()?, page))
}

pub(super) async fn sessions_of_fact(store: &SqliteStore, user: UserId, fact: FactId, limit: u32) -> Result<Vec<SessionId>, Failure> {
    let found = sqlx::query(concat!(
        "SELECT session_id FROM evidence WHERE user_id = ?1 AND fact_id = ?2 AND session_id NOT IN ",
        hidden_session_ids!(),
        " GROUP BY session_id ORDER BY MAX(created_at) DESC, session_id LIMIT ?3"
    ))
    .bind(bytes(&user.0))
    .bind(bytes(&fact.0))
    .bind(i64::from(limit))
    .fetch_all(store.readers.for_user(user))
    .await?;
    found.iter().map(|row| Ok(SessionId(Columns::of(row, "evidence").id("session_id")?))).collect()
}
