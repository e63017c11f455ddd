//! Resolves the noun phrases of one sentence and collects its facts.

use std::collections::HashMap;

use recall_domain::{CandidateFact, EntityType, FirstPerson, Party, Polarity, PossibleEnd, PronounForm, Span};

use super::clauses::{Clause, Subject};
use super::cues::{Cues, Rel, is_person_noun};
use super::lexicon::{WordList, lexicon};
use super::mentions::{self, Named, WEAK};
use super::naming::describe;
use super::phrases::{NounPhrase, Phrases, Possessor};
use super::pronouns::{self, AntecedentKind};
use super::registry::Registry;
use super::steps;
use super::tokens::Token;
use super::topic::LeftOut;

/// The referent of a noun phrase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Referent {
    Speaker,
    /// Entry of the registry, and the word list that has the word.
    Entity(usize, Option<WordList>),
}

impl Referent {
    /// Returns the same entity as a member of the word list of another: Pickle of the greyhounds.
    pub(crate) fn with_list(self, of: Self) -> Self {
        match (self, of) {
            (Self::Entity(i, _), Self::Entity(_, list)) => Self::Entity(i, list),
            (referent, _) => referent,
        }
    }

    pub(crate) fn party(self) -> Party {
        match self {
            Self::Speaker => Party::Speaker,
            Self::Entity(i, _) => Party::Mention(i),
        }
    }
}

/// A fact before its types and confidence are checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FactDraft {
    pub(crate) relation: usize,
    pub(crate) subject: Referent,
    pub(crate) object: Referent,
    pub(crate) polarity: Polarity,
    pub(crate) confidence: f64,
    /// The cue is so common that the types of subject and object must be known to fit.
    pub(crate) weak: bool,
    pub(crate) span: Span,
}

/// Certainty of a type that only capital letters show.
const GUESSED: f64 = 0.7;
/// Least confidence of a fact; see the thresholds of the crate `facts`.
const LEAST_CONFIDENCE: f64 = 0.5;

/// The facts of one message, one for each subject, relation and object.
#[derive(Default)]
pub(crate) struct FactSet {
    pub(crate) facts: Vec<CandidateFact>,
    /// Ends that count only if the fact is known.
    pub(crate) possible_ends: Vec<PossibleEnd>,
    /// How many of them have values.
    pub(crate) values: usize,
    /// How many statements are kept as notes.
    pub(crate) notes: usize,
    place: HashMap<(Party, usize, Party), usize>,
}

impl FactSet {
    /// Ends the affirmed facts from a number on.
    pub(crate) fn end_since(&mut self, from: usize) {
        for fact in self.facts.iter_mut().skip(from).filter(|f| f.polarity == Polarity::Affirmed) {
            fact.polarity = Polarity::Ended;
        }
    }

    fn insert(&mut self, relation: usize, symmetric: bool, fact: CandidateFact) {
        let turned = (fact.object, relation, fact.subject);
        let known = self.place.get(&(fact.subject, relation, fact.object)).or_else(|| self.place.get(&turned).filter(|_| symmetric));
        match known.and_then(|&i| self.facts.get_mut(i)) {
            // A later "no longer" in the same message corrects an earlier fact.
            Some(old) if old.polarity == Polarity::Affirmed && fact.polarity != Polarity::Affirmed => *old = fact,
            // "Anna isn't my sister, she's my sister-in-law" denies only one role.
            Some(old) if old.polarity == Polarity::Negated && fact.polarity == Polarity::Affirmed && old.span.start < fact.span.start => {
                *old = fact
            }
            Some(_) => {}
            None => {
                self.place.insert((fact.subject, relation, fact.object), self.facts.len());
                self.facts.push(fact);
            }
        }
    }
}

