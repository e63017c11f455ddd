//! From what changed to what is to be done in the graph. Pure.

use recall_domain::{Fact, MessageId, SessionId};
use recall_ports::{Change, GraphBatch, GraphFact, NodeState};

/// The batch of these changes, which follow change `after`.
pub(super) fn batch(after: u64, changes: Vec<Change>) -> GraphBatch {
    let mut batch = GraphBatch { after, upto: changes.last().map_or(after, |c| c.number), ..GraphBatch::default() };
    for change in changes {
        match change.thing {
            NodeState::Session(s) => batch.sessions.push(s),
            NodeState::Entity(e) => batch.entities.push(e),
            NodeState::Message(m) => batch.messages.push(m),
            NodeState::Fact(f, source) => batch.facts.push(fact(f, source)),
            NodeState::Gone(id) => batch.gone.push(id),
        }
    }
    batch
}

/// A fact as the graph holds it. Weight and belief are of its last change, because a graph cannot fade by itself; what they
/// are now follows from `timestamp` and the half-life.
fn fact(f: Fact, source: Option<(MessageId, SessionId)>) -> GraphFact {
    GraphFact {
        id: f.id,
        subject: f.subject,
        relation: f.relation,
        object: f.object,
        weight: f.support,
        opposition: f.opposition,
        belief: (f.support + 1.0) / (f.support + f.opposition + 2.0),
        status: f.status,
        flagged: f.flagged,
        source,
        timestamp: f.weighed_at,
        valid_from: f.valid_from,
        valid_to: f.valid_to,
        created_at: f.created_at,
        updated_at: f.updated_at,
    }
}
