//! Plans the undoing of a merge. Pure.
//!
//! The merged entity is restored with its mentions, keys, facts and evidence. Knowledge learned since the merge stays with the
//! surviving entity, unless the message used a name of the restored one.
//!
//! Each fact is rebuilt from its evidence. A row in the merge record returns to its original fact. A later row is assigned by the
//! name in its message. A fact with its recorded evidence gets its recorded numbers back; any other fact is re-weighed.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::edit::{EditContext, entity_event};
use super::events::{FactEvent, PossibleRivals, fact_event};
use super::weigh::{is_rival, reweigh};
use recall_domain::{
    Entity, EntityId, EntityKey, EventDraft, EventId, Evidence, Fact, FactId, FactStatus, Mention, MessageId, Ontology, Span, Stance,
    belief::half_life,
    entity::VIEWER_NAME,
    event::{EntityChange, FactChange},
};
use recall_ports::{KnowledgeCommit, LostNames, MergeRecord, Unmerge};

/// An entity that loses a part, with all that is known of it now.
#[derive(Debug)]
pub struct EntityState {
    /// The entity.
    pub entity: Entity,
    /// All its facts.
    pub facts: Vec<Fact>,
    /// All evidence of those facts.
    pub evidence: Vec<Evidence>,
    /// All its mentions.
    pub mentions: Vec<(MessageId, u32, Mention)>,
    /// The entities that still exist on either side of its facts, and of those of a merge record.
    pub sides: Vec<Entity>,
}

/// A merge to undo.
#[derive(Debug)]
pub struct Undo<'a> {
    /// What the merge changed.
    pub record: &'a MergeRecord,
    /// The surviving entity.
    pub state: &'a EntityState,
}

/// A fact as it must be after the undo.
struct TargetFact {
    fact: Fact,
    rows: Vec<Evidence>,
    /// Rows that are not in the record. The value says whether the row opposes the fact by stating a rival.
    later: HashMap<(MessageId, Stance), bool>,
    /// All recorded rows still exist, so the recorded numbers are valid.
    whole: bool,
    retracted: Option<Fact>,
}

