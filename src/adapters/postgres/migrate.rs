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
const FILES: [(i64, &str, &str); 6] = [
    (1, "memory", include_str!("../../../migrations/postgres/0001_memory.sql")),
    (2, "graph", include_str!("../../../migrations/postgres/0002_graph.sql")),
    (5, "usage", include_str!("../../../migrations/postgres/0005_usage.sql")),
    (7, "logins", include_str!("../../../migrations/postgres/0007_logins.sql")),
    (8, "audit", include_str!("../../../migrations/postgres/0008_audit.sql")),
    (9, "embeddings", include_str!("../../../migrations/postgres/0009_embeddings.sql")),
];

/// Applies what is missing, each file in a transaction of its own, under an advisory lock of the database.
pub(super) async fn run(connection: &mut PgConnection) -> Result<(), Failure> {
    let files = FILES
        .iter()
        .map(|&(version, name, sql)| Migration::new(version, Cow::Borrowed(name), MigrationType::Simple, sql.into_sql_str(), false));
    // Without notices such as "extension already exists".
    sqlx::query("SET client_min_messages = warning").execute(&mut *connection).await?;
    Migrator::with_migrations(files.collect()).run(connection).await.map_err(|e| match e {
        MigrateError::VersionMissing(version) => Failure::NewerDatabase(version),
        e => Failure::Migration(e),
    })
}

/// Refuses a database that lacks one of the files, or knows more of them.
pub(super) async fn verify(connection: &mut PgConnection) -> Result<(), Failure> {
    let table: bool = sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL").fetch_one(&mut *connection).await?;
    if !table {
        return Err(Failure::OlderDatabase);
    }
    let applied: i64 =
        sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM _sqlx_migrations WHERE success").fetch_one(connection).await?;
    let known = FILES.iter().map(|f| f.0).max().unwrap_or(0);
    match applied.cmp(&known) {
        std::cmp::Ordering::Less => Err(Failure::OlderDatabase),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(Failure::NewerDatabase(applied)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_listed_in_order() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/postgres");
        let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let listed: Vec<_> = FILES.iter().map(|(version, name, _)| format!("{version:04}_{name}.sql")).collect();
        assert_eq!(names, listed);
    }
}
