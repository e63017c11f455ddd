//! What people write never reaches a log, whatever the level and whatever goes wrong.

use serde_json::json;

use crate::server::Server;

#[tokio::test]
async fn text_of_users_is_in_no_log() {
    const SECRET: &str = "Xylophagia";
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let server = Server::start_logging(&folder.path().join("data"), &log, "trace");
    let session = server.create_session().await;
    for text in [format!("{SECRET} likes Mary."), format!("Who does {SECRET} like?")] {
        let input = json!({ "sessionId": session, "text": text, "clientMessageId": format!("id {SECRET} {}", text.len()) });
        server.send(input).await.unwrap();
    }
    server.settle(&session).await;
    let query = "query($q: String!) { context(input: { query: $q }) { facts { score } messages { score } } }";
    server.graphql(query, json!({ "q": format!("What about {SECRET}?") })).await;
    // Things that are refused are the likeliest to be quoted.
    let broken = format!("{{ session(id: \"{SECRET}\") {{ id }} }} {SECRET} {{{{");
    server.try_graphql(&broken, json!({ SECRET: SECRET })).await.unwrap();
    server
        .try_graphql(
            "mutation($i: SendMessageInput!) { sendMessage(input: $i) { errors { code } } }",
            json!({ "i": { "sessionId": session, "text": format!("{SECRET}\u{0}") } }),
        )
        .await
        .unwrap();
    let url = server.url(&format!("/context/{session}?q={SECRET}"));
    assert!(server.http.get(url).send().await.unwrap().status().is_success());
    server
        .http
        .post(server.url("/chat"))
        .body(format!("{{\"message\": \"{SECRET}\""))
        .header("content-type", "application/json")
        .send()
        .await
        .unwrap();
    let (well, _) = server.stop();
    assert!(well);
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.len() > 1000, "the log must have been written");
    let found: Vec<_> = text
        .lines()
        .filter(|l| l.to_lowercase().contains(&SECRET.to_lowercase()))
        .map(|l| l.chars().take(400).collect::<String>())
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}
