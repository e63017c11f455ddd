//! Resolves the mentions and the speaker of one message to entities. Pure.

use std::collections::HashSet;

use uuid::Uuid;

use super::{
    resolve::{
        Ambiguity, HIGH_CONFIDENCE, KnownEntities, ResolvedEntities, ResolvedMention, Resolver, are_close_types,
        cues::{AliasStatement, NameCues, Text},
        identifies_person, lookup_terms, names, names_of, person_names, role_hint,
        roles::Role,
    },
    stated_names::{is_own_name, partners},
    statement::Statement,
};
use recall_domain::{
    Decision, Entity, EntityId, EntityKey, EntityType, Mention, Party, Timestamp, entity::VIEWER_NAME, event::EntityChange,
};

/// Most aliases kept per entity. All of them are rewritten when the entity changes.
pub(super) const MAX_ALIASES: usize = 20;

/// The cues around the names of one message.
pub(super) struct MessageCues {
    text: Text,
    cues: Vec<NameCues>,
}

impl MessageCues {
    pub(super) fn of(s: &Statement) -> Self {
        let text = Text::of(s.text.as_str());
        let mut cues: Vec<NameCues> = s.extraction.mentions.iter().map(|m| text.cues(m)).collect();
        cues.iter_mut().for_each(|m| m.speaker &= !s.is_impersonal);
        Self { text, cues }
    }

    /// Whether the user gives their own name, so that the user's entity is needed.
    pub(super) fn introduces_speaker(&self) -> bool {
        self.cues.iter().any(|m| m.speaker)
    }

    /// Finds the mentions that names alone do not decide.
    pub(super) fn find_ambiguity(&self, s: &Statement, known_entities: &KnownEntities) -> Ambiguity {
        Resolver::of(&self.text, &s.extraction.mentions, &s.extraction.facts, known_entities, None).find_ambiguity(&self.cues)
    }
}

/// The entities of one message, known and new.
#[derive(Clone, Debug)]
pub(super) struct MessageEntities {
    /// The entities as the message leaves them.
    pub(super) entities: Vec<Entity>,
    /// The new entities.
    pub(super) fresh: HashSet<EntityId>,
    /// The known entities that the message renamed.
    pub(super) renamed: HashSet<EntityId>,
    /// For each mention, an index into `entities`.
    pub(super) mention_entities: Vec<usize>,
    /// For each mention, the reason.
    pub(super) decisions: Vec<Decision>,
    /// Index of the speaker, if a fact mentions the speaker.
    pub(super) speaker: Option<usize>,
    pub(super) keys: Vec<(EntityId, EntityKey)>,
    pub(super) hints: Vec<(EntityId, String)>,
}

/// What decides which entities the mentions of a message mean.
struct ResolutionContext<'a> {
    cues: &'a MessageCues,
    resolver: Resolver<'a>,
    known_entities: &'a KnownEntities,
}

/// Inputs needed to create an entity.
struct CreationContext<'a> {
    s: &'a Statement,
    ids: &'a mut dyn FnMut() -> Uuid,
    now: Timestamp,
}

