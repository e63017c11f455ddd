//! Commits manual changes, and writes their events to the logs of the affected sessions.

use std::collections::{HashMap, HashSet};

use super::{error::UseCaseError, use_cases::UseCases};
use recall_domain::{Caller, EventBody, EventDraft, EventId, Evidence, FactId, SessionId};
use recall_ports::{CommitError, KnowledgeCommit, StoreError};

/// Most attempts of a manual change with a stale plan.
pub(super) const MAX_STALE: u32 = 20;
/// Most sessions whose logs get the events of one change.
pub(super) const MAX_SESSIONS: u32 = 100;

/// The sessions that mention each fact. Only they get its events.
///
/// Otherwise a merge of two entities with a long history would send thousands of unrelated events to every session.
pub(super) struct Heard(HashMap<FactId, HashSet<SessionId>>);

impl Heard {
    pub(super) fn of(evidence: &[Evidence]) -> Self {
        let mut heard: HashMap<FactId, HashSet<SessionId>> = HashMap::new();
        for e in evidence {
            heard.entry(e.fact).or_default().insert(e.session);
        }
        Self(heard)
    }

    /// Adds the sessions of the changed facts, up to `most` sessions.
    pub(super) fn add_sessions(&self, plan: &KnowledgeCommit, sessions: &mut Vec<SessionId>, most: usize) {
        let of_facts = plan.facts.iter().filter_map(|f| self.0.get(&f.id)).flatten();
        let mut more: Vec<SessionId> = of_facts.copied().filter(|s| !sessions.contains(s)).collect();
        more.sort();
        more.dedup();
        more.truncate(most.saturating_sub(sessions.len()));
        sessions.extend(more);
    }

    fn concerns(&self, session: SessionId, body: &EventBody) -> bool {
        match body {
            EventBody::FactUpdate(f) => self.0.get(&f.fact_id).is_none_or(|sessions| sessions.contains(&session)),
            _ => true,
        }
    }
}

impl UseCases {
    /// Commits a manual change and notifies every affected session. Returns false if the plan was stale.
    pub(super) async fn commit_by_hand(
        &self,
        caller: &Caller,
        plan: &KnowledgeCommit,
        sessions: &[SessionId],
        heard: Option<&Heard>,
    ) -> Result<bool, UseCaseError> {
        match self.parts.store.commit(caller, plan).await {
            Ok(_) => {}
            Err(CommitError::Stale) => return Ok(false),
            Err(e) => return Err(e.into()),
        }
        for session in sessions.iter().filter(|s| **s != plan.session) {
            let concerned = plan.events.iter().filter(|e| heard.is_none_or(|h| h.concerns(*session, &e.body)));
            let events: Vec<EventDraft> =
                concerned.map(|e| EventDraft { id: EventId(self.parts.ids.fresh()), body: e.body.in_session(*session) }).collect();
            // The change is already committed. A deleted session needs no event, and other sessions see the change at the next read.
            match self.parts.store.append_events(caller, *session, &events, plan.now).await {
                Ok(_) | Err(StoreError::NotFound) => {}
                Err(e) => tracing::warn!(error = %e, "a session was not notified of a manual change"),
            }
        }
        Ok(true)
    }
}
