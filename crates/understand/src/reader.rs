//! One sentence to facts: who each phrase is, and the book in which facts are entered.

use std::collections::HashMap;

use recall_domain::{CandidateFact, EntityType, Party, Polarity, Span};

use super::cues::{Cues, Rel};
use super::lexicon::{Group, lexicon};
use super::mentions::{self, Named, WEAK};
use super::phrases::{NounPhrase, Owner, Phrases};
use super::pronouns::{self, Wanted};
use super::registry::Registry;
use super::steps;
use super::tokens::Token;

/// A resolved phrase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Speaker,
    /// Entry of the registry, and the list its word stands in.
    Entity(usize, Option<Group>),
}

impl Side {
    pub(crate) fn party(self) -> Party {
        match self {
            Self::Speaker => Party::Speaker,
            Self::Entity(i, _) => Party::Mention(i),
        }
    }
}

/// How a fact is put forward.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub(crate) relation: usize,
    pub(crate) subject: Side,
    pub(crate) object: Side,
    pub(crate) polarity: Polarity,
    pub(crate) confidence: f64,
    /// The cue is so common that both types must be known to fit.
    pub(crate) weak: bool,
    pub(crate) span: Span,
}

/// Below this a fact is not worth keeping; see the thresholds of the fact room.
const LEAST_CONFIDENCE: f64 = 0.5;

/// The facts of one message, each pair and relation once.
#[derive(Default)]
pub(crate) struct FactBook {
    pub(crate) facts: Vec<CandidateFact>,
    place: HashMap<(Party, usize, Party), usize>,
}

impl FactBook {
    fn enter(&mut self, relation: usize, symmetric: bool, fact: CandidateFact) {
        let turned = (fact.object, relation, fact.subject);
        let known = self.place.get(&(fact.subject, relation, fact.object)).or_else(|| self.place.get(&turned).filter(|_| symmetric));
        match known.and_then(|&i| self.facts.get_mut(i)) {
            // A later "no longer" in the same message corrects what stood before it.
            Some(old) if old.polarity == Polarity::Affirmed && fact.polarity != Polarity::Affirmed => *old = fact,
            Some(_) => {}
            None => {
                self.place.insert((fact.subject, relation, fact.object), self.facts.len());
                self.facts.push(fact);
            }
        }
    }
}

