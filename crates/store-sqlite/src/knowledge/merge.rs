//! Merges two entities, records their earlier state, and undoes merges.

use sqlx::SqliteConnection;
use uuid::Uuid;

use super::super::{
    SqliteStore,
    codec::{bytes, id_list, json, millis},
    failure::Failure,
    rows::{self, Columns},
};
use recall_domain::{Decision, EntityId, Evidence, MessageId, UserId};
use recall_ports::{KnowledgeCommit, MergeRecord, Merged, Unmerge};

const ENTITY: &str =
    "id, name, entity_type, aliases, description, mention_count, confidence, is_viewer, first_message, created_at, updated_at";
const FACT: &str =
    "id, subject_id, relation, object_id, support, opposition, weighed_at, status, flagged, valid_from, valid_to, last_support,
                    created_at, updated_at";
const EVIDENCE: &str = "fact_id, message_id, stance, session_id, confidence, span_start, span_end, excerpt, created_at";

/// Merges an entity into another. The plan has already moved its facts.
pub(super) async fn merge(c: &mut SqliteConnection, user: Uuid, gone: EntityId, into: EntityId) -> Result<(), Failure> {
    for sql in [
        "INSERT INTO entity_keys (user_id, key, entity_id)
         SELECT user_id, key, ?3 FROM entity_keys WHERE user_id = ?1 AND entity_id = ?2 ON CONFLICT DO NOTHING",
        "INSERT INTO entity_hints (user_id, hint, entity_id)
         SELECT user_id, hint, ?3 FROM entity_hints WHERE user_id = ?1 AND entity_id = ?2 ON CONFLICT DO NOTHING",
        "UPDATE mentions SET entity_id = ?3 WHERE user_id = ?1 AND entity_id = ?2",
        "UPDATE entity_merges SET into_id = ?3 WHERE user_id = ?1 AND into_id = ?2",
        "INSERT INTO entity_merges (user_id, gone_id, into_id) VALUES (?1, ?2, ?3)
         ON CONFLICT (user_id, gone_id) DO UPDATE SET into_id = excluded.into_id",
    ] {
        sqlx::query(sql).bind(bytes(&user)).bind(bytes(&gone.0)).bind(bytes(&into.0)).execute(&mut *c).await?;
    }
    let entity = sqlx::query("DELETE FROM entities WHERE user_id = ? AND id = ?").bind(bytes(&user)).bind(bytes(&gone.0));
    entity.execute(c).await?;
    Ok(())
}

