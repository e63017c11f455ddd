//! Drives one peer: waits for its data channel and its hello, then hands it what its subscription
//! delivers, watches its signs of life, and says goodbye.
//!
//! Invariant: a peer never blocks anybody else, and holds at most [`MAX_OUTSTANDING`] bytes plus
//! one frame that its client has not taken.

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
/// Bytes a client may leave untaken before it gets nothing more for the moment. What it misses
/// meanwhile stays in the log.
pub(crate) const MAX_OUTSTANDING: usize = 1024 * 1024;
/// The stack's own limit. It blocks, so it must lie above ours by more than a frame; what lies
/// between is room for pings and the goodbye.
pub(crate) const STACK_LIMIT: usize = MAX_OUTSTANDING + 4 * MAX_FRAME_BYTES;
/// From this backlog on, a client that takes some of it is alive without a pong, which may have to
/// wait behind it. Below, an acknowledged ping alone would keep alive a page that hangs.
const BACKLOG: usize = 16 * 1024;
/// How often a full peer is looked at again.
const FULL_PAUSE: Duration = Duration::from_millis(20);
/// How long a goodbye may take to arrive.
const BYE_TIME: Duration = Duration::from_millis(500);

/// Intervals of a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerTimes {
    /// From the answer to the open data channel.
    pub(crate) open: Duration,
    /// From the open data channel to the hello.
    pub(crate) hello: Duration,
    /// Between pings.
    pub(crate) ping: Duration,
    /// Without any sign of life until the peer counts as dead.
    pub(crate) dead: Duration,
    /// Without progress of a full peer until it counts as slow.
    pub(crate) slow: Duration,
}

/// One peer, from its answer to its end.
pub(crate) struct Peer<S: EventSource> {
    pub(crate) hub: Arc<Hub<S>>,
    pub(crate) stream: S::Stream,
    pub(crate) events: mpsc::Receiver<PeerEvent>,
    pub(crate) times: PeerTimes,
    /// Ends with the caller's permission.
    pub(crate) ended: BoxFuture<'static, ()>,
    /// Cancelled by DELETE.
    pub(crate) close: CancellationToken,
    /// Cancelled when the service shuts down.
    pub(crate) restart: CancellationToken,
}

impl<S: EventSource> Peer<S> {
    /// Runs until the peer's time is over, and says goodbye when there is somebody to hear it.
    /// `opened` is called once, when the data channel is open.
    pub(crate) async fn run(mut self, opened: impl FnOnce()) -> Ending {
        let channel = match self.channel().await {
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
            say_goodbye(&*channel, bye).await;
        }
        let _ = timeout(BYE_TIME, channel.close()).await;
        ending
    }

    /// Waits for the data channel.
    async fn channel(&mut self) -> Result<Arc<dyn DataChannel>, Ending> {
        let deadline = Instant::now() + self.times.open;
        loop {
            let event = tokio::select! {
                () = self.close.cancelled() => return Err(Ending::Closed),
                () = self.restart.cancelled() => return Err(ByeCode::Restart.into()),
                event = timeout_at(deadline, self.events.recv()) => event,
            };
            match event {
                Err(_) => return Err(Ending::NeverOpened),
                Ok(None | Some(PeerEvent::Gone)) => return Err(Ending::Dead),
                Ok(Some(PeerEvent::Gathered)) => {}
                Ok(Some(PeerEvent::Channel(channel))) => match timeout_at(deadline, channel.label()).await {
                    Ok(Ok(label)) if label == CHANNEL_LABEL => return Ok(channel),
                    _ => close_stray(channel).await,
                },
            }
        }
    }

