//! What the planner knows of tables that are just being filled.
//!
//! PostgreSQL keeps the plan by which a connection looks up a foreign key. One that was made while a table was empty may go by an
//! index that tells nothing but the user apart, because all rows are one page then; with it, each new row reads all rows of its user.
//! The server's own ANALYZE comes after a minute, in which calls that import 500 messages into a new database came to take
//! up to ten seconds in place of 50 ms. So whoever writes many rows sees to it earlier.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sqlx::AssertSqlSafe;

use super::{PostgresStore, failure::Failure, row_security::RowAccess};

/// Tables that foreign keys lead to, and the columns by which one may look for their rows.
const TABLES: [(&str, &str); 5] = [
    ("users", "id"),
    ("sessions", "user_id, id"),
    ("messages", "user_id, session_id, id, position, feed_row"),
    ("entities", "user_id, id"),
    ("facts", "user_id, id, subject_id, object_id"),
];
/// Rows after which this process looks for the first time, and how many times as many come before each later time.
const FIRST: u64 = 500;
const FURTHER: u64 = 4;

/// How many rows this process wrote by the many, and at what number it looks next.
#[derive(Debug)]
pub(super) struct Growth {
    written: AtomicU64,
    next: AtomicU64,
}

impl Default for Growth {
    fn default() -> Self {
        Self { written: AtomicU64::new(0), next: AtomicU64::new(FIRST) }
    }
}

impl Growth {
    /// Notes so many rows. Whether it is time to look, which is said to one of those who ask.
    fn is_due(&self, rows: u64) -> bool {
        let written = self.written.fetch_add(rows, Relaxed).saturating_add(rows);
        let next = self.next.load(Relaxed);
        let after = written.saturating_mul(FURTHER).max(FIRST);
        written >= next && self.next.compare_exchange(next, after, Relaxed, Relaxed).is_ok()
    }
}

impl PostgresStore {
    /// Called after so many rows were committed together. Tells the planner of tables that have become twice as large as it knows.
    pub(super) async fn grown(&self, rows: usize) {
        if rows > 1
            && self.growth.is_due(rows as u64)
            && let Err(e) = self.analyze().await
        {
            // A role that does not own the tables may not; the server's own ANALYZE comes later.
            tracing::debug!(error = %e, "the planner could not be told of new rows");
        }
    }

    async fn analyze(&self) -> Result<(), Failure> {
        for (table, columns) in TABLES {
            let grown = sqlx::query_scalar!(
                r#"SELECT relpages * 2 < pg_relation_size(oid) / current_setting('block_size')::bigint AS "grown!"
                 FROM pg_class WHERE oid = $1::text::regclass"#,
                table
            );
            if grown.fetch_one(self.pool.reading(RowAccess::Nobody)).await? {
                sqlx::query(analysis(table, columns)).execute(self.pool.writing(RowAccess::Nobody)).await?;
            }
        }
        Ok(())
    }
}

/// No statement that PostgreSQL checks when it is prepared; a test runs each.
fn analysis(table: &str, columns: &str) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!("ANALYZE {table} ({columns})"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{super::tests::store, *};
    use recall_ports::Inspect;

    #[tokio::test]
    async fn the_tables_have_these_columns() {
        let Some(store) = store().await else { return };
        for (table, columns) in TABLES {
            sqlx::query(analysis(table, columns)).execute(store.pool.writing(RowAccess::Nobody)).await.unwrap();
        }
        store.close().await;
    }

    #[test]
    fn it_is_looked_seldom_however_much_is_written() {
        let growth = Growth::default();
        let looks: Vec<u64> = (1..=20_000).filter(|_| growth.is_due(50)).map(|n| n * 50).collect();
        assert_eq!(looks, [500, 2_000, 8_000, 32_000, 128_000, 512_000]);
    }
}
