//! An engine in memory with faults on demand, for cases that are too rare on a real one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use async_trait::async_trait;
use recall_domain::{Caller, DocumentId, Entity, EntityId, FactId, MessageId, SessionId, TopicId, UserId};
use recall_ports::{
    Checkpoint, ForeignElement, GraphBatch, GraphChunk, GraphContents, GraphDocument, GraphEngine, GraphError, GraphFact, GraphMessage,
    GraphQueries, GraphSession, GraphTopic, Neighbour, NeighbourQuery, NodeId, Path, PathQuery, SharedNeighbour,
};

#[derive(Clone, Default)]
struct UserGraph {
    checkpoint: Option<Checkpoint>,
    sessions: BTreeMap<SessionId, GraphSession>,
    entities: BTreeMap<EntityId, Entity>,
    messages: BTreeMap<MessageId, GraphMessage>,
    documents: BTreeMap<DocumentId, GraphDocument>,
    chunks: BTreeMap<MessageId, GraphChunk>,
    topics: BTreeMap<TopicId, GraphTopic>,
    facts: BTreeMap<FactId, GraphFact>,
}

impl UserGraph {
    /// Removes a session, a document or a topic. A document takes its relationships along.
    fn remove_session(&mut self, id: SessionId) {
        self.sessions.remove(&id);
        self.documents.remove(&id.into());
        self.topics.remove(&TopicId(id.0));
        for topic in self.topics.values_mut() {
            topic.documents.retain(|d| d.session() != id);
        }
        for message in self.messages.values_mut() {
            message.cited.retain(|d| d.session() != id);
            message.answered_by.retain(|d| d.session() != id);
        }
    }

    fn size(&self) -> (u64, u64) {
        let links: Vec<_> = self.documents.values().flat_map(|d| &d.links).collect();
        let resources = links.iter().collect::<BTreeSet<_>>().len();
        let of_documents = self.documents.len() + self.chunks.len() + self.topics.len() + resources;
        let nodes = self.sessions.len() + self.entities.len() + self.messages.len() + of_documents;
        let of_messages: usize = self.messages.values().map(|m| 1 + m.mentions.len() + m.cited.len() + m.answered_by.len()).sum();
        let of_chunks: usize = self.chunks.values().map(|c| 1 + c.mentions.len()).sum();
        let viewed = self.documents.values().filter(|d| d.viewed_at.is_some()).count();
        let of_topics: usize = self.topics.values().map(|t| t.documents.len()).sum();
        let relationships = self.facts.len() + of_messages + of_chunks + of_topics + self.documents.len() + viewed + links.len();
        ((nodes + self.documents.len().min(1)) as u64, relationships as u64)
    }
}

#[derive(Default)]
pub(super) struct MemoryEngine {
    users: Mutex<BTreeMap<UserId, UserGraph>>,
    /// Names the graph until it is wiped.
    marker: Mutex<Option<u32>>,
    made: AtomicU32,
    /// The engine answers nothing.
    pub(super) down: AtomicBool,
    /// The engine answers after a minute.
    pub(super) slow: AtomicBool,
    /// Each query finds that the graph was rebuilt meanwhile.
    pub(super) moving: AtomicBool,
    /// This many batches are written but reported as failed, as if the confirmation got lost.
    pub(super) unconfirmed: AtomicU32,
    /// This many batches are refused permanently.
    pub(super) refusing: AtomicU32,
    /// Number of answered queries.
    pub(super) asked: AtomicU32,
}

impl MemoryEngine {
    fn check(&self) -> Result<(), GraphError> {
        if self.down.load(Ordering::SeqCst) { Err(GraphError::Unavailable("down".into())) } else { Ok(()) }
    }

    /// Wipes everything.
    pub(super) fn forget(&self) {
        *self.marker.lock().unwrap() = None;
        self.users.lock().unwrap().clear();
    }

    /// Removes the graph of one user.
    pub(super) fn forget_one(&self, caller: &Caller) {
        self.users.lock().unwrap().remove(&caller.user());
    }

    /// Removes the contents of one user's graph and keeps the checkpoint.
    pub(super) fn hollow(&self, caller: &Caller) {
        let mut users = self.users.lock().unwrap();
        let one = users.get_mut(&caller.user()).unwrap();
        *one = UserGraph { checkpoint: one.checkpoint.clone(), ..UserGraph::default() };
    }

    pub(super) fn position(&self, caller: &Caller) -> Option<u64> {
        self.users.lock().unwrap().get(&caller.user())?.checkpoint.as_ref().map(|c| c.position)
    }

