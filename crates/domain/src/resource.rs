//! Resources: images, recordings, files and pages that a text contains or links to.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};
use utoipa::ToSchema;
use uuid::Uuid;

use super::UserText;

/// Most resources of one message.
pub const MAX_RESOURCES: usize = 100;
/// Longest URI of a resource, in bytes.
pub const MAX_URI_BYTES: usize = 2_048;

/// How a text refers to a resource.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, ToSchema, EnumString, IntoStaticStr, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ResourceOrigin {
    /// The client sent it with the text.
    Part,
    /// The text contains its address.
    Link,
}

/// A resource. Its bytes are not stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// Identity.
    pub id: Uuid,
    /// The address in standard form, or the name of the content (RFC 6920, `ni:///sha-256;…`).
    pub uri: UserText,
    /// The media type, if the client named it.
    pub media_type: Option<String>,
    /// The size, if the client sent the content.
    pub bytes: Option<u64>,
    /// The SHA-256 digest in hexadecimal, if the client sent the content.
    pub sha256: Option<String>,
    /// How the text refers to it.
    pub origin: ResourceOrigin,
}
