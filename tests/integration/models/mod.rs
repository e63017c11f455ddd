//! Model servers: requests, validation of responses, and failures.

mod answers;
mod binary;
mod budgets;
mod embeddings;
mod extraction;
mod names;
pub(crate) mod responses;
pub(crate) mod server;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use recall::system::SystemClock;
use recall_domain::{Caller, Day, DayUsage, MessageId, ModelOperation, Spending, TokenCount, UserId, ViewerRole};
use recall_models::{Budget, Endpoint, ModelClient};
use recall_ports::{StoreError, UsageStore, UsageTotals};
use server::{KEY, MODEL, ModelServer};
use uuid::Uuid;

/// A client with short time-outs.
fn client(server: &ModelServer) -> Arc<ModelClient> {
    client_with(server, |_| {})
}

fn client_with(server: &ModelServer, change: impl FnOnce(&mut Endpoint)) -> Arc<ModelClient> {
    let mut endpoint = Endpoint {
        url: server.url(),
        key: Some(KEY.into()),
        model: MODEL.to_owned(),
        headers: BTreeMap::new(),
        timeout: Duration::from_secs(20),
        silence: Duration::from_secs(10),
        concurrency: 4,
    };
    change(&mut endpoint);
    ModelClient::new(endpoint).unwrap()
}

/// Users that are visitors.
const VISITORS: [u128; 2] = [2, 3];

/// Counts token usage in memory.
#[derive(Default)]
struct Ledger(Mutex<Vec<(UserId, Day, Spending)>>);

impl Ledger {
    fn total(&self) -> u64 {
        self.0.lock().unwrap().iter().map(|(.., s)| s.tokens.total()).sum()
    }

    /// Returns the requests with their messages.
    fn requests(&self) -> Vec<(ModelOperation, Vec<u128>)> {
        let all = self.0.lock().unwrap();
        all.iter().map(|(.., s)| (s.operation, s.messages.iter().map(|(m, _)| m.0.as_u128()).collect())).collect()
    }
}

#[async_trait]
impl UsageStore for Ledger {
    async fn spend(&self, caller: &Caller, day: Day, spending: &Spending) -> Result<(), StoreError> {
        self.0.lock().unwrap().push((caller.user(), day, spending.clone()));
        Ok(())
    }
    async fn spent(&self, caller: &Caller, day: Day) -> Result<UsageTotals, StoreError> {
        let all = self.0.lock().unwrap();
        let used =
            |wanted: &dyn Fn(UserId) -> bool| all.iter().filter(|(u, d, _)| wanted(*u) && *d == day).map(|(.., s)| s.tokens.total()).sum();
        let visitors = used(&|u| VISITORS.contains(&u.0.as_u128()));
        Ok(UsageTotals { own: used(&|u| u == caller.user()), visitors, all: used(&|_| true) })
    }
    async fn usage_since(&self, _: &Caller, _: Day) -> Result<Vec<DayUsage>, StoreError> {
        Ok(Vec::new())
    }
    async fn usage_of_messages(&self, _: &Caller, _: &[MessageId]) -> Result<Vec<(MessageId, TokenCount)>, StoreError> {
        Ok(Vec::new())
    }
}

/// Returns a budget and its ledger.
fn budget(per_user: Option<u64>) -> (Arc<Budget>, Arc<Ledger>) {
    let ledger = Arc::new(Ledger::default());
    (Arc::new(Budget::new(Arc::new(SystemClock), ledger.clone(), per_user, None)), ledger)
}

fn caller() -> Caller {
    Caller::verified(UserId(Uuid::from_u128(7)), ViewerRole::User)
}
