//! Changes knowledge.

use std::sync::Arc;

use async_trait::async_trait;

use super::super::{
    SqliteStore,
    codec::{Word, id_list, json, millis, signed},
    connection::Db,
    failure::Failure,
    rows::Columns,
    transaction::{WriteTransaction, run},
};
use super::reads::Reads;
use recall_domain::{
    Caller, Decision, Entity, EntityId, EntityKey, Evidence, Fact, FactId, Mention, Message, MessageId, MessageKind, SessionId, Stance,
    UserId,
};
use recall_ports::{
    AnswerCommit, Claim, CommitError, KnowledgeCommit, KnowledgeReads, KnowledgeStore, MessagePlanner, NewMessage, StoreError,
};
use recall_store::{KnowledgeStatements, append_and_learn, commit_answer, commit_plan, learn, search_text};

/// The knowledge version; 0 for a user who never wrote.
pub(in super::super) fn version(db: &Db, user: UserId) -> Result<u64, Failure> {
    let version = db.row("users", "SELECT knowledge_version FROM users WHERE id = ?", (user.0,), |c| c.count("knowledge_version"));
    Ok(version?.unwrap_or(0))
}

#[async_trait]
impl KnowledgeStore for SqliteStore {
    async fn knowledge_version(&self, caller: &Caller) -> Result<u64, StoreError> {
        let user = caller.user();
        Ok(self.read(caller, move |db| version(db, user)).await?)
    }

    async fn commit(&self, caller: &Caller, plan: &KnowledgeCommit) -> Result<Vec<u64>, CommitError> {
        let (caller, plan) = (*caller, plan.clone());
        Ok(self.write(move |tx| run(commit_plan(tx, &caller, &plan))).await?)
    }

    async fn learn(
        &self,
        caller: &Caller,
        messages: &[Arc<dyn MessagePlanner>],
        claim: Option<&Claim>,
    ) -> Result<Vec<Vec<Fact>>, CommitError> {
        let (caller, messages, claim) = (*caller, messages.to_vec(), claim.cloned());
        Ok(self.write(move |tx| run(learn(tx, &caller, &messages, claim.as_ref()))).await?)
    }

    async fn append_and_learn(
        &self,
        caller: &Caller,
        message: &NewMessage,
        planner: Arc<dyn MessagePlanner>,
    ) -> Result<Vec<Fact>, CommitError> {
        let (caller, message) = (*caller, message.clone());
        Ok(self.write(move |tx| run(append_and_learn(tx, &caller, &message, &planner))).await?)
    }

    async fn commit_answer(&self, caller: &Caller, answer: &AnswerCommit, claim: &Claim) -> Result<Message, CommitError> {
        let (caller, answer, claim) = (*caller, answer.clone(), claim.clone());
        Ok(self.write(move |tx| run(commit_answer(tx, &caller, &answer, &claim))).await?)
    }
}

