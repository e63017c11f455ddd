//! Finds the message that tells that somebody has died. Kinship does not end, so no fact says it.

use unicode_segmentation::UnicodeSegmentation;

use super::{
    excerpts::{shorten, without_quotations},
    facts::holds,
    lexicon::{is_answered_by, is_function_word},
    question::{Question, QuestionKind},
    quotes::Quote,
    words::{Word, words},
};
use recall_domain::{
    EntityType, FirstPerson, Role,
    context::{RankedFact, RankedMessage},
};

/// Words between a person and the verb.
const BETWEEN: &[&str] = &["has", "had", "have", "is", "are", "was", "just", "sadly", "recently", "suddenly", "already", "both", "long"];
/// Words of a sentence that only supposes a death.
const SUPPOSED: &[&str] = &["if", "would", "imagine", "dreamt", "dreamed", "dream", "fear", "afraid"];

/// Returns the message about the death of somebody, if a question asks whether the user has this relative ("Do I have a gran?") or whether somebody is
/// alive ("Is my gran still alive?").
pub(super) fn told_deaths<'m>(question: &Question, facts: &[&RankedFact], ranked: &'m [RankedMessage]) -> Vec<Quote<'m>> {
    let has = |words: &[&str]| question.words.iter().any(|w| words.contains(&w.plain.as_str()));
    let names: Vec<String> = if question.kind != QuestionKind::YesNo {
        return Vec::new();
    } else if has(&["alive", "dead", "living", "died"]) {
        names_asked(&question.words)
    } else if has(&["have", "has", "got"]) {
        let persons = facts.iter().filter(|f| holds(f)).flat_map(|f| [&f.subject, &f.object]);
        persons.filter(|e| e.entity_type == EntityType::Person && !e.is_viewer).map(|e| e.name.to_string()).collect()
    } else {
        return Vec::new();
    };
    let messages = ranked.iter().map(|r| &r.message).filter(|m| m.role == Role::User);
    let quotes = messages.filter_map(|message| {
        let text = without_quotations(message.text.as_str());
        let told = text.unicode_sentences().find(|s| names.iter().any(|name| tells_death(&words(s), name)))?;
        Some(Quote { message, excerpt: shorten(told.trim()), sentence: None, verdict: None, coverage: 1.0 })
    });
    quotes.take(1).collect()
}

/// Returns the person that a question names: a name, or the word after "my".
fn names_asked(question: &[Word]) -> Vec<String> {
    let own = question.windows(2).filter(|w| FirstPerson::is_determiner(&w[0].plain)).map(|w| w[1].plain.clone());
    let named = question.iter().filter(|w| w.proper).map(|w| {
        let mut letters = w.plain.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    });
    named.chain(own).collect()
}

/// Whether a sentence says that a person has died.
fn tells_death(sentence: &[Word], person: &str) -> bool {
    let name = words(person);
    let Some(last) = name.last() else { return false };
    let is_named = person.starts_with(char::is_uppercase);
    let is_person = |i: usize| {
        let word = &sentence[i];
        // "My gran", but not "Ann's gran".
        let is_own = || i.checked_sub(1).is_some_and(|before| FirstPerson::is_determiner(&sentence[before].plain));
        !word.possessive && (if is_named { word.stem == last.stem } else { is_answered_by(&last.plain, &word.plain) && is_own() })
    };
    let dies = |i: usize| match sentence.get(i).map_or("", |w| w.plain.as_str()) {
        "died" | "deceased" => true,
        // "Dead tired"
        "dead" => sentence.get(i + 1).is_none_or(is_function_word),
        "passed" => sentence.get(i + 1).is_some_and(|w| w.plain == "away"),
        _ => false,
    };
    let is_told = |i: usize| {
        let verb = (i + 1..sentence.len()).find(|&k| !BETWEEN.contains(&sentence[k].plain.as_str()));
        verb.is_some_and(dies)
    };
    !sentence.iter().any(|w| SUPPOSED.contains(&w.plain.as_str())) && (0..sentence.len()).any(|i| is_person(i) && is_told(i))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_for_life_names_a_person() {
        assert_eq!(names_asked(&words("Is my gran still alive?")), ["gran"]);
        assert_eq!(names_asked(&words("Is Rex alive?")), ["Rex"]);
    }

    #[test]
    fn death_of_a_person_is_told_by_its_verb() {
        for (text, name, expected) in [
            ("My gran died in 2019", "gran", true),
            ("My gran has sadly passed away", "gran", true),
            ("Tom died last year", "Tom", true),
            ("My gran's dog died", "gran", false),
            ("Ann's gran died", "gran", false),
            ("My gran nearly died", "gran", false),
            ("My gran passed the exam", "gran", false),
            ("My gran was dead tired", "gran", false),
            ("My gran is dead now", "gran", true),
            ("If my gran died I would move", "gran", false),
            ("My gran says that Tom died", "gran", false),
        ] {
            assert_eq!(tells_death(&words(text), name), expected, "{text}");
        }
    }
}
