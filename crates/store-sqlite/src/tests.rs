//! Tests of internals: the settings of each connection, and the index that each statement uses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::types::Value;
use uuid::Uuid;

use super::{SqliteConfig, SqliteStore, connection::Db, failure::Failure, transaction::WriteTransaction};
use recall_domain::{Caller, EventId, SessionId, Timestamp, UserId};
use recall_ports::{CommitListener, EventLog, LogEntry};
use recall_store::Refusal;

async fn open() -> (tempfile::TempDir, SqliteStore) {
    let folder = tempfile::TempDir::new().unwrap();
    let now = Timestamp::from_timestamp_millis(1_700_000_000_000).unwrap();
    let store = SqliteStore::open(&folder.path().join("recall.sqlite"), SqliteConfig::default(), now).await.unwrap();
    (folder, store)
}

/// The value of a pragma, as text.
fn pragma_value(db: &Db, pragma: &str) -> Result<String, Failure> {
    let value: Value = db.raw().query_row(&format!("PRAGMA {pragma}"), (), |row| row.get(0))?;
    Ok(match value {
        Value::Text(text) => text,
        Value::Integer(n) => n.to_string(),
        other => panic!("{pragma} is {other:?}"),
    })
}

#[tokio::test]
async fn pragmas_apply_to_writer_and_readers() {
    let (_folder, store) = open().await;
    // Pragma, value on the writer, value on readers: WAL, FULL = 2, and so on.
    for (pragma, writer, reader) in [
        ("journal_mode", "wal", "wal"),
        ("synchronous", "2", "2"),
        ("foreign_keys", "1", "1"),
        ("busy_timeout", "5000", "5000"),
        ("query_only", "0", "1"),
        ("cache_size", "-8192", "-2048"),
        ("temp_store", "2", "2"),
    ] {
        let on_writer = store.write(move |tx| pragma_value(tx.0, pragma)).await.unwrap();
        assert_eq!(on_writer, writer, "{pragma} on the writer");
        let on_reader = store.readers.for_server(move |db| pragma_value(db, pragma)).await.unwrap();
        assert_eq!(on_reader, reader, "{pragma} on a reader");
    }
    let refused = store.readers.for_server(|db| db.execute("DELETE FROM users", ())).await;
    assert!(refused.is_err(), "a reader could write");
}

/// A power failure may undo relaxed writes, but no durable one that follows them.
#[tokio::test]
async fn durable_writes_wait_for_the_disk_after_relaxed_ones() {
    let (_folder, store) = open().await;
    for _ in 0..3 {
        assert_eq!(store.write_relaxed(|tx| pragma_value(tx.0, "synchronous")).await.unwrap(), "1");
        assert_eq!(store.write(|tx| pragma_value(tx.0, "synchronous")).await.unwrap(), "2");
    }
}

#[tokio::test]
async fn log_is_copied_while_the_writer_goes_on() {
    let (folder, store) = open().await;
    let size = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().len();
    let before = size("recall.sqlite");
    // Each write fills more than a hundred pages of the log.
    for i in 0..60 {
        let insert = move |tx: &mut WriteTransaction<'_>| {
            tx.0.execute("INSERT INTO audit (at, action, instance) VALUES (?, 'test', hex(zeroblob(250000)))", (i,))
        };
        store.write(insert).await.unwrap();
    }
    // The thread has no deadline; without it the file grows only on closing.
    while size("recall.sqlite") == before {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(store.readers.for_server(|db| db.number("SELECT COUNT(*) FROM audit", ())).await.unwrap(), 60);
}

/// The step that reads the sessions under deletion, for all users. Usually there are none.
const HIDDEN: &str = "SCAN sessions USING INDEX sessions_hidden";

/// SQLite's query plan for a statement, one step per line.
async fn explain(store: &SqliteStore, sql: &str) -> String {
    let sql = format!("EXPLAIN QUERY PLAN {sql}");
    let steps = store.readers.for_server(move |db| {
        // The parameters stay unbound.
        let mut statement = db.raw().prepare(&sql)?;
        let mut rows = statement.raw_query();
        let mut steps = Vec::new();
        while let Some(row) = rows.next()? {
            steps.push(row.get::<_, String>("detail")?);
        }
        Ok(steps)
    });
    steps.await.unwrap().join("\n")
}

