//! The statements on merges and their records.

use async_trait::async_trait;
use sqlx::PgConnection;

use super::super::{
    PostgresStore,
    codec::{self, column, time},
    failure::Failure,
    rows::{self, Column, EvidenceRow, FactRow},
    transaction::WriteTransaction,
};
use recall_domain::{Decision, EntityId, EntityKey, FactId, Mention, MessageId, Timestamp, UserId};
use recall_ports::{MergeRecord, Merged};
use recall_store::{MergeStatements, Side, recorded_entities};

#[async_trait]
impl MergeStatements for WriteTransaction<'_> {
    async fn entity_exists(&mut self, user: UserId, entity: EntityId) -> Result<bool, Failure> {
        let found = sqlx::query_scalar!("SELECT 1 FROM entities WHERE user_id = $1 AND id = $2", user.0, entity.0);
        Ok(found.fetch_optional(&mut *self.0).await?.is_some())
    }

    async fn delete_entity(&mut self, user: UserId, entity: EntityId) -> Result<(), Failure> {
        sqlx::query!("DELETE FROM entities WHERE user_id = $1 AND id = $2", user.0, entity.0).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn redirect_entity(&mut self, user: UserId, gone: EntityId, into: EntityId) -> Result<(), Failure> {
        let (user, gone, into) = (user.0, gone.0, into.0);
        let noted = sqlx::query!(
            "INSERT INTO entity_merges (user_id, gone_id, into_id) VALUES ($1, $2, $3)
             ON CONFLICT (user_id, gone_id) DO UPDATE SET into_id = excluded.into_id",
            user,
            gone,
            into,
        );
        noted.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn move_entity_rows(&mut self, user: UserId, gone: EntityId, into: EntityId) -> Result<(), Failure> {
        let (user, gone, into) = (user.0, gone.0, into.0);
        let keys = sqlx::query!(
            "INSERT INTO entity_keys (user_id, key, entity_id)
             SELECT user_id, key, $3 FROM entity_keys WHERE user_id = $1 AND entity_id = $2 ON CONFLICT DO NOTHING",
            user,
            gone,
            into,
        );
        keys.execute(&mut *self.0).await?;
        let hints = sqlx::query!(
            "INSERT INTO entity_hints (user_id, hint, entity_id)
             SELECT user_id, hint, $3 FROM entity_hints WHERE user_id = $1 AND entity_id = $2 ON CONFLICT DO NOTHING",
            user,
            gone,
            into,
        );
        hints.execute(&mut *self.0).await?;
        sqlx::query!("UPDATE mentions SET entity_id = $3 WHERE user_id = $1 AND entity_id = $2", user, gone, into)
            .execute(&mut *self.0)
            .await?;
        sqlx::query!("UPDATE entity_merges SET into_id = $3 WHERE user_id = $1 AND into_id = $2", user, gone, into)
            .execute(&mut *self.0)
            .await?;
        Ok(())
    }

    async fn insert_merge(&mut self, user: UserId, gone: EntityId, at: Timestamp, decision: &Decision) -> Result<(), Failure> {
        let merge = sqlx::query!(
            "INSERT INTO merges (user_id, gone_id, merged_at, score, reason, feed_head)
             SELECT id, $2, $3, $4, $5, feed_head FROM users WHERE id = $1",
            user.0,
            gone.0,
            time(at),
            decision.score,
            &*codec::text(&decision.reason),
        );
        merge.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn record_entity(&mut self, user: UserId, gone: EntityId, entity: EntityId, side: Side) -> Result<(), Failure> {
        let copy = sqlx::query!(
            "INSERT INTO merged_entities (user_id, gone_id, side, id, name, entity_type, aliases, description, mention_count, confidence,
                                          is_viewer, first_message, created_at, updated_at)
             SELECT user_id, $2, $4, id, name, entity_type, aliases, description, mention_count, confidence,
                    is_viewer, first_message, created_at, updated_at
             FROM entities WHERE user_id = $1 AND id = $3
             AND EXISTS (SELECT 1 FROM merges m WHERE m.user_id = $1 AND m.gone_id = $2)",
            user.0,
            gone.0,
            entity.0,
            side.word(),
        );
        copy.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn record_entity_rows(&mut self, user: UserId, gone: EntityId, into: EntityId, facts: &[FactId]) -> Result<(), Failure> {
        let (user, gone, into, touched) = (user.0, gone.0, into.0, column(facts, |f| f.0));
        let keys = sqlx::query!(
            "INSERT INTO merged_keys (user_id, gone_id, kind, word, shared)
             SELECT user_id, $2, 'key', key, EXISTS (SELECT 1 FROM entity_keys o WHERE o.user_id = $1 AND o.key = k.key AND o.entity_id = $3)
             FROM entity_keys k WHERE user_id = $1 AND entity_id = $2",
            user,
            gone,
            into,
        );
        keys.execute(&mut *self.0).await?;
        let hints = sqlx::query!(
            "INSERT INTO merged_keys (user_id, gone_id, kind, word, shared)
             SELECT user_id, $2, 'hint', hint, EXISTS (SELECT 1 FROM entity_hints o WHERE o.user_id = $1 AND o.hint = k.hint AND o.entity_id = $3)
             FROM entity_hints k WHERE user_id = $1 AND entity_id = $2",
            user,
            gone,
            into,
        );
        hints.execute(&mut *self.0).await?;
        let earlier = sqlx::query!(
            "INSERT INTO merged_earlier (user_id, gone_id, earlier_id)
             SELECT user_id, $2, gone_id FROM entity_merges WHERE user_id = $1 AND into_id = $2",
            user,
            gone,
        );
        earlier.execute(&mut *self.0).await?;
        let mentions = sqlx::query!(
            "INSERT INTO merged_mentions (user_id, gone_id, message_id, ordinal)
             SELECT user_id, $2, message_id, ordinal FROM mentions WHERE user_id = $1 AND entity_id = $2",
            user,
            gone,
        );
        mentions.execute(&mut *self.0).await?;
        let facts = sqlx::query!(
            "INSERT INTO merged_facts (user_id, gone_id, id, subject_id, relation, object_id, support, opposition, weighed_at, status, flagged,
                                       valid_from, valid_to, last_support, created_at, updated_at, value, said_period)
             SELECT user_id, $2, id, subject_id, relation, object_id, support, opposition, weighed_at, status, flagged,
                    valid_from, valid_to, last_support, created_at, updated_at, value, said_period
             FROM facts WHERE user_id = $1 AND id = ANY($3)",
            user,
            gone,
            &touched[..],
        );
        facts.execute(&mut *self.0).await?;
        let evidence = sqlx::query!(
            "INSERT INTO merged_evidence (user_id, gone_id, fact_id, message_id, stance, session_id, confidence, span_start, span_end, excerpt,
                                          created_at, said_period)
             SELECT user_id, $2, fact_id, message_id, stance, session_id, confidence, span_start, span_end, excerpt, created_at,
                    said_period
             FROM evidence WHERE user_id = $1 AND fact_id = ANY($3)",
            user,
            gone,
            &touched[..],
        );
        evidence.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn has_merge_record(&mut self, user: UserId, gone: EntityId) -> Result<bool, Failure> {
        let known = sqlx::query_scalar!("SELECT 1 FROM merges WHERE user_id = $1 AND gone_id = $2", user.0, gone.0);
        Ok(known.fetch_optional(&mut *self.0).await?.is_some())
    }

    async fn move_mentions(&mut self, user: UserId, from: EntityId, to: EntityId, mentions: &[(MessageId, u32)]) -> Result<(), Failure> {
        let moved = sqlx::query!(
            "UPDATE mentions SET entity_id = $2 WHERE user_id = $1 AND entity_id = $3
             AND (message_id, ordinal) IN (SELECT * FROM unnest($4::uuid[], $5::bigint[]))",
            user.0,
            to.0,
            from.0,
            &column(mentions, |(message, _)| message.0)[..],
            &column(mentions, |(_, ordinal)| i64::from(*ordinal))[..],
        );
        moved.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn restore_entity_rows(&mut self, user: UserId, gone: EntityId, from: EntityId) -> Result<(), Failure> {
        let (user, gone, from) = (user.0, gone.0, from.0);
        let keys = sqlx::query!(
            "INSERT INTO entity_keys (user_id, key, entity_id)
             SELECT user_id, word, gone_id FROM merged_keys WHERE user_id = $1 AND gone_id = $2 AND kind = 'key' ON CONFLICT DO NOTHING",
            user,
            gone,
        );
        keys.execute(&mut *self.0).await?;
        let hints = sqlx::query!(
            "INSERT INTO entity_hints (user_id, hint, entity_id)
             SELECT user_id, word, gone_id FROM merged_keys WHERE user_id = $1 AND gone_id = $2 AND kind = 'hint' ON CONFLICT DO NOTHING",
            user,
            gone,
        );
        hints.execute(&mut *self.0).await?;
        let own_keys = sqlx::query!(
            "DELETE FROM entity_keys WHERE user_id = $1 AND entity_id = $3 AND key IN (
                 SELECT word FROM merged_keys WHERE user_id = $1 AND gone_id = $2 AND kind = 'key' AND NOT shared)",
            user,
            gone,
            from,
        );
        own_keys.execute(&mut *self.0).await?;
        let own_hints = sqlx::query!(
            "DELETE FROM entity_hints WHERE user_id = $1 AND entity_id = $3 AND hint IN (
                 SELECT word FROM merged_keys WHERE user_id = $1 AND gone_id = $2 AND kind = 'hint' AND NOT shared)",
            user,
            gone,
            from,
        );
        own_hints.execute(&mut *self.0).await?;
        let earlier = sqlx::query!(
            "UPDATE entity_merges SET into_id = $2 WHERE user_id = $1 AND into_id = $3 AND gone_id IN (
                 SELECT earlier_id FROM merged_earlier WHERE user_id = $1 AND gone_id = $2)",
            user,
            gone,
            from,
        );
        earlier.execute(&mut *self.0).await?;
        // Cascades to the merge record.
        sqlx::query!("DELETE FROM entity_merges WHERE user_id = $1 AND gone_id = $2", user, gone).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn delete_names(&mut self, user: UserId, entity: EntityId, keys: &[EntityKey], hints: &[String]) -> Result<(), Failure> {
        let lost_keys = sqlx::query!(
            "DELETE FROM entity_keys WHERE user_id = $1 AND entity_id = $2 AND key = ANY($3)",
            user.0,
            entity.0,
            &column(keys, |key| codec::key(key.as_str()))[..] as _,
        );
        lost_keys.execute(&mut *self.0).await?;
        let lost_hints = sqlx::query!(
            "DELETE FROM entity_hints WHERE user_id = $1 AND entity_id = $2 AND hint = ANY($3)",
            user.0,
            entity.0,
            &column(hints, |hint| codec::key(hint))[..] as _,
        );
        lost_hints.execute(&mut *self.0).await?;
        Ok(())
    }
}

