//! Reads for retrieval: the feed that builds an index, and exact vector search.

use pgvector::Vector;
use uuid::Uuid;

use super::super::{PostgresStore, codec::signed, failure::Failure, rows::Column};
use recall_domain::{MessageId, SessionId, UserId};
use recall_ports::{Embedding, FeedRow};
use recall_store::{role_of, similarity};

pub(super) async fn feed(store: &PostgresStore, user: UserId, model: &str, after: u64, limit: u32) -> Result<Vec<FeedRow>, Failure> {
    let found = sqlx::query!(
        r#"SELECT m.feed_row AS "feed_row!", m.id AS "id!", m.session_id AS "session_id!", m.position AS "position!", m.role AS "role!", m.chunk,
                m.speaker, m.sent_at AS "sent_at!", i.terms,
                CASE WHEN i.model = $2 THEN i.embedding
                     ELSE (SELECT v.embedding FROM message_vectors v WHERE v.user_id = m.user_id AND v.message_id = m.id AND v.model = $2)
                END AS embedding
         FROM visible_messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
         WHERE m.user_id = $1 AND m.forgotten IS NULL AND m.feed_row > $3 ORDER BY m.feed_row LIMIT $4"#,
        user.0,
        model,
        signed(after),
        i64::from(limit),
    );
    let of = |column| Column("messages", column);
    let rows = found.fetch_all(store.pool.planning(user)).await?.into_iter().map(|row| {
        Ok(FeedRow {
            row: of("feed_row").count(row.feed_row)?,
            message: MessageId(row.id),
            session: SessionId(row.session_id),
            position: of("position").count(row.position)?,
            role: role_of(of("role").word(&row.role)?, row.chunk),
            speaker: of("speaker").opt_text(row.speaker)?,
            sent_at: row.sent_at,
            terms: of("terms").json(&row.terms)?,
            embedding: row.embedding.map(Vec::from).unwrap_or_default(),
        })
    });
    rows.collect()
}

/// The number of messages from which codes select the vectors to compare. Below it, reading all vectors is as fast.
const MIN_MESSAGES_FOR_CODES: i64 = 20_000;
/// The least number of vectors to compare then, and the number of messages per compared vector.
const MIN_COMPARED: i64 = 2_000;
const MESSAGES_PER_COMPARED: i64 = 100;

/// What the nearest vectors are searched for.
struct NearestQuery<'a> {
    user: UserId,
    model: &'a str,
    vector: Vector,
    dimensions: i32,
    limit: i64,
}

/// Finds the nearest vectors by scanning all vectors of the user.
///
/// If there are many, it scans all codes and then the vectors with the best codes. An approximate index over all users filters by
/// user only afterwards and loses nearly all results of a small user. A zero vector has no direction, and pgvector returns NaN for
/// it: its similarity is 0.
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
    let query = NearestQuery { user, model, vector: Vector::from(vector.0.clone()), dimensions, limit: limit.into() };
    let found = match session {
        Some(session) => nearest_in_session(store, query, session).await?,
        None => match count_if_coded(store, user, model).await? {
            Some(messages) => nearest_by_codes(store, query, messages).await?,
            None => nearest_of_all(store, query).await?,
        },
    };
    Ok(found.into_iter().map(|row| (MessageId(row.message_id), similarity(row.distance))).collect())
}

async fn nearest_in_session(store: &PostgresStore, query: NearestQuery<'_>, session: SessionId) -> Result<Vec<MessageDistance>, Failure> {
    let found = sqlx::query_as!(
        MessageDistance,
        r#"SELECT message_id AS "message_id!", coalesce(nullif(embedding <=> $3, 'NaN'), 1.0) AS "distance!" FROM (
             SELECT i.message_id, i.embedding FROM visible_messages m
             JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = $1 AND m.forgotten IS NULL AND m.session_id = $6 AND i.model = $2 AND i.dimensions = $4
             UNION ALL
             SELECT v.message_id, v.embedding FROM visible_messages m
             JOIN message_vectors v ON v.user_id = m.user_id AND v.message_id = m.id
             WHERE m.user_id = $1 AND m.forgotten IS NULL AND m.session_id = $6 AND v.model = $2 AND v.dimensions = $4) AS all_of
         ORDER BY 2, message_id LIMIT $5"#,
        query.user.0,
        query.model,
        query.vector,
        query.dimensions,
        query.limit,
        session.0,
    );
    Ok(found.fetch_all(store.pool.reading(query.user)).await?)
}

async fn nearest_of_all(store: &PostgresStore, query: NearestQuery<'_>) -> Result<Vec<MessageDistance>, Failure> {
    let found = sqlx::query_as!(
        MessageDistance,
        r#"SELECT message_id AS "message_id!", coalesce(nullif(embedding <=> $3, 'NaN'), 1.0) AS "distance!" FROM (
             SELECT message_id, embedding FROM message_index WHERE user_id = $1 AND model = $2 AND dimensions = $4
             UNION ALL SELECT message_id, embedding FROM message_vectors WHERE user_id = $1 AND model = $2 AND dimensions = $4) AS all_of
         WHERE message_id NOT IN (SELECT id FROM hidden_messages WHERE user_id = $1)
         ORDER BY 2, message_id LIMIT $5"#,
        query.user.0,
        query.model,
        query.vector,
        query.dimensions,
        query.limit,
    );
    Ok(found.fetch_all(store.pool.reading(query.user)).await?)
}

/// Compares only the vectors with the nearest codes. `messages` is the number of the user's messages.
async fn nearest_by_codes(store: &PostgresStore, query: NearestQuery<'_>, messages: i64) -> Result<Vec<MessageDistance>, Failure> {
    let compared = (messages / MESSAGES_PER_COMPARED).max(MIN_COMPARED).max(query.limit * 5);
    // The code of the question is in its own subquery. Otherwise a generic plan would compute it again for each row.
    let found = sqlx::query_as!(
        MessageDistance,
        r#"WITH likely AS MATERIALIZED (
             SELECT message_id FROM message_codes WHERE user_id = $1 AND length(code) = (SELECT length(vector_code($3)))
                 AND message_id NOT IN (SELECT id FROM hidden_messages WHERE user_id = $1)
             ORDER BY code <~> (SELECT vector_code($3)) LIMIT $6)
         SELECT i.message_id, coalesce(nullif(i.embedding <=> $3, 'NaN'), 1.0) AS "distance!"
         FROM likely JOIN message_index i ON i.user_id = $1 AND i.message_id = likely.message_id
         WHERE i.model = $2 AND i.dimensions = $4
         ORDER BY 2, i.message_id LIMIT $5"#,
        query.user.0,
        query.model,
        query.vector,
        query.dimensions,
        query.limit,
        compared,
    );
    Ok(found.fetch_all(store.pool.reading(query.user)).await?)
}

/// A message and the distance of its vector.
struct MessageDistance {
    message_id: Uuid,
    distance: f64,
}

/// The user's number of messages, if they are many and all their vectors have codes.
async fn count_if_coded(store: &PostgresStore, user: UserId, model: &str) -> Result<Option<i64>, Failure> {
    let found = sqlx::query_scalar!(
        "SELECT feed_head FROM users WHERE id = $1 AND embedding_settled AND embedding_model = $2 AND feed_head > $3",
        user.0,
        model,
        MIN_MESSAGES_FOR_CODES,
    );
    Ok(found.fetch_optional(store.pool.reading(user)).await?)
}
