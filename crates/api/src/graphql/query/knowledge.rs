//! Entities, facts and the ontology.

use async_graphql::{Context, ID, InputObject, Object};

use crate::{
    error::ApiError,
    graphql::{
        model::{EntityNode, EntityType, FactNode, FactStatus, RelationNode},
        page::{self, Connection, MAX_PAGE, Total, bounded, cost},
        scope::{Needs, read_id, read_optional_id, scope},
    },
};
use recall_domain::{EntityId, FactId, Timestamp};
use recall_ports as ports;
use recall_usecases::UseCases;

/// Which entities; all given conditions must hold.
#[derive(InputObject, Default)]
pub(crate) struct EntityFilter {
    /// Only of this type.
    r#type: Option<EntityType>,
    /// Name or alias contains this, ignoring case.
    text: Option<String>,
    /// Mentioned in this session.
    session_id: Option<ID>,
}

impl EntityFilter {
    fn read(self) -> Result<ports::EntityFilter, ApiError> {
        Ok(ports::EntityFilter {
            entity_type: self.r#type.map(Into::into),
            text: self.text,
            session: read_optional_id(self.session_id.as_ref(), "filter.sessionId")?,
        })
    }
}

/// Which facts; all given conditions must hold.
#[derive(InputObject, Default)]
pub(crate) struct FactFilter {
    /// Has this subject.
    subject_id: Option<ID>,
    /// Has this object.
    object_id: Option<ID>,
    /// Has this entity on either side.
    entity_id: Option<ID>,
    /// Uses this relation of the ontology, such as `LIVES_IN`.
    relation: Option<String>,
    /// Has this status.
    status: Option<FactStatus>,
    /// Has evidence in this session.
    session_id: Option<ID>,
    /// Was believed at least this much when it last changed, 0 to 1.
    min_belief: Option<f64>,
    /// Was known and held at this moment.
    as_of: Option<Timestamp>,
    /// A name on either side contains this, ignoring case.
    text: Option<String>,
}

impl FactFilter {
    fn read(self, usecases: &UseCases) -> Result<ports::FactFilter, ApiError> {
        if let Some(name) = &self.relation {
            usecases.relation(name).map_err(|e| ApiError::from(e).within("filter"))?;
        }
        if self.min_belief.is_some_and(|b| !(0.0..=1.0).contains(&b)) {
            return Err(ApiError::invalid("INVALID_BELIEF", "The belief is out of range. Give a number from 0 to 1.", "filter.minBelief"));
        }
        Ok(ports::FactFilter {
            subject: read_optional_id(self.subject_id.as_ref(), "filter.subjectId")?,
            object: read_optional_id(self.object_id.as_ref(), "filter.objectId")?,
            entity: read_optional_id(self.entity_id.as_ref(), "filter.entityId")?,
            relation: self.relation,
            status: self.status.map(Into::into),
            session: read_optional_id(self.session_id.as_ref(), "filter.sessionId")?,
            message: None,
            min_belief: self.min_belief,
            as_of: self.as_of,
            text: self.text,
        })
    }
}

#[derive(Default)]
pub(super) struct KnowledgeQueries;

#[Object(guard = "Needs::Read")]
impl KnowledgeQueries {
    /// One of the things the viewer or shared memory talks about; null when there is no such. The id of a thing that was merged gives the one
    /// that took over.
    async fn entity(&self, ctx: &Context<'_>, #[graphql(desc = "Which one.")] id: ID) -> async_graphql::Result<Option<EntityNode>> {
        let id: EntityId = read_id(&id, "id")?;
        Ok(scope(ctx)?.find(id).await?.map(|(entity, memory)| EntityNode(entity, memory)))
    }

    /// The things the viewer talks about, most mentioned first.
    #[graphql(complexity = "cost(first, child_complexity)")]
    async fn entities(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which ones.")] filter: Option<EntityFilter>,
        #[graphql(desc = "How many, 1 to 100; 20 when nothing is said.")] first: Option<i32>,
        #[graphql(desc = "Go on after this cursor.")] after: Option<String>,
        #[graphql(desc = "Those of shared memory instead.", default)] shared: bool,
    ) -> async_graphql::Result<Connection<EntityNode>> {
        let s = scope(ctx)?;
        let (page, filter) = (page::page(first, after)?, filter.unwrap_or_default().read()?);
        let memory = s.memory(shared)?;
        let slice = s.store().list_entities(&memory.caller, &filter, &page).await.map_err(ApiError::from)?;
        Ok(page::forwards(slice, &page, Total::Entities(memory.caller, filter), |e| EntityNode(e, memory.clone())))
    }

    /// One of the viewer's facts, or of shared memory; null when there is no such.
    async fn fact(&self, ctx: &Context<'_>, #[graphql(desc = "Which one.")] id: ID) -> async_graphql::Result<Option<FactNode>> {
        let id: FactId = read_id(&id, "id")?;
        Ok(scope(ctx)?.find(id).await?.map(|(fact, memory)| FactNode(fact, memory)))
    }

    /// The facts that the memory holds, latest change first.
    #[graphql(complexity = "cost(first, child_complexity)")]
    async fn facts(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which ones.")] filter: Option<FactFilter>,
        #[graphql(desc = "How many, 1 to 100; 20 when nothing is said.")] first: Option<i32>,
        #[graphql(desc = "Go on after this cursor.")] after: Option<String>,
        #[graphql(desc = "Those of shared memory instead.", default)] shared: bool,
    ) -> async_graphql::Result<Connection<FactNode>> {
        let s = scope(ctx)?;
        let (page, filter) = (page::page(first, after)?, filter.unwrap_or_default().read(&scope(ctx)?.usecases)?);
        let memory = s.memory(shared)?;
        let slice = s.store().list_facts(&memory.caller, &filter, &page).await.map_err(ApiError::from)?;
        Ok(page::forwards(slice, &page, Total::Facts(memory.caller, filter), |f| FactNode(f.into(), memory.clone())))
    }

    /// The ontology in force: the verbs that facts may use.
    #[graphql(complexity = "bounded(MAX_PAGE as usize, child_complexity)")]
    async fn relations(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<RelationNode>> {
        Ok(scope(ctx)?.usecases.ontology().iter().map(RelationNode::from).collect())
    }
}
