//! The failures of this adapter, and their mapping to the port's errors. The server's messages may quote data, so only their codes
//! are kept.

use std::time::Duration;

use recall_ports::GraphError;

/// Every failure of this adapter.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("the address is not valid: {0}")]
    Address(String),
    #[error("the connection failed: {0}")]
    Connection(String),
    #[error("no answer within {0:?}")]
    Silent(Duration),
    #[error("the server refused: {0}")]
    Refused(String),
    #[error("the user name or the password is wrong")]
    SignIn,
    #[error("the driver failed: {0}")]
    Driver(&'static str),
    #[error("property {0} is damaged")]
    Damaged(&'static str),
    #[error("the graph is not at the expected position")]
    Moved,
}

impl Failure {
    /// Whether the server or the way to it failed, and not one statement.
    pub(super) fn may_concern_all_connections(&self) -> bool {
        matches!(self, Self::Connection(_) | Self::Silent(_))
    }
}

/// Extracts the code from a server's error text, such as `Neo.ClientError.Statement.SyntaxError`.
fn code_in(text: &str) -> Option<&str> {
    let from = text.get(text.find("Neo.")?..)?;
    let end = from.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).unwrap_or(from.len());
    from.get(..end)
}

/// Whether two transactions conflicted: Neo4j aborted one of them, or a lock timed out.
fn is_contention(code: &str) -> bool {
    let Some(kind) = code.strip_prefix("Neo.TransientError.Transaction.") else { return false };
    ["DeadlockDetected", "LockAcquisitionTimeout", "LockClientStopped", "Outdated", "ConstraintsChanged"].contains(&kind)
}

impl From<neo4rs::Error> for Failure {
    fn from(error: neo4rs::Error) -> Self {
        use neo4rs::Error as E;
        match error {
            E::IOError { detail } => Self::Connection(detail.kind().to_string()),
            E::ConnectionError => Self::Connection("no connection could be had".to_owned()),
            E::UrlParseError(e) => Self::Address(e.to_string()),
            E::UnsupportedScheme(_) => Self::Address("unknown scheme".to_owned()),
            E::InvalidDnsName(_) => Self::Address("malformed name of a host".to_owned()),
            E::AuthenticationError(_) => Self::SignIn,
            E::Neo4j(e) if e.code().contains("Security.Unauthorized") => Self::SignIn,
            E::Neo4j(e) => Self::Refused(e.code().to_owned()),
            E::UnsupportedVersion(_) => Self::Refused("it does not speak Bolt 4".to_owned()),
            // The driver reports a refused BEGIN or COMMIT in this way, and also a closed connection.
            E::UnexpectedMessage(text) => match code_in(&text) {
                Some(code) => Self::Refused(code.to_owned()),
                None => Self::Connection("the answer was cut off".to_owned()),
            },
            E::StringTooLong | E::MapTooBig | E::BytesTooBig | E::ListTooLong => Self::Driver("a value is too large"),
            E::DeserializationError(_) | E::ConversionError => Self::Driver("a value has an unexpected type"),
            _ => Self::Driver("the protocol was violated"),
        }
    }
}

impl From<Failure> for GraphError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Moved => Self::Contended,
            Failure::Refused(code) if is_contention(&code) => Self::Contended,
            f @ (Failure::Damaged(_) | Failure::Address(_)) => Self::Failed(Box::new(f)),
            Failure::Refused(code) if code.starts_with("Neo.ClientError.Statement") || code.starts_with("Neo.ClientError.Schema") => {
                Self::Failed(Box::new(Failure::Refused(code)))
            }
            f => Self::Unavailable(Box::new(f)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_code_of_a_server_error_is_kept() {
        let text = "unexpected response for COMMIT: Failure { code: \"Neo.ClientError.Schema.ConstraintValidationFailed\", message: \"Anna's secret\" }";
        let failure = Failure::from(neo4rs::Error::UnexpectedMessage(text.to_owned()));
        assert_eq!(failure.to_string(), "the server refused: Neo.ClientError.Schema.ConstraintValidationFailed");
        let failure = Failure::from(neo4rs::Error::UnexpectedMessage("Anna's secret".to_owned()));
        assert!(!failure.to_string().contains("Anna"));
    }
}
