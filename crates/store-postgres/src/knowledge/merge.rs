//! Merges two entities, records their earlier state, and undoes merges.

use sqlx::PgConnection;
use uuid::Uuid;

use super::super::{
    PostgresStore, codec,
    codec::time,
    failure::Failure,
    rows::{self, Column, EvidenceRow, FactRow},
};
use recall_domain::{Decision, EntityId, MessageId, UserId};
use recall_ports::{KnowledgeCommit, MergeRecord, Merged, Unmerge};

/// Merges an entity into another. The plan has already moved its facts.
pub(super) async fn merge(c: &mut PgConnection, user: Uuid, gone: EntityId, into: EntityId) -> Result<(), Failure> {
    let (gone, into) = (gone.0, into.0);
    let keys = sqlx::query!(
        "INSERT INTO entity_keys (user_id, key, entity_id)
         SELECT user_id, key, $3 FROM entity_keys WHERE user_id = $1 AND entity_id = $2 ON CONFLICT DO NOTHING",
        user,
        gone,
        into,
    );
    keys.execute(&mut *c).await?;
    let hints = sqlx::query!(
        "INSERT INTO entity_hints (user_id, hint, entity_id)
         SELECT user_id, hint, $3 FROM entity_hints WHERE user_id = $1 AND entity_id = $2 ON CONFLICT DO NOTHING",
        user,
        gone,
        into,
    );
    hints.execute(&mut *c).await?;
    sqlx::query!("UPDATE mentions SET entity_id = $3 WHERE user_id = $1 AND entity_id = $2", user, gone, into).execute(&mut *c).await?;
    sqlx::query!("UPDATE entity_merges SET into_id = $3 WHERE user_id = $1 AND into_id = $2", user, gone, into).execute(&mut *c).await?;
    redirect_id(c, user, gone, into).await?;
    sqlx::query!("DELETE FROM entities WHERE user_id = $1 AND id = $2", user, gone).execute(c).await?;
    Ok(())
}

/// Redirects the merged id to the other entity.
async fn redirect_id(c: &mut PgConnection, user: Uuid, gone: Uuid, into: Uuid) -> Result<(), Failure> {
    let noted = sqlx::query!(
        "INSERT INTO entity_merges (user_id, gone_id, into_id) VALUES ($1, $2, $3)
         ON CONFLICT (user_id, gone_id) DO UPDATE SET into_id = excluded.into_id",
        user,
        gone,
        into,
    );
    noted.execute(c).await?;
    Ok(())
}

/// Records the state before a merge, and redirects the merged id to the other entity.
pub(super) async fn record_merge(
    c: &mut PgConnection,
    user: Uuid,
    gone: EntityId,
    into: EntityId,
    plan: &KnowledgeCommit,
) -> Result<(), Failure> {
    let there = sqlx::query_scalar!("SELECT 1 FROM entities WHERE user_id = $1 AND id = $2", user, into.0);
    if there.fetch_optional(&mut *c).await?.is_none() {
        // The target is created by this plan, so there is no earlier state to restore.
        return Ok(());
    }
    let decision = plan.merge_decision.clone().unwrap_or(Decision { score: 1.0, reason: String::new() });
    redirect_id(c, user, gone.0, into.0).await?;
    let noted = sqlx::query!(
        "INSERT INTO merges (user_id, gone_id, merged_at, score, reason, feed_head) SELECT id, $2, $3, $4, $5, feed_head FROM users WHERE id = $1",
        user,
        gone.0,
        time(plan.now),
        decision.score,
        &*codec::text(&decision.reason),
    );
    noted.execute(&mut *c).await?;
    record_entity(c, user, gone, gone, "gone").await?;
    record_entity(c, user, gone, into, "before").await?;
    record_names(c, user, gone.0, into.0).await?;
    let united = plan.dropped_facts.iter().flat_map(|(a, b)| [a.0, b.0]);
    let touched: Vec<Uuid> = plan.facts.iter().map(|f| f.id.0).chain(plan.deleted_facts.iter().map(|f| f.0)).chain(united).collect();
    let facts = sqlx::query!(
        "INSERT INTO merged_facts (user_id, gone_id, id, subject_id, relation, object_id, support, opposition, weighed_at, status, flagged,
                                   valid_from, valid_to, last_support, created_at, updated_at)
         SELECT user_id, $2, id, subject_id, relation, object_id, support, opposition, weighed_at, status, flagged,
                valid_from, valid_to, last_support, created_at, updated_at FROM facts WHERE user_id = $1 AND id = ANY($3)",
        user,
        gone.0,
        &touched[..],
    );
    facts.execute(&mut *c).await?;
    let evidence = sqlx::query!(
        "INSERT INTO merged_evidence (user_id, gone_id, fact_id, message_id, stance, session_id, confidence, span_start, span_end, excerpt,
                                      created_at)
         SELECT user_id, $2, fact_id, message_id, stance, session_id, confidence, span_start, span_end, excerpt, created_at
         FROM evidence WHERE user_id = $1 AND fact_id = ANY($3)",
        user,
        gone.0,
        &touched[..],
    );
    evidence.execute(c).await?;
    Ok(())
}

