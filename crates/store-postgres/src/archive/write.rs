//! Writes an archive. An equal existing row is left alone; a different one is a conflict.

use sqlx::{AssertSqlSafe, PgConnection, Postgres, QueryBuilder, Row, query_builder::Separated};
use uuid::Uuid;

use super::{
    super::{codec::signed, failure::Failure, knowledge, rows::Column, sessions, transaction::WriteTransaction},
    Outcome,
    read::{Bound, bind},
};
use recall_ports::archive::{
    ArchiveError, Owner, Record, Restored, Shape, Value,
    shape::{Field, Holds},
};
use recall_store::Refusal;

/// Whether the server rejected the data of a statement, and not its execution at this moment.
pub(super) fn violates_constraint(failure: &Failure) -> bool {
    // SQLSTATE classes: 22 values, 23 constraints, 54 limits such as a vector's length.
    match failure {
        Failure::Rejected { code, .. } => ["22", "23", "54"].iter().any(|class| code.starts_with(class)),
        Failure::Refused(Refusal::NotFound) => true,
        _ => false,
    }
}

/// Begins the import of one user. Returns whether the user is marked as being imported.
pub(super) async fn admit(c: &mut PgConnection, new: &Owner) -> Result<Outcome<bool>, Failure> {
    let user = new.user.0;
    recall_store::reject_while_deleting(&mut WriteTransaction(c), new.user).await?;
    let known = sqlx::query!("SELECT feed_head, knowledge_version, importing FROM users WHERE id = $1 FOR UPDATE", user);
    if let Some(row) = known.fetch_optional(&mut *c).await? {
        let of = |column| Column("users", column);
        let counters = (of("feed_head").count(row.feed_head)?, of("knowledge_version").count(row.knowledge_version)?);
        let is_same = counters == (new.feed_head, new.knowledge_version);
        if row.importing {
            return Ok(if is_same { Ok(true) } else { Err(ArchiveError::Unfinished) });
        }
        // All other rows reference one of these.
        let data = sqlx::query_scalar!(
            r#"SELECT EXISTS (SELECT 1 FROM sessions WHERE user_id = $1) OR EXISTS (SELECT 1 FROM entities WHERE user_id = $1) AS "data!""#,
            user
        );
        if data.fetch_one(&mut *c).await? {
            return Ok(if is_same { Ok(false) } else { Err(ArchiveError::OtherData) });
        }
    }
    let admitted = sqlx::query!(
        "INSERT INTO users AS u (id, feed_head, knowledge_version, importing) VALUES ($1, $2, $3, true)
         ON CONFLICT (id) DO UPDATE SET feed_head = $2, knowledge_version = $3, importing = true, feed_generation = u.feed_generation + 1",
        user,
        signed(new.feed_head),
        signed(new.knowledge_version),
    );
    admitted.execute(c).await?;
    Ok(Ok(true))
}

/// Writes records of one shape. If one is rejected, the records before it stay: they are correct, and the next attempt finds them.
pub(super) async fn restore(c: &mut PgConnection, user: Uuid, records: &[Record], epoch: &str) -> Result<Outcome<Restored>, Failure> {
    let Some(shape) = records.first().map(|r| r.shape) else { return Ok(Ok(Restored::default())) };
    if shape.name == "job" {
        return restore_jobs(c, user, records).await;
    }
    let mut sql = insert_statement(user, shape, records, epoch);
    // The text varies with the number of rows, so caching the statement is useless.
    let written = sql.build().persistent(false);
    if shape.derived {
        let written = written.fetch_all(&mut *c).await?;
        let new = written.iter().map(|row| row.try_get::<bool, _>("is_new")).collect::<Result<Vec<_>, _>>()?;
        let (new, all) = (new.iter().filter(|is_new| **is_new).count() as u64, new.len() as u64);
        return Ok(Ok(Restored { new, repaired: all - new }));
    }
    let new = written.execute(&mut *c).await?.rows_affected();
    if new < records.len() as u64 {
        for (at, record) in records.iter().enumerate() {
            if !has_equal_row(c, user, record).await? {
                return Ok(Err(ArchiveError::Conflict(at)));
            }
        }
    }
    Ok(Ok(Restored { new, repaired: 0 }))
}

