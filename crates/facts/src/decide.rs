//! Turns the candidates of one message and the known facts into a plan. Pure: no I/O; time and ids are arguments.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::{
    change_signs::{ChangeSign, adds, change_sign},
    claims::{ResolvedClaim, new_fact},
    events::{FactEvent, PossibleRivals, entity_update, fact_event},
    message_entities::MessageEntities,
    origins,
    said_period::said_period,
    statement::Statement,
    weigh::{apply, is_predecessor, is_rival, keep_period},
};
use recall_domain::{
    Entity, EntityId, EventBody, EventDraft, EventId, Evidence, Fact, FactId, FactStatus, Ontology, SaidPeriod, Stance, Timestamp,
    UserText,
    belief::half_life,
    event::{EventMention, FactChange, MessageProcessed},
};
use recall_ports::KnowledgeCommit;

/// Longest excerpt kept with evidence, in code points.
const MAX_EXCERPT: usize = 300;

/// The stored facts that a message may change, with related data.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownFacts {
    /// Version of the knowledge at which everything here was read.
    pub(super) version: u64,
    /// Facts found by [`MessageEntities::fact_keys`].
    pub(super) facts: Vec<Fact>,
    /// Facts that already have evidence from this message.
    pub(super) counted: HashSet<FactId>,
    /// Evidence of those facts. Needed only if the message states a new fact.
    pub(super) evidence: Vec<Evidence>,
    /// Entities on either side of those facts.
    pub(super) entities: Vec<Entity>,
    /// How many facts the message may still add; `None` without a limit.
    pub(super) fact_budget: Option<usize>,
}

/// Plans the changes of one message.
pub(super) fn decide(
    s: &Statement,
    message_entities: &MessageEntities,
    known: KnownFacts,
    ontology: &Ontology,
    ids: &mut dyn FnMut() -> Uuid,
    now: Timestamp,
) -> KnowledgeCommit {
    let mut claims = message_entities.claims(s, ontology);
    drop_corrected_here(&mut claims, s, ontology);
    let ends = message_entities.meant_ends(s, &known, &claims, ontology);
    // "Our dog Rollo died": the end counts.
    claims.retain(|c| c.stance != Stance::Supports || !ends.iter().any(|end| end.states_same(c, ontology)));
    claims.splice(0..0, ends);
    let origins = origins::origins(&known, ontology);
    origins::drop_outdated_origins(&mut claims, &known, &origins, |c| excerpt_of(s, c), ontology);
    // A repeated delivery changes nothing: facts with evidence from this message are skipped.
    let (counted, mut fact_budget) = (known.counted, known.fact_budget);
    // The denials that retracted a known fact. Claims are ordered, so they come before what is stated.
    let mut retracted: Vec<&ResolvedClaim> = Vec::new();
    let mut planner = Planner { s, ontology, facts: known.facts, origins, changes: Vec::new(), evidence: Vec::new(), now };
    for claim in &claims {
        let index = match planner.facts.iter().position(|f| claim.matches(f, ontology)) {
            Some(i) if counted.contains(&planner.facts[i].id) => continue,
            Some(i) => i,
            None if fact_budget == Some(0) => {
                metrics::counter!("recall_session_limits_reached_total", "of" => "facts").increment(1);
                continue;
            }
            None => {
                fact_budget = fact_budget.map(|left| left - 1);
                planner.add_fact(claim, &known.evidence, ids)
            }
        };
        let corrects = claim.stance == Stance::Opposes && !s.is_of_document() && planner.is_correction(index, claim, &claims);
        planner.apply_claim(index, claim);
        if corrects {
            planner.retract(index, claim);
            retracted.push(claim);
        }
        // What a document says is no objection to what people said.
        if claim.stance == Stance::Supports && !s.is_of_document() {
            // A message that says which known fact was wrong means no other one.
            if !retracted.iter().any(|denied| claim.stands_instead_of(denied)) {
                planner.supersede(index, claim, &counted);
            }
            planner.oppose_rivals(index, claim, &counted);
        }
    }
    let names: HashMap<EntityId, &Entity> = known.entities.iter().chain(&message_entities.entities).map(|e| (e.id, e)).collect();
    let facts = planner.changes.iter().map(|c| planner.facts[c.fact].clone()).collect();
    let mut events: Vec<EventBody> = message_entities.entities.iter().map(|e| entity_update(s, e, message_entities.change(e.id))).collect();
    let others = PossibleRivals::of(&planner.facts);
    events.extend(planner.changes.iter().map(|c| planner.fact_update(c, &others, &names)));
    let mentions: Vec<_> = s
        .extraction
        .mentions
        .iter()
        .zip(&message_entities.mention_entities)
        .map(|(m, i)| (message_entities.entities[*i].id, m.clone()))
        .collect();
    events.push(EventBody::MessageProcessed(MessageProcessed {
        session_id: s.session,
        message_id: s.message,
        kind: s.extraction.kind,
        facts: planner.changes.len() as u32,
        entities: message_entities.entities.iter().filter(|e| !e.is_viewer).count() as u32,
        mentions: s
            .extraction
            .mentions
            .iter()
            .zip(&message_entities.mention_entities)
            .map(|(m, i)| EventMention {
                entity_id: message_entities.entities[*i].id,
                name: message_entities.entities[*i].name.clone(),
                entity_type: message_entities.entities[*i].entity_type,
                start: m.span.start,
                end: m.span.end,
            })
            .collect(),
    }));
    KnowledgeCommit {
        message: Some((s.message, s.extraction.kind, mentions)),
        entities: message_entities.entities.clone(),
        decisions: message_entities.decisions.clone(),
        keys: message_entities.keys.clone(),
        hints: message_entities.hints.clone(),
        facts,
        evidence: planner.evidence,
        events: events.into_iter().map(|body| EventDraft { id: EventId(ids()), body }).collect(),
        ..KnowledgeCommit::empty(known.version, s.session, now)
    }
}

