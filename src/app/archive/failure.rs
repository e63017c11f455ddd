//! What an import may write, and why an archive was refused.

use recall_domain::UserId;
use recall_ports::archive::{ArchiveError, Damage, lines::Mismatch};

/// Maximum length of a line in bytes. The longest message with all its terms needs far less.
pub(super) const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// The users whose data an archive may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owners {
    /// The local user of this server, from the data of the local user of another.
    Local,
    /// Every owner that the archive names.
    Trusted,
    /// This user, from the data of the only user in the archive.
    Into(UserId),
}

/// An archive was refused, and where. The text never quotes the archive.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {failure} ({}). {partial}", .failure.code())]
pub struct ImportError {
    /// Number of the line, from 1.
    pub line: u64,
    /// The reason. It is not the `source` of this error, because the text already contains it.
    pub failure: ImportFailure,
    /// What was written before the error.
    pub partial: PartialImport,
}

/// What a refused import left in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartialImport {
    /// Number of completely imported users.
    pub users: u64,
    /// Number of records written for these users and the unfinished one.
    pub records: u64,
    /// The user that is imported in part, who can store nothing until the rest is imported.
    pub unfinished: Option<UserId>,
}

impl std::fmt::Display for PartialImport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.users, self.records) {
            (0, 0) => f.write_str("Nothing was written.")?,
            (users, records) => write!(f, "Up to {records} records were written and stay; {users} users are complete.")?,
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

/// Why an archive was refused.
#[derive(Debug, thiserror::Error)]
pub enum ImportFailure {
    /// A damaged line, or a wrong order, number or checksum of lines.
    #[error("{0}")]
    Damaged(#[from] Mismatch),
    /// The ontology lacks the relation of a fact.
    #[error("the relation of the fact is not in the ontology; set understanding.ontology to the one that the archive was made with")]
    UnknownRelation,
    /// A line is longer than any record.
    #[error("the line is longer than {} MiB", LONGEST_LINE / 1024 / 1024)]
    TooLong,
    /// A line is not UTF-8.
    #[error("it is not UTF-8")]
    NotText,
    /// A record comes before the first user.
    #[error("the record has no owner")]
    NoOwner,
    /// The last line or the end of a line is missing.
    #[error("the archive ends too early; import a complete copy of it")]
    Truncated,
    /// The archive has several users, with [`Owners::Into`].
    #[error("the archive has more than one user; --into accepts only one")]
    ManyUsers,
    /// The owner is not the local user, without [`Owners::Trusted`].
    #[error(
        "the archive names the user {0} as its owner; --into ID imports it as a user of your choice, and --trust-owners accepts every \
         owner that it names"
    )]
    Owner(UserId),
    /// The owner is a visitor, without [`Owners::Into`].
    #[error("this archive contains the data of a visitor that this server does not know; use --into ID to import it as the data of a user")]
    Visitor,
    /// The store refused a record.
    #[error("{0}")]
    Archive(#[from] ArchiveError),
    /// The embedder failed.
    #[error("a text could not be embedded: {0}")]
    NotEmbedded(String),
    /// The input could not be read.
    #[error("the archive cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
}

impl ImportFailure {
    /// Returns a stable code for programs.
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
            Self::Archive(ArchiveError::OtherData) => "ARCHIVE_OTHER_DATA",
            Self::Archive(ArchiveError::Unfinished) => "ARCHIVE_UNFINISHED",
            Self::Archive(ArchiveError::Conflict(_)) => "ARCHIVE_CONFLICT",
            Self::Archive(ArchiveError::Inconsistent(_) | ArchiveError::Counters) => "ARCHIVE_INCONSISTENT",
            Self::Archive(ArchiveError::Store(_)) => "STORE_FAILED",
            Self::NotEmbedded(_) => "EMBEDDING_FAILED",
            Self::Unreadable(_) => "UNREADABLE",
        }
    }
}
