//! Reads the bodies of chats, which may contain images, and bounds their memory.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Bytes, HttpBody},
    extract::{FromRequest, Request, rejection::BytesRejection},
    http::StatusCode,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::error::ApiError;

/// Bodies up to this size are read at any time, as at other endpoints.
const SMALL: usize = 1024 * 1024;
/// The unit in which memory is reserved.
const UNIT: usize = 1024;
/// Longest time in which a client may send the body of a request, after memory is available.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time in which a large body waits for others.
const ROOM_TIMEOUT: Duration = Duration::from_secs(10);

/// The memory for large bodies that are being received or forwarded.
#[derive(Clone)]
pub(super) struct BodyMemory {
    largest: usize,
    room: Arc<Semaphore>,
    /// How long a body waits for others.
    wait: Duration,
}

/// A part of that memory, until dropped.
#[derive(Debug)]
pub(super) struct Reserved(#[allow(dead_code, reason = "held for its drop")] Option<OwnedSemaphorePermit>);

impl BodyMemory {
    /// `largest` is the maximum size of one body in bytes, `total` that of all bodies.
    pub(super) fn new(largest: usize, total: usize) -> Self {
        let units = total.max(largest).div_ceil(UNIT).min(Semaphore::MAX_PERMITS);
        Self { largest, room: Arc::new(Semaphore::new(units)), wait: ROOM_TIMEOUT }
    }

    /// Reads the body of a request. Keep the second result until the body and its copies are dropped.
    ///
    /// # Errors
    /// 408 if the client is too slow, 503 if there is no memory for a large body.
    pub(super) async fn read(&self, request: Request) -> Result<(Result<Bytes, BytesRejection>, Reserved), ApiError> {
        let reserved = self.reserve(request.body().size_hint().upper()).await?;
        let bytes = timeout(BODY_TIMEOUT, Bytes::from_request(request, &())).await.map_err(|_| ApiError::timeout())?;
        Ok((bytes, reserved))
    }

    /// Reserves memory for a body of at most `declared` bytes. A body of unknown size may be the largest one.
    async fn reserve(&self, declared: Option<u64>) -> Result<Reserved, ApiError> {
        let bytes = declared.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(self.largest);
        // A body that is too large is refused when it is read.
        if bytes <= SMALL || (bytes > self.largest && declared.is_some()) {
            return Ok(Reserved(None));
        }
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        match timeout(self.wait, self.room.clone().acquire_many_owned(units)).await {
            Ok(Ok(permit)) => Ok(Reserved(Some(permit))),
            _ => {
                let message = "Too many large requests are being processed. Try again in a moment.";
                Err(ApiError::refused(StatusCode::SERVICE_UNAVAILABLE, "TOO_MANY_LARGE_BODIES", message))
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MEGABYTE: u64 = 1024 * 1024;

    #[tokio::test]
    async fn large_bodies_share_their_memory() {
        let memory = BodyMemory { wait: Duration::ZERO, ..BodyMemory::new(4 * MEGABYTE as usize, 6 * MEGABYTE as usize) };
        let first = memory.reserve(None).await.unwrap();
        assert_eq!(memory.reserve(Some(3 * MEGABYTE)).await.unwrap_err().code(), "TOO_MANY_LARGE_BODIES");
        let second = memory.reserve(Some(2 * MEGABYTE)).await.unwrap();
        for small in [0, MEGABYTE, 5 * MEGABYTE] {
            memory.reserve(Some(small)).await.unwrap();
        }
        drop(first);
        memory.reserve(Some(4 * MEGABYTE)).await.unwrap();
        drop(second);
        assert_eq!(memory.room.available_permits(), 6 * 1024);
    }
}