#[async_trait]
impl KnowledgeStatements for WriteTransaction<'_> {
    async fn lock_session(&mut self, user: UserId, session: SessionId) -> Result<bool, Failure> {
        // SQLite has one writer, so there is nothing to lock.
        self.0.exists("SELECT 1 FROM visible_sessions WHERE user_id = ? AND id = ?", (user.0, session.0))
    }

    fn reads(&mut self, user: UserId) -> Box<dyn KnowledgeReads + '_> {
        Box::new(Reads { db: self.0, user })
    }

    async fn advance_knowledge(&mut self, user: UserId, version: u64) -> Result<bool, Failure> {
        let sql = "UPDATE users SET knowledge_version = knowledge_version + 1
             WHERE id = ? AND knowledge_version = ? AND erasing = 0 AND importing = 0";
        Ok(self.0.execute(sql, (user.0, signed(version)))? > 0)
    }

    async fn is_remembered(&mut self, user: UserId, message: MessageId, session: SessionId) -> Result<Option<bool>, Failure> {
        let sql = "SELECT unremembered FROM messages WHERE user_id = ? AND id = ? AND session_id = ?";
        self.0.row("messages", sql, (user.0, message.0, session.0), |c| Ok(!c.opt_flag("unremembered")?))
    }

    async fn any_hidden(&mut self, user: UserId, messages: &[MessageId]) -> Result<bool, Failure> {
        let sql = "SELECT 1 FROM messages WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?)) AND forgotten = 'hidden'";
        self.0.exists(sql, (user.0, id_list(messages.iter().map(|m| &m.0))))
    }

    async fn upsert_entities(&mut self, user: UserId, entities: &[Entity]) -> Result<(), Failure> {
        for e in entities {
            self.0.execute(
                "INSERT INTO entities (user_id, id, name, entity_type, aliases, description, mention_count, confidence, is_viewer,
                                       first_message, search, created_at, updated_at)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                 ON CONFLICT (user_id, id) DO UPDATE SET name = excluded.name, entity_type = excluded.entity_type, aliases = excluded.aliases,
                     description = excluded.description, mention_count = excluded.mention_count, confidence = excluded.confidence,
                     is_viewer = excluded.is_viewer, first_message = excluded.first_message, search = excluded.search,
                     created_at = excluded.created_at, updated_at = excluded.updated_at",
                (
                    user.0,
                    e.id.0,
                    &e.name,
                    e.entity_type.word(),
                    json(&e.aliases, "aliases")?,
                    &e.description,
                    signed(e.mention_count),
                    e.confidence,
                    e.is_viewer,
                    e.first_message.map(|m| m.0),
                    search_text(&e.name, &e.aliases),
                    millis(e.created_at),
                    millis(e.updated_at),
                ),
            )?;
        }
        Ok(())
    }

    async fn clear_viewer_mark(&mut self, user: UserId, entity: EntityId) -> Result<(), Failure> {
        self.0.execute("UPDATE entities SET is_viewer = 0 WHERE user_id = ? AND id = ?", (user.0, entity.0))?;
        Ok(())
    }

    async fn insert_keys(&mut self, user: UserId, keys: &[(EntityId, EntityKey)]) -> Result<(), Failure> {
        for (entity, key) in keys {
            self.0.execute(
                "INSERT INTO entity_keys (user_id, key, entity_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (user.0, key.as_str(), entity.0),
            )?;
        }
        Ok(())
    }

    async fn insert_hints(&mut self, user: UserId, hints: &[(EntityId, String)]) -> Result<(), Failure> {
        for (entity, hint) in hints {
            self.0.execute(
                "INSERT INTO entity_hints (user_id, hint, entity_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (user.0, hint, entity.0),
            )?;
        }
        Ok(())
    }

    async fn fact_exists(&mut self, user: UserId, fact: FactId) -> Result<bool, Failure> {
        self.0.exists("SELECT 1 FROM facts WHERE user_id = ? AND id = ?", (user.0, fact.0))
    }

    async fn upsert_facts(&mut self, user: UserId, facts: &[Fact]) -> Result<(), Failure> {
        for f in facts {
            self.0.execute(
                "INSERT INTO facts (user_id, id, subject_id, relation, object_id, support, opposition, weighed_at, status, flagged,
                                    valid_from, valid_to, last_support, created_at, updated_at, value, said_period)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                 ON CONFLICT (user_id, id) DO UPDATE SET subject_id = excluded.subject_id, relation = excluded.relation,
                     object_id = excluded.object_id, support = excluded.support, opposition = excluded.opposition,
                     weighed_at = excluded.weighed_at, status = excluded.status, flagged = excluded.flagged,
                     valid_from = excluded.valid_from, valid_to = excluded.valid_to, last_support = excluded.last_support,
                     created_at = excluded.created_at, updated_at = excluded.updated_at, value = excluded.value,
                     said_period = excluded.said_period",
                rusqlite::params![
                    user.0,
                    f.id.0,
                    f.subject.0,
                    &f.relation,
                    f.object.0,
                    f.support,
                    f.opposition,
                    millis(f.weighed_at),
                    f.status.word(),
                    f.flagged,
                    f.valid_from.map(millis),
                    f.valid_to.map(millis),
                    f.last_support.map(millis),
                    millis(f.created_at),
                    millis(f.updated_at),
                    f.value.as_ref().map(|v| json(&v.stored(), "value")).transpose()?,
                    f.said_period.text(),
                ],
            )?;
        }
        Ok(())
    }

    async fn delete_facts(&mut self, user: UserId, facts: &[FactId]) -> Result<(), Failure> {
        self.0.execute(
            "DELETE FROM facts WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))",
            (user.0, id_list(facts.iter().map(|f| &f.0))),
        )?;
        Ok(())
    }

    async fn release_statements(&mut self, user: UserId, facts: &[Fact]) -> Result<(), Failure> {
        self.0.execute(
            "UPDATE facts SET relation = hex(id) WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))",
            (user.0, id_list(facts.iter().map(|f| &f.id.0))),
        )?;
        Ok(())
    }

    async fn insert_evidence(&mut self, user: UserId, evidence: &[Evidence]) -> Result<(), Failure> {
        for e in evidence {
            self.0.execute(
                "INSERT INTO evidence (user_id, fact_id, message_id, stance, session_id, confidence, span_start, span_end, excerpt, created_at,
                                       said_period)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, fact_id, message_id, stance) DO NOTHING",
                (
                    user.0,
                    e.fact.0,
                    e.message.0,
                    e.stance.word(),
                    e.session.0,
                    e.confidence,
                    e.span.map(|s| s.start),
                    e.span.map(|s| s.end),
                    e.excerpt.as_str(),
                    millis(e.created_at),
                    e.said_period.text(),
                ),
            )?;
        }
        Ok(())
    }

    async fn move_evidence(&mut self, user: UserId, from: FactId, to: FactId) -> Result<(), Failure> {
        self.0.execute("UPDATE OR IGNORE evidence SET fact_id = ?3 WHERE user_id = ?1 AND fact_id = ?2", (user.0, from.0, to.0))?;
        Ok(())
    }

    async fn delete_evidence(&mut self, user: UserId, fact: FactId, message: MessageId, stance: Stance) -> Result<(), Failure> {
        self.0.execute(
            "DELETE FROM evidence WHERE user_id = ? AND fact_id = ? AND message_id = ? AND stance = ?",
            (user.0, fact.0, message.0, stance.word()),
        )?;
        Ok(())
    }

    async fn record_extraction(
        &mut self,
        user: UserId,
        message: MessageId,
        kind: MessageKind,
        mentions: &[(EntityId, Mention)],
        decisions: &[Decision],
    ) -> Result<bool, Failure> {
        let sql = "UPDATE messages SET kind = ?, status = 'processed' WHERE user_id = ? AND id = ? RETURNING session_id, sent_at";
        let place = |c: &Columns<'_, '_>| Ok::<_, Failure>((c.id("session_id")?, c.integer("sent_at")?));
        let Some((session, said_at)) = self.0.row("messages", sql, (kind.word(), user.0, message.0), place)? else {
            return Ok(false);
        };
        self.0.execute("DELETE FROM mentions WHERE user_id = ? AND message_id = ?", (user.0, message.0))?;
        for (i, (entity, m)) in mentions.iter().enumerate() {
            let decision = decisions.get(i);
            self.0.execute(
                "INSERT INTO mentions (user_id, message_id, ordinal, entity_id, session_id, said_at, name, entity_type,
                                       span_start, span_end, confidence, description, score, reason)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    user.0,
                    message.0,
                    signed(i as u64),
                    entity.0,
                    session,
                    said_at,
                    &m.name,
                    m.entity_type.word(),
                    m.span.start,
                    m.span.end,
                    m.confidence,
                    &m.description,
                    decision.map(|d| d.score),
                    decision.map(|d| d.reason.as_str()),
                ),
            )?;
        }
        Ok(true)
    }
}
