//! Queries of entities, facts and the ontology.

use async_graphql::{Context, ID, InputObject, Object};

use crate::{
    error::ApiError,
    graphql::{
        model::{EntityNode, EntityType, FactNode, FactOrder, FactStatus, RelationNode, SearchSource, list_facts, listed_relations},
        page::{self, Connection, MAX_PAGE, Total, bounded_list_cost, connection_cost},
        scope::{Needs, read_id, read_optional_id, scope},
        time_input::{TimeInput, read_time},
    },
};
use recall_domain::{EntityId, FactId};
use recall_ports as ports;
use recall_usecases::UseCases;

/// Conditions on entities. All given conditions must hold.
#[derive(InputObject, Default)]
#[graphql(name = "EntityFilter")]
pub(crate) struct EntityFilterInput {
    /// The entity has this type.
    r#type: Option<EntityType>,
    /// The name or an alias contains this text, ignoring case and accents.
    text: Option<String>,
    /// A message of this session mentions the entity.
    session_id: Option<ID>,
}

impl EntityFilterInput {
    fn read(self) -> Result<ports::EntityFilter, ApiError> {
        Ok(ports::EntityFilter {
            entity_type: self.r#type.map(Into::into),
            text: self.text,
            session: read_optional_id(self.session_id.as_ref(), "filter.sessionId")?,
        })
    }
}

/// Two times between which facts are compared.
#[derive(InputObject)]
pub(crate) struct TimeSpanInput {
    /// The earlier time.
    from: TimeInput,
    /// The later time. Default: now.
    until: Option<TimeInput>,
}

impl TimeSpanInput {
    fn read(self) -> Result<ports::TimeSpan, ApiError> {
        let from = self.from.read("filter.differsBetween.from")?;
        let until = read_time(self.until, "filter.differsBetween.until")?;
        if until.is_some_and(|until| until < from) {
            let message = "The later time is before the earlier one. Exchange them.";
            return Err(ApiError::invalid("INVALID_TIME_SPAN", message, "filter.differsBetween.until"));
        }
        Ok(ports::TimeSpan { from, until })
    }
}

/// Conditions on facts. All given conditions must hold.
#[derive(InputObject, Default)]
#[graphql(name = "FactFilter")]
pub(crate) struct FactFilterInput {
    /// The subject is this entity.
    subject_id: Option<ID>,
    /// The object is this entity.
    object_id: Option<ID>,
    /// The subject or the object is this entity.
    entity_id: Option<ID>,
    /// The fact uses this relation of the ontology, such as `LIVES_IN`. Notes are listed only with their own relation.
    relation: Option<String>,
    /// The fact has this status.
    status: Option<FactStatus>,
    /// The fact has evidence in this session.
    session_id: Option<ID>,
    /// An entity of this type is on either side.
    entity_type: Option<EntityType>,
    /// The fact has evidence in messages of conversations, or in documents.
    source: Option<SearchSource>,
    /// The fact last changed at this time or later.
    changed_since: Option<TimeInput>,
    /// The fact last changed before this time.
    changed_before: Option<TimeInput>,
    /// The belief was at least this high when the fact last changed, 0 to 1.
    min_belief: Option<f64>,
    /// The fact was known and held at this time, by the messages until then: it compares `statedAt` and `endStatedAt`.
    as_of: Option<TimeInput>,
    /// The fact held at one of these times and not at the other, by `statedAt` and `endStatedAt`: it was learned, ended or retracted
    /// between them. In contrast to `asOf`, a retracted fact held until its retraction. A fact that was only denied held at no time.
    differs_between: Option<TimeSpanInput>,
    /// Each word of this text is in the name of the subject or object, in what one is to somebody ("brother"), in the value, or in the phrase of the relation.
    text: Option<String>,
}

