//! Selects facts about the past: what held in a period, and what came before something else.
//!
//! What came before an entity ("Which CRM did we have before HubSpot?") stood in the same relation to the same one, and has ended. The words of the question decide less than
//! the change itself, because the same message often ends the one and begins the other.

use std::{cmp::Reverse, collections::HashSet};

use chrono::{Months, NaiveDate};

use super::{
    cues::{CueIndex, CueMatch, Form},
    facts::is_denied,
    names::NameMention,
    period::Period,
    question::{Question, QuestionKind},
    sides::{fits_kind, types_of},
    words::{stem, words},
};
use recall_domain::{
    DatePrecision, DatedMoment, Entity, EntityId, FactStatus, MessageId, Stance,
    context::{RankedFact, RankedMessage},
};

/// Returns the facts that the entity after "before" replaced. Several ended with the same message, or none did.
pub(super) fn find_predecessors<'a>(question: &Question, usable: &[&'a RankedFact], cue_index: &CueIndex) -> Vec<&'a RankedFact> {
    if question.kind == QuestionKind::YesNo || question.time_anchors.is_empty() || !question.words.iter().any(|w| w.plain == "before") {
        return Vec::new();
    }
    // "Which CRM": a known thing of this name is the class.
    let is_class = |n: &&NameMention| n.start > 0 && matches!(question.words[n.start - 1].plain.as_str(), "which" | "what");
    let named: Vec<&NameMention> = question.named.iter().filter(|n| !is_class(n)).collect();
    let mut links: Vec<(Reverse<bool>, i64, &RankedFact)> = Vec::new();
    for successor in usable.iter().filter(|f| f.fact.support > f.fact.opposition) {
        let Some((kept, anchor)) = sides_of(successor, &question.time_anchors) else { continue };
        if !named.iter().all(|n| n.entities.contains(&kept.id)) {
            continue;
        }
        let relation = &successor.fact.relation;
        let known = cue_index.relation_by_name(relation);
        let functional = known.is_some_and(|r| r.functional);
        let is_asked = question.cues.iter().any(|c| !c.weak && cue_index.relation(c.relation).name == *relation);
        let begun = messages(successor, Stance::Supports);
        for f in usable.iter().filter(|f| f.fact.relation == *relation && f.fact.status == FactStatus::Ended) {
            let Some((same, other)) = sides_of(f, &[kept.id]).map(|(other, same)| (same, other)) else { continue };
            if same.id != kept.id || other.id == anchor.id || !fits_kind(question.kind, other, types_of(other, f, known)) {
                continue;
            }
            let replaced = !messages(f, Stance::Ends).is_disjoint(&begun);
            let gap = f.fact.valid_to.zip(successor.fact.valid_from).map(|(end, start)| (end - start).num_days());
            // An end long after the beginning of the other is the end of something else.
            if replaced || ((functional || is_asked) && gap.is_some_and(|days| days <= OVERLAP_DAYS)) {
                links.push((Reverse(replaced), gap.map_or(i64::MAX, i64::abs), f));
            }
        }
    }
    let best = links.iter().map(|(replaced, gap, _)| (*replaced, *gap)).min();
    links.into_iter().filter(|(replaced, gap, _)| Some((*replaced, *gap)) == best).map(|(_, _, f)| f).collect()
}

/// Whether a later message has the name after "before", though no fact says what it replaced.
pub(super) fn is_replaced(f: &RankedFact, question: &Question, ranked: &[RankedMessage]) -> bool {
    let is_ended = f.fact.status == FactStatus::Ended;
    let told = if is_ended { f.fact.valid_to } else { f.fact.last_support };
    let names_successor = |m: &RankedMessage| question.has_successor(words(m.message.text.as_str()).iter());
    let is_own = || words(&f.object.name).iter().any(|w| question.successor.contains(&w.stem));
    !is_own()
        && ranked
            .iter()
            .any(|m| told.is_some_and(|told| m.message.sent_at > told || (is_ended && m.message.sent_at == told)) && names_successor(m))
}

/// Days for which one may still have the old while one has the new.
const OVERLAP_DAYS: i64 = 62;

/// Returns the other side of a fact and the side that is one of `entities`.
fn sides_of<'f>(f: &'f RankedFact, entities: &[EntityId]) -> Option<(&'f Entity, &'f Entity)> {
    if entities.contains(&f.object.id) {
        Some((&f.subject, &f.object))
    } else {
        entities.contains(&f.subject.id).then_some((&f.object, &f.subject))
    }
}

/// Returns the messages that support or end a fact.
fn messages(f: &RankedFact, stance: Stance) -> HashSet<MessageId> {
    f.evidence.iter().filter(|e| e.stance == stance).map(|e| e.message).collect()
}

/// Returns the period of a question about a state in the past: "Where was I living in March?".
///
/// "What did I buy in March" asks for an event, whose message says more about its time than a fact.
pub(super) fn period_of_state(question: &Question, cue: &CueMatch, cue_index: &CueIndex) -> Option<Period> {
    let is_open = !matches!(question.kind, QuestionKind::YesNo | QuestionKind::When);
    let word = question.words.get(cue.start)?;
    let lasts = matches!(cue.form, Form::Noun | Form::InverseNoun) || is_verb_of_state(&word.stem);
    question
        .period
        .map(|p| p.period)
        .filter(|_| is_open && (question.is_past || question.is_perfect) && lasts && cue_index.is_state(cue.relation))
}

/// Whether a verb, given by its stem, tells what lasts.
pub(super) fn is_verb_of_state(verb: &str) -> bool {
    const STATES: [&str; 9] = ["live", "work", "use", "own", "manage", "lead", "report", "belong", "drive"];
    STATES.iter().any(|s| stem(s) == verb)
}

/// Whether a fact held at some time in a period. Without a known beginning it held before its end.
pub(super) fn held_during(f: &RankedFact, period: &Period) -> bool {
    let (from, to) = (f.fact.began(), f.fact.ended());
    (from.is_some() || to.is_some())
        && from.is_none_or(|moment| moment.at.date_naive() <= period.last)
        && to.is_none_or(|moment| last_day(moment) >= period.first)
        && !is_denied(f)
}

/// Returns the last day that a moment may mean.
fn last_day(moment: DatedMoment) -> NaiveDate {
    let first = moment.at.date_naive();
    let months = match moment.precision {
        DatePrecision::Year => 12,
        DatePrecision::Month => 1,
        DatePrecision::Day | DatePrecision::Unknown => return first,
    };
    first.checked_add_months(Months::new(months)).and_then(|next| next.pred_opt()).unwrap_or(first)
}
