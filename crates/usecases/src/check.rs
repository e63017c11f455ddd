//! Checks input. Pure; every refusal has its own code and names the field.

use super::error::UseCaseError;
use recall_domain::{
    document::{MAX_COLLECTION_BYTES, is_collection_name},
    message::MAX_TEXT_BYTES,
};

/// Longest name of a person, entity or client id, in bytes.
const MAX_NAME_BYTES: usize = 200;
/// Longest reason for a fact, in bytes.
const MAX_REASON_BYTES: usize = 500;
/// Longest question, in bytes.
const MAX_QUERY_BYTES: usize = 4 * 1024;
/// Largest `sourceMetadata` as JSON, in bytes.
const MAX_METADATA_BYTES: usize = 16 * 1024;
/// Longest title, in bytes.
const MAX_TITLE_BYTES: usize = 200;
/// Longest title made from a first message, in characters.
const TITLE_CHARS: usize = 60;

/// Checks a message text: not blank, at most 64 KiB, no control characters except tab and line breaks.
pub(super) fn text(text: &str) -> Result<(), UseCaseError> {
    plain(text, "text", MAX_TEXT_BYTES, ["TEXT_EMPTY", "TEXT_TOO_LONG", "TEXT_CONTROL_CHARACTERS"])
}

/// Checks a question.
pub(super) fn query(text: &str) -> Result<(), UseCaseError> {
    plain(text, "query", MAX_QUERY_BYTES, ["QUERY_EMPTY", "QUERY_TOO_LONG", "QUERY_CONTROL_CHARACTERS"])
}

/// Checks a name and returns it trimmed.
pub(super) fn name(name: &str, path: &'static str) -> Result<String, UseCaseError> {
    plain(name, path, MAX_NAME_BYTES, ["NAME_EMPTY", "NAME_TOO_LONG", "NAME_CONTROL_CHARACTERS"])?;
    if name.contains(['\n', '\r', '\t']) {
        let message = format!("{} has several lines. Put it on one line.", noun(path));
        return Err(UseCaseError::invalid("NAME_CONTROL_CHARACTERS", path, message));
    }
    Ok(name.trim().to_owned())
}

/// Checks a reason and returns it on one line.
pub(super) fn reason(reason: &str) -> Result<String, UseCaseError> {
    plain(reason, "reason", MAX_REASON_BYTES, ["REASON_EMPTY", "REASON_TOO_LONG", "REASON_CONTROL_CHARACTERS"])?;
    Ok(reason.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Checks the name of a collection.
pub(super) fn collection(name: &str, path: &'static str) -> Result<(), UseCaseError> {
    if is_collection_name(name) {
        return Ok(());
    }
    let message = format!("The name of a collection has letters, digits, hyphens and underscores, at most {MAX_COLLECTION_BYTES} bytes.");
    Err(UseCaseError::invalid("COLLECTION_NAME", path, message))
}

/// Checks an id chosen by a client.
pub(super) fn client_id(id: &str, path: &'static str) -> Result<(), UseCaseError> {
    plain(id, path, MAX_NAME_BYTES, ["CLIENT_ID_EMPTY", "CLIENT_ID_TOO_LONG", "CLIENT_ID_CONTROL_CHARACTERS"])
}

/// Checks a title and returns it trimmed.
pub(super) fn title(title: &str) -> Result<String, UseCaseError> {
    plain(title, "title", MAX_TITLE_BYTES, ["TITLE_EMPTY", "TITLE_TOO_LONG", "TITLE_CONTROL_CHARACTERS"])?;
    Ok(title.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Makes a title from a first message: its first line, cut at a word.
pub(super) fn title_of(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|l| !l.is_empty()).unwrap_or_default();
    if line.chars().count() <= TITLE_CHARS {
        return line.to_owned();
    }
    let cut: String = line.chars().take(TITLE_CHARS).collect();
    let at_word = cut.rsplit_once(char::is_whitespace).map_or(cut.as_str(), |(head, _)| head);
    format!("{}…", at_word.trim_end_matches([',', '.', ';', ':']))
}

/// Checks a path.
pub(super) fn path(path: &str, most: usize) -> Result<(), UseCaseError> {
    plain(path, "path", most, ["PATH_EMPTY", "PATH_TOO_LONG", "PATH_CONTROL_CHARACTERS"])
}

/// Checks the size of a client's data.
pub(super) fn metadata(value: &serde_json::Value) -> Result<(), UseCaseError> {
    let size = serde_json::to_vec(value).map_or(usize::MAX, |v| v.len());
    if size > MAX_METADATA_BYTES {
        let message = format!("The source metadata is {size} bytes long as JSON. Shorten it to {MAX_METADATA_BYTES} bytes at most.");
        return Err(UseCaseError::invalid("METADATA_TOO_LARGE", "sourceMetadata", message));
    }
    Ok(())
}

/// Returns the noun for an input field in sentences. The interfaces use different field names.
fn noun(path: &str) -> &'static str {
    match path {
        "text" => "The message",
        "query" => "The question",
        "title" => "The title",
        "speaker" => "The speaker",
        "subject" => "The subject",
        "object" => "The object",
        "value.text" => "The value",
        "value.label" => "The label",
        "mention" => "The mention",
        "path" => "The path",
        "reason" => "The reason",
        "clientMessageId" => "The client's message id",
        _ => "The name",
    }
}

fn plain(text: &str, path: &'static str, max: usize, [empty, long, control]: [&'static str; 3]) -> Result<(), UseCaseError> {
    if text.trim().is_empty() {
        return Err(UseCaseError::invalid(empty, path, format!("{} is empty. Give it a text.", noun(path))));
    }
    if text.len() > max {
        let message = format!("{} is {} bytes long. Shorten it to {max} bytes at most.", noun(path), text.len());
        return Err(UseCaseError::invalid(long, path, message));
    }
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(UseCaseError::invalid(control, path, format!("{} contains control characters. Remove them.", noun(path))));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(r: Result<(), UseCaseError>) -> &'static str {
        r.err().map_or("", |e| e.code())
    }

    #[test]
    fn texts_are_refused_with_a_code_each() {
        assert_eq!(code(text("John likes Mary.\n\tReally.")), "");
        assert_eq!(code(text(" \n\t ")), "TEXT_EMPTY");
        assert_eq!(code(text("a\0b")), "TEXT_CONTROL_CHARACTERS");
        assert_eq!(code(text("\u{1b}[31mred")), "TEXT_CONTROL_CHARACTERS");
        assert_eq!(code(text(&"x".repeat(MAX_TEXT_BYTES))), "");
        assert_eq!(code(text(&"x".repeat(MAX_TEXT_BYTES + 1))), "TEXT_TOO_LONG");
    }

    #[test]
    fn titles_are_cut_at_a_word() {
        assert_eq!(title_of("John likes Mary."), "John likes Mary.");
        assert_eq!(title_of("\n\n second line first"), "second line first");
        let long = title_of("We moved from Lyon to Ghent in March, and Sarah joined the backend team of the company");
        assert!(long.ends_with('…') && long.chars().count() <= TITLE_CHARS + 1, "{long}");
        assert!(!title_of(&"ä".repeat(100)).is_empty());
    }
}