/// Records the state before a merge, and redirects the merged id to the other entity.
pub(super) async fn record_merge(
    c: &mut SqliteConnection,
    user: Uuid,
    gone: EntityId,
    into: EntityId,
    plan: &KnowledgeCommit,
) -> Result<(), Failure> {
    let there = sqlx::query("SELECT 1 FROM entities WHERE user_id = ? AND id = ?").bind(bytes(&user)).bind(bytes(&into.0));
    if there.fetch_optional(&mut *c).await?.is_none() {
        // The target is created by this plan, so there is no earlier state to restore.
        return Ok(());
    }
    let decision = plan.merge_decision.clone().unwrap_or(Decision { score: 1.0, reason: String::new() });
    sqlx::query(
        "INSERT INTO entity_merges (user_id, gone_id, into_id) VALUES (?1, ?2, ?3)
         ON CONFLICT (user_id, gone_id) DO UPDATE SET into_id = excluded.into_id",
    )
    .bind(bytes(&user))
    .bind(bytes(&gone.0))
    .bind(bytes(&into.0))
    .execute(&mut *c)
    .await?;
    sqlx::query(
        "INSERT INTO merges (user_id, gone_id, merged_at, score, reason, feed_head) SELECT id, ?2, ?3, ?4, ?5, feed_head FROM users WHERE id = ?1",
    )
        .bind(bytes(&user))
        .bind(bytes(&gone.0))
        .bind(millis(plan.now))
        .bind(decision.score)
        .bind(&decision.reason)
        .execute(&mut *c)
        .await?;
    record_entity(c, user, gone, gone, "gone").await?;
    record_entity(c, user, gone, into, "before").await?;
    let united = plan.dropped_facts.iter().flat_map(|(a, b)| [&a.0, &b.0]);
    let touched = id_list(plan.facts.iter().map(|f| &f.id.0).chain(plan.deleted_facts.iter().map(|f| &f.0)).chain(united));
    for sql in [
        "INSERT INTO merged_keys (user_id, gone_id, kind, word, shared)
         SELECT user_id, ?2, 'key', key, EXISTS (SELECT 1 FROM entity_keys o WHERE o.user_id = k.user_id AND o.key = k.key AND o.entity_id = ?3)
         FROM entity_keys k WHERE user_id = ?1 AND entity_id = ?2",
        "INSERT INTO merged_keys (user_id, gone_id, kind, word, shared)
         SELECT user_id, ?2, 'hint', hint, EXISTS (SELECT 1 FROM entity_hints o WHERE o.user_id = k.user_id AND o.hint = k.hint AND o.entity_id = ?3)
         FROM entity_hints k WHERE user_id = ?1 AND entity_id = ?2",
        "INSERT INTO merged_earlier (user_id, gone_id, earlier_id)
         SELECT user_id, ?2, gone_id FROM entity_merges WHERE user_id = ?1 AND into_id = ?2 AND ?3 IS NOT NULL",
        "INSERT INTO merged_mentions (user_id, gone_id, message_id, ordinal)
         SELECT user_id, ?2, message_id, ordinal FROM mentions WHERE user_id = ?1 AND entity_id = ?2 AND ?3 IS NOT NULL",
    ] {
        sqlx::query(sql).bind(bytes(&user)).bind(bytes(&gone.0)).bind(bytes(&into.0)).execute(&mut *c).await?;
    }
    for sql in [
        format!(
            "INSERT INTO merged_facts (user_id, gone_id, {FACT})
             SELECT user_id, ?2, {FACT} FROM facts WHERE user_id = ?1 AND id IN (SELECT unhex(value) FROM json_each(?3))"
        ),
        format!(
            "INSERT INTO merged_evidence (user_id, gone_id, {EVIDENCE})
             SELECT user_id, ?2, {EVIDENCE} FROM evidence WHERE user_id = ?1 AND fact_id IN (SELECT unhex(value) FROM json_each(?3))"
        ),
    ] {
        sqlx::query(sqlx::AssertSqlSafe(sql)).bind(bytes(&user)).bind(bytes(&gone.0)).bind(&touched).execute(&mut *c).await?;
    }
    Ok(())
}

/// Copies the current state of an entity into a merge record.
pub(super) async fn record_entity(
    c: &mut SqliteConnection,
    user: Uuid,
    gone: EntityId,
    entity: EntityId,
    side: &str,
) -> Result<(), Failure> {
    let sql = format!(
        "INSERT INTO merged_entities (user_id, gone_id, side, {ENTITY})
         SELECT user_id, ?2, ?4, {ENTITY} FROM entities WHERE user_id = ?1 AND id = ?3
         AND EXISTS (SELECT 1 FROM merges m WHERE m.user_id = ?1 AND m.gone_id = ?2)"
    );
    let copy = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(bytes(&user)).bind(bytes(&gone.0)).bind(bytes(&entity.0)).bind(side);
    copy.execute(c).await?;
    Ok(())
}

