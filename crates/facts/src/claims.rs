//! The claims of one message: its candidate facts with resolved sides. Pure.

use std::collections::HashSet;

use uuid::Uuid;

use super::{
    decide::KnownFacts,
    denials::denied_as,
    message_entities::MessageEntities,
    resolve::{cues::NameCues, roles::RoleClass},
    statement::Statement,
    weigh::{rival_keys, stance_order},
};
use recall_domain::{
    CandidateFact, Entity, EntityId, Fact, FactId, FactStatus, FactValue, Ontology, Party, Polarity, PossibleEnd, SaidPeriod, Span, Stance,
    Timestamp,
    belief::{DOCUMENT_SHARE, DROP_BELOW, FLAG_BELOW},
};
use recall_ports::FactKey;

/// Words of a partnership that are no roles.
const OF_PARTNERS: &[&str] = &["dating", "dated", "married", "engaged", "wed", "together"];

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
            let fact = new_fact(&c, s.at, s.at);
            keys.push(FactKey::of(&fact));
            if relation.symmetric {
                keys.push(FactKey { subject: c.object, relation: c.relation.clone(), object: Some(c.subject), value: None });
            }
            keys.extend(rival_keys(&fact, ontology));
            if relation.successive {
                keys.push(FactKey { subject: c.subject, relation: c.relation.clone(), object: None, value: None });
            }
        }
        for (subject, object, end) in self.possible_ends(s) {
            let symmetric = ontology.get(&end.relation).is_some_and(|r| r.symmetric);
            keys.push(FactKey { subject, relation: end.relation.clone(), object, value: None });
            keys.extend(object.filter(|_| symmetric).map(|o| FactKey {
                subject: o,
                relation: end.relation.clone(),
                object: Some(subject),
                value: None,
            }));
        }
        let mut seen = HashSet::new();
        keys.retain(|k| !(self.fresh.contains(&k.subject) || k.object.is_some_and(|o| self.fresh.contains(&o))) && seen.insert(k.clone()));
        keys
    }

    /// Resolves the sides of the usable candidates. Ends come first; each claim appears once, with its best confidence.
    pub(super) fn claims(&self, s: &Statement, ontology: &Ontology) -> Vec<ResolvedClaim> {
        let mut claims: Vec<ResolvedClaim> = Vec::new();
        for c in &s.extraction.facts {
            let Some(mut claim) = self.claim(c, s.at, ontology) else { continue };
            if claim.stance == Stance::Supports {
                claim.stance = denied_as(s.text.as_str(), claim.span).unwrap_or(claim.stance);
            }
            if s.is_of_document() {
                claim.weaken();
            }
            match claims.iter_mut().find(|o| o.stance == claim.stance && o.relation == claim.relation && o.same_sides(&claim, ontology)) {
                Some(known) if known.confidence >= claim.confidence => {}
                Some(known) => *known = claim,
                None => claims.push(claim),
            }
        }
        claims.sort_by_key(|c| stance_order(c.stance));
        claims
    }

    /// Returns the ends that count only if a fact is known, with their sides. A document ends nothing.
    fn possible_ends<'s>(&'s self, s: &'s Statement) -> impl Iterator<Item = (EntityId, Option<EntityId>, &'s PossibleEnd)> {
        s.extraction.possible_ends.iter().filter(move |_| !s.is_of_document()).filter_map(move |end| {
            let object = match end.object {
                Some(object) => Some(self.entity_of(object)?.id),
                None => None,
            };
            Some((self.entity_of(end.subject)?.id, object, end))
        })
    }

    /// Returns claims that end the known facts which the possible ends of the message mean.
    ///
    /// An end with an object also counts if the message itself states the fact: "our dog Rollo died". Without an object, an end means the
    /// only active fact of its subject and relation, or all of them if the relation is functional. Of people, it means the partner of the
    /// speaker; what the message itself states is not meant.
    pub(super) fn meant_ends(
        &self,
        s: &Statement,
        known: &KnownFacts,
        claims: &[ResolvedClaim],
        ontology: &Ontology,
    ) -> Vec<ResolvedClaim> {
        // A partner is described as one, or was told with a word such as "dating".
        let is_partner = |f: &Fact| {
            let entity = known.entities.iter().find(|e| e.id == f.object);
            let role = entity.and_then(|e| NameCues::from_description(e.description.as_deref()).own_role());
            let mut told = known.evidence.iter().filter(|e| e.fact == f.id && e.stance == Stance::Supports);
            role.map_or_else(|| told.any(|e| tells_partner(e.excerpt.as_str())), |r| r.class == RoleClass::Partner)
        };
        let mut meant: Vec<ResolvedClaim> = Vec::new();
        for (subject, object, end) in self.possible_ends(s) {
            let Some(relation) = ontology.get(&end.relation) else { continue };
            let stated = claims
                .iter()
                .find(|c| c.stance == Stance::Supports && c.relation == end.relation && c.subject == subject && Some(c.object) == object);
            if let Some(stated) = stated {
                meant.push(ResolvedClaim { stance: Stance::Ends, confidence: end.confidence.min(1.0), span: end.span, ..stated.clone() });
                continue;
            }
            let sides = |f: &Fact| match object {
                Some(object) => {
                    f.subject == subject && f.object == object || relation.symmetric && f.subject == object && f.object == subject
                }
                None => f.subject == subject && (!relation.symmetric || is_partner(f)),
            };
            let fits = |f: &&Fact| {
                f.relation == end.relation
                    // "He retired" ends what he does, which is a value.
                    && (object.is_none() || f.value.is_none())
                    && f.status == FactStatus::Active
                    && f.last_support.is_some_and(|at| at <= s.at)
                    && sides(f)
                    && !claims.iter().chain(&meant).any(|c| c.matches(f, ontology))
            };
            let facts: Vec<&Fact> = known.facts.iter().filter(fits).collect();
            if facts.len() == 1 || relation.functional {
                let claim = |f: &Fact| ResolvedClaim {
                    subject: f.subject,
                    relation: f.relation.clone(),
                    object: f.object,
                    value: f.value.clone(),
                    stance: Stance::Ends,
                    confidence: end.confidence.min(1.0),
                    span: end.span,
                };
                let ended: Vec<ResolvedClaim> = facts.into_iter().map(claim).collect();
                meant.extend(ended);
            }
        }
        meant
    }

    fn claim(&self, c: &CandidateFact, at: Timestamp, ontology: &Ontology) -> Option<ResolvedClaim> {
        let relation = ontology.get(&c.relation)?;
        let (subject, object) = (self.entity_of(c.subject)?, self.entity_of(c.object)?);
        let value = c.value.as_ref().map(|v| v.resolve(at));
        let fits_object = match &value {
            Some(value) => subject.id == object.id && relation.takes(value) && value.is_valid(),
            None => subject.id != object.id && !relation.has_values(),
        };
        let fits = fits_object && relation.admits(subject.entity_type, object.entity_type);
        (fits && c.confidence >= DROP_BELOW).then(|| ResolvedClaim {
            subject: subject.id,
            relation: c.relation.clone(),
            object: object.id,
            value,
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

/// Whether the words that state a fact are about partners.
fn tells_partner(words: &str) -> bool {
    words.split(|c: char| !c.is_alphabetic()).any(|word| OF_PARTNERS.contains(&word.to_lowercase().as_str()))
}

#[derive(Clone, Debug)]
pub(super) struct ResolvedClaim {
    pub(super) subject: EntityId,
    pub(super) relation: String,
    pub(super) object: EntityId,
    pub(super) value: Option<FactValue>,
    pub(super) stance: Stance,
    pub(super) confidence: f64,
    pub(super) span: Span,
}

impl ResolvedClaim {
    /// Makes it a claim of a document, which counts for less than any statement of a person and ends nothing.
    fn weaken(&mut self) {
        self.confidence *= DOCUMENT_SHARE;
        if self.stance == Stance::Ends {
            self.stance = Stance::Opposes;
        }
    }

    /// Whether both are about the same fact.
    pub(super) fn states_same(&self, o: &Self, ontology: &Ontology) -> bool {
        self.relation == o.relation && self.same_sides(o, ontology)
    }

    fn same_sides(&self, o: &Self, ontology: &Ontology) -> bool {
        let swapped = self.subject == o.object && self.object == o.subject;
        (self.subject == o.subject && self.object == o.object && self.value_key() == o.value_key())
            || (swapped && ontology.get(&self.relation).is_some_and(|r| r.symmetric))
    }

    /// Whether it says of one side what another claim says of it with another object or value.
    pub(super) fn stands_instead_of(&self, o: &Self) -> bool {
        let is_other_value = |(a, b): (&FactValue, &FactValue)| a.same_label(b) && a.key() != b.key();
        let other_value = self.subject == o.subject && self.value.as_ref().zip(o.value.as_ref()).is_some_and(is_other_value);
        self.relation == o.relation && ((self.subject == o.subject) != (self.object == o.object) || other_value)
    }

    fn value_key(&self) -> Option<String> {
        self.value.as_ref().map(FactValue::key)
    }

    pub(super) fn matches(&self, f: &Fact, ontology: &Ontology) -> bool {
        let swapped = self.subject == f.object && self.object == f.subject;
        self.relation == f.relation
            && ((self.subject == f.subject && self.object == f.object && self.value_key() == f.value.as_ref().map(FactValue::key))
                || (swapped && ontology.get(&self.relation).is_some_and(|r| r.symmetric)))
    }
}

pub(super) fn new_fact(c: &ResolvedClaim, at: Timestamp, now: Timestamp) -> Fact {
    Fact {
        id: FactId(Uuid::nil()),
        subject: c.subject,
        relation: c.relation.clone(),
        object: c.object,
        value: c.value.clone(),
        support: 0.0,
        opposition: 0.0,
        weighed_at: at,
        status: FactStatus::Active,
        flagged: c.confidence < FLAG_BELOW,
        valid_from: None,
        valid_to: None,
        said_period: SaidPeriod::default(),
        last_support: None,
        created_at: now,
        updated_at: now,
    }
}
