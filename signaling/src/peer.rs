//! Drives one peer: waits for its data channel and `hello`, sends the deliveries of its subscription,
//! checks that the client is alive, and sends `bye` at the end.
//!
//! Invariant: a peer never blocks other peers. It buffers at most [`MAX_OUTSTANDING`] bytes plus one
//! frame that its client has not read.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use webrtc::data_channel::{DataChannel, DataChannelEvent};

use crate::callbacks::PeerEvent;
use crate::ending::Ending;
use crate::frame::{Bye, ByeCode, ClientFrame, GapReason, MAX_FRAME_BYTES, PROTOCOL_VERSION, ProtocolError, ServerFrame};
use crate::hub::{Delivery, Hub, Resume, Subscription};
use crate::source::{EventSource, SourceError};

/// Label of the data channel.
const CHANNEL_LABEL: &str = "events";
/// Maximum number of unread bytes before the server pauses sending. Further events stay in the log.
pub(crate) const MAX_OUTSTANDING: usize = 1024 * 1024;
/// The stack's own limit, at which sending blocks.
///
/// It exceeds ours by more than a frame, so that pings and `bye` can still be sent.
pub(crate) const STACK_LIMIT: usize = MAX_OUTSTANDING + 4 * MAX_FRAME_BYTES;
/// With at least this many unread bytes, progress counts as a sign of life, because a pong may be
/// queued behind them. With fewer bytes only a pong counts: a hung page still acknowledges pings.
const BACKLOG: usize = 16 * 1024;
/// How often to check a peer with a full buffer.
const FULL_PAUSE: Duration = Duration::from_millis(20);
/// Maximum time for `bye` to arrive.
const BYE_TIMEOUT: Duration = Duration::from_millis(500);

/// Timeouts and intervals of a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerTimes {
    /// Maximum time from the answer to the open data channel.
    pub(crate) open: Duration,
    /// Maximum time from the open data channel to the hello.
    pub(crate) hello: Duration,
    /// Time between pings.
    pub(crate) ping: Duration,
    /// Time without a sign of life after which the peer counts as dead.
    pub(crate) dead: Duration,
    /// Time with a full buffer and no progress after which the peer counts as slow.
    pub(crate) slow: Duration,
}

/// One peer whose offer was answered.
pub(crate) struct Peer<S: EventSource> {
    pub(crate) hub: Arc<Hub<S>>,
    pub(crate) stream: S::Stream,
    pub(crate) events: mpsc::Receiver<PeerEvent>,
    pub(crate) times: PeerTimes,
    /// Completes when the caller's permission ends.
    pub(crate) ended: BoxFuture<'static, ()>,
    /// Cancelled by DELETE.
    pub(crate) close: CancellationToken,
    /// Cancelled when the service shuts down.
    pub(crate) restart: CancellationToken,
}

impl<S: EventSource> Peer<S> {
    /// Runs the peer until it ends, and sends `bye` if the client is still connected.
    ///
    /// `opened` is called once, when the data channel is open.
    pub(crate) async fn run(mut self, opened: impl FnOnce()) -> Ending {
        let channel = match self.wait_for_channel().await {
            Ok(channel) => channel,
            Err(ending) => return ending,
        };
        opened();
        let mut ended = std::mem::replace(&mut self.ended, Box::pin(std::future::pending()));
        let ending = tokio::select! {
            ending = self.serve(&channel) => ending,
            () = &mut ended => ByeCode::AuthExpired.into(),
        };
        if let Ending::Bye(bye) = ending {
            send_bye(&*channel, bye).await;
        }
        let _ = timeout(BYE_TIMEOUT, channel.close()).await;
        ending
    }

    /// Waits for the data channel `events`.
    async fn wait_for_channel(&mut self) -> Result<Arc<dyn DataChannel>, Ending> {
        let deadline = Instant::now() + self.times.open;
        loop {
            let event = tokio::select! {
                () = self.close.cancelled() => return Err(Ending::Closed),
                () = self.restart.cancelled() => return Err(ByeCode::Restart.into()),
                event = timeout_at(deadline, self.events.recv()) => event,
            };
            match event {
                Err(_) => return Err(Ending::NeverOpened),
                Ok(None | Some(PeerEvent::Disconnected)) => return Err(Ending::Dead),
                Ok(Some(PeerEvent::Gathered)) => {}
                Ok(Some(PeerEvent::Channel(channel))) => match timeout_at(deadline, channel.label()).await {
                    Ok(Ok(label)) if label == CHANNEL_LABEL => return Ok(channel),
                    _ => close_unexpected(channel).await,
                },
            }
        }
    }

