//! Migrates a database to the schema of this program.
//!
//! The migration files are part of the binary. A database is refused if the text of an applied file has changed, or if it knows
//! files that this program does not. If several processes start at once, the one with the advisory lock migrates; the others wait
//! and find nothing to do.

use sqlx::{
    PgConnection,
    migrate::{MigrateError, Migrator},
};

use super::failure::Failure;
use recall_store::{Refusal, check_migrations};

/// The files in `migrations/postgres`.
static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/postgres");

/// The oldest version with `security_invoker`, which the views need.
const OLDEST_SERVER: i32 = 150_000;

/// Refuses a server that is too old for the migrations.
pub(super) async fn check_server(connection: &mut PgConnection) -> Result<(), Failure> {
    let version = sqlx::query_scalar!(r#"SELECT current_setting('server_version_num')::int AS "version!""#).fetch_one(connection).await?;
    supported(version)
}

fn supported(version: i32) -> Result<(), Failure> {
    match version {
        OLDEST_SERVER.. => Ok(()),
        old => Err(Failure::OldServer(old / 10_000)),
    }
}

/// Applies the missing files, each in its own transaction, under an advisory lock of the database.
pub(super) async fn run(connection: &mut PgConnection) -> Result<(), Failure> {
    // Suppresses notices such as "extension already exists". With row security off, a change of rows that row-level security would
    // hide from their owner fails instead of changing no rows.
    sqlx::raw_sql("SET client_min_messages = warning; SET row_security = off").execute(&mut *connection).await?;
    MIGRATIONS.run(connection).await.map_err(|e| match e {
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
    let known: Vec<i64> = MIGRATIONS.iter().map(|file| file.version).collect();
    Ok(check_migrations(&known, &applied)?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn old_server_is_refused_with_its_version() {
        assert!(supported(150_000).is_ok() && supported(180_003).is_ok());
        let refused = supported(140_022).unwrap_err().to_string();
        assert!(refused.contains("PostgreSQL 14") && refused.contains("15 or newer"), "{refused}");
    }

    #[test]
    fn all_migration_files_are_part_of_the_program_in_order() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/postgres");
        let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let listed = MIGRATIONS.iter().map(|file| format!("{:04}_{}.sql", file.version, file.description.replace(' ', "_")));
        assert_eq!(names, listed.collect::<Vec<_>>());
    }
}
