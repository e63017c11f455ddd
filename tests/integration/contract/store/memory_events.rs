//! The log of a memory: the events of all sessions of a user in one order, with nothing missing.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use recall_domain::{Caller, EventId, SessionId, StoredEvent, UserId};
use recall_ports::{CommitListener, LogEntry, LogState, SessionRemainder, Store};

use super::{
    forget::whole,
    given::{World, at, content, event, new_message, renamed},
    visits::visitor,
};

const MANY: u32 = 10_000;

/// Returns the state of the log, and its events after a number. Checks that they have no gaps up to the head.
async fn log_after(w: &World, after: u64) -> (LogState, Vec<StoredEvent>) {
    let (state, events) = w.store.memory_log_page(&w.caller, after, MANY).await.unwrap();
    let first = (after + 1).max(state.floor);
    assert_eq!(events.iter().map(|e| e.seq).collect::<Vec<_>>(), (first..=state.head).collect::<Vec<_>>(), "a gap after {after}");
    (state, events)
}

/// Returns what an event says, and of which session.
fn told(event: &StoredEvent) -> (String, String) {
    (event.kind.clone(), content(event)["session_id"].as_str().unwrap().to_owned())
}

pub(super) async fn memory_log_has_events_of_all_sessions_in_order(store: Arc<dyn Store>) {
    let (w, other) = (World::new(&store), World::new(&store));
    let (empty, events) = log_after(&w, 0).await;
    assert_eq!((empty.head, empty.floor, events.len()), (0, 1, 0), "a user who never wrote");
    assert_eq!(store.memory_log_state(&w.caller).await.unwrap(), empty);

    let a = w.session().await;
    other.session().await;
    let b = w.session().await;
    let drafts = [event(a), event(b), event(b)];
    store.append_events(&w.caller, a, &drafts[..1], at(1)).await.unwrap();
    store.append_events(&w.caller, b, &drafts[1..], at(2)).await.unwrap();
    let message = w.say(a, "Hello.").await;
    store.append_events(&w.caller, a, &[], at(2)).await.unwrap();
    store.update_session(&w.caller, b, &renamed("Plans"), at(3)).await.unwrap();
    for _ in 0..2 {
        store.set_paused(&w.caller, true, at(4)).await.unwrap();
    }

    let (state, mut events) = log_after(&w, 0).await;
    let paused = events.pop().unwrap();
    assert_eq!(
        (paused.seq, paused.kind.as_str(), paused.created_at),
        (8, "viewer_update", at(4)),
        "a change that changes nothing has no event"
    );
    assert_eq!(content(&paused), serde_json::json!({ "type": "viewer_update", "paused": true }));
    assert_eq!((state.epoch.as_str(), state.head, state.floor), (empty.epoch.as_str(), 8, 1));
    let kinds = ["session_update", "session_update", "answer_failed", "answer_failed", "answer_failed", "message_stored", "session_update"];
    let sessions = [a, b, a, b, b, a, b].map(|session| session.to_string());
    assert_eq!(events.iter().map(told).collect::<Vec<_>>(), kinds.map(str::to_owned).into_iter().zip(sessions).collect::<Vec<_>>());
    assert_eq!(
        events[2..5].iter().map(|e| (e.id, e.created_at)).collect::<Vec<_>>(),
        [(drafts[0].id, at(1)), (drafts[1].id, at(2)), (drafts[2].id, at(2))]
    );
    assert_eq!(content(&events[5])["message_id"], message.id.to_string());
    assert_eq!(events.iter().map(|e| e.id).collect::<std::collections::HashSet<_>>().len(), 7, "two events have one id");
    let (_, page) = store.memory_log_page(&w.caller, 2, 3).await.unwrap();
    assert_eq!(page.iter().map(|e| e.seq).collect::<Vec<_>>(), [3, 4, 5]);

    let (others, _) = log_after(&other, 0).await;
    assert_eq!(others.head, 1);
    assert_ne!(others.epoch, state.epoch, "the cursor of one user is taken for one of another");
}

pub(super) async fn memory_log_misses_nothing_during_concurrent_writes(store: Arc<dyn Store>) {
    let w = World::new(&store);
    read_while_writing(&[w.clone(), w]).await;
}

/// Records what a store reports.
#[derive(Default)]
struct Recorder {
    entries: Mutex<Vec<LogEntry>>,
    committed: Mutex<HashSet<(UserId, Option<SessionId>)>>,
}

impl CommitListener for Recorder {
    fn deliver(&self, entries: &[LogEntry]) {
        self.entries.lock().unwrap().extend_from_slice(entries);
    }

    fn committed(&self, caller: &Caller, session: Option<SessionId>) {
        self.committed.lock().unwrap().insert((caller.user(), session));
    }

    fn deleted(&self, _: &Caller, _: SessionId) {}
}

