//! The graph: questions about how things hang together, and keeping an engine beside the store that answers them.
//!
//! The store is the truth. A graph engine is a projection: it is told what changed, in order, and may be behind, wiped or
//! gone. [`GraphQueries`] is answered from the store itself and by an engine, with the same results.

use std::collections::BTreeMap;

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreError;
use recall_domain::{
    Caller, Entity, EntityId, Fact, FactId, FactStatus, MessageId, MessageKind, RelationName, Role, SessionId, Timestamp, UserId, UserText,
};

/// Longest way between two things that is looked for, in facts.
pub const MAX_HOPS: u8 = 3;

/// Which things around one are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct NeighbourQuery {
    /// The one in the middle.
    pub entity: EntityId,
    /// Over how many facts at most, 1 to [`MAX_HOPS`].
    pub hops: u8,
    /// Only over these relations; over all when empty.
    pub relations: Vec<RelationName>,
    /// How many at most.
    pub first: u32,
}

/// A thing that active facts lead to.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// The thing.
    pub entity: EntityId,
    /// Over how many facts, at least.
    pub distance: u8,
    /// The strongest of the facts that lead to it from a thing one step nearer; of equals the one with the smallest id.
    pub fact: FactId,
    /// Support of that fact when it last changed.
    pub weight: f64,
}

/// Between which things ways are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct PathQuery {
    /// One end.
    pub from: EntityId,
    /// The other end.
    pub to: EntityId,
    /// Over how many facts at most, 1 to [`MAX_HOPS`].
    pub hops: u8,
    /// How many at most.
    pub first: u32,
}

/// A way from one thing to another, over active facts in either direction, that visits nothing twice.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The things, both ends included: one more than facts.
    pub entities: Vec<EntityId>,
    /// The facts, in order.
    pub facts: Vec<FactId>,
    /// Support of the weakest of them when it last changed.
    pub weight: f64,
}

/// A thing that active facts connect to two others.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedNeighbour {
    /// The thing.
    pub entity: EntityId,
    /// The strongest fact to either side; of equals the one with the smallest id.
    pub facts: [FactId; 2],
    /// Support of the weaker of the two when it last changed.
    pub weight: f64,
}

/// An active fact as seen from one of its sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// The side it is seen from.
    pub from: EntityId,
    /// The other side.
    pub to: EntityId,
    /// The fact.
    pub fact: FactId,
    /// Its support when it last changed.
    pub weight: f64,
}

/// What a store knows of connections: enough to answer [`GraphQueries`] from.
#[async_trait]
pub trait Connections: Send + Sync {
    /// All active facts with one of the things on either side, seen from there; only of these relations, of all when empty. Of a
    /// fact between two of the things both views are given, of a thing's facts with itself none.
    async fn edges(&self, caller: &Caller, of: &[EntityId], relations: &[RelationName]) -> Result<Vec<Edge>, StoreError>;
}

/// Questions about how things hang together. A fact of a thing with itself leads nowhere.
#[async_trait]
pub trait GraphQueries: Send + Sync {
    /// Names the engine.
    fn engine(&self) -> &'static str;
    /// Things around one: nearest first, then by falling weight, then by id.
    async fn around(&self, caller: &Caller, asked: &NeighbourQuery) -> Result<Vec<Neighbour>, GraphError>;
    /// Ways between two things: shortest first, then by falling weight, then by the ids of their facts. None from a thing to
    /// itself.
    async fn ways(&self, caller: &Caller, asked: &PathQuery) -> Result<Vec<Path>, GraphError>;
    /// Things that both are directly connected to: by falling weight, then by id.
    async fn shared(&self, caller: &Caller, one: EntityId, other: EntityId, first: u32) -> Result<Vec<SharedNeighbour>, GraphError>;
    /// How much a copy beside the store holds of the caller; `None` where there is no copy.
    async fn copy(&self, _caller: &Caller) -> Result<Option<GraphCopy>, GraphError> {
        Ok(None)
    }
}

