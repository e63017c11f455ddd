//! Frames of a WebSocket are read at a pace: who sends more waits, and nobody else does.

use std::{collections::BTreeSet, time::Instant};

use recall_api::{Limits, RateLimit};
use serde_json::json;
use tokio::time::timeout;

use super::{
    harness::{ANNA, BORIS, Server, text},
    streams::{Socket, connect, hear, say},
};
use crate::server::PATIENCE;

async fn ask(socket: &mut Socket, id: usize) {
    say(socket, json!({ "id": id.to_string(), "type": "subscribe", "payload": { "query": "{ viewer { id } }" } })).await;
}

/// The operation that is done next.
async fn done(socket: &mut Socket) -> String {
    loop {
        let message = timeout(PATIENCE, hear(socket)).await.expect("an answer comes");
        match message["type"].as_str() {
            Some("complete") => return text(&message["id"]),
            _ => assert!(message["payload"]["data"]["viewer"]["id"].is_string(), "{message}"),
        }
    }
}

#[tokio::test]
async fn who_sends_faster_than_the_pace_is_slowed_and_not_dropped_and_others_are_not() {
    const PACE: RateLimit = RateLimit { per_second: 5.0, burst: 10 };
    let server = Server::start_within(Limits { websocket_frames: Some(PACE), ..Limits::default() }).await;
    let begun = Instant::now();
    let mut fast = connect(&server, ANNA).await;
    // Longer than anybody waits here.
    for id in 0..600 {
        ask(&mut fast, id).await;
    }
    let mut other = connect(&server, BORIS).await;
    for id in 0..8 {
        ask(&mut other, id).await;
        assert_eq!(done(&mut other).await, id.to_string());
    }
    let mut finished = BTreeSet::new();
    for count in 1..=14 {
        assert!(finished.insert(done(&mut fast).await), "done twice");
        // One frame began the connection.
        let most = f64::from(PACE.burst) + begun.elapsed().as_secs_f64() * PACE.per_second;
        assert!(f64::from(count + 1) <= most, "{count} are done, and the pace allows {most}");
    }
}
