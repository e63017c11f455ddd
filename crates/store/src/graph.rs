//! Reads the change feed for a graph engine.
//!
//! Triggers keep one row per node with the number of its latest change. The nodes are read in their current state.

use std::collections::HashMap;

use async_trait::async_trait;
use uuid::Uuid;

use super::Refusal;
use recall_domain::{Entity, EntityId, Fact, FactId, MessageId, SessionId, UserId};
use recall_ports::{Change, GraphMessage, GraphSession, NodeId, NodeState};

/// A fact, with the message that stated it last and the session of that message.
pub type FactWithSource = (Fact, Option<(MessageId, SessionId)>);

/// The node in a row of `graph_changes`.
///
/// # Errors
/// `Damaged` if the kind is unknown.
pub fn changed_node(kind: &str, id: Uuid) -> Result<NodeId, Refusal> {
    match kind {
        "session" => Ok(NodeId::Session(SessionId(id))),
        "entity" => Ok(NodeId::Entity(EntityId(id))),
        "message" => Ok(NodeId::Message(MessageId(id))),
        "fact" => Ok(NodeId::Fact(FactId(id))),
        _ => Err(Refusal::Damaged { table: "graph_changes", column: "kind" }),
    }
}

/// Statements of an open snapshot. Lists of ids are never empty, and results are in any order without deleted nodes.
#[async_trait]
pub trait GraphStatements: Send {
    /// The engine's failures.
    type Error: Send;

    /// Returns the nodes that changed after a number, each with the number of its latest change, ascending.
    async fn changed_nodes(&mut self, user: UserId, after: u64, limit: u32) -> Result<Vec<(u64, NodeId)>, Self::Error>;
    /// Returns sessions.
    async fn graph_sessions(&mut self, user: UserId, ids: &[SessionId]) -> Result<Vec<GraphSession>, Self::Error>;
    /// Returns entities.
    async fn graph_entities(&mut self, user: UserId, ids: &[EntityId]) -> Result<Vec<Entity>, Self::Error>;
    /// Returns messages with their mentions.
    async fn graph_messages(&mut self, user: UserId, ids: &[MessageId]) -> Result<Vec<GraphMessage>, Self::Error>;
    /// Returns facts with their sources.
    async fn graph_facts(&mut self, user: UserId, ids: &[FactId]) -> Result<Vec<FactWithSource>, Self::Error>;
}

/// Loads changed nodes in their current state, in the order of their changes.
///
/// # Errors
/// If a statement fails.
pub async fn load_changes<T: GraphStatements>(snapshot: &mut T, user: UserId, after: u64, limit: u32) -> Result<Vec<Change>, T::Error> {
    let changed = snapshot.changed_nodes(user, after, limit).await?;
    let (mut sessions, mut entities, mut messages, mut facts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (_, node) in &changed {
        match *node {
            NodeId::Session(id) => sessions.push(id),
            NodeId::Entity(id) => entities.push(id),
            NodeId::Message(id) => messages.push(id),
            NodeId::Fact(id) => facts.push(id),
        }
    }
    let mut states: HashMap<NodeId, NodeState> = HashMap::with_capacity(changed.len());
    if !sessions.is_empty() {
        let found = snapshot.graph_sessions(user, &sessions).await?;
        states.extend(found.into_iter().map(|session| (NodeId::Session(session.id), NodeState::Session(session))));
    }
    if !entities.is_empty() {
        let found = snapshot.graph_entities(user, &entities).await?;
        states.extend(found.into_iter().map(|entity| (NodeId::Entity(entity.id), NodeState::Entity(entity))));
    }
    if !messages.is_empty() {
        let found = snapshot.graph_messages(user, &messages).await?;
        states.extend(found.into_iter().map(|message| (NodeId::Message(message.id), NodeState::Message(message))));
    }
    if !facts.is_empty() {
        let found = snapshot.graph_facts(user, &facts).await?;
        states.extend(found.into_iter().map(|(fact, source)| (NodeId::Fact(fact.id), NodeState::Fact(fact, source))));
    }
    let changes = changed.into_iter().map(|(number, id)| Change { number, thing: states.remove(&id).unwrap_or(NodeState::Gone(id)) });
    Ok(changes.collect())
}
