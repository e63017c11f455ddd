//! Mutation that opens a WebRTC event stream, for clients that use only GraphQL.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::{
    error::NOT_FOUND,
    graphql::{
        model::{UserError, split_user_errors},
        scope::{Needs, limits, read_id, scope, service},
        services::Streams,
    },
    ice, whip,
};
use recall_domain::SessionId;

/// A WebRTC offer for the events of a session.
#[derive(InputObject)]
pub(crate) struct OpenEventStreamInput {
    /// The id of the session.
    session_id: ID,
    /// The session description (SDP) with one data channel. Create the channel `events` before the offer.
    offer: String,
}

/// The result of `openEventStream`.
#[derive(SimpleObject)]
pub(crate) struct OpenEventStreamPayload {
    /// The id of the connection on this server.
    peer_id: Option<String>,
    /// The server's session description (SDP).
    answer: Option<String>,
    /// The address for trickled candidates (`PATCH`) and for closing the connection (`DELETE`).
    location: Option<String>,
    /// The entity tag that a `PATCH` must send in `If-Match`.
    etag: Option<String>,
    /// STUN and TURN servers that the client can use.
    ice_servers: Vec<IceServer>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// A STUN or TURN server.
#[derive(SimpleObject)]
pub(crate) struct IceServer {
    /// The addresses, such as `stun:stun.example.org:3478`.
    urls: Vec<String>,
    /// The user name, for TURN.
    username: Option<String>,
    /// The password, for TURN.
    credential: Option<String>,
}

#[derive(Default)]
pub(super) struct StreamMutations;

#[Object]
impl StreamMutations {
    /// Answers a WebRTC offer for the event stream of a session. Equivalent to `POST /signaling/{session_id}`.
    #[graphql(complexity = "50 + child_complexity", guard = "Needs::Read")]
    async fn open_event_stream(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session and the offer.")] input: OpenEventStreamInput,
    ) -> async_graphql::Result<OpenEventStreamPayload> {
        let s = scope(ctx)?;
        let streams = service::<Streams>(ctx)?;
        let open = async {
            let session: SessionId = read_id(&input.session_id, "input.sessionId")?;
            whip::offer(&streams.signaling, limits(ctx)?, s.identity(), session, &input.offer).await.map_err(|e| {
                let path = if e.code() == NOT_FOUND { "input.sessionId" } else { "input.offer" };
                e.at(path)
            })
        };
        let (opened, errors) = split_user_errors(open.await)?;
        let Some(opened) = opened else {
            return Ok(OpenEventStreamPayload { peer_id: None, answer: None, location: None, etag: None, ice_servers: Vec::new(), errors });
        };
        let server = |i: &ice::IceServer| IceServer {
            urls: vec![i.url.clone()],
            username: i.credentials.as_ref().map(|(name, _)| name.clone()),
            credential: i.credentials.as_ref().map(|(_, secret)| secret.clone()),
        };
        Ok(OpenEventStreamPayload {
            location: Some(opened.location),
            peer_id: Some(opened.peer_id),
            answer: Some(opened.answer),
            etag: Some(opened.etag),
            ice_servers: streams.ice_servers.now().iter().map(server).collect(),
            errors,
        })
    }
}
