//! Who did what: entries of the audit log. They hold ids and stable words, never texts of users and never secrets.

use std::net::IpAddr;

use super::{Timestamp, UserId};

macro_rules! actions {
    ($($(#[$doc:meta])+ $name:ident = $word:literal),+ $(,)?) => {
        /// What was done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AuditAction {
            $($(#[$doc])+ $name),+
        }

        impl AuditAction {
            /// The stable word that is stored and shown.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }
        }
    };
}

actions! {
    /// Somebody signed in.
    SignedIn = "login",
    /// Somebody signed out.
    SignedOut = "logout",
    /// The issuer ended logins of the actor's: they logged out there, or may not come in any more.
    SignedOutByIssuer = "logout.issuer",
    /// A personal access token was made; the target is its id.
    AccessTokenMade = "access_token.created",
    /// A personal access token was revoked; the target is its id.
    AccessTokenRevoked = "access_token.revoked",
    /// An administrator took a token of an issuer back; the target is its digest.
    TokenTakenBack = "token.revoked",
    /// The actor came as an administrator, and had not before.
    BecameAdmin = "role.admin",
    /// The actor came without being an administrator any more.
    BecameUser = "role.user",
    /// A field that only administrators may read was read; the target is its name.
    AdminRead = "admin.read",
    /// A session was deleted; the target is its id.
    SessionDeleted = "session.deleted",
    /// A session of shared memory was started; the target is its id, as it is of the others that say `shared`.
    SharedSessionCreated = "shared.session.created",
    /// A session of shared memory was deleted.
    SharedSessionDeleted = "shared.session.deleted",
    /// Messages were stored in shared memory; the target is the first of them.
    SharedMessagesStored = "shared.messages.stored",
    /// The answer to a question in shared memory was cancelled; the target is the question.
    SharedAnswerCancelled = "shared.answer.cancelled",
    /// A fact of shared memory was stated by hand.
    SharedFactAsserted = "shared.fact.asserted",
    /// A fact of shared memory was taken back.
    SharedFactRetracted = "shared.fact.retracted",
    /// A thing of shared memory was given another name.
    SharedEntityRenamed = "shared.entity.renamed",
    /// Two things of shared memory were made one; the target is the one that stayed.
    SharedEntitiesMerged = "shared.entities.merged",
    /// Two things of shared memory were told apart again; the target is the one that came back.
    SharedEntitiesUnmerged = "shared.entities.unmerged",
    /// Sessions that nobody had used for long enough were deleted; the target is how many.
    SessionsExpired = "sessions.expired",
    /// Visits that were over were deleted; the target is how many.
    VisitsExpired = "visits.expired",
    /// Everything of a visit was taken into the actor's account; the target is the visitor.
    VisitAdopted = "visit.adopted",
    /// The deletion of everything of a user was begun; the target is the user.
    DataDeleted = "data.deleted",
    /// All data of a user was handed out; the target is the user, or `everybody`.
    DataExported = "data.exported",
    /// An operator looked at a user.
    UserShown = "user.shown",
}

/// An entry before it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditDraft {
    /// When.
    pub at: Timestamp,
    /// Who; nobody for an operator at the command line, and for the server itself.
    pub actor: Option<UserId>,
    /// What, as a stable word: [`AuditAction::as_str`].
    pub action: String,
    /// To what: an id or a name of the server's own.
    pub target: Option<String>,
    /// From which address.
    pub address: Option<IpAddr>,
    /// Through which process.
    pub instance: String,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Grows with every entry.
    pub number: u64,
    /// What it says.
    pub said: AuditDraft,
}
