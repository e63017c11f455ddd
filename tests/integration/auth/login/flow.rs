//! The normal course of a login and a logout.

use serde_json::{Value, json};

use super::*;

async fn viewer_of(server: &Server, token: &str) -> Value {
    let request = server.http.post(server.url("/graphql")).bearer_auth(token).json(&json!({ "query": "{ viewer { id role } }" }));
    request.send().await.unwrap().json::<Value>().await.unwrap()["data"]["viewer"].clone()
}

#[tokio::test]
async fn login_and_logout_follow_issuer_tokens() {
    let (issuer, server) = world().await;
    let browser = Browser::at(&server);
    let before = browser.session().await;
    assert_eq!(before, json!({ "methods": ["oidc", "token"], "user": null, "csrfToken": null, "expiresAt": null }));
    assert_eq!(browser.viewer().await, None);

    let asked = browser.begin("/%23/s/1").await;
    for (name, value) in [("response_type", "code"), ("client_id", CLIENT), ("scope", "openid profile"), ("code_challenge_method", "S256")]
    {
        assert_eq!(asked[name], value);
    }
    assert_eq!(asked["redirect_uri"], server.url("/auth/callback"));
    let code = issuer.op.code("anna", &asked, json!({ "roles": ["recall-admin"] }));
    let back = browser.back(&code, &asked["state"], &issuer.url).await;
    assert_eq!((back.status().as_u16(), location(&back).as_str()), (303, "/#/s/1"));
    let cookies: Vec<_> = back.headers().get_all("set-cookie").iter().map(|c| c.to_str().unwrap().to_owned()).collect();
    let login = cookies.iter().find(|c| c.starts_with("__Host-recall=")).unwrap();
    assert!(login.ends_with(&format!("; Max-Age={LIFETIME}; Path=/; Secure; HttpOnly; SameSite=Strict")), "{login}");
    assert_eq!(browser.cookie("__Host-recall-login"), None, "the cookie of the attempt is still there");

    let of_token = viewer_of(&server, &issuer.token("anna", json!({}))).await;
    let session = browser.session().await;
    assert_eq!(session["user"], json!({ "id": of_token["id"], "name": "anna at the issuer", "role": "ADMIN" }));
    let (_, answer) = browser.graphql("{ viewer { id role } }").await;
    assert_eq!(answer["data"]["viewer"], json!({ "id": of_token["id"], "role": "ADMIN" }));
    let (_, made) = browser.graphql("mutation { createSession(input: {}) { session { id } errors { code } } }").await;
    assert!(made["data"]["createSession"]["session"]["id"].is_string(), "{made}");
    let page = browser.send(browser.request(Method::GET, "/graphql").header("accept", "text/html")).await;
    assert_eq!(page.status(), 200);

    // The browser never receives a token of the issuer.
    let given = issuer.op.refresh_tokens().remove(0);
    assert!(!format!("{cookies:?}{session}{answer}").contains(&given));

    let held = browser.cookie("__Host-recall").unwrap();
    let said = browser.log_out().await;
    let address = said["logoutUrl"].as_str().unwrap();
    assert!(address.starts_with(&format!("{}/end?client_id={CLIENT}&post_logout_redirect_uri=http", issuer.url)), "{address}");
    assert_eq!(browser.cookie("__Host-recall"), None);
    browser.jar.lock().unwrap().insert("__Host-recall".to_owned(), held);
    assert_eq!((browser.viewer().await, browser.session().await["user"].clone()), (None, Value::Null), "the old cookie opens a session");
    assert_eq!(
        browser.send(browser.request(Method::GET, "/graphql").header("accept", "text/html")).await.status(),
        200,
        "the page is closed"
    );

    let noted = json!({ "query": "{ auditLog { nodes { actorId action address } } }" });
    let log = server.http.post(server.url("/graphql")).bearer_auth(issuer.token("anna", json!({}))).json(&noted).send().await.unwrap();
    let log: serde_json::Value = log.json().await.unwrap();
    let entry = |action: &str| json!({ "actorId": of_token["id"], "action": action, "address": "127.0.0.1" });
    let nodes = log["data"]["auditLog"]["nodes"].as_array().unwrap();
    assert!(nodes.contains(&entry("login")) && nodes.contains(&entry("logout")), "{log}");
}

#[tokio::test]
async fn login_role_follows_granted_scopes_and_access_token() {
    let (issuer, server) = world().await;
    // The server requested none of its own scopes, so the role decides.
    *issuer.op.answer.lock().unwrap() = Some(json!({ "scope": "openid" }));
    let browser = Browser::logged_in(&server, &issuer, "anna").await;
    assert!(browser.viewer().await.is_some());
    let metrics = browser.get("/metrics").await;
    assert_eq!(code_of(metrics).await, (403, "FORBIDDEN".to_owned()), "a user can read the metrics");
    // An access token for this server also contains the role.
    let access = issuer.token("root", json!({ "roles": ["recall-admin"] }));
    *issuer.op.answer.lock().unwrap() = Some(json!({ "access_token": access }));
    let browser = Browser::logged_in(&server, &issuer, "root").await;
    assert_eq!(browser.session().await["user"]["role"], "ADMIN");
    let browser = Browser::logged_in(&server, &issuer, "somebody else").await;
    assert_eq!(browser.session().await["user"]["role"], "USER", "another user's role counts");
}

#[tokio::test]
async fn login_redirects_to_address_known_to_issuer() {
    let (_issuer, server) = world().await;
    let browser = Browser::of(format!("http://localhost:{}", server.address.port()));
    let response = browser.get("/auth/login?return_to=/%23/s/1").await;
    assert_eq!(location(&response), server.url("/auth/login?return_to=%2F%23%2Fs%2F1"));
    assert!(response.headers().get("set-cookie").is_none());
}

#[tokio::test]
async fn session_lists_login_methods_of_server() {
    let plain = Server::start().await;
    let said: Value = plain.http.get(plain.url("/auth/session")).send().await.unwrap().json().await.unwrap();
    assert_eq!(said["methods"], json!([]));
    assert_eq!(plain.http.get(plain.url("/auth/login")).send().await.unwrap().status(), 404);
    let tokens = super::super::issuer::server(&[]).await;
    let said: Value = tokens.http.get(tokens.url("/auth/session")).send().await.unwrap().json().await.unwrap();
    assert_eq!(said["methods"], json!(["token"]));
}

#[tokio::test]
async fn user_without_name_can_log_in() {
    let (issuer, server) = world().await;
    let browser = Browser::at(&server);
    browser.log_in(&issuer, "anna", json!({ "name": null })).await;
    assert_eq!(browser.session().await["user"]["name"], Value::Null);
}
