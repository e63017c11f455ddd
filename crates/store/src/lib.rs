//! What the stores share: the algorithms, once for all engines.
//!
//! An algorithm runs inside one write transaction or one snapshot. The engine implements traits such as [`EventStatements`] for it;
//! each method is one statement or a few that belong together. The engines keep their SQL, their locks and the transactions, and
//! implement the ports; this crate keeps the order of the statements, the decisions between them, and the encoding of values. It also
//! builds the statements of archives, which follow from the shapes in the port.
//!
//! Every statement on user data names the user.

mod access;
mod account_deletion;
pub mod archive;
mod audit;
mod codec;
mod comparisons;
mod delete;
mod documents;
mod events;
pub mod filter;
mod forget;
mod forget_statements;
mod graph;
mod jobs;
pub mod keys;
mod knowledge;
mod memory_log;
mod merge;
mod messages;
mod migrations;
mod refusal;
mod reweighing;
mod round_robin;
mod session_deletion;
mod sessions;
mod topics;
mod transaction;
mod users;
mod vectors;
mod visits;

pub use access::{AccessStatements, LAST_USE_PRECISION, create_access_token, is_last_use_outdated, token_caller};
pub use account_deletion::{
    AccountDeletionStatements, DeletedRows, begin_account_deletion, delete_account_rows, forget_account, holdings, holdings_statement,
};
pub use audit::audited_actor;
pub use codec::{client_json, duration_millis, json, search_text, signed, similarity};
pub use comparisons::{ComparisonStatements, add_comparison, fail_comparison, save_comparison};
pub use delete::DeleteStatements;
pub use documents::{DocumentStatements, LockedDocument, add_document, begin_document, fail_document, role_columns, role_of, store_chunks};
pub use events::{DeletedEvents, EventNumbers, EventStatements, NewEvent, PrunedLog, append_events, prune_events};
pub use forget::{forget, purge_forgotten, read_forgetting, restore_forgotten};
pub use forget_statements::{ForgetStatements, ForgettingRow, ForgottenMessage, Treatment};
pub use graph::{FactWithSource, GraphStatements, changed_node, load_changes};
pub use jobs::{HeldJob, JobStatements, Lane, NewJob, bury, cancel_answer, enqueue, id_and_token, job_work};
pub use knowledge::{KnowledgeStatements, append_and_learn, commit_answer, commit_plan, learn};
pub use memory_log::{MemoryLogStatements, SessionChange, memory_epoch};
pub use merge::{MergeStatements, Side, recorded_entities};
pub use messages::{Counters, FeedCounters, MessageStatements, NumbersWanted, PendingMessage, append_messages};
pub use migrations::check_migrations;
pub use refusal::{Refusal, original_failure};
pub use reweighing::{
    AffectedFacts, DeletionExtent, EvidenceKey, Reweighed, ReweighingReads, SessionDeleter, SessionDeletion, delete_session,
    load_affected_facts,
};
pub use round_robin::RoundRobin;
pub use session_deletion::{SessionDeletionStatements, hide_session, write_deletion};
pub use sessions::{NewSession, SessionStatements, create_session, set_paused, update_session};
pub use topics::{KnownPart, MAX_COMPARED, TopicStatements, rank_related, replace_topics};
pub use transaction::Transaction;
pub use users::{Quota, UserLock, UserStatements, reject_while_deleting, reject_while_locked, use_quota};
pub use vectors::{ClaimedUser, VectorStatements, claim_vectors, keep_vectors, replace_vectors, settle_vectors, use_vectors};
pub use visits::{VisitStatements, begin_visit};
