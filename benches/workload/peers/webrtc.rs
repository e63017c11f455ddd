//! A native WebRTC client that follows one session (`recall.events.v1`).

use std::sync::Arc;

use anyhow::{Context, ensure};
use async_trait::async_trait;
use rtc::ice::mdns::MulticastDnsMode;
use serde_json::json;
use tokio::sync::mpsc;
use webrtc::{
    data_channel::{DataChannel, DataChannelEvent},
    peer_connection::{
        PeerConnection, PeerConnectionBuilder, PeerConnectionEventHandler, RTCIceGatheringState, RTCSessionDescription,
        SettingEngineBuilder,
    },
};

use super::{deliveries::Deliveries, system::Reader};

const PONG: &str = r#"{"t":"pong"}"#;

struct Handler(mpsc::UnboundedSender<RTCIceGatheringState>);

#[async_trait]
impl PeerConnectionEventHandler for Handler {
    async fn on_ice_gathering_state_change(&self, state: RTCIceGatheringState) {
        let _ = self.0.send(state);
    }
}

/// Connects and follows a session after a cursor.
pub(crate) async fn subscribe(address: &str, session: &str, after: &str, deliveries: Arc<Deliveries>) -> anyhow::Result<Reader> {
    let (epoch, seq) = after.rsplit_once(':').context("no cursor")?;
    let hello = json!({ "t": "hello", "v": 1, "stream": session, "resume": { "epoch": epoch, "seq": seq.parse::<u64>()? } });
    let (connection, channel) = connect(&format!("http://{address}/signaling/{session}")).await?;
    channel.send_text(&hello.to_string()).await?;
    Ok(Reader::spawn(async move {
        while let Some(event) = channel.poll().await {
            let DataChannelEvent::OnMessage(message) = event else { continue };
            let frame = std::str::from_utf8(&message.data)?;
            deliveries.arrive(frame);
            if frame.contains(r#""t":"ping""#) {
                channel.send_text(PONG).await?;
            }
        }
        drop(connection);
        anyhow::bail!("the data channel closed")
    }))
}

/// Opens a data channel to the server that answers offers at `url`.
async fn connect(url: &str) -> anyhow::Result<(Arc<dyn PeerConnection>, Arc<dyn DataChannel>)> {
    let (sender, mut states) = mpsc::unbounded_channel();
    let settings =
        SettingEngineBuilder::new().with_multicast_dns_mode(MulticastDnsMode::Disabled).with_include_loopback_candidate(true).build();
    let builder = PeerConnectionBuilder::new().with_setting_engine(settings).with_handler(Arc::new(Handler(sender)));
    let connection: Arc<dyn PeerConnection> = Arc::new(builder.with_udp_addrs(vec!["127.0.0.1:0"]).build().await?);
    let channel = connection.create_data_channel("events", None).await?;
    let offer = connection.create_offer(None).await?;
    connection.set_local_description(offer.clone()).await?;
    while !matches!(states.recv().await, Some(RTCIceGatheringState::Complete) | None) {}
    let answer = reqwest::Client::new().post(url).header("content-type", "application/sdp").body(offer.sdp).send().await?;
    let answer = answer.error_for_status()?.text().await?;
    connection.set_remote_description(RTCSessionDescription::answer(answer)?).await?;
    loop {
        let event = channel.poll().await;
        ensure!(event.is_some(), "the data channel does not open");
        if matches!(event, Some(DataChannelEvent::OnOpen)) {
            return Ok((connection, channel));
        }
    }
}
