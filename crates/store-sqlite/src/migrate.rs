//! Migrates a database to the schema of this program.
//!
//! The migration files are part of the binary. A database is refused if the text of an applied file has changed, or if it knows
//! files that this program does not.

use sqlx::migrate::{Migration, Migrator};

use super::{connection::Db, failure::Failure};
use recall_store::{Refusal, check_migrations};

/// The files in `migrations/sqlite`.
static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite");

/// The table of applied files. It has the name and columns of sqlx, which wrote it in earlier versions.
const APPLIED: &str = "CREATE TABLE IF NOT EXISTS _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
)";

/// Applies the missing files, each in its own transaction.
pub(super) fn run(db: &mut Db) -> Result<(), Failure> {
    db.batch(APPLIED)?;
    let applied = db.rows("migrations", "SELECT version, success, checksum FROM _sqlx_migrations ORDER BY version", (), |c| {
        Ok((c.integer("version")?, c.flag("success")?, c.get::<Vec<u8>>("checksum")?))
    })?;
    for (version, success, checksum) in &applied {
        let file = MIGRATIONS.iter().find(|file| file.version == *version).ok_or(Refusal::NewerDatabase(*version))?;
        if !success {
            return Err(Failure::UnfinishedMigration(*version));
        }
        if *file.checksum != **checksum {
            return Err(Failure::ChangedMigration(*version));
        }
    }
    for file in MIGRATIONS.iter().filter(|file| applied.iter().all(|(version, ..)| *version != file.version)) {
        apply(db, file)?;
    }
    Ok(())
}

fn apply(db: &mut Db, file: &Migration) -> Result<(), Failure> {
    let started = std::time::Instant::now();
    let transaction = db.transaction()?;
    transaction.execute_batch(file.sql.as_str())?;
    transaction.execute(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (?1, ?2, TRUE, ?3, ?4)",
        (file.version, &file.description, &file.checksum, i64::try_from(started.elapsed().as_nanos()).unwrap_or(i64::MAX)),
    )?;
    Ok(transaction.commit()?)
}

/// Refuses a database that lacks a file or knows more files.
pub(super) fn verify(db: &Db) -> Result<(), Failure> {
    if !db.exists("SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations'", ())? {
        return Err(Refusal::OlderDatabase.into());
    }
    let applied = db.rows("migrations", "SELECT version FROM _sqlx_migrations WHERE success = TRUE", (), |c| c.integer("version"))?;
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

    #[test]
    fn migration_indexes_name_parts_of_existing_people() {
        let db = rusqlite::Connection::open_in_memory().unwrap();
        db.execute_batch(MIGRATIONS.migrations[0].sql.as_str()).unwrap();
        let old = "INSERT INTO users (id) VALUES (x'00000000000000000000000000000001');
             INSERT INTO entities VALUES
                 (x'00000000000000000000000000000001', x'0000000000000000000000000000000a', 'Anna Schmidt', 'person', '[]', NULL, 1, 1.0, 0, NULL, '', 0, 0),
                 (x'00000000000000000000000000000001', x'0000000000000000000000000000000b', 'New York', 'place', '[]', NULL, 1, 1.0, 0, NULL, '', 0, 0),
                 (x'00000000000000000000000000000001', x'0000000000000000000000000000000c', 'Tom', 'person', '[]', NULL, 1, 1.0, 0, NULL, '', 0, 0);
             INSERT INTO entity_keys SELECT user_id, lower(name), id FROM entities;";
        db.execute_batch(old).unwrap();
        db.execute_batch(MIGRATIONS.migrations[1].sql.as_str()).unwrap();
        let mut hints = db.prepare("SELECT hint FROM entity_hints ORDER BY hint").unwrap();
        let hints: Vec<String> = hints.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(hints, ["anna", "schmidt"]);
    }
}
