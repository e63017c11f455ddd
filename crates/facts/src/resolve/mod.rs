//! Resolves mentions to known entities. Pure and conservative: a wrong merge costs more than a duplicate.
//!
//! Each candidate gets a score. The match of the names ([`names::NameMatch`]) gives the base: an identical name scores high, a short
//! form is not enough by itself. The words around the name ([`cues::NameCues`]), recent mentions in the session and facts with other
//! named entities change the score. The best candidate is chosen if it reaches [`MIN_SCORE`] and leads by [`MIN_LEAD`]; otherwise the
//! mention means a new entity. Each decision has a score and a reason, which are stored with the mention.

mod context_score;
pub(crate) mod cues;
mod name_score;
pub(crate) mod names;
mod parts;
pub(crate) mod person_names;
pub(crate) mod roles;
mod titles;

use std::collections::{HashMap, HashSet};

pub(crate) use self::name_score::names_of;
use self::{
    cues::{NameCues, Text},
    names::{MentionedName, NameMatch},
    roles::{HolderCount, Role},
};
use recall_domain::{CandidateFact, Decision, Entity, EntityId, EntityKey, EntityType, Fact, Mention};

/// Least score at which a mention means a known entity.
pub(crate) const MIN_SCORE: f64 = 0.6;
/// Least lead over the next candidate.
const MIN_LEAD: f64 = 0.1;
/// Confidence from which a mention may create a second entity with the same name and another type.
pub(crate) const HIGH_CONFIDENCE: f64 = 0.8;

/// Penalty for a type that is close to the known one.
const CLOSE_TYPE_PENALTY: f64 = 0.15;
/// Penalty for a type that is not close, if one of the two is only guessed.
const GUESSED_TYPE_PENALTY: f64 = 0.2;

/// A candidate entity for a mention, with its score.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate<'a> {
    pub(crate) entity: &'a Entity,
    pub(crate) score: f64,
    pub(crate) reason: String,
    exact: bool,
    has_no_description: bool,
}

/// The entity that a mention means, or `None` for a new one.
pub(crate) struct ResolvedMention<'a> {
    pub(crate) entity: Option<&'a Entity>,
    pub(crate) decision: Decision,
}

/// Stored entities and facts that help to resolve the names of one text.
#[derive(Clone, Debug, Default)]
pub struct KnownEntities {
    /// The user's own entity.
    pub viewer: Option<Entity>,
    /// Entities found by key, each with its key.
    pub by_key: Vec<(EntityKey, Entity)>,
    /// Entities found by a part of their name or by their role, each with its hint.
    pub by_hint: Vec<(String, Entity)>,
    /// The ambiguous entities mentioned in the session, latest first.
    pub recent: Vec<EntityId>,
    /// Facts between the ambiguous entities and their neighbours.
    pub facts: Vec<Fact>,
}

/// The entities between which names alone do not decide.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Ambiguity {
    /// Candidates of ambiguous mentions.
    pub(crate) ambiguous: Vec<EntityId>,
    /// The user and other clearly named entities. A fact with one of them supports a candidate.
    pub(crate) neighbours: Vec<EntityId>,
}

/// Resolves the names of one text.
///
/// Known entities and facts are indexed, so that the work stays linear in the length of the text.
pub(crate) struct Resolver<'a> {
    mentions: &'a [Mention],
    claims: &'a [CandidateFact],
    by_key: HashMap<&'a str, Vec<&'a Entity>>,
    by_hint: HashMap<&'a str, Vec<&'a Entity>>,
    recent: HashMap<EntityId, usize>,
    facts: HashMap<EntityId, Vec<&'a Fact>>,
    /// Entities that a mention names unambiguously.
    named: HashMap<EntityId, EntityType>,
    viewer: Option<EntityId>,
    /// The speaker of this text.
    speaker: Option<EntityId>,
    first_person: bool,
}

