//! Chat requests of the OpenAI protocol: `messages` of chat completions, or `input` of responses.
//!
//! Everything that this server does not need stays as the client wrote it: images, tools, and fields that it does not know.

use std::collections::BTreeMap;

use axum::body::Bytes;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json, value::RawValue};

use super::parts::Content;
use crate::error::ApiError;
use recall_ports::ChatEndpoint;
use recall_usecases::Attachment;

/// The code for a field that is missing or wrong.
const BAD_FIELD: &str = "BAD_REQUEST_FIELD";
/// Most messages of one request.
const MAX_MESSAGES: usize = 5_000;

/// The roles of messages of chat completions.
const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

/// A chat request, with its fields unread.
pub(super) struct ChatBody {
    /// The endpoint that it is for.
    pub(super) endpoint: ChatEndpoint,
    fields: BTreeMap<String, Box<RawValue>>,
    raw: Vec<Box<RawValue>>,
    /// Its messages, as far as they are needed.
    pub(super) messages: Vec<WireMessage>,
    /// The requested model.
    pub(super) model: Option<String>,
    /// Whether the reply shall be streamed.
    pub(super) is_streamed: bool,
    /// Whether the stream shall end with the usage.
    pub(super) wants_usage: bool,
    /// `metadata.chat_id`.
    pub(super) chat_id: Option<String>,
}

/// A message of a request.
#[derive(Debug, Deserialize)]
pub(super) struct WireMessage {
    /// Who says it: `system`, `developer`, `user`, `assistant`, `tool`. Items of responses other than messages have no role.
    #[serde(default)]
    pub(super) role: String,
    #[serde(default)]
    content: Option<Content>,
    /// What an assistant's message may have instead of a content.
    #[serde(default)]
    tool_calls: Option<IgnoredAny>,
    #[serde(default)]
    function_call: Option<IgnoredAny>,
    #[serde(default)]
    audio: Option<IgnoredAny>,
    #[serde(default)]
    refusal: Option<IgnoredAny>,
}

impl WireMessage {
    /// Returns the text, without images and the like.
    pub(super) fn text(&self) -> String {
        self.content.as_ref().map(Content::text).unwrap_or_default()
    }

    /// Takes what is attached to the text.
    pub(super) fn take_attachments(&mut self) -> Vec<Attachment> {
        self.content.as_mut().map(Content::take_attachments).unwrap_or_default()
    }

    fn has_content(&self) -> bool {
        let instead = [&self.tool_calls, &self.function_call, &self.audio, &self.refusal];
        match (&self.content, self.role.as_str()) {
            (Some(content), _) => content.is_known(),
            (None, "assistant") => instead.iter().any(|field| field.is_some()),
            (None, role) => role == "function",
        }
    }

    fn is_instruction(&self) -> bool {
        matches!(self.role.as_str(), "system" | "developer")
    }
}

