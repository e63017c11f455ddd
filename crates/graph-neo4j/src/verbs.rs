//! The names that get into the text of statements. Cypher takes no parameter for the type of a relationship, so these are
//! the one place where a statement is put together; only an [`Ontology`], which the operator wrote, can make one.

use recall_domain::Ontology;

/// Type of a fact whose verb is not in the ontology (any more). Its verb is the property `relation`.
const OTHER: &str = "FACT";

/// The types that facts may have.
pub(super) struct Verbs {
    names: Vec<String>,
    any: String,
}

impl Verbs {
    pub(super) fn of(ontology: &Ontology) -> Self {
        let mut names: Vec<String> = ontology.iter().map(|r| r.name.clone()).filter(|n| is_plain(n)).collect();
        if !names.iter().any(|n| n == OTHER) {
            names.push(OTHER.to_owned());
        }
        Self { any: names.join("|"), names }
    }

    /// All types.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The type of facts with this verb.
    pub(super) fn of_relation(&self, relation: &str) -> &str {
        self.names.iter().find(|n| *n == relation).map_or(OTHER, String::as_str)
    }

    /// Any of the types, as a pattern.
    pub(super) fn any(&self) -> &str {
        &self.any
    }
}

/// The ontology has checked this when it was read; here it keeps statements whole, whatever the ontology comes to allow.
fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_that_the_ontology_does_not_know_never_becomes_a_type() {
        let ontology =
            Ontology::parse("[[relation]]\nname = \"LIKES\"\nphrase = \"likes\"\ndescription = \"Likes.\"\nhalf_life_days = 1.0");
        let verbs = Verbs::of(&ontology.unwrap());
        assert_eq!(verbs.of_relation("LIKES"), "LIKES");
        for hostile in ["likes", "KNOWS", "LIKES]->() DETACH DELETE n //", "A`B", "", "LIKES|KNOWS"] {
            assert_eq!(verbs.of_relation(hostile), OTHER);
            assert!(!is_plain(hostile) || hostile == "KNOWS");
        }
        assert_eq!(verbs.any(), "LIKES|FACT");
    }
}