impl<'a> Resolver<'a> {
    /// Indexes the inputs. `speaker` is given if the speaker is not the user.
    pub(crate) fn of(
        text: &Text,
        mentions: &'a [Mention],
        claims: &'a [CandidateFact],
        known_entities: &'a KnownEntities,
        speaker: Option<Option<EntityId>>,
    ) -> Self {
        let mut by_key: HashMap<&str, Vec<&Entity>> = HashMap::new();
        let mut by_hint: HashMap<&str, Vec<&Entity>> = HashMap::new();
        for (key, e) in &known_entities.by_key {
            by_key.entry(key.as_str()).or_default().push(e);
        }
        for (hint, e) in &known_entities.by_hint {
            by_hint.entry(hint.as_str()).or_default().push(e);
        }
        let mut facts: HashMap<EntityId, Vec<&Fact>> = HashMap::new();
        for f in known_entities.facts.iter().filter(|f| f.value.is_none()) {
            facts.entry(f.subject).or_default().push(f);
            facts.entry(f.object).or_default().push(f);
        }
        let mut named = HashMap::new();
        for key in mentions.iter().filter_map(|m| EntityKey::of(&m.name)) {
            if let Some([one]) = by_key.get(key.as_str()).map(Vec::as_slice) {
                named.insert(one.id, one.entity_type);
            }
        }
        let known = || known_entities.by_key.iter().map(|(_, e)| e).chain(known_entities.by_hint.iter().map(|(_, e)| e));
        let viewer = known_entities.viewer.as_ref().or_else(|| known().find(|e| e.is_viewer)).map(|e| e.id);
        let recent = known_entities.recent.iter().enumerate().map(|(i, e)| (*e, i)).collect();
        let first_person = text.first_person();
        let speaker = speaker.unwrap_or(viewer);
        Self { mentions, claims, by_key, by_hint, recent, facts, named, viewer, speaker, first_person }
    }

    /// Resolves a mention. `resolved` contains the entities of earlier mentions in this text.
    pub(crate) fn resolve<'e>(&'e self, index: usize, cues: &NameCues, resolved: &'e ResolvedEntities) -> ResolvedMention<'e> {
        let Some(m) = self.mentions.get(index) else { return none("no mention", 0.0) };
        if cues.another {
            return none("said to be another one", 1.0);
        }
        let mut candidates = self.candidates(index, m, cues, resolved);
        if cues.other
            && let Some(latest) = self.most_recent(&candidates)
        {
            candidates.retain(|c| c.entity.id != latest);
        }
        let best_rejected = candidates.first().map_or(0.0, |c| c.score);
        candidates.retain(|c| c.score >= MIN_SCORE);
        let Some(best) = candidates.first() else {
            let reason = if best_rejected > 0.0 { "too little speaks for a known one" } else { "first mention" };
            return none(reason, 1.0 - best_rejected);
        };
        let rivals: Vec<&Candidate<'_>> = candidates.iter().filter(|c| best.score - c.score < MIN_LEAD).collect();
        if rivals.len() == 1 {
            return some(best, best.score, "");
        }
        // Of several candidates, prefer one mentioned far more often. A bare name means the candidate without a description.
        let often = |c: &Candidate<'_>| c.entity.mention_count;
        if let Some(most) = rivals.iter().max_by_key(|c| often(c))
            && rivals.iter().all(|c| c.entity.id == most.entity.id || often(c) * 3 <= often(most))
        {
            return some(most, MIN_SCORE, "meant most often");
        }
        let undescribed: Vec<_> = rivals.iter().filter(|c| c.has_no_description && c.exact).collect();
        match undescribed.as_slice() {
            [one] if cues.description().is_none() => some(one, MIN_SCORE, "the one without another mark"),
            _ => none("several are as likely", 0.5),
        }
    }

