//! What was measured: a table for people, JSON for machines, and how it compares with the limits. Measures nothing itself.

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

    /// The value that a share `q` of all times do not exceed (nearest rank); not a number when there is none.
    pub(crate) fn quantile(&self, q: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (sorted.len() as f64 * q).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }
}

/// Figures in the order in which they came.
#[derive(Default)]
pub(crate) struct Figures {
    /// Put before each name: what is measured now.
    of: &'static str,
    rows: Vec<(String, Value, String)>,
    limits: Vec<(String, f64, f64, &'static str)>,
}

impl Figures {
    /// What comes now is of this.
    pub(crate) fn of(&mut self, of: &'static str) {
        self.of = of;
    }

    /// A distribution.
    pub(crate) fn times(&mut self, name: &str, times: &Times) {
        if times.0.is_empty() {
            return;
        }
        let [p50, p99, most] = [0.5, 0.99, 1.0].map(|q| rounded(times.quantile(q)));
        let value = json!({ "unit": "ms", "p50": p50, "p99": p99, "max": most, "n": times.0.len() });
        self.row(name, value, format!("p50 {p50:>9.2} ms   p99 {p99:>9.2} ms   max {most:>9.2} ms   n {}", times.0.len()));
    }

    /// A single number.
    pub(crate) fn number(&mut self, name: &str, value: f64, unit: &str) {
        let value = rounded(value);
        self.row(name, json!({ "unit": unit, "value": value }), format!("    {value:>9} {unit}"));
    }

    /// Notes a limit, so that a figure above it is named as missed. Never ends the program: machines differ.
    pub(crate) fn limit(&mut self, name: &str, value: f64, limit: f64, unit: &'static str) {
        self.limits.push((format!("{}{name}", self.of), rounded(value), limit, unit));
    }

    fn row(&mut self, name: &str, value: Value, text: String) {
        let name = format!("{}{name}", self.of);
        // As it comes, because a long run that is stopped should have said something.
        eprintln!("{name:<58}{text}");
        self.rows.push((name, value, text));
    }

    pub(crate) fn print(&self) {
        println!();
        for (name, _, text) in &self.rows {
            println!("{name:<58}{text}");
        }
        for (name, value, limit, unit) in &self.limits {
            let verdict = if value <= limit { "met   " } else { "MISSED" };
            println!("{verdict} {name}: {value} {unit}, limit {limit} {unit}");
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
