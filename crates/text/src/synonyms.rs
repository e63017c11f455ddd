//! Words that mean the same in documents of work, housing, contracts and manuals.
//!
//! One list for all that compares texts of documents. It has only words of one meaning in such documents; what people say in conversations is
//! another matter: there, "get" and "end" mean much.

use std::{collections::HashMap, sync::LazyLock};

use rust_stemmers::{Algorithm, Stemmer};

/// Groups of words and phrases that mean the same, separated by commas. Some also have other meanings: "leave", "flat".
const GROUPS: &[&str] = &[
    // Work.
    "employee, staff, personnel, worker",
    "leave, vacation, annual leave, annual vacation, holiday entitlement, paid time off, pto",
    "sick leave, sick days, sickness absence",
    "sick note, doctor's note, medical certificate",
    "salary, wage, remuneration",
    "pay rise, pay raise, pay increase, salary increase, raise in salary",
    "remote work, work from home, work remotely, telework, telecommute",
    "line manager, supervisor, direct manager",
    "probation, probation period, probationary period",
    "illness, sickness",
    "doctor, physician",
    // Housing.
    "tenant, lessee, renter",
    "landlord, lessor",
    "flat, apartment",
    "lease, lease agreement, rental agreement, rental contract, tenancy agreement",
    "deposit, security deposit, rental deposit",
    "sublet, sublease",
    "roommate, flatmate, housemate",
    "parking space, parking spot, parking place",
    "caretaker, janitor",
    "garage, carport",
    "cellar, basement",
    "rubbish, garbage, trash, waste",
    "guest, visitor",
    // Contracts.
    "begin, start, commence",
    "expire, run out",
    "end, terminate, finish",
    "notice period, period of notice, cancellation period",
    "late fee, late charge, late payment fee, late payment charge",
    "buy, purchase",
    "customer, client",
    "reimburse, refund",
    "prohibit, forbid",
    "warranty, guarantee",
    "invoice, bill",
    "discount, price reduction",
    "instalment, installment",
    "licence, license",
    "get, receive, obtain",
    "help, assist",
    "child, kid",
    // Manuals and what people own.
    "switch on, turn on, power on",
    "switch off, turn off, power off",
    "fridge, refrigerator",
    "phone, telephone",
    "mobile phone, cell phone, cellphone, mobile telephone",
    "email, e-mail",
    "wifi, wi-fi, wlan",
    "repair, mend",
    "defective, faulty",
    "spare part, replacement part",
    "bicycle, bike",
    "car, automobile",
    "film, movie",
];

/// Words of the list that also have other meanings. They never take the place of another word, and are none of its synonyms in a sentence.
const AMBIGUOUS: [&str; 16] = [
    "leave", "flat", "end", "finish", "begin", "start", "commence", "get", "receive", "obtain", "help", "bill", "waste", "lease", "mend",
    "film",
];
/// Words that never take the place of another one, because they have no singular.
const COLLECTIVES: [&str; 1] = ["staff"];

/// Most words of a phrase.
const LONGEST: usize = 4;

/// What all phrases of a group mean.
struct Concept {
    term: String,
    /// Whether the phrase is a word that also has other meanings.
    is_ambiguous: bool,
}

/// The concept of each phrase, by the stems of its words.
static CONCEPTS: LazyLock<HashMap<Vec<String>, Concept>> = LazyLock::new(|| {
    let stemmer = Stemmer::create(Algorithm::English);
    let of_group = |group: &&'static str| -> Vec<(Vec<String>, Concept)> {
        let term = group.split(", ").next().map(|first| stems(&stemmer, first).join(" ")).unwrap_or_default();
        let concept = |phrase| Concept { term: term.clone(), is_ambiguous: AMBIGUOUS.contains(&phrase) };
        group.split(", ").map(|phrase| (stems(&stemmer, phrase), concept(phrase))).collect()
    };
    GROUPS.iter().flat_map(of_group).collect()
});

/// The phrases of each group that may take the place of each other, by the term of the group, longest first.
static PHRASES: LazyLock<HashMap<String, Vec<&'static str>>> = LazyLock::new(|| {
    let stemmer = Stemmer::create(Algorithm::English);
    let of_group = |group: &&'static str| {
        let first = group.split(", ").next()?;
        let mut phrases: Vec<&'static str> = group.split(", ").collect();
        phrases.retain(|phrase| !AMBIGUOUS.contains(phrase) && !COLLECTIVES.contains(phrase));
        phrases.sort_by_key(|phrase| std::cmp::Reverse(phrase.split(' ').count()));
        Some((stems(&stemmer, first).join(" "), phrases))
    };
    GROUPS.iter().filter_map(of_group).collect()
});

fn stems(stemmer: &Stemmer, phrase: &str) -> Vec<String> {
    phrase.split([' ', '-']).map(|word| stem(stemmer, word)).collect()
}

