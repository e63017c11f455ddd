//! Entities that a user talks about, and the keys by which mentions find them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantNames};
use utoipa::ToSchema;

use super::{EntityId, MessageId, Timestamp};

/// Name of the user's own entity until the user gives a name.
pub const VIEWER_NAME: &str = "You";

/// A disambiguated entity of one user.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Identity.
    pub id: EntityId,
    /// Canonical name, as first written.
    pub name: String,
    /// Its type.
    pub entity_type: EntityType,
    /// Its other names.
    pub aliases: Vec<String>,
    /// A short description, such as "manager".
    pub description: Option<String>,
    /// Number of messages that mention it.
    pub mention_count: u64,
    /// Highest extraction confidence of its mentions, 0 to 1.
    pub confidence: f64,
    /// Whether it stands for the user.
    pub is_viewer: bool,
    /// The message that mentioned it first.
    pub first_message: Option<MessageId>,
    /// When it was first mentioned.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The type of an entity.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Serialize,
    Deserialize,
    JsonSchema,
    ToSchema,
    Display,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum EntityType {
    /// A named person, or one named by a role ("sister").
    Person,
    /// A company, school, team, band, club.
    Organization,
    /// A country, city, venue, named natural place.
    Place,
    /// A project, repository or initiative; a work that the speaker makes.
    Project,
    /// Software, a language, library or service.
    Tool,
    /// An idea, method, topic, hobby or activity.
    Concept,
    /// A named or specific event.
    Event,
    /// A food, animal, object, book, film, song, game.
    Thing,
}

/// Why a mention means a known entity or a new one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Confidence, 0 to 1.
    #[serde(with = "super::exact")]
    pub score: f64,
    /// The reason for people: "same name, spoken of in this session". It contains no user text.
    pub reason: String,
}

/// The normalized form in which names are compared.
///
/// It is in lower case with single spaces, without a leading article, possessive or the word "project", and without quotes or closing
/// punctuation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntityKey(String);

impl EntityKey {
    /// Returns the key of a name; `None` if nothing is left to compare.
    pub fn of(name: &str) -> Option<Self> {
        let lower = name.to_lowercase();
        let bare = lower.trim_matches(|c: char| c.is_whitespace() || ".,!?;:\"'“”‘’".contains(c));
        let mut words: Vec<&str> = bare.split_whitespace().collect();
        while words.len() > 1 && LEADING.contains(&words[0]) {
            words.remove(0);
        }
        let joined = words.join(" ");
        let key = joined.strip_suffix("'s").or_else(|| joined.strip_suffix("’s")).unwrap_or(&joined);
        (!key.is_empty()).then(|| Self(key.to_owned()))
    }

    /// Returns the key as stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

const LEADING: [&str; 9] = ["the", "a", "an", "my", "our", "his", "her", "their", "project"];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn keys_ignore_case_articles_possessives_and_punctuation() {
        for (a, b) in [
            ("Mary", "mary"),
            ("the backend team", "Backend  Team"),
            ("Project Apollo", "apollo"),
            ("my sister", "sister"),
            ("John's", "John"),
            ("\"The Matrix\"", "the matrix"),
        ] {
            assert!(EntityKey::of(a).is_some());
            assert_eq!(EntityKey::of(a), EntityKey::of(b), "{a} and {b}");
        }
        assert_eq!(EntityKey::of("Project Apollo"), EntityKey::of("apollo"));
        assert_eq!(EntityKey::of("the backend team"), EntityKey::of("Backend  Team"));
        assert_eq!(EntityKey::of("John's"), EntityKey::of("JOHN."));
        assert_eq!(EntityKey::of("the"), EntityKey::of("The"));
        assert_eq!(EntityKey::of(" .! "), None);
    }
}
