//! The node types. They refer to each other, so they are declared together; the file of each type has its fields.

use std::sync::Arc;

use crate::graphql::scope::Memory;
use recall_domain::{Entity, Fact, Message, Session};

/// A session: one conversation with its messages and a numbered event log.
#[derive(Clone)]
pub(crate) struct SessionNode(pub(crate) Session, pub(crate) Arc<Memory>);

/// A message: one turn of a conversation.
#[derive(Clone)]
pub(crate) struct MessageNode(pub(crate) Message, pub(crate) Arc<Memory>);

/// A person, organization, place or thing in the memory, distinct from others of the same name.
#[derive(Clone)]
pub(crate) struct EntityNode(pub(crate) Entity, pub(crate) Arc<Memory>);

/// A fact: subject, relation and object, with the evidence for and against it.
#[derive(Clone)]
pub(crate) struct FactNode(pub(crate) Arc<Fact>, pub(crate) Arc<Memory>);
