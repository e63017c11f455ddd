//! The keys by which messages of a proxied conversation are recognised. Pure.
//!
//! Clients of the OpenAI protocol send the whole conversation each time, without ids. The key of a user message is computed from its text
//! and the key of the user message before it. Answers are not part of it, so an altered answer does not disturb recognition.

use std::collections::HashSet;

use ring::digest::{Context, SHA256, digest};

use super::Turn;
use recall_domain::{Message, Role, UserText, message::MAX_TEXT_BYTES};

/// Bytes of a hash that are used.
const KEY_BYTES: usize = 16;

/// Computes the key of a user message from its text and the key of the user message before it.
pub(super) fn key_after(parent: Option<&str>, text: &str) -> String {
    let mut hash = Context::new(&SHA256);
    hash.update(parent.unwrap_or_default().as_bytes());
    hash.update(b"\n");
    hash.update(text.trim().as_bytes());
    hexadecimal(hash.finish().as_ref())
}

/// Computes the name of a conversation without an id from its first user message.
pub(super) fn name_of_first(text: &str) -> String {
    hexadecimal(digest(&SHA256, text.trim().as_bytes()).as_ref())
}

fn hexadecimal(hash: &[u8]) -> String {
    hash.iter().take(KEY_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the key of the n-th answer to a user message, from 0.
pub(super) fn answer_key(user: &str, n: usize) -> String {
    if n == 0 { format!("{user}/answer") } else { format!("{user}/answer/{n}") }
}

/// Computes the keys of all user messages, after `parent`.
pub(super) fn keys_of(turns: &[Turn], parent: Option<&str>) -> Vec<String> {
    let mut keys: Vec<String> = Vec::with_capacity(turns.len());
    for turn in turns {
        let key = key_after(keys.last().map(String::as_str).or(parent), turn.identity());
        keys.push(key);
    }
    keys
}

/// Finds where a shortened conversation continues the stored one.
///
/// Some clients leave out the oldest messages of a long conversation. Returns the first turn that is among the latest stored messages, and
/// the keys from it on. Of several places, the one that explains most of the following messages wins, and then the latest.
pub(super) fn continue_from(turns: &[Turn], latest: &[Message]) -> Option<(usize, Vec<String>)> {
    let stored: HashSet<&str> = latest.iter().filter(|m| m.role == Role::User).filter_map(|m| m.external_id.as_deref()).collect();
    // The last turn alone may repeat an earlier text by chance.
    for (at, turn) in turns.iter().enumerate().take(turns.len().saturating_sub(1)) {
        if turn.text.as_str().trim().is_empty() {
            continue;
        }
        let same = |m: &&Message| m.role == Role::User && m.text.as_str().trim() == turn.text.as_str().trim();
        let candidates = latest.iter().filter(same).filter_map(|m| Some((m.position, m.external_id.clone()?)));
        let best = candidates
            .map(|(position, key)| {
                let mut keys = vec![key];
                keys.extend(keys_of(turns.get(at + 1..).unwrap_or_default(), keys.first().map(String::as_str)));
                let known = keys.iter().take_while(|key| stored.contains(key.as_str())).count();
                (known, position, keys)
            })
            .max_by_key(|(known, position, _)| (*known, *position));
        if let Some((_, _, keys)) = best {
            return Some((at, keys));
        }
    }
    None
}

/// The beginning of the keys of messages that a client sends without the ones before.
const ALONE: &str = "alone/";

/// Returns the key of a message that comes without the ones before, after the latest stored messages.
///
/// `None` if the client is known to send the history: then such a message replaces the first one. A repetition of the last message is this
/// message.
pub(super) fn key_alone(turn: &Turn, latest: &[Message]) -> Option<String> {
    let users: Vec<(&str, &Message)> =
        latest.iter().filter(|m| m.role == Role::User).filter_map(|m| Some((m.external_id.as_deref()?, m))).collect();
    // A forgotten message, or an image, has no text from which its key could be computed.
    let has_history = |(key, m): &(&str, &Message)| !key.starts_with(ALONE) && !m.text.as_str().is_empty() && !follows(m, None);
    if users.iter().any(has_history) {
        return None;
    }
    let (key, last) = users.last()?;
    let text = turn.text.as_str().trim();
    match !text.is_empty() && last.text.as_str().trim() == text {
        true => Some((*key).to_owned()),
        false => Some(format!("{ALONE}{}", key_after(Some(*key), turn.identity()))),
    }
}

/// Whether a stored message followed the user message with the key `parent`.
pub(super) fn follows(message: &Message, parent: Option<&str>) -> bool {
    message.role == Role::User && message.external_id.as_deref() == Some(&key_after(parent, message.text.as_str()))
}

/// Makes a text storable: without control characters, and not longer than a message may be.
pub(super) fn storable(text: &str) -> UserText {
    let plain: String = text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\r' | '\t') { ' ' } else { c }).collect();
    let end = plain.floor_char_boundary(MAX_TEXT_BYTES);
    UserText::from(plain.get(..end).unwrap_or(&plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_depends_on_all_user_messages_before() {
        let (a, b) = (key_after(None, "a"), key_after(None, "b"));
        assert_eq!(a.len(), 2 * KEY_BYTES);
        assert_eq!(a, key_after(None, " a\n"), "white space around a text counts");
        assert_ne!(key_after(Some(&a), "x"), key_after(Some(&b), "x"));
        assert_ne!(key_after(Some(&a), "a"), a, "a repeated text is a message of its own");
    }

    #[test]
    fn stored_texts_have_no_control_characters_and_a_limited_length() {
        assert_eq!(storable("a\0b\n\tc\u{1b}[0m").as_str(), "a b\n\tc [0m");
        let long = storable(&"ä".repeat(MAX_TEXT_BYTES));
        assert!(long.as_str().len() <= MAX_TEXT_BYTES && long.as_str().len() > MAX_TEXT_BYTES - 2);
    }
}
