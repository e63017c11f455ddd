//! Finds the antecedent of "she", "they", "it" and "that project".
//!
//! The search goes back sentence by sentence, through the message and then the earlier messages. It stops at the first
//! sentence with a candidate that fits by gender, number and type. If that sentence has two candidates, the pronoun stays
//! unresolved: a wrong fact is worse than a missed one.

use recall_domain::EntityType;

use super::mentions::WEAK;
use super::pronouns::AntecedentKind;
use super::registry::Registry;
use super::steps;

/// How many mentions back the search goes. The bound keeps the work linear in the length of the text.
const NEAR: usize = 64;

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
            AntecedentKind::Person => ty == EntityType::Person && !t.plural,
            AntecedentKind::Plural => t.plural || ty == EntityType::Organization || ty == EntityType::Person && t.gender.is_none(),
            // "it" tells that a name of unknown type is no person.
            AntecedentKind::Thing => {
                let strength = self.type_of(i).1;
                let other = !matches!(ty, EntityType::Person | EntityType::Organization) || self.named[i] && strength < WEAK;
                other && !t.plural && strength > 0.35
            }
            // A company is often listed as its product.
            AntecedentKind::Type(asked) => ty == asked || asked == EntityType::Organization && ty == EntityType::Tool && self.named[i],
        }
    }
}
