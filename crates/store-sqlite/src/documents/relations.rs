//! Reads what is related to documents, and records views.

use async_trait::async_trait;
use rusqlite::params;
use uuid::Uuid;

use super::super::{
    SqliteStore,
    codec::{id_list, millis},
    failure::Failure,
    keys,
    rows::Columns,
    transaction::{WriteTransaction, run},
};
use recall_domain::{Caller, DocumentId, EntityId, MessageId, Page, Slice, Timestamp, UserId};
use recall_ports::{DocumentRelations, StoreError};
use recall_store::{Refusal, UserStatements, reject_while_locked};

#[async_trait]
impl DocumentRelations for SqliteStore {
    async fn messages_citing(&self, caller: &Caller, document: DocumentId, page: &Page) -> Result<Slice<MessageId>, StoreError> {
        let sql =
            "SELECT c.feed_row, m.id FROM document_citations c JOIN visible_messages m ON m.user_id = c.user_id AND m.id = c.message_id
             WHERE c.user_id = ?1 AND c.document_id = ?2 AND c.feed_row < ?3 AND m.forgotten IS NULL
             ORDER BY c.feed_row DESC LIMIT ?4";
        citing(self, caller, sql, document, page).await
    }

    async fn questions_answered_by(&self, caller: &Caller, document: DocumentId, page: &Page) -> Result<Slice<MessageId>, StoreError> {
        let sql =
            "SELECT c.feed_row, q.id FROM document_citations c JOIN visible_messages m ON m.user_id = c.user_id AND m.id = c.message_id
             JOIN visible_messages q ON q.user_id = m.user_id AND q.id = m.answer_to
             WHERE c.user_id = ?1 AND c.document_id = ?2 AND c.feed_row < ?3 AND m.forgotten IS NULL AND q.forgotten IS NULL
             ORDER BY c.feed_row DESC LIMIT ?4";
        citing(self, caller, sql, document, page).await
    }

    async fn messages_linking_to(&self, caller: &Caller, uri: &str, page: &Page) -> Result<Slice<MessageId>, StoreError> {
        let before = page.after.as_deref().map_or(Ok(Uuid::max()), keys::parse_id)?;
        let values = (caller.user().0, uri.to_owned(), before, keys::limit(page));
        let found = self.read(caller, move |db| {
            let sql = "SELECT DISTINCT message_id FROM visible_resources WHERE user_id = ?1 AND uri = ?2 AND message_id < ?3
                 ORDER BY message_id DESC LIMIT ?4";
            db.rows("resources", sql, values, |c| Ok(MessageId(c.id("message_id")?)))
        });
        let key = |message: &MessageId| message.0.as_simple().to_string();
        Ok(keys::page(found.await?.into_iter().map(Ok::<_, Failure>), page, key)?)
    }

    async fn entities_in_document(&self, caller: &Caller, document: DocumentId, page: &Page) -> Result<Slice<EntityId>, StoreError> {
        let (count, id) = keys::least_before(page.after.as_deref())?;
        let values = (caller.user().0, document.0, count, id, keys::limit(page));
        let found = self.read(caller, move |db| {
            let sql = "SELECT entity_id, COUNT(*) AS mentions FROM visible_mentions WHERE user_id = ?1 AND session_id = ?2
                 AND message_id NOT IN (SELECT id FROM hidden_messages WHERE user_id = ?1)
                 AND entity_id NOT IN (SELECT id FROM hidden_entities WHERE user_id = ?1)
                 GROUP BY entity_id HAVING mentions < ?3 OR (mentions = ?3 AND entity_id > ?4)
                 ORDER BY mentions DESC, entity_id LIMIT ?5";
            db.rows("mentions", sql, values, |c| {
                let id = c.id("entity_id")?;
                Ok((keys::number_and_id(c.integer("mentions")?, id), EntityId(id)))
            })
        });
        Ok(keys::slice(found.await?, page))
    }

    async fn view_document(&self, caller: &Caller, document: DocumentId, now: Timestamp) -> Result<(), StoreError> {
        let user = caller.user();
        Ok(self.write(move |tx| run(view_own(tx, user, document, now))).await?)
    }

    async fn view_shared_document(&self, caller: &Caller, document: DocumentId, now: Timestamp) -> Result<(), StoreError> {
        let user = caller.user();
        Ok(self.write(move |tx| run(view_shared(tx, user, document, now))).await?)
    }

    async fn shared_views(&self, caller: &Caller, documents: &[DocumentId]) -> Result<Vec<(DocumentId, Timestamp)>, StoreError> {
        let values = (caller.user().0, id_list(documents.iter().map(|id| &id.0)));
        let found = self.read(caller, move |db| {
            let sql = "SELECT document_id, viewed_at FROM shared_views
                 WHERE user_id = ? AND document_id IN (SELECT unhex(value) FROM json_each(?))";
            db.rows("shared_views", sql, values, |c| Ok((DocumentId(c.id("document_id")?), c.time("viewed_at")?)))
        });
        Ok(found.await?)
    }
}

/// Reads a page of messages by the row of the message that cites the document.
async fn citing(
    store: &SqliteStore,
    caller: &Caller,
    sql: &'static str,
    document: DocumentId,
    page: &Page,
) -> Result<Slice<MessageId>, StoreError> {
    let before = page.after.as_deref().map_or(Ok(i64::MAX), keys::parse_number)?;
    let values = (caller.user().0, document.0, before, keys::limit(page));
    let read = |c: &Columns<'_, '_>| Ok((c.integer("feed_row")?.to_string(), MessageId(c.id("id")?)));
    let found: Vec<(String, MessageId)> = store.read(caller, move |db| db.rows("document_citations", sql, values, read)).await?;
    Ok(keys::slice(found, page))
}

async fn view_own(tx: &mut WriteTransaction<'_>, user: UserId, document: DocumentId, now: Timestamp) -> Result<(), Failure> {
    reject_while_locked(tx, user).await?;
    let sql = "UPDATE documents SET viewed_at = ?3 WHERE user_id = ?1 AND id = ?2
         AND id NOT IN (SELECT id FROM hidden_sessions WHERE user_id = ?1)";
    match tx.0.execute(sql, (user.0, document.0, millis(now)))? {
        0 => Err(Refusal::NotFound.into()),
        _ => Ok(()),
    }
}

async fn view_shared(tx: &mut WriteTransaction<'_>, user: UserId, document: DocumentId, now: Timestamp) -> Result<(), Failure> {
    tx.ensure_user(user).await?;
    reject_while_locked(tx, user).await?;
    let sql = "INSERT INTO shared_views (user_id, document_id, viewed_at) VALUES (?1, ?2, ?3)
         ON CONFLICT (user_id, document_id) DO UPDATE SET viewed_at = excluded.viewed_at";
    tx.0.execute(sql, params![user.0, document.0, millis(now)])?;
    Ok(())
}
