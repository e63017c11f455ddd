//! Entries of the audit log. They contain ids and stable words, never user texts or secrets.

use std::net::IpAddr;

use super::{Timestamp, UserId};

macro_rules! actions {
    ($($(#[$doc:meta])+ $name:ident = $word:literal),+ $(,)?) => {
        /// An audited action.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AuditAction {
            $($(#[$doc])+ $name),+
        }

        impl AuditAction {
            /// Returns the stable word that is stored and shown.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }
        }
    };
}

actions! {
    /// A user signed in.
    SignedIn = "login",
    /// A user signed out.
    SignedOut = "logout",
    /// The issuer ended logins of the actor, after a logout there or a loss of access.
    SignedOutByIssuer = "logout.issuer",
    /// A personal access token was created; the target is its id.
    AccessTokenMade = "access_token.created",
    /// A personal access token was revoked; the target is its id.
    AccessTokenRevoked = "access_token.revoked",
    /// An administrator revoked an issuer's token; the target is its digest.
    TokenTakenBack = "token.revoked",
    /// The actor came with the administrator role for the first time.
    BecameAdmin = "role.admin",
    /// The actor came without the administrator role that they had before.
    BecameUser = "role.user",
    /// A field reserved for administrators was read; the target is its name.
    AdminRead = "admin.read",
    /// A session was deleted; the target is its id.
    SessionDeleted = "session.deleted",
    /// A message was deleted; the target is its id.
    MessageDeleted = "message.deleted",
    /// A session got another title; the target is its id, as in all actions on own memory that follow.
    SessionRenamed = "session.renamed",
    /// A session was pinned.
    SessionPinned = "session.pinned",
    /// A session was unpinned.
    SessionUnpinned = "session.unpinned",
    /// A session was archived.
    SessionArchived = "session.archived",
    /// A session was taken out of the archive.
    SessionUnarchived = "session.unarchived",
    /// Remembering was paused in a session.
    SessionPaused = "session.paused",
    /// Remembering was resumed in a session.
    SessionResumed = "session.resumed",
    /// A fact was denied by hand.
    FactDenied = "fact.denied",
    /// A fact was said by hand to have ended.
    FactEnded = "fact.ended",
    /// A fact was retracted by hand.
    FactRetracted = "fact.retracted",
    /// The retraction of a fact was undone.
    FactRestored = "fact.restored",
    /// An entity was renamed by hand.
    EntityRenamed = "entity.renamed",
    /// An entity got another type by hand.
    EntityRetyped = "entity.retyped",
    /// Two entities were merged by hand; the target is the surviving one.
    EntitiesMerged = "entities.merged",
    /// A merge was undone, or a name was separated; the target is the restored or new entity.
    EntitiesUnmerged = "entities.unmerged",
    /// The actor paused remembering in all own sessions.
    RememberingPaused = "remembering.paused",
    /// The actor resumed remembering in all own sessions.
    RememberingResumed = "remembering.resumed",
    /// Facts and messages were forgotten; the target is their numbers.
    MemoryForgotten = "memory.forgotten",
    /// A forgetting was undone; the target is the numbers of facts and messages.
    MemoryRestored = "memory.restored",
    /// A session of shared memory was created. As in all `shared` actions, the target is the id of what changed.
    SharedSessionCreated = "shared.session.created",
    /// A session of shared memory got another title.
    SharedSessionRenamed = "shared.session.renamed",
    /// A shared session was pinned.
    SharedSessionPinned = "shared.session.pinned",
    /// A shared session was unpinned.
    SharedSessionUnpinned = "shared.session.unpinned",
    /// A shared session was archived.
    SharedSessionArchived = "shared.session.archived",
    /// A shared session was taken out of the archive.
    SharedSessionUnarchived = "shared.session.unarchived",
    /// Remembering was paused in a shared session.
    SharedSessionPaused = "shared.session.paused",
    /// Remembering was resumed in a shared session.
    SharedSessionResumed = "shared.session.resumed",
    /// A session of shared memory was deleted.
    SharedSessionDeleted = "shared.session.deleted",
    /// A document was deleted, or its file; the target is its id.
    DocumentDeleted = "document.deleted",
    /// A comparison of documents was deleted; the target is its id.
    ComparisonDeleted = "comparison.deleted",
    /// A document was added to shared memory.
    SharedDocumentAdded = "shared.document.added",
    /// A document of shared memory was deleted, or its file.
    SharedDocumentDeleted = "shared.document.deleted",
    /// Messages were stored in shared memory; the target is the first one.
    SharedMessagesStored = "shared.messages.stored",
    /// The answer to a question in shared memory was cancelled; the target is the question.
    SharedAnswerCancelled = "shared.answer.cancelled",
    /// A fact of shared memory was stated by hand.
    SharedFactAsserted = "shared.fact.asserted",
    /// A fact of shared memory was retracted.
    SharedFactRetracted = "shared.fact.retracted",
    /// The retraction of a fact of shared memory was undone.
    SharedFactRestored = "shared.fact.restored",
    /// An entity of shared memory was renamed.
    SharedEntityRenamed = "shared.entity.renamed",
    /// An entity of shared memory got another type.
    SharedEntityRetyped = "shared.entity.retyped",
    /// Two entities of shared memory were merged; the target is the surviving one.
    SharedEntitiesMerged = "shared.entities.merged",
    /// A merge in shared memory was undone, or a name was separated; the target is the restored or new entity.
    SharedEntitiesUnmerged = "shared.entities.unmerged",
    /// Unused sessions expired and were deleted; the target is their number.
    SessionsExpired = "sessions.expired",
    /// Expired visits were deleted; the target is their number.
    VisitsExpired = "visits.expired",
    /// The data of a visit was adopted into the actor's account; the target is the visitor.
    VisitAdopted = "visit.adopted",
    /// The deletion of all data of a user began; the target is the user.
    DataDeleted = "data.deleted",
    /// All data of a user was exported; the target is the user, or `everybody`.
    DataExported = "data.exported",
    /// An operator imported an archive or chats of another program; the target is the user that got them.
    DataImported = "data.imported",
    /// An operator viewed a user.
    UserShown = "user.shown",
}

/// An audit entry before it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditDraft {
    /// Time of the action.
    pub at: Timestamp,
    /// The actor; `None` for an operator at the command line and for the server itself.
    pub actor: Option<UserId>,
    /// The action as a stable word: [`AuditAction::as_str`].
    pub action: String,
    /// The target: an id or one of the server's own names.
    pub target: Option<String>,
    /// Address of the client.
    pub address: Option<IpAddr>,
    /// The server process.
    pub instance: String,
}

/// A stored audit entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Number of the entry, increasing.
    pub number: u64,
    /// Its content.
    pub said: AuditDraft,
}
