//! Adds the model of what somebody has: "my phone is a Pixel 7", "bought a used car today, a Skoda Fabia".

use recall_domain::Polarity;

use super::cues::Cue;
use super::mentions::time_expression;
use super::phrases::{ChunkKind, NounPhrase, Possessor};
use super::reader::{FactDraft, Reader, Referent};
use super::tokens::Pos;
use super::verbal::Frame;

const CONFIDENCE: f64 = 0.9;

impl Reader<'_> {
    /// Adds that the owner of the subject has the model that the predicate names.
    pub(super) fn read_model_of_subject(&mut self, subjects: &[usize], predicate: usize, start: usize) {
        let [subject] = *subjects else { return };
        let (Some(Referent::Entity(i, list)), Some(owner)) = (self.referents[subject], self.possessor(subject)) else { return };
        let is_owned = |r: &super::cues::Rel| !r.possessed.is_empty() && self.is_possession(r, Referent::Entity(i, list));
        let Some(relation) = self.cues.relations.iter().position(is_owned) else { return };
        // "My dog is a Labrador" tells a breed.
        let np = &self.phrases.nouns[predicate];
        if self.registry.traits[i].animal || self.registry.named[i] || !self.is_model(np) {
            return;
        }
        let Some(object) = self.referents[predicate] else { return };
        let span = self.span(start, np.end);
        let polarity = Polarity::Affirmed;
        self.add_fact(FactDraft { relation, subject: owner, object, polarity, confidence: CONFIDENCE, weak: false, span });
    }

    /// Adds the model that follows what somebody got: "bought a used car today, a Skoda Fabia".
    pub(super) fn read_model_after(&mut self, cue: &Cue, after: usize, frame: &Frame) {
        let chunks = &self.phrases.chunks;
        if cue.inverse || self.cues.relations[cue.relation].possessed.is_empty() {
            return;
        }
        let is_skipped = |kind: ChunkKind| match kind {
            ChunkKind::Noun(n) => time_expression(self.tokens, &self.phrases.nouns[n]),
            kind => matches!(kind, ChunkKind::Adverb | ChunkKind::Prep),
        };
        let from = chunks.partition_point(|c| c.start < after);
        let Some(mark) = (from..chunks.len()).find(|&c| !is_skipped(chunks[c].kind)) else { return };
        let (ChunkKind::Comma | ChunkKind::Mark, Some(ChunkKind::Noun(n))) = (chunks[mark].kind, chunks.get(mark + 1).map(|c| c.kind))
        else {
            return;
        };
        // "A car, a Skoda and a bike" is a list.
        let is_last = chunks.get(mark + 2).is_none_or(|c| matches!(c.kind, ChunkKind::Comma | ChunkKind::Mark | ChunkKind::Other));
        let np = &self.phrases.nouns[n];
        let Some(object) = self.referents[n].filter(|_| is_last && self.is_model(np)) else { return };
        let span = self.span(frame.start, np.end);
        for &subject in &frame.subjects {
            let confidence = frame.confidence * CONFIDENCE;
            let (relation, polarity) = (cue.relation, Polarity::Affirmed);
            self.add_fact(FactDraft { relation, subject, object, polarity, confidence, weak: false, span });
        }
    }

    /// Whether a phrase names a model: "a Pixel 7", "a white Transit".
    fn is_model(&self, np: &NounPhrase) -> bool {
        let is_indefinite = np.determiner.is_some_and(|d| matches!(self.tokens[d].norm.as_str(), "a" | "an"));
        is_indefinite && np.possessor == Possessor::Unmarked && np.proper_name.is_none() && self.tokens[np.head].pos == Pos::Propn
    }
}
