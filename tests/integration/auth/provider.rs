//! A real provider: `oidc-provider` issues tokens in its own process.
//! The built binary accepts them with an administrator's settings.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    sync::Once,
};

use serde_json::{Value, json};

use crate::server::{Server, TIMEOUT, lines_of, within};

const AUDIENCE: &str = "https://recall.example.org";

struct Provider {
    child: Child,
    issuer: String,
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Provider {
    fn start() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/services/oidc");
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            if !folder.join("node_modules/oidc-provider").is_dir() {
                let npm = Command::new("npm").args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(&folder).status();
                assert!(npm.is_ok_and(|s| s.success()), "the provider could not be installed: npm ci in tests/services/oidc");
            }
        });
        let mut command = Command::new("node");
        command.arg("server.mjs").current_dir(&folder).env("NODE_NO_WARNINGS", "1");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("node did not start");
        let lines = lines_of(child.stdout.take().unwrap());
        let issuer = loop {
            let line = lines.recv_timeout(TIMEOUT).expect("the provider does not print its address");
            if let Ok(said) = serde_json::from_str::<Value>(&line) {
                break said["issuer"].as_str().unwrap().to_owned();
            }
        };
        Self { child, issuer }
    }

    async fn post(&self, http: &reqwest::Client, path: &str, client: &str, body: String) -> reqwest::Response {
        let request = http.post(format!("{}{path}", self.issuer)).basic_auth(client, Some(secret_of(client)));
        request.header("content-type", "application/x-www-form-urlencoded").body(body).send().await.unwrap()
    }

    async fn token_for(&self, http: &reqwest::Client, client: &str, scope: &str) -> String {
        let body = format!("grant_type=client_credentials&scope={}&resource={AUDIENCE}", scope.replace(' ', "+"));
        let answer: Value = self.post(http, "/token", client, body).await.json().await.unwrap();
        answer["access_token"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    async fn token(&self, http: &reqwest::Client, scope: &str) -> String {
        self.token_for(http, "agent", scope).await
    }
}

fn secret_of(client: &str) -> String {
    format!("{client}-secret-0123456789-0123456789")
}

async fn viewer(server: &Server, token: &str) -> (u16, Value) {
    // Through a proxy, which is allowed with a login.
    let request = server.http.post(server.url("/graphql")).bearer_auth(token).header("x-forwarded-for", "203.0.113.9");
    let answer = request.json(&json!({ "query": "{ viewer { id role } }" })).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test]
async fn real_provider_tokens_open_server_across_key_rotation() {
    let provider = Provider::start();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let env = [
        ("RECALL_OIDC_ISSUER", provider.issuer.as_str()),
        ("RECALL_OIDC_AUDIENCE", AUDIENCE),
        ("RECALL_OIDC_ADMIN_ROLE", "service"),
        ("RECALL_PUBLIC_URL", "https://memory.example.org"),
    ];
    let mut check = crate::server::recall();
    check.args(["check", "--data"]).arg(folder.path()).envs(env);
    let output = check.output().unwrap();
    let (said, failed) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(said.contains(&format!("login: {} answers; 1 keys", provider.issuer)), "{said}{failed}");
    let server = Server::start_logging_with(&folder.path().join("data"), &log, "trace", &env);
    let token = provider.token(&server.http, "recall.read recall.write").await;
    let (status, body) = viewer(&server, &token).await;
    assert_eq!((status, &body["data"]["viewer"]["role"]), (200, &json!("ADMIN")), "{body}");
    let read = provider.token(&server.http, "recall.read").await;
    let request = server.http.post(server.url("/chat")).bearer_auth(&read).json(&json!({ "message": "Hi" }));
    let refused = request.send().await.unwrap();
    assert_eq!(refused.status(), 403);
    let challenge = refused.headers()["www-authenticate"].to_str().unwrap();
    assert!(challenge.ends_with("resource_metadata=\"https://memory.example.org/.well-known/oauth-protected-resource\""), "{challenge}");

    // After a key rotation the old tokens hold until the server reads the keys, at most every ten seconds.
    server.http.post(format!("{}/rotate", provider.issuer)).send().await.unwrap();
    let rotated = provider.token(&server.http, "recall.read").await;
    let read_again = async {
        loop {
            let answer = viewer(&server, &rotated).await;
            if answer.0 == 200 {
                break answer;
            }
            assert_eq!(answer.0, 401);
            assert_eq!(viewer(&server, &token).await.0, 200, "the old key is refused too early");
            // The server remembers an unknown key for a minute.
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        }
    };
    let (status, same) = tokio::time::timeout(2 * TIMEOUT, read_again).await.expect("the new key is not read");
    assert_eq!((status, &same["data"]["viewer"]["id"]), (200, &body["data"]["viewer"]["id"]));
    assert_eq!(viewer(&server, &token).await.0, 401, "the old key still holds");

    let (well, _) = server.stop();
    assert!(well);
    let text = std::fs::read_to_string(&log).unwrap();
    for secret in [&token, &read, &rotated] {
        let signature = secret.rsplit('.').next().unwrap();
        assert!(!text.contains(signature) && !text.contains(&secret[..60]), "a token is in the log");
    }
}

#[tokio::test]
async fn opaque_tokens_work_until_provider_revokes_them() {
    let provider = Provider::start();
    let folder = tempfile::tempdir().unwrap();
    let secret = secret_of("recall");
    let env = [("RECALL_OIDC_ISSUER", provider.issuer.as_str()), ("RECALL_OIDC_AUDIENCE", AUDIENCE)];
    let asks = [("RECALL_OIDC_INTROSPECTION_CLIENT_ID", "recall"), ("RECALL_OIDC_INTROSPECTION_CLIENT_SECRET", &secret)];
    let log = folder.path().join("log");
    let server = Server::start_logging_with(&folder.path().join("data"), &log, "trace", &[env, asks].concat());
    let token = provider.token_for(&server.http, "opaque", "recall.read").await;
    assert!(!token.contains('.'), "{token} is no JWT");
    let (status, body) = viewer(&server, &token).await;
    assert_eq!((status, &body["data"]["viewer"]["role"]), (200, &json!("USER")), "{body}");
    let written = server.http.post(server.url("/chat")).bearer_auth(&token).json(&json!({ "message": "Hi" })).send().await.unwrap();
    assert_eq!(written.status(), 403, "the scope does not count");
    let signed = provider.token(&server.http, "recall.read").await;
    assert_eq!(viewer(&server, &signed).await.0, 200, "signed tokens are refused");
    assert_eq!(viewer(&server, "invented").await.0, 401);

    provider.post(&server.http, "/token/revocation", "opaque", format!("token={token}")).await.error_for_status().unwrap();
    // The server asks the provider again after ten seconds.
    let refused = async {
        while viewer(&server, &token).await.0 == 200 {
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        }
    };
    within("a revoked token is still accepted", refused).await;
    assert_eq!(viewer(&server, &token).await.0, 401);
    assert!(server.stop().0);
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(!text.contains(&token) && !text.contains(&secret), "a secret is in the log");

    let server = Server::start_with(&folder.path().join("other"), &env);
    let token = provider.token_for(&server.http, "opaque", "recall.read").await;
    assert_eq!(viewer(&server, &token).await.0, 401, "an opaque token is accepted without introspection");
}

#[tokio::test]
async fn static_token_opens_data_of_local_user() {
    const TOKEN: &str = "fixed-token-0123456789-0123456789-0123456789";
    let folder = tempfile::tempdir().unwrap();
    let before = Server::start(folder.path());
    let id = before.graphql("{ viewer { id } }", json!({})).await["viewer"]["id"].clone();
    assert!(before.stop().0);
    let server = Server::start_with(folder.path(), &[("RECALL_TOKEN", TOKEN)]);
    let (status, body) = viewer(&server, TOKEN).await;
    assert_eq!((status, &body["data"]["viewer"]), (200, &json!({ "id": id, "role": "ADMIN" })));
    assert_eq!(viewer(&server, &TOKEN[1..]).await.0, 401);
    let bare = server.http.post(server.url("/graphql")).json(&json!({ "query": "{ viewer { id } }" })).send().await.unwrap();
    assert_eq!(bare.status(), 401, "a local request without token is accepted, although a token is configured");
}
