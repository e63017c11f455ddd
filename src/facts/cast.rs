//! Who and what one message speaks of: its mentions and its speaker as entities, its candidates as claims. Pure.

use std::collections::HashSet;

use uuid::Uuid;

use super::{
    learn::Statement,
    resolve::resolve,
    weigh::{DROP_BELOW, FLAG_BELOW, order, rival_keys},
};
use crate::domain::{
    CandidateFact, Entity, EntityId, EntityKey, EntityType, Fact, FactId, FactStatus, Ontology, Party, Polarity, Span, Stance, Timestamp,
};
use crate::ports::FactKey;

/// Name of the user's own node until they say who they are.
pub(super) const VIEWER_NAME: &str = "You";

/// The entities of one message: which known one each mention means, or a new one.
#[derive(Clone, Debug)]
pub(super) struct Cast {
    /// Entities as they will be after the message.
    pub(super) entities: Vec<Entity>,
    /// Which of them are new.
    pub(super) fresh: HashSet<EntityId>,
    /// Per mention an index into `entities`.
    pub(super) of_mention: Vec<usize>,
    /// Whom "I" means, if a fact speaks of them.
    speaker: Option<usize>,
    pub(super) keys: Vec<(EntityId, EntityKey)>,
}

impl Cast {
    /// Resolves the mentions and the speaker of a message.
    ///
    /// `known` are the entities found by the keys from [`keys_of`].
    pub(super) fn assemble(
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
    pub(super) fn fact_keys(&self, s: &Statement, ontology: &Ontology) -> Vec<FactKey> {
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
    pub(super) fn claims(&self, s: &Statement, ontology: &Ontology) -> Vec<Claim> {
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
pub(super) fn keys_of(s: &Statement) -> Vec<EntityKey> {
    let names = s.extraction.mentions.iter().map(|m| m.name.as_str()).chain(s.speaker.as_deref());
    let mut keys: Vec<EntityKey> = names.filter_map(EntityKey::of).collect();
    keys.sort();
    keys.dedup();
    keys
}

#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) subject: EntityId,
    pub(super) relation: String,
    pub(super) object: EntityId,
    pub(super) stance: Stance,
    pub(super) confidence: f64,
    pub(super) span: Span,
}

impl Claim {
    fn same_sides(&self, o: &Self, ontology: &Ontology) -> bool {
        let swapped = self.subject == o.object && self.object == o.subject;
        (self.subject == o.subject && self.object == o.object) || (swapped && ontology.get(&self.relation).is_some_and(|r| r.symmetric))
    }

    pub(super) fn is(&self, f: &Fact, ontology: &Ontology) -> bool {
        let swapped = self.subject == f.object && self.object == f.subject;
        self.relation == f.relation
            && ((self.subject == f.subject && self.object == f.object)
                || (swapped && ontology.get(&self.relation).is_some_and(|r| r.symmetric)))
    }
}

pub(super) fn blank(c: &Claim, at: Timestamp, now: Timestamp) -> Fact {
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
