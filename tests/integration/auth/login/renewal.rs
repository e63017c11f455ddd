//! How long a login lasts, and how the issuer is asked whether it still holds.

use std::sync::atomic::Ordering;

use super::*;

#[tokio::test]
async fn a_login_is_renewed_once_for_many_requests_on_many_servers() {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    for stored in Stored::all().await {
        let store = stored.store.clone();
        let (one, two) = (server(&issuer, stored).await, server_with(&issuer, Stored::sqlite().await, store).await);
        let browser = Browser::logged_in(&one, &issuer, "anna").await;
        let there = Browser::at(&two);
        *there.jar.lock().unwrap() = browser.jar.lock().unwrap().clone();
        let (id, csrf) = (browser.viewer().await, browser.csrf().await);
        assert!(id.is_some() && there.viewer().await == id, "one login opens every server of the store");
        issuer.op.refreshes.store(0, Ordering::Relaxed);
        let before = issuer.op.refresh_tokens();
        issuer.clock.wait(301);
        let ask = |browser: &Browser| {
            let request = browser.request(Method::POST, "/graphql").header("x-csrf-token", csrf.as_str());
            request.json(&json!({ "query": "{ viewer { id } }" })).send()
        };
        let asked = futures_util::future::join_all((0..20).map(|n| ask(if n % 2 == 0 { &browser } else { &there }))).await;
        assert!(asked.into_iter().all(|answer| answer.unwrap().status() == 200));
        assert_eq!(issuer.op.refreshes.load(Ordering::Relaxed), 1);
        assert_ne!(issuer.op.refresh_tokens(), before, "each refresh token is for one use");
        for _ in 0..3 {
            issuer.clock.wait(301);
            assert_eq!(there.viewer().await, id);
        }
        assert_eq!(issuer.op.refreshes.load(Ordering::Relaxed), 4);
    }
}

#[tokio::test]
async fn a_stolen_refresh_token_that_is_used_twice_ends_the_login() {
    let (issuer, server) = world().await;
    let browser = Browser::logged_in(&server, &issuer, "anna").await;
    assert!(browser.viewer().await.is_some());
    assert!(issuer.op.steal().is_some());
    assert!(browser.viewer().await.is_some(), "until the server uses it as well");
    issuer.clock.wait(301);
    assert_eq!(browser.viewer().await, None);
    assert_eq!(browser.session().await["user"], Value::Null);
    assert!(issuer.op.refresh_tokens().is_empty(), "and the issuer has taken back what the thief had");
    assert_eq!(browser.log_in(&issuer, "anna", json!({})).await.status(), 303);
    assert!(browser.viewer().await.is_some());
}

#[tokio::test]
async fn a_renewed_login_says_what_the_issuer_says_now() {
    let (issuer, server) = world().await;
    let browser = Browser::at(&server);
    browser.log_in(&issuer, "root", json!({ "roles": ["recall-admin"] })).await;
    assert_eq!(browser.session().await["user"]["role"], "ADMIN");
    let id = browser.viewer().await;
    // The same person without the role, as the access token for this server says.
    *issuer.op.answer.lock().unwrap() = Some(json!({ "id_token": null, "access_token": issuer.token("root", json!({})) }));
    issuer.clock.wait(301);
    assert_eq!(browser.session().await["user"]["role"], "USER");
    assert_eq!(browser.viewer().await, id);
    // Nothing is said of the person, and no new refresh token is given: the old one serves again.
    *issuer.op.answer.lock().unwrap() = Some(json!({ "id_token": null }));
    issuer.clock.wait(301);
    assert_eq!(browser.viewer().await, id);

    // Tokens of somebody else, or of nobody, are no renewal.
    let key = issuer.key("a");
    for subject in ["boris", "root"] {
        *issuer.op.answer.lock().unwrap() = None;
        let browser = Browser::logged_in(&server, &issuer, "root").await;
        let now = recall_ports::Clock::now(&*issuer.clock).timestamp() + 301;
        let audience = if subject == "root" { "another client" } else { CLIENT };
        let claims = json!({ "iss": issuer.url, "sub": subject, "aud": audience, "iat": now, "exp": now + 60 });
        let other = key.sign(&json!({ "alg": "ES256", "kid": "a", "typ": "JWT" }), &claims);
        *issuer.op.answer.lock().unwrap() = Some(json!({ "id_token": other }));
        issuer.clock.wait(301);
        assert_eq!(browser.viewer().await, None, "{subject}");
    }
}

