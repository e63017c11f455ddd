//! What the commands of an operator share: their name in the audit log, and how a user is named.

use anyhow::Context;

use recall_domain::UserId;
use recall_ports::Store;

/// Name of this process in the audit log.
pub(super) const INSTANCE: &str = "command line";
/// The name of the user of a server without login.
const LOCAL: &str = "local";
/// The name of shared memory.
const SHARED: &str = "shared";

/// Reads a user from the command line: an id, `local` or `shared`.
pub(super) async fn parse_user(store: &dyn Store, user: Option<&str>) -> anyhow::Result<Option<UserId>> {
    Ok(match user {
        None => None,
        Some(LOCAL) => Some(store.local_user().await?),
        Some(SHARED) => Some(UserId::SHARED),
        Some(id) => Some(id.parse().with_context(|| format!("a user must be an id, `{LOCAL}` or `{SHARED}`"))?),
    })
}
