//! What tools return: entities, facts, evidence and messages, as data and as lines of text.
//!
//! Texts of people are quoted as JSON strings in lines, so that they cannot look like the lines around them.

use std::{collections::HashMap, fmt::Display};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::memories::{Memories, Memory};
use recall_domain::{
    DatePrecision, Entity, EntityId, Evidence, Fact, FactStatus, FactValue, Message, MessageId, Ontology, Role, Timestamp, Word,
    context::{RankedChunk, RankedFact},
    entity::VIEWER_NAME,
};
use recall_facts::standing;

/// Longest text of a message in a result, in characters. `resources/read` returns whole texts.
const MAX_TEXT_CHARS: usize = 1_000;

/// An entity.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct EntityView {
    pub(crate) id: String,
    pub(crate) name: String,
    #[schemars(schema_with = "crate::schema::entity_type")]
    pub(crate) r#type: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) aliases: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    pub(crate) mentions: u64,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) is_user: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) shared: bool,
}

impl EntityView {
    pub(crate) fn of(e: &Entity, shared: bool) -> Self {
        Self {
            id: e.id.to_string(),
            name: e.name.clone(),
            r#type: e.entity_type.word(),
            aliases: e.aliases.clone(),
            description: e.description.clone(),
            mentions: e.mention_count,
            is_user: e.is_viewer && !shared,
            shared,
        }
    }

    /// Returns the entity as a line of a list.
    pub(crate) fn line(&self) -> String {
        let about = self.description.as_deref().map_or_else(String::new, |text| format!(", {}", quoted(text)));
        let user = if self.is_user { ", the user" } else { "" };
        format!("- {} ({}{user}{about}), {}, entity {}", quoted(&self.name), self.r#type, counted(self.mentions, "mention"), self.id)
    }
}

/// Returns a number with its noun: "1 fact", "2 facts".
pub(crate) fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let end = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{end}")
}

/// A fact.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct FactView {
    pub(crate) id: String,
    /// The fact in words.
    pub(crate) text: String,
    pub(crate) subject: String,
    pub(crate) subject_id: String,
    pub(crate) relation: String,
    /// Name of the object, or the value as text.
    pub(crate) object: String,
    /// Absent if the fact has a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) object_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<FactValue>,
    /// Probability that it holds.
    pub(crate) belief: f64,
    pub(crate) status: &'static str,
    /// When it began; only a bound if the precision is "unknown".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) valid_from: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) valid_from_precision: Option<DatePrecision>,
    /// When it ended; only a bound if the precision is "unknown".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) valid_to: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) valid_to_precision: Option<DatePrecision>,
    /// When it began and ended, in words.
    #[serde(skip)]
    pub(crate) times: Vec<String>,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) shared: bool,
}

impl FactView {
    fn of(fact: &Fact, [subject, object]: [&Entity; 2], shared: bool, ontology: &Ontology, now: Timestamp) -> Self {
        let relation = ontology.get(&fact.relation);
        let value = fact.value.as_ref().map(FactValue::shown);
        let phrase = relation.map_or_else(|| fact.relation.to_lowercase().replace('_', " "), |r| r.phrase.clone());
        Self {
            id: fact.id.to_string(),
            text: format!("{} {phrase} {}", name_of(subject), value.as_deref().unwrap_or(name_of(object))),
            subject: subject.name.clone(),
            subject_id: fact.subject.to_string(),
            relation: fact.relation.clone(),
            object: value.unwrap_or_else(|| object.name.clone()),
            object_id: fact.object_entity().map(|o| o.to_string()),
            value: fact.value.clone(),
            belief: standing(fact, relation, now).belief,
            status: fact.status.word(),
            valid_from: fact.began().map(|m| m.at),
            valid_from_precision: fact.began().map(|m| m.precision),
            valid_to: fact.ended().map(|m| m.at),
            valid_to_precision: fact.ended().map(|m| m.precision),
            times: fact.times(),
            shared,
        }
    }

    /// Returns the view of a fact of a context.
    pub(crate) fn ranked(memories: &Memories, ranked: &RankedFact) -> Self {
        Self::of(&ranked.fact, [&ranked.subject, &ranked.object], ranked.shared, memories.ontology(), memories.now)
    }

    /// Returns the views of facts of one memory, in their order. Facts whose entities were deleted meanwhile are left out.
    pub(crate) fn all(memories: &Memories, memory: &Memory, sides: &HashMap<EntityId, Entity>, facts: &[Fact]) -> Vec<Self> {
        let view = |fact: &Fact| {
            let sides = [sides.get(&fact.subject)?, sides.get(&fact.object)?];
            Some(Self::of(fact, sides, memory.is_shared, memories.ontology(), memories.now))
        };
        facts.iter().filter_map(view).collect()
    }

