//! Limits that all servers of the database share, by its clock.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::Row;

use super::{PostgresStore, failure::Failure};
use crate::{
    domain::Caller,
    ports::{Allowances, Bucket, Drawn, StoreError},
};

/// One statement, so that draws of several servers come one after the other. `$1` user, `$2` name, `$3` capacity, `$4` tokens a
/// second, `$5` at least, `$6` at most.
const DRAW: &str = "
    INSERT INTO allowances AS a (user_id, name, tokens, as_of, granted)
    VALUES ($1, $2, $3 - greatest($5, least($6, $3)), statement_timestamp(), greatest($5, least($6, $3)))
    ON CONFLICT (user_id, name) DO UPDATE SET (tokens, as_of, granted) = (
        SELECT CASE WHEN there >= 1 THEN there - given ELSE there END,
               greatest(a.as_of, statement_timestamp()),
               CASE WHEN there >= 1 THEN given ELSE 0 END
        FROM (SELECT there, greatest($5, floor(least($6, there))) AS given FROM (
            SELECT least($3, a.tokens + $4 * greatest(0, extract(epoch FROM statement_timestamp() - a.as_of)::double precision)) AS there
        ) AS filled) AS drawn)
    RETURNING granted, tokens";

#[async_trait]
impl Allowances for PostgresStore {
    async fn draw(&self, caller: &Caller, bucket: Bucket, least: u32, most: u32) -> Result<Drawn, StoreError> {
        let drawn = sqlx::query(DRAW)
            .bind(caller.user().0)
            .bind(bucket.name)
            .bind(f64::from(bucket.capacity))
            .bind(bucket.per_second)
            .bind(f64::from(least))
            .bind(f64::from(most))
            .fetch_one(self.pool.writing(caller))
            .await
            .map_err(Failure::from)?;
        let (granted, tokens): (f64, f64) =
            (drawn.try_get("granted").map_err(Failure::from)?, drawn.try_get("tokens").map_err(Failure::from)?);
        // Whole numbers, because that is what was bound and rounded to.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Ok(match granted >= 1.0 {
            true => Drawn::Tokens(granted as u32),
            false => Drawn::Nothing(Duration::try_from_secs_f64((1.0 - tokens) / bucket.per_second).unwrap_or(Duration::MAX)),
        })
    }
}
