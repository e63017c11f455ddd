//! Names groups of texts by the words that tell them from the other groups. Pure.
//!
//! A word counts for more the more often its group has it, and for less the more often all groups have it (class-based TF-IDF; M.
//! Grootendorst, "BERTopic", 2022). Only words that people read may name a group: no keys, hashes, addresses and names of code.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::LazyLock,
};

use recall_text::words;

/// Words of a name, and terms that are kept to compare topics.
const NAMED: usize = 3;
const KEPT: usize = 5;
/// Shortest word of a name that is written with ASCII letters, and the longest one. Longer ones are data.
const MIN_ASCII: usize = 3;
const MAX_LETTERS: usize = 40;
/// Longest abbreviation: a word in capitals that needs no vowel.
const ABBREVIATION: usize = 5;
/// Most consonants in a row: "Knightsbridge" has six.
const CONSONANTS: usize = 6;
/// Capitalised parts of a word from which on it is a name of code: "GitHub" has two, "HttpClientFactory" three.
const CODE_PARTS: usize = 3;
/// Length of a word of the letters a to f from which on it is a hexadecimal number.
const HEXADECIMAL: usize = 8;

/// Words that are frequent in texts about anything, besides those that are no index terms.
static COMMON: LazyLock<HashSet<&str>> = LazyLock::new(|| COMMON_WORDS.split(' ').collect());
const COMMON_WORDS: &str = "above actually after again ago all almost already also always another any anyone anything around ask asked away back because \
    before below best better between both bring came cannot come comes day days different don't done down during each either else \
    end enough etc even ever every everyone everything example far few find first found full gave get gets getting give given go \
    goes going gone good got great hello help here hey high however i'd i'll i'm i've instead it's keep kept kind knew know known \
    knows large last later least left less let like little long look looking lot made make makes making many may maybe mean might \
    more most much must need needed needs never new next nice no not nothing now off often okay old once one only other others out \
    over own part people per please put quite rather really right said same saw say says second see seen set several shall should \
    since small some someone something soon still sure take taken takes tell thank thanks that's thing things think third thought \
    three through time times today together told tomorrow took try two under until up upon use used uses using usually very want \
    wanted wants way ways week weeks well went whether while whole within without work works yeah year years yes yesterday yet";

/// The name of a group, and the index terms that are characteristic of it, strongest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) terms: Vec<String>,
}

/// A term of a group.
#[derive(Default)]
struct Term {
    weight: f64,
    /// How often each of its written forms occurs.
    forms: BTreeMap<String, u32>,
}

/// Returns the names of groups; `None` for a group without a word that could name it.
pub(super) fn names(groups: &[Vec<&str>]) -> Vec<Option<Named>> {
    let counted: Vec<BTreeMap<String, Term>> = groups.iter().map(|texts| count(texts)).collect();
    let mut everywhere: HashMap<&str, f64> = HashMap::new();
    for (term, counted) in counted.iter().flatten() {
        *everywhere.entry(term).or_default() += counted.weight;
    }
    let total: f64 = counted.iter().flat_map(BTreeMap::values).map(|term| term.weight).sum();
    let average = total / (groups.len().max(1) as f64);
    let named = |terms: &BTreeMap<String, Term>| {
        let weigh = |(term, counted): (&String, &Term)| {
            let all = everywhere.get(term.as_str()).copied().unwrap_or(counted.weight);
            (counted.weight * (1.0 + average / all).ln(), term.clone(), written(&counted.forms))
        };
        let mut weighed: Vec<(f64, String, String)> = terms.iter().map(weigh).collect();
        weighed.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let words: Vec<&str> = weighed.iter().take(NAMED).map(|(_, _, word)| word.as_str()).collect();
        let name = words.join(", ");
        (!name.is_empty()).then(|| Named { name, terms: weighed.iter().take(KEPT).map(|(_, term, _)| term.clone()).collect() })
    };
    counted.iter().map(named).collect()
}

/// Counts the terms of texts. A text that repeats a word counts it for less than several texts do.
fn count(texts: &[&str]) -> BTreeMap<String, Term> {
    let mut counted: BTreeMap<String, Term> = BTreeMap::new();
    for text in texts {
        let mut here: BTreeMap<String, u32> = BTreeMap::new();
        let prose = text.split_whitespace().filter(|token| is_prose(token));
        for (term, word) in prose.flat_map(words).filter(|(_, word)| may_name(word)) {
            *counted.entry(term.clone()).or_default().forms.entry(word.to_owned()).or_default() += 1;
            *here.entry(term).or_default() += 1;
        }
        for (term, count) in here {
            counted.entry(term).or_default().weight += 1.0 + f64::from(count).ln();
        }
    }
    counted
}

/// Whether a piece of text without spaces may be words of a sentence: not a number with letters, an address, a path or code.
fn is_prose(token: &str) -> bool {
    const CODE: &[&str] = &["://", "::", "()", "->", "=>", "--", "&&", "||", "{", "}", "<", ">", "=", "_", "\\", "@", "$", "+", "~", "`"];
    let inner = token.trim_matches(|c: char| !c.is_alphanumeric() && c != '/');
    let is_path = inner.starts_with('/') || inner.matches('/').count() > 1;
    // A full stop or a colon between letters: "example.com", "key:value". One behind them ends a sentence.
    let is_joined = inner.split(['.', ':']).filter(|part| part.starts_with(char::is_alphanumeric)).count() > 1;
    let has_digits = inner.bytes().any(|b| b.is_ascii_digit()) && inner.chars().any(char::is_alphabetic);
    !(is_path || is_joined || has_digits || CODE.iter().any(|mark| token.contains(mark)))
}

