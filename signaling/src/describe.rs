//! Descriptions of the metrics of this crate.

use metrics::{describe_counter as counter, describe_gauge as gauge};

/// Registers the descriptions with the metrics recorder. Call it after the recorder is installed.
pub fn describe_metrics() {
    gauge!("recall_stream_peers", "WebRTC peers with an open data channel");
    counter!("recall_stream_offers_total", "WebRTC offers, by outcome");
    counter!("recall_stream_events_sent_total", "Numbered events sent over data channels");
    counter!("recall_stream_replays_total", "Subscriptions of all transports that began with a replay");
    counter!("recall_stream_gaps_total", "Ranges of events that could not be sent");
    counter!("recall_stream_byes_total", "WebRTC peers that ended, by reason");
}
