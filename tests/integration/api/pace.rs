//! WebSocket frames are read at a limited rate: a faster sender waits, and other clients do not.

use std::{collections::BTreeSet, time::Instant};

use recall_api::{Limits, RateLimit};
use serde_json::json;
use tokio::time::timeout;

use super::{
    harness::{ANNA, BORIS, Server, text},
    streams::{Socket, connect, hear, say},
};
use crate::server::TIMEOUT;

async fn ask(socket: &mut Socket, id: usize) {
    say(socket, json!({ "id": id.to_string(), "type": "subscribe", "payload": { "query": "{ viewer { id } }" } })).await;
}

/// Returns the id of the next completed operation.
async fn done(socket: &mut Socket) -> String {
    loop {
        let message = timeout(TIMEOUT, hear(socket)).await.expect("no answer");
        match message["type"].as_str() {
            Some("complete") => return text(&message["id"]),
            _ => assert!(message["payload"]["data"]["viewer"]["id"].is_string(), "{message}"),
        }
    }
}

#[tokio::test]
async fn fast_websocket_sender_is_slowed_and_not_disconnected() {
    const PACE: RateLimit = RateLimit { per_second: 5.0, burst: 10 };
    let server = Server::start_within(Limits { websocket_frames: Some(PACE), ..Limits::default() }).await;
    let begun = Instant::now();
    let mut fast = connect(&server, ANNA).await;
    // At this rate the last answer would come after the time-out of the test.
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
        assert!(finished.insert(done(&mut fast).await), "completed twice");
        // The first frame of the connection counts, too.
        let most = f64::from(PACE.burst) + begun.elapsed().as_secs_f64() * PACE.per_second;
        assert!(f64::from(count + 1) <= most, "{count} operations are complete, and the rate allows {most}");
    }
}
