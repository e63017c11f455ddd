//! The statements that import an archive.

use async_trait::async_trait;
use sqlx::{AssertSqlSafe, Postgres, QueryBuilder, Row, query_builder::Separated};

use super::{
    super::{
        codec::{self, signed},
        failure::Failure,
        transaction::{Snapshot, WriteTransaction},
    },
    read::{Bound, bind},
};
use recall_domain::{SessionId, UserId};
use recall_ports::archive::{
    Owner, Record, Restored, Shape, Value,
    shape::{Field, Holds},
};
use recall_store::{
    KnowledgeStatements, Refusal,
    archive::{
        ArchiveReads, ImportStatements, column_names, count_statement, entity_search, find_statement, insert_job_statement, session_search,
        update_clause,
    },
};

#[async_trait]
impl ImportStatements for WriteTransaction<'_> {
    fn reads(&mut self) -> Box<dyn ArchiveReads<Error = Failure> + '_> {
        Box::new(Snapshot(self.0))
    }

    async fn has_data(&mut self, user: UserId) -> Result<bool, Failure> {
        let data = sqlx::query_scalar!(
            r#"SELECT EXISTS (SELECT 1 FROM sessions WHERE user_id = $1) OR EXISTS (SELECT 1 FROM entities WHERE user_id = $1) AS "data!""#,
            user.0
        );
        Ok(data.fetch_one(&mut *self.0).await?)
    }

    async fn mark_importing(&mut self, owner: &Owner) -> Result<(), Failure> {
        let marked = sqlx::query!(
            "INSERT INTO users AS u (id, feed_head, knowledge_version, importing) VALUES ($1, $2, $3, true)
             ON CONFLICT (id) DO UPDATE SET feed_head = $2, knowledge_version = $3, importing = true, feed_generation = u.feed_generation + 1",
            owner.user.0,
            signed(owner.feed_head),
            signed(owner.knowledge_version),
        );
        marked.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_records(&mut self, user: UserId, records: &[Record], epoch: &str) -> Result<u64, Failure> {
        let Some(shape) = records.first().map(|r| r.shape) else { return Ok(0) };
        // The text varies with the number of rows, so caching the statement is useless.
        let inserted = insert_statement(user, shape, records, epoch).build().persistent(false).execute(&mut *self.0).await?;
        Ok(inserted.rows_affected())
    }

    async fn upsert_records(&mut self, user: UserId, records: &[Record]) -> Result<Restored, Failure> {
        let Some(shape) = records.first().map(|r| r.shape) else { return Ok(Restored::default()) };
        let written = insert_statement(user, shape, records, "").build().persistent(false).fetch_all(&mut *self.0).await?;
        let mut restored = Restored::default();
        for row in &written {
            let is_new: bool = row.try_get("is_new")?;
            restored += Restored { new: u64::from(is_new), repaired: u64::from(!is_new) };
        }
        Ok(restored)
    }

    async fn insert_job(&mut self, user: UserId, record: &Record) -> Result<bool, Failure> {
        // Jobs of a session are queued one after the other.
        if !self.lock_session(user, SessionId(record.id("session_id").unwrap_or_default())).await? {
            return Err(Refusal::NotFound.into());
        }
        let mut query = sqlx::query(AssertSqlSafe(job_statement(record.shape))).bind(user.0);
        for (field, value) in record.shape.fields.iter().zip(&record.values) {
            query = bind(query, field, value);
        }
        Ok(query.execute(&mut *self.0).await?.rows_affected() > 0)
    }

    async fn has_equal_row(&mut self, user: UserId, record: &Record) -> Result<bool, Failure> {
        let mut query = sqlx::query(AssertSqlSafe(find_statement('$', record.shape))).bind(user.0);
        for (field, value) in record.shape.fields.iter().zip(&record.values) {
            query = bind(query, field, value);
        }
        Ok(query.fetch_optional(&mut *self.0).await?.is_some())
    }

    async fn count_rows(&mut self, user: UserId, shape: &Shape) -> Result<i64, Failure> {
        Ok(sqlx::query_scalar(AssertSqlSafe(count_statement('$', shape))).bind(user.0).fetch_one(&mut *self.0).await?)
    }

    async fn has_wrong_counters(&mut self, user: UserId) -> Result<bool, Failure> {
        let wrong = sqlx::query_scalar!(
            r#"SELECT (SELECT coalesce(max(feed_row), 0) FROM messages WHERE user_id = $1) > (SELECT feed_head FROM users WHERE id = $1)
                 OR EXISTS (SELECT 1 FROM sessions s WHERE s.user_id = $1 AND s.message_count <
                     (SELECT coalesce(max(m.position), 0) FROM messages m WHERE m.user_id = $1 AND m.session_id = s.id)) AS "wrong!""#,
            user.0
        );
        Ok(wrong.fetch_one(&mut *self.0).await?)
    }

    async fn set_lane_heads(&mut self, user: UserId) -> Result<(), Failure> {
        let set = sqlx::query!(
            "UPDATE jobs SET head = true WHERE user_id = $1 AND id IN (
                 SELECT min(j.id) FROM jobs j JOIN visible_sessions s ON s.user_id = $1 AND s.id = j.session_id
                 WHERE j.user_id = $1 AND j.state = 'live'
                 GROUP BY j.session_id, j.lane HAVING NOT bool_or(j.head))",
            user.0
        );
        set.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn end_import(&mut self, user: UserId) -> Result<(), Failure> {
        let ended = sqlx::query!(
            "UPDATE users SET importing = false, memory_head = memory_head + 1, memory_floor = memory_head + 2,
                 feed_generation = feed_generation + 1, embedding_settled = false, embedding_model = (
                 SELECT i.model FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
                 WHERE m.user_id = $1 ORDER BY m.feed_row DESC LIMIT 1)
             WHERE id = $1",
            user.0
        );
        ended.execute(&mut *self.0).await?;
        Ok(())
    }
}