pub(super) fn insert_statement(user: Uuid, shape: &Shape, records: &[Record], epoch: &str) -> QueryBuilder<Postgres> {
    let mut sql = QueryBuilder::<Postgres>::new(format!("INSERT INTO {} AS present (user_id, {}", shape.table, column_names(shape)));
    if let Some(column) = computed_columns(shape) {
        sql.push(format!(", {column}"));
    }
    sql.push(") ");
    sql.push_values(records, |mut row, record| {
        row.push_bind(user);
        for (field, value) in shape.fields.iter().zip(&record.values) {
            push(&mut row, field, value);
        }
        match shape.name {
            "session" => drop(row.push_bind(epoch.to_owned())),
            "entity" => drop(row.push_bind(search_text(record))),
            "index" => drop(row.push_bind(dimensions(record))),
            _ => {}
        }
    });
    if shape.derived {
        sql.push(update_clause(shape));
    } else {
        sql.push(" ON CONFLICT DO NOTHING");
    }
    sql
}

/// The clause that overwrites a row that differs. It returns for each written row whether it is new.
fn update_clause(shape: &Shape) -> String {
    let others = || shape.fields.iter().filter(|f| !shape.identity.contains(&f.name));
    let columns = others().map(|f| f.name).chain(computed_columns(shape));
    let set: Vec<_> = columns.map(|name| format!("{name} = excluded.{name}")).collect();
    let differs = others().map(|f| {
        let text = if matches!(f.holds, Holds::Json(_)) { "::text" } else { "" };
        format!("present.{0}{text} IS DISTINCT FROM excluded.{0}{text}", f.name)
    });
    let differs: Vec<_> = differs.collect();
    // An inserted row has no `xmax`.
    format!(
        " ON CONFLICT (user_id, {}) DO UPDATE SET {} WHERE {} RETURNING (xmax = 0) AS is_new",
        shape.identity.join(", "),
        set.join(", "),
        differs.join(" OR ")
    )
}

fn column_names(shape: &Shape) -> String {
    shape.fields.iter().map(|f| f.name).collect::<Vec<_>>().join(", ")
}

/// The column that is computed and not part of a record.
fn computed_columns(shape: &Shape) -> Option<&'static str> {
    match shape.name {
        "session" => Some("epoch"),
        "entity" => Some("search"),
        "index" => Some("dimensions"),
        _ => None,
    }
}

fn push(row: &mut Separated<'_, Postgres, &'static str>, field: &Field, value: &Value) {
    match Bound::of(field, value) {
        Bound::Id(v) => row.push_bind(v),
        Bound::Count(v) => row.push_bind(v),
        Bound::Real(v) => row.push_bind(v),
        Bound::Text(v) => row.push_bind(v),
        Bound::Flag(v) => row.push_bind(v),
        Bound::Time(v) => row.push_bind(v),
        Bound::Vector(v) => row.push_bind(v),
    };
    if matches!(field.holds, Holds::Json(_)) {
        row.push_unseparated("::json");
    }
}

/// The text that entity searches look in.
fn search_text(record: &Record) -> String {
    let aliases: Vec<String> = record.text("aliases").and_then(|a| serde_json::from_str(a).ok()).unwrap_or_default();
    let names: Vec<_> = record.text("name").into_iter().chain(aliases.iter().map(String::as_str)).collect();
    names.into_iter().map(knowledge::folded).collect::<Vec<_>>().join("\n")
}

fn dimensions(record: &Record) -> i32 {
    match record.get("embedding") {
        Value::Vector(v) => i32::try_from(v.len()).unwrap_or(i32::MAX),
        _ => 0,
    }
}

/// Writes jobs one by one: no constraint of the table forbids a second job for one message.
async fn restore_jobs(c: &mut PgConnection, user: Uuid, records: &[Record]) -> Result<Outcome<Restored>, Failure> {
    let mut new = 0;
    for record in records {
        sessions::lock(c, user, record.id("session_id").unwrap_or_default()).await?;
        if has_row_with_identity(c, user, record).await? {
            continue;
        }
        let sql = insert_job_statement(record.shape);
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(user);
        for (field, value) in record.shape.fields.iter().zip(&record.values) {
            query = bind(query, field, value);
        }
        new += query.execute(&mut *c).await?.rows_affected();
    }
    Ok(Ok(Restored { new, repaired: 0 }))
}

pub(super) fn insert_job_statement(shape: &Shape) -> String {
    let places: Vec<_> = (0..shape.fields.len()).map(|n| format!("${}", n + 2)).collect();
    let queued = shape.field("queued_at").unwrap_or_default() + 2;
    format!(
        "INSERT INTO jobs (user_id, {}, ready_at, head) VALUES ($1, {}, least(${queued}, queue_time(${queued})), false)",
        column_names(shape),
        places.join(", ")
    )
}

