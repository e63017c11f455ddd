//! Putting entities right.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::{
    error::ApiError,
    graphql::{
        model::{EntityNode, UserError, settle},
        page::CHANGE,
        scope::{Needs, note_shared, read_id, scope},
    },
};
use recall_domain::{AuditAction, EntityId};
use recall_usecases::ResourceId;

/// Another name for an entity.
#[derive(InputObject)]
pub(crate) struct RenameEntityInput {
    /// Which one.
    id: ID,
    /// Its new name. The old one stays an alias.
    name: String,
}

/// What came of `renameEntity`.
#[derive(SimpleObject)]
pub(crate) struct RenameEntityPayload {
    /// The entity under its new name.
    entity: Option<EntityNode>,
    /// Why it was not renamed.
    errors: Vec<UserError>,
}

/// Two entities that are one.
#[derive(InputObject)]
pub(crate) struct MergeEntitiesInput {
    /// The one that stays.
    into_id: ID,
    /// The one whose names, facts and mentions it takes over.
    from_id: ID,
}

/// What came of `mergeEntities`.
#[derive(SimpleObject)]
pub(crate) struct MergeEntitiesPayload {
    /// The entity that stays.
    entity: Option<EntityNode>,
    /// Why they were not merged.
    errors: Vec<UserError>,
}

/// A merge to be undone.
#[derive(InputObject)]
pub(crate) struct UnmergeEntitiesInput {
    /// The one that was merged away; or the one that stayed, whose latest merge is undone then.
    entity_id: ID,
}

/// What came of `unmergeEntities`.
#[derive(SimpleObject)]
pub(crate) struct UnmergeEntitiesPayload {
    /// The entity that is back.
    entity: Option<EntityNode>,
    /// The entity that had its place.
    from: Option<EntityNode>,
    /// Why they were not told apart.
    errors: Vec<UserError>,
}

#[derive(Default)]
pub(super) struct EntityMutations;

#[Object(guard = "Needs::Write")]
impl EntityMutations {
    /// Gives an entity another name.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn rename_entity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The entity and its new name.")] input: RenameEntityInput,
    ) -> async_graphql::Result<RenameEntityPayload> {
        let s = scope(ctx)?;
        let rename = async {
            let id: EntityId = read_id(&input.id, "input.id")?;
            let rename = |whose| async move { s.usecases.rename_entity(&whose, id, input.name).await.map_err(ApiError::from) };
            let (entity, memory) = s.change(&[ResourceId::Entity(id)], rename).await.map_err(|e| e.at("input.id"))?;
            note_shared(ctx, memory, AuditAction::SharedEntityRenamed, entity.id).await?;
            Ok(EntityNode(entity, memory.clone()))
        };
        let (entity, errors) = settle(rename.await)?;
        Ok(RenameEntityPayload { entity, errors })
    }

    /// Says that two entities are one and the same.
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
            let merge = |whose| async move { s.usecases.merge_entities(&whose, into, from).await.map_err(ApiError::from) };
            let (entity, memory) = s.change(&[ResourceId::Entity(into), ResourceId::Entity(from)], merge).await?;
            note_shared(ctx, memory, AuditAction::SharedEntitiesMerged, entity.id).await?;
            Ok(EntityNode(entity, memory.clone()))
        };
        let (entity, errors) = settle(merge.await)?;
        Ok(MergeEntitiesPayload { entity, errors })
    }

    /// Undoes a merge: the entity comes back with its names, mentions and facts. What was learnt since stays with the one that
    /// stayed, unless the message names the one that was gone.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn unmerge_entities(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The merge.")] input: UnmergeEntitiesInput,
    ) -> async_graphql::Result<UnmergeEntitiesPayload> {
        let s = scope(ctx)?;
        let unmerge = async {
            let id: EntityId = read_id(&input.entity_id, "input.entityId")?;
            let unmerge = |whose| async move { s.usecases.unmerge_entities(&whose, id).await.map_err(ApiError::from) };
            let ((entity, from), memory) = s.change(&[ResourceId::Entity(id)], unmerge).await.map_err(|e| e.at("input.entityId"))?;
            note_shared(ctx, memory, AuditAction::SharedEntitiesUnmerged, entity.id).await?;
            Ok((EntityNode(entity, memory.clone()), EntityNode(from, memory.clone())))
        };
        let (both, errors) = settle(unmerge.await)?;
        let (entity, from) = both.unzip();
        Ok(UnmergeEntitiesPayload { entity, from, errors })
    }
}
