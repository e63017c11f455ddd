//! Who and what one message speaks of: its mentions and its speaker as entities. Pure.

use std::collections::HashSet;

use uuid::Uuid;

use super::{
    learn::Statement,
    resolve::{
        Choice, Contest, Memory, SURE, Scene, Taken, close,
        cues::{Marks, Same, Text},
        is_name, lookups, names, role_hint,
        roles::Role,
    },
};
use recall_domain::{Decision, Entity, EntityId, EntityKey, EntityType, Mention, Party, Timestamp, event::EntityChange};

/// Name of the user's own node until they say who they are.
pub(super) const VIEWER_NAME: &str = "You";
/// Most names kept besides the first: they are written anew with each change of a thing.
pub(super) const MAX_ALIASES: usize = 20;

/// The words of a message around its names.
pub(super) struct Reading {
    text: Text,
    marks: Vec<Marks>,
}

impl Reading {
    pub(super) fn of(s: &Statement) -> Self {
        let text = Text::of(s.text.as_str());
        let mut marks: Vec<Marks> = s.extraction.mentions.iter().map(|m| text.marks(m)).collect();
        marks.iter_mut().for_each(|m| m.speaker &= !s.nobody);
        Self { text, marks }
    }

    /// Whether the user says their name, so that their own node is needed.
    pub(super) fn names_speaker(&self) -> bool {
        self.marks.iter().any(|m| m.speaker)
    }

    /// What more must be known before it is decided who is meant.
    pub(super) fn contest(&self, s: &Statement, memory: &Memory) -> Contest {
        Scene::of(&self.text, &s.extraction.mentions, &s.extraction.facts, memory, None).contest(&self.marks)
    }
}

/// The entities of one message: which known one each mention means, or a new one.
#[derive(Clone, Debug)]
pub(super) struct Cast {
    /// Entities as they will be after the message.
    pub(super) entities: Vec<Entity>,
    /// Which of them are new.
    pub(super) fresh: HashSet<EntityId>,
    /// Which known ones got another name.
    pub(super) renamed: HashSet<EntityId>,
    /// Per mention an index into `entities`.
    pub(super) of_mention: Vec<usize>,
    /// Per mention why.
    pub(super) decisions: Vec<Decision>,
    /// Whom "I" means, if a fact speaks of them.
    pub(super) speaker: Option<usize>,
    pub(super) keys: Vec<(EntityId, EntityKey)>,
    pub(super) hints: Vec<(EntityId, String)>,
}

/// What is the same for all entities of a message.
struct Making<'a> {
    s: &'a Statement,
    ids: &'a mut dyn FnMut() -> Uuid,
    now: Timestamp,
}

impl Cast {
    /// Resolves the mentions and the speaker of a message.
    pub(super) fn assemble(s: &Statement, reading: &Reading, memory: &Memory, ids: &mut dyn FnMut() -> Uuid, now: Timestamp) -> Self {
        let mut cast = Self {
            entities: Vec::new(),
            fresh: HashSet::new(),
            renamed: HashSet::new(),
            of_mention: Vec::new(),
            decisions: Vec::new(),
            speaker: None,
            keys: Vec::new(),
            hints: Vec::new(),
        };
        let mut making = Making { s, ids, now };
        let mentions = &s.extraction.mentions;
        let known_speaker = s.speaker.as_deref().map(|name| known_speaker(name, memory));
        let scene = Scene::of(&reading.text, mentions, &s.extraction.facts, memory, known_speaker.map(|e| e.map(|e| e.id)));
        let mut taken = Taken::default();
        for (i, (mention, marks)) in mentions.iter().zip(&reading.marks).enumerate() {
            let (index, decision) = cast.meant(i, mention, marks, reading, &scene, &taken, memory, &mut making);
            cast.learn_names(index, mention, marks);
            let e = &mut cast.entities[index];
            // What was guessed from an unknown name is known better now.
            if e.confidence < SURE && mention.confidence >= SURE && !e.is_viewer {
                e.entity_type = mention.entity_type;
            }
            e.confidence = e.confidence.max(mention.confidence);
            taken.take(e, cast.fresh.contains(&e.id));
            cast.of_mention.push(index);
            cast.decisions.push(decision);
        }
        if !s.nobody && s.extraction.facts.iter().any(|f| f.subject == Party::Speaker || f.object == Party::Speaker) {
            cast.speaker = Some(cast.speaker_of(memory, &mut making));
        }
        for e in &mut cast.entities {
            e.mention_count += 1;
            e.updated_at = now;
        }
        cast
    }