/// Removes claims that a later sentence of the same message corrects: "I love olives. Actually scratch that, I hate them."
fn drop_corrected_here(claims: &mut Vec<ResolvedClaim>, s: &Statement, ontology: &Ontology) {
    let is_statement = |c: &&ResolvedClaim| c.stance == Stance::Supports;
    let stated: Vec<&ResolvedClaim> = claims.iter().filter(is_statement).collect();
    let (right, other): (Vec<_>, Vec<_>) = stated.into_iter().partition(|c| change_sign(s.text.as_str(), c.span) == ChangeSign::Correction);
    let fact = |c: &ResolvedClaim| new_fact(c, s.at, s.at);
    let is_corrected = |c: &&ResolvedClaim| right.iter().any(|r| r.span.start > c.span.start && is_rival(&fact(c), &fact(r), ontology));
    let wrong: Vec<ResolvedClaim> = other.into_iter().filter(is_corrected).cloned().collect();
    claims.retain(|c| c.stance != Stance::Supports || !wrong.iter().any(|w| w.span == c.span && w.states_same(c, ontology)));
}

/// The facts and changes of one message while it is processed.
struct Planner<'a> {
    s: &'a Statement,
    ontology: &'a Ontology,
    facts: Vec<Fact>,
    /// The facts of which only an origin was told: the first statement of a rival that is no origin ends them.
    origins: HashSet<FactId>,
    changes: Vec<PlannedChange>,
    evidence: Vec<Evidence>,
    now: Timestamp,
}

struct PlannedChange {
    fact: usize,
    change: FactChange,
    excerpt: UserText,
    fresh: bool,
}

