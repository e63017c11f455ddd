//! Reading: line by line in small transactions, each of which may be repeated, so that an import that was interrupted is begun
//! again and ends whole.

use std::io::{BufRead, Read};

use crate::domain::{Caller, MessageId, UserId, UserText};
use crate::ports::{
    Embedder, Store,
    archive::{ArchiveError, Damage, Line, Owner, Record, SHAPES, Value},
};

/// Longest line in bytes: far more than the longest message needs with all its terms.
const LONGEST_LINE: usize = 16 * 1024 * 1024;
/// Records, and bytes of their lines, written at once.
const BATCH: usize = 200;
const BATCH_BYTES: usize = 1024 * 1024;

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Users.
    pub users: u64,
    /// Records of them all.
    pub records: u64,
    /// Those that were not there before.
    pub new: u64,
}

/// The users for whom an archive may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owners {
    /// The local user here, for the data of an installation's local user.
    Local,
    /// Every owner that the archive names.
    Trusted,
    /// This user.
    Into(UserId),
}

/// Why an archive was not taken, and where. Never quotes it.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {what} ({})", .what.code())]
pub struct Refused {
    /// The line, from 1.
    pub line: u64,
    /// Why. No source of the error: its text is in ours.
    pub what: Reason,
}

/// Why.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// The line.
    #[error("{0}")]
    Damaged(#[from] Damage),
    /// The first line is something else.
    #[error("the archive has no first line that says what it is")]
    NoHeader,
    /// Longer than any record.
    #[error("the line is longer than {} MiB", LONGEST_LINE / 1024 / 1024)]
    TooLong,
    /// No text.
    #[error("it is not UTF-8")]
    NotText,
    /// Before the first user.
    #[error("a record that belongs to nobody")]
    NoOwner,
    /// No last line, or no end of a line.
    #[error("the archive ends too early; what was read is kept, and importing the whole one adds the rest")]
    Truncated,
    /// Lines are missing in between.
    #[error("the last line counts other records than there are")]
    Miscounted,
    /// More than the archive.
    #[error("there is something after the last line")]
    AfterEnd,
    /// For `into`.
    #[error("it has more than one user, who cannot all become one")]
    ManyUsers,
    /// An owner that is not the local user, without [`Owners::Trusted`].
    #[error(
        "it names the user {0} as its owner; --into ID writes it for a user of your choice, and --trust-owners believes every owner \
         that it names"
    )]
    Owner(UserId),
    /// Without `into`.
    #[error("it is of a visitor, who is nobody here and whose data nobody could read or end; name a user to take it as theirs")]
    Visitor,
    /// The store.
    #[error("{0}")]
    Refused(#[from] ArchiveError),
    /// The embedding model.
    #[error("a text could not be embedded: {0}")]
    NotEmbedded(String),
    /// The input.
    #[error("the archive cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
}

impl Reason {
    /// A stable name, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Damaged(Damage::TooNew(_)) => "ARCHIVE_TOO_NEW",
            Self::Damaged(Damage::NotAnArchive) | Self::NoHeader => "ARCHIVE_UNKNOWN",
            Self::Damaged(_) | Self::NotText | Self::NoOwner | Self::Miscounted | Self::AfterEnd => "ARCHIVE_DAMAGED",
            Self::TooLong => "ARCHIVE_LINE_TOO_LONG",
            Self::Truncated => "ARCHIVE_TRUNCATED",
            Self::ManyUsers => "ARCHIVE_MANY_USERS",
            Self::Owner(_) => "ARCHIVE_OWNER",
            Self::Visitor => "ARCHIVE_VISITOR",
            Self::Refused(ArchiveError::OtherData) => "ARCHIVE_OTHER_DATA",
            Self::Refused(ArchiveError::Conflict(_)) => "ARCHIVE_CONFLICT",
            Self::Refused(ArchiveError::Inconsistent(_) | ArchiveError::Counters) => "ARCHIVE_INCONSISTENT",
            Self::Refused(ArchiveError::Store(_)) => "STORE_FAILED",
            Self::NotEmbedded(_) => "EMBEDDING_FAILED",
            Self::Unreadable(_) => "UNREADABLE",
        }
    }
}

/// Takes an archive in. `owners` are the users for whom it may write, `told` is called with each user before anything is written, and
/// `epoch` names the new logs.
///
/// # Errors
/// When the archive or what is in the store refuses it. What was written until then is right and stays.
pub async fn run(
    store: &dyn Store,
    embedder: &dyn Embedder,
    owners: Owners,
    told: impl FnMut(UserId) + Send,
    epoch: &str,
    input: impl BufRead,
) -> Result<Taken, Refused> {
    let mut import = Import {
        store,
        embedder,
        owners,
        told: Box::new(told),
        epoch,
        local: None,
        user: None,
        batch: Vec::new(),
        bytes: 0,
        line: 0,
        taken: Taken::default(),
    };
    let done = import.all(input).await;
    done.map_err(|what| Refused { line: import.line, what })
}

/// The user whose records come now.
struct User {
    caller: Caller,
    /// How many records of each shape came.
    counts: Vec<u64>,
}

struct Import<'a> {
    store: &'a dyn Store,
    embedder: &'a dyn Embedder,
    owners: Owners,
    told: Box<dyn FnMut(UserId) + Send + 'a>,
    epoch: &'a str,
    /// Whose data is to become the local user's of this installation, who that is.
    local: Option<(UserId, UserId)>,
    user: Option<User>,
    /// Records of one shape, with the numbers of their lines.
    batch: Vec<(u64, Record)>,
    bytes: usize,
    /// The line that was read last, or is to blame.
    line: u64,
    taken: Taken,
}

