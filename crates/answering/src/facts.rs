//! Selects the facts of the context that answer the question.
//!
//! A fact must match the relation, the side of each name, and every other content word of the question. A high rank
//! alone is not enough.

use std::collections::HashSet;

use super::{
    answer_type::AnswerType,
    called::find_named_possessions,
    cues::{CueIndex, CueMatch, Form},
    evidence::{covers_words, evidence_has_word, is_side_named, tells_narrower},
    lexicon::{is_manner_of_moving, is_specific_class},
    members::keep_class_members,
    names::NameMention,
    past::{find_predecessors, held_during, is_replaced, period_of_state},
    question::{Question, QuestionKind, Tense},
    roles::keep_asked_role,
    sides::{Sides, fits_kind, types_of},
    words::{Word, is_first_person},
};
use recall_domain::{
    EntityType, FactStatus, Relation, Stance,
    context::{Context, RankedFact, RankedMessage},
};
use recall_embedding::LocalEmbedder;

/// The facts that answer a question.
#[derive(Debug, Default)]
pub(super) struct FactAnswer<'a> {
    /// Best first, at most [`MAX_FACTS`].
    pub(super) facts: Vec<&'a RankedFact>,
    /// The answer to a yes-or-no question.
    pub(super) verdict: Option<Verdict>,
    /// The first cue that found any of them.
    pub(super) cue: Option<CueMatch>,
}

/// The answer to a yes-or-no question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Yes,
    No,
}

/// Maximum number of facts in one answer.
const MAX_FACTS: usize = 20;
/// Maximum number of facts for a question about everything known of an entity.
const MAX_GENERAL_FACTS: usize = 20;

/// Whether a fact is denied: its opposition exceeds its support.
///
/// Both decay with the same half-life, so the result does not depend on the time. A fact that only rivals oppose is
/// contested, not denied.
pub(super) fn is_denied(fact: &RankedFact) -> bool {
    let denied = || fact.evidence.iter().any(|e| e.stance == Stance::Opposes && e.span.is_some());
    fact.fact.status == FactStatus::Active && fact.fact.opposition > fact.fact.support && (fact.fact.support == 0.0 || denied())
}

/// Whether a fact is active and not denied.
pub(super) fn holds(fact: &RankedFact) -> bool {
    fact.fact.status == FactStatus::Active && !is_denied(fact)
}

