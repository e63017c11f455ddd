//! Rate limits that all servers of one database share.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use recall_domain::Caller;

/// A token bucket that fills at a steady rate. An unused bucket is full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// Its name, one of the program's own words.
    pub name: &'static str,
    /// Tokens in a full bucket.
    pub capacity: u32,
    /// Tokens added per second.
    pub per_second: f64,
}

/// The result of a draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DrawOutcome {
    /// The server got this many tokens.
    Tokens(u32),
    /// No token is available before this time has passed.
    Nothing(Duration),
}

/// The buckets of callers, timed by a clock that all servers share.
#[async_trait]
pub trait Allowances: Send + Sync {
    /// Takes up to `most` tokens. If there is at least one token, `least` are granted in any case, and the bucket refills that much later.
    async fn draw(&self, caller: &Caller, bucket: Bucket, least: u32, most: u32) -> Result<DrawOutcome, StoreError>;
    /// Takes tokens even if they are missing; the bucket then refills that much later.
    async fn charge(&self, caller: &Caller, bucket: Bucket, tokens: u32) -> Result<(), StoreError>;
}