#[tokio::test]
async fn frequent_statements_use_their_index() {
    let (_folder, store) = open().await;
    for (sql, index) in [
        (super::round_robin::CLAIM_OLDEST, "jobs_ready"),
        ("SELECT ready_at FROM jobs WHERE head = 1 ORDER BY ready_at LIMIT 1", "jobs_ready"),
        ("SELECT MIN(id) FROM jobs WHERE user_id = ?1 AND session_id = ?2 AND lane = ?3 AND state = 'live'", "jobs_in_lane"),
        (
            "SELECT * FROM visible_messages WHERE user_id = ? AND session_id = ? AND position > ? ORDER BY position LIMIT ?",
            "messages_position",
        ),
        ("SELECT * FROM visible_messages WHERE user_id = ? AND feed_row > ? ORDER BY feed_row LIMIT ?", "messages_feed"),
        (
            "SELECT * FROM visible_sessions WHERE user_id = ? AND (updated_at, id) < (?, ?) ORDER BY updated_at DESC, id DESC LIMIT ?",
            "sessions_latest",
        ),
        (super::memory_log::PAGE, "events_of_memory (user_id=? AND memory_seq>?)"),
        ("SELECT f.* FROM facts f WHERE f.user_id = ? ORDER BY f.updated_at DESC, f.id DESC LIMIT ?", "facts_latest"),
        ("SELECT e.* FROM entities e WHERE e.user_id = ? ORDER BY e.mention_count DESC, e.id DESC LIMIT ?", "entities_most_mentioned"),
        ("SELECT 1 FROM visible_sessions WHERE event_head - event_floor >= ?", "sessions_log_length"),
        ("SELECT 1 FROM visible_sessions WHERE oldest_event_at < ?", "sessions_log_age"),
        (
            "SELECT * FROM visible_evidence WHERE user_id = ? AND fact_id = ? ORDER BY created_at DESC, message_id DESC, stance DESC LIMIT ?",
            "evidence_latest",
        ),
        (
            "SELECT m.id FROM document_citations c JOIN visible_messages m ON m.user_id = c.user_id AND m.id = c.message_id
             WHERE c.user_id = ? AND c.document_id = ? AND c.feed_row < ? AND m.forgotten IS NULL ORDER BY c.feed_row DESC LIMIT ?",
            "PRIMARY KEY (user_id=? AND document_id=? AND feed_row<?)",
        ),
    ] {
        let plan = explain(&store, sql).await;
        assert!(plan.contains(index), "{sql}\n{plan}");
        // SQLite also calls an ordered index read up to a LIMIT a scan, and the read of the hidden sessions of all users.
        let scans = plan.lines().any(|step| step.contains("SCAN") && !step.contains(index) && !step.contains(HIDDEN));
        assert!(!scans && !plan.contains("TEMP B-TREE"), "{sql}\n{plan}");
    }
}

#[tokio::test]
async fn topics_are_read_in_the_order_of_an_index() {
    let (_folder, store) = open().await;
    for (sql, index) in [
        (super::topics::KNOWN, "topic_parts_by_size (user_id=? AND model=?)"),
        (super::topics::LISTED, "topic_messages_listed (user_id=? AND topic_id=? AND message_id<?)"),
    ] {
        let plan = explain(&store, sql).await;
        // The forgotten messages of all users are few and read once.
        assert!(plan.contains(index) && plan.contains("messages_forgotten") && !plan.contains("FOR ORDER BY"), "{sql}\n{plan}");
    }
}

#[tokio::test]
async fn round_robin_claim_does_not_scan_other_jobs() {
    let (_folder, store) = open().await;
    for (sql, steps) in [(super::round_robin::USERS_WITH_HEADS, 2), (super::round_robin::CLAIM_OF_USERS, 1)] {
        let plan = explain(&store, sql).await;
        assert_eq!(plan.matches("jobs_in_turn (user_id").count(), steps, "{sql}\n{plan}");
        // Only the walk's own result and the given users may be read completely.
        let read_whole = |step: &&str| step.contains("SCAN") && step.contains(" jobs");
        assert_eq!(plan.lines().find(read_whole), None, "{sql}\n{plan}");
    }
}

