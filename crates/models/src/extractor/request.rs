//! Writes messages and their background as JSON for a prompt, within bounds.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::schema::SPEAKER;
use recall_domain::{MessageId, Role, Word};
use recall_ports::{ExtractInput, Known};

/// Most bytes of a message in a prompt; only the local extractor reads the rest.
pub(super) const MAX_TEXT: usize = 16 * 1024;
/// Most bytes of one of the last two earlier messages, and of one before these.
const MAX_LATEST: usize = 1024;
const MAX_EARLIER: usize = 400;
/// Most bytes of the known names, and of the known facts.
const MAX_NAMES: usize = 4 * 1024;
const MAX_FACTS: usize = 3 * 1024;
/// Most other names of a known name.
const MAX_ALIASES: usize = 3;
/// What the messages of an assistant and of documents are marked with.
const ASSISTANT: &str = "assistant";
const DOCUMENT: &str = "document";
/// The user, if another person speaks.
const OWNER: &str = "owner of the memory";

/// Returns the JSON of a message with what is known.
pub(super) fn single(input: &ExtractInput) -> Value {
    let mut fields = known(input);
    fields.extend(message(input, &HashSet::new()));
    Value::Object(fields)
}

/// Returns the JSON of numbered messages with what is known.
pub(super) fn batch(inputs: &[&ExtractInput]) -> Value {
    let mut fields = inputs.first().map(|first| known(first)).unwrap_or_default();
    let mut listed = HashSet::new();
    let mut list = Vec::new();
    for (input, n) in inputs.iter().zip(1..) {
        let mut fields = message(input, &listed);
        fields.insert("n".to_owned(), json!(n));
        list.push(Value::Object(fields));
        listed.extend(input.message);
    }
    fields.insert("messages".to_owned(), Value::Array(list));
    Value::Object(fields)
}

/// Returns the part of a message that the model sees.
pub(super) fn shown_text(input: &ExtractInput) -> &str {
    truncate(input.text.as_str(), MAX_TEXT)
}

/// Returns the fields of one message, without earlier messages that the prompt contains anyway.
fn message(input: &ExtractInput, listed: &HashSet<MessageId>) -> Map<String, Value> {
    let all = &input.background.earlier;
    let earlier: Vec<Value> = all
        .iter()
        .enumerate()
        .filter(|(_, m)| !listed.contains(&m.id))
        .map(|(i, m)| {
            let most = if i + 2 >= all.len() { MAX_LATEST } else { MAX_EARLIER };
            let by = match (m.role, m.speaker.as_deref()) {
                (Role::Assistant, _) => ASSISTANT,
                (Role::Document, _) => DOCUMENT,
                (Role::User, speaker) if speaker == input.speaker.as_deref() => SPEAKER,
                (Role::User, speaker) => speaker.unwrap_or(OWNER),
            };
            json!({ "by": by, "text": truncate(m.text.as_str(), most) })
        })
        .collect();
    let mut fields = Map::new();
    fields.insert("speaker".to_owned(), json!(input.speaker));
    fields.insert("earlier".to_owned(), Value::Array(earlier));
    fields.insert("message".to_owned(), json!(shown_text(input)));
    fields
}

/// Returns the known names and facts, as many as fit.
fn known(input: &ExtractInput) -> Map<String, Value> {
    let Known { names, facts } = input.background.known.as_ref();
    let names = names.iter().map(|n| {
        let mut name = json!({ "name": n.name, "type": n.entity_type.word() });
        if !n.aliases.is_empty() {
            name["also"] = json!(n.aliases.iter().take(MAX_ALIASES).collect::<Vec<_>>());
        }
        if let Some(role) = &n.description {
            name["role"] = json!(role);
        }
        name
    });
    // "SPEAKER" means the user only where the user speaks.
    let user = if input.speaker.is_none() { SPEAKER } else { OWNER };
    let side = |name: &Option<String>| name.clone().unwrap_or_else(|| user.to_owned());
    let facts = facts.iter().map(|f| json!(format!("{} {} {}", side(&f.subject), f.relation, side(&f.object))));
    Map::from_iter([
        ("known".to_owned(), Value::Array(fitting(names, MAX_NAMES))),
        ("known_facts".to_owned(), Value::Array(fitting(facts, MAX_FACTS))),
    ])
}

/// Returns the first items that fit into `room` bytes together; an item that does not fit is left out.
fn fitting(items: impl Iterator<Item = Value>, room: usize) -> Vec<Value> {
    let mut left = room;
    let mut fits = |item: &Value| {
        let size = item.to_string().len() + 1;
        let fits = size <= left;
        left -= if fits { size } else { 0 };
        fits
    };
    items.filter(|item| fits(item)).collect()
}

/// Returns the start of a text, cut between characters.
fn truncate(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use recall_domain::EntityType;
    use recall_ports::{Background, EarlierMessage, KnownFact, KnownName};

    fn input(text: &str, earlier: &[&str], names: &[&str]) -> ExtractInput {
        let earlier = earlier.iter().zip(1..).map(|(text, n)| EarlierMessage {
            id: MessageId(Uuid::from_u128(n)),
            role: Role::User,
            speaker: None,
            text: (*text).into(),
        });
        let known = Known {
            names: names
                .iter()
                .map(|n| KnownName {
                    name: (*n).to_owned(),
                    entity_type: EntityType::Person,
                    aliases: vec![(*n).to_owned(); 9],
                    description: Some("friend".to_owned()),
                })
                .collect(),
            facts: names.iter().map(|n| KnownFact { subject: None, relation: "KNOWS".to_owned(), object: Some((*n).to_owned()) }).collect(),
        };
        ExtractInput {
            message: Some(MessageId(Uuid::from_u128(100))),
            text: text.into(),
            background: Background { earlier: earlier.collect(), known: Arc::new(known) },
            ..ExtractInput::default()
        }
    }

    #[test]
    fn batch_shows_each_message_once() {
        let first = ExtractInput { message: Some(MessageId(Uuid::from_u128(3))), ..input("third", &["first", "second"], &["Ann"]) };
        let second = input("fourth", &["first", "second", "third"], &["Ann"]);
        let shown = batch(&[&first, &second]);
        assert_eq!(shown.to_string().matches("third").count(), 1, "{shown:#}");
        assert_eq!(shown["messages"][1]["earlier"].as_array().unwrap().len(), 2);
        assert_eq!((&shown["messages"][1]["n"], &shown["known_facts"][0]), (&json!(2), &json!("SPEAKER KNOWS Ann")));
        assert!(shown["messages"][0].get("known").is_none());
    }

    #[test]
    fn user_is_not_called_speaker_in_words_of_others() {
        let shown = single(&ExtractInput { speaker: Some("Ann".to_owned()), ..input("Hi", &["I like tea."], &["Bob"]) });
        assert_eq!(shown["earlier"][0]["by"], OWNER);
        assert_eq!(shown["known_facts"][0], format!("{OWNER} KNOWS Bob"));
    }

    proptest! {
        #[test]
        fn prompt_size_is_bounded(text in 0usize..60_000, earlier in 0usize..20_000, names in 0usize..200, length in 1usize..300) {
            let (text, earlier) = ("ß".repeat(text / 2), "é".repeat(earlier / 2));
            let names: Vec<String> = (0..names).map(|n| format!("{n}{}", "x".repeat(length))).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let input = input(&text, &[earlier.as_str(); 6], &names);
            let bound = MAX_TEXT + 2 * MAX_LATEST + 4 * MAX_EARLIER + MAX_NAMES + MAX_FACTS + 1_000;
            prop_assert!(single(&input).to_string().len() <= bound);
        }
    }
}
