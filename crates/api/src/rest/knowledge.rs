//! `GET /facts` and `GET /entities`: lists what is known.

use axum::{extract::State, http::Uri};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    fields::{Parameters, time},
    input::{read_id, read_type, read_word, with_rest_names},
    list::{List, ListResponse, next_cursor},
    view::{EntityDetails, FactView, NamedFact},
};
use crate::{
    auth::Reader,
    error::ApiError,
    graphql::{OperationScope, ResponseBudget, read_page},
};
use recall_domain::{FactStatus, Timestamp};
use recall_ports::{EntityFilter, FactFilter, RelationFilter, TextWord};
use recall_usecases::UseCases;

/// Conditions on facts, all of which must hold, and a page of the list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct FactsParameters {
    /// Page size, 1 to 100. Default: 20.
    first: Option<i32>,
    /// Return items after this cursor.
    after: Option<String>,
    /// List shared memory instead of the caller's own memory.
    #[serde(default)]
    shared: bool,
    /// The subject is this entity.
    #[param(format = Uuid)]
    subject_id: Option<String>,
    /// The object is this entity.
    #[param(format = Uuid)]
    object_id: Option<String>,
    /// The subject or the object is this entity.
    #[param(format = Uuid)]
    entity_id: Option<String>,
    /// The fact uses this relation of the ontology, such as `LIVES_IN`. Notes are listed only with their own relation.
    relation: Option<String>,
    /// The fact has this status: `active`, `ended` or `retracted`.
    status: Option<String>,
    /// The fact has evidence in this session.
    #[param(format = Uuid)]
    session_id: Option<String>,
    /// The belief was at least this high when the fact last changed, 0 to 1.
    min_belief: Option<f64>,
    /// The fact was known and held at this time.
    #[serde(default, deserialize_with = "time")]
    #[param(value_type = Option<String>, format = DateTime)]
    as_of: Option<Timestamp>,
    /// The fact last changed at this time or later.
    #[serde(default, deserialize_with = "time")]
    #[param(value_type = Option<String>, format = DateTime)]
    changed_since: Option<Timestamp>,
    /// The fact last changed before this time.
    #[serde(default, deserialize_with = "time")]
    #[param(value_type = Option<String>, format = DateTime)]
    changed_before: Option<Timestamp>,
    /// Each word of this text is in the name of the subject or object, in what one is to somebody ("brother"), in the value, or in the phrase of the relation.
    text: Option<String>,
}

impl FactsParameters {
    fn filter(&self, usecases: &UseCases) -> Result<FactFilter, ApiError> {
        if let Some(name) = &self.relation {
            usecases.relation(name).map_err(with_rest_names)?;
        }
        if self.min_belief.is_some_and(|b| !(0.0..=1.0).contains(&b)) {
            return Err(ApiError::invalid("INVALID_BELIEF", "The belief is out of range. Give a number from 0 to 1.", "min_belief"));
        }
        let unknown_status = || ApiError::invalid("UNKNOWN_STATUS", "There is no such status. Use active, ended or retracted.", "status");
        let relations = RelationFilter::without_notes(usecases.ontology(), self.relation.as_deref());
        Ok(FactFilter {
            subject: read_id(self.subject_id.as_deref(), "subject_id")?,
            object: read_id(self.object_id.as_deref(), "object_id")?,
            entity: read_id(self.entity_id.as_deref(), "entity_id")?,
            relation: self.relation.clone(),
            status: read_word::<FactStatus>(self.status.as_deref(), unknown_status)?,
            session: read_id(self.session_id.as_deref(), "session_id")?,
            min_belief: self.min_belief,
            as_of: self.as_of,
            changed_since: self.changed_since,
            changed_before: self.changed_before,
            text: self.text.as_deref().map(|text| TextWord::all(text, usecases.ontology())).unwrap_or_default(),
            relations,
            ..FactFilter::default()
        })
    }
}

/// Lists the facts in the caller's memory, latest change first.
#[utoipa::path(
    get, path = "/facts", operation_id = "listFacts", tag = "memory", security((), ("token" = ["recall.read"])),
    params(FactsParameters),
    responses((status = 200, description = "A page of the list.", body = List<FactView>, headers(("Link" = String, description = "The next page, with `rel=\"next\"` (RFC 8288). Absent on the last page."))))
)]
pub(super) async fn facts(
    State(usecases): State<UseCases>,
    Reader(identity): Reader,
    uri: Uri,
    Parameters(parameters): Parameters<FactsParameters>,
) -> Result<ListResponse<FactView>, ApiError> {
    let filter = parameters.filter(&usecases)?;
    let page = read_page(parameters.first, parameters.after)?;
    let scope = OperationScope::new(identity, usecases, ResponseBudget::default());
    let memory = scope.memory(parameters.shared)?;
    let slice = memory.read.list_facts(&filter, &page).await?;
    let next = next_cursor(&slice);
    let mut sides: Vec<_> = slice.items.iter().flat_map(|(_, f)| [f.subject, f.object]).collect();
    sides.sort();
    sides.dedup();
    let names = memory.read.entities(&sides).await?;
    let named = slice.items.iter().filter_map(|(_, fact)| {
        let (subject, object) = (names.get(&fact.subject)?, names.get(&fact.object)?);
        Some(NamedFact { fact, subject, object, shared: memory.is_shared() })
    });
    let named: Vec<NamedFact<'_>> = named.collect();
    let facts = scope.batches.clone().drive(scope.budget.clone(), FactView::of(&scope, &named)).await??;
    Ok(ListResponse::new(&uri, facts, next))
}

/// Conditions on entities, all of which must hold, and a page of the list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EntitiesParameters {
    /// Page size, 1 to 100. Default: 20.
    first: Option<i32>,
    /// Return items after this cursor.
    after: Option<String>,
    /// List shared memory instead of the caller's own memory.
    #[serde(default)]
    shared: bool,
    /// The entity has this type: person, organization, place, project, tool, concept, event or thing.
    r#type: Option<String>,
    /// The name or an alias contains this text, ignoring case and accents.
    text: Option<String>,
    /// A message of this session mentions the entity.
    #[param(format = Uuid)]
    session_id: Option<String>,
}

/// Lists the entities in the caller's memory, most mentioned first.
#[utoipa::path(
    get, path = "/entities", operation_id = "listEntities", tag = "memory", security((), ("token" = ["recall.read"])),
    params(EntitiesParameters),
    responses((status = 200, description = "A page of the list.", body = List<EntityDetails>, headers(("Link" = String, description = "The next page, with `rel=\"next\"` (RFC 8288). Absent on the last page."))))
)]
pub(super) async fn entities(
    State(usecases): State<UseCases>,
    Reader(identity): Reader,
    uri: Uri,
    Parameters(parameters): Parameters<EntitiesParameters>,
) -> Result<ListResponse<EntityDetails>, ApiError> {
    let filter = EntityFilter {
        entity_type: read_type(parameters.r#type.as_deref())?,
        text: parameters.text,
        session: read_id(parameters.session_id.as_deref(), "session_id")?,
    };
    let page = read_page(parameters.first, parameters.after)?;
    let scope = OperationScope::new(identity, usecases, ResponseBudget::default());
    let memory = scope.memory(parameters.shared)?;
    let slice = memory.read.list_entities(&filter, &page).await?;
    let next = next_cursor(&slice);
    let entities = slice.items.into_iter().map(|(_, entity)| EntityDetails::of(entity, memory.is_shared())).collect();
    Ok(ListResponse::new(&uri, entities, next))
}
