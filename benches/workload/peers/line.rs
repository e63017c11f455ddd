//! One row of measurements: one kind of server with a number of subscribers.

use std::{
    ops::Range,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use super::{
    PACE,
    deliveries::{Deliveries, WARM_UP},
    kind::Kind,
    recall::Transport,
    report::{Report, Row},
    system::System,
};
use crate::{figures::Times, server::processor_time};

/// Time for subscriptions to begin.
const SETTLE: Duration = Duration::from_millis(500);

/// What one kind of server needs, over all rounds.
pub(crate) struct Line {
    pub(crate) kind: Kind,
    subscribers: usize,
    acknowledged: Times,
    /// Times to delivery, or of whole replays.
    delivered: Times,
    /// Number of publishes or replays.
    count: usize,
    /// Processor time of the server, unless it is unknown.
    server: Option<Duration>,
    /// Processor time of this process, unless it is unknown.
    client: Option<Duration>,
    took: Duration,
}

/// A moment, with the processor time of server and client until then.
struct Busy {
    at: Instant,
    server: Option<Duration>,
    client: Option<Duration>,
}

impl Busy {
    fn now(system: &System) -> Self {
        let [server, client] = [system.id(), std::process::id()].map(|id| processor_time(id).ok());
        Self { at: Instant::now(), server, client }
    }
}

impl Line {
    pub(crate) fn new(kind: Kind, subscribers: usize) -> Self {
        let (acknowledged, delivered, none) = (Times::default(), Times::default(), Some(Duration::ZERO));
        Self { kind, subscribers, acknowledged, delivered, count: 0, server: none, client: none, took: Duration::ZERO }
    }

    /// Returns the number of subscribers in words.
    pub(crate) fn audience(&self) -> String {
        if self.subscribers == 1 { "1 subscriber".to_owned() } else { format!("{} subscribers", self.subscribers) }
    }

    /// Publishes at a steady rate, and waits until every subscriber has every event.
    pub(crate) async fn measure(&mut self, system: &Arc<System>, publishes: usize) -> anyhow::Result<()> {
        let deliveries = Arc::new(Deliveries::new(publishes, system.field()));
        let mut subscribers = Vec::with_capacity(self.subscribers);
        for _ in 0..self.subscribers {
            subscribers.push(system.subscribe(deliveries.clone()).await?);
        }
        tokio::time::sleep(SETTLE).await;
        let published = self.publish(system, &deliveries, publishes).await;
        // First, because the end of a subscriber explains missing events.
        for subscriber in subscribers {
            subscriber.finish().await?;
        }
        published?;
        let (acknowledged, delivered) = deliveries.take();
        self.acknowledged.extend(acknowledged);
        self.delivered.extend(delivered);
        self.count += publishes - WARM_UP;
        Ok(())
    }

    async fn publish(&mut self, system: &Arc<System>, deliveries: &Arc<Deliveries>, publishes: usize) -> anyhow::Result<()> {
        publish(system, deliveries, 0..WARM_UP).await?;
        deliveries.wait_for(WARM_UP * self.subscribers).await?;
        let begun = Busy::now(system);
        publish(system, deliveries, WARM_UP..publishes).await?;
        deliveries.wait_for(publishes * self.subscribers).await?;
        self.add_busy(begun, system);
        Ok(())
    }

    /// Connects a new subscriber and waits until it has this many events.
    pub(crate) async fn replay(&mut self, system: &System, events: usize) -> anyhow::Result<()> {
        let deliveries = Arc::new(Deliveries::new(0, system.field()));
        let begun = Busy::now(system);
        let subscriber = system.subscribe(deliveries.clone()).await?;
        let end = deliveries.wait_for(events).await;
        subscriber.finish().await?;
        self.delivered.note(end? - begun.at);
        self.count += 1;
        self.add_busy(begun, system);
        Ok(())
    }

    /// Adds what was needed since `begun`.
    fn add_busy(&mut self, begun: Busy, system: &System) {
        let now = Busy::now(system);
        let add = |sum: Option<Duration>, before, now| Some(sum? + Duration::saturating_sub(now?, before?));
        self.server = add(self.server, begun.server, now.server);
        self.client = add(self.client, begun.client, now.client);
        self.took += now.at - begun.at;
    }

    /// Returns the row with the times to delivery.
    pub(crate) fn row(&mut self, section: String, per: &'static str) -> Row {
        let mut row = Row::new(section, self.kind.name(), std::mem::take(&mut self.delivered));
        row.per = per;
        row.server_ms = self.server.map(|busy| busy.as_secs_f64() * 1e3 / self.count as f64);
        row.client_share = self.client.map(|busy| 100.0 * busy.as_secs_f64() / self.took.as_secs_f64());
        row
    }

    /// Adds the rows. The transport does not matter for acknowledgements, so they have one row for each operation.
    pub(crate) fn add_to(mut self, report: &mut Report) {
        let of = self.audience();
        report.add(self.row(format!("delivery, {of}"), "publish"));
        if !matches!(self.kind, Kind::Recall(_, Transport::Sse | Transport::WebRtc)) {
            report.add(Row::new(format!("acknowledgement, {of}"), self.kind.name(), self.acknowledged));
        }
    }
}

/// Publishes events at a steady rate, whether or not the earlier ones are acknowledged.
async fn publish(system: &Arc<System>, deliveries: &Arc<Deliveries>, events: Range<usize>) -> anyhow::Result<()> {
    let mut clock = tokio::time::interval(PACE);
    let mut open = JoinSet::new();
    for n in events {
        clock.tick().await;
        let (system, deliveries) = (system.clone(), deliveries.clone());
        open.spawn(async move {
            deliveries.begin(n);
            system.publish(n).await?;
            deliveries.acknowledge(n);
            anyhow::Ok(())
        });
    }
    while let Some(published) = open.join_next().await {
        published??;
    }
    Ok(())
}
