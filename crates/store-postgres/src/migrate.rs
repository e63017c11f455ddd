//! Migrates a database to the schema of this program.
//!
//! The migration files are part of the binary. A database is refused if the text of an applied file has changed, or if it knows
//! files that this program does not. If several processes start at once, the one with the advisory lock migrates; the others wait
//! and find nothing to do.

use std::borrow::Cow;

use sqlx::{
    PgConnection, SqlSafeStr,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

use super::failure::Failure;
use recall_store::Refusal;

/// Number, name and text of each file in `migrations/postgres`.
const FILES: &[(i64, &str, &str)] = &[
    (1, "memory", include_str!("../../../migrations/postgres/0001_memory.sql")),
    (2, "graph", include_str!("../../../migrations/postgres/0002_graph.sql")),
    (5, "usage", include_str!("../../../migrations/postgres/0005_usage.sql")),
    (7, "logins", include_str!("../../../migrations/postgres/0007_logins.sql")),
    (8, "audit", include_str!("../../../migrations/postgres/0008_audit.sql")),
    (9, "embeddings", include_str!("../../../migrations/postgres/0009_embeddings.sql")),
    (10, "walls", include_str!("../../../migrations/postgres/0010_walls.sql")),
    (11, "limits", include_str!("../../../migrations/postgres/0011_limits.sql")),
    (13, "visits", include_str!("../../../migrations/postgres/0013_visits.sql")),
    (14, "visitors", include_str!("../../../migrations/postgres/0014_visitors.sql")),
    (15, "deletions", include_str!("../../../migrations/postgres/0015_deletions.sql")),
    (20, "imports", include_str!("../../../migrations/postgres/0020_imports.sql")),
    (21, "holders", include_str!("../../../migrations/postgres/0021_holders.sql")),
];

/// Applies the missing files, each in its own transaction, under an advisory lock of the database.
pub(super) async fn run(connection: &mut PgConnection) -> Result<(), Failure> {
    let files = FILES
        .iter()
        .map(|&(version, name, sql)| Migration::new(version, Cow::Borrowed(name), MigrationType::Simple, sql.into_sql_str(), false));
    // Suppresses notices such as "extension already exists". With row security off, a change of rows that row-level security would
    // hide from their owner fails instead of changing no rows.
    sqlx::raw_sql("SET client_min_messages = warning; SET row_security = off").execute(&mut *connection).await?;
    Migrator::with_migrations(files.collect()).run(connection).await.map_err(|e| match e {
        MigrateError::VersionMissing(version) => Refusal::NewerDatabase(version).into(),
        e => Failure::Migration(e),
    })
}

/// Refuses a database that lacks a file or knows more files.
pub(super) async fn verify(connection: &mut PgConnection) -> Result<(), Failure> {
    // Not a checked statement: the checked schema does not contain the library's own table.
    let table: bool = sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL").fetch_one(&mut *connection).await?;
    if !table {
        return Err(Refusal::OlderDatabase.into());
    }
    let applied: Vec<i64> = sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success").fetch_all(connection).await?;
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
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/postgres");
        let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let listed: Vec<_> = FILES.iter().map(|(version, name, _)| format!("{version:04}_{name}.sql")).collect();
        assert_eq!(names, listed);
    }
}
