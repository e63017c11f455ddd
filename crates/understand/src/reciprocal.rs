//! Facts between those who are a clause's subject ("Leila and Sami are engaged", "Becky and I met at camp"), and the
//! names that a clause gives ("our dog is called Rex", "we named him Rex").

use super::clauses::{Clause, Subject};
use super::cues::{Cue, Effect};
use super::lexicon::lexicon;
use super::phrases::{ChunkKind, Owner, VerbGroup};
use super::reader::{Claim, Reader, Side};
use super::tokens::Pos;
use super::verbal::Frame;
use super::walk::preposition;
use recall_domain::{Party, Polarity};

impl Reader<'_> {
    /// A symmetric relation whose other side is in the subject too.
    pub(super) fn reciprocal(&mut self, clause: &Clause, at: usize, g: &VerbGroup, frame: &Frame) -> bool {
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
            for cue in cues.verb(lemma) {
                let symmetric = cues.relations[cue.relation].symmetric && !cue.weak && !cue.cannot && cue.effect != Effect::Denies;
                if symmetric && self.without_other_side(clause, at, cue, anchor, mutual) {
                    return self.each_pair(cue, frame);
                }
            }
        }
        false
    }

    /// Whether a cue stands there without the side it asks for: "engaged" of "engaged to", "met" with no one after it.
    fn without_other_side(&self, clause: &Clause, at: usize, cue: &Cue, anchor: usize, mutual: bool) -> bool {
        let words = match cue.rest.split_last() {
            Some((last, rest)) if preposition(last) && (!rest.is_empty() || mutual) => rest,
            None if mutual || lexicon().in_set("mutual", &self.tokens[anchor].lemma) => &[][..],
            _ => return false,
        };
        let mut k = anchor + 1;
        for w in words {
            while self.tokens.get(k).is_some_and(|t| t.pos == Pos::Adv) {
                k += 1;
            }
            if !self.tokens.get(k).is_some_and(|t| t.is(w)) {
                return false;
            }
            k += 1;
        }
        let next = (at..clause.end).map(|c| self.phrases.chunks[c]).find(|c| c.start >= k);
        next.is_none_or(|c| match c.kind {
            ChunkKind::Noun(_) => mutual && self.tokens[c.end - 1].pos != Pos::Propn,
            ChunkKind::Prep => !cue.rest.last().is_some_and(|w| self.tokens[c.start].is(w)) || mutual,
            _ => true,
        })
    }

    fn each_pair(&mut self, cue: &Cue, frame: &Frame) -> bool {
        let polarity = match (cue.effect, frame.polarity) {
            (Effect::Ends, Polarity::Affirmed) => Polarity::Ended,
            (Effect::States, p) => p,
            _ => return false,
        };
        let mut any = false;
        for (i, &a) in frame.subjects.iter().enumerate() {
            for &b in &frame.subjects[i + 1..] {
                let (subject, object) = if b == Side::Speaker { (b, a) } else { (a, b) };
                let span = self.span(frame.start, frame.limit);
                let confidence = frame.confidence * 0.9;
                any |= self.claim(Claim { relation: cue.relation, subject, object, polarity, confidence, weak: false, span });
            }
        }
        any
    }

    /// "Our dog is called Rex", "we named him Rex": from now on that is its name.
    pub(super) fn christened(&mut self, clause: &Clause, at: usize, g: &VerbGroup) -> bool {
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
            (self.sides[s].map(Side::party), noun(at + 1))
        } else {
            let Some(n) = noun(at + 1) else { return false };
            let named = if self.phrases.nouns[n].pronoun {
                self.registry.last_unnamed().map(Party::Mention)
            } else {
                self.sides[n].map(Side::party)
            };
            (named, noun(at + 2))
        };
        let (Some(Party::Mention(target)), Some(name)) = (target, name) else { return false };
        match self.sides[name] {
            Some(Side::Entity(new, _)) => self.registry.rename(target, new),
            _ => false,
        }
    }

    /// "My cat's name is Pickles", "his name is Kyle": from now on that is what the cat is called.
    pub(super) fn naming(&mut self, subject: usize, name: usize) -> bool {
        let np = &self.phrases.nouns[subject];
        if self.tokens[np.head].lemma != "name" || np.pronoun {
            return false;
        }
        let target = match np.owner {
            Owner::Phrase(m) => self.sides[m].map(Side::party),
            Owner::Third => self.registry.last_unnamed().map(Party::Mention),
            _ => None,
        };
        let (Some(Party::Mention(target)), Some(Side::Entity(new, _))) = (target, self.sides[name]) else { return false };
        self.registry.rename(target, new)
    }

    /// "Our dog is a beagle named Waffles".
    pub(super) fn described(&mut self, subject: usize, predicate: usize) -> bool {
        let (Some(Side::Entity(a, _)), Some(Side::Entity(b, _))) = (self.sides[subject], self.sides[predicate]) else { return false };
        self.phrases.nouns[predicate].given.is_some() && self.phrases.nouns[subject].owner != Owner::Nobody && self.registry.rename(a, b)
    }
}
