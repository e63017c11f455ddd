//! The statements on merges and their records.

use async_trait::async_trait;

use super::super::{
    codec::{id_list, json, millis},
    connection::Db,
    failure::Failure,
    rows,
    transaction::WriteTransaction,
};
use recall_domain::{Decision, EntityId, EntityKey, FactId, Mention, MessageId, Timestamp, UserId};
use recall_ports::{MergeRecord, Merged};
use recall_store::{MergeStatements, Side, recorded_entities};

const ENTITY: &str =
    "id, name, entity_type, aliases, description, mention_count, confidence, is_viewer, first_message, created_at, updated_at";
const FACT: &str =
    "id, subject_id, relation, object_id, support, opposition, weighed_at, status, flagged, valid_from, valid_to, last_support,
                    created_at, updated_at, value, said_period";
const EVIDENCE: &str = "fact_id, message_id, stance, session_id, confidence, span_start, span_end, excerpt, created_at, said_period";

#[async_trait]
impl MergeStatements for WriteTransaction<'_> {
    async fn entity_exists(&mut self, user: UserId, entity: EntityId) -> Result<bool, Failure> {
        self.0.exists("SELECT 1 FROM entities WHERE user_id = ? AND id = ?", (user.0, entity.0))
    }

    async fn delete_entity(&mut self, user: UserId, entity: EntityId) -> Result<(), Failure> {
        self.0.execute("DELETE FROM entities WHERE user_id = ? AND id = ?", (user.0, entity.0))?;
        Ok(())
    }

    async fn redirect_entity(&mut self, user: UserId, gone: EntityId, into: EntityId) -> Result<(), Failure> {
        let redirected = "INSERT INTO entity_merges (user_id, gone_id, into_id) VALUES (?1, ?2, ?3)
             ON CONFLICT (user_id, gone_id) DO UPDATE SET into_id = excluded.into_id";
        self.run_for_pair(&[redirected], user, gone, into)
    }

    async fn move_entity_rows(&mut self, user: UserId, gone: EntityId, into: EntityId) -> Result<(), Failure> {
        let moved = [
            "INSERT INTO entity_keys (user_id, key, entity_id)
             SELECT user_id, key, ?3 FROM entity_keys WHERE user_id = ?1 AND entity_id = ?2 ON CONFLICT DO NOTHING",
            "INSERT INTO entity_hints (user_id, hint, entity_id)
             SELECT user_id, hint, ?3 FROM entity_hints WHERE user_id = ?1 AND entity_id = ?2 ON CONFLICT DO NOTHING",
            "UPDATE mentions SET entity_id = ?3 WHERE user_id = ?1 AND entity_id = ?2",
            "UPDATE entity_merges SET into_id = ?3 WHERE user_id = ?1 AND into_id = ?2",
        ];
        self.run_for_pair(&moved, user, gone, into)
    }

    async fn insert_merge(&mut self, user: UserId, gone: EntityId, at: Timestamp, decision: &Decision) -> Result<(), Failure> {
        self.0.execute(
            "INSERT INTO merges (user_id, gone_id, merged_at, score, reason, feed_head)
             SELECT id, ?2, ?3, ?4, ?5, feed_head FROM users WHERE id = ?1",
            (user.0, gone.0, millis(at), decision.score, &decision.reason),
        )?;
        Ok(())
    }

    async fn record_entity(&mut self, user: UserId, gone: EntityId, entity: EntityId, side: Side) -> Result<(), Failure> {
        let sql = format!(
            "INSERT INTO merged_entities (user_id, gone_id, side, {ENTITY})
             SELECT user_id, ?2, ?4, {ENTITY} FROM entities WHERE user_id = ?1 AND id = ?3
             AND EXISTS (SELECT 1 FROM merges m WHERE m.user_id = ?1 AND m.gone_id = ?2)"
        );
        self.0.execute(&sql, (user.0, gone.0, entity.0, side.word()))?;
        Ok(())
    }

    async fn record_entity_rows(&mut self, user: UserId, gone: EntityId, into: EntityId, facts: &[FactId]) -> Result<(), Failure> {
        let names = [
            "INSERT INTO merged_keys (user_id, gone_id, kind, word, shared)
             SELECT user_id, ?2, 'key', key,
                    EXISTS (SELECT 1 FROM entity_keys o WHERE o.user_id = k.user_id AND o.key = k.key AND o.entity_id = ?3)
             FROM entity_keys k WHERE user_id = ?1 AND entity_id = ?2",
            "INSERT INTO merged_keys (user_id, gone_id, kind, word, shared)
             SELECT user_id, ?2, 'hint', hint,
                    EXISTS (SELECT 1 FROM entity_hints o WHERE o.user_id = k.user_id AND o.hint = k.hint AND o.entity_id = ?3)
             FROM entity_hints k WHERE user_id = ?1 AND entity_id = ?2",
            "INSERT INTO merged_earlier (user_id, gone_id, earlier_id)
             SELECT user_id, ?2, gone_id FROM entity_merges WHERE user_id = ?1 AND into_id = ?2 AND ?3 IS NOT NULL",
            "INSERT INTO merged_mentions (user_id, gone_id, message_id, ordinal)
             SELECT user_id, ?2, message_id, ordinal FROM mentions WHERE user_id = ?1 AND entity_id = ?2 AND ?3 IS NOT NULL",
        ];
        self.run_for_pair(&names, user, gone, into)?;
        let facts = id_list(facts.iter().map(|f| &f.0));
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
            self.0.execute(&sql, (user.0, gone.0, &facts))?;
        }
        Ok(())
    }

    async fn has_merge_record(&mut self, user: UserId, gone: EntityId) -> Result<bool, Failure> {
        self.0.exists("SELECT 1 FROM merges WHERE user_id = ? AND gone_id = ?", (user.0, gone.0))
    }

    async fn move_mentions(&mut self, user: UserId, from: EntityId, to: EntityId, mentions: &[(MessageId, u32)]) -> Result<(), Failure> {
        let mentions: Vec<(String, u32)> = mentions.iter().map(|(m, ordinal)| (m.0.as_simple().to_string(), *ordinal)).collect();
        self.0.execute(
            "UPDATE mentions SET entity_id = ?2 WHERE user_id = ?1 AND entity_id = ?3
             AND (message_id, ordinal) IN (SELECT unhex(value ->> 0), value ->> 1 FROM json_each(?4))",
            (user.0, to.0, from.0, json(&mentions, "mentions")?),
        )?;
        Ok(())
    }

    async fn restore_entity_rows(&mut self, user: UserId, gone: EntityId, from: EntityId) -> Result<(), Failure> {
        let restored = [
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
        ];
        self.run_for_pair(&restored, user, gone, from)
    }

    async fn delete_names(&mut self, user: UserId, entity: EntityId, keys: &[EntityKey], hints: &[String]) -> Result<(), Failure> {
        for key in keys {
            let sql = "DELETE FROM entity_keys WHERE user_id = ? AND entity_id = ? AND key = ?";
            self.0.execute(sql, (user.0, entity.0, key.as_str()))?;
        }
        for hint in hints {
            self.0.execute("DELETE FROM entity_hints WHERE user_id = ? AND entity_id = ? AND hint = ?", (user.0, entity.0, hint))?;
        }
        Ok(())
    }
}

