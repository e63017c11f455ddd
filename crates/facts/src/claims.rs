//! The claims of one message: its candidate facts with resolved sides. Pure.

use std::collections::HashSet;

use uuid::Uuid;

use super::{
    message_entities::MessageEntities,
    statement::Statement,
    weigh::{rival_keys, stance_order},
};
use recall_domain::{
    CandidateFact, Entity, EntityId, EntityType, Fact, FactId, FactStatus, Ontology, Party, Polarity, Span, Stance, Timestamp,
    belief::{DROP_BELOW, FLAG_BELOW},
};
use recall_ports::FactKey;

impl MessageEntities {
    fn entity_of(&self, party: Party) -> Option<&Entity> {
        let index = match party {
            Party::Speaker => self.speaker?,
            Party::Mention(m) => *self.mention_entities.get(m)?,
        };
        self.entities.get(index)
    }

    /// Returns the keys of all stored facts that the message may change, rivals included.
    pub(super) fn fact_keys(&self, s: &Statement, ontology: &Ontology) -> Vec<FactKey> {
        let mut keys = Vec::new();
        for c in self.claims(s, ontology) {
            let Some(relation) = ontology.get(&c.relation) else { continue };
            keys.push(FactKey { subject: c.subject, relation: c.relation.clone(), object: Some(c.object) });
            if relation.symmetric {
                keys.push(FactKey { subject: c.object, relation: c.relation.clone(), object: Some(c.subject) });
            }
            keys.extend(rival_keys(&new_fact(&c, s.at, s.at), ontology));
            if relation.successive {
                keys.push(FactKey { subject: c.subject, relation: c.relation.clone(), object: None });
            }
        }
        let mut seen = HashSet::new();
        keys.retain(|k| !(self.fresh.contains(&k.subject) || k.object.is_some_and(|o| self.fresh.contains(&o))) && seen.insert(k.clone()));
        keys
    }

    /// Resolves the sides of the usable candidates. Ends come first; each claim appears once, with its best confidence.
    pub(super) fn claims(&self, s: &Statement, ontology: &Ontology) -> Vec<ResolvedClaim> {
        let mut claims: Vec<ResolvedClaim> = Vec::new();
        for c in &s.extraction.facts {
            let Some(claim) = self.claim(c, ontology) else { continue };
            match claims.iter_mut().find(|o| o.stance == claim.stance && o.relation == claim.relation && o.same_sides(&claim, ontology)) {
                Some(known) if known.confidence >= claim.confidence => {}
                Some(known) => *known = claim,
                None => claims.push(claim),
            }
        }
        claims.sort_by_key(|c| stance_order(c.stance));
        claims
    }

    fn claim(&self, c: &CandidateFact, ontology: &Ontology) -> Option<ResolvedClaim> {
        let relation = ontology.get(&c.relation)?;
        let (subject, object) = (self.entity_of(c.subject)?, self.entity_of(c.object)?);
        let allowed = |types: &[EntityType], e: &Entity| types.is_empty() || types.contains(&e.entity_type);
        let fits = subject.id != object.id && allowed(&relation.subject_types, subject) && allowed(&relation.object_types, object);
        (fits && c.confidence >= DROP_BELOW).then(|| ResolvedClaim {
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

#[derive(Clone, Debug)]
pub(super) struct ResolvedClaim {
    pub(super) subject: EntityId,
    pub(super) relation: String,
    pub(super) object: EntityId,
    pub(super) stance: Stance,
    pub(super) confidence: f64,
    pub(super) span: Span,
}

impl ResolvedClaim {
    fn same_sides(&self, o: &Self, ontology: &Ontology) -> bool {
        let swapped = self.subject == o.object && self.object == o.subject;
        (self.subject == o.subject && self.object == o.object) || (swapped && ontology.get(&self.relation).is_some_and(|r| r.symmetric))
    }

    pub(super) fn matches(&self, f: &Fact, ontology: &Ontology) -> bool {
        let swapped = self.subject == f.object && self.object == f.subject;
        self.relation == f.relation
            && ((self.subject == f.subject && self.object == f.object)
                || (swapped && ontology.get(&self.relation).is_some_and(|r| r.symmetric)))
    }
}

pub(super) fn new_fact(c: &ResolvedClaim, at: Timestamp, now: Timestamp) -> Fact {
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