impl ChatBody {
    /// Takes the fields of a request.
    ///
    /// # Errors
    /// 400 if a field that this server reads has another type.
    pub(super) fn read(endpoint: ChatEndpoint, mut fields: BTreeMap<String, Box<RawValue>>) -> Result<Self, ApiError> {
        let list = match endpoint {
            ChatEndpoint::Completions => "messages",
            ChatEndpoint::Responses => "input",
        };
        let wrong = |path: &'static str, expected: &str| {
            ApiError::invalid(BAD_FIELD, format!("The field `{path}` is missing or is not {expected}."), path)
        };
        let expected = match endpoint {
            ChatEndpoint::Completions => "a list",
            ChatEndpoint::Responses => "a text or a list",
        };
        let raw: Vec<Box<RawValue>> =
            fields.remove(list).and_then(|messages| messages_of(endpoint, &messages)).ok_or_else(|| wrong(list, expected))?;
        if raw.len() > MAX_MESSAGES {
            let message = format!("The request has {} messages. Send {MAX_MESSAGES} at most.", raw.len());
            return Err(ApiError::invalid("TOO_MANY_MESSAGES", message, list));
        }
        let messages: Result<Vec<WireMessage>, _> = raw.iter().map(|message| serde_json::from_str(message.get())).collect();
        let messages = messages.map_err(|_| wrong(list, "a list of objects with a role"))?;
        if endpoint == ChatEndpoint::Completions && messages.iter().any(|message| message.role.is_empty()) {
            return Err(wrong(list, "a list of objects with a role"));
        }
        let model = match fields.get("model").map(|model| serde_json::from_str::<Option<String>>(model.get())) {
            None => None,
            Some(model) => model.map_err(|_| wrong("model", "a text"))?,
        };
        let value = |name: &str| fields.get(name).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok()).unwrap_or_default();
        let is_streamed = value("stream") == true;
        let wants_usage = value("stream_options")["include_usage"] == true;
        let chat_id = value("metadata")["chat_id"].as_str().map(str::to_owned);
        Ok(Self { endpoint, raw, messages, model, is_streamed, wants_usage, chat_id, fields })
    }

    /// Refuses messages that the protocol of chat completions does not know.
    ///
    /// # Errors
    /// 400 if there is no message, or if one has an unknown role or no content.
    pub(super) fn check_messages(&self) -> Result<(), ApiError> {
        if self.messages.is_empty() {
            return Err(ApiError::invalid(BAD_FIELD, "The list of messages is empty. Send at least one message.", "messages"));
        }
        for (n, message) in self.messages.iter().enumerate() {
            if !ROLES.contains(&message.role.as_str()) {
                let message = format!("The message has an unknown role. Use one of {}.", ROLES.map(|role| format!("`{role}`")).join(", "));
                return Err(ApiError::invalid(BAD_FIELD, message, &format!("messages.{n}.role")));
            }
            if !message.has_content() {
                let message = "The content of the message is neither a text nor a list of parts. Only an assistant's message with `tool_calls` \
                    needs none.";
                return Err(ApiError::invalid(BAD_FIELD, message, &format!("messages.{n}.content")));
            }
        }
        Ok(())
    }

    /// Returns the text of the last user message.
    pub(super) fn last_user_text(&self) -> Option<String> {
        self.messages.iter().rev().find(|message| message.role == "user").map(WireMessage::text)
    }

    /// Whether the last message is one of the assistant.
    pub(super) fn ends_with_answer(&self) -> bool {
        self.messages.last().is_some_and(|message| message.role == "assistant")
    }

    /// Writes the request for the model server, with `block` as a system message behind the leading ones, or in the instructions.
    ///
    /// A model server that keeps the state of responses keeps their input, but not their instructions.
    pub(super) fn forwarded(mut self, default_model: &str, block: Option<&str>) -> Result<Bytes, serde_json::Error> {
        match (block, self.endpoint) {
            (Some(block), ChatEndpoint::Completions) => {
                let at = self.messages.iter().take_while(|message| message.is_instruction()).count();
                self.raw.insert(at, serde_json::value::to_raw_value(&json!({ "role": "system", "content": block }))?);
            }
            (Some(block), ChatEndpoint::Responses) => {
                let given = self.fields.get("instructions").and_then(|given| serde_json::from_str::<String>(given.get()).ok());
                let all = given.map_or_else(|| block.to_owned(), |given| format!("{given}\n\n{block}"));
                self.fields.insert("instructions".to_owned(), serde_json::value::to_raw_value(&all)?);
            }
            (None, _) => {}
        }
        if self.model.is_none() {
            self.fields.insert("model".to_owned(), serde_json::value::to_raw_value(default_model)?);
        }
        let list = match self.endpoint {
            ChatEndpoint::Completions => "messages",
            ChatEndpoint::Responses => "input",
        };
        self.fields.insert(list.to_owned(), serde_json::value::to_raw_value(&self.raw)?);
        Ok(serde_json::to_vec(&self.fields)?.into())
    }
}

