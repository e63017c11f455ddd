//! Verbs of change ("switch", "move"): the object of "from" ends, the object of "to" begins.

use super::clauses::Clause;
use super::mentions::WEAK;
use super::objects::Object;
use super::phrases::{ChunkKind, VerbGroup};
use super::reader::{FactDraft, Reader, Referent};
use super::verbal::Frame;
use recall_domain::{EntityType, Polarity};

impl Reader<'_> {
    /// Adds the facts of "switched from X to Y" and "replaced X with Y".
    pub(super) fn read_switch(&mut self, clause: &Clause, at: usize, g: &VerbGroup, frame: &Frame) -> bool {
        let cues = self.cues;
        let Some(relations) = cues.switches.get(&g.lemma) else { return false };
        if frame.polarity != Polarity::Affirmed {
            return false;
        }
        let mut from: Vec<Object> = Vec::new();
        let mut to: Vec<Object> = Vec::new();
        for c in at + 1..clause.end {
            if self.phrases.chunks[c].kind != ChunkKind::Prep {
                continue;
            }
            match self.tokens[self.phrases.chunks[c].start].norm.as_str() {
                "from" if from.is_empty() => from = self.read_objects(c + 1, clause, false),
                "to" | "into" | "over" if to.is_empty() => to = self.read_objects(c + 1, clause, false),
                _ => {}
            }
        }
        let mut direct = matches!(self.phrases.chunks.get(at + 1).map(|c| c.kind), Some(ChunkKind::Noun(_)));
        // "replaced X with Y"
        if matches!(g.lemma.as_str(), "replace" | "swap") && direct && !g.passive {
            let with =
                (at + 1..clause.end).find(|&c| matches!(self.tokens[self.phrases.chunks[c].start].norm.as_str(), "with" | "for" | "by"));
            if let Some(w) = with {
                from = self.read_objects(at + 1, clause, false);
                to = self.read_objects(w + 1, clause, false);
                direct = false;
            }
        }
        if from.is_empty() || to.is_empty() {
            return false;
        }
        // "We switched Moss Post from Unity to Godot": the project uses it.
        let moved = match self.phrases.chunks.get(at + 1).map(|c| c.kind) {
            Some(ChunkKind::Noun(n)) if direct => {
                self.referents[n].filter(|r| matches!(*r, Referent::Entity(i, _) if self.registry.named[i]))
            }
            _ => None,
        };
        let subjects = moved.map_or_else(|| frame.subjects.clone(), |thing| vec![thing]);
        for &relation in relations {
            let rel = &cues.relations[relation];
            let place = rel.object_types.contains(&EntityType::Place);
            if place && direct {
                continue;
            }
            // All objects must fit the relation: "from vim to zed" is about tools even if one of them is unknown.
            // "switched my major from biology to physics": after a direct object, only tools fit.
            let tool = |referent: Referent| self.type_of(referent).0 == EntityType::Tool || self.type_of(referent).1 < WEAK;
            let fits = |referent: Referent| self.type_fit(referent, &rel.object_types).is_some() && (!direct || tool(referent));
            if !from.iter().chain(&to).all(|i| fits(i.0)) {
                continue;
            }
            let mut any = false;
            for (items, polarity) in [(&from, Polarity::Ended), (&to, Polarity::Affirmed)] {
                for &(object, end) in items {
                    // An unknown name after "moved to" may be a place or a tool: a relation with one object type needs a known type.
                    if rel.object_types.len() == 1 && !rel.object_types.contains(&self.type_of(object).0) {
                        if let (Polarity::Ended, [subject]) = (polarity, subjects.as_slice()) {
                            let confidence = frame.confidence;
                            let span = self.span(frame.start, end);
                            let draft = FactDraft { relation, subject: *subject, object, polarity, confidence, weak: false, span };
                            self.add_end_if_known(&draft);
                        }
                        continue;
                    }
                    for &subject in &subjects {
                        let span = self.span(frame.start, end);
                        any |= self.add_fact(FactDraft {
                            relation,
                            subject,
                            object,
                            polarity,
                            confidence: frame.confidence,
                            weak: false,
                            span,
                        });
                    }
                }
            }
            if any {
                return true;
            }
        }
        false
    }
}
