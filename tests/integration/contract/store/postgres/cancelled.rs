//! Requests that are cancelled midway, by a closed browser or a time limit.

use std::{pin::pin, time::Duration};

use futures_util::poll;
use recall_domain::{Caller, TokenDigest, UserId, ViewerRole};
use recall_ports::{RevocationStore, SessionFilter, SessionStore};
use recall_store_postgres::PostgresConfig;

use crate::{
    contract::store::given::{at, fresh},
    postgres::Schema,
};

/// sqlx forgets a BEGIN whose answer nobody awaits.
/// The next write on that connection would join this transaction, succeed, and never be committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_begin_does_not_swallow_later_write() {
    let Some(schema) = Schema::new().await else { return };
    let one = schema.open(PostgresConfig { connections: 1, ..PostgresConfig::default() }, at(0)).await.unwrap();
    let other = schema.open(PostgresConfig::default(), at(0)).await.unwrap();
    let caller = Caller::verified(UserId(fresh()), ViewerRole::User);
    for round in 0..240u32 {
        {
            let mut asked = pin!(one.count_sessions(&caller, &SessionFilter::ALL));
            for _ in 0..round % 60 {
                if poll!(&mut asked).is_ready() {
                    break;
                }
                // Meanwhile the answer arrives.
                std::thread::sleep(Duration::from_micros(5));
                tokio::task::yield_now().await;
            }
        }
        let mut digest = [0; 32];
        digest[..4].copy_from_slice(&round.to_le_bytes());
        one.revoke_token(&caller, TokenDigest(digest), None).await.unwrap();
        assert!(other.is_revoked(TokenDigest(digest)).await.unwrap(), "round {round}: an acknowledged write is lost");
    }
}