impl Import<'_> {
    async fn all(&mut self, mut input: impl BufRead) -> Result<Taken, Reason> {
        let mut text = Vec::new();
        let mut ended = false;
        while read_line(&mut input, &mut text).inspect_err(|_| self.line += 1)? {
            self.line += 1;
            if ended {
                return Err(Reason::AfterEnd);
            }
            let line = std::str::from_utf8(&text).map_err(|_| Reason::NotText)?;
            match (Line::parse(line)?, self.local) {
                (Line::Header(header), None) => self.local = Some((header.local_user, self.local_user().await?)),
                (Line::Header(_), Some(_)) => return Err(Damage::UnknownType.into()),
                (_, None) => return Err(Reason::NoHeader),
                (Line::User(owner), Some(local)) => self.owner(owner, local).await?,
                (Line::Record(record), Some(_)) => self.record(record, text.len()).await?,
                (Line::End(records), Some(_)) => {
                    self.finish().await?;
                    if records != self.taken.users + self.taken.records {
                        return Err(Reason::Miscounted);
                    }
                    ended = true;
                }
            }
        }
        if !ended {
            // What was read is right; the next attempt need not write it again.
            self.flush().await?;
            return Err(if self.local.is_some() { Reason::Truncated } else { Reason::NoHeader });
        }
        Ok(self.taken)
    }

    async fn local_user(&self) -> Result<UserId, Reason> {
        Ok(self.store.local_user().await.map_err(ArchiveError::Store)?)
    }

    async fn owner(&mut self, owner: Owner, (there, here): (UserId, UserId)) -> Result<(), Reason> {
        self.finish().await?;
        let user = match self.owners {
            Owners::Into(_) if self.taken.users > 0 => return Err(Reason::ManyUsers),
            Owners::Into(user) => user,
            _ if owner.visitor => return Err(Reason::Visitor),
            // Each installation without login has one user, with an id of its own.
            _ if owner.user == there && owner.user != UserId::SHARED => here,
            Owners::Trusted => owner.user,
            Owners::Local => return Err(Reason::Owner(owner.user)),
        };
        (self.told)(user);
        let caller = self.store.admit(&Owner { user, visitor: false, ..owner }).await?;
        self.user = Some(User { caller, counts: vec![0; SHAPES.len()] });
        self.taken.users += 1;
        Ok(())
    }

    async fn record(&mut self, mut record: Record, bytes: usize) -> Result<(), Reason> {
        // Work that waited for a visitor is that of whom it comes to.
        if record.shape.name == "job" && *record.get("role") == Value::Text("anonymous".to_owned()) {
            record.set("role", Value::Text("user".to_owned()));
        }
        let full = self.batch.len() >= BATCH || self.bytes + bytes > BATCH_BYTES;
        if full || self.batch.first().is_some_and(|(_, first)| first.shape != record.shape) {
            self.flush().await?;
        }
        let user = self.user.as_mut().ok_or(Reason::NoOwner)?;
        if let Some(count) = user.counts.get_mut(record.shape.place()) {
            *count += 1;
        }
        self.bytes += bytes;
        self.batch.push((self.line, record));
        self.taken.records += 1;
        Ok(())
    }

    /// Writes what is waiting.
    async fn flush(&mut self) -> Result<(), Reason> {
        let Some(caller) = self.user.as_ref().map(|u| u.caller) else { return Ok(()) };
        self.bytes = 0;
        let (lines, mut records): (Vec<_>, Vec<_>) = std::mem::take(&mut self.batch).into_iter().unzip();
        if records.is_empty() {
            return Ok(());
        }
        self.embed(&caller, &mut records).await?;
        match self.store.restore(&caller, &records, self.epoch).await {
            Ok(new) => self.taken.new += new,
            Err(e) => {
                if let ArchiveError::Conflict(at) | ArchiveError::Inconsistent(at) = e {
                    self.line = lines.get(at).copied().unwrap_or(self.line);
                }
                return Err(e.into());
            }
        }
        Ok(())
    }

    /// Ends the user whose records came until now.
    async fn finish(&mut self) -> Result<(), Reason> {
        self.flush().await?;
        if let Some(user) = self.user.take() {
            self.store.restored(&user.caller, &user.counts).await?;
        }
        Ok(())
    }

    /// Vectors of another model could never be compared with those of questions. The messages were written before.
    async fn embed(&self, caller: &Caller, records: &mut [Record]) -> Result<(), Reason> {
        let model = self.embedder.model();
        let mut others: Vec<_> = records.iter_mut().filter(|r| r.shape.name == "index" && r.text("model") != Some(model)).collect();
        if others.is_empty() {
            return Ok(());
        }
        let ids: Vec<_> = others.iter().filter_map(|r| r.id("message_id")).map(MessageId).collect();
        let messages = self.store.messages_by_id(caller, &ids).await.map_err(ArchiveError::Store)?;
        let texts: Vec<UserText> = messages.iter().map(|m| m.text.clone()).collect();
        let vectors = self.embedder.embed(&texts).await.map_err(|e| Reason::NotEmbedded(e.to_string()))?;
        for (message, vector) in messages.iter().zip(vectors) {
            for record in others.iter_mut().filter(|r| r.id("message_id") == Some(message.id.0)) {
                record.set("model", Value::Text(model.to_owned()));
                record.set("embedding", Value::Vector(vector.0.clone()));
            }
        }
        Ok(())
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
