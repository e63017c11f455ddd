//! Finds what several documents say together: things that more than one of them names, what each says about them, and relations between
//! what different documents name.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Compared, work::readers};
use crate::{failure::Failure, use_cases::UseCases};
use recall_domain::{
    Chunk, Citation, ComparisonPoint, Entity, EntityId, EntityType, Evidence, Fact, FactStatus, FactValue, MessageId, Ontology, PointKind,
    Stance, UserText,
};

/// Most entities of one document, those in most chunks first.
const MAX_ENTITIES: usize = 200;
/// Facts loaded for each entity that several documents name, and evidence for each fact.
const FACTS: u32 = 20;
const EVIDENCE: u32 = 10;
/// Most points of each sort.
const MAX_POINTS: usize = 8;
/// Most points that only say that several documents name a thing.
const MAX_NAMES: usize = 4;
/// Importance of statements about one thing, of a relation between two things, and of a thing that both name.
const STATEMENTS: f32 = 0.9;
const RELATION: f32 = 0.7;
const NAME: f32 = 0.3;

/// What the graph knows of one thing.
type Named = BTreeMap<(String, EntityType), Mentioned>;

/// A thing that a document names.
#[derive(Clone)]
struct Mentioned {
    entity: Entity,
    /// The first chunk that names it.
    chunk: MessageId,
    /// How many chunks name it.
    count: usize,
}

/// What a document says, as far as points need it.
struct Side<'c> {
    compared: &'c Compared,
    named: Named,
    chunks: HashMap<MessageId, Chunk>,
}

/// Facts with their evidence and the names of their sides.
#[derive(Default)]
struct Known {
    facts: Vec<Fact>,
    evidence: Vec<Evidence>,
    names: HashMap<EntityId, String>,
}

impl UseCases {
    /// Returns the points that follow from the graph. That several documents name a thing answers no question.
    pub(super) async fn relate(&self, compared: &[Compared], is_asked: bool) -> Result<Vec<ComparisonPoint>, Failure> {
        let mut sides = Vec::new();
        for one in compared {
            let chunks = self.chunks_of_document(one).await?;
            let named = self.named(one, &chunks).await?;
            sides.push(Side { compared: one, named, chunks: chunks.into_iter().map(|chunk| (chunk.id, chunk)).collect() });
        }
        let mut known = Known::default();
        for reader in readers(compared) {
            let of_reader: Vec<&Side> = sides.iter().filter(|side| side.compared.reader.user() == reader.user()).collect();
            let common: HashSet<EntityId> = common(&sides).iter().flat_map(|(_, of)| of.iter().map(|(_, m)| m.entity.id)).collect();
            let own: HashSet<EntityId> = of_reader.iter().flat_map(|side| side.named.values()).map(|m| m.entity.id).collect();
            let common: Vec<EntityId> = common.intersection(&own).copied().collect();
            let store = &self.parts.store;
            let mut facts = if common.is_empty() { Vec::new() } else { store.facts_of_entities(&reader, &common, FACTS).await? };
            for (place, one) in of_reader.iter().enumerate() {
                for other in of_reader.iter().skip(place + 1) {
                    let [some, others] = [(one, other), (other, one)].map(|(one, other)| only_in(one, other));
                    if !some.is_empty() && !others.is_empty() {
                        facts.extend(store.facts_between(&reader, &some, &others).await?);
                    }
                }
            }
            // Notes are sentences, which are compared as such.
            let is_note = |fact: &Fact| self.parts.ontology.get(&fact.relation).is_some_and(|relation| relation.notes);
            facts.retain(|fact| fact.status == FactStatus::Active && !is_note(fact));
            facts.sort_by_key(|fact| fact.id);
            facts.dedup_by_key(|fact| fact.id);
            let ids: Vec<_> = facts.iter().map(|fact| fact.id).collect();
            let sides_of_facts: Vec<EntityId> = facts.iter().flat_map(|fact| [fact.subject, fact.object]).collect();
            if !ids.is_empty() {
                known.evidence.extend(store.evidence_of(&reader, &ids, EVIDENCE).await?);
                known.names.extend(store.entities_by_id(&reader, &sides_of_facts).await?.into_iter().map(|e| (e.id, e.name)));
            }
            known.facts.extend(facts);
        }
        let found = points(&sides, &known, &self.parts.ontology).into_iter();
        Ok(found.filter(|point| !is_asked || point.importance > NAME).collect())
    }

