//! Undoes a forgetting, as long as nothing was deleted for good.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::manual_edits::MAX_STALE;
use super::{error::UseCaseError, forget::MAX_EVIDENCE, forget_request::Forgotten, shared, use_cases::UseCases};
use recall_domain::{Caller, EntityId, EventDraft, Evidence, Fact, FactId, ForgettingId, MessageId, SessionId, event::FactChange};
use recall_facts::forget::{self, RestoreInput, RestoreOutcome};
use recall_ports::{CommitError, FactKey, Forgetting, RestorePlan};

/// What an undoing writes, and the messages that return.
struct Undoing {
    plan: RestorePlan,
    restored: Vec<FactId>,
    messages: Vec<MessageId>,
}

impl UseCases {
    /// Restores what was forgotten with this token.
    ///
    /// # Errors
    /// `NotFound` if the token is unknown or expired.
    pub async fn undo_forget(&self, caller: &Caller, token: &str) -> Result<Forgotten, UseCaseError> {
        shared::may_write(caller)?;
        let unknown = || UseCaseError::NotFound { noun: "token" };
        let id: ForgettingId = token.trim().parse().map_err(|_| unknown())?;
        let store = &self.parts.store;
        let _guard = self.learner.lock_user(caller).await;
        for _ in 0..MAX_STALE {
            let version = store.knowledge_version(caller).await?;
            let forgetting = store.forgetting(caller, id).await?.filter(|f| self.now() < f.until).ok_or_else(unknown)?;
            let Undoing { plan, restored, messages } = self.plan_undoing(caller, &forgetting, version).await?;
            match store.restore_forgotten(caller, &plan).await {
                Ok(()) => {}
                Err(CommitError::Stale) => continue,
                Err(CommitError::Store(e)) => return Err(UseCaseError::of(e, "token")),
                Err(e) => return Err(e.into()),
            }
            self.tell_changed(caller, &[], plan.now).await;
            let mut messages = store.messages_by_id(caller, &messages).await?;
            messages.sort_by_key(|m| (m.sent_at, m.session, m.position));
            let facts = plan.facts.into_iter().filter(|f| restored.contains(&f.id)).collect();
            return Ok(Forgotten { facts, messages, ..Forgotten::default() });
        }
        Err(CommitError::Stale.into())
    }

    async fn plan_undoing(&self, caller: &Caller, forgetting: &Forgetting, version: u64) -> Result<Undoing, UseCaseError> {
        let (store, knowledge, now) = (&self.parts.store, &forgetting.knowledge, self.now());
        let entities = self.present_entities(caller, &knowledge.facts).await?;
        let present = self.present_facts(caller, forgetting, &entities).await?;
        let ids: Vec<FactId> = present.iter().map(|f| f.id).collect();
        let evidence = store.evidence_of(caller, &ids, MAX_EVIDENCE).await?;
        let back: HashSet<MessageId> = forgetting.messages.iter().map(|(message, _)| *message).collect();
        let concerned = knowledge.evidence.iter().chain(&knowledge.excerpts).map(|e| e.message);
        let elsewhere: BTreeSet<MessageId> = concerned.filter(|m| !back.contains(m)).collect();
        let elsewhere = store.messages_by_id(caller, &elsewhere.into_iter().collect::<Vec<_>>()).await?;
        let messages: HashSet<MessageId> = back.iter().copied().chain(elsewhere.into_iter().map(|m| m.id)).collect();
        let ontology = &self.parts.ontology;
        let input =
            RestoreInput { knowledge, messages: &messages, entities: &entities, present: &present, evidence: &evidence, ontology, now };
        let outcome = forget::restore(&input);
        let events = self.events_of_undoing(caller, forgetting, &outcome, &evidence).await?;
        let RestoreOutcome { facts, restored, evidence, excerpts } = outcome;
        let plan = RestorePlan { id: forgetting.id, version, now, facts, evidence, excerpts, events };
        Ok(Undoing { plan, restored, messages: back.into_iter().collect() })
    }

    /// Returns where the sides of facts are now: each at its id, or at the entity that it was merged into.
    async fn present_entities(&self, caller: &Caller, facts: &[Fact]) -> Result<HashMap<EntityId, EntityId>, UseCaseError> {
        let sides: BTreeSet<EntityId> = facts.iter().flat_map(|f| [f.subject, f.object]).collect();
        let found = self.memory(*caller).with_forgotten().entities(&sides.into_iter().collect::<Vec<_>>()).await?;
        Ok(found.into_iter().map(|(asked, entity)| (asked, entity.id)).collect())
    }

    /// Returns the facts that a forgetting changed, and those that have the statement of a deleted one.
    async fn present_facts(
        &self,
        caller: &Caller,
        forgetting: &Forgetting,
        entities: &HashMap<EntityId, EntityId>,
    ) -> Result<Vec<Fact>, UseCaseError> {
        let (store, knowledge) = (&self.parts.store, &forgetting.knowledge);
        let ids: Vec<FactId> = knowledge.changed.iter().map(|(before, _)| before.id).chain(knowledge.facts.iter().map(|f| f.id)).collect();
        let mut present = store.facts_by_id(caller, &ids).await?;
        let key = |f: &Fact| {
            let (subject, object) = (*entities.get(&f.subject)?, *entities.get(&f.object)?);
            Some(FactKey { subject, object: Some(object), ..FactKey::of(f) })
        };
        let keys: Vec<FactKey> = knowledge.facts.iter().filter_map(key).collect();
        if !keys.is_empty() {
            present.extend(store.facts_by_key(caller, &keys, u32::MAX).await?);
        }
        present.sort_by_key(|f| f.id);
        present.dedup_by_key(|f| f.id);
        Ok(present)
    }

    async fn events_of_undoing(
        &self,
        caller: &Caller,
        forgetting: &Forgetting,
        outcome: &RestoreOutcome,
        present: &[Evidence],
    ) -> Result<Vec<(SessionId, Vec<EventDraft>)>, UseCaseError> {
        let restored: HashSet<FactId> = outcome.restored.iter().copied().collect();
        let change = |f: &Fact| if restored.contains(&f.id) { FactChange::Restored } else { FactChange::Revised };
        let facts: Vec<_> = outcome.facts.iter().map(|f| (f.clone(), change(f))).collect();
        let evidence: Vec<Evidence> = outcome.evidence.iter().chain(present).cloned().collect();
        let mut events = self.memory_events(caller, &facts, &forgetting.messages, &evidence, true, self.now()).await?;
        let sessions: Vec<SessionId> = events.iter().map(|(session, _)| *session).collect();
        let there: HashSet<SessionId> = self.parts.store.sessions_by_id(caller, &sessions).await?.into_iter().map(|s| s.id).collect();
        events.retain(|(session, _)| there.contains(session));
        Ok(events)
    }
}