fn stem(stemmer: &Stemmer, word: &str) -> String {
    let lower = word.to_lowercase().replace('’', "'");
    stemmer.stem(lower.strip_suffix("'s").unwrap_or(&lower)).into_owned()
}

/// Returns for each of the words, which follow each other in a text, the term of what it means: one for all words and phrases that mean the same. All
/// words of a phrase have its term; any other word has its stem.
pub fn concepts<'w>(words: impl IntoIterator<Item = &'w str>) -> Vec<String> {
    read(words).into_iter().map(|(stem, concept)| concept.map_or(stem, |concept| concept.term.clone())).collect()
}

/// Returns the same terms for words and phrases that always mean the same; `None` for any other word, also for "leave" and "flat" without a phrase.
pub fn sure_concepts<'w>(words: impl IntoIterator<Item = &'w str>) -> Vec<Option<&'static str>> {
    let term = |concept: Option<&'static Concept>| concept.filter(|concept| !concept.is_ambiguous).map(|concept| concept.term.as_str());
    read(words).into_iter().map(|(_, concept)| term(concept)).collect()
}

/// Returns the stem of each word, and the concept of the longest phrase that it is in.
fn read<'w>(words: impl IntoIterator<Item = &'w str>) -> Vec<(String, Option<&'static Concept>)> {
    let stemmer = Stemmer::create(Algorithm::English);
    let stems: Vec<String> = words.into_iter().map(|word| stem(&stemmer, word)).collect();
    let mut found: Vec<(String, Option<&'static Concept>)> = Vec::with_capacity(stems.len());
    while let Some(rest) = stems.get(found.len()..).filter(|rest| !rest.is_empty()) {
        let phrase = (1..=LONGEST.min(rest.len())).rev().find_map(|length| Some((length, CONCEPTS.get(&rest[..length])?)));
        let (length, concept) = phrase.map_or((1, None), |(length, concept)| (length, Some(concept)));
        found.extend(rest[..length].iter().map(|stem| (stem.clone(), concept)));
    }
    found
}

/// Returns the phrases with a term of [`concepts`] that may take the place of each other, longest first; none if no other phrase has it.
pub fn phrases_of(concept: &str) -> &'static [&'static str] {
    PHRASES.get(concept).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn of(text: &str) -> Vec<String> {
        concepts(text.split(' '))
    }

    #[test]
    fn words_and_phrases_of_one_meaning_have_one_term() {
        for (one, other) in [
            ("vacations", "annual leave"),
            ("Lessees", "tenant"),
            ("security deposit", "deposit"),
            ("turn on", "switching on"),
            ("wi fi", "WLAN"),
            ("doctor’s note", "medical certificates"),
        ] {
            let (one, other) = (of(one), of(other));
            assert!(one.iter().chain(&other).all(|term| *term == one[0]), "{one:?} {other:?}");
        }
        assert_eq!(of("25 days of annual leave are given"), ["25", "day", "of", "leav", "leav", "are", "given"]);
    }

    #[test]
    fn words_of_other_meaning_have_their_own_terms() {
        for (one, other) in [("turn", "switch"), ("sick", "leave"), ("annual report", "leave"), ("guests", "employees")] {
            assert!(of(one).iter().all(|term| !of(other).contains(term)), "{one} {other}");
        }
        assert!(concepts([]).is_empty());
    }

    #[test]
    fn words_with_other_meanings_are_sure_only_in_a_phrase() {
        let sure = |text: &'static str| sure_concepts(text.split(' '));
        assert_eq!(sure("annual leave"), [Some("leav"), sure("vacation")[0]]);
        for text in ["Parental leave", "leave early", "flat fee", "damage", "unknown word"] {
            assert!(sure(text).iter().all(Option::is_none), "{text}");
        }
        assert_ne!(of("damage deposit"), of("rental deposit"));
    }

    #[test]
    fn phrases_take_the_place_of_each_other_unless_they_mean_more() {
        assert_eq!(phrases_of(&of("illness")[0]), ["illness", "sickness"]);
        assert_eq!(phrases_of(&of("apartment")[0]), ["apartment"]);
        assert!(phrases_of("unknown").is_empty());
        assert_eq!(phrases_of(&of("staff")[0]), ["employee", "personnel", "worker"]);
        let is_listed = |word: &&str| GROUPS.iter().any(|group| group.split(", ").any(|phrase| phrase == *word));
        assert!(AMBIGUOUS.iter().chain(&COLLECTIVES).all(is_listed));
    }

    #[test]
    fn no_phrase_is_in_two_groups() {
        let all: Vec<&str> = GROUPS.iter().flat_map(|group| group.split(", ")).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        assert!(all.iter().all(|phrase| (1..=LONGEST).contains(&phrase.split([' ', '-']).count())));
    }
}