    /// Returns what the chunks of a document name, without the user.
    async fn named(&self, of: &Compared, chunks: &[Chunk]) -> Result<Named, Failure> {
        let ids: Vec<MessageId> = chunks.iter().map(|chunk| chunk.id).collect();
        if ids.is_empty() {
            return Ok(Named::new());
        }
        let mut mentions: BTreeMap<EntityId, (MessageId, HashSet<MessageId>)> = BTreeMap::new();
        let order: HashMap<MessageId, usize> = ids.iter().enumerate().map(|(place, id)| (*id, place)).collect();
        let mut found = self.parts.store.mentions_in(&of.reader, &ids).await?;
        found.sort_by_key(|(chunk, ..)| order.get(chunk).copied());
        for (chunk, entity, _) in found {
            mentions.entry(entity).or_insert_with(|| (chunk, HashSet::new())).1.insert(chunk);
        }
        let mut ranked: Vec<_> = mentions.into_iter().collect();
        ranked.sort_by_key(|(id, (_, chunks))| (std::cmp::Reverse(chunks.len()), *id));
        ranked.truncate(MAX_ENTITIES);
        let ids: Vec<EntityId> = ranked.iter().map(|(id, _)| *id).collect();
        let entities = self.parts.store.entities_by_id(&of.reader, &ids).await?;
        let entities: HashMap<EntityId, Entity> = entities.into_iter().map(|entity| (entity.id, entity)).collect();
        let mut named = Named::new();
        for (id, (chunk, chunks)) in ranked {
            if let Some(entity) = entities.get(&id).filter(|entity| !entity.is_viewer) {
                let key = (entity.name.to_lowercase(), entity.entity_type);
                named.entry(key).or_insert(Mentioned { entity: entity.clone(), chunk, count: chunks.len() });
            }
        }
        Ok(named)
    }
}

/// A thing, and the documents that name it.
type Common<'s> = ((String, EntityType), Vec<(&'s Side<'s>, &'s Mentioned)>);

