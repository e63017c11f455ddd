//! Implements the use cases: store messages, find context, answer, and change knowledge.
//!
//! There is one function per user action. HTTP and GraphQL stay in `api`; every engine is behind `ports`.

mod account_deletion;
mod adopt;
mod answering;
mod background;
mod being_erased;
mod cancel;
mod check;
mod command;
mod comparison;
mod context;
mod conversation;
mod documents;
mod entities;
mod error;
mod failure;
mod forget;
mod forget_command;
mod forget_query;
mod forget_request;
mod forget_undo;
mod knowledge;
mod manual_edits;
mod memory;
mod named_relation;
mod rank;
mod reading;
mod refinement;
mod resources;
mod route;
mod same_entity;
mod send;
mod session_deletion;
mod sessions;
mod shared;
mod topics;
mod use_cases;
mod users;
mod vectors;
mod work;

pub use cancel::CANCELLED;
pub use conversation::{Conversation, Recognised, Recollection, Remembered, Source, Turn, write_sources};
pub use documents::{AddDocument, DocumentSettings, OriginalReader, OriginalSettings, Upload, WholeSnapshot};
pub use entities::{MergeOutcome, Resolution};
pub use error::UseCaseError;
pub use forget_request::{ForgetRequest, Forgotten};
pub use knowledge::{AssertFact, AssertedValue};
pub use memory::{MAX_RIVALS, MemoryReader, ResourceId, evidence_key};
pub use recall_text::SensitiveKind;
pub use refinement::Refinement;
pub use resources::{AttachedContent, Attachment, standard_link};
pub use send::{MAX_IMPORT, SendMessage};
pub use use_cases::{Parts, RetentionTimes, UseCases};
pub use users::UserSummary;
pub use work::MessageWork;