/// Returns the facts that answer the question.
pub(super) fn find_answer<'a>(question: &Question, context: &'a Context, cue_index: &CueIndex, embedder: &LocalEmbedder) -> FactAnswer<'a> {
    if !question.answer_type.is_in_facts() || question.named.is_empty() {
        return FactAnswer::default();
    }
    let usable: Vec<&RankedFact> =
        context.facts.iter().filter(|f| f.fact.status != FactStatus::Retracted && f.fact.value.is_none()).collect();
    let before = find_predecessors(question, &usable, cue_index);
    if !before.is_empty() {
        return FactAnswer { facts: before, ..FactAnswer::default() };
    }
    let search = |cues: &[CueMatch]| match_cues(question, cues, &usable, &context.messages, cue_index, embedder);
    let mut matches = search(&question.cues);
    if matches.is_empty() && question.kind == QuestionKind::YesNo && question.named.len() == 2 {
        // "Have I worked with Figma": what is used is known, but no colleague of this name.
        matches = search(&question.weaker_cues);
    }
    let Matches { mut found, mut contrary, cue } = matches;
    found = keep_asked_role(found, question, cue.as_ref(), cue_index, &context.messages);
    if found.is_empty() && question.kind == QuestionKind::Where && question.unexplained_words(None).is_empty() {
        found = find_locations(question, &usable, cue_index);
    }
    if found.is_empty() && contrary.is_empty() && question.is_general() {
        let facts = usable.iter().filter(|f| names_all(question, f)).take(MAX_GENERAL_FACTS).copied().collect();
        return FactAnswer { facts, ..FactAnswer::default() };
    }
    if found.is_empty() && contrary.is_empty() && question.cues.is_empty() {
        found = find_by_class(question, &usable, &context.messages, embedder);
    }
    if found.is_empty() && question.answer_type == AnswerType::Name {
        found = find_named_possessions(question, &usable, &context.messages, cue_index);
    }
    if found.is_empty()
        && contrary.is_empty()
        && question.kind == QuestionKind::YesNo
        && question.named.len() == 2
        && question.cues.iter().all(|c| c.weak)
    {
        // "Is Ada still with Max?", "do I have a sister?": any present or past fact between the two.
        let has = |words: [&str; 2]| question.words.iter().any(|w| words.contains(&w.plain.as_str()));
        // Who is afraid of dogs has none.
        let is_had = |f: &RankedFact| cue_index.is_possession(&f.fact.relation) || f.object.entity_type == EntityType::Person;
        let (is_of_state, is_of_having) = (has(["still", "yet"]), has(["have", "has"]));
        if (is_of_state || is_of_having) && question.unexplained_words(None).is_empty() {
            found = usable.iter().filter(|f| names_all(question, f) && (!is_of_having || is_had(f))).copied().collect();
        }
    }
    let mut seen = HashSet::new();
    found.retain(|f| seen.insert(f.fact.id));
    contrary.retain(|f| seen.insert(f.fact.id));
    match question.kind {
        QuestionKind::YesNo => decide(question, found, contrary, cue),
        // "Where does Ann work at Siemens?": she works somewhere else.
        _ if found.is_empty() && !contrary.is_empty() => decide(question, found, contrary, cue),
        _ => FactAnswer { facts: choose(found, question, &context.messages, cue.as_ref(), cue_index), verdict: None, cue },
    }
}

/// The facts that match the cues of a question.
struct Matches<'a> {
    found: Vec<&'a RankedFact>,
    /// Facts that contradict a yes, or what the question presumes.
    contrary: Vec<&'a RankedFact>,
    /// The first cue that found any.
    cue: Option<CueMatch>,
}

impl Matches<'_> {
    fn is_empty(&self) -> bool {
        self.found.is_empty() && self.contrary.is_empty()
    }
}

