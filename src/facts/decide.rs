//! One message's candidates and what is known become a plan. Pure: no I/O, time and ids are arguments.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::{
    resolve::resolve,
    weigh::{DROP_BELOW, FLAG_BELOW, apply, decay, half_life, is_rival, order, relative_weight, rival_keys, standing},
};
use crate::domain::{
    CandidateFact, Entity, EntityId, EntityKey, EntityType, EventBody, EventDraft, EventId, Evidence, Fact, FactId, FactStatus, Ontology,
    Party, Polarity, Stance, Timestamp, UserText,
    event::{EntityChange, EntityUpdate, EventMention, FactChange, FactUpdate, MessageProcessed, RivalFact},
};
use crate::facts::learn::Statement;
use crate::ports::{FactKey, KnowledgeCommit};

/// Longest excerpt kept with evidence, in code points.
const MAX_EXCERPT: usize = 300;
/// Name of the user's own node until they say who they are.
const VIEWER_NAME: &str = "You";

/// The entities of one message: which known one each mention means, or a new one.
#[derive(Clone, Debug)]
pub struct Cast {
    /// Entities as they will be after the message.
    entities: Vec<Entity>,
    /// Which of them are new.
    fresh: HashSet<EntityId>,
    /// Per mention an index into `entities`.
    of_mention: Vec<usize>,
    /// Whom "I" means, if a fact speaks of them.
    speaker: Option<usize>,
    keys: Vec<(EntityId, EntityKey)>,
}

impl Cast {
    /// Resolves the mentions and the speaker of a message.
    ///
    /// `known` are the entities found by the keys from [`keys_of`].
    pub fn assemble(
        s: &Statement,
        viewer: Option<&Entity>,
        known: &[(EntityKey, Entity)],
        ids: &mut dyn FnMut() -> Uuid,
        now: Timestamp,
    ) -> Self {
        let mut cast = Self { entities: Vec::new(), fresh: HashSet::new(), of_mention: Vec::new(), speaker: None, keys: Vec::new() };
        for mention in &s.extraction.mentions {
            let (name, entity_type) = (mention.name.as_str(), mention.entity_type);
            let index = match resolve(mention, known) {
                Some(e) => cast.known(e),
                None => cast.named(s, name, entity_type, mention.confidence, ids, now),
            };
            let e = &mut cast.entities[index];
            e.confidence = e.confidence.max(mention.confidence);
            if e.description.is_none() {
                e.description.clone_from(&mention.description);
            }
            cast.of_mention.push(index);
        }
        let speaks = s.extraction.facts.iter().any(|f| f.subject == Party::Speaker || f.object == Party::Speaker);
        if speaks {
            cast.speaker = Some(match (&s.speaker, viewer) {
                (Some(name), _) => {
                    let key = EntityKey::of(name);
                    let person = known.iter().find(|(k, e)| Some(k) == key.as_ref() && e.entity_type == EntityType::Person);
                    match person {
                        Some((_, e)) => cast.known(e),
                        None => cast.named(s, name, EntityType::Person, 1.0, ids, now),
                    }
                }
                (None, Some(viewer)) => cast.known(viewer),
                (None, None) => {
                    let index = cast.create(s, VIEWER_NAME, EntityType::Person, 1.0, ids, now);
                    cast.entities[index].is_viewer = true;
                    index
                }
            });
        }
        for e in &mut cast.entities {
            e.mention_count += 1;
            e.updated_at = now;
        }
        cast
    }

    fn known(&mut self, entity: &Entity) -> usize {
        self.entities.iter().position(|e| e.id == entity.id).unwrap_or_else(|| {
            self.entities.push(entity.clone());
            self.entities.len() - 1
        })
    }

    /// The entity of this name among those new in this message, or one more.
    fn named(
        &mut self,
        s: &Statement,
        name: &str,
        entity_type: EntityType,
        confidence: f64,
        ids: &mut dyn FnMut() -> Uuid,
        now: Timestamp,
    ) -> usize {
        let key = EntityKey::of(name);
        let same = self.keys.iter().find(|(_, k)| Some(k) == key.as_ref()).map(|(id, _)| *id);
        if let Some(index) = same.and_then(|id| self.entities.iter().position(|e| e.id == id)) {
            return index;
        }
        let index = self.create(s, name, entity_type, confidence, ids, now);
        if let Some(key) = key {
            self.keys.push((self.entities[index].id, key));
        }
        index
    }

    fn create(
        &mut self,
        s: &Statement,
        name: &str,
        entity_type: EntityType,
        confidence: f64,
        ids: &mut dyn FnMut() -> Uuid,
        now: Timestamp,
    ) -> usize {
        let id = EntityId(ids());
        self.fresh.insert(id);
        self.entities.push(Entity {
            id,
            name: name.to_owned(),
            entity_type,
            aliases: Vec::new(),
            description: None,
            mention_count: 0,
            confidence,
            is_viewer: false,
            first_message: Some(s.message),
            created_at: now,
            updated_at: now,
        });
        self.entities.len() - 1
    }

