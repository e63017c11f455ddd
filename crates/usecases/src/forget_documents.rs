//! Keeps what documents say out of a forgetting by words.
//!
//! "Forget what I said about the deposit" is about the conversation. The lease still says what it says until somebody deletes it.

use std::collections::HashSet;

use super::{
    error::UseCaseError,
    forget::{MAX_EVIDENCE, Target},
    use_cases::UseCases,
};
use recall_domain::{Caller, FactId, MessageId, Role};

impl UseCases {
    /// Removes passages of documents from a target. Of a fact that a document states as well, only the messages that state it are left.
    pub(super) async fn without_documents(&self, caller: &Caller, mut target: Target) -> Result<Target, UseCaseError> {
        if target.is_empty() {
            return Ok(target);
        }
        let store = &self.parts.store;
        let facts: Vec<FactId> = target.facts.iter().map(|f| f.id).collect();
        let evidence = store.evidence_of(caller, &facts, MAX_EVIDENCE).await?;
        let ids: HashSet<MessageId> =
            evidence.iter().map(|e| e.message).chain(target.mentioning.iter().chain(&target.named).copied()).collect();
        let messages = store.messages_by_id(caller, &ids.into_iter().collect::<Vec<_>>()).await?;
        let passages: HashSet<MessageId> = messages.iter().filter(|m| m.role == Role::Document).map(|m| m.id).collect();
        if passages.is_empty() {
            return Ok(target);
        }
        let documented: HashSet<FactId> = evidence.iter().filter(|e| passages.contains(&e.message)).map(|e| e.fact).collect();
        let told = evidence.iter().filter(|e| documented.contains(&e.fact) && e.span.is_some());
        let told: HashSet<MessageId> = told.map(|e| e.message).filter(|m| !passages.contains(m)).collect();
        // A message that states nothing else goes whole, so that the fact loses this evidence.
        let meant: HashSet<FactId> = facts.into_iter().collect();
        let stated = store.facts_in(caller, &told.iter().copied().collect::<Vec<_>>()).await?;
        let states_others: HashSet<MessageId> = stated.iter().filter(|(_, fact, _)| !meant.contains(fact)).map(|(m, ..)| *m).collect();
        let (others, whole): (Vec<MessageId>, Vec<MessageId>) = told.into_iter().partition(|m| states_others.contains(m));
        target.mentioning.extend(others);
        target.named.extend(whole);
        target.facts.retain(|f| !documented.contains(&f.id));
        target.mentioning.retain(|m| !passages.contains(m));
        target.named.retain(|m| !passages.contains(m));
        target.is_in_documents = true;
        Ok(target)
    }
}
