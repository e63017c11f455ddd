//! Finds the facts and messages that the words of a request mean. Precision comes first: too little can be named again.

use std::collections::{BTreeMap, HashSet};

use super::{
    error::UseCaseError,
    forget::{MAX_FORGOTTEN, Target},
    forget_command::{after, forget_command, strip_command},
    named_relation::{NamedSide, RequestWords},
    own_things::{owned_noun, tells_own, tells_with, verbs_of},
    rank::QuestionTerms,
    use_cases::UseCases,
};
use recall_domain::{
    Caller, Entity, EntityId, EntityKey, Evidence, Fact, FactId, FactStatus, Message, MessageId, MessageKind, Page, Role, Stance,
    context::{Method, Scope},
    names_user,
};
use recall_ports::{IndexQuery, IndexSources, IndexedDocuments, MAX_BEARERS};
use recall_text::terms;

/// Beginnings that say nothing about what is meant.
const CONJUNCTIONS: &[&str] = &["the fact that", "that"];
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
/// Least words of a request, without common ones, that find messages, and the most messages that they may find.
const MIN_WORDS: usize = 2;
const MAX_SAYING: usize = 5;
/// Messages that are compared with the words of a request.
const MESSAGES_READ: usize = 20;
/// Latest statements of a possession whose words are compared with those of a request.
const STATEMENTS_READ: u32 = 5;
/// Words before the name of a thing that say what it is.
const WORDS_BEFORE_NAME: usize = 4;
/// Messages per page of the mentions of an entity.
const MENTIONS: u32 = 500;

impl UseCases {
    /// Finds the facts and messages that words mean, such as "everything about Oakwood" or "that I have a dog". Passages of documents stay: who
    /// wants a document gone deletes it.
    pub(super) async fn target_of_query(&self, caller: &Caller, query: &str) -> Result<Target, UseCaseError> {
        let (words, everything) = words_meant(query);
        let meant = self.meant_by_query(caller, words, everything).await?;
        let mut target = self.without_documents(caller, meant).await?;
        // What a message says of something has its words, if it was not understood as a name.
        if everything && target.is_empty() {
            let said = self.messages_with_words(caller, words, &[], everything).await?;
            target = Target { is_in_documents: target.is_in_documents, ..said };
        }
        Ok(target)
    }

    async fn meant_by_query(&self, caller: &Caller, words: &str, everything: bool) -> Result<Target, UseCaseError> {
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
        // "My sister's birthday" is not mine, and nobody's whose role is a word of it.
        if is_of_someone_else(words, &names) {
            return self.messages_with_words(caller, words, &names, false).await;
        }
        let left_over = self.cues.unexplained(&asked, &cued, &names);
        let is_meant = |e: &&Entity| !std::iter::once(&e.name).chain(&e.aliases).any(|name| begins_compound(words, name, &left_over));
        let ids: Vec<EntityId> = named.iter().filter(is_meant).chain(&viewer).map(|e| e.id).collect();
        let mut facts = self.parts.store.facts_of_entities(caller, &ids, FACTS_PER_ENTITY).await?;
        facts.retain(|f| f.status != FactStatus::Retracted);
        let (both, one): (Vec<Fact>, Vec<Fact>) = facts.into_iter().partition(|f| names_both(f, &ids, &asked));
        if !both.is_empty() {
            return Ok(Target { facts: with_relation(both, &cued), ..Target::default() });
        }
        let is_own = |f: &&Fact| viewer.as_ref().is_some_and(|v| f.subject == v.id) && self.is_possession(f);
        let possessions: Vec<Fact> = one.iter().filter(is_own).cloned().collect();
        // In "Anna's boss", the role may be that of somebody else's boss.
        let is_spoken = |id: &&EntityId| !named.iter().any(|e| e.id == **id && !is_spoken(words, e));
        let spoken: Vec<EntityId> = ids.iter().filter(is_spoken).copied().collect();
        if let [named] = spoken[..] {
            let facts = self.facts_with_meant_relation(one, named, words, &asked, &names);
            if !facts.is_empty() {
                return Ok(Target { facts, ..Target::default() });
            }
        }
        let facts = self.facts_told_with(caller, possessions, &self.cues.unexplained(&asked, &cued, &[])).await?;
        if !facts.is_empty() {
            return Ok(Target { facts, ..Target::default() });
        }
        self.messages_with_words(caller, words, &names, false).await
    }

