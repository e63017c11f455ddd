//! Messages, their numbers, the message feed and vector search.

use std::{collections::HashSet, sync::Arc};

use recall_domain::{Message, MessageId, MessageKind, MessageStatus, Page, Role, SessionId, Slice, Timestamp};
use recall_ports::{Embedding, FollowUp, IndexEntry, MessageRange, NewMessage, SessionRemainder, Store, StoreError};

use super::forget;
use super::given::{MODEL, World, at, content, fresh, new_message, resources, with_external_id};

pub(super) async fn stored_message_reads_back_unchanged(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let message = NewMessage {
        role: Role::Assistant,
        speaker: Some("Zoë".into()),
        text: "a\0b \u{1F600} 'quoted' %_\\ \u{202e}".into(),
        sent_at: at(-5) + chrono::Duration::microseconds(700),
        created_at: at(9),
        source_metadata: Some(serde_json::json!({"deep": [1, 2.5, null, {"x": "y"}]})),
        external_id: Some("client-1".into()),
        mining: FollowUp::Nothing,
        kind: Some(MessageKind::Mixed),
        title: Some("A title".into()),
        ..new_message(session, "")
    };
    let appended = store.append(&w.caller, session, vec![message.clone()]).await.unwrap().remove(0);
    assert!(!appended.duplicate);
    assert_eq!(store.messages_by_id(&w.caller, &[message.id]).await.unwrap(), std::slice::from_ref(&appended.message));
    let m = appended.message;
    assert_eq!((m.id, m.session, m.position, m.role, m.status), (message.id, session, 1, Role::Assistant, MessageStatus::Processed));
    assert_eq!((m.text, m.speaker, m.kind), (message.text, message.speaker, message.kind));
    assert_eq!((m.sent_at, m.created_at), (at(-5), at(9)));
    assert_eq!((m.source_metadata, m.external_id), (message.source_metadata, message.external_id));

    let stored = &store.sessions_by_id(&w.caller, &[session]).await.unwrap()[0];
    assert_eq!((stored.message_count, stored.head, stored.updated_at), (1, 1, at(9)));
    let events = store.events_after(&w.caller, session, 0, 10).await.unwrap();
    assert_eq!((events[0].seq, events[0].id, events[0].kind.as_str()), (1, message.event, "message_stored"));
    assert_eq!(content(&events[0])["message_id"], serde_json::json!(message.id));
    assert_eq!(content(&events[0])["status"], "processed");
}

pub(super) async fn resources_are_read_in_order_and_deleted_with_their_message(store: Arc<dyn Store>) {
    let (w, other) = (World::new(&store), World::new(&store));
    let session = w.session().await;
    let with = |external: &str| NewMessage { resources: resources(), ..with_external_id(new_message(session, "Look"), external) };
    let (first, second) = (with("1"), with("2"));
    let (one, two) = (w.append(first.clone()).await, w.append(second.clone()).await);
    let again = store.append(&w.caller, session, vec![with("1")]).await.unwrap().remove(0);
    assert!(again.duplicate);
    let of = async |w: &World, ids: &[_]| store.resources_of(&w.caller, ids).await.unwrap();
    let listed = |id, of: &NewMessage| of.resources.iter().map(|r| (id, r.clone())).collect::<Vec<_>>();
    assert_eq!(of(&w, &[one.id]).await, listed(one.id, &first));
    assert_eq!(of(&w, &[one.id, two.id]).await.len(), 4);
    assert!(of(&other, &[one.id, two.id]).await.is_empty());
    w.store.hide_session(&w.caller, session, None, at(5)).await.unwrap();
    assert!(of(&w, &[one.id, two.id]).await.is_empty(), "resources of a session under deletion are shown");
    let held = store.holdings(&w.caller).await.unwrap();
    assert_eq!(held.get("resources"), Some(&4));
    while w.store.delete_hidden(&w.caller, session, at(6), 100, &|_, _| None).await.unwrap().left != SessionRemainder::Nothing {}
    assert_eq!(store.holdings(&w.caller).await.unwrap().get("resources"), None);
}

