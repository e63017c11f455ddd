//! Pages, probes, metrics and the headers of every response.

use recall_api::{ServerConfig, serve};
use serde_json::{Value, json};

use super::harness::{ANNA, Server};

#[tokio::test]
async fn probes_answer_any_host_without_credentials() {
    let server = Server::start().await;
    for (path, status) in [("/healthz", "ok"), ("/readyz", "ready")] {
        let response = server.http.get(server.url(path)).header("host", "10.0.0.7").send().await.unwrap();
        assert_eq!(response.status(), 200);
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["status"], status);
    }
    let ready: Value = server.http.get(server.url("/readyz")).send().await.unwrap().json().await.unwrap();
    assert_eq!(ready["checks"][0], json!({ "name": "sqlite", "ready": true }));
    assert_eq!(server.http.get(server.url("/metrics")).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn unreachable_store_is_named_by_readiness_probe() {
    let server = Server::start().await;
    recall_ports::Inspect::close(server.store.as_ref()).await;
    let response = server.http.get(server.url("/readyz")).send().await.unwrap();
    assert_eq!(response.status(), 503);
    let body: Value = response.json().await.unwrap();
    assert_eq!(
        (&body["status"], &body["checks"][0]["name"], &body["checks"][0]["ready"]),
        (&json!("not_ready"), &json!("sqlite"), &json!(false))
    );
    assert_eq!(server.http.get(server.url("/healthz")).send().await.unwrap().status(), 200);
    let code = server.code(ANNA, "{ sessions { nodes { id } } }", json!({})).await;
    assert!(["UNAVAILABLE", "INTERNAL"].contains(&code.as_str()), "{code}");
}

#[tokio::test]
async fn every_response_has_request_id_and_security_headers() {
    let server = Server::start().await;
    for path in ["/", "/healthz", "/nothing", "/graphql"] {
        let response = server.get(ANNA, path).header("x-request-id", "my-id.7").send().await.unwrap();
        let headers = response.headers();
        assert_eq!(headers["x-request-id"], "my-id.7", "{path}");
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("script-src 'unsafe-inline'"), "{path}");
        assert!(policy.contains("connect-src 'self';"), "{path}: pages may connect elsewhere");
    }
    let (one, two) = (server.get(ANNA, "/").send().await.unwrap(), server.get(ANNA, "/").send().await.unwrap());
    assert_ne!(one.headers()["x-request-id"], two.headers()["x-request-id"]);
}

#[tokio::test]
async fn start_page_is_cached_by_etag() {
    let server = Server::start().await;
    let page = server.http.get(server.url("/")).send().await.unwrap();
    assert_eq!(page.status(), 200);
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
    assert_eq!(page.headers()["cache-control"], "no-cache");
    let tag = page.headers()["etag"].clone();
    let again = server.http.get(server.url("/")).header("if-none-match", tag).send().await.unwrap();
    assert_eq!(again.status(), 304);
    let nothing = server.http.get(server.url("/../Cargo.toml")).send().await.unwrap();
    assert_eq!(nothing.status(), 404);
    let written = server.http.delete(server.url("/index.html")).send().await.unwrap();
    assert_eq!(written.status(), 405);
}

#[tokio::test]
async fn pages_without_icon_get_the_one_of_the_demo() {
    let server = Server::start().await;
    let icon = server.http.get(server.url("/favicon.ico")).send().await.unwrap();
    assert_eq!(icon.status(), 200);
    assert_eq!(icon.headers()["content-type"], "image/svg+xml");
}

/// Returns the addresses of scripts and styles in a page.
fn linked(page: &str) -> Vec<String> {
    let quoted =
        |attribute: &str| page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next().map(str::to_owned)).collect::<Vec<_>>();
    [quoted("src=\""), quoted("href=\"")].concat().into_iter().filter(|address| !address.starts_with("data:")).collect()
}

