//! The log of a memory that several servers write, of this version and of the one before.

use sqlx::Executor;

use super::{at, event, seen_through, two};
use crate::contract::store::memory_events::read_while_writing;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_log_misses_nothing_while_two_servers_write() {
    let Some((_schema, stores)) = two().await else { return };
    read_while_writing(&seen_through(&stores)).await;
}

#[tokio::test]
async fn events_of_older_servers_get_a_number() {
    let Some((schema, stores)) = two().await else { return };
    let [w, _] = seen_through(&stores);
    let session = w.session().await;
    w.store.append_events(&w.caller, session, &[event(session)], at(1)).await.unwrap();
    let mut older = schema.connection().await;
    let (user, session) = (w.caller.user().0, session.0);
    let written = format!(
        "SELECT set_config('recall.caller', '{user}', true);
         UPDATE sessions SET event_head = event_head + 2 WHERE user_id = '{user}' AND id = '{session}';
         INSERT INTO events (user_id, session_id, seq, id, kind, created_at, data)
             SELECT '{user}', '{session}', n, gen_random_uuid(), 'answer_failed', now(), '{{}}' FROM generate_series(2, 3) AS n"
    );
    older.execute(sqlx::AssertSqlSafe(written)).await.unwrap();
    let (state, events) = w.store.memory_log_page(&w.caller, 0, 10).await.unwrap();
    assert_eq!((state.head, events.iter().map(|e| e.seq).collect::<Vec<_>>()), (4, vec![1, 2, 3, 4]));
    assert_eq!(events[3].kind, "answer_failed");
}
