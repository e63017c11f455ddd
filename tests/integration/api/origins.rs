//! Requests with a foreign origin, a foreign host or a wrong content type are refused with a problem document.

use serde_json::{Value, json};

use super::harness::{ANNA, Server};

async fn refusal(request: reqwest::RequestBuilder) -> (u16, String) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/problem+json", "{status}");
    let problem: Value = response.json().await.unwrap();
    assert_eq!(problem["status"], status);
    (status, problem["code"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn foreign_host_or_origin_is_refused_on_every_route() {
    let server = Server::start().await;
    let port = server.address.port();
    for path in ["/", "/graphql", "/graphql/ws", "/metrics", "/context/x?q=a", "/sessions/x/events", "/assets/x.js"] {
        let get = || server.get(ANNA, path);
        assert_eq!(refusal(get().header("host", "evil.example")).await, (403, "FOREIGN_HOST".to_owned()), "{path}");
        assert_eq!(refusal(get().header("host", format!("evil.example:{port}"))).await.0, 403, "rebound name on {path}");
        assert_eq!(refusal(get().header("origin", "http://evil.example")).await, (403, "FOREIGN_ORIGIN".to_owned()), "{path}");
        assert_eq!(refusal(get().header("origin", "null")).await.0, 403, "{path}");
        let image = get().header("sec-fetch-site", "cross-site").header("sec-fetch-mode", "no-cors");
        assert_eq!(refusal(image).await.0, 403, "{path}");
    }
    for path in ["/graphql", "/chat", "/entity/resolve", "/signaling/x", "/mcp"] {
        let post = server.post(ANNA, path).header("origin", "http://localhost:3000").json(&json!({}));
        assert_eq!(refusal(post).await, (403, "FOREIGN_ORIGIN".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn own_origin_and_loopback_names_are_served() {
    let server = Server::start().await;
    let port = server.address.port();
    for host in ["127.0.0.1", "localhost"] {
        let own = format!("{host}:{port}");
        let request = server.post(ANNA, "/graphql").header("host", &own).header("origin", format!("http://{own}"));
        let response = request.json(&json!({ "query": "{ viewer { id } }" })).send().await.unwrap();
        assert_eq!(response.status(), 200, "{host}");
    }
}

#[tokio::test]
async fn undeclared_content_type_is_refused() {
    let server = Server::start().await;
    let query = r#"{"query":"{ viewer { id } }"}"#;
    for path in ["/graphql", "/chat", "/entity/resolve"] {
        for wrong in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp"] {
            let post = server.post(ANNA, path).header("content-type", wrong).body(query);
            assert_eq!(refusal(post).await, (415, "UNSUPPORTED_MEDIA_TYPE".to_owned()), "{path} {wrong}");
        }
        assert_eq!(refusal(server.post(ANNA, path).body(query)).await.0, 415, "{path} without a type");
    }
    assert_eq!(refusal(server.post(ANNA, "/signaling/x").json(&json!({}))).await.0, 415);
    let charset = server.post(ANNA, "/graphql").header("content-type", "application/json; charset=utf-8").body(query);
    assert_eq!(charset.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn mutation_by_get_is_refused() {
    let server = Server::start().await;
    let mutation = "?query=mutation{createSession(input:{}){session{id}}}";
    for query in ["?query={viewer{id}}", mutation, "?a=b&query=x", ""] {
        let get = server.get(ANNA, &format!("/graphql{query}")).header("accept", "text/html,*/*");
        let followed = get.send().await.unwrap();
        assert_eq!(followed.status().as_u16(), if query.is_empty() { 200 } else { 405 }, "{query}");
    }
    assert_eq!(refusal(server.get(ANNA, &format!("/graphql{mutation}"))).await, (405, "METHOD_NOT_ALLOWED".to_owned()));
    assert_eq!(refusal(server.get(ANNA, "/graphql?a=b")).await, (400, "QUERY_REQUIRED".to_owned()));
    assert_eq!(refusal(server.get("nobody", "/graphql?query={viewer{id}}")).await.0, 401);
    let read = server.get(ANNA, "/graphql?query=query($n:Int!){sessions(first:$n){totalCount}}&variables={\"n\":1}").send().await.unwrap();
    assert_eq!(read.json::<serde_json::Value>().await.unwrap()["data"], json!({ "sessions": { "totalCount": 0 } }));
    let data = server.data(ANNA, "{ sessions { totalCount } }", json!({})).await;
    assert_eq!(data["sessions"]["totalCount"], 0);
}

#[tokio::test]
async fn request_without_credentials_is_refused() {
    let server = Server::start().await;
    for path in ["/context/x?q=a", "/sessions/x/events", "/graphql/ws"] {
        assert_eq!(refusal(server.http.get(server.url(path))).await, (401, "UNAUTHENTICATED".to_owned()), "{path}");
    }
    for path in ["/graphql", "/chat", "/entity/resolve", "/signaling/x"] {
        assert_eq!(refusal(server.http.post(server.url(path)).json(&json!({}))).await.0, 401, "{path}");
    }
    assert_eq!(refusal(server.post("nobody", "/graphql").json(&json!({}))).await.0, 401);
}
