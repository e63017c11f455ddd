//! Reads the change feed for a graph engine.
//!
//! Triggers keep one row per node with the number of its latest change. The nodes are read in their current state.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use uuid::Uuid;

use super::Refusal;
use recall_domain::{DocumentId, Entity, EntityId, Fact, FactId, MessageId, SessionId, TopicId, UserId, UserText};
use recall_ports::{Change, GraphChunk, GraphDocument, GraphMessage, GraphSession, GraphTopic, NodeId, NodeState};

/// Most links of the documents in one list of changes, unless a single document has more.
const MAX_LINKS: usize = 20_000;

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
    /// Returns the numbers of links of those sessions that store documents.
    async fn link_counts(&mut self, user: UserId, ids: &[SessionId]) -> Result<HashMap<SessionId, usize>, Self::Error>;
    /// Returns documents with their links, as they are stored.
    async fn graph_documents(&mut self, user: UserId, ids: &[DocumentId]) -> Result<Vec<GraphDocument>, Self::Error>;
    /// Returns chunks with their mentions.
    async fn graph_chunks(&mut self, user: UserId, ids: &[MessageId]) -> Result<Vec<GraphChunk>, Self::Error>;
    /// Returns sessions that store no document.
    async fn graph_sessions(&mut self, user: UserId, ids: &[SessionId]) -> Result<Vec<GraphSession>, Self::Error>;
    /// Returns topics with their documents by id, without topics of conversations only.
    async fn graph_topics(&mut self, user: UserId, ids: &[TopicId]) -> Result<Vec<GraphTopic>, Self::Error>;
    /// Returns entities.
    async fn graph_entities(&mut self, user: UserId, ids: &[EntityId]) -> Result<Vec<Entity>, Self::Error>;
    /// Returns messages of conversations with their mentions and citations.
    async fn graph_messages(&mut self, user: UserId, ids: &[MessageId]) -> Result<Vec<GraphMessage>, Self::Error>;
    /// Returns facts with their sources.
    async fn graph_facts(&mut self, user: UserId, ids: &[FactId]) -> Result<Vec<FactWithSource>, Self::Error>;
}

/// Loads changed nodes in their current state, in the order of their changes.
///
/// # Errors
/// If a statement fails.
pub async fn load_changes<T: GraphStatements>(snapshot: &mut T, user: UserId, after: u64, limit: u32) -> Result<Vec<Change>, T::Error> {
    let mut changed = snapshot.changed_nodes(user, after, limit).await?;
    let mut links = HashMap::new();
    let sessions = sessions_in(&changed);
    if !sessions.is_empty() {
        links = snapshot.link_counts(user, &sessions).await?;
        bound_links(&mut changed, &links);
    }
    let mut states = load_sessions(snapshot, user, &sessions_in(&changed), &links).await?;
    states.extend(load_messages(snapshot, user, &changed).await?);
    let entities = ids(&changed, |node| if let NodeId::Entity(id) = node { Some(id) } else { None });
    if !entities.is_empty() {
        states.extend(snapshot.graph_entities(user, &entities).await?.into_iter().map(NodeState::Entity));
    }
    let facts = ids(&changed, |node| if let NodeId::Fact(id) = node { Some(id) } else { None });
    if !facts.is_empty() {
        states.extend(snapshot.graph_facts(user, &facts).await?.into_iter().map(|(fact, source)| NodeState::Fact(fact, source)));
    }
    let mut states: HashMap<NodeId, NodeState> = states.into_iter().map(|state| (state.id(), state)).collect();
    let changes = changed.into_iter().map(|(number, id)| Change { number, thing: states.remove(&id).unwrap_or(NodeState::Gone(id)) });
    Ok(changes.collect())
}

/// The ids of one kind of nodes.
fn ids<I>(changed: &[(u64, NodeId)], pick: impl Fn(NodeId) -> Option<I>) -> Vec<I> {
    changed.iter().filter_map(|(_, node)| pick(*node)).collect()
}

fn sessions_in(changed: &[(u64, NodeId)]) -> Vec<SessionId> {
    ids(changed, |node| if let NodeId::Session(id) = node { Some(id) } else { None })
}

