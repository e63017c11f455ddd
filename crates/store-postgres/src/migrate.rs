//! Brings a database to the schema of this program. The files are part of the binary; an applied file whose text changed,
//! and a database that knows files this program does not, are refused. Several processes may start at once: the first one to
//! take the advisory lock works, the others wait and find everything done.

use std::borrow::Cow;

use sqlx::{
    PgConnection, SqlSafeStr,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

use super::failure::Failure;

/// (number, name, text) of each file in `migrations/postgres`.
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

/// Applies what is missing, each file in a transaction of its own, under an advisory lock of the database.
pub(super) async fn run(connection: &mut PgConnection) -> Result<(), Failure> {
    let files = FILES
        .iter()
        .map(|&(version, name, sql)| Migration::new(version, Cow::Borrowed(name), MigrationType::Simple, sql.into_sql_str(), false));
    // Without notices such as "extension already exists". And a change of rows that row-level security would hide from their
    // owner is an error, and not one of no rows.
    sqlx::raw_sql("SET client_min_messages = warning; SET row_security = off").execute(&mut *connection).await?;
    Migrator::with_migrations(files.collect()).run(connection).await.map_err(|e| match e {
        MigrateError::VersionMissing(version) => Failure::NewerDatabase(version),
        e => Failure::Migration(e),
    })
}

/// Refuses a database that lacks one of the files, or knows more of them.
pub(super) async fn verify(connection: &mut PgConnection) -> Result<(), Failure> {
    // Of the library's own table, which the schema of the checked statements has not.
    let table: bool = sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL").fetch_one(&mut *connection).await?;
    if !table {
        return Err(Failure::OlderDatabase);
    }
    let applied: Vec<i64> = sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success").fetch_all(connection).await?;
    compare(&applied)
}

/// By the set and not by the highest number: files of several branches come in any order, and a gap is a missing table.
fn compare(applied: &[i64]) -> Result<(), Failure> {
    if let Some(unknown) = applied.iter().find(|version| !FILES.iter().any(|(known, ..)| known == *version)) {
        return Err(Failure::NewerDatabase(*unknown));
    }
    match FILES.iter().all(|(known, ..)| applied.contains(known)) {
        true => Ok(()),
        false => Err(Failure::OlderDatabase),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_noticed_and_not_only_the_highest_number() {
        let all: Vec<i64> = FILES.iter().map(|f| f.0).collect();
        assert!(compare(&all).is_ok());
        for missing in &all {
            let rest: Vec<i64> = all.iter().copied().filter(|v| v != missing).collect();
            assert!(matches!(compare(&rest), Err(Failure::OlderDatabase)), "{missing}");
        }
        let unknown: Vec<i64> = all.iter().copied().chain([9_999]).collect();
        assert!(matches!(compare(&unknown), Err(Failure::NewerDatabase(9_999))));
        assert!(matches!(compare(&[]), Err(Failure::OlderDatabase)));
    }

    #[test]
    fn every_file_of_the_folder_is_listed_in_order() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/postgres");
        let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let listed: Vec<_> = FILES.iter().map(|(version, name, _)| format!("{version:04}_{name}.sql")).collect();
        assert_eq!(names, listed);
    }
}
