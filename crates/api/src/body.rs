//! Reads request bodies and checks their declared type.
//!
//! The type is checked because a foreign page can post plain text without a CORS preflight.

use axum::{
    body::Bytes,
    extract::rejection::BytesRejection,
    http::{HeaderMap, StatusCode, header},
};
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// Rejects a body of another type than `wanted`, or a compressed one.
///
/// The size limit would mean nothing for a compressed body. Parameters such as a charset are ignored.
pub(crate) fn require_type(headers: &HeaderMap, wanted: &str) -> Result<(), ApiError> {
    if headers.get_all(header::CONTENT_ENCODING).iter().any(|e| !e.as_bytes().eq_ignore_ascii_case(b"identity")) {
        let message = "The body is compressed. Send it uncompressed.";
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

/// Maps the errors of reading a body.
pub(crate) fn bytes(read: Result<Bytes, BytesRejection>) -> Result<Bytes, ApiError> {
    read.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            ApiError::refused(StatusCode::PAYLOAD_TOO_LARGE, "BODY_TOO_LARGE", "The body is too large. Send less at a time.")
        }
        _ => ApiError::refused(StatusCode::BAD_REQUEST, "BODY_UNREADABLE", "The body ended early. Send it again."),
    })
}

/// Reads a body that is one JSON object.
pub(crate) fn json<T: DeserializeOwned>(headers: &HeaderMap, read: Result<Bytes, BytesRejection>) -> Result<T, ApiError> {
    require_type(headers, "application/json")?;
    let bytes = bytes(read)?;
    // Serde would also read a struct from a list of its fields. A list here is an attempt at a batch.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(ApiError::refused(StatusCode::BAD_REQUEST, "BAD_JSON", "The body is not a JSON object. Send one."));
    }
    serde_json::from_slice(&bytes)
        .map_err(|e| ApiError::refused(StatusCode::BAD_REQUEST, "BAD_JSON", format!("The body is not the JSON expected here: {e}.")))
}

/// Reads a body of UTF-8 text.
pub(crate) fn text(headers: &HeaderMap, wanted: &str, read: Result<Bytes, BytesRejection>) -> Result<String, ApiError> {
    require_type(headers, wanted)?;
    String::from_utf8(bytes(read)?.into())
        .map_err(|_| ApiError::refused(StatusCode::BAD_REQUEST, "BAD_TEXT", "The body is not UTF-8. Encode it as UTF-8."))
}
