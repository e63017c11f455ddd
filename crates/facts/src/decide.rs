//! One message's candidates and what is known become a plan. Pure: no I/O, time and ids are arguments.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::{
    claims::{Claim, blank},
    events::{FactEvent, entity_update, fact_event},
    is_rival,
    learn::Statement,
    message_entities::Cast,
    weigh::{apply, decay, half_life},
};
use recall_domain::{
    Entity, EntityId, EventBody, EventDraft, EventId, Evidence, Fact, FactId, FactStatus, Ontology, Stance, Timestamp, UserText,
    event::{EventMention, FactChange, MessageProcessed},
};
use recall_ports::KnowledgeCommit;

/// Longest excerpt kept with evidence, in code points.
const MAX_EXCERPT: usize = 300;

/// What the store knows that bears on a message.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Version of the knowledge that all of this was read at.
    pub(super) version: u64,
    /// Facts found by [`Cast::fact_keys`].
    pub(super) facts: Vec<Fact>,
    /// Facts for which this message counts already.
    pub(super) counted: HashSet<FactId>,
    /// Evidence of those facts; needed only when the message states a fact that is not among them.
    pub(super) evidence: Vec<Evidence>,
    /// Entities on either side of those facts.
    pub(super) entities: Vec<Entity>,
    /// How many facts the message may add, if there is a limit.
    pub(super) room: Option<usize>,
}

/// The plan for one message.
pub(super) fn decide(
    s: &Statement,
    cast: &Cast,
    known: Known,
    ontology: &Ontology,
    ids: &mut dyn FnMut() -> Uuid,
    now: Timestamp,
) -> KnowledgeCommit {
    // A repeated delivery changes nothing: what already counts this message is left alone.
    let (counted, mut room) = (known.counted, known.room);
    let mut board = Board { s, ontology, facts: known.facts, changes: Vec::new(), evidence: Vec::new(), now };
    for claim in cast.claims(s, ontology) {
        let index = match board.facts.iter().position(|f| claim.is(f, ontology)) {
            Some(i) if counted.contains(&board.facts[i].id) => continue,
            Some(i) => i,
            None if room == Some(0) => {
                metrics::counter!("recall_session_limits_reached_total", "of" => "facts").increment(1);
                continue;
            }
            None => {
                room = room.map(|left| left - 1);
                board.open(&claim, &known.evidence, ids)
            }
        };
        board.hear(index, &claim);
        if claim.stance == Stance::Supports {
            board.oppose_rivals(index, &claim, &counted);
        }
    }
    let names: HashMap<EntityId, &Entity> = known.entities.iter().chain(&cast.entities).map(|e| (e.id, e)).collect();
    let facts = board.changes.iter().map(|c| board.facts[c.fact].clone()).collect();
    let mut events: Vec<EventBody> = cast.entities.iter().map(|e| entity_update(s, e, cast.change(e.id))).collect();
    events.extend(board.changes.iter().map(|c| board.fact_update(c, &names)));
    let mentions: Vec<_> = s.extraction.mentions.iter().zip(&cast.of_mention).map(|(m, i)| (cast.entities[*i].id, m.clone())).collect();
    events.push(EventBody::MessageProcessed(MessageProcessed {
        session_id: s.session,
        message_id: s.message,
        kind: s.extraction.kind,
        facts: board.changes.len() as u32,
        entities: cast.entities.iter().filter(|e| !e.is_viewer).count() as u32,
        mentions: s
            .extraction
            .mentions
            .iter()
            .zip(&cast.of_mention)
            .map(|(m, i)| EventMention {
                entity_id: cast.entities[*i].id,
                name: cast.entities[*i].name.clone(),
                entity_type: cast.entities[*i].entity_type,
                start: m.span.start,
                end: m.span.end,
            })
            .collect(),
    }));
    KnowledgeCommit {
        message: Some((s.message, s.extraction.kind, mentions)),
        entities: cast.entities.clone(),
        decisions: cast.decisions.clone(),
        keys: cast.keys.clone(),
        hints: cast.hints.clone(),
        facts,
        evidence: board.evidence,
        events: events.into_iter().map(|body| EventDraft { id: EventId(ids()), body }).collect(),
        ..KnowledgeCommit::empty(known.version, s.session, now)
    }
}

/// The facts in play while one message is weighed.
struct Board<'a> {
    s: &'a Statement,
    ontology: &'a Ontology,
    facts: Vec<Fact>,
    changes: Vec<Change>,
    evidence: Vec<Evidence>,
    now: Timestamp,
}

struct Change {
    fact: usize,
    change: FactChange,
    excerpt: UserText,
    fresh: bool,
}