/// Returns the facts that match the cues of a question.
fn match_cues<'a>(
    question: &Question,
    cues: &[CueMatch],
    usable: &[&'a RankedFact],
    ranked: &[RankedMessage],
    cue_index: &CueIndex,
    embedder: &LocalEmbedder,
) -> Matches<'a> {
    let mut matches = Matches { found: Vec::new(), contrary: Vec::new(), cue: None };
    for cue in cues {
        let relation = cue_index.relation(cue.relation);
        // "When did I move to Ghent": the date of a message that says where I live is no answer, but a date that it tells is.
        let asks_for_beginning = question.kind == QuestionKind::When && cue.form != Form::Ending && cue_index.is_state(cue.relation);
        let sides = Sides::of(question, cue, relation.symmetric);
        // "Who did I visit Rome with" names both sides, and asks for a third entity that no fact has.
        let asks_for_more =
            sides.are_both_named() && !matches!(question.kind, QuestionKind::YesNo | QuestionKind::When) && !question.is_choice;
        if presumes_object(question, &sides, cue, relation) {
            let subject = Sides { objects: Vec::new(), unplaced: Vec::new(), ..sides.clone() };
            let known = || usable.iter().filter(|f| f.fact.relation == relation.name && holds(f) && subject.matches(f, relation));
            let is_right = known().any(|f| sides.matches(f, relation) && !sides.objects.is_empty());
            matches.contrary.extend(known().filter(|_| !is_right && matches.found.is_empty()));
            continue;
        }
        if sides.are_empty() || asks_for_more {
            continue;
        }
        let mut rest = [question.unexplained_words(Some(cue)), sides.unplaced_words(question)].concat();
        let period = period_of_state(question, cue, cue_index);
        if period.is_some() {
            let in_period = |w: &Word| question.words.iter().position(|own| own.span == w.span).is_some_and(|i| question.in_period(i));
            rest.retain(|w| !in_period(w));
        }
        // "Do we have a dog?": "our cat was bitten by a dog" has the word, but the thing is another.
        let names_thing = |f: &RankedFact| {
            question.kind != QuestionKind::YesNo || !sides.objects.is_empty() || rest.is_empty() || rest.iter().any(|w| is_side_named(f, w))
        };
        let fits = |f: &&&RankedFact| {
            (!asks_for_beginning || f.fact.said_period.from.is_some())
                && sides.matches(f, relation)
                && covers_words(f, ranked, &rest, cue)
                && names_thing(f)
                && has_expected_type(f, question, cue, &sides, cue_index)
        };
        let matching: Vec<&RankedFact> = usable.iter().filter(|f| f.fact.relation == relation.name).filter(fits).copied().collect();
        let held = |f: &RankedFact| period.is_none_or(|p| held_during(f, &p));
        let is_fitting = |f: &&RankedFact| !question.time_anchors.contains(&f.fact.object) && is_in_mood(f, cue) && held(f);
        let matching = matching.into_iter().filter(is_fitting).collect();
        if question.kind == QuestionKind::YesNo && cue.form != Form::Ending {
            let opposite = usable.iter().filter(|f| relation.opposite.as_ref() == Some(&f.fact.relation)).filter(fits);
            matches.contrary.extend(opposite);
            let is_other = match sides.objects.as_slice() {
                [object] => may_be_object(object, usable, relation),
                _ => false,
            };
            if relation.functional && is_other {
                // "Do I live in Lyon?" is contradicted by another home.
                let same_subject = Sides { objects: Vec::new(), ..sides.clone() };
                let rivals = usable.iter().filter(|f| f.fact.relation == relation.name && holds(f) && same_subject.matches(f, relation));
                matches.contrary.extend(rivals);
            }
        }
        let members = keep_class_members(matching, question, ranked, embedder);
        if !members.is_empty() && matches.cue.is_none() {
            matches.cue = Some(cue.clone());
        }
        matches.found.extend(members);
    }
    matches
}

/// Whether a question asks for the object of a relation and states one at the same time: "where does Ann work at Siemens".
fn presumes_object(question: &Question, sides: &Sides<'_>, cue: &CueMatch, relation: &Relation) -> bool {
    let stated = !sides.objects.is_empty() || {
        let rest = question.unexplained_words(Some(cue));
        !rest.is_empty() && rest.iter().all(|w| w.proper)
    };
    let is_present = question.kind == QuestionKind::Where && !question.is_past && question.tense == Tense::Open;
    is_present && stated && !sides.subjects.is_empty() && (relation.functional || relation.successive) && !cue.weak
}

/// Returns the locations of the named entities: "Where is the office?" has no verb other than "is".
fn find_locations<'a>(question: &Question, usable: &[&'a RankedFact], cue_index: &CueIndex) -> Vec<&'a RankedFact> {
    // "Where is my shop" asks about the shop, not about its owner.
    let is_owner = |n: &NameMention| n.possessive && question.named.iter().any(|m| m.start >= n.end);
    let is_subject = |f: &RankedFact| question.named.iter().filter(|n| !is_owner(n)).all(|n| n.entities.contains(&f.fact.subject));
    let mut found = Vec::new();
    for index in cue_index.location_relations() {
        let relation = cue_index.relation(index);
        found.extend(
            usable.iter().filter(|f| f.fact.relation == relation.name && is_subject(f) && tells_asked_origin(f, question, relation)),
        );
    }
    found
}

/// Whether the evidence of a fact tells an origin, if the question asks for one: "Where am I from?" is not answered by where I live.
fn tells_asked_origin(f: &RankedFact, question: &Question, relation: &Relation) -> bool {
    let asks = question.words.iter().any(|w| relation.origins.contains(&w.plain));
    !asks || relation.origins.iter().any(|origin| evidence_has_word(f, origin, origin))
}

