//! The caller of an operation. Every store function takes a [`Caller`], so every query names the user whose data it uses.

use strum::{EnumString, IntoStaticStr, VariantNames};

use super::UserId;

/// The verified identity behind a request or a job.
///
/// Only an `Authenticator` in `api::auth` and the store create callers. The store does so for the owner of a job, for the holder of an
/// access token, login or visit, and for the operator of an archive. `recall extract` creates one too and has no store. A caller for
/// shared memory is derived from one of these, by role.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Caller {
    user: UserId,
    role: ViewerRole,
}

/// What a caller may do beyond reading and writing their own data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum ViewerRole {
    /// May also change shared memory and see the server's state.
    Admin,
    /// A signed-in person.
    User,
    /// A visitor without an account.
    Anonymous,
}

impl Caller {
    /// Creates a caller from a verified identity.
    pub fn verified(user: UserId, role: ViewerRole) -> Self {
        Self { user, role }
    }

    /// Returns the user whose data this caller may use.
    pub fn user(&self) -> UserId {
        self.user
    }

    /// Returns the caller's role.
    pub fn role(&self) -> ViewerRole {
        self.role
    }

    /// Whether this caller acts on shared memory.
    pub fn is_shared(&self) -> bool {
        self.user == UserId::SHARED
    }

    /// Returns a read-only caller for shared memory; `None` for visitors without an account. An administrator's reader cannot write either.
    pub fn shared_reader(&self) -> Option<Self> {
        match self.role {
            ViewerRole::Admin | ViewerRole::User => Some(Self { user: UserId::SHARED, role: ViewerRole::User }),
            ViewerRole::Anonymous => None,
        }
    }

    /// Returns a caller that may change shared memory; `None` unless this one is an administrator.
    pub fn shared_writer(&self) -> Option<Self> {
        (self.role == ViewerRole::Admin).then_some(Self { user: UserId::SHARED, role: ViewerRole::Admin })
    }

    /// Whether the caller may write the data that it may read.
    pub fn may_write(&self) -> bool {
        !self.is_shared() || self.role == ViewerRole::Admin
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_administrators_write_shared_memory_and_visitors_do_not_read_it() {
        let caller = |role| Caller::verified(UserId(uuid::Uuid::from_u128(7)), role);
        for role in [ViewerRole::Admin, ViewerRole::User] {
            let reader = caller(role).shared_reader().unwrap();
            assert!(reader.is_shared() && !reader.may_write(), "{role:?}");
            assert!(reader.shared_writer().is_none(), "a reader does not become a writer");
        }
        assert!(caller(ViewerRole::Anonymous).shared_reader().is_none());
        assert!(caller(ViewerRole::User).shared_writer().is_none() && caller(ViewerRole::Anonymous).shared_writer().is_none());
        let writer = caller(ViewerRole::Admin).shared_writer().unwrap();
        assert!(writer.is_shared() && writer.may_write());
        assert!(caller(ViewerRole::Anonymous).may_write(), "their own data");
    }
}