/// Returns the messages in a field; `None` if it is not a list. The input of responses may also be the text of one message.
fn messages_of(endpoint: ChatEndpoint, field: &RawValue) -> Option<Vec<Box<RawValue>>> {
    match endpoint {
        ChatEndpoint::Responses if field.get().starts_with('"') => {
            let text: String = serde_json::from_str(field.get()).ok()?;
            Some(vec![serde_json::value::to_raw_value(&json!({ "role": "user", "content": text })).ok()?])
        }
        _ => serde_json::from_str(field.get()).ok(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(body: &Value) -> Result<ChatBody, ApiError> {
        ChatBody::read(
            ChatEndpoint::Completions,
            serde_json::from_value::<BTreeMap<String, Value>>(body.clone()).unwrap().into_iter().map(|(k, v)| (k, raw(&v))).collect(),
        )
    }

    fn raw(value: &Value) -> Box<RawValue> {
        serde_json::value::to_raw_value(value).unwrap()
    }

    fn forwarded(body: &str, block: Option<&str>) -> String {
        let body = ChatBody::read(ChatEndpoint::Completions, serde_json::from_str(body).unwrap()).unwrap();
        String::from_utf8(body.forwarded("default", block).unwrap().to_vec()).unwrap()
    }

    #[test]
    fn everything_else_is_forwarded_as_it_was_written() {
        let body = r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:x"}},{"type":"text","text":"hi"}],"x":1e3}],"model":"m","stop":null,"temperature":0.70,"tools":[{"a": 1}],"z":123456789012345678901234567890}"#;
        assert_eq!(forwarded(body, None), body);
        let with = forwarded(
            r#"{"messages":[{"role":"system","content":"a"},{"role":"developer","content":"b"},{"role":"user","content":"c"},{"role":"system","content":"d"}]}"#,
            Some("Memory: x"),
        );
        let roles: Value = serde_json::from_str(&with).unwrap();
        assert_eq!(roles["model"], "default");
        let contents: Vec<&str> = roles["messages"].as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap()).collect();
        assert_eq!(contents, ["a", "b", "Memory: x", "c", "d"]);
    }

    #[test]
    fn block_becomes_part_of_the_instructions_of_responses() {
        let forwarded = |body: Value, block| -> Value {
            let body = ChatBody::read(ChatEndpoint::Responses, serde_json::from_str(&body.to_string()).unwrap()).unwrap();
            serde_json::from_slice(&body.forwarded("default", block).unwrap()).unwrap()
        };
        let call = json!({ "type": "function_call_output", "call_id": "c", "output": "1" });
        let items = json!([{ "role": "user", "content": [{ "type": "input_text", "text": "Hi" }] }, call]);
        let found = forwarded(json!({ "input": items, "instructions": "Be kind.", "previous_response_id": "r" }), Some("Memory: x"));
        assert_eq!((&found["input"], &found["instructions"]), (&items, &json!("Be kind.\n\nMemory: x")));
        assert_eq!((&found["model"], &found["previous_response_id"]), (&json!("default"), &json!("r")));
        let found = forwarded(json!({ "input": "Hi", "model": "m" }), Some("Memory: x"));
        assert_eq!(found, json!({ "input": [{ "role": "user", "content": "Hi" }], "instructions": "Memory: x", "model": "m" }));
    }

    #[test]
    fn texts_of_parts_are_joined_without_images() {
        let content = json!([{ "type": "text", "text": "a" }, { "type": "image_url", "image_url": {} }, { "type": "text", "text": "b" }]);
        let body =
            read(&json!({ "messages": [{ "role": "user", "content": content }, { "role": "assistant", "content": null }] })).unwrap();
        assert_eq!(body.last_user_text().unwrap(), "a\nb");
        assert_eq!(body.messages[1].text(), "");
    }

    #[test]
    fn malformed_messages_are_refused_by_field() {
        let path = |messages: Value| {
            let checked = read(&json!({ "messages": messages })).and_then(|body| body.check_messages());
            checked.err().map(|error| (error.code(), error.path().join(".")))
        };
        let hi = json!({ "role": "user", "content": "Hi" });
        for (messages, at) in [
            (json!([]), "messages"),
            (json!([hi, { "role": "user" }]), "messages.1.content"),
            (json!([{ "role": "user", "content": null }]), "messages.0.content"),
            (json!([{ "role": "user", "content": null, "tool_calls": [] }]), "messages.0.content"),
            (json!([{ "role": "assistant", "content": null }]), "messages.0.content"),
            (json!([{ "role": "assistant", "tool_calls": null }]), "messages.0.content"),
            (json!([{ "role": "tool", "tool_call_id": "c" }]), "messages.0.content"),
            (json!([hi, hi, { "role": "user", "content": 5 }]), "messages.2.content"),
            (json!([{ "role": "user", "content": { "text": "Hi" } }]), "messages.0.content"),
            (json!([{ "role": "alien", "content": "Hi" }]), "messages.0.role"),
        ] {
            assert_eq!(path(messages.clone()), Some(("BAD_REQUEST_FIELD", at.to_owned())), "{messages}");
        }
        let call = json!([{ "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } }]);
        for message in [
            json!({ "role": "system", "content": "Be kind." }),
            json!({ "role": "developer", "content": [{ "type": "text", "text": "Be kind." }] }),
            json!({ "role": "user", "content": "", "name": "Ann" }),
            json!({ "role": "user", "content": [{ "type": "text", "text": "a" }, { "type": "image_url", "image_url": { "url": "data:x" } }] }),
            json!({ "role": "user", "content": [{ "type": "new", "text": { "value": 1 } }] }),
            json!({ "role": "assistant", "content": null, "tool_calls": call }),
            json!({ "role": "assistant", "tool_calls": call }),
            json!({ "role": "assistant", "content": null, "function_call": { "name": "f", "arguments": "{}" } }),
            json!({ "role": "assistant", "content": null, "refusal": "No." }),
            json!({ "role": "assistant", "content": [{ "type": "refusal", "refusal": "No." }] }),
            json!({ "role": "tool", "tool_call_id": "c", "content": [{ "type": "text", "text": "1" }] }),
            json!({ "role": "function", "name": "f", "content": null }),
        ] {
            assert_eq!(path(json!([message])), None, "{message}");
        }
    }

    #[test]
    fn wrong_types_are_refused_by_field() {
        for (body, path) in [
            (json!({}), "messages"),
            (json!({ "messages": "x" }), "messages"),
            (json!({ "messages": [1] }), "messages"),
            (json!({ "messages": [{ "content": "x" }] }), "messages"),
            (json!({ "messages": [], "model": 7 }), "model"),
        ] {
            assert_eq!(read(&body).err().unwrap().path(), [path], "{body}");
        }
        let read =
            read(&json!({ "messages": [], "stream": true, "stream_options": { "include_usage": true }, "metadata": { "chat_id": "c" } }));
        let read = read.unwrap();
        assert!(read.is_streamed && read.wants_usage && read.chat_id.as_deref() == Some("c") && read.model.is_none());
    }
}
