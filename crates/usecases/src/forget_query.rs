//! Finds the facts and messages that the words of a request mean. Precision comes first: too little can be named again.

use std::collections::{BTreeMap, HashSet};

use super::{
    error::UseCaseError,
    forget::{MAX_FORGOTTEN, Target},
    rank::QuestionTerms,
    use_cases::UseCases,
};
use recall_domain::{Caller, Entity, EntityId, EntityKey, Fact, FactStatus, MessageId, Page, names_user};
use recall_ports::MAX_BEARERS;

/// Beginnings that say nothing about what is meant. A beginning before another one that it starts with comes later.
const COMMANDS: &[&str] =
    &["please", "can you", "could you", "would you", "i want you to", "forget", "delete", "remove", "erase", "the fact that", "that"];
/// Beginnings after which a name means everything about what it names.
const EVERYTHING: &[&str] = &[
    "everything that you know about",
    "everything you know about",
    "everything that i told you about",
    "everything i told you about",
    "everything i said about",
    "everything about",
    "anything about",
    "all you know about",
    "all about",
    "what you know about",
    "what i told you about",
    "what i said about",
    "all mentions of",
    "about",
];
/// Most facts loaded per entity.
const FACTS_PER_ENTITY: u32 = 2_000;
/// Most candidates for a part of a name. If there are two, the name is ambiguous.
const MAX_BY_PART: u32 = 2;
/// Messages per page of the mentions of an entity.
const MENTIONS: u32 = 500;

impl UseCases {
    /// Finds the facts and messages that words mean, such as "everything about Oakwood" or "that I have a dog".
    pub(super) async fn target_of_query(&self, caller: &Caller, query: &str) -> Result<Target, UseCaseError> {
        let (words, everything) = strip_command(query);
        if words.is_empty() {
            return Ok(Target::default());
        }
        let asked = QuestionTerms::of(words);
        let named = self.named_entities(caller, &asked).await?;
        let viewer = match asked.first_person && !caller.is_shared() {
            true => self.parts.store.viewer_entity(caller).await?.filter(|v| !named.iter().any(|n| n.id == v.id)),
            false => None,
        };
        let names: Vec<&str> = named.iter().flat_map(|e| std::iter::once(&e.name).chain(&e.aliases)).map(String::as_str).collect();
        let cued = self.cues.asked_for(&asked);
        let only_names = !asked.first_person && cued.is_empty() && self.cues.unexplained(&asked, &cued, &names).is_empty();
        if everything || only_names {
            let about = if names_user(words) { viewer.iter().collect() } else { named.iter().collect::<Vec<_>>() };
            return self.everything_about(caller, &about).await;
        }
        let ids: Vec<EntityId> = named.iter().chain(&viewer).map(|e| e.id).collect();
        if ids.is_empty() {
            return Ok(Target::default());
        }
        let mut facts = self.parts.store.facts_of_entities(caller, &ids, FACTS_PER_ENTITY).await?;
        facts.retain(|f| f.status != FactStatus::Retracted);
        let explained = self.cues.unexplained(&asked, &cued, &names).is_empty();
        Ok(Target { facts: meant(facts, &ids, &cued, explained, &asked), ..Target::default() })
    }

    /// Returns the entities that the words name. Of two names at one place, the longer one counts.
    async fn named_entities(&self, caller: &Caller, asked: &QuestionTerms) -> Result<Vec<Entity>, UseCaseError> {
        let store = &self.parts.store;
        let by_key = store.entities_by_key(caller, &asked.keys).await?;
        let bearers = |key: &EntityKey| by_key.iter().filter(|(k, _)| k == key).count();
        if asked.keys.iter().any(|key| bearers(key) >= MAX_BEARERS as usize) {
            let message = "Too many have this name. Name what is meant by ids, or in other words.";
            return Err(UseCaseError::invalid("TOO_MANY_NAMED", "query", message));
        }
        let keys: HashSet<String> = by_key.iter().map(|(key, _)| key.as_str().to_owned()).collect();
        let is_part = |key: &EntityKey| keys.iter().any(|k| k != key.as_str() && format!(" {k} ").contains(&format!(" {} ", key.as_str())));
        let mut named: BTreeMap<EntityId, Entity> = BTreeMap::new();
        for (_, entity) in by_key.iter().filter(|(key, _)| !is_part(key)) {
            named.insert(entity.id, entity.clone());
        }
        for part in asked.capitals.iter().filter(|part| !keys.iter().any(|k| k.split(' ').any(|word| word == part.as_str()))) {
            let found = store.entities_by_hint(caller, &[part.as_str().to_owned()], MAX_BY_PART).await?;
            if let [(_, entity)] = found.as_slice() {
                named.insert(entity.id, entity.clone());
            }
        }
        Ok(named.into_values().collect())
    }

