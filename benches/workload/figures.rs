//! Results: a table for people, JSON for programs, and a comparison with limits.

use std::time::Duration;

use serde_json::{Value, json};

/// Times of one kind of operation, in milliseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times(Vec<f64>);

impl Times {
    pub(crate) fn push(&mut self, ms: f64) {
        self.0.push(ms);
    }

    pub(crate) fn note(&mut self, took: Duration) {
        self.push(took.as_secs_f64() * 1e3);
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Returns how many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the quantile `q` by nearest rank; NaN without times.
    pub(crate) fn quantile(&self, q: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (sorted.len() as f64 * q).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }
}

/// Figures in order of arrival.
#[derive(Default)]
pub(crate) struct Figures {
    /// A prefix of each name: what is being measured.
    of: &'static str,
    rows: Vec<(String, Value, String)>,
    limits: Vec<(String, f64, f64, &'static str)>,
    tables: Vec<String>,
}

impl Figures {
    /// Sets the prefix of the next figures.
    pub(crate) fn set_prefix(&mut self, of: &'static str) {
        self.of = of;
    }

    /// Adds a distribution.
    pub(crate) fn times(&mut self, name: &str, times: &Times) {
        if times.0.is_empty() {
            return;
        }
        let [p50, p95, p99, most] = [0.5, 0.95, 0.99, 1.0].map(|q| rounded(times.quantile(q)));
        let value = json!({ "unit": "ms", "p50": p50, "p95": p95, "p99": p99, "max": most, "n": times.0.len() });
        self.row(name, value, format!("p50 {p50:>9.2} ms   p99 {p99:>9.2} ms   max {most:>9.2} ms   n {}", times.0.len()));
    }

    /// Adds a number.
    pub(crate) fn number(&mut self, name: &str, value: f64, unit: &str) {
        let value = rounded(value);
        self.row(name, json!({ "unit": unit, "value": value }), format!("    {value:>9} {unit}"));
    }

    /// Adds a limit and reports a figure above it. Never ends the program, because machines differ.
    pub(crate) fn limit(&mut self, name: &str, value: f64, limit: f64, unit: &'static str) {
        self.limits.push((format!("{}{name}", self.of), rounded(value), limit, unit));
    }

    /// Adds a table, which is printed after the figures.
    pub(crate) fn table(&mut self, table: String) {
        self.tables.push(table);
    }

    fn row(&mut self, name: &str, value: Value, text: String) {
        let name = format!("{}{name}", self.of);
        // Printed at once, so that an interrupted run has shown something.
        eprintln!("{name:<58} {text}");
        self.rows.push((name, value, text));
    }

    pub(crate) fn print(&self) {
        println!();
        for (name, _, text) in &self.rows {
            println!("{name:<58} {text}");
        }
        for (name, value, limit, unit) in &self.limits {
            let verdict = if value <= limit { "met   " } else { "MISSED" };
            println!("{verdict} {name}: {value} {unit}, limit {limit} {unit}");
        }
        for table in &self.tables {
            println!("\n{table}");
        }
    }

    pub(crate) fn json(&self) -> String {
        let figures: serde_json::Map<_, _> = self.rows.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect();
        let limits: Vec<_> = self
            .limits
            .iter()
            .map(|(name, value, limit, unit)| json!({ "name": name, "value": value, "limit": limit, "unit": unit, "met": value <= limit }))
            .collect();
        format!("{:#}\n", json!({ "figures": figures, "limits": limits }))
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
