//! Migrates a database to the schema of this program.
//!
//! The migration files are part of the binary. A database is refused if the text of an applied file has changed, or if it knows
//! files that this program does not.

use sqlx::{
    SqliteConnection,
    migrate::{MigrateError, Migrator},
};

use super::failure::Failure;
use recall_store::{Refusal, check_migrations};

/// The files in `migrations/sqlite`.
static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite");

/// Applies the missing files, each in its own transaction.
pub(super) async fn run(connection: &mut SqliteConnection) -> Result<(), Failure> {
    MIGRATIONS.run(connection).await.map_err(|e| match e {
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
    let known: Vec<i64> = MIGRATIONS.iter().map(|file| file.version).collect();
    Ok(check_migrations(&known, &applied)?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn all_migration_files_are_part_of_the_program_in_order() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/sqlite");
        let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let listed = MIGRATIONS.iter().map(|file| format!("{:04}_{}.sql", file.version, file.description.replace(' ', "_")));
        assert_eq!(names, listed.collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn migration_indexes_name_parts_of_existing_people() {
        use sqlx::Connection;
        let mut c = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        sqlx::raw_sql(MIGRATIONS.migrations[0].sql.clone()).execute(&mut c).await.unwrap();
        let old = "INSERT INTO users (id) VALUES (x'00000000000000000000000000000001');
             INSERT INTO entities VALUES
                 (x'00000000000000000000000000000001', x'0000000000000000000000000000000a', 'Anna Schmidt', 'person', '[]', NULL, 1, 1.0, 0, NULL, '', 0, 0),
                 (x'00000000000000000000000000000001', x'0000000000000000000000000000000b', 'New York', 'place', '[]', NULL, 1, 1.0, 0, NULL, '', 0, 0),
                 (x'00000000000000000000000000000001', x'0000000000000000000000000000000c', 'Tom', 'person', '[]', NULL, 1, 1.0, 0, NULL, '', 0, 0);
             INSERT INTO entity_keys SELECT user_id, lower(name), id FROM entities;";
        sqlx::raw_sql(old).execute(&mut c).await.unwrap();
        sqlx::raw_sql(MIGRATIONS.migrations[1].sql.clone()).execute(&mut c).await.unwrap();
        let hints: Vec<String> = sqlx::query_scalar("SELECT hint FROM entity_hints ORDER BY hint").fetch_all(&mut c).await.unwrap();
        assert_eq!(hints, ["anna", "schmidt"]);
    }
}
