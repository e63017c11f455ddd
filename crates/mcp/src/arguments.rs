//! Reads the arguments of tools.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::gate::Refusal;
use recall_domain::{EntityType, Timestamp, Word};
use rmcp::model::JsonObject;

/// Most items in one result.
pub(crate) const MAX_ITEMS: u32 = 50;

/// Reads the arguments of a tool. Null counts as absent, because models send it for "nothing".
pub(crate) fn read<T: DeserializeOwned>(arguments: Option<JsonObject>) -> Result<T, Refusal> {
    let given = arguments.unwrap_or_default().into_iter().filter(|(_, value)| !value.is_null()).collect();
    serde_json::from_value(Value::Object(given)).map_err(|e| Refusal {
        code: "INVALID_ARGUMENTS",
        // Serde quotes at most a value that the caller sent.
        message: format!("The arguments do not match the schema of the tool: {e}."),
        path: None,
        is_failure: false,
    })
}

/// Checks `limit`.
pub(crate) fn limit(given: Option<u32>, default: u32) -> Result<u32, Refusal> {
    let limit = given.unwrap_or(default);
    match (1..=MAX_ITEMS).contains(&limit) {
        true => Ok(limit),
        false => Err(Refusal::invalid("INVALID_PAGE_SIZE", "limit", format!("`limit` must be between 1 and {MAX_ITEMS}."))),
    }
}

/// Reads a type of entity.
pub(crate) fn entity_type(given: Option<&str>, path: &str) -> Result<Option<EntityType>, Refusal> {
    let unknown = || {
        let message = "There is no such type. Use person, organization, place, project, tool, concept, event or thing.";
        Refusal::invalid("UNKNOWN_TYPE", path, message)
    };
    given.map(|word| EntityType::parse_word(&word.to_lowercase()).ok_or_else(unknown)).transpose()
}

/// Reads a time: RFC 3339, or a date, which means its beginning in UTC.
pub(crate) fn time(given: Option<&str>, path: &str) -> Result<Option<Timestamp>, Refusal> {
    let Some(text) = given else { return Ok(None) };
    let moment = chrono::DateTime::parse_from_rfc3339(text).map(|t| t.to_utc()).ok();
    let day = || text.parse::<chrono::NaiveDate>().ok().and_then(|day| day.and_hms_opt(0, 0, 0)).map(|t| t.and_utc());
    let read = moment.or_else(day);
    let wrong = || Refusal::invalid("INVALID_TIME", path, "The time cannot be read. Write it as 2026-01-31 or 2026-01-31T18:00:00Z.");
    read.map(Some).ok_or_else(wrong)
}

/// Refuses an argument that is blank.
pub(crate) fn not_blank<'t>(given: Option<&'t str>, path: &str) -> Result<Option<&'t str>, Refusal> {
    match given.map(str::trim) {
        Some("") => Err(Refusal::invalid("ARGUMENT_EMPTY", path, format!("`{path}` is empty. Give it a text, or leave it out."))),
        trimmed => Ok(trimmed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Example {
        text: String,
        limit: Option<u32>,
    }

    fn read_example(value: Value) -> Result<Example, Refusal> {
        read(value.as_object().cloned())
    }

    #[test]
    fn wrong_arguments_are_refused_with_code() {
        let example = read_example(json!({ "text": "Hi", "limit": null })).unwrap();
        assert_eq!((example.text.as_str(), example.limit), ("Hi", None));
        for bad in [json!({}), json!({ "text": 7 }), json!({ "text": "Hi", "more": 1 }), json!({ "text": "Hi", "limit": -1 })] {
            assert_eq!(read_example(bad).unwrap_err().code, "INVALID_ARGUMENTS");
        }
    }

    #[test]
    fn limit_is_between_1_and_most_items() {
        assert_eq!(limit(None, 10), Ok(10));
        assert_eq!(limit(Some(MAX_ITEMS), 10), Ok(MAX_ITEMS));
        for bad in [0, MAX_ITEMS + 1, u32::MAX] {
            assert_eq!(limit(Some(bad), 10).unwrap_err().code, "INVALID_PAGE_SIZE");
        }
    }

    #[test]
    fn dates_and_times_are_read() {
        let read = |text| time(Some(text), "at").map(|t| t.unwrap().to_rfc3339());
        assert_eq!(read("2026-01-31").unwrap(), "2026-01-31T00:00:00+00:00");
        assert_eq!(read("2026-01-31T18:00:00+02:00").unwrap(), "2026-01-31T16:00:00+00:00");
        for bad in ["yesterday", "2026-13-01", ""] {
            assert_eq!(read(bad).unwrap_err().code, "INVALID_TIME");
        }
    }

    #[test]
    fn types_ignore_case() {
        assert_eq!(entity_type(Some("PERSON"), "type"), Ok(Some(EntityType::Person)));
        assert_eq!(entity_type(Some("king"), "type").unwrap_err().code, "UNKNOWN_TYPE");
    }
}
