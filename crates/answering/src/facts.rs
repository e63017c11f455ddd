//! Which facts of the context answer the question. A fact must fit the relation asked for, the side each name
//! stands on, and every further word of the question; otherwise it is not used, however high it ranks.

use std::collections::HashSet;

use super::{
    classes::{is_called, is_first_person, is_loose, kind_named, kinds_of},
    cues::{CueBook, CueMatch, Form},
    question::{Asks, Question, Tense},
    sides::Sides,
    want::Want,
    words::{Word, words},
};
use recall_domain::{EntityId, EntityType, FactStatus, Stance, context::RankedFact};
use recall_embedding::LocalEmbedder;

/// Facts that answer, and how.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    /// Best first, at most [`MOST`].
    pub(super) facts: Vec<&'a RankedFact>,
    /// For a yes-or-no question: whether they say yes.
    pub(super) verdict: Option<Verdict>,
    /// The words of the question that they were found by, if it was one relation.
    pub(super) cue: Option<CueMatch>,
}

/// What the facts say to a yes-or-no question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Yes,
    No,
}

/// Facts stated in one answer.
const MOST: usize = 20;
/// Facts stated when all that is known of a thing is asked for.
const MOST_GENERAL: usize = 8;

/// Support and opposition weigh against each other: below one half it is rather false. Both halve alike with time,
/// so that the side they favour is the same at any moment and no clock is needed. What is opposed by its rivals alone
/// is contested, not denied.
pub(super) fn is_denied(fact: &RankedFact) -> bool {
    let denied = || fact.evidence.iter().any(|e| e.stance == Stance::Opposes && e.span.is_some());
    fact.fact.status == FactStatus::Active && fact.fact.opposition > fact.fact.support && (fact.fact.support == 0.0 || denied())
}

/// Whether it is told as true.
pub(super) fn holds(fact: &RankedFact) -> bool {
    fact.fact.status == FactStatus::Active && !is_denied(fact)
}

/// Finds what answers the question.
pub(super) fn find<'a>(question: &Question, facts: &'a [RankedFact], book: &CueBook, embedder: &LocalEmbedder) -> Found<'a> {
    if !question.want.is_in_facts() || question.named.is_empty() {
        return Found::default();
    }
    let usable: Vec<&RankedFact> = facts.iter().filter(|f| f.fact.status != FactStatus::Retracted).collect();
    let mut found: Vec<&RankedFact> = Vec::new();
    let mut contrary: Vec<&RankedFact> = Vec::new();
    let mut found_by: Option<&CueMatch> = None;
    for cue in &question.cues {
        let relation = book.relation(cue.relation);
        let sides = Sides::of(question, cue, relation.symmetric);
        // "Who did I visit Rome with" names both sides, and asks for something that no fact has.
        let asks_for_more = sides.are_full() && !matches!(question.asks, Asks::Whether | Asks::When) && !question.is_choice;
        if sides.are_empty() || asks_for_more {
            continue;
        }
        let rest = [question.rest(Some(cue)), sides.unplaced_words(question)].concat();
        let fits = |f: &&&RankedFact| sides.fit(f, relation) && explains(f, &rest, cue) && is_of_kind(f, question, cue, &sides, book);
        let matching: Vec<&RankedFact> = usable.iter().filter(|f| f.fact.relation == relation.name).filter(fits).copied().collect();
        let matching = matching.into_iter().filter(|f| !question.anchor.contains(&f.fact.object) && is_in_mood(f, cue)).collect();
        if question.asks == Asks::Whether && cue.form != Form::Ending {
            let opposite = usable.iter().filter(|f| relation.opposite.as_ref() == Some(&f.fact.relation)).filter(fits);
            contrary.extend(opposite);
            if relation.functional && sides.second.len() == 1 {
                // "Do I live in Lyon?" when it is known to be Ghent.
                let only_first = Sides { second: Vec::new(), ..sides.clone() };
                contrary.extend(usable.iter().filter(|f| f.fact.relation == relation.name && holds(f) && only_first.fit(f, relation)));
            }
        }
        let of_class = of_class(matching, question, embedder);
        if !of_class.is_empty() && found_by.is_none() {
            found_by = Some(cue);
        }
        found.extend(of_class);
    }
    if found.is_empty() && question.asks == Asks::Where && question.rest(None).is_empty() {
        // "Where is the office?": the verb is but "is".
        for index in book.whereabouts() {
            let relation = book.relation(index);
            // "Where is my shop" asks for the shop, not for its owner.
            let things = || question.named.iter().filter(|n| !(n.possessive && question.named.iter().any(|m| m.start >= n.end)));
            let of = |f: &&&RankedFact| f.fact.relation == relation.name && things().all(|n| n.entities.contains(&f.fact.subject));
            found.extend(usable.iter().filter(of));
        }
    }
    if found.is_empty() && contrary.is_empty() && question.is_general() {
        let about =
            |f: &&&RankedFact| question.named.iter().all(|n| n.entities.iter().any(|e| *e == f.fact.subject || *e == f.fact.object));
        let mut all: Vec<&RankedFact> = usable.iter().filter(about).copied().collect();
        all.truncate(MOST_GENERAL);
        return Found { facts: all, ..Found::default() };
    }
    if found.is_empty()
        && contrary.is_empty()
        && question.asks == Asks::Whether
        && question.named.len() == 2
        && question.cues.iter().all(|c| c.weak)
    {
        // "Is Ada still with Max?", "do I have a sister?": whatever holds, or held, between the two.
        let between =
            |f: &&&RankedFact| question.named.iter().all(|n| n.entities.contains(&f.fact.subject) || n.entities.contains(&f.fact.object));
        let still = question.words.iter().any(|w| matches!(w.plain.as_str(), "still" | "have" | "has"));
        found.extend(usable.iter().filter(between).filter(|_| still && question.rest(None).is_empty()));
    }
    let mut seen = HashSet::new();
    found.retain(|f| seen.insert(f.fact.id));
    contrary.retain(|f| seen.insert(f.fact.id));
    let cue = found_by.cloned();
    match question.asks {
        Asks::Whether => decide(question, found, contrary, cue),
        _ => Found { facts: choose(found, question, cue.as_ref(), book), verdict: None, cue },
    }
}