/// A store may report the events themselves, or only that a session has new ones.
pub(super) async fn commits_are_reported_in_the_order_of_their_numbers(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let recorder = Arc::new(Recorder::default());
    store.report_to(Arc::downgrade(&recorder) as _);
    let (a, b) = (w.session().await, w.session().await);
    let writers = (0..8).map(|i| {
        let (w, session) = (w.clone(), if i < 4 { a } else { b });
        tokio::spawn(write(w, session, i, 10))
    });
    for writer in writers {
        writer.await.unwrap();
    }

    store.set_paused(&w.caller, true, at(2)).await.unwrap();
    let (_, log) = log_after(&w, 0).await;
    // It is answered after all earlier commits were reported.
    World::new(&store).session().await;
    let user = w.caller.user();
    let entries: Vec<LogEntry> = recorder.entries.lock().unwrap().iter().filter(|e| e.owner.user() == user).cloned().collect();
    if entries.is_empty() {
        let logs = [Some(a), Some(b), None].map(|session| (user, session)).into_iter().collect::<HashSet<_>>();
        assert!(recorder.committed.lock().unwrap().is_superset(&logs), "commits were not reported");
        return;
    }
    let reported = entries.iter().map(|e| (e.memory_seq, e.id, e.kind, e.created_at, e.data.as_str()));
    assert!(reported.eq(log.iter().map(|e| (e.seq, e.id, e.kind.as_str(), e.created_at, e.data.get()))), "the report differs from the log");
    for session in [a, b] {
        let of_session = entries.iter().filter_map(|e| Some((e.session.as_ref()?, e))).filter(|(place, _)| place.id == session);
        let (state, own) = store.log_page(&w.caller, session, 0, MANY).await.unwrap();
        let reported = of_session.map(|(place, e)| (place.seq, place.epoch.as_str(), e.id));
        assert!(reported.eq(own.iter().map(|e| (e.seq, state.epoch.as_str(), e.id))), "the report differs from the session's log");
    }
}

/// Writes to several sessions of one user while readers follow the log, and checks that each of them sees each event once.
///
/// The worlds are the same user on one or several servers. Each page is read with a new cursor, as after a reconnection.
pub(super) async fn read_while_writing(worlds: &[World]) {
    const SESSIONS: usize = 6;
    const ROUNDS: usize = 20;
    const READERS: usize = 3;
    let mut sessions = Vec::new();
    for i in 0..SESSIONS {
        sessions.push(worlds[i % worlds.len()].session().await);
    }
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..READERS).map(|n| tokio::spawn(follow(worlds.to_vec(), n, done.clone()))).collect();
    let writers = sessions.iter().enumerate().map(|(i, session)| write(worlds[i % worlds.len()].clone(), *session, i, ROUNDS));
    futures_util::future::join_all(writers.map(tokio::spawn)).await.into_iter().for_each(|written| written.unwrap());
    done.store(true, Ordering::Release);

    let (_, all) = log_after(&worlds[0], 0).await;
    for reader in readers {
        assert_eq!(reader.await.unwrap(), all.iter().map(|e| e.id).collect::<Vec<_>>());
    }
    let mut numbers: HashMap<EventId, u64> = HashMap::new();
    for e in &all {
        assert_eq!(numbers.insert(e.id, e.seq), None, "an event is in the log twice");
    }
    for session in sessions {
        let own = worlds[0].store.events_after(&worlds[0].caller, session, 0, MANY).await.unwrap();
        assert!(own.len() > ROUNDS, "the load is too small");
        let placed: Vec<u64> = own.iter().map(|e| numbers[&e.id]).collect();
        assert!(placed.is_sorted(), "the events of a session have another order");
    }
}

async fn write(w: World, session: SessionId, writer: usize, rounds: usize) {
    for round in 0..rounds {
        match (writer + round) % 4 {
            0 => drop(w.store.append_events(&w.caller, session, &[event(session), event(session)], at(1)).await.unwrap()),
            1 => drop(w.store.update_session(&w.caller, session, &renamed(&format!("{round}")), at(1)).await.unwrap()),
            2 => {
                let messages = (0..3).map(|_| new_message(session, "m")).collect();
                w.store.append(&w.caller, session, messages).await.unwrap();
            }
            _ => drop(w.session().await),
        }
    }
}

async fn follow(worlds: Vec<World>, reader: usize, done: Arc<AtomicBool>) -> Vec<EventId> {
    let (mut seen, mut after, mut state) = (Vec::new(), 0, reader as u64 + 1);
    loop {
        let is_over = done.load(Ordering::Acquire);
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let w = &worlds[(state >> 40) as usize % worlds.len()];
        let limit = 1 + (state >> 33) as u32 % 7;
        let (log, page) = w.store.memory_log_page(&w.caller, after, limit).await.unwrap();
        for e in &page {
            assert_eq!(e.seq, after + 1, "an event became visible after a later one");
            after = e.seq;
            seen.push(e.id);
        }
        assert!(log.head >= after, "the state is older than the events");
        if is_over && page.is_empty() {
            assert_eq!(after, log.head);
            return seen;
        }
        tokio::task::yield_now().await;
    }
}

