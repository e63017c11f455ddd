//! How much is read while a new database is filled: counted, not timed.

use recall_ports::{Inspect, MessageStore, Store};

use super::{CONFIG, World, at, new_message};
use crate::postgres::Schema;

const CALLS: usize = 40;
const EACH: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_database_is_filled_without_reading_it_again_for_each_row() {
    let Some(schema) = Schema::new().await else { return };
    let store = std::sync::Arc::new(schema.open(CONFIG(), at(0)).await.unwrap());
    let shared: std::sync::Arc<dyn Store> = store.clone();
    let world = World::new(&shared);
    let session = world.session().await;
    // From here on plans are kept; at first tables are empty.
    for n in 0..12 {
        store.append(&world.caller, session, vec![new_message(session, &format!("number {n}"))]).await.unwrap();
    }
    for _ in 0..CALLS {
        let messages = (0..EACH).map(|n| new_message(session, &format!("number {n}"))).collect();
        store.append(&world.caller, session, messages).await.unwrap();
    }
    // A connection says what it did when it ends.
    store.close().await;
    let read: i64 = sqlx::query_scalar(
        "SELECT (SELECT coalesce(sum(idx_tup_read), 0)::bigint FROM pg_stat_user_indexes WHERE schemaname = $1)
              + (SELECT coalesce(sum(seq_tup_read), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = $1)",
    )
    .bind(&schema.name)
    .fetch_one(&mut schema.connection().await)
    .await
    .unwrap();
    let each = read as usize / (CALLS * EACH);
    // 6,000 where nobody told the planner.
    assert!(each < 500, "{each} rows were read for each that was written");
}