    /// Chooses the facts of the entity whose relation the request means, if it has no word besides.
    fn facts_with_meant_relation(
        &self,
        facts: Vec<Fact>,
        named: EntityId,
        words: &str,
        asked: &QuestionTerms,
        names: &[&str],
    ) -> Vec<Fact> {
        let request = RequestWords::of(words);
        let is_meant = |f: &Fact| {
            let Some(relation) = self.parts.ontology.get(&f.relation) else { return false };
            let label = f.value.as_ref().and_then(|v| v.label.as_ref()).map(|label| label.as_str());
            let is_side = match request.side_of(relation) {
                Some(NamedSide::Subject) => f.subject == named,
                Some(NamedSide::Object) => f.object_entity() == Some(named),
                Some(NamedSide::Either) => true,
                None => false,
            };
            is_side && request.means_measure(relation, label)
        };
        let meant: Vec<Fact> = facts.into_iter().filter(is_meant).collect();
        let relations: HashSet<&str> = meant.iter().map(|f| f.relation.as_str()).collect();
        if self.cues.unexplained(asked, &relations, names).is_empty() { meant } else { Vec::new() }
    }

    /// Whether the relation of a fact is that of an owner: "my dog" means what such a fact is about.
    pub(super) fn is_possession(&self, fact: &Fact) -> bool {
        self.parts.ontology.get(&fact.relation).is_some_and(|r| !r.cues.possessed.is_empty()) && fact.object_entity().is_some()
    }

    /// Chooses the facts whose object was told with all these words just before its name: "a dog called Rex" for "my dog".
    async fn facts_told_with(&self, caller: &Caller, facts: Vec<Fact>, wanted: &HashSet<&str>) -> Result<Vec<Fact>, UseCaseError> {
        if wanted.is_empty() || facts.is_empty() {
            return Ok(Vec::new());
        }
        let store = &self.parts.store;
        let ids: Vec<FactId> = facts.iter().map(|f| f.id).collect();
        let objects: Vec<EntityId> = facts.iter().map(|f| f.object).collect();
        let evidence = store.evidence_of(caller, &ids, STATEMENTS_READ).await?;
        let objects = store.entities_by_id(caller, &objects).await?;
        let messages: Vec<MessageId> = evidence.iter().map(|e| e.message).collect();
        let messages = store.messages_by_id(caller, &messages).await?;
        let is_told = |f: &Fact| {
            let name = objects.iter().find(|e| e.id == f.object).map(|e| e.name.to_lowercase());
            let of_fact = evidence.iter().filter(|e| e.fact == f.id && e.stance == Stance::Supports);
            let mut texts = of_fact.filter_map(|e| messages.iter().find(|m| m.id == e.message)).map(|m| m.text.as_str());
            name.is_some_and(|name| texts.any(|text| is_told_before(text, &name, wanted)))
        };
        Ok(facts.into_iter().filter(is_told).collect())
    }

