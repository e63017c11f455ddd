//! Tests row-level security: statements without a user condition, on connections that the adapter prepared. They run on the server
//! that `RECALL_TEST_POSTGRES` names.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use sqlx::{AssertSqlSafe, Connection, Executor};

use super::*;
use recall_domain::{Caller, UserId, ViewerRole};
use recall_ports::Inspect;

/// A new store whose role owns its tables; `None` without a server.
pub(super) async fn store() -> Option<PostgresStore> {
    let Ok(server) = std::env::var("RECALL_TEST_POSTGRES") else {
        eprintln!("skipped: RECALL_TEST_POSTGRES names no server (tests/services/postgres starts one)");
        return None;
    };
    let mut admin = PgConnection::connect(&server).await.unwrap();
    let id: uuid::Uuid = sqlx::query_scalar("SELECT gen_random_uuid()").fetch_one(&mut admin).await.unwrap();
    let name = format!("walls_{}", id.as_simple());
    let make = format!(
        "BEGIN; SELECT pg_advisory_xact_lock(7); CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
         CREATE ROLE {name} LOGIN PASSWORD '{name}'; CREATE SCHEMA {name} AUTHORIZATION {name}; COMMIT"
    );
    admin.execute(AssertSqlSafe(make)).await.unwrap();
    let (scheme, rest) = server.split_once("://").unwrap();
    let (at, separator) = (rest.split_once('@').unwrap().1, if server.contains('?') { '&' } else { '?' });
    let url = format!("{scheme}://{name}:{name}@{at}{separator}options=-csearch_path%3D{name}%2Cpublic");
    let config = PostgresConfig { connections: 2, require_row_security: true, ..PostgresConfig::default() };
    Some(PostgresStore::open(&url, config, Timestamp::UNIX_EPOCH).await.unwrap())
}

/// Makes a user with a session and a message.
async fn user_with_message(store: &PostgresStore, n: u128) -> Caller {
    let caller = Caller::verified(UserId(uuid::Uuid::from_u128(n)), ViewerRole::User);
    for sql in [
        "INSERT INTO users (id) VALUES ($1)",
        "INSERT INTO sessions (user_id, id, created_at, updated_at, epoch, oldest_event_at) VALUES ($1, $1, now(), now(), 'e', now())",
        "INSERT INTO messages (user_id, id, session_id, position, feed_row, role, text, status, sent_at, created_at)
         VALUES ($1, $1, $1, 1, 1, 'user', 'secret', 'processed', now(), now())",
        "INSERT INTO jobs (user_id, session_id, lane, message_id, answer, role, head, ready_at, queued_at)
         VALUES ($1, $1, 'answer', $1, true, 'user', true, now(), now())",
        "INSERT INTO usage_days VALUES ($1, 1, 'answer', 1, 1, 1)",
        "INSERT INTO graph_heads VALUES ($1, 1, pg_current_xact_id())",
        "INSERT INTO access_tokens VALUES ($1, $1, sha256($1::text::bytea), 'n', 's', now(), now(), NULL)",
        "INSERT INTO logins (user_id, digest, issuer, role, scopes, created_at, idle_until, expires_at)
         VALUES ($1, sha256($1::text::bytea), 'i', 'user', '', now(), now(), now())",
        "INSERT INTO erasures (user_id, begun_at, touched_at) VALUES ($1, now(), now())",
    ] {
        sqlx::query(sql).bind(caller.user().0).execute(store.pool.writing(&caller)).await.unwrap();
    }
    caller
}

const TABLES: [(&str, &str); 9] = [
    ("users", "id"),
    ("sessions", "user_id"),
    ("messages", "user_id"),
    ("jobs", "user_id"),
    ("usage_days", "user_id"),
    ("graph_heads", "user_id"),
    ("access_tokens", "user_id"),
    ("logins", "user_id"),
    ("erasures", "user_id"),
];

const SCOPES: [RowAccess; 10] = [
    RowAccess::Queue,
    RowAccess::Pruning,
    RowAccess::Token,
    RowAccess::Login,
    RowAccess::Erasures,
    RowAccess::Unused,
    RowAccess::Vectors,
    RowAccess::Budget,
    RowAccess::Graph,
    RowAccess::Owners,
];

async fn visible_users(store: &PostgresStore, scope: impl Into<RowAccess>, table: &str, column: &str) -> Vec<uuid::Uuid> {
    let sql = format!("SELECT {column} FROM {table} ORDER BY 1");
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(store.pool.reading(scope)).await.unwrap()
}