/// Cuts the changes before the document with which they would have too many links. The next list begins with it.
fn bound_links(changed: &mut Vec<(u64, NodeId)>, links: &HashMap<SessionId, usize>) {
    let mut total = 0;
    let exceeds = |(_, node): &(u64, NodeId)| {
        let NodeId::Session(id) = node else { return false };
        total += links.get(id).copied().unwrap_or(0);
        total > MAX_LINKS
    };
    if let Some(first) = changed.iter().position(exceeds) {
        changed.truncate(first.max(1));
    }
}

/// Loads conversations, documents, which are those sessions that have a number of links, and topics, which are none of both.
async fn load_sessions<T: GraphStatements>(
    snapshot: &mut T,
    user: UserId,
    ids: &[SessionId],
    links: &HashMap<SessionId, usize>,
) -> Result<Vec<NodeState>, T::Error> {
    let mut states = Vec::with_capacity(ids.len());
    let (documents, conversations): (Vec<SessionId>, Vec<SessionId>) = ids.iter().partition(|id| links.contains_key(id));
    if !conversations.is_empty() {
        let found = snapshot.graph_sessions(user, &conversations).await?;
        let known: HashSet<SessionId> = found.iter().map(|session| session.id).collect();
        let others: Vec<TopicId> = conversations.iter().filter(|id| !known.contains(*id)).map(|id| TopicId(id.0)).collect();
        states.extend(found.into_iter().map(NodeState::Session));
        if !others.is_empty() {
            states.extend(snapshot.graph_topics(user, &others).await?.into_iter().map(NodeState::Topic));
        }
    }
    if !documents.is_empty() {
        let documents: Vec<DocumentId> = documents.into_iter().map(DocumentId::from).collect();
        let found = snapshot.graph_documents(user, &documents).await?.into_iter();
        states.extend(found.map(|document| NodeState::Document(GraphDocument { links: in_order(document.links), ..document })));
    }
    Ok(states)
}

/// Each address once, in order.
fn in_order(mut links: Vec<UserText>) -> Vec<UserText> {
    links.sort();
    links.dedup();
    links
}

/// Loads messages of conversations, and chunks.
async fn load_messages<T: GraphStatements>(snapshot: &mut T, user: UserId, changed: &[(u64, NodeId)]) -> Result<Vec<NodeState>, T::Error> {
    let all = ids(changed, |node| if let NodeId::Message(id) = node { Some(id) } else { None });
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let messages = snapshot.graph_messages(user, &all).await?;
    // The first message of a document is neither, because it has no place in the text.
    let found: HashSet<MessageId> = messages.iter().map(|message| message.id).collect();
    let left: Vec<MessageId> = all.into_iter().filter(|id| !found.contains(id)).collect();
    let mut states: Vec<NodeState> = messages.into_iter().map(NodeState::Message).collect();
    if !left.is_empty() {
        states.extend(snapshot.graph_chunks(user, &left).await?.into_iter().map(NodeState::Chunk));
    }
    Ok(states)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_cut_before_they_have_too_many_links() {
        let session = |n: u128| SessionId(Uuid::from_u128(n));
        let all: Vec<(u64, NodeId)> = (1..=4).map(|n| (n, NodeId::Session(session(u128::from(n))))).collect();
        let cut = |counts: &[(u128, usize)]| {
            let mut changed = all.clone();
            bound_links(&mut changed, &counts.iter().map(|(id, count)| (session(*id), *count)).collect());
            changed.len()
        };
        assert_eq!(cut(&[]), 4);
        assert_eq!(cut(&[(1, MAX_LINKS), (3, 1)]), 2);
        assert_eq!(cut(&[(1, MAX_LINKS + 1)]), 1, "a document is never left out");
        assert_eq!(cut(&[(2, MAX_LINKS + 1)]), 1);
        assert_eq!(cut(&[(4, MAX_LINKS)]), 4);
    }

    #[test]
    fn links_are_listed_once_in_order() {
        let links = ["b", "a", "b"].map(UserText::from).to_vec();
        assert_eq!(in_order(links), ["a", "b"].map(UserText::from));
    }
}
