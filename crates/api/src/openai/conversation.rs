//! Finds the conversation in a chat request.

use super::wire::{ChatBody, WireMessage};
use recall_domain::UserText;
use recall_usecases::{Conversation, Turn};

/// Returns the conversation of a request; `None` without a user message.
///
/// Messages of the system, the developer and tools are not part of it. Takes the attachments out of the messages that were read.
pub(super) fn conversation_of(body: &mut ChatBody, chat: Option<String>) -> Option<Conversation> {
    let mut turns: Vec<Turn> = Vec::new();
    for message in &mut body.messages {
        match (message.role.as_str(), turns.last_mut()) {
            ("user", _) => turns.push(Turn { text: text(message), attachments: message.take_attachments(), answers: Vec::new() }),
            // An answer before the first user message is a greeting of the front end.
            ("assistant", Some(turn)) => turn.answers.push(text(message)),
            _ => {}
        }
    }
    (!turns.is_empty()).then(|| Conversation::new(chat, turns))
}

fn text(message: &WireMessage) -> UserText {
    UserText::from(message.text())
}
