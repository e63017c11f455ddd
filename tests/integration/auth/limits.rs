//! How often a caller may ask, on the built binary as an administrator configures it.

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use super::issuer::{AUDIENCE, Issuer, Key};
use crate::server::Server;

#[tokio::test]
async fn one_who_floods_is_held_back_and_others_are_not() {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let folder = tempfile::tempdir().unwrap();
    let env = [("RECALL_OIDC_ISSUER", issuer.url.as_str()), ("RECALL_OIDC_AUDIENCE", AUDIENCE), ("RECALL_REQUESTS_PER_MINUTE", "20")];
    let server = Server::start_with(folder.path(), &env);
    let (anna, boris) = (issuer.token("anna", json!({})), issuer.token("boris", json!({})));
    let ask = |token: &str| {
        let body = json!({ "query": "{ viewer { id } }" });
        server.http.post(server.url("/graphql")).bearer_auth(token).json(&body).send()
    };
    let mut refused = None;
    for _ in 0..60 {
        let answer = ask(&anna).await.unwrap();
        if answer.status() == 429 {
            refused = Some(answer);
            break;
        }
        assert_eq!(answer.status(), 200);
    }
    let refused = refused.expect("a flood is held back");
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(refused.json::<Value>().await.unwrap()["code"], "RATE_LIMITED");
    assert_eq!(ask(&boris).await.unwrap().status(), 200, "others are served");
    let rest = server.http.get(server.url("/context/x?q=a")).bearer_auth(&boris).send().await.unwrap();
    assert_eq!(rest.status(), 404, "the route is counted, but not yet refused");
}