/// Returns the things that several documents name.
fn common<'s>(sides: &'s [Side<'s>]) -> Vec<Common<'s>> {
    let keys: BTreeMap<&(String, EntityType), usize> =
        sides.iter().flat_map(|side| side.named.keys()).fold(BTreeMap::new(), |mut all, key| {
            *all.entry(key).or_default() += 1;
            all
        });
    let shared = keys.into_iter().filter(|(_, count)| *count > 1).map(|(key, _)| {
        let of = sides.iter().filter_map(|side| side.named.get(key).map(|mentioned| (side, mentioned)));
        (key.clone(), of.collect())
    });
    shared.collect()
}

/// Returns the things that one document names and the other does not.
fn only_in(one: &Side<'_>, other: &Side<'_>) -> Vec<EntityId> {
    one.named.iter().filter(|(key, _)| !other.named.contains_key(*key)).map(|(_, m)| m.entity.id).collect()
}

/// Writes the points. Pure.
fn points(sides: &[Side<'_>], known: &Known, ontology: &Ontology) -> Vec<ComparisonPoint> {
    let mut common = common(sides);
    // What few chunks name says more than what every chunk names.
    common.sort_by_key(|(key, of)| (of.iter().map(|(_, m)| m.count).sum::<usize>(), key.clone()));
    let (mut statements, mut names) = (Vec::new(), Vec::new());
    for (_, of) in &common {
        let pairs = of.iter().enumerate().flat_map(|(place, one)| of.iter().skip(place + 1).map(move |other| (one, other)));
        for (one, other) in pairs {
            match said_about(one, other, known, ontology) {
                Some(point) => statements.push(point),
                None if names.len() < MAX_NAMES && is_telling(&one.1.entity.name, &[one.0, other.0].map(Side::texts).concat()) => {
                    names.push(named_in_both(one, other))
                }
                None => {}
            }
        }
    }
    let mut relations = Vec::new();
    for (place, one) in sides.iter().enumerate() {
        for other in sides.iter().skip(place + 1) {
            relations.extend(known.facts.iter().filter_map(|fact| related(one, other, fact, known, ontology)));
        }
    }
    [statements, relations, names].into_iter().flat_map(|found| found.into_iter().take(MAX_POINTS)).collect()
}

/// What two documents say about one thing, if each states another fact.
fn said_about(
    one: &(&Side<'_>, &Mentioned),
    other: &(&Side<'_>, &Mentioned),
    known: &Known,
    ontology: &Ontology,
) -> Option<ComparisonPoint> {
    let stated = |(side, mentioned): &(&Side<'_>, &Mentioned)| -> Vec<(Fact, Chunk, UserText)> {
        let about =
            known.facts.iter().filter(|fact| fact.subject == mentioned.entity.id || fact.object_entity() == Some(mentioned.entity.id));
        let with_chunk = about.filter_map(|fact| {
            let supports = |e: &&Evidence| e.fact == fact.id && e.stance == Stance::Supports && side.chunks.contains_key(&e.message);
            let evidence = known.evidence.iter().find(supports)?;
            Some((fact.clone(), side.chunks.get(&evidence.message)?.clone(), evidence.excerpt.clone()))
        });
        with_chunk.collect()
    };
    let (first, second) = (stated(one), stated(other));
    // What both say tells nothing of one.
    let says = |of: &[(Fact, Chunk, UserText)], fact: &Fact| of.iter().any(|(f, ..)| f.relation == fact.relation && f.same_object(fact));
    let names = |side: &Side<'_>, fact: &Fact| side.named.values().any(|m| Some(m.entity.id) == fact.object_entity());
    let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (a, b)));
    let ((a, chunk_a, words_a), (b, chunk_b, words_b)) = pairs.into_iter().find(|((a, ..), (b, ..))| {
        let both_name_both = a.relation == b.relation && names(one.0, b) && names(other.0, a);
        !says(&second, a) && !says(&first, b) && !both_name_both
    })?;
    let text = format!(
        "{} says that {} [1], and {} that {} [2]",
        one.0.name(),
        sentence(a, known, ontology)?,
        other.0.name(),
        sentence(b, known, ontology)?
    );
    let citations = vec![one.0.citation(1, chunk_a, words_a.clone()), other.0.citation(2, chunk_b, words_b.clone())];
    Some(ComparisonPoint { kind: PointKind::Insight, text: text.into(), citations, silent: Vec::new(), importance: STATEMENTS })
}

fn named_in_both(one: &(&Side<'_>, &Mentioned), other: &(&Side<'_>, &Mentioned)) -> ComparisonPoint {
    let text = format!("{} and {} both name {} [1] [2]", one.0.name(), other.0.name(), one.1.entity.name);
    let citations = [(1, one), (2, other)].into_iter().filter_map(|(index, (side, m))| side.mention(index, m)).collect();
    ComparisonPoint { kind: PointKind::Insight, text: text.into(), citations, silent: Vec::new(), importance: NAME }
}

/// Whether it says something that documents have a name in common: it is a proper name, not a word, a letter or the unit of numbers.
fn is_telling(name: &str, texts: &[&str]) -> bool {
    let lower = name.to_lowercase();
    if name.chars().filter(|c| c.is_alphabetic()).count() < 2 || lower == name || texts.iter().any(|text| !places(text, &lower).is_empty())
    {
        return false;
    }
    let surroundings = || texts.iter().flat_map(|text| places(text, name).into_iter().map(move |at| around(text, at, name.len())));
    let is_unit = surroundings().all(|(before, after)| before.is_some_and(char::is_numeric) || after.is_some_and(char::is_numeric));
    // Any word has a capital at the beginning of a sentence, a heading or a row.
    let is_within = |before: Option<char>| before.is_some_and(|c| c.is_alphabetic() || matches!(c, ',' | '(' | '“' | '"' | '&'));
    !is_unit && (name.contains(' ') || surroundings().any(|(before, _)| is_within(before)))
}

/// Returns where a text has some words as whole ones.
fn places(text: &str, words: &str) -> Vec<usize> {
    let is_free = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let is_whole = |at: &usize| {
        is_free(text.get(..*at).and_then(|t| t.chars().next_back())) && is_free(text.get(at + words.len()..).and_then(|t| t.chars().next()))
    };
    text.match_indices(words).map(|(at, _)| at).filter(is_whole).collect()
}

/// Returns the characters before and behind some words, without the spaces between.
fn around(text: &str, at: usize, length: usize) -> (Option<char>, Option<char>) {
    let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + length..).unwrap_or_default());
    (before.trim_end_matches(' ').chars().next_back(), after.trim_start_matches(' ').chars().next())
}