    /// The entity that a mention means, and why.
    #[allow(clippy::too_many_arguments)]
    fn meant(
        &mut self,
        i: usize,
        mention: &Mention,
        marks: &Marks,
        reading: &Reading,
        scene: &Scene<'_>,
        taken: &Taken,
        memory: &Memory,
        making: &mut Making<'_>,
    ) -> (usize, Decision) {
        let person = mention.entity_type == EntityType::Person && Role::of(&mention.name).is_none();
        if marks.speaker && person {
            let decision = Decision { score: 0.95, reason: "the speaker says so".to_owned() };
            return (self.speaker_of(memory, making), decision);
        }
        let said = |a: usize, b: usize| {
            let mentions = &making.s.extraction.mentions;
            matches!((mentions.get(a), mentions.get(b)), (Some(a), Some(b)) if said_same(&reading.text, a, b))
        };
        let mut choice = scene.choose(i, marks, taken);
        // "Kate, short for Katherine": whoever of the two is known is both.
        if choice.entity.is_none()
            && said(i, i + 1)
            && let Some(next) = reading.marks.get(i + 1)
        {
            let other = scene.choose(i + 1, next, taken);
            choice = if other.entity.is_some() { other } else { choice };
        }
        if let Some(previous) = i.checked_sub(1).filter(|p| said(*p, i)).and_then(|p| self.of_mention.get(p).copied()) {
            let id = self.entities[previous].id;
            if choice.entity.is_none_or(|e| e.id == id) {
                return (previous, Decision { score: 0.95, reason: "said to be the same".to_owned() });
            }
        }
        let Choice { entity, decision } = choice;
        let index = match entity {
            Some(e) => self.known(e),
            None => self.create(&mention.name, mention.entity_type, mention.confidence, making),
        };
        (index, decision)
    }

    fn speaker_of(&mut self, memory: &Memory, making: &mut Making<'_>) -> usize {
        match (&making.s.speaker, &memory.viewer) {
            (Some(name), _) => match known_speaker(name, memory) {
                Some(e) => self.known(e),
                None => self.named(&name.clone(), EntityType::Person, 1.0, making),
            },
            (None, Some(viewer)) => self.known(viewer),
            (None, None) => match self.entities.iter().position(|e| e.is_viewer) {
                Some(index) => index,
                None => {
                    let index = self.create_bare(VIEWER_NAME, EntityType::Person, 1.0, making);
                    self.entities[index].is_viewer = true;
                    index
                }
            },
        }
    }

    /// Keeps what a mention tells of the names and the description of the one it means, and how to find them again.
    fn learn_names(&mut self, index: usize, mention: &Mention, marks: &Marks) {
        let Some(e) = self.entities.get_mut(index) else { return };
        let person = e.entity_type == EntityType::Person;
        let role = Role::of(&mention.name).filter(|_| person);
        // "You" is how the server calls a user who has not said their name; a mention of a role is no name.
        let called = |name: &str| EntityKey::of(name) == EntityKey::of(&mention.name);
        let known = called(&e.name) || e.aliases.iter().any(|a| called(a));
        if role.is_none() && !known {
            let fuller = person && !e.is_viewer && names::is_full(&mention.name) && !names::is_full(&e.name);
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
            // The user's own name finds nobody: who says "John called" is not John.
            if !e.is_viewer {
                self.keys.extend(EntityKey::of(&mention.name).map(|k| (e.id, k)));
                self.hints.extend(names::hints(&mention.name, e.entity_type).into_iter().map(|h| (e.id, h)));
            }
        }
        let described = Marks::described(e.description.as_deref());
        match (&e.description, marks.description()) {
            (None, Some(words)) if person => e.description = Some(words),
            (None, None) if marks.role.is_none() => e.description.clone_from(&mention.description),
            (None, Some(_)) => e.description.clone_from(&mention.description),
            (Some(_), Some(_)) if described.role.is_some() && described.from.is_none() && marks.from.is_some() && person => {
                e.description = Marks { from: marks.from.clone(), ..described }.description();
            }
            _ => {}
        }
        if let (Some(own), true) = (marks.own_role(), person && !e.is_viewer) {
            if is_name(own) {
                let word = marks.role.as_ref().map_or("", |(_, word)| word.as_str());
                self.keys.extend([own.name, word].into_iter().filter_map(EntityKey::of).map(|k| (e.id, k)));
            }
            self.hints.push((e.id, role_hint(own)));
        }
    }

