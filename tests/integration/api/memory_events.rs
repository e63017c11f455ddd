//! The events of all sessions over one subscription: order, cursors, shared memory, and other users.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use recall_api::event_log::EventStream;
use recall_domain::{Caller, ViewerRole};
use serde_json::{Value, json};
use signaling::{Delivery, Resume};

use super::{
    harness::{ADMIN, ANNA, BORIS, Server, VISITOR, text},
    streams::{Socket, connect, hear, say, sse},
};
use crate::server::within;

const EVENTS: &str = "subscription($after: String) { memoryEvents(after: $after) { seq cursor type createdAt data } }";
const DELETE: &str = "mutation($id: ID!) { deleteSession(input: { id: $id }) { deletedId errors { code } } }";

async fn follow(server: &Server, user: &str, after: Option<&str>) -> Socket {
    let mut socket = connect(server, user).await;
    say(&mut socket, json!({ "id": "1", "type": "subscribe", "payload": { "query": EVENTS, "variables": { "after": after } } })).await;
    socket
}

async fn event(socket: &mut Socket) -> Value {
    let message = hear(socket).await;
    let event = message["payload"]["data"]["memoryEvents"].clone();
    assert!(event.is_object(), "{message:#}");
    event
}

async fn head(server: &Server, user: &str) -> String {
    text(&server.data(user, "{ viewer { head } }", json!({})).await["viewer"]["head"])
}

fn kind_and_session(event: &Value) -> (String, String) {
    (text(&event["type"]), text(&event["data"]["session_id"]))
}

#[tokio::test]
async fn memory_subscription_follows_all_sessions_after_a_cursor() {
    let server = Server::start().await;
    let start = head(&server, ANNA).await;
    let (a, b) = (server.session(ANNA).await, server.session(ANNA).await);
    server.say(ANNA, &a, "One.").await;
    let mut socket = follow(&server, ANNA, Some(&start)).await;
    server.say(ANNA, &b, "Two.").await;
    let mut cursors = Vec::new();
    for (seq, (kind, session)) in
        (1..).zip([("session_update", &a), ("session_update", &b), ("message_stored", &a), ("message_stored", &b)])
    {
        let event = event(&mut socket).await;
        assert_eq!((event["seq"].clone(), kind_and_session(&event)), (json!(seq), (kind.to_owned(), session.clone())));
        assert_eq!(event["data"].get("shared"), None);
        cursors.push(text(&event["cursor"]));
    }
    assert_eq!(cursors[3], head(&server, ANNA).await);
    server.data(ANNA, DELETE, json!({ "id": a })).await;
    assert_eq!(kind_and_session(&event(&mut socket).await), ("session_deleted".to_owned(), a.clone()));

    // The deleted events are a gap for those who have not read them, and what follows arrives.
    let mut late = follow(&server, ANNA, Some(&cursors[1])).await;
    let gap = event(&mut late).await;
    assert_eq!((&gap["type"], &gap["data"]), (&json!("gap"), &json!({ "from": 3, "to": 3, "reason": "expired" })));
    assert_eq!(kind_and_session(&event(&mut late).await), ("message_stored".to_owned(), b.clone()));
    let last = event(&mut late).await;
    assert_eq!(kind_and_session(&last), ("session_deleted".to_owned(), a));
    assert_eq!(text(&last["cursor"]), head(&server, ANNA).await);
    let renamed = "mutation($id: ID!) { updateSession(input: { sessionId: $id, title: \"Plans\" }) { errors { code } } }";
    server.data(ANNA, renamed, json!({ "id": b })).await;
    for socket in [&mut socket, &mut late] {
        assert_eq!(kind_and_session(&event(socket).await), ("session_update".to_owned(), b.clone()));
    }
}

#[tokio::test]
async fn pause_of_all_sessions_reaches_the_user_only() {
    let server = Server::start().await;
    let mut sockets = [follow(&server, ANNA, None).await, follow(&server, BORIS, None).await];
    let pause = "mutation($p: Boolean!) { updateViewer(input: { paused: $p }) { errors { code } } }";
    for paused in [true, true, false] {
        server.data(ANNA, pause, json!({ "p": paused })).await;
    }
    for paused in [true, false] {
        let event = event(&mut sockets[0]).await;
        assert_eq!((&event["type"], &event["data"]), (&json!("viewer_update"), &json!({ "type": "viewer_update", "paused": paused })));
    }
    let session = server.session(BORIS).await;
    assert_eq!(kind_and_session(&event(&mut sockets[1]).await), ("session_update".to_owned(), session));
}

#[tokio::test]
async fn deletion_of_all_data_is_a_gap_at_once() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    server.say(ANNA, &session, "One.").await;
    let mut socket = follow(&server, ANNA, None).await;
    server.data(ANNA, "mutation { deleteMyData(input: { confirm: \"DELETE\" }) { errors { code } } }", json!({})).await;
    assert_eq!(event(&mut socket).await["type"], "gap");
}

