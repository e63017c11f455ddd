//! Foreign origins and floods from one address, on the built binary with an administrator's settings.

use jsonwebtoken::Algorithm;
use reqwest::{Method, Response, header::HeaderMap};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::{self, client::IntoClientRequest};

use super::issuer::{FIXED_TOKEN, Issuer, Key};
use crate::server::Server;

const PAGE: &str = "https://app.example.org";

fn start(env: &[(&str, &str)]) -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), &[&[("RECALL_TOKEN", FIXED_TOKEN)], env].concat());
    (folder, server)
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).map_or("", |v| v.to_str().unwrap())
}

async fn preflight(server: &Server, path: &str, origin: &str) -> Response {
    let asked = server.http.request(Method::OPTIONS, server.url(path)).header("origin", origin);
    let asked =
        asked.header("access-control-request-method", "POST").header("access-control-request-headers", "authorization,content-type");
    asked.header("sec-fetch-site", "cross-site").header("sec-fetch-mode", "cors").send().await.unwrap()
}

async fn ask(server: &Server, origin: &str, token: &str) -> Response {
    let request = server.http.post(server.url("/graphql")).bearer_auth(token).header("origin", origin);
    request.json(&json!({ "query": "{ viewer { id } }" })).send().await.unwrap()
}

#[tokio::test]
async fn only_allowed_origins_get_cors_headers() {
    let (_folder, closed) = start(&[]);
    for path in ["/graphql", "/chat", "/"] {
        let answer = preflight(&closed, path, PAGE).await;
        assert_eq!(answer.status(), 403, "{path}");
        assert!(!answer.headers().keys().any(|name| name.as_str().starts_with("access-control")), "{path}");
    }
    assert_eq!(ask(&closed, PAGE, FIXED_TOKEN).await.status(), 403);

    let (_folder, open) = start(&[("RECALL_CORS_ORIGINS", PAGE)]);
    for path in ["/graphql", "/chat", "/signaling/x/y", "/no/such/place"] {
        let answer = preflight(&open, path, PAGE).await;
        assert_eq!(answer.status(), 204, "{path}");
        let headers = answer.headers();
        assert_eq!(header(headers, "access-control-allow-origin"), PAGE, "{path}");
        assert!(header(headers, "access-control-allow-methods").contains("PATCH"));
        assert!(header(headers, "access-control-allow-headers").contains("authorization"));
        assert_eq!(header(headers, "vary"), "origin");
        assert!(!headers.contains_key("access-control-allow-credentials"), "credentials are allowed");
    }
    let answer = ask(&open, PAGE, FIXED_TOKEN).await;
    assert_eq!((answer.status().as_u16(), header(answer.headers(), "access-control-allow-origin")), (200, PAGE));
    assert!(header(answer.headers(), "access-control-expose-headers").contains("location"));
    let refused = ask(&open, PAGE, "wrong").await;
    assert_eq!(
        (refused.status().as_u16(), header(refused.headers(), "access-control-allow-origin")),
        (401, PAGE),
        "the page cannot read the reason"
    );
    for other in ["https://evil.example", "http://app.example.org", "null"] {
        let answer = ask(&open, other, FIXED_TOKEN).await;
        assert_eq!(answer.status(), 403, "{other}");
        assert!(!answer.headers().contains_key("access-control-allow-origin"), "{other}");
        assert_eq!(header(answer.headers(), "vary"), "origin", "a cache may give this answer to the allowed page");
        assert_eq!(preflight(&open, "/graphql", other).await.status(), 403, "{other}");
    }
    let own = server_origin(&open);
    assert_eq!(ask(&open, &own, FIXED_TOKEN).await.status(), 200, "the own page is refused");
}

fn server_origin(server: &Server) -> String {
    server.url("")
}