/// Returns the facts whose other side is of the class asked for: "Which engine is Moss Post in?" has no verb of a relation.
fn find_by_class<'a>(
    question: &Question,
    usable: &[&'a RankedFact],
    ranked: &[RankedMessage],
    embedder: &LocalEmbedder,
) -> Vec<&'a RankedFact> {
    let is_specific = !question.class.nouns.is_empty() && question.class.nouns.iter().all(|noun| is_specific_class(noun));
    let [named] = question.named.as_slice() else { return Vec::new() };
    if !is_specific || named.possessive || question.kind == QuestionKind::YesNo || !question.unexplained_words(None).is_empty() {
        return Vec::new();
    }
    let of_subject = usable.iter().filter(|f| named.entities.contains(&f.fact.subject)).copied().collect();
    keep_class_members(of_subject, question, ranked, embedder)
}

/// Whether each name in the question is a side of the fact.
pub(super) fn names_all(question: &Question, f: &RankedFact) -> bool {
    question.named.iter().all(|n| n.entities.contains(&f.fact.subject) || n.entities.contains(&f.fact.object))
}

/// Whether a fact has the mood of the cue: "what did I sell" asks for ended facts, "decide against" for denied ones.
fn is_in_mood(f: &RankedFact, cue: &CueMatch) -> bool {
    match cue.form {
        Form::Ending => f.fact.status == FactStatus::Ended,
        Form::Negating => is_denied(f),
        _ => true,
    }
}

/// Answers a yes-or-no question.
fn decide<'a>(question: &Question, found: Vec<&'a RankedFact>, contrary: Vec<&'a RankedFact>, cue: Option<CueMatch>) -> FactAnswer<'a> {
    let said_so = cue.as_ref().is_some_and(|c| matches!(c.form, Form::Ending | Form::Negating));
    // "Did she live in Linz?": an ended fact is a yes.
    let was = question.is_past && found.iter().all(|f| f.fact.status == FactStatus::Ended) && !found.is_empty();
    if was {
        return FactAnswer { facts: found, verdict: Some(Verdict::Yes), cue };
    }
    // "I'm not in the team any more" ends whatever relation to the team the earlier message told.
    let newest = |f: &RankedFact| f.evidence.iter().map(|e| e.created_at).max();
    let same_sides = |a: &RankedFact, b: &RankedFact| a.fact.subject == b.fact.subject && a.fact.object == b.fact.object;
    let is_over = |f: &RankedFact| found.iter().any(|e| e.fact.status == FactStatus::Ended && same_sides(e, f) && newest(e) > newest(f));
    let yes: Vec<&RankedFact> = found.iter().filter(|f| said_so || (holds(f) && !is_over(f))).copied().collect();
    let against: Vec<&RankedFact> = contrary.iter().filter(|f| holds(f)).copied().collect();
    let ended = found.iter().find(|f| f.fact.status == FactStatus::Ended);
    let (facts, verdict) = if !yes.is_empty() {
        // A yes also states the rivals that hold.
        (yes.into_iter().chain(against).collect(), Verdict::Yes)
    } else if let Some(ended) = ended {
        (std::iter::once(*ended).chain(against).collect(), Verdict::No)
    } else if !against.is_empty() {
        (against, Verdict::No)
    } else if let Some(denied) = found.first() {
        (vec![*denied], Verdict::No)
    } else {
        return FactAnswer::default();
    };
    let mut facts: Vec<&RankedFact> = facts;
    facts.truncate(MAX_FACTS);
    FactAnswer { facts, verdict: Some(verdict), cue }
}