/// "What did I sell" asks for what is over, "what did we decide against" for what is denied.
fn is_in_mood(f: &RankedFact, cue: &CueMatch) -> bool {
    match cue.form {
        Form::Ending => f.fact.status == FactStatus::Ended,
        Form::Negating => is_denied(f),
        _ => true,
    }
}

fn decide<'a>(question: &Question, found: Vec<&'a RankedFact>, contrary: Vec<&'a RankedFact>, cue: Option<CueMatch>) -> Found<'a> {
    let said_so = cue.as_ref().is_some_and(|c| matches!(c.form, Form::Ending | Form::Negating));
    // "Did she live in Linz?": what ended was so all the same.
    let was = question.is_past && found.iter().all(|f| f.fact.status == FactStatus::Ended) && !found.is_empty();
    if was {
        return Found { facts: found, verdict: Some(Verdict::Yes), cue };
    }
    let yes: Vec<&RankedFact> = found.iter().filter(|f| said_so || holds(f)).copied().collect();
    let against: Vec<&RankedFact> = contrary.iter().filter(|f| holds(f)).copied().collect();
    let ended = found.iter().find(|f| f.fact.status == FactStatus::Ended);
    let (facts, verdict) = if !yes.is_empty() {
        // A rival that is told as well belongs to an honest yes.
        (yes.into_iter().chain(against).collect(), Verdict::Yes)
    } else if let Some(ended) = ended {
        (std::iter::once(*ended).chain(against).collect(), Verdict::No)
    } else if !against.is_empty() {
        (against, Verdict::No)
    } else if let Some(denied) = found.first() {
        (vec![*denied], Verdict::No)
    } else {
        return Found::default();
    };
    let mut facts: Vec<&RankedFact> = facts;
    facts.truncate(MOST);
    Found { facts, verdict: Some(verdict), cue }
}

/// What holds, before what was; what is past only where it was asked for, where nothing else is known, or where it
/// was the one before what holds.
fn choose<'a>(found: Vec<&'a RankedFact>, question: &Question, cue: Option<&CueMatch>, book: &CueBook) -> Vec<&'a RankedFact> {
    let (ended, active): (Vec<&RankedFact>, Vec<&RankedFact>) = found.into_iter().partition(|f| f.fact.status == FactStatus::Ended);
    let functional = |f: &&RankedFact| book.by_name(&f.fact.relation).is_some_and(|r| r.functional);
    let mut chosen = if question.tense == Tense::Past || active.is_empty() {
        ended
    } else {
        let negating = cue.is_some_and(|c| c.form == Form::Negating);
        let (denied, held): (Vec<&RankedFact>, Vec<&RankedFact>) = active.into_iter().partition(|f| is_denied(f));
        // What is merely denied answers no "what": "what does she like" is not answered by what she does not like.
        let mut chosen = if negating { denied } else { held };
        chosen.extend(ended.into_iter().filter(functional));
        chosen
    };
    chosen.truncate(MOST);
    chosen
}

/// Every further word of the question stands in the evidence, or in the names; so does what narrows the cue.
fn explains(f: &RankedFact, rest: &[&Word], cue: &CueMatch) -> bool {
    if rest.is_empty() && cue.manner.is_empty() {
        return true;
    }
    let mut known: HashSet<String> = HashSet::new();
    let texts = [f.subject.name.as_str(), &f.object.name].into_iter().chain(f.evidence.iter().map(|e| e.excerpt.as_str()));
    let described = [&f.subject.description, &f.object.description].into_iter().flatten().map(String::as_str);
    for text in texts.chain(described) {
        known.extend(words(text).into_iter().map(|w| w.stem));
    }
    rest.iter().all(|w| known.contains(&w.stem)) && cue.manner.iter().all(|stem| known.contains(stem))
}