/// Undoes a merge. The plan has already written both entities; it writes their facts and evidence next.
pub(super) async fn undo_merge(c: &mut SqliteConnection, user: Uuid, unmerge: &Unmerge) -> Result<(), Failure> {
    let known = sqlx::query("SELECT 1 FROM merges WHERE user_id = ? AND gone_id = ?").bind(bytes(&user)).bind(bytes(&unmerge.gone.0));
    known.fetch_optional(&mut *c).await?.ok_or(Failure::Stale)?;
    let later: Vec<(String, u32)> = unmerge.mentions.iter().map(|(m, o)| (m.0.as_simple().to_string(), *o)).collect();
    sqlx::query(
        "UPDATE mentions SET entity_id = ?2 WHERE user_id = ?1 AND entity_id = ?3
         AND (message_id, ordinal) IN (SELECT unhex(value ->> 0), value ->> 1 FROM json_each(?4))",
    )
    .bind(bytes(&user))
    .bind(bytes(&unmerge.gone.0))
    .bind(bytes(&unmerge.from.0))
    .bind(json(&later, "mentions")?)
    .execute(&mut *c)
    .await?;
    for sql in [
        "INSERT INTO entity_keys (user_id, key, entity_id)
         SELECT user_id, word, ?2 FROM merged_keys WHERE user_id = ?1 AND gone_id = ?2 AND kind = 'key' AND ?3 IS NOT NULL
         ON CONFLICT DO NOTHING",
        "INSERT INTO entity_hints (user_id, hint, entity_id)
         SELECT user_id, word, ?2 FROM merged_keys WHERE user_id = ?1 AND gone_id = ?2 AND kind = 'hint' AND ?3 IS NOT NULL
         ON CONFLICT DO NOTHING",
        "DELETE FROM entity_keys WHERE user_id = ?1 AND entity_id = ?3 AND key IN (
             SELECT word FROM merged_keys WHERE user_id = ?1 AND gone_id = ?2 AND kind = 'key' AND shared = 0)",
        "DELETE FROM entity_hints WHERE user_id = ?1 AND entity_id = ?3 AND hint IN (
             SELECT word FROM merged_keys WHERE user_id = ?1 AND gone_id = ?2 AND kind = 'hint' AND shared = 0)",
        "UPDATE entity_merges SET into_id = ?2 WHERE user_id = ?1 AND into_id = ?3 AND gone_id IN (
             SELECT earlier_id FROM merged_earlier WHERE user_id = ?1 AND gone_id = ?2)",
        "DELETE FROM entity_merges WHERE user_id = ?1 AND gone_id = ?2 AND ?3 IS NOT NULL",
    ] {
        sqlx::query(sql).bind(bytes(&user)).bind(bytes(&unmerge.gone.0)).bind(bytes(&unmerge.from.0)).execute(&mut *c).await?;
    }
    Ok(())
}

