//! A small grammar of questions for a yes or a no: auxiliary, subject and verb phrase. Pure.
//!
//! "Does your sister still live in Rome?" and "your sister lives in Rome?" have the same parts, of which the statements for a yes and for a no are made:
//! "My sister lives in Rome", "My sister no longer lives in Rome".

use super::cues::is_person_noun;
use super::lemma;
use super::lexicon::{VerbForm, WordList, lexicon};
use super::plain_words::{Word, before_end, words};
use super::singular::singular;

/// Most words of a question.
pub(super) const MAX_QUESTION: usize = 16;
/// Most words of a noun phrase that a question is about: "your sister's best friend".
pub(super) const MAX_NOUN: usize = 6;
/// Adverbs of questions that say nothing of the answer.
const ADVERBS: &[&str] = &["also", "actually", "really", "currently", "ever", "already"];
/// Times at the end of a question.
const TIMES: &[&str] =
    &["these days", "nowadays", "currently", "now", "at the moment", "right now", "again", "by the way", "then", "exactly"];
/// Ends that ask to agree with a statement.
const AGREEMENT: &[&str] = &["right", "correct", "yes", "no", "huh", "yeah"];
/// Words that stand for what a reply names.
pub(super) const OPEN: &[&str] = &["anything", "something", "anyone", "somebody", "someone", "anywhere", "somewhere"];
/// Verbs of questions about what is wanted, thought or felt just now: a reply states nothing that lasts.
const PASSING: &[&str] = &[
    "want",
    "need",
    "think",
    "mean",
    "remember",
    "mind",
    "prefer",
    "see",
    "know",
    "feel",
    "plan",
    "expect",
    "suggest",
    "recommend",
    "wish",
    "hope",
    "find",
    "notice",
    "say",
];
/// Words of questions about a mood, a plan or the place of the talk.
const MOODS: &[&str] = &[
    "sure",
    "ok",
    "okay",
    "ready",
    "there",
    "here",
    "free",
    "interested",
    "happy",
    "busy",
    "asking",
    "looking",
    "going",
    "planning",
    "saying",
    "done",
    "able",
    "serious",
    "kidding",
    "worried",
    "familiar",
    "available",
    "aware",
    "open",
    "feeling",
    "trying",
    "thinking",
    "talking",
    "referring",
];

/// The auxiliary of a question, as it stands in the statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Auxiliary {
    /// "Do you …", "do they …".
    Do,
    /// "Does she …".
    Does,
    /// "Are you …", "is she …".
    Be(&'static str),
    /// "Have you …", "has she …", before a participle.
    Have(&'static str),
}

/// The parts of a question for a yes or a no, as the speaker says them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct YesNoQuestion {
    pub(super) auxiliary: Auxiliary,
    /// "I", "My sister", "She".
    pub(super) subject: String,
    /// The words after subject and auxiliary, the verb in its base form after "do".
    pub(super) predicate: Vec<String>,
    /// It asks whether something is still so.
    pub(super) has_still: bool,
}

