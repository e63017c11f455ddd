//! Reads and verifies an archive: every line, the order, number and checksum of the lines, and values that depend on this
//! installation.

use std::io::{BufRead, Read};

use super::failure::{ImportError, ImportFailure, LONGEST_LINE, Owners, PartialImport};
use recall_domain::{Ontology, UserId};
use recall_ports::archive::{
    Damage, Line, Owner, Record, Value,
    lines::{Check, Mismatch},
};

/// Reads the lines of an archive and checks each.
pub(super) struct Reader<R> {
    input: R,
    check: Check,
    text: Vec<u8>,
    /// Number of the last line read, from 1.
    pub(super) line: u64,
}

impl<R: BufRead> Reader<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, check: Check::default(), text: Vec::new(), line: 0 }
    }

    /// Returns the next line and its length in bytes, or `None` at the end of a complete archive.
    pub(super) fn next(&mut self) -> Result<Option<(Line, usize)>, ImportFailure> {
        self.line += 1;
        if read_line(&mut self.input, &mut self.text)? {
            let text = std::str::from_utf8(&self.text).map_err(|_| ImportFailure::NotText)?;
            return Ok(Some((self.check.next(text)?, self.text.len())));
        }
        self.line -= 1;
        match (self.check.has_ended(), self.line) {
            (true, _) => Ok(None),
            (false, 0) => Err(Mismatch::NoHeader.into()),
            (false, _) => Err(ImportFailure::Truncated),
        }
    }
}

/// The requirements of this installation on an archive.
pub(super) struct Expected<'a> {
    pub(super) ontology: &'a Ontology,
    /// The configured embedding model.
    pub(super) model: &'a str,
    /// The length of its vectors.
    pub(super) dimension: usize,
    /// The users whose data the archive may write.
    pub(super) owners: Owners,
}

/// The state of a verification.
#[derive(Default)]
struct Seen {
    /// The local user of the installation that wrote the archive.
    local: Option<UserId>,
    users: u64,
}

/// Verifies a complete archive. Returns whether it has a checksum.
pub(super) fn verify(input: &mut impl BufRead, expected: &Expected<'_>) -> Result<bool, ImportError> {
    let mut lines = Reader::new(input);
    let mut seen = Seen::default();
    loop {
        let checked = match lines.next() {
            Ok(None) => return Ok(lines.check.has_checksum()),
            Ok(Some((line, _))) => expected.check(&line, &mut seen),
            Err(failure) => Err(failure),
        };
        checked.map_err(|failure| ImportError { line: lines.line, failure, partial: PartialImport::default() })?;
    }
}

impl Expected<'_> {
    fn check(&self, line: &Line, seen: &mut Seen) -> Result<(), ImportFailure> {
        match line {
            Line::Header(header) => {
                seen.local = Some(header.local_user);
                Ok(())
            }
            Line::User(owner) => {
                seen.users += 1;
                self.check_owner(owner, seen)
            }
            Line::Record(_) if seen.users == 0 => Err(ImportFailure::NoOwner),
            Line::Record(record) => self.check_record(record),
            Line::End(_) => Ok(()),
        }
    }

    fn check_owner(&self, owner: &Owner, seen: &Seen) -> Result<(), ImportFailure> {
        match self.owners {
            Owners::Into(_) if seen.users > 1 => Err(ImportFailure::ManyUsers),
            Owners::Into(_) => Ok(()),
            _ if owner.visitor => Err(ImportFailure::Visitor),
            Owners::Trusted => Ok(()),
            Owners::Local if Some(owner.user) == seen.local && owner.user != UserId::SHARED => Ok(()),
            Owners::Local => Err(ImportFailure::Owner(owner.user)),
        }
    }

    fn check_record(&self, record: &Record) -> Result<(), ImportFailure> {
        match record.shape.name {
            "fact" | "merge_fact" if record.text("relation").is_none_or(|name| self.ontology.get(name).is_none()) => {
                Err(ImportFailure::UnknownRelation)
            }
            "index" if record.text("model") == Some(self.model) => match record.get("embedding") {
                Value::Vector(v) if v.is_empty() || v.len() == self.dimension => Ok(()),
                _ => Err(Mismatch::Damaged(Damage::Field("embedding")).into()),
            },
            _ => Ok(()),
        }
    }
}

/// Reads one line without its line feed into `line`. Returns false at the end of the input.
///
/// A last line without a line feed means that the archive was cut off.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, ImportFailure> {
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
        None if line.len() > LONGEST_LINE => Err(ImportFailure::TooLong),
        None => Err(ImportFailure::Truncated),
    }
}
