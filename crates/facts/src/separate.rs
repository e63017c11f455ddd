//! Plans the separation of a name: what was said under it goes from an entity to one of its own. Pure.
//!
//! Names that a message or the resolution of names joined have no merge record. So the separation is the undoing of a merge of which
//! only the names are known: each statement goes to the entity that its message names.

use std::collections::HashSet;

use uuid::Uuid;

use super::edit::EditContext;
use super::resolve::names;
use super::unmerge::{EntityState, Undo, own_names, unmerge};
use recall_domain::{Decision, Entity, EntityId, EntityKey, Fact, FactId, Timestamp};
use recall_ports::{KnowledgeCommit, LostNames, MergeRecord};

/// A name to separate.
#[derive(Debug)]
pub struct Separation<'a> {
    /// The entity.
    pub state: &'a EntityState,
    /// One of its aliases.
    pub name: &'a str,
    /// The entities that were merged into it, with the names that they had.
    pub merged: &'a [Entity],
}

/// Why a name cannot be separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSeparable {
    /// It is none of the aliases, or the same as another name but for case and articles.
    NoAlias,
    /// No message mentions the entity by it.
    NeverMentioned,
    /// It came with a recorded merge. The undoing of the merge restores its entity.
    Merged,
    /// All that was said of the entity was said under it.
    NothingStays,
}

/// Plans how to separate a name from an entity. The first entity of the plan that is not `entity` is the new one.
///
/// # Errors
/// When it is no other name of the entity, came with a recorded merge, was never said, or is all that was said of the entity.
pub fn separate(at: &EditContext<'_>, s: &Separation<'_>, ids: &mut dyn FnMut() -> Uuid) -> Result<KnowledgeCommit, NotSeparable> {
    let Separation { state, name, merged } = *s;
    let EntityState { entity, facts, mentions, .. } = state;
    let key = EntityKey::of(name).ok_or(NotSeparable::NoAlias)?;
    let has_key = |other: &str| EntityKey::of(other).as_ref() == Some(&key);
    let name = entity.aliases.iter().find(|alias| has_key(alias)).filter(|_| !has_key(&entity.name)).ok_or(NotSeparable::NoAlias)?;
    if merged.iter().flat_map(own_names).any(has_key) {
        return Err(NotSeparable::Merged);
    }
    let first = mentions.iter().filter(|(_, _, m)| has_key(&m.name)).map(|(message, _, _)| *message).min();
    let first = first.ok_or(NotSeparable::NeverMentioned)?;

    // A description goes with the mentions that gave it.
    let described = |of_name: bool| {
        mentions.iter().rev().filter(move |(_, _, m)| has_key(&m.name) == of_name).find_map(|(_, _, m)| m.description.clone())
    };
    let is_lost = entity.description.is_some() && described(true) == entity.description && described(false) != entity.description;
    let before = Entity {
        aliases: entity.aliases.iter().filter(|alias| !has_key(alias)).cloned().collect(),
        description: if is_lost { described(false) } else { entity.description.clone() },
        ..entity.clone()
    };
    let new = Entity {
        id: EntityId(ids()),
        name: name.clone(),
        aliases: Vec::new(),
        description: described(true),
        mention_count: 0,
        is_viewer: false,
        first_message: Some(first),
        created_at: at.now,
        ..entity.clone()
    };
    let hints = names::hints(name, new.entity_type);
    let kept: Vec<String> = own_names(&before).flat_map(|other| names::hints(other, before.entity_type)).collect();
    let lost_hints: Vec<String> = hints.iter().filter(|hint| !kept.contains(hint)).cloned().collect();
    let id = new.id;
    let record = MergeRecord {
        gone: new,
        before,
        after: entity.clone(),
        holder: entity.id,
        merged_at: Timestamp::UNIX_EPOCH,
        decision: Decision { score: 0.0, reason: String::new() },
        facts: Vec::new(),
        evidence: Vec::new(),
        mentions: Vec::new(),
        since: mentions.iter().map(|(message, _, _)| *message).collect(),
    };
    let mut plan = unmerge(at, &Undo { record: &record, state }, ids);
    let moved: usize = plan.unmerged.iter().map(|undone| undone.mentions.len()).sum();
    let stays = |f: &Fact| [f.subject, f.object].contains(&entity.id);
    let changed: HashSet<FactId> = plan.deleted_facts.iter().copied().chain(plan.facts.iter().map(|f| f.id)).collect();
    let is_left = plan.facts.iter().any(stays) || facts.iter().any(|f| !changed.contains(&f.id));
    if !entity.is_viewer && moved == mentions.len() && !is_left {
        return Err(NotSeparable::NothingStays);
    }
    for undone in &mut plan.unmerged {
        undone.names = LostNames::Given { keys: vec![key.clone()], hints: lost_hints.clone() };
    }
    plan.keys.push((id, key));
    plan.hints.extend(hints.into_iter().map(|hint| (id, hint)));
    Ok(plan)
}