/// Orders the facts: present ones before ended ones.
///
/// Ended facts are included only for a question about the past or in the perfect, if there are no others, or if the relation is
/// functional.
fn choose<'a>(
    found: Vec<&'a RankedFact>,
    question: &Question,
    ranked: &[RankedMessage],
    cue: Option<&CueMatch>,
    cue_index: &CueIndex,
) -> Vec<&'a RankedFact> {
    let (ended, active): (Vec<&RankedFact>, Vec<&RankedFact>) = found.into_iter().partition(|f| f.fact.status == FactStatus::Ended);
    let functional = |f: &&RankedFact| cue_index.relation_by_name(&f.fact.relation).is_some_and(|r| r.functional);
    let in_period = cue.is_some_and(|c| period_of_state(question, c, cue_index).is_some());
    let mut chosen = if in_period {
        active.into_iter().chain(ended).collect()
    } else if question.tense == Tense::Past {
        // Without a fact of what came next, a message must tell of it.
        let is_open = ended.is_empty() || (question.time_anchors.is_empty() && !question.successor.is_empty());
        let last = if ended.is_empty() { active.into_iter().filter(|f| functional(f) && holds(f)).collect() } else { ended };
        last.into_iter().filter(|f| !is_open || is_replaced(f, question, ranked)).collect()
    } else if active.is_empty() {
        ended
    } else {
        // "What does she like" is not answered by denied facts, and "what doesn't she like" is also answered by what she dislikes.
        let denies =
            |f: &RankedFact| cue.is_some_and(|c| c.form == Form::Negating && cue_index.relation(c.relation).name == f.fact.relation);
        let mut chosen: Vec<&RankedFact> = active.into_iter().filter(|f| is_denied(f) == denies(f)).collect();
        chosen.extend(ended.into_iter().filter(|f| question.is_perfect || functional(f)));
        chosen
    };
    chosen.truncate(MAX_FACTS);
    chosen
}

/// Whether the open side of the fact has the type that the question asks for.
fn has_expected_type(f: &RankedFact, question: &Question, cue: &CueMatch, sides: &Sides<'_>, cue_index: &CueIndex) -> bool {
    let open_side = sides.open_side(f);
    if cue_index.is_collective(cue.relation) && cue.form != Form::Ending && !evidence_has_word(f, cue_word(question, cue), &cue.stem) {
        return false;
    }
    // "What does she drive" is not answered by everything she owns, although "drive" is a cue of owning.
    if cue.weak && !sides.are_both_named() && cue.stem != "have" && !evidence_has_word(f, cue_word(question, cue), &cue.stem) {
        return false;
    }
    if !tells_asked_origin(f, question, cue_index.relation(cue.relation)) || !tells_narrower(f, cue_word(question, cue)) {
        return false;
    }
    // Who visited Porto did not necessarily drive there.
    if question.kind == QuestionKind::YesNo && is_manner_of_moving(&cue.stem) && !evidence_has_word(f, cue_word(question, cue), &cue.stem) {
        return false;
    }
    // The answer to "Who has my tent?" is not "you".
    if open_side.is_viewer
        && question.named.iter().any(|n| n.possessive && is_first_person(&question.words[n.start].plain))
        && cue.form == Form::Verb
    {
        return false;
    }
    if sides.are_both_named() || matches!(question.kind, QuestionKind::YesNo | QuestionKind::When) {
        return true;
    }
    let types = types_of(open_side, f, Some(cue_index.relation(cue.relation)));
    let class = &question.class.types;
    if !class.is_empty() {
        return class.contains(&open_side.entity_type) || types.iter().any(|t| class.contains(t));
    }
    match question.answer_type {
        AnswerType::Name => open_side.name.starts_with(char::is_uppercase),
        _ => fits_kind(question.kind, open_side, types),
    }
}

/// Whether a named entity may be the object of a relation, by its type.
fn may_be_object(named: &NameMention, usable: &[&RankedFact], relation: &Relation) -> bool {
    let sides = || usable.iter().flat_map(|f| [&f.subject, &f.object]).filter(|e| named.entities.contains(&e.id));
    relation.object_types.is_empty() || sides().next().is_none() || sides().any(|e| relation.object_types.contains(&e.entity_type))
}

/// Returns the first word of the cue as written.
fn cue_word<'q>(question: &'q Question, cue: &CueMatch) -> &'q str {
    question.words.get(cue.start).map_or("", |w| w.plain.as_str())
}
