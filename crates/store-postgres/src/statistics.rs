//! Updates the planner's statistics of tables that grow fast.
//!
//! PostgreSQL keeps a connection's plan for a foreign key check. A plan made for an empty table may use an index that selects only
//! by user, because all rows fit into one page. Later each new row then reads all rows of its user. The server's own ANALYZE runs
//! after a minute. Until then, calls that import 500 messages into a new database took up to ten seconds instead of 50 ms. So a
//! process that writes many rows runs ANALYZE earlier.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sqlx::AssertSqlSafe;

use super::{PostgresStore, failure::Failure, row_security::RowAccess};

/// Tables that foreign keys reference, with the columns that a check may use.
const TABLES: [(&str, &str); 5] = [
    ("users", "id"),
    ("sessions", "user_id, id"),
    ("messages", "user_id, session_id, id, position, feed_row"),
    ("entities", "user_id, id"),
    ("facts", "user_id, id, subject_id, object_id"),
];
/// Number of rows before the first check, and the factor between later checks.
const FIRST_CHECK: u64 = 500;
const CHECK_FACTOR: u64 = 4;

/// Rows that this process wrote in bulk, and the count at which it checks next.
#[derive(Debug)]
pub(super) struct GrowthCounter {
    written: AtomicU64,
    next: AtomicU64,
}

impl Default for GrowthCounter {
    fn default() -> Self {
        Self { written: AtomicU64::new(0), next: AtomicU64::new(FIRST_CHECK) }
    }
}

impl GrowthCounter {
    /// Adds to the count. Returns whether a check is due; only one of concurrent callers gets true.
    fn is_due(&self, rows: u64) -> bool {
        let written = self.written.fetch_add(rows, Relaxed).saturating_add(rows);
        let next = self.next.load(Relaxed);
        let after = written.saturating_mul(CHECK_FACTOR).max(FIRST_CHECK);
        written >= next && self.next.compare_exchange(next, after, Relaxed, Relaxed).is_ok()
    }
}

impl PostgresStore {
    /// Counts rows that were committed together. If due, analyzes the tables that have doubled since their last statistics.
    pub(super) async fn count_new_rows(&self, rows: usize) {
        if rows > 1
            && self.growth.is_due(rows as u64)
            && let Err(e) = self.analyze().await
        {
            // A role that does not own the tables may not analyze them. Then the server's own ANALYZE does it later.
            tracing::debug!(error = %e, "ANALYZE of new rows failed");
        }
    }

    async fn analyze(&self) -> Result<(), Failure> {
        for (table, columns) in TABLES {
            let count_new_rows = sqlx::query_scalar!(
                r#"SELECT relpages * 2 < pg_relation_size(oid) / current_setting('block_size')::bigint AS "grown!"
                 FROM pg_class WHERE oid = $1::text::regclass"#,
                table
            );
            if count_new_rows.fetch_one(self.pool.reading(RowAccess::Nobody)).await? {
                sqlx::query(analyze_statement(table, columns)).execute(self.pool.writing(RowAccess::Nobody)).await?;
            }
        }
        Ok(())
    }
}

/// PostgreSQL cannot prepare this statement, so a test runs each form.
fn analyze_statement(table: &str, columns: &str) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!("ANALYZE {table} ({columns})"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{super::tests::store, *};
    use recall_ports::Inspect;

    #[tokio::test]
    async fn analyze_statements_fit_the_schema() {
        let Some(store) = store().await else { return };
        for (table, columns) in TABLES {
            sqlx::query(analyze_statement(table, columns)).execute(store.pool.writing(RowAccess::Nobody)).await.unwrap();
        }
        store.close().await;
    }

    #[test]
    fn checks_become_rarer_as_rows_grow() {
        let growth = GrowthCounter::default();
        let looks: Vec<u64> = (1..=20_000).filter(|_| growth.is_due(50)).map(|n| n * 50).collect();
        assert_eq!(looks, [500, 2_000, 8_000, 32_000, 128_000, 512_000]);
    }
}
