//! Reading request bodies: the declared type is checked, because a foreign page can post plain text without asking.

use axum::{
    body::Bytes,
    extract::rejection::BytesRejection,
    http::{HeaderMap, StatusCode, header},
};
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// Refuses a body of another type than `wanted`, or one that is packed: its size would say nothing. Parameters such as a charset do
/// not count.
pub(crate) fn require_type(headers: &HeaderMap, wanted: &str) -> Result<(), ApiError> {
    if headers.get_all(header::CONTENT_ENCODING).iter().any(|e| !e.as_bytes().eq_ignore_ascii_case(b"identity")) {
        let message = "The body is compressed. Send it as it is.";
        return Err(ApiError::refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", message));
    }
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let declared = match (types.next(), types.next()) {
        (Some(one), None) => one.to_str().ok(),
        _ => None,
    };
    let essence = declared.and_then(|d| d.split(';').next()).map(str::trim);
    if essence.is_some_and(|e| e.eq_ignore_ascii_case(wanted)) {
        return Ok(());
    }
    let message = format!("The body has another media type. Declare it as `content-type: {wanted}`.");
    Err(ApiError::refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", message))
}

/// The bytes of a body.
pub(crate) fn bytes(read: Result<Bytes, BytesRejection>) -> Result<Bytes, ApiError> {
    read.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            ApiError::refused(StatusCode::PAYLOAD_TOO_LARGE, "BODY_TOO_LARGE", "The body is too large. Send less at a time.")
        }
        _ => ApiError::refused(StatusCode::BAD_REQUEST, "BODY_UNREADABLE", "The body ended early. Send it again."),
    })
}

/// A body of JSON.
pub(crate) fn json<T: DeserializeOwned>(headers: &HeaderMap, read: Result<Bytes, BytesRejection>) -> Result<T, ApiError> {
    require_type(headers, "application/json")?;
    let bytes = bytes(read)?;
    // A struct can also be read from a list of its fields, which nobody means: a list is an attempt at a batch.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(ApiError::refused(StatusCode::BAD_REQUEST, "BAD_JSON", "The body is no JSON object. Send one."));
    }
    serde_json::from_slice(&bytes)
        .map_err(|e| ApiError::refused(StatusCode::BAD_REQUEST, "BAD_JSON", format!("The body is not the JSON expected here: {e}.")))
}

/// A body of text.
pub(crate) fn text(headers: &HeaderMap, wanted: &str, read: Result<Bytes, BytesRejection>) -> Result<String, ApiError> {
    require_type(headers, wanted)?;
    String::from_utf8(bytes(read)?.into())
        .map_err(|_| ApiError::refused(StatusCode::BAD_REQUEST, "BAD_TEXT", "The body is not UTF-8. Encode it so."))
}