pub(super) async fn messages_are_found_by_session_and_time(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let (first, second) = (w.session().await, w.session().await);
    let mut ids = Vec::new();
    for (session, said) in [(first, 3), (second, 1), (first, 2), (first, 5)] {
        ids.push(w.append(NewMessage { sent_at: at(said), ..new_message(session, "m") }).await.id);
    }
    let within = async |session, after: Option<i64>, before: Option<i64>, limit| {
        let range = MessageRange { session, after: after.map(at), before: before.map(at) };
        store.messages_within(&w.caller, &range, limit).await.unwrap()
    };
    assert_eq!(within(None, None, None, 9).await, ids);
    assert_eq!(within(None, None, None, 2).await, ids[..2]);
    assert_eq!(within(Some(first), None, None, 9).await, [ids[0], ids[2], ids[3]]);
    assert_eq!(within(None, Some(2), Some(5), 9).await, [ids[0], ids[2]], "the beginning counts, the end does not");
    assert_eq!(within(Some(second), Some(2), None, 9).await, []);
}

pub(super) async fn messages_are_found_by_their_resources(store: Arc<dyn Store>) {
    let (w, stranger) = (World::new(&store), World::new(&store));
    let session = w.session().await;
    let uri = "https://example.com/\u{fc}?q='%00'";
    let mut said = Vec::new();
    for n in 0..4 {
        let resources = if n == 1 { vec![] } else { resources() };
        said.push(w.append(NewMessage { resources, ..new_message(session, "See there.") }).await.id);
    }
    let list = async |w: &World, uri: &str, page: &Page| store.messages_linking_to(&w.caller, uri, page).await;
    let all = list(&w, uri, &Page::first(9)).await.unwrap();
    let ids = |slice: &Slice<MessageId>| slice.items.iter().map(|(_, id)| *id).collect::<Vec<_>>();
    assert_eq!(ids(&all), [said[3], said[2], said[0]]);
    let head = list(&w, uri, &Page::first(2)).await.unwrap();
    let rest = list(&w, uri, &Page { first: 2, after: Some(head.items[1].0.clone()) }).await.unwrap();
    assert_eq!(
        (head.has_next, ids(&head), rest.has_next, ids(&rest)),
        (true, said[2..].iter().rev().copied().collect(), false, vec![said[0]])
    );
    assert!(list(&w, "https://example.com/", &Page::first(9)).await.unwrap().items.is_empty());
    assert!(list(&stranger, uri, &Page::first(9)).await.unwrap().items.is_empty());
    let wrong = Page { first: 1, after: Some("x".into()) };
    assert!(matches!(list(&w, uri, &wrong).await, Err(StoreError::BadCursor)));
    store.forget(&w.caller, &forget::plan(&w, session, &said[3..]).await).await.unwrap();
    assert_eq!(ids(&list(&w, uri, &Page::first(9)).await.unwrap()), [said[2], said[0]]);
}

pub(super) async fn message_without_text_has_no_index_entry(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let image = w.append(NewMessage { resources: resources(), mining: FollowUp::Nothing, ..new_message(session, "") }).await;
    let text = w.say(session, "John likes Mary.").await;
    assert_eq!(store.list_messages(&w.caller, session, &Page::first(9), false).await.unwrap().items.len(), 2);
    let rows = store.feed(&w.caller, MODEL, 0, 9).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.message).collect::<Vec<_>>(), [text.id]);
    assert_eq!(store.resources_of(&w.caller, &[image.id]).await.unwrap().len(), 2);
}

