//! What the core needs from the world, as traits. Adapters implement them; nothing here names an engine.

pub mod access;
pub mod allowance;
pub mod answer;
pub mod archive;
pub mod audit;
pub mod commit;
pub mod deletion;
pub mod embed;
pub mod erase;
pub mod errands;
pub mod extract;
pub mod fair;
pub mod fetch;
pub mod graph;
pub mod ids;
pub mod index;
pub mod login;
pub mod queue;
pub mod store;
pub mod stream;
pub mod usage;
pub mod vectors;
pub mod visit;

pub use access::{AccessTokenStore, RevocationStore};
pub use allowance::{Allowances, Bucket, Drawn};
pub use answer::{AnswerError, AnswerSink, Answerer, Asked, Draft};
pub use archive::{Archive, ArchiveError};
pub use audit::AuditLog;
pub use commit::{CommitError, KnowledgeCommit, MergeRecord, Merged, Mined, Unmerge};
pub use deletion::{DeletionLeft, DeletionStep, DeletionStore, Reweigh};
pub use embed::{EmbedError, Embedder, Embedding};
pub use erase::{Eraser, Erasure, ErasureStep};
pub use errands::Errands;
pub use extract::{ExtractError, ExtractInput, Extractor};
pub use fair::{FairShare, asked_by};
pub use fetch::{Fetch, FetchError, FormAnswer, PostForms};
pub use graph::{
    Around, Between, Change, ChangeFeed, Checkpoint, Connections, Damaged, Edge, GraphBatch, GraphContents, GraphCopy, GraphEngine,
    GraphError, GraphFact, GraphMessage, GraphQueries, GraphSession, Neighbour, Shared, Stray, Thing, ThingId, Way,
};
pub use ids::{Clock, Ids};
pub use index::{IndexHit, IndexQuery, MessageIndex};
pub use login::{LoggedOut, LoginStore, Renewed};
pub use queue::{Claim, Connected, EventLog, Inspect, Job, JobQueue, JobWork, LogState};
pub use store::{
    AnswerCommit, Appended, EntityFilter, FactFilter, FactKey, FeedRow, FeedState, KnowledgeStore, MessageStore, Mining, NewMessage,
    Prepared, SessionDeleted, SessionStore, Store, StoreError,
};
pub use stream::Announcer;
pub use usage::{Spent, UsageStore};
pub use vectors::{Replaced, Unembedded, VectorBacklog, VectorClaim, VectorStep, VectorStore};
pub use visit::VisitStore;
