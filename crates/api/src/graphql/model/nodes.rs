//! The node types. They refer to each other, so they are declared together; the file of each type has its fields.

use std::sync::Arc;

use crate::graphql::scope::Memory;
use recall_domain::{Chunk, Document, Entity, Fact, Message, Session, Topic};

/// A session: one conversation with its messages and a numbered event log.
#[derive(Clone)]
pub(crate) struct SessionNode(pub(crate) Session, pub(crate) Arc<Memory>);

/// A message: one turn of a conversation.
#[derive(Clone)]
pub(crate) struct MessageNode(pub(crate) Message, pub(crate) Arc<Memory>);

/// A document: a file with its chunks.
#[derive(Clone)]
pub(crate) struct DocumentNode(pub(crate) Document, pub(crate) Arc<Memory>);

/// A piece of a document that is found and cited as one.
#[derive(Clone)]
pub(crate) struct ChunkNode(pub(crate) Chunk, pub(crate) Arc<Memory>);

/// A topic: texts of about the same meaning in documents and conversations.
#[derive(Clone)]
pub(crate) struct TopicNode(pub(crate) Topic, pub(crate) Arc<Memory>);

/// A person, organization, place or thing in the memory, distinct from others of the same name.
#[derive(Clone)]
pub(crate) struct EntityNode(pub(crate) Entity, pub(crate) Arc<Memory>);

/// A fact: subject, relation and object, with the evidence for and against it.
#[derive(Clone)]
pub(crate) struct FactNode(pub(crate) Arc<Fact>, pub(crate) Arc<Memory>);