impl MessageEntities {
    /// Resolves the mentions and the speaker of a message.
    pub(super) fn resolve(
        s: &Statement,
        message_cues: &MessageCues,
        known_entities: &KnownEntities,
        ids: &mut dyn FnMut() -> Uuid,
        now: Timestamp,
    ) -> Self {
        let mut message_entities = Self {
            entities: Vec::new(),
            fresh: HashSet::new(),
            renamed: HashSet::new(),
            mention_entities: Vec::new(),
            decisions: Vec::new(),
            speaker: None,
            keys: Vec::new(),
            hints: Vec::new(),
        };
        let mut creation = CreationContext { s, ids, now };
        let mentions = &s.extraction.mentions;
        let known_speaker = s.speaker.as_deref().map(|name| known_speaker(name, known_entities));
        let resolver =
            Resolver::of(&message_cues.text, mentions, &s.extraction.facts, known_entities, known_speaker.map(|e| e.map(|e| e.id)));
        let context = ResolutionContext { cues: message_cues, resolver, known_entities };
        let mut resolved = ResolvedEntities::default();
        for (i, (mention, cues)) in mentions.iter().zip(&message_cues.cues).enumerate() {
            let (index, decision) = message_entities.resolve_mention(i, &context, &resolved, &mut creation);
            message_entities.learn_names(index, mention, cues, !s.only_asks());
            let e = &mut message_entities.entities[index];
            // A confident mention replaces a guessed type.
            if e.confidence < HIGH_CONFIDENCE && mention.confidence >= HIGH_CONFIDENCE && !e.is_viewer {
                e.entity_type = mention.entity_type;
            }
            e.confidence = e.confidence.max(mention.confidence);
            resolved.record(e, message_entities.fresh.contains(&e.id));
            message_entities.mention_entities.push(index);
            message_entities.decisions.push(decision);
        }
        message_entities.apply_stated_names(s);
        let of_facts = s.extraction.facts.iter().flat_map(|f| [f.subject, f.object]);
        if !s.is_impersonal && of_facts.chain(s.extraction.possible_ends.iter().map(|e| e.subject)).any(|p| p == Party::Speaker) {
            message_entities.speaker = Some(message_entities.add_speaker(known_entities, &mut creation));
        }
        for e in &mut message_entities.entities {
            e.mention_count += 1;
            e.updated_at = now;
        }
        message_entities
    }

    /// Returns the entity of a mention, with the reason.
    fn resolve_mention(
        &mut self,
        i: usize,
        context: &ResolutionContext<'_>,
        resolved: &ResolvedEntities,
        creation: &mut CreationContext<'_>,
    ) -> (usize, Decision) {
        let ResolutionContext { cues: message_cues, resolver, known_entities } = context;
        let (mention, cues) = (&creation.s.extraction.mentions[i], &message_cues.cues[i]);
        let person = mention.entity_type == EntityType::Person && Role::of(&mention.name).is_none();
        if (cues.speaker || is_own_name(creation.s, i)) && person {
            let decision = Decision { score: 0.95, reason: "the speaker says so".to_owned() };
            return (self.add_speaker(known_entities, creation), decision);
        }
        let said = |a: usize, b: usize| {
            let mentions = &creation.s.extraction.mentions;
            matches!((mentions.get(a), mentions.get(b)), (Some(a), Some(b)) if are_stated_aliases(&message_cues.text, a, b))
        };
        let mut choice = resolver.resolve(i, cues, resolved);
        // "Also a Martin! Martin Dushkov": the full name says which.
        let is_namesake = |full: &str| choice.entity.is_some_and(|e| names_of(e).any(|known| person_names::are_namesakes(known, full)));
        if let (Some(full), Some(cues)) = (creation.s.extraction.mentions.get(i + 1), message_cues.cues.get(i + 1))
            && said(i, i + 1)
            && is_namesake(&full.name)
        {
            choice = resolver.resolve(i + 1, cues, resolved);
        }
        // "He's Desmond, not Derek": the known one gets the right name.
        let corrects = |a: usize, b: usize| {
            let mentions = &creation.s.extraction.mentions;
            matches!((mentions.get(a), mentions.get(b)), (Some(a), Some(b)) if message_cues.text.corrects_name(a, b))
        };
        if corrects(i, i + 1)
            && choice.entity.is_none()
            && let Some(next) = message_cues.cues.get(i + 1)
            && let Some(known) = resolver.resolve(i + 1, next, resolved).entity.filter(|e| !e.is_viewer)
        {
            let index = self.add_known(known);
            let e = &mut self.entities[index];
            let old = std::mem::replace(&mut e.name, mention.name.clone());
            if e.aliases.len() < MAX_ALIASES {
                e.aliases.insert(0, old);
            }
            self.renamed.insert(e.id);
            self.keys.extend(EntityKey::of(&mention.name).map(|k| (known.id, k)));
            self.hints.extend(names::hints(&mention.name, known.entity_type).into_iter().map(|h| (known.id, h)));
            return (index, Decision { score: 0.95, reason: "the name is corrected".to_owned() });
        }
        if let Some(previous) = i.checked_sub(1).filter(|p| corrects(*p, i)).and_then(|p| self.mention_entities.get(p).copied())
            && self.entities[previous].aliases.iter().any(|a| EntityKey::of(a) == EntityKey::of(&mention.name))
        {
            return (previous, Decision { score: 0.95, reason: "the name before its correction".to_owned() });
        }
        // "Kate, short for Katherine": if one of the two names is known, both mean that entity.
        let next = (said(i, i + 1) && !cues.another).then_some(i + 1);
        for other in next.into_iter().chain(partners(creation.s, i).filter(|p| *p > i)) {
            if choice.entity.is_none()
                && let Some(cues) = message_cues.cues.get(other)
            {
                let other = resolver.resolve(other, cues, resolved);
                choice = if other.entity.is_some() { other } else { choice };
            }
        }
        let previous = i.checked_sub(1).filter(|p| said(*p, i));
        for p in previous.into_iter().chain(partners(creation.s, i)) {
            let Some(index) = self.mention_entities.get(p).copied() else { continue };
            let id = self.entities[index].id;
            let is_another = message_cues.cues.get(p).is_some_and(|c| c.another);
            if is_another || choice.entity.is_none_or(|e| e.id == id) {
                return (index, Decision { score: 0.95, reason: "said to be the same".to_owned() });
            }
        }
        let ResolvedMention { entity, decision } = choice;
        let index = match entity {
            Some(e) => self.add_known(e),
            None => self.create(&mention.name, mention.entity_type, mention.confidence, creation),
        };
        (index, decision)
    }