impl Planner<'_> {
    /// Adds a new fact. The support of its rivals counts against it, as if the fact had existed before them.
    fn add_fact(&mut self, claim: &ResolvedClaim, evidence: &[Evidence], ids: &mut dyn FnMut() -> Uuid) -> usize {
        let mut fact = Fact { id: FactId(ids()), ..new_fact(claim, self.s.at, self.now) };
        let h = half_life(self.ontology.get(&fact.relation));
        let rivals: Vec<&Fact> = self.rivals_of(&fact).map(|i| &self.facts[i]).collect();
        for rival in &rivals {
            fact.weighed_at = fact.weighed_at.max(rival.weighed_at);
        }
        fact.opposition = rivals.iter().map(|r| r.support_at(fact.weighed_at, h)).sum();
        let against: HashSet<FactId> = rivals.iter().map(|r| r.id).collect();
        let id = fact.id;
        let copies: Vec<Evidence> = evidence
            .iter()
            .chain(&self.evidence)
            .filter(|e| e.stance == Stance::Supports && against.contains(&e.fact))
            .map(|e| Evidence { fact: id, stance: Stance::Opposes, span: None, said_period: SaidPeriod::default(), ..e.clone() })
            .collect();
        self.evidence.extend(copies);
        self.facts.push(fact);
        let index = self.facts.len() - 1;
        self.changes.push(PlannedChange { fact: index, change: FactChange::Added, excerpt: self.excerpt(claim), fresh: true });
        index
    }

    fn rivals_of(&self, fact: &Fact) -> impl Iterator<Item = usize> {
        let fact = fact.clone();
        self.facts
            .iter()
            .enumerate()
            .filter(move |(_, o)| o.id != fact.id && o.status == FactStatus::Active && is_rival(&fact, o, self.ontology))
            .map(|(i, _)| i)
    }

    fn apply_claim(&mut self, index: usize, claim: &ResolvedClaim) {
        let h = half_life(self.ontology.get(&claim.relation));
        let restored = apply(&mut self.facts[index], claim.stance, self.s.at, claim.confidence, h);
        let said_period = self.said_period(claim, claim.stance);
        keep_period(&mut self.facts[index], claim.stance, &said_period, restored);
        self.facts[index].updated_at = self.now;
        let change = match claim.stance {
            Stance::Supports if restored => FactChange::Restored,
            Stance::Supports => FactChange::Reinforced,
            Stance::Opposes => FactChange::Opposed,
            Stance::Ends => FactChange::Ended,
        };
        self.record_change(index, change, claim, true);
        self.evidence.push(Evidence {
            fact: self.facts[index].id,
            message: self.s.message,
            session: self.s.session,
            stance: claim.stance,
            confidence: claim.confidence,
            span: Some(claim.span),
            excerpt: self.excerpt(claim),
            said_period,
            created_at: self.s.at,
        });
    }

    fn oppose_rivals(&mut self, index: usize, claim: &ResolvedClaim, counted: &HashSet<FactId>) {
        let rivals: Vec<usize> = self.rivals_of(&self.facts[index]).filter(|i| !counted.contains(&self.facts[*i].id)).collect();
        for i in rivals {
            // If the message states two rivals of this fact, it still opposes the fact only once.
            let id = self.facts[i].id;
            if self.evidence.iter().any(|e| e.fact == id && e.stance == Stance::Opposes && e.message == self.s.message) {
                continue;
            }
            let h = half_life(self.ontology.get(&self.facts[i].relation));
            apply(&mut self.facts[i], Stance::Opposes, self.s.at, claim.confidence, h);
            self.facts[i].updated_at = self.now;
            self.record_change(i, FactChange::Opposed, claim, false);
            self.evidence.push(Evidence {
                fact: self.facts[i].id,
                message: self.s.message,
                session: self.s.session,
                stance: Stance::Opposes,
                confidence: claim.confidence,
                span: None,
                excerpt: self.excerpt(claim),
                said_period: SaidPeriod::default(),
                created_at: self.s.at,
            });
        }
    }

    /// Whether a denial takes back what was stated: the message also states what holds instead, or says that it corrects.
    fn is_correction(&self, index: usize, claim: &ResolvedClaim, claims: &[ResolvedClaim]) -> bool {
        let fact = &self.facts[index];
        let known = fact.status == FactStatus::Active && fact.support > 0.0 && fact.last_support.is_some_and(|at| at <= self.s.at);
        known
            && (claims.iter().any(|c| c.stance == Stance::Supports && c.stands_instead_of(claim))
                || change_sign(self.s.text.as_str(), claim.span) == ChangeSign::Correction)
    }

    /// Retracts a fact that the message takes back.
    fn retract(&mut self, index: usize, claim: &ResolvedClaim) {
        let fact = &mut self.facts[index];
        fact.status = FactStatus::Retracted;
        fact.valid_to = Some(self.s.at);
        self.record_change(index, FactChange::Retracted, claim, false);
    }

    /// Ends or retracts the earlier facts that a new one replaces, if the message says that something changed or was wrong.
    ///
    /// Facts that the same message states stay, and so do those stated later.
    fn supersede(&mut self, index: usize, claim: &ResolvedClaim, counted: &HashSet<FactId>) {
        let text = self.s.text.as_str();
        let (sign, adds) = (change_sign(text, claim.span), adds(text, claim.span));
        let fact = &self.facts[index];
        let is_home = !origins::is_origin(claim, &excerpt_of(self.s, claim), self.ontology);
        let replaced = |o: &Fact| {
            (sign != ChangeSign::None || (is_home && self.origins.contains(&o.id)))
                && o.id != fact.id
                && o.status == FactStatus::Active
                && !counted.contains(&o.id)
                && o.last_support.is_some_and(|at| at <= self.s.at)
                && (is_rival(fact, o, self.ontology) || (!adds && sign != ChangeSign::Denial && is_predecessor(fact, o, self.ontology)))
        };
        let here = |id: FactId| self.evidence.iter().any(|e| e.fact == id && e.message == self.s.message && e.stance == Stance::Supports);
        let old: Vec<usize> = (0..self.facts.len()).filter(|&i| replaced(&self.facts[i]) && !here(self.facts[i].id)).collect();
        if sign == ChangeSign::None && old.is_empty() {
            return;
        }
        for i in old {
            let h = half_life(self.ontology.get(&self.facts[i].relation));
            let stance = if sign == ChangeSign::Correction { Stance::Opposes } else { Stance::Ends };
            apply(&mut self.facts[i], stance, self.s.at, claim.confidence, h);
            // What begins ends what it replaces.
            let said_period = SaidPeriod { from: None, to: self.said_period(claim, claim.stance).from };
            keep_period(&mut self.facts[i], stance, &said_period, false);
            self.facts[i].updated_at = self.now;
            let change = if sign == ChangeSign::Correction { FactChange::Retracted } else { FactChange::Ended };
            if sign == ChangeSign::Correction {
                self.facts[i].status = FactStatus::Retracted;
                self.facts[i].valid_to = Some(self.s.at);
            }
            self.record_change(i, change, claim, false);
            self.evidence.push(Evidence {
                fact: self.facts[i].id,
                message: self.s.message,
                session: self.s.session,
                stance,
                confidence: claim.confidence,
                span: None,
                excerpt: self.excerpt(claim),
                said_period,
                created_at: self.s.at,
            });
        }
        // What has ended no longer speaks against its successor.
        let fresh = self.changes.iter().any(|c| c.fact == index && c.fresh);
        if fresh && self.rivals_of(&self.facts[index]).next().is_none() {
            let id = self.facts[index].id;
            self.facts[index].opposition = 0.0;
            self.evidence.retain(|e| e.fact != id || e.stance != Stance::Opposes);
        }
    }

    /// Records one event per fact and message: a first statement stays "added", and an end replaces other changes.
    fn record_change(&mut self, fact: usize, change: FactChange, claim: &ResolvedClaim, own: bool) {
        let excerpt = self.excerpt(claim);
        match self.changes.iter_mut().find(|c| c.fact == fact) {
            None => self.changes.push(PlannedChange { fact, change, excerpt, fresh: false }),
            Some(c) if c.change == FactChange::Added && change == FactChange::Reinforced => {}
            // The first claim about a new fact may deny or end it.
            Some(c) if c.fresh && c.change == FactChange::Added && own => c.change = change,
            Some(c) if matches!(change, FactChange::Ended | FactChange::Retracted) => c.change = change,
            Some(_) => {}
        }
    }

    /// Returns when a fact began and ended, as the message tells it next to a claim. A document does not tell of when it was read, and a note tells its
    /// dates itself.
    fn said_period(&self, claim: &ResolvedClaim, stance: Stance) -> SaidPeriod {
        match self.ontology.get(&claim.relation) {
            Some(relation) if !relation.notes && !self.s.is_of_document() => {
                said_period(self.s.text.as_str(), claim.span, &relation.beginnings, stance, self.s.at)
            }
            _ => SaidPeriod::default(),
        }
    }

    fn excerpt(&self, claim: &ResolvedClaim) -> UserText {
        UserText::from(excerpt_of(self.s, claim))
    }

    fn fact_update(&self, c: &PlannedChange, others: &PossibleRivals<'_>, names: &HashMap<EntityId, &Entity>) -> EventBody {
        fact_event(FactEvent {
            session: self.s.session,
            fact: &self.facts[c.fact],
            others,
            names,
            ontology: self.ontology,
            change: c.change,
            message: Some(self.s.message),
            excerpt: Some(c.excerpt.clone()),
            now: self.now,
        })
    }
}

/// Returns the words of the message that state a claim.
fn excerpt_of(s: &Statement, claim: &ResolvedClaim) -> String {
    let (start, end) = (claim.span.start as usize, claim.span.end as usize);
    s.text.as_str().chars().skip(start).take(end.saturating_sub(start).min(MAX_EXCERPT)).collect()
}
