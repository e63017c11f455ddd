//! Who asks. Every store function takes a [`Caller`], so that no query can forget whose data it may touch.

use super::UserId;

/// The verified identity behind a request or behind a job that goes on after the request.
///
/// Made in two places only: by an `Authenticator` in `api::auth`, and by a store that hands out a job
/// of the user who caused it, says who holds an access token, or hands the operator an archive.
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
}
