//! What an encoder made of chunks and messages, to order what a search has found.

use async_trait::async_trait;
use rusqlite::params;

use super::super::{SqliteStore, codec::id_list, failure::Failure, rows::Columns, transaction::run};
use recall_domain::{Caller, MessageId};
use recall_ports::{Passage, PassageStore, PassageVector, StoreError, WordVectors};
use recall_store::reject_while_locked;

#[async_trait]
impl PassageStore for SqliteStore {
    async fn keep_passages(&self, caller: &Caller, model: &str, passages: Vec<(MessageId, Passage)>) -> Result<(), StoreError> {
        let (user, model) = (caller.user(), model.to_owned());
        let kept = self.write(move |tx| {
            run(reject_while_locked(tx, user))?;
            let sql = "INSERT INTO passage_vectors (user_id, message_id, model, vector, words) SELECT ?1, ?2, ?3, ?4, ?5
                 WHERE EXISTS (SELECT 1 FROM visible_messages WHERE user_id = ?1 AND id = ?2 AND forgotten IS NULL)
                 ON CONFLICT (user_id, message_id) DO UPDATE
                 SET model = excluded.model, vector = excluded.vector, words = excluded.words";
            for (message, Passage { vector, words }) in &passages {
                tx.0.execute(sql, params![user.0, message.0, model, vector.to_bytes(), words.as_bytes()])?;
            }
            Ok::<_, Failure>(())
        });
        Ok(kept.await?)
    }

    async fn passages(&self, caller: &Caller, model: &str, chunks: &[MessageId]) -> Result<Vec<(MessageId, Passage)>, StoreError> {
        let values = (caller.user().0, model.to_owned(), id_list(chunks.iter().map(|id| &id.0)));
        let found = self.read(caller, move |db| {
            let sql = "SELECT message_id, vector, words FROM passage_vectors
                 WHERE user_id = ?1 AND model = ?2 AND message_id IN (SELECT unhex(value) FROM json_each(?3))";
            let read = |c: &Columns<'_, '_>| {
                let (vector, words) = (PassageVector::from_bytes(c.blob("vector")?), WordVectors::from_bytes(c.blob("words")?));
                Ok((MessageId(c.id("message_id")?), Passage { vector, words }))
            };
            db.rows("passage_vectors", sql, values, read)
        });
        Ok(found.await?)
    }
}
