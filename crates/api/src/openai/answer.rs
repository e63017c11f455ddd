//! Collects the answer in a reply of the model server.

use serde::Deserialize;
use serde_json::Value;

use recall_domain::{TokenCount, message::MAX_TEXT_BYTES};

/// Estimated bytes of English text per token, for servers that do not report usage.
const BYTES_PER_TOKEN: usize = 4;

/// A part of a reply, or a complete one. Responses name the kind of each event.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk {
    #[serde(rename = "type")]
    kind: Option<String>,
    /// The next part of the text of a response.
    delta: Option<Value>,
    /// The response at its end.
    response: Option<Box<ResponseObject>>,
    /// The output of a complete response.
    output: Vec<OutputItem>,
    pub(super) id: Option<String>,
    pub(super) created: Option<u64>,
    pub(super) model: Option<String>,
    choices: Vec<Choice>,
    usage: Option<Usage>,
    error: Option<serde::de::IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Choice {
    index: u64,
    delta: Option<Said>,
    message: Option<Said>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Said {
    /// Some servers send a list of parts.
    content: Option<Value>,
}

/// The numbers of tokens, by the names of completions or of responses.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Usage {
    #[serde(alias = "input_tokens")]
    prompt_tokens: u64,
    #[serde(alias = "output_tokens")]
    completion_tokens: u64,
}

/// A response in the event that ends it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseObject {
    id: Option<String>,
    model: Option<String>,
    output: Vec<OutputItem>,
    usage: Option<Usage>,
}

/// An item of a response: a message, reasoning, or a call of a tool.
#[derive(Default, Deserialize)]
#[serde(default)]
struct OutputItem {
    #[serde(rename = "type")]
    kind: String,
    content: Option<Value>,
}

impl OutputItem {
    /// Returns the texts of a message.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let parts = self.content.as_ref().filter(|_| self.kind == "message").and_then(Value::as_array);
        parts.into_iter().flatten().filter(|part| part["type"] == "output_text").filter_map(|part| part["text"].as_str())
    }
}

/// What a part of a reply means for its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The text goes on.
    Open,
    /// The text is complete; further parts follow.
    TextEnds,
    /// The reply is complete.
    Ends,
}

/// Collects the first choice of a reply.
#[derive(Default)]
pub(super) struct AnswerCollector {
    text: String,
    is_cut: bool,
    finish: Option<String>,
    failed: bool,
    bytes: usize,
    usage: Option<Usage>,
    /// Names of the reply, for chunks that this server adds.
    pub(super) id: String,
    pub(super) created: u64,
    pub(super) model: String,
}

impl AnswerCollector {
    /// Takes a part of the reply.
    pub(super) fn take(&mut self, chunk: Chunk) -> Progress {
        self.failed |= chunk.error.is_some();
        if chunk.kind.is_some() && chunk.choices.is_empty() {
            return self.take_event(chunk);
        }
        if !chunk.output.is_empty() {
            self.take_response(ResponseObject { id: chunk.id, model: chunk.model, output: chunk.output, usage: chunk.usage });
            return Progress::Ends;
        }
        if self.take_chunk(chunk) { Progress::TextEnds } else { Progress::Open }
    }

    /// Takes an event of a response.
    fn take_event(&mut self, chunk: Chunk) -> Progress {
        match (chunk.kind.as_deref().unwrap_or_default(), chunk.response, chunk.delta) {
            ("response.output_text.delta", _, Some(Value::String(text))) => self.push(&text),
            ("response.output_text.done", ..) => return Progress::TextEnds,
            ("response.completed" | "response.incomplete", Some(response), _) => {
                self.take_response(*response);
                return Progress::Ends;
            }
            ("response.failed" | "error", ..) => self.failed = true,
            _ => {}
        }
        Progress::Open
    }

    /// Takes a complete response. Its text replaces the parts.
    fn take_response(&mut self, response: ResponseObject) {
        let bytes = self.bytes;
        (self.text, self.bytes, self.is_cut) = (String::new(), 0, false);
        for (n, text) in response.output.iter().flat_map(OutputItem::texts).enumerate() {
            if n > 0 {
                self.push("\n\n");
            }
            self.push(text);
        }
        self.bytes = self.bytes.max(bytes);
        self.usage = response.usage.or(self.usage);
        self.id = response.id.unwrap_or_default();
        self.model = response.model.unwrap_or_default();
        self.finish = Some("completed".to_owned());
    }

