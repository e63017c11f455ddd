//! Reads the fields of a REST input: the parameters of a query, or the fields of a body. Errors name the field.

use std::fmt::{self, Display, Formatter};

use axum::{
    body::Bytes,
    extract::{FromRequestParts, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, request::Parts},
};
use serde::{
    Deserialize, Deserializer,
    de::{
        self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, Visitor,
        value::{MapAccessDeserializer, StringDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::Value;

use crate::{body, error::ApiError};
use recall_domain::Timestamp;

/// Most characters of an unknown name that an error repeats.
const MAX_SHOWN: usize = 100;

/// Extractor: the parameters of the query. Unlike the one of axum, it refuses with the name of the parameter.
pub(super) struct Parameters<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        read_query(parts.uri.query().unwrap_or_default()).map(Self)
    }
}

fn read_query<T: DeserializeOwned>(query: &str) -> Result<T, ApiError> {
    let pairs = form_urlencoded::parse(query.as_bytes()).into_owned().map(|(name, value)| (name, Text(value)));
    read(pairs).map_err(|error: FieldError| error.into_api_error(&PARAMETER))
}

/// Reads a body that is one JSON object.
pub(super) fn read_body<T: DeserializeOwned>(headers: &HeaderMap, bytes: Result<Bytes, BytesRejection>) -> Result<T, ApiError> {
    let Object(fields) = body::json(headers, bytes)?;
    read(fields.into_iter()).map_err(|error: FieldError| error.into_api_error(&FIELD))
}

fn read<'de, T: Deserialize<'de>, V: Deserializer<'de>>(pairs: impl Iterator<Item = (String, V)>) -> Result<T, FieldError> {
    T::deserialize(MapAccessDeserializer::new(Fields { pairs, value: None }))
}

/// Reads an optional time of a query or a body.
pub(super) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    text.parse().map(Some).map_err(|_| de::Error::custom("it is not a time in the form of RFC 3339, such as `2026-03-01T12:00:00Z`"))
}

/// The fields of a JSON object, in their order. A repeated field is kept, so that it can be refused.
struct Object(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Object;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Object(fields))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// Gives names and values to the derived code, and keeps the name for errors about the value.
struct Fields<I, V> {
    pairs: I,
    value: Option<(String, V)>,
}

impl<'de, I: Iterator<Item = (String, V)>, V: Deserializer<'de>> MapAccess<'de> for Fields<I, V> {
    type Error = FieldError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, FieldError> {
        let Some((name, value)) = self.pairs.next() else { return Ok(None) };
        self.value = Some((name.clone(), value));
        seed.deserialize(IntoDeserializer::<FieldError>::into_deserializer(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, FieldError> {
        let (field, value) = self.value.take().ok_or_else(|| de::Error::custom("a value was read before its name"))?;
        seed.deserialize(value).map_err(|error| FieldError { field, fault: Fault::Unreadable(error.to_string()) })
    }
}

/// How the errors of one kind of input are worded.
struct Wording {
    noun: &'static str,
    unknown: &'static str,
    wrong: &'static str,
}

const PARAMETER: Wording = Wording { noun: "parameter", unknown: "UNKNOWN_PARAMETER", wrong: "BAD_REQUEST" };
const FIELD: Wording = Wording { noun: "field", unknown: "UNKNOWN_FIELD", wrong: "BAD_JSON" };

/// An error about one field.
#[derive(Debug)]
struct FieldError {
    field: String,
    fault: Fault,
}

#[derive(Debug)]
enum Fault {
    Unknown(&'static [&'static str]),
    Missing,
    Repeated,
    Unreadable(String),
}

impl FieldError {
    fn into_api_error(self, Wording { noun, unknown, wrong }: &Wording) -> ApiError {
        let field: String = self.field.chars().filter(|c| !c.is_control()).take(MAX_SHOWN).collect();
        let (code, message) = match self.fault {
            Fault::Unknown(known) => (*unknown, format!("There is no {noun} `{field}` here. Use {}.", listed(known))),
            Fault::Missing => (*wrong, format!("The {noun} `{field}` is missing. Add it.")),
            Fault::Repeated => (*wrong, format!("The {noun} `{field}` is given twice. Give it once.")),
            Fault::Unreadable(reason) => (*wrong, format!("The value of `{field}` cannot be read: {reason}.")),
        };
        ApiError::refused(StatusCode::BAD_REQUEST, code, message).at_name(field)
    }
}

impl Display for FieldError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.fault {
            Fault::Unreadable(reason) => f.write_str(reason),
            fault => write!(f, "{fault:?}: {}", self.field),
        }
    }
}

impl std::error::Error for FieldError {}

