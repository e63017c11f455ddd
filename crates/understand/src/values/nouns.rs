//! Values that a noun announces: "my birthday is 3 March", "the budget of Phoenix: €20,000", "Phoenix has a budget of €20,000".

use recall_domain::{CandidateValue, FactValue, Polarity};

use super::{ValueFrame, ValueRelation};
use crate::clauses::{Clause, Subject};
use crate::phrases::{ChunkKind, NounPhrase, Possessor};
use crate::reader::{Reader, Referent};

/// Verbs after which "to" names the new value.
const CHANGES: &[&str] = &[
    "bump", "change", "cut", "delay", "drop", "extend", "fall", "increase", "lower", "move", "postpone", "push", "raise", "reduce", "rise",
    "slip",
];

impl Reader<'_> {
    /// Reads the values that a noun of the relation announces.
    pub(super) fn read_noun_values(&mut self, relation: &ValueRelation, clauses: &[Clause], text: &str) {
        if relation.nouns.is_empty() {
            return;
        }
        for n in 0..self.phrases.nouns.len() {
            let Some((label, end)) = self.value_noun(relation, &self.phrases.nouns[n]) else { continue };
            let (owner, after) = match self.owner_of_noun(n, end) {
                Some((owner, after)) => (Some(owner), after),
                None => (None, end),
            };
            let start = self.phrases.nouns[n].start;
            // "My rent was €900 but now it's €950": the second clause continues the first.
            let continued = clauses.iter().filter(|c| c.subject == Subject::Nouns(vec![n])).map(|c| self.phrases.verbs[c.verb].start);
            let places = std::iter::once(after).chain(continued.filter(|at| *at > after));
            let announced = owner.into_iter().flat_map(|owner| {
                let announced = places.clone().filter_map(|at| self.announcement(at, clauses));
                let frame = move |polarity, confidence| ValueFrame { subjects: vec![owner], polarity, confidence, start };
                announced.map(move |(at, polarity, confidence)| (frame(polarity, confidence), at)).collect::<Vec<_>>()
            });
            let mut announced: Vec<(ValueFrame, usize)> = announced.collect();
            if announced.is_empty() {
                announced.extend(self.possession(n, end, clauses).or_else(|| self.new_contact(relation, n, end, clauses)));
            }
            let mut after = None;
            for (frame, at) in announced {
                for (value, last) in self.values_at(relation, at, text) {
                    let value = if relation.labels { labelled(value, &label) } else { value };
                    self.add_value(relation, &frame, &value, last);
                    after = Some(last).filter(|_| frame.polarity == Polarity::Affirmed);
                }
            }
            if let Some(after) = after {
                self.read_other_owners(relation, &label, after, text);
            }
        }
    }

    /// Returns the noun of the relation that a phrase has as its head, and one past its last token.
    fn value_noun(&self, relation: &ValueRelation, np: &NounPhrase) -> Option<(String, usize)> {
        if np.pronoun || np.opaque || np.proper_name.is_some() {
            return None;
        }
        let core = np.core.min(np.head);
        let found = relation.nouns.iter().find_map(|cue| {
            (core..=np.head).find_map(|k| {
                let end = k + cue.len();
                let words = self.tokens.get(k..end)?;
                let same = words.iter().zip(cue).all(|(t, w)| t.norm == *w || t.lemma == *w);
                // "Birthday party" has another head.
                (same && end > np.head).then_some((cue, end))
            })
        });
        let (cue, end) = found?;
        Some((cue.join(" "), end))
    }

    /// Returns the possessor of the noun, and one past the last token of the phrase: "Leo's age", "the age of Leo", "the budget for Phoenix".
    fn owner_of_noun(&self, n: usize, end: usize) -> Option<(Referent, usize)> {
        let np = &self.phrases.nouns[n];
        let prep = self.tokens.get(end).is_some_and(|t| matches!(t.norm.as_str(), "of" | "for"));
        let of = if prep { self.chunk_at(end + 1) } else { None };
        let of = of.and_then(|c| match self.phrases.chunks[c].kind {
            ChunkKind::Noun(m) => Some((self.referents[m]?, self.phrases.chunks[c].end)),
            _ => None,
        });
        match np.possessor {
            Possessor::Unmarked => of,
            // "My rent for the studio" is still mine.
            _ => Some((self.possessor(n)?, of.map_or(end, |(_, after)| after))),
        }
    }

    /// Returns the token after "is" or ":", if the words before it are asserted.
    fn announcement(&self, at: usize, clauses: &[Clause]) -> Option<(usize, Polarity, f64)> {
        let token = self.tokens.get(at)?;
        if token.is(":") || token.is("=") {
            return (!self.is_doubtful()).then_some((at + 1, Polarity::Affirmed, 0.95));
        }
        let clause = clauses.iter().find(|c| self.phrases.verbs[c.verb].start == at)?;
        let g = &self.phrases.verbs[clause.verb];
        let unreal = g.modal.is_some() || g.almost || clause.unasserted || clause.denied || self.is_doubtful();
        if unreal {
            return None;
        }
        // "The budget was cut to V", "the deadline slipped to V": it has the value now.
        if CHANGES.contains(&g.lemma.as_str()) && !g.negated && self.tokens.get(g.end).is_some_and(|t| t.is("to")) {
            return Some((g.end + 1, Polarity::Affirmed, 0.95));
        }
        if !matches!(g.lemma.as_str(), "be" | "become") || g.passive {
            return None;
        }
        let polarity = match (g.negated, clause.is_over) {
            (true, _) => Polarity::Negated,
            (false, true) => Polarity::Ended,
            (false, false) => Polarity::Affirmed,
        };
        let confidence = if clause.hedged.is_some() { 0.7 } else { 1.0 };
        // "The rent was €900" may be over.
        let confidence = if g.past { confidence * 0.8 } else { confidence };
        (!g.used_to).then_some((g.end, polarity, confidence))
    }

    /// Returns the owner in "Phoenix has a budget of V", and the token of the value.
    fn possession(&self, n: usize, end: usize, clauses: &[Clause]) -> Option<(ValueFrame, usize)> {
        let np = &self.phrases.nouns[n];
        if !self.tokens.get(end)?.is("of") || np.possessor != Possessor::Unmarked {
            return None;
        }
        let before = |c: &&Clause| self.phrases.verbs[c.verb].end == np.start && self.phrases.verbs[c.verb].lemma == "have";
        let clause = clauses.iter().find(before).filter(|c| matches!(c.subject, Subject::Nouns(_)))?;
        Some((self.value_frame(clause)?, end + 1))
    }
}

pub(super) fn labelled(value: CandidateValue, label: &str) -> CandidateValue {
    match value {
        CandidateValue::Known(value) => CandidateValue::Known(FactValue::labelled(value, Some(label))),
        relative => relative,
    }
}
