//! Verbs of change: what follows "from" is over, what follows "to" holds ("switch", "move"). Reads one clause.

use super::clauses::Clause;
use super::mentions::WEAK;
use super::objects::Item;
use super::phrases::{ChunkKind, VerbGroup};
use super::reader::{Claim, Reader, Side};
use super::verbal::Frame;
use recall_domain::{EntityType, Polarity};

impl Reader<'_> {
    /// "switched from X to Y".
    pub(super) fn switch(&mut self, clause: &Clause, at: usize, g: &VerbGroup, frame: &Frame) -> bool {
        let cues = self.cues;
        let Some(relations) = cues.switches.get(&g.lemma) else { return false };
        if frame.polarity != Polarity::Affirmed {
            return false;
        }
        let mut from: Vec<Item> = Vec::new();
        let mut to: Vec<Item> = Vec::new();
        for c in at + 1..clause.end {
            if self.phrases.chunks[c].kind != ChunkKind::Prep {
                continue;
            }
            match self.tokens[self.phrases.chunks[c].start].norm.as_str() {
                "from" if from.is_empty() => from = self.items(c + 1, clause, false),
                "to" | "into" | "over" if to.is_empty() => to = self.items(c + 1, clause, false),
                _ => {}
            }
        }
        let mut direct = matches!(self.phrases.chunks.get(at + 1).map(|c| c.kind), Some(ChunkKind::Noun(_)));
        // "replaced X with Y"
        if matches!(g.lemma.as_str(), "replace" | "swap") && direct && !g.passive {
            let with =
                (at + 1..clause.end).find(|&c| matches!(self.tokens[self.phrases.chunks[c].start].norm.as_str(), "with" | "for" | "by"));
            if let Some(w) = with {
                from = self.items(at + 1, clause, false);
                to = self.items(w + 1, clause, false);
                direct = false;
            }
        }
        if from.is_empty() || to.is_empty() {
            return false;
        }
        for &relation in relations {
            let rel = &cues.relations[relation];
            let place = rel.object_types.contains(&EntityType::Place);
            if place && direct {
                continue;
            }
            // Both sides must fit, or neither does: "from vim to zed" is about tools even where one is unknown.
            // "switched my major from biology to physics": where something else is switched, only tools are used.
            let tool = |side: Side| self.kind(side).0 == EntityType::Tool || self.kind(side).1 < WEAK;
            let fits = |side: Side| self.fit(side, &rel.object_types).is_some() && (!direct || tool(side));
            if !from.iter().chain(&to).all(|i| fits(i.0)) {
                continue;
            }
            let mut any = false;
            for (items, polarity) in [(&from, Polarity::Ended), (&to, Polarity::Affirmed)] {
                for &(object, end) in items {
                    // An unknown name after "moved to" may be a place or a tool: leave it to a relation that is sure.
                    if rel.object_types.len() == 1 && !rel.object_types.contains(&self.kind(object).0) {
                        continue;
                    }
                    for &subject in &frame.subjects {
                        let span = self.span(frame.start, end);
                        any |= self.claim(Claim { relation, subject, object, polarity, confidence: frame.confidence, weak: false, span });
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
