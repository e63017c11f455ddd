//! What the stores share: the algorithms that change data, once for all engines.
//!
//! An algorithm runs inside one write transaction. The engine implements traits such as [`EventStatements`] for its open transaction;
//! each method is one statement or a few that belong together. The engines keep their SQL, their locks and the transactions, and
//! implement the ports; this crate keeps the order of the statements, the decisions between them, and the encoding of values.
//!
//! Every statement on user data names the user.

mod account_deletion;
mod codec;
mod delete;
mod events;
mod jobs;
pub mod keys;
mod knowledge;
mod merge;
mod messages;
mod refusal;
mod reweighing;
mod session_deletion;
mod transaction;
mod users;

pub use account_deletion::{
    AccountDeletionStatements, DeletedRows, begin_account_deletion, delete_account_rows, forget_account, holdings, holdings_statement,
};
pub use codec::{client_json, duration_millis, json, signed};
pub use delete::DeleteStatements;
pub use events::{EventStatements, NewEvent, PrunedLog, append_events, prune_events};
pub use jobs::{HeldJob, JobStatements, Lane, NewJob, bury, cancel_answer, enqueue, id_and_token, job_work};
pub use knowledge::{KnowledgeStatements, commit_answer, commit_plan};
pub use merge::{MergeStatements, Side};
pub use messages::{Counters, FeedCounters, MessageStatements, NumbersWanted, PendingMessage, append_messages};
pub use refusal::Refusal;
pub use reweighing::{
    AffectedFacts, DeletionExtent, EvidenceKey, Reweighed, ReweighingReads, SessionDeleter, SessionDeletion, delete_session,
    load_affected_facts,
};
pub use session_deletion::{SessionDeletionStatements, hide_session, write_deletion};
pub use transaction::Transaction;
pub use users::{Quota, UserLock, UserStatements, reject_while_deleting, reject_while_locked, use_quota};