impl WriteTransaction<'_> {
    /// Runs statements with the user and two entities as parameters.
    fn run_for_pair(&mut self, statements: &[&'static str], user: UserId, one: EntityId, other: EntityId) -> Result<(), Failure> {
        for sql in statements {
            self.0.execute(sql, (user.0, one.0, other.0))?;
        }
        Ok(())
    }
}

/// Loads the record of a merge, with the entity that now holds the place of the merged one.
pub(super) fn load_record(db: &Db, user: UserId, gone: EntityId) -> Result<Option<MergeRecord>, Failure> {
    let values = (user.0, gone.0);
    let head = "SELECT m.merged_at, m.score, m.reason, e.into_id FROM merges m
         JOIN entity_merges e ON e.user_id = m.user_id AND e.gone_id = m.gone_id WHERE m.user_id = ? AND m.gone_id = ?";
    let head = db.row("merges", head, values, |c| Ok((EntityId(c.id("into_id")?), c.time("merged_at")?, rows::decision(c)?)))?;
    let Some((holder, merged_at, decision)) = head else { return Ok(None) };
    let entities = "SELECT * FROM merged_entities WHERE user_id = ? AND gone_id = ?";
    let entities = db.rows("merged_entities", entities, values, |c| Ok((c.text("side")?, rows::entity(c)?)))?;
    let facts = "SELECT * FROM merged_facts WHERE user_id = ? AND gone_id = ? ORDER BY id";
    let facts = db.rows("merged_facts", facts, values, rows::fact)?;
    let evidence = "SELECT * FROM merged_evidence WHERE user_id = ? AND gone_id = ? ORDER BY fact_id, created_at, message_id, stance";
    let evidence = db.rows("merged_evidence", evidence, values, rows::evidence)?;
    let mentions = "SELECT message_id, ordinal FROM merged_mentions WHERE user_id = ? AND gone_id = ?";
    let mentions = db.rows("merged_mentions", mentions, values, |c| Ok((MessageId(c.id("message_id")?), c.small("ordinal")?)))?;
    let since = "SELECT m.id FROM messages m WHERE m.user_id = ?1
         AND m.feed_row > (SELECT feed_head FROM merges WHERE user_id = ?1 AND gone_id = ?2)
         AND (EXISTS (SELECT 1 FROM mentions n WHERE n.user_id = ?1 AND n.message_id = m.id)
              OR EXISTS (SELECT 1 FROM evidence v WHERE v.user_id = ?1 AND v.message_id = m.id))";
    let since = db.rows("messages", since, values, |c| Ok(MessageId(c.id("id")?)))?.into_iter().collect();
    let [gone, before, after] = recorded_entities(entities.into_iter().collect())?;
    Ok(Some(MergeRecord { gone, before, after, holder, merged_at, decision, facts, evidence, mentions, since }))
}