/// Plans how to separate two merged entities.
pub fn unmerge(at: &EditContext<'_>, u: &Undo<'_>, ids: &mut dyn FnMut() -> Uuid) -> KnowledgeCommit {
    let EditContext { version, session, ontology, now } = *at;
    let mentions = u.mentions_to_restore();
    let (survivor, gone) = u.restored_entities(&mentions, at);
    let mut rows: HashMap<FactId, Vec<&Evidence>> = HashMap::new();
    for e in &u.state.evidence {
        rows.entry(e.fact).or_default().push(e);
    }
    let mut targets = u.recorded_targets(ontology);
    u.add_later_evidence(&mut targets, &rows, &mentions, ontology, ids);
    drop_false_opposition(&mut targets, ontology);

    let (mut facts, mut evidence, mut dropped, mut deleted) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let kept: HashSet<FactId> = targets.iter().map(|g| g.fact.id).collect();
    // Facts of the restored entity are written first, because this frees their (subject, relation, object) for the others.
    targets.sort_by_key(|g| !(g.fact.subject == gone.id || g.fact.object == gone.id));
    let current: HashMap<FactId, &Fact> = u.state.facts.iter().map(|f| (f.id, f)).collect();
    for target in targets {
        let current = current.get(&target.fact.id).copied();
        let has = |e: &Evidence| target.rows.iter().any(|r| r.message == e.message && r.stance == e.stance);
        let held: &[&Evidence] = rows.get(&target.fact.id).map_or(&[], Vec::as_slice);
        let same_rows = held.len() == target.rows.len() && held.iter().all(|e| has(e));
        let Some(fact) = target.to_fact(current.filter(|_| same_rows), ontology, at) else {
            deleted.extend(current.map(|f| f.id));
            continue;
        };
        dropped.extend(held.iter().filter(|e| !has(e)).map(|e| (e.fact, e.message, e.stance)));
        let new = target.rows.iter().filter(|r| !held.iter().any(|e| e.message == r.message && e.stance == r.stance));
        let before = evidence.len();
        evidence.extend(new.map(|r| Evidence { fact: fact.id, ..r.clone() }));
        let touched = evidence.len() > before || held.iter().any(|e| !has(e));
        if touched || current != Some(&fact) {
            facts.push(fact);
        }
    }

    // A fact that lost all its evidence is deleted.
    let empty = |f: &&Fact| !kept.contains(&f.id) && rows.contains_key(&f.id);
    deleted.extend(u.state.facts.iter().filter(empty).map(|f| f.id));

    let mut names: HashMap<EntityId, &Entity> = u.state.sides.iter().map(|e| (e.id, e)).collect();
    names.extend([(gone.id, &gone), (survivor.id, &survivor)]);
    let deleted_ids: HashSet<FactId> = deleted.iter().copied().collect();
    let changed_ids: HashSet<FactId> = facts.iter().map(|f| f.id).collect();
    let stays = |f: &&Fact| !deleted_ids.contains(&f.id) && !changed_ids.contains(&f.id);
    let others = PossibleRivals::of(facts.iter().chain(u.state.facts.iter().filter(stays)));
    let removed = u.state.facts.iter().filter(|f| deleted_ids.contains(&f.id));
    let changes = facts.iter().map(|f| (f, FactChange::Revised)).chain(removed.map(|f| (f, FactChange::Removed)));
    let mut events = vec![
        entity_event(session, &survivor, EntityChange::Unmerged, Some(gone.id)),
        entity_event(session, &gone, EntityChange::Restored, None),
    ];
    events.extend(changes.map(|(fact, change)| {
        let (message, excerpt) = (None, None);
        fact_event(FactEvent { session, fact, others: &others, names: &names, ontology, change, message, excerpt, now })
    }));
    let keys = own_names(&survivor).filter_map(EntityKey::of).map(|k| (survivor.id, k)).collect();
    let undo = Unmerge { gone: gone.id, from: survivor.id, mentions, names: LostNames::Recorded };
    // Only one entity may be the user's own. The one that stops being it is written first.
    let entities = if gone.is_viewer { vec![survivor, gone] } else { vec![gone, survivor] };
    KnowledgeCommit {
        entities,
        keys,
        facts,
        evidence,
        unmerged: vec![undo],
        deleted_facts: deleted,
        dropped_evidence: dropped,
        events: events.into_iter().map(|body| EventDraft { id: EventId(ids()), body }).collect(),
        ..KnowledgeCommit::empty(version, session, now)
    }
}

/// Returns the names of an entity, without the default name "You".
pub(super) fn own_names(e: &Entity) -> impl Iterator<Item = &str> {
    std::iter::once(&e.name).chain(&e.aliases).map(String::as_str).filter(|n| !(e.is_viewer && *n == VIEWER_NAME))
}

