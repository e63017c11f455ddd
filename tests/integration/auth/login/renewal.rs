//! How long a login lasts, and when the server renews it at the issuer.

use std::sync::atomic::Ordering;

use super::*;

#[tokio::test]
async fn concurrent_requests_renew_login_once_across_servers() {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    for stored in Stored::all().await {
        let store = stored.store.clone();
        let (one, two) = (server(&issuer, stored).await, server_with(&issuer, Stored::sqlite().await, store).await);
        let browser = Browser::logged_in(&one, &issuer, "anna").await;
        let there = Browser::at(&two);
        *there.jar.lock().unwrap() = browser.jar.lock().unwrap().clone();
        let (id, csrf) = (browser.viewer().await, browser.csrf().await);
        assert!(id.is_some() && there.viewer().await == id, "the second server does not know the login");
        issuer.op.refreshes.store(0, Ordering::Relaxed);
        let before = issuer.op.refresh_tokens();
        issuer.clock.advance(301);
        let ask = |browser: &Browser| {
            let request = browser.request(Method::POST, "/graphql").header("x-csrf-token", csrf.as_str());
            request.json(&json!({ "query": "{ viewer { id } }" })).send()
        };
        let asked = futures_util::future::join_all((0..20).map(|n| ask(if n % 2 == 0 { &browser } else { &there }))).await;
        assert!(asked.into_iter().all(|answer| answer.unwrap().status() == 200));
        assert_eq!(issuer.op.refreshes.load(Ordering::Relaxed), 1);
        assert_ne!(issuer.op.refresh_tokens(), before, "the refresh token was not replaced");
        for _ in 0..3 {
            issuer.clock.advance(301);
            assert_eq!(there.viewer().await, id);
        }
        assert_eq!(issuer.op.refreshes.load(Ordering::Relaxed), 4);
    }
}

#[tokio::test]
async fn reused_refresh_token_ends_login() {
    let (issuer, server) = world().await;
    let browser = Browser::logged_in(&server, &issuer, "anna").await;
    assert!(browser.viewer().await.is_some());
    assert!(issuer.op.steal().is_some());
    assert!(browser.viewer().await.is_some(), "the login ended before the server used the token");
    issuer.clock.advance(301);
    assert_eq!(browser.viewer().await, None);
    assert_eq!(browser.session().await["user"], Value::Null);
    assert!(issuer.op.refresh_tokens().is_empty(), "the issuer did not revoke the thief's token");
    assert_eq!(browser.log_in(&issuer, "anna", json!({})).await.status(), 303);
    assert!(browser.viewer().await.is_some());
}

#[tokio::test]
async fn renewal_takes_over_changes_at_issuer() {
    let (issuer, server) = world().await;
    let browser = Browser::at(&server);
    browser.log_in(&issuer, "root", json!({ "roles": ["recall-admin"] })).await;
    assert_eq!(browser.session().await["user"]["role"], "ADMIN");
    let id = browser.viewer().await;
    // The access token for this server now has no role.
    *issuer.op.answer.lock().unwrap() = Some(json!({ "id_token": null, "access_token": issuer.token("root", json!({})) }));
    issuer.clock.advance(301);
    assert_eq!(browser.session().await["user"]["role"], "USER");
    assert_eq!(browser.viewer().await, id);
    // A renewal without ID token and refresh token: the server keeps the old refresh token.
    *issuer.op.answer.lock().unwrap() = Some(json!({ "id_token": null }));
    issuer.clock.advance(301);
    assert_eq!(browser.viewer().await, id);

    // A renewal with the tokens of another user or client ends the login.
    let key = issuer.key("a");
    for subject in ["boris", "root"] {
        *issuer.op.answer.lock().unwrap() = None;
        let browser = Browser::logged_in(&server, &issuer, "root").await;
        let now = recall_ports::Clock::now(&*issuer.clock).timestamp() + 301;
        let audience = if subject == "root" { "another client" } else { CLIENT };
        let claims = json!({ "iss": issuer.url, "sub": subject, "aud": audience, "iat": now, "exp": now + 60 });
        let other = key.sign(&json!({ "alg": "ES256", "kid": "a", "typ": "JWT" }), &claims);
        *issuer.op.answer.lock().unwrap() = Some(json!({ "id_token": other }));
        issuer.clock.advance(301);
        assert_eq!(browser.viewer().await, None, "{subject}");
    }
}