    async fn serve(&mut self, channel: &Arc<dyn DataChannel>) -> Ending {
        let subscription = match self.greet(channel).await {
            Ok(subscription) => subscription,
            Err(ending) => return ending,
        };
        let mut session = Session {
            channel: channel.clone(),
            sent: subscription.welcome().head,
            subscription,
            times: self.times,
            last_life: Instant::now(),
            outstanding: 0,
            full_since: None,
        };
        match session.welcome().await {
            Ok(()) => {}
            Err(ending) => return ending,
        }
        let mut next_ping = Instant::now() + self.times.ping;
        loop {
            let room = session.full_since.is_none();
            let wake = next_ping.min(match room {
                true => session.last_life + self.times.dead,
                false => Instant::now() + FULL_PAUSE,
            });
            let step = tokio::select! {
                () = self.close.cancelled() => Err(Ending::Closed),
                () = self.restart.cancelled() => Err(ByeCode::Restart.into()),
                event = self.events.recv() => match event {
                    Some(PeerEvent::Channel(channel)) => {
                        close_stray(channel).await;
                        Ok(())
                    }
                    Some(PeerEvent::Gathered) => Ok(()),
                    Some(PeerEvent::Gone) | None => Err(Ending::Dead),
                },
                event = channel.poll() => session.handle(event),
                delivery = session.subscription.next(), if room => session.deliver(delivery).await,
                () = sleep_until(wake) => {
                    let step = session.look().await;
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

    /// Waits for the hello and subscribes.
    async fn greet(&mut self, channel: &Arc<dyn DataChannel>) -> Result<Subscription<S>, Ending> {
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
            let Some(frame) = incoming(event)? else {
                continue;
            };
            let (v, stream, resume) = match frame {
                ClientFrame::Hello { v, stream, resume } => (v, stream, resume),
                ClientFrame::Unknown => continue,
                // Nothing to acknowledge and no ping to answer before the hello.
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
    /// The highest number that was sent.
    sent: u64,
    last_life: Instant,
    /// Bytes the client had not taken when last looked.
    outstanding: usize,
    /// Since when there is no room and no progress.
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

    /// What a client's frame means for the session.
    fn handle(&mut self, event: Option<DataChannelEvent>) -> Result<(), Ending> {
        let Some(frame) = incoming(event)? else {
            return Ok(());
        };
        self.last_life = Instant::now();
        match frame {
            // A second hello would ask to go back in a channel whose frames are on their way.
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
        // Fails when the channel is closed. It never fails for want of room while there is room by
        // our own measure; a ping to a full peer may, and is then not needed.
        match self.channel.try_send_text(text).await {
            Ok(()) | Err(webrtc::error::Error::ErrSendBufferFull) => {}
            Err(_) => return Err(Ending::Closed),
        }
        self.measure().await
    }

    /// Looks how much the client has not taken yet. Progress with a
    /// backlog is a sign of life.
    async fn measure(&mut self) -> Result<(), Ending> {
        let Ok(outstanding) = self.channel.outstanding_bytes().await else {
            return Err(Ending::Closed);
        };
        let now = Instant::now();
        let progress = outstanding < self.outstanding;
        let backlog = self.outstanding >= BACKLOG;
        self.outstanding = outstanding;
        if progress && backlog {
            self.last_life = now;
        }
        self.full_since = match self.full_since {
            _ if outstanding < MAX_OUTSTANDING => None,
            Some(since) if !progress => Some(since),
            _ => Some(now),
        };
        Ok(())
    }

    /// Measures, and decides whether the client is slow or dead.
    async fn look(&mut self) -> Result<(), Ending> {
        self.measure().await?;
        if self.full_since.is_some_and(|since| since.elapsed() >= self.times.slow) {
            return Err(ByeCode::Slow.into());
        }
        // A full peer is judged by its progress: its pongs wait behind a megabyte of pings.
        if self.full_since.is_none() && self.last_life.elapsed() >= self.times.dead {
            return Err(Ending::Dead);
        }
        Ok(())
    }
}

/// The frame in a channel event, if it is one; the end of the peer when the channel or the frame is
/// broken.
fn incoming(event: Option<DataChannelEvent>) -> Result<Option<ClientFrame>, Ending> {
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

/// A channel that nobody asked for.
async fn close_stray(channel: Arc<dyn DataChannel>) {
    let _ = timeout(BYE_TIME, channel.close()).await;
}

/// Sends the goodbye and gives it a moment to arrive.
async fn say_goodbye(channel: &dyn DataChannel, bye: Bye) {
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
    let _ = timeout(BYE_TIME, arrived).await;
}
