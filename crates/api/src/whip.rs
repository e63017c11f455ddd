//! WebRTC signaling over HTTP, based on WHIP (RFC 9725): offer, trickle, ICE restart and delete.
//!
//! This module handles HTTP and callers. The crate `signaling` handles WebRTC.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use signaling::{Answer, OfferError, PatchError, PatchOutcome};

use crate::{
    auth::{Identity, Reader},
    body,
    error::ApiError,
    event_log::{EventStream, Signaling},
    ice::IceServers,
    rate::CallerLimits,
};
use recall_domain::SessionId;

const SDP: &str = "application/sdp";
const FRAGMENT: &str = "application/trickle-ice-sdpfrag";

/// Additional requests that an offer or a restart counts as: each generates keys and creates a peer.
const OFFER_EXTRA_REQUESTS: u32 = 9;

/// State of the signaling routes.
#[derive(Clone)]
pub(crate) struct Whip {
    pub(crate) signaling: Arc<Signaling>,
    limits: Arc<CallerLimits>,
    ice_servers: IceServers,
}

impl Whip {
    pub(crate) fn new(signaling: Arc<Signaling>, ice_servers: IceServers, limits: Arc<CallerLimits>) -> Self {
        Self { signaling, limits, ice_servers }
    }
}

impl Whip {
    /// Adds `Link` headers for the STUN and TURN servers.
    fn add_ice_server_links(&self, headers: &mut HeaderMap) {
        for link in self.ice_servers.links() {
            headers.append(header::LINK, link);
        }
    }
}

/// Returns the STUN and TURN servers, and the allowed methods and types (RFC 9725, section 4.6).
///
/// Clients can read the servers here before they send an offer. The response does not depend on the session.
#[utoipa::path(
    options, path = "/signaling/{session_id}", operation_id = "listIceServers", tag = "events", security((), ("token" = ["recall.read"])), params(("session_id" = String, Path, description = "A session of the caller or of shared memory.", format = Uuid)),
    responses((status = 204, description = "The servers.", headers(("Link" = String, description = "A server, with `rel=\"ice-server\"`."))))
)]
pub(crate) async fn options(State(whip): State<Whip>, Reader(_identity): Reader) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, HeaderValue::from_static("OPTIONS, POST"));
    headers.insert("accept-post", HeaderValue::from_static(SDP));
    whip.add_ice_server_links(headers);
    response
}

/// An answered offer.
pub(crate) struct AnsweredOffer {
    pub(crate) peer_id: String,
    pub(crate) answer: String,
    pub(crate) etag: String,
    pub(crate) location: String,
}

/// Answers an offer for the events of a session in own or shared memory.
pub(crate) async fn offer(
    signaling: &Arc<Signaling>,
    limits: &CallerLimits,
    identity: &Identity,
    session: SessionId,
    offer: &str,
) -> Result<AnsweredOffer, ApiError> {
    // Counted before the offer is parsed.
    limits.charge_extra(identity.caller, OFFER_EXTRA_REQUESTS).await?;
    let own = EventStream::of(identity.caller, session);
    let answer = match (offer_for_stream(signaling, limits, identity, own, offer).await?, own.shared()) {
        (Err(OfferError::UnknownStream), Some(shared)) => offer_for_stream(signaling, limits, identity, shared, offer).await??,
        (answer, _) => answer?,
    };
    let location = format!("/signaling/{session}/{}", answer.peer_id);
    Ok(AnsweredOffer { location, peer_id: answer.peer_id, answer: answer.sdp, etag: answer.etag })
}

async fn offer_for_stream(
    signaling: &Arc<Signaling>,
    limits: &CallerLimits,
    identity: &Identity,
    stream: EventStream,
    offer: &str,
) -> Result<Result<Answer, OfferError>, ApiError> {
    let (lease, open) = (identity.lease(), limits.stream(identity.caller)?);
    // `signaling` drops this future with the peer, which ends the count of the stream.
    let end = async move {
        let _open = open;
        lease.ended().await;
    };
    Ok(signaling.offer_until(stream, offer, end).await)
}

impl From<OfferError> for ApiError {
    fn from(error: OfferError) -> Self {
        let status = match &error {
            OfferError::UnknownStream => return Self::not_found("session"),
            OfferError::Unavailable(_) => return Self::unavailable(std::time::Duration::from_secs(1), Arc::new(error) as Arc<_>),
            OfferError::BadSdp(_) | OfferError::NoDataChannel => StatusCode::BAD_REQUEST,
            OfferError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            OfferError::TooManyPeers { .. } | OfferError::TooManyPeersForStream { .. } => StatusCode::TOO_MANY_REQUESTS,
        };
        Self::refused(status, error.code(), sentence(&error.to_string()))
    }
}

impl From<PatchError> for ApiError {
    fn from(error: PatchError) -> Self {
        let status = match &error {
            PatchError::UnknownPeer => return Self::not_found("peer"),
            PatchError::Unavailable(_) => return Self::unavailable(std::time::Duration::from_secs(1), Arc::new(error) as Arc<_>),
            PatchError::PreconditionRequired => StatusCode::PRECONDITION_REQUIRED,
            PatchError::PreconditionFailed { .. } => StatusCode::PRECONDITION_FAILED,
            PatchError::BadFragment(_) => StatusCode::BAD_REQUEST,
            PatchError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        };
        Self::refused(status, error.code(), sentence(&error.to_string()))
    }
}

