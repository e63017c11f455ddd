//! Reads a short reply to a question as the statement that it makes: "Miriam" after "What's your sister's name?" is "My sister's name is Miriam". Pure.

use super::plain_words::{Word, before_end, begin_with, joined, words};

/// Most words of a question and of a reply.
const MAX_QUESTION: usize = 16;
const MAX_REPLY: usize = 8;
/// Most words of a noun phrase that a question is about: "your sister's best friend".
const MAX_NOUN: usize = 6;
/// Most words of a reply that begins with "my".
const MAX_OWNED: usize = 3;

const YES: &[&str] = &["yes", "yeah", "yep", "yup", "sure", "correct", "right", "exactly", "indeed"];
const NO: &[&str] = &["no", "nope", "nah"];
/// Words before the answer proper.
const LEADS: &[&str] =
    &["it's", "it is", "its", "that's", "that is", "oh", "well", "um", "just", "actually", "she's called", "he's called"];
/// First words of a reply that is a sentence of its own.
const SUBJECTS: &[&str] =
    &["i", "i'm", "im", "i've", "we", "we're", "he", "he's", "she", "she's", "they", "they're", "my", "our", "you", "there"];
/// First words of a reply that answers nothing.
const NO_ANSWERS: &[&str] = &[
    "not", "none", "nobody", "nowhere", "nothing", "never", "no", "idk", "dunno", "thanks", "thank", "skip", "guess", "secret", "pass",
    "why", "maybe", "depends", "whatever", "please", "hi", "hello", "hey", "ok", "okay", "sorry", "what", "who", "where", "how", "that",
    "this", "if", "because", "but",
];
/// Words after a yes or a no that add nothing.
const TAILS: &[&str] = &[
    "not really",
    "not at all",
    "sorry",
    "thanks",
    "thank you",
    "never",
    "please",
    "of course",
    "absolutely",
    "definitely",
    "love it",
    "i do",
    "i don't",
    "i am",
    "i'm not",
];
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
/// Adjectives of questions about a mood or a plan.
const MOODS: &[&str] = &[
    "sure",
    "ok",
    "okay",
    "ready",
    "there",
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
    "still",
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
];
/// Nouns of questions for a choice or a time, whose answer says nothing alone.
const CHOICES: &[&str] = &["one", "ones", "option", "time", "day", "date", "of", "do"];
/// Words that stand for what a reply names.
const OPEN: &[&str] = &["anything", "something", "anyone", "somebody", "someone", "anywhere", "somewhere"];
/// Times at the end of a question.
const TIMES: &[&str] =
    &["these days", "nowadays", "currently", "now", "at the moment", "right now", "again", "by the way", "then", "exactly"];
const PREPOSITIONS: &[&str] = &["in", "at", "on", "near", "for", "from", "with", "to", "by", "outside", "around"];

/// Returns the statement that a reply makes to the only question of a message; `None` if they have no simple form.
pub(crate) fn statement(asked: &str, reply: &str) -> Option<String> {
    let question = words(only_question(asked).filter(|_| !reply.contains(['?', '\n']))?);
    let reply_words = words(reply);
    if !(1..=MAX_REPLY).contains(&reply_words.len()) || question.len() > MAX_QUESTION {
        return None;
    }
    let reply = Reply::of(reply, &reply_words);
    let question = without_times(without_greeting(&question));
    let norms: Vec<&str> = question.iter().map(|w| w.norm.as_str()).collect();
    match norms.as_slice() {
        ["where", "do", "you", verb, ..] => of_place(question, verb, &reply),
        ["what's" | "whats" | "who's", "your", ..] => of_noun(&question[1..], &reply),
        ["what" | "who" | "when" | "where" | "which", "is" | "are", "your", ..] => of_noun(&question[2..], &reply),
        ["when's" | "where's", "your", ..] => of_noun(&question[1..], &reply),
        ["what", "time", "is", "your", ..] => of_noun(&question[3..], &reply),
        ["how", "old", "are", "you"] => reply.number().map(|n| format!("I am {n} years old.")),
        ["how", "old", "is", "your", ..] => Some(format!("{} is {} years old.", mine(&question[3..])?, reply.number()?)),
        ["how", "many", .., "do", "you", "have"] => Some(format!("I have {} {}.", reply.noun()?, said(&question[2..question.len() - 3])?)),
        ["what", "do", "you", "do"] | ["what", "do", "you", "do", "for", "work"] | ["what", "do", "you", "do", "for", "a", "living"] => {
            Some(format!("I work as {}.", with_article(reply.noun()?)))
        }
        ["what", "should" | "can" | "do" | "may", "i" | "people", "call", "you"] => Some(format!("My name is {}.", reply.noun()?)),
        ["what" | "which", "city" | "town" | "country" | "place", "are", "you", "in" | "based"]
        | ["what" | "which", "city" | "town" | "country" | "place", "do", "you", "live", ..] => {
            Some(format!("I live in {}.", reply.noun()?))
        }
        ["which" | "what", noun, .., "do", "you", verb] if !PASSING.contains(verb) && !CHOICES.contains(noun) => {
            Some(format!("I {verb} {}.", reply.noun()?))
        }
        ["who", "do", "you", verb] if !PASSING.contains(verb) => Some(format!("I {verb} {}.", reply.noun()?)),
        ["who", "do", "you", verb, preposition] if PREPOSITIONS.contains(preposition) => {
            Some(format!("I {verb} {preposition} {}.", reply.noun()?))
        }
        ["do", "you", verb, ..] if !PASSING.contains(verb) => of_verb(&question[2..], &reply),
        ["are", "you", adjective, ..] if !MOODS.contains(adjective) => of_state(&question[2..], &reply),
        _ => None,
    }
}

