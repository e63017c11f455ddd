//! Object types of the GraphQL API. Each wraps a domain type and adds its edges, which loaders read.

mod access_token;
mod audit;
mod comparison;
mod context;
mod deletion;
mod document;
mod entity;
mod enums;
mod event;
mod fact;
pub(crate) mod graph;
mod message;
mod nodes;
mod relation;
mod session;
mod topic;
mod usage;
mod user;
mod user_error;
mod value;
mod viewer;

pub(crate) use access_token::AccessTokenNode;
pub(crate) use audit::AuditEntryNode;
pub(crate) use comparison::ComparisonNode;
pub(crate) use context::{ContextNode, EntityResolution};
pub(crate) use deletion::DeletionReceipt;
pub(crate) use enums::{
    ContextScope, DocumentStatus, EntityType, EvidenceStance, FactOrder, FactStatus, MessageRole, MessageStatus, RetrievalMethod,
    RetrievalRoute, SearchSource,
};
pub(crate) use event::EventNode;
pub(crate) use fact::{EvidenceNode, list_facts, listed_relations};
pub(crate) use message::loaded_messages;
pub(crate) use nodes::{ChunkNode, DocumentNode, EntityNode, FactNode, MessageNode, SessionNode, TopicNode};
pub(crate) use relation::RelationNode;
pub(crate) use user::UserNode;
pub(crate) use user_error::{UserError, split_user_errors};
pub(crate) use value::FactValueInput;
pub(crate) use viewer::Viewer;
