//! Committing what a person changed by hand, and telling the sessions that it concerns.

use std::collections::{HashMap, HashSet};

use super::{UseCaseError, UseCases};
use recall_domain::{Caller, EventBody, EventDraft, EventId, Evidence, FactId, SessionId};
use recall_ports::{CommitError, KnowledgeCommit, StoreError};

/// How often a plan by hand is made anew when the knowledge changed meanwhile.
pub(super) const MAX_STALE: u32 = 20;
/// Most sessions whose logs hear of one change.
pub(super) const MAX_SESSIONS: u32 = 100;

/// In which sessions each fact was spoken of. Others are not told of it: of a merge of two things that were talked about for
/// years, every session would get thousands of events about facts it never heard of.
pub(super) struct Heard(HashMap<FactId, HashSet<SessionId>>);

impl Heard {
    pub(super) fn of(evidence: &[Evidence]) -> Self {
        let mut heard: HashMap<FactId, HashSet<SessionId>> = HashMap::new();
        for e in evidence {
            heard.entry(e.fact).or_default().insert(e.session);
        }
        Self(heard)
    }

    /// Adds the sessions of the facts that a plan changes, as far as there is room.
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
    /// Commits a change by hand and tells every session concerned. False when the plan was stale.
    pub(super) async fn commit_by_hand(
        &self,
        caller: &Caller,
        plan: &KnowledgeCommit,
        sessions: &[SessionId],
        heard: Option<&Heard>,
    ) -> Result<bool, UseCaseError> {
        match self.parts.store.commit(caller, plan, None).await {
            Ok(_) => {}
            Err(CommitError::Stale) => return Ok(false),
            Err(e) => return Err(e.into()),
        }
        self.parts.announcer.committed(caller, plan.session);
        for session in sessions.iter().filter(|s| **s != plan.session) {
            let concerned = plan.events.iter().filter(|e| heard.is_none_or(|h| h.concerns(*session, &e.body)));
            let events: Vec<EventDraft> =
                concerned.map(|e| EventDraft { id: EventId(self.parts.ids.fresh()), body: e.body.in_session(*session) }).collect();
            // The change is made by now; a session that was deleted meanwhile has nobody left to tell, and one that cannot be
            // told is told by the next read.
            match self.parts.store.append_events(caller, *session, &events, plan.now).await {
                Ok(_) => self.parts.announcer.committed(caller, *session),
                Err(StoreError::NotFound) => {}
                Err(e) => tracing::warn!(error = %e, "a session was not told of a change by hand"),
            }
        }
        Ok(true)
    }
}
