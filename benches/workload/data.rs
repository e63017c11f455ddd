//! Recorded conversations with questions about them, as JSON lines in files of the caller.

use std::path::Path;

use anyhow::Context;
use chrono::{DateTime, NaiveDateTime, Utc};
use serde::Deserialize;

/// One turn of a conversation.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Turn {
    pub(crate) conversation: String,
    pub(crate) session: u32,
    /// For example `1:56 pm on 8 May, 2023`; the same for all turns of a session.
    pub(crate) date: String,
    /// Unique within the conversation.
    pub(crate) turn: String,
    pub(crate) speaker: String,
    pub(crate) text: String,
}

impl Turn {
    /// Parses the date as UTC.
    pub(crate) fn said_at(&self) -> anyhow::Result<DateTime<Utc>> {
        let date = NaiveDateTime::parse_from_str(&self.date, "%I:%M %p on %d %B, %Y");
        Ok(date.with_context(|| format!("{:?} is no date", self.date))?.and_utc())
    }
}

/// A question about one conversation.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Question {
    pub(crate) conversation: String,
    pub(crate) question: String,
    pub(crate) category: String,
    /// Turns that contain the answer.
    pub(crate) evidence: Vec<String>,
}

/// Parses all lines of a file.
pub(crate) fn lines<T: for<'a> Deserialize<'a>>(file: &Path) -> anyhow::Result<Vec<T>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let parsed = text.lines().filter(|l| !l.trim().is_empty()).map(serde_json::from_str);
    parsed.collect::<Result<_, _>>().with_context(|| format!("{} is malformed", file.display()))
}
