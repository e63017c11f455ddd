//! JSON representations of domain objects for the REST endpoints.

use std::{collections::HashMap, sync::Arc};

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    error::ApiError,
    graphql::{OperationScope, RivalsOf},
};
use recall_domain::{
    Citation, DatePrecision, Entity, EntityId, EntityType, Fact, FactId, FactStatus, FactValue, Message, MessageId, MessageKind,
    MessageStatus, Resource, ResourceOrigin, Role, Session, SessionId, Timestamp, context::RankedFact,
};
use recall_facts::weigh;

/// A session: one conversation.
#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
pub(super) struct SessionView {
    session_id: SessionId,
    /// The title, chosen by the user or taken from the first message.
    title: Option<String>,
    /// When it was created.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When its last message was stored.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// Number of messages stored so far.
    message_count: u64,
    /// Cursor of the newest event, for `GET /sessions/{session_id}/events?after=…`.
    head: String,
    /// Whether it belongs to shared memory.
    shared: bool,
    /// Whether the user wants it above the others.
    pinned: bool,
    /// Whether the user has put it away.
    archived: bool,
    /// Whether remembering is paused in it.
    paused: bool,
}

impl SessionView {
    pub(super) fn of(s: Session, shared: bool) -> Self {
        Self {
            shared,
            head: s.head_cursor(),
            session_id: s.id,
            title: s.title.map(|t| t.into_string()),
            created_at: s.created_at,
            updated_at: s.updated_at,
            message_count: s.message_count,
            pinned: s.pinned,
            archived: s.archived,
            paused: s.paused,
        }
    }
}

/// A message: one turn of a conversation.
#[derive(Serialize, ToSchema)]
#[schema(as = Message)]
pub(super) struct MessageView {
    id: MessageId,
    session_id: SessionId,
    role: Role,
    /// The speaker, if it is not the user.
    speaker: Option<String>,
    text: String,
    /// The kind, once the message is processed.
    kind: Option<MessageKind>,
    status: MessageStatus,
    /// When it was said, according to the client.
    #[schema(value_type = String, format = DateTime)]
    sent_at: Timestamp,
    /// When it was stored.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The client's own id of the message.
    external_id: Option<String>,
    /// The question that this message answers.
    answer_to: Option<MessageId>,
    /// The sources of an answer, in the order of the numbers in its text.
    citations: Vec<Citation>,
    /// What comes nearest to an answer, if nothing answers the question.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nearest: Vec<Citation>,
    /// Whether it belongs to shared memory.
    shared: bool,
}

impl MessageView {
    pub(super) fn of(m: Message, shared: bool) -> Self {
        Self {
            shared,
            id: m.id,
            session_id: m.session,
            role: m.role,
            speaker: m.speaker,
            text: m.text.into_string(),
            kind: m.kind,
            status: m.status,
            sent_at: m.sent_at,
            created_at: m.created_at,
            external_id: m.external_id,
            answer_to: m.answer_to,
            citations: m.citations,
            nearest: m.nearest,
        }
    }
}

/// A message of a session, with what it contains or links to.
#[derive(Serialize, ToSchema)]
#[schema(as = SessionMessage)]
pub(super) struct SessionMessageView {
    #[serde(flatten)]
    message: MessageView,
    /// Images, recordings and files that the message contains, and pages that it links to.
    resources: Vec<ResourceView>,
}

impl SessionMessageView {
    pub(super) fn of(message: Message, resources: Vec<Resource>, shared: bool) -> Self {
        let resources = resources.into_iter().map(ResourceView::of).collect();
        Self { message: MessageView::of(message, shared), resources }
    }
}

/// Something that a message contains or links to. Its content is not stored.
#[derive(Serialize, ToSchema)]
#[schema(as = Resource)]
struct ResourceView {
    /// The address in standard form. Content that was sent with the message is named by its digest (RFC 6920).
    uri: String,
    /// The media type, if named.
    media_type: Option<String>,
    /// The size, if the content was sent.
    bytes: Option<u64>,
    /// The SHA-256 digest in hexadecimal, if the content was sent.
    sha256: Option<String>,
    /// `part` if it was sent with the text, `link` if the text contains its address.
    origin: ResourceOrigin,
}

impl ResourceView {
    fn of(r: Resource) -> Self {
        Self { uri: r.uri.into_string(), media_type: r.media_type, bytes: r.bytes, sha256: r.sha256, origin: r.origin }
    }
}

/// An entity.
#[derive(Serialize, ToSchema)]
#[schema(as = EntityName)]
pub(super) struct EntityView {
    entity_id: EntityId,
    name: String,
    r#type: EntityType,
    shared: bool,
}