#[tokio::test]
async fn lookups_scan_no_table() {
    let (_folder, store) = open().await;
    for (sql, index) in [
        (super::knowledge::ENTITIES_BY_HINT, "user_id=? AND hint=?"),
        (super::knowledge::RECENTLY_MENTIONED, "mentions_in_session"),
        (super::knowledge::SESSIONS_OF_FACT, "(user_id=? AND fact_id=?)"),
        (super::messages::ANSWERS, "messages_answers"),
        (super::knowledge::FACTS_BY_KEY, "(user_id=? AND subject_id=? AND relation=? AND object_id=? AND <expr>=?)"),
        (super::knowledge::FACTS_BETWEEN, "facts_of_pair (user_id=? AND subject_id=? AND object_id=?)"),
    ] {
        let plan = explain(&store, sql).await;
        assert!(plan.contains(index), "{sql}\n{plan}");
        // Only the parameters, and what a part of the statement has found, may be read completely.
        let asked = |step: &str| {
            ["json_each", "(subquery", HIDDEN].iter().any(|part| step.contains(part)) || ["SCAN a", "SCAN b"].contains(&step.trim())
        };
        assert!(!plan.lines().any(|step| step.contains("SCAN") && !asked(step)), "{sql}\n{plan}");
    }
}

#[tokio::test]
async fn limited_lists_are_read_in_the_order_of_an_index() {
    let (_folder, store) = open().await;
    for (sql, index) in [
        (super::knowledge::FACTS_OF_SUBJECT, "facts_of_subject (user_id=? AND subject_id=?)"),
        (super::knowledge::FACTS_OF_OBJECT, "facts_of_object (user_id=? AND object_id=?)"),
        (super::knowledge::FACTS_OF_SUBJECT_AND_RELATION, "facts_of_subject_and_relation (user_id=? AND subject_id=? AND relation=?)"),
        (super::knowledge::FACTS_OF_OBJECT_AND_RELATION, "facts_of_object_and_relation (user_id=? AND object_id=? AND relation=?)"),
    ] {
        let plan = explain(&store, sql).await;
        assert!(plan.contains(index) && !plan.contains("ORDER BY"), "{sql}\n{plan}");
    }
}

#[tokio::test]
async fn every_foreign_key_has_a_reverse_index() {
    // Without such an index, deleting a session would scan each table that references it.
    let (_folder, store) = open().await;
    let keys = store.readers.for_server(|db| {
        let sql = r#"SELECT m.name AS child, f.id, f."table" AS parent, group_concat(f."from" || ' = ?', ' AND ') AS condition
           FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table' GROUP BY m.name, f.id"#;
        db.rows("sqlite_schema", sql, (), |c| Ok((c.text("child")?, c.text("condition")?)))
    });
    let keys = keys.await.unwrap();
    assert!(keys.len() >= 15, "found only {}", keys.len());
    for (child, condition) in keys {
        let plan = explain(&store, &format!("SELECT 1 FROM {child} WHERE {condition}")).await;
        let columns = condition.matches('?').count();
        assert!(plan.starts_with("SEARCH") && plan.matches("=?").count() == columns, "{child}: {condition}\n{plan}");
    }
}

#[tokio::test]
async fn deletion_finds_dependent_rows_by_more_than_the_user() {
    // Otherwise the deletion of one message would read the evidence of all.
    let (_folder, store) = open().await;
    let parents = store.readers.for_server(|db| {
        let sql = r#"SELECT DISTINCT f."table" AS parent, (
               SELECT group_concat(name || ' = ?', ' AND ') FROM pragma_table_info(f."table") WHERE pk > 0) AS condition
           FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table' AND f."table" <> 'users'"#;
        db.rows("sqlite_schema", sql, (), |c| Ok((c.text("parent")?, c.text("condition")?)))
    });
    let parents = parents.await.unwrap();
    assert!(parents.len() >= 5, "found only {}", parents.len());
    for (parent, condition) in parents {
        let plan = explain(&store, &format!("DELETE FROM {parent} WHERE {condition}")).await;
        assert!(!plan.contains("(user_id=?)") && !plan.contains("SCAN"), "{parent}\n{plan}");
    }
}

