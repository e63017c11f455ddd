//! Patterns and filters for reading entities and facts.

use recall_domain::{
    EntityId, EntityType, Fact, FactStatus, FactValue, MessageId, Ontology, Relation, RelationName, SessionId, Timestamp,
    context::SearchSource, ontology::Cues,
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
    /// The title contains this, ignoring case.
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
    /// Name or alias contains this, ignoring case.
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
    /// A name on either side, the value or the relation has each of these words.
    pub text: Vec<TextWord>,
    /// Has one of these relations.
    pub relations: RelationFilter,
    /// The order of a list.
    pub order: FactOrder,
}

/// A word of a text that lists of facts are searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextWord {
    /// The word: a name or a value may contain it, ignoring case.
    pub word: String,
    /// The relations that have the word.
    pub relations: Vec<RelationName>,
    /// Whether it means the user: "you".
    pub is_viewer: bool,
}

impl TextWord {
    /// Returns the first words of a text, at most [`MAX_TEXT_WORDS`]. A word stands for a relation if one of the words of the relation begins with it.
    pub fn all(text: &str, ontology: &Ontology) -> Vec<Self> {
        let word = |word: &str| {
            let word = word.to_lowercase();
            let has_word = |r: &&Relation| {
                let Cues { verbs, nouns, inverse_nouns, .. } = &r.cues;
                let phrases = r.wordings.iter().map(|w| &w.phrase).chain([&r.phrase]).chain(verbs).chain(nouns).chain(inverse_nouns);
                phrases.into_iter().any(|phrase| phrase.split_whitespace().any(|w| w.to_lowercase().starts_with(&word)))
            };
            let relations = ontology.iter().filter(has_word).map(|r| r.name.clone()).collect();
            let is_viewer = matches!(word.as_str(), "i" | "me" | "my" | "you" | "your");
            Self { word, relations, is_viewer }
        };
        text.split_whitespace().take(MAX_TEXT_WORDS).map(word).collect()
    }
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