impl EntityView {
    pub(super) fn of(e: &Entity, shared: bool) -> Self {
        Self { entity_id: e.id, name: e.name.clone(), r#type: e.entity_type, shared }
    }
}

/// An entity with everything that is known about it apart from facts.
#[derive(Serialize, ToSchema)]
#[schema(as = Entity)]
pub(super) struct EntityDetails {
    #[serde(flatten)]
    entity: EntityView,
    /// Other names of the same entity.
    aliases: Vec<String>,
    /// A short description from the messages, such as "manager".
    description: Option<String>,
    /// Number of messages that mention it.
    mention_count: u64,
    /// The highest confidence with which a mention was recognized, 0 to 1.
    confidence: f64,
    /// Whether it stands for the user.
    is_viewer: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl EntityDetails {
    pub(super) fn of(e: Entity, shared: bool) -> Self {
        Self {
            entity: EntityView::of(&e, shared),
            aliases: e.aliases,
            description: e.description,
            mention_count: e.mention_count,
            confidence: e.confidence,
            is_viewer: e.is_viewer && !shared,
            created_at: e.created_at,
            updated_at: e.updated_at,
        }
    }
}

/// A fact with the entities on both sides, to be shown.
pub(super) struct NamedFact<'f> {
    pub(super) fact: &'f Fact,
    pub(super) subject: &'f Entity,
    pub(super) object: &'f Entity,
    pub(super) shared: bool,
}

impl<'f> From<&'f RankedFact> for NamedFact<'f> {
    fn from(ranked: &'f RankedFact) -> Self {
        Self { fact: &ranked.fact, subject: &ranked.subject, object: &ranked.object, shared: ranked.shared }
    }
}

/// A fact, with the same names as the event `fact_update`.
#[derive(Serialize, ToSchema)]
#[schema(as = Fact)]
pub(super) struct FactView {
    fact_id: FactId,
    /// Name of the subject.
    entity: String,
    entity_id: EntityId,
    /// The relation in words, such as "lives in".
    relation: String,
    /// The relation in the ontology, such as `LIVES_IN`.
    relation_name: String,
    /// Name of the object, or the value as text.
    target: String,
    /// The object; absent if the fact has a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    target_id: Option<EntityId>,
    /// The value that the fact states of its subject, instead of an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<FactValue>,
    /// The support at the time of the request.
    weight: f64,
    /// The estimated probability that the fact holds, 0 to 1.
    belief: f64,
    /// How little evidence there is, 0 to 1.
    uncertainty: f64,
    /// Its share of the support of itself and its rivals, 0 to 1.
    relative_weight: f64,
    status: FactStatus,
    /// Whether all its support has low confidence.
    flagged: bool,
    /// When it began. If the precision is `unknown`, no message tells it: this is when the first message since its last end stated it, a bound.
    #[schema(value_type = Option<String>, format = DateTime)]
    valid_from: Option<Timestamp>,
    valid_from_precision: Option<DatePrecision>,
    /// When it ended. If the precision is `unknown`, no message tells it: this is when a message said so, or when it was retracted.
    #[schema(value_type = Option<String>, format = DateTime)]
    valid_to: Option<Timestamp>,
    valid_to_precision: Option<DatePrecision>,
    /// When the first message since its last end stated it.
    #[schema(value_type = Option<String>, format = DateTime)]
    stated_at: Option<Timestamp>,
    /// When a message said that it had ended, or when it was retracted.
    #[schema(value_type = Option<String>, format = DateTime)]
    end_stated_at: Option<Timestamp>,
    /// When it was first recorded.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it last changed.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// Whether it belongs to shared memory.
    shared: bool,
}

impl FactView {
    /// Loads the views of facts, in their order.
    pub(super) async fn of(scope: &OperationScope, facts: &[NamedFact<'_>]) -> Result<Vec<Self>, ApiError> {
        let ontology = scope.usecases.ontology();
        let mut rivals = HashMap::new();
        for shared in [false, true] {
            let of = facts.iter().filter(|f| f.shared == shared).map(|f| RivalsOf(Arc::new(f.fact.clone())));
            let found = scope.found_in(shared).load.load_many(of).await?;
            rivals.extend(found.into_iter().map(|(of, candidates)| (of.0.id, candidates)));
        }
        let view = |named: &NamedFact<'_>| {
            let fact = named.fact;
            let relation = ontology.get(&fact.relation);
            let standing = weigh::standing(fact, relation, scope.now);
            let candidates = rivals.get(&fact.id);
            Self {
                fact_id: fact.id,
                entity: named.subject.name.clone(),
                entity_id: named.subject.id,
                relation: relation.map_or_else(|| fact.relation.to_lowercase().replace('_', " "), |r| r.phrase.clone()),
                relation_name: fact.relation.clone(),
                target: fact.value.as_ref().map_or_else(|| named.object.name.clone(), FactValue::shown),
                target_id: fact.value.is_none().then_some(named.object.id),
                value: fact.value.clone(),
                weight: standing.weight,
                belief: standing.belief,
                uncertainty: standing.uncertainty,
                relative_weight: candidates.map_or(1.0, |of| of.relative_weight(fact, ontology, scope.now)),
                status: fact.status,
                flagged: fact.flagged,
                valid_from: fact.began().map(|m| m.at),
                valid_from_precision: fact.began().map(|m| m.precision),
                valid_to: fact.ended().map(|m| m.at),
                valid_to_precision: fact.ended().map(|m| m.precision),
                stated_at: fact.valid_from,
                end_stated_at: fact.valid_to,
                created_at: fact.created_at,
                updated_at: fact.updated_at,
                shared: named.shared,
            }
        };
        Ok(facts.iter().map(view).collect())
    }
}