    fn party(&self, party: Party) -> Option<&Entity> {
        let index = match party {
            Party::Speaker => self.speaker?,
            Party::Mention(m) => *self.of_mention.get(m)?,
        };
        self.entities.get(index)
    }

    /// Patterns of every stored fact that the message may touch, rivals included.
    pub fn fact_keys(&self, s: &Statement, ontology: &Ontology) -> Vec<FactKey> {
        let mut keys = Vec::new();
        for c in self.claims(s, ontology) {
            let Some(relation) = ontology.get(&c.relation) else { continue };
            keys.push(FactKey { subject: c.subject, relation: c.relation.clone(), object: Some(c.object) });
            if relation.symmetric {
                keys.push(FactKey { subject: c.object, relation: c.relation.clone(), object: Some(c.subject) });
            }
            keys.extend(rival_keys(&blank(&c, s.at, s.at), ontology));
        }
        let mut seen = HashSet::new();
        keys.retain(|k| !(self.fresh.contains(&k.subject) || k.object.is_some_and(|o| self.fresh.contains(&o))) && seen.insert(k.clone()));
        keys
    }

    /// The candidates that count, with their sides resolved: ends first, each claim once with its best confidence.
    fn claims(&self, s: &Statement, ontology: &Ontology) -> Vec<Claim> {
        let mut claims: Vec<Claim> = Vec::new();
        for c in &s.extraction.facts {
            let Some(claim) = self.claim(c, ontology) else { continue };
            match claims.iter_mut().find(|o| o.stance == claim.stance && o.relation == claim.relation && o.same_sides(&claim, ontology)) {
                Some(known) if known.confidence >= claim.confidence => {}
                Some(known) => *known = claim,
                None => claims.push(claim),
            }
        }
        claims.sort_by_key(|c| order(c.stance));
        claims
    }

    fn claim(&self, c: &CandidateFact, ontology: &Ontology) -> Option<Claim> {
        let relation = ontology.get(&c.relation)?;
        let (subject, object) = (self.party(c.subject)?, self.party(c.object)?);
        let allowed = |types: &[EntityType], e: &Entity| types.is_empty() || types.contains(&e.entity_type);
        let fits = subject.id != object.id && allowed(&relation.subject_types, subject) && allowed(&relation.object_types, object);
        (fits && c.confidence >= DROP_BELOW).then(|| Claim {
            subject: subject.id,
            relation: c.relation.clone(),
            object: object.id,
            stance: match c.polarity {
                Polarity::Affirmed => Stance::Supports,
                Polarity::Negated => Stance::Opposes,
                Polarity::Ended => Stance::Ends,
            },
            confidence: c.confidence.min(1.0),
            span: c.span,
        })
    }
}

/// Keys under which the entities of a message may be known.
pub fn keys_of(s: &Statement) -> Vec<EntityKey> {
    let names = s.extraction.mentions.iter().map(|m| m.name.as_str()).chain(s.speaker.as_deref());
    let mut keys: Vec<EntityKey> = names.filter_map(EntityKey::of).collect();
    keys.sort();
    keys.dedup();
    keys
}

#[derive(Clone, Debug)]
struct Claim {
    subject: EntityId,
    relation: String,
    object: EntityId,
    stance: Stance,
    confidence: f64,
    span: crate::domain::Span,
}

impl Claim {
    fn same_sides(&self, o: &Self, ontology: &Ontology) -> bool {
        let swapped = self.subject == o.object && self.object == o.subject;
        (self.subject == o.subject && self.object == o.object) || (swapped && ontology.get(&self.relation).is_some_and(|r| r.symmetric))
    }

    fn is(&self, f: &Fact, ontology: &Ontology) -> bool {
        let swapped = self.subject == f.object && self.object == f.subject;
        self.relation == f.relation
            && ((self.subject == f.subject && self.object == f.object)
                || (swapped && ontology.get(&self.relation).is_some_and(|r| r.symmetric)))
    }
}

fn blank(c: &Claim, at: Timestamp, now: Timestamp) -> Fact {
    Fact {
        id: FactId(Uuid::nil()),
        subject: c.subject,
        relation: c.relation.clone(),
        object: c.object,
        support: 0.0,
        opposition: 0.0,
        weighed_at: at,
        status: FactStatus::Active,
        flagged: c.confidence < FLAG_BELOW,
        valid_from: None,
        valid_to: None,
        last_support: None,
        created_at: now,
        updated_at: now,
    }
}

/// What the store knows that bears on a message.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Version of the knowledge that all of this was read at.
    pub version: u64,
    /// Facts found by [`Cast::fact_keys`].
    pub facts: Vec<Fact>,
    /// Evidence of those facts.
    pub evidence: Vec<Evidence>,
    /// Entities on either side of those facts.
    pub entities: Vec<Entity>,
}

