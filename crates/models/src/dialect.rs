//! What a server understands of the protocol. Servers differ in names and in what they accept, and many accept a field
//! without heeding it; so it is tried, not configured.

use std::fmt;

use serde_json::{Map, Value, json};

use super::failure::About;

/// How an answer can be made to be JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// By a schema that the server enforces.
    JsonSchema,
    /// The server enforces JSON; the prompt describes its shape.
    JsonObject,
    /// By the prompt alone.
    Plain,
}

/// What the server understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Structured output.
    pub format: Format,
    /// Whether a temperature may be set.
    pub temperature: bool,
    /// Whether the limit of tokens goes by its newer name.
    pub max_completion_tokens: bool,
    /// Whether a stream can be asked to end with the tokens used.
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
    /// The dialect that avoids what a server complained of; `None` when there is nothing left to avoid.
    pub(super) fn without(self, about: About) -> Option<Self> {
        let next = match about {
            About::MaxCompletionTokens => Self { max_completion_tokens: false, ..self },
            About::Temperature => Self { temperature: false, ..self },
            About::StreamOptions => Self { usage_in_stream: false, ..self },
            About::Format => Self { format: self.format.weaker()?, ..self },
            About::Other => return None,
        };
        (next != self).then_some(next)
    }

    /// Adds what this server understands to a request.
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

/// The JSON object in a model's answer, which may stand in a code block or between sentences.
pub(super) fn object(text: &str) -> Option<&str> {
    let (start, end) = (text.find('{')?, text.rfind('}')?);
    text.get(start..=end).filter(|o| !o.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_complaint_leads_to_another_dialect_until_none_is_left() {
        let mut dialect = Dialect::default();
        let mut steps = 0;
        for about in [About::Format, About::Temperature, About::Format, About::StreamOptions, About::MaxCompletionTokens] {
            dialect = dialect.without(about).unwrap();
            steps += 1;
        }
        assert_eq!(steps, 5);
        for about in [About::Format, About::Temperature, About::StreamOptions, About::MaxCompletionTokens, About::Other] {
            assert_eq!(dialect.without(about), None);
        }
        let mut request = Map::new();
        dialect.write(&mut request, 7, Some(&Schema { name: "x", schema: json!({}) }), true);
        assert_eq!(Value::Object(request), json!({ "max_tokens": 7, "stream": true }));
    }

    #[test]
    fn an_object_is_found_wherever_it_stands() {
        assert_eq!(object("```json\n{\"a\": {}}\n```"), Some("{\"a\": {}}"));
        assert_eq!(object("Sure! {} Done."), Some("{}"));
        for nothing in ["", "}{", "no", "{"] {
            assert_eq!(object(nothing), None, "{nothing}");
        }
    }
}