    /// Returns all candidates with their scores, best first.
    pub(crate) fn candidates<'e>(
        &'e self,
        index: usize,
        m: &Mention,
        cues: &NameCues,
        resolved: &'e ResolvedEntities,
    ) -> Vec<Candidate<'e>> {
        let (fresh, name) = (resolved.fresh.iter(), MentionedName::of(&m.name));
        let found = unique(self.find_entities(m).into_iter().chain(fresh));
        let mut candidates: Vec<Candidate<'e>> = found.into_iter().filter_map(|e| self.score_entity(m, &name, cues, e, resolved)).collect();
        let latest = self.most_recent(&candidates);
        for c in &mut candidates {
            let (score, reasons) = self.score_context(index, c.entity, c.score, latest, resolved);
            c.score += score;
            for r in reasons {
                c.reason.push_str(", ");
                c.reason.push_str(r);
            }
        }
        candidates.sort_by(|a, b| {
            let often = b.entity.mention_count.cmp(&a.entity.mention_count);
            b.score.total_cmp(&a.score).then(often).then_with(|| a.entity.id.cmp(&b.entity.id))
        });
        candidates
    }

    /// Returns the candidate mentioned last in the session.
    fn most_recent(&self, candidates: &[Candidate<'_>]) -> Option<EntityId> {
        let spoken_of = candidates.iter().filter_map(|c| Some((self.recent.get(&c.entity.id)?, c.entity.id)));
        spoken_of.min().map(|(_, id)| id)
    }

    /// Returns the known entities that a name or its role finds.
    fn find_entities(&self, m: &Mention) -> Vec<&'a Entity> {
        let (keys, hints) = lookup_terms(std::slice::from_ref(m));
        let by_key = keys.iter().filter_map(|k| self.by_key.get(k.as_str()));
        let by_hint = hints.iter().filter_map(|h| self.by_hint.get(h.as_str()));
        unique(by_key.chain(by_hint).flatten().copied())
    }

    /// Scores one entity by the name and its cues; `None` if the mention cannot mean it.
    fn score_entity<'e>(
        &self,
        m: &Mention,
        name: &MentionedName<'_>,
        cues: &NameCues,
        e: &'e Entity,
        resolved: &ResolvedEntities,
    ) -> Option<Candidate<'e>> {
        let described = NameCues::from_description(e.description.as_deref());
        let (fit, score, mut reason) = self.score_name(m, name, cues, e, &described)?;
        // Two names in one text mean two entities, unless one name is a part of the other.
        let joined = matches!(
            fit,
            Some(
                NameMatch::Same
                    | NameMatch::Listed
                    | NameMatch::Spelling
                    | NameMatch::Accents
                    | NameMatch::ShortOfFull
                    | NameMatch::FullOfShort
                    | NameMatch::Initial
                    | NameMatch::Part
            )
        );
        // "Colleen got a job, my sister the academic": an epithet instead of the name.
        let epithet = || {
            let role = Role::of(&m.name).filter(|r| identifies_person(*r) && cues.own_role() == Some(*r));
            role.is_some() && role == described.own_role()
        };
        if resolved.ids.contains(&e.id) && !joined && !epithet() {
            return None;
        }
        // Speakers do not mention themselves by name, unless that name was set by hand.
        if !cues.speaker && Some(e.id) == self.speaker && (self.first_person || fit != Some(NameMatch::Same)) {
            return None;
        }
        let certain = fit == Some(NameMatch::Same) && person_names::is_full_name(&m.name);
        let type_cost = match (names::effective_type(&m.name, m.entity_type), e.entity_type) {
            (a, b) if a == b => 0.0,
            // Rosé is not Rose.
            _ if fit == Some(NameMatch::Accents) => return None,
            (a, b) if are_close_types(a, b) => CLOSE_TYPE_PENALTY,
            // Pets have names like people.
            (EntityType::Person, EntityType::Thing) if fit == Some(NameMatch::Same) && e.name.starts_with(char::is_uppercase) => {
                GUESSED_TYPE_PENALTY
            }
            // Initial letters do not show the type of what they abbreviate.
            _ if fit == Some(NameMatch::Acronym) && m.confidence < HIGH_CONFIDENCE => 0.0,
            _ if m.confidence < HIGH_CONFIDENCE || e.confidence < HIGH_CONFIDENCE => GUESSED_TYPE_PENALTY,
            _ => return None,
        };
        let (mark, why) = self.score_cues(cues, &described, e, certain)?;
        // A role that replaces the name counts once.
        let (mark, why) = if fit.is_none() || Role::of(&m.name).is_some() { (mark.min(0.0), "") } else { (mark, why) };
        if !why.is_empty() {
            reason = format!("{reason}, {why}");
        }
        let exact = fit == Some(NameMatch::Same);
        Some(Candidate { entity: e, score: score - type_cost + mark, reason, exact, has_no_description: described.description().is_none() })
    }

    /// Finds the entities between which names do not decide, and their neighbours.
    pub(crate) fn find_ambiguity(&self, cues: &[NameCues]) -> Ambiguity {
        let mut open: Vec<EntityId> = Vec::new();
        for (m, cues) in self.mentions.iter().zip(cues) {
            let name = MentionedName::of(&m.name);
            let fitting = |e: &&Entity| self.score_name(m, &name, cues, e, &NameCues::from_description(e.description.as_deref())).is_some();
            let found: Vec<&Entity> = self.find_entities(m).into_iter().filter(fitting).collect();
            let clear = match found.as_slice() {
                [] => true,
                [one] => {
                    let same = self.best_name_match(&name, one).is_some_and(|(f, _)| f == NameMatch::Same);
                    same && !one.is_viewer
                        && m.entity_type == one.entity_type
                        && cues.description().is_none_or(|d| one.description == Some(d))
                }
                _ => false,
            };
            if !clear && !cues.another {
                open.extend(found.iter().map(|e| e.id));
            }
        }
        open.sort();
        open.dedup();
        // The user comes first, so that the limit never drops it.
        let mut neighbours: Vec<EntityId> = self.named.keys().copied().filter(|id| Some(*id) != self.viewer).collect();
        neighbours.sort();
        Ambiguity { ambiguous: open, neighbours: self.viewer.into_iter().chain(neighbours).collect() }
    }
}

