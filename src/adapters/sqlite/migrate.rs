//! Brings a database to the schema of this program. The files are part of the binary; an applied file whose text changed,
//! and a database that knows files this program does not, are refused.

use std::borrow::Cow;

use sqlx::{
    SqlSafeStr, SqliteConnection,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

use super::failure::Failure;

/// (number, name, text) of each file in `migrations/sqlite`.
const FILES: [(i64, &str, &str); 1] = [(1, "memory", include_str!("../../../migrations/sqlite/0001_memory.sql"))];

/// Applies what is missing, each file in a transaction of its own.
pub(super) async fn run(connection: &mut SqliteConnection) -> Result<(), Failure> {
    let files = FILES
        .iter()
        .map(|&(version, name, sql)| Migration::new(version, Cow::Borrowed(name), MigrationType::Simple, sql.into_sql_str(), false));
    let migrator = Migrator::with_migrations(files.collect());
    migrator.run(connection).await.map_err(|e| match e {
        MigrateError::VersionMissing(version) => Failure::NewerDatabase(version),
        e => Failure::Migration(e),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_listed_in_order() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite");
        let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let listed: Vec<_> = FILES.iter().map(|(version, name, _)| format!("{version:04}_{name}.sql")).collect();
        assert_eq!(names, listed);
    }
}
