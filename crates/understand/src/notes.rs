//! Keeps a statement that states no fact as a note about what it names: "Leo plays the drums on Tuesdays".

use recall_domain::{CandidateFact, CandidateValue, FactValue, Polarity, Span};

use super::clauses::{Clause, Subject};
use super::corrections::has_value;
use super::message_kind::SpeechAct;
use super::reader::{Reader, Referent};
use super::records::is_record;

/// Confidence of a note: nobody has checked what it says.
const CONFIDENCE: f64 = 0.6;
/// Most entities that a note is about.
const MAX_SUBJECTS: usize = 3;
/// Most notes of one message.
const MAX_NOTES: usize = 8;
/// Least words of a note.
const LEAST_WORDS: usize = 3;

impl Reader<'_> {
    /// Adds the sentence as a note if it tells something and states no fact. What the speaker asks to remember is always a note, about the
    /// speaker if it names nothing. `text` is the original message.
    pub(crate) fn read_note(&mut self, clauses: &[Clause], act: SpeechAct, is_ordered: bool, text: &str) {
        let Some(relation) = &self.cues.note else { return };
        let tells = is_ordered || matches!(act, SpeechAct::SelfStatement | SpeechAct::Statement);
        if !tells || self.tokens.len() < LEAST_WORDS || self.facts.notes >= MAX_NOTES {
            return;
        }
        let span = self.span(0, self.tokens.len());
        let words: String = text.chars().skip(span.start as usize).take((span.end - span.start) as usize).collect();
        let value = FactValue::of_text(words.trim());
        // Cleaning may have added a token at the end: a code block that is not closed.
        let span = Span { end: span.start + u32::try_from(words.chars().count()).unwrap_or(0), ..span };
        if !value.is_valid() || span.start >= span.end {
            return;
        }
        let mut subjects = self.subjects_of_note(clauses);
        if subjects.is_empty() && (is_ordered || self.tells_own_value(clauses, words.trim())) {
            subjects.push(Referent::Speaker);
        }
        for subject in subjects {
            if let Referent::Entity(i, _) = subject {
                self.registry.kept[i] = true;
            }
            self.facts.facts.push(CandidateFact {
                subject: subject.party(),
                relation: relation.clone(),
                object: subject.party(),
                value: Some(CandidateValue::Note(value.clone())),
                polarity: Polarity::Affirmed,
                confidence: CONFIDENCE,
                span,
            });
        }
        self.facts.notes += 1;
    }

    /// Whether a clause tells a date, a time or a number of something of the speaker, or a record: "My dentist appointment is on Monday".
    fn tells_own_value(&self, clauses: &[Clause], text: &str) -> bool {
        let is_own = |c: &Clause| match &c.subject {
            Subject::Nouns(nouns) => nouns.iter().any(|&n| self.possessor(n) == Some(Referent::Speaker)),
            _ => false,
        };
        let is_told = clauses.iter().any(|c| !c.unasserted && is_own(c)) && has_value(text);
        is_told || clauses.iter().any(|c| is_record(self.tokens, self.phrases, c))
    }

    /// Returns the speaker if a clause is about them, and what the sentence names.
    fn subjects_of_note(&self, clauses: &[Clause]) -> Vec<Referent> {
        let named = |referent: &Referent| match *referent {
            Referent::Speaker => true,
            Referent::Entity(i, _) => self.registry.named[i] || self.registry.kept[i],
        };
        let mut subjects: Vec<Referent> = Vec::new();
        for referent in clauses
            .iter()
            .flat_map(|c| self.subjects_of(c))
            .chain(self.referents.iter().flatten().filter(|r| **r != Referent::Speaker).copied())
        {
            let known = subjects.iter().any(|s| s.party() == referent.party());
            if !known && named(&referent) && subjects.len() < MAX_SUBJECTS {
                subjects.push(referent);
            }
        }
        subjects
    }
}