#[tokio::test]
async fn statistics_name_all_indexes_of_their_tables() {
    // The planner mixes statistics with assumptions where an index has none.
    let (_folder, store) = open().await;
    let missing = store.readers.for_server(|db| {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name IN (SELECT tbl FROM sqlite_stat1)
             AND name NOT IN (SELECT idx FROM sqlite_stat1)";
        db.rows("sqlite_schema", sql, (), |c| c.text("name"))
    });
    assert_eq!(missing.await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn primary_keys_start_with_the_user() {
    let (_folder, store) = open().await;
    let tables = store.readers.for_server(|db| {
        let sql = "SELECT m.name AS tab, c.name AS col FROM sqlite_schema m JOIN pragma_table_info(m.name) c
         WHERE m.type = 'table' AND c.pk = 1 AND m.name NOT IN
             ('installation', 'users', 'jobs', 'graph_feed', 'graph_changes', 'revoked_tokens', 'audit', 'unowned_files', '_sqlx_migrations',
              'sqlite_sequence')";
        db.rows("sqlite_schema", sql, (), |c| Ok((c.text("tab")?, c.text("col")?)))
    });
    let tables = tables.await.unwrap();
    assert!(tables.len() >= 10);
    for (table, column) in tables {
        assert_eq!(column, "user_id", "{table}");
    }
}

#[tokio::test]
async fn failed_or_panicked_write_does_not_affect_others() {
    let (_folder, store) = open().await;
    let recorder = Arc::new(Recorder::default());
    store.report_to(Arc::downgrade(&recorder) as _);
    // Queued together, so that they share a transaction.
    let insert = |id: u8| {
        store.write(move |tx| {
            tx.0.execute("INSERT INTO users (id) VALUES (?)", (vec![id; 16],))?;
            let (user, event) = (UserId(Uuid::nil()), EventId(Uuid::nil()));
            tx.1.note(user, None, (i64::from(id), event, "test", Timestamp::UNIX_EPOCH, "{}"));
            assert!(id != 3, "a defect");
            if id == 4 { Err(Refusal::NotFound.into()) } else { Ok(id) }
        })
    };
    let (one, two, three, four, five) = tokio::join!(insert(1), insert(2), insert(3), insert(4), insert(5));
    assert!(matches!((one, two, five), (Ok(1), Ok(2), Ok(5))));
    assert!(matches!(three, Err(Failure::Panicked)));
    assert!(matches!(four, Err(Failure::Refused(Refusal::NotFound))));
    let count = store.readers.for_server(|db| db.number("SELECT COUNT(*) FROM users", ())).await.unwrap();
    assert_eq!(count, 3);
    // It begins after what was committed before was reported.
    store.write(|_| Ok(())).await.unwrap();
    assert_eq!(*recorder.0.lock(), [1, 2, 5]);
}

#[tokio::test]
async fn panic_of_the_listener_does_not_end_the_writer() {
    let (_folder, store) = open().await;
    let recorder = Arc::new(Recorder::default());
    store.report_to(Arc::downgrade(&recorder) as _);
    for number in [PANICS, 1] {
        let event = (number, EventId(Uuid::nil()), "test", Timestamp::UNIX_EPOCH, "{}");
        let write = store.write(move |tx| {
            tx.1.note(UserId(Uuid::nil()), None, event);
            Ok(())
        });
        write.await.unwrap();
    }
    store.write(|_| Ok(())).await.unwrap();
    assert_eq!(*recorder.0.lock(), [1]);
}

/// An event on which a [`Recorder`] panics.
const PANICS: i64 = 99;

/// Records the numbers of the events that are reported.
#[derive(Default)]
struct Recorder(Mutex<Vec<u64>>);

impl CommitListener for Recorder {
    fn deliver(&self, entries: &[LogEntry]) {
        assert!(entries.iter().all(|entry| entry.memory_seq != PANICS as u64), "a defect");
        self.0.lock().extend(entries.iter().map(|entry| entry.memory_seq));
    }

    fn committed(&self, _: &Caller, _: Option<SessionId>) {}

    fn deleted(&self, _: &Caller, _: SessionId) {}
}
