//! `recall export` and `recall import`: all that is kept of users as lines of JSON, out of one store and into another.

mod export;
mod import;
mod verify;

pub use self::{
    export::{Written, run as write},
    import::{Kept, Owners, Reason, Refused, Taken, run as read},
};

use std::{
    fs::File,
    io::{BufReader, BufWriter, Seek, Write},
    os::fd::AsFd,
};

use anyhow::Context;

use super::{
    models,
    output::{self, say},
    wiring,
};
use crate::config::{Config, Engine};
use crate::system::{RandomIds, SystemClock};
use recall_api::Auditor;
use recall_domain::{AuditAction, UserId};
use recall_embedding::LocalEmbedder;
use recall_ports::{
    Clock, Embedder, Ids, Store,
    archive::{Header, line::VERSION},
};

/// What stands for the user of an installation without login.
const LOCAL: &str = "local";
/// What stands for shared memory.
const SHARED: &str = "shared";

/// Writes an archive of one user, or of all, to standard output.
pub(super) async fn export(config: &Config, user: Option<&str>) -> anyhow::Result<()> {
    let engine = config.storage.engine();
    anyhow::ensure!(!matches!(&engine, Engine::Sqlite(path) if !path.exists()), "database: {engine} does not exist");
    let store = wiring::store(config, config.storage.migrate).await?.store;
    let done = async {
        let header = Header {
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            exported_at: SystemClock.now(),
            local_user: store.local_user().await?,
        };
        let only = named(store.as_ref(), user).await?;
        let whose = only.map_or_else(|| "everybody".to_owned(), |user| user.to_string());
        let auditor = Auditor::new(store.clone(), super::user::INSTANCE);
        auditor.note(SystemClock.now(), None, None, AuditAction::DataExported, Some(whose)).await;
        let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
        let written = export::run(store.as_ref(), header, only, &mut out).await?;
        out.flush()?;
        anyhow::Ok(written)
    };
    let done = done.await;
    store.close().await;
    match done {
        Ok(written) => {
            output::note(format_args!("{} users and {} records exported", written.users, written.records));
            if written.visitors > 0 {
                output::note(format_args!("{} visitors left out; --user takes one of them", written.visitors));
            }
        }
        Err(e) if e.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe) => {
            anyhow::bail!("the archive is not whole: whoever read it went away")
        }
        Err(e) => return Err(e),
    }
    Ok(())
}

/// Reads an archive from standard input into the configured store, for the user `into` or for those that `owners` allows.
pub(super) async fn import(config: &Config, into: Option<&str>, owners: Owners) -> anyhow::Result<()> {
    let store = wiring::store(config, config.storage.migrate).await?.store;
    let done = async {
        let embedder: Box<dyn Embedder> = match models::embedder(config).await? {
            Some(model) => Box::new(model),
            None => Box::new(tokio::task::spawn_blocking(LocalEmbedder::load).await??),
        };
        let owners = named(store.as_ref(), into).await?.map_or(owners, Owners::Into);
        let local = store.local_user().await?;
        let told = |user: UserId| match user {
            UserId::SHARED => output::note(format_args!("writes shared memory ({user})")),
            user if user == local => output::note(format_args!("writes the local user ({user})")),
            user => output::note(format_args!("writes user {user}")),
        };
        // Other than every log that these sessions had before.
        let epoch = RandomIds::default().fresh().as_simple().to_string();
        let ontology = wiring::ontology(config)?;
        let input = tokio::task::spawn_blocking(standard_input).await?.context("the archive cannot be read")?;
        let input = BufReader::with_capacity(1 << 20, input);
        anyhow::Ok(import::run(store.as_ref(), embedder.as_ref(), &ontology, owners, told, &epoch, input).await?)
    };
    let done = done.await;
    store.close().await;
    let done = done?;
    say!("{} users imported: {} records, {} of them new, {} repaired", done.users, done.records, done.new, done.repaired)?;
    if !done.has_checksum {
        output::note(format_args!("warning: the archive is of an older version and has no checksum; damage to it cannot be noticed"));
    }
    Ok(())
}

/// Standard input as a file, because an archive is read twice. What comes through a pipe is kept in a temporary file without a name.
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

/// A user as given on the command line.
pub(super) async fn named(store: &dyn Store, user: Option<&str>) -> anyhow::Result<Option<UserId>> {
    Ok(match user {
        None => None,
        Some(LOCAL) => Some(store.local_user().await?),
        Some(SHARED) => Some(UserId::SHARED),
        Some(id) => Some(id.parse().with_context(|| format!("the user is named by an id, or is `{LOCAL}` or `{SHARED}`"))?),
    })
}
