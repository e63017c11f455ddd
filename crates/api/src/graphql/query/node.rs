//! Query of any object by its id, as Relay and other caching clients need it.

use async_graphql::{Context, ID, Interface, Object};
use futures_util::try_join;
use uuid::Uuid;

use crate::graphql::{
    model::{EntityNode, FactNode, MessageNode, SessionNode},
    scope::{Needs, read_id, scope},
};
use recall_domain::{EntityId, FactId, MessageId, SessionId};

/// An object that can be read again by its id.
#[derive(Interface)]
#[graphql(field(name = "id", ty = "ID", desc = "The id, a UUID."))]
pub(crate) enum Node {
    /// A session.
    Session(SessionNode),
    /// A message.
    Message(MessageNode),
    /// An entity.
    Entity(EntityNode),
    /// A fact.
    Fact(FactNode),
}

#[derive(Default)]
pub(super) struct NodeQueries;

#[Object(guard = "Needs::Read")]
impl NodeQueries {
    /// The session, message, entity or fact with this id, in the viewer's memory or in shared memory; null if it does not exist. The id
    /// of a merged entity returns null; `entity` returns the entity that it was merged into.
    #[graphql(complexity = "4 + child_complexity")]
    async fn node(&self, ctx: &Context<'_>, #[graphql(desc = "The id of the object.")] id: ID) -> async_graphql::Result<Option<Node>> {
        let id: Uuid = read_id(&id, "id")?;
        let s = scope(ctx)?;
        // An id does not tell its type. All four lookups run at once, so another user's id takes as long as an unknown id.
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
