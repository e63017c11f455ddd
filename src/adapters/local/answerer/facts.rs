//! Which facts of the context answer the question. A fact must fit the relation asked for, the side each name
//! stands on, and every further word of the question; otherwise it is not used, however high it ranks.

use std::collections::HashSet;

use super::{
    cues::{CueBook, CueMatch, Form},
    question::{Asks, Named, Question, Tense},
    words::{Word, is_function, is_loose, stem, words},
};
use crate::{
    adapters::local::LocalEmbedder,
    domain::{Entity, EntityId, EntityType, FactStatus, Relation, Stance, context::RankedFact},
};

/// Facts that answer, and how.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    /// Best first, at most [`MOST`].
    pub(super) facts: Vec<&'a RankedFact>,
    /// For a yes-or-no question: whether they say yes.
    pub(super) verdict: Option<Verdict>,
}

/// What the facts say to a yes-or-no question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Yes,
    No,
    NotAnyMore,
}

/// Facts stated in one answer.
const MOST: usize = 8;
/// Facts stated when all that is known of a thing is asked for.
const MOST_GENERAL: usize = 6;

/// Support and opposition weigh against each other: below one half it is rather false. Both halve alike with time,
/// so that the side they favour is the same at any moment and no clock is needed.
pub(super) fn is_denied(fact: &RankedFact) -> bool {
    fact.fact.status == FactStatus::Active && fact.fact.opposition > fact.fact.support
}

/// Finds what answers the question.
pub(super) fn find<'a>(question: &Question, facts: &'a [RankedFact], book: &CueBook, embedder: &LocalEmbedder) -> Found<'a> {
    if question.asks == Asks::Reason || question.named.is_empty() {
        return Found::default();
    }
    let usable: Vec<&RankedFact> = facts.iter().filter(|f| f.fact.status != FactStatus::Retracted).collect();
    let mut found: Vec<&RankedFact> = Vec::new();
    let mut contrary: Vec<&RankedFact> = Vec::new();
    for cue in &question.cues {
        let relation = book.relation(cue.relation);
        let sides = Sides::of(question, cue, relation.symmetric);
        if sides.first.is_empty() && sides.second.is_empty() {
            continue;
        }
        let rest = [question.rest(Some(cue)), sides.unplaced(question)].concat();
        let fits = |f: &&&RankedFact| sides.fit(f, relation) && explains(f, &rest) && is_of_kind(f, question, cue, &sides, book);
        let matching: Vec<&RankedFact> = usable.iter().filter(|f| f.fact.relation == relation.name).filter(fits).copied().collect();
        if question.asks == Asks::Whether {
            let opposite = usable.iter().filter(|f| relation.opposite.as_ref() == Some(&f.fact.relation)).filter(fits);
            contrary.extend(opposite);
            if matching.is_empty() && relation.functional && sides.second.len() == 1 {
                // "Do I live in Lyon?" when it is known to be Ghent.
                let only_first = Sides { second: Vec::new(), ..sides.clone() };
                contrary.extend(
                    usable
                        .iter()
                        .filter(|f| f.fact.relation == relation.name && f.fact.status == FactStatus::Active && only_first.fit(f, relation)),
                );
            }
        }
        found.extend(of_class(matching, question, embedder));
    }
    if found.is_empty() && question.asks == Asks::Where && question.rest(None).is_empty() {
        // "Where is the office?": the verb is but "is".
        for index in book.whereabouts() {
            let relation = book.relation(index);
            let of =
                |f: &&&RankedFact| f.fact.relation == relation.name && question.named.iter().any(|n| n.entities.contains(&f.fact.subject));
            found.extend(usable.iter().filter(of));
        }
    }
    if found.is_empty() && contrary.is_empty() && question.is_general() {
        let about =
            |f: &&&RankedFact| question.named.iter().all(|n| n.entities.iter().any(|e| *e == f.fact.subject || *e == f.fact.object));
        let mut all: Vec<&RankedFact> =
            usable.iter().filter(about).filter(|f| question.class.is_none() || fits_class(f, question)).copied().collect();
        all.truncate(MOST_GENERAL);
        return Found { facts: all, verdict: None };
    }
    let mut seen = HashSet::new();
    found.retain(|f| seen.insert(f.fact.id));
    contrary.retain(|f| seen.insert(f.fact.id));
    match question.asks {
        Asks::Whether => decide(found, contrary),
        _ => Found { facts: choose(found, question, book), verdict: None },
    }
}