/// Makes the first job of each lane without a head its head. Workers claim heads only.
pub(super) async fn set_lane_heads(c: &mut PgConnection, user: Uuid) -> Result<(), Failure> {
    let begun = sqlx::query!(
        "UPDATE jobs SET head = true WHERE user_id = $1 AND id IN (
             SELECT min(j.id) FROM jobs j JOIN sessions s ON s.user_id = $1 AND s.id = j.session_id
             WHERE j.user_id = $1 AND j.state = 'live' AND s.deletion_at IS NULL
             GROUP BY j.session_id, j.lane HAVING NOT bool_or(j.head))",
        user
    );
    begun.execute(c).await?;
    Ok(())
}

/// Whether a row equals the record.
async fn has_equal_row(c: &mut PgConnection, user: Uuid, record: &Record) -> Result<bool, Failure> {
    has_row(c, user, record, |_| true).await
}

/// Whether a row has the identity of the record.
async fn has_row_with_identity(c: &mut PgConnection, user: Uuid, record: &Record) -> Result<bool, Failure> {
    has_row(c, user, record, |field| record.shape.identity.contains(&field)).await
}

async fn has_row(c: &mut PgConnection, user: Uuid, record: &Record, compared: impl Fn(&str) -> bool) -> Result<bool, Failure> {
    let shape = record.shape;
    let mut query = sqlx::query(AssertSqlSafe(find_statement(shape, &compared))).bind(user);
    for (field, value) in shape.fields.iter().zip(&record.values).filter(|(f, _)| compared(f.name)) {
        query = bind(query, field, value);
    }
    Ok(query.fetch_optional(c).await?.is_some())
}

/// Selects a row by the compared fields.
pub(super) fn find_statement(shape: &Shape, compared: impl Fn(&str) -> bool) -> String {
    let same = shape.fields.iter().filter(|f| compared(f.name)).enumerate().map(|(n, f)| {
        let (place, text) = (n + 2, if matches!(f.holds, Holds::Json(_)) { "::text" } else { "" });
        // Identity fields are never null, and only `=` can use an index.
        let equal = if shape.identity.contains(&f.name) { "=" } else { "IS NOT DISTINCT FROM" };
        format!("{}{text} {equal} ${place}", f.name)
    });
    format!("SELECT 1 FROM {} WHERE user_id = $1 AND {} LIMIT 1", shape.table, same.collect::<Vec<_>>().join(" AND "))
}

pub(super) fn count_statement(shape: &Shape) -> String {
    format!("SELECT count(*) FROM {} WHERE user_id = $1", shape.table)
}

/// Checks the imported data as a whole and ends the import. The new generation makes indexes in memory rebuild.
pub(super) async fn finish_import(c: &mut PgConnection, user: Uuid, expected: &[(&'static Shape, i64)]) -> Result<Outcome<()>, Failure> {
    // Counting all rows of a large user may take longer than the timeout.
    sqlx::query!("SET LOCAL statement_timeout = 0").execute(&mut *c).await?;
    for (shape, expected) in expected {
        let found: i64 = sqlx::query_scalar(AssertSqlSafe(count_statement(shape))).bind(user).fetch_one(&mut *c).await?;
        if found != *expected {
            return Ok(Err(ArchiveError::OtherData));
        }
    }
    let wrong = sqlx::query_scalar!(
        r#"SELECT (SELECT coalesce(max(feed_row), 0) FROM messages WHERE user_id = $1) > (SELECT feed_head FROM users WHERE id = $1)
             OR EXISTS (SELECT 1 FROM sessions s WHERE s.user_id = $1 AND s.message_count <
                 (SELECT coalesce(max(m.position), 0) FROM messages m WHERE m.user_id = $1 AND m.session_id = s.id)) AS "wrong!""#,
        user
    );
    if wrong.fetch_one(&mut *c).await? {
        return Ok(Err(ArchiveError::Counters));
    }
    set_lane_heads(c, user).await?;
    // The importer has re-embedded all vectors with the configured model. A background task verifies that later.
    let settled = sqlx::query!(
        "UPDATE users SET importing = false, feed_generation = feed_generation + 1, embedding_settled = false, embedding_model = (
             SELECT i.model FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
             WHERE m.user_id = $1 ORDER BY m.feed_row DESC LIMIT 1)
         WHERE id = $1",
        user
    );
    settled.execute(c).await?;
    Ok(Ok(()))
}