fn may_name(word: &str) -> bool {
    let lower = word.to_lowercase();
    let is_long = !word.is_ascii() || word.len() >= MIN_ASCII;
    is_long && word.chars().any(char::is_alphabetic) && !COMMON.contains(lower.as_str()) && is_readable(word)
}

/// Whether a word can be a word of a language or a name: no digits, no run of consonants, no capitals in the middle as in keys and code.
fn is_readable(word: &str) -> bool {
    if word.chars().count() > MAX_LETTERS || word.chars().any(char::is_numeric) {
        return false;
    }
    let chars: Vec<char> = word.chars().collect();
    let is_abbreviation = chars.len() <= ABBREVIATION && chars.iter().all(|c| c.is_uppercase());
    // "getUser" and "HttpClientFactory"; but "iPhone", "GitHub" and "McDonald" are names.
    let begins_part = |pair: &&[char]| matches!(pair, [a, b] if a.is_lowercase() && b.is_uppercase());
    let inner = chars.windows(2).filter(begins_part).count();
    let small = chars.iter().take_while(|c| c.is_lowercase()).count();
    let ends_small = chars.last().is_some_and(|c| c.is_lowercase());
    let is_code = inner + 1 >= CODE_PARTS || (inner > 0 && small > 1 && ends_small);
    let is_hexadecimal = chars.len() >= HEXADECIMAL && chars.iter().all(|c| matches!(c.to_ascii_lowercase(), 'a'..='f'));
    is_abbreviation || (!is_code && !is_hexadecimal && (!word.is_ascii() || is_pronounceable(&chars)))
}

/// Whether a word in ASCII letters has vowels, and not too many consonants in a row.
fn is_pronounceable(chars: &[char]) -> bool {
    let is_vowel = |c: &char| matches!(c.to_ascii_lowercase(), 'a' | 'e' | 'i' | 'o' | 'u' | 'y' | '\'');
    chars.iter().any(is_vowel) && chars.split(is_vowel).all(|run| run.len() <= CONSONANTS)
}

/// The form in which a term is mostly written. A form in small letters is preferred, because sentences begin with capital ones.
fn written(forms: &BTreeMap<String, u32>) -> String {
    let is_small = |form: &str| form.chars().next().is_some_and(char::is_lowercase);
    let small = forms.iter().filter(|(form, _)| is_small(form)).max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
    let most = small.or_else(|| forms.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0))));
    most.map(|(form, _)| form.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(groups: &[Vec<&str>]) -> Vec<String> {
        names(groups).into_iter().map(|named| named.map_or_else(String::new, |named| named.name)).collect()
    }

    #[test]
    fn name_has_the_words_that_tell_a_group_from_others() {
        let pets = vec!["Dogs may come to the office.", "A dog needs a place in the office.", "The dog's leash is short."];
        let travel =
            vec!["Flights are booked by the office.", "The flight to Oslo leaves early.", "Tickets of flights are kept in the office."];
        let named = of(&[pets, travel]);
        assert!(named[0].starts_with("dog"), "{named:?}");
        assert!(named[1].starts_with("flight"), "{named:?}");
        assert!(named.iter().all(|name| name.split(", ").count() == NAMED), "{named:?}");
    }

    #[test]
    fn names_keep_capitals_and_leave_out_common_words() {
        assert_eq!(of(&[vec!["Oslo and Oslo", "I really think that Oslo is great, yes 4711"]]), ["Oslo"]);
        assert_eq!(of(&[vec!["the of", "4711"], vec![]]), ["", ""]);
    }

    #[test]
    fn keys_hashes_addresses_and_code_name_nothing() {
        for text in [
            "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "deadbeef cafebabe",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0",
            "dGhpcyBpcyBhIHRlc3Q= QWxhZGRpbjpvcGVuIHNlc2FtZQ",
            "sk-proj-abcXYZ123 ghp_AbCdEfGhIj",
            "getUserName parse_header HttpClientFactory std::vec::Vec foo() --verbose key=value <div> {x}",
            "https://example.com/a/b www.example.com anna@example.com /usr/local/bin C:\\Windows",
            "xkcdqrtzp bcdfghjklm 4711 12:30 1.2.3 v2 RECALL_MODEL_URL",
        ] {
            assert_eq!(of(&[vec![text]]), [""], "{text}");
        }
    }

    #[test]
    fn words_and_names_are_readable() {
        for word in [
            "dog",
            "iPhone",
            "GitHub",
            "McDonald",
            "PostgreSQL",
            "HTML",
            "Knightsbridge",
            "rhythm",
            "Straße",
            "Žižek",
            "计划",
            "don't",
            "NASA",
        ] {
            assert!(is_readable(word), "{word}");
        }
        assert_eq!(of(&[vec!["The deposit (for the flat) is due; the deposit/rent is paid. Deposit!"]]), ["deposit, due, flat"]);
    }

    proptest! {
        #[test]
        fn any_texts_have_repeatable_names(groups in proptest::collection::vec(proptest::collection::vec(".{0,40}", 0..5), 0..4)) {
            let groups: Vec<Vec<&str>> = groups.iter().map(|texts| texts.iter().map(String::as_str).collect()).collect();
            let named = names(&groups);
            prop_assert_eq!(&named, &names(&groups));
            prop_assert_eq!(named.len(), groups.len());
            for named in named.into_iter().flatten() {
                prop_assert!(!named.name.is_empty() && named.terms.len() <= KEPT);
            }
        }
    }
}