#[tokio::test]
async fn websocket_opens_only_for_allowed_origin() {
    let (_folder, server) = start(&[("RECALL_CORS_ORIGINS", PAGE)]);
    for (origin, expected) in [(PAGE, 101), ("https://evil.example", 403)] {
        let mut request = format!("ws://{}/graphql/ws", server.address).into_client_request().unwrap();
        request.headers_mut().insert("origin", origin.parse().unwrap());
        request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse().unwrap());
        let status = match tokio_tungstenite::connect_async(request).await {
            Ok((_, answer)) => answer.status(),
            Err(tungstenite::Error::Http(answer)) => answer.status(),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(status.as_u16(), expected, "{origin}");
    }
}

/// Sends a request through a proxy for `client`.
async fn through_proxy(server: &Server, client: &str, token: &str) -> Response {
    let request = server.http.post(server.url("/graphql")).bearer_auth(token).header("x-forwarded-for", client);
    request.json(&json!({ "query": "{ viewer { id } }" })).send().await.unwrap()
}

#[tokio::test]
async fn flooding_address_behind_proxy_is_rate_limited() {
    let (_folder, server) = start(&[("RECALL_ADDRESS_REQUESTS_PER_MINUTE", "120"), ("RECALL_TRUSTED_PROXIES", "127.0.0.0/8, ::1")]);
    let mut refused = None;
    for n in 0..20 {
        // Entries that the client itself adds do not change its address.
        let answer = through_proxy(&server, &format!("198.51.100.{n}, 203.0.113.9"), "guess").await;
        if answer.status() == 429 {
            refused = Some((n, answer));
            break;
        }
        assert_eq!(answer.status(), 401);
    }
    let (tries, refused) = refused.expect("guessing is not rate-limited");
    assert!(tries <= 3, "a refused credential does not count as ten requests: {tries}");
    let wait: u64 = header(refused.headers(), "retry-after").parse().unwrap();
    assert!((1..=30).contains(&wait), "{wait}");
    assert_eq!(refused.json::<serde_json::Value>().await.unwrap()["code"], "RATE_LIMITED");
    let held = server.http.get(server.url("/")).header("x-forwarded-for", "203.0.113.9").send().await.unwrap();
    assert_eq!(held.status(), 429, "pages are served");
    for other in ["203.0.113.10", "2001:db8::1"] {
        assert_eq!(through_proxy(&server, other, FIXED_TOKEN).await.status(), 200, "{other} is refused");
    }
    let probe = server.http.get(server.url("/healthz")).header("x-forwarded-for", "203.0.113.9").send().await.unwrap();
    assert_eq!(probe.status(), 200, "a probe is rate-limited");
}

#[tokio::test]
async fn forwarded_address_of_untrusted_proxy_is_ignored() {
    let (_folder, server) = start(&[("RECALL_ADDRESS_REQUESTS_PER_MINUTE", "10")]);
    let mut answers = Vec::new();
    for n in 0..12 {
        answers.push(through_proxy(&server, &format!("198.51.100.{n}"), FIXED_TOKEN).await.status().as_u16());
    }
    assert_eq!(answers[0], 200);
    assert!(answers.contains(&429), "another forwarded address counts as another client: {answers:?}");
}

#[tokio::test]
async fn untrusted_proxy_is_logged_once_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let env = [("RECALL_TOKEN", FIXED_TOKEN), ("RECALL_CONNECTIONS_PER_ADDRESS", "2"), ("RECALL_LOG_FORMAT", "json")];
    let server = Server::start_logging_with(&folder.path().join("data"), &log, "warn", &env);
    for n in 0..5 {
        assert_eq!(through_proxy(&server, &format!("198.51.100.{n}"), FIXED_TOKEN).await.status(), 200);
    }
    // One connection is the client's and one more is accepted; the others close without an answer.
    let mut refused = 0;
    let mut open = Vec::new();
    for _ in 0..4 {
        let mut socket = tokio::net::TcpStream::connect(&server.address).await.unwrap();
        let asked = socket.write_all(format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n\r\n", server.address).as_bytes()).await;
        let mut answer = [0; 12];
        refused += u32::from(asked.is_err() || socket.read_exact(&mut answer).await.is_err());
        open.push(socket);
    }
    assert_eq!(refused, 3);
    let metrics = server.http.get(server.url("/metrics")).bearer_auth(FIXED_TOKEN).send().await.unwrap().text().await.unwrap();
    for line in ["recall_http_unknown_proxy_requests_total 5", "recall_http_connections_refused_total 3"] {
        assert!(metrics.lines().any(|l| l == line), "{line}: {metrics}");
    }
    assert!(server.interrupt());
    let said = std::fs::read_to_string(&log).unwrap();
    for sentence in ["requests come through a proxy", "an address has reached its connection limit"] {
        let lines: Vec<_> = said.lines().filter(|line| line.contains(sentence)).collect();
        assert_eq!(lines.len(), 1, "{said}");
        let entry: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
        assert_eq!((&entry["level"], &entry["address"]), (&json!("WARN"), &json!("127.0.0.1")), "{entry}");
        assert!(lines[0].contains("http.trusted_proxies"), "{entry}");
    }
}