/// How much a graph engine holds of one user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphCopy {
    /// Things, messages and sessions.
    pub nodes: u64,
    /// Facts, and what connects messages.
    pub relationships: u64,
    /// Whether it knew of every change in the store when it was asked.
    pub current: bool,
}

impl GraphCopy {
    /// Whether nothing is there, and nothing can come of what it was not yet told.
    pub fn is_empty(self) -> bool {
        self.current && self.nodes == 0 && self.relationships == 0
    }
}

/// Why a graph engine did not do something. Never carries text of users.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// May work later.
    #[error("the graph engine is not available: {0}")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Another writer was in the way, or the graph is not where this one left it. Look again and try anew.
    #[error("the graph is written by another, or at another position than expected")]
    Contended,
    /// A defect, or a graph that somebody else changed.
    #[error("the graph engine failed: {0}")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Names a thing of which the graph knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeId {
    /// A conversation.
    Session(SessionId),
    /// A thing that is talked about.
    Entity(EntityId),
    /// A turn of a conversation.
    Message(MessageId),
    /// A fact.
    Fact(FactId),
}

/// A conversation in the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphSession {
    /// Identity.
    pub id: SessionId,
    /// Its title.
    pub title: Option<UserText>,
    /// When it was created.
    pub created_at: Timestamp,
}

/// A message in the graph, without its text: what people wrote stays in one place.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphMessage {
    /// Identity.
    pub id: MessageId,
    /// Its conversation.
    pub session: SessionId,
    /// Place in the conversation, from 1.
    pub position: u64,
    /// Who wrote it.
    pub role: Role,
    /// Who says it.
    pub speaker: Option<String>,
    /// What it does, once known.
    pub kind: Option<MessageKind>,
    /// When it was said.
    pub sent_at: Timestamp,
    /// Things that it mentions, each once, by id.
    pub mentions: Vec<EntityId>,
}

/// A fact in the graph, as of its last change.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphFact {
    /// Identity.
    pub id: FactId,
    /// Who or what it is about.
    pub subject: EntityId,
    /// Its verb.
    pub relation: RelationName,
    /// The other side.
    pub object: EntityId,
    /// Support at `timestamp`.
    pub weight: f64,
    /// Opposition at `timestamp`.
    pub opposition: f64,
    /// Expected probability at `timestamp` that it holds.
    pub belief: f64,
    /// Whether it holds.
    pub status: FactStatus,
    /// Whether all its support has a low confidence.
    pub flagged: bool,
    /// The message that stated it last, with its session.
    pub source: Option<(MessageId, SessionId)>,
    /// The moment that weight and belief refer to: the latest message that changed them.
    pub timestamp: Timestamp,
    /// Since when it is known to hold.
    pub valid_from: Option<Timestamp>,
    /// When it ended.
    pub valid_to: Option<Timestamp>,
    /// When it was first recorded.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What became of a thing.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeState {
    /// As it is now.
    Session(GraphSession),
    /// As it is now.
    Entity(Entity),
    /// As it is now.
    Message(GraphMessage),
    /// As it is now, with the message that stated it last and its session.
    Fact(Fact, Option<(MessageId, SessionId)>),
    /// It is no more.
    Gone(NodeId),
}

/// A thing that changed, with the number of its latest change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Grows with every change of the user's; changes become visible in this order.
    pub number: u64,
    /// What became of it.
    pub thing: NodeState,
}

/// What changed, for whoever keeps a copy. Each thing is listed once, under the number of its latest change, so that reading
/// from 0 gives everything and reading after `n` gives all that changed since, however long ago that was.
///
/// Like the job queue this serves all users, and hands out the caller that a change belongs to.
#[async_trait]
pub trait ChangeFeed: Send + Sync {
    /// Begins to record if that was never done, which lists everything that is there. Returns the name of the feed, another one
    /// for every database.
    async fn start(&self) -> Result<String, StoreError>;
    /// All users with changes after `mark` (0 at first), each once, and the mark to go on from. A user may be returned again,
    /// never left out.
    async fn users_after(&self, mark: u64) -> Result<(Vec<Caller>, u64), StoreError>;
    /// Number of the user's latest change, 0 when there is none.
    async fn head(&self, caller: &Caller) -> Result<u64, StoreError>;
    /// How many nodes and relationships a graph of the user has that knows everything.
    async fn size(&self, caller: &Caller) -> Result<(u64, u64), StoreError>;
    /// Up to `limit` changes after `after`, ascending, with things as they are now, all read at one moment.
    async fn changes(&self, caller: &Caller, after: u64, limit: u32) -> Result<Vec<Change>, StoreError>;
}

