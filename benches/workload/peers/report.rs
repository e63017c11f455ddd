//! The results as figures, and as one table with ratios to NATS.

use std::fmt::Write;

use crate::figures::{Figures, Times};

/// The row of each section that the others are compared with.
pub(crate) const BASE: &str = "NATS JetStream, fsync";

const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// One row of the table.
pub(crate) struct Row {
    section: String,
    name: &'static str,
    times: Times,
    /// What the processor time of the server is divided by.
    pub(crate) per: &'static str,
    /// Processor time of the server in milliseconds for each of them.
    pub(crate) server_ms: Option<f64>,
    /// Processor time of the client in percent of one core.
    pub(crate) client_share: Option<f64>,
}

impl Row {
    pub(crate) fn new(section: String, name: &'static str, times: Times) -> Self {
        Self { section, name, times, per: "publish", server_ms: None, client_share: None }
    }

    fn quantiles(&self) -> [f64; 3] {
        QUANTILES.map(|q| self.times.quantile(q))
    }
}

/// All rows in the order in which they were added.
#[derive(Default)]
pub(crate) struct Report(Vec<Row>);

impl Report {
    /// Adds a row at the end of its section.
    pub(crate) fn add(&mut self, row: Row) {
        let last = self.0.iter().rposition(|other| other.section == row.section);
        self.0.insert(last.map_or(self.0.len(), |last| last + 1), row);
    }

    /// Adds the figures and the table.
    pub(crate) fn add_figures(&self, figures: &mut Figures) {
        for row in &self.0 {
            let name = format!("{}: {}", row.section, row.name);
            figures.times(&name, &row.times);
            if let Some([p50, _, p99]) = self.ratios(row).filter(|_| row.name != BASE) {
                figures.number(&format!("{name}: p50 to NATS"), p50, "times");
                figures.number(&format!("{name}: p99 to NATS"), p99, "times");
            }
            if let Some(busy) = row.server_ms {
                figures.number(&format!("{name}: server's processor time"), busy, &format!("ms/{}", row.per));
            }
            if let Some(share) = row.client_share {
                figures.number(&format!("{name}: client's processor time"), share, "% of a core");
            }
        }
        figures.table(self.table());
    }

    /// Returns the quantiles of a row as multiples of those of NATS; `None` without NATS.
    fn ratios(&self, row: &Row) -> Option<[f64; 3]> {
        let base = self.0.iter().find(|other| other.section == row.section && other.name == BASE)?.quantiles();
        let mut ratios = row.quantiles();
        ratios.iter_mut().zip(base).for_each(|(ratio, base)| *ratio /= base);
        Some(ratios)
    }

    fn table(&self) -> String {
        let mut table = format!(
            "{:<34}{:>9}{:>9}{:>9}   {:>9}{:>7}{:>7}{:>9}{:>12}{:>9}",
            "", "p50 ms", "p95 ms", "p99 ms", "p50/NATS", "p95", "p99", "n", "server ms", "client %"
        );
        let mut section = "";
        for row in &self.0 {
            if section != row.section {
                section = &row.section;
                let _ = write!(table, "\n{section}");
            }
            let [p50, p95, p99] = row.quantiles();
            let [r50, r95, r99] = self.ratios(row).map_or_else(Default::default, |ratios| ratios.map(|ratio| format!("{ratio:.2}")));
            let [server, client] = [row.server_ms, row.client_share].map(|value| value.map_or_else(String::new, |v| format!("{v:.2}")));
            let name = format!("  {}", row.name);
            let n = row.times.count();
            let _ = write!(table, "\n{name:<34}{p50:>9.2}{p95:>9.2}{p99:>9.2}   {r50:>9}{r95:>7}{r99:>7}{n:>9}{server:>12}{client:>9}");
        }
        table
    }
}