#[tokio::test]
async fn renewal_without_id_token_drops_unproved_role() {
    let (issuer, server) = world().await;
    *issuer.op.answer.lock().unwrap() = Some(json!({}));
    let browser = Browser::at(&server);
    browser.log_in(&issuer, "root", json!({ "roles": ["recall-admin"] })).await;
    let id = browser.viewer().await;
    let renewed = async |userinfo: Option<Value>| {
        *issuer.op.answer.lock().unwrap() = Some(json!({ "id_token": null }));
        *issuer.op.userinfo.lock().unwrap() = userinfo;
        issuer.clock.advance(301);
        browser.session().await["user"]["role"].clone()
    };
    // The userinfo endpoint still confirms the role.
    assert_eq!(renewed(Some(json!({ "sub": "root", "roles": ["recall-admin"] }))).await, "ADMIN");
    // The issuer has removed the role.
    assert_eq!(renewed(Some(json!({ "sub": "root", "roles": [] }))).await, "USER");
    assert_eq!(renewed(None).await, "USER");
    assert_eq!(renewed(Some(json!({ "sub": "root", "roles": ["recall-admin"] }))).await, "ADMIN", "the role is not granted again");
    assert_eq!(browser.viewer().await, id, "the login ended");

    // The userinfo endpoint fails, or describes another user.
    for (userinfo, role) in [(None, json!("USER")), (Some(json!({ "sub": "boris", "roles": ["recall-admin"] })), Value::Null)] {
        *issuer.op.answer.lock().unwrap() = None;
        let browser = Browser::at(&server);
        browser.log_in(&issuer, "root", json!({ "roles": ["recall-admin"] })).await;
        assert_eq!(browser.session().await["user"]["role"], "ADMIN");
        *issuer.op.answer.lock().unwrap() = Some(json!({ "id_token": null }));
        *issuer.op.userinfo.lock().unwrap() = userinfo.clone();
        issuer.clock.advance(301);
        assert_eq!(browser.session().await["user"]["role"], role, "{userinfo:?}");
    }
}

#[tokio::test]
async fn login_survives_issuer_outage_of_an_hour() {
    let (issuer, server) = world().await;
    let browser = Browser::logged_in(&server, &issuer, "anna").await;
    let csrf = browser.csrf().await;
    issuer.op.down.store(true, Ordering::Relaxed);
    for _ in 0..3 {
        issuer.clock.advance(301);
        assert!(browser.viewer().await.is_some());
    }
    issuer.clock.advance(3_000);
    let request = browser.request(Method::POST, "/graphql").header("x-csrf-token", csrf).json(&json!({ "query": "{ viewer { id } }" }));
    assert_eq!(request.send().await.unwrap().status(), 503, "the login is accepted without confirmation");
    issuer.op.down.store(false, Ordering::Relaxed);
    issuer.clock.advance(21);
    assert!(browser.viewer().await.is_some(), "the outage ended the login");
}

#[tokio::test]
async fn login_ends_when_idle_and_at_maximum_lifetime() {
    let (issuer, server) = world().await;
    let (idle, busy) = (Browser::logged_in(&server, &issuer, "anna").await, Browser::logged_in(&server, &issuer, "anna").await);
    let mut waited = 0;
    while waited + IDLE / 2 < LIFETIME {
        issuer.clock.advance(IDLE / 2);
        waited += IDLE / 2;
        assert!(busy.viewer().await.is_some(), "after {waited} s");
        if waited == IDLE {
            assert_eq!(idle.viewer().await, None, "an idle login is still valid after an hour");
        }
    }
    issuer.clock.advance(IDLE / 2);
    assert_eq!((busy.viewer().await, busy.session().await["user"].clone()), (None, Value::Null), "a login is still valid after a day");
}
