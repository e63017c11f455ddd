//! Imports an archive: verifies all of it, then writes it in small transactions.
//!
//! Each transaction is idempotent, so the next import of the same archive finishes an interrupted one.

use std::io::{BufRead, Seek, SeekFrom};

use super::{
    failure::{ImportError, ImportFailure, Owners, PartialImport},
    verify::{self, Reader},
};
use recall_domain::{Caller, MessageId, Ontology, UserId, UserText};
use recall_ports::{
    Embedder, Store,
    archive::{ArchiveError, Line, Owner, Record, Restored, SHAPES, Value},
};

/// Maximum number of records in one transaction.
const BATCH: usize = 200;
/// Maximum length of their lines in bytes.
const BATCH_BYTES: usize = 1024 * 1024;

/// The result of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// Number of users in the archive.
    pub users: u64,
    /// Number of records of all users.
    pub records: u64,
    /// Number of records that the store did not have before.
    pub new: u64,
    /// Number of vectors and terms that differed and were replaced.
    pub repaired: u64,
    /// Whether the archive had a checksum.
    pub has_checksum: bool,
}

/// Imports an archive, which is read twice: once to verify it, and once to write it.
///
/// `owners` are the users whose data it may write. `on_user` is called with each user before any of their data is written. `epoch` names
/// the new event logs.
///
/// # Errors
/// If the archive is damaged, does not fit this installation, or conflicts with the store. A damaged archive writes nothing; otherwise
/// the error says what was written.
pub async fn import_archive(
    store: &dyn Store,
    embedder: &dyn Embedder,
    ontology: &Ontology,
    owners: Owners,
    on_user: impl FnMut(UserId) + Send,
    epoch: &str,
    mut input: impl BufRead + Seek,
) -> Result<ImportSummary, ImportError> {
    let unreadable = |e: std::io::Error| ImportError { line: 0, failure: e.into(), partial: PartialImport::default() };
    let start = input.stream_position().map_err(unreadable)?;
    let expected = verify::Expected { ontology, model: embedder.model(), dimension: embedder.dimension(), owners };
    let has_checksum = verify::verify(&mut input, &expected)?;
    input.seek(SeekFrom::Start(start)).map_err(unreadable)?;

    let mut import = Import {
        store,
        embedder,
        owners,
        on_user: Box::new(on_user),
        epoch,
        local_users: None,
        user: None,
        batch: Vec::new(),
        bytes: 0,
        line: 0,
        summary: ImportSummary { has_checksum, ..ImportSummary::default() },
        partial: PartialImport::default(),
    };
    let done = import.write_all(input).await;
    done.map(|()| import.summary).map_err(|failure| ImportError { line: import.line, failure, partial: import.partial })
}

/// The user whose records are being imported.
struct User {
    caller: Caller,
    /// Number of records of each shape so far.
    counts: Vec<u64>,
}

struct Import<'a> {
    store: &'a dyn Store,
    embedder: &'a dyn Embedder,
    owners: Owners,
    on_user: Box<dyn FnMut(UserId) + Send + 'a>,
    epoch: &'a str,
    /// The local user of the exporting server, and the local user of this server.
    local_users: Option<(UserId, UserId)>,
    user: Option<User>,
    /// Records of one shape, with the numbers of their lines.
    batch: Vec<(u64, Record)>,
    bytes: usize,
    /// Number of the last line read, or of the line that caused the error.
    line: u64,
    summary: ImportSummary,
    partial: PartialImport,
}