#[tokio::test]
async fn missing_ca_certificates_fail_only_with_a_provider() {
    let bare = [("SSL_CERT_FILE", "/no/such/file"), ("SSL_CERT_DIR", "/no/such/folder")];
    let (_folder, server) = start(&bare);
    assert_eq!(ask(&server, PAGE, FIXED_TOKEN).await.status(), 403, "the server does not answer, or serves a foreign page");
    let folder = tempfile::tempdir().unwrap();
    let mut command = crate::server::recall();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder.path()).envs(bare);
    let provider = [("RECALL_OIDC_ISSUER", "https://login.example.org"), ("RECALL_OIDC_AUDIENCE", "recall")];
    let refused = command.envs(provider).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("auth.issuers") && said.contains("ca-certificates"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_reports_unreachable_issuer() {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let ready = async |issuer: &str| {
        let (_folder, server) = start(&[("RECALL_OIDC_ISSUER", issuer), ("RECALL_OIDC_AUDIENCE", "recall")]);
        let mut found = Vec::new();
        for query in ["", "?exclude=login", "?exclude=optional"] {
            let answer = server.http.get(server.url(&format!("/readyz{query}"))).send().await.unwrap();
            let (status, body) = (answer.status().as_u16(), answer.json::<serde_json::Value>().await.unwrap());
            let check = body["checks"].as_array().unwrap().iter().find(|c| c["name"] == "login").unwrap().clone();
            found.push((status, check["ready"].clone()));
        }
        found
    };
    let (yes, no) = (json!(true), json!(false));
    assert_eq!(ready(&issuer.url).await, [(200, yes.clone()), (200, yes.clone()), (200, yes)]);
    assert_eq!(ready("http://127.0.0.1:9").await, [(503, no.clone()), (200, no.clone()), (200, no)]);
    assert_eq!(issuer.reads.load(std::sync::atomic::Ordering::Relaxed), 1, "every probe asks the issuer");
}

#[tokio::test]
async fn metrics_answer_any_host_with_valid_token() {
    let (_folder, server) = start(&[("RECALL_PUBLIC_URL", "https://recall.example.org")]);
    let get = |path: &str| server.http.get(server.url(path)).header("host", "10.42.0.7:8080");
    assert_eq!(get("/metrics").bearer_auth(FIXED_TOKEN).send().await.unwrap().status(), 200);
    assert_eq!(get("/metrics").bearer_auth("wrong").send().await.unwrap().status(), 401);
    assert_eq!(get("/metrics").send().await.unwrap().status(), 403);
    let of_a_page = get("/metrics").bearer_auth(FIXED_TOKEN).header("origin", "http://10.42.0.7:8080");
    assert_eq!(of_a_page.send().await.unwrap().status(), 403);
    assert_eq!(get("/sessions").bearer_auth(FIXED_TOKEN).send().await.unwrap().status(), 403);
}

#[tokio::test]
async fn metrics_without_login_refuse_foreign_host() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let rebound = server.http.get(server.url("/metrics")).header("host", "evil.example:8080").bearer_auth("anything");
    assert_eq!(rebound.send().await.unwrap().status(), 403);
    assert_eq!(server.http.get(server.url("/metrics")).send().await.unwrap().status(), 200);
}
