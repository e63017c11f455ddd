//! The cursor of a reader as text, `epoch:seq`. All transports use it.

use std::fmt;
use std::str::FromStr;

use crate::frame::ResumePoint;

/// Maximum length of an epoch in bytes.
const MAX_EPOCH_BYTES: usize = 256;

/// A position in one epoch of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Epoch of the log.
    pub epoch: String,
    /// The last sequence number that was received.
    pub seq: u64,
}

/// The text is not a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a cursor has the form `epoch:seq`")]
pub struct CursorError;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.epoch, self.seq)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        // Split at the last colon, because an epoch may contain colons.
        let (epoch, seq) = text.rsplit_once(':').ok_or(CursorError)?;
        let digits_only = !seq.is_empty() && seq.bytes().all(|byte| byte.is_ascii_digit());
        let epoch_fits = !epoch.is_empty() && epoch.len() <= MAX_EPOCH_BYTES && epoch.bytes().all(|byte| byte.is_ascii_graphic());
        if !digits_only || !epoch_fits {
            return Err(CursorError);
        }
        Ok(Self { epoch: epoch.to_owned(), seq: seq.parse().map_err(|_| CursorError)? })
    }
}

/// Where a subscription starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resume {
    /// At the next event.
    Live,
    /// After an event that the client has received.
    From {
        /// Epoch of the log that the client read.
        epoch: String,
        /// Sequence number of the event; 0 for the beginning of the log.
        seq: u64,
    },
}

impl From<Option<Cursor>> for Resume {
    fn from(cursor: Option<Cursor>) -> Self {
        match cursor {
            Some(Cursor { epoch, seq }) => Self::From { epoch, seq },
            None => Self::Live,
        }
    }
}

impl From<Option<ResumePoint>> for Resume {
    fn from(point: Option<ResumePoint>) -> Self {
        match point {
            Some(ResumePoint { epoch, seq }) => Self::From { epoch, seq },
            None => Self::Live,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn malformed_cursors_are_refused() {
        for text in ["", ":", "e:", ":1", "e:-1", "e:+1", "e:1.0", "e 1:1", "e:99999999999999999999"] {
            assert_eq!(text.parse::<Cursor>(), Err(CursorError), "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_round_trips(epoch in "[!-~]{1,40}", seq in any::<u64>()) {
            let cursor = Cursor { epoch, seq };
            prop_assert_eq!(cursor.to_string().parse::<Cursor>(), Ok(cursor));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = text.parse::<Cursor>();
        }
    }
}
