//! Attacks during and after a login.

use super::*;

fn refused(code: &str) -> (u16, String) {
    (400, code.to_owned())
}

#[tokio::test]
async fn login_code_works_once_and_in_its_browser_only() {
    let (issuer, server) = world().await;
    let browser = Browser::at(&server);
    let asked = browser.begin("").await;
    let attempt = browser.cookie("__Host-recall-login").unwrap();
    let code = issuer.op.code("anna", &asked, json!({}));
    assert_eq!(browser.back(&code, &asked["state"], &issuer.url).await.status(), 303);

    let again = browser.back(&code, &asked["state"], &issuer.url).await;
    assert_eq!(code_of(again).await, refused("LOGIN_NOT_BEGUN"), "the browser still has the login attempt");
    browser.jar.lock().unwrap().insert("__Host-recall-login".to_owned(), attempt);
    let kept = browser.back(&code, &asked["state"], &issuer.url).await;
    assert_eq!(code_of(kept).await, refused("LOGIN_CODE_REFUSED"), "the issuer accepts a used code");

    // A thief uses a stolen code in their own login.
    let thief = Browser::at(&server);
    let (victims, thiefs) = (browser.begin("").await, thief.begin("").await);
    let code = issuer.op.code("anna", &victims, json!({}));
    assert_eq!(
        code_of(thief.back(&code, &thiefs["state"], &issuer.url).await).await,
        refused("LOGIN_CODE_REFUSED"),
        "PKCE does not bind the code"
    );
    assert_eq!(thief.session().await["user"], Value::Null);
}

#[tokio::test]
async fn login_ends_only_in_browser_that_began_it() {
    let (issuer, server) = world().await;
    // The attacker makes the victim's browser finish the attacker's login.
    let (attacker, victim) = (Browser::at(&server), Browser::at(&server));
    let asked = attacker.begin("").await;
    let code = issuer.op.code("attacker", &asked, json!({}));
    assert_eq!(code_of(victim.back(&code, &asked["state"], &issuer.url).await).await, refused("LOGIN_NOT_BEGUN"));
    victim.begin("").await;
    assert_eq!(code_of(victim.back(&code, &asked["state"], &issuer.url).await).await, refused("LOGIN_STATE_MISMATCH"));
    for state in ["", "x", &asked["state"][1..], &asked["nonce"]] {
        assert_eq!(code_of(attacker.back(&code, state, &issuer.url).await).await, refused("LOGIN_STATE_MISMATCH"), "{state}");
    }
    for query in ["", "?code=x", "?state=a&state=b", "?state"] {
        let answer = attacker.get(&format!("/auth/callback{query}")).await;
        assert_eq!(answer.status(), 400, "{query}");
    }
    assert_eq!(victim.session().await["user"], Value::Null);
    issuer.clock.advance(601);
    let late = attacker.back(&code, &asked["state"], &issuer.url).await;
    assert_eq!(code_of(late).await, refused("LOGIN_NOT_BEGUN"), "the login attempt is still valid after ten minutes");

    let html = attacker.request(Method::GET, "/auth/callback?state=x").header("accept", "text/html,*/*").send().await.unwrap();
    assert_eq!(html.status(), 400);
    let policy = html.headers()["content-security-policy"].to_str().unwrap().to_owned();
    let text = html.text().await.unwrap();
    assert!(text.contains("LOGIN_NOT_BEGUN") && !text.contains("<script") && policy.contains("default-src 'self'"), "{text}");
}

#[tokio::test]
async fn login_response_of_another_issuer_is_refused() {
    let (issuer, server) = world().await;
    let other = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let browser = Browser::at(&server);
    for iss in [&other.url, "", &format!("{}/", issuer.url)] {
        let asked = browser.begin("").await;
        let code = issuer.op.code("anna", &asked, json!({}));
        assert_eq!(code_of(browser.back(&code, &asked["state"], iss).await).await, refused("LOGIN_WRONG_ISSUER"), "{iss}");
    }
    let asked = browser.begin("").await;
    let nameless =
        browser.get(&format!("/auth/callback?code={}&state={}", issuer.op.code("anna", &asked, json!({})), asked["state"])).await;
    assert_eq!(
        code_of(nameless).await,
        refused("LOGIN_WRONG_ISSUER"),
        "a missing issuer is accepted, although the issuer always names itself"
    );
    let denied = browser.get(&format!("/auth/callback?error=access_denied&state={}&iss={}", asked["state"], issuer.url)).await;
    assert_eq!(code_of(denied).await, refused("LOGIN_DENIED"));

    // An issuer that never names itself in its responses is accepted.
    let silent = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    silent.op.stop_naming_issuer();
    let of_silent = super::server(&silent, Stored::sqlite().await).await;
    let browser = Browser::at(&of_silent);
    let asked = browser.begin("").await;
    let code = silent.op.code("anna", &asked, json!({}));
    assert_eq!(browser.get(&format!("/auth/callback?code={code}&state={}", asked["state"])).await.status(), 303);
}

