//! mem0: the JSON list of memories, as `get_all` and the export of the platform return it.
//!
//! A memory is a sentence about the user, often without a subject. It becomes a statement of the user.

use serde::Deserialize;

use super::{Conversation, Skipped, Turn, Unreadable, first_person::in_first_person, read_date};
use recall_domain::Role;

#[derive(Deserialize)]
struct Exported {
    id: String,
    #[serde(alias = "text", alias = "data")]
    memory: String,
    user_id: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
}

/// Reads one memory, as a conversation of one message. All memories of a user have the same conversation.
pub(super) fn read(element: &str) -> Result<Conversation, Unreadable> {
    let exported: Exported = serde_json::from_str(element)?;
    // The words are those of the last update.
    let said_at = exported.updated_at.or(exported.created_at);
    let sent_at = said_at.as_deref().and_then(read_date);
    let text = in_first_person(&exported.memory);
    let is_rephrased = text != exported.memory;
    Ok(Conversation {
        id: exported.user_id.clone().unwrap_or_else(|| "memories".to_owned()),
        title: Some("Memories from mem0".to_owned()),
        owner: exported.user_id,
        began_at: sent_at,
        turns: vec![Turn { id: exported.id, role: Role::User, text, sent_at, is_rephrased }],
        skipped: Skipped::default(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn memories_become_statements_of_the_user() {
        let file: serde_json::Value = serde_json::from_str(include_str!("../../../../tests/data/imports/mem0.json")).unwrap();
        let read: Vec<_> = file["results"].as_array().unwrap().iter().map(|m| read(&m.to_string()).unwrap()).collect();
        let texts: Vec<_> = read.iter().map(|c| c.turns[0].text.as_str()).collect();
        assert_eq!(texts, ["I live in Ghent", "My name is Anna", "Maren works at Airbus"]);
        assert!(read[0].turns[0].is_rephrased);
        assert!(!read[2].turns[0].is_rephrased);
        assert_eq!(read[0].turns[0].sent_at.unwrap().to_rfc3339(), "2025-01-02T18:30:00+00:00");
        assert_eq!(read[1].turns[0].sent_at.unwrap().to_rfc3339(), "2025-01-05T08:00:00+00:00");
        assert!(read.iter().all(|c| c.id == "anna" && c.owner.as_deref() == Some("anna")));
    }
}