    /// Serves the open channel until the peer ends.
    async fn serve(&mut self, channel: &Arc<dyn DataChannel>) -> Ending {
        let subscription = match self.wait_for_hello(channel).await {
            Ok(subscription) => subscription,
            Err(ending) => return ending,
        };
        let mut session = Session {
            channel: channel.clone(),
            sent: subscription.welcome().head,
            subscription,
            times: self.times,
            last_sign_of_life: Instant::now(),
            outstanding: 0,
            full_since: None,
        };
        match session.welcome().await {
            Ok(()) => {}
            Err(ending) => return ending,
        }
        let mut next_ping = Instant::now() + self.times.ping;
        loop {
            let has_room = session.full_since.is_none();
            let wake = next_ping.min(match has_room {
                true => session.last_sign_of_life + self.times.dead,
                false => Instant::now() + FULL_PAUSE,
            });
            let step = tokio::select! {
                () = self.close.cancelled() => Err(Ending::Closed),
                () = self.restart.cancelled() => Err(ByeCode::Restart.into()),
                event = self.events.recv() => match event {
                    Some(PeerEvent::Channel(channel)) => {
                        close_unexpected(channel).await;
                        Ok(())
                    }
                    Some(PeerEvent::Gathered) => Ok(()),
                    Some(PeerEvent::Disconnected) | None => Err(Ending::Dead),
                },
                event = channel.poll() => session.handle(event),
                delivery = session.subscription.next(), if has_room => session.deliver(delivery).await,
                () = sleep_until(wake) => {
                    let step = session.check_liveness().await;
                    if step.is_ok() && Instant::now() >= next_ping {
                        next_ping = Instant::now() + self.times.ping;
                        session.ping().await
                    } else {
                        step
                    }
                }
            };
            if let Err(ending) = step {
                return ending;
            }
        }
    }

    /// Waits for the hello and subscribes to the stream.
    async fn wait_for_hello(&mut self, channel: &Arc<dyn DataChannel>) -> Result<Subscription<S>, Ending> {
        let deadline = Instant::now() + self.times.hello;
        loop {
            let event = tokio::select! {
                () = self.close.cancelled() => return Err(Ending::Closed),
                () = self.restart.cancelled() => return Err(ByeCode::Restart.into()),
                event = timeout_at(deadline, channel.poll()) => event,
            };
            let Ok(event) = event else {
                return Err(ByeCode::Timeout.into());
            };
            let Some(frame) = parse_event(event)? else {
                continue;
            };
            let (v, stream, resume) = match frame {
                ClientFrame::Hello { v, stream, resume } => (v, stream, resume),
                ClientFrame::Unknown => continue,
                // Before the hello there is no event to acknowledge and no ping to answer.
                ClientFrame::Ack { .. } | ClientFrame::Pong => return Err(ProtocolError::HelloExpected.into()),
            };
            if v != PROTOCOL_VERSION {
                return Err(ProtocolError::UnsupportedVersion.into());
            }
            if stream != S::name(&self.stream) {
                return Err(ProtocolError::WrongStream.into());
            }
            let subscribed = self.hub.subscribe(self.stream.clone(), Resume::from(resume));
            return match subscribed.await {
                Ok(subscription) => Ok(subscription),
                Err(SourceError::NotFound) => Err(ByeCode::Deleted.into()),
                Err(SourceError::Unavailable(error)) => {
                    tracing::warn!(%error, "a stream cannot be subscribed to");
                    Err(ByeCode::Unavailable.into())
                }
            };
        }
    }
}

/// An open channel with a subscription.
struct Session<S: EventSource> {
    channel: Arc<dyn DataChannel>,
    subscription: Subscription<S>,
    times: PeerTimes,
    /// The highest sequence number that was sent.
    sent: u64,
    last_sign_of_life: Instant,
    /// Number of unread bytes at the last measurement.
    outstanding: usize,
    /// Since when the buffer is full without progress.
    full_since: Option<Instant>,
}

impl<S: EventSource> Session<S> {
    async fn welcome(&mut self) -> Result<(), Ending> {
        let welcome = self.subscription.welcome().clone();
        self.send(ServerFrame::Welcome {
            v: PROTOCOL_VERSION,
            epoch: &welcome.epoch,
            head: welcome.head,
            recovered: welcome.recovered,
            reason: welcome.reason,
            ping_s: self.times.ping.as_secs().max(1),
            max: MAX_FRAME_BYTES,
        })
        .await
    }

    async fn ping(&mut self) -> Result<(), Ending> {
        let head = self.subscription.head();
        self.send(ServerFrame::Ping { head }).await
    }

    /// Handles a frame of the client.
    fn handle(&mut self, event: Option<DataChannelEvent>) -> Result<(), Ending> {
        let Some(frame) = parse_event(event)? else {
            return Ok(());
        };
        self.last_sign_of_life = Instant::now();
        match frame {
            // A second hello would restart the stream while frames of the first are in flight.
            ClientFrame::Hello { .. } => Err(ProtocolError::SecondHello.into()),
            ClientFrame::Ack { seq } if seq > self.sent => Err(ProtocolError::AckAhead.into()),
            ClientFrame::Ack { .. } | ClientFrame::Pong | ClientFrame::Unknown => Ok(()),
        }
    }

