//! Reads who takes the place of somebody: "Tess and I broke up, I'm with Lena now", "Priya left, Oliver is the new boss".

use recall_domain::{EntityType, Party, Polarity};

use super::clauses::Clause;
use super::cues::NounCue;
use super::mentions::time_expression;
use super::phrases::{ChunkKind, NounPhrase, Possessor, VerbGroup};
use super::reader::{FactDraft, Reader, Referent, is_personal};
use super::verbal::Frame;

const CONFIDENCE: f64 = 0.85;
/// Verbs of leaving a post without an object.
const LEAVING: &[&str] = &["leave", "quit", "retire", "resign", "go"];
/// The same in the passive.
const DISMISSING: &[&str] = &["fire", "sack", "dismiss", "promote", "transfer", "go"];

impl Reader<'_> {
    /// Adds the partner that somebody has after a separation which the message tells: "I'm with Lena now".
    pub(super) fn read_new_partner(&mut self, clause: &Clause, g: &VerbGroup, frame: &Frame) -> bool {
        let is_present = g.lemma == "be" && !g.past && !g.progressive && frame.polarity == Polarity::Affirmed;
        let chunk = |k: usize| self.phrases.chunks.get(clause.at + k).map(|c| (c.kind, c.start));
        let (Some((ChunkKind::Prep, prep)), Some((ChunkKind::Noun(n), _))) = (chunk(1), chunk(2)) else { return false };
        let [subject] = frame.subjects[..] else { return false };
        let Some(cue) = self.cues.noun_cue("partner") else { return false };
        let Some(partner) = self.referents[n].filter(|r| self.is_name(Some(*r)) && self.type_of(*r).0 == EntityType::Person) else {
            return false;
        };
        if !is_present || !self.tokens[prep].is("with") || !self.is_separated(cue.relation, subject.party()) {
            return false;
        }
        let span = self.span(frame.start, self.phrases.nouns[n].end);
        let (relation, confidence) = (cue.relation, frame.confidence * CONFIDENCE);
        self.add_fact(FactDraft { relation, subject, object: partner, polarity: Polarity::Affirmed, confidence, weak: false, span })
    }

    /// Whether the message says that a relation between people has ended for somebody.
    fn is_separated(&self, relation: usize, person: Party) -> bool {
        let name = &self.cues.relations[relation].name;
        let has_ended = self.facts.facts.iter().filter(|f| f.polarity == Polarity::Ended && f.relation == *name);
        let may_end = self.facts.possible_ends.iter().filter(|e| e.relation == *name);
        let mut sides = has_ended.map(|f| (f.subject, Some(f.object))).chain(may_end.map(|e| (e.subject, e.object)));
        sides.any(|(subject, object)| subject == person || object == Some(person))
    }

    /// Returns the speaker for a role that somebody new has: "Oliver is the new boss".
    pub(super) fn owner_of_new_role(&self, np: &NounPhrase, cue: NounCue) -> Option<Referent> {
        let is_definite = np.determiner.is_some_and(|d| self.tokens[d].is("the"));
        let is_role = cue.inverse && is_personal(self.cues, cue.relation, cue.inverse);
        // "The new boss of Tom's", "the new manager at Aldi"
        let is_of_another = self.tokens.get(np.end).is_some_and(|t| matches!(t.norm.as_str(), "of" | "at" | "for" | "in"));
        (is_definite && is_role && !is_of_another && self.is_new(np) && np.possessor == Possessor::Unmarked).then_some(Referent::Speaker)
    }

    fn is_new(&self, np: &NounPhrase) -> bool {
        self.tokens[np.start..np.head].iter().any(|t| t.is("new"))
    }

    /// Ends that somebody who has left manages the speaker, if the clause names the new manager: "Priya left, Oliver is the new boss".
    pub(super) fn read_predecessor(&mut self, clause: &Clause) {
        let role = self.phrases.nouns.iter().enumerate().find_map(|(n, np)| {
            let (cue, _) = self.find_noun_cue(np).filter(|(cue, _)| cue.inverse && is_personal(self.cues, cue.relation, true))?;
            let owner = self.possessor(n).or_else(|| self.owner_of_new_role(np, cue))?;
            (self.is_new(np) && np.start >= clause.start_token && owner == Referent::Speaker).then_some((cue.relation, n))
        });
        let Some((relation, role)) = role else { return };
        for v in 0..self.phrases.verbs.len() {
            let g = &self.phrases.verbs[v];
            if g.end > clause.start_token || !self.has_left(g) {
                continue;
            }
            let Some(n) = (0..self.phrases.nouns.len()).find(|&n| self.phrases.nouns[n].end == g.start && n != role) else { continue };
            let Some(subject) = self.referents[n].filter(|r| self.is_name(Some(*r)) && self.type_of(*r).0 == EntityType::Person) else {
                continue;
            };
            let span = self.span(self.phrases.nouns[n].start, g.end);
            let (object, polarity, confidence) = (Referent::Speaker, Polarity::Ended, CONFIDENCE);
            self.add_fact(FactDraft { relation, subject, object, polarity, confidence, weak: false, span });
        }
    }

    /// Whether a verb says that somebody gave up a post and not a thing or a place: "left", "was fired", "has gone".
    fn has_left(&self, g: &VerbGroup) -> bool {
        let is_perfect = self.tokens[g.start].lemma == "have" && g.main > g.start;
        let happened = (g.past || is_perfect || g.passive) && !g.negated && !g.almost && !g.progressive && g.modal.is_none();
        let verbs = if g.passive { DISMISSING } else { LEAVING };
        let object = self.phrases.nouns.iter().find(|np| np.start == g.end);
        let is_bare = object.is_none_or(|np| time_expression(self.tokens, np));
        happened && is_bare && verbs.contains(&g.lemma.as_str())
    }
}
