//! Defines messages, facts, entities and events, and their valid states.
//!
//! Pure: no I/O, no clock, no random ids, no storage engine. Every other crate may depend on this one; it depends on none.

pub mod access;
pub mod audit;
pub mod belief;
pub mod caller;
pub mod candidate;
pub mod comparison;
pub mod context;
pub mod document;
pub mod entity;
pub mod event;
mod exact;
pub mod fact;
pub mod first_person;
pub mod fold;
pub mod forgetting;
pub mod ids;
pub mod login;
pub mod message;
pub mod nearest;
mod nearest_integer;
mod number_word;
pub mod ontology;
pub mod page;
mod quoted;
pub mod resource;
mod said_period;
pub mod session;
pub mod text;
pub mod time_words;
pub mod topic;
pub mod usage;
pub mod value;
pub mod visit;
pub mod word;
pub mod word_list;

pub use access::{AccessToken, FrontEnd, FrontEndKind, TokenDigest, UsedFrontEnd};
pub use audit::{AuditAction, AuditDraft, AuditEntry};
pub use caller::{Caller, ViewerRole};
pub use candidate::{CandidateFact, Extraction, Mention, NameChange, NameStatement, Party, Polarity, PossibleEnd, Span};
pub use comparison::{Comparison, ComparisonPoint, ComparisonProgress, ComparisonStatus, PassageGroup, PointKind};
pub use document::{Chunk, CitedChunk, Document, DocumentProgress, DocumentStatus, PageRange, Section};
pub use entity::{Decision, Entity, EntityKey, EntityType};
pub use event::{EventBody, EventDraft, StoredEvent};
pub use fact::{Evidence, Fact, FactStatus, Stance};
pub use first_person::{FirstPerson, PronounForm, names_user};
pub use fold::{ACCENTED, fold};
pub use forgetting::UndoableForgetting;
pub use ids::{
    AccessTokenId, ComparisonId, DocumentId, EntityId, EventId, FactId, FileId, ForgettingId, MessageId, SessionId, TopicId, UserId,
};
pub use login::{Login, ProviderToken, Renewal};
pub use message::{Citation, Message, MessageKind, MessageStatus, Role};
pub use nearest::{Similarity, nearest};
pub use nearest_integer::nearest_integer;
pub use number_word::number_word;
pub use ontology::{Ontology, Relation, RelationName, Wording};
pub use page::{Page, Slice};
pub use quoted::{Quoted, quoted_by, split_quoted};
pub use resource::{Resource, ResourceOrigin};
pub use said_period::{DatePrecision, DatedMoment, SaidPeriod};
pub use session::Session;
pub use text::UserText;
pub use topic::Topic;
pub use usage::{Day, DayUsage, ModelOperation, Spending, TokenCount};
pub use value::{CandidateValue, FactValue, ValueData, ValueType};
pub use visit::{Adopted, Adoption, Visit, VisitLimits};
pub use word::Word;

/// A moment in UTC. Stored times are cut to whole milliseconds, so the value read equals the value written.
pub type Timestamp = chrono::DateTime<chrono::Utc>;
