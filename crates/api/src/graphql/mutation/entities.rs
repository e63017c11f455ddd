//! Mutations that rename, merge and unmerge entities.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::{
    error::ApiError,
    graphql::{
        model::{EntityNode, UserError, split_user_errors},
        page::CHANGE,
        scope::{Needs, audit_shared_change, read_id, scope},
    },
};
use recall_domain::{AuditAction, EntityId};
use recall_usecases::ResourceId;

/// A new name for an entity.
#[derive(InputObject)]
pub(crate) struct RenameEntityInput {
    /// The id of the entity.
    id: ID,
    /// The new name. The old name becomes an alias.
    name: String,
}

/// The result of `renameEntity`.
#[derive(SimpleObject)]
pub(crate) struct RenameEntityPayload {
    /// The renamed entity.
    entity: Option<EntityNode>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// Two entities that are the same.
#[derive(InputObject)]
pub(crate) struct MergeEntitiesInput {
    /// The id of the entity that stays.
    into_id: ID,
    /// The id of the entity that is merged into it with its names, facts and mentions.
    from_id: ID,
}

/// The result of `mergeEntities`.
#[derive(SimpleObject)]
pub(crate) struct MergeEntitiesPayload {
    /// The entity that stays.
    entity: Option<EntityNode>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// A merge to undo.
#[derive(InputObject)]
pub(crate) struct UnmergeEntitiesInput {
    /// The id of the entity that was merged, or of the one that stayed. The latter undoes its latest merge.
    entity_id: ID,
}

/// The result of `unmergeEntities`.
#[derive(SimpleObject)]
pub(crate) struct UnmergeEntitiesPayload {
    /// The restored entity.
    entity: Option<EntityNode>,
    /// The entity that it had been merged into.
    from: Option<EntityNode>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

#[derive(Default)]
pub(super) struct EntityMutations;

#[Object(guard = "Needs::Write")]
impl EntityMutations {
    /// Renames an entity.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn rename_entity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The entity and its new name.")] input: RenameEntityInput,
    ) -> async_graphql::Result<RenameEntityPayload> {
        let s = scope(ctx)?;
        let rename = async {
            let id: EntityId = read_id(&input.id, "input.id")?;
            let rename = |caller| async move { s.usecases.rename_entity(&caller, id, input.name).await.map_err(ApiError::from) };
            let (entity, memory) = s.change(&[ResourceId::Entity(id)], rename).await.map_err(|e| e.at("input.id"))?;
            audit_shared_change(ctx, memory, AuditAction::SharedEntityRenamed, entity.id).await?;
            Ok(EntityNode(entity, memory.clone()))
        };
        let (entity, errors) = split_user_errors(rename.await)?;
        Ok(RenameEntityPayload { entity, errors })
    }

    /// Merges two entities that are the same.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn merge_entities(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The entities.")] input: MergeEntitiesInput,
    ) -> async_graphql::Result<MergeEntitiesPayload> {
        let s = scope(ctx)?;
        let merge = async {
            let into: EntityId = read_id(&input.into_id, "input.intoId")?;
            let from: EntityId = read_id(&input.from_id, "input.fromId")?;
            let merge = |caller| async move { s.usecases.merge_entities(&caller, into, from).await.map_err(ApiError::from) };
            let (entity, memory) = s.change(&[ResourceId::Entity(into), ResourceId::Entity(from)], merge).await?;
            audit_shared_change(ctx, memory, AuditAction::SharedEntitiesMerged, entity.id).await?;
            Ok(EntityNode(entity, memory.clone()))
        };
        let (entity, errors) = split_user_errors(merge.await)?;
        Ok(MergeEntitiesPayload { entity, errors })
    }

    /// Undoes a merge: restores the entity with its names, mentions and facts. Facts learned since the merge stay with the other
    /// entity, unless their message names the restored one.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn unmerge_entities(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The merge.")] input: UnmergeEntitiesInput,
    ) -> async_graphql::Result<UnmergeEntitiesPayload> {
        let s = scope(ctx)?;
        let unmerge = async {
            let id: EntityId = read_id(&input.entity_id, "input.entityId")?;
            let unmerge = |caller| async move { s.usecases.unmerge_entities(&caller, id).await.map_err(ApiError::from) };
            let ((entity, from), memory) = s.change(&[ResourceId::Entity(id)], unmerge).await.map_err(|e| e.at("input.entityId"))?;
            audit_shared_change(ctx, memory, AuditAction::SharedEntitiesUnmerged, entity.id).await?;
            Ok((EntityNode(entity, memory.clone()), EntityNode(from, memory.clone())))
        };
        let (both, errors) = split_user_errors(unmerge.await)?;
        let (entity, from) = both.unzip();
        Ok(UnmergeEntitiesPayload { entity, from, errors })
    }
}