/// What is being read, and what was found so far in the message.
pub(crate) struct Reader<'a> {
    pub(crate) cues: &'a Cues,
    pub(crate) tokens: &'a [Token],
    pub(crate) phrases: &'a Phrases,
    pub(crate) registry: &'a mut Registry,
    pub(crate) facts: &'a mut FactBook,
    /// Per noun phrase, who it is.
    pub(crate) sides: Vec<Option<Side>>,
    /// Per noun phrase, who else it is ("they").
    pub(crate) also: Vec<Vec<Side>>,
    /// Per noun phrase, whom "his", "her" and "their" mean in it.
    pub(crate) owners: Vec<Option<Side>>,
    /// Noun phrases that a fact already speaks for ("my boss" in "Katherine is my boss").
    pub(crate) consumed: Vec<bool>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        cues: &'a Cues,
        tokens: &'a [Token],
        phrases: &'a Phrases,
        registry: &'a mut Registry,
        facts: &'a mut FactBook,
    ) -> Self {
        let n = phrases.nouns.len();
        registry.sentence += 1;
        let mut reader = Self {
            cues,
            tokens,
            phrases,
            registry,
            facts,
            sides: vec![None; n],
            also: vec![Vec::new(); n],
            owners: vec![None; n],
            consumed: vec![false; n],
        };
        let apposed: Vec<usize> = phrases.nouns.iter().filter_map(|n| n.apposition).collect();
        let mut order: Vec<usize> = (0..n).filter(|i| !apposed.contains(i)).collect();
        order.sort_by_key(|&i| phrases.nouns[i].start);
        for i in order {
            steps::count(phrases.chunks.len());
            let np = &phrases.nouns[i];
            if np.owner == Owner::Third
                && let Some(d) = np.det
            {
                reader.owners[i] = reader.meant(d).first().copied();
            }
            if np.pronoun && pronouns::wanted(&tokens[np.head].norm).is_some() {
                let mut meant = reader.meant(np.head).into_iter();
                reader.sides[i] = meant.next();
                reader.also[i] = meant.collect();
            } else {
                reader.sides[i] = reader.resolve(np);
                reader.mark_present(np, i);
                reader.mark_same(i);
            }
            reader.remember_group(i);
        }
        reader
    }

    fn resolve(&mut self, np: &NounPhrase) -> Option<Side> {
        let head = &self.tokens[np.head];
        if np.pronoun {
            return match head.norm.as_str() {
                "i" | "me" | "we" | "us" | "myself" | "ourselves" | "mine" | "ours" => Some(Side::Speaker),
                _ => None,
            };
        }
        if np.owner == Owner::Addressee {
            // "Your brother Kofi": the name is worth keeping, what is the addressee's is not ours to say.
            let named = mentions::describe(self.tokens, np, &|w| self.cues.noun(w).is_some()).filter(|n| n.proper);
            if let Some(named) = named {
                self.registry.add(&named, true);
            }
            return None;
        }
        if self.demonstrative(np) {
            // "that car" is the car spoken of.
            let Some(ty) = pronouns::type_of_noun(&head.lemma) else {
                #[cfg(test)]
                self.registry.referred.push(Vec::new());
                return None;
            };
            return self.refer(Wanted::Type(ty), np.head).first().copied();
        }
        let cues = self.cues;
        let named = mentions::describe(self.tokens, np, &|w| cues.noun(w).is_some_and(|c| is_personal(cues, c.relation, c.inverse)));
        let mut named = named?;
        // "Lighthouse, an internal dashboard": what it is called tells its type.
        if let Some(b) = np.apposition
            && named.strength < WEAK
            && let Some(what) = mentions::describe(self.tokens, &self.phrases.nouns[b], &|w| {
                cues.noun(w).is_some_and(|c| is_personal(cues, c.relation, c.inverse))
            })
            && what.strength > WEAK
        {
            named.ty = what.ty;
            named.strength = what.strength;
        }
        let determined = np.det.is_some_and(|d| {
            matches!(self.tokens[d].norm.as_str(), "no" | "every" | "each" | "any" | "another") && named.ty == EntityType::Person
        });
        if determined {
            return None;
        }
        let index = self.registry.add(&named, named.proper)?;
        Some(Side::Entity(index, named.group))
    }

    /// Registers something that is not a noun phrase, such as an activity.
    pub(crate) fn register(&mut self, named: &Named) -> Option<Side> {
        let index = self.registry.add(named, false)?;
        Some(Side::Entity(index, named.group))
    }

    pub(crate) fn kind(&self, side: Side) -> (EntityType, f64) {
        match side {
            Side::Speaker => (EntityType::Person, 1.0),
            Side::Entity(i, _) => self.registry.kind(i),
        }
    }

    /// Whether a phrase names a thing of a list that the relation takes after a possessive.
    pub(crate) fn possessed(&self, rel: &Rel, side: Side) -> bool {
        matches!(side, Side::Entity(_, Some(group)) if rel.possessed.iter().any(|p| p == group.file()))
    }

    /// Enters a fact if types and confidence allow; says whether they did.
    pub(crate) fn claim(&mut self, claim: Claim) -> bool {
        steps::count(1);
        let rel = &self.cues.relations[claim.relation];
        if claim.subject.party() == claim.object.party() {
            return false;
        }
        // Places without a name may be owned, no more.
        if rel.possessed.is_empty()
            && matches!(claim.object, Side::Entity(i, _) if !self.registry.named[i] && lexicon().in_set("generic_places", &self.registry.mentions[i].name.to_lowercase()))
            && rel.object_types.is_empty()
        {
            return false;
        }
        let Some(subject_fit) = self.fit(claim.subject, &rel.subject_types) else { return false };
        let Some(object_fit) = self.fit(claim.object, &rel.object_types) else { return false };
        if claim.weak && !self.strong_enough(rel, &claim) {
            return false;
        }
        let confidence = (claim.confidence * subject_fit * object_fit * 100.0).round() / 100.0;
        if confidence < LEAST_CONFIDENCE {
            return false;
        }
        for (side, types) in [(claim.subject, &rel.subject_types), (claim.object, &rel.object_types)] {
            if let Side::Entity(i, _) = side {
                self.registry.kept[i] = true;
                if let Some(&first) = types.first()
                    && !types.contains(&self.registry.kind(i).0)
                {
                    self.registry.coerce(i, first);
                }
            }
        }
        let fact = CandidateFact {
            subject: claim.subject.party(),
            relation: rel.name.clone(),
            object: claim.object.party(),
            polarity: claim.polarity,
            confidence,
            span: claim.span,
        };
        self.facts.enter(claim.relation, rel.symmetric, fact);
        true
    }

    /// How well a side fits the types a relation allows: 1 when it does, less when its type is a guess, `None` when it does not.
    pub(crate) fn fit(&self, side: Side, types: &[EntityType]) -> Option<f64> {
        let (ty, strength) = self.kind(side);
        if types.is_empty() {
            return Some(if strength < 0.5 { 0.85 } else { 1.0 });
        }
        if types.contains(&ty) {
            return Some(if strength < WEAK { 0.9 } else { 1.0 });
        }
        // A listed name is only what the lists say ("we moved to Discord").
        if let Side::Entity(i, _) = side {
            let listed = lexicon().get(&self.registry.mentions[i].name.to_lowercase());
            let names = || listed.iter().filter(|e| !e.common);
            if names().next().is_some() && !names().any(|e| types.contains(&e.group.entity_type())) {
                return None;
            }
        }
        // A common noun is never made a person ("my code works on my machine").
        let to_person = types.first() == Some(&EntityType::Person);
        let nameless = matches!(side, Side::Entity(i, _) if !self.registry.named[i]);
        (strength < WEAK && !(to_person && nameless)).then_some(0.85)
    }

    fn strong_enough(&self, rel: &Rel, claim: &Claim) -> bool {
        let (ty, strength) = self.kind(claim.object);
        if !rel.possessed.is_empty() {
            return self.possessed(rel, claim.object);
        }
        if rel.weak_names_only && matches!(claim.object, Side::Entity(i, _) if !self.registry.named[i]) {
            return false;
        }
        // With many types allowed, only the first is typical enough for a word like "have".
        let typical = if rel.object_types.len() > 2 { &rel.object_types[..1] } else { &rel.object_types[..] };
        let (_, subject_strength) = self.kind(claim.subject);
        strength >= 0.75 && subject_strength >= WEAK && typical.contains(&ty)
    }

    /// The code points of some tokens.
    pub(crate) fn span(&self, start: usize, end: usize) -> Span {
        mentions::span(self.tokens, start.min(self.tokens.len().saturating_sub(1)), end)
    }
}

/// Whether a noun cue names persons: the other side of the relation, seen from the owner, is a person.
pub(crate) fn is_personal(cues: &Cues, relation: usize, inverse: bool) -> bool {
    let rel = &cues.relations[relation];
    let types = if inverse { &rel.subject_types } else { &rel.object_types };
    types.first() == Some(&EntityType::Person)
}