impl YesNoQuestion {
    /// Reads a question. `None` if it has another form, offers a choice, or asks for nothing that lasts.
    pub(super) fn of(question: &[Word<'_>]) -> Option<Self> {
        if question.len() > MAX_QUESTION || question.iter().any(|w| w.norm == "or") {
            return None;
        }
        let read = Self::inverted(question).or_else(|| Self::declarative(without_agreement(question)))?;
        let verb = read.predicate.first()?.to_lowercase();
        let is_passing = match read.auxiliary {
            Auxiliary::Do => PASSING.contains(&verb.as_str()),
            Auxiliary::Does => PASSING.contains(&verb.as_str()) || lemma::known_verb(&verb, &|_| false).is_none(),
            Auxiliary::Be(_) => MOODS.contains(&verb.as_str()),
            Auxiliary::Have(_) => false,
        };
        (!is_passing).then_some(read)
    }

    /// "Do you live in Paris", "is your sister married", "have you been to Rome".
    fn inverted(question: &[Word<'_>]) -> Option<Self> {
        let (first, rest) = question.split_first()?;
        let auxiliary = match first.norm.as_str() {
            "do" => Auxiliary::Do,
            "does" => Auxiliary::Does,
            "are" => Auxiliary::Be("are"),
            "is" => Auxiliary::Be("is"),
            "have" => Auxiliary::Have("have"),
            "has" => Auxiliary::Have("has"),
            _ => return None,
        };
        let (subject, taken) = subject_of(rest, false)?;
        let mut auxiliary = if subject == "I" && auxiliary == Auxiliary::Be("are") { Auxiliary::Be("am") } else { auxiliary };
        let (mut predicate, has_still) = plain_predicate(&rest[taken..])?;
        // "Have you got pets?" asks what one has.
        if let (Auxiliary::Have(have), Some("got")) = (auxiliary, predicate.first().map(String::as_str)) {
            auxiliary = if have == "has" { Auxiliary::Does } else { Auxiliary::Do };
            "have".clone_into(predicate.first_mut()?);
        }
        (agrees_in_number(auxiliary, &subject)).then_some(Self { auxiliary, subject, predicate, has_still })
    }

    /// "You live in Paris", "your sister is married", "she's vegan".
    fn declarative(question: &[Word<'_>]) -> Option<Self> {
        let (first, rest) = question.split_first()?;
        // "You're vegan"
        if let Some((pronoun, be)) = first.norm.split_once('\'').filter(|(_, be)| matches!(*be, "re" | "s")) {
            let be = if be == "re" { "are" } else { "is" };
            let (subject, be) = match pronoun {
                "you" => ("I".to_owned(), "am"),
                "he" | "she" | "they" => (capital(pronoun), be),
                _ => return None,
            };
            let (predicate, has_still) = plain_predicate(rest)?;
            if matches!(predicate.first().map(String::as_str), Some("been" | "got")) {
                return None;
            }
            return Some(Self { auxiliary: Auxiliary::Be(be), subject, predicate, has_still });
        }
        let (subject, taken) = subject_of(question, true)?;
        let (mut predicate, has_still) = plain_predicate(&question[taken..])?;
        let verb = predicate.first()?.to_lowercase();
        let auxiliary = match (verb.as_str(), subject.as_str()) {
            ("are", "I") => Auxiliary::Be("am"),
            ("are", _) => Auxiliary::Be("are"),
            ("is", _) => Auxiliary::Be("is"),
            ("has", _) => Auxiliary::Does,
            ("have", _) => Auxiliary::Do,
            (_, "I" | "They") if lexicon().is_verb(&verb) => Auxiliary::Do,
            _ => match lemma::known_verb(&verb, &|_| false)? {
                (_, VerbForm::ThirdPerson) => Auxiliary::Does,
                (_, VerbForm::Base) => Auxiliary::Do,
                _ => return None,
            },
        };
        match auxiliary {
            Auxiliary::Be(_) => {
                predicate.remove(0);
            }
            Auxiliary::Does => *predicate.first_mut()? = lemma::known_verb(&verb, &|_| false)?.0,
            Auxiliary::Do | Auxiliary::Have(_) => {}
        }
        (!predicate.is_empty()).then_some(Self { auxiliary, subject, predicate, has_still })
    }

    /// Whether it leaves open what it asks about: "do you have any pets", "are you allergic to anything".
    pub(super) fn open_word(&self) -> Option<usize> {
        self.predicate.iter().position(|w| OPEN.contains(&w.to_lowercase().as_str()))
    }

    /// Returns the statement that a yes makes.
    pub(super) fn affirmed(&self) -> String {
        self.with_predicate(&self.predicate.join(" "))
    }

    /// Returns the statement with other words after the subject and the auxiliary.
    pub(super) fn with_predicate(&self, predicate: &str) -> String {
        let subject = &self.subject;
        let predicate = without_any(predicate);
        match self.auxiliary {
            Auxiliary::Do => format!("{subject} {predicate}."),
            Auxiliary::Does => {
                let (verb, rest) = predicate.split_once(' ').unwrap_or((&predicate, ""));
                format!("{subject} {} {rest}", third_person(verb)).trim_end().to_owned() + "."
            }
            Auxiliary::Be(form) | Auxiliary::Have(form) => format!("{subject} {form} {predicate}."),
        }
    }

    /// Returns the statement that a no makes. What is no longer so was so before.
    pub(super) fn denied(&self, is_over: bool) -> String {
        let (subject, predicate) = (&self.subject, without_any(&self.predicate.join(" ")));
        match (self.auxiliary, is_over) {
            (Auxiliary::Do, true) => format!("{subject} no longer {predicate}."),
            (Auxiliary::Do, false) => format!("{subject} do not {predicate}."),
            (Auxiliary::Does, true) => {
                let (verb, rest) = predicate.split_once(' ').unwrap_or((&predicate, ""));
                format!("{subject} no longer {} {rest}", third_person(verb)).trim_end().to_owned() + "."
            }
            (Auxiliary::Does, false) => format!("{subject} does not {predicate}."),
            (Auxiliary::Be(form) | Auxiliary::Have(form), true) => format!("{subject} {form} no longer {predicate}."),
            (Auxiliary::Be(form) | Auxiliary::Have(form), false) => format!("{subject} {form} not {predicate}."),
        }
    }

    /// Whether an auxiliary of a reply repeats that of the question: "I do", "she isn't".
    pub(super) fn is_repeated_by(&self, auxiliary: &str) -> bool {
        match self.auxiliary {
            Auxiliary::Do | Auxiliary::Does => matches!(auxiliary, "do" | "does"),
            Auxiliary::Be(_) => matches!(auxiliary, "am" | "is" | "are"),
            Auxiliary::Have(_) => matches!(auxiliary, "have" | "has"),
        }
    }
}

/// Returns the subject that words begin with, as the speaker says it, with the number of its words.
fn subject_of(words: &[Word<'_>], is_first: bool) -> Option<(String, usize)> {
    let first = words.first()?;
    match first.norm.as_str() {
        "you" => Some(("I".to_owned(), 1)),
        "he" | "she" | "they" => Some((capital(&first.norm), 1)),
        "your" => {
            let is_noun = |w: &Word<'_>| {
                let noun = singular(&w.norm);
                let is_listed = |list: WordList| lexicon().has(list, &w.norm) || lexicon().has(list, &noun);
                is_person_noun(&w.norm) || is_person_noun(&noun) || [WordList::Animal, WordList::Possession].into_iter().any(is_listed)
            };
            let mut end = (1..words.len().min(MAX_NOUN)).find(|&i| is_noun(&words[i]))? + 1;
            // "Your sister Anna"
            while words.get(end).is_some_and(|w| (is_noun(w) || w.text.starts_with(char::is_uppercase)) && end < MAX_NOUN) {
                end += 1;
            }
            Some((format!("My {}", said(&words[1..end])?), end))
        }
        // "Does Anna live in Rome?" At the beginning, every word has a capital.
        _ if first.text.starts_with(char::is_uppercase) && (!is_first || lexicon().has(WordList::Given, &first.norm)) => {
            let taken = words.iter().take(2).take_while(|w| w.text.starts_with(char::is_uppercase) && w.norm != "i").count();
            (taken > 0).then(|| (words[..taken].iter().map(|w| w.text).collect::<Vec<_>>().join(" "), taken))
        }
        _ => None,
    }
}

/// Returns the words after the subject as the speaker says them, without adverbs, and whether "still" is one of them.
fn plain_predicate(words: &[Word<'_>]) -> Option<(Vec<String>, bool)> {
    let has_still = words.iter().any(|w| w.norm == "still");
    let lead = words.iter().take_while(|w| ADVERBS.contains(&w.norm.as_str()) || w.norm == "still").count();
    let plain: Vec<Word<'_>> = words[lead..].iter().filter(|w| w.norm != "still").cloned().collect();
    let predicate: Vec<String> = said(&plain)?.split(' ').map(str::to_owned).collect();
    Some((predicate, has_still))
}

/// "Do your sister" and "does you" are no questions.
fn agrees_in_number(auxiliary: Auxiliary, subject: &str) -> bool {
    let is_plural = matches!(subject, "I" | "They") || subject.rsplit(' ').next().is_some_and(|noun| singular(noun) != noun);
    match auxiliary {
        Auxiliary::Do | Auxiliary::Be("are" | "am") | Auxiliary::Have("have") => is_plural,
        _ => !matches!(subject, "I" | "They"),
    }
}

/// Returns words of the asker as the speaker says them; `None` if they still speak of the asker.
pub(super) fn said(words: &[Word<'_>]) -> Option<String> {
    let turned = words.iter().map(|w| match w.norm.as_str() {
        "your" => Some("my"),
        "yourself" => Some("myself"),
        "you" | "i" | "me" | "my" | "we" | "us" | "our" => None,
        norm if ["you'", "i'", "we'"].iter().any(|pronoun| norm.starts_with(pronoun)) => None,
        _ => Some(w.text),
    });
    let turned: Option<Vec<&str>> = turned.collect();
    turned.map(|words| words.join(" ")).filter(|words| !words.is_empty())
}

/// Returns the only question of a message, or its only sentence if it asks nothing.
pub(super) fn only_sentence(text: &str) -> Option<(&str, bool)> {
    match text.matches('?').count() {
        0 => {
            // "You are vegan [1]."
            let text = text.split('[').next()?.trim().trim_end_matches(['.', '!']);
            (!text.contains(['.', '!', '\n', ':'])).then_some((text, false))
        }
        1 => {
            let end = text.find('?')?;
            let start = text[..end].rfind(['.', '!', '\n', ':']).map_or(0, |at| at + 1);
            Some((&text[start..end], true))
        }
        _ => None,
    }
}

/// Splits a question into words, without words before it ("And", "So", "Nice") and times at its end.
pub(super) fn words_of_question(question: &str) -> Vec<Word<'_>> {
    const BEFORE: [&str; 8] = ["and", "so", "nice", "ok", "okay", "great", "cool", "by"];
    let all = words(question);
    let skipped = all.iter().take_while(|w| BEFORE.contains(&w.norm.as_str())).count();
    let mut rest = &all[skipped..];
    while let Some(shorter) = TIMES.iter().find_map(|time| before_end(rest, time)) {
        rest = shorter;
    }
    rest.to_vec()
}

/// Whether a verb asks for what is wanted, thought or felt just now.
pub(super) fn is_passing(verb: &str) -> bool {
    PASSING.contains(&verb)
}

/// Removes an end that asks to agree: ", right", ", isn't she".
fn without_agreement<'w, 't>(question: &'w [Word<'t>]) -> &'w [Word<'t>] {
    let is_tag = |words: &[Word<'_>]| match words {
        [one] => AGREEMENT.contains(&one.norm.as_str()),
        [auxiliary, pronoun] => auxiliary.norm.ends_with("n't") && matches!(pronoun.norm.as_str(), "you" | "he" | "she" | "they" | "it"),
        _ => false,
    };
    let cut = (1..question.len()).find(|&i| question[i - 1].closes && is_tag(&question[i..]));
    &question[..cut.unwrap_or(question.len())]
}

fn without_any(words: &str) -> String {
    words.replacen(" any ", " ", 1)
}

/// Returns the form of a verb after "she".
fn third_person(verb: &str) -> String {
    match verb {
        "have" => "has".to_owned(),
        _ if verb.ends_with('y') && !["ay", "ey", "oy", "uy"].iter().any(|end| verb.ends_with(end)) => {
            format!("{}ies", verb.trim_end_matches('y'))
        }
        _ if ["s", "sh", "ch", "x", "o", "z"].iter().any(|end| verb.ends_with(end)) => format!("{verb}es"),
        _ => format!("{verb}s"),
    }
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
