//! Rate limits for callers and addresses.
//!
//! Each caller and each address has a token bucket that refills at a steady rate. It allows a burst, but not a flood, and one
//! client cannot use up the tokens of another. All servers of a database count callers together (`shared`); each server counts
//! addresses alone.

mod addresses;
mod callers;
mod limiter;
mod shared;
#[cfg(test)]
mod tests;

pub(crate) use addresses::{AddressLimits, limit_addresses};
pub(crate) use callers::{CallerLimits, OpenStream, limit_callers};