    fn add_speaker(&mut self, known_entities: &KnownEntities, creation: &mut CreationContext<'_>) -> usize {
        match (&creation.s.speaker, &known_entities.viewer) {
            (Some(name), _) => match known_speaker(name, known_entities) {
                Some(e) => self.add_known(e),
                None => self.find_or_create(&name.clone(), EntityType::Person, 1.0, creation),
            },
            (None, Some(viewer)) => self.add_known(viewer),
            (None, None) => match self.entities.iter().position(|e| e.is_viewer) {
                Some(index) => index,
                None => {
                    let index = self.create_unindexed(VIEWER_NAME, EntityType::Person, 1.0, creation);
                    self.entities[index].is_viewer = true;
                    index
                }
            },
        }
    }

    /// Updates names, description, keys and hints of an entity from a mention. A message that tells nothing changes no name.
    fn learn_names(&mut self, index: usize, mention: &Mention, cues: &NameCues, tells: bool) {
        let Some(e) = self.entities.get_mut(index) else { return };
        let person = e.entity_type == EntityType::Person;
        let role = Role::of(&mention.name).filter(|_| person);
        // The default name "You" and a mentioned role are not names.
        let called = |name: &str| EntityKey::of(name) == EntityKey::of(&mention.name);
        let known = called(&e.name) || e.aliases.iter().any(|a| called(a));
        if tells && role.is_none() && !known {
            let fuller = person && !e.is_viewer && person_names::is_full_name(&mention.name) && !person_names::is_full_name(&e.name);
            let nameless = (person && Role::of(&e.name).is_some()) || (e.is_viewer && e.name == VIEWER_NAME);
            if fuller || nameless {
                let old = std::mem::replace(&mut e.name, mention.name.clone());
                if !e.is_viewer && Role::of(&old).is_none() {
                    e.aliases.insert(0, old);
                }
                self.renamed.insert(e.id);
            } else if e.aliases.len() < MAX_ALIASES {
                e.aliases.push(mention.name.clone());
            }
            // The user's own name is not a key: a user who says "John called" does not mean themselves.
            if !e.is_viewer {
                self.keys.extend(EntityKey::of(&mention.name).map(|k| (e.id, k)));
                self.hints.extend(names::hints(&mention.name, e.entity_type).into_iter().map(|h| (e.id, h)));
            }
        }
        let described = NameCues::from_description(e.description.as_deref());
        match (&e.description, cues.description()) {
            (None, Some(words)) if person => e.description = Some(words),
            (None, None) if cues.role.is_none() => e.description.clone_from(&mention.description),
            (None, Some(_)) => e.description.clone_from(&mention.description),
            (Some(_), Some(_)) if described.role.is_some() && described.from.is_none() && cues.from.is_some() && person => {
                e.description = NameCues { from: cues.from.clone(), ..described }.description();
            }
            _ => {}
        }
        if let (Some(own), true) = (cues.own_role(), person && !e.is_viewer) {
            if identifies_person(own) {
                let word = cues.role.as_ref().map_or("", |(_, word)| word.as_str());
                self.keys.extend([own.name, word].into_iter().filter_map(EntityKey::of).map(|k| (e.id, k)));
            }
            self.hints.push((e.id, role_hint(own)));
        }
    }