    /// Finds the user's messages that say what the request says, of which no fact was understood: "my locker code". One word is enough if it is what
    /// everything is `about`.
    async fn messages_with_words(&self, caller: &Caller, words: &str, names: &[&str], about: bool) -> Result<Target, UseCaseError> {
        let is_name = |term: &String| names.iter().any(|name| terms(name).iter().any(|(t, _)| t == term));
        let wanted: Vec<String> = terms(words).into_iter().map(|(term, _)| term).collect();
        // Who names a relation of somebody means a fact, and a message with the same words may say something else.
        let request = RequestWords::of(words);
        let names_relation = !names.is_empty() && self.parts.ontology.iter().filter(|r| !r.notes).any(|r| request.side_of(r).is_some());
        // "My address" means what "my address is" tells, but a single other word says too little.
        let owned = (wanted.len() < MIN_WORDS && !about).then(|| owned_noun(words)).flatten();
        let says_enough = wanted.len() >= MIN_WORDS || owned.is_some() || about && !wanted.is_empty();
        if !says_enough || wanted.iter().all(is_name) || names_relation || request.asks() {
            return Ok(Target::default());
        }
        let verbs = owned.as_deref().map_or(&[][..], verbs_of);
        let query = IndexQuery {
            text: [&[words], verbs].concat().join(" ").as_str().into(),
            embedding: None,
            model: self.parts.index.model(caller),
            scope: Scope::User,
            first: MESSAGES_READ,
            methods: vec![Method::Keyword],
            sources: IndexSources { messages: true, documents: IndexedDocuments::None },
            until: None,
            exclude: None,
            second: None,
            boosts: Vec::new(),
        };
        let hits: Vec<MessageId> = self.parts.index.search(caller, &query).await?.hits.into_iter().map(|hit| hit.message).collect();
        let says = |m: &Message| {
            let said: HashSet<String> = terms(m.text.as_str()).into_iter().map(|(term, _)| term).collect();
            // "Rose" is not in "Prices rose".
            let has_names =
                !about || words.split_whitespace().filter(|w| w.starts_with(char::is_uppercase)).all(|name| m.text.as_str().contains(name));
            let same = has_names && wanted.iter().all(|term| said.contains(term)) && is_negated(m.text.as_str()) == is_negated(words);
            let is_told = owned.as_deref().is_none_or(|noun| tells_own(m.text.as_str(), noun));
            let is_told = same && is_told || tells_with(m.text.as_str(), verbs);
            // A question tells nothing.
            let tells = m.role == Role::User && m.kind != Some(MessageKind::Question);
            is_told && tells && forget_command(m.text.as_str()).is_none()
        };
        let found = self.parts.store.messages_by_id(caller, &hits).await?;
        let mentioning: HashSet<MessageId> = found.iter().filter(|m| says(m)).map(|m| m.id).collect();
        // So many are rather about the words than what the words mean.
        if mentioning.len() > MAX_SAYING {
            Ok(Target::default())
        } else {
            let facts = self.facts_only_of(caller, &mentioning, verbs).await?;
            Ok(Target { facts, mentioning, is_by_words: true, ..Target::default() })
        }
    }

    /// Returns the facts that only these messages state. If the messages do not tell them by `verbs`, it must be one fact of one message: "my favourite
    /// colour".
    async fn facts_only_of(&self, caller: &Caller, messages: &HashSet<MessageId>, verbs: &[&str]) -> Result<Vec<Fact>, UseCaseError> {
        let store = &self.parts.store;
        let ids: Vec<MessageId> = messages.iter().copied().collect();
        let stated: HashSet<FactId> = store.facts_in(caller, &ids).await?.into_iter().map(|(_, fact, _)| fact).collect();
        if verbs.is_empty() && (messages.len(), stated.len()) != (1, 1) {
            return Ok(Vec::new());
        }
        let mut stated: Vec<FactId> = stated.into_iter().collect();
        // One more than there are messages shows a fact that another one states.
        let evidence = store.evidence_of(caller, &stated, MAX_SAYING as u32 + 1).await?;
        let is_of_them = |e: &Evidence| messages.contains(&e.message) && e.stance == Stance::Supports;
        stated.retain(|fact| evidence.iter().filter(|e| e.fact == *fact).all(is_of_them));
        Ok(store.facts_by_id(caller, &stated).await?)
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

/// Whether all words stand among the few before a name: "dog" in "I have a dog called Rex".
fn is_told_before(text: &str, name: &str, wanted: &HashSet<&str>) -> bool {
    let text = text.to_lowercase();
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let sentence = before.rsplit(['.', '!', '?', '\n', ',', ';']).find(|part| !part.trim().is_empty()).unwrap_or_default();
        let words: Vec<&str> = sentence.split_whitespace().collect();
        let near = words.get(words.len().saturating_sub(WORDS_BEFORE_NAME)..).unwrap_or_default().join(" ");
        let said: HashSet<String> = terms(&near).into_iter().map(|(term, _)| term).collect();
        wanted.iter().all(|term| said.contains(*term))
    })
}

