//! Claude: `conversations.json` of a data export.

use serde::Deserialize;

use super::{Conversation, Reason, Skipped, Turn, Unreadable, read_date};
use recall_domain::Role;

#[derive(Deserialize)]
struct Exported {
    uuid: String,
    name: Option<String>,
    created_at: Option<String>,
    chat_messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    uuid: String,
    sender: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    content: Vec<Block>,
    created_at: Option<String>,
}

/// A part of a message: text, a thought, or the call or result of a tool.
#[derive(Deserialize)]
struct Block {
    r#type: String,
    text: Option<String>,
}

/// Reads one conversation.
pub(super) fn read(element: &str) -> Result<Conversation, Unreadable> {
    let exported: Exported = serde_json::from_str(element)?;
    let (mut turns, mut skipped) = (Vec::new(), Skipped::default());
    for message in &exported.chat_messages {
        match read_message(message) {
            Ok(turn) => turns.push(turn),
            Err(reason) => skipped.count(reason),
        }
    }
    Ok(Conversation {
        id: exported.uuid,
        title: exported.name,
        owner: None,
        began_at: exported.created_at.as_deref().and_then(read_date),
        turns,
        skipped,
    })
}

fn read_message(message: &Message) -> Result<Turn, Reason> {
    let role = match message.sender.as_str() {
        "human" => Role::User,
        "assistant" => Role::Assistant,
        _ => return Err(Reason::Hidden),
    };
    // `text` also describes the blocks that are not text. Older exports have only `text`.
    let blocks: Vec<&str> = message.content.iter().filter(|b| b.r#type == "text").filter_map(|b| b.text.as_deref()).collect();
    let text = if message.content.is_empty() { message.text.clone() } else { blocks.join("\n") };
    if text.trim().is_empty() {
        return Err(Reason::NoText);
    }
    let sent_at = message.created_at.as_deref().and_then(read_date);
    Ok(Turn { id: message.uuid.clone(), role, text, sent_at, original: None })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn text_blocks_are_read_in_order() {
        let all: Vec<serde_json::Value> = serde_json::from_str(include_str!("../../../../tests/data/imports/claude.json")).unwrap();
        let read: Vec<_> = all.iter().map(|c| read(&c.to_string()).unwrap()).collect();
        let texts: Vec<_> = read[0].turns.iter().map(|t| (t.role, t.text.as_str())).collect();
        assert_eq!(
            texts,
            [
                (Role::User, "My brother Otto plays the cello."),
                (Role::Assistant, "I looked it up.\nHis orchestra is on tour."),
                (Role::User, "He lives in Rome."),
            ]
        );
        assert_eq!((read[0].id.as_str(), read[0].title.as_deref()), ("5f0c0000-0000-4000-8000-000000000001", Some("Music")));
        assert_eq!(read[0].turns[0].sent_at.unwrap().to_rfc3339(), "2025-02-03T09:00:00.123456+00:00");
        assert_eq!(read[0].skipped.iter().collect::<Vec<_>>(), [(Reason::NoText, 1)]);
        assert!(read[1].turns.is_empty());
        assert!(super::read(r#"{"uuid":"a"}"#).is_err());
    }
}
