//! The reasons for which a peer ends.

use crate::frame::{Bye, ByeCode, ProtocolError};

/// Why a peer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The server ends the stream with this frame.
    Bye(Bye),
    /// The client closed the channel, or DELETE was called.
    Closed,
    /// The client opened no data channel in time.
    NeverOpened,
    /// The connection failed, or the client stopped responding.
    Dead,
}

impl Ending {
    /// The label `code` of the metric.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Bye(bye) => bye.code.as_str(),
            Self::Closed => "closed",
            Self::NeverOpened => "never_opened",
            Self::Dead => "dead",
        }
    }

    /// How the client violated the protocol, if it did.
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
