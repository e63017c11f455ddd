//! A follower of the events of a session, or of all sessions, that changes servers and must receive each event once.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinHandle};

use super::Instances;
use crate::{crash::MESSAGES, server::TIMEOUT};

/// What a follower received.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) numbers: Vec<u64>,
    /// Number of connections, including the first.
    pub(super) connections: usize,
    /// The codes of the bye events.
    pub(super) goodbyes: Vec<String>,
}

/// Follows a session, or all, from its start until `last` messages are processed; after each end it resumes at the next
/// server.
/// Returns when the first server sends events.
async fn follow(all: &Arc<Instances>, session: Option<&str>, first: usize, last: usize) -> JoinHandle<Seen> {
    let (all, session) = (all.clone(), session.map(str::to_owned));
    let path = session.as_ref().map_or("/events".to_owned(), |session| format!("/sessions/{session}/events"));
    let (hears, heard) = oneshot::channel();
    let mut hears = Some(hears);
    let following = tokio::spawn(async move {
        let (mut seen, mut processed) = (Seen::default(), 0);
        let mut cursor = beginning(&all, first, session.as_deref()).await;
        for at in first.. {
            let server = all.get(at);
            let request = server.http.get(server.url(&format!("{path}?after={cursor}"))).send();
            let Ok(mut answer) = request.await else {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            if !answer.status().is_success() {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
            seen.connections += 1;
            if let Some(hears) = hears.take() {
                let _ = hears.send(());
            }
            let mut text = String::new();
            while let Ok(Some(chunk)) = tokio::time::timeout(TIMEOUT, answer.chunk()).await.expect("no event arrives") {
                text.push_str(std::str::from_utf8(&chunk).unwrap());
                while let Some(end) = text.find("\n\n") {
                    let block: String = text.drain(..end + 2).collect();
                    let field = |name: &str| block.lines().find_map(|l| l.strip_prefix(name)).map(|v| v.trim().to_owned());
                    let data: Value = field("data:").and_then(|d| serde_json::from_str(&d).ok()).unwrap_or_default();
                    match field("event:").as_deref() {
                        Some("gap") => panic!("events were missed: {data}"),
                        Some("bye") => seen.goodbyes.push(data["code"].as_str().unwrap_or_default().to_owned()),
                        Some("caught_up") | None => cursor = field("id:").unwrap_or(cursor),
                        Some(kind) => {
                            let Some(id) = field("id:") else { continue };
                            let own = id.split(',').next().unwrap();
                            seen.numbers.push(own.rsplit_once(':').unwrap().1.parse().unwrap());
                            processed += usize::from(kind == "message_processed");
                            cursor = id;
                        }
                    }
                }
                if processed == last {
                    return seen;
                }
            }
        }
        unreachable!()
    });
    heard.await.unwrap();
    following
}

/// Starts one follower per session, each with another first server, and one of all sessions.
pub(super) async fn follow_all(all: &Arc<Instances>, sessions: &[String]) -> Vec<JoinHandle<Seen>> {
    let each = sessions.iter().enumerate().map(|(s, session)| follow(all, Some(session), s, MESSAGES));
    let mut followers = join_all(each).await;
    followers.push(follow(all, None, 0, sessions.len() * MESSAGES).await);
    followers
}

/// Returns the cursor before the first event.
/// Without it a follower would miss events from before its connection, which may be late while servers restart.
async fn beginning(all: &Instances, first: usize, session: Option<&str>) -> String {
    let (query, of) = match session {
        Some(_) => ("query($id: ID!) { of: session(id: $id) { head } }", json!({ "id": session })),
        None => ("{ of: viewer { head } }", json!({})),
    };
    for at in first.. {
        let asked = all.get(at).try_graphql(query, of.clone()).await;
        if let Some(head) = asked.as_ref().and_then(|answer| answer["data"]["of"]["head"].as_str()) {
            // The second part, of shared memory, stays.
            let (own, shared) = head.split_at(head.find(',').unwrap_or(head.len()));
            return format!("{}:0{shared}", own.rsplit_once(':').unwrap().0);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    unreachable!()
}
