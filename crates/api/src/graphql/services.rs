//! What resolvers need in addition to the use cases.

use std::sync::Arc;

use crate::{
    audit::Auditor,
    auth::{personal::AccessTokens, token::revocations::Revocations},
    event_log::{EventHub, Signaling},
    ice::IceServers,
};
use recall_ports::{FrontEndStore, GraphQueries};

/// Dependencies of operations on event streams.
pub(crate) struct Streams {
    pub(crate) hub: Arc<EventHub>,
    pub(crate) signaling: Arc<Signaling>,
    pub(crate) ice_servers: IceServers,
}

/// The services of the resolvers.
pub(crate) struct Services {
    pub(crate) graph: Arc<dyn GraphQueries>,
    pub(crate) streams: Streams,
    pub(crate) access_tokens: AccessTokens,
    pub(crate) front_ends: Arc<dyn FrontEndStore>,
    pub(crate) revocations: Revocations,
    pub(crate) auditor: Auditor,
}