pub(super) async fn known_external_id_stores_nothing(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let (session, other) = (w.session().await, w.session().await);
    let first = w.append(with_external_id(new_message(session, "one"), "x")).await;
    let head = store.log_state(&w.caller, session).await.unwrap();
    let again = store.append(&w.caller, session, vec![with_external_id(new_message(session, "two"), "x")]).await.unwrap();
    assert!(again[0].duplicate);
    assert_eq!(again[0].message, first);
    assert_eq!(store.log_state(&w.caller, session).await.unwrap(), head, "a duplicate wrote an event");
    assert_eq!(store.depth().await.unwrap().0, 1, "a duplicate queued a job");
    let elsewhere = store.append(&w.caller, other, vec![with_external_id(new_message(other, "three"), "x")]).await.unwrap();
    assert!(!elsewhere[0].duplicate, "an external id counts in another session");
}

pub(super) async fn messages_are_found_by_the_ids_of_the_client(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let (session, other) = (w.session().await, w.session().await);
    let odd = "a\u{1F600} 'b' \"c\" {d} %";
    let first = w.append(with_external_id(new_message(session, "one"), odd)).await;
    let second = w.append(with_external_id(new_message(session, "two"), "second")).await;
    w.say(session, "without an id").await;
    w.append(with_external_id(new_message(other, "elsewhere"), "second")).await;
    let find = async |ids: &[&str]| {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        let mut found = w.store.messages_by_external_id(&w.caller, session, &ids).await.unwrap();
        found.sort_by_key(|m| m.position);
        found
    };
    assert_eq!(find(&["second", "unknown", odd]).await, [first, second.clone()]);
    assert_eq!(find(&["second", "second"]).await, [second]);
    assert!(find(&[]).await.is_empty() && find(&["", "%", "one"]).await.is_empty());
}

pub(super) async fn duplicates_within_one_batch_are_stored_once(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    w.append(with_external_id(new_message(session, "known"), "k")).await;
    let batch = ["a", "k", "b", "a"].map(|id| with_external_id(new_message(session, id), id));
    let appended = store.append(&w.caller, session, batch.to_vec()).await.unwrap();
    assert_eq!(appended.iter().map(|a| a.duplicate).collect::<Vec<_>>(), [false, true, false, true]);
    assert_eq!(appended[0].message, appended[3].message);
    assert_eq!(appended.iter().map(|a| a.message.position).collect::<Vec<_>>(), [2, 1, 3, 2]);
    assert_eq!(store.sessions_by_id(&w.caller, &[session]).await.unwrap()[0].message_count, 3);
}

pub(super) async fn concurrent_duplicates_are_stored_once(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let tasks: Vec<_> = (0..16)
        .map(|i| {
            let w = w.clone();
            tokio::spawn(async move {
                let message = with_external_id(new_message(session, &i.to_string()), "same");
                w.store.append(&w.caller, session, vec![message]).await.unwrap().remove(0)
            })
        })
        .collect();
    let mut ids = HashSet::new();
    let mut fresh = 0;
    for task in tasks {
        let appended = task.await.unwrap();
        ids.insert(appended.message.id);
        fresh += usize::from(!appended.duplicate);
    }
    assert_eq!((ids.len(), fresh), (1, 1));
}

pub(super) async fn append_to_unknown_session_stores_nothing(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = SessionId(fresh());
    let refused = store.append(&w.caller, session, vec![new_message(session, "x"), new_message(session, "y")]).await;
    assert!(matches!(refused, Err(StoreError::NotFound)));
    assert_eq!(store.depth().await.unwrap(), (0, 0));
    assert!(store.feed(&w.caller, MODEL, 0, 10).await.unwrap().is_empty());
    // The writer still works.
    let session = w.session().await;
    assert_eq!(w.say(session, "hello").await.position, 1);
}

