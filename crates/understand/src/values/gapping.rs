//! Values of further subjects that share the verb: "my dad is 70 and my mum 68", "Anna's birthday is 3 May, Ben's is 4 June".

use recall_domain::{EntityType, Polarity, ValueType};

use super::parse::digits;
use super::{Reading, ValueFrame, ValueRelation};
use crate::clauses::Clause;
use crate::phrases::{Chunk, ChunkKind};
use crate::reader::{Reader, Referent};

impl Reader<'_> {
    /// Reads "…, my brother 25" and "… and my dad a baker" after a subject with an age or an occupation.
    pub(super) fn read_gapped_values(&mut self, relation: &ValueRelation, clause: &Clause, frame: &ValueFrame) {
        let has_value = self
            .facts
            .facts
            .iter()
            .any(|f| f.relation == relation.name && f.value.is_some() && frame.subjects.iter().any(|s| s.party() == f.subject));
        if !has_value || frame.polarity != Polarity::Affirmed || self.phrases.verbs[clause.verb].lemma != "be" {
            return;
        }
        let chunk = |c: usize| self.phrases.chunks.get(c).copied();
        let separates = |c: &Chunk| matches!(c.kind, ChunkKind::Comma | ChunkKind::Conj | ChunkKind::Mark);
        let Some(mut c) = (clause.at + 2..self.phrases.chunks.len()).find(|&c| chunk(c).is_some_and(|c| separates(&c))) else { return };
        let mut pairs = Vec::new();
        while let Some(separator) = chunk(c) {
            if !separates(&separator) {
                break;
            }
            if let (Some(ChunkKind::Noun(subject)), Some(ChunkKind::Noun(value))) =
                (chunk(c + 1).map(|c| c.kind), chunk(c + 2).map(|c| c.kind))
            {
                let closes = |c: Chunk| separates(&c) || matches!(c.kind, ChunkKind::Other | ChunkKind::Adverb);
                if !chunk(c + 3).is_none_or(closes) {
                    break;
                }
                pairs.push((subject, value));
                c += 3;
            } else if chunk(c + 1).is_some_and(|c| separates(&c)) {
                c += 1;
            } else {
                break;
            }
        }
        for (subject, value) in pairs {
            self.read_gapped_value(relation, subject, value, frame.confidence);
        }
    }

    fn read_gapped_value(&mut self, relation: &ValueRelation, subject: usize, value: usize, confidence: f64) {
        let Some(referent) = self.referents[subject] else { return };
        let is_animal = matches!(referent, Referent::Entity(i, _) if self.registry.traits[i].animal);
        if self.type_of(referent).0 != EntityType::Person && !is_animal {
            return;
        }
        let (np, start) = (&self.phrases.nouns[value], self.phrases.nouns[subject].start);
        let frame = ValueFrame { subjects: vec![referent], polarity: Polarity::Affirmed, confidence: confidence * 0.9, start };
        let is_indefinite = np.determiner.is_some_and(|d| matches!(self.tokens[d].norm.as_str(), "a" | "an"));
        match relation.reading {
            Some(Reading::Age) if np.end == np.start + 1 => {
                if let Some(number) = digits(&self.tokens[np.start]) {
                    self.add_bare_age(relation, &frame, &number, np.end);
                }
            }
            Some(Reading::Occupation) if is_indefinite => {
                if let Some(job) = self.job_of_phrase(value) {
                    self.add_text(relation, &frame, &job, self.phrases.nouns[value].end);
                }
            }
            _ => {}
        }
    }

    /// Reads the value of other owners of the same noun after token `from`: "Ben's is 4 June", "mine is 5 July".
    pub(super) fn read_other_owners(&mut self, relation: &ValueRelation, label: &str, from: usize, text: &str) {
        if relation.types.contains(&ValueType::Text) {
            return;
        }
        for at in from..self.tokens.len() {
            let (owner, start) = if self.tokens[at].is("mine") {
                (Some(Referent::Speaker), at)
            } else if matches!(self.tokens[at].text.as_str(), "'s" | "’s") {
                let Some(n) = (0..self.phrases.nouns.len()).find(|&n| self.phrases.nouns[n].end == at) else { continue };
                (self.referents[n], self.phrases.nouns[n].start)
            } else {
                continue;
            };
            let opens = start.checked_sub(1).is_some_and(|k| matches!(self.tokens[k].norm.as_str(), "," | ";" | "and" | "but" | "while"));
            let Some(owner) = owner.filter(|_| opens) else { continue };
            let next = at + 1 + usize::from(self.tokens.get(at + 1).is_some_and(|t| t.lemma == "be"));
            let frame = ValueFrame { subjects: vec![owner], polarity: Polarity::Affirmed, confidence: 0.9, start };
            for (value, end) in self.values_at(relation, next, text) {
                let value = if relation.labels { super::nouns::labelled(value, label) } else { value };
                self.add_value(relation, &frame, &value, end);
            }
        }
    }
}
