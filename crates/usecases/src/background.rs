//! Collects what is known about the names in a message and its session, for extractors that understand references.

use std::collections::HashSet;

use super::{rank, use_cases::UseCases};
use recall_domain::{Caller, Entity, EntityId, Fact, FactStatus, MessageId, Page, SessionId};
use recall_ports::{EntityFilter, Known, KnownFact, KnownName, StoreError};

/// Most names from the session.
const MAX_OF_SESSION: u32 = 40;
/// Most runs of words that are looked up as names.
const MAX_KEYS: usize = 2_000;
/// Most entities whose facts are loaded, and most facts loaded for each.
const MAX_ABOUT: usize = 20;
const FACTS_PER_ENTITY: u32 = 20;
/// Most facts.
const MAX_FACTS: usize = 40;

impl UseCases {
    /// Returns the names that `texts` contain, those of `earlier` messages and those of the session, with facts about them.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub(super) async fn known_names(
        &self,
        caller: &Caller,
        session: SessionId,
        texts: &[&str],
        earlier: &[MessageId],
    ) -> Result<Known, StoreError> {
        let store = &self.parts.store;
        let mut keys: Vec<_> = texts.iter().flat_map(|text| rank::QuestionTerms::of(text).keys).collect();
        keys.sort();
        keys.dedup();
        keys.truncate(MAX_KEYS);
        let mut entities: Vec<Entity> = Vec::new();
        add(&mut entities, store.entities_by_key(caller, &keys).await?.into_iter().map(|(_, e)| e));
        let named: HashSet<EntityId> = entities.iter().map(|e| e.id).collect();
        let mentions = store.mentions_in(caller, earlier).await?;
        // The latest message first.
        let place = |message: MessageId| earlier.iter().rev().position(|m| *m == message);
        let mut mentioned: Vec<_> = mentions.into_iter().map(|(message, entity, _)| (place(message), entity)).collect();
        mentioned.sort();
        let ids: Vec<EntityId> = mentioned.iter().map(|(_, entity)| *entity).collect();
        let mut found = store.entities_by_id(caller, &ids).await?;
        found.sort_by_key(|e| ids.iter().position(|id| *id == e.id));
        add(&mut entities, found);
        let of_session = EntityFilter { session: Some(session), ..EntityFilter::default() };
        add(&mut entities, store.list_entities(caller, &of_session, &Page::first(MAX_OF_SESSION)).await?.items.into_iter().map(|(_, e)| e));
        // In shared memory "I" means nobody.
        let viewer = if caller.is_shared() { None } else { store.viewer_entity(caller).await?.map(|e| e.id) };
        entities.retain(|e| !e.is_viewer);

        let about: Vec<EntityId> = viewer.into_iter().chain(entities.iter().take(MAX_ABOUT).map(|e| e.id)).collect();
        let mut facts = if about.is_empty() { Vec::new() } else { store.facts_of_entities(caller, &about, FACTS_PER_ENTITY).await? };
        facts.retain(|f| f.status == FactStatus::Active && f.support > f.opposition);
        let mut seen = HashSet::new();
        facts.retain(|f| seen.insert(f.id));
        // A fact about what the message names is the most likely one to end.
        let sides = |f: &Fact| [f.subject, f.object].iter().filter(|side| named.contains(*side) || viewer == Some(**side)).count();
        let names = |f: &Fact| [f.subject, f.object].iter().any(|side| named.contains(side));
        facts.sort_by_key(|f| std::cmp::Reverse((names(f), sides(f))));
        facts.truncate(MAX_FACTS);
        let missing: Vec<EntityId> = facts
            .iter()
            .flat_map(|f| [f.subject, f.object])
            .filter(|id| viewer != Some(*id) && !entities.iter().any(|e| e.id == *id))
            .collect();
        add(&mut entities, store.entities_by_id(caller, &missing).await?);

        let name = |id: EntityId| match viewer == Some(id) {
            true => Some(None),
            false => entities.iter().find(|e| e.id == id).map(|e| Some(e.name.clone())),
        };
        let facts = facts
            .iter()
            .filter_map(|f| Some(KnownFact { subject: name(f.subject)?, relation: f.relation.clone(), object: name(f.object)? }))
            .collect();
        let names = entities
            .into_iter()
            .map(|e| KnownName { name: e.name, entity_type: e.entity_type, aliases: e.aliases, description: e.description })
            .collect();
        Ok(Known { names, facts })
    }
}

/// Adds the entities that are not there yet.
fn add(entities: &mut Vec<Entity>, more: impl IntoIterator<Item = Entity>) {
    for e in more {
        if !entities.iter().any(|known| known.id == e.id) {
            entities.push(e);
        }
    }
}
