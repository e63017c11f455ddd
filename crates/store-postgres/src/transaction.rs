//! The open write transaction, for the algorithms of `recall-store`.

use async_trait::async_trait;
use sqlx::PgConnection;

use super::{
    codec::{self, signed},
    failure::Failure,
    row_security,
};
use recall_domain::{Timestamp, UserId};
use recall_store::{Quota, Transaction, UserLock, UserStatements};

/// An open write transaction. Each file implements the statements on its tables.
pub(super) struct WriteTransaction<'c>(pub(super) &'c mut PgConnection);

/// An open snapshot.
pub(super) struct Snapshot<'c>(pub(super) &'c mut PgConnection);

#[async_trait]
impl Transaction for WriteTransaction<'_> {
    type Error = Failure;

    fn stored_time(time: Timestamp) -> Timestamp {
        codec::time(time)
    }

    async fn act_for(&mut self, user: UserId) -> Result<(), Failure> {
        row_security::switch_to_user(self.0, user.0).await
    }
}

#[async_trait]
impl UserStatements for WriteTransaction<'_> {
    async fn ensure_user(&mut self, user: UserId) -> Result<(), Failure> {
        sqlx::query!("INSERT INTO users (id) VALUES ($1) ON CONFLICT DO NOTHING", user.0).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn user_lock(&mut self, user: UserId) -> Result<Option<UserLock>, Failure> {
        let lock = sqlx::query_as!(UserLock, "SELECT erasing, importing FROM users WHERE id = $1", user.0);
        Ok(lock.fetch_optional(&mut *self.0).await?)
    }

    async fn take_quota(&mut self, user: UserId, quota: Quota, count: u64) -> Result<bool, Failure> {
        let (user, count) = (user.0, signed(count));
        let taken = match quota {
            Quota::Messages => {
                let taken = sqlx::query!(
                    "UPDATE visits SET messages_left = messages_left - $2, empty_until = NULL WHERE user_id = $1 AND messages_left >= $2",
                    user,
                    count,
                );
                taken.execute(&mut *self.0).await?
            }
            Quota::Sessions => {
                let taken = sqlx::query!(
                    "UPDATE visits SET sessions_left = sessions_left - $2 WHERE user_id = $1 AND sessions_left >= $2",
                    user,
                    count,
                );
                taken.execute(&mut *self.0).await?
            }
        };
        Ok(taken.rows_affected() > 0)
    }
}
