//! Finds statements of messages whose facts were retracted, so that answers do not quote them.

use std::collections::{HashMap, HashSet};

use crate::{error::UseCaseError, use_cases::UseCases};
use recall_domain::{
    Caller, Evidence, Fact, FactId, FactStatus, MessageId, Stance,
    context::{Context, Withdrawn},
};

/// Most evidence rows loaded per retracted fact.
const EVIDENCE_PER_FACT: u32 = 20;

impl UseCases {
    /// Adds to a context which statements of its messages were taken back. Messages of shared memory are left out.
    pub(crate) async fn add_withdrawn(&self, caller: &Caller, context: &mut Context) -> Result<(), UseCaseError> {
        let own: Vec<MessageId> = context.messages.iter().filter(|m| !m.shared || caller.is_shared()).map(|m| m.message.id).collect();
        if own.is_empty() {
            return Ok(());
        }
        let store = &self.parts.store;
        let stated: HashSet<FactId> = store.facts_in(caller, &own).await?.into_iter().map(|(_, fact, _)| fact).collect();
        let stated: Vec<FactId> = stated.into_iter().collect();
        let retracted = store.facts_by_id(caller, &stated).await?.into_iter().filter(|f| f.status == FactStatus::Retracted);
        let retracted: HashMap<FactId, Fact> = retracted.map(|f| (f.id, f)).collect();
        if retracted.is_empty() {
            return Ok(());
        }
        let ids: Vec<FactId> = retracted.keys().copied().collect();
        let evidence = store.evidence_of(caller, &ids, EVIDENCE_PER_FACT).await?;
        // A message that takes a fact back says so at the end of the fact; a rival that was stated before does not.
        let corrects = |e: &&Evidence, f: &Fact| e.fact == f.id && e.stance == Stance::Opposes && f.valid_to == Some(e.created_at);
        let found = evidence.iter().filter(|e| e.stance == Stance::Supports && own.contains(&e.message));
        context.withdrawn = found
            .filter_map(|e| {
                let fact = retracted.get(&e.fact)?;
                let correction = evidence.iter().find(|c| corrects(c, fact)).cloned();
                Some(Withdrawn { message: e.message, excerpt: e.excerpt.clone(), correction })
            })
            .collect();
        Ok(())
    }
}
