//! `GET /export`: all that is kept of the caller, as the archive that `recall import` reads. Nothing of anybody else is in it.

mod slots;
mod spool;

use std::{path::PathBuf, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{Instant, timeout},
};
use uuid::Uuid;

use self::slots::{ExportSlots, Place};
use super::{audit::Auditor, auth::Reader, error::ApiError};
use recall_domain::{AuditAction, UserId, ViewerRole};
use recall_ports::{
    StoreError,
    archive::{Header, Line, Lines, Snapshot, line::VERSION},
};
use recall_usecases::UseCases;

/// Exports at a time that clients take. Each holds a file, and no connection to the database once that is written.
const AT_ONCE: usize = 32;
/// Exports at a time that are read from the database: each holds a connection to it.
const READ_AT_ONCE: usize = 2;
/// Longest wait for one of these connections; less than a request may take to its head.
const READ_WITHIN: Duration = Duration::from_secs(15);
/// Records read at once.
const PAGE: u32 = 200;
/// Pieces that may wait for a client.
const AHEAD: usize = 2;
/// Longest wait for a client to take a piece, and for all of it.
const SILENCE: Duration = Duration::from_secs(20);
const LONGEST: Duration = Duration::from_secs(3_600);
/// When one who found no place should come again.
const RETRY: Duration = Duration::from_secs(30);

/// What exports work with.
pub(crate) struct Exports {
    usecases: UseCases,
    auditor: Auditor,
    /// Where files are kept until clients have taken them.
    folder: PathBuf,
    slots: Arc<ExportSlots>,
    readers: Arc<Semaphore>,
}

impl Exports {
    pub(crate) fn new(usecases: UseCases, auditor: Auditor, folder: PathBuf) -> Arc<Self> {
        Arc::new(Self { usecases, auditor, folder, slots: ExportSlots::new(AT_ONCE), readers: Arc::new(Semaphore::new(READ_AT_ONCE)) })
    }

    /// A turn to read from the database.
    async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        timeout(READ_WITHIN, self.readers.clone().acquire_owned()).await.ok()?.ok()
    }
}

/// Begins an export. What follows after its head comes as fast as the client takes it; if it breaks off, the last line is missing.
pub(crate) async fn get(State(exports): State<Arc<Exports>>, Reader(identity): Reader) -> Result<Response, ApiError> {
    if identity.caller.role() == ViewerRole::Anonymous {
        // Strangers could keep everybody else waiting, and fill the audit log.
        let message = "Visitors cannot export. Log in, take the visit into your account, and export that.";
        return Err(ApiError::refused(StatusCode::FORBIDDEN, "FORBIDDEN", message));
    }
    let user = identity.caller.user();
    let refused = || ApiError::rate_limited(RETRY);
    let place = exports.slots.take(user, Instant::now()).ok_or_else(refused)?;
    let turn = exports.turn().await.ok_or_else(refused)?;
    let store = exports.usecases.store();
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
    let now = exports.usecases.now();
    exports.auditor.of_request(now, &identity, AuditAction::DataExported, Some(user.to_string())).await;
    let spooled = spool::open(exports.folder.clone()).await;
    let (writer, reader) = spooled.map_err(|e| ApiError::internal(Arc::new(e) as Arc<_>))?;

    let header = Header { version: VERSION, program: env!("CARGO_PKG_VERSION").to_owned(), exported_at: now, local_user };
    let (pieces, taken) = mpsc::channel(AHEAD);
    exports.usecases.background_tasks().run(async move {
        let write = async {
            let done = write(header, snapshot, writer).await;
            drop(turn);
            done
        };
        let both = timeout(LONGEST, async { tokio::try_join!(write, give(reader, &pieces, &place)) });
        let is_whole = tokio::select! {
            both = both => matches!(both, Ok(Ok(_))),
            () = place.lost() => false,
        };
        if !is_whole {
            tracing::warn!("an export was not taken to its end");
            // Another export of the user may begin, and need not wait for the client of this one.
            drop(place);
            // Without it the client would take the end of the body for the end of the archive.
            let _ = timeout(SILENCE, pieces.send(Err(std::io::Error::other("the export was cut off")))).await;
        }
    });
    let body = Body::from_stream(futures_util::stream::unfold(taken, async |mut taken| Some((taken.recv().await?, taken))));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"recall.jsonl\""));
    Ok(response)
}

type Pieces = mpsc::Sender<Result<Bytes, std::io::Error>>;
type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Reads the snapshot into the file. Its connection is free when this has ended.
async fn write(header: Header, snapshot: Option<Box<dyn Snapshot>>, mut file: spool::Writer) -> Result<(), Failed> {
    let (mut lines, first) = Lines::begin(header);
    file.append(&first).await?;
    if let Some(mut snapshot) = snapshot {
        file.append(&lines.next(&Line::User(snapshot.owner()))).await?;
        loop {
            let page = snapshot.next(PAGE).await?;
            if page.is_empty() {
                break;
            }
            let page: String = page.into_iter().map(|record| lines.next(&Line::Record(record))).collect();
            file.append(&page).await?;
        }
    }
    file.append(&lines.end()).await?;
    file.finish();
    Ok(())
}

/// Gives the file to the client.
async fn give(mut file: spool::Reader, pieces: &Pieces, place: &Place) -> Result<(), Failed> {
    while let Some(piece) = file.next().await? {
        let bytes = piece.len();
        timeout(SILENCE, pieces.send(Ok(piece))).await??;
        place.took(bytes);
    }
    Ok(())
}