/// Records the keys, hints and mentions of the merged entity.
async fn record_names(c: &mut PgConnection, user: Uuid, gone: Uuid, into: Uuid) -> Result<(), Failure> {
    let keys = sqlx::query!(
        "INSERT INTO merged_keys (user_id, gone_id, kind, word, shared)
         SELECT user_id, $2, 'key', key, EXISTS (SELECT 1 FROM entity_keys o WHERE o.user_id = $1 AND o.key = k.key AND o.entity_id = $3)
         FROM entity_keys k WHERE user_id = $1 AND entity_id = $2",
        user,
        gone,
        into,
    );
    keys.execute(&mut *c).await?;
    let hints = sqlx::query!(
        "INSERT INTO merged_keys (user_id, gone_id, kind, word, shared)
         SELECT user_id, $2, 'hint', hint, EXISTS (SELECT 1 FROM entity_hints o WHERE o.user_id = $1 AND o.hint = k.hint AND o.entity_id = $3)
         FROM entity_hints k WHERE user_id = $1 AND entity_id = $2",
        user,
        gone,
        into,
    );
    hints.execute(&mut *c).await?;
    let earlier = sqlx::query!(
        "INSERT INTO merged_earlier (user_id, gone_id, earlier_id)
         SELECT user_id, $2, gone_id FROM entity_merges WHERE user_id = $1 AND into_id = $2",
        user,
        gone,
    );
    earlier.execute(&mut *c).await?;
    let mentions = sqlx::query!(
        "INSERT INTO merged_mentions (user_id, gone_id, message_id, ordinal)
         SELECT user_id, $2, message_id, ordinal FROM mentions WHERE user_id = $1 AND entity_id = $2",
        user,
        gone,
    );
    mentions.execute(c).await?;
    Ok(())
}

/// Copies the current state of an entity into a merge record.
pub(super) async fn record_entity(c: &mut PgConnection, user: Uuid, gone: EntityId, entity: EntityId, side: &str) -> Result<(), Failure> {
    let copy = sqlx::query!(
        "INSERT INTO merged_entities (user_id, gone_id, side, id, name, entity_type, aliases, description, mention_count, confidence,
                                      is_viewer, first_message, created_at, updated_at)
         SELECT user_id, $2, $4, id, name, entity_type, aliases, description, mention_count, confidence,
                is_viewer, first_message, created_at, updated_at
         FROM entities WHERE user_id = $1 AND id = $3
         AND EXISTS (SELECT 1 FROM merges m WHERE m.user_id = $1 AND m.gone_id = $2)",
        user,
        gone.0,
        entity.0,
        side,
    );
    copy.execute(c).await?;
    Ok(())
}