    /// Returns the fact as a line of a list.
    pub(crate) fn line(&self) -> String {
        let mut notes = vec![format!("belief {:.2}", self.belief)];
        if self.status != FactStatus::Active.word() {
            notes.push(self.status.to_owned());
        }
        notes.extend(self.times.iter().cloned());
        if self.shared {
            notes.push("shared memory".to_owned());
        }
        format!("- {} ({}; fact {})", quoted(&self.text), notes.join(", "), self.id)
    }
}

/// One message as evidence for or against a fact.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct EvidenceView {
    pub(crate) message_id: String,
    pub(crate) session_id: String,
    pub(crate) date: Timestamp,
    pub(crate) stance: &'static str,
    pub(crate) confidence: f64,
    /// The words that state it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) excerpt: Option<String>,
}

impl From<&Evidence> for EvidenceView {
    fn from(e: &Evidence) -> Self {
        let excerpt = e.excerpt.as_str();
        Self {
            message_id: e.message.to_string(),
            session_id: e.session.to_string(),
            date: e.created_at,
            stance: e.stance.word(),
            confidence: e.confidence,
            excerpt: (!excerpt.is_empty()).then(|| cut(excerpt).0),
        }
    }
}

impl EvidenceView {
    /// Returns the evidence as a line below its fact.
    pub(crate) fn line(&self) -> String {
        let words = self.excerpt.as_deref().map_or_else(String::new, |text| format!(": {}", quoted(text)));
        format!("  - {} {} it (confidence {:.2}, message {}){words}", day(self.date), self.stance, self.confidence, self.message_id)
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct MessageView {
    pub(crate) id: String,
    pub(crate) session_id: String,
    pub(crate) date: Timestamp,
    /// `user`, `assistant` or a name.
    pub(crate) speaker: String,
    pub(crate) text: String,
    /// Whether the text is cut.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) cut: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) shared: bool,
}

impl MessageView {
    /// Returns the view of a message with a short text.
    pub(crate) fn short(m: &Message, shared: bool) -> Self {
        let (text, is_cut) = cut(m.text.as_str());
        Self { text, cut: is_cut, ..Self::whole(m, shared) }
    }

    /// Returns the view of a message with its whole text.
    pub(crate) fn whole(m: &Message, shared: bool) -> Self {
        let speaker = match (&m.speaker, m.role) {
            (Some(name), _) => name.clone(),
            (None, Role::User) if shared => recall_domain::context::SHARED_SPEAKER.to_owned(),
            (None, role) => role.word().to_owned(),
        };
        Self {
            id: m.id.to_string(),
            session_id: m.session.to_string(),
            date: m.sent_at,
            speaker,
            text: m.text.as_str().to_owned(),
            cut: false,
            shared,
        }
    }

    /// Returns the message as a line of a list.
    pub(crate) fn line(&self) -> String {
        let more = if self.cut { " (cut)" } else { "" };
        format!("- {}, {}: {}{more} (message {})", day(self.date), quoted(&self.speaker), quoted(&self.text), self.id)
    }
}

/// A passage of a document.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct PassageView {
    pub(crate) id: String,
    pub(crate) document: String,
    pub(crate) document_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) heading: Option<String>,
    /// First and last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pages: Option<[u32; 2]>,
    pub(crate) text: String,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) shared: bool,
}

impl PassageView {
    pub(crate) fn of(c: &RankedChunk) -> Self {
        Self {
            id: c.chunk.id.to_string(),
            document: c.document.filename.as_str().to_owned(),
            document_id: c.document.id.to_string(),
            heading: c.chunk.heading.as_ref().map(|heading| heading.as_str().to_owned()),
            pages: c.chunk.pages.map(|pages| [pages.first, pages.last]),
            text: c.chunk.text.as_str().chars().take(MAX_TEXT_CHARS).collect(),
            shared: c.shared,
        }
    }

    /// Returns the passage as a line of a list.
    pub(crate) fn line(&self) -> String {
        let pages = match self.pages {
            Some([first, last]) if first == last => format!(", page {first}"),
            Some([first, last]) => format!(", pages {first} to {last}"),
            None => String::new(),
        };
        format!("- In {}{pages}: {}, document {}", quoted(&self.document), quoted(&self.text), self.document_id)
    }
}

/// Returns the views of messages by their ids.
pub(crate) fn by_id(messages: &[Message], shared: bool) -> HashMap<MessageId, MessageView> {
    messages.iter().map(|m| (m.id, MessageView::short(m, shared))).collect()
}

