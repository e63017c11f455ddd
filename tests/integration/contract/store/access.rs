//! Personal access tokens: kept, found by their secret alone, forgotten. Tokens of issuers that are believed no more.

use std::sync::Arc;

use recall_domain::{AccessToken, AccessTokenId, TokenDigest, ViewerRole};
use recall_ports::{Store, StoreError};

use super::given::{World, at, fresh};

fn token(name: &str, expires: i64) -> (AccessToken, TokenDigest) {
    let id = fresh();
    let token = AccessToken {
        id: AccessTokenId(id),
        name: name.into(),
        scopes: "recall.read recall.write".into(),
        created_at: at(expires - 1_000),
        expires_at: at(expires),
        last_used_at: None,
    };
    let mut digest = [7; 32];
    digest[..16].copy_from_slice(id.as_bytes());
    (token, TokenDigest(digest))
}

pub(super) async fn a_token_is_found_by_its_secret_until_it_expires_or_is_revoked(store: Arc<dyn Store>) {
    // One who never said anything may have tokens as well.
    let w = World::new(&store);
    let ((first, one), (second, two)) = (token("first", 5_000), token("second", 90_000));
    store.create_access_token(&w.caller, &first, one).await.unwrap();
    store.create_access_token(&w.caller, &second, two).await.unwrap();
    assert_eq!(store.access_tokens(&w.caller).await.unwrap(), [second.clone(), first.clone()], "what is stored reads back the same");

    let (caller, found) = store.use_access_token(one, at(4_999)).await.unwrap().unwrap();
    assert_eq!((caller.user(), caller.role(), found.id), (w.caller.user(), ViewerRole::User, first.id));
    assert_eq!(store.use_access_token(one, at(5_000)).await.unwrap(), None, "expired");
    assert_eq!(store.use_access_token(TokenDigest([7; 32]), at(0)).await.unwrap(), None, "unknown");

    store.use_access_token(two, at(6_000)).await.unwrap().unwrap();
    store.use_access_token(two, at(30_000)).await.unwrap().unwrap();
    let used = |tokens: Vec<AccessToken>| tokens.into_iter().map(|t| t.last_used_at).collect::<Vec<_>>();
    assert_eq!(used(store.access_tokens(&w.caller).await.unwrap()), [Some(at(6_000)), Some(at(4_999))], "to the minute");
    store.use_access_token(two, at(66_000)).await.unwrap().unwrap();
    assert_eq!(used(store.access_tokens(&w.caller).await.unwrap())[0], Some(at(66_000)));

    store.revoke_access_token(&w.caller, second.id).await.unwrap();
    assert_eq!(store.use_access_token(two, at(70_000)).await.unwrap(), None, "revoked");
    assert!(matches!(store.revoke_access_token(&w.caller, second.id).await, Err(StoreError::NotFound)));
}

pub(super) async fn tokens_of_another_are_neither_shown_nor_revoked(store: Arc<dyn Store>) {
    let (a, b) = (World::new(&store), World::new(&store));
    let (kept, digest) = token("kept", 5_000);
    store.create_access_token(&a.caller, &kept, digest).await.unwrap();
    assert!(store.access_tokens(&b.caller).await.unwrap().is_empty());
    assert!(matches!(store.revoke_access_token(&b.caller, kept.id).await, Err(StoreError::NotFound)));
    let (other, _) = token("same secret", 5_000);
    assert!(store.create_access_token(&b.caller, &other, digest).await.is_err(), "one secret is never two people's");
    assert_eq!(store.use_access_token(digest, at(0)).await.unwrap().unwrap().0.user(), a.caller.user());
    // The same id for two users is two tokens.
    let (_, another) = token("mine", 5_000);
    store.create_access_token(&b.caller, &kept, another).await.unwrap();
    store.revoke_access_token(&b.caller, kept.id).await.unwrap();
    assert_eq!(store.access_tokens(&a.caller).await.unwrap().len(), 1);
}

pub(super) async fn a_revoked_token_stays_revoked_until_it_has_expired(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let [brief, prolonged, forever, other] = [(); 4].map(|()| token("x", 0).1);
    let revoke = async |token, until: Option<i64>| store.revoke_token(&w.caller, token, until.map(at)).await.unwrap();
    revoke(brief, Some(1_000)).await;
    revoke(prolonged, Some(9_000)).await;
    revoke(prolonged, Some(1_000)).await;
    revoke(forever, Some(1_000)).await;
    revoke(forever, None).await;
    revoke(forever, Some(2_000)).await;
    assert!(!store.is_revoked(other).await.unwrap());
    for token in [brief, prolonged, forever] {
        assert!(store.is_revoked(token).await.unwrap());
    }
    assert_eq!(store.forget_revoked(at(999)).await.unwrap(), 0);
    assert_eq!(store.forget_revoked(at(1_000)).await.unwrap(), 1);
    assert!(!store.is_revoked(brief).await.unwrap() && store.is_revoked(prolonged).await.unwrap());
    assert_eq!(store.forget_revoked(at(8_000_000_000_000)).await.unwrap(), 1);
    assert!(store.is_revoked(forever).await.unwrap());
}
