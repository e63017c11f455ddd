//! Health data for operators, and the one row that identifies this installation.

use async_trait::async_trait;

use super::{SqliteStore, codec, connection::Db, failure::Failure};
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
        self.readers.for_server(|db| db.number("SELECT 1", ())).await?;
        Ok(())
    }

    fn connections(&self) -> ConnectionCounts {
        ConnectionCounts {
            // Plus the writer's connection, which is always in use.
            open: self.readers.open() + 1,
            idle: self.readers.idle(),
            most: self.readers.most() + 1,
            waiting: self.writer.waiting(),
        }
    }

    async fn local_user(&self) -> Result<UserId, StoreError> {
        let user = self
            .readers
            .for_server(|db| db.row("installation", "SELECT local_user FROM installation WHERE id = 1", (), |c| c.id("local_user")));
        Ok(UserId(user.await?.ok_or(Refusal::Damaged { table: "installation", column: "id" })?))
    }

    async fn close(&self) {
        self.close_inner().await;
    }
}

/// Inserts the installation's row if it is missing.
///
/// SQLite's generator makes the id of the local user, so a backup of another installation does not reveal it.
pub(super) fn ensure_installation(db: &Db, now: Timestamp) -> Result<(), Failure> {
    let random = db.row("installation", "SELECT randomblob(16) AS random", (), |c| c.get::<[u8; 16]>("random"))?;
    let random = random.ok_or(Refusal::Damaged { table: "installation", column: "local_user" })?;
    let id = uuid::Builder::from_random_bytes(random).into_uuid();
    db.execute("INSERT INTO installation (id, local_user, created_at) VALUES (1, ?, ?) ON CONFLICT DO NOTHING", (id, codec::millis(now)))?;
    Ok(())
}