fn decide<'a>(found: Vec<&'a RankedFact>, contrary: Vec<&'a RankedFact>) -> Found<'a> {
    let active = |f: &&&RankedFact| f.fact.status == FactStatus::Active;
    let yes: Vec<&RankedFact> = found.iter().filter(active).filter(|f| !is_denied(f)).copied().collect();
    let against: Vec<&RankedFact> = contrary.iter().filter(active).filter(|f| !is_denied(f)).copied().collect();
    let (facts, verdict) = if !yes.is_empty() {
        // A rival that is told as well belongs to an honest yes.
        (yes.into_iter().chain(against).collect(), Verdict::Yes)
    } else if !against.is_empty() {
        (against, Verdict::No)
    } else if let Some(ended) = found.iter().find(|f| f.fact.status == FactStatus::Ended) {
        (vec![*ended], Verdict::NotAnyMore)
    } else if let Some(denied) = found.first() {
        (vec![*denied], Verdict::No)
    } else {
        return Found::default();
    };
    let mut facts: Vec<&RankedFact> = facts;
    facts.truncate(MOST);
    Found { facts, verdict: Some(verdict) }
}

/// What holds, before what was; what is past only where it was asked for, where nothing else is known, or where it
/// was the one before what holds.
fn choose<'a>(found: Vec<&'a RankedFact>, question: &Question, book: &CueBook) -> Vec<&'a RankedFact> {
    let (ended, active): (Vec<&RankedFact>, Vec<&RankedFact>) = found.into_iter().partition(|f| f.fact.status == FactStatus::Ended);
    let functional = |f: &&RankedFact| book.by_name(&f.fact.relation).is_some_and(|r| r.functional);
    let mut chosen = if question.tense == Tense::Past || active.is_empty() {
        ended
    } else {
        let (denied, held): (Vec<&RankedFact>, Vec<&RankedFact>) = active.into_iter().partition(|f| is_denied(f));
        let mut chosen = if held.is_empty() { denied } else { held };
        chosen.extend(ended.into_iter().filter(functional));
        chosen
    };
    chosen.truncate(MOST);
    chosen
}

/// Who stands on which side of the relation.
#[derive(Clone, Debug)]
struct Sides<'q> {
    first: Vec<&'q Named>,
    second: Vec<&'q Named>,
    unplaced: Vec<&'q Named>,
}

impl<'q> Sides<'q> {
    fn of(question: &'q Question, cue: &CueMatch, symmetric: bool) -> Self {
        let start = cue.start;
        let end = cue.places.iter().max().map_or(start, |p| p + 1);
        let passive = question.words.get(end).is_some_and(|w| w.plain == "by")
            || (cue.form == Form::Verb && question.words.get(start + 1).is_some_and(|w| w.plain == "by"));
        let mut sides = Self { first: Vec::new(), second: Vec::new(), unplaced: Vec::new() };
        let noun = matches!(cue.form, Form::Noun | Form::InverseNoun);
        for named in &question.named {
            if noun {
                // "John's manager", "my sister", "the manager of John"; in "is Dave my manager" Dave is the manager.
                let owner = (named.possessive && named.end <= start)
                    || (named.start >= end && question.words[end..named.start].iter().any(|w| w.plain == "of"));
                if owner { sides.first.push(named) } else { sides.second.push(named) }
            } else if named.start < start {
                sides.first.push(named);
            } else {
                // Only glue between the verb and the name: "like Mary", "work with John". After another
                // preposition it is a circumstance: "use for Phoenix".
                let between = &question.words[(start + 1).min(named.start)..named.start];
                let at = |i: usize| start + 1 + i;
                let strange = between.iter().enumerate().any(|(i, w)| {
                    let own = cue.places.contains(&at(i)) || question.in_name(at(i));
                    !own && w.plain != "by" && (super::words::PARTICLES.contains(&w.plain.as_str()) || !is_function(w))
                });
                if strange { sides.unplaced.push(named) } else { sides.second.push(named) }
            }
        }
        let inverse = matches!(cue.form, Form::InverseVerb | Form::InverseNoun);
        if inverse != passive && !symmetric {
            std::mem::swap(&mut sides.first, &mut sides.second);
        }
        sides
    }

