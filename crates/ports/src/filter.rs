//! Patterns and filters for reading entities and facts.

use recall_domain::{
    EntityId, EntityType, Fact, FactStatus, FactValue, MessageId, Ontology, Relation, RelationName, SessionId, Timestamp,
    context::SearchSource,
};

/// A pattern of facts to look up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FactKey {
    /// Subject.
    pub subject: EntityId,
    /// Relation.
    pub relation: String,
    /// Object; any if absent. The subject for facts with a value.
    pub object: Option<EntityId>,
    /// [`FactValue::key`](recall_domain::FactValue::key); any if absent.
    pub value: Option<String>,
}

impl FactKey {
    /// The key of one fact.
    pub fn of(fact: &Fact) -> Self {
        Self {
            subject: fact.subject,
            relation: fact.relation.clone(),
            object: Some(fact.object),
            value: fact.value.as_ref().map(FactValue::key),
        }
    }
}

/// The relations of the facts to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RelationFilter {
    /// All relations.
    #[default]
    Any,
    /// All relations except these.
    Except(Vec<RelationName>),
    /// Only these relations.
    Only(Vec<RelationName>),
}

impl RelationFilter {
    /// All relations except that of notes, unless it is the `wanted` one.
    pub fn without_notes(ontology: &Ontology, wanted: Option<&str>) -> Self {
        Self::except(ontology, wanted, |r| r.notes)
    }

    /// Only relations between entities, and the `wanted` one.
    pub fn between_entities(ontology: &Ontology, wanted: Option<&str>) -> Self {
        Self::except(ontology, wanted, Relation::has_values)
    }

    /// Only the relation of notes.
    pub fn notes(ontology: &Ontology) -> Self {
        Self::Only(names(ontology, |r| r.notes))
    }

    fn except(ontology: &Ontology, wanted: Option<&str>, excluded: fn(&Relation) -> bool) -> Self {
        let is_wanted = wanted.and_then(|r| ontology.get(r)).is_some_and(excluded);
        if is_wanted { Self::Any } else { Self::Except(names(ontology, excluded)) }
    }
}

fn names(ontology: &Ontology, chosen: fn(&Relation) -> bool) -> Vec<RelationName> {
    ontology.iter().filter(|r| chosen(r)).map(|r| r.name.clone()).collect()
}

/// Filters for sessions; all given ones must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// The title contains this, ignoring case and accents.
    pub text: Option<String>,
    /// Pinned, or not.
    pub pinned: Option<bool>,
    /// Archived, or not.
    pub archived: Option<bool>,
    /// Remembering is paused in it, or not.
    pub paused: Option<bool>,
}

impl SessionFilter {
    /// Matches all sessions.
    pub const ALL: Self = Self { text: None, pinned: None, archived: None, paused: None };
}

/// Filters for entities; all given ones must match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntityFilter {
    /// Only of this type.
    pub entity_type: Option<EntityType>,
    /// Name or alias contains this, ignoring case and accents.
    pub text: Option<String>,
    /// Mentioned in this session.
    pub session: Option<SessionId>,
}

/// Filters for facts; all given ones must match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FactFilter {
    /// Has this subject.
    pub subject: Option<EntityId>,
    /// Has this object.
    pub object: Option<EntityId>,
    /// Has this entity on either side.
    pub entity: Option<EntityId>,
    /// Uses this relation.
    pub relation: Option<String>,
    /// Has this status.
    pub status: Option<FactStatus>,
    /// Has evidence in this session.
    pub session: Option<SessionId>,
    /// Has evidence in this message.
    pub message: Option<MessageId>,
    /// Has an entity of this type on either side.
    pub entity_type: Option<EntityType>,
    /// Has evidence in documents, or in conversations.
    pub source: Option<SearchSource>,
    /// Changed at or after this time.
    pub changed_since: Option<Timestamp>,
    /// Changed before this time.
    pub changed_before: Option<Timestamp>,
    /// [`Fact::belief`](recall_domain::Fact::belief), at the time of its last change, is at least this.
    pub min_belief: Option<f64>,
    /// Was known and held at this moment.
    pub as_of: Option<Timestamp>,
    /// Held at one of two moments, and not at the other.
    pub differs: Option<TimeSpan>,
    /// A name or description on either side, the value or the relation has each of these words.
    pub text: Vec<TextWord>,
    /// Has one of these relations.
    pub relations: RelationFilter,
    /// The order of a list.
    pub order: FactOrder,
}