/// Undoes a merge. The plan has already written both entities; it writes their facts and evidence next.
pub(super) async fn undo_merge(c: &mut PgConnection, user: Uuid, unmerge: &Unmerge) -> Result<(), Failure> {
    let (gone, from) = (unmerge.gone.0, unmerge.from.0);
    let known = sqlx::query_scalar!("SELECT 1 FROM merges WHERE user_id = $1 AND gone_id = $2", user, gone);
    known.fetch_optional(&mut *c).await?.ok_or(Failure::Stale)?;
    let (messages, ordinals): (Vec<Uuid>, Vec<i64>) = unmerge.mentions.iter().map(|(m, o)| (m.0, i64::from(*o))).unzip();
    let mentions = sqlx::query!(
        "UPDATE mentions SET entity_id = $2 WHERE user_id = $1 AND entity_id = $3
         AND (message_id, ordinal) IN (SELECT * FROM unnest($4::uuid[], $5::bigint[]))",
        user,
        gone,
        from,
        &messages[..],
        &ordinals[..],
    );
    mentions.execute(&mut *c).await?;
    let keys = sqlx::query!(
        "INSERT INTO entity_keys (user_id, key, entity_id)
         SELECT user_id, word, gone_id FROM merged_keys WHERE user_id = $1 AND gone_id = $2 AND kind = 'key' ON CONFLICT DO NOTHING",
        user,
        gone,
    );
    keys.execute(&mut *c).await?;
    let hints = sqlx::query!(
        "INSERT INTO entity_hints (user_id, hint, entity_id)
         SELECT user_id, word, gone_id FROM merged_keys WHERE user_id = $1 AND gone_id = $2 AND kind = 'hint' ON CONFLICT DO NOTHING",
        user,
        gone,
    );
    hints.execute(&mut *c).await?;
    let own_keys = sqlx::query!(
        "DELETE FROM entity_keys WHERE user_id = $1 AND entity_id = $3 AND key IN (
             SELECT word FROM merged_keys WHERE user_id = $1 AND gone_id = $2 AND kind = 'key' AND NOT shared)",
        user,
        gone,
        from,
    );
    own_keys.execute(&mut *c).await?;
    let own_hints = sqlx::query!(
        "DELETE FROM entity_hints WHERE user_id = $1 AND entity_id = $3 AND hint IN (
             SELECT word FROM merged_keys WHERE user_id = $1 AND gone_id = $2 AND kind = 'hint' AND NOT shared)",
        user,
        gone,
        from,
    );
    own_hints.execute(&mut *c).await?;
    let earlier = sqlx::query!(
        "UPDATE entity_merges SET into_id = $2 WHERE user_id = $1 AND into_id = $3 AND gone_id IN (
             SELECT earlier_id FROM merged_earlier WHERE user_id = $1 AND gone_id = $2)",
        user,
        gone,
        from,
    );
    earlier.execute(&mut *c).await?;
    // Cascades to the merge record.
    sqlx::query!("DELETE FROM entity_merges WHERE user_id = $1 AND gone_id = $2", user, gone).execute(c).await?;
    Ok(())
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
    let (mut one, mut before, mut after) = (None, None, None);
    let entities = rows::entities_with!("e.side", "FROM merged_entities e WHERE user_id = $1 AND gone_id = $2", user, gone);
    for row in entities.fetch_all(&mut *c).await? {
        match row.side.as_str() {
            "gone" => one = Some(rows::entity_of!(row)?),
            "before" => before = Some(rows::entity_of!(row)?),
            _ => after = Some(rows::entity_of!(row)?),
        }
    }
    let (Some(one), Some(before), Some(after)) = (one, before, after) else {
        return Err(Failure::Damaged { table: "merged_entities", column: "side" });
    };
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
    let ordinal = Column("merged_mentions", "ordinal");
    Ok(Some(MergeRecord {
        gone: one,
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