pub(super) async fn deleted_session_ends_the_replay_of_its_events(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let (kept, gone, hidden) = (w.session().await, w.session().await, w.session().await);
    for session in [kept, gone, kept, hidden, kept] {
        store.append_events(&w.caller, session, &[event(session)], at(1)).await.unwrap();
    }
    store.delete_session(&w.caller, gone, at(2), &|_, _| None).await.unwrap();
    // The events 4 to 8 were those of the sessions, in this order.
    let (state, events) = log_after(&w, 0).await;
    assert_eq!((state.head, state.floor), (9, 6));
    assert_eq!(told(events.last().unwrap()), ("session_deleted".into(), gone.to_string()));

    store.hide_session(&w.caller, hidden, None, at(3)).await.unwrap();
    let (state, events) = log_after(&w, 0).await;
    assert_eq!((state.head, state.floor), (10, 8));
    let hidden = ("session_deleted".to_owned(), hidden.to_string());
    assert_eq!((told(&events[0]).1, told(events.last().unwrap())), (kept.to_string(), hidden.clone()));
    let session = hidden.1.parse().unwrap();
    while store.delete_hidden(&w.caller, session, at(4), 1, &|_, _| None).await.unwrap().left != SessionRemainder::Nothing {
        assert_eq!(log_after(&w, 0).await.0.head, 10);
    }
    // Again, because facts and entities have changed meanwhile.
    let (state, events) = log_after(&w, 0).await;
    assert_eq!((state.head, state.floor, told(events.last().unwrap())), (11, 8, hidden));
}

pub(super) async fn pruning_raises_the_floor_of_the_memory(store: Arc<dyn Store>) {
    let (w, other) = (World::new(&store), World::new(&store));
    let (long, short) = (w.session().await, w.session().await);
    other.session().await;
    for i in 0..10 {
        store.append_events(&w.caller, long, &[event(long)], at(1_000 + i)).await.unwrap();
        store.append_events(&w.caller, short, &[event(short)], at(1_000 + i)).await.unwrap();
    }
    let prune = async |before: i64, keep: u64| while store.prune_events(at(before), keep).await.unwrap() > 0 {};
    prune(-1, 1_000).await;
    assert_eq!(log_after(&w, 0).await.0.floor, 1);
    // Only the sessions were created by then.
    prune(500, 1_000).await;
    assert_eq!(log_after(&w, 0).await.0.floor, 3);
    assert_eq!(log_after(&other, 0).await.0, LogState { head: 1, floor: 2, ..store.memory_log_state(&other.caller).await.unwrap() });
    prune(1_003, 1_000).await;
    assert_eq!(log_after(&w, 0).await.0.floor, 9);
    // By length, all ten of one session but four are gone. What lies between them in the other session has expired with them.
    prune(1_003, 4).await;
    assert_eq!((log_after(&w, 0).await.0.floor, store.log_state(&w.caller, short).await.unwrap().floor), (15, 7));
    prune(5_000, 4).await;
    let (state, events) = log_after(&w, 0).await;
    assert_eq!((state.head, state.floor, events.len()), (22, 23, 0));
    store.append_events(&w.caller, short, &[event(short)], at(6_000)).await.unwrap();
    assert_eq!(log_after(&w, 22).await.1[0].seq, 23, "a number was used twice");
}

pub(super) async fn forgotten_events_end_the_replay_before_them(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let before = log_after(&w, 0).await.0;
    store.forget(&w.caller, &whole(&w, &known).await).await.unwrap();
    let (state, events) = log_after(&w, 0).await;
    assert!(state.floor == before.head + 1 && state.head > before.head, "{before:?} {state:?}");
    assert!(!events.iter().any(|e| e.data.get().contains("John likes Mary")));
}

pub(super) async fn erasure_and_adoption_expire_the_memory_log(store: Arc<dyn Store>) {
    let w = World::new(&store);
    w.john_likes_mary().await;
    let before = log_after(&w, 0).await.0;
    store.begin_erasure(&w.caller, at(1)).await.unwrap();
    let (state, events) = log_after(&w, 0).await;
    assert_eq!((state.head, state.floor, events.len()), (before.head + 1, before.head + 2, 0), "an erased event is readable");
    while store.erase(&w.caller, at(2), 3).await.unwrap().erasure.ended_at.is_none() {}
    let erased = log_after(&w, 0).await.0;
    assert!(erased.epoch == state.epoch && erased.head > state.head && erased.floor == erased.head + 1, "{erased:?}");

    let ((visitor, mine), account) = (visitor(&store, 100, 100).await, World::new(&store));
    let known = visitor.john_likes_mary().await;
    let own = account.session().await;
    let adopted = store.adopt(&account.caller, mine.digest, at(5)).await.unwrap();
    assert!(adopted.is_some());
    let (state, events) = log_after(&account, 0).await;
    assert_eq!((state.head, state.floor, events.len()), (2, 3, 0), "the account is not told to read again");
    // Events of both follow, and the adopted log continues.
    store.append_events(&account.caller, known.session, &[event(known.session)], at(6)).await.unwrap();
    store.append_events(&account.caller, own, &[event(own)], at(6)).await.unwrap();
    let sessions: Vec<_> = log_after(&account, 2).await.1.iter().map(|e| told(e).1).collect();
    assert_eq!(sessions, [known.session.to_string(), own.to_string()]);
}
