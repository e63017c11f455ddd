//! Splits a stream of server-sent events, and collects the answer in them.

use axum::body::Bytes;
use serde::Deserialize;
use serde_json::Value;

use recall_domain::{TokenCount, message::MAX_TEXT_BYTES};

/// Longest event that is read. A longer one is passed on unread.
const MAX_EVENT_BYTES: usize = 256 * 1024;
/// Estimated bytes of English text per token, for servers that do not report usage.
const BYTES_PER_TOKEN: usize = 4;

/// Splits bytes into events. Every byte that goes in comes out, in order.
#[derive(Default)]
pub(super) struct EventSplitter {
    rest: Vec<u8>,
    /// How far `rest` was searched.
    searched: usize,
}

impl EventSplitter {
    /// Takes the next bytes and returns the events that are complete, each with the blank line that ends it.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Bytes> {
        self.rest.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = self.end_of_event() {
            let event: Vec<u8> = self.rest.drain(..end).collect();
            self.searched = 0;
            events.push(event.into());
        }
        if self.rest.len() > MAX_EVENT_BYTES {
            events.push(self.take_rest());
        }
        events
    }

    /// Returns what is left: an event without an end.
    pub(super) fn take_rest(&mut self) -> Bytes {
        self.searched = 0;
        std::mem::take(&mut self.rest).into()
    }

    /// Returns the end of the first event: behind a line end that another line end follows.
    fn end_of_event(&mut self) -> Option<usize> {
        for at in self.searched..self.rest.len() {
            if self.rest.get(at) != Some(&b'\n') {
                continue;
            }
            match self.rest.get(at + 1..at + 3) {
                Some([b'\n', _]) => return Some(at + 2),
                Some([b'\r', b'\n']) => return Some(at + 3),
                Some(_) => {}
                None => {
                    if self.rest.get(at + 1) == Some(&b'\n') {
                        return Some(at + 2);
                    }
                    self.searched = at;
                    return None;
                }
            }
        }
        self.searched = self.rest.len();
        None
    }
}

/// What an event says.
pub(super) enum EventKind {
    /// A part of the reply.
    Chunk(Box<Chunk>),
    /// The end of the stream.
    Done,
    /// A comment, or something unknown.
    Other,
}

/// Reads an event.
pub(super) fn read(event: &[u8]) -> EventKind {
    let Ok(text) = std::str::from_utf8(event) else { return EventKind::Other };
    let data: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("data:")).map(|data| data.strip_prefix(' ').unwrap_or(data)).collect();
    let data = data.join("\n");
    match data.trim() {
        "" => EventKind::Other,
        "[DONE]" => EventKind::Done,
        json => serde_json::from_str(json).map_or(EventKind::Other, |chunk| EventKind::Chunk(Box::new(chunk))),
    }
}

/// A part of a reply, or a complete one.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk {
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

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
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
    /// Takes a part of the reply. Returns whether it ends the first choice.
    pub(super) fn take(&mut self, chunk: Chunk) -> bool {
        self.failed |= chunk.error.is_some();
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
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const STREAM: &str = ": hello\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"A\"}}]}\r\n\r\ndata: [DONE]\n\nrest";

    #[test]
    fn events_are_complete_with_their_blank_line() {
        let mut splitter = EventSplitter::default();
        let events = splitter.push(STREAM.as_bytes());
        assert_eq!(events.len(), 3);
        assert!(events[0].ends_with(b"\n\n") && events[1].ends_with(b"\r\n\r\n"));
        assert!(matches!(read(&events[0]), EventKind::Other) && matches!(read(&events[2]), EventKind::Done));
        let EventKind::Chunk(chunk) = read(&events[1]) else { unreachable!() };
        let mut answer = AnswerCollector::default();
        assert!(!answer.take(*chunk));
        assert_eq!(answer.text(), "A");
        assert_eq!(splitter.take_rest(), "rest");
    }

    #[test]
    fn endless_event_is_passed_on() {
        let mut splitter = EventSplitter::default();
        let events = splitter.push(&vec![b'x'; MAX_EVENT_BYTES + 1]);
        assert_eq!(events.iter().map(Bytes::len).sum::<usize>(), MAX_EVENT_BYTES + 1);
    }

    fn chunk(value: Value) -> Chunk {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn first_choice_is_collected_until_it_ends() {
        let mut answer = AnswerCollector::default();
        assert!(
            !answer.take(chunk(json!({ "id": "x", "choices": [{ "index": 1, "delta": { "content": "B" }, "finish_reason": "stop" }] })))
        );
        assert!(!answer.take(chunk(json!({ "choices": [{ "index": 0, "delta": { "content": "A" }, "finish_reason": null }] }))));
        assert!(!answer.is_finished());
        assert!(answer.take(chunk(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }))));
        assert!(!answer.take(chunk(json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 4 } }))));
        assert_eq!((answer.text(), answer.is_finished(), answer.tokens(0)), ("A", true, TokenCount { input: 3, output: 4 }));
        answer.take(chunk(json!({ "error": { "message": "x" } })));
        assert!(!answer.is_finished());
        let mut long = AnswerCollector::default();
        long.take(chunk(json!({ "choices": [{ "message": { "content": "ä".repeat(MAX_TEXT_BYTES) } }] })));
        assert!(long.text().len() <= MAX_TEXT_BYTES);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(cuts in prop::collection::vec(0usize..100, 0..12), text in "[d\\n\\r]{0,60}") {
            let text = format!("{STREAM}{text}");
            let mut at: Vec<usize> = cuts.into_iter().map(|c| c.min(text.len())).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let split = |pieces: Vec<&str>| {
                let mut splitter = EventSplitter::default();
                let mut events: Vec<Bytes> = pieces.into_iter().flat_map(|p| splitter.push(p.as_bytes())).collect();
                events.push(splitter.take_rest());
                events
            };
            let pieces = split(at.windows(2).map(|w| &text[w[0]..w[1]]).collect());
            prop_assert_eq!(pieces.concat(), text.as_bytes());
            prop_assert_eq!(pieces.concat(), split(vec![&text]).concat());
        }
    }
}
