//! Row-level security: protected tables, exceptions, and database roles.
//! `crates/store-postgres/src/tests.rs` tests what it hides and refuses.

use std::sync::Arc;

use recall_ports::{Inspect, SessionFilter, Store, StoreError};
use recall_store_postgres::{PostgresConfig, PostgresStore};
use sqlx::{AssertSqlSafe, Executor, Row};

use super::{CONFIG, World, at};
use crate::postgres::{Schema, as_role};

#[tokio::test]
async fn every_user_table_has_row_level_security() {
    let Some(schema) = Schema::new().await else { return };
    schema.open(CONFIG(), at(0)).await.unwrap().close().await;
    let tables = sqlx::query(
        "SELECT c.relname::text AS name, c.relrowsecurity AND c.relforcerowsecurity AS forced,
                (SELECT string_agg(p.qual, ' ') FROM pg_policies p
                 WHERE p.schemaname = current_schema() AND p.tablename = c.relname AND p.cmd = 'ALL' AND p.policyname = 'own') AS own
         FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
              AND (c.relname = 'users' OR EXISTS (
                  SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname LIKE '%user_id' AND NOT a.attisdropped))",
    )
    .fetch_all(&mut schema.connection().await)
    .await
    .unwrap();
    assert!(tables.len() >= 20, "found only {}", tables.len());
    for table in tables {
        let (name, own): (String, Option<String>) = (table.get("name"), table.get("own"));
        assert!(table.get::<bool, _>("forced"), "{name}: its migration lacks SELECT guard_rows('{name}')");
        let column = if name == "users" { "id" } else { "user_id" };
        let expected = format!("({column} = ( SELECT row_caller() AS row_caller))");
        assert_eq!(own.as_deref(), Some(expected.as_str()), "{name}");
    }
}

#[tokio::test]
async fn policies_beyond_one_user_are_exactly_these() {
    let Some(schema) = Schema::new().await else { return };
    schema.open(CONFIG(), at(0)).await.unwrap().close().await;
    let policies: Vec<String> = sqlx::query_scalar(
        "SELECT concat_ws(' ', tablename, cmd, policyname, (regexp_match(qual, '''(.*)''::text'))[1], with_check) FROM pg_policies
         WHERE schemaname = current_schema() AND policyname <> 'own' ORDER BY 1",
    )
    .fetch_all(&mut schema.connection().await)
    .await
    .unwrap();
    assert_eq!(
        policies,
        [
            "access_tokens SELECT token token",
            "adopted SELECT visit visit",
            "erasures SELECT erasures erasures",
            "forgettings SELECT forgettings forgettings",
            "graph_heads SELECT graph graph",
            "jobs ALL queue queue",
            "logins SELECT login login",
            "session_changes SELECT pruning pruning",
            "sessions SELECT pruning pruning",
            "sessions SELECT unused unused",
            "sessions UPDATE pruning_locks pruning false",
            "usage_days SELECT budget budget",
            "users SELECT owners owners",
            "users SELECT vectors vectors",
            "users UPDATE vectors_locks vectors false",
            "visits SELECT visit visit",
        ]
    );
}

#[tokio::test]
async fn role_without_row_level_security_is_refused() {
    let Some(schema) = Schema::new().await else { return };
    let strict = PostgresConfig { require_row_security: true, ..CONFIG() };
    schema.open(strict.clone(), at(0)).await.unwrap().close().await;

    let refused = |opened: Result<PostgresStore, StoreError>, why: &str| {
        let error = opened.err().expect("the store was opened");
        assert!(matches!(error, StoreError::Permanent(_)) && error.to_string().contains(why), "{error}");
    };
    refused(PostgresStore::open(schema.admin(), strict.clone(), at(0)).await, "superuser");
    PostgresStore::open(schema.admin(), CONFIG(), at(0)).await.unwrap().close().await;

    let mut admin = schema.connection().await;
    let exempt = format!("{}_exempt", schema.name);
    let make = format!("CREATE ROLE {exempt} LOGIN PASSWORD '{exempt}' BYPASSRLS; GRANT recall_tests TO {exempt}");
    admin.execute(AssertSqlSafe(make)).await.unwrap();
    refused(PostgresStore::open(&as_role(schema.admin(), &exempt), strict.clone(), at(0)).await, "BYPASSRLS");
    admin.execute(AssertSqlSafe(format!("DROP ROLE {exempt}"))).await.unwrap();

    for hole in ["DISABLE", "NO FORCE"] {
        admin.execute(AssertSqlSafe(format!("ALTER TABLE messages {hole} ROW LEVEL SECURITY"))).await.unwrap();
        refused(schema.open(strict.clone(), at(0)).await, "switched off");
        admin.execute("ALTER TABLE messages ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY").await.unwrap();
    }
    schema.open(strict, at(0)).await.unwrap().close().await;
}

#[tokio::test]
async fn role_without_ownership_can_run_the_program() {
    // As docs/deployment.md recommends: the owner migrates, and servers can change neither tables nor policies.
    let Some(schema) = Schema::new().await else { return };
    schema.open(CONFIG(), at(0)).await.unwrap().close().await;
    let (mut admin, role) = (schema.connection().await, format!("{}_app", schema.name));
    let name = &schema.name;
    let make = format!(
        "CREATE ROLE {role} LOGIN PASSWORD '{role}'; GRANT USAGE ON SCHEMA {name} TO {role};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {name} TO {role};"
    );
    admin.execute(AssertSqlSafe(make)).await.unwrap();
    let config = PostgresConfig { migrate: false, require_row_security: true, ..CONFIG() };
    let store: Arc<dyn Store> = Arc::new(PostgresStore::open(&as_role(schema.admin(), &role), config, at(0)).await.unwrap());
    store.start().await.unwrap();
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    assert_eq!(w.claim(0).await.len(), 1);
    assert_eq!(store.users_after(0).await.unwrap().0.len(), 1);
    assert_eq!(store.prune_events(at(1_000), 0).await.unwrap(), 3);
    store.delete_session(&w.caller, known.session, at(9), &|_, _| None).await.unwrap();
    assert_eq!(store.count_sessions(&w.caller, &SessionFilter::ALL).await.unwrap(), 0);
    store.close().await;
    admin.execute(AssertSqlSafe(format!("DROP OWNED BY {role}; DROP ROLE {role}"))).await.unwrap();
}
