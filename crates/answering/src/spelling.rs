//! Corrects typing errors of a question by the words of what was found.
//!
//! A word is corrected only if it is no word, nothing that was found has it, and one word of what was found differs by one error. So an unknown word is not
//! bent into another one, and names and numbers stay as they are.

use std::collections::{HashMap, HashSet};

use super::{
    lexicon::is_person_noun,
    words::{Word, singular, stem, words},
};
use recall_domain::{EntityType, Message, MessageKind, Role, UserText, context::Context};
use recall_text::{TypingError, may_be_mistyped, meant_words};

/// Most words of a question that are corrected.
const MAX_CORRECTED: usize = 3;
/// Beginnings and endings that make a word of another one: "untied", "mortgagee".
const PREFIXES: [&str; 14] = ["un", "re", "sub", "pre", "non", "over", "under", "dis", "mis", "out", "inter", "co", "self", "anti"];
const SUFFIXES: [&str; 12] = ["s", "es", "ed", "ing", "er", "or", "ee", "ly", "ness", "less", "ful", "ment"];
/// Fewest letters of the word that is left.
const LEAST_PREFIXED: usize = 3;
const LEAST_SUFFIXED: usize = 4;
/// Letters at the end of a word where another vowel makes another word: "stationery" is not "stationary".
const ENDING: usize = 4;
const VOWELS: &[u8] = b"aei";

/// Returns a question with its typing errors corrected; `None` if it has none. `is_listed` tells whether a word in small letters is a common one.
pub(super) fn correct(question: &str, context: &Context, is_listed: impl Fn(&str) -> bool) -> Option<String> {
    let doubtful = |word: &Word| is_plain(question, word) && !is_word(&word.plain, &is_listed);
    let doubtful: Vec<Word> = words(question).into_iter().filter(doubtful).collect();
    if doubtful.is_empty() {
        return None;
    }
    let told = ToldWords::of(context);
    let mut corrected = question.to_owned();
    let unknown = doubtful.into_iter().filter(|word| !told.all.contains(&word.plain) && !told.all.contains(&word.stem));
    let found: Vec<(Word, String)> =
        unknown.take(MAX_CORRECTED).filter_map(|word| told.meant_by(&word.plain, &is_listed).map(|meant| (word, meant))).collect();
    for (word, meant) in found.iter().rev() {
        let start = word.span.0;
        corrected.replace_range(start..start + word.plain.len(), meant);
    }
    (!found.is_empty()).then_some(corrected)
}

/// Whether a word of a question may have a typing error: it is in small letters, and no part of an address, a code or a quotation.
fn is_plain(question: &str, word: &Word) -> bool {
    let (start, end) = (word.span.0, word.span.0 + word.plain.len());
    let written = question.get(start..end).is_some_and(|written| written == word.plain);
    let before = question.get(..start).and_then(|before| before.chars().next_back());
    let after = question.get(end..).and_then(|after| after.chars().next());
    let is_open = before.is_none_or(|c| c.is_whitespace() || c == '(');
    let is_closed = after.is_none_or(|c| c.is_whitespace() || matches!(c, '?' | '!' | '.' | ',' | ';' | ':' | ')' | '\'' | '’'));
    written && may_be_mistyped(&word.plain) && is_open && is_closed
}

/// Whether a word is common, or made of a common one.
fn is_word(word: &str, is_listed: &impl Fn(&str) -> bool) -> bool {
    let is_known = |rest: &str, least: usize| rest.len() >= least && is_listed(rest);
    let is_base = |rest: &str| {
        let undoubled = || rest.strip_suffix(|c: char| rest.ends_with(&format!("{c}{c}")));
        is_known(rest, LEAST_SUFFIXED)
            || is_known(&format!("{rest}e"), LEAST_SUFFIXED)
            || undoubled().is_some_and(|rest| is_known(rest, LEAST_SUFFIXED))
    };
    let is_prefixed = || PREFIXES.iter().filter_map(|prefix| word.strip_prefix(prefix)).any(|rest| is_known(rest, LEAST_PREFIXED));
    is_listed(word) || is_prefixed() || SUFFIXES.iter().filter_map(|suffix| word.strip_suffix(suffix)).any(is_base)
}

