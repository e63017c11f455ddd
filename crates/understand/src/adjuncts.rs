//! Adds facts from adjuncts of a clause: another preposition, a correction, a purpose, an enclosing place.

use recall_domain::{EntityType, Polarity};

use super::clauses::Clause;
use super::cue_matching::preposition;
use super::cues::{Cue, Effect};
use super::lexicon::lexicon;
use super::mentions::WEAK;
use super::objects::Object;
use super::phrases::{ChunkKind, VerbGroup};
use super::reader::{FactDraft, Reader, Referent};
use super::verbal::Frame;

impl Reader<'_> {
    /// Adds facts of the same verb with other prepositions: "works with me on the billing rewrite".
    pub(super) fn read_other_prepositions(&mut self, clause: &Clause, at: usize, first: &Cue, g: &VerbGroup, frame: &Frame) {
        let cues = self.cues;
        for cue in cues.verb_cues(&g.lemma) {
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
            for (object, end) in self.read_objects(c + 1, clause, false) {
                let sure =
                    object == Referent::Speaker || rel.object_types.contains(&self.type_of(object).0) && self.type_of(object).1 >= WEAK;
                for &subject in frame.subjects.iter().filter(|_| sure) {
                    let (s, o) = if cue.inverse { (object, subject) } else { (subject, object) };
                    let span = self.span(frame.start, end);
                    self.add_cue_fact(cue, s, o, frame, 0.9, span);
                }
            }
        }
    }

    /// Adds the negated fact of a correction: "… in Frankfurt, not Dublin".
    pub(super) fn read_correction(&mut self, clause: &Clause, cue: &Cue, items: &[Object], after: usize, frame: &Frame) {
        let subjects = &frame.subjects;
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
        // "It's Ann who runs the choir, not Ben": the correction is of the subject.
        let cleft = clause.at > 0 && self.phrases.chunks[clause.at - 1].kind == ChunkKind::Rel && self.tokens.iter().any(|t| t.is("it"));
        let corrected = self.read_objects(c, clause, false);
        if cleft {
            let objects: Vec<Object> = items.to_vec();
            for (other, end) in corrected {
                if self.type_of(other).0 != EntityType::Person {
                    continue;
                }
                for &(object, _) in &objects {
                    let (s, o) = if cue.inverse { (object, other) } else { (other, object) };
                    let span = self.span(frame.start, end);
                    let confidence = frame.confidence * 0.9;
                    let polarity = Polarity::Negated;
                    self.add_fact(FactDraft { relation: cue.relation, subject: s, object: o, polarity, confidence, weak: cue.weak, span });
                }
            }
            return;
        }
        for (object, end) in corrected {
            for &subject in subjects {
                let (s, o) = if cue.inverse { (object, subject) } else { (subject, object) };
                let span = self.span(frame.start, end);
                self.add_fact(FactDraft {
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

    /// Adds what holds instead of what has ended: "he doesn't live in Oulu anymore, Tampere now".
    pub(super) fn read_replacement(&mut self, clause: &Clause, cue: &Cue, after: usize, frame: &Frame) {
        let chunks = &self.phrases.chunks;
        let next = |c: usize| chunks.get(c).map(|x| x.kind);
        let Some(mut c) = (clause.at..chunks.len()).find(|&c| chunks[c].start >= after) else { return };
        while matches!(next(c), Some(ChunkKind::Adverb)) {
            c += 1;
        }
        let mut separated = false;
        while matches!(next(c), Some(ChunkKind::Comma | ChunkKind::Conj)) {
            separated = true;
            c += 1;
        }
        let prep = usize::from(matches!(next(c), Some(ChunkKind::Prep)));
        let Some(ChunkKind::Noun(n)) = next(c + prep) else { return };
        let now = self.tokens.get(chunks[c + prep].end).is_some_and(|t| t.is("now") || t.is("instead"));
        let Some(object) = self.referents[n].filter(|_| separated && now) else { return };
        let span = self.span(frame.start, chunks[c + prep].end);
        let frame = Frame { polarity: Polarity::Affirmed, ..frame.clone() };
        for subject in frame.subjects.clone() {
            self.add_cue_fact(cue, subject, object, &frame, 0.9, span);
        }
    }

    /// Adds the facts of clauses without a verb after this one: "I'm based in Hamburg, Katja in Vienna".
    pub(super) fn read_gapped(&mut self, clause: &Clause, cue: &Cue, after: usize, frame: &Frame) {
        let Some(word) = cue.rest.last().filter(|w| preposition(w)).cloned() else { return };
        let chunks = self.phrases.chunks.clone();
        let Some(mut c) = (clause.at..chunks.len()).find(|&c| chunks[c].start >= after) else { return };
        let separator = |c: usize| chunks.get(c).is_some_and(|x| matches!(x.kind, ChunkKind::Comma | ChunkKind::Conj | ChunkKind::Mark));
        while separator(c) {
            while separator(c) {
                c += 1;
            }
            let (Some(ChunkKind::Noun(s)), Some(ChunkKind::Prep), Some(ChunkKind::Noun(_))) =
                (chunks.get(c).map(|x| x.kind), chunks.get(c + 1).map(|x| x.kind), chunks.get(c + 2).map(|x| x.kind))
            else {
                return;
            };
            let Some(subject) = self.referents[s].filter(|_| self.tokens[chunks[c + 1].start].is(&word)) else { return };
            let closed =
                chunks.get(c + 3).is_none_or(|x| matches!(x.kind, ChunkKind::Comma | ChunkKind::Conj | ChunkKind::Mark | ChunkKind::Other));
            if !closed || self.type_of(subject).0 != EntityType::Person {
                return;
            }
            let Some(object) = self.read_objects(c + 2, &Clause { end: c + 3, ..clause.clone() }, false).first().map(|o| o.0) else {
                return;
            };
            let span = self.span(self.phrases.nouns[s].start, chunks[c + 2].end);
            self.add_cue_fact(cue, subject, object, frame, 0.85, span);
            c += 3;
        }
    }

    /// Adds the facts of a purpose: in "I use TypeScript for the Phoenix project" the project uses it too.
    pub(super) fn read_purpose(&mut self, clause: &Clause, cue: &Cue, items: &[Object], after: usize, frame: &Frame) {
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
        for (project, end) in self.read_objects(c + 1, clause, false) {
            let Referent::Entity(p, _) = project else { continue };
            if self.type_of(project).0 != EntityType::Project || self.type_of(project).1 < 0.85 || !self.registry.kept[p] {
                continue;
            }
            for &(object, _) in items {
                let span = self.span(frame.start, end);
                self.add_fact(FactDraft {
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

    /// Returns the place that encloses a place without a name: "in a small town in Ohio".
    pub(super) fn enclosing_places(&mut self, c: usize, clause: &Clause, cue: &Cue) -> Vec<Object> {
        let types = &self.cues.relations[cue.relation].object_types;
        // "back from a trip to Thailand"
        let trip = types.contains(&EntityType::Place)
            && self.phrases.chunks[c].end > 0
            && lexicon().in_set("occasions", &self.tokens[self.phrases.chunks[c].end - 1].norm);
        let nameless = (trip || *types == [EntityType::Place])
            && matches!(self.phrases.chunks[c].kind, ChunkKind::Noun(n) if !self.phrases.nouns[n].pronoun && match self.referents[n] {
                None => true,
                // "into a bungalow in Ilkley"
                Some(Referent::Entity(i, _)) => !self.registry.named[i] && *types == [EntityType::Place],
                Some(Referent::Speaker) => false,
            });
        let inside = nameless
            && c + 2 < clause.end
            && self.phrases.chunks[c + 1].kind == ChunkKind::Prep
            && matches!(self.tokens[self.phrases.chunks[c + 1].start].norm.as_str(), "in" | "of" | "to")
            && (trip || !self.tokens[self.phrases.chunks[c + 1].start].is("to"));
        if !inside {
            return Vec::new();
        }
        let items = self.read_objects(c + 2, clause, false);
        items.into_iter().filter(|i| self.type_of(i.0).0 == EntityType::Place).collect()
    }
}