/// Loads the record of a merge, with the entity that now holds the place of the merged one.
pub(super) async fn load_record(store: &PostgresStore, user: UserId, gone: EntityId) -> Result<Option<MergeRecord>, Failure> {
    // One snapshot, so that no commit changes the record between two reads.
    store.snapshot(user, &(user, gone), |c, &(user, gone)| Box::pin(read_record(c, user, gone))).await
}

async fn read_record(c: &mut PgConnection, user: UserId, gone: EntityId) -> Result<Option<MergeRecord>, Failure> {
    let (user, gone) = (user.0, gone.0);
    let head = sqlx::query!(
        "SELECT m.merged_at, m.score, m.reason, e.into_id FROM merges m
         JOIN entity_merges e ON e.user_id = m.user_id AND e.gone_id = m.gone_id WHERE m.user_id = $1 AND m.gone_id = $2",
        user,
        gone,
    );
    let Some(head) = head.fetch_optional(&mut *c).await? else { return Ok(None) };
    let entities = rows::entities_with!("e.side", "FROM merged_entities e WHERE user_id = $1 AND gone_id = $2", user, gone);
    let entities = entities.fetch_all(&mut *c).await?.into_iter();
    let facts = rows::facts!(FROM "merged_facts WHERE user_id = $1 AND gone_id = $2 ORDER BY id", user, gone);
    let facts = facts.fetch_all(&mut *c).await?;
    let evidence = rows::evidence!(
        FROM "merged_evidence v WHERE user_id = $1 AND gone_id = $2 ORDER BY fact_id, created_at, message_id, stance",
        user,
        gone,
    );
    let evidence = evidence.fetch_all(&mut *c).await?;
    let mentions = sqlx::query!(
        "SELECT message_id, ordinal FROM merged_mentions WHERE user_id = $1 AND gone_id = $2 ORDER BY message_id, ordinal",
        user,
        gone,
    );
    let mentions = mentions.fetch_all(&mut *c).await?.into_iter();
    let since = sqlx::query_scalar!(
        "SELECT m.id FROM messages m WHERE m.user_id = $1
         AND m.feed_row > (SELECT feed_head FROM merges WHERE user_id = $1 AND gone_id = $2)
         AND (EXISTS (SELECT 1 FROM mentions n WHERE n.user_id = $1 AND n.message_id = m.id)
              OR EXISTS (SELECT 1 FROM evidence v WHERE v.user_id = $1 AND v.message_id = m.id))",
        user,
        gone,
    );
    let since = since.fetch_all(&mut *c).await?;
    let by_side = entities.map(|row| Ok((row.side.clone(), rows::entity_of!(row)?)));
    let [gone, before, after] = recorded_entities(by_side.collect::<Result<_, Failure>>()?)?;
    let ordinal = Column("merged_mentions", "ordinal");
    Ok(Some(MergeRecord {
        gone,
        before,
        after,
        holder: EntityId(head.into_id),
        merged_at: head.merged_at,
        decision: Decision { score: head.score, reason: Column("merges", "reason").text(head.reason)? },
        facts: facts.into_iter().map(FactRow::read).collect::<Result<_, _>>()?,
        evidence: evidence.into_iter().map(EvidenceRow::read).collect::<Result<_, _>>()?,
        mentions: mentions.map(|m| Ok((MessageId(m.message_id), ordinal.small(m.ordinal)?))).collect::<Result<_, Failure>>()?,
        since: since.into_iter().map(MessageId).collect(),
    }))
}

