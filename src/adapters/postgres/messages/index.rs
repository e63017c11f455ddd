//! What retrieval reads: the feed from which an index is made, and exact search by vector.

use pgvector::Vector;
use sqlx::Row;

use super::super::{PostgresStore, codec::signed, failure::Failure, rows::Columns};
use crate::{
    domain::{MessageId, SessionId, UserId},
    ports::{Embedding, FeedRow},
};

pub(super) async fn feed(store: &PostgresStore, user: UserId, model: &str, after: u64, limit: u32) -> Result<Vec<FeedRow>, Failure> {
    let found = sqlx::query(
        "SELECT m.feed_row, m.id, m.session_id, m.position, m.role, m.speaker, m.sent_at, i.terms,
                CASE WHEN i.model = $2 THEN i.embedding ELSE v.embedding END AS embedding
         FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
         LEFT JOIN message_vectors v ON v.user_id = m.user_id AND v.message_id = m.id AND v.model = $2
         WHERE m.user_id = $1 AND m.feed_row > $3 ORDER BY m.feed_row LIMIT $4",
    )
    .bind(user.0)
    .bind(model)
    .bind(signed(after))
    .bind(i64::from(limit))
    .fetch_all(store.pool.reading(user))
    .await?;
    found
        .iter()
        .map(|row| {
            let c = Columns::of(row, "messages");
            Ok(FeedRow {
                row: c.count("feed_row")?,
                message: MessageId(c.id("id")?),
                session: SessionId(c.id("session_id")?),
                position: c.count("position")?,
                role: c.word("role")?,
                speaker: c.opt_text("speaker")?,
                sent_at: c.time("sent_at")?,
                terms: c.json("terms")?,
                embedding: c.vector("embedding")?,
            })
        })
        .collect()
}

/// From so many messages on codes say which vectors are looked at: below, all vectors are read as fast.
const CODED_FROM: i64 = 20_000;
/// How many vectors are looked at then, at least, and one of how many messages.
const LOOKED_AT: i64 = 2_000;
const LOOKED_AT_OF: i64 = 100;

/// Scans all of the user's vectors, or where they are many all of their codes and then the vectors of the likeliest. An approximate
/// index over all users filters by user only afterwards and loses nearly all results of a small user. A zero vector has no direction,
/// which pgvector calls NaN: its similarity is 0.
pub(super) async fn nearest(
    store: &PostgresStore,
    user: UserId,
    model: &str,
    vector: &Embedding,
    session: Option<SessionId>,
    limit: u32,
) -> Result<Vec<(MessageId, f32)>, Failure> {
    if vector.0.is_empty() {
        return Ok(Vec::new());
    }
    let dimensions = i32::try_from(vector.0.len()).unwrap_or(i32::MAX);
    let coded = if session.is_none() { coded(store, user, model).await? } else { None };
    let sql = match session {
        None if coded.is_some() => {
            // The code of the question in a subquery of its own, or a general plan makes it anew for each row.
            "WITH likely AS MATERIALIZED (
                 SELECT message_id FROM message_codes WHERE user_id = $1 AND length(code) = (SELECT length(vector_code($3)))
                 ORDER BY code <~> (SELECT vector_code($3)) LIMIT $6)
             SELECT i.message_id, coalesce(nullif(i.embedding <=> $3, 'NaN'), 1.0) AS distance
             FROM likely JOIN message_index i ON i.user_id = $1 AND i.message_id = likely.message_id
             WHERE i.model = $2 AND i.dimensions = $4 ORDER BY distance, i.message_id LIMIT $5"
        }
        None => {
            "SELECT message_id, coalesce(nullif(embedding <=> $3, 'NaN'), 1.0) AS distance FROM (
                 SELECT message_id, embedding FROM message_index WHERE user_id = $1 AND model = $2 AND dimensions = $4
                 UNION ALL SELECT message_id, embedding FROM message_vectors WHERE user_id = $1 AND model = $2 AND dimensions = $4) AS all_of
             ORDER BY distance, message_id LIMIT $5"
        }
        Some(_) => {
            "SELECT message_id, coalesce(nullif(embedding <=> $3, 'NaN'), 1.0) AS distance FROM (
                 SELECT i.message_id, i.embedding FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
                 WHERE m.user_id = $1 AND m.session_id = $6 AND i.model = $2 AND i.dimensions = $4
                 UNION ALL
                 SELECT v.message_id, v.embedding FROM messages m JOIN message_vectors v ON v.user_id = m.user_id AND v.message_id = m.id
                 WHERE m.user_id = $1 AND m.session_id = $6 AND v.model = $2 AND v.dimensions = $4) AS all_of
             ORDER BY distance, message_id LIMIT $5"
        }
    };
    let mut query = sqlx::query(sql).bind(user.0).bind(model).bind(Vector::from(vector.0.clone())).bind(dimensions).bind(i64::from(limit));
    if let Some(session) = &session {
        query = query.bind(session.0);
    } else if let Some(messages) = coded {
        query = query.bind((messages / LOOKED_AT_OF).max(LOOKED_AT).max(i64::from(limit) * 5));
    }
    let found = query.fetch_all(store.pool.reading(user)).await?;
    found
        .iter()
        .map(|row| {
            let distance: f64 = row.try_get("distance")?;
            // The distance is computed in f32 and may miss the interval by a rounding error.
            #[allow(clippy::cast_possible_truncation)]
            let similarity = (1.0 - distance).clamp(-1.0, 1.0) as f32;
            Ok((MessageId(Columns::of(row, "message_index").id("message_id")?), similarity))
        })
        .collect()
}

/// How many messages the user has had, if they are many and all of their vectors have codes.
async fn coded(store: &PostgresStore, user: UserId, model: &str) -> Result<Option<i64>, Failure> {
    let found =
        sqlx::query_scalar("SELECT feed_head FROM users WHERE id = $1 AND embedding_settled AND embedding_model = $2 AND feed_head > $3");
    Ok(found.bind(user.0).bind(model).bind(CODED_FROM).fetch_optional(store.pool.reading(user)).await?)
}