/// Two moments between which facts are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpan {
    /// The earlier moment.
    pub from: Timestamp,
    /// The later moment; `None` for the present.
    pub until: Option<Timestamp>,
}

/// A word of a text that lists of facts are searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextWord {
    /// The word: a name may contain it, ignoring case and accents, or a value, ignoring case.
    pub word: String,
    /// The relations that have the word.
    pub relations: Vec<RelationName>,
    /// Whether it means the user: "you".
    pub is_viewer: bool,
}

impl TextWord {
    /// Returns the words of a text without those that only join others: "lives in Ghent". Behind [`MAX_TEXT_WORDS`], the rest is one word.
    ///
    /// A word stands for a relation whose phrase has the word or another form of it.
    pub fn all(text: &str, ontology: &Ontology) -> Vec<Self> {
        let word = |word: String| {
            let word = word.to_lowercase();
            let has_word = |r: &&Relation| {
                let phrases = r.wordings.iter().map(|w| &w.phrase).chain([&r.phrase]);
                phrases.into_iter().any(|phrase| phrase.split_whitespace().any(|w| are_forms(&w.to_lowercase(), &word)))
            };
            let relations = ontology.iter().filter(has_word).map(|r| r.name.clone()).collect();
            let is_viewer = matches!(word.as_str(), "i" | "me" | "my" | "you" | "your");
            Self { word, relations, is_viewer }
        };
        let all: Vec<&str> = text.split_whitespace().collect();
        let telling: Vec<&str> = all.iter().copied().filter(|w| !JOINING_WORDS.contains(&w.to_lowercase().as_str())).collect();
        let words = if telling.is_empty() { all } else { telling };
        let (first, rest) = words.split_at(words.len().min(MAX_TEXT_WORDS - 1));
        let rest = (!rest.is_empty()).then(|| rest.join(" "));
        first.iter().map(|w| (*w).to_owned()).chain(rest).map(word).collect()
    }
}

/// Words that only join others. Nearly all facts have one of them in their relation.
const JOINING_WORDS: [&str; 12] = ["a", "an", "and", "at", "for", "in", "is", "of", "on", "the", "to", "with"];

/// Whether two words are forms of one: "live", "lives" and "lived".
fn are_forms(one: &str, other: &str) -> bool {
    let stem = |word: &str| {
        let without = ["ed", "es", "s", "d"].into_iter().find_map(|ending| word.strip_suffix(ending));
        without.filter(|stem| stem.len() > 2).unwrap_or(word).to_owned()
    };
    let (one, other) = (stem(one), stem(other));
    one == other || one.strip_suffix('e') == Some(&*other) || other.strip_suffix('e') == Some(&*one)
}

/// Most words of a text that lists of facts are searched for. Each adds conditions to the statement.
pub const MAX_TEXT_WORDS: usize = 8;

/// The order of a list of facts. Facts that are equal in it are ordered by id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FactOrder {
    /// Latest change first.
    #[default]
    LatestChange,
    /// Learned last first.
    LatestLearned,
    /// Highest belief first, as of its last change.
    MostBelieved,
    /// Lowest belief first, as of its last change.
    LeastBelieved,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_for_relations_with_other_forms_of_them() {
        let ontology = Ontology::parse(
            "[[relation]]\nname = \"LIVES_IN\"\nphrase = \"lives in\"\ndescription = \"Has a home.\"\nhalf_life_days = 10\n\
             [[relation]]\nname = \"LIKES\"\nphrase = \"likes\"\ndescription = \"Is fond of.\"\nhalf_life_days = 10",
        )
        .unwrap();
        let read = |text: &str| -> Vec<(String, Vec<String>)> {
            TextWord::all(text, &ontology).into_iter().map(|w| (w.word, w.relations)).collect()
        };
        for word in ["live", "LIVES", "lived"] {
            assert_eq!(read(word)[0].1, ["LIVES_IN"], "{word}");
        }
        assert_eq!(read("lives in Ghent").iter().map(|w| w.0.as_str()).collect::<Vec<_>>(), ["lives", "ghent"]);
        assert_eq!((read("li")[0].1.len(), read("in").len(), read(" ").len()), (0, 1, 0));
        let many = read(&"word ".repeat(20));
        assert_eq!((many.len(), many[MAX_TEXT_WORDS - 1].0.split(' ').count()), (MAX_TEXT_WORDS, 13));
        assert!(TextWord::all("you", &ontology)[0].is_viewer && !TextWord::all("young", &ontology)[0].is_viewer);
    }
}
