//! Migrates a database to the schema of this program.
//!
//! The migration files are part of the binary. A database is refused if the text of an applied file has changed, or if it knows
//! files that this program does not.

use std::borrow::Cow;

use sqlx::{
    SqlSafeStr, SqliteConnection,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

use super::failure::Failure;
use recall_store::Refusal;

/// Number, name and text of each file in `migrations/sqlite`.
const FILES: &[(i64, &str, &str)] = &[
    (1, "memory", include_str!("../../../migrations/sqlite/0001_memory.sql")),
    (2, "entities", include_str!("../../../migrations/sqlite/0002_entities.sql")),
    (3, "pairs", include_str!("../../../migrations/sqlite/0003_pairs.sql")),
    (4, "graph", include_str!("../../../migrations/sqlite/0004_graph.sql")),
    (5, "usage", include_str!("../../../migrations/sqlite/0005_usage.sql")),
    (6, "access_tokens", include_str!("../../../migrations/sqlite/0006_access_tokens.sql")),
    (7, "logins", include_str!("../../../migrations/sqlite/0007_logins.sql")),
    (8, "audit", include_str!("../../../migrations/sqlite/0008_audit.sql")),
    (9, "embeddings", include_str!("../../../migrations/sqlite/0009_embeddings.sql")),
    (13, "visits", include_str!("../../../migrations/sqlite/0013_visits.sql")),
    (14, "visitors", include_str!("../../../migrations/sqlite/0014_visitors.sql")),
    (15, "deletions", include_str!("../../../migrations/sqlite/0015_deletions.sql")),
    (20, "imports", include_str!("../../../migrations/sqlite/0020_imports.sql")),
    (21, "holders", include_str!("../../../migrations/sqlite/0021_holders.sql")),
];

/// Applies the missing files, each in its own transaction.
pub(super) async fn run(connection: &mut SqliteConnection) -> Result<(), Failure> {
    let files = FILES
        .iter()
        .map(|&(version, name, sql)| Migration::new(version, Cow::Borrowed(name), MigrationType::Simple, sql.into_sql_str(), false));
    let migrator = Migrator::with_migrations(files.collect());
    migrator.run(connection).await.map_err(|e| match e {
        MigrateError::VersionMissing(version) => Refusal::NewerDatabase(version).into(),
        e => Failure::Migration(e),
    })
}

/// Refuses a database that lacks a file or knows more files.
pub(super) async fn verify(connection: &mut SqliteConnection) -> Result<(), Failure> {
    let table = sqlx::query("SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations'").fetch_optional(&mut *connection).await?;
    if table.is_none() {
        return Err(Refusal::OlderDatabase.into());
    }
    let applied: Vec<i64> = sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success = TRUE").fetch_all(connection).await?;
    check_applied(&applied)
}

/// Compares the sets, not only the highest numbers: files of several branches arrive in any order, and a gap is a missing table.
fn check_applied(applied: &[i64]) -> Result<(), Failure> {
    if let Some(unknown) = applied.iter().find(|version| !FILES.iter().any(|(known, ..)| known == *version)) {
        return Err(Refusal::NewerDatabase(*unknown).into());
    }
    match FILES.iter().all(|(known, ..)| applied.contains(known)) {
        true => Ok(()),
        false => Err(Refusal::OlderDatabase.into()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn missing_migration_below_the_highest_is_detected() {
        let all: Vec<i64> = FILES.iter().map(|f| f.0).collect();
        assert!(check_applied(&all).is_ok());
        for missing in &all {
            let rest: Vec<i64> = all.iter().copied().filter(|v| v != missing).collect();
            assert!(matches!(check_applied(&rest), Err(Failure::Refused(Refusal::OlderDatabase))), "{missing}");
        }
        let unknown: Vec<i64> = all.iter().copied().chain([9_999]).collect();
        assert!(matches!(check_applied(&unknown), Err(Failure::Refused(Refusal::NewerDatabase(9_999)))));
        assert!(matches!(check_applied(&[]), Err(Failure::Refused(Refusal::OlderDatabase))));
    }

    #[test]
    fn all_migration_files_are_listed_in_order() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/sqlite");
        let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let listed: Vec<_> = FILES.iter().map(|(version, name, _)| format!("{version:04}_{name}.sql")).collect();
        assert_eq!(names, listed);
    }

    #[tokio::test]
    async fn migration_indexes_name_parts_of_existing_people() {
        use sqlx::Connection;
        let mut c = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        sqlx::raw_sql(FILES[0].2).execute(&mut c).await.unwrap();
        let old = "INSERT INTO users (id) VALUES (x'00000000000000000000000000000001');
             INSERT INTO entities VALUES
                 (x'00000000000000000000000000000001', x'0000000000000000000000000000000a', 'Anna Schmidt', 'person', '[]', NULL, 1, 1.0, 0, NULL, '', 0, 0),
                 (x'00000000000000000000000000000001', x'0000000000000000000000000000000b', 'New York', 'place', '[]', NULL, 1, 1.0, 0, NULL, '', 0, 0),
                 (x'00000000000000000000000000000001', x'0000000000000000000000000000000c', 'Tom', 'person', '[]', NULL, 1, 1.0, 0, NULL, '', 0, 0);
             INSERT INTO entity_keys SELECT user_id, lower(name), id FROM entities;";
        sqlx::raw_sql(old).execute(&mut c).await.unwrap();
        sqlx::raw_sql(FILES[1].2).execute(&mut c).await.unwrap();
        let hints: Vec<String> = sqlx::query_scalar("SELECT hint FROM entity_hints ORDER BY hint").fetch_all(&mut c).await.unwrap();
        assert_eq!(hints, ["anna", "schmidt"]);
    }
}