impl FactFilterInput {
    fn read(self, ctx: &Context<'_>, usecases: &UseCases, order: FactOrder) -> Result<ports::FactFilter, ApiError> {
        if let Some(name) = &self.relation {
            usecases.relation(name).map_err(|e| ApiError::from(e).within("filter"))?;
        }
        if self.min_belief.is_some_and(|b| !(0.0..=1.0).contains(&b)) {
            return Err(ApiError::invalid("INVALID_BELIEF", "The belief is out of range. Give a number from 0 to 1.", "filter.minBelief"));
        }
        let relations = listed_relations(ctx, self.relation.as_deref())?;
        Ok(ports::FactFilter {
            subject: read_optional_id(self.subject_id.as_ref(), "filter.subjectId")?,
            object: read_optional_id(self.object_id.as_ref(), "filter.objectId")?,
            entity: read_optional_id(self.entity_id.as_ref(), "filter.entityId")?,
            relation: self.relation,
            status: self.status.map(Into::into),
            session: read_optional_id(self.session_id.as_ref(), "filter.sessionId")?,
            message: None,
            entity_type: self.entity_type.map(Into::into),
            source: self.source.map(Into::into),
            changed_since: read_time(self.changed_since, "filter.changedSince")?,
            changed_before: read_time(self.changed_before, "filter.changedBefore")?,
            min_belief: self.min_belief,
            as_of: read_time(self.as_of, "filter.asOf")?,
            differs: self.differs_between.map(TimeSpanInput::read).transpose()?,
            text: self.text.map(|text| ports::TextWord::all(&text, usecases.ontology())).unwrap_or_default(),
            relations,
            order: order.into(),
        })
    }
}

#[derive(Default)]
pub(super) struct KnowledgeQueries;

#[Object(guard = "Needs::Read")]
impl KnowledgeQueries {
    /// An entity of the viewer or of shared memory; null if it does not exist. The id of a merged entity returns the entity that it
    /// was merged into.
    async fn entity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The id of the entity.")] id: ID,
    ) -> async_graphql::Result<Option<EntityNode>> {
        let id: EntityId = read_id(&id, "id")?;
        Ok(scope(ctx)?.find(id).await?.map(|(entity, memory)| EntityNode(entity, memory)))
    }

    /// The entities in the viewer's memory, most mentioned first.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn entities(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Conditions that the entities must meet. Default: all entities.")] filter: Option<EntityFilterInput>,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
        #[graphql(desc = "Read shared memory instead of the viewer's own memory.", default)] shared: bool,
    ) -> async_graphql::Result<Connection<EntityNode>> {
        let s = scope(ctx)?;
        let (page, filter) = (page::read_page(first, after)?, filter.unwrap_or_default().read()?);
        let memory = s.memory(shared)?;
        let slice = memory.read.list_entities(&filter, &page).await.map_err(ApiError::from)?;
        Ok(page::forward_connection(slice, &page, Total::Entities(memory.read.clone(), filter), |e| EntityNode(e, memory.clone())))
    }

    /// A fact of the viewer or of shared memory; null if it does not exist.
    async fn fact(&self, ctx: &Context<'_>, #[graphql(desc = "The id of the fact.")] id: ID) -> async_graphql::Result<Option<FactNode>> {
        let id: FactId = read_id(&id, "id")?;
        Ok(scope(ctx)?.find(id).await?.map(|(fact, memory)| FactNode(fact, memory)))
    }

    /// The facts in the viewer's memory, in the given order.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn facts(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Conditions that the facts must meet. Default: all facts.")] filter: Option<FactFilterInput>,
        #[graphql(desc = "The order of the facts. A cursor is valid for the order that it came from.", default)] order_by: FactOrder,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
        #[graphql(desc = "Read shared memory instead of the viewer's own memory.", default)] shared: bool,
    ) -> async_graphql::Result<Connection<FactNode>> {
        let s = scope(ctx)?;
        let (page, filter) = (page::read_page(first, after)?, filter.unwrap_or_default().read(ctx, &s.usecases, order_by)?);
        list_facts(s.memory(shared)?, filter, &page).await
    }

    /// The relations of the ontology that the server uses.
    #[graphql(complexity = "bounded_list_cost(MAX_PAGE as usize, child_complexity)")]
    async fn relations(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<RelationNode>> {
        Ok(scope(ctx)?.usecases.ontology().iter().map(RelationNode::from).collect())
    }
}
