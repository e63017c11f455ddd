//! What an encoder made of chunks and messages, to order what a search has found.

use async_trait::async_trait;

use super::super::{PostgresStore, codec::column, failure::Failure, transaction::WriteTransaction};
use recall_domain::{Caller, MessageId};
use recall_ports::{Passage, PassageStore, PassageVector, StoreError, WordVectors};
use recall_store::reject_while_locked;

#[async_trait]
impl PassageStore for PostgresStore {
    async fn keep_passages(&self, caller: &Caller, model: &str, passages: Vec<(MessageId, Passage)>) -> Result<(), StoreError> {
        let ids = column(&passages, |(id, _)| id.0);
        let vectors = column(&passages, |(_, passage)| passage.vector.to_bytes());
        let words = column(&passages, |(_, passage)| passage.words.as_bytes().to_vec());
        let input = (caller.user(), model, ids, vectors, words);
        let kept = self.write(caller, &input, |c, (user, model, ids, vectors, words)| {
            Box::pin(async move {
                reject_while_locked(&mut WriteTransaction(c), *user).await?;
                // The lock lets a forgetting that erases the text wait, so that it also deletes what is kept here.
                let kept = sqlx::query!(
                    "INSERT INTO passage_vectors (user_id, message_id, model, vector, words)
                     SELECT m.user_id, m.id, $2, n.vector, n.words FROM unnest($3::uuid[], $4::bytea[], $5::bytea[]) AS n (id, vector, words)
                     JOIN visible_messages m ON m.user_id = $1 AND m.id = n.id WHERE m.forgotten IS NULL FOR SHARE OF m
                     ON CONFLICT (user_id, message_id) DO UPDATE
                     SET model = excluded.model, vector = excluded.vector, words = excluded.words",
                    user.0,
                    model,
                    &ids[..],
                    &vectors[..],
                    &words[..],
                );
                kept.execute(&mut *c).await?;
                Ok::<_, Failure>(())
            })
        });
        Ok(kept.await?)
    }

    async fn passages(&self, caller: &Caller, model: &str, chunks: &[MessageId]) -> Result<Vec<(MessageId, Passage)>, StoreError> {
        let found = sqlx::query!(
            "SELECT message_id, vector, words FROM passage_vectors WHERE user_id = $1 AND model = $2 AND message_id = ANY($3)",
            caller.user().0,
            model,
            &column(chunks, |id| id.0)[..],
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let passage =
            |vector: &[u8], words: &[u8]| Passage { vector: PassageVector::from_bytes(vector), words: WordVectors::from_bytes(words) };
        Ok(found.into_iter().map(|row| (MessageId(row.message_id), passage(&row.vector, &row.words))).collect())
    }
}
