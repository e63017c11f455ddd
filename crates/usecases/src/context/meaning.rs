//! Finds what the messages of a context mean now: statements that were retracted or changed, and replies that say only a part.

use std::collections::{HashMap, HashSet};

use crate::{error::UseCaseError, use_cases::UseCases};
use recall_domain::{
    Caller, Evidence, Fact, FactId, FactStatus, MessageId, Stance,
    context::{Context, RankedMessage, Withdrawn},
};

/// Most evidence rows loaded per retracted fact.
const EVIDENCE_PER_FACT: u32 = 20;
/// Stands for a statement that is left out.
const LEFT_OUT: &str = "[…]";
/// Most bytes of a message that may say only a part of its note.
const MAX_REPLY: usize = 60;

impl UseCases {
    /// Adds to a context which statements of its messages were taken back or changed, and completes replies. Messages of shared memory are left out.
    pub(crate) async fn add_meaning(&self, caller: &Caller, context: &mut Context) -> Result<(), UseCaseError> {
        let own: Vec<MessageId> = context.messages.iter().filter(|m| !m.shared || caller.is_shared()).map(|m| m.message.id).collect();
        if own.is_empty() {
            return Ok(());
        }
        let store = &self.parts.store;
        let stated = store.facts_in(caller, &own).await?;
        let ids: HashSet<FactId> = stated.iter().map(|(_, fact, _)| *fact).collect();
        let facts = store.facts_by_id(caller, &ids.into_iter().collect::<Vec<_>>()).await?;
        self.complete_replies(&mut context.messages, &stated, &facts);
        // Of what ended, a message still tells what was so, unless its words are all that is known: "It's been moved to Wednesday".
        let is_gone = |f: &Fact| f.status == FactStatus::Retracted || f.status == FactStatus::Ended && f.value.is_some();
        let gone = facts.into_iter().filter(is_gone);
        let gone: HashMap<FactId, Fact> = gone.map(|f| (f.id, f)).collect();
        if gone.is_empty() {
            return Ok(());
        }
        let ids: Vec<FactId> = gone.keys().copied().collect();
        let evidence = store.evidence_of(caller, &ids, EVIDENCE_PER_FACT).await?;
        // A message that takes a fact back says so at the end of the fact; a rival that was stated before does not.
        let corrects = |e: &&Evidence, f: &Fact| e.fact == f.id && e.stance != Stance::Supports && f.valid_to == Some(e.created_at);
        let found = evidence.iter().filter(|e| e.stance == Stance::Supports && own.contains(&e.message));
        for e in found {
            let Some(fact) = gone.get(&e.fact) else { continue };
            match evidence.iter().find(|c| corrects(c, fact)) {
                Some(correction) => context.withdrawn.push(Withdrawn { message: e.message, correction: correction.clone() }),
                // The user retracted it by hand.
                None if fact.status == FactStatus::Retracted => leave_out(&mut context.messages, e),
                None => {}
            }
        }
        context.messages.retain(|m| m.message.text.as_str() != LEFT_OUT);
        Ok(())
    }

    /// Completes replies and corrections to what they mean, in brackets: "[My flight is] tomorrow at 7am". The note that they became says that.
    fn complete_replies(&self, messages: &mut [RankedMessage], stated: &[(MessageId, FactId, Stance)], facts: &[Fact]) {
        let is_note = |f: &Fact| f.status == FactStatus::Active && self.parts.ontology.get(&f.relation).is_some_and(|r| r.notes);
        for f in facts.iter().filter(|f| is_note(f)) {
            let Some(note) = &f.value else { continue };
            let says = |m: &RankedMessage| {
                stated.iter().any(|(message, fact, stance)| (*message, *fact, *stance) == (m.message.id, f.id, Stance::Supports))
            };
            for m in messages.iter_mut().filter(|m| says(m)) {
                let is_completed = m.message.text.as_str().contains(['[', ']']);
                if let Some(text) = completed(m.message.text.as_str(), note.text.as_str()).filter(|_| !is_completed) {
                    m.message.text = text.into();
                }
            }
        }
    }
}

/// Leaves a statement out of the message that makes it.
fn leave_out(messages: &mut [RankedMessage], statement: &Evidence) {
    let words = statement.excerpt.as_str().trim_end_matches(['.', '!']);
    let Some(message) = messages.iter_mut().find(|m| m.message.id == statement.message).filter(|_| !words.is_empty()) else { return };
    let rest = message.message.text.as_str().replacen(words, LEFT_OUT, 1);
    let has_words = rest.replace(LEFT_OUT, "").chars().any(char::is_alphanumeric);
    message.message.text = if has_words { rest } else { LEFT_OUT.to_owned() }.into();
}

/// Returns a note with the words in brackets that the message lacks; `None` if it says all of them.
fn completed(said: &str, note: &str) -> Option<String> {
    let note = note.trim_end_matches('.');
    if said.len() > MAX_REPLY || said.contains(note) {
        return None;
    }
    let words: Vec<&str> = said.split_whitespace().map(|w| w.trim_matches([',', '.', '!', ';', ':'])).collect();
    let said = format!(" {} ", words.join(" "));
    // The longest run of words that both have.
    let starts: Vec<usize> = std::iter::once(0).chain(note.match_indices(' ').map(|(at, _)| at + 1)).collect();
    let ends: Vec<usize> = note.match_indices(' ').map(|(at, _)| at).chain([note.len()]).collect();
    let runs = starts.iter().flat_map(|&a| ends.iter().filter(move |&&b| a < b).map(move |&b| (a, b)));
    // A reply or a correction ends with what it says.
    let (start, end) = runs.filter(|&(a, b)| said.ends_with(&format!(" {} ", &note[a..b]))).max_by_key(|(a, b)| b - a)?;
    let bracketed = |words: &str| if words.trim().is_empty() { String::new() } else { format!("[{}]", words.trim()) };
    let parts = [bracketed(&note[..start]), note[start..end].to_owned(), bracketed(&note[end..])];
    Some(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reply_lacks_is_in_brackets() {
        for (said, note, expected) in [
            ("tomorrow at 7am", "My flight is tomorrow at 7am.", Some("[My flight is] tomorrow at 7am")),
            ("make that 4pm.", "The call is at 4pm on Friday.", Some("[The call is at] 4pm [on Friday]")),
            ("No, Tuesday", "The dentist is on Tuesday at ten.", Some("[The dentist is on] Tuesday [at ten]")),
            ("Remember that the dentist is on Tuesday.", "the dentist is on Tuesday", None),
            ("teal", "My flight leaves at 7", None),
            ("I meet Bob tomorrow, he likes tea", "The user meets Bob tomorrow", None),
        ] {
            assert_eq!(completed(said, note).as_deref(), expected, "{said}");
        }
    }
}
