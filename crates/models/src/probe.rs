//! Probes the dialect of a server with test requests.

use serde_json::{Value, json};

use super::{
    client::{ChatRequest, ModelClient},
    dialect::{Dialect, Format, Schema, object},
    failure::{ModelError, RejectedField},
};

/// Enough tokens for models that reason before they reply.
const MAX_TOKENS: u32 = 1_024;

impl ModelClient {
    /// Finds out whether the server enforces a schema, or at least JSON, and keeps the result.
    ///
    /// Many servers accept the field but ignore it, so the prompt for the schema does not mention JSON.
    ///
    /// # Errors
    /// If the server does not reply.
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
            self.set_dialect(dialect);
            let prompt = if dialect.format == Format::JsonSchema {
                "Are you awake? Say yes in one word."
            } else {
                "Reply with the JSON object {\"awake\": true} and nothing else."
            };
            let structured = (dialect.format != Format::Plain).then_some(&schema);
            let conversation = vec![("user", prompt.to_owned())];
            let ask = ChatRequest {
                operation: "probe",
                system: "You check a connection.",
                conversation,
                schema: structured,
                max_tokens: MAX_TOKENS,
            };
            let said = self.complete(&ask, deadline).await.and_then(|reply| reply.said);
            // `complete` may have changed the dialect.
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
            match dialect.without(RejectedField::Format).filter(|_| !heeded) {
                Some(next) => dialect = next,
                None => return said.map(|_| dialect),
            }
        }
    }
}

fn is_awake(text: &str) -> bool {
    object(text).and_then(|o| serde_json::from_str::<Value>(o).ok()).is_some_and(|v| v.get("awake").is_some_and(Value::is_boolean))
}
