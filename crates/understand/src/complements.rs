//! What stands beside the object of a verb and states more: another preposition, a correction, a purpose, a place behind a
//! place.

use recall_domain::{EntityType, Polarity};

use super::clauses::Clause;
use super::cues::{Cue, Effect};
use super::lexicon::lexicon;
use super::mentions::WEAK;
use super::objects::Item;
use super::phrases::{ChunkKind, VerbGroup};
use super::reader::{Claim, Reader, Side};
use super::verbal::Frame;
use super::walk::preposition;

impl Reader<'_> {
    /// "works with me on the billing rewrite": the same verb with another preposition states another fact.
    pub(super) fn beside(&mut self, clause: &Clause, at: usize, first: &Cue, g: &VerbGroup, frame: &Frame) {
        let cues = self.cues;
        for cue in cues.verb(&g.lemma) {
            let [word] = cue.rest.as_slice() else { continue };
            let same = cue.relation == first.relation || first.rest.last() == Some(word);
            if same || cue.weak || cue.cannot || cue.effect != Effect::States || !preposition(word) {
                continue;
            }
            let reach = (at + 1..clause.end).take_while(|&c| !matches!(self.phrases.chunks[c].kind, ChunkKind::Verb(_)));
            let found = reach
                .into_iter()
                .find(|&c| self.phrases.chunks[c].kind == ChunkKind::Prep && self.tokens[self.phrases.chunks[c].start].is(word));
            let Some(c) = found else { continue };
            let rel = &cues.relations[cue.relation];
            for (object, end) in self.items(c + 1, clause, false) {
                let sure = object == Side::Speaker || rel.object_types.contains(&self.kind(object).0) && self.kind(object).1 >= WEAK;
                for &subject in frame.subjects.iter().filter(|_| sure) {
                    let (s, o) = if cue.inverse { (object, subject) } else { (subject, object) };
                    let span = self.span(frame.start, end);
                    self.state(cue, s, o, frame, 0.9, span);
                }
            }
        }
    }

    /// "… in Frankfurt, not Dublin": what is denied beside what is said.
    pub(super) fn correction(&mut self, clause: &Clause, cue: &Cue, subjects: &[Side], after: usize, frame: &Frame) {
        let Some(mut c) = (clause.at..self.phrases.chunks.len()).find(|&c| self.phrases.chunks[c].start >= after) else { return };
        let chunks = &self.phrases.chunks;
        if chunks[c].kind == ChunkKind::Comma {
            c += 1;
        }
        if chunks.get(c).is_some_and(|x| x.kind == ChunkKind::Conj && self.tokens[x.start].is("but")) {
            c += 1;
        }
        if !chunks.get(c).is_some_and(|x| x.kind == ChunkKind::Not) {
            return;
        }
        c += 1;
        if chunks.get(c).is_some_and(|x| x.kind == ChunkKind::Prep) {
            c += 1;
        }
        for (object, end) in self.items(c, clause, false) {
            for &subject in subjects {
                let (s, o) = if cue.inverse { (object, subject) } else { (subject, object) };
                let span = self.span(frame.start, end);
                self.claim(Claim {
                    relation: cue.relation,
                    subject: s,
                    object: o,
                    polarity: Polarity::Negated,
                    confidence: frame.confidence * 0.9,
                    weak: cue.weak,
                    span,
                });
            }
        }
    }

    /// "I use TypeScript for the Phoenix project": the project uses it too.
    pub(super) fn purpose(&mut self, clause: &Clause, cue: &Cue, items: &[Item], after: usize, frame: &Frame) {
        let rel = &self.cues.relations[cue.relation];
        if cue.weak
            || !rel.subject_types.contains(&EntityType::Project)
            || !rel.subject_types.contains(&EntityType::Person)
            || !rel.object_types.contains(&EntityType::Tool)
        {
            return;
        }
        let Some(c) = (clause.at..clause.end).find(|&c| self.phrases.chunks[c].start >= after) else { return };
        let is_for = self.phrases.chunks[c].kind == ChunkKind::Prep && self.tokens[self.phrases.chunks[c].start].is("for");
        if !is_for {
            return;
        }
        for (project, end) in self.items(c + 1, clause, false) {
            let Side::Entity(p, _) = project else { continue };
            if self.kind(project).0 != EntityType::Project || self.kind(project).1 < 0.85 || !self.registry.kept[p] {
                continue;
            }
            for &(object, _) in items {
                let span = self.span(frame.start, end);
                self.claim(Claim {
                    relation: cue.relation,
                    subject: project,
                    object,
                    polarity: Polarity::Affirmed,
                    confidence: frame.confidence * 0.8,
                    weak: false,
                    span,
                });
            }
        }
    }

    /// "in a small town in Ohio": the place behind one that has no name.
    pub(super) fn place_behind(&mut self, c: usize, clause: &Clause, cue: &Cue) -> Vec<Item> {
        let types = &self.cues.relations[cue.relation].object_types;
        // "back from a trip to Thailand"
        let trip = types.contains(&EntityType::Place)
            && self.phrases.chunks[c].end > 0
            && lexicon().in_set("occasions", &self.tokens[self.phrases.chunks[c].end - 1].norm);
        let nameless = (trip || *types == [EntityType::Place])
            && matches!(self.phrases.chunks[c].kind, ChunkKind::Noun(n) if self.sides[n].is_none() && !self.phrases.nouns[n].pronoun);
        let inside = nameless
            && c + 2 < clause.end
            && self.phrases.chunks[c + 1].kind == ChunkKind::Prep
            && matches!(self.tokens[self.phrases.chunks[c + 1].start].norm.as_str(), "in" | "of" | "to")
            && (trip || !self.tokens[self.phrases.chunks[c + 1].start].is("to"));
        if !inside {
            return Vec::new();
        }
        let items = self.items(c + 2, clause, false);
        items.into_iter().filter(|i| self.kind(i.0).0 == EntityType::Place).collect()
    }
}