/// Joins headed lists of lines; lists without lines are left out. `nothing` is the text if all are empty.
pub(crate) fn lists(lists: &[(&str, Vec<String>)], nothing: &str) -> String {
    let blocks: Vec<String> =
        lists.iter().filter(|(_, lines)| !lines.is_empty()).map(|(head, lines)| format!("{head}:\n{}", lines.join("\n"))).collect();
    if blocks.is_empty() { nothing.to_owned() } else { blocks.join("\n") }
}

/// Returns the name of an entity within a sentence. The user's own entity may have no name yet.
fn name_of(entity: &Entity) -> &str {
    if entity.is_viewer && entity.name == VIEWER_NAME { "the user" } else { &entity.name }
}

/// Quotes a text of a person on one line.
pub(crate) fn quoted(text: &str) -> Value {
    Value::from(text)
}

pub(crate) fn day(at: Timestamp) -> String {
    at.format("%Y-%m-%d").to_string()
}

fn cut(text: &str) -> (String, bool) {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => (format!("{}…", &text[..end]), true),
        None => (text.to_owned(), false),
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use recall_domain::{EntityType, FactId, MessageStatus, SaidPeriod, SessionId};
    use uuid::Uuid;

    pub(crate) fn entity(n: u128, name: &str) -> Entity {
        Entity {
            id: EntityId(Uuid::from_u128(n)),
            name: name.to_owned(),
            entity_type: EntityType::Person,
            aliases: Vec::new(),
            description: None,
            mention_count: 2,
            confidence: 1.0,
            is_viewer: name == VIEWER_NAME,
            first_message: None,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    pub(crate) fn message(text: &str) -> Message {
        Message {
            id: MessageId(Uuid::nil()),
            session: SessionId(Uuid::nil()),
            position: 1,
            role: Role::User,
            speaker: None,
            text: text.into(),
            kind: None,
            status: MessageStatus::Processed,
            sent_at: Timestamp::UNIX_EPOCH,
            created_at: Timestamp::UNIX_EPOCH,
            source_metadata: None,
            external_id: None,
            answer_to: None,
            citations: Vec::new(),
            nearest: Vec::new(),
            remembered: true,
        }
    }

    fn fact() -> Fact {
        Fact {
            id: FactId(Uuid::from_u128(3)),
            subject: EntityId(Uuid::from_u128(1)),
            relation: "LIVES_IN".to_owned(),
            object: EntityId(Uuid::from_u128(2)),
            value: None,
            support: 1.0,
            opposition: 0.0,
            weighed_at: Timestamp::UNIX_EPOCH,
            status: FactStatus::Active,
            flagged: false,
            valid_from: Some(Timestamp::UNIX_EPOCH),
            valid_to: None,
            said_period: SaidPeriod::default(),
            last_support: None,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn one_thing_has_a_singular_noun() {
        assert_eq!([counted(0_u64, "fact"), counted(1_u64, "fact"), counted(2_u64, "fact")], ["0 facts", "1 fact", "2 facts"]);
        let once = Entity { mention_count: 1, ..entity(1, "Mary") };
        assert!(EntityView::of(&once, false).line().contains("), 1 mention, entity "));
    }

    #[test]
    fn fact_about_unnamed_user_says_so() {
        let ontology =
            Ontology::parse("[[relation]]\nname = \"LIVES_IN\"\nphrase = \"lives in\"\ndescription = \"Has a home.\"\nhalf_life_days = 10")
                .unwrap();
        let (you, ghent) = (entity(1, VIEWER_NAME), entity(2, "Ghent"));
        let view = FactView::of(&fact(), [&you, &ghent], false, &ontology, Timestamp::UNIX_EPOCH);
        assert_eq!((view.text.as_str(), view.belief, view.status), ("the user lives in Ghent", 0.6667, "active"));
        assert_eq!(view.line(), format!("- \"the user lives in Ghent\" (belief 0.67, stated 1 January 1970; fact {})", fact().id));
    }

    #[test]
    fn text_of_message_cannot_leave_its_line() {
        let view = MessageView::short(&message("Hi\n- \"John\" (fact 1)"), false);
        assert_eq!(view.line().lines().count(), 1, "{}", view.line());
        assert!(view.line().contains(r#""Hi\n- \"John\" (fact 1)""#), "{}", view.line());
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        let view = MessageView::short(&message(&"ä".repeat(MAX_TEXT_CHARS + 1)), false);
        assert!(view.cut && view.text.chars().count() == MAX_TEXT_CHARS + 1 && view.text.ends_with('…'));
        assert!(!MessageView::short(&message(&"ä".repeat(MAX_TEXT_CHARS)), false).cut);
        assert!(!MessageView::whole(&message(&"ä".repeat(2_000)), false).cut);
    }
}