    fn known(&mut self, entity: &Entity) -> usize {
        self.entities.iter().position(|e| e.id == entity.id).unwrap_or_else(|| {
            self.entities.push(entity.clone());
            self.entities.len() - 1
        })
    }

    /// The entity of this name among those new in this message, or one more.
    fn named(&mut self, name: &str, entity_type: EntityType, confidence: f64, making: &mut Making<'_>) -> usize {
        let key = EntityKey::of(name);
        let same = self.keys.iter().find(|(_, k)| Some(k) == key.as_ref()).map(|(id, _)| *id);
        if let Some(index) = same.and_then(|id| self.entities.iter().position(|e| e.id == id)) {
            return index;
        }
        self.create(name, entity_type, confidence, making)
    }

    /// A new entity that its name finds again.
    fn create(&mut self, name: &str, entity_type: EntityType, confidence: f64, making: &mut Making<'_>) -> usize {
        let index = self.create_bare(name, entity_type, confidence, making);
        let id = self.entities[index].id;
        self.keys.extend(EntityKey::of(name).map(|k| (id, k)));
        self.hints.extend(names::hints(name, entity_type).into_iter().map(|h| (id, h)));
        index
    }

    fn create_bare(&mut self, name: &str, entity_type: EntityType, confidence: f64, making: &mut Making<'_>) -> usize {
        let id = EntityId((making.ids)());
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
            first_message: Some(making.s.message),
            created_at: making.now,
            updated_at: making.now,
        });
        self.entities.len() - 1
    }

    /// What happened to one of the entities.
    pub(super) fn change(&self, id: EntityId) -> EntityChange {
        match (self.fresh.contains(&id), self.renamed.contains(&id)) {
            (true, _) => EntityChange::Added,
            (false, true) => EntityChange::Renamed,
            (false, false) => EntityChange::Mentioned,
        }
    }
}

/// The person known by a speaker's name, the one mentioned most where there are several.
fn known_speaker<'a>(name: &str, memory: &'a Memory) -> Option<&'a Entity> {
    let key = EntityKey::of(name)?;
    let people = memory.known.iter().filter(|(k, e)| *k == key && e.entity_type == EntityType::Person).map(|(_, e)| e);
    people.max_by(|a, b| a.mention_count.cmp(&b.mention_count).then_with(|| b.id.cmp(&a.id)))
}

/// Whether the text says that two mentions are two names of one thing.
fn said_same(text: &Text, a: &Mention, b: &Mention) -> bool {
    let types = close(a.entity_type, b.entity_type) || a.confidence.min(b.confidence) < SURE;
    let alike = || names::fit(&a.name, &b.name, a.entity_type).or_else(|| names::fit(&a.name, &b.name, b.entity_type)).is_some();
    match text.same(a, b) {
        Same::Said => types,
        Same::IfAlike => types && alike(),
        Same::Unsaid => false,
    }
}

/// Keys and hints under which the entities of a message may be known.
pub(super) fn lookups_of(s: &Statement) -> (Vec<EntityKey>, Vec<String>) {
    let (mut keys, hints) = lookups(&s.extraction.mentions);
    keys.extend(s.speaker.as_deref().and_then(EntityKey::of));
    keys.sort();
    keys.dedup();
    (keys, hints)
}