#[tokio::test]
async fn statement_without_user_reads_no_foreign_rows() {
    let Some(store) = store().await else { return };
    let (anna, boris) = (user_with_message(&store, 1).await, user_with_message(&store, 2).await);
    for (table, column) in TABLES {
        for caller in [&anna, &boris] {
            assert_eq!(visible_users(&store, caller, table, column).await, [caller.user().0], "{table}");
        }
        let asked = (table, column);
        let in_snapshot = store.snapshot(&anna, &asked, |c, (table, column)| {
            Box::pin(async move {
                let sql = format!("SELECT {column} FROM {table}");
                Ok(sqlx::query_scalar::<_, uuid::Uuid>(AssertSqlSafe(sql)).fetch_all(c).await?)
            })
        });
        assert_eq!(in_snapshot.await.unwrap(), [anna.user().0], "{table}");
        // Both connections of the pool have served both users by now, and must keep no setting.
        assert!(visible_users(&store, RowAccess::Nobody, table, column).await.is_empty(), "{table}");
        for scope in SCOPES {
            let opens = match table {
                "users" => matches!(scope, RowAccess::Owners | RowAccess::Vectors),
                "sessions" => matches!(scope, RowAccess::Pruning | RowAccess::Unused),
                "logins" => matches!(scope, RowAccess::Login),
                "erasures" => matches!(scope, RowAccess::Erasures),
                "jobs" => matches!(scope, RowAccess::Queue),
                "usage_days" => matches!(scope, RowAccess::Budget),
                "graph_heads" => matches!(scope, RowAccess::Graph),
                "access_tokens" => matches!(scope, RowAccess::Token),
                _ => false,
            };
            let seen = visible_users(&store, scope, table, column).await.len();
            assert_eq!(seen, if opens { 2 } else { 0 }, "{scope:?} in {table}");
        }
    }
    store.close().await;
}

#[tokio::test]
async fn statement_without_user_changes_no_foreign_rows() {
    let Some(store) = store().await else { return };
    let (anna, boris) = (user_with_message(&store, 1).await, user_with_message(&store, 2).await);
    let refused = |done: Result<sqlx::postgres::PgQueryResult, sqlx::Error>, what: &str| {
        let code = done.err().and_then(|e| Some(e.as_database_error()?.code()?.into_owned()));
        assert_eq!(code.as_deref(), Some("42501"), "{what}");
    };
    // Writes in the name of another user.
    for sql in [
        "INSERT INTO users (id) VALUES ('00000000-0000-0000-0000-000000000003')",
        "INSERT INTO sessions (user_id, id, created_at, updated_at, epoch)
         VALUES ('00000000-0000-0000-0000-000000000002', gen_random_uuid(), now(), now(), 'e')",
        "UPDATE messages SET user_id = '00000000-0000-0000-0000-000000000002', id = gen_random_uuid()",
    ] {
        refused(sqlx::query(sql).execute(store.pool.writing(&anna)).await, sql);
    }
    // Pruning may find and lock sessions, and nothing else.
    refused(sqlx::query("UPDATE sessions SET title = 'x'").execute(store.pool.writing(RowAccess::Pruning)).await, "pruning");
    let locked = "UPDATE users SET embedding_settled = true";
    refused(sqlx::query(locked).execute(store.pool.writing(RowAccess::Vectors)).await, "vectors");
    for scope in SCOPES.into_iter().filter(|scope| !matches!(scope, RowAccess::Queue)) {
        for (table, _) in TABLES {
            let deleted = sqlx::query(AssertSqlSafe(format!("DELETE FROM {table}"))).execute(store.pool.writing(scope)).await.unwrap();
            assert_eq!(deleted.rows_affected(), 0, "{scope:?} in {table}");
        }
    }
    // These statements reach only the user's own rows.
    for sql in ["UPDATE messages SET text = 'x'", "DELETE FROM messages", "DELETE FROM sessions", "DELETE FROM users"] {
        let done = sqlx::query(sql).execute(store.pool.writing(&anna)).await.unwrap();
        assert_eq!(done.rows_affected(), 1, "{sql}");
        let nobody = sqlx::query(sql).execute(store.pool.writing(RowAccess::Nobody)).await.unwrap();
        assert_eq!(nobody.rows_affected(), 0, "{sql}");
    }
    let text: String = sqlx::query_scalar("SELECT text FROM messages").fetch_one(store.pool.reading(&boris)).await.unwrap();
    assert_eq!(text, "secret");
    for (table, column) in TABLES {
        let left = visible_users(&store, &boris, table, column).await;
        assert_eq!(left, [boris.user().0], "{table}");
    }
    store.close().await;
}
