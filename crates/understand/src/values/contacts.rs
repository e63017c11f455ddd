//! New contacts, and contacts without a noun: "got a new number, 0171 2345678", "you can reach me at ann@example.org", "call me on 0171 2345678".

use recall_domain::{Polarity, ValueType};

use super::{Reading, ValueFrame, ValueRelation};
use crate::clauses::Clause;
use crate::phrases::Possessor;
use crate::reader::{Reader, Referent};

impl Reader<'_> {
    /// Reads "reach me at …", "email me at …", "call me on …".
    pub(super) fn read_reachable(&mut self, relation: &ValueRelation, text: &str) {
        let verbs: &[&str] = match relation.reading {
            Some(Reading::Email) => &["reach", "email", "e-mail", "mail", "write", "contact", "ping"],
            _ => &["reach", "call", "phone", "ring", "text", "contact", "ping"],
        };
        for i in 0..self.tokens.len().saturating_sub(3) {
            let word = |k: usize, list: &[&str]| list.contains(&self.tokens[k].norm.as_str());
            let lemma = verbs.contains(&self.tokens[i].lemma.as_str()) || word(i, verbs);
            if !lemma || !word(i + 1, &["me"]) || !word(i + 2, &["at", "on", "under", "via"]) {
                continue;
            }
            if let Some((value, end)) = self.contact_at(relation, i + 3, text) {
                let frame = ValueFrame { subjects: vec![Referent::Speaker], polarity: Polarity::Affirmed, confidence: 0.95, start: i };
                self.add_value(relation, &frame, &value, end);
            }
        }
    }

    /// Returns the owner of a contact that is told as new, and the token of the value: "got a new number, 0171 …", "new email: ann@…".
    pub(super) fn new_contact(&self, relation: &ValueRelation, n: usize, end: usize, clauses: &[Clause]) -> Option<(ValueFrame, usize)> {
        let np = &self.phrases.nouns[n];
        let is_new = self.tokens[np.start..end].iter().any(|t| t.is("new")) && np.possessor == Possessor::Unmarked;
        if !relation.types.contains(&ValueType::Contact) {
            return None;
        }
        let frame = match clauses.iter().find(|c| self.phrases.verbs[c.verb].end == np.start) {
            Some(clause) => {
                let is_told = match self.phrases.verbs[clause.verb].lemma.as_str() {
                    "have" | "get" => is_new,
                    // "I changed my number, it's …"
                    "change" | "update" => np.possessor == Possessor::Speaker,
                    _ => false,
                };
                self.value_frame(clause).filter(|f| is_told && f.polarity == Polarity::Affirmed)?
            }
            None if np.start == 0 && is_new => {
                ValueFrame { subjects: vec![Referent::Speaker], polarity: Polarity::Affirmed, confidence: 0.9, start: 0 }
            }
            None => return None,
        };
        let is = |k: usize, words: &[&str]| self.tokens.get(k).is_some_and(|t| words.contains(&t.norm.as_str()));
        let end = end + usize::from(is(end, &["now"]));
        if !is(end, &[",", ":", ";", "-", "–", "—", "(", ".", "is"]) {
            return None;
        }
        let it = if is(end + 1, &["it"]) && is(end + 2, &["is", "'s"]) { 2 } else { 0 };
        Some((frame, end + 1 + it))
    }
}
