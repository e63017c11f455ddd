//! Declares what the core needs from the outside, as traits. Adapters implement them; this crate names no engine.

pub mod access;
pub mod account_deletion;
pub mod allowance;
pub mod answer;
pub mod archive;
pub mod audit;
pub mod background_tasks;
pub mod chat;
pub mod commit;
pub mod comparisons;
pub mod document_parser;
mod document_relations;
pub mod documents;
pub mod embed;
pub mod extract;
pub mod fair_share;
pub mod fetch;
mod files;
pub mod filter;
pub mod forget;
pub mod graph;
pub mod ids;
pub mod index;
pub mod knowledge;
pub mod learn;
pub mod login;
pub mod messages;
pub mod passages;
mod queue;
pub mod session_deletion;
pub mod spool;
pub mod store;
pub mod stream;
mod topics;
pub mod usage;
pub mod vectors;
pub mod visit;

pub use access::{AccessTokenStore, FrontEndStore, MAX_FRONT_ENDS, RevocationStore};
pub use account_deletion::{AccountDeletion, AccountDeletionStep, AccountDeletionStore};
pub use allowance::{Allowances, Bucket, DrawOutcome};
pub use answer::{AnswerDraft, AnswerError, AnswerSink, AnswerVerifier, Answerer, Asked};
pub use archive::{Archive, ArchiveError};
pub use audit::AuditLog;
pub use background_tasks::BackgroundTasks;
pub use chat::{ChatEndpoint, ChatFailure, ChatReply, ChatRequest, ChatUpstream};
pub use commit::{CommitError, KnowledgeCommit, LostNames, MergeRecord, Merged, ProcessedMessage, Unmerge};
pub use comparisons::{
    ComparedDocument, ComparedPassage, ComparedPoints, Comparer, ComparisonStep, ComparisonStore, ComparisonTask, NewComparison,
};
pub use document_parser::{Chunking, DocumentFormat, DocumentParser, ParseError, ParsedChunk, ParsedDocument, ParsedSection};
pub use document_relations::DocumentRelations;
pub use documents::{AddedDocument, DocumentFilter, DocumentOutline, DocumentStep, DocumentStore, NewDocument};
pub use embed::{EmbedError, Embedder, Embedding};
pub use extract::{Background, EarlierMessage, ExtractError, ExtractInput, Extractor, Known, KnownFact, KnownName};
pub use fair_share::{FairShare, asked_by};
pub use fetch::{Fetch, FetchError, FormAnswer, PostForms};
pub use files::{FileFolder, FileRegistry, Original};
pub use filter::{EntityFilter, FactFilter, FactKey, FactOrder, RelationFilter, SessionFilter, TextWord, TimeSpan};
pub use forget::{ForgetPlan, ForgetStore, Forgetting, ForgottenKnowledge, ForgottenMention, ReplacedTitle, RestorePlan};
pub use graph::{
    Change, ChangeFeed, Checkpoint, Connections, Edge, ForeignElement, GraphBatch, GraphChunk, GraphContents, GraphCopy, GraphDocument,
    GraphEngine, GraphError, GraphFact, GraphMessage, GraphQueries, GraphSession, GraphTopic, Neighbour, NeighbourQuery, NodeId, NodeState,
    Path, PathQuery, SharedNeighbour, UnreadableNode,
};
pub use ids::{Clock, Ids};
pub use index::{IndexHit, IndexQuery, IndexSources, IndexedDocuments, MessageIndex};
pub use knowledge::{AnswerCommit, EntityStore, EvidenceStore, FactStore, KnowledgeStore, MAX_BEARERS, MentionStore};
pub use learn::{KnowledgeReads, MessagePlanner};
pub use login::{LoggedOut, LoginStore, Renewed};
pub use messages::{AnsweredQuestion, Appended, FeedRow, FeedState, FollowUp, IndexEntry, MessageRange, MessageStore, NewMessage};
pub use passages::{EncodedText, Passage, PassageEncoder, PassageStore, PassageVector, WordVectors};
pub use queue::{Claim, ConnectionCounts, EventLog, Inspect, Job, JobQueue, JobWork, LogState};
pub use session_deletion::{Reweigh, SessionDeletionStep, SessionDeletionStore, SessionRemainder};
pub use spool::{Spool, SpooledFile};
pub use store::{Activity, SessionDeleted, SessionStore, SessionUpdate, Store, StoreError};
pub use stream::{Announcer, CommitListener, LogEntry, SessionLogEntry};
pub use topics::{SessionTopics, TopicPart, TopicStore, TopicText, TopicTexts};
pub use usage::{UsageStore, UsageTotals};
pub use vectors::{MessageWithoutVector, Replaced, VectorBacklog, VectorClaim, VectorStep, VectorStore};
pub use visit::VisitStore;