impl Undo<'_> {
    fn gone(&self) -> EntityId {
        self.record.gone.id
    }

    /// Maps a recorded id to the present one: the surviving entity may have been merged again.
    fn current_id(&self, id: EntityId) -> EntityId {
        if id == self.record.before.id { self.state.entity.id } else { id }
    }

    fn replace_side(fact: &Fact, from: EntityId, to: EntityId) -> Fact {
        let swap = |id| if id == from { to } else { id };
        Fact { subject: swap(fact.subject), object: swap(fact.object), ..fact.clone() }
    }

    /// Returns the mentions that move to the restored entity: its recorded mentions, and later ones by a name that only it had.
    fn mentions_to_restore(&self) -> Vec<(MessageId, u32)> {
        let keys = |e: &Entity| own_names(e).filter_map(EntityKey::of).collect::<HashSet<_>>();
        let (ours, theirs) = (keys(&self.record.gone), keys(&self.record.before));
        let recorded: HashSet<&(MessageId, u32)> = self.record.mentions.iter().collect();
        let named = |m: &Mention| EntityKey::of(&m.name).is_some_and(|k| ours.contains(&k) && !theirs.contains(&k));
        let of_gone = self
            .state
            .mentions
            .iter()
            .filter(|(message, place, m)| recorded.contains(&(*message, *place)) || (self.record.since.contains(message) && named(m)));
        of_gone.map(|(message, place, _)| (*message, *place)).collect()
    }

    /// Returns both entities as they must be. Changes made since the merge are kept.
    fn restored_entities(&self, mentions: &[(MessageId, u32)], at: &EditContext<'_>) -> (Entity, Entity) {
        let MergeRecord { gone, before, after, mentions: recorded, .. } = self.record;
        let messages = |places: &[(MessageId, u32)]| places.iter().map(|(m, _)| *m).collect::<HashSet<_>>();
        let later: HashSet<MessageId> = messages(mentions).difference(&messages(recorded)).copied().collect();
        let moved: HashSet<&(MessageId, u32)> = mentions.iter().collect();
        let stays = |(message, place, _): &&(MessageId, u32, Mention)| !moved.contains(&(*message, *place));
        let kept: HashSet<MessageId> = self.state.mentions.iter().filter(stays).map(|(message, ..)| *message).collect();
        let (more, lost) = (later.len() as u64, later.difference(&kept).count() as u64);
        let mut survivor = self.state.entity.clone();
        survivor.mention_count = survivor.mention_count.saturating_sub(gone.mention_count + lost);
        if survivor.aliases == after.aliases {
            survivor.aliases.clone_from(&before.aliases);
        } else {
            survivor.aliases.retain(|a| !after.aliases.contains(a) || before.aliases.contains(a));
        }
        if survivor.description == after.description {
            survivor.description.clone_from(&before.description);
        }
        if survivor.confidence == after.confidence {
            survivor.confidence = before.confidence;
        }
        if survivor.created_at == after.created_at {
            survivor.created_at = before.created_at;
        }
        let is_viewer = gone.is_viewer && survivor.is_viewer && !before.is_viewer;
        survivor.is_viewer &= !is_viewer;
        survivor.updated_at = at.now;
        let gone = Entity { mention_count: gone.mention_count + more, is_viewer, updated_at: at.now, ..gone.clone() };
        (survivor, gone)
    }

    /// Whether the merge turned a recorded fact into this fact.
    fn became(&self, recorded: &Fact, fact: &Fact, ontology: &Ontology) -> bool {
        are_equal(&Self::replace_side(recorded, self.gone(), self.state.entity.id), fact, ontology)
    }

    /// Returns the recorded facts, each with the rows that still exist or that the merge itself dropped.
    fn recorded_targets(&self, ontology: &Ontology) -> Vec<TargetFact> {
        let there: HashSet<EntityId> = self.state.sides.iter().map(|e| e.id).chain([self.gone(), self.state.entity.id]).collect();
        let retracted: HashSet<FactId> = self.state.facts.iter().filter(|f| f.status == FactStatus::Retracted).map(|f| f.id).collect();
        let taken_back: HashSet<MessageId> =
            self.state.evidence.iter().filter(|e| e.stance == Stance::Supports && retracted.contains(&e.fact)).map(|e| e.message).collect();
        let mut targets = Vec::new();
        for recorded in &self.record.facts {
            let mut fact =
                Fact { subject: self.current_id(recorded.subject), object: self.current_id(recorded.object), ..recorded.clone() };
            // The other side may have been merged too. The present fact shows into which entity.
            if let Some(now) = self.state.facts.iter().find(|f| f.id == fact.id) {
                let other = |f: &Fact| if f.subject == self.state.entity.id { f.object } else { f.subject };
                let (gone, stayed) = (self.gone(), self.state.entity.id);
                let named = |id: EntityId| id == gone || id == stayed;
                match (named(fact.subject), named(fact.object)) {
                    (true, false) => fact.object = other(now),
                    (false, true) => fact.subject = other(now),
                    _ => {}
                }
            }
            if !there.contains(&fact.subject) || !there.contains(&fact.object) {
                continue;
            }
            let of_itself = {
                let f = Self::replace_side(&fact, self.gone(), self.state.entity.id);
                f.subject == f.object && f.value.is_none()
            };
            let current = self.state.facts.iter().find(|f| self.became(&fact, f, ontology));
            let had: Vec<&Evidence> = self.record.evidence.iter().filter(|e| e.fact == recorded.id).collect();
            let holds = |e: &&&Evidence| match current {
                None => of_itself,
                Some(f) => {
                    let held = self.state.evidence.iter().any(|o| o.fact == f.id && o.message == e.message && o.stance == e.stance);
                    held || (e.span.is_none() && !taken_back.contains(&e.message))
                }
            };
            let rows: Vec<Evidence> = had.iter().filter(holds).map(|e| (*e).clone()).collect();
            let later_on = |f: &&Fact| f.status == FactStatus::Retracted && f.valid_to.is_some_and(|t| t > self.record.merged_at);
            let retracted = current.filter(later_on).cloned();
            match targets.iter_mut().find(|g: &&mut TargetFact| are_equal(&g.fact, &fact, ontology)) {
                // Later merges made them one fact.
                Some(target) => {
                    let new = rows.into_iter().filter(|r| !target.rows.iter().any(|o| o.message == r.message && o.stance == r.stance));
                    let new: Vec<Evidence> = new.collect();
                    target.rows.extend(new);
                    target.whole = false;
                }
                None => targets.push(TargetFact { fact, whole: rows.len() == had.len(), rows, later: HashMap::new(), retracted }),
            }
        }
        targets
    }

    fn rivals_of<'a>(&'a self, fact: &'a Fact, ontology: &'a Ontology) -> impl Iterator<Item = &'a Fact> {
        self.state.facts.iter().filter(move |o| o.id != fact.id && is_rival(fact, o, ontology))
    }

    /// Assigns the evidence added since the merge to the side that its message names.
    fn add_later_evidence(
        &self,
        targets: &mut Vec<TargetFact>,
        held: &HashMap<FactId, Vec<&Evidence>>,
        mentions: &[(MessageId, u32)],
        ontology: &Ontology,
        ids: &mut dyn FnMut() -> Uuid,
    ) {
        let of_gone: HashSet<&(MessageId, u32)> = mentions.iter().collect();
        let mut named: HashMap<MessageId, Vec<(Span, bool)>> = HashMap::new();
        for (message, place, mention) in &self.state.mentions {
            named.entry(*message).or_default().push((mention.span, of_gone.contains(&(*message, *place))));
        }
        // A message that names neither side says "I". Of one that names both, the names in the words of the fact count.
        let speaker = self.record.gone.is_viewer && !self.record.before.is_viewer;
        let is_gones = |e: &Evidence| {
            let names = named.get(&e.message).map_or(&[][..], Vec::as_slice);
            let is_inside = |span: &Span| e.span.is_some_and(|words| words.start <= span.start && span.end <= words.end);
            let inside: Vec<bool> = names.iter().filter(|(span, _)| is_inside(span)).map(|(_, of_gone)| *of_gone).collect();
            let counted = if inside.is_empty() { names.iter().map(|(_, of_gone)| *of_gone).collect() } else { inside };
            self.record.since.contains(&e.message) && if counted.is_empty() { speaker } else { counted.iter().all(|of_gone| *of_gone) }
        };
        let recorded = targets.len();
        for fact in &self.state.facts {
            let rows = held.get(&fact.id).into_iter().flatten().copied();
            let known = |e: &&Evidence| {
                let became = |g: &&TargetFact| self.became(&g.fact, fact, ontology);
                targets.iter().take(recorded).filter(became).any(|g| g.rows.iter().any(|r| r.message == e.message && r.stance == e.stance))
            };
            let rows: Vec<Evidence> = rows.filter(|e| !known(e)).cloned().collect();
            let (own, of_rivals): (Vec<Evidence>, Vec<Evidence>) = rows.into_iter().partition(|e| e.span.is_some());
            let (theirs, ours): (Vec<Evidence>, Vec<Evidence>) = own.into_iter().partition(|e| is_gones(e));
            let states =
                |f: &Fact, m: &MessageId| held.get(&f.id).into_iter().flatten().any(|e| e.message == *m && e.stance == Stance::Supports);
            let states_rival = |m: &MessageId| self.rivals_of(fact, ontology).any(|r| states(r, m));
            let claimed = |targets: &[TargetFact]| targets.iter().any(|g| g.fact.id == fact.id);
            let whole_fact_moves = ours.is_empty() && !theirs.is_empty() && !claimed(targets);
            let of_gone = Self::replace_side(fact, self.state.entity.id, self.gone());
            for (fact_of_side, mut rows, stays) in [(fact.clone(), ours, true), (of_gone, theirs, false)] {
                // Rows that only oppose are given to both sides. Rows without a rival are dropped at the end.
                let there = targets.iter().any(|g| are_equal(&g.fact, &fact_of_side, ontology));
                if there || !rows.is_empty() {
                    rows.extend(of_rivals.iter().cloned());
                }
                if rows.is_empty() {
                    continue;
                }
                let later: HashMap<(MessageId, Stance), bool> =
                    rows.iter().map(|r| ((r.message, r.stance), r.span.is_none() && states_rival(&r.message))).collect();
                if let Some(target) = targets.iter_mut().find(|g| are_equal(&g.fact, &fact_of_side, ontology)) {
                    target.rows.extend(rows);
                    target.later.extend(later);
                    continue;
                }
                let keeps = stays || whole_fact_moves;
                let id = if keeps && !claimed(targets) { fact.id } else { FactId(ids()) };
                targets.push(TargetFact { fact: Fact { id, ..fact_of_side }, rows, later, whole: false, retracted: None });
            }
        }
    }
}