pub(super) async fn concurrent_appends_leave_no_gaps_in_numbers(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let sessions = [w.session().await, w.session().await];
    let tasks: Vec<_> = (0..32)
        .map(|i: usize| {
            let (w, session) = (w.clone(), sessions[i % 2]);
            tokio::spawn(async move {
                for n in 0..5 {
                    if n == 2 {
                        // Fails between others at the same moment and must leave no gap.
                        let foreign = SessionId(fresh());
                        assert!(w.store.append(&w.caller, foreign, vec![new_message(foreign, "lost")]).await.is_err());
                    }
                    let batch = (0..=n % 2).map(|_| new_message(session, "m")).collect();
                    w.store.append(&w.caller, session, batch).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    for session in sessions {
        let stored = store.sessions_by_id(&w.caller, &[session]).await.unwrap().remove(0);
        assert_eq!((stored.message_count, stored.head), (16 * 7, 16 * 7));
        let events = store.events_after(&w.caller, session, 0, 1_000).await.unwrap();
        assert!(events.iter().map(|e| e.seq).eq(1..=16 * 7), "the log has gaps");
        let messages = store.messages_before(&w.caller, session, 1_000, 1_000).await.unwrap();
        assert!(messages.iter().map(|m| m.position).eq(1..=16 * 7), "positions have gaps");
        // Event n describes message n: both get their number in one transaction.
        for (event, message) in events.iter().zip(&messages) {
            assert_eq!(content(event)["message_id"], serde_json::json!(message.id));
        }
    }
}

pub(super) async fn message_feed_is_ordered_and_hides_foreign_vectors(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let (one, two) = (w.session().await, w.session().await);
    let mut expected = Vec::new();
    for i in 0..6 {
        let session = if i % 2 == 0 { one } else { two };
        let mut message = new_message(session, "m");
        if i == 3 {
            message.prepared.model = "another".into();
        }
        expected.push(w.append(message).await);
    }
    let mut rows = Vec::new();
    while let page = store.feed(&w.caller, MODEL, rows.last().map_or(0, |r: &recall_ports::FeedRow| r.row), 4).await.unwrap()
        && !page.is_empty()
    {
        rows.extend(page);
    }
    assert_eq!(
        rows.iter().map(|r| (r.message, r.session, r.position)).collect::<Vec<_>>(),
        expected.iter().map(|m| (m.id, m.session, m.position)).collect::<Vec<_>>()
    );
    assert!(rows.is_sorted_by(|a, b| a.row < b.row));
    assert_eq!(rows[0].terms, [("like".into(), 2), ("mary".into(), 1)]);
    assert_eq!(rows[2].embedding, [1.0, 0.0]);
    assert!(rows[3].embedding.is_empty());
}

pub(super) async fn message_feed_misses_no_row_during_appends(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let writers: Vec<_> = (0..8)
        .map(|_| {
            let w = w.clone();
            tokio::spawn(async move {
                let session = w.session().await;
                for _ in 0..10 {
                    w.say(session, "m").await;
                }
            })
        })
        .collect();
    // Reads like an index: never again before the last row it saw.
    let mut seen = 0;
    let mut count = 0;
    while count < 80 {
        for row in store.feed(&w.caller, MODEL, seen, 100).await.unwrap() {
            assert!(row.row > seen);
            seen = row.row;
            count += 1;
        }
        tokio::task::yield_now().await;
        if writers.iter().all(tokio::task::JoinHandle::is_finished) {
            count += store.feed(&w.caller, MODEL, seen, 100).await.unwrap().len();
            break;
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(count, 80);
}

pub(super) async fn vector_search_equals_brute_force(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let stranger = World::new(&store);
    let (one, two, foreign) = (w.session().await, w.session().await, stranger.session().await);
    // A fixed linear congruential sequence.
    let mut state = 12_345u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32) / 8_388_608.0 - 1.0
    };
    let mut vector = move || (0..16).map(|_| next()).collect::<Vec<f32>>();
    let with = |session, model: &str, v: &[f32]| NewMessage {
        prepared: IndexEntry { terms: vec![], model: model.into(), embedding: Embedding(v.to_vec()), further: vec![] },
        ..new_message(session, "m")
    };
    let mut all = Vec::new();
    for i in 0..120 {
        let session = if i % 3 == 0 { one } else { two };
        let v = if i == 7 { vec![0.0; 16] } else { vector() };
        all.push((w.append(with(session, MODEL, &v)).await, v));
    }
    let decoy = vector();
    w.append(with(one, "another", &decoy)).await;
    w.append(with(one, MODEL, &decoy[..8])).await;
    stranger.append(with(foreign, MODEL, &decoy)).await;

    let cosine = |a: &[f32], b: &[f32]| {
        let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
        let norm = (dot(a, a) * dot(b, b)).sqrt();
        if norm == 0.0 { 0.0 } else { dot(a, b) / norm }
    };
    for query in [decoy.clone(), vector(), all[40].1.clone()] {
        for scope in [None, Some(one), Some(two)] {
            let mut expected: Vec<_> =
                all.iter().filter(|(m, _)| scope.is_none_or(|s| m.session == s)).map(|(m, v)| (m.id, cosine(&query, v))).collect();
            expected.sort_by(|a, b| b.1.total_cmp(&a.1));
            expected.truncate(10);
            let found = store.nearest(&w.caller, MODEL, &Embedding(query.clone()), scope, 10).await.unwrap();
            assert_eq!(found.iter().map(|f| f.0).collect::<Vec<_>>(), expected.iter().map(|e| e.0).collect::<Vec<_>>());
            for ((_, found), (_, expected)) in found.iter().zip(&expected) {
                assert!((f64::from(*found) - expected).abs() < 1e-5);
            }
        }
    }
    let every = store.nearest(&w.caller, MODEL, &Embedding(decoy), None, 1_000).await.unwrap();
    assert_eq!(every.len(), 120);
    assert_eq!(every.iter().find(|f| f.0 == all[7].0.id).unwrap().1, 0.0, "a zero vector is similar to something");
    assert!(store.nearest(&w.caller, MODEL, &Embedding(vec![]), None, 10).await.unwrap().is_empty());
}

pub(super) async fn messages_before_a_position_are_oldest_first(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let mut all: Vec<Message> = Vec::new();
    for i in 0..5 {
        all.push(w.say(session, &i.to_string()).await);
    }
    assert_eq!(store.messages_before(&w.caller, session, 4, 2).await.unwrap(), all[1..3]);
    assert_eq!(store.messages_before(&w.caller, session, 2, 9).await.unwrap(), all[..1]);
    assert!(store.messages_before(&w.caller, session, 1, 9).await.unwrap().is_empty());
    let newest = store.list_messages(&w.caller, session, &Page::first(2), true).await.unwrap();
    assert_eq!(newest.items.iter().map(|i| i.1.position).collect::<Vec<_>>(), [5, 4]);
    assert!(newest.has_next);
}

pub(super) async fn session_title_is_set_once(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    w.append(NewMessage { title: Some("first".into()), ..new_message(session, "x") }).await;
    w.append(NewMessage { title: Some("second".into()), ..new_message(session, "x") }).await;
    let titled = store.sessions_by_id(&w.caller, &[session]).await.unwrap().remove(0);
    assert_eq!(titled.title.unwrap().as_str(), "first");
}

pub(super) async fn extreme_timestamps_are_stored_and_listed(store: Arc<dyn Store>) {
    // A client may send any timestamp; none may break a list.
    let w = World::new(&store);
    let session = w.session().await;
    for moment in [Timestamp::MIN_UTC, Timestamp::MAX_UTC, Timestamp::UNIX_EPOCH, at(0) - chrono::Duration::days(365 * 3_000)] {
        let said = w.append(NewMessage { sent_at: moment, ..new_message(session, "m") }).await;
        assert_eq!(store.messages_by_id(&w.caller, &[said.id]).await.unwrap(), [said], "the returned and the stored message differ");
    }
    assert_eq!(store.list_messages(&w.caller, session, &Page::first(10), false).await.unwrap().items.len(), 4);
}
