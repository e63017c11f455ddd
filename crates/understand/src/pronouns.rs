//! Finds the antecedent of "she", "they", "it" and "that project".
//!
//! The search goes back sentence by sentence, through the message and then the earlier messages. It stops at the first
//! sentence with a candidate that fits by gender, number and type. If that sentence has two candidates, the pronoun stays
//! unresolved: a wrong fact is worse than a missed one.

use recall_domain::EntityType;

use super::lexicon::{WordList, lexicon};
use super::registry::Registry;
use super::steps;

/// How many mentions back the search goes. The bound keeps the work linear in the length of the text.
const NEAR: usize = 64;

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
    role.and_then(of).or_else(|| of(&lower)).or_else(|| of(&super::lemma::noun(&lower))).or_else(|| of(first))
}

/// What a pronoun or a demonstrative asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AntecedentKind {
    Singular(Gender),
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

impl Registry {
    /// Returns the entries that a pronoun refers to; empty if none or several fit. `but` lists excluded entries.
    pub(crate) fn antecedents(&self, antecedent_kind: AntecedentKind, but: &[usize]) -> Vec<usize> {
        steps::count(self.mentions.len().min(NEAR));
        let near = self.mentions.len().saturating_sub(NEAR);
        let fitting = (near..self.mentions.len()).filter(|&i| !but.contains(&i) && self.fits(i, antecedent_kind)).collect::<Vec<_>>();
        // "they" refers to people who were named together.
        let group = (antecedent_kind == AntecedentKind::Plural).then(|| self.groups.last()).flatten();
        let last = fitting.iter().map(|&i| self.traits[i].sentence).chain(group.map(|g| g.0)).max();
        let Some(last) = last else { return Vec::new() };
        let mut here: Vec<usize> = fitting.into_iter().filter(|&i| self.traits[i].sentence == last).collect();
        if let Some((_, members)) = group.filter(|g| g.0 == last) {
            here.retain(|i| !members.contains(i));
            return if here.is_empty() { members.clone() } else { Vec::new() };
        }
        if antecedent_kind == AntecedentKind::Plural && here.iter().any(|&i| self.traits[i].plural) {
            here.retain(|&i| self.traits[i].plural);
        }
        // "I bought a bike in Rome and love it": a place is the antecedent only if nothing else fits.
        if antecedent_kind == AntecedentKind::Thing && here.iter().any(|&i| self.mentions[i].entity_type != EntityType::Place) {
            here.retain(|&i| self.mentions[i].entity_type != EntityType::Place);
        }
        if here.len() == 1 { here } else { Vec::new() }
    }

    fn fits(&self, i: usize, antecedent_kind: AntecedentKind) -> bool {
        let (t, ty) = (&self.traits[i], self.mentions[i].entity_type);
        // "They hate it": two different pronouns of one sentence have different antecedents.
        let other = t.referred.is_some_and(|(sentence, by)| sentence == self.sentence && by != antecedent_kind);
        if t.participant || other || t.absorbed {
            return false;
        }
        match antecedent_kind {
            AntecedentKind::Singular(gender) => (ty == EntityType::Person || t.animal) && !t.plural && t.gender.is_none_or(|g| g == gender),
            AntecedentKind::Plural => t.plural || ty == EntityType::Organization || ty == EntityType::Person && t.gender.is_none(),
            AntecedentKind::Thing => !matches!(ty, EntityType::Person | EntityType::Organization) && !t.plural && self.type_of(i).1 > 0.35,
            // A company is often listed as its product.
            AntecedentKind::Type(asked) => ty == asked || asked == EntityType::Organization && ty == EntityType::Tool && self.named[i],
        }
    }
}
