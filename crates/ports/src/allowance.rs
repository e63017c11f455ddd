//! Limits that all servers of one database share.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use recall_domain::Caller;

/// A bucket of tokens that fills at a steady rate. One that was never drawn from is full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// Names it among the caller's. Words of this program.
    pub name: &'static str,
    /// Tokens in a full one.
    pub capacity: u32,
    /// How fast it fills.
    pub per_second: f64,
}

/// What came of a draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DrawOutcome {
    /// So many tokens are the asking server's now.
    Tokens(u32),
    /// There is none before that long.
    Nothing(Duration),
}

/// The callers' buckets, by a clock that all servers share.
#[async_trait]
pub trait Allowances: Send + Sync {
    /// Takes `most` tokens, or as many as there are. As long as there is one, `least` are given in any case, and the bucket has
    /// to fill that much longer.
    async fn draw(&self, caller: &Caller, bucket: Bucket, least: u32, most: u32) -> Result<DrawOutcome, StoreError>;
    /// Takes tokens whether they are there or not: there are none until the bucket has filled that much longer.
    async fn charge(&self, caller: &Caller, bucket: Bucket, tokens: u32) -> Result<(), StoreError>;
}
