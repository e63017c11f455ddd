//! Finds ends that count only if the fact is known: "Rima has quit", "he moved out on Saturday", "we broke up", "Rollo died".
//!
//! The cue is an ending verb whose preposition and object are missing ("retire from"), or a verb of ceasing whose subject somebody owns.
//! The crate `facts` looks up what has ended.

use recall_domain::{EntityType, Polarity, PossibleEnd, Span};

use super::clauses::{Clause, Subject};
use super::cue_matching::preposition;
use super::cues::{Cue, Effect, Rel};
use super::lexicon::lexicon;
use super::mentions::{self, WEAK};
use super::phrases::{ChunkKind, VerbGroup};
use super::reader::{FactDraft, Reader, Referent};
use super::verbal::Frame;

/// Subjects that stand for a person who is not known.
const STRANGERS: &[&str] = &["someone", "somebody", "they", "thieves", "burglars", "thief", "burglar"];
/// Confidence that a stolen thing was not given back.
const THEFT_CONFIDENCE: f64 = 0.9;
/// Particles that make another verb.
const PARTICLES: &[&str] = &["away", "back", "by", "down", "off", "out", "over", "through", "up"];
/// Most particles of a verb.
const MAX_PARTICLES: usize = 2;

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
        // "Passed away" is another verb than "passed on".
        if self.tokens.get(k).is_some_and(|t| PARTICLES.contains(&t.norm.as_str())) {
            return false;
        }
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

    /// Adds that what a person has one of at a time ends with the life: a home, a job.
    fn add_ends_of_life(&mut self, person: Referent, confidence: f64, span: Span) -> bool {
        let is_of_life = |r: &Rel| (r.functional || r.successive) && r.subject_types == [EntityType::Person] && !r.object_types.is_empty();
        let relations: Vec<usize> = (0..self.cues.relations.len()).filter(|&r| is_of_life(&self.cues.relations[r])).collect();
        let ends = relations.into_iter().map(|relation| self.add_possible_end(relation, person, None, confidence, span));
        ends.fold(false, |any, added| any | added)
    }

    /// Whether a verb is of a class, with the words after it if it has particles: "pass away", "put to sleep".
    pub(super) fn is_of_class(&self, class: &str, g: &VerbGroup) -> bool {
        let mut words = g.lemma.clone();
        let mut particles = self.tokens.iter().skip(g.main + 1).take(MAX_PARTICLES);
        loop {
            if lexicon().in_set(class, &words) {
                return true;
            }
            let Some(particle) = particles.next() else { return false };
            words = format!("{words} {}", particle.norm);
        }
    }

    /// Adds that something is given up that the subject may have: "gave up the allotment". A possession counts, if it is known.
    pub(super) fn read_renouncement(&mut self, clause: &Clause, cue: &Cue, g: &VerbGroup, frame: &Frame) -> bool {
        if cue.effect != Effect::Ends || frame.polarity != Polarity::Affirmed || !self.is_of_class("renouncing", g) {
            return false;
        }
        let mut nouns = (clause.at..clause.end).filter_map(|c| match self.phrases.chunks[c].kind {
            ChunkKind::Noun(n) if self.phrases.chunks[c].start >= g.end => Some(n),
            _ => None,
        });
        let Some(n) = nouns.next() else { return false };
        let (np, rel) = (&self.phrases.nouns[n], &self.cues.relations[cue.relation]);
        let is_definite = np.determiner.is_some_and(|d| self.tokens[d].is("the"));
        let Some(object) = self.referents[n].filter(|r| is_definite && self.is_possession(rel, *r)) else { return false };
        let span = self.span(frame.start, np.end);
        let mut any = false;
        for &subject in &frame.subjects {
            any |= self.add_possible_end(cue.relation, subject, Some(object), frame.confidence, span);
        }
        any
    }

    /// Adds that something was taken away by a person who is not named: "someone stole my canoe".
    pub(super) fn read_theft(&mut self, clause: &Clause) {
        let g = self.phrases.verbs[clause.verb].clone();
        let of_stranger = |n: &usize| STRANGERS.contains(&self.tokens[self.phrases.nouns[*n].head].norm.as_str());
        let is_stranger = matches!(&clause.subject, Subject::Nouns(nouns) if nouns.iter().all(of_stranger));
        let happened = !g.negated && !g.almost && !g.progressive && !g.passive && g.modal.is_none();
        if !is_stranger || !happened || self.is_found_again(&g) || !self.is_of_class("stealing", &g) {
            return;
        }
        let Some(relation) = self.cues.relations.iter().position(|r| !r.possessed.is_empty()) else { return };
        let object = (clause.at + 1..clause.end).find_map(|c| match self.phrases.chunks[c].kind {
            ChunkKind::Noun(n) => Some(n),
            _ => None,
        });
        let Some((n, object, owner)) = object.and_then(|n| Some((n, self.referents[n]?, self.possessor(n)?))) else { return };
        let span = self.span(clause.start_token, self.phrases.nouns[n].end);
        self.add_possible_end(relation, owner, Some(object), THEFT_CONFIDENCE, span);
    }

    /// Adds that a named thing or an animal is gone: "Rollo died", "our dog died", "Mandarin got stolen". Without an owner in the text, it may
    /// have been the speaker's.
    pub(super) fn read_loss(&mut self, clause: &Clause, g: &VerbGroup, frame: &Frame) -> bool {
        let lost_by_others = g.passive && self.is_of_class("losing", g);
        let is_stray = self.is_of_class("straying", g) && !self.is_found_again(g);
        let lost = lost_by_others || is_stray || self.is_of_class("ceasing", g);
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
            let (entity_type, strength) = self.type_of(object);
            if entity_type == EntityType::Person && strength >= WEAK && !g.passive && !is_stray {
                any |= self.add_ends_of_life(object, frame.confidence, span);
            }
            // What breaks is still there: "my Tesla died".
            let is_animal = self.registry.traits[i].animal;
            let rel = &self.cues.relations[relation];
            // "My Tesla": the company makes what one owns.
            let name = self.registry.mentions[i].name.to_lowercase();
            let is_named_thing = owner.is_some() && lexicon().get(&name).iter().any(|e| rel.possessed.iter().any(|p| p == e.group.file()));
            let is_listed = (is_named_thing || self.is_possession(rel, object)) && entity_type != EntityType::Person;
            let is_lifeless = (is_listed || strength >= WEAK && entity_type != EntityType::Person) && !is_animal;
            if !lost_by_others && (is_lifeless || is_stray && !is_animal) {
                continue;
            }
            // "My laptop got stolen": whose it is, the text says.
            let is_taken = lost_by_others && is_listed;
            if self.registry.named[i] || owner.is_some() && (is_taken || is_animal) {
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
            ("My boss Otilia retired last month.", vec!["Otilia WORKS_FOR ?", "Otilia OCCUPATION ?"]),
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
            ("my laptop got stolen", vec!["I OWNS laptop"]),
            ("my bike was stolen last month so I bought a scooter", vec!["I OWNS bike"]),
            ("The laptop got stolen.", vec![]),
            ("Our dog Rollo died.", vec!["I OWNS Rollo"]),
            ("My phone died.", vec![]),
            ("My Tesla died this morning.", vec![]),
            ("Tinka passed away last night.", vec!["I OWNS Tinka"]),
            ("Rollo had to be put to sleep.", vec!["I OWNS Rollo"]),
            ("Our cat passed away.", vec!["I OWNS cat"]),
            ("Rollo passed the exam.", vec![]),
            ("Rollo would have had to be put to sleep.", vec![]),
            ("We gave up the boat.", vec!["I OWNS boat"]),
            ("We gave up the search.", vec![]),
            ("I dropped the car at the garage.", vec![]),
            ("Someone stole my canoe.", vec!["I OWNS canoe"]),
            ("They nicked my bike last night.", vec!["I OWNS bike"]),
            ("Grandpa passed away.", vec!["Grandpa WORKS_FOR ?", "Grandpa LIVES_IN ?"]),
            ("My cat Miso ran away.", vec!["I OWNS Miso"]),
            ("My budgie Kiki flew away last week.", vec!["I OWNS Kiki"]),
            ("Our dog escaped.", vec!["I OWNS dog"]),
            ("Our dog ran away but we found him.", vec![]),
            ("My brother ran away.", vec![]),
            ("I took the Vespa back to the shop.", vec!["I OWNS Vespa"]),
            ("Brought my laptop back to the store.", vec!["I OWNS laptop"]),
            ("I took the Vespa back to the garage.", vec![]),
            ("I took the Vespa back to the shop for repair.", vec![]),
            ("Ben retired last year.", vec!["Ben WORKS_FOR ?", "Ben OCCUPATION ?"]),
            ("My dad is retired.", vec!["dad WORKS_FOR ?", "dad OCCUPATION ?"]),
            ("Ben retired his old laptop.", vec![]),
            ("Kim became a doctor.", vec!["Kim OCCUPATION ?"]),
            ("I retrained, I'm a teacher now.", vec!["I OCCUPATION ?"]),
            ("I'm a teacher.", vec![]),
            ("Somebody almost stole my canoe.", vec![]),
            ("Someone stole a canoe.", vec![]),
        ] {
            assert_eq!(possible_ends(text), expected, "{text}");
        }
    }
}
