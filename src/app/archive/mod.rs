//! `recall export` and `recall import`: move the data of users between stores as JSON lines.

mod export;
mod failure;
mod import;
mod verify;

pub use self::{
    export::{ExportSummary, export_archive},
    failure::{ImportError, ImportFailure, Owners, PartialImport},
    import::{ImportSummary, import_archive},
};

use std::{
    fs::File,
    io::{BufReader, BufWriter, Seek, Write},
    os::fd::AsFd,
};

use anyhow::Context;
use parking_lot::Mutex;

use super::{
    adapters, models,
    operator::{INSTANCE, parse_user},
    output::{self, say},
    wiring,
};
use crate::config::{Config, Engine};
use crate::system::{RandomIds, SystemClock};
use recall_api::Auditor;
use recall_domain::{AuditAction, UserId};
use recall_embedding::LocalEmbedder;
use recall_ports::{
    Clock, Embedder, Ids,
    archive::{Header, line::VERSION},
};

/// `recall export`: writes an archive of one user, or of all users, to standard output.
pub(super) async fn export(config: &Config, user: Option<&str>) -> anyhow::Result<()> {
    let engine = config.storage.engine();
    anyhow::ensure!(!matches!(&engine, Engine::Sqlite(path) if !path.exists()), "database: {engine} does not exist");
    let store = adapters::store(config, config.storage.migrate).await?.store;
    let done = async {
        let header = Header {
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            exported_at: SystemClock.now(),
            local_user: store.local_user().await?,
        };
        let only = parse_user(store.as_ref(), user).await?;
        let target = only.map_or_else(|| "everybody".to_owned(), |user| user.to_string());
        let auditor = Auditor::new(store.clone(), INSTANCE);
        auditor.note(SystemClock.now(), None, None, AuditAction::DataExported, Some(target)).await;
        let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
        let folder = wiring::originals_folder(config);
        let written = export_archive(store.as_ref(), &folder, header, only, &mut out).await?;
        out.flush()?;
        anyhow::Ok(written)
    };
    let done = done.await;
    store.close().await;
    match done {
        Ok(written) => {
            output::note(format_args!("{} users and {} records exported", written.users, written.records));
            if written.visitors > 0 {
                output::note(format_args!("{} visitors left out; --user ID exports one of them", written.visitors));
            }
        }
        Err(e) if e.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe) => {
            anyhow::bail!("the archive is incomplete: its reader closed the pipe")
        }
        Err(e) => return Err(e),
    }
    Ok(())
}

/// `recall import`: imports an archive from standard input, for the user `into` or for the users that `owners` allows.
pub(super) async fn import(config: &Config, into: Option<&str>, owners: Owners) -> anyhow::Result<()> {
    let store = adapters::store(config, config.storage.migrate).await?.store;
    let imported = Mutex::new(Vec::new());
    let done = async {
        let embedder: Box<dyn Embedder> = match models::embedder(config).await? {
            Some(model) => Box::new(model),
            None => Box::new(tokio::task::spawn_blocking(LocalEmbedder::load).await??),
        };
        let owners = parse_user(store.as_ref(), into).await?.map_or(owners, Owners::Into);
        let local = store.local_user().await?;
        let print_user = |user: UserId| {
            imported.lock().push(user);
            match user {
                UserId::SHARED => output::note(format_args!("writes shared memory ({user})")),
                user if user == local => output::note(format_args!("writes the local user ({user})")),
                user => output::note(format_args!("writes user {user}")),
            }
        };
        // A new epoch: the imported logs are other logs than those that the sessions had before.
        let epoch = RandomIds::default().fresh().as_simple().to_string();
        let ontology = adapters::ontology(config)?;
        let input = tokio::task::spawn_blocking(standard_input).await?.context("the archive cannot be read")?;
        let input = BufReader::with_capacity(1 << 20, input);
        anyhow::Ok(import_archive(store.as_ref(), embedder.as_ref(), &ontology, owners, print_user, &epoch, input).await?)
    };
    let done = done.await;
    // A failed import may have written some of them.
    let auditor = Auditor::new(store.clone(), INSTANCE);
    for user in imported.into_inner() {
        auditor.note(SystemClock.now(), None, None, AuditAction::DataImported, Some(user.to_string())).await;
    }
    store.close().await;
    let done = done?;
    let users = if done.users == 1 { "user" } else { "users" };
    say!("{} {users} imported: {} records, {} of them new, {} repaired", done.users, done.records, done.new, done.repaired)?;
    if !done.has_checksum {
        output::note(format_args!("warning: the archive is of an older version and has no checksum, so damage cannot be detected"));
    }
    Ok(())
}

/// Opens standard input as a file, because an import reads the archive twice.
///
/// The content of a pipe is copied to an unnamed temporary file.
fn standard_input() -> std::io::Result<File> {
    let input = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    if input.metadata()?.is_file() {
        return Ok(input);
    }
    let mut copy = tempfile::tempfile()?;
    std::io::copy(&mut &input, &mut copy)?;
    copy.rewind()?;
    Ok(copy)
}
