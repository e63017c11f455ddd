//! Open WebUI: the JSON file of exported chats.
//!
//! A chat is a tree of messages; `currentId` names the end of the branch that the user saw last. Older chats have a plain list instead.

use std::collections::HashMap;

use serde::Deserialize;

use super::{Conversation, Reason, Skipped, Turn, Unreadable, path_to, read_unix_time};
use recall_domain::Role;

#[derive(Deserialize)]
struct Exported {
    id: Option<String>,
    user_id: Option<String>,
    title: Option<String>,
    created_at: Option<f64>,
    chat: Chat,
}

#[derive(Deserialize)]
struct Chat {
    id: Option<String>,
    title: Option<String>,
    timestamp: Option<f64>,
    history: Option<History>,
    #[serde(default)]
    messages: Vec<Message>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct History {
    #[serde(default)]
    messages: HashMap<String, Message>,
    current_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    id: Option<String>,
    parent_id: Option<String>,
    role: String,
    #[serde(default)]
    content: serde_json::Value,
    timestamp: Option<f64>,
}

/// Reads one chat.
pub(super) fn read(element: &str) -> Result<Conversation, Unreadable> {
    let exported: Exported = serde_json::from_str(element)?;
    let chat = &exported.chat;
    let tree = chat.history.as_ref().filter(|history| !history.messages.is_empty());
    let path = match tree {
        Some(history) => path_to(history.current_id.as_deref().unwrap_or_default(), &history.messages, |m| m.parent_id.as_deref()),
        None => Vec::new(),
    };
    // A damaged tree has no path, but the list shows the same branch.
    let path = if path.is_empty() { chat.messages.iter().collect() } else { path };
    let (mut turns, mut skipped) = (Vec::new(), Skipped::default());
    for (n, message) in path.iter().enumerate() {
        match read_message(message, n) {
            Ok(turn) => turns.push(turn),
            Err(reason) => skipped.count(reason),
        }
    }
    let all = tree.map_or(path.len(), |history| history.messages.len());
    skipped.count_several(Reason::OldBranch, all.saturating_sub(path.len()) as u64);
    Ok(Conversation {
        id: exported.id.or(exported.chat.id).ok_or(Unreadable)?,
        title: exported.title.or(exported.chat.title),
        owner: exported.user_id,
        began_at: exported.created_at.or(exported.chat.timestamp).and_then(read_unix_time),
        turns,
        skipped,
    })
}

fn read_message(message: &Message, n: usize) -> Result<Turn, Reason> {
    let role = match message.role.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return Err(Reason::Hidden),
    };
    let text = match &message.content {
        serde_json::Value::String(text) => text.clone(),
        // The form of the OpenAI protocol: a list of parts, some of which are images.
        serde_json::Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    };
    let text = if role == Role::Assistant { without_details(&text) } else { text };
    if text.trim().is_empty() {
        return Err(Reason::NoText);
    }
    let id = message.id.clone().unwrap_or_else(|| format!("message {n}"));
    Ok(Turn { id, role, text, sent_at: message.timestamp.and_then(read_unix_time), is_rephrased: false })
}

/// Removes folded parts of an answer: the reasoning of a model, and calls of tools.
fn without_details(text: &str) -> String {
    const FOLDED: &str = "<details type=\"";
    const END: &str = "</details>";
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, folded)) = rest.split_once(FOLDED) {
        kept.push_str(before);
        // Without an end, the model was stopped inside.
        rest = folded.split_once(END).map_or("", |(_, after)| after.trim_start());
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn current_branch_is_read_without_folded_parts() {
        let all: Vec<serde_json::Value> = serde_json::from_str(include_str!("../../../../tests/data/imports/openwebui.json")).unwrap();
        let read: Vec<_> = all.iter().map(|c| read(&c.to_string()).unwrap()).collect();
        let texts = |n: usize| read[n].turns.iter().map(|t| (t.role, t.text.as_str())).collect::<Vec<_>>();
        assert_eq!(texts(0), [(Role::User, "My dog is called Bruno."), (Role::Assistant, "A fine name.")]);
        assert_eq!(read[0].skipped.iter().collect::<Vec<_>>(), [(Reason::Hidden, 1), (Reason::OldBranch, 1)]);
        assert_eq!(read[0].turns[0].sent_at.unwrap().to_rfc3339(), "2025-04-01T10:00:05+00:00");
        assert_eq!((read[0].id.as_str(), read[0].owner.as_deref()), ("c0000000-0000-4000-8000-000000000001", Some("u1")));
        assert_eq!(texts(1), [(Role::User, "Emma plays chess."), (Role::Assistant, "With whom?")]);
        assert_eq!(read[1].turns[1].id, "message 1");
    }

    #[test]
    fn unfinished_folded_part_is_removed() {
        assert_eq!(without_details("a <details type=\"reasoning\" done=\"false\">b"), "a ");
        assert_eq!(without_details("<details>kept</details>"), "<details>kept</details>");
    }
}
