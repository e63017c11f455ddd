//! Reads replies that say of the speaker what somebody said of somebody: "so do I", "me neither", and the contrary: "I'm not".

use recall_domain::{Caller, CandidateFact, EntityType, Extraction, Mention, MessageKind, Party, Polarity, Role, UserText};
use recall_ports::extract::{ExtractError, ExtractInput};

use super::{DialogueExtractor, carry_over, earlier_input, is_stated, whole};
use crate::replies::{Echo, echo};

/// Most facts of a statement that a reply repeats.
const MAX_FACTS: usize = 3;

impl DialogueExtractor {
    /// Returns what a reply says of the speaker by the last sentence of the message directly before; `None` if that is nothing.
    pub(super) async fn echo(&self, caller: &Caller, input: &ExtractInput) -> Result<Option<Extraction>, ExtractError> {
        let text = input.text.as_str();
        let Some((echo, said)) = echo(text).zip(input.background.earlier.last()) else { return Ok(None) };
        let is_own = said.role == Role::User && said.speaker == input.speaker;
        let Some(sentence) = last_statement(said.text.as_str()) else { return Ok(None) };
        let place = input.background.earlier.len() - 1;
        let read = self.inner.extract(caller, &earlier_input(input, place, UserText::from(sentence))).await?;
        // "My sister loves tea" also says who loves it.
        let has_subject = |party: Party| read.facts.iter().any(|f| f.subject == party && is_stated(f));
        let is_owner = |f: &&CandidateFact| f.subject == Party::Speaker && f.object != Party::Speaker && has_subject(f.object);
        let stated: Vec<&CandidateFact> = read.facts.iter().filter(|f| is_stated(f) && !is_owner(f)).collect();
        let wanted = if matches!(echo, Echo::Same | Echo::Denial) { Polarity::Affirmed } else { Polarity::Negated };
        let polarity = if matches!(echo, Echo::Same | Echo::Affirmation) { Polarity::Affirmed } else { Polarity::Negated };
        // "Anna loves tea" was said of Anna, and "I love tea" of its speaker.
        let is_meant = |f: &CandidateFact| {
            // Who is married to Ben, or has a sister, says so of another person.
            let is_personal = |i: usize| read.mentions[i].description.is_some() || read.mentions[i].entity_type == EntityType::Person;
            let is_role = matches!(f.object, Party::Mention(i) if f.value.is_none() && is_personal(i));
            let is_of_speaker = f.object == Party::Speaker && f.value.is_none();
            let is_known = is_own && f.subject == Party::Speaker;
            f.polarity == wanted && !(is_role || is_of_speaker || is_known)
        };
        let has_one_subject = stated.windows(2).all(|pair| pair[0].subject == pair[1].subject);
        if stated.is_empty() || stated.len() > MAX_FACTS || !has_one_subject || !stated.iter().all(|f| is_meant(f)) {
            return Ok(None);
        }
        let mut mentions: Vec<Mention> = Vec::new();
        let mut facts = Vec::new();
        for fact in stated {
            let object = if fact.value.is_some() { Party::Speaker } else { carry_over(text, &mut mentions, &read, fact.object) };
            facts.push(CandidateFact { subject: Party::Speaker, object, polarity, span: whole(text), ..fact.clone() });
        }
        Ok(Some(Extraction { mentions, facts, ..Extraction::empty(MessageKind::Statement) }))
    }
}

/// Returns the last sentence of a message that asks nothing.
fn last_statement(text: &str) -> Option<&str> {
    let mut sentences = text.split(['.', '!', '\n']).map(str::trim).filter(|sentence| !sentence.is_empty());
    sentences.next_back().filter(|_| !text.contains('?'))
}
