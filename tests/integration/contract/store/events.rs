//! The event log: no gaps, a head that never decreases, and pruning from the start only.

use std::sync::Arc;

use recall_domain::SessionId;
use recall_ports::{LogState, Store, StoreError};

use super::given::{World, at, content, event, fresh};

pub(super) async fn event_numbers_have_no_gaps(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let epoch = format!("epoch-{session}");
    assert_eq!(store.log_state(&w.caller, session).await.unwrap(), LogState { epoch: epoch.clone(), head: 0, floor: 1 });
    let drafts = [event(session), event(session), event(session)];
    assert_eq!(store.append_events(&w.caller, session, &drafts[..2], at(1)).await.unwrap(), [1, 2]);
    assert!(store.append_events(&w.caller, session, &[], at(1)).await.unwrap().is_empty());
    assert_eq!(store.append_events(&w.caller, session, &drafts[2..], at(2)).await.unwrap(), [3]);
    assert_eq!(store.log_state(&w.caller, session).await.unwrap(), LogState { epoch, head: 3, floor: 1 });
    let read = store.events_after(&w.caller, session, 1, 10).await.unwrap();
    assert_eq!(read.iter().map(|e| (e.seq, e.id, e.created_at)).collect::<Vec<_>>(), [(2, drafts[1].id, at(1)), (3, drafts[2].id, at(2))]);
    assert_eq!(content(&read[0]), serde_json::to_value(&drafts[1].body).unwrap());
    assert_eq!(read[0].kind, drafts[1].body.kind());
    assert_eq!(store.events_after(&w.caller, session, 0, 2).await.unwrap().len(), 2);
    assert!(store.events_after(&w.caller, session, 3, 10).await.unwrap().is_empty());
    let nowhere = SessionId(fresh());
    assert!(matches!(store.log_state(&w.caller, nowhere).await, Err(StoreError::NotFound)));
    assert!(matches!(store.events_after(&w.caller, nowhere, 0, 1).await, Err(StoreError::NotFound)));
    assert!(matches!(store.append_events(&w.caller, nowhere, &[], at(0)).await, Err(StoreError::NotFound)));
}

async fn prune_all(store: &Arc<dyn Store>, before: i64, keep: u64) -> u64 {
    let mut all = 0;
    loop {
        match store.prune_events(at(before), keep).await.unwrap() {
            0 => return all,
            n => all += n,
        }
    }
}

pub(super) async fn pruning_keeps_head_and_removes_prefix(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let (long, short) = (w.session().await, w.session().await);
    for i in 0..10 {
        store.append_events(&w.caller, long, &[event(long)], at(i)).await.unwrap();
    }
    store.append_events(&w.caller, short, &[event(short)], at(0)).await.unwrap();
    assert_eq!(prune_all(&store, -1, 4).await, 6);
    let state = store.log_state(&w.caller, long).await.unwrap();
    assert_eq!((state.head, state.floor), (10, 7));
    assert!(store.events_after(&w.caller, long, 0, 100).await.unwrap().iter().map(|e| e.seq).eq(7..=10));
    assert_eq!(store.log_state(&w.caller, short).await.unwrap().floor, 1);

    // With the changes that the two sessions were created.
    assert_eq!(prune_all(&store, 1_000, 4).await, 5 + 2);
    let state = store.log_state(&w.caller, long).await.unwrap();
    assert_eq!((state.head, state.floor), (10, 11), "an empty log lost its head");
    assert_eq!(store.append_events(&w.caller, long, &[event(long)], at(2_000)).await.unwrap(), [11], "a number was used twice");
    let state = store.log_state(&w.caller, long).await.unwrap();
    assert_eq!((state.head, state.floor), (11, 11));
    assert_eq!(prune_all(&store, 1_000, 4).await, 0);
}

pub(super) async fn pruning_by_age_works_in_bounded_steps(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let drafts: Vec<_> = (0..500).map(|_| event(session)).collect();
    for i in 0..10 {
        store.append_events(&w.caller, session, &drafts, at(i)).await.unwrap();
    }
    // The clock jumped back: events from 5,001 on have an old time, but newer events precede them.
    store.append_events(&w.caller, session, &drafts[..3], at(0)).await.unwrap();
    let step = store.prune_events(at(8), 1_000_000).await.unwrap();
    assert!(step > 0 && step < 4_000, "one call holds the writer for {step} events");
    assert_eq!(step + prune_all(&store, 8, 1_000_000).await, 4_000 + 1, "with the change that the session was created");
    let state = store.log_state(&w.caller, session).await.unwrap();
    assert_eq!((state.head, state.floor), (5_003, 4_001));
    assert!(store.events_after(&w.caller, session, 0, 10_000).await.unwrap().iter().map(|e| e.seq).eq(4_001..=5_003));
}
