//! ChatGPT: `conversations.json` of a data export.
//!
//! A conversation is a tree of messages, because an edit or a new answer begins a branch. The branch that the user saw last ends at
//! `current_node`.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Conversation, Reason, Skipped, Turn, Unreadable, path_to, read_unix_time};
use recall_domain::Role;

#[derive(Deserialize)]
struct Exported {
    conversation_id: Option<String>,
    id: Option<String>,
    title: Option<String>,
    create_time: Option<f64>,
    mapping: HashMap<String, Node>,
    current_node: Option<String>,
}

#[derive(Deserialize)]
struct Node {
    message: Option<Message>,
    parent: Option<String>,
    #[serde(default)]
    children: Vec<String>,
}

#[derive(Deserialize)]
struct Message {
    id: String,
    author: Author,
    create_time: Option<f64>,
    content: Content,
    #[serde(default)]
    metadata: Option<Metadata>,
    recipient: Option<String>,
}

#[derive(Deserialize)]
struct Author {
    role: String,
}

#[derive(Deserialize)]
struct Content {
    content_type: String,
    #[serde(default)]
    parts: Vec<Value>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    is_visually_hidden_from_conversation: Option<bool>,
}

/// Reads one conversation.
pub(super) fn read(element: &str) -> Result<Conversation, Unreadable> {
    let exported: Exported = serde_json::from_str(element)?;
    let leaf = exported.current_node.as_deref().or_else(|| latest_leaf(&exported.mapping)).unwrap_or_default();
    let path = path_to(leaf, &exported.mapping, |node| node.parent.as_deref());
    let (mut turns, mut skipped) = (Vec::new(), Skipped::default());
    for message in path.iter().filter_map(|node| node.message.as_ref()) {
        match read_message(message) {
            Ok(turn) => turns.push(turn),
            Err(reason) => skipped.count(reason),
        }
    }
    let on_path = path.iter().filter(|node| node.message.is_some()).count();
    let all = exported.mapping.values().filter(|node| node.message.is_some()).count();
    skipped.count_several(Reason::OldBranch, (all - on_path) as u64);
    Ok(Conversation {
        id: exported.conversation_id.or(exported.id).ok_or(Unreadable)?,
        title: exported.title,
        owner: None,
        began_at: exported.create_time.and_then(read_unix_time),
        turns,
        skipped,
    })
}

/// Returns the latest message without a reply, for exports that do not name the current one.
fn latest_leaf(mapping: &HashMap<String, Node>) -> Option<&str> {
    let leaves = mapping.iter().filter(|(_, node)| node.children.is_empty());
    let date = |node: &Node| node.message.as_ref().and_then(|m| m.create_time).unwrap_or_default();
    leaves.max_by(|a, b| date(a.1).total_cmp(&date(b.1)).then_with(|| a.0.cmp(b.0))).map(|(id, _)| id.as_str())
}

fn read_message(message: &Message) -> Result<Turn, Reason> {
    let role = match message.author.role.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return Err(Reason::Hidden),
    };
    let is_hidden = message.metadata.as_ref().and_then(|m| m.is_visually_hidden_from_conversation).unwrap_or(false);
    // Calls of tools have another recipient. Thoughts and custom instructions have other types of content.
    let is_for_all = message.recipient.as_deref().is_none_or(|to| to == "all");
    let is_text = matches!(message.content.content_type.as_str(), "text" | "multimodal_text");
    if is_hidden || !is_for_all || !is_text {
        return Err(Reason::Hidden);
    }
    let parts = message.content.parts.iter().filter_map(|part| match part {
        Value::String(text) => Some(text.as_str()),
        // The words of a voice message; images have no text.
        part => part.get("text").and_then(Value::as_str),
    });
    let text = without_markers(&parts.collect::<Vec<_>>().join("\n"));
    if text.trim().is_empty() {
        return Err(Reason::NoText);
    }
    Ok(Turn { id: message.id.clone(), role, text, sent_at: message.create_time.and_then(read_unix_time), is_rephrased: false })
}

/// Removes marks of citations and of other interface elements, which are between two characters of private use.
fn without_markers(text: &str) -> String {
    let mut is_marker = false;
    let keep = |c: &char| match c {
        '\u{e200}' => {
            is_marker = true;
            false
        }
        '\u{e201}' => {
            is_marker = false;
            false
        }
        _ => !is_marker,
    };
    text.chars().filter(keep).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn conversations() -> Vec<Conversation> {
        let all: Vec<Value> = serde_json::from_str(include_str!("../../../../tests/data/imports/chatgpt.json")).unwrap();
        all.iter().map(|c| read(&c.to_string()).unwrap()).collect()
    }

    #[test]
    fn path_to_the_current_message_is_read() {
        let all = conversations();
        let texts: Vec<_> = all[0].turns.iter().map(|t| (t.role, t.text.as_str())).collect();
        assert_eq!(
            texts,
            [
                (Role::User, "My sister Maren lives in Lyon."),
                (Role::Assistant, "Lyon is lovely."),
                (Role::User, "She works at Airbus.\nWhat is on this photo?"),
                (Role::Assistant, "It shows an aeroplane."),
            ]
        );
        assert_eq!(all[0].id, "67c2d7a0-0001");
        assert_eq!(all[0].title.as_deref(), Some("Family"));
        assert_eq!(all[0].turns[0].sent_at.unwrap().to_rfc3339(), "2025-03-01T10:00:01.500+00:00");
        let skipped: Vec<_> = all[0].skipped.iter().collect();
        assert_eq!(skipped, [(Reason::Hidden, 4), (Reason::OldBranch, 2)]);
    }

    #[test]
    fn latest_leaf_replaces_a_missing_current_message() {
        let all = conversations();
        assert_eq!(all[1].turns.iter().map(|t| t.text.as_str()).collect::<Vec<_>>(), ["I moved to Ghent.", "Good luck there."]);
        assert_eq!(all[1].skipped.iter().collect::<Vec<_>>(), [(Reason::NoText, 1)]);
    }

    #[test]
    fn other_forms_are_unreadable() {
        for wrong in ["{}", "[]", "null", r#"{"mapping":{}}"#, r#"{"id":"a","mapping":[]}"#] {
            assert_eq!(read(wrong), Err(Unreadable), "{wrong}");
        }
        assert!(read(r#"{"id":"a","mapping":{},"current_node":"b"}"#).unwrap().turns.is_empty());
    }
}