impl de::Error for FieldError {
    fn custom<T: Display>(reason: T) -> Self {
        Self { field: String::new(), fault: Fault::Unreadable(reason.to_string()) }
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        Self { field: field.to_owned(), fault: Fault::Unknown(known) }
    }

    fn unknown_variant(_: &str, known: &'static [&'static str]) -> Self {
        Self::custom(format!("it is not one of {}", listed(known)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self { field: field.to_owned(), fault: Fault::Missing }
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self { field: field.to_owned(), fault: Fault::Repeated }
    }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The value of a parameter.
struct Text(String);

/// Reads a value with `FromStr`.
macro_rules! parsed {
    ($($read:ident => $visit:ident, $what:literal;)*) => {$(
        fn $read<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
            visitor.$visit(self.0.parse().map_err(|_| <FieldError as de::Error>::custom($what))?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Text {
    type Error = FieldError;

    parsed! {
        deserialize_bool => visit_bool, "it is neither `true` nor `false`";
        deserialize_i32 => visit_i32, "it is not a whole number, or is out of range";
        deserialize_u32 => visit_u32, "it is not a whole number from 0, or is out of range";
        deserialize_f64 => visit_f64, "it is not a number";
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_string(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        StringDeserializer::new(self.0).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i64 i128 u8 u16 u64 u128 f32 char str string bytes byte_buf unit unit_struct newtype_struct seq tuple tuple_struct map
        struct identifier ignored_any
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use recall_domain::{Role, context::Route};

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Input {
        count: Option<i32>,
        share: Option<f64>,
        flag: bool,
        text: Option<String>,
        route: Option<Route>,
        #[serde(deserialize_with = "time")]
        at: Option<Timestamp>,
    }

    #[test]
    fn query_is_read() {
        let read: Input = read_query("count=-3&share=0.5&flag=true&text=a%20b+c&route=graph&at=1970-01-01T00:00:00Z").unwrap();
        let at = Some(chrono::DateTime::UNIX_EPOCH);
        let text = Some("a b c".to_owned());
        assert_eq!(read, Input { count: Some(-3), share: Some(0.5), flag: true, text, route: Some(Route::Graph), at });
        assert_eq!(read_query::<Input>("").unwrap(), Input::default());
    }

    #[test]
    fn wrong_parameter_is_named() {
        for (query, code, path) in [
            ("count=abc", "BAD_REQUEST", "count"),
            ("count=99999999999", "BAD_REQUEST", "count"),
            ("text=a&share=x", "BAD_REQUEST", "share"),
            ("flag=maybe", "BAD_REQUEST", "flag"),
            ("route=foo", "BAD_REQUEST", "route"),
            ("at=yesterday", "BAD_REQUEST", "at"),
            ("text=a&text=b", "BAD_REQUEST", "text"),
            ("text=a&colour=blue", "UNKNOWN_PARAMETER", "colour"),
            ("a.b=blue", "UNKNOWN_PARAMETER", "a.b"),
        ] {
            let error = read_query::<Input>(query).unwrap_err();
            assert_eq!((error.code(), error.path()), (code, &[path.to_owned()][..]), "{query}");
        }
        let error = read_query::<Input>("route=foo").unwrap_err();
        assert_eq!(error.message(), "The value of `route` cannot be read: it is not one of `graph`, `vector`, `combined`.");
    }

    #[test]
    fn wrong_field_of_a_body_is_named() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code)]
        struct Body {
            message: String,
            role: Option<Role>,
            #[serde(default)]
            ids: Vec<String>,
        }
        let read = |body: &'static str| {
            let json = (axum::http::header::CONTENT_TYPE, axum::http::HeaderValue::from_static("application/json"));
            read_body::<Body>(&HeaderMap::from_iter([json]), Ok(Bytes::from_static(body.as_bytes())))
        };
        read(r#"{"message":"a","role":"user","ids":["b"]}"#).unwrap();
        for (body, code, path) in [
            ("{}", "BAD_JSON", "message"),
            (r#"{"message":7}"#, "BAD_JSON", "message"),
            (r#"{"message":"a","role":"king"}"#, "BAD_JSON", "role"),
            (r#"{"message":"a","ids":[7]}"#, "BAD_JSON", "ids"),
            (r#"{"message":"a","message":"b"}"#, "BAD_JSON", "message"),
            (r#"{"message":"a","befor":"b"}"#, "UNKNOWN_FIELD", "befor"),
        ] {
            let error = read(body).unwrap_err();
            assert_eq!((error.code(), error.path()), (code, &[path.to_owned()][..]), "{body}");
        }
        assert!(read("{").unwrap_err().path().is_empty());
    }
}