fn are_equal(a: &Fact, b: &Fact, ontology: &Ontology) -> bool {
    let symmetric = || ontology.get(&a.relation).is_some_and(|r| r.symmetric);
    a.relation == b.relation
        && ((a.subject == b.subject && a.same_object(b)) || (a.subject == b.object && a.object == b.subject && symmetric()))
}

/// Drops opposition from messages that stated a former rival of the fact.
fn drop_false_opposition(targets: &mut [TargetFact], ontology: &Ontology) {
    let stated: Vec<(Fact, HashSet<MessageId>)> = targets
        .iter()
        .map(|g| (g.fact.clone(), g.rows.iter().filter(|r| r.stance == Stance::Supports).map(|r| r.message).collect()))
        .collect();
    for target in targets {
        let rivals: Vec<&HashSet<MessageId>> =
            stated.iter().filter(|(f, _)| f.id != target.fact.id && is_rival(&target.fact, f, ontology)).map(|(_, m)| m).collect();
        let later = &target.later;
        target.rows.retain(|r| {
            let by_rival = r.stance == Stance::Opposes && later.get(&(r.message, r.stance)) == Some(&true);
            !by_rival || rivals.iter().any(|m| m.contains(&r.message))
        });
    }
}

impl TargetFact {
    /// Returns the fact with its weights; `None` if no row is about the fact itself.
    ///
    /// `current` is the present fact, given if its evidence is unchanged.
    fn to_fact(&self, current: Option<&Fact>, ontology: &Ontology, at: &EditContext<'_>) -> Option<Fact> {
        self.rows.iter().find(|r| r.span.is_some())?;
        let as_it_was = self.whole && self.rows.iter().all(|r| !self.later.contains_key(&(r.message, r.stance)));
        let fact = match (as_it_was, current) {
            (true, _) if self.retracted.is_none() => return Some(self.fact.clone()),
            (true, _) => self.fact.clone(),
            (false, Some(now)) => {
                let moved = now.subject != self.fact.subject || now.object != self.fact.object;
                let updated_at = if moved { at.now } else { now.updated_at };
                return Some(Fact { subject: self.fact.subject, object: self.fact.object, updated_at, ..now.clone() });
            }
            (false, None) => reweigh(&self.fact, &self.rows, half_life(ontology.get(&self.fact.relation)))?,
        };
        let fact = Fact { updated_at: at.now, ..fact };
        Some(match &self.retracted {
            Some(now) => Fact { status: FactStatus::Retracted, valid_to: now.valid_to, ..fact },
            None => fact,
        })
    }
}
