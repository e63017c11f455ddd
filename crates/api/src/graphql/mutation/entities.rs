//! Mutations that rename, retype, merge and unmerge entities.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::{
    error::ApiError,
    graphql::{
        model::{EntityNode, EntityType, UserError, split_user_errors},
        page::CHANGE,
        scope::{Needs, audit_change, read_id, scope},
    },
};
use recall_domain::{AuditAction, EntityId};
use recall_usecases::{MergeOutcome, ResourceId, SeparationOutcome};

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

/// Another type for an entity.
#[derive(InputObject)]
pub(crate) struct RetypeEntityInput {
    /// The id of the entity.
    id: ID,
    /// The type. No later message changes it.
    r#type: EntityType,
}

/// The result of `retypeEntity`.
#[derive(SimpleObject)]
pub(crate) struct RetypeEntityPayload {
    /// The entity after the change.
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
    /// Whether to change nothing and only return what would change.
    #[graphql(default)]
    dry_run: bool,
}

/// The result of `mergeEntities`.
#[derive(SimpleObject)]
pub(crate) struct MergeEntitiesPayload {
    /// The entity that stays, with its names and counts after the merge.
    entity: Option<EntityNode>,
    /// The number of mentions that move to it, or would move.
    mentions_moved: u64,
    /// The number of facts that move to it, or would move.
    facts_moved: usize,
    /// The number of facts that become one with a fact that it has already, or would become one.
    facts_joined: usize,
    /// The number of facts that are deleted because they would relate it to itself.
    facts_removed: usize,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// A merge to undo, or a name to separate.
#[derive(InputObject)]
pub(crate) struct UnmergeEntitiesInput {
    /// The id of the entity that was merged, or of the one that stayed. The latter undoes its latest merge.
    entity_id: ID,
    /// One of the aliases of the entity. What was said under it goes to an entity of its own, also if nobody merged the names by hand.
    name: Option<String>,
    /// Whether to change nothing and only return what would change.
    #[graphql(default)]
    dry_run: bool,
}

/// The result of `unmergeEntities`.
#[derive(SimpleObject)]
pub(crate) struct UnmergeEntitiesPayload {
    /// The restored or new entity. In a dry run, a new one has an id that does not stay.
    entity: Option<EntityNode>,
    /// The entity from which it was separated.
    from: Option<EntityNode>,
    /// The number of mentions that move to the restored or new entity, or would move.
    mentions_moved: u64,
    /// The number of facts that the restored or new entity gets, or would get.
    facts_moved: usize,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// Cost of a merge or its preview, in fields: it reads up to ten thousand facts, and a preview can be repeated.
const MERGE: usize = 20 * CHANGE;

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
            let name = &input.name;
            let rename = |caller| async move { s.usecases.rename_entity(&caller, id, name.clone()).await.map_err(ApiError::from) };
            let (entity, memory) = s.change(&[ResourceId::Entity(id)], rename).await.map_err(|e| e.at("input.id"))?;
            audit_change(ctx, memory, [AuditAction::EntityRenamed, AuditAction::SharedEntityRenamed], entity.id).await?;
            Ok(EntityNode(entity, memory.clone()))
        };
        let (entity, errors) = split_user_errors(rename.await)?;
        Ok(RenameEntityPayload { entity, errors })
    }

    /// Gives an entity another type.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn retype_entity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The entity and its type.")] input: RetypeEntityInput,
    ) -> async_graphql::Result<RetypeEntityPayload> {
        let s = scope(ctx)?;
        let retype = async {
            let id: EntityId = read_id(&input.id, "input.id")?;
            let entity_type = input.r#type.into();
            let retype = |caller| async move { s.usecases.retype_entity(&caller, id, entity_type).await.map_err(ApiError::from) };
            let (entity, memory) = s.change(&[ResourceId::Entity(id)], retype).await.map_err(|e| e.at("input.id"))?;
            audit_change(ctx, memory, [AuditAction::EntityRetyped, AuditAction::SharedEntityRetyped], entity.id).await?;
            Ok(EntityNode(entity, memory.clone()))
        };
        let (entity, errors) = split_user_errors(retype.await)?;
        Ok(RetypeEntityPayload { entity, errors })
    }

    /// Merges two entities that are the same, or shows what that would change.
    #[graphql(complexity = "MERGE + child_complexity")]
    async fn merge_entities(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The entities.")] input: MergeEntitiesInput,
    ) -> async_graphql::Result<MergeEntitiesPayload> {
        let s = scope(ctx)?;
        let merge = async {
            let into: EntityId = read_id(&input.into_id, "input.intoId")?;
            let from: EntityId = read_id(&input.from_id, "input.fromId")?;
            let dry_run = input.dry_run;
            let merge = |caller| async move {
                let merged = if dry_run {
                    s.usecases.preview_merge(&caller, into, from).await
                } else {
                    s.usecases.merge_entities(&caller, into, from).await
                };
                merged.map_err(ApiError::from)
            };
            let (merged, memory) = s.change(&[ResourceId::Entity(into), ResourceId::Entity(from)], merge).await?;
            if !dry_run {
                let actions = [AuditAction::EntitiesMerged, AuditAction::SharedEntitiesMerged];
                audit_change(ctx, memory, actions, merged.entity.id).await?;
            }
            Ok((merged, memory.clone()))
        };
        let (merged, errors) = split_user_errors(merge.await)?;
        let Some((merged, memory)) = merged else {
            return Ok(MergeEntitiesPayload { entity: None, mentions_moved: 0, facts_moved: 0, facts_joined: 0, facts_removed: 0, errors });
        };
        let MergeOutcome { entity, mentions, moved, joined, removed } = merged;
        let entity = Some(EntityNode(entity, memory));
        Ok(MergeEntitiesPayload {
            entity,
            mentions_moved: mentions,
            facts_moved: moved,
            facts_joined: joined,
            facts_removed: removed,
            errors,
        })
    }

    /// Undoes a merge: restores the entity with its names, mentions and facts. Facts learned since the merge stay with the other
    /// entity, unless their message names the restored one. With a `name`, separates what was said under this name instead, or shows
    /// what that would change.
    #[graphql(complexity = "MERGE + child_complexity")]
    async fn unmerge_entities(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The merge, or the name.")] input: UnmergeEntitiesInput,
    ) -> async_graphql::Result<UnmergeEntitiesPayload> {
        let s = scope(ctx)?;
        let unmerge = async {
            let id: EntityId = read_id(&input.entity_id, "input.entityId")?;
            let (name, dry_run) = (input.name.as_deref(), input.dry_run);
            let unmerge = |caller| async move {
                let separated = if dry_run {
                    s.usecases.preview_separation(&caller, id, name).await
                } else {
                    s.usecases.separate_entities(&caller, id, name).await
                };
                separated.map_err(ApiError::from)
            };
            let (separated, memory) = s.change(&[ResourceId::Entity(id)], unmerge).await.map_err(|e| e.at("input.entityId"))?;
            if !dry_run {
                let actions = [AuditAction::EntitiesUnmerged, AuditAction::SharedEntitiesUnmerged];
                audit_change(ctx, memory, actions, separated.entity.id).await?;
            }
            Ok((separated, memory.clone()))
        };
        let (separated, errors) = split_user_errors(unmerge.await)?;
        let Some((SeparationOutcome { entity, from, mentions, facts }, memory)) = separated else {
            return Ok(UnmergeEntitiesPayload { entity: None, from: None, mentions_moved: 0, facts_moved: 0, errors });
        };
        let node = |entity| Some(EntityNode(entity, memory.clone()));
        Ok(UnmergeEntitiesPayload { entity: node(entity), from: node(from), mentions_moved: mentions, facts_moved: facts, errors })
    }
}
