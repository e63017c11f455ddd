//! Names of people: title, given name and family name, and how two of them match. Pure; the list of nicknames is data.

use std::{
    collections::{BTreeSet, HashMap},
    sync::OnceLock,
};

use recall_domain::{EntityKey, fold};

use super::names::{MAX_WORDS, NameMatch, words_of_key};
use super::titles::{is_gendered, is_title, titles_exclude};

const NICKNAMES: &str = include_str!("../../../../data/lexicon/nicknames.txt");

/// The parts of a person's name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PersonName {
    pub(super) title: Option<String>,
    pub(super) given: Option<String>,
    pub(super) family: Option<String>,
}

impl PersonName {
    pub(super) fn of(name: &str) -> Option<Self> {
        Self::of_key(&EntityKey::of(name)?)
    }

    pub(super) fn of_key(key: &EntityKey) -> Option<Self> {
        let mut words = words_of_key(key);
        if words.is_empty() || words.len() > MAX_WORDS {
            return None;
        }
        let title = (words.len() > 1 && is_title(&words[0])).then(|| words.remove(0));
        let (first, last) = (words.first()?.clone(), words.last()?.clone());
        Some(match (words.len(), &title) {
            (1, Some(_)) => Self { title, given: None, family: Some(first) },
            (1, None) => Self { title, given: Some(first), family: None },
            _ => Self { title, given: Some(first), family: Some(last) },
        })
    }

    /// Matches a mentioned person's name with a known one.
    pub(super) fn match_known(&self, known: &Self) -> Option<NameMatch> {
        if let (Some(a), Some(b)) = (&self.title, &known.title)
            && titles_exclude(a, b)
        {
            return None;
        }
        match (&self.given, &self.family, &known.given, &known.family) {
            (Some(a), Some(f), Some(b), Some(g)) if f == g => match match_given_names(a, b)? {
                GivenNameMatch::Equal => Some(NameMatch::Same),
                GivenNameMatch::Variant => Some(NameMatch::NicknameAndFamily),
                GivenNameMatch::Initial => Some(NameMatch::Initial),
            },
            // "Sam N" for Sam Nowak.
            (Some(a), Some(f), Some(b), Some(g)) if is_initial(f, g) || is_initial(g, f) => (a == b).then_some(NameMatch::Initial),
            (Some(a), None, Some(b), Some(g)) => match match_given_names(a, b) {
                Some(GivenNameMatch::Equal) => Some(NameMatch::ShortOfFull),
                Some(GivenNameMatch::Variant) => Some(NameMatch::Nickname),
                _ => (a == g).then_some(NameMatch::Family),
            },
            (Some(a), Some(_), Some(b), None) => match match_given_names(a, b)? {
                GivenNameMatch::Equal => Some(NameMatch::FullOfShort),
                GivenNameMatch::Variant => Some(NameMatch::Nickname),
                GivenNameMatch::Initial => None,
            },
            (Some(a), None, Some(b), None) => match match_given_names(a, b)? {
                GivenNameMatch::Equal => Some(NameMatch::Same),
                GivenNameMatch::Variant => Some(NameMatch::Nickname),
                GivenNameMatch::Initial => None,
            },
            (None, Some(f), None, Some(g)) => (f == g).then_some(NameMatch::Same),
            (None, Some(f), Some(_), Some(g)) | (Some(_), Some(f), None, Some(g)) => {
                let gendered = |p: &Self| p.title.as_deref().is_some_and(is_gendered);
                (f == g).then_some(if gendered(self) || gendered(known) { NameMatch::Titled } else { NameMatch::Family })
            }
            _ => None,
        }
    }
}

/// Whether a part of a name is the first letter of another.
fn is_initial(short: &str, long: &str) -> bool {
    short.chars().count() == 1 && long.starts_with(short)
}

enum GivenNameMatch {
    Equal,
    Variant,
    Initial,
}

fn match_given_names(a: &str, b: &str) -> Option<GivenNameMatch> {
    if a == b {
        return Some(GivenNameMatch::Equal);
    }
    if given_name_variants(a).contains(b) {
        return Some(GivenNameMatch::Variant);
    }
    (is_initial(a, b) || is_initial(b, a)).then_some(GivenNameMatch::Initial)
}

/// Returns the given names that may mean the same person, in lower case: full forms and short forms.
pub(super) fn given_name_variants(given: &str) -> &'static BTreeSet<String> {
    static LIST: OnceLock<HashMap<String, BTreeSet<String>>> = OnceLock::new();
    static NONE: BTreeSet<String> = BTreeSet::new();
    let list = LIST.get_or_init(|| {
        let mut list: HashMap<String, BTreeSet<String>> = HashMap::new();
        for line in NICKNAMES.lines().filter(|l| !l.starts_with('#')) {
            let Some((full, short)) = line.split_once(':') else { continue };
            let read = |names: &str| names.split(',').map(|n| n.trim().to_lowercase()).collect::<Vec<_>>();
            let (full, short) = (read(full), read(short));
            for s in &short {
                let others = full.iter().chain(&short).filter(|o| *o != s).cloned();
                list.entry(s.clone()).or_default().extend(others);
            }
            for f in full {
                list.entry(f).or_default().extend(short.iter().cloned());
            }
        }
        list
    });
    list.get(given).unwrap_or(&NONE)
}

/// Whether two full names of people have the same given name and different family names: "Martin Iliev" and "Martin Dushkov".
pub(crate) fn are_namesakes(a: &str, b: &str) -> bool {
    let (Some(a), Some(b)) = (PersonName::of(&fold(a)), PersonName::of(&fold(b))) else { return false };
    match (a.given, a.family, b.given, b.family) {
        (Some(a), Some(f), Some(b), Some(g)) => match_given_names(&a, &b).is_some() && f != g && !is_initial(&f, &g) && !is_initial(&g, &f),
        _ => false,
    }
}

/// Whether a person's name has a given and a family name; two people rarely share both.
pub(crate) fn is_full_name(name: &str) -> bool {
    let is_whole = |part: Option<String>| part.is_some_and(|p| p.chars().count() > 1);
    PersonName::of(name).is_some_and(|p| is_whole(p.given) && is_whole(p.family))
}
