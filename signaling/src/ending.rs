//! Why a peer ends, and what the client is told of it.

use crate::frame::{Bye, ByeCode, ProtocolError};

/// Why a peer's time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The server says goodbye.
    Bye(Bye),
    /// The client closed, or DELETE was called.
    Closed,
    /// No data channel in time.
    NeverOpened,
    /// The connection failed or showed no sign of life.
    Dead,
}

impl Ending {
    /// The value of the metric's `code`.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Bye(bye) => bye.code.as_str(),
            Self::Closed => "closed",
            Self::NeverOpened => "never_opened",
            Self::Dead => "dead",
        }
    }

    /// How the client broke the protocol, if it did.
    pub(crate) fn reason(self) -> Option<ProtocolError> {
        match self {
            Self::Bye(bye) => bye.reason,
            Self::Closed | Self::NeverOpened | Self::Dead => None,
        }
    }
}

impl From<ByeCode> for Ending {
    fn from(code: ByeCode) -> Self {
        Self::Bye(Bye::from(code))
    }
}

impl From<ProtocolError> for Ending {
    fn from(error: ProtocolError) -> Self {
        Self::Bye(Bye::from(error))
    }
}
