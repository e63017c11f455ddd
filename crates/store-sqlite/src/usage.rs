//! Counts the tokens that model servers used.

use async_trait::async_trait;

use super::{
    SqliteStore,
    codec::{Word, id_list, signed},
    failure::Failure,
    rows::Columns,
    transaction::run,
};
use recall_domain::{Caller, Day, DayUsage, MessageId, Spending, TokenCount, ViewerRole};
use recall_ports::{StoreError, UsageStore, UsageTotals};
use recall_store::UserStatements;

#[async_trait]
impl UsageStore for SqliteStore {
    async fn spend(&self, caller: &Caller, day: Day, spending: &Spending) -> Result<(), StoreError> {
        let (user, visitor, spending) = (caller.user(), caller.role() == ViewerRole::Anonymous, spending.clone());
        // A power failure loses the count of a request or two. That is not worth waiting for the disk.
        let done = self.write_relaxed(move |tx| {
            // A user whose chats are not remembered spends tokens, too. Visitors exist from their first request on.
            if !visitor {
                run(tx.ensure_user(user))?;
            }
            let (input, output) = (signed(spending.tokens.input), signed(spending.tokens.output));
            tx.0.execute(
                "INSERT INTO usage_days (user_id, day, operation, requests, input_tokens, output_tokens, visitor) VALUES (?, ?, ?, 1, ?, ?, ?)
                 ON CONFLICT (user_id, day, operation) DO UPDATE SET requests = requests + 1,
                     input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens",
                (user.0, day.0, spending.operation.word(), input, output, visitor),
            )?;
            for (message, tokens) in &spending.messages {
                tx.0.execute(
                    "INSERT INTO usage_messages (user_id, message_id, input_tokens, output_tokens)
                     SELECT user_id, id, ?3, ?4 FROM visible_messages WHERE user_id = ?1 AND id = ?2
                     ON CONFLICT (user_id, message_id) DO UPDATE SET
                         input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens",
                    (user.0, message.0, signed(tokens.input), signed(tokens.output)),
                )?;
            }
            Ok(())
        });
        Ok(done.await?)
    }

    async fn spent(&self, caller: &Caller, day: Day) -> Result<UsageTotals, StoreError> {
        let user = caller.user();
        let spent = self.read(caller, move |db| {
            let sql =
                "SELECT (SELECT COALESCE(SUM(input_tokens + output_tokens), 0) FROM usage_days WHERE user_id = ?1 AND day = ?2) AS mine,
                 (SELECT COALESCE(SUM(input_tokens + output_tokens), 0) FROM usage_days WHERE day = ?2 AND visitor = 1) AS visitors,
                 (SELECT COALESCE(SUM(input_tokens + output_tokens), 0) FROM usage_days WHERE day = ?2) AS in_all";
            db.only_row("usage_days", sql, (user.0, day.0), |c| {
                Ok(UsageTotals { own: c.count("mine")?, visitors: c.count("visitors")?, all: c.count("in_all")? })
            })
        });
        Ok(spent.await?)
    }

    async fn usage_since(&self, caller: &Caller, since: Day) -> Result<Vec<DayUsage>, StoreError> {
        let user = caller.user();
        let days = self.read(caller, move |db| {
            let sql = "SELECT * FROM usage_days WHERE user_id = ? AND day >= ? ORDER BY day DESC, operation";
            db.rows("usage_days", sql, (user.0, since.0), |c| {
                Ok(DayUsage {
                    day: Day(c.get("day")?),
                    operation: c.word("operation")?,
                    requests: c.count("requests")?,
                    tokens: tokens(c)?,
                })
            })
        });
        Ok(days.await?)
    }

    async fn usage_of_messages(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, TokenCount)>, StoreError> {
        let (user, messages) = (caller.user(), id_list(messages.iter().map(|id| &id.0)));
        let usage = self.read(caller, move |db| {
            let sql = "SELECT * FROM usage_messages WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?))";
            db.rows("usage_messages", sql, (user.0, messages), |c| Ok((MessageId(c.id("message_id")?), tokens(c)?)))
        });
        Ok(usage.await?)
    }
}

fn tokens(c: &Columns<'_, '_>) -> Result<TokenCount, Failure> {
    Ok(TokenCount { input: c.count("input_tokens")?, output: c.count("output_tokens")? })
}