/// Loads the record of a merge, with the entity that now holds the place of the merged one.
pub(super) async fn load_record(store: &SqliteStore, user: UserId, gone: EntityId) -> Result<Option<MergeRecord>, Failure> {
    // One snapshot, so that no commit changes the record between two reads.
    let mut c = store.readers.for_server().begin().await?;
    let head = "SELECT m.merged_at, m.score, m.reason, e.into_id FROM merges m
         JOIN entity_merges e ON e.user_id = m.user_id AND e.gone_id = m.gone_id WHERE m.user_id = ? AND m.gone_id = ?";
    let Some(head) = sqlx::query(head).bind(bytes(&user.0)).bind(bytes(&gone.0)).fetch_optional(&mut *c).await? else { return Ok(None) };
    let (mut gone_entity, mut before, mut after) = (None, None, None);
    let entities = sqlx::query("SELECT * FROM merged_entities WHERE user_id = ? AND gone_id = ?");
    for row in entities.bind(bytes(&user.0)).bind(bytes(&gone.0)).fetch_all(&mut *c).await? {
        match Columns::of(&row, "merged_entities").text("side")?.as_str() {
            "gone" => gone_entity = Some(rows::entity(&row)?),
            "before" => before = Some(rows::entity(&row)?),
            _ => after = Some(rows::entity(&row)?),
        }
    }
    let (Some(gone_entity), Some(before), Some(after)) = (gone_entity, before, after) else {
        return Err(Failure::Damaged { table: "merged_entities", column: "side" });
    };
    let facts = sqlx::query("SELECT * FROM merged_facts WHERE user_id = ? AND gone_id = ? ORDER BY id");
    let facts = facts.bind(bytes(&user.0)).bind(bytes(&gone.0)).fetch_all(&mut *c).await?;
    let evidence =
        sqlx::query("SELECT * FROM merged_evidence WHERE user_id = ? AND gone_id = ? ORDER BY fact_id, created_at, message_id, stance");
    let evidence = evidence.bind(bytes(&user.0)).bind(bytes(&gone.0)).fetch_all(&mut *c).await?;
    let mentions = sqlx::query("SELECT message_id, ordinal FROM merged_mentions WHERE user_id = ? AND gone_id = ?");
    let mentions = mentions.bind(bytes(&user.0)).bind(bytes(&gone.0)).fetch_all(&mut *c).await?;
    let since = sqlx::query(
        "SELECT m.id FROM messages m WHERE m.user_id = ?1
         AND m.feed_row > (SELECT feed_head FROM merges WHERE user_id = ?1 AND gone_id = ?2)
         AND (EXISTS (SELECT 1 FROM mentions n WHERE n.user_id = ?1 AND n.message_id = m.id)
              OR EXISTS (SELECT 1 FROM evidence v WHERE v.user_id = ?1 AND v.message_id = m.id))",
    );
    let since = since.bind(bytes(&user.0)).bind(bytes(&gone.0)).fetch_all(&mut *c).await?;
    c.commit().await?;
    let head = Columns::of(&head, "merges");
    let place = |row| {
        let c = Columns::of(row, "merged_mentions");
        Ok::<_, Failure>((MessageId(c.id("message_id")?), c.small("ordinal")?))
    };
    Ok(Some(MergeRecord {
        gone: gone_entity,
        before,
        after,
        holder: EntityId(head.id("into_id")?),
        merged_at: head.time("merged_at")?,
        decision: Decision { score: head.real("score")?, reason: head.text("reason")? },
        facts: facts.iter().map(rows::fact).collect::<Result<_, _>>()?,
        evidence: evidence.iter().map(rows::evidence).collect::<Result<Vec<Evidence>, _>>()?,
        mentions: mentions.iter().map(place).collect::<Result<_, _>>()?,
        since: since.iter().map(|row| Ok(MessageId(Columns::of(row, "messages").id("id")?))).collect::<Result<_, Failure>>()?,
    }))
}

/// Lists undoable merges into these entities, latest first.
pub(super) async fn merged_into(store: &SqliteStore, user: UserId, entities: &[EntityId]) -> Result<Vec<(EntityId, Merged)>, Failure> {
    let found = sqlx::query(
        "SELECT o.into_id, m.gone_id, m.merged_at, m.score, m.reason, e.name FROM entity_merges o
         JOIN merges m ON m.user_id = o.user_id AND m.gone_id = o.gone_id
         JOIN merged_entities e ON e.user_id = m.user_id AND e.gone_id = m.gone_id AND e.side = 'gone'
         WHERE o.user_id = ? AND o.into_id IN (SELECT unhex(value) FROM json_each(?)) ORDER BY m.merged_at DESC, m.gone_id DESC",
    )
    .bind(bytes(&user.0))
    .bind(id_list(entities.iter().map(|id| &id.0)))
    .fetch_all(store.readers.for_user(user))
    .await?;
    found
        .iter()
        .map(|row| {
            let c = Columns::of(row, "merges");
            let decision = Decision { score: c.real("score")?, reason: c.text("reason")? };
            let merged = Merged { entity: EntityId(c.id("gone_id")?), name: c.text("name")?, merged_at: c.time("merged_at")?, decision };
            Ok((EntityId(c.id("into_id")?), merged))
        })
        .collect()
}
