//! Options that a client sets with headers.

use axum::http::HeaderMap;

use crate::error::ApiError;

/// The header that overrides the setting for sources.
const CITATIONS: &str = "x-recall-citations";
/// The header with the front end's id of the conversation.
const CHAT_ID: &str = "x-openwebui-chat-id";
/// The header that marks a request that the front end makes in the background.
const TASK: &str = "x-openwebui-task";
/// The task of a front end that finds a title for the chat.
const TITLE_TASK: &[u8] = b"title_generation";
/// How ids begin of chats that are not remembered: Open WebUI's temporary chats, now and before version 0.12, and its channels. People share
/// a channel, so what one of them told in private must not appear there.
const NOT_REMEMBERED: [&str; 3] = ["temporary:", "local:", "channel:"];
/// Longest id of a conversation, in bytes.
const MAX_CHAT_ID_BYTES: usize = 256;

/// How an answer shows the sources that it cites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Citations {
    /// Not at all.
    #[default]
    None,
    /// As text at the end of the answer.
    Text,
    /// As events that Open WebUI shows below the answer.
    OpenWebUi,
}

impl Citations {
    /// Reads the name of an option.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "text" => Some(Self::Text),
            "openwebui" => Some(Self::OpenWebUi),
            _ => None,
        }
    }

    /// Returns what the request asks for, or else `setting`.
    pub(super) fn of(headers: &HeaderMap, setting: Self) -> Result<Self, ApiError> {
        let Some(given) = headers.get(CITATIONS) else { return Ok(setting) };
        let message = "The header `x-recall-citations` has another value than `none`, `text` or `openwebui`.";
        given.to_str().ok().and_then(Self::parse).ok_or_else(|| ApiError::invalid("INVALID_CITATIONS", message, ""))
    }
}

/// Returns the front end's id of the conversation: from the header, or else from `metadata.chat_id` of the body.
pub(super) fn chat_id(headers: &HeaderMap, of_body: Option<&str>) -> Option<String> {
    let usable = |id: &str| {
        let id = id.trim();
        (!id.is_empty() && id.len() <= MAX_CHAT_ID_BYTES).then(|| id.to_owned())
    };
    // A front end may leave its template unfilled, for a request outside of a conversation.
    let filled = |id: &&str| !id.starts_with("{{");
    headers.get(CHAT_ID).and_then(|id| id.to_str().ok()).filter(filled).and_then(usable).or_else(|| of_body.and_then(usable))
}

/// Whether the chat with this id is one that front ends do not keep, or one of several people.
pub(super) fn is_not_remembered(chat: &str) -> bool {
    NOT_REMEMBERED.iter().any(|prefix| chat.starts_with(prefix))
}

/// Whether the front end makes the request for itself, such as for a title.
pub(super) fn is_task(headers: &HeaderMap, last_message: Option<&str>, prompts: &[String]) -> bool {
    let named = task(headers).is_some_and(|task| !task.is_empty() && !task.starts_with(b"{{"));
    named || last_message.is_some_and(|text| prompts.iter().any(|prompt| text.trim_start().starts_with(prompt.as_str())))
}

/// Whether the front end asks for the title of a chat.
pub(super) fn is_title_task(headers: &HeaderMap) -> bool {
    task(headers) == Some(TITLE_TASK)
}

fn task(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(TASK).map(|task| task.as_bytes().trim_ascii())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(axum::http::HeaderName::from_static(name), axum::http::HeaderValue::from_static(value))])
    }

    #[test]
    fn chat_id_of_the_header_wins() {
        assert_eq!(chat_id(&headers(CHAT_ID, " a "), Some("b")).as_deref(), Some("a"));
        assert_eq!(chat_id(&headers(CHAT_ID, ""), Some("b")).as_deref(), Some("b"));
        assert_eq!(chat_id(&headers(CHAT_ID, "{{CHAT_ID}}"), None), None);
        assert_eq!(chat_id(&HeaderMap::new(), Some(&"x".repeat(257))), None);
    }

    #[test]
    fn background_tasks_are_recognised() {
        let prompts = ["### Task:".to_owned()];
        let is = |headers: &HeaderMap, text| is_task(headers, text, &prompts);
        assert!(is(&headers(TASK, "title_generation"), Some("Hello")));
        assert!(is(&HeaderMap::new(), Some("\n### Task:\nGenerate a title")));
        assert!(!is(&headers(TASK, ""), Some("Hello, ### Task:")));
        assert!(!is(&headers(TASK, "{{TASK}}"), None));
        assert!(is_title_task(&headers(TASK, "title_generation")) && !is_title_task(&headers(TASK, "tags_generation")));
    }

    #[test]
    fn temporary_chats_and_channels_are_not_remembered() {
        assert!(["temporary:025Bzc_kuBk47AlbAAAJ", "local:x", "channel:7d1c"].into_iter().all(is_not_remembered));
        assert!(!is_not_remembered("a37b5876-0872-483c-8f8f-9f8f22357758") && !is_not_remembered("temporary"));
    }

    #[test]
    fn citations_of_the_header_win() {
        assert_eq!(Citations::of(&headers(CITATIONS, "text"), Citations::None).unwrap(), Citations::Text);
        assert_eq!(Citations::of(&HeaderMap::new(), Citations::OpenWebUi).unwrap(), Citations::OpenWebUi);
        assert_eq!(Citations::of(&headers(CITATIONS, "html"), Citations::None).unwrap_err().code(), "INVALID_CITATIONS");
    }
}