/// The words of what was found.
#[derive(Default)]
struct ToldWords {
    /// All words, and their stems.
    all: HashSet<String>,
    /// Words that are no names.
    common: HashSet<String>,
    /// Words with a capital at the beginning of a sentence, a line or a cell, which may be names.
    headings: HashSet<String>,
    /// Words with a capital within a sentence.
    capitalised: HashSet<String>,
    /// Words of the names of entities.
    names: HashSet<String>,
}

impl ToldWords {
    fn of(context: &Context) -> Self {
        let mut told = Self::default();
        // Questions repeat the errors of the ones before, and answers those of questions.
        let tells = |m: &Message| m.role != Role::Assistant && m.kind != Some(MessageKind::Question);
        for message in context.messages.iter().map(|m| &m.message).filter(|m| tells(m)) {
            told.add(message.text.as_str());
        }
        for found in &context.chunks {
            let texts =
                [Some(&found.chunk.text), found.chunk.heading.as_ref(), found.document.title.as_ref(), Some(&found.document.filename)];
            texts.into_iter().flatten().map(UserText::as_str).for_each(|text| told.add(text));
        }
        let entities = context.entities.iter().chain(context.facts.iter().flat_map(|f| [&f.subject, &f.object]));
        for entity in entities {
            for word in std::iter::once(&entity.name).chain(&entity.aliases).flat_map(|name| words(name)) {
                // "The tenant" and "Deposit" are entities as well.
                let is_name = match entity.entity_type {
                    EntityType::Person => !is_person_noun(&word.plain),
                    _ => word.capital && !told.common.contains(&word.plain),
                };
                if is_name {
                    told.names.insert(word.plain.clone());
                }
                told.all.extend([word.plain, word.stem]);
            }
        }
        told.headings.retain(|word| !told.capitalised.contains(word));
        told
    }

    fn add(&mut self, text: &str) {
        const DETERMINERS: [&str; 12] = ["the", "a", "an", "this", "that", "any", "each", "every", "no", "your", "our", "their"];
        let mut before = String::new();
        for word in words(text) {
            if may_be_mistyped(&word.plain) {
                // "The Tenant pays the Deposit": contracts write what they define with a capital.
                if !word.capital || DETERMINERS.contains(&before.as_str()) {
                    self.common.insert(word.plain.clone());
                } else if text
                    .get(..word.span.0)
                    .is_none_or(|text| text.trim_end_matches(' ').ends_with(['\n', '|', '-', '•', '.', '!', '?', ':']) || text.is_empty())
                {
                    self.headings.insert(word.plain.clone());
                } else {
                    self.capitalised.insert(word.plain.clone());
                }
            }
            self.all.insert(word.stem);
            before.clone_from(&word.plain);
            self.all.insert(word.plain);
        }
    }

    /// Returns the only word that a mistyped one may stand for. With the same error, it may stand for no other.
    fn meant_by(&self, typed: &str, is_listed: &impl Fn(&str) -> bool) -> Option<String> {
        let meant = meant_words(typed);
        let may_be_meant = |word: &str, error: TypingError| {
            self.has_form(word, is_listed) && !(error == TypingError::Replaced && has_other_ending(typed, word))
        };
        let forms: HashMap<String, TypingError> = meant.into_iter().filter(|(word, error)| may_be_meant(word, *error)).collect();
        // A name is nearer to others than common words are.
        let is_sure = |(word, error): &(&String, &TypingError)| **error < TypingError::Replaced || self.has_common_form(word);
        let best = forms.iter().filter(is_sure).map(|(_, error)| *error).min()?;
        let mut nearest: Vec<&String> = forms.iter().filter(is_sure).filter(|(_, error)| **error == best).map(|(word, _)| word).collect();
        nearest.sort();
        let stems: HashSet<String> = nearest.iter().map(|word| stem(word)).collect();
        nearest.first().filter(|_| stems.len() == 1).map(|word| (*word).clone())
    }

    fn has_form(&self, word: &str, is_listed: &impl Fn(&str) -> bool) -> bool {
        let is_heading = || is_listed(word) && forms(word).iter().any(|form| self.headings.contains(form));
        !forms(word).iter().any(|form| self.names.contains(form)) && (self.has_common_form(word) || is_heading())
    }

    fn has_common_form(&self, word: &str) -> bool {
        forms(word).iter().any(|form| self.common.contains(form))
    }
}

/// Whether two words of the same length differ by a vowel at the end.
fn has_other_ending(typed: &str, meant: &str) -> bool {
    let mut letters = typed.bytes().zip(meant.bytes()).enumerate();
    let is_vowel = |letter: u8| VOWELS.contains(&letter);
    letters.any(|(at, (a, b))| a != b && at + ENDING >= typed.len() && is_vowel(a) && is_vowel(b))
}

