//! `recall documents`: adds, lists and deletes documents of one user. A running server processes added ones.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Subcommand;
use tokio::io::AsyncReadExt;

use super::{
    chats::find_caller,
    output::{self, say},
    wiring,
};
use crate::config::Config;
use recall_domain::{Caller, Document, DocumentId, Page, ViewerRole, Word};
use recall_ports::DocumentFilter;
use recall_usecases::{AddDocument, UseCases};

/// Documents per page of the list.
const PAGE: u32 = 100;
/// Bytes that are read from a file at a time.
const READ_BYTES: usize = 64 * 1024;

#[derive(Subcommand)]
pub(super) enum DocumentsCommand {
    /// Add files: PDF, DOCX, HTML, Markdown, CSV or plain text
    ///
    /// A file with known content is recognised. New content of the same path makes a new version.
    Add {
        /// The files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Collection: letters, digits, hyphens and underscores [default: default]
        #[arg(long, value_name = "NAME")]
        collection: Option<String>,
        /// Add for this user: an id, `local`, or `shared` for shared memory [default: the local user]
        #[arg(long, value_name = "ID")]
        user: Option<String>,
    },
    /// List documents, latest first
    List {
        /// Only documents of this collection
        #[arg(long, value_name = "NAME")]
        collection: Option<String>,
        /// List those of this user: an id, `local`, or `shared` for shared memory [default: the local user]
        #[arg(long, value_name = "ID")]
        user: Option<String>,
    },
    /// Delete documents with their files, chunks and evidence
    Delete {
        /// The ids
        #[arg(required = true, value_name = "ID")]
        ids: Vec<DocumentId>,
        /// Delete those of this user: an id, `local`, or `shared` for shared memory [default: the local user]
        #[arg(long, value_name = "ID")]
        user: Option<String>,
    },
}

/// Runs `recall documents`.
pub(super) async fn run(config: &Config, command: DocumentsCommand) -> anyhow::Result<()> {
    let services = wiring::services(config).await?;
    let user = match &command {
        DocumentsCommand::Add { user, .. } | DocumentsCommand::List { user, .. } | DocumentsCommand::Delete { user, .. } => user.clone(),
    };
    let done = async {
        let caller = find_caller(config, services.store.as_ref(), user.as_deref()).await?;
        // The operator of the server may change shared memory.
        let caller = if caller.is_shared() { Caller::verified(caller.user(), ViewerRole::Admin) } else { caller };
        match command {
            DocumentsCommand::Add { files, collection, .. } => {
                for file in files {
                    add(&services.usecases, &caller, &file, collection.clone()).await.with_context(|| file.display().to_string())?;
                }
                output::note(format_args!("a running server processes the documents in the background; otherwise the next one does"));
                Ok(())
            }
            DocumentsCommand::List { collection, .. } => list(&services.usecases, &caller, collection).await,
            DocumentsCommand::Delete { ids, .. } => {
                for id in ids {
                    let deleted = services.usecases.delete_document(&caller, id).await.with_context(|| id.to_string())?;
                    say!("{id} deleted, {} chunks, {} facts", deleted.messages.saturating_sub(1), deleted.facts_deleted)?;
                }
                services.usecases.delete_due_files().await?;
                Ok(())
            }
        }
    };
    let done = done.await;
    services.usecases.background_tasks().end(std::time::Duration::from_secs(60)).await;
    services.store.close().await;
    done
}

async fn add(usecases: &UseCases, caller: &Caller, path: &Path, collection: Option<String>) -> anyhow::Result<()> {
    let mut file = tokio::fs::File::open(path).await?;
    let mut upload = usecases.begin_upload(caller).await?;
    let mut bytes = vec![0; READ_BYTES];
    loop {
        let read = file.read(&mut bytes).await?;
        if read == 0 {
            break;
        }
        upload.write(bytes.get(..read).unwrap_or_default()).await?;
    }
    // The same file is the same document, wherever the command runs.
    let absolute = tokio::fs::canonicalize(path).await?;
    let new = AddDocument { collection, path: Some(absolute.display().to_string()), filename: None };
    let (document, known) = usecases.add_document(caller, upload, new).await?;
    say!("{}", line(&document, if known { "known" } else { "added" }))
}

async fn list(usecases: &UseCases, caller: &Caller, collection: Option<String>) -> anyhow::Result<()> {
    let memory = usecases.memory(*caller);
    let filter = DocumentFilter { collections: collection.into_iter().collect(), ..DocumentFilter::default() };
    let mut page = Page::first(PAGE);
    loop {
        let slice = memory.list_documents(&filter, &page).await?;
        for (_, document) in &slice.items {
            say!("{}", line(document, document.status.word()))?;
        }
        match slice.items.last() {
            Some((key, _)) if slice.has_next => page.after = Some(key.clone()),
            _ => return Ok(()),
        }
    }
}

/// One line about a document: id, state, progress and name.
fn line(document: &Document, state: &str) -> String {
    let progress = document.progress();
    let error = document.error.as_deref().map(|error| format!(" ({error})")).unwrap_or_default();
    let (done, total, bytes) = (progress.done(), progress.total(), document.bytes);
    let name = document.filename.as_str();
    format!("{} {state} {done}/{total} {bytes} {} v{} {name}{error}", document.id, document.collection, document.version)
}
