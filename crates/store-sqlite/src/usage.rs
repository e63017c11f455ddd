//! Counts the tokens that model servers used.

use async_trait::async_trait;
use sqlx::Row;

use super::{
    SqliteStore,
    codec::{Word, bytes, id_list, signed},
    failure::Failure,
    rows::Columns,
};
use recall_domain::{Caller, Day, DayUsage, MessageId, Spending, TokenCount, ViewerRole};
use recall_ports::{StoreError, UsageStore, UsageTotals};

#[async_trait]
impl UsageStore for SqliteStore {
    async fn spend(&self, caller: &Caller, day: Day, spending: &Spending) -> Result<(), StoreError> {
        let (user, visitor, spending) = (caller.user().0, caller.role() == ViewerRole::Anonymous, spending.clone());
        // A power failure loses the count of a request or two. That is not worth waiting for the disk.
        let done = self.write_relaxed(move |c| {
            Box::pin(async move {
                sqlx::query(
                    "INSERT INTO usage_days (user_id, day, operation, requests, input_tokens, output_tokens, visitor) VALUES (?, ?, ?, 1, ?, ?, ?)
                     ON CONFLICT (user_id, day, operation) DO UPDATE SET requests = requests + 1,
                         input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens",
                )
                .bind(bytes(&user))
                .bind(day.0)
                .bind(spending.operation.word())
                .bind(signed(spending.tokens.input))
                .bind(signed(spending.tokens.output))
                .bind(visitor)
                .execute(&mut *c)
                .await?;
                for (message, tokens) in &spending.messages {
                    sqlx::query(
                        "INSERT INTO usage_messages (user_id, message_id, input_tokens, output_tokens)
                         SELECT user_id, id, ?3, ?4 FROM visible_messages WHERE user_id = ?1 AND id = ?2
                         ON CONFLICT (user_id, message_id) DO UPDATE SET
                             input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens",
                    )
                    .bind(bytes(&user))
                    .bind(bytes(&message.0))
                    .bind(signed(tokens.input))
                    .bind(signed(tokens.output))
                    .execute(&mut *c)
                    .await?;
                }
                Ok(())
            })
        });
        Ok(done.await?)
    }

    async fn spent(&self, caller: &Caller, day: Day) -> Result<UsageTotals, StoreError> {
        let row = sqlx::query(
            "SELECT (SELECT COALESCE(SUM(input_tokens + output_tokens), 0) FROM usage_days WHERE user_id = ?1 AND day = ?2) AS mine,
                    (SELECT COALESCE(SUM(input_tokens + output_tokens), 0) FROM usage_days WHERE day = ?2 AND visitor = 1) AS visitors,
                    (SELECT COALESCE(SUM(input_tokens + output_tokens), 0) FROM usage_days WHERE day = ?2) AS in_all",
        );
        let row = row.bind(bytes(&caller.user().0)).bind(day.0).fetch_one(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        let c = Columns::of(&row, "usage_days");
        Ok(UsageTotals { own: c.count("mine")?, visitors: c.count("visitors")?, all: c.count("in_all")? })
    }

    async fn usage_since(&self, caller: &Caller, since: Day) -> Result<Vec<DayUsage>, StoreError> {
        let found = sqlx::query("SELECT * FROM usage_days WHERE user_id = ? AND day >= ? ORDER BY day DESC, operation")
            .bind(bytes(&caller.user().0))
            .bind(since.0)
            .fetch_all(self.readers.for_user(caller))
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
        let found = sqlx::query("SELECT * FROM usage_messages WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?))")
            .bind(bytes(&caller.user().0))
            .bind(id_list(messages.iter().map(|id| &id.0)))
            .fetch_all(self.readers.for_user(caller))
            .await
            .map_err(Failure::from)?;
        let usage = found.iter().map(|row| {
            let c = Columns::of(row, "usage_messages");
            Ok::<_, Failure>((
                MessageId(c.id("message_id")?),
                TokenCount { input: c.count("input_tokens")?, output: c.count("output_tokens")? },
            ))
        });
        Ok(usage.collect::<Result<_, _>>()?)
    }
}
