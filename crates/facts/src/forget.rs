//! Plans what is forgotten with facts and messages, and what returns when that is undone. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::events::{FactEvent, PossibleRivals, fact_event};
use super::weigh::{is_rival, reweigh};
use recall_domain::{
    Entity, EntityId, EventBody, Evidence, Fact, FactId, FactStatus, MessageId, Ontology, SessionId, Stance, Timestamp,
    belief::half_life,
    event::{FactChange, MessagesChanged},
};
use recall_ports::ForgottenKnowledge;

/// Facts and messages to forget, with everything that they concern.
#[derive(Debug)]
pub struct ForgetInput<'a> {
    /// The facts to forget.
    pub facts: &'a [Fact],
    /// Messages that vanish, whatever they state.
    pub named: &'a HashSet<MessageId>,
    /// Messages that vanish unless they also state other facts.
    pub mentioning: &'a HashSet<MessageId>,
    /// Other facts of these messages and of the evidence, and possible rivals of the facts.
    pub others: &'a [Fact],
    /// All evidence of all these facts.
    pub evidence: &'a [Evidence],
    /// The ontology in use.
    pub ontology: &'a Ontology,
    /// Now.
    pub now: Timestamp,
}

/// What a forgetting changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForgetOutcome {
    /// Messages that vanish.
    pub hidden: BTreeSet<MessageId>,
    /// Messages that stay as evidence for other facts, without their text.
    pub redacted: BTreeSet<MessageId>,
    /// The entities on either side of the facts for which a redacted message stays evidence.
    pub kept_mentions: Vec<(MessageId, EntityId)>,
    /// Removed and changed knowledge.
    pub knowledge: ForgottenKnowledge,
}

/// Plans a forgetting.
///
/// A message that states a forgotten fact vanishes, or is redacted if it also states other facts. Facts that lose evidence are re-weighed.
/// A fact without evidence about itself is forgotten, too.
pub fn forget(input: &ForgetInput<'_>) -> ForgetOutcome {
    let forgotten: HashSet<FactId> = input.facts.iter().map(|f| f.id).collect();
    let others: HashMap<FactId, &Fact> = input.others.iter().filter(|f| !forgotten.contains(&f.id)).map(|f| (f.id, f)).collect();
    let (hidden, redacted) = affected_messages(input, &forgotten);
    let supports = input.evidence.iter().filter(|e| e.stance == Stance::Supports && redacted.contains(&e.message));
    let stated: HashSet<(MessageId, FactId)> = supports.map(|e| (e.message, e.fact)).collect();
    let falls = |e: &Evidence| {
        let states = |f: &Fact| stated.contains(&(e.message, f.id));
        // A row without words only says that the message states a rival.
        let as_rival = || {
            let Some(fact) = others.get(&e.fact).filter(|_| e.stance == Stance::Opposes && e.span.is_none()) else { return false };
            let rivals = |f: &Fact| f.id != fact.id && is_rival(f, fact, input.ontology) && states(f);
            input.facts.iter().any(rivals) && !others.values().any(|f| rivals(f))
        };
        forgotten.contains(&e.fact) || hidden.contains(&e.message) || redacted.contains(&e.message) && as_rival()
    };
    let mut knowledge = ForgottenKnowledge { facts: input.facts.to_vec(), ..ForgottenKnowledge::default() };
    let (mut lost, mut left): (Vec<&Evidence>, BTreeMap<FactId, Vec<&Evidence>>) = (Vec::new(), BTreeMap::new());
    for e in input.evidence {
        if falls(e) { lost.push(e) } else { left.entry(e.fact).or_default().push(e) }
    }
    let losing: BTreeSet<FactId> = lost.iter().map(|e| e.fact).filter(|fact| !forgotten.contains(fact)).collect();
    for fact in losing.iter().filter_map(|id| others.get(id)) {
        let rest: Vec<Evidence> = left.get(&fact.id).into_iter().flatten().map(|e| (*e).clone()).collect();
        if let Some(fresh) = reweigh(fact, &rest, half_life(input.ontology.get(&fact.relation))) {
            knowledge.changed.push(((*fact).clone(), Fact { updated_at: input.now, ..fresh }));
        } else {
            lost.extend(left.remove(&fact.id).into_iter().flatten());
            knowledge.facts.push((*fact).clone());
        }
    }
    knowledge.evidence = lost.into_iter().cloned().collect();
    let mut kept_mentions = BTreeSet::new();
    for e in left.values().flatten().filter(|e| redacted.contains(&e.message)) {
        if !e.excerpt.as_str().is_empty() {
            knowledge.excerpts.push((*e).clone());
        }
        if let Some(fact) = others.get(&e.fact).filter(|_| e.span.is_some()) {
            kept_mentions.extend([(e.message, fact.subject), (e.message, fact.object)]);
        }
    }
    ForgetOutcome { hidden, redacted, kept_mentions: kept_mentions.into_iter().collect(), knowledge }
}

