//! Decides who may read which entries of the audit log.

use recall_domain::{Caller, UserId, ViewerRole};

/// The actor whose entries a caller gets; `None` for all entries. Only administrators may read entries of others.
pub fn audited_actor(caller: &Caller, requested: Option<UserId>) -> Option<UserId> {
    if caller.role() == ViewerRole::Admin { requested } else { Some(caller.user()) }
}