/// Loads all mentions of an entity, also in sessions under deletion: if the undoing of a merge left one behind, the restored entity
/// would have nothing to be deleted with.
pub(super) async fn mentions_of(store: &PostgresStore, user: UserId, entity: EntityId) -> Result<Vec<(MessageId, u32, Mention)>, Failure> {
    let found = rows::mentions!(FROM "mentions WHERE user_id = $1 AND entity_id = $2 ORDER BY message_id, ordinal", user.0, entity.0);
    let found = found.fetch_all(store.pool.reading(user)).await?.into_iter();
    let ordinal = Column("mentions", "ordinal");
    found.map(|row| Ok((MessageId(row.message_id), ordinal.small(row.ordinal)?, row.read()?))).collect()
}

/// Lists undoable merges into these entities, latest first.
pub(super) async fn merged_into(store: &PostgresStore, user: UserId, entities: &[EntityId]) -> Result<Vec<(EntityId, Merged)>, Failure> {
    let entities: Vec<_> = entities.iter().map(|id| id.0).collect();
    let found = sqlx::query!(
        "SELECT o.into_id, m.gone_id, m.merged_at, m.score, m.reason, e.name FROM entity_merges o
         JOIN merges m ON m.user_id = o.user_id AND m.gone_id = o.gone_id
         JOIN merged_entities e ON e.user_id = m.user_id AND e.gone_id = m.gone_id AND e.side = 'gone'
         WHERE o.user_id = $1 AND o.into_id = ANY($2) ORDER BY m.merged_at DESC, m.gone_id DESC",
        user.0,
        &entities[..],
    );
    let found = found.fetch_all(store.pool.reading(user)).await?.into_iter().map(|row| {
        let decision = Decision { score: row.score, reason: Column("merges", "reason").text(row.reason)? };
        let name = Column("merged_entities", "name").text(row.name)?;
        Ok((EntityId(row.into_id), Merged { entity: EntityId(row.gone_id), name, merged_at: row.merged_at, decision }))
    });
    found.collect()
}
