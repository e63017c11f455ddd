//! The protocol features of a server.
//!
//! Servers differ in field names and in the fields they accept, and many ignore a field that they accept. So the features
//! are probed, not configured.

use std::fmt;

use serde_json::{Map, Value, json};

use super::failure::RejectedField;

/// How a server can be made to reply with JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The server enforces a JSON schema.
    JsonSchema,
    /// The server enforces JSON; the prompt describes its shape.
    JsonObject,
    /// Only the prompt asks for JSON.
    Plain,
}

/// The protocol features of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Structured output.
    pub format: Format,
    /// Whether the server accepts `temperature`.
    pub temperature: bool,
    /// Whether the server accepts `max_completion_tokens`, the newer name of `max_tokens`.
    pub max_completion_tokens: bool,
    /// Whether a stream can end with its usage (`stream_options`).
    pub usage_in_stream: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { format: Format::JsonSchema, temperature: true, max_completion_tokens: true, usage_in_stream: true }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.format {
            Format::JsonSchema => "json_schema",
            Format::JsonObject => "json_object",
            Format::Plain => "neither json_schema nor json_object",
        })
    }
}

/// A schema with its name, for structured output.
#[derive(Clone, Debug)]
pub(super) struct Schema {
    pub(super) name: &'static str,
    pub(super) schema: Value,
}

impl Dialect {
    /// Returns the dialect without a rejected field; `None` if the dialect does not use it.
    pub(super) fn without(self, about: RejectedField) -> Option<Self> {
        let next = match about {
            RejectedField::MaxCompletionTokens => Self { max_completion_tokens: false, ..self },
            RejectedField::Temperature => Self { temperature: false, ..self },
            RejectedField::StreamOptions => Self { usage_in_stream: false, ..self },
            RejectedField::Format => Self { format: self.format.weaker()?, ..self },
            RejectedField::Other => return None,
        };
        (next != self).then_some(next)
    }

    /// Adds the fields that the server accepts to a request.
    pub(super) fn write(self, request: &mut Map<String, Value>, max_tokens: u32, schema: Option<&Schema>, stream: bool) {
        let limit = if self.max_completion_tokens { "max_completion_tokens" } else { "max_tokens" };
        request.insert(limit.to_owned(), json!(max_tokens));
        if self.temperature {
            request.insert("temperature".to_owned(), json!(0));
        }
        request.insert("stream".to_owned(), json!(stream));
        if stream && self.usage_in_stream {
            request.insert("stream_options".to_owned(), json!({ "include_usage": true }));
        }
        let Some(schema) = schema else { return };
        let format = match self.format {
            Format::JsonSchema => {
                json!({ "type": "json_schema", "json_schema": { "name": schema.name, "strict": true, "schema": schema.schema } })
            }
            Format::JsonObject => json!({ "type": "json_object" }),
            Format::Plain => return,
        };
        request.insert("response_format".to_owned(), format);
    }
}

impl Format {
    pub(super) fn weaker(self) -> Option<Self> {
        match self {
            Self::JsonSchema => Some(Self::JsonObject),
            Self::JsonObject => Some(Self::Plain),
            Self::Plain => None,
        }
    }
}

/// Returns the JSON object in a reply, which may be in a code block or between sentences.
pub(super) fn object(text: &str) -> Option<&str> {
    let (start, end) = (text.find('{')?, text.rfind('}')?);
    text.get(start..=end).filter(|o| !o.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_fields_are_removed_until_none_is_left() {
        let mut dialect = Dialect::default();
        let mut steps = 0;
        for about in [
            RejectedField::Format,
            RejectedField::Temperature,
            RejectedField::Format,
            RejectedField::StreamOptions,
            RejectedField::MaxCompletionTokens,
        ] {
            dialect = dialect.without(about).unwrap();
            steps += 1;
        }
        assert_eq!(steps, 5);
        for about in [
            RejectedField::Format,
            RejectedField::Temperature,
            RejectedField::StreamOptions,
            RejectedField::MaxCompletionTokens,
            RejectedField::Other,
        ] {
            assert_eq!(dialect.without(about), None);
        }
        let mut request = Map::new();
        dialect.write(&mut request, 7, Some(&Schema { name: "x", schema: json!({}) }), true);
        assert_eq!(Value::Object(request), json!({ "max_tokens": 7, "stream": true }));
    }

    #[test]
    fn json_object_is_found_in_any_reply() {
        assert_eq!(object("```json\n{\"a\": {}}\n```"), Some("{\"a\": {}}"));
        assert_eq!(object("Sure! {} Done."), Some("{}"));
        for nothing in ["", "}{", "no", "{"] {
            assert_eq!(object(nothing), None, "{nothing}");
        }
    }
}
