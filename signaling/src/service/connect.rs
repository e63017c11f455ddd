//! Builds the WebRTC connection of a peer from its offer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rtc::crypto::{RTCCryptoProvider, SignatureScheme};
use rtc::ice::mdns::MulticastDnsMode;
use rtc::peer_connection::certificate::CertificateParams;
use rtc::peer_connection::transport::RTCDtlsRole;
use tokio::sync::mpsc;
use webrtc::peer_connection::{
    PeerConnection, PeerConnectionBuilder, RTCCertificate, RTCConfigurationBuilder, RTCSessionDescription, SettingEngineBuilder,
};

use super::Signaling;
use crate::callbacks::{PeerEvent, PeerHandler};
use crate::error::BindError;
use crate::mux::Attachment;
use crate::peer::STACK_LIMIT;
use crate::sdp::{self, IceCredentials, Offer};
use crate::source::EventSource;

/// The stack's defaults are 5 s, 25 s and 2 s: too slow to detect a closed client.
const ICE_DISCONNECTED: Duration = Duration::from_secs(2);
const ICE_FAILED: Duration = Duration::from_secs(4);
const ICE_KEEPALIVE: Duration = Duration::from_millis(500);
/// Timeout for gathering the stack's own candidate, which is fast and needs no network.
///
/// Without the candidate the stack would drop the client's first checks, and the client repeats them
/// only later.
const GATHERING_TIMEOUT: Duration = Duration::from_secs(1);

/// A peer whose offer was answered.
pub(super) struct ConnectedPeer {
    pub(super) connection: Connection,
    pub(super) attachment: Attachment,
    pub(super) events: mpsc::Receiver<PeerEvent>,
    pub(super) sdp: String,
    /// ICE user name fragment of the answer.
    pub(super) fragment: String,
}

/// A connection that closes when it is dropped.
///
/// The stack's own handle would leave its driver running, with all memory of the peer.
pub(super) struct Connection {
    stack: Arc<dyn PeerConnection>,
    closed: AtomicBool,
}

impl Connection {
    pub(super) async fn close(&self) {
        if !self.closed.swap(true, Ordering::AcqRel)
            && let Err(error) = self.stack.close().await
        {
            tracing::debug!(%error, "a peer connection did not close cleanly");
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let open = !self.closed.swap(true, Ordering::AcqRel);
        if open && let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let stack = self.stack.clone();
            runtime.spawn(async move {
                let _ = stack.close().await;
            });
        }
    }
}

/// Generates the certificate for all peers of this process.
///
/// Generating one costs more than the rest of an answer, and clients pin its fingerprint per
/// connection anyway.
pub(super) fn certificate(crypto: &dyn RTCCryptoProvider) -> Result<RTCCertificate, BindError> {
    RTCCertificate::generate(crypto.crypto(), SignatureScheme::EcdsaP256Sha256, CertificateParams::default())
        .map_err(|error| BindError::Crypto(error.to_string()))
}

impl<S: EventSource> Signaling<S> {
    /// Builds a connection and answers the offer. The error is a sentence for the log and the client.
    pub(super) async fn connect(&self, offer: &Offer) -> Result<ConnectedPeer, String> {
        let attachment = self.mux.attach();
        let (sender, mut events) = mpsc::channel(PeerHandler::QUEUE);
        let settings = SettingEngineBuilder::new()
            .with_crypto_provider(self.crypto.clone())
            .with_multicast_dns_mode(MulticastDnsMode::Disabled)
            .with_ice_timeouts(Some(ICE_DISCONNECTED), Some(ICE_FAILED), Some(ICE_KEEPALIVE))
            // As DTLS client, the server would send its ClientHello before the path works, and repeat
            // it only after a timeout.
            .with_answering_dtls_role(RTCDtlsRole::Server)
            .with_include_loopback_candidate(true)
            .build();
        let configuration = RTCConfigurationBuilder::new().with_certificates(vec![self.certificate.clone()]).build();
        let connection = PeerConnectionBuilder::new()
            .with_configuration(configuration)
            .with_setting_engine(settings)
            .with_handler(Arc::new(PeerHandler(sender)))
            .with_runtime(attachment.runtime())
            .with_udp_addrs(vec![self.assumed_address()])
            .with_data_channel_send_buffer_limit(STACK_LIMIT)
            .build()
            .await
            .map_err(text)?;
        let connection = Connection { stack: Arc::new(connection), closed: AtomicBool::new(false) };
        let (sdp, local) = answer(&connection, offer, 1).await?;
        attachment.register(&local.fragment, &local.password);
        let gathered = async {
            while let Some(event) = events.recv().await {
                if matches!(event, PeerEvent::Gathered) {
                    break;
                }
            }
        };
        if tokio::time::timeout(GATHERING_TIMEOUT, gathered).await.is_err() {
            tracing::warn!("the WebRTC stack did not finish gathering in time");
        }
        Ok(ConnectedPeer { connection, attachment, events, sdp, fragment: local.fragment })
    }
}

/// Restarts ICE for a client with new credentials. Returns the new local credentials.
pub(super) async fn restart(connection: &Connection, offer: &Offer, generation: u32) -> Result<IceCredentials, String> {
    let (_, local) = answer(connection, offer, generation).await?;
    Ok(local)
}

async fn answer(connection: &Connection, offer: &Offer, generation: u32) -> Result<(String, IceCredentials), String> {
    let offer = RTCSessionDescription::offer(offer.to_sdp(generation)).map_err(text)?;
    connection.stack.set_remote_description(offer).await.map_err(text)?;
    let answer = connection.stack.create_answer(None).await.map_err(text)?;
    let sdp = answer.sdp.clone();
    let local = sdp::local_credentials(&sdp).ok_or("the answer has no ICE credentials")?;
    connection.stack.set_local_description(answer).await.map_err(text)?;
    Ok((sdp, local))
}

fn text(error: webrtc::error::Error) -> String {
    error.to_string()
}
