//! Browser logins on the built binary with an administrator's settings.

use super::{super::issuer::AUDIENCE, *};
use crate::server::Server as Process;

const PAGE: &str = "https://app.example.org";

async fn start(issuer: &Issuer, more: &[(&str, &str)]) -> (tempfile::TempDir, Process) {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, format!("{CLIENT_SECRET}\n")).unwrap();
    let env = [
        ("RECALL_OIDC_ISSUER", issuer.url.as_str()),
        ("RECALL_OIDC_AUDIENCE", AUDIENCE),
        ("RECALL_OIDC_CLIENT_ID", CLIENT),
        ("RECALL_OIDC_CLIENT_SECRET_FILE", secret.to_str().unwrap()),
    ];
    let log = folder.path().join("log");
    let server = Process::start_logging_with(&folder.path().join("data"), &log, "trace", &[&env[..], more].concat());
    (folder, server)
}

#[tokio::test]
async fn login_works_and_leaves_no_secret_in_log() {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let (folder, server) = start(&issuer, &[]).await;
    let mut check = crate::server::recall();
    check.args(["check", "--data"]).arg(folder.path().join("data")).envs([
        ("RECALL_OIDC_ISSUER", issuer.url.as_str()),
        ("RECALL_OIDC_AUDIENCE", AUDIENCE),
        ("RECALL_OIDC_CLIENT_ID", CLIENT),
    ]);
    let said = tokio::task::spawn_blocking(move || check.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains(&format!("login: users log in through {}", issuer.url)), "{said}");
    let browser = Browser::of(server.url(""));
    let asked = browser.begin("").await;
    let code = issuer.op.code("anna", &asked, json!({}));
    assert_eq!(browser.back(&code, &asked["state"], &issuer.url).await.status(), 303);
    assert!(browser.viewer().await.is_some());
    let csrf = browser.csrf().await;
    let mut secrets = vec![code, csrf, asked["state"].clone(), asked["nonce"].clone(), browser.cookie("__Host-recall").unwrap()];
    secrets.extend(issuer.op.refresh_tokens());
    secrets.push(CLIENT_SECRET.to_owned());
    secrets.push("anna at the issuer".to_owned());
    browser.log_out().await;
    assert!(server.stop().0);
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.len() > 1_000);
    for secret in secrets {
        assert!(!log.contains(&secret), "{secret} is in the log");
    }
}

#[tokio::test]
async fn logins_from_one_address_are_rate_limited() {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let (_folder, server) = start(&issuer, &[("RECALL_LOGINS_PER_MINUTE", "6")]).await;
    let browser = Browser::of(server.url(""));
    let mut refused = None;
    for n in 0..20 {
        let path = if n % 2 == 0 { "/auth/login" } else { "/auth/callback?code=guess&state=x" };
        let answer = browser.get(path).await;
        if answer.status() == 429 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("a flood is not limited");
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(code_of(refused).await.1, "RATE_LIMITED");
    assert_eq!(browser.get("/auth/session").await.status(), 200, "the page does not open");
}

#[tokio::test]
async fn allowed_foreign_origin_cannot_use_login_cookie() {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let (_folder, server) = start(&issuer, &[("RECALL_CORS_ORIGINS", PAGE)]).await;
    let browser = Browser::of(server.url(""));
    assert_eq!(browser.log_in(&issuer, "anna", json!({})).await.status(), 303);
    let csrf = browser.csrf().await;
    let by_page = |request: RequestBuilder| request.header("origin", PAGE).header("x-csrf-token", csrf.as_str()).send();
    let asked = by_page(browser.request(Method::POST, "/graphql").json(&json!({ "query": "{ viewer { id } }" }))).await.unwrap();
    assert_eq!(asked.status(), 401, "the cookie counts");
    let session = by_page(browser.request(Method::GET, "/auth/session")).await.unwrap();
    assert!(!session.headers().contains_key("access-control-allow-credentials"));
    assert_eq!(session.json::<Value>().await.unwrap()["csrfToken"], Value::Null);
    by_page(browser.request(Method::POST, "/auth/logout")).await.unwrap();
    assert!(browser.viewer().await.is_some(), "the page logged the user out");
    let token = browser.request(Method::POST, "/graphql").bearer_auth(issuer.token("anna", json!({})));
    assert_eq!(
        by_page(token.json(&json!({ "query": "{ viewer { id } }" }))).await.unwrap().status(),
        200,
        "a bearer token of the page is refused"
    );
}
