//! Graph queries, and the ports that keep a graph engine in step with the store.
//!
//! The store is the source of truth. A graph engine is a projection: it receives changes in order, and may lag, be wiped or be absent.
//! The store and an engine answer [`GraphQueries`] with the same results.

mod nodes;

use std::collections::BTreeMap;

use async_trait::async_trait;

pub use self::nodes::{
    GraphChunk, GraphContents, GraphDocument, GraphFact, GraphMessage, GraphSession, GraphTopic, NodeId, NodeState, UnreadableNode,
};
use super::StoreError;
use recall_domain::{Caller, Entity, EntityId, FactId, RelationName, UserId};

/// Longest path that is searched, in facts.
pub const MAX_HOPS: u8 = 3;

/// A query for the neighbours of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct NeighbourQuery {
    /// The entity in the middle.
    pub entity: EntityId,
    /// Most facts on a path, 1 to [`MAX_HOPS`].
    pub hops: u8,
    /// Only these relations; all if empty.
    pub relations: Vec<RelationName>,
    /// Most results.
    pub first: u32,
}

/// An entity that active facts connect to another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// The entity.
    pub entity: EntityId,
    /// Least number of facts between the two.
    pub distance: u8,
    /// The strongest fact on the last step to it; of equal ones, the one with the smallest id.
    pub fact: FactId,
    /// Support of that fact when it last changed.
    pub weight: f64,
}

/// A query for paths between two entities.
#[derive(Clone, Debug, PartialEq)]
pub struct PathQuery {
    /// One end.
    pub from: EntityId,
    /// The other end.
    pub to: EntityId,
    /// Most facts on a path, 1 to [`MAX_HOPS`].
    pub hops: u8,
    /// Most results.
    pub first: u32,
}

/// A path between two entities over active facts in either direction, which visits no entity twice.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The entities, both ends included: one more than facts.
    pub entities: Vec<EntityId>,
    /// The facts, in order.
    pub facts: Vec<FactId>,
    /// Support of the weakest fact when it last changed.
    pub weight: f64,
}

/// An entity that active facts connect to two others.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedNeighbour {
    /// The entity.
    pub entity: EntityId,
    /// The strongest fact to each of the two; of equal ones, the one with the smallest id.
    pub facts: [FactId; 2],
    /// Support of the weaker fact when it last changed.
    pub weight: f64,
}

/// An active fact, seen from one of its sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// The side it is seen from.
    pub from: EntityId,
    /// The object of the fact.
    pub to: EntityId,
    /// The fact.
    pub fact: FactId,
    /// Its support when it last changed.
    pub weight: f64,
}

/// The edges of the graph in a store, from which [`GraphQueries`] can be answered.
#[async_trait]
pub trait Connections: Send + Sync {
    /// Returns all active facts with one of the entities on either side; only of these relations, or of all if empty.
    ///
    /// A fact between two of the entities is returned from both sides. A fact of an entity with itself is left out.
    async fn edges(&self, caller: &Caller, of: &[EntityId], relations: &[RelationName]) -> Result<Vec<Edge>, StoreError>;
}

/// Graph queries. A fact of an entity with itself is ignored.
#[async_trait]
pub trait GraphQueries: Send + Sync {
    /// Returns the name of the engine.
    fn engine(&self) -> &'static str;
    /// Returns the neighbours of an entity: nearest first, then by falling weight, then by id.
    async fn around(&self, caller: &Caller, asked: &NeighbourQuery) -> Result<Vec<Neighbour>, GraphError>;
    /// Returns paths between two entities: shortest first, then by falling weight, then by the ids of their facts. An entity has no path to
    /// itself.
    async fn ways(&self, caller: &Caller, asked: &PathQuery) -> Result<Vec<Path>, GraphError>;
    /// Returns the entities directly connected to both, by falling weight, then by id.
    async fn shared(&self, caller: &Caller, one: EntityId, other: EntityId, first: u32) -> Result<Vec<SharedNeighbour>, GraphError>;
    /// Returns the size of the caller's graph in an engine; `None` without an engine.
    async fn copy(&self, _caller: &Caller) -> Result<Option<GraphCopy>, GraphError> {
        Ok(None)
    }
}

/// The size of one user's graph in an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphCopy {
    /// Entities, messages and sessions; documents with their chunks, links, topics and owner.
    pub nodes: u64,
    /// Facts, and the connections of messages and documents.
    pub relationships: u64,
    /// Whether it contained every change of the store at that time.
    pub current: bool,
}

impl GraphCopy {
    /// Whether it is empty and no change is pending.
    pub fn is_empty(self) -> bool {
        self.current && self.nodes == 0 && self.relationships == 0
    }
}