#[tokio::test]
async fn pages_load_no_foreign_resources() {
    let server = Server::start().await;
    for path in ["/", "/graphql"] {
        let response = server.get(ANNA, path).header("accept", "text/html,*/*").send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        let page = response.text().await.unwrap();
        assert!(!page.contains("<script>"), "{path}: an inline script, which the policy blocks");
        let linked = linked(&page);
        assert!(!linked.is_empty(), "{path}");
        for address in linked {
            let response = server.http.get(server.url(&address)).send().await.unwrap();
            assert_eq!(response.status(), 200, "{address}");
            let kept = response.headers()["cache-control"].to_str().unwrap().contains("immutable");
            assert_eq!(kept, address.starts_with("/assets/"), "{address}");
        }
    }
}

#[tokio::test]
async fn endless_head_is_cut_and_open_requests_finish_first() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (started, mut begun) = tokio::sync::mpsc::channel(1);
    let go = std::sync::Arc::new(tokio::sync::Notify::new());
    let handler_go = go.clone();
    let slow = axum::Router::new().route(
        "/",
        axum::routing::get(move || async move {
            started.send(()).await.unwrap();
            handler_go.notified().await;
            "done"
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = tokio_util::sync::CancellationToken::new();
    let config = ServerConfig { head_timeout: std::time::Duration::from_millis(50), ..ServerConfig::default() };
    let server = tokio::spawn(serve(listener, slow, config, stop.clone().cancelled_owned()));

    let mut trickle = tokio::net::TcpStream::connect(address).await.unwrap();
    trickle.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n").await.unwrap();
    let mut rest = Vec::new();
    let _ = trickle.read_to_end(&mut rest).await;
    assert!(!rest.starts_with(b"HTTP/1.1 200"));

    let open = tokio::spawn(reqwest::get(format!("http://{address}/")));
    begun.recv().await.unwrap();
    stop.cancel();
    go.notify_one();
    assert_eq!(open.await.unwrap().unwrap().text().await.unwrap(), "done");
    server.await.unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

/// Notifies when it is dropped.
struct DropNotifier(std::sync::Arc<tokio::sync::Notify>);

impl Drop for DropNotifier {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[tokio::test]
async fn client_that_reads_nothing_is_disconnected() {
    use tokio::io::AsyncWriteExt;
    let freed = std::sync::Arc::new(tokio::sync::Notify::new());
    let body_freed = freed.clone();
    let endless = axum::Router::new().route(
        "/",
        axum::routing::get(move || async move {
            let held = DropNotifier(body_freed);
            axum::body::Body::from_stream(futures_util::stream::repeat_with(move || {
                let _ = &held;
                Ok::<_, std::convert::Infallible>(axum::body::Bytes::from_static(&[b'x'; 65_536]))
            }))
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = tokio_util::sync::CancellationToken::new();
    let config = ServerConfig { write_timeout: std::time::Duration::from_millis(100), ..ServerConfig::default() };
    let server = tokio::spawn(serve(listener, endless, config, stop.clone().cancelled_owned()));
    let mut idle = tokio::net::TcpStream::connect(address).await.unwrap();
    idle.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    freed.notified().await;
    stop.cancel();
    server.await.unwrap();
    drop(idle);
}

#[tokio::test]
async fn graphql_response_media_type_decides_status() {
    let server = Server::start().await;
    let ask = |query: &str, accept: &str| server.post(ANNA, "/graphql").header("accept", accept).json(&json!({ "query": query }));
    for (query, accept, status) in [
        ("{ nothing }", "application/json", 200),
        ("{ nothing }", "application/graphql-response+json", 400),
        ("{ viewer { id role name } }", "application/graphql-response+json", 200),
    ] {
        let response = ask(query, accept).send().await.unwrap();
        assert_eq!((response.status().as_u16(), response.headers()["content-type"].to_str().unwrap()), (status, accept), "{query}");
    }
}
