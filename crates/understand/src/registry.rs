//! The mentions of one message: one per name, with what is known of each so far.

use std::collections::HashMap;

use recall_domain::{EntityKey, EntityType, Mention, Span};

use super::lexicon::Group;
use super::mentions::{Named, WEAK};
use super::pronouns::{Traits, Wanted, gender_of};

/// The mentions of one message, one per name.
#[derive(Default)]
pub(crate) struct Registry {
    pub(crate) mentions: Vec<Mention>,
    strengths: Vec<f64>,
    /// Whether it is a name proper.
    pub(crate) named: Vec<bool>,
    /// Whether a fact or a capital makes it worth keeping.
    pub(crate) kept: Vec<bool>,
    by_key: HashMap<EntityKey, usize>,
    /// What pronouns need to know of each.
    pub(crate) traits: Vec<Traits>,
    /// People named together, with the number of their sentence, for "they".
    pub(crate) groups: Vec<(usize, Vec<usize>)>,
    /// Number of the sentence being read.
    pub(crate) sentence: usize,
    /// Pronouns that nobody in the message fits.
    pub(crate) open: usize,
    /// Whom each pronoun of the message means.
    #[cfg(test)]
    pub(crate) referred: Vec<Vec<usize>>,
}

impl Registry {
    /// The entry for a name, made when new. A stronger guess of its type wins.
    pub(crate) fn add(&mut self, named: &Named, keep: bool) -> Option<usize> {
        let key = EntityKey::of(&named.name)?;
        if !key.as_str().chars().any(char::is_alphanumeric) {
            return None;
        }
        let index = *self.by_key.entry(key).or_insert_with(|| {
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
                animal: named.group == Some(Group::Animal),
                ..Traits::default()
            });
            self.mentions.len() - 1
        });
        let traits = &mut self.traits[index];
        traits.sentence = self.sentence;
        if std::mem::take(&mut traits.earlier) {
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

    /// The last thing or person that goes by a common noun ("a puppy").
    pub(crate) fn last_unnamed(&self) -> Option<usize> {
        (0..self.mentions.len()).rev().take(64).find(|&i| {
            !self.named[i] && matches!(self.mentions[i].entity_type, EntityType::Person | EntityType::Thing) && self.strengths[i] > 0.75
        })
    }

    /// Gives a nameless entry the name of another, which then is nothing of its own.
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
        self.traits[target].earlier = false;
        if let Some(key) = EntityKey::of(&self.mentions[target].name) {
            self.by_key.insert(key, target);
        }
        true
    }

    /// Forgets everything but who was spoken of: what follows is another message.
    pub(crate) fn close_message(&mut self) {
        self.kept.fill(false);
        self.open = 0;
        #[cfg(test)]
        self.referred.clear();
        for t in &mut self.traits {
            t.earlier = true;
        }
    }

    /// A pronoun means this entry: where it comes from an earlier message, the pronoun is where it now stands.
    pub(crate) fn refer(&mut self, index: usize, by: Wanted, span: Span) {
        self.traits[index].referred = Some((self.sentence, by));
        self.traits[index].sentence = self.sentence;
        if std::mem::take(&mut self.traits[index].earlier) {
            self.mentions[index].span = span;
        }
    }

    /// Type and strength of an entry.
    pub(crate) fn kind(&self, index: usize) -> (EntityType, f64) {
        (self.mentions[index].entity_type, self.strengths[index])
    }

    /// "my cats, Milo and Otis": a person's name that is none here.
    pub(crate) fn retype(&mut self, index: usize, ty: EntityType) {
        self.mentions[index].entity_type = ty;
        self.strengths[index] = self.strengths[index].max(WEAK);
    }

    /// Gives an entry the type that a relation asks for.
    pub(crate) fn coerce(&mut self, index: usize, ty: EntityType) {
        if self.strengths[index] < WEAK {
            self.mentions[index].entity_type = ty;
            self.strengths[index] = WEAK;
            self.mentions[index].confidence = confidence(WEAK);
        }
    }
}

/// Strength of a type as confidence of a mention: a listed name is sure, an unknown word is as likely wrong as right.
fn confidence(strength: f64) -> f64 {
    if strength >= 0.9 { 1.0 } else { (0.5 + strength * 0.5).min(1.0) }
}
