//! Writes an archive page by page, so memory use does not grow with the data. A slow reader slows the export down.

use std::{io::Write, sync::Arc};

use anyhow::Context;

use recall_domain::{UserId, ViewerRole};
use recall_ports::{
    FileFolder, Store, StoreError,
    archive::{Header, Line, Lines, Snapshot},
};
use recall_usecases::WholeSnapshot;

/// Records per page. Each contains at most one long message.
const PAGE: u32 = 200;
/// Users per page.
const USERS: u32 = 500;

/// The result of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportSummary {
    /// Number of exported users.
    pub users: u64,
    /// Number of exported records of all users.
    pub records: u64,
    /// Number of visitors left out. They have no account elsewhere, and their data is kept for hours only.
    pub visitors: u64,
}

/// Writes an archive of one user, or of all users except visitors. `folder` holds the files of documents that the store does not hold.
///
/// # Errors
/// If the store or `out` fails, or the user does not exist.
pub async fn export_archive(
    store: &dyn Store,
    folder: &Arc<dyn FileFolder>,
    header: Header,
    only: Option<UserId>,
    out: &mut impl Write,
) -> anyhow::Result<ExportSummary> {
    let mut written = ExportSummary::default();
    let (mut lines, first) = Lines::begin(header);
    out.write_all(first.as_bytes())?;
    match only {
        Some(user) => write_user(store, folder, user, out, &mut lines, &mut written).await.context("the user cannot be exported")?,
        None => {
            let mut after = None;
            loop {
                let users = store.owners(after, USERS).await?;
                let Some(last) = users.last() else { break };
                after = Some(last.user());
                for user in &users {
                    if user.role() == ViewerRole::Anonymous {
                        written.visitors += 1;
                        continue;
                    }
                    match write_user(store, folder, user.user(), out, &mut lines, &mut written).await {
                        // The user was deleted after the page was read.
                        Err(e) if matches!(e.downcast_ref(), Some(StoreError::NotFound)) => {}
                        done => done?,
                    }
                }
            }
        }
    }
    out.write_all(lines.end().as_bytes())?;
    out.flush()?;
    Ok(written)
}

async fn write_user(
    store: &dyn Store,
    folder: &Arc<dyn FileFolder>,
    user: UserId,
    out: &mut impl Write,
    lines: &mut Lines,
    written: &mut ExportSummary,
) -> anyhow::Result<()> {
    let mut snapshot = WholeSnapshot::new(store.snapshot(user).await?, folder.clone());
    out.write_all(lines.next(&Line::User(snapshot.owner())).as_bytes())?;
    written.users += 1;
    loop {
        let page = snapshot.next(PAGE).await?;
        if page.is_empty() {
            return Ok(());
        }
        for record in page {
            out.write_all(lines.next(&Line::Record(record)).as_bytes())?;
            written.records += 1;
        }
    }
}
