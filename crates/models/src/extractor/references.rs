//! Names that a message may mean without containing them: known ones, and those of earlier messages.

use std::collections::HashMap;

use crate::text_search::SearchableText;
use recall_domain::{EntityKey, EntityType};
use recall_ports::{Background, Known};

/// A name from outside the message.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reference {
    /// The name as it is known, or as the earlier message writes it.
    pub(super) name: String,
    /// Its type, if it is known.
    pub(super) entity_type: Option<EntityType>,
}

/// The names that may be referred to.
pub(super) struct References<'a> {
    known: &'a Known,
    by_key: HashMap<EntityKey, usize>,
    /// Earlier messages, the latest first.
    earlier: Vec<SearchableText>,
}

impl<'a> References<'a> {
    pub(super) fn of(background: &'a Background) -> Self {
        let known = background.known.as_ref();
        let mut by_key = HashMap::new();
        // A name precedes an alias of another entity, and the names of the message come first.
        for (i, name) in known.names.iter().enumerate() {
            if let Some(key) = EntityKey::of(&name.name) {
                by_key.entry(key).or_insert(i);
            }
        }
        for (i, name) in known.names.iter().enumerate() {
            for key in name.aliases.iter().filter_map(|a| EntityKey::of(a)) {
                by_key.entry(key).or_insert(i);
            }
        }
        let earlier = background.earlier.iter().rev().map(|m| SearchableText::new(m.text.as_str())).collect();
        Self { known, by_key, earlier }
    }

    /// Finds a name among the known ones and in earlier messages.
    pub(super) fn find(&self, name: &str, key: &EntityKey) -> Option<Reference> {
        if let Some(known) = self.by_key.get(key).and_then(|i| self.known.names.get(*i)) {
            return Some(Reference { name: known.name.clone(), entity_type: Some(known.entity_type) });
        }
        self.earlier.iter().find_map(|text| {
            let span = text.without_determiners(text.find(name)?);
            Some(Reference { name: text.piece(span), entity_type: None })
        })
    }

    /// Returns the known name that a short name stands for: "Tallgrass" for Tallgrass Software.
    ///
    /// Only organizations and projects are shortened in this way, and only one known name may begin so.
    pub(super) fn find_longer(&self, key: &EntityKey, entity_type: Option<EntityType>) -> Option<Reference> {
        let shortened = |t: EntityType| matches!(t, EntityType::Organization | EntityType::Project);
        let entity_type = entity_type.filter(|t| shortened(*t) && !self.by_key.contains_key(key))?;
        let begins = |name: &str| {
            EntityKey::of(name).is_some_and(|k| k.as_str().strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with(' ')))
        };
        let mut longer = self.known.names.iter().filter(|n| n.entity_type == entity_type && begins(&n.name));
        let one = longer.next().filter(|_| longer.next().is_none())?;
        Some(Reference { name: one.name.clone(), entity_type: Some(entity_type) })
    }

    /// Whether a fact between two names holds; `None` stands for the user.
    pub(super) fn holds(&self, subject: Option<&str>, relation: &str, object: Option<&str>) -> bool {
        let same = |known: Option<&str>, name: Option<&str>| match (known, name) {
            (None, None) => true,
            (Some(known), Some(name)) => {
                let key = EntityKey::of(name);
                EntityKey::of(known) == key
                    || key.and_then(|k| self.by_key.get(&k)).and_then(|i| self.known.names.get(*i)).is_some_and(|n| n.name == known)
            }
            _ => false,
        };
        self.known.facts.iter().any(|f| f.relation == relation && same(f.subject.as_deref(), subject) && same(f.object.as_deref(), object))
    }
}