/// Whether the request names both sides of a fact. A value is named by its words.
fn names_both(f: &Fact, named: &[EntityId], asked: &QuestionTerms) -> bool {
    named.contains(&f.subject) && f.value.as_ref().map_or_else(|| named.contains(&f.object), |v| asked.has_words_of(v.text.as_str()))
}

/// Whether the words have a name of an entity, and not only its role.
fn is_spoken(words: &str, entity: &Entity) -> bool {
    let words = words.to_lowercase();
    std::iter::once(&entity.name).chain(&entity.aliases).any(|name| words.contains(&name.to_lowercase()))
}

/// Whether a name in the words is only the beginning of another: "oven" in "my oven timer".
fn begins_compound(words: &str, name: &str, left_over: &HashSet<&str>) -> bool {
    let (words, name) = (words.to_lowercase(), name.to_lowercase());
    let next = words.match_indices(&name).filter_map(|(at, _)| words.get(at + name.len()..)?.strip_prefix(' ')?.split_whitespace().next());
    next.flat_map(terms).any(|(term, _)| left_over.contains(term.as_str()))
}

/// Whether the words name what belongs to someone without a known name: "my sister's birthday", but not "Anna's birthday".
fn is_of_someone_else(words: &str, names: &[&str]) -> bool {
    const NO_OWNERS: &[&str] = &["that", "it", "he", "she", "what", "who", "where"];
    let is_named = |word: &str| names.iter().any(|name| name.to_lowercase().split(' ').any(|part| part == word));
    let words = words.to_lowercase().replace('’', "'");
    let mut owners = words.split_whitespace().filter_map(|word| word.strip_suffix("'s"));
    owners.any(|owner| !NO_OWNERS.contains(&owner) && !is_named(owner))
}

fn is_negated(text: &str) -> bool {
    let negates = |word: &str| matches!(word, "not" | "no" | "never" | "cannot" | "without") || word.ends_with("n't");
    text.to_lowercase().replace('’', "'").split(|c: char| !(c.is_alphanumeric() || c == '\'')).any(negates)
}

/// Keeps the facts with a relation that the request speaks of, if there are any.
fn with_relation(facts: Vec<Fact>, cued: &HashSet<&str>) -> Vec<Fact> {
    let is_cued = |f: &Fact| cued.contains(f.relation.as_str());
    if facts.iter().any(is_cued) { facts.into_iter().filter(is_cued).collect() } else { facts }
}

/// Removes the beginnings of a request. Returns the rest, and whether everything about it is meant.
fn words_meant(query: &str) -> (&str, bool) {
    let mut rest = strip_command(query);
    let mut everything = false;
    loop {
        let found = EVERYTHING.iter().map(|b| (b, true)).chain(CONJUNCTIONS.iter().map(|b| (b, false)));
        let Some((next, all)) = found.into_iter().find_map(|(b, all)| Some((after(rest, b)?, all))) else { break };
        everything |= all;
        rest = next;
    }
    (rest, everything)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_are_stripped_from_a_request() {
        assert_eq!(words_meant("Forget everything about Oakwood!"), ("Oakwood", true));
        assert_eq!(words_meant("please, forget that I have a dog."), ("I have a dog", false));
        assert_eq!(words_meant("Forget about my dog"), ("my dog", true));
        assert_eq!(words_meant("my dog"), ("my dog", false));
        assert_eq!(words_meant("Thatcher"), ("Thatcher", false));
        assert_eq!(words_meant("forget"), ("", false));
        assert_eq!(words_meant("Öffne"), ("Öffne", false));
    }

    #[test]
    fn words_before_a_name_say_what_it_is() {
        for (text, expected) in [
            ("I have a dog called Rex.", true),
            ("My dog is called Rex.", true),
            ("Our dog, Rex, barks.", true),
            ("Rex is my cat. The neighbours have a dog.", false),
            ("I saw a dog on the way to the place where I bought Rex.", false),
        ] {
            assert_eq!(is_told_before(text, "rex", &HashSet::from(["dog"])), expected, "{text}");
        }
    }
}
