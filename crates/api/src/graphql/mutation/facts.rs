//! Mutations that assert, retract and restore facts.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::{
    error::ApiError,
    graphql::{
        model::{EntityType, EvidenceStance, FactNode, FactValueInput, UserError, split_user_errors},
        page::CHANGE,
        scope::{Needs, audit_change, audit_shared_change, read_id, scope},
    },
};
use recall_domain::{AuditAction, FactId, SessionId, Stance};
use recall_usecases::{AssertFact, ResourceId};

/// A fact that the viewer states directly.
#[derive(InputObject)]
pub(crate) struct AssertFactInput {
    /// The session that receives the evidence and the events. A session of shared memory makes the fact a shared one.
    session_id: ID,
    /// The name of the entity that the fact is about.
    subject: String,
    /// A relation of the ontology, such as `LIVES_IN`.
    relation: String,
    /// The name of the entity at the other end of the relation. Give either this or `value`.
    object: Option<String>,
    /// The value, for a relation with values.
    value: Option<FactValueInput>,
    /// The type of the subject, used if the entity is new.
    subject_type: Option<EntityType>,
    /// The type of the object, used if the entity is new.
    object_type: Option<EntityType>,
    /// Whether the viewer states the fact, denies it, or says that it has ended. A fact that is not known yet is created with this
    /// evidence, so that a later statement meets it.
    #[graphql(default_with = "EvidenceStance::Supports")]
    stance: EvidenceStance,
    /// Why it is stated, up to 500 bytes. It is kept behind the statement in the message that is the evidence. No fact is read from it, but answers can quote it.
    reason: Option<String>,
}

/// The result of `assertFact`.
#[derive(SimpleObject)]
pub(crate) struct AssertFactPayload {
    /// The fact after the change.
    fact: Option<FactNode>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// The fact to retract.
#[derive(InputObject)]
pub(crate) struct RetractFactInput {
    /// The id of the fact.
    id: ID,
}

/// The result of `retractFact`.
#[derive(SimpleObject)]
pub(crate) struct RetractFactPayload {
    /// The retracted fact, which stays readable.
    fact: Option<FactNode>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// The fact to restore.
#[derive(InputObject)]
pub(crate) struct RestoreFactInput {
    /// The id of the fact.
    id: ID,
}

/// The result of `restoreFact`.
#[derive(SimpleObject)]
pub(crate) struct RestoreFactPayload {
    /// The restored fact.
    fact: Option<FactNode>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

#[derive(Default)]
pub(super) struct FactMutations;

#[Object(guard = "Needs::Write")]
impl FactMutations {
    /// Records a fact that the viewer states directly, or denies, or says to have ended. It has the confidence of a plain statement.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn assert_fact(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The fact.")] input: AssertFactInput,
    ) -> async_graphql::Result<AssertFactPayload> {
        let s = scope(ctx)?;
        let assert = async {
            let session: SessionId = read_id(&input.session_id, "input.sessionId")?;
            let stance: Stance = input.stance.into();
            let fact = AssertFact {
                session,
                subject: input.subject,
                relation: input.relation,
                object: input.object,
                value: input.value.map(Into::into),
                subject_type: input.subject_type.map(Into::into),
                object_type: input.object_type.map(Into::into),
                stance,
                reason: input.reason,
            };
            let fact = &fact;
            let assert = |caller| async move { s.usecases.assert_fact(&caller, fact.clone()).await.map_err(ApiError::from) };
            let (fact, memory) = s.change(&[ResourceId::Session(session)], assert).await.map_err(|e| e.at("input.sessionId"))?;
            match stance {
                // What users and their agents tell is in the messages, and there may be much of it.
                Stance::Supports => audit_shared_change(ctx, memory, AuditAction::SharedFactAsserted, fact.id).await?,
                Stance::Opposes => audit_change(ctx, memory, [AuditAction::FactDenied, AuditAction::SharedFactAsserted], fact.id).await?,
                Stance::Ends => audit_change(ctx, memory, [AuditAction::FactEnded, AuditAction::SharedFactAsserted], fact.id).await?,
            }
            Ok(FactNode(fact.into(), memory.clone()))
        };
        let (fact, errors) = split_user_errors(assert.await)?;
        Ok(AssertFactPayload { fact, errors })
    }

    /// Retracts a fact. It stays readable but no longer counts, until it is restored or stated again.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn retract_fact(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The fact.")] input: RetractFactInput,
    ) -> async_graphql::Result<RetractFactPayload> {
        let s = scope(ctx)?;
        let retract = async {
            let id: FactId = read_id(&input.id, "input.id")?;
            let retract = |caller| async move { s.usecases.retract_fact(&caller, id).await.map_err(ApiError::from) };
            let (fact, memory) = s.change(&[ResourceId::Fact(id)], retract).await.map_err(|e| e.at("input.id"))?;
            audit_change(ctx, memory, [AuditAction::FactRetracted, AuditAction::SharedFactRetracted], id).await?;
            Ok(FactNode(fact.into(), memory.clone()))
        };
        let (fact, errors) = split_user_errors(retract.await)?;
        Ok(RetractFactPayload { fact, errors })
    }

    /// Undoes `retractFact`: status, evidence and rivals of the fact become what they were. A fact that a message retracted is refused
    /// with `RETRACTED_BY_MESSAGE`, and one that is not retracted with `NOT_RETRACTED`.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn restore_fact(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The fact.")] input: RestoreFactInput,
    ) -> async_graphql::Result<RestoreFactPayload> {
        let s = scope(ctx)?;
        let restore = async {
            let id: FactId = read_id(&input.id, "input.id")?;
            let restore = |caller| async move { s.usecases.restore_fact(&caller, id).await.map_err(ApiError::from) };
            let (fact, memory) = s.change(&[ResourceId::Fact(id)], restore).await.map_err(|e| e.at("input.id"))?;
            audit_change(ctx, memory, [AuditAction::FactRestored, AuditAction::SharedFactRestored], id).await?;
            Ok(FactNode(fact.into(), memory.clone()))
        };
        let (fact, errors) = split_user_errors(restore.await)?;
        Ok(RestoreFactPayload { fact, errors })
    }
}
