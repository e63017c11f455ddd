//! Health data for operators, and the one row that identifies this installation.

use async_trait::async_trait;
use sqlx::SqliteConnection;

use super::{SqliteStore, codec, failure::Failure, rows::Columns};
use recall_domain::{Timestamp, UserId};
use recall_ports::{ConnectionCounts, Inspect, StoreError};
use recall_store::Refusal;

#[async_trait]
impl Inspect for SqliteStore {
    fn engine(&self) -> &'static str {
        "sqlite"
    }

    async fn ping(&self) -> Result<(), StoreError> {
        if !self.writer.is_open() {
            return Err(Failure::Closed.into());
        }
        sqlx::query("SELECT 1").execute(self.readers.for_server()).await.map_err(Failure::from)?;
        Ok(())
    }

    fn connections(&self) -> ConnectionCounts {
        ConnectionCounts {
            // Plus the writer's connection, which is always in use.
            open: self.readers.for_server().size() + 1,
            idle: u32::try_from(self.readers.for_server().num_idle()).unwrap_or(u32::MAX),
            most: self.readers.for_server().options().get_max_connections() + 1,
            waiting: self.writer.waiting(),
        }
    }

    async fn local_user(&self) -> Result<UserId, StoreError> {
        let row = sqlx::query("SELECT local_user FROM installation WHERE id = 1")
            .fetch_one(self.readers.for_server())
            .await
            .map_err(Failure::from)?;
        Ok(UserId(Columns::of(&row, "installation").id("local_user")?))
    }

    async fn close(&self) {
        self.close_inner().await;
    }
}

/// Inserts the installation's row if it is missing.
///
/// SQLite's generator makes the id of the local user, so a backup of another installation does not reveal it.
pub(super) async fn ensure_installation(connection: &mut SqliteConnection, now: Timestamp) -> Result<(), Failure> {
    let random: Vec<u8> = sqlx::query_scalar("SELECT randomblob(16)").fetch_one(&mut *connection).await?;
    let random = <[u8; 16]>::try_from(random).map_err(|_| Refusal::Damaged { table: "installation", column: "local_user" })?;
    let id = uuid::Builder::from_random_bytes(random).into_uuid();
    sqlx::query("INSERT INTO installation (id, local_user, created_at) VALUES (1, ?, ?) ON CONFLICT DO NOTHING")
        .bind(codec::bytes(&id))
        .bind(codec::millis(now))
        .execute(connection)
        .await?;
    Ok(())
}