    /// Finds everything about entities.
    ///
    /// # Errors
    /// `NotFound` for an entity that is not the caller's.
    pub(super) async fn target_of_entities(&self, caller: &Caller, ids: &[EntityId]) -> Result<Target, UseCaseError> {
        if ids.is_empty() {
            return Ok(Target::default());
        }
        let found = self.memory(*caller).entities(ids).await?;
        if ids.iter().any(|id| !found.contains_key(id)) {
            return Err(UseCaseError::NotFound { noun: "entity" });
        }
        // A merged entity is found as the one that it was merged into.
        let about: BTreeMap<EntityId, &Entity> = found.values().map(|entity| (entity.id, entity)).collect();
        self.everything_about(caller, &about.into_values().collect::<Vec<_>>()).await
    }

    /// Returns all facts of entities, and all messages that mention them.
    async fn everything_about(&self, caller: &Caller, entities: &[&Entity]) -> Result<Target, UseCaseError> {
        let store = &self.parts.store;
        let ids: Vec<EntityId> = entities.iter().map(|e| e.id).collect();
        if ids.is_empty() {
            return Ok(Target::default());
        }
        let facts = store.facts_of_entities(caller, &ids, FACTS_PER_ENTITY).await?;
        let mut mentioning: HashSet<MessageId> = HashSet::new();
        for entity in ids {
            let mut page = Page::first(MENTIONS);
            loop {
                let slice = store.list_mentions(caller, entity, &page).await?;
                let last = slice.items.last().map(|(key, _)| key.clone());
                mentioning.extend(slice.items.into_iter().map(|(_, (message, _))| message));
                match last {
                    // More than this is refused later.
                    Some(key) if slice.has_next && mentioning.len() <= MAX_FORGOTTEN => page.after = Some(key),
                    _ => break,
                }
            }
        }
        Ok(Target { facts, mentioning, ..Target::default() })
    }
}

/// Chooses the facts that are meant: both sides are named, or one side and the relation, with no word left over.
fn meant(facts: Vec<Fact>, named: &[EntityId], cued: &HashSet<&str>, explained: bool, asked: &QuestionTerms) -> Vec<Fact> {
    let is_cued = |f: &Fact| cued.contains(f.relation.as_str());
    // A value is named by its words.
    let names_object = |f: &Fact| f.value.as_ref().map_or_else(|| named.contains(&f.object), |v| asked.has_words_of(v.text.as_str()));
    let (both, one): (Vec<Fact>, Vec<Fact>) = facts.into_iter().partition(|f| named.contains(&f.subject) && names_object(f));
    if both.iter().any(is_cued) {
        return both.into_iter().filter(is_cued).collect();
    }
    // With two names and a relation that no fact has, something else is meant.
    if !both.is_empty() || named.len() > 1 || !explained {
        return both;
    }
    one.into_iter().filter(is_cued).collect()
}

/// Removes the command from a request. Returns the rest, and whether everything about it is meant.
fn strip_command(query: &str) -> (&str, bool) {
    let mut rest = query.trim_matches(|c: char| c.is_whitespace() || matches!(c, '.' | '!' | '?' | '"' | '“' | '”' | ','));
    let mut everything = false;
    loop {
        let found = EVERYTHING.iter().map(|b| (b, true)).chain(COMMANDS.iter().map(|b| (b, false)));
        let Some((beginning, all)) = found.into_iter().find(|(b, _)| starts_with_words(rest, b)) else { break };
        everything |= all;
        rest = rest.get(beginning.len()..).unwrap_or_default().trim_start_matches([' ', ',', ':', '\t', '\n']);
    }
    (rest, everything)
}

fn starts_with_words(text: &str, beginning: &str) -> bool {
    let (Some(start), Some(after)) = (text.get(..beginning.len()), text.get(beginning.len()..)) else { return false };
    start.eq_ignore_ascii_case(beginning) && (after.is_empty() || !after.starts_with(|c: char| c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_stripped_from_a_request() {
        assert_eq!(strip_command("Forget everything about Oakwood!"), ("Oakwood", true));
        assert_eq!(strip_command("please, forget that I have a dog."), ("I have a dog", false));
        assert_eq!(strip_command("Forget about my dog"), ("my dog", true));
        assert_eq!(strip_command("my dog"), ("my dog", false));
        assert_eq!(strip_command("Thatcher"), ("Thatcher", false));
        assert_eq!(strip_command("forget"), ("", false));
        assert_eq!(strip_command("Öffne"), ("Öffne", false));
    }
}
