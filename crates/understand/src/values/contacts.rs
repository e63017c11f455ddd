//! Contacts without a noun: "you can reach me at ann@example.org", "call me on 0171 2345678".

use recall_domain::Polarity;

use super::{Reading, ValueFrame, ValueRelation};
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
}
