//! Who asks. Every store function takes a [`Caller`], so that no query can forget whose data it may touch.

use super::UserId;

/// The verified identity behind a request or behind a job that goes on after the request.
///
/// Made in two places only: by an `Authenticator` in `api::auth`, and by a store that hands out a job
/// of the user who caused it, says who holds an access token, or hands the operator an archive. From a caller that was made so,
/// one for shared memory is made here, by role and in no other way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Caller {
    user: UserId,
    role: ViewerRole,
}

/// What a caller may do beyond reading and writing their own data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ViewerRole {
    /// May also change shared memory and see the state of the server.
    Admin,
    /// A signed-in person.
    User,
    /// A visitor without an account.
    Anonymous,
}

impl Caller {
    /// A caller whose identity has been verified.
    pub fn verified(user: UserId, role: ViewerRole) -> Self {
        Self { user, role }
    }

    /// Whose data this caller may read and write.
    pub fn user(&self) -> UserId {
        self.user
    }

    /// The caller's role.
    pub fn role(&self) -> ViewerRole {
        self.role
    }

    /// Whether this is about shared memory.
    pub fn is_shared(&self) -> bool {
        self.user == UserId::SHARED
    }

    /// The same person as a reader of shared memory; nobody for visitors without an account. Not even an administrator's may write.
    pub fn shared_reader(&self) -> Option<Self> {
        match self.role {
            ViewerRole::Admin | ViewerRole::User => Some(Self { user: UserId::SHARED, role: ViewerRole::User }),
            ViewerRole::Anonymous => None,
        }
    }

    /// The same person as one who changes shared memory, which only administrators may.
    pub fn shared_writer(&self) -> Option<Self> {
        (self.role == ViewerRole::Admin).then_some(Self { user: UserId::SHARED, role: ViewerRole::Admin })
    }

    /// Whether the caller may change what the caller may read.
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
        assert!(caller(ViewerRole::Anonymous).may_write(), "one's own");
    }
}
