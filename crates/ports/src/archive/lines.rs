//! Writes and checks the lines of an archive with their checksum.

use ring::digest::{Context, SHA256};

use super::line::{Damage, End, Header, Line, VERSION};

/// Writes the lines of an archive.
pub struct Lines {
    tally: Tally,
}

impl Lines {
    /// Starts an archive. Returns the header line too.
    pub fn begin(header: Header) -> (Self, String) {
        let mut lines = Self { tally: Tally::default() };
        let first = lines.next(&Line::Header(header));
        lines.tally.records = 0;
        (lines, first)
    }

    /// Returns a line with its line break.
    pub fn next(&mut self, line: &Line) -> String {
        let mut text = line.write();
        self.tally.add(&text);
        text.push('\n');
        text
    }

    /// Returns the last line.
    pub fn end(self) -> String {
        let mut text = Line::End(self.tally.end()).write();
        text.push('\n');
        text
    }
}

/// Checks the order, number and checksum of the lines.
#[derive(Default)]
pub struct Check {
    header: Option<Header>,
    has_ended: bool,
    tally: Tally,
}

/// Why the lines are not a valid archive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// A line is damaged.
    #[error("{0}")]
    Damaged(#[from] Damage),
    /// The first line is no header.
    #[error("the archive has no first line that says what it is")]
    NoHeader,
    /// Lines are missing or added.
    #[error("the last line counts other records than there are")]
    Miscounted,
    /// A line was changed.
    #[error("the checksum is wrong: a line was changed since the archive was written; use another copy of it")]
    WrongChecksum,
    /// The last line has no checksum although the version requires one.
    #[error("the last line has no checksum, which archives have since version 2")]
    NoChecksum,
    /// Lines follow the last line.
    #[error("there is something after the last line")]
    AfterEnd,
}

impl Check {
    /// Checks the next line, given without its line break.
    ///
    /// # Errors
    /// Fails if the line is invalid or in the wrong place, or if the last line does not match the lines before it.
    pub fn next(&mut self, text: &str) -> Result<Line, Mismatch> {
        if self.has_ended {
            return Err(Mismatch::AfterEnd);
        }
        let line = Line::parse(text)?;
        match (&self.header, &line) {
            (None, Line::Header(header)) => {
                self.header = Some(header.clone());
                self.tally.add(text);
                self.tally.records = 0;
            }
            (None, _) | (Some(_), Line::Header(_)) => return Err(Mismatch::NoHeader),
            (Some(header), Line::End(end)) => {
                self.has_ended = true;
                // The format of the last line is fixed too, so that every bit counts.
                let is_canonical = line.write() == text;
                let found = std::mem::take(&mut self.tally).end();
                match &end.sha256 {
                    Some(_) if end.sha256 != found.sha256 || !is_canonical => return Err(Mismatch::WrongChecksum),
                    None if header.version >= VERSION => return Err(Mismatch::NoChecksum),
                    _ if end.records != found.records => return Err(Mismatch::Miscounted),
                    _ => {}
                }
            }
            (Some(_), Line::User(_) | Line::Record(_)) => self.tally.add(text),
        }
        Ok(line)
    }

    /// Whether the last line was read.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether the archive's version has a checksum.
    pub fn has_checksum(&self) -> bool {
        self.header.as_ref().is_some_and(|header| header.version >= VERSION)
    }
}

/// Count and checksum of the lines so far.
struct Tally {
    sum: Context,
    records: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Self { sum: Context::new(&SHA256), records: 0 }
    }
}

impl Tally {
    fn add(&mut self, line: &str) {
        self.sum.update(line.as_bytes());
        self.sum.update(b"\n");
        self.records += 1;
    }

    fn end(self) -> End {
        let sum = self.sum.finish();
        End { records: self.records, sha256: Some(sum.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use uuid::Uuid;

    use super::{
        super::{Owner, Record, Value, shape::Shape},
        *,
    };
    use recall_domain::UserId;

    fn archive() -> Vec<String> {
        let user = UserId(Uuid::from_u128(7));
        let header = Header { version: VERSION, program: "0.1.0".into(), exported_at: Default::default(), local_user: user };
        let (mut lines, first) = Lines::begin(header);
        let owner = Owner { user, feed_head: 1, knowledge_version: 1, visitor: false };
        let session = Record {
            shape: Shape::named("session").unwrap(),
            values: vec![Value::Id(user.0), Value::Text("Title".into()), Value::Count(1), Value::Count(2), Value::Count(0), Value::Missing],
        };
        let mut all = vec![first, lines.next(&Line::User(owner)), lines.next(&Line::Record(session))];
        all.push(lines.end());
        all
    }

    fn check(text: &[u8]) -> Result<(), String> {
        let mut check = Check::default();
        for line in text.strip_suffix(b"\n").ok_or("torn")?.split(|b| *b == b'\n') {
            check.next(std::str::from_utf8(line).map_err(|e| e.to_string())?).map_err(|e| e.to_string())?;
        }
        if check.has_ended() { Ok(()) } else { Err("cut off".into()) }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let whole = archive().concat().into_bytes();
        check(&whole).unwrap();
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                assert!(check(&flipped).is_err(), "bit {bit} of byte {at}");
            }
        }
    }

    #[test]
    fn missing_doubled_and_swapped_lines_are_noticed() {
        let lines = archive();
        for order in [&[0, 1, 3][..], &[0, 1, 2, 2, 3], &[0, 2, 1, 3], &[0, 1, 2], &[0, 1, 2, 3, 3], &[1, 2, 3]] {
            let text: String = order.iter().map(|n| lines[*n].as_str()).collect();
            assert!(check(text.as_bytes()).is_err(), "{order:?}");
        }
    }

    #[test]
    fn older_version_needs_no_checksum_but_its_count() {
        let mut lines = archive();
        let first = lines[0].replace("\"version\":2", "\"version\":1");
        lines[3] = "{\"type\":\"end\",\"records\":2}\n".into();
        assert_eq!(check(lines.concat().as_bytes()), Err(Mismatch::NoChecksum.to_string()));
        lines[0] = first;
        check(lines.concat().as_bytes()).unwrap();
        lines[3] = "{\"type\":\"end\",\"records\":3}\n".into();
        assert_eq!(check(lines.concat().as_bytes()), Err(Mismatch::Miscounted.to_string()));
    }
}
