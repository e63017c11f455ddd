//! Finds out what a server understands, by asking.

use serde_json::{Value, json};

use super::{
    client::{Ask, ModelClient},
    dialect::{Dialect, Format, Schema, object},
    failure::{About, ModelError},
};

/// Room for models that think before they speak.
const MAX_TOKENS: u32 = 1_024;

impl ModelClient {
    /// Asks a question whose answer shows whether a schema, or at least JSON, is enforced. Many servers accept the field and
    /// do not heed it, so the prompt for the schema does not mention JSON. What is found out is kept for what is asked later.
    ///
    /// # Errors
    /// When the server cannot be asked at all.
    pub async fn probe(&self) -> Result<Dialect, ModelError> {
        let deadline = self.deadline();
        let schema = Schema {
            name: "probe",
            schema: json!({
                "type": "object", "properties": { "awake": { "type": "boolean" } }, "required": ["awake"], "additionalProperties": false,
            }),
        };
        let mut dialect = Dialect::default();
        loop {
            self.speak(dialect);
            let prompt = if dialect.format == Format::JsonSchema {
                "Are you awake? Say yes in one word."
            } else {
                "Reply with the JSON object {\"awake\": true} and nothing else."
            };
            let structured = (dialect.format != Format::Plain).then_some(&schema);
            let turns = vec![("user", prompt.to_owned())];
            let ask = Ask { operation: "probe", system: "You check a connection.", turns, schema: structured, max_tokens: MAX_TOKENS };
            let said = self.complete(&ask, deadline).await.and_then(|reply| reply.said);
            // The client may have learned something on the way.
            dialect = self.dialect();
            let heeded = match (dialect.format, &said) {
                (Format::Plain, Ok(_)) => true,
                (_, Ok(text)) => is_awake(text),
                (
                    Format::JsonSchema | Format::JsonObject,
                    Err(ModelError::Rejected { .. } | ModelError::Truncated | ModelError::Malformed(_)),
                ) => false,
                (_, Err(e)) => return Err(e.clone()),
            };
            match dialect.without(About::Format).filter(|_| !heeded) {
                Some(next) => dialect = next,
                None => return said.map(|_| dialect),
            }
        }
    }
}

fn is_awake(text: &str) -> bool {
    object(text).and_then(|o| serde_json::from_str::<Value>(o).ok()).is_some_and(|v| v.get("awake").is_some_and(Value::is_boolean))
}
