//! The mentions of one message: one per name, with what is known of each so far.

use std::collections::HashMap;

use crate::domain::{EntityKey, EntityType, Mention};

use super::mentions::{Named, WEAK};

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
    /// The last person named, for "he" and "she".
    pub(crate) last_person: Option<usize>,
    /// The last other thing named, for "it".
    pub(crate) last_thing: Option<usize>,
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
            self.mentions.len() - 1
        });
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
        if self.mentions[index].entity_type == EntityType::Person {
            self.last_person = Some(index);
        } else if named.proper || named.strength > 0.5 || self.last_thing.is_none() {
            self.last_thing = Some(index);
        }
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
        if let Some(key) = EntityKey::of(&self.mentions[target].name) {
            self.by_key.insert(key, target);
        }
        true
    }

    /// Type and strength of an entry.
    pub(crate) fn kind(&self, index: usize) -> (EntityType, f64) {
        (self.mentions[index].entity_type, self.strengths[index])
    }

    /// Gives an entry the type that a relation asks for.
    pub(crate) fn coerce(&mut self, index: usize, ty: EntityType) {
        if self.strengths[index] < WEAK {
            self.mentions[index].entity_type = ty;
            self.strengths[index] = WEAK;
            self.mentions[index].confidence = confidence(WEAK);
            if ty == EntityType::Person {
                self.last_person = Some(index);
            }
        }
    }
}

/// Strength of a type as confidence of a mention: a listed name is sure, an unknown word is as likely wrong as right.
fn confidence(strength: f64) -> f64 {
    if strength >= 0.9 { 1.0 } else { (0.5 + strength * 0.5).min(1.0) }
}