pub(super) fn insert_statement(user: UserId, shape: &Shape, records: &[Record], epoch: &str) -> QueryBuilder<Postgres> {
    let mut sql = QueryBuilder::<Postgres>::new(format!("INSERT INTO {} AS present (user_id, {}", shape.table, column_names(shape)));
    for column in computed_columns(shape) {
        sql.push(format!(", {column}"));
    }
    sql.push(") ");
    sql.push_values(records, |mut row, record| {
        row.push_bind(user.0);
        for (field, value) in shape.fields.iter().zip(&record.values) {
            push(&mut row, field, value);
        }
        match shape.name {
            "session" => {
                row.push_bind(epoch.to_owned());
                row.push_bind(session_search(record).map(|search| codec::text(&search).into_owned()));
            }
            "entity" => drop(row.push_bind(codec::text(&entity_search(record)).into_owned())),
            "index" => drop(row.push_bind(dimensions(record))),
            _ => {}
        }
    });
    if shape.derived {
        sql.push(update_clause(shape, computed_columns(shape)));
        // Whether the row is new. An inserted row has no `xmax`.
        sql.push(" RETURNING (xmax = 0) AS is_new");
    } else {
        sql.push(" ON CONFLICT DO NOTHING");
    }
    sql
}

pub(super) fn job_statement(shape: &Shape) -> String {
    insert_job_statement('$', shape, |queued_at| format!("least({queued_at}, queue_time({queued_at}))"))
}

/// The columns that are computed and not part of a record.
fn computed_columns(shape: &Shape) -> &'static [&'static str] {
    match shape.name {
        "session" => &["epoch", "search"],
        "entity" => &["search"],
        "index" => &["dimensions"],
        _ => &[],
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
        Bound::Bytes(v) => row.push_bind(v),
    };
    if matches!(field.holds, Holds::Json(_)) {
        row.push_unseparated("::json");
    }
}

fn dimensions(record: &Record) -> i32 {
    match record.get("embedding") {
        Value::Vector(v) => i32::try_from(v.len()).unwrap_or(i32::MAX),
        _ => 0,
    }
}
