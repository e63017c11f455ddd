//! How likely a message answers anything, whatever is asked: longer messages and those that name something say more, and
//! a message that asks seldom answers.

use super::rank::Tuning;
use recall_text::{ASKS, NAMES};

/// Names from which more make no difference.
const MOST_NAMES: u8 = 3;
/// Length in terms from which more makes no difference.
const LONG: f32 = 63.0;
const ASKS_BIT: u8 = 0x80;

/// The marks of one message, in a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Marks(u8);

impl Marks {
    /// Picks the marks from index terms.
    pub(super) fn of(terms: &[(String, u32)]) -> Self {
        let names = terms.iter().find(|(t, _)| t == NAMES).map_or(0, |(_, n)| u8::try_from(*n).unwrap_or(u8::MAX).min(MOST_NAMES));
        let asks = terms.iter().any(|(t, _)| t == ASKS);
        Self(names | if asks { ASKS_BIT } else { 0 })
    }

    /// What is added to the score of a message of this length in terms; less than nothing for a short question.
    pub(super) fn prior(self, length: f32, tuning: &Tuning) -> f32 {
        let names = f32::from(self.0 & !ASKS_BIT) / f32::from(MOST_NAMES);
        let length = (length.ln_1p() / LONG.ln_1p()).clamp(0.0, 1.0);
        let asks = if self.0 & ASKS_BIT == 0 { 0.0 } else { tuning.asks };
        tuning.names * names + tuning.length * length - asks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recall_text::index_terms;

    #[test]
    fn what_says_more_comes_first_and_what_asks_comes_last() {
        let prior = |text: &str| {
            let terms = index_terms(text);
            Marks::of(&terms).prior(terms.len() as f32, &Tuning::default())
        };
        let ordered =
            ["So nice?", "So nice!", "We finally went to that nice place again", "We finally went to Lisbon, and to Porto with Kate"];
        assert!(ordered.map(prior).is_sorted(), "{:?}", ordered.map(prior));
        assert!(Marks::of(&[]).prior(1e9, &Tuning::default()) <= Tuning::default().length);
    }
}
