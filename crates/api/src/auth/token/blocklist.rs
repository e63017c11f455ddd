//! Tokens of issuers that an administrator has revoked.
//!
//! Every request with a token and every stream checks the list. Results are cached for a few seconds, so that a flood of requests
//! does not reach the store.

use std::{num::NonZeroUsize, sync::Arc};

use parking_lot::Mutex;

use async_trait::async_trait;
use chrono::TimeDelta;
use lru::LruCache;
use ring::digest::{Context, SHA256};

use crate::auth::{authenticator::AuthError, identity::Proof};
use recall_domain::{Timestamp, TokenDigest};
use recall_ports::{Clock, RevocationStore};

/// How long a result is cached.
const CACHE_TIME: TimeDelta = TimeDelta::seconds(4);
/// Maximum number of cached results.
const MAX_CACHED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);

/// Computes the digest of a token's issuer and id (`jti`).
///
/// It includes the length of the issuer, so that no two pairs have the same input.
pub(crate) fn digest_of(issuer: &str, id: &str) -> TokenDigest {
    let mut context = Context::new(&SHA256);
    context.update(&(issuer.len() as u64).to_be_bytes());
    context.update(issuer.as_bytes());
    context.update(id.as_bytes());
    let mut bytes = [0; 32];
    bytes.copy_from_slice(context.finish().as_ref());
    TokenDigest(bytes)
}

/// Checks whether tokens were revoked.
pub(super) struct Blocklist {
    store: Arc<dyn RevocationStore>,
    clock: Arc<dyn Clock>,
    answers: Mutex<LruCache<TokenDigest, (bool, Timestamp)>>,
}

impl Blocklist {
    pub(super) fn new(store: Arc<dyn RevocationStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, answers: Mutex::new(LruCache::new(MAX_CACHED)) }
    }

    /// Whether a token was revoked.
    pub(super) async fn has(&self, token: TokenDigest) -> Result<bool, AuthError> {
        // The time before the query, because the result may be that old.
        let now = self.clock.now();
        if let Some((revoked, at)) = self.answers.lock().get(&token).copied()
            && (at..at + CACHE_TIME).contains(&now)
        {
            return Ok(revoked);
        }
        let revoked = self.store.is_revoked(token).await.map_err(|e| AuthError::Unavailable(Box::new(e)))?;
        self.answers.lock().put(token, (revoked, now));
        Ok(revoked)
    }
}

/// A token of an issuer as the proof of a stream.
pub(super) struct RevocableToken {
    pub(super) blocklist: Arc<Blocklist>,
    pub(super) token: TokenDigest,
}

#[async_trait]
impl Proof for RevocableToken {
    async fn is_revoked(&self) -> bool {
        self.blocklist.has(self.token).await.unwrap_or(false)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

    use super::*;
    use recall_domain::Caller;
    use recall_ports::StoreError;

    #[derive(Default)]
    struct Seconds(AtomicI64);

    impl Clock for Seconds {
        fn now(&self) -> Timestamp {
            Timestamp::from_timestamp(self.0.load(Ordering::Relaxed), 0).unwrap()
        }
    }

    #[derive(Default)]
    struct Store {
        revoked: AtomicBool,
        asked: AtomicUsize,
    }

    #[async_trait]
    impl RevocationStore for Store {
        async fn revoke_token(&self, _: &Caller, _: TokenDigest, _: Option<Timestamp>) -> Result<(), StoreError> {
            unreachable!()
        }
        async fn is_revoked(&self, _: TokenDigest) -> Result<bool, StoreError> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            Ok(self.revoked.load(Ordering::Relaxed))
        }
        async fn forget_revoked(&self, _: Timestamp) -> Result<u64, StoreError> {
            unreachable!()
        }
    }

    #[tokio::test]
    async fn revoked_token_is_refused_within_five_seconds() {
        let store = Arc::new(Store::default());
        let clock = Arc::new(Seconds::default());
        let list = Blocklist::new(store.clone(), clock.clone());
        let token = digest_of("https://login.example.org", "1");
        for _ in 0..100 {
            assert!(!list.has(token).await.unwrap());
        }
        assert_eq!(store.asked.load(Ordering::Relaxed), 1, "a flood causes one query");
        store.revoked.store(true, Ordering::Relaxed);
        clock.0.store(5, Ordering::Relaxed);
        assert!(list.has(token).await.unwrap());
        assert_eq!(store.asked.load(Ordering::Relaxed), 2);
    }

    proptest::proptest! {
        #[test]
        fn different_tokens_have_different_digests(a in ".{0,9}", b in ".{0,9}", c in ".{0,9}", d in ".{0,9}") {
            proptest::prop_assert_eq!(digest_of(&a, &b) == digest_of(&c, &d), a == c && b == d);
        }

        #[test]
        fn digest_depends_on_the_end_of_the_issuer(text in "[a-z]{2,9}", at in 1usize..2) {
            let (a, b) = text.split_at(at);
            proptest::prop_assert_ne!(digest_of(a, b), digest_of(&text, ""));
        }
    }
}
