//! Makes the messages of an export acceptable to the use cases, and divides them into imports. Pure.

use uuid::Uuid;

use super::format::{Conversation, Format, Reason, Skipped, Turn};
use recall_domain::{SessionId, Timestamp, message::MAX_TEXT_BYTES};
use recall_usecases::{MAX_IMPORT, SendMessage};

/// Most bytes of text in one import.
const BATCH_BYTES: usize = 1024 * 1024;
/// Longest title and longest id of a message, in bytes.
const MAX_NAME_BYTES: usize = 200;

/// Returns the title as the use cases accept it.
pub(super) fn title(title: Option<&str>) -> Option<String> {
    let words: Vec<&str> = title?.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    let title = words.join(" ");
    let end = title.floor_char_boundary(MAX_NAME_BYTES);
    Some(title[..end].trim_end().to_owned()).filter(|title| !title.is_empty())
}

/// Returns the messages of a conversation as imports, and counts what is left out.
///
/// Messages without a date get that of the message before. A date in the future is a wrong clock; the use case would refuse it.
pub(super) fn imports(
    conversation: Conversation,
    format: Format,
    session: SessionId,
    now: Timestamp,
    skipped: &mut Skipped,
) -> Vec<Vec<SendMessage>> {
    let (mut imports, mut batch, mut bytes) = (Vec::new(), Vec::new(), 0);
    let mut date = conversation.began_at.map(|at| at.min(now));
    for turn in conversation.turns {
        date = turn.sent_at.map(|at| at.min(now)).or(date);
        let text = without_control_characters(&turn.text);
        if text.trim().is_empty() {
            skipped.count(Reason::NoText);
            continue;
        }
        for (n, part) in split(&text, MAX_TEXT_BYTES).into_iter().enumerate() {
            if batch.len() == MAX_IMPORT || bytes + part.len() > BATCH_BYTES {
                imports.push(std::mem::take(&mut batch));
                bytes = 0;
            }
            bytes += part.len();
            batch.push(message(&turn, part, n, format, session, date));
        }
    }
    imports.push(batch);
    imports.retain(|batch| !batch.is_empty());
    imports
}

fn message(turn: &Turn, text: &str, part: usize, format: Format, session: SessionId, sent_at: Option<Timestamp>) -> SendMessage {
    let id = client_id(&turn.id);
    // Not the original words: only the text is masked.
    let metadata = turn.is_rephrased.then(|| serde_json::json!({ "source": format.name(), "rephrased": true }));
    SendMessage {
        session,
        text: text.to_owned(),
        role: turn.role,
        speaker: None,
        sent_at,
        source_metadata: metadata,
        client_message_id: Some(if part == 0 { id } else { format!("{id}/{}", part + 1) }),
        resources: Vec::new(),
        answer_from: recall_domain::context::SearchSources::default(),
    }
}

/// Returns the id of the export, or an id made from it if the use cases would refuse it. It must be the same in a repeated import.
fn client_id(id: &str) -> String {
    let is_plain = !id.trim().is_empty() && id.len() <= MAX_NAME_BYTES - 20 && !id.chars().any(char::is_control);
    if is_plain { id.to_owned() } else { Uuid::new_v5(&Uuid::NAMESPACE_OID, id.as_bytes()).to_string() }
}

fn without_control_characters(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t')).collect()
}

/// Splits a text that is too long, between lines or words where possible.
fn split(mut text: &str, most: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    while text.len() > most {
        let head = &text[..text.floor_char_boundary(most)];
        // Not far back: a long line has few breaks.
        let tail = head.ceil_char_boundary(head.len() / 2);
        let at = head[tail..].rfind('\n').or_else(|| head[tail..].rfind(' ')).map_or(head.len(), |at| tail + at + 1);
        let (part, rest) = text.split_at(at);
        parts.push(part);
        text = rest;
    }
    parts.push(text);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use recall_domain::Role;

    fn turn(id: &str, text: &str, sent_at: Option<i64>) -> Turn {
        let sent_at = sent_at.map(|seconds| Timestamp::from_timestamp(seconds, 0).unwrap());
        Turn { id: id.to_owned(), role: Role::User, text: text.to_owned(), sent_at, is_rephrased: false }
    }

    fn prepared(turns: Vec<Turn>) -> (Vec<Vec<SendMessage>>, Skipped) {
        let began_at = Timestamp::from_timestamp(100, 0);
        let conversation = Conversation { id: "c".into(), title: None, owner: None, began_at, turns, skipped: Skipped::default() };
        let (mut skipped, now) = (Skipped::default(), Timestamp::from_timestamp(1_000, 0).unwrap());
        (imports(conversation, Format::Claude, SessionId(Uuid::nil()), now, &mut skipped), skipped)
    }

    #[test]
    fn undated_messages_get_the_date_before_and_future_ones_the_present() {
        let (imports, _) =
            prepared(vec![turn("1", "a", None), turn("2", "b", Some(200)), turn("3", "c", None), turn("4", "d", Some(9_999))]);
        let dates: Vec<_> = imports[0].iter().map(|m| m.sent_at.unwrap().timestamp()).collect();
        assert_eq!(dates, [100, 200, 200, 1_000]);
    }

    #[test]
    fn texts_become_acceptable() {
        let long = format!("{}\n{}", "x".repeat(MAX_TEXT_BYTES - 10), "ü".repeat(20));
        let (imports, skipped) =
            prepared(vec![turn("1", "a\0b\u{1b}\n", None), turn("2", "\u{7} ", None), turn("3", &long, None), turn("", "d", None)]);
        let texts: Vec<_> = imports[0].iter().map(|m| m.text.len()).collect();
        assert_eq!(texts, [3, MAX_TEXT_BYTES - 9, 40, 1]);
        let ids: Vec<_> = imports[0].iter().map(|m| m.client_message_id.clone().unwrap()).collect();
        assert_eq!(ids[..3], ["1", "3", "3/2"]);
        assert_eq!(ids[3].len(), 36);
        assert_eq!(skipped.iter().collect::<Vec<_>>(), [(Reason::NoText, 1)]);
        assert_eq!(split(&"ü".repeat(10), 7), ["üüü", "üüü", "üüü", "ü"]);
    }

    #[test]
    fn imports_have_a_limited_size() {
        let many = (0..MAX_IMPORT + 1).map(|n| turn(&n.to_string(), "a", None)).collect();
        assert_eq!(prepared(many).0.iter().map(Vec::len).collect::<Vec<_>>(), [MAX_IMPORT, 1]);
        let large = (0..20).map(|n| turn(&n.to_string(), &"a".repeat(60_000), None)).collect();
        assert_eq!(prepared(large).0.len(), 2);
        assert!(prepared(Vec::new()).0.is_empty());
    }

    #[test]
    fn titles_become_acceptable() {
        assert_eq!(title(Some(" My\n trip\u{7} ")).unwrap(), "My trip");
        assert_eq!(title(Some(&"ü".repeat(150))).unwrap().len(), 200);
        assert_eq!((title(Some("\u{1} ")), title(None)), (None, None));
    }
}
