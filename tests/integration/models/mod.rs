//! Model servers: what is sent, what is believed, and what happens when they fail.

mod answers;
mod binary;
mod embeddings;
mod extraction;
pub(crate) mod server;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use recall::{
    adapters::openai::{Endpoint, ModelClient},
    domain::{Caller, UserId, ViewerRole},
};
use server::{KEY, MODEL, ModelServer};
use uuid::Uuid;

/// A client with little patience.
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

fn caller() -> Caller {
    Caller::verified(UserId(Uuid::from_u128(7)), ViewerRole::User)
}
