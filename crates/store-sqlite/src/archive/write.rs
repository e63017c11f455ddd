//! The statements that import an archive.

use async_trait::async_trait;
use sqlx::{AssertSqlSafe, SqliteConnection};

use super::{
    super::{
        codec::{bytes, signed},
        failure::Failure,
        transaction::{Snapshot, WriteTransaction},
    },
    read::bind,
};
use recall_domain::UserId;
use recall_ports::archive::{Owner, Record, Restored, Shape};
use recall_store::archive::{
    ArchiveReads, ImportStatements, column_names, count_statement, entity_search, find_statement, insert_job_statement, update_clause,
};

#[async_trait]
impl ImportStatements for WriteTransaction<'_> {
    fn reads(&mut self) -> Box<dyn ArchiveReads<Error = Failure> + '_> {
        Box::new(Snapshot(self.0))
    }

    async fn has_data(&mut self, user: UserId) -> Result<bool, Failure> {
        let data = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM sessions WHERE user_id = ?1) OR EXISTS (SELECT 1 FROM entities WHERE user_id = ?1)",
        );
        Ok(data.bind(bytes(&user.0)).fetch_one(&mut *self.0).await?)
    }

    async fn mark_importing(&mut self, owner: &Owner) -> Result<(), Failure> {
        let marked = sqlx::query(
            "INSERT INTO users (id, feed_head, knowledge_version, importing) VALUES (?1, ?2, ?3, 1)
             ON CONFLICT (id) DO UPDATE SET feed_head = ?2, knowledge_version = ?3, importing = 1, feed_generation = feed_generation + 1",
        );
        let marked = marked.bind(bytes(&owner.user.0)).bind(signed(owner.feed_head)).bind(signed(owner.knowledge_version));
        marked.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_records(&mut self, user: UserId, records: &[Record], epoch: &str) -> Result<u64, Failure> {
        let mut new = 0;
        for record in records {
            new += insert(self.0, user, record, epoch, " ON CONFLICT DO NOTHING").await?;
        }
        Ok(new)
    }

    async fn upsert_records(&mut self, user: UserId, records: &[Record]) -> Result<Restored, Failure> {
        let mut restored = Restored::default();
        for record in records {
            // SQLite does not say whether an upsert has inserted its row.
            match insert(self.0, user, record, "", " ON CONFLICT DO NOTHING").await? {
                0 => restored.repaired += insert(self.0, user, record, "", &update_clause(record.shape, &[])).await?,
                new => restored.new += new,
            }
        }
        Ok(restored)
    }

    async fn insert_job(&mut self, user: UserId, record: &Record) -> Result<bool, Failure> {
        let sql = insert_job_statement('?', record.shape, str::to_owned);
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(bytes(&user.0));
        for value in &record.values {
            query = bind(query, value);
        }
        Ok(query.execute(&mut *self.0).await?.rows_affected() > 0)
    }

    async fn has_equal_row(&mut self, user: UserId, record: &Record) -> Result<bool, Failure> {
        let mut query = sqlx::query(AssertSqlSafe(find_statement('?', record.shape))).bind(bytes(&user.0));
        for value in &record.values {
            query = bind(query, value);
        }
        Ok(query.fetch_optional(&mut *self.0).await?.is_some())
    }

    async fn count_rows(&mut self, user: UserId, shape: &Shape) -> Result<i64, Failure> {
        let count = sqlx::query_scalar(AssertSqlSafe(count_statement('?', shape))).bind(bytes(&user.0));
        Ok(count.fetch_one(&mut *self.0).await?)
    }

    async fn has_wrong_counters(&mut self, user: UserId) -> Result<bool, Failure> {
        let wrong = sqlx::query_scalar(
            "SELECT (SELECT COALESCE(MAX(feed_row), 0) FROM messages WHERE user_id = ?1) > (SELECT feed_head FROM users WHERE id = ?1)
                 OR EXISTS (SELECT 1 FROM sessions s WHERE s.user_id = ?1 AND s.message_count <
                     (SELECT COALESCE(MAX(m.position), 0) FROM messages m WHERE m.user_id = ?1 AND m.session_id = s.id))",
        );
        Ok(wrong.bind(bytes(&user.0)).fetch_one(&mut *self.0).await?)
    }

    async fn set_lane_heads(&mut self, user: UserId) -> Result<(), Failure> {
        let set = sqlx::query(
            "UPDATE jobs SET head = 1 WHERE id IN (
                 SELECT min(j.id) FROM jobs j JOIN visible_sessions s ON s.user_id = ?1 AND s.id = j.session_id
                 WHERE j.user_id = ?1 AND j.state = 'live'
                 GROUP BY j.session_id, j.lane HAVING max(j.head) = 0)",
        );
        set.bind(bytes(&user.0)).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn end_import(&mut self, user: UserId) -> Result<(), Failure> {
        let ended = sqlx::query(
            "UPDATE users SET importing = 0, feed_generation = feed_generation + 1, embedding_settled = 0, embedding_model = (
                 SELECT i.model FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
                 WHERE m.user_id = ?1 ORDER BY m.feed_row DESC LIMIT 1)
             WHERE id = ?1",
        );
        ended.bind(bytes(&user.0)).execute(&mut *self.0).await?;
        Ok(())
    }
}

/// Inserts a record. Returns the number of changed rows.
async fn insert(c: &mut SqliteConnection, user: UserId, record: &Record, epoch: &str, on_conflict: &str) -> Result<u64, Failure> {
    let shape = record.shape;
    let computed = match shape.name {
        "session" => Some(("epoch", epoch.to_owned())),
        "entity" => Some(("search", entity_search(record))),
        _ => None,
    };
    let (table, mut columns, mut places) = (shape.table, column_names(shape), ", ?".repeat(shape.fields.len()));
    if let Some((column, _)) = computed {
        columns = format!("{columns}, {column}");
        places.push_str(", ?");
    }
    let sql = format!("INSERT INTO {table} AS present (user_id, {columns}) VALUES (?{places}){on_conflict}");
    let mut query = sqlx::query(AssertSqlSafe(sql)).bind(bytes(&user.0));
    for value in &record.values {
        query = bind(query, value);
    }
    if let Some((_, value)) = computed {
        query = query.bind(value);
    }
    Ok(query.execute(c).await?.rows_affected())
}