/// Reads one sentence; holds what was found so far in the message.
pub(crate) struct Reader<'a> {
    pub(crate) cues: &'a Cues,
    pub(crate) tokens: &'a [Token],
    pub(crate) phrases: &'a Phrases,
    pub(crate) registry: &'a mut Registry,
    pub(crate) facts: &'a mut FactSet,
    /// The referent of each noun phrase.
    pub(crate) referents: Vec<Option<Referent>>,
    /// Further referents of each noun phrase ("they").
    pub(crate) other_referents: Vec<Vec<Referent>>,
    /// The referent of "his", "her" or "their" in each noun phrase.
    pub(crate) possessors: Vec<Option<Referent>>,
    /// Noun phrases that a fact already covers ("my boss" in "Katherine is my boss").
    pub(crate) covered: Vec<bool>,
    /// The referents of the subjects that the sentence leaves out; see `topic`.
    pub(crate) left_out: LeftOut,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        cues: &'a Cues,
        tokens: &'a [Token],
        phrases: &'a Phrases,
        registry: &'a mut Registry,
        facts: &'a mut FactSet,
    ) -> Self {
        let n = phrases.nouns.len();
        registry.sentence += 1;
        let mut reader = Self {
            cues,
            tokens,
            phrases,
            registry,
            facts,
            referents: vec![None; n],
            other_referents: vec![Vec::new(); n],
            possessors: vec![None; n],
            covered: vec![false; n],
            left_out: LeftOut::default(),
        };
        let appositives: Vec<usize> = phrases.nouns.iter().filter_map(|n| n.appositive).collect();
        let mut order: Vec<usize> = (0..n).filter(|i| !appositives.contains(i)).collect();
        order.sort_by_key(|&i| phrases.nouns[i].start);
        for i in order {
            steps::count(phrases.chunks.len());
            let np = &phrases.nouns[i];
            if np.possessor == Possessor::ThirdPerson
                && let Some(d) = np.determiner
            {
                reader.possessors[i] = reader.resolve_pronoun(d).first().copied();
            }
            if np.pronoun && pronouns::antecedent_kind(&tokens[np.head].norm).is_some() {
                let mut resolve_pronoun = reader.resolve_pronoun(np.head).into_iter();
                reader.referents[i] = resolve_pronoun.next();
                reader.other_referents[i] = resolve_pronoun.collect();
            } else if np.pronoun && tokens[np.head].is("there") {
                reader.count_unresolved_place(np.head);
            } else {
                reader.referents[i] = reader.resolve(np);
                reader.mark_participant(np, i);
                reader.mark_absorbed(i);
            }
            reader.remember_group(i);
        }
        reader
    }

    /// Returns the referent of a noun phrase that is not a resolvable pronoun.
    fn resolve(&mut self, np: &NounPhrase) -> Option<Referent> {
        let head = &self.tokens[np.head];
        if np.pronoun {
            let speaker = FirstPerson::of(&head.norm).is_some_and(|p| p.form != PronounForm::Determiner);
            return speaker.then_some(Referent::Speaker);
        }
        if np.possessor == Possessor::Addressee {
            // "Your brother Kofi": the name is kept, but facts about the addressee are not.
            let named = describe(self.tokens, np, &|w| self.cues.noun_cue(w).is_some()).filter(|n| n.proper);
            if let Some(named) = named {
                self.registry.add(&named, true);
            }
            return None;
        }
        if self.is_demonstrative(np) {
            // "that car" refers to a car mentioned before.
            let Some(ty) = pronouns::type_of_noun(&head.lemma) else {
                #[cfg(test)]
                self.registry.referred.push(Vec::new());
                return None;
            };
            return self.refer(AntecedentKind::Type(ty), np.head).first().copied();
        }
        let cues = self.cues;
        let named = describe(self.tokens, np, &|w| cues.noun_cue(w).is_some_and(|c| is_personal(cues, c.relation, c.inverse)));
        let mut named = named?;
        // "Lighthouse, an internal dashboard": the appositive gives the type.
        if let Some(b) = np.appositive
            && named.strength < WEAK
            && let Some(what) = describe(self.tokens, &self.phrases.nouns[b], &|w| {
                cues.noun_cue(w).is_some_and(|c| is_personal(cues, c.relation, c.inverse))
            })
            && what.strength > WEAK
        {
            named.ty = what.ty;
            named.strength = what.strength;
        }
        // "Rima (my sister, …)": the appositive gives the role.
        if let Some(b) = np.appositive
            && named.role.is_none()
            && named.ty == EntityType::Person
        {
            let noun = &self.phrases.nouns[b];
            let role = &self.tokens[noun.head];
            let own = noun.possessor == Possessor::Speaker && is_person_noun(&role.lemma);
            named.role = own.then(|| role.lemma.clone());
        }
        let determined = np.determiner.is_some_and(|d| {
            matches!(self.tokens[d].norm.as_str(), "no" | "every" | "each" | "any" | "another") && named.ty == EntityType::Person
        });
        if determined {
            return None;
        }
        // Two capitals in a row of a table are no name: "| Property Value |".
        let is_row = self.phrases.verbs.is_empty() && self.tokens.iter().any(|t| t.is("|"));
        let is_guess = is_row && named.ty == EntityType::Person && named.strength <= GUESSED;
        let index = self.registry.add(&named, named.proper && !is_guess && mentions::is_name(&named.name))?;
        Some(Referent::Entity(index, named.group))
    }

    /// Registers a mention that is not a noun phrase, such as an activity.
    pub(crate) fn register(&mut self, named: &Named) -> Option<Referent> {
        let index = self.registry.add(named, false)?;
        Some(Referent::Entity(index, named.group))
    }

    pub(crate) fn type_of(&self, referent: Referent) -> (EntityType, f64) {
        match referent {
            Referent::Speaker => (EntityType::Person, 1.0),
            Referent::Entity(i, _) => self.registry.type_of(i),
        }
    }

    /// Whether a referent is in a word list that makes a possessive state the relation.
    pub(crate) fn is_possession(&self, rel: &Rel, referent: Referent) -> bool {
        matches!(referent, Referent::Entity(_, Some(group)) if rel.possessed.iter().any(|p| p == group.file()))
    }

    /// Adds a fact if its types and confidence allow it, and returns whether they do.
    pub(crate) fn add_fact(&mut self, add_fact: FactDraft) -> bool {
        steps::count(1);
        let rel = &self.cues.relations[add_fact.relation];
        if add_fact.subject.party() == add_fact.object.party() {
            return false;
        }
        // A place without a name can only be a possession.
        if rel.possessed.is_empty()
            && matches!(add_fact.object, Referent::Entity(i, _) if !self.registry.named[i] && lexicon().in_set("generic_places", &self.registry.mentions[i].name.to_lowercase()))
            && rel.object_types.is_empty()
        {
            return false;
        }
        if rel.names_only && self.lacks_name(rel, &add_fact) {
            return false;
        }
        let fit = self.type_fit(add_fact.subject, &rel.subject_types).zip(self.type_fit(add_fact.object, &rel.object_types));
        let Some((subject_fit, object_fit)) = fit.filter(|_| !add_fact.weak || self.fits_weak_cue(rel, &add_fact)) else {
            // "I'm not in the Trakiyki any more": what they are may be known.
            if add_fact.polarity == Polarity::Ended {
                self.add_end_if_known(&add_fact);
            }
            return false;
        };
        let confidence = (add_fact.confidence * subject_fit * object_fit * 100.0).round() / 100.0;
        if confidence < LEAST_CONFIDENCE {
            return false;
        }
        for (referent, types) in [(add_fact.subject, &rel.subject_types), (add_fact.object, &rel.object_types)] {
            if let Referent::Entity(i, _) = referent {
                self.registry.kept[i] = true;
                if let Some(&first) = types.first()
                    && !types.contains(&self.registry.type_of(i).0)
                {
                    self.registry.coerce(i, first);
                }
            }
        }
        let fact = CandidateFact {
            subject: add_fact.subject.party(),
            relation: rel.name.clone(),
            object: add_fact.object.party(),
            value: None,
            polarity: add_fact.polarity,
            confidence,
            span: add_fact.span,
        };
        self.facts.insert(add_fact.relation, rel.symmetric, fact);
        true
    }

    /// Returns how well a referent fits the types of a relation.
    ///
    /// 1 if it fits, less if its type is a guess, `None` if it does not fit.
    pub(crate) fn type_fit(&self, referent: Referent, types: &[EntityType]) -> Option<f64> {
        let (ty, strength) = self.type_of(referent);
        if types.is_empty() {
            return Some(if strength < 0.5 { 0.85 } else { 1.0 });
        }
        if types.contains(&ty) {
            return Some(if strength < WEAK { 0.9 } else { 1.0 });
        }
        // A museum or a library is a place and employs people.
        if types == [EntityType::Organization]
            && ty == EntityType::Place
            && let Referent::Entity(i, _) = referent
            && let name = self.registry.mentions[i].name.to_lowercase()
            && name.split_whitespace().next_back().is_some_and(|head| lexicon().in_set("institutions", head))
        {
            return Some(0.95);
        }
        // A listed name has only the types of its lists ("we moved to Discord").
        if let Referent::Entity(i, _) = referent {
            let listed = lexicon().get(&self.registry.mentions[i].name.to_lowercase());
            let names = || listed.iter().filter(|e| !e.common);
            if names().next().is_some() && !names().any(|e| types.contains(&e.group.entity_type())) {
                return None;
            }
        }
        // A common noun never becomes a person ("my code works on my machine").
        let to_person = matches!(types.first(), Some(EntityType::Person | EntityType::Place));
        let nameless = matches!(referent, Referent::Entity(i, _) if !self.registry.named[i]);
        (strength < WEAK && !(to_person && nameless)).then_some(0.85)
    }

    /// Whether the other side of a fact has no name although the relation needs one. A known role ("my mum") stands for a name, and so
    /// does a word for a tool or an event.
    fn lacks_name(&self, rel: &Rel, draft: &FactDraft) -> bool {
        let nameless = |referent: Referent| match referent {
            Referent::Entity(i, _) if !self.registry.named[i] => {
                let name = self.registry.mentions[i].name.to_lowercase();
                let other_role = self.cues.noun_cue(&name).is_some_and(|c| self.cues.relations[c.relation].name != rel.name);
                let (ty, strength) = self.type_of(referent);
                let typed = matches!(ty, EntityType::Tool | EntityType::Event) && strength >= WEAK;
                !(typed || rel.symmetric && other_role)
            }
            _ => false,
        };
        nameless(draft.object) || rel.symmetric && nameless(draft.subject)
    }

    fn fits_weak_cue(&self, rel: &Rel, add_fact: &FactDraft) -> bool {
        let (ty, strength) = self.type_of(add_fact.object);
        if !rel.possessed.is_empty() {
            return self.is_possession(rel, add_fact.object);
        }
        if rel.weak_names_only && matches!(add_fact.object, Referent::Entity(i, _) if !self.registry.named[i]) {
            return false;
        }
        // If a relation allows more than two types, a weak cue such as "have" needs the first.
        let typical = if rel.object_types.len() > 2 { &rel.object_types[..1] } else { &rel.object_types[..] };
        let (subject_type, subject_strength) = self.type_of(add_fact.subject);
        // A name of unknown type is a person where only persons fit: "Zeynep is in Utrecht now".
        let person = rel.subject_types == [EntityType::Person] && subject_type == EntityType::Person;
        strength >= 0.75 && (subject_strength >= WEAK || person) && typical.contains(&ty)
    }

    /// Returns the referents of the subject of a clause.
    pub(crate) fn subjects_of(&self, clause: &Clause) -> Vec<Referent> {
        match &clause.subject {
            Subject::Nouns(nouns) => {
                nouns.iter().flat_map(|&n| self.referents[n].into_iter().chain(self.other_referents[n].iter().copied())).collect()
            }
            Subject::Implied => vec![self.left_out.of_any_person],
            Subject::Omitted => self.left_out.of_third_person.into_iter().collect(),
            Subject::Unknown => Vec::new(),
        }
    }

    /// Returns the span of some tokens, in code points.
    pub(crate) fn span(&self, start: usize, end: usize) -> Span {
        mentions::span(self.tokens, start.min(self.tokens.len().saturating_sub(1)), end)
    }
}

/// Whether the relation of a noun cue leads from the possessor to a person.
pub(crate) fn is_personal(cues: &Cues, relation: usize, inverse: bool) -> bool {
    let rel = &cues.relations[relation];
    let types = if inverse { &rel.subject_types } else { &rel.object_types };
    types.first() == Some(&EntityType::Person)
}