/// Loads all mentions of an entity, also in sessions under deletion: if the undoing of a merge left one behind, the restored entity
/// would have nothing to be deleted with.
pub(super) fn mentions_of(db: &Db, user: UserId, entity: EntityId) -> Result<Vec<(MessageId, u32, Mention)>, Failure> {
    // Names the index because SQLite would otherwise read all mentions of the user in the wanted order.
    let sql = "SELECT * FROM mentions INDEXED BY mentions_of_entity WHERE user_id = ? AND entity_id = ? ORDER BY message_id, ordinal";
    db.rows("mentions", sql, (user.0, entity.0), |c| Ok((MessageId(c.id("message_id")?), c.small("ordinal")?, rows::mention(c)?)))
}

/// Lists undoable merges into these entities, latest first.
pub(super) fn merged_into(db: &Db, user: UserId, entities: &[EntityId]) -> Result<Vec<(EntityId, Merged)>, Failure> {
    let sql = "SELECT o.into_id, m.gone_id, m.merged_at, m.score, m.reason, e.name FROM entity_merges o
         JOIN merges m ON m.user_id = o.user_id AND m.gone_id = o.gone_id
         JOIN merged_entities e ON e.user_id = m.user_id AND e.gone_id = m.gone_id AND e.side = 'gone'
         WHERE o.user_id = ? AND o.into_id IN (SELECT unhex(value) FROM json_each(?)) ORDER BY m.merged_at DESC, m.gone_id DESC";
    db.rows("merges", sql, (user.0, id_list(entities.iter().map(|id| &id.0))), |c| {
        let (entity, name, merged_at) = (EntityId(c.id("gone_id")?), c.text("name")?, c.time("merged_at")?);
        Ok((EntityId(c.id("into_id")?), Merged { entity, name, merged_at, decision: rows::decision(c)? }))
    })
}