    async fn answer(&self) -> Result<(), GraphError> {
        self.check()?;
        if self.slow.load(Ordering::SeqCst) {
            tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        }
        if self.moving.load(Ordering::SeqCst) {
            for one in self.users.lock().unwrap().values_mut() {
                one.checkpoint.as_mut().unwrap().position = 0;
            }
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

fn take(counter: &AtomicU32) -> bool {
    counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok()
}

#[async_trait]
impl GraphEngine for MemoryEngine {
    async fn ping(&self) -> Result<(), GraphError> {
        self.check()
    }
    async fn prepare(&self) -> Result<(), GraphError> {
        self.check()?;
        let made = self.made.fetch_add(1, Ordering::SeqCst);
        self.marker.lock().unwrap().get_or_insert(made);
        Ok(())
    }
    async fn marker(&self) -> Result<Option<String>, GraphError> {
        self.check()?;
        Ok(self.marker.lock().unwrap().map(|n| n.to_string()))
    }
    async fn checkpoints(&self) -> Result<BTreeMap<UserId, Checkpoint>, GraphError> {
        self.check()?;
        Ok(self.users.lock().unwrap().iter().filter_map(|(user, one)| Some((*user, one.checkpoint.clone()?))).collect())
    }
    async fn strays(&self, _limit: u32) -> Result<Vec<ForeignElement>, GraphError> {
        Ok(Vec::new())
    }
    async fn users(&self) -> Result<Vec<UserId>, GraphError> {
        Ok(self.users.lock().unwrap().keys().copied().collect())
    }
    async fn checkpoint(&self, caller: &Caller) -> Result<Option<Checkpoint>, GraphError> {
        self.check()?;
        Ok(self.users.lock().unwrap().get(&caller.user()).and_then(|o| o.checkpoint.clone()))
    }
    async fn wipe(&self, caller: &Caller) -> Result<(), GraphError> {
        self.check()?;
        self.users.lock().unwrap().remove(&caller.user());
        Ok(())
    }
    async fn begin(&self, caller: &Caller, feed: &str) -> Result<(), GraphError> {
        self.check()?;
        let fresh = UserGraph { checkpoint: Some(Checkpoint { feed: feed.to_owned(), position: 0 }), ..UserGraph::default() };
        self.users.lock().unwrap().insert(caller.user(), fresh);
        Ok(())
    }
    async fn apply(&self, caller: &Caller, feed: &str, batch: &GraphBatch) -> Result<(), GraphError> {
        self.check()?;
        if take(&self.refusing) {
            return Err(GraphError::Failed("refused".into()));
        }
        let mut users = self.users.lock().unwrap();
        let one = users.entry(caller.user()).or_default();
        let expected = Checkpoint { feed: feed.to_owned(), position: batch.after };
        if one.checkpoint.as_ref() != Some(&expected) {
            return Err(GraphError::Contended);
        }
        for id in &batch.gone {
            match id {
                NodeId::Session(s) => one.remove_session(*s),
                NodeId::Entity(e) => drop(one.entities.remove(e)),
                NodeId::Message(m) => drop((one.messages.remove(m), one.chunks.remove(m))),
                NodeId::Fact(f) => drop(one.facts.remove(f)),
            }
        }
        one.sessions.extend(batch.sessions.iter().map(|s| (s.id, s.clone())));
        one.entities.extend(batch.entities.iter().map(|e| (e.id, e.clone())));
        one.messages.extend(batch.messages.iter().map(|m| (m.id, m.clone())));
        one.documents.extend(batch.documents.iter().map(|d| (d.id, d.clone())));
        one.chunks.extend(batch.chunks.iter().map(|c| (c.id, c.clone())));
        one.topics.extend(batch.topics.iter().map(|t| (t.id, t.clone())));
        one.facts.extend(batch.facts.iter().map(|f| (f.id, f.clone())));
        one.checkpoint = Some(Checkpoint { feed: feed.to_owned(), position: batch.upto });
        if take(&self.unconfirmed) { Err(GraphError::Unavailable("cut off".into())) } else { Ok(()) }
    }
    async fn size(&self, caller: &Caller) -> Result<(u64, u64), GraphError> {
        self.check()?;
        Ok(self.users.lock().unwrap().get(&caller.user()).cloned().unwrap_or_default().size())
    }
    async fn contents(&self, caller: &Caller) -> Result<GraphContents, GraphError> {
        let one = self.users.lock().unwrap().get(&caller.user()).cloned().unwrap_or_default();
        Ok(GraphContents {
            sessions: one.sessions.into_values().collect(),
            entities: one.entities.into_values().collect(),
            messages: one.messages.into_values().collect(),
            documents: one.documents.into_values().collect(),
            chunks: one.chunks.into_values().collect(),
            topics: one.topics.into_values().collect(),
            facts: one.facts.into_values().collect(),
            damaged: Vec::new(),
        })
    }
}

/// Returns empty results and counts queries.
#[async_trait]
impl GraphQueries for MemoryEngine {
    fn engine(&self) -> &'static str {
        "memory"
    }
    async fn around(&self, _caller: &Caller, _asked: &NeighbourQuery) -> Result<Vec<Neighbour>, GraphError> {
        self.answer().await.map(|()| Vec::new())
    }
    async fn ways(&self, _caller: &Caller, _asked: &PathQuery) -> Result<Vec<Path>, GraphError> {
        self.answer().await.map(|()| Vec::new())
    }
    async fn shared(&self, _caller: &Caller, _one: EntityId, _other: EntityId, _first: u32) -> Result<Vec<SharedNeighbour>, GraphError> {
        self.answer().await.map(|()| Vec::new())
    }
}
