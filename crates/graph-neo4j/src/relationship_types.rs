//! The relationship types that become part of statement texts.
//!
//! Cypher takes no parameter for a relationship type, so these names are inserted into the text. They come only from an
//! [`Ontology`], which the operator wrote.

use recall_domain::Ontology;

/// The type of facts whose relation is not in the ontology. The property `relation` then holds it.
const FALLBACK: &str = "FACT";

/// The relationship types that facts may have.
pub(super) struct RelationshipTypes {
    names: Vec<String>,
    any: String,
}

impl RelationshipTypes {
    pub(super) fn of(ontology: &Ontology) -> Self {
        let mut names: Vec<String> = ontology.iter().map(|r| r.name.clone()).filter(|n| is_plain(n)).collect();
        if !names.iter().any(|n| n == FALLBACK) {
            names.push(FALLBACK.to_owned());
        }
        Self { any: names.join("|"), names }
    }

    /// All types.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The type of facts with this relation.
    pub(super) fn of_relation(&self, relation: &str) -> &str {
        self.names.iter().find(|n| *n == relation).map_or(FALLBACK, String::as_str)
    }

    /// A pattern that matches any of the types.
    pub(super) fn any(&self) -> &str {
        &self.any
    }
}

/// Whether a name is safe in the text of a statement.
///
/// The ontology already checks this when it is read. This second check keeps statements safe if the ontology ever allows more.
fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn unknown_relation_never_becomes_a_type() {
        let ontology =
            Ontology::parse("[[relation]]\nname = \"LIKES\"\nphrase = \"likes\"\ndescription = \"Likes.\"\nhalf_life_days = 1.0");
        let types = RelationshipTypes::of(&ontology.unwrap());
        assert_eq!(types.of_relation("LIKES"), "LIKES");
        for hostile in ["likes", "KNOWS", "LIKES]->() DETACH DELETE n //", "A`B", "", "LIKES|KNOWS"] {
            assert_eq!(types.of_relation(hostile), FALLBACK);
            assert!(!is_plain(hostile) || hostile == "KNOWS");
        }
        assert_eq!(types.any(), "LIKES|FACT");
    }
}