/// Returns a noun with and without the ending of the plural.
fn forms(word: &str) -> [String; 3] {
    [word.to_owned(), singular(word).to_owned(), format!("{word}s")]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::LazyLock;

    use recall_embedding::LocalEmbedder;

    use super::*;
    use crate::tests::TestMemory;

    static EMBEDDER: LazyLock<LocalEmbedder> = LazyLock::new(|| LocalEmbedder::load().unwrap());

    fn told(text: &str) -> Context {
        let mut memory = TestMemory { entities: Vec::new(), facts: Vec::new(), messages: Vec::new() };
        memory.add_message(None, text);
        Context { messages: memory.messages, ..Context::default() }
    }

    const LEASE: &str = "Deposit: the Tenant pays the security deposit of €2,700.\nThe Warranty lasts two years. Reminders cost €5. Ask Marlene Kehrer.\n\
        Electricity | €40\nThe laundry may be used. The insurance is separate.";

    fn corrected(question: &str) -> Option<String> {
        correct(question, &told(LEASE), |word| EMBEDDER.knows(word))
    }

    #[test]
    fn typing_errors_are_corrected_by_the_words_of_what_was_found() {
        for (question, expected) in [
            ("How much is the depsoit?", "How much is the deposit?"),
            ("how much is the seccurity depsit", "how much is the security deposit"),
            ("How much is electrcity, please?", "How much is electricity, please?"),
            ("How long is the waranty?", "How long is the warranty?"),
            ("How much is a remnider?", "How much is a reminder?"),
            ("What does the tennant pay?", "What does the tenant pay?"),
            ("Is the insurance seperate?", "Is the insurance separate?"),
        ] {
            assert_eq!(corrected(question).as_deref(), Some(expected), "{question}");
        }
    }

    #[test]
    fn words_names_and_numbers_are_not_corrected() {
        for question in [
            "How much is the deposit?",
            // Words that the lease does not have.
            "Is there a sublet?",
            "Who is the mortgagee?",
            "What is unpaid?",
            "Who is the tenement for?",
            // Names, codes and quotations.
            "What is Depsoit?",
            "Ask marlena?",
            "What is depsoit.pdf?",
            "What is depsoit-2?",
            "Who wrote “depsoit”?",
            "What is depso1t?",
            // The first letter is another one.
            "How much is the edposit?",
            // Two errors.
            "How much is the depsoti?",
        ] {
            assert_eq!(corrected(question), None, "{question}");
        }
    }

    #[test]
    fn word_that_was_told_is_kept_and_one_that_was_only_asked_is_not() {
        let mut context = told("My depsoit is a pet name.");
        context.messages.extend(told("I paid the deposit.").messages);
        let correct = |context: &Context| correct("Where is the depsoit?", context, |word| EMBEDDER.knows(word));
        assert_eq!(correct(&context), None);
        context.messages[0].message.kind = Some(MessageKind::Question);
        assert_eq!(correct(&context).as_deref(), Some("Where is the deposit?"));
    }

    #[test]
    fn names_take_the_place_of_no_word() {
        let correct = |question: &str, context: &Context| correct(question, context, |word| !matches!(word, "elissa" | "landlrod"));
        let mut context = told("elisa lives in Linz. The landlord is away.");
        context.entities.push(crate::tests::person("Elisa"));
        assert_eq!(correct("where does elissa live", &context), None);
        assert_eq!(correct("where is the landlrod", &context).as_deref(), Some("where is the landlord"));
        let context = told("Elisa lives in Linz. We met Elisa.");
        assert_eq!(correct("where does elissa live", &context), None);
    }

    #[test]
    fn word_with_another_ending_is_kept() {
        let correct = |question: &str| correct(question, &told("The stationary bike is separate."), |word| !word.starts_with('s'));
        assert_eq!(correct("Where is the stationery?"), None);
        assert_eq!(correct("Is the bike seperate?").as_deref(), Some("Is the bike separate?"));
    }

    #[test]
    fn word_that_may_stand_for_two_is_kept() {
        let correct = |told_text: &str| correct("What is a borad?", &told(told_text), |word| word != "borad");
        assert_eq!(correct("The board has a beard.").as_deref(), Some("What is a board?"));
        assert_eq!(correct("A broad and a board.").as_deref(), None);
    }
}