/// Returns the messages that vanish, and those that are redacted.
fn affected_messages(input: &ForgetInput<'_>, forgotten: &HashSet<FactId>) -> (BTreeSet<MessageId>, BTreeSet<MessageId>) {
    // A row without words only says that the message states a rival.
    let about = || input.evidence.iter().filter(|e| e.span.is_some());
    let states_others: HashSet<MessageId> = about().filter(|e| !forgotten.contains(&e.fact)).map(|e| e.message).collect();
    let stating = about().filter(|e| forgotten.contains(&e.fact)).map(|e| e.message);
    let mut hidden: BTreeSet<MessageId> = input.named.iter().copied().collect();
    let mut redacted = BTreeSet::new();
    for message in stating.chain(input.mentioning.iter().copied()).filter(|m| !input.named.contains(m)) {
        if states_others.contains(&message) {
            redacted.insert(message)
        } else {
            hidden.insert(message)
        };
    }
    (hidden, redacted)
}

/// Facts and evidence to restore, with the present state of what they concern.
#[derive(Debug)]
pub struct RestoreInput<'a> {
    /// What was removed and changed.
    pub knowledge: &'a ForgottenKnowledge,
    /// The messages whose evidence can return: those that still exist.
    pub messages: &'a HashSet<MessageId>,
    /// Where entities went that were merged in the meantime. An entity that is not here does not exist any more.
    pub entities: &'a HashMap<EntityId, EntityId>,
    /// The present facts: those that were changed, and those with the statement of a deleted one.
    pub present: &'a [Fact],
    /// All present evidence of these.
    pub evidence: &'a [Evidence],
    /// The ontology in use.
    pub ontology: &'a Ontology,
    /// Now.
    pub now: Timestamp,
}

/// What undoing a forgetting changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RestoreOutcome {
    /// Facts to write.
    pub facts: Vec<Fact>,
    /// The forgotten facts among them.
    pub restored: Vec<FactId>,
    /// Evidence to insert.
    pub evidence: Vec<Evidence>,
    /// Evidence whose excerpt returns.
    pub excerpts: Vec<Evidence>,
}

/// Plans the undoing of a forgetting.
///
/// What did not change in the meantime becomes exactly what it was. Other facts are re-weighed from all evidence.
pub fn restore(input: &RestoreInput<'_>) -> RestoreOutcome {
    let knowledge = input.knowledge;
    let mut outcome = RestoreOutcome::default();
    // A fact that was stated again in the meantime takes over the evidence of the forgotten one.
    let mut targets: HashMap<FactId, Fact> = HashMap::new();
    for fact in &knowledge.facts {
        let (Some(subject), Some(object)) = (input.entities.get(&fact.subject), input.entities.get(&fact.object)) else { continue };
        if subject == object && fact.value.is_none() {
            continue;
        }
        let moved = Fact { subject: *subject, object: *object, ..fact.clone() };
        let same = |f: &&Fact| f.id == fact.id || f.same_statement(&moved);
        targets.insert(fact.id, input.present.iter().find(same).cloned().unwrap_or(moved));
    }
    for (before, _) in &knowledge.changed {
        if let Some(present) = input.present.iter().find(|f| f.id == before.id) {
            targets.insert(before.id, present.clone());
        }
    }
    for e in knowledge.evidence.iter().filter(|e| input.messages.contains(&e.message)) {
        if let Some(target) = targets.get(&e.fact) {
            outcome.evidence.push(Evidence { fact: target.id, ..e.clone() });
        }
    }
    let present: HashSet<FactId> = input.present.iter().map(|f| f.id).collect();
    outcome.excerpts = knowledge.excerpts.iter().filter(|e| input.messages.contains(&e.message)).cloned().collect();
    let complete = |id: FactId| knowledge.evidence.iter().filter(|e| e.fact == id).all(|e| input.messages.contains(&e.message));
    let mut written: BTreeMap<FactId, Fact> = BTreeMap::new();
    for fact in &knowledge.facts {
        let Some(target) = targets.get(&fact.id) else { continue };
        let unchanged = !present.contains(&target.id) && (target.subject, target.object) == (fact.subject, fact.object);
        let fresh = if unchanged && complete(fact.id) { Some(fact.clone()) } else { weigh_again(target, &outcome.evidence, input) };
        if let Some(fresh) = fresh {
            outcome.restored.push(fresh.id);
            written.insert(fresh.id, fresh);
        }
    }
    for (before, after) in &knowledge.changed {
        let Some(target) = targets.get(&before.id) else { continue };
        let fresh =
            if target == after && complete(before.id) { Some(before.clone()) } else { weigh_again(target, &outcome.evidence, input) };
        written.extend(fresh.map(|f| (f.id, f)));
    }
    outcome.evidence.retain(|e| written.contains_key(&e.fact));
    outcome.facts = written.into_values().collect();
    outcome
}

