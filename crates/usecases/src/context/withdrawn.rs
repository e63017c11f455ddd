//! Finds statements of messages that were retracted or changed, so that answers do not quote them alone.

use std::collections::{HashMap, HashSet};

use crate::{error::UseCaseError, use_cases::UseCases};
use recall_domain::{
    Caller, Evidence, Fact, FactId, FactStatus, MessageId, Stance,
    context::{Context, Withdrawn},
};

/// Most evidence rows loaded per retracted fact.
const EVIDENCE_PER_FACT: u32 = 20;

impl UseCases {
    /// Adds to a context which statements of its messages were taken back or changed. Messages of shared memory are left out.
    pub(crate) async fn add_withdrawn(&self, caller: &Caller, context: &mut Context) -> Result<(), UseCaseError> {
        let own: Vec<MessageId> = context.messages.iter().filter(|m| !m.shared || caller.is_shared()).map(|m| m.message.id).collect();
        if own.is_empty() {
            return Ok(());
        }
        let store = &self.parts.store;
        let stated: HashSet<FactId> = store.facts_in(caller, &own).await?.into_iter().map(|(_, fact, _)| fact).collect();
        let stated: Vec<FactId> = stated.into_iter().collect();
        // Of what ended, a message still tells what was so, unless its words are all that is known: "It's been moved to Wednesday".
        let is_gone = |f: &Fact| f.status == FactStatus::Retracted || f.status == FactStatus::Ended && f.value.is_some();
        let gone = store.facts_by_id(caller, &stated).await?.into_iter().filter(is_gone);
        let gone: HashMap<FactId, Fact> = gone.map(|f| (f.id, f)).collect();
        if gone.is_empty() {
            return Ok(());
        }
        let ids: Vec<FactId> = gone.keys().copied().collect();
        let evidence = store.evidence_of(caller, &ids, EVIDENCE_PER_FACT).await?;
        // A message that takes a fact back says so at the end of the fact; a rival that was stated before does not.
        let corrects = |e: &&Evidence, f: &Fact| e.fact == f.id && e.stance != Stance::Supports && f.valid_to == Some(e.created_at);
        let found = evidence.iter().filter(|e| e.stance == Stance::Supports && own.contains(&e.message));
        context.withdrawn = found
            .filter_map(|e| {
                let fact = gone.get(&e.fact)?;
                let correction = evidence.iter().find(|c| corrects(c, fact)).cloned();
                (fact.status == FactStatus::Retracted || correction.is_some()).then(|| Withdrawn {
                    message: e.message,
                    excerpt: e.excerpt.clone(),
                    correction,
                })
            })
            .collect();
        Ok(())
    }
}
