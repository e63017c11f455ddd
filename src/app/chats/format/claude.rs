//! Claude: `conversations.json` of a data export.
//!
//! Messages name the message before them, because an edit or a new answer begins a branch. The list contains all branches. Older exports
//! name no such message; they are read in the order of the list.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::{Conversation, Reason, Skipped, Turn, Unreadable, path_to, read_date};
use recall_domain::Role;

#[derive(Deserialize)]
struct Exported {
    uuid: String,
    name: Option<String>,
    created_at: Option<String>,
    chat_messages: Vec<Message>,
    /// The last message of the branch that the user saw last.
    current_leaf_message_uuid: Option<String>,
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
    /// The message before this one; of a first message an id that no message has.
    parent_message_uuid: Option<String>,
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
    let branch = branch(&exported);
    skipped.count_several(Reason::OldBranch, exported.chat_messages.len().saturating_sub(branch.len()) as u64);
    for message in branch {
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

/// Returns the messages of the branch that the user saw last, in order.
fn branch(exported: &Exported) -> Vec<&Message> {
    let all = &exported.chat_messages;
    if all.iter().all(|message| message.parent_message_uuid.is_none()) {
        return all.iter().collect();
    }
    let by_id: HashMap<String, &Message> = all.iter().map(|message| (message.uuid.clone(), message)).collect();
    let leaf = exported.current_leaf_message_uuid.as_deref().filter(|leaf| by_id.contains_key(*leaf)).or_else(|| latest_leaf(all));
    path_to(leaf.unwrap_or_default(), &by_id, |message| message.parent_message_uuid.as_deref()).into_iter().copied().collect()
}

/// Returns the latest message without a reply, for exports that do not name the current one. Of two at one time, the later one of the list.
fn latest_leaf(all: &[Message]) -> Option<&str> {
    let parents: HashSet<&str> = all.iter().filter_map(|message| message.parent_message_uuid.as_deref()).collect();
    let leaves = all.iter().filter(|message| !parents.contains(message.uuid.as_str()));
    leaves.max_by_key(|message| message.created_at.as_deref().and_then(read_date)).map(|message| message.uuid.as_str())
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
    Ok(Turn { id: message.uuid.clone(), role, text, sent_at, is_rephrased: false })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn named_leaf_ends_the_branch() {
        let message =
            |id: &str, parent: &str| serde_json::json!({ "uuid": id, "sender": "human", "text": id, "parent_message_uuid": parent });
        let all = [message("a", "root"), message("b", "a"), message("c", "a"), message("d", "e"), message("e", "d")];
        let texts = |leaf: Option<&str>| -> Vec<String> {
            let exported = serde_json::json!({ "uuid": "x", "chat_messages": all, "current_leaf_message_uuid": leaf });
            read(&exported.to_string()).unwrap().turns.into_iter().map(|turn| turn.text).collect()
        };
        assert_eq!(texts(Some("b")), ["a", "b"]);
        assert_eq!((texts(None), texts(Some("unknown"))), (vec!["a".to_owned(), "c".to_owned()], vec!["a".to_owned(), "c".to_owned()]));
        assert_eq!(texts(Some("d")).len(), 2, "a cycle ends");
    }

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
        let rest = read[2].turns.iter().map(|t| t.text.as_str()).collect::<Vec<_>>();
        assert_eq!(rest, ["My aunt Lena lives in Basel.", "Noted.", "She paints.", "What does she paint?"]);
        assert_eq!(read[2].skipped.iter().collect::<Vec<_>>(), [(Reason::OldBranch, 2)]);
        assert!(super::read(r#"{"uuid":"a"}"#).is_err());
    }
}
