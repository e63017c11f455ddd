//! The statements that forget mentions, evidence and entities.

use std::collections::BTreeMap;

use async_trait::async_trait;
use rusqlite::params;

use super::{
    codec::{Word, id_list, json},
    delete::entity_id,
    failure::Failure,
    forget::ids,
    jobs::held_job,
    rows::{self, Columns},
    transaction::WriteTransaction,
};
use recall_domain::{EntityId, FactId, ForgettingId, MessageId, SessionId, UserId, UserText};
use recall_ports::ForgottenMention;
use recall_store::{EvidenceKey, ForgetStatements, ForgettingRow, ForgottenMessage, HeldJob, Treatment};

#[async_trait]
impl ForgetStatements for WriteTransaction<'_> {
    async fn insert_forgetting(&mut self, user: UserId, row: &ForgettingRow) -> Result<(), Failure> {
        self.insert_forgetting_row(user, row)
    }

    async fn lock_forgetting(&mut self, user: UserId, id: ForgettingId) -> Result<Option<ForgettingRow>, Failure> {
        self.forgetting_row(user, id)
    }

    async fn delete_forgetting(&mut self, user: UserId, id: ForgettingId) -> Result<(), Failure> {
        self.0.execute("DELETE FROM forgettings WHERE user_id = ? AND id = ?", (user.0, id.0))?;
        Ok(())
    }

    async fn forgettings_of(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<ForgettingId>, Failure> {
        let sql = "SELECT DISTINCT forgetting_id AS id FROM messages
             WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?)) AND forgetting_id IS NOT NULL";
        self.0.rows("messages", sql, (user.0, id_list(ids(messages))), |c| Ok(ForgettingId(c.id("id")?)))
    }

    async fn jobs_of_messages(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<HeldJob>, Failure> {
        let sql =
            "SELECT * FROM jobs WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?)) AND state = 'live' ORDER BY id";
        self.0.rows("jobs", sql, (user.0, id_list(ids(messages))), held_job)
    }

    async fn mark_forgotten(
        &mut self,
        user: UserId,
        messages: &[MessageId],
        treatment: Treatment,
        id: ForgettingId,
    ) -> Result<u64, Failure> {
        self.mark_messages(user, messages, treatment, id)
    }

    async fn external_ids(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<(MessageId, String)>, Failure> {
        self.external_ids_of(user, messages)
    }

    async fn restore_external_ids(&mut self, user: UserId, ids: &[(MessageId, String)]) -> Result<(), Failure> {
        self.set_external_ids(user, ids)
    }

    async fn forgotten_messages(&mut self, user: UserId, id: ForgettingId) -> Result<Vec<ForgottenMessage>, Failure> {
        self.messages_of_forgetting(user, id)
    }

    async fn clear_forgotten(&mut self, user: UserId, id: ForgettingId) -> Result<(), Failure> {
        let sql = "UPDATE messages SET forgotten = NULL, forgetting_id = NULL WHERE user_id = ? AND forgetting_id = ?";
        self.0.execute(sql, (user.0, id.0))?;
        Ok(())
    }

    async fn erase_texts(&mut self, user: UserId, messages: &[MessageId]) -> Result<(), Failure> {
        self.erase_message_texts(user, messages)
    }

    async fn delete_summaries(&mut self, user: UserId, messages: &[MessageId]) -> Result<(), Failure> {
        let sql = "UPDATE documents SET summary = NULL WHERE user_id = ?1 AND id IN (
                 SELECT session_id FROM messages WHERE user_id = ?1 AND id IN (SELECT unhex(value) FROM json_each(?2)))";
        let list = id_list(ids(messages));
        self.0.execute(sql, (user.0, &list))?;
        let sql = "DELETE FROM topic_parts WHERE user_id = ?1 AND (session_id, part) IN (
                 SELECT session_id, part FROM topic_messages WHERE user_id = ?1 AND message_id IN (SELECT unhex(value) FROM json_each(?2)))";
        self.0.execute(sql, (user.0, &list))?;
        Ok(())
    }

    async fn metadata_of_replies(&mut self, user: UserId, message: MessageId) -> Result<Vec<(MessageId, String)>, Failure> {
        let sql = "SELECT id, source_metadata FROM messages WHERE user_id = ? AND answer_to = ? AND source_metadata IS NOT NULL";
        self.0.rows("messages", sql, (user.0, message.0), |c| Ok((MessageId(c.id("id")?), c.text("source_metadata")?)))
    }

    async fn set_metadata(&mut self, user: UserId, message: MessageId, metadata: &str) -> Result<(), Failure> {
        self.0.execute("UPDATE messages SET source_metadata = ?3 WHERE user_id = ?1 AND id = ?2", (user.0, message.0, metadata))?;
        Ok(())
    }

    async fn full_mentions_in(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<ForgottenMention>, Failure> {
        let sql = "SELECT * FROM mentions WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?))
             ORDER BY message_id, ordinal";
        self.0.rows("mentions", sql, (user.0, id_list(ids(messages))), forgotten_mention)
    }

    async fn delete_mention_rows(&mut self, user: UserId, rows: &[(MessageId, u32)]) -> Result<(), Failure> {
        for (message, ordinal) in rows {
            self.0.execute("DELETE FROM mentions WHERE user_id = ? AND message_id = ? AND ordinal = ?", (user.0, message.0, ordinal))?;
        }
        Ok(())
    }

    async fn insert_mention_rows(&mut self, user: UserId, rows: &[ForgottenMention]) -> Result<(), Failure> {
        for row in rows {
            let (m, decision) = (&row.mention, row.decision.as_ref());
            self.0.execute(
                "INSERT INTO mentions (user_id, message_id, ordinal, entity_id, session_id, said_at, name, entity_type, span_start,
                                       span_end, confidence, description, score, reason)
                 SELECT ?1, m.id, ?3, e.id, m.session_id, m.sent_at, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12
                 FROM messages m JOIN entities e ON e.user_id = ?1 AND e.id = COALESCE(
                     (SELECT into_id FROM entity_merges WHERE user_id = ?1 AND gone_id = ?4), ?4)
                 WHERE m.user_id = ?1 AND m.id = ?2 ON CONFLICT DO NOTHING",
                params![
                    user.0,
                    row.message.0,
                    row.ordinal,
                    row.entity.0,
                    m.name,
                    m.entity_type.word(),
                    m.span.start,
                    m.span.end,
                    m.confidence,
                    m.description,
                    decision.map(|d| d.score),
                    decision.map(|d| d.reason.as_str()),
                ],
            )?;
        }
        Ok(())
    }

    async fn first_messages(&mut self, user: UserId, entities: &[EntityId]) -> Result<Vec<(EntityId, MessageId)>, Failure> {
        let sql = "SELECT id, first_message FROM entities
             WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?)) AND first_message IS NOT NULL";
        let list = id_list(entities.iter().map(|e| &e.0));
        self.0.rows("entities", sql, (user.0, list), |c| Ok((EntityId(c.id("id")?), MessageId(c.id("first_message")?))))
    }

    async fn add_mentions(&mut self, user: UserId, counts: &[(EntityId, u32)]) -> Result<(), Failure> {
        let counts: BTreeMap<String, u32> = counts.iter().map(|(entity, count)| (entity.0.as_simple().to_string(), *count)).collect();
        self.0.execute(
            "UPDATE entities SET mention_count = mention_count + back.number FROM (
                 SELECT COALESCE(m.into_id, unhex(j.key)) AS id, SUM(j.value) AS number FROM json_each(?2) j
                 LEFT JOIN entity_merges m ON m.user_id = ?1 AND m.gone_id = unhex(j.key) GROUP BY 1) back
             WHERE entities.user_id = ?1 AND entities.id = back.id",
            (user.0, json(&counts, "counts")?),
        )?;
        Ok(())
    }

    async fn set_first_messages(&mut self, user: UserId, first: &[(EntityId, MessageId)]) -> Result<(), Failure> {
        for (entity, message) in first {
            self.0.execute(
                "UPDATE entities SET first_message = ?3 WHERE user_id = ?1 AND id = ?2
                 AND EXISTS (SELECT 1 FROM messages WHERE user_id = ?1 AND id = ?3)",
                (user.0, entity.0, message.0),
            )?;
        }
        Ok(())
    }

    async fn replace_title(
        &mut self,
        user: UserId,
        session: SessionId,
        from: Option<&UserText>,
        to: Option<&UserText>,
    ) -> Result<(), Failure> {
        let sql = "UPDATE sessions SET title = ?4 WHERE user_id = ?1 AND id = ?2 AND title IS ?3";
        self.0.execute(sql, (user.0, session.0, from.map(UserText::as_str), to.map(UserText::as_str)))?;
        Ok(())
    }

    async fn set_excerpts(&mut self, user: UserId, excerpts: &[(EvidenceKey, &str)]) -> Result<(), Failure> {
        for (key, excerpt) in excerpts {
            self.0.execute(
                "UPDATE evidence SET excerpt = ? WHERE user_id = ? AND fact_id = ? AND message_id = ? AND stance = ?",
                (*excerpt, user.0, key.fact.0, key.message.0, key.stance.word()),
            )?;
        }
        Ok(())
    }

    async fn hide_unused_entities(&mut self, user: UserId, entities: &[EntityId], id: ForgettingId) -> Result<(), Failure> {
        self.0.execute(
            "UPDATE entities SET forgetting_id = ?3
             WHERE user_id = ?1 AND id IN (SELECT unhex(value) FROM json_each(?2)) AND is_viewer = 0 AND forgetting_id IS NULL
             AND NOT EXISTS (SELECT 1 FROM mentions m WHERE m.user_id = ?1 AND m.entity_id = entities.id)
             AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.user_id = ?1 AND f.subject_id = entities.id)
             AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.user_id = ?1 AND f.object_id = entities.id)",
            (user.0, id_list(entities.iter().map(|e| &e.0)), id.0),
        )?;
        Ok(())
    }

    async fn show_entities(&mut self, user: UserId, id: ForgettingId, used: &[EntityId]) -> Result<Vec<EntityId>, Failure> {
        let sql = "UPDATE entities SET forgetting_id = NULL WHERE user_id = ?1 AND forgetting_id IS NOT NULL
             AND (forgetting_id = ?2 OR id IN (SELECT unhex(value) FROM json_each(?3))) RETURNING id";
        self.0.rows("entities", sql, (user.0, id.0, id_list(used.iter().map(|e| &e.0))), entity_id)
    }

    async fn delete_merged_facts(&mut self, user: UserId, facts: &[FactId]) -> Result<(), Failure> {
        let list = id_list(facts.iter().map(|f| &f.0));
        for sql in [
            "DELETE FROM merged_evidence WHERE user_id = ?1 AND fact_id IN (SELECT unhex(value) FROM json_each(?2))",
            "DELETE FROM merged_facts WHERE user_id = ?1 AND id IN (SELECT unhex(value) FROM json_each(?2))",
        ] {
            self.0.execute(sql, (user.0, &list))?;
        }
        Ok(())
    }
}

fn forgotten_mention(c: &Columns<'_, '_>) -> Result<ForgottenMention, Failure> {
    let decided = c.get::<Option<f64>>("score")?.is_some() && c.opt_text("reason")?.is_some();
    Ok(ForgottenMention {
        message: MessageId(c.id("message_id")?),
        ordinal: c.small("ordinal")?,
        entity: EntityId(c.id("entity_id")?),
        mention: rows::mention(c)?,
        decision: if decided { Some(rows::decision(c)?) } else { None },
    })
}
