//! Whoever goes away in the middle of a request: a browser that closes, a time limit.

use std::{pin::pin, time::Duration};

use futures_util::poll;
use recall_domain::{Caller, TokenDigest, UserId, ViewerRole};
use recall_ports::{RevocationStore, SessionStore};
use recall_store_postgres::PostgresConfig;

use crate::{
    contract::store::given::{at, fresh},
    postgres::Schema,
};

/// The library forgets a BEGIN whose answer nobody waits for. The next to write on that connection, without a transaction of his
/// own, was told that it was done, and nobody ever committed it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_goes_away_while_a_transaction_begins_takes_no_later_write_with_him() {
    let Some(schema) = Schema::new().await else { return };
    let one = schema.open(PostgresConfig { connections: 1, ..PostgresConfig::default() }, at(0)).await.unwrap();
    let other = schema.open(PostgresConfig::default(), at(0)).await.unwrap();
    let caller = Caller::verified(UserId(fresh()), ViewerRole::User);
    for round in 0..240u32 {
        {
            let mut asked = pin!(one.count_sessions(&caller));
            for _ in 0..round % 60 {
                if poll!(&mut asked).is_ready() {
                    break;
                }
                // The answer is on its way meanwhile.
                std::thread::sleep(Duration::from_micros(5));
                tokio::task::yield_now().await;
            }
        }
        let mut digest = [0; 32];
        digest[..4].copy_from_slice(&round.to_le_bytes());
        one.revoke_token(&caller, TokenDigest(digest), None).await.unwrap();
        assert!(other.is_revoked(TokenDigest(digest)).await.unwrap(), "round {round}: what was acknowledged is lost");
    }
}
