//! Copies a visitor's data to an account: all archive records, and also the event logs.

use sqlx::SqliteConnection;

use super::{
    super::{
        codec::{Word, bytes},
        failure::Failure,
        rows::Columns,
        transaction::WriteTransaction,
    },
    read, write,
};
use recall_domain::{Caller, UserId};
use recall_ports::archive::{SHAPES, handover::Handover};
use recall_store::Refusal;

/// Number of records that are read and written together.
const BATCH: u32 = 200;

/// Copies all data of the visitor. The caller deletes the visitor afterwards.
pub(in super::super) async fn adopt(c: &mut SqliteConnection, visitor: UserId, account: &Caller) -> Result<Handover, Failure> {
    let (from, to) = (visitor.0, account.user().0);
    read::reject_hidden_sessions(c, from).await?;
    sqlx::query("INSERT INTO users (id) VALUES (?) ON CONFLICT DO NOTHING").bind(bytes(&to)).execute(&mut *c).await?;
    // Indexes of the account read the new rows from the feed as usual. The new version makes concurrent plans stale.
    let row = sqlx::query(
        "UPDATE users SET feed_head = users.feed_head + v.feed_head, knowledge_version = users.knowledge_version + 1,
             embedding_model = CASE WHEN users.feed_head = 0 THEN v.embedding_model ELSE users.embedding_model END, embedding_settled = 0
         FROM users v WHERE users.id = ?1 AND users.erasing = 0 AND users.importing = 0 AND v.id = ?2
         RETURNING feed_head",
    )
    .bind(bytes(&to))
    .bind(bytes(&from))
    .fetch_optional(&mut *c)
    .await?;
    let Some(row) = row else {
        recall_store::reject_while_locked(&mut WriteTransaction(c), UserId(to)).await?;
        return Err(Refusal::BeingErased.into());
    };
    let head = Columns::of(&row, "users").integer("feed_head")?;
    let came: i64 = sqlx::query_scalar("SELECT feed_head FROM users WHERE id = ?").bind(bytes(&from)).fetch_one(&mut *c).await?;
    let viewer = sqlx::query("SELECT 1 FROM entities WHERE user_id = ? AND is_viewer = 1").bind(bytes(&to));
    let has_viewer = viewer.fetch_optional(&mut *c).await?.is_some();

    let mut handover = Handover::new(visitor, head - came, has_viewer, account.role().word());
    for shape in SHAPES {
        let mut after = None;
        loop {
            let mut records = read::read_page(c, from, shape, &mut after, BATCH).await?;
            if records.is_empty() {
                break;
            }
            records.iter_mut().for_each(|record| handover.take(record));
            write::restore(c, to, &records, "").await?.map_err(|_| Refusal::Unstorable("what a visitor had"))?;
        }
    }
    write::set_lane_heads(c, to).await?;
    for sql in [
        "UPDATE sessions SET epoch = v.epoch, event_head = v.event_head, event_floor = v.event_floor, oldest_event_at = v.oldest_event_at
         FROM sessions v WHERE sessions.user_id = ?1 AND v.user_id = ?2 AND v.id = sessions.id",
        "INSERT INTO events (user_id, session_id, seq, id, kind, created_at, data)
         SELECT ?1, session_id, seq, id, kind, created_at, data FROM events WHERE user_id = ?2
         AND session_id IN (SELECT id FROM sessions WHERE user_id = ?2 AND deletion_at IS NULL)",
    ] {
        sqlx::query(sql).bind(bytes(&to)).bind(bytes(&from)).execute(&mut *c).await?;
    }
    for adopted in &handover.entities {
        sqlx::query("INSERT INTO adopted (user_id, entity_id, is_viewer) VALUES (?, ?, ?)")
            .bind(bytes(&to))
            .bind(bytes(&adopted.entity.0))
            .bind(adopted.is_viewer)
            .execute(&mut *c)
            .await?;
    }
    Ok(handover)
}
