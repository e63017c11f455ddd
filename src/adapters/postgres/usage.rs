//! Tokens that model servers used.

use async_trait::async_trait;
use sqlx::Row;

use super::{
    PostgresStore,
    codec::{Word, signed},
    failure::Failure,
    rows::Columns,
    walls::Scope,
};
use crate::{
    domain::{Caller, Day, DayUsage, MessageId, Spending, TokenCount},
    ports::{StoreError, UsageStore},
};

#[async_trait]
impl UsageStore for PostgresStore {
    async fn spend(&self, caller: &Caller, day: Day, spending: &Spending) -> Result<(), StoreError> {
        let input = (caller.user().0, day, spending);
        let done = self.write(caller, &input, |c, &(user, day, spending)| {
            Box::pin(async move {
                sqlx::query(
                    "INSERT INTO usage_days (user_id, day, operation, requests, input_tokens, output_tokens) VALUES ($1, $2, $3, 1, $4, $5)
                     ON CONFLICT (user_id, day, operation) DO UPDATE SET requests = usage_days.requests + 1,
                         input_tokens = usage_days.input_tokens + excluded.input_tokens,
                         output_tokens = usage_days.output_tokens + excluded.output_tokens",
                )
                .bind(user)
                .bind(day.0)
                .bind(spending.operation.word())
                .bind(signed(spending.tokens.input))
                .bind(signed(spending.tokens.output))
                .execute(&mut *c)
                .await?;
                // In one order, whoever else counts for the same messages.
                sqlx::query(
                    "INSERT INTO usage_messages (user_id, message_id, input_tokens, output_tokens)
                     SELECT m.user_id, m.id, u.input, u.output FROM unnest($2::uuid[], $3::bigint[], $4::bigint[]) AS u (id, input, output)
                     JOIN messages m ON m.user_id = $1 AND m.id = u.id ORDER BY m.id
                     ON CONFLICT (user_id, message_id) DO UPDATE SET
                         input_tokens = usage_messages.input_tokens + excluded.input_tokens,
                         output_tokens = usage_messages.output_tokens + excluded.output_tokens",
                )
                .bind(user)
                .bind(spending.messages.iter().map(|(m, _)| m.0).collect::<Vec<_>>())
                .bind(spending.messages.iter().map(|(_, t)| signed(t.input)).collect::<Vec<_>>())
                .bind(spending.messages.iter().map(|(_, t)| signed(t.output)).collect::<Vec<_>>())
                .execute(&mut *c)
                .await?;
                Ok(())
            })
        });
        Ok(done.await?)
    }

    async fn spent(&self, caller: &Caller, day: Day) -> Result<(u64, u64), StoreError> {
        let row = sqlx::query(
            "SELECT coalesce(sum(input_tokens + output_tokens) FILTER (WHERE user_id = $1), 0)::bigint AS mine,
                    coalesce(sum(input_tokens + output_tokens), 0)::bigint AS in_all
             FROM usage_days WHERE day = $2",
        );
        let row = row.bind(caller.user().0).bind(day.0).fetch_one(self.pool.reading(Scope::Budget)).await.map_err(Failure::from)?;
        let c = Columns::of(&row, "usage_days");
        Ok((c.count("mine")?, c.count("in_all")?))
    }

    async fn usage_since(&self, caller: &Caller, since: Day) -> Result<Vec<DayUsage>, StoreError> {
        let found = sqlx::query("SELECT * FROM usage_days WHERE user_id = $1 AND day >= $2 ORDER BY day DESC, operation")
            .bind(caller.user().0)
            .bind(since.0)
            .fetch_all(self.pool.reading(caller))
            .await
            .map_err(Failure::from)?;
        let days = found.iter().map(|row| {
            let c = Columns::of(row, "usage_days");
            Ok::<_, Failure>(DayUsage {
                day: Day(row.try_get("day")?),
                operation: c.word("operation")?,
                requests: c.count("requests")?,
                tokens: TokenCount { input: c.count("input_tokens")?, output: c.count("output_tokens")? },
            })
        });
        Ok(days.collect::<Result<_, _>>()?)
    }

    async fn usage_of_messages(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, TokenCount)>, StoreError> {
        let found = sqlx::query("SELECT * FROM usage_messages WHERE user_id = $1 AND message_id = ANY($2)")
            .bind(caller.user().0)
            .bind(messages.iter().map(|id| id.0).collect::<Vec<_>>())
            .fetch_all(self.pool.reading(caller))
            .await
            .map_err(Failure::from)?;
        let usage = found.iter().map(|row| {
            let c = Columns::of(row, "usage_messages");
            let tokens = TokenCount { input: c.count("input_tokens")?, output: c.count("output_tokens")? };
            Ok::<_, Failure>((MessageId(c.id("message_id")?), tokens))
        });
        Ok(usage.collect::<Result<_, _>>()?)
    }
}
