//! The formats in which other programs export chats. Pure: one element of an export in, one conversation out.

mod chatgpt;
mod claude;
mod first_person;
mod mem0;
mod openwebui;

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDateTime};
use clap::ValueEnum;

use recall_domain::{Role, Timestamp};

/// A program whose exports can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// ChatGPT: conversations.json, or the ZIP archive that contains it
    Chatgpt,
    /// Claude: conversations.json, or the ZIP archive that contains it
    Claude,
    /// Open WebUI: the JSON file of exported chats
    Openwebui,
    /// mem0: the JSON file of memories
    Mem0,
}

impl Format {
    /// Returns the name of the format, which is also the prefix of session names.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Chatgpt => "chatgpt",
            Self::Claude => "claude",
            Self::Openwebui => "openwebui",
            Self::Mem0 => "mem0",
        }
    }

    /// Whether an export may hold data of several users.
    pub(super) fn has_owners(self) -> bool {
        matches!(self, Self::Openwebui | Self::Mem0)
    }

    /// Reads one element of an export.
    pub(super) fn read(self, element: &str) -> Result<Conversation, Unreadable> {
        match self {
            Self::Chatgpt => chatgpt::read(element),
            Self::Claude => claude::read(element),
            Self::Openwebui => openwebui::read(element),
            Self::Mem0 => mem0::read(element),
        }
    }
}

/// An element of an export that does not have the expected form. Its text is not repeated, because it is private.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

impl From<serde_json::Error> for Unreadable {
    fn from(_: serde_json::Error) -> Self {
        Self
    }
}

/// Why something of an export is not imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// A message of the system or of a tool, or one that the program hides.
    Hidden,
    /// A message of a branch that was replaced by an edit or a new answer.
    OldBranch,
    /// A message without text, such as an image.
    NoText,
    /// A conversation without a message to import.
    NoMessages,
    /// A conversation that does not have the expected form.
    Unreadable,
    /// Data of another user of the exported server.
    OtherUser,
}

impl Reason {
    /// Returns the words for a summary.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Hidden => "messages of the system, of tools, or hidden",
            Self::OldBranch => "messages of branches that were replaced",
            Self::NoText => "messages without text",
            Self::NoMessages => "conversations without messages",
            Self::Unreadable => "conversations in an unknown form",
            Self::OtherUser => "conversations of other users",
        }
    }
}

/// How much was not imported, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Skipped(BTreeMap<Reason, u64>);

impl Skipped {
    pub(super) fn count(&mut self, reason: Reason) {
        self.count_several(reason, 1);
    }

    fn count_several(&mut self, reason: Reason, count: u64) {
        if count > 0 {
            *self.0.entry(reason).or_default() += count;
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (reason, count) in &other.0 {
            self.count_several(*reason, *count);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Reason, u64)> {
        self.0.iter().map(|(reason, count)| (*reason, *count))
    }
}

/// A conversation of an export.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Conversation {
    /// Its id in the export.
    pub(super) id: String,
    /// Its title.
    pub(super) title: Option<String>,
    /// The user of the exported server that it belongs to.
    pub(super) owner: Option<String>,
    /// When it began; the date of messages without a date.
    pub(super) began_at: Option<Timestamp>,
    /// Its messages, in order.
    pub(super) turns: Vec<Turn>,
    /// What it contains besides.
    pub(super) skipped: Skipped,
}

/// A message of an export.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Turn {
    /// Its id in the export.
    pub(super) id: String,
    /// Who wrote it.
    pub(super) role: Role,
    /// The text.
    pub(super) text: String,
    /// When it was written.
    pub(super) sent_at: Option<Timestamp>,
    /// Whether the text differs from the words in the export.
    pub(super) is_rephrased: bool,
}

/// Reads a date: RFC 3339, or without a time zone, which then is UTC.
fn read_date(text: &str) -> Option<Timestamp> {
    let with_zone = DateTime::parse_from_rfc3339(text).map(|at| at.to_utc()).ok();
    with_zone.or_else(|| {
        let formats = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"];
        formats.iter().find_map(|format| NaiveDateTime::parse_from_str(text, format).ok()).map(|at| at.and_utc())
    })
}

/// Reads a Unix time in seconds, or in milliseconds if it is too large for seconds.
fn read_unix_time(time: f64) -> Option<Timestamp> {
    /// The year 5138 in seconds, 1973 in milliseconds.
    const LARGEST_SECONDS: f64 = 1e11;
    let millis = if time.abs() > LARGEST_SECONDS { time } else { time * 1e3 };
    if millis.is_finite() && millis > 0.0 { Timestamp::from_timestamp_millis(millis.round() as i64) } else { None }
}

/// Returns the path from the root of a tree of messages to `leaf`. Ends at an unknown parent and at a cycle.
fn path_to<'t, N>(leaf: &'t str, nodes: &'t std::collections::HashMap<String, N>, parent: impl Fn(&'t N) -> Option<&'t str>) -> Vec<&'t N> {
    let (mut path, mut seen) = (Vec::new(), std::collections::HashSet::new());
    let mut next = Some(leaf);
    while let Some(id) = next.filter(|id| seen.insert(*id)) {
        let Some(node) = nodes.get(id) else { break };
        path.push(node);
        next = parent(node);
    }
    path.reverse();
    path
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_all_programs_are_read() {
        let at = |text: &str| read_date(text).map(|at| at.to_rfc3339());
        assert_eq!(at("2025-03-01T10:00:00.250Z").unwrap(), "2025-03-01T10:00:00.250+00:00");
        assert_eq!(at("2025-03-01T10:00:00-07:00").unwrap(), "2025-03-01T17:00:00+00:00");
        assert_eq!(at("2025-03-01 10:00:00").unwrap(), "2025-03-01T10:00:00+00:00");
        assert_eq!(at("yesterday"), None);
        assert_eq!(read_unix_time(1_740_823_200.0), read_unix_time(1_740_823_200_000.0));
        assert!(read_unix_time(1_740_823_200.5).unwrap().to_rfc3339().starts_with("2025-03-01T10:00:00.5"));
        for wrong in [0.0, -5.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(read_unix_time(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn cycle_in_a_tree_ends_the_path() {
        let nodes = [("a".to_owned(), "b"), ("b".to_owned(), "a")].into();
        assert_eq!(path_to("a", &nodes, |parent| Some(parent)).len(), 2);
        assert!(path_to("x", &nodes, |parent| Some(parent)).is_empty());
    }
}