impl Import<'_> {
    async fn write_all(&mut self, input: impl BufRead) -> Result<(), ImportFailure> {
        let mut lines = Reader::new(input);
        loop {
            let next = lines.next();
            self.line = lines.line;
            let Some((line, bytes)) = next? else { return Ok(()) };
            match line {
                Line::Header(header) => self.local_users = Some((header.local_user, self.local_user().await?)),
                Line::User(owner) => self.begin_user(owner).await?,
                Line::Record(record) => self.add_record(record, bytes).await?,
                Line::End(_) => self.finish_user().await?,
            }
        }
    }

    async fn local_user(&self) -> Result<UserId, ImportFailure> {
        Ok(self.store.local_user().await.map_err(ArchiveError::Store)?)
    }

    async fn begin_user(&mut self, owner: Owner) -> Result<(), ImportFailure> {
        self.finish_user().await?;
        let user = match (self.owners, self.local_users) {
            (Owners::Into(user), _) => user,
            // Each server without login has one local user, with a different id.
            (_, Some((there, here))) if owner.user == there && owner.user != UserId::SHARED => here,
            _ => owner.user,
        };
        (self.on_user)(user);
        let admitted = self.store.admit(&Owner { user, visitor: false, ..owner }).await?;
        self.user = Some(User { caller: admitted.caller, counts: vec![0; SHAPES.len()] });
        self.partial.unfinished = admitted.is_importing.then_some(user);
        self.summary.users += 1;
        Ok(())
    }

    async fn add_record(&mut self, mut record: Record, bytes: usize) -> Result<(), ImportFailure> {
        // A pending job of a visitor becomes a job of the user that the data is imported for.
        if record.shape.name == "job" && *record.get("role") == Value::Text("anonymous".to_owned()) {
            record.set("role", Value::Text("user".to_owned()));
        }
        let full = self.batch.len() >= BATCH || self.bytes + bytes > BATCH_BYTES;
        if full || self.batch.first().is_some_and(|(_, first)| first.shape != record.shape) {
            self.flush().await?;
        }
        let user = self.user.as_mut().ok_or(ImportFailure::NoOwner)?;
        if let Some(count) = user.counts.get_mut(record.shape.place()) {
            *count += 1;
        }
        self.bytes += bytes;
        self.batch.push((self.line, record));
        self.summary.records += 1;
        Ok(())
    }

    /// Writes the current batch.
    async fn flush(&mut self) -> Result<(), ImportFailure> {
        let Some(caller) = self.user.as_ref().map(|u| u.caller) else { return Ok(()) };
        self.bytes = 0;
        let (lines, mut records): (Vec<_>, Vec<_>) = std::mem::take(&mut self.batch).into_iter().unzip();
        if records.is_empty() {
            return Ok(());
        }
        self.embed(&caller, &mut records).await?;
        match self.store.restore(&caller, &records, self.epoch).await {
            Ok(Restored { new, repaired }) => {
                self.summary.new += new;
                self.summary.repaired += repaired;
                self.partial.records += new + repaired;
            }
            Err(e) => {
                if let ArchiveError::Conflict(at) | ArchiveError::Inconsistent(at) = e {
                    self.line = lines.get(at).copied().unwrap_or(self.line);
                    self.partial.records += at as u64;
                }
                return Err(e.into());
            }
        }
        Ok(())
    }

    /// Completes the current user.
    async fn finish_user(&mut self) -> Result<(), ImportFailure> {
        self.flush().await?;
        if let Some(user) = self.user.take() {
            self.store.restored(&user.caller, &user.counts).await?;
            self.partial.users += 1;
            self.partial.unfinished = None;
        }
        Ok(())
    }

    /// Replaces vectors of other models, which cannot be compared with vectors of questions.
    ///
    /// The messages are already in the store, because they come before their vectors in the archive.
    async fn embed(&self, caller: &Caller, records: &mut [Record]) -> Result<(), ImportFailure> {
        let model = self.embedder.model();
        let mut others: Vec<_> = records.iter_mut().filter(|r| r.shape.name == "index" && r.text("model") != Some(model)).collect();
        if others.is_empty() {
            return Ok(());
        }
        let ids: Vec<_> = others.iter().filter_map(|r| r.id("message_id")).map(MessageId).collect();
        let messages = self.store.messages_by_id(caller, &ids).await.map_err(ArchiveError::Store)?;
        let texts: Vec<UserText> = messages.iter().map(|m| m.text.clone()).collect();
        let vectors = self.embedder.embed(&texts).await.map_err(|e| ImportFailure::NotEmbedded(e.to_string()))?;
        for (message, vector) in messages.iter().zip(vectors) {
            for record in others.iter_mut().filter(|r| r.id("message_id") == Some(message.id.0)) {
                record.set("model", Value::Text(model.to_owned()));
                record.set("embedding", Value::Vector(vector.0.clone()));
            }
        }
        Ok(())
    }
}
