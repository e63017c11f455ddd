//! Reads a question with what the index knows: the speakers that it names, and the words that it has with typing errors.

use std::collections::HashSet;

use super::{UserIndex, VIEWER};
use recall_domain::FirstPerson;
use recall_ports::IndexQuery;
use recall_text::{TypingError, may_be_mistyped, meant_words, terms, words};

/// Most unknown words of a question for which others are looked up, and most terms for each.
const MAX_UNKNOWN: usize = 3;
const MAX_MEANT: usize = 3;
/// Rows of a term that are looked at. With more, it is known.
const MAX_ROWS: usize = 64;

impl UserIndex {
    /// Returns the speakers that a question names, by a word of their name or by "I".
    pub(super) fn named_speakers(&self, text: &str, words: &[String]) -> Vec<u32> {
        let first_person =
            text.split(|c: char| !c.is_alphanumeric()).any(|w| FirstPerson::of(&w.to_lowercase()).is_some_and(|p| !p.plural));
        let by_name = self.speaker_names.iter().enumerate().filter(|(_, name)| name.iter().any(|part| words.contains(part)));
        let mut named: Vec<u32> = by_name.filter_map(|(i, _)| u32::try_from(i).ok()).collect();
        if first_person {
            named.push(VIEWER);
        }
        named
    }

    /// Returns the terms that are meant by words of a question with typing errors: those that are one error away from a word that no text has.
    pub(super) fn meant_terms(&self, query: &IndexQuery, other: Option<&Self>) -> Vec<String> {
        let is_told = |term: &str| self.is_told(term, query) || other.is_some_and(|other| other.is_told(term, query));
        let unknown = words(&query.text).filter(|(term, written)| may_be_mistyped(written) && !is_told(term)).take(MAX_UNKNOWN);
        let mut found: Vec<String> = Vec::new();
        for (_, written) in unknown {
            let term_of = |word: &str| terms(word).into_iter().next().map(|(term, _)| term);
            let meant = meant_words(written).into_iter().filter_map(|(word, error)| Some((error, term_of(&word)?)));
            let meant: Vec<(TypingError, String)> = meant.filter(|(_, term)| is_told(term)).collect();
            found.extend(most_certain(meant));
        }
        let mut seen = HashSet::new();
        found.retain(|term| seen.insert(term.clone()));
        found
    }

    /// Whether a text has a term. Questions repeat the errors of the ones before.
    fn is_told(&self, term: &str, query: &IndexQuery) -> bool {
        let asked = query.exclude.and_then(|id| self.rows_by_id.get(&id));
        let entries = self.postings.entries(term);
        let tells = |row: u32| Some(&row) != asked && !self.marks.get(row as usize).is_some_and(|marks| marks.is_question());
        entries.len() > MAX_ROWS || entries.iter().any(|entry| self.is_chunk(entry.row()) || tells(entry.row()))
    }
}

/// Returns the terms with the most certain errors, each once: "separated" and "separate" are one term.
fn most_certain(mut meant: Vec<(TypingError, String)>) -> impl Iterator<Item = String> {
    meant.sort_by(|(error, term), (other_error, other)| (term, error).cmp(&(other, other_error)));
    meant.dedup_by(|later, kept| later.1 == kept.1);
    meant.sort();
    meant.into_iter().map(|(_, term)| term).take(MAX_MEANT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meant_term_counts_once_with_its_most_certain_error() {
        use TypingError::{Doubled, Dropped, Replaced, Swapped};
        let meant = [(Swapped, "b"), (Dropped, "a"), (Doubled, "b"), (Replaced, "a"), (Replaced, "c"), (Replaced, "d")];
        let meant = meant.map(|(error, term)| (error, term.to_owned())).to_vec();
        assert_eq!(most_certain(meant).collect::<Vec<_>>(), ["b", "a", "c"]);
    }
}
