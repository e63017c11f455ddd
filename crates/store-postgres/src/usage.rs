//! Counts the tokens that model servers used.

use async_trait::async_trait;

use super::{
    PostgresStore,
    codec::{Word, signed},
    failure::Failure,
    row_security::RowAccess,
    rows::Column,
    transaction::WriteTransaction,
};
use recall_domain::{Caller, Day, DayUsage, MessageId, Spending, TokenCount, ViewerRole};
use recall_ports::{StoreError, UsageStore, UsageTotals};
use recall_store::UserStatements;

#[async_trait]
impl UsageStore for PostgresStore {
    async fn spend(&self, caller: &Caller, day: Day, spending: &Spending) -> Result<(), StoreError> {
        let input = (caller.user(), caller.role() == ViewerRole::Anonymous, day, spending);
        let done = self.write(caller, &input, |c, &(user, visitor, day, spending)| {
            Box::pin(async move {
                // A user whose chats are not remembered spends tokens, too. Visitors exist from their first request on.
                if !visitor {
                    WriteTransaction(c).ensure_user(user).await?;
                }
                let user = user.0;
                let of_day = sqlx::query!(
                    "INSERT INTO usage_days (user_id, day, operation, requests, input_tokens, output_tokens, visitor)
                     VALUES ($1, $2, $3, 1, $4, $5, $6)
                     ON CONFLICT (user_id, day, operation) DO UPDATE SET requests = usage_days.requests + 1,
                         input_tokens = usage_days.input_tokens + excluded.input_tokens,
                         output_tokens = usage_days.output_tokens + excluded.output_tokens",
                    user,
                    day.0,
                    spending.operation.word(),
                    signed(spending.tokens.input),
                    signed(spending.tokens.output),
                    visitor,
                );
                of_day.execute(&mut *c).await?;
                let messages: Vec<_> = spending.messages.iter().map(|(m, _)| m.0).collect();
                let input: Vec<_> = spending.messages.iter().map(|(_, t)| signed(t.input)).collect();
                let output: Vec<_> = spending.messages.iter().map(|(_, t)| signed(t.output)).collect();
                // In a fixed order, so that concurrent counts for the same messages do not deadlock.
                let of_messages = sqlx::query!(
                    "INSERT INTO usage_messages (user_id, message_id, input_tokens, output_tokens)
                     SELECT m.user_id, m.id, u.input, u.output FROM unnest($2::uuid[], $3::bigint[], $4::bigint[]) AS u (id, input, output)
                     JOIN visible_messages m ON m.user_id = $1 AND m.id = u.id ORDER BY m.id
                     ON CONFLICT (user_id, message_id) DO UPDATE SET
                         input_tokens = usage_messages.input_tokens + excluded.input_tokens,
                         output_tokens = usage_messages.output_tokens + excluded.output_tokens",
                    user,
                    &messages[..],
                    &input[..],
                    &output[..],
                );
                of_messages.execute(&mut *c).await?;
                Ok(())
            })
        });
        Ok(done.await?)
    }

    async fn spent(&self, caller: &Caller, day: Day) -> Result<UsageTotals, StoreError> {
        let row = sqlx::query!(
            r#"SELECT coalesce(sum(input_tokens + output_tokens) FILTER (WHERE user_id = $1), 0)::bigint AS "mine!",
                    coalesce(sum(input_tokens + output_tokens) FILTER (WHERE visitor), 0)::bigint AS "visitors!",
                    coalesce(sum(input_tokens + output_tokens), 0)::bigint AS "in_all!"
             FROM usage_days WHERE day = $2"#,
            caller.user().0,
            day.0,
        );
        let row = row.fetch_one(self.pool.reading(RowAccess::Budget)).await.map_err(Failure::from)?;
        let of = |column| Column("usage_days", column);
        Ok(UsageTotals {
            own: of("mine").count(row.mine)?,
            visitors: of("visitors").count(row.visitors)?,
            all: of("in_all").count(row.in_all)?,
        })
    }

    async fn usage_since(&self, caller: &Caller, since: Day) -> Result<Vec<DayUsage>, StoreError> {
        let found = sqlx::query!(
            "SELECT day, operation, requests, input_tokens, output_tokens FROM usage_days
             WHERE user_id = $1 AND day >= $2 ORDER BY day DESC, operation",
            caller.user().0,
            since.0,
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let of = |column| Column("usage_days", column);
        let days = found.into_iter().map(|row| {
            let (input, output) = (of("input_tokens").count(row.input_tokens)?, of("output_tokens").count(row.output_tokens)?);
            Ok::<_, Failure>(DayUsage {
                day: Day(row.day),
                operation: of("operation").word(&row.operation)?,
                requests: of("requests").count(row.requests)?,
                tokens: TokenCount { input, output },
            })
        });
        Ok(days.collect::<Result<_, _>>()?)
    }

    async fn usage_of_messages(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, TokenCount)>, StoreError> {
        let messages: Vec<_> = messages.iter().map(|id| id.0).collect();
        let found = sqlx::query!(
            "SELECT message_id, input_tokens, output_tokens FROM usage_messages WHERE user_id = $1 AND message_id = ANY($2)",
            caller.user().0,
            &messages[..],
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let of = |column| Column("usage_messages", column);
        let usage = found.into_iter().map(|row| {
            let (input, output) = (of("input_tokens").count(row.input_tokens)?, of("output_tokens").count(row.output_tokens)?);
            Ok::<_, Failure>((MessageId(row.message_id), TokenCount { input, output }))
        });
        Ok(usage.collect::<Result<_, _>>()?)
    }
}
