//! Times in arguments. A wrong one is refused with the path of its argument, which the library would leave out.

use std::borrow::Cow;

use async_graphql::{InputType, InputValueError, InputValueResult, Value, registry::Registry};

use crate::error::ApiError;
use recall_domain::Timestamp;

/// A value of the scalar `DateTime` as a client sent it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeInput(Option<Timestamp>);

impl TimeInput {
    /// Returns the time. `path` names the argument.
    pub(crate) fn read(self, path: &str) -> Result<Timestamp, ApiError> {
        let message = "The time is not in the form of RFC 3339. Write it as `2026-03-01T12:00:00Z`.";
        self.0.ok_or_else(|| ApiError::invalid("INVALID_TIME", message, path))
    }
}

/// Returns an optional time. `path` names the argument.
pub(crate) fn read_time(time: Option<TimeInput>, path: &str) -> Result<Option<Timestamp>, ApiError> {
    time.map(|time| time.read(path)).transpose()
}

impl InputType for TimeInput {
    type RawValueType = Self;

    fn type_name() -> Cow<'static, str> {
        <Timestamp as InputType>::type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        <Timestamp as InputType>::create_type_info(registry)
    }

    fn parse(value: Option<Value>) -> InputValueResult<Self> {
        let is_text = matches!(value, Some(Value::String(_)));
        match <Timestamp as InputType>::parse(value) {
            Ok(time) => Ok(Self(Some(time))),
            Err(_) if is_text => Ok(Self(None)),
            Err(error) => Err(InputValueError::propagate(error)),
        }
    }

    fn to_value(&self) -> Value {
        self.0.map_or(Value::Null, |time| time.to_value())
    }

    fn as_raw_value(&self) -> Option<&Self> {
        Some(self)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn wrong_time_is_refused_with_its_path() {
        let parse = |text: &str| TimeInput::parse(Some(Value::String(text.to_owned()))).unwrap();
        assert_eq!(parse("1970-01-01T00:00:00Z").read("at").unwrap(), chrono::DateTime::UNIX_EPOCH);
        let error = parse("yesterday").read("filter.asOf").unwrap_err();
        assert_eq!((error.code(), error.path()), ("INVALID_TIME", &["filter".to_owned(), "asOf".to_owned()][..]));
        assert!(TimeInput::parse(Some(Value::from(7))).is_err() && TimeInput::parse(None).is_err());
    }
}
