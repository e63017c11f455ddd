//! Words that mean the same in rules, contracts and descriptions, so that sentences in other words are paired.

use std::{collections::BTreeSet, collections::HashMap, sync::LazyLock};

use recall_text::terms;

/// Groups of words that mean the same in such texts. Some also have other meanings: "leave", "flat".
const GROUPS: &[&str] = &[
    "employee staff personnel worker",
    "leave vacation",
    "get receive obtain",
    "tenant lessee renter",
    "landlord lessor",
    "flat apartment",
    "salary wage remuneration",
    "begin start commence",
    "end terminate finish",
    "buy purchase",
    "phone telephone",
    "email e-mail",
    "customer client",
    "illness sickness",
    "doctor physician",
    "bicycle bike",
    "repair mend",
    "child kid",
    "car automobile",
    "film movie",
    "help assist",
    "reimburse refund",
    "prohibit forbid",
    "guest visitor",
    "garage carport",
    "cellar basement",
    "rubbish garbage trash waste",
];

/// The term that stands for each term of a group.
static FIRST: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let stems =
        |group: &&str| -> Vec<String> { group.split(' ').filter_map(|word| terms(word).into_iter().next()).map(|(t, _)| t).collect() };
    let pairs = |stems: Vec<String>| {
        let first = stems.first().cloned().unwrap_or_default();
        stems.into_iter().skip(1).map(move |stem| (stem, first.clone()))
    };
    GROUPS.iter().map(stems).flat_map(pairs).collect()
});

/// Returns the terms of a text, one for all synonyms.
pub(super) fn common_terms(text: &str) -> BTreeSet<String> {
    terms(text).into_iter().map(|(term, _)| FIRST.get(&term).cloned().unwrap_or(term)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synonyms_have_one_term() {
        assert_eq!(common_terms("Staff receive vacations"), common_terms("Employees get leave"));
        assert_ne!(common_terms("guests"), common_terms("employees"));
    }
}
