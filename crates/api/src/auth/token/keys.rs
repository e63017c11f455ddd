//! Parses the discovery document and the public keys of an issuer. Pure.

use std::sync::Arc;

use jsonwebtoken::{
    Algorithm, DecodingKey,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse},
};
use serde::Deserialize;
use serde_json::Value;

/// Maximum number of keys of one issuer; real issuers have a handful.
const MAX_KEYS: usize = 64;

/// The discovery document of an issuer.
#[derive(Deserialize)]
pub(super) struct Discovery {
    pub(super) issuer: String,
    pub(super) jwks_uri: String,
    pub(super) introspection_endpoint: Option<String>,
    #[serde(flatten)]
    pub(super) metadata: ProviderMetadata,
}

/// The endpoints and features of an issuer for browser logins.
#[derive(Debug, Default, Deserialize)]
pub(in crate::auth) struct ProviderMetadata {
    pub(in crate::auth) authorization_endpoint: Option<String>,
    pub(in crate::auth) token_endpoint: Option<String>,
    pub(in crate::auth) end_session_endpoint: Option<String>,
    pub(in crate::auth) revocation_endpoint: Option<String>,
    pub(in crate::auth) userinfo_endpoint: Option<String>,
    pub(in crate::auth) scopes_supported: Option<Vec<String>>,
    pub(in crate::auth) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// Whether the issuer names itself in the authorization response (RFC 9207).
    pub(in crate::auth) authorization_response_iss_parameter_supported: Option<bool>,
}

impl ProviderMetadata {
    /// All endpoint URLs.
    pub(super) fn addresses(&self) -> impl Iterator<Item = &String> {
        let named = [&self.authorization_endpoint, &self.token_endpoint, &self.end_session_endpoint, &self.revocation_endpoint];
        named.into_iter().chain([&self.userinfo_endpoint]).flatten()
    }
}

/// One verification key.
struct Key {
    id: Option<String>,
    jwk: Jwk,
    key: Arc<DecodingKey>,
}

/// The verification keys of an issuer.
pub(super) struct KeySet(Vec<Key>);

/// Result of looking up the key of a token.
pub(super) enum KeyLookup {
    Key(Arc<DecodingKey>),
    /// A key with this id exists, but not for this algorithm.
    Unsuitable,
    Unknown,
}

impl KeySet {
    /// Reads a JSON Web Key Set. Keys that cannot verify signatures are skipped, because issuers list others as well.
    pub(super) fn parse(document: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Document {
            keys: Vec<Value>,
        }
        let document: Document = serde_json::from_slice(document)?;
        let usable = |value| {
            let jwk: Jwk = serde_json::from_value(value).ok().filter(is_verification_key)?;
            let key = Arc::new(DecodingKey::from_jwk(&jwk).ok()?);
            Some(Key { id: jwk.common.key_id.clone(), jwk, key })
        };
        Ok(Self(document.keys.into_iter().filter_map(usable).take(MAX_KEYS).collect()))
    }

    /// Number of keys.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Finds the key with an id. Without an id, exactly one key must match the algorithm.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> KeyLookup {
        let fits = |k: &&Key| matches_algorithm(&k.jwk, algorithm);
        match id {
            Some(id) => {
                let mut named = self.0.iter().filter(|k| k.id.as_deref() == Some(id)).peekable();
                match (named.peek().is_some(), named.find(fits)) {
                    (_, Some(found)) => KeyLookup::Key(found.key.clone()),
                    (true, None) => KeyLookup::Unsuitable,
                    (false, None) => KeyLookup::Unknown,
                }
            }
            None => {
                let mut fitting = self.0.iter().filter(fits);
                match (fitting.next(), fitting.next()) {
                    (Some(only), None) => KeyLookup::Key(only.key.clone()),
                    _ => KeyLookup::Unsuitable,
                }
            }
        }
    }
}

/// Whether a key is a public key for signatures.
///
/// A shared secret in the document would let everyone who can read it sign tokens.
fn is_verification_key(jwk: &Jwk) -> bool {
    let common = &jwk.common;
    let for_signatures = common.public_key_use.as_ref().is_none_or(|u| *u == PublicKeyUse::Signature)
        && common.key_operations.as_ref().is_none_or(|ops| ops.contains(&KeyOperations::Verify));
    for_signatures && !matches!(jwk.algorithm, AlgorithmParameters::OctetKey(_))
}

/// Whether a key can be used with an algorithm, by its type and its own `alg`.
fn matches_algorithm(jwk: &Jwk, algorithm: Algorithm) -> bool {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    let kind = match (&jwk.algorithm, algorithm) {
        (AlgorithmParameters::RSA(_), RS256 | RS384 | RS512 | PS256 | PS384 | PS512) => true,
        (AlgorithmParameters::EllipticCurve(p), ES256) => p.curve == EllipticCurve::P256,
        (AlgorithmParameters::EllipticCurve(p), ES384) => p.curve == EllipticCurve::P384,
        (AlgorithmParameters::OctetKeyPair(p), EdDSA) => p.curve == EllipticCurve::Ed25519,
        _ => false,
    };
    kind && jwk.common.key_algorithm.is_none_or(|meant| meant.to_string() == format!("{algorithm:?}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(keys: Value) -> KeySet {
        KeySet::parse(json!({ "keys": keys }).to_string().as_bytes()).unwrap()
    }

    fn ec(id: &str, more: Value) -> Value {
        let mut key = json!({ "kty": "EC", "crv": "P-256", "kid": id, "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0" });
        for (name, value) in more.as_object().unwrap() {
            key[name] = value.clone();
        }
        key
    }

    fn found(set: &KeySet, id: Option<&str>, algorithm: Algorithm) -> &'static str {
        match set.find(id, algorithm) {
            KeyLookup::Key(_) => "key",
            KeyLookup::Unsuitable => "unsuitable",
            KeyLookup::Unknown => "unknown",
        }
    }

    #[test]
    fn only_public_signature_keys_are_kept() {
        let keys = set(json!([
            ec("good", json!({ "use": "sig", "alg": "ES256" })),
            ec("enc", json!({ "use": "enc" })),
            ec("sign", json!({ "key_ops": ["sign"] })),
            { "kty": "oct", "kid": "secret", "k": "c2VjcmV0" },
            { "kty": "RSA", "kid": "broken" },
            { "kty": "new", "kid": "new" },
            7,
        ]));
        assert_eq!(keys.0.len(), 1);
        assert_eq!(found(&keys, Some("good"), Algorithm::ES256), "key");
        for (id, algorithm) in [("secret", Algorithm::HS256), ("enc", Algorithm::ES256), ("", Algorithm::ES256), ("GOOD", Algorithm::ES256)]
        {
            assert_eq!(found(&keys, Some(id), algorithm), "unknown", "{id}");
        }
    }

    #[test]
    fn key_is_used_only_for_its_algorithm() {
        let keys = set(json!([ec("a", json!({ "alg": "ES256" })), ec("b", json!({ "alg": "ES384" }))]));
        for algorithm in [Algorithm::HS256, Algorithm::RS256, Algorithm::ES384, Algorithm::EdDSA] {
            assert_eq!(found(&keys, Some("a"), algorithm), "unsuitable", "{algorithm:?}");
        }
        assert_eq!(found(&keys, Some("b"), Algorithm::ES384), "unsuitable", "another curve");
        assert_eq!(found(&keys, None, Algorithm::ES256), "key", "one key matches");
        let two = set(json!([ec("a", json!({})), ec("b", json!({}))]));
        assert_eq!(found(&two, None, Algorithm::ES256), "unsuitable", "two keys match");
    }
}