#[tokio::test]
async fn memory_events_over_http_resume_after_last_event_id() {
    let server = Server::start().await;
    let start = head(&server, ANNA).await;
    let session = server.session(ANNA).await;
    server.say(ANNA, &session, "One.").await;
    let events = sse(server.get(ANNA, &format!("/events?after={start}")).send().await.unwrap(), 3).await;
    assert_eq!(events.iter().map(|e| e.1.as_str()).collect::<Vec<_>>(), ["session_update", "message_stored", "caught_up"]);
    assert_eq!((&events[1].0, &events[1].2["session_id"]), (&head(&server, ANNA).await, &json!(session)));
    let again = server.get(ANNA, &format!("/events?after={start}")).header("last-event-id", &events[0].0);
    assert_eq!(sse(again.send().await.unwrap(), 1).await[0].2["text"], "One.");

    for bad in ["7", "a:1,", "a:1,7", ",a:1"] {
        let refused = server.get(ANNA, &format!("/events?after={bad}")).send().await.unwrap();
        // A cursor of somebody who may not read shared memory has one part.
        let allowed = bad == "a:1,";
        assert_eq!(refused.status(), if allowed { 200 } else { 400 }, "{bad}");
    }
    assert_eq!(server.get(VISITOR, "/events").send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn memory_events_of_others_never_arrive() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    server.say(ANNA, &session, "A secret.").await;
    let foreign = head(&server, ANNA).await;
    let mut socket = follow(&server, BORIS, None).await;
    let own = server.session(BORIS).await;
    server.say(ANNA, &session, "Another secret.").await;
    server.say(BORIS, &own, "Mine.").await;
    assert_eq!(kind_and_session(&event(&mut socket).await), ("session_update".to_owned(), own.clone()));
    assert_eq!(event(&mut socket).await["data"]["text"], "Mine.");

    // A cursor of another user names another log. It is not continued, even if the number exists.
    let (log, shared) = foreign.split_once(',').unwrap();
    let epoch = log.split_once(':').unwrap().0;
    let mut confused = follow(&server, BORIS, Some(&format!("{epoch}:1,{shared}"))).await;
    let gap = event(&mut confused).await;
    assert_eq!((&gap["type"], &gap["data"]["to"], &gap["data"]["reason"]), (&json!("gap"), &json!(2), &json!("epoch_changed")));
    server.say(BORIS, &own, "Again.").await;
    assert_eq!(event(&mut confused).await["data"]["text"], "Again.");
}

#[tokio::test]
async fn events_of_shared_memory_reach_all_who_may_read_it() {
    let server = Server::start().await;
    let before = head(&server, ANNA).await;
    let mut readers = [follow(&server, ANNA, None).await, follow(&server, BORIS, None).await];
    let mut visitor = follow(&server, VISITOR, None).await;
    let handbook = server.shared_session().await;
    let fact = server.fact(ADMIN, &handbook, ["Acme", "LIVES_IN", "Ghent"]).await;
    let mut cursors = Vec::new();
    for reader in &mut readers {
        let told = loop {
            let event = event(reader).await;
            assert_eq!((&event["data"]["shared"], &event["data"]["session_id"]), (&json!(true), &json!(handbook)), "{event}");
            if event["type"] == "fact_update" {
                break event;
            }
        };
        assert_eq!(told["data"]["fact_id"], fact);
        cursors.push(text(&told["cursor"]));
    }
    // One cursor covers both memories.
    let session = server.session(ANNA).await;
    server.say(ANNA, &session, "Mine.").await;
    let mut again = follow(&server, ANNA, Some(&cursors[0])).await;
    let mut own = 0;
    while own < 2 {
        let event = event(&mut again).await;
        assert_ne!(event["type"], "gap");
        if event["data"].get("shared").is_none() {
            own += 1;
            assert_eq!(event["data"]["session_id"], session);
        }
    }
    let caught_up = head(&server, ANNA).await;
    assert!(caught_up.contains(',') && caught_up != before);

    // A visitor may not read shared memory. Who may read it later has to read what is there.
    server.begin_visit().await;
    let own = server.session(VISITOR).await;
    let first = event(&mut visitor).await;
    assert_eq!(kind_and_session(&first), ("session_update".to_owned(), own));
    assert!(!text(&first["cursor"]).contains(','));
    let mut promoted = follow(&server, ANNA, Some(caught_up.split_once(',').unwrap().0)).await;
    let gap = event(&mut promoted).await;
    assert_eq!((&gap["type"], &gap["data"]["shared"]), (&json!("gap"), &json!(true)));
    assert_eq!(text(&gap["cursor"]), caught_up);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_that_reconnect_at_any_point_miss_nothing() {
    let server = Arc::new(Server::start().await);
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(server.session(ANNA).await);
    }
    let done = Arc::new(AtomicBool::new(false));
    let stream = EventStream::memory(Caller::verified(ANNA.parse().unwrap(), ViewerRole::User));
    let followers: Vec<_> = (0..4u64)
        .map(|n| {
            let (server, done) = (server.clone(), done.clone());
            tokio::spawn(async move {
                let (mut position, mut random) = (0, n);
                loop {
                    let over = done.load(Ordering::Acquire);
                    let newest = server.hub().head(&stream).await.unwrap();
                    if over && position == newest.head {
                        return position;
                    }
                    let resume = Resume::From { epoch: newest.epoch, seq: position };
                    let mut subscription = server.hub().subscribe(stream, resume).await.unwrap();
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    for _ in 0..(random >> 33) % 9 {
                        if position == newest.head {
                            break;
                        }
                        match within("no event arrives", subscription.next()).await.unwrap() {
                            Delivery::Event(event) => {
                                assert_eq!(event.seq, position + 1);
                                position = event.seq;
                            }
                            Delivery::CaughtUp { seq } => assert_eq!(seq, position),
                            other => panic!("{other:?}"),
                        }
                    }
                }
            })
        })
        .collect();
    let talks = sessions.iter().cloned().map(|session| {
        let server = server.clone();
        tokio::spawn(async move {
            for n in 0..25 {
                server.say(ANNA, &session, &format!("Number {n}.")).await;
            }
        })
    });
    futures_util::future::join_all(talks.collect::<Vec<_>>()).await.into_iter().for_each(|talk| talk.unwrap());
    done.store(true, Ordering::Release);
    for follower in followers {
        assert_eq!(follower.await.unwrap(), 4 + 4 * 25);
    }
}