#[tokio::test]
async fn renewal_without_id_token_keeps_no_role_that_nobody_proves() {
    let (issuer, server) = world().await;
    *issuer.op.answer.lock().unwrap() = Some(json!({}));
    let browser = Browser::at(&server);
    browser.log_in(&issuer, "root", json!({ "roles": ["recall-admin"] })).await;
    let id = browser.viewer().await;
    let renewed = async |userinfo: Option<Value>| {
        *issuer.op.answer.lock().unwrap() = Some(json!({ "id_token": null }));
        *issuer.op.userinfo.lock().unwrap() = userinfo;
        issuer.clock.wait(301);
        browser.session().await["user"]["role"].clone()
    };
    // The issuer still says so where it is asked.
    assert_eq!(renewed(Some(json!({ "sub": "root", "roles": ["recall-admin"] }))).await, "ADMIN");
    // It has taken the role back.
    assert_eq!(renewed(Some(json!({ "sub": "root", "roles": [] }))).await, "USER");
    assert_eq!(renewed(None).await, "USER");
    assert_eq!(renewed(Some(json!({ "sub": "root", "roles": ["recall-admin"] }))).await, "ADMIN", "it has given the role again");
    assert_eq!(browser.viewer().await, id, "the login itself goes on");

    // It says nothing, or speaks of somebody else.
    for (userinfo, role) in [(None, json!("USER")), (Some(json!({ "sub": "boris", "roles": ["recall-admin"] })), Value::Null)] {
        *issuer.op.answer.lock().unwrap() = None;
        let browser = Browser::at(&server);
        browser.log_in(&issuer, "root", json!({ "roles": ["recall-admin"] })).await;
        assert_eq!(browser.session().await["user"]["role"], "ADMIN");
        *issuer.op.answer.lock().unwrap() = Some(json!({ "id_token": null }));
        *issuer.op.userinfo.lock().unwrap() = userinfo.clone();
        issuer.clock.wait(301);
        assert_eq!(browser.session().await["user"]["role"], role, "{userinfo:?}");
    }
}

#[tokio::test]
async fn a_login_goes_on_for_an_hour_while_the_issuer_is_down() {
    let (issuer, server) = world().await;
    let browser = Browser::logged_in(&server, &issuer, "anna").await;
    let csrf = browser.csrf().await;
    issuer.op.down.store(true, Ordering::Relaxed);
    for _ in 0..3 {
        issuer.clock.wait(301);
        assert!(browser.viewer().await.is_some());
    }
    issuer.clock.wait(3_000);
    let request = browser.request(Method::POST, "/graphql").header("x-csrf-token", csrf).json(&json!({ "query": "{ viewer { id } }" }));
    assert_eq!(request.send().await.unwrap().status(), 503, "nobody can say whether it holds");
    issuer.op.down.store(false, Ordering::Relaxed);
    issuer.clock.wait(21);
    assert!(browser.viewer().await.is_some(), "and it was not ended meanwhile");
}

#[tokio::test]
async fn a_login_ends_unused_and_at_last_however_much_it_is_used() {
    let (issuer, server) = world().await;
    let (idle, busy) = (Browser::logged_in(&server, &issuer, "anna").await, Browser::logged_in(&server, &issuer, "anna").await);
    let mut waited = 0;
    while waited + IDLE / 2 < LIFETIME {
        issuer.clock.wait(IDLE / 2);
        waited += IDLE / 2;
        assert!(busy.viewer().await.is_some(), "after {waited} s");
        if waited == IDLE {
            assert_eq!(idle.viewer().await, None, "unused for an hour");
        }
    }
    issuer.clock.wait(IDLE / 2);
    assert_eq!((busy.viewer().await, busy.session().await["user"].clone()), (None, Value::Null), "a day is the end");
}