/// Why a graph operation failed. It never contains user text.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// May work later.
    #[error("the graph engine is not available: {0}")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Another writer interfered, or the graph is at another position. Read again and retry.
    #[error("the graph is written by another, or at another position than expected")]
    Contended,
    /// A defect, or a graph changed by another program.
    #[error("the graph engine failed: {0}")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A changed node, with the number of its latest change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Increases with every change of the user. Changes become visible in this order.
    pub number: u64,
    /// Its present state.
    pub thing: NodeState,
}

/// The changes of the store, for a program that keeps a copy.
///
/// Each node is listed once, under the number of its latest change. Reading from 0 returns everything; reading after `n` returns all
/// later changes, however old they are.
///
/// Like the job queue it serves all users, and returns the caller that a change belongs to.
#[async_trait]
pub trait ChangeFeed: Send + Sync {
    /// Starts recording, unless it was started before, and lists everything that exists. Returns the name of the feed, unique per database.
    async fn start(&self) -> Result<String, StoreError>;
    /// Returns all users with changes after `mark` (0 at first), and the next mark. A user may be returned again, but is never left out.
    async fn users_after(&self, mark: u64) -> Result<(Vec<Caller>, u64), StoreError>;
    /// Returns the number of the user's latest change, 0 if there is none.
    async fn head(&self, caller: &Caller) -> Result<u64, StoreError>;
    /// Counts the nodes and relationships of the user's complete graph.
    async fn size(&self, caller: &Caller) -> Result<(u64, u64), StoreError>;
    /// Returns up to `limit` changes after `after`, ascending, with present states, all read at one moment. Documents with many links make
    /// it fewer; none are left at the end only.
    async fn changes(&self, caller: &Caller, after: u64, limit: u32) -> Result<Vec<Change>, StoreError>;
}

/// The position of one user's graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The feed from which it was built.
    pub feed: String,
    /// Number of the last change it contains.
    pub position: u64,
}

/// Changes to apply to the graph of one user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphBatch {
    /// The position before the changes.
    pub after: u64,
    /// The position after the changes.
    pub upto: u64,
    /// The graph is new, so no old state must be searched.
    pub fresh: bool,
    /// New or changed.
    pub sessions: Vec<GraphSession>,
    /// New or changed.
    pub entities: Vec<Entity>,
    /// New or changed, with all mentions and citations.
    pub messages: Vec<GraphMessage>,
    /// New or changed, with all links, and with the view of the owner.
    pub documents: Vec<GraphDocument>,
    /// New or changed, with all mentions.
    pub chunks: Vec<GraphChunk>,
    /// New or changed, with all documents.
    pub topics: Vec<GraphTopic>,
    /// New or changed.
    pub facts: Vec<GraphFact>,
    /// Nodes to remove; missing ones are ignored.
    pub gone: Vec<NodeId>,
}

/// A node or relationship that this program did not write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignElement {
    /// `node` or `relationship`.
    pub kind: &'static str,
    /// The engine's id of it.
    pub element: String,
}

/// A graph engine that receives the changes of the store.
#[async_trait]
pub trait GraphEngine: Send + Sync {
    /// Checks that the engine answers.
    async fn ping(&self) -> Result<(), GraphError>;
    /// Creates constraints, indexes and the marker if they are missing. Safe to repeat.
    async fn prepare(&self) -> Result<(), GraphError>;
    /// Returns the marker that [`GraphEngine::prepare`] created; `None` after the graph was wiped.
    async fn marker(&self) -> Result<Option<String>, GraphError>;
    /// Returns the checkpoints of all users. Graphs that are being cleared have none.
    async fn checkpoints(&self) -> Result<BTreeMap<UserId, Checkpoint>, GraphError>;
    /// Returns up to `limit` elements that this program did not write.
    async fn strays(&self, limit: u32) -> Result<Vec<ForeignElement>, GraphError>;
    /// Returns the users with data in the graph.
    async fn users(&self) -> Result<Vec<UserId>, GraphError>;
    /// Returns the checkpoint of the caller's graph; `None` if there is no graph.
    async fn checkpoint(&self, caller: &Caller) -> Result<Option<Checkpoint>, GraphError>;
    /// Removes the caller's graph.
    async fn wipe(&self, caller: &Caller) -> Result<(), GraphError>;
    /// Removes the caller's graph and sets its checkpoint to 0 of `feed`.
    async fn begin(&self, caller: &Caller, feed: &str) -> Result<(), GraphError>;
    /// Applies the changes and moves the checkpoint, completely or not at all.
    ///
    /// # Errors
    /// `Contended` if the graph is not at `after` of `feed`; nothing is changed.
    async fn apply(&self, caller: &Caller, feed: &str, batch: &GraphBatch) -> Result<(), GraphError>;
    /// Counts the nodes and relationships of the caller.
    async fn size(&self, caller: &Caller) -> Result<(u64, u64), GraphError>;
    /// Returns the caller's complete graph, for comparison.
    async fn contents(&self, caller: &Caller) -> Result<GraphContents, GraphError>;
}
