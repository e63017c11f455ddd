//! Splits a stream of server-sent events.

use axum::body::Bytes;

use super::answer::Chunk;

/// Longest event that is read. A longer one is passed on unread.
///
/// The last event of a response contains all of it, with its instructions.
const MAX_EVENT_BYTES: usize = 1024 * 1024;

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

/// Returns the data of an event; `None` if it is not text.
pub(super) fn data(event: &[u8]) -> Option<String> {
    let lines = std::str::from_utf8(event).ok()?.lines().filter_map(|line| line.strip_prefix("data:"));
    Some(lines.map(|data| data.strip_prefix(' ').unwrap_or(data)).collect::<Vec<_>>().join("\n"))
}

/// Reads an event.
pub(super) fn read(event: &[u8]) -> EventKind {
    let Some(data) = data(event) else { return EventKind::Other };
    match data.trim() {
        "" => EventKind::Other,
        "[DONE]" => EventKind::Done,
        json => serde_json::from_str(json).map_or(EventKind::Other, |chunk| EventKind::Chunk(Box::new(chunk))),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{
        super::answer::{AnswerCollector, Progress},
        *,
    };
    use proptest::prelude::*;

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
        assert_eq!(answer.take(*chunk), Progress::Open);
        assert_eq!(answer.text(), "A");
        assert_eq!(splitter.take_rest(), "rest");
    }

    #[test]
    fn endless_event_is_passed_on() {
        let mut splitter = EventSplitter::default();
        let events = splitter.push(&vec![b'x'; MAX_EVENT_BYTES + 1]);
        assert_eq!(events.iter().map(Bytes::len).sum::<usize>(), MAX_EVENT_BYTES + 1);
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
