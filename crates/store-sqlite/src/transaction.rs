//! The open write transaction, for the algorithms of `recall-store`.

use async_trait::async_trait;
use sqlx::SqliteConnection;

use super::{
    codec::{bytes, signed, truncate_to_millis},
    failure::Failure,
    rows::Columns,
};
use recall_domain::{Timestamp, UserId};
use recall_store::{Quota, Transaction, UserLock, UserStatements};

/// An open write transaction. Each file implements the statements on its tables.
pub(super) struct WriteTransaction<'c>(pub(super) &'c mut SqliteConnection);

/// An open snapshot.
pub(super) struct Snapshot<'c>(pub(super) &'c mut SqliteConnection);

#[async_trait]
impl Transaction for WriteTransaction<'_> {
    type Error = Failure;

    fn stored_time(time: Timestamp) -> Timestamp {
        truncate_to_millis(time)
    }

    async fn act_for(&mut self, _user: UserId) -> Result<(), Failure> {
        Ok(())
    }
}

#[async_trait]
impl UserStatements for WriteTransaction<'_> {
    async fn ensure_user(&mut self, user: UserId) -> Result<(), Failure> {
        sqlx::query("INSERT INTO users (id) VALUES (?) ON CONFLICT DO NOTHING").bind(bytes(&user.0)).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn user_lock(&mut self, user: UserId) -> Result<Option<UserLock>, Failure> {
        let found = sqlx::query("SELECT erasing, importing FROM users WHERE id = ?").bind(bytes(&user.0)).fetch_optional(&mut *self.0);
        let lock = found.await?.map(|row| {
            let c = Columns::of(&row, "users");
            Ok::<_, Failure>(UserLock { erasing: c.flag("erasing")?, importing: c.flag("importing")? })
        });
        lock.transpose()
    }

    async fn take_quota(&mut self, user: UserId, quota: Quota, count: u64) -> Result<bool, Failure> {
        let sql = match quota {
            Quota::Messages => {
                "UPDATE visits SET messages_left = messages_left - ?2, empty_until = NULL WHERE user_id = ?1 AND messages_left >= ?2"
            }
            Quota::Sessions => "UPDATE visits SET sessions_left = sessions_left - ?2 WHERE user_id = ?1 AND sessions_left >= ?2",
        };
        Ok(sqlx::query(sql).bind(bytes(&user.0)).bind(signed(count)).execute(&mut *self.0).await?.rows_affected() > 0)
    }
}
