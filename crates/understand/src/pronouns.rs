//! Classifies pronouns and the properties by which they find their antecedents.

use recall_domain::EntityType;

use super::lexicon::{WordList, lexicon};
use super::singular::singular;

/// The properties of a mention that decide whether a pronoun can refer to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traits {
    /// Number of the last sentence with this mention.
    pub(crate) sentence: usize,
    pub(crate) gender: Option<Gender>,
    pub(crate) plural: bool,
    pub(crate) animal: bool,
    /// Names the addressee or the speaker, so "she" and "he" do not refer to it.
    pub(crate) participant: bool,
    /// Number of the sentence with the last pronoun that referred to it, and the kind of that pronoun.
    pub(crate) referred: Option<(usize, AntecedentKind)>,
    /// Is another phrase for a different entry, which pronouns refer to instead.
    pub(crate) absorbed: bool,
    /// Occurs in earlier messages only.
    pub(crate) from_earlier_message: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gender {
    Feminine,
    Masculine,
}

/// Returns the gender that a name or a role indicates.
pub(crate) fn gender_of(name: &str, role: Option<&str>) -> Option<Gender> {
    let lower = name.to_lowercase();
    let first = lower.split([' ', '-']).next().unwrap_or_default();
    let of = |word: &str| {
        let (f, m) = (lexicon().in_set("feminine", word), lexicon().in_set("masculine", word));
        match (f, m) {
            (true, false) => Some(Gender::Feminine),
            (false, true) => Some(Gender::Masculine),
            _ => None,
        }
    };
    role.and_then(of).or_else(|| of(&lower)).or_else(|| of(&singular(&lower))).or_else(|| of(first))
}

/// What a pronoun or a demonstrative asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AntecedentKind {
    Singular(Gender),
    /// The omitted subject of "lives in Oslo".
    Person,
    Plural,
    Thing,
    /// "that project"
    Type(EntityType),
}

/// What a word asks for, if it is such a pronoun.
pub(crate) fn antecedent_kind(word: &str) -> Option<AntecedentKind> {
    Some(match word {
        "he" | "him" | "his" | "himself" => AntecedentKind::Singular(Gender::Masculine),
        "she" | "her" | "hers" | "herself" => AntecedentKind::Singular(Gender::Feminine),
        "they" | "them" | "their" | "theirs" | "themselves" => AntecedentKind::Plural,
        "it" | "its" | "itself" => AntecedentKind::Thing,
        _ => return None,
    })
}

/// Returns the entity type of the noun in "that city" and "this project".
pub(crate) fn type_of_noun(lemma: &str) -> Option<EntityType> {
    let lex = lexicon();
    match lemma {
        "city" | "town" | "country" | "village" | "place" | "state" | "region" => Some(EntityType::Place),
        "company" | "firm" | "startup" => Some(EntityType::Organization),
        "guy" | "woman" | "man" | "person" | "lady" => Some(EntityType::Person),
        _ => lex.head(lemma).or_else(|| {
            lex.get(lemma)
                .iter()
                .find(|e| e.common && matches!(e.group, WordList::Animal | WordList::Object))
                .map(|e| e.group.entity_type())
        }),
    }
}