/// The side asked for is of the kind asked for.
fn is_of_kind(f: &RankedFact, question: &Question, cue: &CueMatch, sides: &Sides<'_>, book: &CueBook) -> bool {
    let asked = sides.asked(f);
    if book.is_collective(cue.relation) && cue.form != Form::Ending && !says(f, cue_word(question, cue), &cue.stem) {
        return false;
    }
    // "What does she drive" is not answered by all she has, though to drive may mean to have.
    if cue.weak && cue.stem != "have" && !says(f, cue_word(question, cue), &cue.stem) {
        return false;
    }
    // "Who has my tent?" is not asked to hear "you".
    if asked.is_viewer
        && question.named.iter().any(|n| n.possessive && is_first_person(&question.words[n.start].plain))
        && cue.form == Form::Verb
    {
        return false;
    }
    if sides.are_full() || matches!(question.asks, Asks::Whether | Asks::When) {
        return true;
    }
    if question.class.is_some() {
        return fits_class(f, question);
    }
    match question.asks {
        Asks::Who => asked.is_viewer || matches!(asked.entity_type, EntityType::Person | EntityType::Organization),
        Asks::Where => matches!(asked.entity_type, EntityType::Place | EntityType::Organization | EntityType::Event),
        _ if question.want == Want::Name => asked.name.starts_with(char::is_uppercase),
        _ => true,
    }
}

fn cue_word<'q>(question: &'q Question, cue: &CueMatch) -> &'q str {
    question.words.get(cue.start).map_or("", |w| w.plain.as_str())
}

fn fits_class(f: &RankedFact, question: &Question) -> bool {
    let named = |id: EntityId| question.named.iter().any(|n| n.entities.contains(&id));
    let asked = if named(f.fact.subject) { &f.object } else { &f.subject };
    question.class.is_none_or(|types| types.contains(&asked.entity_type))
}

/// Cosine of a class noun and a name from which the name is taken to be of that class ("pet", "cat": 0.75).
const OF_CLASS: f32 = 0.5;

/// How far words tell that a thing is of a kind.
#[derive(PartialEq, Eq)]
enum OfKind {
    Yes,
    No,
    Unknown,
}

/// Keeps the facts whose other side is of the class asked for, as far as words can tell. Where no word tells,
/// the types decide, unless they are too wide.
fn of_class<'a>(matching: Vec<&'a RankedFact>, question: &Question, embedder: &LocalEmbedder) -> Vec<&'a RankedFact> {
    let counted = match &question.want {
        Want::Count(noun) => Some(noun),
        _ => None,
    };
    let Some(class) = question.class_word.as_ref().or(counted) else { return matching };
    let noun = embedder.vector(class).0;
    let kind = kind_named(class);
    let named = |id: EntityId| question.named.iter().any(|n| n.entities.contains(&id));
    let told = |f: &RankedFact| {
        let asked = if named(f.fact.subject) { &f.object } else { &f.subject };
        let excerpts = || f.evidence.iter().filter(|e| e.stance != Stance::Opposes).flat_map(|e| words(e.excerpt.as_str()));
        let kinds = kinds_of(&asked.name);
        let alike = || embedder.vector(&asked.name).0.iter().zip(&noun).map(|(a, b)| a * b).sum::<f32>();
        if kind.is_some_and(|k| kinds.contains(&k)) || says(f, class, "") {
            OfKind::Yes
        } else if kind.is_some() && !kinds.is_empty() {
            OfKind::No
        } else if kind.is_some_and(|k| excerpts().any(|w| kinds_of(&w.plain).contains(&k)) && asked.name.starts_with(char::is_uppercase)) {
            // "a cat called Pixel".
            OfKind::Yes
        } else if alike() >= OF_CLASS {
            OfKind::Yes
        } else {
            OfKind::Unknown
        }
    };
    let judged: Vec<(OfKind, &RankedFact)> = matching.into_iter().map(|f| (told(f), f)).collect();
    let sure: Vec<&RankedFact> = judged.iter().filter(|(k, _)| *k == OfKind::Yes).map(|(_, f)| *f).collect();
    if !sure.is_empty() || is_loose(class) || counted.is_some() {
        return sure;
    }
    judged.into_iter().filter(|(k, _)| *k == OfKind::Unknown).map(|(_, f)| f).collect()
}

/// Whether the evidence or the names have the word itself, or one that it takes in.
fn says(f: &RankedFact, word: &str, stem: &str) -> bool {
    let excerpts = f.evidence.iter().filter(|e| e.stance != Stance::Opposes).map(|e| e.excerpt.as_str());
    let described = [&f.subject.description, &f.object.description].into_iter().flatten().map(String::as_str);
    let names = [f.subject.name.as_str(), f.object.name.as_str()];
    excerpts.chain(described).chain(names).any(|text| words(text).iter().any(|w| w.stem == stem || is_called(word, &w.plain)))
}
