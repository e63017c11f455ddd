//! Finds ends that count only if the fact is known: "Rima has quit", "he moved out on Saturday", "we broke up", "Rollo died".
//!
//! The cue is an ending verb whose preposition and object are missing ("retire from"), or a verb of ceasing whose subject somebody owns.
//! The crate `facts` looks up what has ended.

use recall_domain::{EntityType, Polarity, PossibleEnd, Span};

use super::clauses::{Clause, Subject};
use super::cue_matching::preposition;
use super::cues::{Cue, Effect};
use super::lexicon::lexicon;
use super::mentions;
use super::phrases::{ChunkKind, VerbGroup};
use super::reader::{FactDraft, Reader, Referent};
use super::verbal::Frame;

impl Reader<'_> {
    /// Adds the ends of an ending verb without an object; returns whether it is one.
    pub(super) fn read_possible_end(&mut self, clause: &Clause, at: usize, g: &VerbGroup, frame: &Frame) -> bool {
        if frame.polarity != Polarity::Affirmed || g.progressive {
            return false;
        }
        let cues = self.cues;
        let anchors = [Some(g.main), g.be.filter(|&b| b != g.main)];
        for anchor in anchors.into_iter().flatten() {
            for cue in cues.verb_cues(&self.tokens[anchor].lemma) {
                let of_people = self.cues.relations[cue.relation].subject_types == [EntityType::Person];
                if of_people
                    && cue.effect == Effect::Ends
                    && self.is_completed(cue, g)
                    && self.ends_without_object(clause, at, cue, anchor, g)
                {
                    return self.add_possible_ends(cue, frame, g);
                }
            }
        }
        false
    }

    /// Whether the words of a cue stand without its object: "retired" for "retire from".
    fn ends_without_object(&self, clause: &Clause, at: usize, cue: &Cue, anchor: usize, g: &VerbGroup) -> bool {
        let words = match cue.rest.split_last() {
            // "I moved" ends no home that is known since.
            Some((last, words)) if preposition(last) && !(words.is_empty() && self.cues.switches.contains_key(&g.lemma)) => words,
            None if g.lemma == "quit" => &[][..],
            _ => return false,
        };
        let Some(k) = self.after_words(anchor, words).filter(|&k| k >= g.end) else { return false };
        let next = (at + 1..clause.end).map(|c| self.phrases.chunks[c]).find(|c| c.start >= k && c.kind != ChunkKind::Adverb);
        next.is_none_or(|c| match c.kind {
            ChunkKind::Noun(n) => mentions::time_expression(self.tokens, &self.phrases.nouns[n]),
            // "moved in", "dropped out of": a particle or the preposition of the cue.
            ChunkKind::Prep => {
                matches!(self.tokens[c.start].norm.as_str(), "in" | "on" | "at" | "after" | "before" | "during") && {
                    let after = self.phrases.nouns.iter().find(|n| n.start >= c.end);
                    after.is_some_and(|n| n.start == c.end && mentions::time_expression(self.tokens, n))
                }
            }
            ChunkKind::Verb(_) => false,
            _ => true,
        })
    }

    /// Adds the end of a relation for each subject.
    fn add_possible_ends(&mut self, cue: &Cue, frame: &Frame, g: &VerbGroup) -> bool {
        let span = self.span(frame.start, g.end);
        // "My sister and Kiril separated."
        if let ([a, b], true) = (frame.subjects.as_slice(), self.cues.relations[cue.relation].symmetric) {
            return self.add_possible_end(cue.relation, *a, Some(*b), frame.confidence, span);
        }
        let mut any = false;
        for &subject in &frame.subjects {
            any |= self.add_possible_end(cue.relation, subject, None, frame.confidence, span);
        }
        any
    }

    /// Adds a possible end if the subject has a fitting type.
    pub(super) fn add_possible_end(
        &mut self,
        relation: usize,
        subject: Referent,
        object: Option<Referent>,
        confidence: f64,
        span: Span,
    ) -> bool {
        let rel = &self.cues.relations[relation];
        let Some(fit) = self.type_fit(subject, &rel.subject_types) else { return false };
        for referent in [Some(subject), object].into_iter().flatten() {
            if let Referent::Entity(i, _) = referent {
                self.registry.kept[i] = true;
            }
        }
        let end = PossibleEnd {
            subject: subject.party(),
            relation: rel.name.clone(),
            object: object.map(Referent::party),
            confidence: confidence * fit,
            span,
        };
        let known = |e: &PossibleEnd| (e.subject, &e.relation, e.object) == (end.subject, &end.relation, end.object);
        if !self.facts.possible_ends.iter().any(known) {
            self.facts.possible_ends.push(end);
        }
        true
    }

    /// Adds the end of a fact whose types are not sure enough for a new fact, if its object is a name.
    pub(super) fn add_end_if_known(&mut self, draft: &FactDraft) {
        if matches!(draft.object, Referent::Entity(i, _) if self.registry.named[i]) {
            self.add_possible_end(draft.relation, draft.subject, Some(draft.object), draft.confidence, draft.span);
        }
    }

    /// Adds that a named thing or an animal is gone: "Rollo died", "our dog died", "Mandarin got stolen". Without an owner in the text, it may
    /// have been the speaker's.
    pub(super) fn read_loss(&mut self, clause: &Clause, g: &VerbGroup, frame: &Frame) -> bool {
        let lost = lexicon().in_set("ceasing", &g.lemma) || g.passive && lexicon().in_set("losing", &g.lemma);
        let Subject::Nouns(nouns) = &clause.subject else { return false };
        if !lost || frame.polarity != Polarity::Affirmed || g.progressive {
            return false;
        }
        let Some(relation) = self.cues.relations.iter().position(|r| !r.possessed.is_empty()) else { return false };
        let span = self.span(frame.start, g.end);
        let mut any = false;
        for &n in nouns {
            let (Some(object), owner) = (self.referents[n], self.possessor(n)) else { continue };
            let Referent::Entity(i, _) = object else { continue };
            if self.registry.named[i] || owner.is_some() && self.registry.traits[i].animal {
                any |= self.add_possible_end(relation, owner.unwrap_or(Referent::Speaker), Some(object), frame.confidence, span);
            }
        }
        any
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use recall_domain::{Ontology, Party};

    use crate::{Pipeline, default_ontology};

    /// The possible ends of a text, as "subject relation object".
    fn possible_ends(text: &str) -> Vec<String> {
        let pipeline = Pipeline::new(Arc::new(Ontology::parse(default_ontology()).unwrap()));
        let found = pipeline.read(text);
        let name = |p: Party| match p {
            Party::Speaker => "I",
            Party::Mention(i) => found.mentions[i].name.as_str(),
        };
        found.possible_ends.iter().map(|e| format!("{} {} {}", name(e.subject), e.relation, e.object.map_or("?", name))).collect()
    }

    #[test]
    fn ending_verbs_without_object_are_possible_ends() {
        for (text, expected) in [
            ("Rima has quit.", vec!["Rima WORKS_FOR ?"]),
            ("My boss Otilia retired last month.", vec!["Otilia WORKS_FOR ?"]),
            ("I got laid off this morning.", vec!["I WORKS_FOR ?"]),
            ("My brother moved out on Saturday.", vec!["brother LIVES_IN ?"]),
            ("We broke up in August.", vec!["I FAMILY_OF ?"]),
            ("Friday was my last day.", vec!["I WORKS_FOR ?"]),
            ("Rima has quit Rijkswaterstaat.", vec![]),
            ("Rima retires in May.", vec![]),
            ("Rima hasn't quit.", vec![]),
            ("Rima moved in.", vec![]),
            ("Rollo died on Sunday.", vec!["I OWNS Rollo"]),
            ("Mandarin got stolen.", vec!["I OWNS Mandarin"]),
            ("Our dog Rollo died.", vec!["I OWNS Rollo"]),
            ("My phone died.", vec![]),
        ] {
            assert_eq!(possible_ends(text), expected, "{text}");
        }
    }
}
