//! Vectors of chunks that order what a search has found.

use async_trait::async_trait;

use super::super::{PostgresStore, codec::column, failure::Failure, transaction::WriteTransaction};
use recall_domain::{Caller, MessageId};
use recall_ports::{PassageStore, PassageVector, StoreError};
use recall_store::reject_while_locked;

#[async_trait]
impl PassageStore for PostgresStore {
    async fn keep_passages(&self, caller: &Caller, model: &str, vectors: Vec<(MessageId, PassageVector)>) -> Result<(), StoreError> {
        let (ids, vectors): (Vec<_>, Vec<_>) = vectors.iter().map(|(id, vector)| (id.0, vector.to_bytes())).unzip();
        let input = (caller.user(), model, ids, vectors);
        let kept = self.write(caller, &input, |c, (user, model, ids, vectors)| {
            Box::pin(async move {
                reject_while_locked(&mut WriteTransaction(c), *user).await?;
                let kept = sqlx::query!(
                    "INSERT INTO passage_vectors (user_id, message_id, model, vector)
                     SELECT m.user_id, m.id, $2, n.vector FROM unnest($3::uuid[], $4::bytea[]) AS n (id, vector)
                     JOIN visible_messages m ON m.user_id = $1 AND m.id = n.id WHERE m.forgotten IS NULL
                     ON CONFLICT (user_id, message_id) DO UPDATE SET model = excluded.model, vector = excluded.vector",
                    user.0,
                    model,
                    &ids[..],
                    &vectors[..],
                );
                kept.execute(&mut *c).await?;
                Ok::<_, Failure>(())
            })
        });
        Ok(kept.await?)
    }

    async fn passages(&self, caller: &Caller, model: &str, chunks: &[MessageId]) -> Result<Vec<(MessageId, PassageVector)>, StoreError> {
        let found = sqlx::query!(
            "SELECT message_id, vector FROM passage_vectors WHERE user_id = $1 AND model = $2 AND message_id = ANY($3)",
            caller.user().0,
            model,
            &column(chunks, |id| id.0)[..],
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(|row| (MessageId(row.message_id), PassageVector::from_bytes(&row.vector))).collect())
    }
}
