//! Reads what is related to documents, and records views.

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    super::{
        PostgresStore,
        codec::{self, column},
        failure::Failure,
        keys,
        transaction::WriteTransaction,
    },
    stored,
};
use recall_domain::{Caller, DocumentId, EntityId, MessageId, Page, Slice, Timestamp, UserId};
use recall_ports::{DocumentRelations, StoreError};
use recall_store::{Refusal, UserStatements, reject_while_locked};

#[async_trait]
impl DocumentRelations for PostgresStore {
    async fn messages_citing(&self, caller: &Caller, document: DocumentId, page: &Page) -> Result<Slice<MessageId>, StoreError> {
        let found = sqlx::query!(
            r#"SELECT c.feed_row, m.id AS "id!" FROM document_citations c
             JOIN visible_messages m ON m.user_id = c.user_id AND m.id = c.message_id
             WHERE c.user_id = $1 AND c.document_id = $2 AND c.feed_row < $3 AND m.forgotten IS NULL
             ORDER BY c.feed_row DESC LIMIT $4"#,
            caller.user().0,
            document.0,
            before(page)?,
            keys::limit(page),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(keys::slice(found.into_iter().map(|row| (row.feed_row.to_string(), MessageId(row.id))).collect(), page))
    }

    async fn questions_answered_by(&self, caller: &Caller, document: DocumentId, page: &Page) -> Result<Slice<MessageId>, StoreError> {
        let found = sqlx::query!(
            r#"SELECT c.feed_row, q.id AS "id!" FROM document_citations c
             JOIN visible_messages m ON m.user_id = c.user_id AND m.id = c.message_id
             JOIN visible_messages q ON q.user_id = m.user_id AND q.id = m.answer_to
             WHERE c.user_id = $1 AND c.document_id = $2 AND c.feed_row < $3 AND m.forgotten IS NULL AND q.forgotten IS NULL
             ORDER BY c.feed_row DESC LIMIT $4"#,
            caller.user().0,
            document.0,
            before(page)?,
            keys::limit(page),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(keys::slice(found.into_iter().map(|row| (row.feed_row.to_string(), MessageId(row.id))).collect(), page))
    }

    async fn messages_linking_to(&self, caller: &Caller, uri: &str, page: &Page) -> Result<Slice<MessageId>, StoreError> {
        let before = page.after.as_deref().map_or(Ok(Uuid::max()), keys::parse_id)?;
        let found = sqlx::query_scalar!(
            r#"SELECT DISTINCT message_id AS "message_id!" FROM visible_resources
             WHERE user_id = $1 AND md5(uri) = md5($2) AND uri = $2 AND message_id < $3 ORDER BY message_id DESC LIMIT $4"#,
            caller.user().0,
            &*codec::text(uri),
            before,
            keys::limit(page),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let key = |message: &MessageId| message.0.as_simple().to_string();
        Ok(keys::page(found.into_iter().map(MessageId).map(Ok::<_, Failure>), page, key)?)
    }

    async fn entities_in_document(&self, caller: &Caller, document: DocumentId, page: &Page) -> Result<Slice<EntityId>, StoreError> {
        let (count, id) = keys::least_before(page.after.as_deref())?;
        let found = sqlx::query!(
            r#"SELECT entity_id AS "id!", count(*) AS "mentions!" FROM visible_mentions WHERE user_id = $1 AND session_id = $2
             AND message_id NOT IN (SELECT id FROM hidden_messages WHERE user_id = $1)
             AND entity_id NOT IN (SELECT id FROM hidden_entities WHERE user_id = $1)
             GROUP BY entity_id HAVING count(*) < $3 OR (count(*) = $3 AND entity_id > $4)
             ORDER BY count(*) DESC, entity_id LIMIT $5"#,
            caller.user().0,
            document.0,
            count,
            id,
            keys::limit(page),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let items = found.into_iter().map(|row| (keys::number_and_id(row.mentions, row.id), EntityId(row.id)));
        Ok(keys::slice(items.collect(), page))
    }

    async fn view_document(&self, caller: &Caller, document: DocumentId, now: Timestamp) -> Result<(), StoreError> {
        let input = (caller.user(), document, now);
        let viewed = self.write(caller, &input, |c, &(user, document, now)| {
            Box::pin(async move { view_own(&mut WriteTransaction(c), user, document, now).await })
        });
        Ok(viewed.await?)
    }

    async fn view_shared_document(&self, caller: &Caller, document: DocumentId, now: Timestamp) -> Result<(), StoreError> {
        let input = (caller.user(), document, now);
        let viewed = self.write(caller, &input, |c, &(user, document, now)| {
            Box::pin(async move { view_shared(&mut WriteTransaction(c), user, document, now).await })
        });
        Ok(viewed.await?)
    }

    async fn shared_views(&self, caller: &Caller, documents: &[DocumentId]) -> Result<Vec<(DocumentId, Timestamp)>, StoreError> {
        let found = sqlx::query!(
            "SELECT document_id, viewed_at FROM shared_views WHERE user_id = $1 AND document_id = ANY($2)",
            caller.user().0,
            &column(documents, |id| id.0)[..],
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(|row| (DocumentId(row.document_id), row.viewed_at)).collect())
    }
}

/// The row before which a list of messages continues.
fn before(page: &Page) -> Result<i64, Refusal> {
    page.after.as_deref().map_or(Ok(i64::MAX), keys::parse_number)
}

async fn view_own(tx: &mut WriteTransaction<'_>, user: UserId, document: DocumentId, now: Timestamp) -> Result<(), Failure> {
    reject_while_locked(tx, user).await?;
    let viewed = sqlx::query!(
        "UPDATE documents SET viewed_at = $3 WHERE user_id = $1 AND id = $2
         AND id NOT IN (SELECT id FROM hidden_sessions WHERE user_id = $1)",
        user.0,
        document.0,
        stored(now),
    );
    match viewed.execute(&mut *tx.0).await?.rows_affected() {
        0 => Err(Refusal::NotFound.into()),
        _ => Ok(()),
    }
}

async fn view_shared(tx: &mut WriteTransaction<'_>, user: UserId, document: DocumentId, now: Timestamp) -> Result<(), Failure> {
    tx.ensure_user(user).await?;
    reject_while_locked(tx, user).await?;
    let viewed = sqlx::query!(
        "INSERT INTO shared_views (user_id, document_id, viewed_at) VALUES ($1, $2, $3)
         ON CONFLICT (user_id, document_id) DO UPDATE SET viewed_at = excluded.viewed_at",
        user.0,
        document.0,
        stored(now),
    );
    viewed.execute(&mut *tx.0).await?;
    Ok(())
}
