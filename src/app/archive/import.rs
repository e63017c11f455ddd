//! Importing: the archive is verified as a whole before anything is written, then written in small transactions, each of which
//! may be repeated, so that an import that was interrupted is finished by the next.

use std::io::{BufRead, Seek, SeekFrom};

use super::verify::{self, LONGEST_LINE, Reader};
use recall_domain::{Caller, MessageId, Ontology, UserId, UserText};
use recall_ports::{
    Embedder, Store,
    archive::{ArchiveError, Damage, Line, Owner, Record, Restored, SHAPES, Value, lines::Mismatch},
};

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
    /// Vectors and terms that were different, and were replaced.
    pub repaired: u64,
    /// Whether the archive had a checksum.
    pub has_checksum: bool,
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
#[error("line {line}: {what} ({}). {kept}", .what.code())]
pub struct Refused {
    /// The line, from 1.
    pub line: u64,
    /// Why. No source of the error: its text is in ours.
    pub what: Reason,
    /// What was written before.
    pub kept: Kept,
}

/// What an import that was refused left in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Users who were imported whole.
    pub users: u64,
    /// Records that were written, of these and of the unfinished one.
    pub records: u64,
    /// Who cannot store anything until the import of the rest.
    pub unfinished: Option<UserId>,
}

impl std::fmt::Display for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.users, self.records) {
            (0, 0) => f.write_str("Nothing was written.")?,
            (users, records) => write!(f, "Up to {records} records were written and stay; {users} users are whole.")?,
        }
        match self.unfinished {
            None => Ok(()),
            Some(user) => write!(
                f,
                " User {user} is imported in part and can store nothing until the import is finished: import the archive again, or \
                 delete the part with `recall user delete {user} --yes`."
            ),
        }
    }
}

/// Why.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// The line, or what the lines add up to.
    #[error("{0}")]
    Damaged(#[from] Mismatch),
    /// A fact of a relation that is not in the ontology.
    #[error("the relation of the fact is not in the ontology; set understanding.ontology to the one that the archive was made with")]
    UnknownRelation,
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
    #[error("the archive ends too early; import a whole copy of it")]
    Truncated,
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
            Self::Damaged(Mismatch::Damaged(Damage::TooNew(_))) => "ARCHIVE_TOO_NEW",
            Self::Damaged(Mismatch::Damaged(Damage::NotAnArchive) | Mismatch::NoHeader) => "ARCHIVE_UNKNOWN",
            Self::Damaged(Mismatch::WrongChecksum) => "ARCHIVE_CHECKSUM",
            Self::Damaged(_) | Self::NotText | Self::NoOwner => "ARCHIVE_DAMAGED",
            Self::UnknownRelation => "ARCHIVE_UNKNOWN_RELATION",
            Self::TooLong => "ARCHIVE_LINE_TOO_LONG",
            Self::Truncated => "ARCHIVE_TRUNCATED",
            Self::ManyUsers => "ARCHIVE_MANY_USERS",
            Self::Owner(_) => "ARCHIVE_OWNER",
            Self::Visitor => "ARCHIVE_VISITOR",
            Self::Refused(ArchiveError::OtherData) => "ARCHIVE_OTHER_DATA",
            Self::Refused(ArchiveError::Unfinished) => "ARCHIVE_UNFINISHED",
            Self::Refused(ArchiveError::Conflict(_)) => "ARCHIVE_CONFLICT",
            Self::Refused(ArchiveError::Inconsistent(_) | ArchiveError::Counters) => "ARCHIVE_INCONSISTENT",
            Self::Refused(ArchiveError::Store(_)) => "STORE_FAILED",
            Self::NotEmbedded(_) => "EMBEDDING_FAILED",
            Self::Unreadable(_) => "UNREADABLE",
        }
    }
}

/// Imports an archive. `owners` are the users for whom it may write, `told` is called with each user before anything is written, and
/// `epoch` names the new logs. The archive is read twice: once to verify all of it, and once to write it.
///
/// # Errors
/// When the archive or what is in the store refuses it. An archive that is damaged writes nothing; otherwise the error says what
/// was written.
pub async fn run(
    store: &dyn Store,
    embedder: &dyn Embedder,
    ontology: &Ontology,
    owners: Owners,
    told: impl FnMut(UserId) + Send,
    epoch: &str,
    mut input: impl BufRead + Seek,
) -> Result<Taken, Refused> {
    let unreadable = |e: std::io::Error| Refused { line: 0, what: e.into(), kept: Kept::default() };
    let start = input.stream_position().map_err(unreadable)?;
    let expected = verify::Expected { ontology, model: embedder.model(), dimension: embedder.dimension(), owners };
    let has_checksum = verify::whole(&mut input, &expected)?;
    input.seek(SeekFrom::Start(start)).map_err(unreadable)?;

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
        taken: Taken { has_checksum, ..Taken::default() },
        kept: Kept::default(),
    };
    let done = import.all(input).await;
    done.map(|()| import.taken).map_err(|what| Refused { line: import.line, what, kept: import.kept })
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
    kept: Kept,
}

impl Import<'_> {
    async fn all(&mut self, input: impl BufRead) -> Result<(), Reason> {
        let mut lines = Reader::new(input);
        loop {
            let next = lines.next();
            self.line = lines.line;
            let Some((line, bytes)) = next? else { return Ok(()) };
            match line {
                Line::Header(header) => self.local = Some((header.local_user, self.local_user().await?)),
                Line::User(owner) => self.owner(owner).await?,
                Line::Record(record) => self.record(record, bytes).await?,
                Line::End(_) => self.finish().await?,
            }
        }
    }

    async fn local_user(&self) -> Result<UserId, Reason> {
        Ok(self.store.local_user().await.map_err(ArchiveError::Store)?)
    }

    async fn owner(&mut self, owner: Owner) -> Result<(), Reason> {
        self.finish().await?;
        let user = match (self.owners, self.local) {
            (Owners::Into(user), _) => user,
            // Each installation without login has one user, with an id of its own.
            (_, Some((there, here))) if owner.user == there && owner.user != UserId::SHARED => here,
            _ => owner.user,
        };
        (self.told)(user);
        let admitted = self.store.admit(&Owner { user, visitor: false, ..owner }).await?;
        self.user = Some(User { caller: admitted.caller, counts: vec![0; SHAPES.len()] });
        self.kept.unfinished = admitted.is_importing.then_some(user);
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
            Ok(Restored { new, repaired }) => {
                self.taken.new += new;
                self.taken.repaired += repaired;
                self.kept.records += new + repaired;
            }
            Err(e) => {
                if let ArchiveError::Conflict(at) | ArchiveError::Inconsistent(at) = e {
                    self.line = lines.get(at).copied().unwrap_or(self.line);
                    self.kept.records += at as u64;
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
            self.kept.users += 1;
            self.kept.unfinished = None;
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
