//! Finds the conversation in a chat request.

use super::wire::ChatBody;
use recall_domain::UserText;
use recall_usecases::{Conversation, Turn};

/// Returns the conversation of a request; `None` without a user message.
///
/// Messages of the system, the developer and tools are not part of it. Takes the attachments out of the messages that were read.
pub(super) fn conversation_of(body: &mut ChatBody, chat: Option<String>) -> Option<Conversation> {
    let mut turns: Vec<Turn> = Vec::new();
    for message in &mut body.messages {
        match (message.role.as_str(), turns.last_mut()) {
            ("user", _) => {
                let text = UserText::from(without_files(&message.text()));
                turns.push(Turn { text, attachments: message.take_attachments(), answers: Vec::new() });
            }
            // An answer before the first user message is a greeting of the front end.
            ("assistant", Some(turn)) => turn.answers.push(UserText::from(message.text())),
            _ => {}
        }
    }
    (!turns.is_empty()).then(|| Conversation::new(chat, turns))
}

/// Returns what the user said, without the list of attached files that Open WebUI writes before it.
fn without_files(text: &str) -> &str {
    let list = text.trim_start().strip_prefix("<attached_files>");
    list.and_then(|list| list.split_once("</attached_files>")).map_or(text, |(_, said)| said.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_of_files_is_not_what_the_user_said() {
        let file = r#"<file type="file" id="1" url="1" content_type="image/png" name="photo.png"/>"#;
        assert_eq!(without_files(&format!("<attached_files>\n{file}\n</attached_files>\n\n\nMy garden.")), "My garden.");
        assert_eq!(without_files(&format!("<attached_files>\n{file}\n</attached_files>\n\n")), "");
        for plain in ["My garden.", " My garden.", "What is <attached_files>?", "<attached_files> is a tag."] {
            assert_eq!(without_files(plain), plain);
        }
    }
}
