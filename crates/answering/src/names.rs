//! Finds the names of known entities in a question.

use std::collections::HashSet;

use super::{
    lexicon::{is_answered_by, is_function_word, is_person_noun, is_question_word},
    words::{Word, same_noun, words},
};
use recall_domain::{Entity, EntityId, EntityType, context::RankedFact, names_user};

/// A name in a question.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NameMention {
    /// All entities with this name.
    pub(super) entities: Vec<EntityId>,
    /// Position of the first word, and one past the last.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) possessive: bool,
}

impl NameMention {
    /// Whether any of its words has a capital.
    pub(super) fn is_capital(&self, question: &[Word]) -> bool {
        question.get(self.start..self.end).unwrap_or_default().iter().any(|w| w.capital)
    }
}

/// Returns the names in a question, and marks their words in `taken`.
///
/// Lower tiers match first, and longer names within a tier. A person also has the first name as a name.
pub(super) fn find_names(question: &[Word], known: &[(u8, &Entity)], taken: &mut [bool]) -> Vec<NameMention> {
    let mut all: Vec<(u8, Vec<String>, EntityId)> = Vec::new();
    // "My bosses" is not the one who was told without a name.
    let unnamed: HashSet<EntityId> = known
        .iter()
        .filter(|(_, e)| e.entity_type == EntityType::Person && e.name.starts_with(char::is_lowercase))
        .map(|(_, e)| e.id)
        .collect();
    for &(tier, entity) in known {
        for name in std::iter::once(&entity.name).chain(&entity.aliases) {
            let mut parts: Vec<String> = words(name).into_iter().map(|w| w.plain).collect();
            if parts.len() > 1 && matches!(parts[0].as_str(), "the" | "a" | "an" | "my" | "our") {
                parts.remove(0);
            }
            if entity.entity_type == EntityType::Person && parts.len() > 1 {
                all.push((tier, parts[..1].to_vec(), entity.id));
            }
            // "You" is no name of the viewer.
            if !(entity.is_viewer && parts.first().is_some_and(|w| w == "you" || names_user(w))) {
                all.push((tier, parts, entity.id));
            }
        }
    }
    all.retain(|(_, parts, _)| !parts.is_empty());
    all.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.len().cmp(&a.1.len())).then_with(|| a.1.cmp(&b.1)));
    let mut found: Vec<NameMention> = Vec::new();
    for (_, parts, id) in all {
        for start in 0..(question.len() + 1).saturating_sub(parts.len()) {
            let end = start + parts.len();
            let is_exact = unnamed.contains(&id);
            let is_same = |part: &str, word: &str| part == word || (!is_exact && same_noun(part, word));
            // "Who" at the beginning asks, also if somebody told of the WHO.
            let asks = question.get(start).is_some_and(|first| end - start == 1 && is_question_word(&first.plain) && !first.proper);
            let fits = !asks && parts.iter().zip(&question[start..end]).all(|(part, word)| is_same(part, &word.plain));
            if let Some(there) = found.iter_mut().find(|n| fits && n.start == start && n.end == end) {
                if !there.entities.contains(&id) {
                    there.entities.push(id);
                }
            } else if fits && !taken[start..end].contains(&true) {
                taken[start..end].fill(true);
                found.push(NameMention { entities: vec![id], start, end, possessive: question[end - 1].possessive });
            }
        }
    }
    found
}

/// Of namesakes, keeps those with the role before the name: "my colleague Tom" is not my brother. What was told of them, or their description, has the role
/// before the name.
pub(super) fn keep_meant(question: &[Word], named: &mut [NameMention], facts: &[RankedFact]) {
    for name in named.iter_mut().filter(|name| name.entities.len() > 1) {
        let (Some(role), Some(first)) = (name.start.checked_sub(1).and_then(|i| question.get(i)), question.get(name.start)) else {
            continue;
        };
        if !is_person_noun(&role.plain) || role.possessive {
            continue;
        }
        let is_role = |w: &Word| w.stem == role.stem || is_answered_by(&role.plain, &w.plain);
        let has_role = |id: &EntityId| {
            let of_entity = || facts.iter().filter(|f| f.fact.subject == *id || f.fact.object == *id);
            let said = of_entity()
                .flat_map(|f| &f.evidence)
                .any(|e| words(e.excerpt.as_str()).windows(2).any(|pair| is_role(&pair[0]) && pair[1].plain == first.plain));
            let described =
                || of_entity().flat_map(|f| [&f.subject, &f.object]).filter(|e| e.id == *id).filter_map(|e| e.description.as_deref());
            said || described().any(|text| words(text).iter().any(is_role))
        };
        let meant: Vec<EntityId> = name.entities.iter().copied().filter(has_role).collect();
        if !meant.is_empty() {
            name.entities = meant;
        }
    }
}

/// Extends names by what the texts have beside them: "Velden" to "Velden Shipyard", "Wren" to "Wren the luthier".
pub(super) fn extend_names(question: &[Word], texts: &[Vec<Word>], named: &mut Vec<NameMention>, taken: &mut [bool]) {
    for name in named.iter_mut() {
        while let Some(last) = question.get(name.end - 1).filter(|w| w.capital) {
            let content = |i: usize| question.get(i).filter(|w| !is_function_word(w));
            let follows = |next: &Word| {
                texts.iter().any(|t| t.windows(2).any(|w| w[0].plain == last.plain && w[1].capital && same_noun(&w[1].plain, &next.plain)))
            };
            let described = |next: &Word| {
                texts.iter().any(|t| t.iter().any(|w| w.plain == last.plain) && t.iter().any(|w| same_noun(&w.plain, &next.plain)))
            };
            let end = if content(name.end).is_some_and(|next| next.capital && !taken[name.end] && follows(next)) {
                name.end + 1
            } else if question.get(name.end).is_some_and(|w| w.plain == "the") && content(name.end + 1).is_some_and(described) {
                name.end + 2
            } else {
                break;
            };
            taken[name.end..end].fill(true);
            name.end = end;
            name.possessive = question[end - 1].possessive;
        }
    }
    // "The luthier" may be known as an entity of its own.
    let ranges: Vec<(usize, usize)> = named.iter().map(|n| (n.start, n.end)).collect();
    named.retain(|n| !ranges.iter().any(|(start, end)| *start < n.start && n.end <= *end));
}
