//! Logins: kept, found by their secret alone, renewed by one at a time, ended by whoever may.

use std::sync::Arc;

use recall_domain::{Caller, Login, ProviderToken, Renewal, TokenDigest, ViewerRole};
use recall_ports::{LoggedOut, Renewed, Store};

use super::given::{World, at, fresh};

const ISSUER: &str = "https://login.example.org";

pub(super) fn login(created: i64) -> Login {
    let mut digest = [9; 32];
    digest[..16].copy_from_slice(fresh().as_bytes());
    Login {
        digest: TokenDigest(digest),
        issuer: ISSUER.into(),
        provider_session: Some("their session".into()),
        name: Some("Anna \u{0} Ä".into()),
        scopes: "recall.read recall.write".into(),
        renewal: Some(Renewal { token: ProviderToken("refresh".into()), at: at(created + 1_000) }),
        created_at: at(created),
        idle_until: at(created + 5_000),
        expires_at: at(created + 20_000),
    }
}

pub(super) async fn a_login_is_found_by_its_secret_until_it_ends(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let admin = Caller::verified(w.caller.user(), ViewerRole::Admin);
    let (one, two) = (login(0), Login { renewal: None, provider_session: None, name: None, ..login(0) });
    store.begin_login(&admin, &one).await.unwrap();
    store.begin_login(&w.caller, &two).await.unwrap();
    assert_eq!(store.login(one.digest, at(4_999)).await.unwrap(), Some((admin, one.clone())), "what is stored reads back the same");
    assert_eq!(store.login(two.digest, at(4_999)).await.unwrap(), Some((w.caller, two.clone())));
    assert_eq!(store.login(TokenDigest([9; 32]), at(0)).await.unwrap(), None, "unknown");
    assert_eq!(store.login(one.digest, at(5_000)).await.unwrap(), None, "idle");
    assert!(store.begin_login(&w.caller, &one).await.is_err(), "one secret is never two logins");

    let until = async |login: &Login| store.login(login.digest, at(0)).await.unwrap().unwrap().1.idle_until;
    store.use_login(one.digest, at(9_000)).await.unwrap();
    assert_eq!(until(&one).await, at(9_000));
    store.use_login(one.digest, at(8_000)).await.unwrap();
    assert_eq!(until(&one).await, at(9_000), "a later end is not taken back");
    store.use_login(one.digest, at(90_000)).await.unwrap();
    assert_eq!(until(&one).await, at(20_000), "however much it is used");
    assert_eq!(store.login(one.digest, at(20_000)).await.unwrap(), None, "expired");

    assert!(store.end_login(one.digest).await.unwrap() && !store.end_login(one.digest).await.unwrap());
    assert_eq!(store.login(one.digest, at(0)).await.unwrap(), None);
    assert!(store.login(two.digest, at(0)).await.unwrap().is_some(), "the other goes on");
    assert_eq!(store.forget_logins(at(4_999)).await.unwrap(), 0);
    assert_eq!(store.forget_logins(at(5_000)).await.unwrap(), 1);
}

pub(super) async fn a_login_is_renewed_by_one_at_a_time(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let begun = login(0);
    store.begin_login(&w.caller, &begun).await.unwrap();
    let claim = async |now, until| store.claim_renewal(begun.digest, at(now), at(until)).await.unwrap();
    assert_eq!(claim(999, 2_000).await, None, "too soon");
    let claims = futures_util::future::join_all((0..8).map(|n| store.claim_renewal(begun.digest, at(1_000), at(3_000 + n)))).await;
    let won: Vec<i64> = (0..8).zip(&claims).filter(|(_, c)| c.as_ref().unwrap().is_some()).map(|(n, _)| 3_000 + n).collect();
    assert_eq!(won.len(), 1, "{claims:?}");
    assert_eq!(claim(2_999, 9_000).await, None, "somebody is at it");

    let renewed = |token: &str, at_: i64| Renewed {
        role: ViewerRole::Admin,
        scopes: "recall.read".into(),
        renewal: Renewal { token: ProviderToken(token.into()), at: at(at_) },
    };
    assert!(!store.renew_login(begun.digest, at(2_000), &renewed("stolen", 9_000)).await.unwrap(), "by who has no claim");
    assert!(store.renew_login(begun.digest, at(won[0]), &renewed("second", 4_000)).await.unwrap());
    let (caller, now) = store.login(begun.digest, at(0)).await.unwrap().unwrap();
    assert_eq!((caller.role(), now.scopes.as_str()), (ViewerRole::Admin, "recall.read"));
    assert_eq!(now.renewal, Some(renewed("second", 4_000).renewal));
    assert!(!store.renew_login(begun.digest, at(won[0]), &renewed("late", 9_000)).await.unwrap(), "a claim is for once");

    // Who claimed it and died does not keep it for ever, and is too late afterwards.
    assert_eq!(claim(4_000, 4_500).await, Some(ProviderToken("second".into())));
    assert_eq!(claim(4_500, 5_500).await, Some(ProviderToken("second".into())));
    assert!(!store.renew_login(begun.digest, at(4_500), &renewed("late", 9_000)).await.unwrap());
    assert!(store.renew_login(begun.digest, at(5_500), &renewed("third", 9_000)).await.unwrap());
    store.end_login(begun.digest).await.unwrap();
    assert_eq!(claim(9_000, 9_500).await, None, "ended");
    let lasting = Login { renewal: None, ..login(0) };
    store.begin_login(&w.caller, &lasting).await.unwrap();
    assert_eq!(store.claim_renewal(lasting.digest, at(9_000), at(9_500)).await.unwrap(), None, "nothing to renew it with");
}

pub(super) async fn an_issuer_ends_the_logins_that_it_means_and_no_later_ones(store: Arc<dyn Store>) {
    let (a, b) = (World::new(&store), World::new(&store));
    // Names of sessions that no other test has, as the stores of some engines are shared.
    let named = |name: &str| Some(format!("{name} {}", a.caller.user().0));
    let begin = async |w: &World, provider_session: Option<String>, issuer: &str, created: i64| {
        let login = Login { provider_session, issuer: issuer.into(), ..login(created) };
        store.begin_login(&w.caller, &login).await.unwrap();
        login.digest
    };
    let there = async |digest| store.login(digest, at(0)).await.unwrap().is_some();
    let (one, other) = (begin(&a, named("1"), ISSUER, 0).await, begin(&a, named("2"), ISSUER, 0).await);
    let (elsewhere, later) = (begin(&a, named("1"), "https://other.example", 0).await, begin(&a, named("1"), ISSUER, 100).await);
    let of_another = begin(&b, None, ISSUER, 0).await;

    let session = |name: &str| LoggedOut::Session(named(name).unwrap());
    assert_eq!(store.end_logins(ISSUER, &session("3"), at(50)).await.unwrap(), []);
    assert_eq!(store.end_logins(ISSUER, &session("1"), at(50)).await.unwrap().len(), 1);
    assert!(!there(one).await && there(other).await && there(elsewhere).await && there(later).await && there(of_another).await);
    assert_eq!(store.end_logins(ISSUER, &LoggedOut::User(a.caller.user()), at(50)).await.unwrap(), [a.caller.user()]);
    assert!(!there(other).await && there(elsewhere).await && there(later).await && there(of_another).await);
}
