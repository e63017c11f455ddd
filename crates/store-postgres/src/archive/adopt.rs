//! Copies a visitor's data to an account: all archive records, and also the event logs.

use std::borrow::Cow;

use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    super::{codec::Word, failure::Failure, row_security, transaction::WriteTransaction},
    read, write,
};
use recall_domain::{Caller, Timestamp, UserId};
use recall_ports::archive::{Record, SHAPES, handover::Handover};
use recall_store::Refusal;

/// Number of records that are read and written together.
const BATCH: u32 = 200;

/// All data of a visitor.
pub(in super::super) struct VisitorData {
    visitor: UserId,
    feed_head: i64,
    model: Option<String>,
    /// The records of each shape, in pages.
    records: Vec<Vec<Record>>,
    logs: Vec<LogRow>,
    events: Vec<LoggedEvent>,
}

struct LogRow {
    session: Uuid,
    epoch: String,
    head: i64,
    floor: i64,
    oldest: Option<Timestamp>,
}

struct LoggedEvent {
    session: Uuid,
    seq: i64,
    id: Uuid,
    kind: String,
    created_at: Timestamp,
    data: String,
}

/// Reads all data of the visitor into memory, in the visitor's transaction. Quotas bound what a visitor may have.
pub(in super::super) async fn read_visitor_data(c: &mut PgConnection, visitor: UserId) -> Result<VisitorData, Failure> {
    let user = visitor.0;
    read::reject_hidden_sessions(c, user).await?;
    let whose = sqlx::query!("SELECT feed_head, embedding_model FROM users WHERE id = $1", user).fetch_one(&mut *c).await?;
    let mut records = Vec::new();
    for shape in SHAPES {
        let mut after = None;
        loop {
            let page = read::read_page(c, user, shape, &mut after, BATCH).await?;
            if page.is_empty() {
                break;
            }
            records.push(page);
        }
    }
    let logs = sqlx::query_as!(
        LogRow,
        "SELECT id AS session, epoch, event_head AS head, event_floor AS floor, oldest_event_at AS oldest FROM sessions
         WHERE user_id = $1 AND deletion_at IS NULL",
        user,
    );
    let logs = logs.fetch_all(&mut *c).await?;
    let events = sqlx::query_as!(
        LoggedEvent,
        r#"SELECT session_id AS session, seq, id, kind, created_at, data::text AS "data!" FROM events WHERE user_id = $1
         AND session_id <> ALL (ARRAY(SELECT id FROM sessions WHERE user_id = $1 AND deletion_at IS NOT NULL))"#,
        user,
    );
    let events = events.fetch_all(&mut *c).await?;
    Ok(VisitorData { visitor, feed_head: whose.feed_head, model: whose.embedding_model, records, logs, events })
}

/// Writes the visitor's data for the account and switches the transaction to the account.
pub(in super::super) async fn adopt(c: &mut PgConnection, data: VisitorData, account: &Caller) -> Result<Handover, Failure> {
    let to = account.user().0;
    row_security::switch_to_user(c, to).await?;
    sqlx::query!("INSERT INTO users (id) VALUES ($1) ON CONFLICT DO NOTHING", to).execute(&mut *c).await?;
    // Indexes of the account read the new rows from the feed as usual. The new version makes concurrent plans stale.
    let head = sqlx::query_scalar!(
        "UPDATE users SET feed_head = feed_head + $2, knowledge_version = knowledge_version + 1,
             embedding_model = CASE WHEN feed_head = 0 THEN $3 ELSE embedding_model END, embedding_settled = false
         WHERE id = $1 AND NOT erasing AND NOT importing RETURNING feed_head",
        to,
        data.feed_head,
        data.model,
    );
    let Some(head) = head.fetch_optional(&mut *c).await? else {
        recall_store::reject_while_locked(&mut WriteTransaction(c), UserId(to)).await?;
        return Err(Refusal::BeingErased.into());
    };
    let viewer = sqlx::query_scalar!("SELECT id FROM entities WHERE user_id = $1 AND is_viewer", to);
    let has_viewer = viewer.fetch_optional(&mut *c).await?.is_some();

    let mut handover = Handover::new(data.visitor, head - data.feed_head, has_viewer, account.role().word());
    for mut records in data.records {
        records.iter_mut().for_each(|record| handover.take(record));
        write::restore(c, to, &records, "").await?.map_err(|_| Refusal::Unstorable("what a visitor had"))?;
    }
    write::set_lane_heads(c, to).await?;
    for log in data.logs {
        let update = sqlx::query!(
            "UPDATE sessions SET epoch = $3, event_head = $4, event_floor = $5, oldest_event_at = $6 WHERE user_id = $1 AND id = $2",
            to,
            log.session,
            log.epoch,
            log.head,
            log.floor,
            log.oldest,
        );
        update.execute(&mut *c).await?;
    }
    let events = data.events;
    let insert = sqlx::query!(
        "INSERT INTO events (user_id, session_id, seq, id, kind, created_at, data)
         SELECT $1, session_id, seq, id, kind, created_at, data::json
         FROM unnest($2::uuid[], $3::bigint[], $4::uuid[], $5::text[], $6::timestamptz[], $7::text[])
              AS e (session_id, seq, id, kind, created_at, data)",
        to,
        &events.iter().map(|e| e.session).collect::<Vec<_>>()[..],
        &events.iter().map(|e| e.seq).collect::<Vec<_>>()[..],
        &events.iter().map(|e| e.id).collect::<Vec<_>>()[..],
        &events.iter().map(|e| Cow::from(e.kind.as_str())).collect::<Vec<_>>()[..],
        &events.iter().map(|e| e.created_at).collect::<Vec<_>>()[..],
        &events.iter().map(|e| Cow::from(e.data.as_str())).collect::<Vec<_>>()[..],
    );
    insert.execute(&mut *c).await?;
    let unsettled = sqlx::query!(
        "INSERT INTO adopted (user_id, entity_id, is_viewer)
         SELECT $1, entity, viewer FROM unnest($2::uuid[], $3::boolean[]) AS a (entity, viewer)",
        to,
        &handover.entities.iter().map(|a| a.entity.0).collect::<Vec<_>>()[..],
        &handover.entities.iter().map(|a| a.is_viewer).collect::<Vec<_>>()[..],
    );
    unsettled.execute(&mut *c).await?;
    Ok(handover)
}
