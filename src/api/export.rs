//! `GET /export`: all that is kept of the caller, as the archive that `recall import` reads. Nothing of anybody else is in it.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::timeout,
};
use uuid::Uuid;

use super::{audit::Auditor, auth::Reader, error::ApiError};
use crate::{
    conversation::Conversation,
    domain::{AuditAction, UserId, ViewerRole},
    ports::{
        StoreError,
        archive::{Header, Line, Lines, Snapshot, line::VERSION},
    },
};

/// Exports at a time: each holds a connection to the database.
const AT_ONCE: usize = 2;
/// Records read at once.
const PAGE: u32 = 200;
/// Pages that may wait for a client.
const AHEAD: usize = 2;
/// Longest wait for a client to take a page, and for all of it.
const SILENCE: Duration = Duration::from_secs(20);
const LONGEST: Duration = Duration::from_secs(900);
/// When one who found no place should come again.
const RETRY: Duration = Duration::from_secs(30);

/// What exports work with.
pub(crate) struct Exports {
    conversation: Conversation,
    auditor: Auditor,
    places: Arc<Semaphore>,
    running: Mutex<HashSet<UserId>>,
}

impl Exports {
    pub(crate) fn new(conversation: Conversation, auditor: Auditor) -> Arc<Self> {
        Arc::new(Self { conversation, auditor, places: Arc::new(Semaphore::new(AT_ONCE)), running: Mutex::default() })
    }

    /// A place, unless all are taken or the user has one.
    fn place(self: &Arc<Self>, user: UserId) -> Option<Place> {
        let permit = self.places.clone().try_acquire_owned().ok()?;
        let new = self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(user);
        new.then(|| Place { exports: self.clone(), user, _permit: permit })
    }
}

/// A running export.
struct Place {
    exports: Arc<Exports>,
    user: UserId,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.exports.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.user);
    }
}

/// Begins an export. What follows after its head comes as fast as the client takes it; if it breaks off, the last line is missing.
pub(crate) async fn get(State(exports): State<Arc<Exports>>, Reader(identity): Reader) -> Result<Response, ApiError> {
    if identity.caller.role() == ViewerRole::Anonymous {
        // Strangers could keep everybody else waiting, and fill the audit log.
        let message = "Log in and take the visit into your account; then export that.";
        return Err(ApiError::refused(StatusCode::FORBIDDEN, "FORBIDDEN", message));
    }
    let user = identity.caller.user();
    let place = exports.place(user).ok_or_else(|| ApiError::rate_limited(RETRY))?;
    let store = exports.conversation.store();
    if store.erasure(&identity.caller).await?.is_some_and(|erasure| erasure.ended_at.is_none()) {
        return Err(StoreError::BeingErased.into());
    }
    let snapshot = match store.snapshot(user).await {
        Err(StoreError::NotFound) => None,
        snapshot => Some(snapshot?),
    };
    // Who the user of the installation without login is, is nobody else's business.
    let local = store.local_user().await?;
    let local_user = if local == user { local } else { UserId(Uuid::nil()) };
    let now = exports.conversation.now();
    exports.auditor.of_request(now, &identity, AuditAction::DataExported, Some(user.to_string())).await;

    let header = Header { version: VERSION, program: env!("CARGO_PKG_VERSION").to_owned(), exported_at: now, local_user };
    let (pages, taken) = mpsc::channel(AHEAD);
    exports.conversation.errands().run(async move {
        let _place = place;
        let whole = timeout(LONGEST, write(header, snapshot, &pages)).await;
        if !matches!(whole, Ok(Ok(()))) {
            tracing::warn!("an export was not taken to its end");
            // Without it the client would take the end of the body for the end of the archive.
            let _ = timeout(SILENCE, pages.send(Err(std::io::Error::other("the export was cut off")))).await;
        }
    });
    let body = Body::from_stream(futures_util::stream::unfold(taken, async |mut taken| Some((taken.recv().await?, taken))));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"recall.jsonl\""));
    Ok(response)
}

type Pages = mpsc::Sender<Result<Bytes, std::io::Error>>;

async fn write(header: Header, snapshot: Option<Box<dyn Snapshot>>, pages: &Pages) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let send = async |text: String| timeout(SILENCE, pages.send(Ok(text.into()))).await;
    let (mut lines, first) = Lines::begin(header);
    send(first).await??;
    if let Some(mut snapshot) = snapshot {
        send(lines.next(&Line::User(snapshot.owner()))).await??;
        loop {
            let page = snapshot.next(PAGE).await?;
            if page.is_empty() {
                break;
            }
            send(page.into_iter().map(|record| lines.next(&Line::Record(record))).collect()).await??;
        }
    }
    send(lines.end()).await??;
    Ok(())
}