    async fn deliver(&mut self, delivery: Option<Delivery>) -> Result<(), Ending> {
        match delivery {
            None => Err(ByeCode::Restart.into()),
            Some(Delivery::End(bye)) => Err(Ending::Bye(bye)),
            Some(Delivery::Event(event)) => {
                self.sent = self.sent.max(event.seq);
                let frame = ServerFrame::Ev { seq: event.seq, id: &event.id, r#type: &event.kind, ts: &event.ts, d: &event.data };
                let text = encode(&frame)?;
                if text.len() > MAX_FRAME_BYTES {
                    let reason = GapReason::TooLarge;
                    metrics::counter!("recall_stream_gaps_total").increment(1);
                    let (from, to) = (event.seq, event.seq);
                    return self.send(ServerFrame::Gap { from, to, reason }).await;
                }
                metrics::counter!("recall_stream_events_sent_total").increment(1);
                self.send_text(&text).await
            }
            Some(Delivery::Ephemeral { kind, data }) => {
                let text = encode(&ServerFrame::Eph { r#type: &kind, d: &data })?;
                match text.len() > MAX_FRAME_BYTES {
                    true => Ok(()),
                    false => self.send_text(&text).await,
                }
            }
            Some(Delivery::CaughtUp { seq }) => self.send(ServerFrame::CaughtUp { seq }).await,
            Some(Delivery::Gap { from, to, reason }) => {
                self.sent = self.sent.max(to);
                self.send(ServerFrame::Gap { from, to, reason }).await
            }
        }
    }

    async fn send(&mut self, frame: ServerFrame<'_>) -> Result<(), Ending> {
        let text = encode(&frame)?;
        self.send_text(&text).await
    }

    async fn send_text(&mut self, text: &str) -> Result<(), Ending> {
        // Sending fails if the channel is closed. It cannot fail for lack of space, because our own
        // limit is lower. Only a ping to a full peer can, and that peer needs none.
        match self.channel.try_send_text(text).await {
            Ok(()) | Err(webrtc::error::Error::ErrSendBufferFull) => {}
            Err(_) => return Err(Ending::Closed),
        }
        self.measure().await
    }

    /// Updates the number of unread bytes. Progress with a backlog is a sign of life.
    async fn measure(&mut self) -> Result<(), Ending> {
        let Ok(outstanding) = self.channel.outstanding_bytes().await else {
            return Err(Ending::Closed);
        };
        let now = Instant::now();
        let progress = outstanding < self.outstanding;
        let backlog = self.outstanding >= BACKLOG;
        self.outstanding = outstanding;
        if progress && backlog {
            self.last_sign_of_life = now;
        }
        self.full_since = match self.full_since {
            _ if outstanding < MAX_OUTSTANDING => None,
            Some(since) if !progress => Some(since),
            _ => Some(now),
        };
        Ok(())
    }

    /// Ends the peer if the client is slow or dead.
    async fn check_liveness(&mut self) -> Result<(), Ending> {
        self.measure().await?;
        if self.full_since.is_some_and(|since| since.elapsed() >= self.times.slow) {
            return Err(ByeCode::Slow.into());
        }
        // A full peer is judged by its progress, because its next ping waits behind a megabyte of frames.
        if self.full_since.is_none() && self.last_sign_of_life.elapsed() >= self.times.dead {
            return Err(Ending::Dead);
        }
        Ok(())
    }
}

/// Parses the frame in a channel event, if it has one. The error ends the peer.
fn parse_event(event: Option<DataChannelEvent>) -> Result<Option<ClientFrame>, Ending> {
    match event {
        None | Some(DataChannelEvent::OnClose | DataChannelEvent::OnClosing) => Err(Ending::Closed),
        Some(DataChannelEvent::OnMessage(message)) if !message.is_string => Err(ProtocolError::BinaryFrame.into()),
        Some(DataChannelEvent::OnMessage(message)) => match ClientFrame::parse(&message.data) {
            Ok(frame) => Ok(Some(frame)),
            Err(error) => Err(ProtocolError::from(&error).into()),
        },
        Some(_) => Ok(None),
    }
}

fn encode(frame: &ServerFrame<'_>) -> Result<String, Ending> {
    frame.to_text().map_err(|error| {
        tracing::error!(%error, "a frame cannot be written as JSON");
        ByeCode::Unavailable.into()
    })
}

/// Closes a channel that is not part of the protocol.
async fn close_unexpected(channel: Arc<dyn DataChannel>) {
    let _ = timeout(BYE_TIMEOUT, channel.close()).await;
}

/// Sends `bye` and waits a moment for it to arrive.
async fn send_bye(channel: &dyn DataChannel, bye: Bye) {
    let Ok(text) = ServerFrame::Bye(bye).to_text() else {
        return;
    };
    let arrived = async {
        channel.try_send_text(&text).await?;
        while channel.outstanding_bytes().await? > 0 {
            sleep(Duration::from_millis(10)).await;
        }
        Ok::<_, webrtc::error::Error>(())
    };
    let _ = timeout(BYE_TIMEOUT, arrived).await;
}
