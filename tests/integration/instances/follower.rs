//! Somebody who follows a session's log, now at one server and now at another, and must be told each event once.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use tokio::task::JoinHandle;

use super::Instances;
use crate::server::PATIENCE;

/// What a follower saw.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) numbers: Vec<u64>,
    /// How often the stream went on at a server, the first time included.
    pub(super) connections: usize,
    /// The reasons of the goodbyes.
    pub(super) goodbyes: Vec<String>,
}

/// Follows until `last` messages were processed; after each end of the stream goes on at the next server.
pub(super) fn follow(all: &Arc<Instances>, session: &str, first: usize, last: usize) -> JoinHandle<Seen> {
    let (all, session) = (all.clone(), session.to_owned());
    tokio::spawn(async move {
        let (mut seen, mut cursor, mut processed) = (Seen::default(), None::<String>, 0);
        for at in first.. {
            let server = all.get(at);
            let after = cursor.as_ref().map(|c| format!("?after={c}")).unwrap_or_default();
            let request = server.http.get(server.url(&format!("/sessions/{session}/events{after}"))).send();
            let Ok(mut answer) = request.await else {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            if !answer.status().is_success() {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
            seen.connections += 1;
            let mut text = String::new();
            while let Ok(Some(chunk)) = tokio::time::timeout(PATIENCE, answer.chunk()).await.expect("something is heard") {
                text.push_str(std::str::from_utf8(&chunk).unwrap());
                while let Some(end) = text.find("\n\n") {
                    let block: String = text.drain(..end + 2).collect();
                    let field = |name: &str| block.lines().find_map(|l| l.strip_prefix(name)).map(|v| v.trim().to_owned());
                    let data: Value = field("data:").and_then(|d| serde_json::from_str(&d).ok()).unwrap_or_default();
                    match field("event:").as_deref() {
                        Some("gap") => panic!("events were missed: {data}"),
                        Some("bye") => seen.goodbyes.push(data["code"].as_str().unwrap_or_default().to_owned()),
                        Some("caught_up") | None => cursor = field("id:").or(cursor),
                        Some(kind) => {
                            let Some(id) = field("id:") else { continue };
                            seen.numbers.push(id.rsplit_once(':').unwrap().1.parse().unwrap());
                            processed += usize::from(kind == "message_processed");
                            cursor = Some(id);
                        }
                    }
                }
                if processed == last {
                    return seen;
                }
            }
        }
        unreachable!()
    })
}