    fn fit(&self, f: &RankedFact, relation: &Relation) -> bool {
        let all = |named: &[&Named], id: EntityId| named.iter().all(|n| n.entities.contains(&id));
        // Several names on one side: "do I or John like…". Each fact speaks of one of them.
        let any = |named: &[&Named], id: EntityId| named.is_empty() || all(named, id) || named.iter().any(|n| n.entities.contains(&id));
        let (s, o) = (f.fact.subject, f.fact.object);
        (any(&self.first, s) && any(&self.second, o)) || (relation.symmetric && any(&self.first, o) && any(&self.second, s))
    }

    /// Whether the subject of the fact is what the question has no name for.
    fn asked<'f>(&self, f: &'f RankedFact) -> &'f Entity {
        let given = |named: &[&Named], id: EntityId| named.iter().any(|n| n.entities.contains(&id));
        if given(&self.first, f.fact.subject) || given(&self.second, f.fact.subject) { &f.object } else { &f.subject }
    }

    fn unplaced(&self, question: &'q Question) -> Vec<&'q Word> {
        self.unplaced.iter().flat_map(|n| &question.words[n.start..n.end]).collect()
    }
}

/// Every further word of the question stands in the evidence, or in the names.
fn explains(f: &RankedFact, rest: &[&Word]) -> bool {
    if rest.is_empty() {
        return true;
    }
    let mut known: HashSet<String> = HashSet::new();
    let texts = [f.subject.name.as_str(), &f.object.name].into_iter().chain(f.evidence.iter().map(|e| e.excerpt.as_str()));
    let described = [&f.subject.description, &f.object.description].into_iter().flatten().map(String::as_str);
    for text in texts.chain(described) {
        known.extend(words(text).into_iter().map(|w| w.stem));
    }
    rest.iter().all(|w| known.contains(&w.stem))
}

/// The side asked for is of the kind asked for.
fn is_of_kind(f: &RankedFact, question: &Question, cue: &CueMatch, sides: &Sides<'_>, book: &CueBook) -> bool {
    let asked = sides.asked(f);
    let both_given = !sides.first.is_empty() && !sides.second.is_empty();
    if book.is_collective(cue.relation) && !says(f, &cue.stem) {
        return false;
    }
    if both_given || matches!(question.asks, Asks::Whether | Asks::When) {
        return true;
    }
    if question.class.is_some() {
        return fits_class(f, question);
    }
    match question.asks {
        Asks::Who => asked.is_viewer || matches!(asked.entity_type, EntityType::Person | EntityType::Organization),
        Asks::Where => matches!(asked.entity_type, EntityType::Place | EntityType::Organization | EntityType::Event),
        _ => true,
    }
}

fn fits_class(f: &RankedFact, question: &Question) -> bool {
    let named = |id: EntityId| question.named.iter().any(|n| n.entities.contains(&id));
    let asked = if named(f.fact.subject) { &f.object } else { &f.subject };
    question.class.is_none_or(|types| types.contains(&asked.entity_type))
}

/// Cosine of a class noun and a name from which the name is taken to be of that class ("pet", "cat": 0.75).
const OF_CLASS: f32 = 0.5;

/// Keeps the facts whose other side is of the class asked for, as far as words can tell. Where no word tells,
/// the types decide, unless they are too wide.
fn of_class<'a>(matching: Vec<&'a RankedFact>, question: &Question, embedder: &LocalEmbedder) -> Vec<&'a RankedFact> {
    let Some(class) = &question.class_word else { return matching };
    let noun = embedder.vector(class).0;
    let named = |id: EntityId| question.named.iter().any(|n| n.entities.contains(&id));
    let told = |f: &&RankedFact| {
        let asked = if named(f.fact.subject) { &f.object } else { &f.subject };
        let alike: f32 = embedder.vector(&asked.name).0.iter().zip(&noun).map(|(a, b)| a * b).sum();
        alike >= OF_CLASS || says(f, &stem(class))
    };
    let kept: Vec<&RankedFact> = matching.iter().filter(|f| told(f)).copied().collect();
    if kept.is_empty() && !is_loose(class) { matching } else { kept }
}

/// Whether the evidence or the names have the word itself.
fn says(f: &RankedFact, stem: &str) -> bool {
    let excerpts = f.evidence.iter().filter(|e| e.stance != Stance::Opposes).map(|e| e.excerpt.as_str());
    let described = [&f.subject.description, &f.object.description].into_iter().flatten().map(String::as_str);
    let names = [f.subject.name.as_str(), f.object.name.as_str()];
    excerpts.chain(described).chain(names).any(|text| words(text).iter().any(|w| w.stem == stem))
}