impl Board<'_> {
    /// A new fact. What supports its rivals speaks against it, as if it had been known before them.
    fn open(&mut self, claim: &Claim, evidence: &[Evidence], ids: &mut dyn FnMut() -> Uuid) -> usize {
        let mut fact = Fact { id: FactId(ids()), ..blank(claim, self.s.at, self.now) };
        let h = half_life(self.ontology.get(&fact.relation));
        let rivals: Vec<&Fact> = self.rivals_of(&fact).map(|i| &self.facts[i]).collect();
        for rival in &rivals {
            fact.weighed_at = fact.weighed_at.max(rival.weighed_at);
        }
        fact.opposition = rivals.iter().map(|r| r.support * decay(r.weighed_at, fact.weighed_at, h)).sum();
        let against: HashSet<FactId> = rivals.iter().map(|r| r.id).collect();
        let id = fact.id;
        let copies: Vec<Evidence> = evidence
            .iter()
            .chain(&self.evidence)
            .filter(|e| e.stance == Stance::Supports && against.contains(&e.fact))
            .map(|e| Evidence { fact: id, stance: Stance::Opposes, span: None, ..e.clone() })
            .collect();
        self.evidence.extend(copies);
        self.facts.push(fact);
        let index = self.facts.len() - 1;
        self.changes.push(Change { fact: index, change: FactChange::Added, excerpt: self.excerpt(claim), fresh: true });
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

    fn hear(&mut self, index: usize, claim: &Claim) {
        let h = half_life(self.ontology.get(&claim.relation));
        let restored = apply(&mut self.facts[index], claim.stance, self.s.at, claim.confidence, h);
        self.facts[index].updated_at = self.now;
        let change = match claim.stance {
            Stance::Supports if restored => FactChange::Restored,
            Stance::Supports => FactChange::Reinforced,
            Stance::Opposes => FactChange::Opposed,
            Stance::Ends => FactChange::Ended,
        };
        self.note(index, change, claim, true);
        self.evidence.push(Evidence {
            fact: self.facts[index].id,
            message: self.s.message,
            session: self.s.session,
            stance: claim.stance,
            confidence: claim.confidence,
            span: Some(claim.span),
            excerpt: self.excerpt(claim),
            created_at: self.s.at,
        });
    }

    fn oppose_rivals(&mut self, index: usize, claim: &Claim, counted: &HashSet<FactId>) {
        let rivals: Vec<usize> = self.rivals_of(&self.facts[index]).filter(|i| !counted.contains(&self.facts[*i].id)).collect();
        for i in rivals {
            // Two rivals in one message are still one message against the third.
            let id = self.facts[i].id;
            if self.evidence.iter().any(|e| e.fact == id && e.stance == Stance::Opposes && e.message == self.s.message) {
                continue;
            }
            let h = half_life(self.ontology.get(&self.facts[i].relation));
            apply(&mut self.facts[i], Stance::Opposes, self.s.at, claim.confidence, h);
            self.facts[i].updated_at = self.now;
            self.note(i, FactChange::Opposed, claim, false);
            self.evidence.push(Evidence {
                fact: self.facts[i].id,
                message: self.s.message,
                session: self.s.session,
                stance: Stance::Opposes,
                confidence: claim.confidence,
                span: None,
                excerpt: self.excerpt(claim),
                created_at: self.s.at,
            });
        }
    }

    /// One event per fact and message: a first statement stays "added", an end outweighs what else happened.
    fn note(&mut self, fact: usize, change: FactChange, claim: &Claim, own: bool) {
        let excerpt = self.excerpt(claim);
        match self.changes.iter_mut().find(|c| c.fact == fact) {
            None => self.changes.push(Change { fact, change, excerpt, fresh: false }),
            Some(c) if c.change == FactChange::Added && change == FactChange::Reinforced => {}
            // The first word on a new fact may be that it is false, or over.
            Some(c) if c.fresh && c.change == FactChange::Added && own => c.change = change,
            Some(c) if change == FactChange::Ended => c.change = change,
            Some(_) => {}
        }
    }

    fn excerpt(&self, claim: &Claim) -> UserText {
        let (start, end) = (claim.span.start as usize, claim.span.end as usize);
        let words: String = self.s.text.as_str().chars().skip(start).take(end.saturating_sub(start).min(MAX_EXCERPT)).collect();
        UserText::from(words)
    }

    fn fact_update(&self, c: &Change, names: &HashMap<EntityId, &Entity>) -> EventBody {
        fact_event(FactEvent {
            session: self.s.session,
            fact: &self.facts[c.fact],
            others: &self.facts,
            names,
            ontology: self.ontology,
            change: c.change,
            message: Some(self.s.message),
            excerpt: Some(c.excerpt.clone()),
            now: self.now,
        })
    }
}
