//! Reads the first and the last day at an organization: "Friday was my last day at Ekibin", "first week at Tinderbox done".

use recall_domain::Polarity;

use super::clauses::Clause;
use super::cues::Effect;
use super::phrases::{ChunkKind, Possessor};
use super::reader::{FactDraft, Reader, Referent};

const CONFIDENCE: f64 = 0.85;

impl Reader<'_> {
    /// Adds where somebody began or stopped to work.
    pub(crate) fn read_working_days(&mut self, clauses: &[Clause]) {
        let works = self.cues.verb_cues("work").iter().find(|c| c.rest == ["at"] && c.effect == Effect::States && !c.weak);
        let Some(relation) = works.map(|c| c.relation) else { return };
        let is_past = clauses.iter().all(|c| c.unasserted || self.phrases.verbs[c.verb].past && self.phrases.verbs[c.verb].modal.is_none());
        for n in 0..self.phrases.nouns.len() {
            let np = &self.phrases.nouns[n];
            let day = matches!(self.tokens[np.head].lemma.as_str(), "day" | "night" | "shift" | "week" | "month");
            let words = &self.tokens[np.start..np.head];
            let (first, last) = (words.iter().any(|t| t.is("first")), words.iter().any(|t| t.is("last")));
            // "Her last day is the 30th" has not come yet, and "last week" is no last day.
            let polarity = match (first, last) {
                (true, false) => Polarity::Affirmed,
                (false, true) if is_past && np.possessor != Possessor::Unmarked => Polarity::Ended,
                _ => continue,
            };
            let person = match np.possessor {
                Possessor::Unmarked if np.determiner.is_none() => Some(Referent::Speaker),
                Possessor::Unmarked => None,
                _ => self.possessor(n),
            };
            let Some(subject) = person.filter(|_| day && !clauses.iter().any(|c| c.unasserted)) else { continue };
            let (start, end) = (np.start, np.end);
            match self.workplace_after(n) {
                Some((object, end)) => {
                    let span = self.span(start, end);
                    self.add_fact(FactDraft { relation, subject, object, polarity, confidence: CONFIDENCE, weak: false, span });
                }
                None if polarity == Polarity::Ended => {
                    let span = self.span(start, end);
                    self.add_possible_end(relation, subject, None, CONFIDENCE, span);
                }
                None => {}
            }
        }
    }

    /// Returns the name after "at" behind a noun phrase, and the token after it.
    fn workplace_after(&self, n: usize) -> Option<(Referent, usize)> {
        let chunks = &self.phrases.chunks;
        let at = chunks.iter().position(|c| c.kind == ChunkKind::Noun(n))?;
        let (prep, noun) = (chunks.get(at + 1)?, chunks.get(at + 2)?);
        let ChunkKind::Noun(m) = noun.kind else { return None };
        let leads = prep.kind == ChunkKind::Prep && matches!(self.tokens[prep.start].norm.as_str(), "at" | "with" | "for");
        match self.referents[m] {
            Some(Referent::Entity(i, list)) if leads && self.registry.named[i] => Some((Referent::Entity(i, list), noun.end)),
            _ => None,
        }
    }
}
