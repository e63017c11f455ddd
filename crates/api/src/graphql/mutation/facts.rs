//! Telling and taking back facts directly.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::{
    error::ApiError,
    graphql::{
        model::{EntityType, FactNode, UserError, settle},
        page::CHANGE,
        scope::{Needs, note_shared, read_id, scope},
    },
};
use recall_domain::{AuditAction, FactId, SessionId};
use recall_usecases::{AssertFact, ResourceId};

/// A fact that the viewer states directly.
#[derive(InputObject)]
pub(crate) struct AssertFactInput {
    /// The session in whose log the change appears, and which is its evidence. One of shared memory makes it a shared fact.
    session_id: ID,
    /// Name of the thing it is about.
    subject: String,
    /// A relation of the ontology, such as `LIVES_IN`.
    relation: String,
    /// Name of the other thing.
    object: String,
    /// What sort of thing the subject is, when it is not known yet.
    subject_type: Option<EntityType>,
    /// What sort of thing the object is, when it is not known yet.
    object_type: Option<EntityType>,
}

/// What came of `assertFact`.
#[derive(SimpleObject)]
pub(crate) struct AssertFactPayload {
    /// The fact as it stands now.
    fact: Option<FactNode>,
    /// Why it was not recorded.
    errors: Vec<UserError>,
}

/// The fact to be taken back.
#[derive(InputObject)]
pub(crate) struct RetractFactInput {
    /// Which one.
    id: ID,
}

/// What came of `retractFact`.
#[derive(SimpleObject)]
pub(crate) struct RetractFactPayload {
    /// The fact, which stays readable.
    fact: Option<FactNode>,
    /// Why it was not taken back.
    errors: Vec<UserError>,
}

#[derive(Default)]
pub(super) struct FactMutations;

#[Object(guard = "Needs::Write")]
impl FactMutations {
    /// Records a fact that the viewer states directly, as a plain statement.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn assert_fact(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The fact.")] input: AssertFactInput,
    ) -> async_graphql::Result<AssertFactPayload> {
        let s = scope(ctx)?;
        let assert = async {
            let session: SessionId = read_id(&input.session_id, "input.sessionId")?;
            let fact = AssertFact {
                session,
                subject: input.subject,
                relation: input.relation,
                object: input.object,
                subject_type: input.subject_type.map(Into::into),
                object_type: input.object_type.map(Into::into),
            };
            let assert = |whose| async move { s.usecases.assert_fact(&whose, fact).await.map_err(ApiError::from) };
            let (fact, memory) = s.change(&[ResourceId::Session(session)], assert).await.map_err(|e| e.at("input.sessionId"))?;
            note_shared(ctx, memory, AuditAction::SharedFactAsserted, fact.id).await?;
            Ok(FactNode(fact.into(), memory.clone()))
        };
        let (fact, errors) = settle(assert.await)?;
        Ok(AssertFactPayload { fact, errors })
    }

    /// Takes a fact back: it stays readable but no longer counts, until a later message states it again.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn retract_fact(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The fact.")] input: RetractFactInput,
    ) -> async_graphql::Result<RetractFactPayload> {
        let s = scope(ctx)?;
        let retract = async {
            let id: FactId = read_id(&input.id, "input.id")?;
            let retract = |whose| async move { s.usecases.retract_fact(&whose, id).await.map_err(ApiError::from) };
            let (fact, memory) = s.change(&[ResourceId::Fact(id)], retract).await.map_err(|e| e.at("input.id"))?;
            note_shared(ctx, memory, AuditAction::SharedFactRetracted, id).await?;
            Ok(FactNode(fact.into(), memory.clone()))
        };
        let (fact, errors) = settle(retract.await)?;
        Ok(RetractFactPayload { fact, errors })
    }
}
