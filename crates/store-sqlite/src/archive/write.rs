//! Writes an archive. An equal existing row is left alone; a different one is a conflict.

use sqlx::{AssertSqlSafe, SqliteConnection};
use uuid::Uuid;

use super::{
    super::{codec::signed, failure::Failure, knowledge, rows::Columns, transaction::WriteTransaction},
    Outcome, owner,
    read::bind,
};
use recall_ports::archive::{ArchiveError, Owner, Record, Restored, Shape};

/// Begins the import of one user. Returns whether the user is marked as being imported.
pub(super) async fn admit(c: &mut SqliteConnection, new: &Owner) -> Result<Outcome<bool>, Failure> {
    let user = new.user.0;
    recall_store::reject_while_deleting(&mut WriteTransaction(c), new.user).await?;
    let known = sqlx::query("SELECT feed_head, knowledge_version, importing FROM users WHERE id = ?").bind(owner(&user));
    if let Some(row) = known.fetch_optional(&mut *c).await? {
        let row = Columns::of(&row, "users");
        let is_same = (row.count("feed_head")?, row.count("knowledge_version")?) == (new.feed_head, new.knowledge_version);
        if row.flag("importing")? {
            return Ok(if is_same { Ok(true) } else { Err(ArchiveError::Unfinished) });
        }
        // All other rows reference one of these.
        let data: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM sessions WHERE user_id = ?1) OR EXISTS (SELECT 1 FROM entities WHERE user_id = ?1)",
        )
        .bind(owner(&user))
        .fetch_one(&mut *c)
        .await?;
        if data {
            return Ok(if is_same { Ok(false) } else { Err(ArchiveError::OtherData) });
        }
    }
    sqlx::query(
        "INSERT INTO users (id, feed_head, knowledge_version, importing) VALUES (?1, ?2, ?3, 1)
         ON CONFLICT (id) DO UPDATE SET feed_head = ?2, knowledge_version = ?3, importing = 1, feed_generation = feed_generation + 1",
    )
    .bind(owner(&user))
    .bind(signed(new.feed_head))
    .bind(signed(new.knowledge_version))
    .execute(c)
    .await?;
    Ok(Ok(true))
}

/// Writes records of one shape. If one is rejected, the records before it stay: they are correct, and the next attempt finds them.
pub(super) async fn restore(c: &mut SqliteConnection, user: Uuid, records: &[Record], epoch: &str) -> Result<Outcome<Restored>, Failure> {
    let mut restored = Restored::default();
    for (at, record) in records.iter().enumerate() {
        // No constraint of the table forbids a second job for one message.
        if record.shape.name == "job" && has_row_with_identity(c, user, record).await? {
            continue;
        }
        match insert(c, user, record, epoch).await {
            Ok(true) => restored.new += 1,
            Ok(false) if record.shape.derived => {
                if !has_equal_row(c, user, record).await? {
                    overwrite_row(c, user, record).await?;
                    restored.repaired += 1;
                }
            }
            Ok(false) => {
                if !has_equal_row(c, user, record).await? {
                    return Ok(Err(ArchiveError::Conflict(at)));
                }
            }
            Err(sqlx::Error::Database(e)) if violates_constraint(e.as_ref()) => return Ok(Err(ArchiveError::Inconsistent(at))),
            Err(e) => return Err(e.into()),
        }
    }
    Ok(Ok(restored))
}

fn violates_constraint(e: &dyn sqlx::error::DatabaseError) -> bool {
    let code = e.code().and_then(|c| c.parse::<i32>().ok());
    code.is_some_and(|code| code & 0xff == libsqlite3_sys::SQLITE_CONSTRAINT)
}

/// Columns that are computed and not part of a record, with their SQL values.
fn computed_columns(shape: &Shape) -> &'static [(&'static str, &'static str)] {
    match shape.name {
        "session" => &[("epoch", "?")],
        "entity" => &[("search", "?")],
        "job" => &[("ready_at", "?"), ("head", "0")],
        _ => &[],
    }
}

async fn insert(c: &mut SqliteConnection, user: Uuid, record: &Record, epoch: &str) -> Result<bool, sqlx::Error> {
    let shape = record.shape;
    let more = computed_columns(shape);
    let columns: Vec<_> = shape.fields.iter().map(|f| f.name).chain(more.iter().map(|m| m.0)).collect();
    let values: Vec<_> = shape.fields.iter().map(|_| "?").chain(more.iter().map(|m| m.1)).collect();
    let sql =
        format!("INSERT INTO {} (user_id, {}) VALUES (?, {}) ON CONFLICT DO NOTHING", shape.table, columns.join(", "), values.join(", "));
    let mut query = sqlx::query(AssertSqlSafe(sql)).bind(owner(&user));
    for value in &record.values {
        query = bind(query, value);
    }
    match shape.name {
        "session" => query = query.bind(epoch.to_owned()),
        "entity" => query = query.bind(search_text(record)),
        "job" => query = bind(query, record.get("queued_at")),
        _ => {}
    }
    Ok(query.execute(c).await?.rows_affected() > 0)
}

