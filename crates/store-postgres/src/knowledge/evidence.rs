//! Reads the evidence of facts.

use async_trait::async_trait;
use sqlx::PgExecutor;

use super::super::{
    PostgresStore,
    codec::{Word, column, latest_before},
    failure::Failure,
    keys,
    rows::{self, Column, EvidenceRow},
};
use recall_domain::{Caller, Evidence, FactId, MessageId, Page, SessionId, Slice, Stance, UserId};
use recall_ports::{EvidenceStore, StoreError};

#[async_trait]
impl EvidenceStore for PostgresStore {
    async fn evidence_of(&self, caller: &Caller, facts: &[FactId], limit: u32) -> Result<Vec<Evidence>, StoreError> {
        Ok(evidence_of(self.pool.reading(caller), caller.user(), facts, limit).await?)
    }

    async fn list_evidence(&self, caller: &Caller, fact: FactId, page: &Page) -> Result<Slice<Evidence>, StoreError> {
        let (place, stance) = page.after.as_deref().map(keys::split_stance).transpose()?.unzip();
        let (created_at, message) = latest_before(place)?;
        let found = rows::evidence!(
            FROM "visible_evidence v WHERE user_id = $1 AND fact_id = $2 AND (created_at, message_id, stance) < ($3, $4, $5)
             ORDER BY created_at DESC, message_id DESC, stance DESC LIMIT $6",
            caller.user().0,
            fact.0,
            created_at,
            message,
            stance.map_or("", Stance::word),
            keys::limit(page),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(keys::page(found.into_iter().map(EvidenceRow::read), page, keys::of_evidence)?)
    }

    async fn facts_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, FactId, Stance)>, StoreError> {
        Ok(facts_in(self.pool.reading(caller), caller.user(), messages).await?)
    }

    async fn sessions_of_fact(&self, caller: &Caller, fact: FactId, limit: u32) -> Result<Vec<SessionId>, StoreError> {
        let found = sqlx::query_scalar!(
            r#"SELECT session_id AS "session_id!" FROM visible_evidence WHERE user_id = $1 AND fact_id = $2
             GROUP BY session_id ORDER BY max(created_at) DESC, session_id LIMIT $3"#,
            caller.user().0,
            fact.0,
            i64::from(limit),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(SessionId).collect())
    }
}

pub(in super::super) async fn evidence_of(
    db: impl PgExecutor<'_>,
    user: UserId,
    facts: &[FactId],
    limit: u32,
) -> Result<Vec<Evidence>, Failure> {
    // The index gives the latest rows of each fact, so no more is read than returned.
    let found = rows::evidence!(
        FROM "(SELECT DISTINCT unnest($2::uuid[]) AS id) f CROSS JOIN LATERAL (
             SELECT * FROM visible_evidence WHERE user_id = $1 AND fact_id = f.id
             ORDER BY created_at DESC, message_id DESC, stance DESC LIMIT $3) v
         ORDER BY v.fact_id, v.created_at DESC, v.message_id DESC, v.stance DESC",
        user.0,
        &column(facts, |id| id.0)[..],
        i64::from(limit),
    );
    found.fetch_all(db).await?.into_iter().map(EvidenceRow::read).collect()
}

pub(in super::super) async fn facts_in(
    db: impl PgExecutor<'_>,
    user: UserId,
    messages: &[MessageId],
) -> Result<Vec<(MessageId, FactId, Stance)>, Failure> {
    let found = sqlx::query!(
        r#"SELECT message_id AS "message_id!", fact_id AS "fact_id!", stance AS "stance!" FROM visible_evidence
         WHERE user_id = $1 AND message_id = ANY($2)
         ORDER BY message_id, fact_id, CASE stance WHEN 'ends' THEN 0 WHEN 'supports' THEN 1 ELSE 2 END"#,
        user.0,
        &column(messages, |id| id.0)[..],
    );
    let stances = found.fetch_all(db).await?.into_iter().map(|row| {
        let stance = Column("evidence", "stance").word(&row.stance)?;
        Ok((MessageId(row.message_id), FactId(row.fact_id), stance))
    });
    stances.collect()
}