/// The plan for one message.
pub fn decide(
    s: &Statement,
    cast: &Cast,
    known: Known,
    ontology: &Ontology,
    ids: &mut dyn FnMut() -> Uuid,
    now: Timestamp,
) -> KnowledgeCommit {
    // A repeated delivery changes nothing: what already counts this message is left alone.
    let counted: HashSet<FactId> = known.evidence.iter().filter(|e| e.message == s.message).map(|e| e.fact).collect();
    let mut board = Board { s, ontology, facts: known.facts, changes: Vec::new(), evidence: Vec::new(), now };
    for claim in cast.claims(s, ontology) {
        let index = match board.facts.iter().position(|f| claim.is(f, ontology)) {
            Some(i) if counted.contains(&board.facts[i].id) => continue,
            Some(i) => i,
            None => board.open(&claim, &known.evidence, ids),
        };
        board.hear(index, &claim);
        if claim.stance == Stance::Supports {
            board.oppose_rivals(index, &claim, &counted);
        }
    }
    let names: HashMap<EntityId, &Entity> = known.entities.iter().chain(&cast.entities).map(|e| (e.id, e)).collect();
    let facts = board.changes.iter().map(|c| board.facts[c.fact].clone()).collect();
    let mut events: Vec<EventBody> = cast.entities.iter().map(|e| entity_update(s, e, cast.fresh.contains(&e.id))).collect();
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
        version: known.version,
        session: s.session,
        message: Some((s.message, s.extraction.kind, mentions)),
        entities: cast.entities.clone(),
        keys: cast.keys.clone(),
        facts,
        evidence: board.evidence,
        merged: Vec::new(),
        dropped_facts: Vec::new(),
        events: events.into_iter().map(|body| EventDraft { id: EventId(ids()), body }).collect(),
        follow_up: None,
        now,
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
        self.note(index, change, claim);
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
            self.note(i, FactChange::Opposed, claim);
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
    fn note(&mut self, fact: usize, change: FactChange, claim: &Claim) {
        let excerpt = self.excerpt(claim);
        match self.changes.iter_mut().find(|c| c.fact == fact) {
            None => self.changes.push(Change { fact, change, excerpt, fresh: false }),
            Some(c) if c.change == FactChange::Added && change == FactChange::Reinforced => {}
            // The first word on a new fact may be that it is false, or over.
            Some(c) if c.fresh && c.change == FactChange::Added => c.change = change,
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

/// What goes into a `fact_update`.
pub(super) struct FactEvent<'a> {
    pub(super) session: crate::domain::SessionId,
    pub(super) fact: &'a Fact,
    pub(super) others: &'a [Fact],
    pub(super) names: &'a HashMap<EntityId, &'a Entity>,
    pub(super) ontology: &'a Ontology,
    pub(super) change: FactChange,
    pub(super) message: Option<crate::domain::MessageId>,
    pub(super) excerpt: Option<UserText>,
    pub(super) now: Timestamp,
}

pub(super) fn fact_event(e: FactEvent<'_>) -> EventBody {
    let phrase = |name: &str| e.ontology.get(name).map_or_else(|| name.to_lowercase().replace('_', " "), |r| r.phrase.clone());
    let name = |id: EntityId| e.names.get(&id).map_or_else(String::new, |n| n.name.clone());
    let s = standing(e.fact, e.ontology.get(&e.fact.relation), e.now);
    let rivals = e
        .others
        .iter()
        .filter(|o| o.id != e.fact.id && o.status == FactStatus::Active && o.support > 0.0 && is_rival(e.fact, o, e.ontology))
        .map(|o| RivalFact {
            fact_id: o.id,
            relation: phrase(&o.relation),
            target: name(o.object),
            relative_weight: relative_weight(o, e.others, e.ontology, e.now),
        })
        .collect();
    EventBody::FactUpdate(FactUpdate {
        session_id: e.session,
        fact_id: e.fact.id,
        entity: name(e.fact.subject),
        entity_id: e.fact.subject,
        relation: phrase(&e.fact.relation),
        relation_name: e.fact.relation.clone(),
        target: name(e.fact.object),
        target_id: e.fact.object,
        weight: s.weight,
        belief: s.belief,
        uncertainty: s.uncertainty,
        relative_weight: relative_weight(e.fact, e.others, e.ontology, e.now),
        status: e.fact.status,
        change: e.change,
        flagged: e.fact.flagged,
        message_id: e.message,
        excerpt: e.excerpt,
        rivals,
    })
}

fn entity_update(s: &Statement, e: &Entity, fresh: bool) -> EventBody {
    EventBody::EntityUpdate(EntityUpdate {
        session_id: s.session,
        entity_id: e.id,
        name: e.name.clone(),
        entity_type: e.entity_type,
        change: if fresh { EntityChange::Added } else { EntityChange::Mentioned },
        mention_count: e.mention_count,
        is_viewer: e.is_viewer,
        message_id: Some(s.message),
        merged_id: None,
    })
}
