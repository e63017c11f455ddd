//! Converts changes of the store to a batch for the graph engine. Pure.

use recall_domain::{Fact, MessageId, SessionId};
use recall_ports::{Change, GraphBatch, GraphFact, NodeState};

/// Returns the batch of changes that follow change `after`.
pub(super) fn to_batch(after: u64, changes: Vec<Change>) -> GraphBatch {
    let mut batch = GraphBatch { after, upto: changes.last().map_or(after, |c| c.number), ..GraphBatch::default() };
    for change in changes {
        match change.thing {
            NodeState::Session(s) => batch.sessions.push(s),
            NodeState::Entity(e) => batch.entities.push(e),
            NodeState::Message(m) => batch.messages.push(m),
            NodeState::Document(d) => batch.documents.push(d),
            NodeState::Chunk(c) => batch.chunks.push(c),
            NodeState::Topic(t) => batch.topics.push(t),
            NodeState::Fact(f, source) => batch.facts.push(to_graph_fact(f, source)),
            NodeState::Gone(id) => batch.gone.push(id),
        }
    }
    batch
}

/// Converts a fact to its form in the graph.
///
/// Weight and belief are those of the last change, because a graph cannot apply decay. The present values follow from
/// `timestamp` and the half-life.
fn to_graph_fact(f: Fact, source: Option<(MessageId, SessionId)>) -> GraphFact {
    let (valid_from, valid_to) = (f.began().map(|m| m.at), f.ended().map(|m| m.at));
    GraphFact {
        belief: f.belief(),
        id: f.id,
        subject: f.subject,
        relation: f.relation,
        object: f.object,
        value: f.value.map(|v| v.shown().into()),
        weight: f.support,
        opposition: f.opposition,
        status: f.status,
        flagged: f.flagged,
        source,
        timestamp: f.weighed_at,
        valid_from,
        valid_to,
        created_at: f.created_at,
        updated_at: f.updated_at,
    }
}
