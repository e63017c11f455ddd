//! Collects the mentions of a message: one for each name, with its properties.

use std::collections::{HashMap, hash_map::Entry};

use recall_domain::{EntityKey, EntityType, Mention, Span};

use super::lexicon::WordList;
use super::mentions::{Named, WEAK};
use super::namesakes::are_two_people;
use super::pronouns::{AntecedentKind, Traits, gender_of};
use super::topic::Topic;

/// The mentions of one message, one per name.
#[derive(Default)]
pub(crate) struct Registry {
    pub(crate) mentions: Vec<Mention>,
    strengths: Vec<f64>,
    /// Whether the mention is a proper name.
    pub(crate) named: Vec<bool>,
    /// Whether the mention is part of a fact or a name, so that the extraction keeps it.
    pub(crate) kept: Vec<bool>,
    by_key: HashMap<EntityKey, usize>,
    /// Further entries with a key that has an entry: other people of the same name.
    namesakes: HashMap<EntityKey, Vec<usize>>,
    /// The properties that pronoun resolution needs.
    pub(crate) traits: Vec<Traits>,
    /// Coordinated persons with the number of their sentence, as antecedents of "they".
    pub(crate) groups: Vec<(usize, Vec<usize>)>,
    /// Number of the current sentence.
    pub(crate) sentence: usize,
    /// What the last sentence with a subject is about.
    pub(crate) topic: Topic,
    /// How many pronouns have no antecedent in the message.
    pub(crate) unresolved: usize,
    /// The referents of each pronoun of the message.
    #[cfg(test)]
    pub(crate) referred: Vec<Vec<usize>>,
}

impl Registry {
    /// Returns the entry of a name and makes a new one if needed. The surer type wins.
    pub(crate) fn add(&mut self, named: &Named, keep: bool) -> Option<usize> {
        let key = EntityKey::of(&named.name)?;
        if !key.as_str().chars().any(char::is_alphanumeric) {
            return None;
        }
        let index = self.entry_of(&key, named.role.as_deref()).unwrap_or_else(|| {
            self.mentions.push(Mention {
                name: named.name.clone(),
                entity_type: named.ty,
                span: named.span,
                confidence: confidence(named.strength),
                description: None,
            });
            self.strengths.push(named.strength);
            self.kept.push(false);
            self.named.push(named.proper);
            self.traits.push(Traits {
                gender: gender_of(&named.name, named.role.as_deref()),
                plural: named.plural,
                animal: named.group == Some(WordList::Animal),
                ..Traits::default()
            });
            let index = self.mentions.len() - 1;
            match self.by_key.entry(key) {
                Entry::Vacant(first) => {
                    first.insert(index);
                }
                Entry::Occupied(first) => self.namesakes.entry(first.key().clone()).or_default().push(index),
            }
            index
        });
        let traits = &mut self.traits[index];
        traits.sentence = self.sentence;
        if std::mem::take(&mut traits.from_earlier_message) {
            self.mentions[index].name.clone_from(&named.name);
            self.mentions[index].span = named.span;
        }
        if named.strength > self.strengths[index] {
            self.strengths[index] = named.strength;
            self.mentions[index].entity_type = named.ty;
            self.mentions[index].confidence = confidence(named.strength);
        }
        if named.role.is_some()
            && self.mentions[index].description.is_none()
            && named.role.as_deref() != Some(self.mentions[index].name.to_lowercase().as_str())
        {
            self.mentions[index].description.clone_from(&named.role);
        }
        self.kept[index] |= keep;
        Some(index)
    }

    /// Returns the entry of a name. After "my mum Anna and my daughter Anna", a name alone means neither of them.
    fn entry_of(&self, key: &EntityKey, role: Option<&str>) -> Option<usize> {
        let first = *self.by_key.get(key)?;
        let namesakes = self.namesakes.get(key).map(Vec::as_slice).unwrap_or_default();
        let mut entries = std::iter::once(first).chain(namesakes.iter().copied());
        let description = |i: usize| self.mentions[i].description.as_deref();
        match role {
            Some(role) => entries.find(|&i| !description(i).is_some_and(|known| are_two_people(known, role))),
            None if namesakes.is_empty() => Some(first),
            None => entries.find(|&i| description(i).is_none()),
        }
    }

