//! Health data for operators, and the one row that identifies this installation.

use async_trait::async_trait;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{PostgresStore, codec, failure::Failure, row_security::RowAccess};
use recall_domain::{Timestamp, UserId};
use recall_ports::{ConnectionCounts, Inspect, StoreError};

#[async_trait]
impl Inspect for PostgresStore {
    fn engine(&self) -> &'static str {
        "postgres"
    }

    async fn ping(&self) -> Result<(), StoreError> {
        let asked = sqlx::query_scalar!(r#"SELECT current_setting('transaction_read_only') = 'on' OR pg_is_in_recovery() AS "read_only!""#);
        match asked.fetch_one(self.pool.reading(RowAccess::Nobody)).await.map_err(Failure::from)? {
            true => {
                self.pool.report_trouble();
                Err(Failure::ReadOnly.into())
            }
            false => Ok(()),
        }
    }

    fn connections(&self) -> ConnectionCounts {
        self.pool.connections()
    }

    async fn local_user(&self) -> Result<UserId, StoreError> {
        let user =
            sqlx::query_scalar!("SELECT local_user FROM installation WHERE id = 1").fetch_one(self.pool.reading(RowAccess::Nobody)).await;
        Ok(UserId(user.map_err(Failure::from)?))
    }

    async fn close(&self) {
        self.notifications.stop();
        self.pool.close().await;
    }
}

/// Inserts the installation's row if it is missing, and returns an id for this process.
///
/// Both are random numbers of the server, so a backup of another installation does not reveal the local user.
pub(super) async fn ensure_installation(connection: &mut PgConnection, now: Timestamp) -> Result<Uuid, Failure> {
    sqlx::query!("INSERT INTO installation (id, created_at) VALUES (1, $1) ON CONFLICT DO NOTHING", codec::time(now))
        .execute(&mut *connection)
        .await?;
    Ok(sqlx::query_scalar!(r#"SELECT gen_random_uuid() AS "id!""#).fetch_one(connection).await?)
}