/// Where the graph of one user stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The feed it was made from.
    pub feed: String,
    /// Number of the last change that it contains.
    pub position: u64,
}

/// Changes to be made to the graph of one user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphBatch {
    /// The position that the graph must be at.
    pub after: u64,
    /// The position that it is at then.
    pub upto: u64,
    /// Nothing of it was ever told before, so that nothing old has to be looked for.
    pub fresh: bool,
    /// New or changed.
    pub sessions: Vec<GraphSession>,
    /// New or changed.
    pub entities: Vec<Entity>,
    /// New or changed, with all of their mentions.
    pub messages: Vec<GraphMessage>,
    /// New or changed.
    pub facts: Vec<GraphFact>,
    /// To be removed; what is not there is not missed.
    pub gone: Vec<NodeId>,
}

/// Everything that the graph of one user holds, each kind by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphContents {
    /// Conversations.
    pub sessions: Vec<GraphSession>,
    /// Things.
    pub entities: Vec<Entity>,
    /// Messages with their mentions.
    pub messages: Vec<GraphMessage>,
    /// Facts.
    pub facts: Vec<GraphFact>,
    /// What is there and cannot be read, because somebody else changed it.
    pub damaged: Vec<UnreadableNode>,
}

/// Something of a graph that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreadableNode {
    /// `session`, `entity`, `message` or `fact`.
    pub kind: &'static str,
    /// Which, if it has an id.
    pub id: Option<Uuid>,
}

/// Something in a graph that this program did not write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignElement {
    /// `node` or `relationship`.
    pub kind: &'static str,
    /// By which name the engine knows it.
    pub element: String,
}

/// A graph engine that is told what changed.
#[async_trait]
pub trait GraphEngine: Send + Sync {
    /// Whether it answers now.
    async fn ping(&self) -> Result<(), GraphError>;
    /// Makes constraints and indexes, and the marker if there is none. Safe to repeat.
    async fn prepare(&self) -> Result<(), GraphError>;
    /// Names the graph from [`GraphEngine::prepare`] until somebody wipes it; `None` then.
    async fn marker(&self) -> Result<Option<String>, GraphError>;
    /// Where the graphs of all users stand; those that are being cleared have no checkpoint.
    async fn checkpoints(&self) -> Result<BTreeMap<UserId, Checkpoint>, GraphError>;
    /// What is in the graph and belongs to no user as this program writes it, at most `limit`.
    async fn strays(&self, limit: u32) -> Result<Vec<ForeignElement>, GraphError>;
    /// Users of whom it holds something.
    async fn users(&self) -> Result<Vec<UserId>, GraphError>;
    /// Where the caller's graph stands; `None` when there is none.
    async fn checkpoint(&self, caller: &Caller) -> Result<Option<Checkpoint>, GraphError>;
    /// Removes whatever there is of the caller's graph.
    async fn wipe(&self, caller: &Caller) -> Result<(), GraphError>;
    /// Removes whatever there is, and stands at 0 of `feed` then.
    async fn begin(&self, caller: &Caller, feed: &str) -> Result<(), GraphError>;
    /// Makes the changes and moves the checkpoint, whole or not at all.
    ///
    /// # Errors
    /// `Contended` when the graph is not at `after` of `feed`; nothing was changed then.
    async fn apply(&self, caller: &Caller, feed: &str, batch: &GraphBatch) -> Result<(), GraphError>;
    /// How many nodes and relationships of the caller's it holds.
    async fn size(&self, caller: &Caller) -> Result<(u64, u64), GraphError>;
    /// Everything that it holds of the caller, for comparison.
    async fn contents(&self, caller: &Caller) -> Result<GraphContents, GraphError>;
}
