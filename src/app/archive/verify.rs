//! Reading and verifying an archive: every line, their order, number and checksum, and values that only this installation can
//! judge.

use std::io::{BufRead, Read};

use super::import::{Kept, Owners, Reason, Refused};
use recall_domain::{Ontology, UserId};
use recall_ports::archive::{
    Damage, Line, Owner, Record, Value,
    lines::{Check, Mismatch},
};

/// Longest line in bytes: far more than the longest message needs with all its terms.
pub(super) const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// The lines of an archive.
pub(super) struct Reader<R> {
    input: R,
    check: Check,
    text: Vec<u8>,
    /// The line that was read last, from 1.
    pub(super) line: u64,
}

impl<R: BufRead> Reader<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, check: Check::default(), text: Vec::new(), line: 0 }
    }

    /// The next line with its length in bytes; none at the end of a whole archive.
    pub(super) fn next(&mut self) -> Result<Option<(Line, usize)>, Reason> {
        self.line += 1;
        if read_line(&mut self.input, &mut self.text)? {
            let text = std::str::from_utf8(&self.text).map_err(|_| Reason::NotText)?;
            return Ok(Some((self.check.next(text)?, self.text.len())));
        }
        self.line -= 1;
        match (self.check.has_ended(), self.line) {
            (true, _) => Ok(None),
            (false, 0) => Err(Mismatch::NoHeader.into()),
            (false, _) => Err(Reason::Truncated),
        }
    }
}

/// What this installation expects of an archive.
pub(super) struct Expected<'a> {
    pub(super) ontology: &'a Ontology,
    /// The embedding model, and the length of its vectors.
    pub(super) model: &'a str,
    pub(super) dimension: usize,
    /// The users for whom it may write.
    pub(super) owners: Owners,
}

/// What was seen of an archive so far.
#[derive(Default)]
struct Seen {
    /// The local user of the installation that wrote it.
    local: Option<UserId>,
    users: u64,
}

/// Verifies all of an archive; whether it has a checksum.
pub(super) fn whole(input: &mut impl BufRead, expected: &Expected<'_>) -> Result<bool, Refused> {
    let mut lines = Reader::new(input);
    let mut seen = Seen::default();
    loop {
        let checked = match lines.next() {
            Ok(None) => return Ok(lines.check.has_checksum()),
            Ok(Some((line, _))) => expected.check(&line, &mut seen),
            Err(what) => Err(what),
        };
        checked.map_err(|what| Refused { line: lines.line, what, kept: Kept::default() })?;
    }
}

impl Expected<'_> {
    fn check(&self, line: &Line, seen: &mut Seen) -> Result<(), Reason> {
        match line {
            Line::Header(header) => {
                seen.local = Some(header.local_user);
                Ok(())
            }
            Line::User(owner) => {
                seen.users += 1;
                self.owner(owner, seen)
            }
            Line::Record(_) if seen.users == 0 => Err(Reason::NoOwner),
            Line::Record(record) => self.record(record),
            Line::End(_) => Ok(()),
        }
    }

    fn owner(&self, owner: &Owner, seen: &Seen) -> Result<(), Reason> {
        match self.owners {
            Owners::Into(_) if seen.users > 1 => Err(Reason::ManyUsers),
            Owners::Into(_) => Ok(()),
            _ if owner.visitor => Err(Reason::Visitor),
            Owners::Trusted => Ok(()),
            Owners::Local if Some(owner.user) == seen.local && owner.user != UserId::SHARED => Ok(()),
            Owners::Local => Err(Reason::Owner(owner.user)),
        }
    }

    fn record(&self, record: &Record) -> Result<(), Reason> {
        match record.shape.name {
            "fact" | "merge_fact" if record.text("relation").is_none_or(|name| self.ontology.get(name).is_none()) => {
                Err(Reason::UnknownRelation)
            }
            "index" if record.text("model") == Some(self.model) => match record.get("embedding") {
                Value::Vector(v) if v.is_empty() || v.len() == self.dimension => Ok(()),
                _ => Err(Mismatch::Damaged(Damage::Field("embedding")).into()),
            },
            _ => Ok(()),
        }
    }
}

/// Reads one line without its end into `line`; false at the end of the input. A last line without an end was cut off.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, Reason> {
    line.clear();
    let limit = LONGEST_LINE as u64 + 1;
    let read = input.by_ref().take(limit).read_until(b'\n', line)?;
    if read == 0 {
        return Ok(false);
    }
    match line.pop_if(|last| *last == b'\n') {
        Some(_) => {
            line.pop_if(|last| *last == b'\r');
            Ok(true)
        }
        None if line.len() > LONGEST_LINE => Err(Reason::TooLong),
        None => Err(Reason::Truncated),
    }
}