#[tokio::test]
async fn invalid_id_token_refuses_login() {
    let (issuer, server) = world().await;
    let browser = Browser::at(&server);
    let bad = |change| browser.log_in(&issuer, "anna", change);
    for change in [
        json!({ "nonce": "of another login" }),
        json!({ "nonce": null }),
        json!({ "iss": "https://evil.example" }),
        json!({ "aud": "another client" }),
        json!({ "aud": ["another client", CLIENT] }),
        json!({ "azp": "another client" }),
        json!({ "exp": 1 }),
        json!({ "sub": null }),
    ] {
        assert_eq!(code_of(bad(change.clone()).await).await, refused("LOGIN_TOKEN_INVALID"), "{change}");
    }
    let (key, evil) = (issuer.key("a"), Key::new("a", Algorithm::ES256));
    let asked = browser.begin("").await;
    let claims = json!({ "iss": issuer.url, "sub": "anna", "aud": CLIENT, "iat": 1, "exp": 9_999_999_999_u64, "nonce": asked["nonce"] });
    let plain = json!({ "alg": "ES256", "kid": "a" });
    for token in [
        Value::Null,
        json!("x"),
        json!(evil.sign(&plain, &claims)),
        json!(key.sign(&key.header(), &claims)),
        json!(key.sign(&json!({ "alg": "ES256", "kid": "a", "typ": "logout+jwt" }), &claims)),
        json!(format!("{}.", super::super::issuer::unsigned(&json!({ "alg": "none" }), &claims))),
    ] {
        *issuer.op.answer.lock().unwrap() = Some(json!({ "id_token": token }));
        let code = issuer.op.code("anna", &asked, json!({}));
        let answer = browser.back(&code, &asked["state"], &issuer.url).await;
        assert_eq!(code_of(answer).await, refused("LOGIN_TOKEN_INVALID"), "{token}");
    }
    *issuer.op.answer.lock().unwrap() = Some(json!({ "id_token": key.sign(&plain, &claims) }));
    let code = issuer.op.code("anna", &asked, json!({}));
    assert_eq!(browser.back(&code, &asked["state"], &issuer.url).await.status(), 303, "the valid token is refused");
}

#[tokio::test]
async fn login_replaces_planted_and_previous_session_secret() {
    let (issuer, server) = world().await;
    let planted = "f".repeat(64);
    let victim = Browser::at(&server);
    victim.jar.lock().unwrap().insert("__Host-recall".to_owned(), planted.clone());
    assert_eq!(victim.log_in(&issuer, "anna", json!({})).await.status(), 303);
    let first = victim.cookie("__Host-recall").unwrap();
    assert_ne!(first, planted);
    let attacker = Browser::at(&server);
    attacker.jar.lock().unwrap().insert("__Host-recall".to_owned(), planted);
    assert_eq!(attacker.session().await["user"], Value::Null, "a planted secret opens a session");

    // A new login also ends the previous one.
    assert_eq!(victim.log_in(&issuer, "boris", json!({})).await.status(), 303);
    attacker.jar.lock().unwrap().insert("__Host-recall".to_owned(), first.clone());
    assert_eq!((attacker.session().await["user"].clone(), attacker.viewer().await), (Value::Null, None));
    assert_ne!(victim.cookie("__Host-recall").unwrap(), first);
    assert!(victim.viewer().await.is_some());
    // Two cookies of the same name are refused.
    let both = format!("__Host-recall={}; __Host-recall={first}", victim.cookie("__Host-recall").unwrap());
    let answer = server.http.get(server.url("/auth/session")).header("cookie", both).send().await.unwrap();
    assert_eq!(answer.json::<Value>().await.unwrap()["user"], Value::Null);
}

#[tokio::test]
async fn login_redirects_only_within_this_server() {
    let (issuer, server) = world().await;
    for bad in [
        "https://evil.example",
        "//evil.example",
        "/%5Cevil.example",
        "%5C%5Cevil.example",
        "/%09/evil.example",
        "javascript:alert(1)",
        "/%0d%0aset-cookie:a=b",
        "%2F%2Fevil.example",
        "",
        "x",
    ] {
        let browser = Browser::at(&server);
        let asked = browser.begin(bad).await;
        let back = browser.back(&issuer.op.code("anna", &asked, json!({})), &asked["state"], &issuer.url).await;
        assert_eq!((back.status().as_u16(), location(&back).as_str()), (303, "/"), "{bad}");
    }
    // A changed cookie does not redirect elsewhere either.
    let browser = Browser::at(&server);
    let asked = browser.begin("/%23/a").await;
    let cookie = browser.cookie("__Host-recall-login").unwrap();
    for other in ["%2F%2Fevil.example", "%2Fb"] {
        let changed = cookie.replace("%2F%23%2Fa", other);
        assert_ne!(changed, cookie);
        browser.jar.lock().unwrap().insert("__Host-recall-login".to_owned(), changed);
        let back = browser.back(&issuer.op.code("anna", &asked, json!({})), &asked["state"], &issuer.url).await;
        assert_eq!(back.status(), 400, "{other}");
    }
}
