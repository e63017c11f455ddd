//! Bounds the memory that long chat requests take. A request can carry images, and many clients may send theirs at the same time.

use std::time::Duration;

use axum::http::{HeaderMap, header};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use crate::error::ApiError;
use recall_ports::ChatFailure;

/// Bytes of long requests that are held at the same time.
const TOTAL_BYTES: usize = 256 * 1024 * 1024;
/// A request up to this size is not counted. The limits of callers bound how many there are.
const SMALL_BYTES: usize = 1024 * 1024;
/// The unit of the semaphore, because it counts 32 bits.
const UNIT: usize = 1024;
/// Longest wait until other requests are forwarded.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Room for the bodies of chat requests.
pub(super) struct Room {
    units: Semaphore,
    /// Maximum bytes of one request.
    request_bytes: usize,
    max_wait: Duration,
}

impl Room {
    /// Creates the room for requests of up to `request_bytes`, at least for one.
    pub(super) fn new(request_bytes: usize) -> Self {
        Self { units: Semaphore::new(TOTAL_BYTES.max(request_bytes).div_ceil(UNIT)), request_bytes, max_wait: MAX_WAIT }
    }

    /// Reserves room for a request, until the result is dropped. A small request needs none.
    ///
    /// # Errors
    /// [`ChatFailure::Busy`] if there is none in time.
    pub(super) async fn reserve(&self, headers: &HeaderMap) -> Result<Option<SemaphorePermit<'_>>, ApiError> {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        // Without a length, the body may be as long as allowed. A longer one is refused while it is read.
        let bytes = length.unwrap_or(self.request_bytes).min(self.request_bytes);
        if bytes <= SMALL_BYTES {
            return Ok(None);
        }
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let permit = timeout(self.max_wait, self.units.acquire_many(units)).await;
        permit.ok().and_then(Result::ok).map(Some).ok_or_else(|| ChatFailure::Busy.into())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of_length(bytes: usize) -> HeaderMap {
        HeaderMap::from_iter([(header::CONTENT_LENGTH, bytes.to_string().parse().unwrap())])
    }

    #[tokio::test]
    async fn long_requests_wait_until_others_are_done() {
        let room = Room { max_wait: Duration::ZERO, ..Room::new(TOTAL_BYTES / 2) };
        let one = room.reserve(&of_length(TOTAL_BYTES / 2)).await.unwrap();
        // Without a length, the request counts as the longest.
        let two = room.reserve(&HeaderMap::new()).await.unwrap();
        assert!(one.is_some() && two.is_some());
        assert!(room.reserve(&of_length(SMALL_BYTES)).await.unwrap().is_none(), "a small request waits");
        assert_eq!(room.reserve(&of_length(SMALL_BYTES + 1)).await.err().unwrap().code(), "UPSTREAM_BUSY");
        drop(one);
        assert!(room.reserve(&of_length(usize::MAX)).await.unwrap().is_some(), "an untrue length takes more than allowed");
    }
}
