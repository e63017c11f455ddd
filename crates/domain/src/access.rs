//! Personal access tokens, which scripts and agents of a user send instead of a login, and the front ends that a user has.

use strum::{EnumString, IntoStaticStr, VariantNames};

use super::{AccessTokenId, Timestamp, UserText};

/// A personal access token. Its secret is shown once, to its creator, and is not stored.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessToken {
    /// Identity.
    pub id: AccessTokenId,
    /// The name that its owner gave it.
    pub name: UserText,
    /// Its OAuth scopes, separated by spaces.
    pub scopes: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
}

/// The SHA-256 digest that identifies a token.
///
/// For a personal token it is the digest of the secret, which has 32 random bytes and so needs no slow hash. For an issuer's token it is
/// the digest of issuer and `jti`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenDigest(pub [u8; 32]);

/// How a front end shows whose data it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum FrontEndKind {
    /// A browser with a login at this server.
    Login,
    /// A program with a personal access token. Its name is that of the token.
    AccessToken,
    /// A front end with the server's key, which names its user. Its name is the product.
    SignedUser,
    /// A program with a token of the identity provider. Its name is the client id.
    Client,
    /// A program at a server without login. Its name is what it calls itself.
    Open,
}

/// A program through which a user uses the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FrontEnd {
    /// How it shows whose data it may use.
    pub kind: FrontEndKind,
    /// Its name, up to [`FrontEnd::MAX_NAME_CHARS`] characters.
    pub name: String,
}

impl FrontEnd {
    /// Longest name, in characters. Longer ones are cut.
    pub const MAX_NAME_CHARS: usize = 100;
}

/// A front end that a user has used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedFrontEnd {
    /// The front end.
    pub front_end: FrontEnd,
    /// When it was first used.
    pub first_used_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_used_at: Timestamp,
}
