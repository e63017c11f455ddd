//! Whom "she", "they", "it" and "that project" mean: somebody named before, and only where exactly one fits.
//!
//! The search goes outward sentence by sentence, through the message and then the messages before it, and stops at the
//! first sentence with somebody that fits by gender, number and type. Where that sentence has two, nobody is meant: a
//! wrong fact costs more than a missed one.

use recall_domain::EntityType;

use super::lexicon::{Group, lexicon};
use super::registry::Registry;
use super::steps;

/// How many mentions back a pronoun may reach. Keeps work linear in the length of the text.
const NEAR: usize = 64;

/// What a pronoun needs to know of a mention.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traits {
    /// Number of the sentence in which it stood last.
    pub(crate) sentence: usize,
    pub(crate) gender: Option<Gender>,
    pub(crate) plural: bool,
    pub(crate) animal: bool,
    /// The one who is spoken to, or the speaker's own name: "she" is neither.
    pub(crate) present: bool,
    /// The last pronoun that meant it, and the number of its sentence.
    pub(crate) referred: Option<(usize, Wanted)>,
    /// Turned out to be the name of another entry.
    pub(crate) absorbed: bool,
    /// Known from a message before this one only.
    pub(crate) earlier: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gender {
    Feminine,
    Masculine,
}

/// The gender that a name or a role shows.
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
pub(crate) enum Wanted {
    One(Gender),
    Several,
    Thing,
    /// "that project"
    Type(EntityType),
}

/// What a word asks for, if it is such a pronoun.
pub(crate) fn wanted(word: &str) -> Option<Wanted> {
    Some(match word {
        "he" | "him" | "his" | "himself" => Wanted::One(Gender::Masculine),
        "she" | "her" | "hers" | "herself" => Wanted::One(Gender::Feminine),
        "they" | "them" | "their" | "theirs" | "themselves" => Wanted::Several,
        "it" | "its" | "itself" => Wanted::Thing,
        _ => return None,
    })
}

/// The type that the noun of "that city" and "this project" asks for.
pub(crate) fn type_of_noun(lemma: &str) -> Option<EntityType> {
    let lex = lexicon();
    match lemma {
        "city" | "town" | "country" | "village" | "place" | "state" | "region" => Some(EntityType::Place),
        "company" | "firm" | "startup" => Some(EntityType::Organization),
        "guy" | "woman" | "man" | "person" | "lady" => Some(EntityType::Person),
        _ => lex.head(lemma).or_else(|| {
            lex.get(lemma).iter().find(|e| e.common && matches!(e.group, Group::Animal | Group::Object)).map(|e| e.group.entity_type())
        }),
    }
}

impl Registry {
    /// Those meant, by their entries; empty when nobody fits or several do. `but` is who it cannot be.
    pub(crate) fn antecedents(&self, wanted: Wanted, but: &[usize]) -> Vec<usize> {
        steps::count(self.mentions.len().min(NEAR));
        let near = self.mentions.len().saturating_sub(NEAR);
        let fitting = (near..self.mentions.len()).filter(|&i| !but.contains(&i) && self.fits(i, wanted)).collect::<Vec<_>>();
        // "they" of two people named together.
        let group = (wanted == Wanted::Several).then(|| self.groups.last()).flatten();
        let last = fitting.iter().map(|&i| self.traits[i].sentence).chain(group.map(|g| g.0)).max();
        let Some(last) = last else { return Vec::new() };
        let mut here: Vec<usize> = fitting.into_iter().filter(|&i| self.traits[i].sentence == last).collect();
        if let Some((_, members)) = group.filter(|g| g.0 == last) {
            here.retain(|i| !members.contains(i));
            return if here.is_empty() { members.clone() } else { Vec::new() };
        }
        if wanted == Wanted::Several && here.iter().any(|&i| self.traits[i].plural) {
            here.retain(|&i| self.traits[i].plural);
        }
        // "I bought a bike in Rome and love it": a place is meant only where nothing else can be.
        if wanted == Wanted::Thing && here.iter().any(|&i| self.mentions[i].entity_type != EntityType::Place) {
            here.retain(|&i| self.mentions[i].entity_type != EntityType::Place);
        }
        if here.len() == 1 { here } else { Vec::new() }
    }

    fn fits(&self, i: usize, wanted: Wanted) -> bool {
        let (t, ty) = (&self.traits[i], self.mentions[i].entity_type);
        // "They hate it": what one pronoun means, another beside it does not.
        let other = t.referred.is_some_and(|(sentence, by)| sentence == self.sentence && by != wanted);
        if t.present || other || t.absorbed {
            return false;
        }
        match wanted {
            Wanted::One(gender) => (ty == EntityType::Person || t.animal) && !t.plural && t.gender.is_none_or(|g| g == gender),
            Wanted::Several => t.plural || ty == EntityType::Organization || ty == EntityType::Person && t.gender.is_none(),
            Wanted::Thing => !matches!(ty, EntityType::Person | EntityType::Organization) && !t.plural && self.kind(i).1 > 0.35,
            // A company is often listed as what it makes.
            Wanted::Type(asked) => ty == asked || asked == EntityType::Organization && ty == EntityType::Tool && self.named[i],
        }
    }
}