    /// Returns the last thing or person with a common noun as its name ("a puppy").
    ///
    /// `animate` excludes things that are no animals.
    pub(crate) fn last_unnamed(&self, animate: bool) -> Option<usize> {
        (0..self.mentions.len()).rev().take(64).find(|&i| {
            !self.named[i]
                && (!animate || self.traits[i].animal || self.mentions[i].entity_type == EntityType::Person)
                && matches!(self.mentions[i].entity_type, EntityType::Person | EntityType::Thing)
                && self.strengths[i] > 0.75
        })
    }

    /// Gives an entry without a name the name of another entry, which is then absorbed.
    pub(crate) fn rename(&mut self, target: usize, name: usize) -> bool {
        if target == name || self.named[target] || !self.named[name] {
            return false;
        }
        let role = self.mentions[target].name.clone();
        self.mentions[target].name = self.mentions[name].name.clone();
        self.mentions[target].description.get_or_insert(role);
        self.mentions[target].span = self.mentions[name].span;
        self.named[target] = true;
        self.kept[target] = true;
        self.kept[name] = false;
        self.traits[name].absorbed = true;
        self.traits[target].gender = self.traits[target].gender.or(self.traits[name].gender);
        self.traits[target].sentence = self.sentence;
        self.traits[target].from_earlier_message = false;
        if let Some(key) = EntityKey::of(&self.mentions[target].name) {
            self.by_key.insert(key, target);
        }
        true
    }

    /// Prepares for the next message: keeps the mentions as antecedents only.
    pub(crate) fn close_message(&mut self) {
        self.kept.fill(false);
        self.unresolved = 0;
        #[cfg(test)]
        self.referred.clear();
        for t in &mut self.traits {
            t.from_earlier_message = true;
        }
        self.topic.is_earlier = true;
    }

    /// Records that a pronoun refers to an entry. An entry of an earlier message gets the span of the pronoun.
    pub(crate) fn refer(&mut self, index: usize, by: AntecedentKind, span: Span) {
        self.traits[index].referred = Some((self.sentence, by));
        // "She" confirms that a name of unknown type is a person.
        if let AntecedentKind::Singular(gender) = by
            && self.mentions[index].entity_type == EntityType::Person
        {
            self.traits[index].gender.get_or_insert(gender);
            self.strengths[index] = self.strengths[index].max(WEAK);
        }
        self.mention_again(index, span);
    }

    /// Records that the words at a span mean an entry without its name. An entry of an earlier message gets their span.
    pub(crate) fn mention_again(&mut self, index: usize, span: Span) {
        self.traits[index].sentence = self.sentence;
        if std::mem::take(&mut self.traits[index].from_earlier_message) {
            self.mentions[index].span = span;
        }
    }

    /// Returns the type of an entry and how sure it is.
    pub(crate) fn type_of(&self, index: usize) -> (EntityType, f64) {
        (self.mentions[index].entity_type, self.strengths[index])
    }

    /// Changes the type of a name: in "my cats, Milo and Otis", Milo is not a person.
    pub(crate) fn retype(&mut self, index: usize, ty: EntityType) {
        self.mentions[index].entity_type = ty;
        self.strengths[index] = self.strengths[index].max(WEAK);
    }

    /// Gives an entry with an unsure type the type that a relation requires.
    pub(crate) fn coerce(&mut self, index: usize, ty: EntityType) {
        if self.strengths[index] < WEAK {
            self.mentions[index].entity_type = ty;
            self.strengths[index] = WEAK;
            self.mentions[index].confidence = confidence(WEAK);
        }
    }
}

/// Returns the confidence of a mention from the strength of its type: 1 for a listed name, about one half for a guess.
fn confidence(strength: f64) -> f64 {
    if strength >= 0.9 { 1.0 } else { (0.5 + strength * 0.5).min(1.0) }
}
