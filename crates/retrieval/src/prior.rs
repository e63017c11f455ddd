//! The part of a message's score that does not depend on the question.
//!
//! Longer messages and messages with names say more. A message that is a question seldom answers one. A question to the
//! server and its answer count least: they repeat the next question and what other texts tell.

use super::rank::Tuning;
use recall_text::{ASKS, CONSULTS, NAMES};

/// Number of names above which more make no difference.
const MOST_NAMES: u8 = 3;
/// Length in terms above which more makes no difference.
const LONG: f32 = 63.0;
const ASKS_BIT: u8 = 0x80;
const CONSULTS_BIT: u8 = 0x40;

/// The marks of one message in one byte: the number of names, whether it is a question, and whether it is one to the server or its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Marks(u8);

impl Marks {
    /// Reads the marks from index terms.
    pub(super) fn of(terms: &[(impl AsRef<str>, u32)]) -> Self {
        let names = terms.iter().find(|(t, _)| t.as_ref() == NAMES).map_or(0, |(_, n)| u8::try_from(*n).unwrap_or(u8::MAX).min(MOST_NAMES));
        let bit = |mark: &str, bit: u8| if terms.iter().any(|(t, _)| t.as_ref() == mark) { bit } else { 0 };
        Self(names | bit(ASKS, ASKS_BIT) | bit(CONSULTS, CONSULTS_BIT))
    }

    /// Whether the message is a question, or a question to the server or its answer.
    pub(super) fn is_question(self) -> bool {
        self.0 & (ASKS_BIT | CONSULTS_BIT) != 0
    }

    /// Returns the prior of a message with `length` terms. It is negative for a short question, and for one to the server.
    pub(super) fn prior(self, length: f32, tuning: &Tuning) -> f32 {
        let names = f32::from(self.0 & !(ASKS_BIT | CONSULTS_BIT)) / f32::from(MOST_NAMES);
        let length = (length.ln_1p() / LONG.ln_1p()).clamp(0.0, 1.0);
        let penalty = |bit: u8, penalty: f32| if self.0 & bit == 0 { 0.0 } else { penalty };
        tuning.names * names + tuning.length * length - penalty(ASKS_BIT, tuning.asks) - penalty(CONSULTS_BIT, tuning.consults)
    }
}

/// Returns the prior of a chunk, between those of a short and of a long message. All chunks are long, and few have no names.
pub(super) fn of_chunk(tuning: &Tuning) -> f32 {
    tuning.length / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use recall_text::index_terms;

    #[test]
    fn informative_messages_score_above_short_ones_and_questions() {
        let prior = |text: &str| {
            let terms = index_terms(text);
            Marks::of(&terms).prior(terms.len() as f32, &Tuning::default())
        };
        let ordered =
            ["So nice?", "So nice!", "We finally went to that nice place again", "We finally went to Lisbon, and to Porto with Kate"];
        assert!(ordered.map(prior).is_sorted(), "{:?}", ordered.map(prior));
        let mut to_the_server = index_terms("Which nice place in Lisbon did we finally go to with Kate and Tom?");
        to_the_server.push((CONSULTS.to_owned(), 1));
        assert!(Marks::of(&to_the_server).prior(13.0, &Tuning::default()) < prior("So nice?") - 0.2);
        assert!(Marks::default().prior(1e9, &Tuning::default()) <= Tuning::default().length);
    }
}
