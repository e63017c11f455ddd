//! Occupations: "I'm a nurse", "before that I was a barista".

use recall_domain::{CandidateFact, EntityType, Polarity};

use super::{ValueFrame, ValueRelation};
use crate::clauses::Clause;
use crate::lexicon::{WordList, lexicon};
use crate::mentions::{text_of, time_expression};
use crate::phrases::{ChunkKind, Possessor};
use crate::reader::Reader;
use crate::tokens::{Pos, Token};

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

/// Endings of nouns for somebody who does something.
const AGENT_ENDINGS: &[&str] = &["er", "or", "ist", "ian", "yst"];
/// Such nouns that are no jobs.
const NO_JOBS: &[&str] = &[
    "beginner",
    "believer",
    "collaborator",
    "competitor",
    "coworker",
    "co-worker",
    "cyclist",
    "customer",
    "dancer",
    "founder",
    "gamer",
    "hiker",
    "investor",
    "member",
    "neighbor",
    "newcomer",
    "order",
    "outsider",
    "owner",
    "partner",
    "prisoner",
    "runner",
    "shareholder",
    "stranger",
    "subscriber",
    "supporter",
    "user",
    "vegetarian",
    "visitor",
    "winner",
];

impl Reader<'_> {
    /// Reads "S is a nurse", "S became a teacher".
    pub(super) fn read_occupation(&mut self, relation: &ValueRelation, clause: &Clause, frame: &ValueFrame) {
        let g = &self.phrases.verbs[clause.verb];
        let past = g.past && g.lemma == "be" && !g.used_to;
        let is_over = past && !g.negated && self.follows_former_time(clause);
        if !matches!(g.lemma.as_str(), "be" | "become") || g.passive || past && !is_over {
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
            let polarity = if is_over { Polarity::Ended } else { frame.polarity };
            self.add_text(relation, &ValueFrame { polarity, ..frame.clone() }, &job, end);
        }
    }

    /// Adds that a known occupation has ended, if somebody retired or has learned another: "Ben retired", "I retrained, I'm a teacher now".
    pub(super) fn read_end_of_occupation(&mut self, relation: &ValueRelation, clause: &Clause, frame: &ValueFrame) {
        let g = &self.phrases.verbs[clause.verb];
        let is_perfect = self.tokens[g.start].lemma == "have" && g.main > g.start;
        let happened = (g.past || is_perfect) && !g.progressive;
        let object = self.phrases.nouns.iter().find(|np| np.start == g.end);
        let is_bare = object.is_none_or(|np| time_expression(self.tokens, np));
        let retires = g.lemma == "retire" && is_bare && (happened || g.passive);
        let learns = matches!(g.lemma.as_str(), "retrain" | "requalify") && is_bare && happened;
        let states = |f: &CandidateFact| f.relation == relation.name && f.polarity == Polarity::Affirmed && f.value.is_some();
        let is_next = || {
            let begin = self.span(frame.start, frame.start + 1).start;
            let is_now = self.tokens[g.end..].iter().any(|t| t.is("now"));
            let is_stated = self.facts.facts.iter().any(|f| states(f) && f.span.start == begin);
            is_stated && (g.lemma == "become" && happened || g.lemma == "be" && !g.past && is_now)
        };
        if frame.polarity != Polarity::Affirmed || !(retires || learns || is_next()) {
            return;
        }
        let Some(index) = self.cues.relations.iter().position(|r| r.name == relation.name) else { return };
        let span = self.span(frame.start, g.end);
        for &subject in &frame.subjects {
            self.add_possible_end(index, subject, None, frame.confidence, span);
        }
    }

    /// Whether a noun for somebody who does something stands before an employer: "a planner at DHL".
    fn is_agent_at_employer(&self, n: usize) -> bool {
        let np = &self.phrases.nouns[n];
        let head = &self.tokens[np.head];
        let is_agent = head.pos == Pos::Noun && AGENT_ENDINGS.iter().any(|end| head.lemma.ends_with(end)) && head.lemma == head.norm;
        let is_no_job = NO_JOBS.contains(&head.lemma.as_str());
        let follows = self.tokens.get(np.end).is_some_and(|t| t.is("at"));
        let employer = (0..self.phrases.nouns.len()).find(|&m| self.phrases.nouns[m].start == np.end + 1);
        let is_group = |m: usize| self.referents[m].is_some_and(|r| self.type_of(r).0 == EntityType::Organization);
        is_agent && !is_no_job && follows && employer.is_some_and(is_group)
    }

    /// Whether a clause begins with words for an earlier time: "before that I was a barista".
    fn follows_former_time(&self, clause: &Clause) -> bool {
        let before = &self.tokens[..clause.start_token];
        let is_before = |t: &[Token]| t[0].is("before") && matches!(t[1].norm.as_str(), "that" | "this");
        before.windows(2).next_back().is_some_and(is_before)
            || before.last().is_some_and(|t| matches!(t.norm.as_str(), "previously" | "formerly" | "earlier"))
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
            // "A shift manager": a word that is vague alone tells which job.
            Pos::Noun | Pos::Propn => listed(&head.lemma) || !lex.in_set("vague", &t.norm) || lex.head(&t.norm).is_some(),
            Pos::Adj | Pos::Verb => {
                JOB_ADJECTIVES.contains(&t.norm.as_str()) || !lex.in_set("plain_adjectives", &t.norm) && t.pos == Pos::Adj
            }
            Pos::Punct => t.is("-"),
            _ => false,
        });
        let known = known || self.is_agent_at_employer(n);
        (known && fits && np.head - core <= 3).then(|| text_of(self.tokens, core, np.head + 1))
    }
}