    /// Takes a chunk of a completion. Returns whether it ends the first choice.
    fn take_chunk(&mut self, chunk: Chunk) -> bool {
        self.usage = chunk.usage.or(self.usage);
        let name = |known: &mut String, new: Option<String>| {
            if let Some(new) = new.filter(|_| known.is_empty()) {
                *known = new;
            }
        };
        name(&mut self.id, chunk.id);
        name(&mut self.model, chunk.model);
        self.created = self.created.max(chunk.created.unwrap_or_default());
        let Some(choice) = chunk.choices.into_iter().find(|choice| choice.index == 0) else { return false };
        if let Some(Value::String(text)) = choice.delta.or(choice.message).and_then(|said| said.content) {
            self.push(&text);
        }
        let ended = choice.finish_reason.filter(|reason| !reason.is_empty());
        let is_end = ended.is_some() && self.finish.is_none();
        self.finish = self.finish.take().or(ended);
        is_end
    }

    /// Adds text, as much as a message can have.
    fn push(&mut self, text: &str) {
        self.bytes += text.len();
        if self.is_cut {
            return;
        }
        let room = MAX_TEXT_BYTES - self.text.len();
        self.is_cut = text.len() > room;
        self.text.push_str(text.get(..text.floor_char_boundary(room)).unwrap_or(text));
    }

    /// Returns the text so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the model ended the first choice.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some() && !self.failed
    }

    /// Whether the reply contains an error.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Returns the tokens of the request, estimated if the server does not report them.
    pub(super) fn tokens(&self, sent: usize) -> TokenCount {
        match self.usage {
            Some(usage) => TokenCount { input: usage.prompt_tokens, output: usage.completion_tokens },
            None => TokenCount { input: (sent / BYTES_PER_TOKEN) as u64, output: self.bytes.div_ceil(BYTES_PER_TOKEN) as u64 },
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chunk(value: Value) -> Chunk {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn first_choice_is_collected_until_it_ends() {
        let mut answer = AnswerCollector::default();
        let mut take = |value| answer.take(chunk(value));
        let other = json!({ "id": "x", "choices": [{ "index": 1, "delta": { "content": "B" }, "finish_reason": "stop" }] });
        assert_eq!(take(other), Progress::Open);
        assert_eq!(take(json!({ "choices": [{ "index": 0, "delta": { "content": "A" }, "finish_reason": null }] })), Progress::Open);
        assert!(!answer.is_finished());
        let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
        assert_eq!(answer.take(chunk(end)), Progress::TextEnds);
        let usage = json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 4 } });
        assert_eq!(answer.take(chunk(usage)), Progress::Open);
        assert_eq!((answer.text(), answer.is_finished(), answer.tokens(0)), ("A", true, TokenCount { input: 3, output: 4 }));
        answer.take(chunk(json!({ "error": { "message": "x" } })));
        assert!(!answer.is_finished());
        let mut long = AnswerCollector::default();
        long.take(chunk(json!({ "choices": [{ "message": { "content": "ä".repeat(MAX_TEXT_BYTES) } }] })));
        assert!(long.text().len() <= MAX_TEXT_BYTES);
    }

    #[test]
    fn events_of_a_response_are_collected_until_it_is_complete() {
        let output = json!([{ "type": "reasoning", "content": [{ "type": "output_text", "text": "x" }] },
            { "type": "message", "content": [{ "type": "output_text", "text": "AB" }, { "type": "refusal", "refusal": "no" }] }]);
        let response = json!({ "id": "r", "object": "response", "model": "m", "error": null, "output": output,
            "usage": { "input_tokens": 3, "output_tokens": 4 } });
        let mut answer = AnswerCollector::default();
        for (event, progress) in [
            (json!({ "type": "response.created", "response": { "id": "r" } }), Progress::Open),
            (json!({ "type": "response.output_text.delta", "delta": "A" }), Progress::Open),
            (json!({ "type": "response.function_call_arguments.delta", "delta": "{" }), Progress::Open),
            (json!({ "type": "response.output_text.delta", "delta": "B" }), Progress::Open),
            (json!({ "type": "response.output_text.done", "text": "AB" }), Progress::TextEnds),
        ] {
            assert_eq!(answer.take(chunk(event)), progress);
        }
        assert_eq!((answer.text(), answer.is_finished()), ("AB", false));
        assert_eq!(answer.take(chunk(json!({ "type": "response.completed", "response": response }))), Progress::Ends);
        let mut complete = AnswerCollector::default();
        assert_eq!(complete.take(chunk(response)), Progress::Ends);
        for answer in [&answer, &complete] {
            assert_eq!((answer.text(), answer.is_finished(), answer.tokens(0)), ("AB", true, TokenCount { input: 3, output: 4 }));
            assert_eq!((answer.id.as_str(), answer.model.as_str()), ("r", "m"));
        }
        let mut failed = AnswerCollector::default();
        failed.take(chunk(json!({ "type": "response.failed", "response": { "id": "r" } })));
        assert!(failed.has_failed() && !failed.is_finished());
    }
}
