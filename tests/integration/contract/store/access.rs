//! Personal access tokens and revoked issuer tokens.

use std::sync::Arc;

use recall_domain::{AccessToken, AccessTokenId, FrontEnd, FrontEndKind, TokenDigest, UsedFrontEnd, ViewerRole};
use recall_ports::{MAX_FRONT_ENDS, Store, StoreError};

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

pub(super) async fn access_token_is_found_until_expired_or_revoked(store: Arc<dyn Store>) {
    // A user without any data can also have tokens.
    let w = World::new(&store);
    let ((first, one), (second, two)) = (token("first", 5_000), token("second", 90_000));
    store.create_access_token(&w.caller, &first, one).await.unwrap();
    store.create_access_token(&w.caller, &second, two).await.unwrap();
    assert_eq!(store.access_tokens(&w.caller).await.unwrap(), [second.clone(), first.clone()], "the stored tokens differ");

    let (caller, found) = store.use_access_token(one, at(4_999)).await.unwrap().unwrap();
    assert_eq!((caller.user(), caller.role(), found.id), (w.caller.user(), ViewerRole::User, first.id));
    assert_eq!(store.use_access_token(one, at(5_000)).await.unwrap(), None, "the token did not expire");
    assert_eq!(store.use_access_token(TokenDigest([7; 32]), at(0)).await.unwrap(), None, "an unknown secret found a token");

    store.use_access_token(two, at(6_000)).await.unwrap().unwrap();
    store.use_access_token(two, at(30_000)).await.unwrap().unwrap();
    let used = |tokens: Vec<AccessToken>| tokens.into_iter().map(|t| t.last_used_at).collect::<Vec<_>>();
    assert_eq!(used(store.access_tokens(&w.caller).await.unwrap()), [Some(at(6_000)), Some(at(4_999))], "not precise to the minute");
    store.use_access_token(two, at(66_000)).await.unwrap().unwrap();
    assert_eq!(used(store.access_tokens(&w.caller).await.unwrap())[0], Some(at(66_000)));

    store.revoke_access_token(&w.caller, second.id).await.unwrap();
    assert_eq!(store.use_access_token(two, at(70_000)).await.unwrap(), None, "a revoked token was found");
    assert!(matches!(store.revoke_access_token(&w.caller, second.id).await, Err(StoreError::NotFound)));
}

pub(super) async fn access_tokens_of_others_are_hidden_and_protected(store: Arc<dyn Store>) {
    let (a, b) = (World::new(&store), World::new(&store));
    let (kept, digest) = token("kept", 5_000);
    store.create_access_token(&a.caller, &kept, digest).await.unwrap();
    assert!(store.access_tokens(&b.caller).await.unwrap().is_empty());
    assert!(matches!(store.revoke_access_token(&b.caller, kept.id).await, Err(StoreError::NotFound)));
    let (other, _) = token("same secret", 5_000);
    assert!(store.create_access_token(&b.caller, &other, digest).await.is_err(), "one secret belongs to two users");
    assert_eq!(store.use_access_token(digest, at(0)).await.unwrap().unwrap().0.user(), a.caller.user());
    // Two users can have a token with the same id.
    let (_, another) = token("mine", 5_000);
    store.create_access_token(&b.caller, &kept, another).await.unwrap();
    store.revoke_access_token(&b.caller, kept.id).await.unwrap();
    assert_eq!(store.access_tokens(&a.caller).await.unwrap().len(), 1);
}

pub(super) async fn front_ends_are_those_of_the_user_used_last_first(store: Arc<dyn Store>) {
    let (a, b) = (World::new(&store), World::new(&store));
    let front_end = |kind, name: &str| FrontEnd { kind, name: name.into() };
    let [browser, script] = [front_end(FrontEndKind::Login, "Firefox"), front_end(FrontEndKind::AccessToken, "Firefox")];
    // A user without data has no front ends, so reading as an unknown user stores nothing.
    assert!(!store.note_front_end(&a.caller, &browser, at(1_000)).await.unwrap());
    assert_eq!(store.front_ends(&a.caller).await.unwrap(), []);

    a.session().await;
    for (used, now) in [(&browser, 1_000), (&script, 2_000), (&browser, 70_000), (&script, 1_500)] {
        assert!(store.note_front_end(&a.caller, used, at(now)).await.unwrap());
    }
    let used =
        |front_end: &FrontEnd, first, last| UsedFrontEnd { front_end: front_end.clone(), first_used_at: at(first), last_used_at: at(last) };
    assert_eq!(store.front_ends(&a.caller).await.unwrap(), [used(&browser, 1_000, 70_000), used(&script, 2_000, 2_000)]);
    b.session().await;
    assert_eq!(store.front_ends(&b.caller).await.unwrap(), []);

    for n in 0..MAX_FRONT_ENDS {
        store.note_front_end(&a.caller, &front_end(FrontEndKind::Open, &format!("program {n}")), at(3_000)).await.unwrap();
    }
    let kept = store.front_ends(&a.caller).await.unwrap();
    assert_eq!((kept.len(), &kept[0].front_end), (MAX_FRONT_ENDS as usize, &browser));
    assert!(kept.iter().all(|used| used.front_end != script), "the one that was not used for the longest time stays");
    // After a deletion, a program that still asks for its progress is no new data.
    store.begin_erasure(&a.caller, at(80_000)).await.unwrap();
    assert_eq!(store.front_ends(&a.caller).await.unwrap(), []);
    store.note_front_end(&a.caller, &browser, at(90_000)).await.unwrap();
    assert_eq!(store.front_ends(&a.caller).await.unwrap(), []);
}

pub(super) async fn revoked_token_stays_revoked_until_expiry(store: Arc<dyn Store>) {
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
