//! Facts between the members of a coordinated subject, and clauses that give a name.
//!
//! Examples: "Leila and Sami are engaged", "Becky and I met at camp"; "our dog is called Rex", "we named him Rex".

use super::clauses::{Clause, Subject};
use super::cue_matching::preposition;
use super::cues::{Cue, Effect};
use super::lexicon::lexicon;
use super::phrases::{ChunkKind, Possessor, VerbGroup};
use super::reader::{FactDraft, Reader, Referent};
use super::tokens::Pos;
use super::verbal::Frame;
use recall_domain::{Party, Polarity};

/// Returns the nouns of the subject of a clause.
fn subject_nouns(clause: &Clause) -> &[usize] {
    match &clause.subject {
        Subject::Nouns(nouns) => nouns,
        _ => &[],
    }
}

impl Reader<'_> {
    /// Adds symmetric facts between the members of the subject.
    pub(super) fn read_reciprocal(&mut self, clause: &Clause, at: usize, g: &VerbGroup, frame: &Frame) -> bool {
        if frame.subjects.len() < 2 {
            return false;
        }
        let cues = self.cues;
        let mut anchors = vec![(g.main, g.lemma.as_str())];
        if let Some(be) = g.be {
            anchors.push((be, self.tokens[be].lemma.as_str()));
        }
        let mutual =
            self.tokens[g.end.min(frame.limit)..frame.limit].iter().any(|t| matches!(t.norm.as_str(), "together" | "other" | "another"));
        for (anchor, lemma) in anchors {
            for cue in cues.verb_cues(lemma) {
                let symmetric = cues.relations[cue.relation].symmetric && !cue.weak && !cue.cannot && cue.effect != Effect::Denies;
                if symmetric && self.lacks_object(clause, at, cue, anchor, mutual) {
                    return self.add_pairwise_facts(cue, frame);
                }
            }
        }
        false
    }

    /// Whether a cue has no object: "engaged" for the cue "engaged to", "met" without an object.
    fn lacks_object(&self, clause: &Clause, at: usize, cue: &Cue, anchor: usize, mutual: bool) -> bool {
        let words = match cue.rest.split_last() {
            Some((last, rest)) if preposition(last) && (!rest.is_empty() || mutual) => rest,
            None if mutual || lexicon().in_set("mutual", &self.tokens[anchor].lemma) => &[][..],
            _ => return false,
        };
        let Some(k) = self.after_words(anchor, words) else { return false };
        let next = (at..clause.end).map(|c| self.phrases.chunks[c]).find(|c| c.start >= k);
        next.is_none_or(|c| match c.kind {
            ChunkKind::Noun(_) => mutual && self.tokens[c.end - 1].pos != Pos::Propn,
            ChunkKind::Prep => !cue.rest.last().is_some_and(|w| self.tokens[c.start].is(w)) || mutual,
            _ => true,
        })
    }

    /// Returns the token after the words of a cue; adverbs may stand between them.
    pub(super) fn after_words(&self, anchor: usize, words: &[String]) -> Option<usize> {
        let mut k = anchor + 1;
        for w in words {
            while self.tokens.get(k).is_some_and(|t| t.pos == Pos::Adv) {
                k += 1;
            }
            self.tokens.get(k).filter(|t| t.is(w))?;
            k += 1;
        }
        Some(k)
    }

    /// Adds one fact for each pair of subjects.
    fn add_pairwise_facts(&mut self, cue: &Cue, frame: &Frame) -> bool {
        let polarity = match (cue.effect, frame.polarity) {
            (Effect::Ends, Polarity::Affirmed) => Polarity::Ended,
            (Effect::States, p) => p,
            _ => return false,
        };
        let mut any = false;
        for (i, &a) in frame.subjects.iter().enumerate() {
            for &b in &frame.subjects[i + 1..] {
                let (subject, object) = if b == Referent::Speaker { (b, a) } else { (a, b) };
                let span = self.span(frame.start, frame.limit);
                let confidence = frame.confidence * 0.9;
                any |= self.add_fact(FactDraft { relation: cue.relation, subject, object, polarity, confidence, weak: false, span });
            }
        }
        any
    }

    /// Renames a mention by a verb of naming: "our dog is called Rex", "we named him Rex".
    pub(super) fn read_naming_verb(&mut self, clause: &Clause, at: usize, g: &VerbGroup) -> bool {
        if !matches!(g.lemma.as_str(), "call" | "name") || g.negated || g.modal.is_some() {
            return false;
        }
        let noun = |c: usize| match self.phrases.chunks.get(c).filter(|_| c < clause.end).map(|c| c.kind) {
            Some(ChunkKind::Noun(n)) => Some(n),
            _ => None,
        };
        let (target, name) = if g.passive {
            let Subject::Nouns(subjects) = &clause.subject else { return false };
            let [s] = subjects[..] else { return false };
            (self.referents[s].map(Referent::party), noun(at + 1))
        } else {
            let Some(n) = noun(at + 1) else { return false };
            let named = if self.phrases.nouns[n].pronoun {
                let animate = !matches!(self.tokens[self.phrases.nouns[n].head].norm.as_str(), "it" | "them" | "that");
                self.registry.last_unnamed(animate).map(Party::Mention)
            } else {
                self.referents[n].map(Referent::party)
            };
            (named, noun(at + 2))
        };
        let (Some(Party::Mention(target)), Some(name)) = (target, name) else { return false };
        let Some(Referent::Entity(new, _)) = self.referents[name] else { return false };
        let is_renamed = self.registry.rename(target, new);
        if let ([subject], true) = (subject_nouns(clause), is_renamed && g.passive) {
            self.read_further_names(*subject, name, clause);
        }
        is_renamed
    }

    /// Renames a mention by its noun "name": "my cat's name is Pickles", "his name is Kyle".
    pub(super) fn read_name_statement(&mut self, subject: usize, name: usize) -> bool {
        let np = &self.phrases.nouns[subject];
        if self.tokens[np.head].lemma != "name" || np.pronoun {
            return false;
        }
        let target = match np.possessor {
            Possessor::Phrase(m) => self.referents[m].map(Referent::party),
            Possessor::ThirdPerson => {
                let animate = np.determiner.is_some_and(|d| matches!(self.tokens[d].norm.as_str(), "his" | "her"));
                self.registry.last_unnamed(animate).map(Party::Mention)
            }
            _ => None,
        };
        let (Some(Party::Mention(target)), Some(Referent::Entity(new, _))) = (target, self.referents[name]) else { return false };
        self.registry.rename(target, new)
    }

    /// Renames a mention by its predicate: "our dog is a beagle named Waffles", "my cat is Pixel".
    pub(super) fn read_named_description(&mut self, subject: usize, predicate: usize) -> bool {
        let (Some(Referent::Entity(a, _)), Some(Referent::Entity(b, _))) = (self.referents[subject], self.referents[predicate]) else {
            return false;
        };
        // "My cat is Pixel"
        let plain = self.registry.named[b] && self.registry.traits[a].animal && self.phrases.nouns[predicate].determiner.is_none();
        (plain || self.phrases.nouns[predicate].proper_name.is_some())
            && self.phrases.nouns[subject].possessor != Possessor::Unmarked
            && self.registry.rename(a, b)
    }
}