/// Overwrites an existing row with the values of the record.
async fn overwrite_row(c: &mut SqliteConnection, user: Uuid, record: &Record) -> Result<(), sqlx::Error> {
    let shape = record.shape;
    let fields = || shape.fields.iter().zip(&record.values);
    let is_identity = |name: &str| shape.identity.contains(&name);
    let set: Vec<_> = fields().filter(|(f, _)| !is_identity(f.name)).map(|(f, _)| format!("{} = ?", f.name)).collect();
    let named: Vec<_> = fields().filter(|(f, _)| is_identity(f.name)).map(|(f, _)| format!("{} = ?", f.name)).collect();
    let sql = format!("UPDATE {} SET {} WHERE {} AND user_id = ?", shape.table, set.join(", "), named.join(" AND "));
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for (_, value) in fields().filter(|(f, _)| !is_identity(f.name)).chain(fields().filter(|(f, _)| is_identity(f.name))) {
        query = bind(query, value);
    }
    query.bind(owner(&user)).execute(c).await?;
    Ok(())
}

/// Makes the first job of each lane without a head its head. Workers claim heads only.
pub(super) async fn set_lane_heads(c: &mut SqliteConnection, user: Uuid) -> Result<(), Failure> {
    sqlx::query(
        "UPDATE jobs SET head = 1 WHERE id IN (
             SELECT min(j.id) FROM jobs j JOIN sessions s ON s.user_id = ?1 AND s.id = j.session_id
             WHERE j.user_id = ?1 AND j.state = 'live' AND s.deletion_at IS NULL
             GROUP BY j.session_id, j.lane HAVING max(j.head) = 0)",
    )
    .bind(owner(&user))
    .execute(c)
    .await?;
    Ok(())
}

/// The text that entity searches look in.
fn search_text(record: &Record) -> String {
    let aliases: Vec<String> = record.text("aliases").and_then(|a| serde_json::from_str(a).ok()).unwrap_or_default();
    let names: Vec<_> = record.text("name").into_iter().chain(aliases.iter().map(String::as_str)).collect();
    names.into_iter().map(knowledge::folded).collect::<Vec<_>>().join("\n")
}

/// Whether a row equals the record.
async fn has_equal_row(c: &mut SqliteConnection, user: Uuid, record: &Record) -> Result<bool, Failure> {
    has_row(c, user, record, |_| true).await
}

/// Whether a row has the identity of the record.
async fn has_row_with_identity(c: &mut SqliteConnection, user: Uuid, record: &Record) -> Result<bool, Failure> {
    has_row(c, user, record, |field| record.shape.identity.contains(&field)).await
}

async fn has_row(c: &mut SqliteConnection, user: Uuid, record: &Record, compared: impl Fn(&str) -> bool) -> Result<bool, Failure> {
    let fields: Vec<_> = record.shape.fields.iter().zip(&record.values).filter(|(f, _)| compared(f.name)).collect();
    let same: Vec<_> = fields.iter().map(|(f, _)| format!("{} IS ?", f.name)).collect();
    let sql = format!("SELECT 1 FROM {} WHERE user_id = ? AND {} LIMIT 1", record.shape.table, same.join(" AND "));
    let mut query = sqlx::query(AssertSqlSafe(sql)).bind(owner(&user));
    for (_, value) in fields {
        query = bind(query, value);
    }
    Ok(query.fetch_optional(c).await?.is_some())
}

/// Checks the imported data as a whole and ends the import. The new generation makes indexes in memory rebuild.
pub(super) async fn finish_import(
    c: &mut SqliteConnection,
    user: Uuid,
    expected: &[(&'static Shape, i64)],
) -> Result<Outcome<()>, Failure> {
    for (shape, expected) in expected {
        let sql = format!("SELECT COUNT(*) FROM {} WHERE user_id = ?", shape.table);
        let found: i64 = sqlx::query_scalar(AssertSqlSafe(sql)).bind(owner(&user)).fetch_one(&mut *c).await?;
        if found != *expected {
            return Ok(Err(ArchiveError::OtherData));
        }
    }
    let wrong: bool = sqlx::query_scalar(
        "SELECT (SELECT COALESCE(MAX(feed_row), 0) FROM messages WHERE user_id = ?1) > (SELECT feed_head FROM users WHERE id = ?1)
             OR EXISTS (SELECT 1 FROM sessions s WHERE s.user_id = ?1 AND s.message_count <
                 (SELECT COALESCE(MAX(m.position), 0) FROM messages m WHERE m.user_id = ?1 AND m.session_id = s.id))",
    )
    .bind(owner(&user))
    .fetch_one(&mut *c)
    .await?;
    if wrong {
        return Ok(Err(ArchiveError::Counters));
    }
    set_lane_heads(c, user).await?;
    // The importer has re-embedded all vectors with the configured model. A background task verifies that later.
    sqlx::query(
        "UPDATE users SET importing = 0, feed_generation = feed_generation + 1, embedding_settled = 0, embedding_model = (
             SELECT i.model FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = ?1 ORDER BY m.feed_row DESC LIMIT 1)
         WHERE id = ?1",
    )
    .bind(owner(&user))
    .execute(c)
    .await?;
    Ok(Ok(()))
}