/// Returns a message of the crate as a sentence. Its messages are for logs: lower case, without a full stop.
fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map(|first| format!("{}{}.", first.to_uppercase(), chars.as_str())).unwrap_or_default()
}

fn read_session_id(text: &str) -> Result<SessionId, ApiError> {
    text.parse().map_err(|_| ApiError::not_found("session"))
}

/// Answers a WebRTC offer for the events of a session.
#[utoipa::path(
    post, path = "/signaling/{session_id}", operation_id = "openPeer", tag = "events", security((), ("token" = ["recall.read"])), params(("session_id" = String, Path, description = "A session of the caller or of shared memory.", format = Uuid)),
    request_body(content = String, content_type = "application/sdp", description = "The offer."),
    responses((
        status = 201, description = "The answer.", body = String, content_type = "application/sdp",
        headers(("Location" = String, description = "The peer."), ("ETag" = String, description = "The ICE session."))
    ))
)]
pub(crate) async fn post(
    State(whip): State<Whip>,
    Reader(identity): Reader,
    Path(id): Path<String>,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let sdp = body::text(&headers, SDP, bytes)?;
    let opened = offer(&whip.signaling, &whip.limits, &identity, read_session_id(&id)?, &sdp).await?;
    let mut response = (StatusCode::CREATED, opened.answer).into_response();
    let answer = response.headers_mut();
    answer.insert(header::CONTENT_TYPE, HeaderValue::from_static(SDP));
    answer.insert(header::LOCATION, header_value(&opened.location)?);
    answer.insert(header::ETAG, header_value(&opened.etag)?);
    answer.insert("accept-patch", HeaderValue::from_static(FRAGMENT));
    whip.add_ice_server_links(answer);
    Ok(response)
}

/// Adds candidates to a peer, or restarts its ICE.
#[utoipa::path(
    patch, path = "/signaling/{session_id}/{peer_id}", operation_id = "changePeer", tag = "events", security((), ("token" = ["recall.read"])),
    params(("session_id" = String, Path, description = "A session of the caller or of shared memory.", format = Uuid), ("peer_id" = String, Path, description = "The peer, from `Location` of the answer."), ("If-Match" = String, Header, description = "The ICE session, from `ETag`.")),
    request_body(content = String, content_type = "application/trickle-ice-sdpfrag", description = "Candidates, or new credentials."),
    responses(
        (status = 200, description = "ICE was restarted.", body = String, content_type = "application/trickle-ice-sdpfrag"),
        (status = 204, description = "The candidates were added."),
    )
)]
pub(crate) async fn patch(
    State(whip): State<Whip>,
    Reader(identity): Reader,
    Path((id, peer)): Path<(String, String)>,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let fragment = body::text(&headers, FRAGMENT, bytes)?;
    let own = EventStream::of(identity.caller, read_session_id(&id)?);
    let tag = headers.get(header::IF_MATCH).and_then(|v| v.to_str().ok());
    let patched = match (whip.signaling.patch(&own, &peer, tag, &fragment).await, own.shared()) {
        (Err(PatchError::UnknownPeer), Some(shared)) => whip.signaling.patch(&shared, &peer, tag, &fragment).await?,
        (patched, _) => patched?,
    };
    match patched {
        PatchOutcome::Candidates { .. } => Ok(StatusCode::NO_CONTENT.into_response()),
        PatchOutcome::Restarted { sdp_fragment, etag } => {
            // The restart is done already. A caller over the limit is refused at the next request.
            let _ = whip.limits.charge_extra(identity.caller, OFFER_EXTRA_REQUESTS).await;
            let mut response = sdp_fragment.into_response();
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(FRAGMENT));
            response.headers_mut().insert(header::ETAG, header_value(&etag)?);
            Ok(response)
        }
    }
}

/// Closes a peer.
#[utoipa::path(
    delete, path = "/signaling/{session_id}/{peer_id}", operation_id = "closePeer", tag = "events", security((), ("token" = ["recall.read"])), params(("session_id" = String, Path, description = "A session of the caller or of shared memory.", format = Uuid), ("peer_id" = String, Path, description = "The peer, from `Location` of the answer.")),
    responses((status = 200, description = "The peer is closed."))
)]
pub(crate) async fn delete(
    State(whip): State<Whip>,
    Reader(identity): Reader,
    Path((id, peer)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let own = EventStream::of(identity.caller, read_session_id(&id)?);
    let delete = |stream: EventStream| whip.signaling.delete(&stream, &peer);
    if delete(own) || own.shared().is_some_and(delete) { Ok(StatusCode::OK) } else { Err(ApiError::not_found("peer")) }
}

fn header_value(text: &str) -> Result<HeaderValue, ApiError> {
    HeaderValue::from_str(text).map_err(|e| ApiError::internal(Arc::new(e) as Arc<_>))
}
