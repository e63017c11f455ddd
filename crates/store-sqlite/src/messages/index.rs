//! Reads for retrieval: the feed that builds an index, and exact vector search.

use super::super::{
    SqliteStore,
    codec::{signed, vector as blob},
    failure::Failure,
    rows::Columns,
};
use recall_domain::{MessageId, SessionId, UserId};
use recall_ports::{Embedding, FeedRow};
use recall_store::{role_of, similarity};

pub(super) async fn feed(store: &SqliteStore, user: UserId, model: &str, after: u64, limit: u32) -> Result<Vec<FeedRow>, Failure> {
    let model = model.to_owned();
    let found = store.read(user, move |db| {
        let sql = "SELECT m.feed_row, m.id, m.session_id, m.position, m.role, m.chunk, m.speaker, m.sent_at, i.terms,
                    CASE WHEN i.model = ?2 THEN i.embedding
                         ELSE COALESCE((SELECT v.embedding FROM message_vectors v
                                        WHERE v.user_id = m.user_id AND v.message_id = m.id AND v.model = ?2), x'')
                    END AS embedding
             FROM visible_messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = ?1 AND m.forgotten IS NULL AND m.feed_row > ?3 ORDER BY m.feed_row LIMIT ?4";
        db.rows("messages", sql, (user.0, model, signed(after), limit), |c| {
            Ok(FeedRow {
                row: c.count("feed_row")?,
                message: MessageId(c.id("id")?),
                session: SessionId(c.id("session_id")?),
                position: c.count("position")?,
                role: role_of(c.word("role")?, Some(c.opt_flag("chunk")?)),
                speaker: c.opt_text("speaker")?,
                sent_at: c.time("sent_at")?,
                terms: c.json("terms")?,
                embedding: c.vector("embedding")?,
            })
        })
    });
    found.await
}

/// Finds the nearest vectors by scanning all vectors of the user.
///
/// An approximate index over all users would filter by user only afterwards and lose nearly all results of a small user; see
/// <https://github.com/asg017/sqlite-vec>. A zero vector has no direction, so its similarity is 0.
pub(super) async fn nearest(
    store: &SqliteStore,
    user: UserId,
    model: &str,
    vector: &Embedding,
    session: Option<SessionId>,
    limit: u32,
) -> Result<Vec<(MessageId, f32)>, Failure> {
    if vector.0.is_empty() {
        return Ok(Vec::new());
    }
    let (model, blob) = (model.to_owned(), blob(&vector.0));
    let length = signed(blob.len() as u64);
    let found = store.read(user, move |db| match session {
        None => {
            let sql = "SELECT message_id, COALESCE(vec_distance_cosine(embedding, ?3), 1.0) AS distance FROM (
                     SELECT message_id, embedding FROM message_index WHERE user_id = ?1 AND model = ?2
                     UNION ALL SELECT message_id, embedding FROM message_vectors WHERE user_id = ?1 AND model = ?2)
                 WHERE length(embedding) = ?4 AND message_id NOT IN (SELECT id FROM hidden_messages WHERE user_id = ?1)
                 ORDER BY distance, message_id LIMIT ?5";
            db.rows("message_index", sql, (user.0, model, blob, length, limit), neighbour)
        }
        Some(session) => {
            let sql = "SELECT message_id, COALESCE(vec_distance_cosine(embedding, ?3), 1.0) AS distance FROM (
                     SELECT i.message_id, i.embedding FROM visible_messages m CROSS JOIN message_index i
                         ON i.user_id = m.user_id AND i.message_id = m.id
                     WHERE m.user_id = ?1 AND m.forgotten IS NULL AND m.session_id = ?6 AND i.model = ?2
                     UNION ALL
                     SELECT v.message_id, v.embedding FROM visible_messages m CROSS JOIN message_vectors v
                         ON v.user_id = m.user_id AND v.message_id = m.id
                     WHERE m.user_id = ?1 AND m.forgotten IS NULL AND m.session_id = ?6 AND v.model = ?2)
                 WHERE length(embedding) = ?4 ORDER BY distance, message_id LIMIT ?5";
            db.rows("message_index", sql, (user.0, model, blob, length, limit, session.0), neighbour)
        }
    });
    found.await
}

fn neighbour(c: &Columns<'_, '_>) -> Result<(MessageId, f32), Failure> {
    Ok((MessageId(c.id("message_id")?), similarity(c.real("distance")?)))
}