/// The entities to which earlier names of the text were resolved.
#[derive(Default)]
pub(crate) struct ResolvedEntities {
    /// All of these entities.
    pub(crate) ids: HashSet<EntityId>,
    /// The latest of them that this text introduced.
    pub(crate) fresh: Vec<Entity>,
}

/// Most new entities of a text that its later names can mean, latest first.
const MAX_FRESH: usize = 16;

impl ResolvedEntities {
    /// Records an entity to which a name was resolved.
    pub(crate) fn record(&mut self, e: &Entity, fresh: bool) {
        self.ids.insert(e.id);
        if fresh {
            self.fresh.retain(|f| f.id != e.id);
            if self.fresh.len() == MAX_FRESH {
                self.fresh.remove(0);
            }
            self.fresh.push(e.clone());
        }
    }
}

fn unique<'e>(entities: impl Iterator<Item = &'e Entity>) -> Vec<&'e Entity> {
    let mut seen = HashSet::new();
    entities.filter(|e| seen.insert(e.id)).collect()
}

fn none<'e>(reason: &str, score: f64) -> ResolvedMention<'e> {
    ResolvedMention { entity: None, decision: Decision { score: round_score(score), reason: reason.to_owned() } }
}

fn some<'e>(c: &Candidate<'e>, score: f64, more: &str) -> ResolvedMention<'e> {
    let reason = if more.is_empty() { c.reason.clone() } else { format!("{}, {more}", c.reason) };
    ResolvedMention { entity: Some(c.entity), decision: Decision { score: round_score(score), reason } }
}

/// Rounds a score to two decimals and limits it to 0.99; more digits would suggest false precision.
pub(crate) fn round_score(x: f64) -> f64 {
    (x.clamp(0.0, 0.99) * 100.0).round() / 100.0
}

/// Whether two types are easily confused: "Phoenix" as project or tool, "chess" as concept or thing.
pub(crate) fn are_close_types(a: EntityType, b: EntityType) -> bool {
    use EntityType as T;
    let made = |t| matches!(t, T::Project | T::Tool | T::Concept | T::Thing);
    let gathered = |t| matches!(t, T::Organization | T::Place | T::Event | T::Project);
    a == b || (made(a) && made(b)) || (gathered(a) && gathered(b))
}

/// Returns the keys and hints that find the mentioned entities.
pub(crate) fn lookup_terms(mentions: &[Mention]) -> (Vec<EntityKey>, Vec<String>) {
    let (mut keys, mut hints) = (Vec::new(), Vec::new());
    for m in mentions {
        let sort = names::effective_type(&m.name, m.entity_type);
        keys.extend(names::keys(&m.name, sort));
        hints.extend(names::lookup_hints(&m.name, sort));
        let role = m.description.as_deref().and_then(Role::of).into_iter().chain(Role::of(&m.name));
        for role in role.filter(|_| m.entity_type == EntityType::Person) {
            keys.extend(role.words().filter_map(EntityKey::of));
            hints.push(role_hint(role));
        }
    }
    keys.sort();
    keys.dedup();
    hints.sort();
    hints.dedup();
    (keys, hints)
}

/// Returns the hint for a role. A key would match every question that contains "my friend".
pub(crate) fn role_hint(role: Role) -> String {
    format!("={}", role.name)
}

/// Whether a role identifies one person: "my mother" does, "my friend" does not.
pub(crate) fn identifies_person(role: Role) -> bool {
    role.holders != HolderCount::Many
}

#[cfg(test)]
mod tests;
