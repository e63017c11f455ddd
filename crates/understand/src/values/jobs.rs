//! Occupations and the speaker's own name: "I'm a nurse", "my name is Ann".

use recall_domain::Polarity;

use super::{ValueFrame, ValueRelation};
use crate::clauses::{Clause, Subject};
use crate::lexicon::{WordList, lexicon};
use crate::mentions::text_of;
use crate::phrases::{ChunkKind, Possessor};
use crate::reader::{Reader, Referent};
use crate::tokens::Pos;

/// Adjectives that are a part of an occupation.
const JOB_ADJECTIVES: &[&str] = &[
    "junior",
    "senior",
    "chief",
    "head",
    "assistant",
    "associate",
    "principal",
    "trainee",
    "apprentice",
    "freelance",
    "retired",
    "registered",
    "self-employed",
    "certified",
    "full-time",
    "part-time",
];

impl Reader<'_> {
    /// Reads "S is a nurse", "S became a teacher".
    pub(super) fn read_occupation(&mut self, relation: &ValueRelation, clause: &Clause, frame: &ValueFrame) {
        let g = &self.phrases.verbs[clause.verb];
        let past = g.past && g.lemma == "be" && !g.used_to;
        if !matches!(g.lemma.as_str(), "be" | "become") || g.passive || past {
            return;
        }
        let Some(at) = self.complement(clause) else { return };
        let ChunkKind::Noun(n) = self.phrases.chunks[at].kind else { return };
        let np = &self.phrases.nouns[n];
        let indefinite =
            np.determiner.is_some_and(|d| matches!(self.tokens[d].norm.as_str(), "a" | "an")) && np.possessor == Possessor::Unmarked;
        // "He is a doctor I know": a relative clause says more, but the job stays. "A student of mine" is a tie.
        let of = self.tokens.get(np.end).is_some_and(|t| t.is("of"));
        if !indefinite || of || np.proper_name.is_some() {
            return;
        }
        let end = np.head + 1;
        if let Some(job) = self.job_of_phrase(n) {
            self.add_text(relation, frame, &job, end);
        }
    }

    /// Returns the occupation that a noun phrase names.
    pub(super) fn job_of_phrase(&self, n: usize) -> Option<String> {
        let np = &self.phrases.nouns[n];
        let head = &self.tokens[np.head];
        if np.pronoun || np.opaque || head.pos == Pos::Propn && head.capital && np.head > 0 {
            return None;
        }
        let lex = lexicon();
        let two = np.head.checked_sub(1).filter(|&b| b >= np.core).map(|b| format!("{} {}", self.tokens[b].norm, head.lemma));
        let listed = |w: &str| lex.has(WordList::Person, w) && !lex.in_set("ties", w) || lex.in_set("occupations", w);
        let known = two.as_deref().is_some_and(listed) || listed(&head.lemma) || listed(&head.norm);
        let core = np.core.min(np.head);
        let fits = self.tokens[core..np.head].iter().all(|t| match t.pos {
            Pos::Noun | Pos::Propn => !lex.in_set("vague", &t.norm) || lex.head(&t.norm).is_some(),
            Pos::Adj | Pos::Verb => {
                JOB_ADJECTIVES.contains(&t.norm.as_str()) || !lex.in_set("plain_adjectives", &t.norm) && t.pos == Pos::Adj
            }
            Pos::Punct => t.is("-"),
            _ => false,
        });
        (known && fits && np.head - core <= 3).then(|| text_of(self.tokens, core, np.head + 1))
    }

    /// Reads "my name is Ann", "I'm called Ann" and "call me Ann".
    pub(super) fn read_own_name(&mut self, relation: &ValueRelation, clause: &Clause) {
        let g = &self.phrases.verbs[clause.verb];
        let Subject::Nouns(subjects) = &clause.subject else { return };
        let [s] = subjects[..] else { return };
        let np = &self.phrases.nouns[s];
        let named =
            g.lemma == "be" && !g.passive && np.possessor == Possessor::Speaker && np.head == np.core && self.tokens[np.head].is("name");
        let called = g.lemma == "call" && g.passive && self.referents[s] == Some(Referent::Speaker);
        if !(named || called) || g.negated || g.modal.is_some() || clause.unasserted || g.past {
            return;
        }
        let Some(ChunkKind::Noun(n)) = self.complement(clause).map(|c| self.phrases.chunks[c].kind) else { return };
        let name = &self.phrases.nouns[n];
        let (start, end) = (name.core.min(name.head), name.head + 1);
        let proper = self.tokens[start..end].iter().all(|t| t.pos == Pos::Propn && t.capital);
        if proper && name.possessor == Possessor::Unmarked {
            let frame =
                ValueFrame { subjects: vec![Referent::Speaker], polarity: Polarity::Affirmed, confidence: 1.0, start: clause.start_token };
            let text = text_of(self.tokens, start, end);
            self.add_text(relation, &frame, &text, end);
        }
    }
}
