//! Writing: page by page, so that memory does not grow with what is kept, and no faster than it is taken.

use std::io::Write;

use anyhow::Context;

use recall_domain::{UserId, ViewerRole};
use recall_ports::{
    Store, StoreError,
    archive::{Header, Line, Lines},
};

/// Records read at once. Each holds at most a long message.
const PAGE: u32 = 200;
/// Users listed at once.
const USERS: u32 = 500;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Users.
    pub users: u64,
    /// Records of them all.
    pub records: u64,
    /// Visitors, of whom nothing was: they are nobody elsewhere, and theirs is to be kept for hours only.
    pub visitors: u64,
}

/// Writes an archive of one user, or of all but visitors.
///
/// # Errors
/// When the store fails, `out` takes no more, or there is no such user.
pub async fn run(store: &dyn Store, header: Header, only: Option<UserId>, out: &mut impl Write) -> anyhow::Result<Written> {
    let mut written = Written::default();
    let (mut lines, first) = Lines::begin(header);
    out.write_all(first.as_bytes())?;
    match only {
        Some(user) => owner(store, user, out, &mut lines, &mut written).await.context("the user cannot be exported")?,
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
                    match owner(store, user.user(), out, &mut lines, &mut written).await {
                        // Deleted since they were listed.
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

async fn owner(store: &dyn Store, user: UserId, out: &mut impl Write, lines: &mut Lines, written: &mut Written) -> anyhow::Result<()> {
    let mut snapshot = store.snapshot(user).await?;
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