/// Returns what the only question of a message takes for true, or asks to be true, as the speaker says it: "So you live in Paris?" is "I live in Paris".
pub(crate) fn assumption(asked: &str) -> Option<String> {
    let question = words(only_question(asked)?);
    let question = without_times(without_greeting(&question));
    let is_choice = question.iter().any(|w| w.norm == "or" || OPEN.contains(&w.norm.as_str()));
    let (first, rest) = question.split_first().filter(|_| question.len() <= MAX_QUESTION && !is_choice)?;
    match (first.norm.as_str(), rest) {
        ("do", [you, verb, ..]) if you.norm == "you" && !PASSING.contains(&verb.norm.as_str()) => Some(format!("I {}.", said(&rest[1..])?)),
        ("are", [you, state, ..]) if you.norm == "you" && !MOODS.contains(&state.norm.as_str()) => {
            Some(format!("I am {}.", said(&rest[1..])?))
        }
        ("you", [verb, ..]) if !PASSING.contains(&verb.norm.as_str()) => Some(format!("I {}.", said(rest)?)),
        ("you're", [state, ..]) if !MOODS.contains(&state.norm.as_str()) => Some(format!("I am {}.", said(rest)?)),
        ("your", [.., last]) if last.norm != "right" => Some(format!("My {}.", said(rest)?)),
        _ => None,
    }
}

/// Whether a reply only agrees.
pub(crate) fn agrees(reply: &str) -> bool {
    let all = words(reply);
    let reply = Reply::of(reply, &all);
    reply.verdict == Some(true) && reply.answer.is_empty()
}

/// Returns the question of a message, if it has one only.
fn only_question(asked: &str) -> Option<&str> {
    let end = asked.find('?').filter(|_| asked.matches('?').count() == 1)?;
    let start = asked[..end].rfind(['.', '!', '\n', ':']).map_or(0, |at| at + 1);
    Some(&asked[start..end])
}

/// A reply without the words that lead to the answer.
struct Reply<'t> {
    /// Whether it says yes or no.
    verdict: Option<bool>,
    /// The answer proper; empty if the verdict is all.
    answer: &'t str,
    first: String,
}

impl<'t> Reply<'t> {
    fn of(text: &'t str, all: &[Word<'t>]) -> Self {
        let (mut rest, mut verdict) = (all, None);
        while let Some(word) = rest.first() {
            let said = if YES.contains(&word.norm.as_str()) {
                Some(true)
            } else if NO.contains(&word.norm.as_str()) {
                Some(false)
            } else {
                break;
            };
            verdict = verdict.or(said);
            rest = &rest[1..];
        }
        while let Some(lead) = LEADS.iter().find(|lead| begin_with(rest, lead)) {
            rest = &rest[lead.split(' ').count()..];
        }
        if verdict.is_some() && TAILS.iter().any(|tail| before_end(rest, tail).is_some_and(<[_]>::is_empty)) {
            rest = &[];
        }
        let first = rest.first().map_or_else(String::new, |w| w.norm.clone());
        Self { verdict, answer: joined(text, rest), first }
    }

    /// Returns the answer proper, unless it is a sentence of its own.
    fn noun(&self) -> Option<&'t str> {
        // "my partner Sam", but not "my partner lives there too"
        let is_owned = matches!(self.first.as_str(), "my" | "our") && self.answer.split(' ').count() <= MAX_OWNED;
        let is_noun = is_owned || !SUBJECTS.contains(&self.first.as_str()) && !NO_ANSWERS.contains(&self.first.as_str());
        (!self.answer.is_empty() && is_noun && self.verdict.is_none()).then_some(self.answer)
    }

    /// Whether the answer proper begins as a noun phrase does, and not as a remark: "yes, but …", "yes, since 2019".
    fn is_noun_phrase(&self) -> bool {
        let first = self.first.as_str();
        ![SUBJECTS, NO_ANSWERS, PREPOSITIONS].iter().any(|words| words.contains(&first))
            && !matches!(first, "since" | "only" | "and" | "love" | "always")
    }

    fn number(&self) -> Option<&'t str> {
        self.noun().filter(|noun| noun.bytes().all(|b| b.is_ascii_digit()))
    }
}

