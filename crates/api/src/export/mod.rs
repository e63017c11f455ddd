//! `GET /export`: returns the caller's data as an archive for `recall import`. It contains no data of other users.

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

use self::slots::{ExportSlot, ExportSlots};
use super::{audit::Auditor, auth::Reader, error::ApiError};
use recall_domain::{AuditAction, UserId, ViewerRole};
use recall_ports::{
    Archive, Inspect, Store, StoreError,
    archive::{Header, Line, Lines, Snapshot, line::VERSION},
};
use recall_usecases::UseCases;

/// Maximum number of running exports. Each holds a file, and no database connection once the file is written.
const MAX_EXPORTS: usize = 32;
/// Maximum number of exports that read from the database. Each holds a connection.
const MAX_READERS: usize = 2;
/// Maximum wait for such a connection; shorter than the timeout of a request.
const READER_TIMEOUT: Duration = Duration::from_secs(15);
/// Number of records read at a time.
const PAGE_RECORDS: u32 = 200;
/// Maximum number of chunks that wait for the client.
const MAX_PENDING_CHUNKS: usize = 2;
/// Maximum wait for a client to read one chunk.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(20);
const MAX_DURATION: Duration = Duration::from_secs(3_600);
/// When a client without a slot should try again.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Dependencies and limits of exports.
pub(crate) struct Exports {
    usecases: UseCases,
    archive: Arc<dyn Archive>,
    inspect: Arc<dyn Inspect>,
    auditor: Auditor,
    /// Folder for the temporary files.
    folder: PathBuf,
    slots: Arc<ExportSlots>,
    readers: Arc<Semaphore>,
}

impl Exports {
    pub(crate) fn new(usecases: UseCases, store: &Arc<dyn Store>, auditor: Auditor, folder: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            usecases,
            archive: store.clone(),
            inspect: store.clone(),
            auditor,
            folder,
            slots: ExportSlots::new(MAX_EXPORTS),
            readers: Arc::new(Semaphore::new(MAX_READERS)),
        })
    }

    /// Waits for permission to read from the database.
    async fn reader_permit(&self) -> Option<OwnedSemaphorePermit> {
        timeout(READER_TIMEOUT, self.readers.clone().acquire_owned()).await.ok()?.ok()
    }
}

/// Exports all data of the caller.
///
/// Streams it as fast as the client reads. If it is cut off, the last line is missing.
#[utoipa::path(
    get, path = "/export", operation_id = "exportData", tag = "memory", security((), ("token" = ["recall.read"])),
    responses((status = 200, description = "An archive that `recall import` reads, one JSON object a line.", body = String, content_type = "application/x-ndjson"))
)]
pub(crate) async fn get(State(exports): State<Arc<Exports>>, Reader(identity): Reader) -> Result<Response, ApiError> {
    if identity.caller.role() == ViewerRole::Anonymous {
        // Anonymous clients could delay everyone else and fill the audit log.
        let message = "Visitors cannot export. Log in, adopt the visit into your account, and export that.";
        return Err(ApiError::refused(StatusCode::FORBIDDEN, "FORBIDDEN", message));
    }
    let user = identity.caller.user();
    let refused = || ApiError::rate_limited(RETRY_AFTER);
    let slot = exports.slots.take(user, Instant::now()).ok_or_else(refused)?;
    let reader_permit = exports.reader_permit().await.ok_or_else(refused)?;
    if exports.usecases.account_deletion(&identity.caller).await?.is_some_and(|deletion| deletion.ended_at.is_none()) {
        return Err(StoreError::BeingErased.into());
    }
    let snapshot = match exports.archive.snapshot(user).await {
        Err(StoreError::NotFound) => None,
        snapshot => Some(exports.usecases.whole_snapshot(snapshot?)),
    };
    // Other users must not learn the id of the local user.
    let local = exports.inspect.local_user().await?;
    let local_user = if local == user { local } else { UserId(Uuid::nil()) };
    let now = exports.usecases.now();
    exports.auditor.note_request(now, &identity, AuditAction::DataExported, Some(user.to_string())).await;
    let spooled = spool::open(exports.folder.clone()).await;
    let (writer, reader) = spooled.map_err(|e| ApiError::internal(Arc::new(e) as Arc<_>))?;

    let header = Header { version: VERSION, program: env!("CARGO_PKG_VERSION").to_owned(), exported_at: now, local_user };
    let (chunks, pending) = mpsc::channel(MAX_PENDING_CHUNKS);
    exports.usecases.background_tasks().run(async move {
        let write = async {
            let done = write_archive(header, snapshot, writer).await;
            drop(reader_permit);
            done
        };
        let both = timeout(MAX_DURATION, async { tokio::try_join!(write, send_archive(reader, &chunks, &slot)) });
        let is_whole = tokio::select! {
            both = both => matches!(both, Ok(Ok(_))),
            () = slot.evicted() => false,
        };
        if !is_whole {
            tracing::warn!("an export ended early");
            // Frees the slot before the wait below, so that the user can start another export.
            drop(slot);
            // Without this error the client would see a regular end of the body.
            let _ = timeout(CLIENT_TIMEOUT, chunks.send(Err(std::io::Error::other("the export was cut off")))).await;
        }
    });
    let body = Body::from_stream(futures_util::stream::unfold(pending, async |mut pending| Some((pending.recv().await?, pending))));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"recall.jsonl\""));
    Ok(response)
}

type ChunkSender = mpsc::Sender<Result<Bytes, std::io::Error>>;
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Writes the snapshot to the file. The database connection is free afterwards.
async fn write_archive(header: Header, snapshot: Option<Box<dyn Snapshot>>, mut file: spool::Writer) -> Result<(), BoxError> {
    let (mut lines, first) = Lines::begin(header);
    file.append(&first).await?;
    if let Some(mut snapshot) = snapshot {
        file.append(&lines.next(&Line::User(snapshot.owner()))).await?;
        loop {
            let page = snapshot.next(PAGE_RECORDS).await?;
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

/// Sends the file to the client.
async fn send_archive(mut file: spool::Reader, chunks: &ChunkSender, slot: &ExportSlot) -> Result<(), BoxError> {
    while let Some(chunk) = file.next().await? {
        let bytes = chunk.len();
        timeout(CLIENT_TIMEOUT, chunks.send(Ok(chunk))).await??;
        slot.add_sent_bytes(bytes);
    }
    Ok(())
}
