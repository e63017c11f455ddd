//! Anything by its id, as Relay and other caching clients ask for it.

use async_graphql::{Context, ID, Interface, Object};
use futures_util::try_join;
use uuid::Uuid;

use crate::graphql::{
    model::{EntityNode, FactNode, MessageNode, SessionNode},
    scope::{Needs, read_id, scope},
};
use recall_domain::{EntityId, FactId, MessageId, SessionId};

/// Something that can be read again by its id alone.
#[derive(Interface)]
#[graphql(field(name = "id", ty = "ID", desc = "Identity."))]
pub(crate) enum Node {
    /// One conversation.
    Session(SessionNode),
    /// One turn of a conversation.
    Message(MessageNode),
    /// A thing that the user talks about.
    Entity(EntityNode),
    /// Subject, relation, object, with what speaks for and against it.
    Fact(FactNode),
}

#[derive(Default)]
pub(super) struct NodeQueries;

#[Object(guard = "Needs::Read")]
impl NodeQueries {
    /// What has this id in the viewer's memory or in shared memory: a session, message, entity or fact; null when there is no such.
    /// An entity that was merged is null here, since its id is no longer its own; `entity` gives the one that took over.
    #[graphql(complexity = "4 + child_complexity")]
    async fn node(&self, ctx: &Context<'_>, #[graphql(desc = "Which one.")] id: ID) -> async_graphql::Result<Option<Node>> {
        let id: Uuid = read_id(&id, "id")?;
        let s = scope(ctx)?;
        // An id does not say what it is of. All are asked at once, so another user's id costs the same as one that does not exist.
        let found = try_join!(s.find(SessionId(id)), s.find(MessageId(id)), s.find(EntityId(id)), s.find(FactId(id)))?;
        Ok(match found {
            (Some((session, memory)), ..) => Some(Node::Session(SessionNode(session, memory))),
            (_, Some((message, memory)), ..) => Some(Node::Message(MessageNode(message, memory))),
            (_, _, Some((entity, memory)), _) => (entity.id == EntityId(id)).then_some(Node::Entity(EntityNode(entity, memory))),
            (.., Some((fact, memory))) => Some(Node::Fact(FactNode(fact, memory))),
            (None, None, None, None) => None,
        })
    }
}