/// A relation between a thing of one document and a thing of another, wherever it was stated.
fn related(one: &Side<'_>, other: &Side<'_>, fact: &Fact, known: &Known, ontology: &Ontology) -> Option<ComparisonPoint> {
    let object = fact.object_entity()?;
    let only = |side: &Side<'_>, not: &Side<'_>, id: EntityId| {
        side.named.iter().find(|(key, m)| m.entity.id == id && !not.named.contains_key(*key)).map(|(_, m)| m.clone())
    };
    let (first, second, subject_side, object_side) = match (only(one, other, fact.subject), only(other, one, object)) {
        (Some(subject), Some(object)) => (subject, object, one, other),
        _ => (only(other, one, fact.subject)?, only(one, other, object)?, other, one),
    };
    let text = format!(
        "{} names {} [1], {} names {} [2], and {}",
        subject_side.name(),
        first.entity.name,
        object_side.name(),
        second.entity.name,
        sentence(fact, known, ontology)?
    );
    let citations = [subject_side.mention(1, &first), object_side.mention(2, &second)].into_iter().flatten().collect();
    Some(ComparisonPoint { kind: PointKind::Insight, text: text.into(), citations, silent: Vec::new(), importance: RELATION })
}

/// Writes a fact as a sentence without its period.
fn sentence(fact: &Fact, known: &Known, ontology: &Ontology) -> Option<String> {
    let phrase = ontology.get(&fact.relation).map_or_else(|| fact.relation.as_str(), |relation| relation.phrase.as_str());
    let object = match &fact.value {
        Some(value) => FactValue::shown(value),
        None => known.names.get(&fact.object)?.clone(),
    };
    Some(format!("{} {phrase} {object}", known.names.get(&fact.subject)?))
}

impl Side<'_> {
    fn name(&self) -> &str {
        self.compared.document.document.filename.as_str()
    }

    fn texts(&self) -> Vec<&str> {
        self.chunks.values().map(|chunk| chunk.text.as_str()).collect()
    }

    /// Cites the words around the name of a thing.
    fn mention(&self, index: u32, mentioned: &Mentioned) -> Option<Citation> {
        let chunk = self.chunks.get(&mentioned.chunk)?;
        let body = chunk.text.as_str().get(chunk.headings().len()..).unwrap_or_default();
        let text = if body.contains(&mentioned.entity.name) { body } else { chunk.text.as_str() };
        Some(self.citation(index, chunk, words_around(text, &mentioned.entity.name).into()))
    }

    fn citation(&self, index: u32, chunk: &Chunk, excerpt: UserText) -> Citation {
        self.compared.citation(index, chunk, &excerpt)
    }
}

/// Returns the sentence that has a name, or the beginning of the text.
fn words_around<'t>(text: &'t str, name: &str) -> &'t str {
    let at = text.find(name).unwrap_or(0);
    let is_end = |c: char| matches!(c, '.' | '!' | '?' | '\n');
    let start = text.get(..at).and_then(|before| before.rfind(is_end)).map_or(0, |end| end + 1);
    let end = text.get(at..).and_then(|rest| rest.find(is_end)).map_or(text.len(), |end| at + end);
    text.get(start..end).unwrap_or(text).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_letters_and_units_in_common_tell_nothing() {
        let texts = [
            "3 Annual leave\nBicycles stand in the yard. The price of CHF 20 is paid to Ada, not to N.",
            "12 Bicycles\nIt costs 30 CHF. The company of Mill Street.",
        ];
        for name in ["Annual", "Bicycles", "CHF", "N", "company", "Price"] {
            assert!(!is_telling(name, &texts), "{name}");
        }
        for name in ["Ada", "Mill Street"] {
            assert!(is_telling(name, &texts), "{name}");
        }
    }
}
