//! Budgets of tokens: shared by whoever reads the same store, and new each day.

use std::sync::{Arc, Mutex};

use recall_domain::{Caller, ModelOperation, SessionId, Timestamp, TokenCount, UserId, ViewerRole};
use recall_models::Budget;
use recall_ports::{Clock, Store};
use recall_store_sqlite::{SqliteConfig, SqliteStore};
use uuid::Uuid;

use super::{Ledger, VISITORS};

struct Hands(Mutex<i64>);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp::from_timestamp(*self.0.lock().unwrap(), 0).unwrap()
    }
}

fn tokens(n: u64) -> TokenCount {
    TokenCount { input: n / 2, output: n - n / 2 }
}

#[tokio::test]
async fn two_instances_have_one_budget_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(Hands(Mutex::new(86_400 * 20_000)));
    let path = folder.path().join("recall.db");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path, SqliteConfig::default(), clock.now()).await.unwrap());
    let [anna, boris, carl] = [1, 2, 3].map(|n| Caller::verified(UserId(Uuid::from_u128(n)), ViewerRole::User));
    for who in [&anna, &boris, &carl] {
        let session = SessionId(Uuid::from_u128(9));
        store.create_session(who, session, None, "e".to_owned(), clock.now()).await.unwrap();
    }
    let instance = || Budget::new(clock.clone(), store.clone(), Some(100), Some(150));
    let (here, there) = (instance(), instance());
    here.spend(&anna, ModelOperation::Extract, tokens(60), &[]).await;
    there.spend(&anna, ModelOperation::Answer, tokens(39), &[]).await;
    assert!(here.allows(&anna).await && there.allows(&anna).await);
    there.spend(&anna, ModelOperation::Answer, tokens(1), &[]).await;
    assert!(!here.allows(&anna).await && !there.allows(&anna).await && here.allows(&boris).await);
    // A server's word: it may be any number.
    here.spend(&boris, ModelOperation::Extract, TokenCount { input: u64::MAX, output: u64::MAX }, &[]).await;
    assert!(!there.allows(&carl).await, "the budget of all is used up");
    *clock.0.lock().unwrap() += 86_400;
    assert!(here.allows(&anna).await && there.allows(&carl).await);
}

#[tokio::test]
async fn visitors_have_one_budget_together_that_no_new_visit_renews() {
    let [anna, visitor, another] = [(1, ViewerRole::User), (VISITORS[0], ViewerRole::Anonymous), (VISITORS[1], ViewerRole::Anonymous)]
        .map(|(n, role)| Caller::verified(UserId(Uuid::from_u128(n)), role));
    for (per_user, visitors, spent, expected) in
        [(None, 50, 50, (true, false)), (Some(100), 50, 49, (true, true)), (Some(40), 50, 45, (false, false)), (None, 0, 0, (true, false))]
    {
        let ledger = Arc::new(Ledger::default());
        let budget = Budget::new(Arc::new(Hands(Mutex::new(0))), ledger, per_user, None).for_visitors(visitors);
        for who in [&anna, &visitor] {
            budget.spend(who, ModelOperation::Extract, tokens(spent), &[]).await;
        }
        assert_eq!((budget.allows(&anna).await, budget.allows(&visitor).await), expected, "{per_user:?} {visitors} {spent}");
        assert_eq!(budget.allows(&another).await, visitors > spent, "{per_user:?} {visitors} {spent}");
    }
}

#[tokio::test]
async fn without_a_bound_everything_is_allowed_and_counted() {
    let ledger = Arc::new(Ledger::default());
    let budget = Budget::new(Arc::new(Hands(Mutex::new(0))), ledger.clone(), None, None);
    let anna = Caller::verified(UserId(Uuid::from_u128(1)), ViewerRole::User);
    budget.spend(&anna, ModelOperation::Extract, tokens(1_000_000), &[]).await;
    assert!(budget.allows(&anna).await);
    assert_eq!(ledger.total(), 1_000_000);
}