    fn add_known(&mut self, entity: &Entity) -> usize {
        self.entities.iter().position(|e| e.id == entity.id).unwrap_or_else(|| {
            self.entities.push(entity.clone());
            self.entities.len() - 1
        })
    }

    /// Returns the new entity with this name, or creates one.
    fn find_or_create(&mut self, name: &str, entity_type: EntityType, confidence: f64, creation: &mut CreationContext<'_>) -> usize {
        let key = EntityKey::of(name);
        let same = self.keys.iter().find(|(_, k)| Some(k) == key.as_ref()).map(|(id, _)| *id);
        if let Some(index) = same.and_then(|id| self.entities.iter().position(|e| e.id == id)) {
            return index;
        }
        self.create(name, entity_type, confidence, creation)
    }

    /// Creates an entity that can be found by its name.
    fn create(&mut self, name: &str, entity_type: EntityType, confidence: f64, creation: &mut CreationContext<'_>) -> usize {
        let index = self.create_unindexed(name, entity_type, confidence, creation);
        let id = self.entities[index].id;
        self.keys.extend(EntityKey::of(name).map(|k| (id, k)));
        self.hints.extend(names::hints(name, entity_type).into_iter().map(|h| (id, h)));
        index
    }

    fn create_unindexed(&mut self, name: &str, entity_type: EntityType, confidence: f64, creation: &mut CreationContext<'_>) -> usize {
        let id = EntityId((creation.ids)());
        self.fresh.insert(id);
        self.entities.push(Entity {
            id,
            name: name.to_owned(),
            entity_type,
            aliases: Vec::new(),
            description: None,
            mention_count: 0,
            confidence,
            is_viewer: false,
            first_message: Some(creation.s.message),
            created_at: creation.now,
            updated_at: creation.now,
        });
        self.entities.len() - 1
    }

    /// Returns how the message changed an entity.
    pub(super) fn change(&self, id: EntityId) -> EntityChange {
        match (self.fresh.contains(&id), self.renamed.contains(&id)) {
            (true, _) => EntityChange::Added,
            (false, true) => EntityChange::Renamed,
            (false, false) => EntityChange::Mentioned,
        }
    }
}

/// Returns the person with a speaker's name; of several, the one mentioned most.
fn known_speaker<'a>(name: &str, known_entities: &'a KnownEntities) -> Option<&'a Entity> {
    let key = EntityKey::of(name)?;
    let people = known_entities.by_key.iter().filter(|(k, e)| *k == key && e.entity_type == EntityType::Person).map(|(_, e)| e);
    people.max_by(|a, b| a.mention_count.cmp(&b.mention_count).then_with(|| b.id.cmp(&a.id)))
}

/// Whether the text says that two mentions name the same entity.
fn are_stated_aliases(text: &Text, a: &Mention, b: &Mention) -> bool {
    let types = are_close_types(a.entity_type, b.entity_type) || a.confidence.min(b.confidence) < HIGH_CONFIDENCE;
    let alike =
        || names::match_names(&a.name, &b.name, a.entity_type).or_else(|| names::match_names(&a.name, &b.name, b.entity_type)).is_some();
    match text.alias_statement(a, b) {
        AliasStatement::Explicit => types,
        AliasStatement::IfSimilar => types && alike(),
        AliasStatement::None => false,
    }
}

/// Returns the keys and hints to look up for a message.
pub(super) fn lookup_terms_of(s: &Statement) -> (Vec<EntityKey>, Vec<String>) {
    let (mut keys, hints) = lookup_terms(&s.extraction.mentions);
    keys.extend(s.speaker.as_deref().and_then(EntityKey::of));
    keys.sort();
    keys.dedup();
    (keys, hints)
}