/// "Where do you work?", "At the post office": "I work at the post office."
fn of_place(question: &[Word<'_>], verb: &str, reply: &Reply<'_>) -> Option<String> {
    let (place, words) = (reply.noun()?, said(&question[3..])?);
    let ends = question.last().is_some_and(|w| PREPOSITIONS.contains(&w.norm.as_str()));
    let preposition = match verb {
        _ if ends || PREPOSITIONS.contains(&reply.first.as_str()) => "",
        "live" => "in ",
        "work" | "study" | "teach" => "at ",
        _ => return None,
    };
    // "Where do you come from?", "From Cork"
    let place = if ends && PREPOSITIONS.contains(&reply.first.as_str()) { place.split_once(' ')?.1 } else { place };
    Some(format!("I {words} {preposition}{place}."))
}

/// "Who is your boss?", "Ines": "My boss is Ines."
fn of_noun(noun: &[Word<'_>], reply: &Reply<'_>) -> Option<String> {
    Some(format!("{} is {}.", mine(noun)?, reply.noun()?))
}

/// "Do you have kids?", "yes": "I have kids." "Do you like jazz?", "no": "I do not like jazz."
fn of_verb(words: &[Word<'_>], reply: &Reply<'_>) -> Option<String> {
    if words.iter().any(|w| w.norm == "or") {
        return None;
    }
    let has_still = words.iter().any(|w| w.norm == "still");
    let plain: Vec<Word<'_>> = words.iter().filter(|w| w.norm != "still").cloned().collect();
    let (verdict, object) = (reply.verdict?, said(&plain)?.replacen(" any ", " ", 1));
    // "Do you have pets?", "Do you own anything?"
    let is_open =
        plain.iter().any(|w| OPEN.contains(&w.norm.as_str()) || w.norm == "any") || plain.len() == 2 && plain[1].norm.ends_with('s');
    match (verdict, reply.answer) {
        (true, "") if !plain.iter().any(|w| OPEN.contains(&w.norm.as_str())) => Some(format!("I {object}.")),
        (false, "") if has_still => Some(format!("I no longer {object}.")),
        (false, "") => Some(format!("I do not {object}.")),
        // "Yes, two cats"
        (true, answer) if is_open && reply.is_noun_phrase() => Some(format!("I {} {answer}.", plain.first()?.text)),
        _ => None,
    }
}

/// "Are you vegan?", "yes": "I am vegan." "Are you allergic to anything?", "Yes, shellfish": "I am allergic to shellfish."
fn of_state(words: &[Word<'_>], reply: &Reply<'_>) -> Option<String> {
    if words.iter().any(|w| w.norm == "or") {
        return None;
    }
    let open = words.iter().position(|w| OPEN.contains(&w.norm.as_str()));
    match (reply.verdict, reply.answer, open) {
        (Some(true), "", None) => Some(format!("I am {}.", said(words)?)),
        (Some(false), "", None) => Some(format!("I am not {}.", said(words)?)),
        (verdict, answer, Some(open)) if verdict != Some(false) && !answer.is_empty() && reply.is_noun_phrase() => {
            Some(format!("I am {} {answer}.", said(&words[..open])?))
        }
        _ => None,
    }
}

/// Returns "your sister's name" as the speaker says it: "My sister's name". `None` if it is more than a noun phrase.
fn mine(noun: &[Word<'_>]) -> Option<String> {
    let is_short = (2..=MAX_NOUN).contains(&noun.len()) && noun[0].norm == "your";
    let rest = said(noun.get(1..)?).filter(|_| is_short)?;
    Some(format!("My {rest}"))
}

/// Returns words of the asker as the speaker says them; `None` if they still speak of the asker.
fn said(words: &[Word<'_>]) -> Option<String> {
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

/// Returns an occupation with its article: "a nurse".
fn with_article(noun: &str) -> String {
    let has_article = ["a ", "an ", "the "].iter().any(|article| noun.to_lowercase().starts_with(article));
    let article = match noun.chars().next() {
        _ if has_article => "",
        Some('a' | 'e' | 'i' | 'o' | 'u' | 'A' | 'E' | 'I' | 'O' | 'U') => "an ",
        _ => "a ",
    };
    format!("{article}{noun}")
}

/// Removes words before the question: "And", "So", "Nice".
fn without_greeting<'w, 't>(words: &'w [Word<'t>]) -> &'w [Word<'t>] {
    const BEFORE: [&str; 8] = ["and", "so", "nice", "ok", "okay", "great", "cool", "by"];
    let skipped = words.iter().take_while(|w| BEFORE.contains(&w.norm.as_str())).count();
    &words[skipped..]
}

fn without_times<'w, 't>(mut words: &'w [Word<'t>]) -> &'w [Word<'t>] {
    while let Some(rest) = TIMES.iter().find_map(|time| before_end(words, time)) {
        words = rest;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_completes_its_question() {
        for (asked, reply, expected) in [
            ("Where do you work these days?", "At the post office.", "I work At the post office."),
            ("Nice! Where do you live?", "Leeds", "I live in Leeds."),
            ("Where do you come from?", "From Cork", "I come from Cork."),
            ("What's your sister's name?", "Miriam", "My sister's name is Miriam."),
            ("And who is your boss?", "it's Ines", "My boss is Ines."),
            ("When is your flight?", "tomorrow at 7am", "My flight is tomorrow at 7am."),
            ("How old are you?", "34", "I am 34 years old."),
            ("How old is your son?", "7", "My son is 7 years old."),
            ("Do you have any kids?", "no", "I do not have kids."),
            ("Do you like jazz?", "Yes!", "I like jazz."),
            ("Do you like jazz?", "No, sorry", "I do not like jazz."),
            ("Do you like jazz?", "Yes, love it", "I like jazz."),
            ("Do you still live in Leeds?", "no", "I no longer live in Leeds."),
            ("Do you have pets?", "yes, two cats", "I have two cats."),
            ("Are you allergic to anything?", "Yes, shellfish", "I am allergic to shellfish."),
            ("Are you vegan?", "nope", "I am not vegan."),
            ("How many kids do you have?", "two", "I have two kids."),
            ("What do you do for a living?", "nurse", "I work as a nurse."),
            ("Hi! What should I call you?", "Lexi", "My name is Lexi."),
            ("What city are you in?", "Hull", "I live in Hull."),
            ("Which team do you support?", "Everton", "I support Everton."),
            ("Who do you live with?", "my partner Sam", "I live with my partner Sam."),
        ] {
            assert_eq!(statement(asked, reply).as_deref(), Some(expected), "{asked} {reply}");
        }
    }

    #[test]
    fn question_may_take_something_for_true() {
        for (asked, expected) in [
            ("So you live in Paris?", Some("I live in Paris.")),
            ("Nice. You're vegan?", Some("I am vegan.")),
            ("Your sister lives in Rome, right?", None),
            ("You want to go?", None),
            ("Your flight is on Monday?", Some("My flight is on Monday.")),
            ("You know me?", None),
            ("Do you like tea or coffee?", None),
            ("Are you allergic to anything?", None),
            ("Do you work at Bosch?", Some("I work at Bosch.")),
        ] {
            assert_eq!(assumption(asked).as_deref(), expected, "{asked}");
        }
        assert!(agrees("Yes!") && !agrees("yes, but not now") && !agrees("no"));
    }

    #[test]
    fn other_replies_state_nothing() {
        for (asked, reply) in [
            ("Where do you live?", "I live in Leeds"),
            ("Where do you live? And where do you work?", "Leeds"),
            ("Do you want a table in Porto?", "yes"),
            ("Which country do you want to visit?", "Japan"),
            ("What city are you flying to?", "Rome"),
            ("What's your sister's name?", "Idk"),
            ("Where do you live?", "Not in Leeds"),
            ("Do you work at Bosch?", "Yes, since 2019"),
            ("Do you have kids?", "Yes, but they live in Rome"),
            ("What do you do for fun?", "Cook"),
            ("Which one do you like?", "The second"),
            ("What time do you leave?", "7"),
            ("Where do you stay in Rome?", "the Hilton"),
            ("Are you sure?", "yes"),
            ("Do you like tea or coffee?", "yes"),
            ("Do you like me?", "yes"),
            ("Do you know anyone there?", "yes"),
            ("What is your plan for the week after the holidays in May?", "rest"),
            ("How are you?", "fine"),
            ("Where do you live?", "why do you ask?"),
            ("Tell me where you live.", "Leeds"),
        ] {
            assert_eq!(statement(asked, reply), None, "{asked} {reply}");
        }
    }
}
