//! Rate limits that all servers of the database share. The database's clock measures them.

use std::time::Duration;

use async_trait::async_trait;

use super::{PostgresStore, failure::Failure};
use recall_domain::Caller;
use recall_ports::{Allowances, Bucket, DrawOutcome, StoreError};

#[async_trait]
impl Allowances for PostgresStore {
    async fn draw(&self, caller: &Caller, bucket: Bucket, least: u32, most: u32) -> Result<DrawOutcome, StoreError> {
        // One statement, so that draws of several servers run one after the other.
        let drawn = sqlx::query!(
            "INSERT INTO allowances AS a (user_id, name, tokens, as_of, granted)
             VALUES ($1, $2, $3::double precision - greatest($5::double precision, least($6::double precision, $3)), statement_timestamp(),
                     greatest($5, least($6, $3)))
             ON CONFLICT (user_id, name) DO UPDATE SET (tokens, as_of, granted) = (
                 SELECT CASE WHEN there >= 1 THEN there - given ELSE there END,
                        greatest(a.as_of, statement_timestamp()),
                        CASE WHEN there >= 1 THEN given ELSE 0 END
                 FROM (SELECT there, greatest($5, floor(least($6, there))) AS given FROM (
                     SELECT least($3, a.tokens + $4 * greatest(0, extract(epoch FROM statement_timestamp() - a.as_of)::double precision)) AS there
                 ) AS filled) AS drawn)
             RETURNING granted, tokens",
            caller.user().0,
            bucket.name,
            f64::from(bucket.capacity),
            bucket.per_second,
            f64::from(least),
            f64::from(most),
        );
        let drawn = drawn.fetch_one(self.pool.writing(caller)).await.map_err(Failure::from)?;
        let (granted, tokens) = (drawn.granted, drawn.tokens);
        // Both values are whole numbers: the input was one, and the statement rounds.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Ok(match granted >= 1.0 {
            true => DrawOutcome::Tokens(granted as u32),
            false => DrawOutcome::Nothing(Duration::try_from_secs_f64((1.0 - tokens) / bucket.per_second).unwrap_or(Duration::MAX)),
        })
    }

    async fn charge(&self, caller: &Caller, bucket: Bucket, tokens: u32) -> Result<(), StoreError> {
        let charged = sqlx::query!(
            "INSERT INTO allowances AS a (user_id, name, tokens, as_of, granted)
             VALUES ($1, $2, $3::double precision - $5::double precision, statement_timestamp(), 0)
             ON CONFLICT (user_id, name) DO UPDATE SET
                 tokens = least($3, a.tokens + $4 * greatest(0, extract(epoch FROM statement_timestamp() - a.as_of)::double precision)) - $5,
                 as_of = greatest(a.as_of, statement_timestamp()), granted = 0",
            caller.user().0,
            bucket.name,
            f64::from(bucket.capacity),
            bucket.per_second,
            f64::from(tokens),
        );
        charged.execute(self.pool.writing(caller)).await.map_err(Failure::from)?;
        Ok(())
    }
}