/// Re-weighs a fact from its present and its returning evidence.
fn weigh_again(fact: &Fact, returning: &[Evidence], input: &RestoreInput<'_>) -> Option<Fact> {
    let mut all: BTreeMap<(MessageId, &'static str), Evidence> = BTreeMap::new();
    for e in input.evidence.iter().chain(returning).filter(|e| e.fact == fact.id) {
        all.entry((e.message, recall_domain::Word::word(e.stance))).or_insert_with(|| e.clone());
    }
    let all: Vec<Evidence> = all.into_values().collect();
    let fresh = reweigh(fact, &all, half_life(input.ontology.get(&fact.relation)))?;
    Some(Fact { updated_at: input.now, ..fresh })
}

/// The changes of one forgetting, or of its undoing, for the event logs.
#[derive(Debug)]
pub struct ChangedMemory<'a> {
    /// The facts, each with its change.
    pub facts: &'a [(Fact, FactChange)],
    /// The sessions with evidence of each fact.
    pub sessions: &'a HashMap<FactId, BTreeSet<SessionId>>,
    /// The messages by session.
    pub messages: &'a BTreeMap<SessionId, Vec<MessageId>>,
    /// Whether the messages return.
    pub restored: bool,
    /// Entities on either side of the facts.
    pub sides: &'a [Entity],
    /// The ontology in use.
    pub ontology: &'a Ontology,
    /// Now.
    pub now: Timestamp,
}

/// Returns the events of each concerned session. Each session gets at least one.
pub fn events(changed: &ChangedMemory<'_>) -> BTreeMap<SessionId, Vec<EventBody>> {
    let names: HashMap<EntityId, &Entity> = changed.sides.iter().map(|e| (e.id, e)).collect();
    let others = PossibleRivals::of(changed.facts.iter().map(|(f, _)| f).filter(|f| f.status == FactStatus::Active));
    let mut events: BTreeMap<SessionId, Vec<EventBody>> = BTreeMap::new();
    for (fact, change) in changed.facts {
        for session in changed.sessions.get(&fact.id).into_iter().flatten().copied() {
            let (ontology, now, change) = (changed.ontology, changed.now, *change);
            let event = FactEvent { session, fact, others: &others, names: &names, ontology, change, message: None, excerpt: None, now };
            events.entry(session).or_default().push(fact_event(event));
        }
    }
    for (session, messages) in changed.messages {
        let body = MessagesChanged { session_id: *session, message_ids: messages.clone() };
        let body = if changed.restored { EventBody::MessageRestored(body) } else { EventBody::MessageForgotten(body) };
        events.entry(*session).or_default().push(body);
    }
    events
}

/// Returns a forgotten fact as its last event and the result of the call show it.
pub fn retracted(fact: &Fact, now: Timestamp) -> Fact {
    Fact { status: FactStatus::Retracted, valid_to: Some(now), updated_at: now, ..fact.clone() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
