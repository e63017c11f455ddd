//! Reads a short reply to a question as the statement that it makes: "Miriam" after "What's your sister's name?" is "My sister's name is Miriam". Pure.
//!
//! `questions` reads what asks for a yes or a no. A yes or a no may be a word, or the subject with an auxiliary: "I don't", "she is".

use super::plain_words::{Word, before_end, begin_with, joined, words};
use super::questions::{Auxiliary, MAX_NOUN, MAX_QUESTION, YesNoQuestion, is_passing, only_sentence, said, words_of_question};

/// Most words of a reply.
const MAX_REPLY: usize = 8;
/// Most words of a reply that begins with "my".
const MAX_OWNED: usize = 3;

const YES: &[&str] = &["yes", "yeah", "yep", "yup", "sure", "correct", "right", "exactly", "indeed"];
const NO: &[&str] = &["no", "nope", "nah"];
/// Replies that something is no longer so.
const OVER: &[&str] = &["not anymore", "not any more", "not any longer", "no longer", "not these days"];
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
const TAILS: &[&str] =
    &["not really", "not at all", "sorry", "thanks", "thank you", "never", "please", "of course", "absolutely", "definitely", "love it"];
/// Adverbs of a short answer: "I really don't".
const STRESS: &[&str] = &["really", "actually", "still", "definitely", "certainly", "currently"];
/// Nouns of questions for a choice or a time, whose answer says nothing alone.
const CHOICES: &[&str] = &["one", "ones", "option", "time", "day", "date", "of", "do"];
const PREPOSITIONS: &[&str] = &["in", "at", "on", "near", "for", "from", "with", "to", "by", "outside", "around"];

/// What a message takes for true, or asks to be true.
pub(crate) struct Assumption {
    /// It, as the speaker of the reply says it: "I live in Paris."
    pub(crate) statement: String,
    /// It asks whether that is still so.
    pub(crate) has_still: bool,
}

/// Returns the statement that a reply makes to the only question of a message; `None` if they have no simple form.
pub(crate) fn statement(asked: &str, reply: &str) -> Option<String> {
    if reply.contains(['?', '\n']) {
        return None;
    }
    let (sentence, is_question) = only_sentence(asked)?;
    let reply_words = words(reply);
    let question = words_of_question(sentence);
    if !(1..=MAX_REPLY).contains(&reply_words.len()) || question.len() > MAX_QUESTION {
        return None;
    }
    let reply = Reply::of(reply, &reply_words);
    match YesNoQuestion::of(&question) {
        Some(asked) => of_verdict(&asked, &reply, is_question),
        None if is_question => of_question_word(&question, &reply),
        None => None,
    }
}

/// Returns what the only question of a message takes for true, or asks to be true: "So you live in Paris?" is "I live in Paris".
pub(crate) fn assumption(asked: &str) -> Option<Assumption> {
    let (sentence, _) = only_sentence(asked)?;
    let question = YesNoQuestion::of(&words_of_question(sentence)).filter(|q| q.open_word().is_none())?;
    Some(Assumption { statement: question.affirmed(), has_still: question.has_still })
}

/// Returns the statement of a reply to a question with a question word.
fn of_question_word(question: &[Word<'_>], reply: &Reply<'_>) -> Option<String> {
    let norms: Vec<&str> = question.iter().map(|w| w.norm.as_str()).collect();
    match norms.as_slice() {
        ["where", "do", "you", verb, ..] => of_place(question, verb, reply),
        ["what's" | "whats" | "who's", "your", ..] => of_noun(&question[1..], reply),
        ["what" | "who" | "when" | "where" | "which", "is" | "are", "your", ..] => of_noun(&question[2..], reply),
        ["when's" | "where's", "your", ..] => of_noun(&question[1..], reply),
        ["what", "time", "is", "your", ..] => of_noun(&question[3..], reply),
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
        ["which" | "what", noun, .., "do", "you", verb] if !is_passing(verb) && !CHOICES.contains(noun) => {
            Some(format!("I {verb} {}.", reply.noun()?))
        }
        ["who", "do", "you", verb] if !is_passing(verb) => Some(format!("I {verb} {}.", reply.noun()?)),
        ["who", "do", "you", verb, preposition] if PREPOSITIONS.contains(preposition) => {
            Some(format!("I {verb} {preposition} {}.", reply.noun()?))
        }
        _ => None,
    }
}

/// A yes or a no.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Yes,
    No,
    /// What was asked was so before.
    Over,
}

/// A reply without the words that lead to the answer.
struct Reply<'t> {
    verdict: Option<Verdict>,
    /// The auxiliary of a short answer: "do" in "I don't".
    auxiliary: Option<String>,
    /// The answer proper; empty if the verdict is all.
    answer: &'t str,
    first: String,
}

impl<'t> Reply<'t> {
    fn of(text: &'t str, all: &[Word<'t>]) -> Self {
        let (mut rest, mut verdict) = (all, None);
        while let Some(word) = rest.first() {
            let said = if YES.contains(&word.norm.as_str()) {
                Verdict::Yes
            } else if NO.contains(&word.norm.as_str()) && !OVER.iter().any(|over| begin_with(rest, over)) {
                Verdict::No
            } else {
                break;
            };
            verdict = verdict.or(Some(said));
            rest = &rest[1..];
        }
        while let Some(lead) = LEADS.iter().find(|lead| begin_with(rest, lead)) {
            rest = &rest[lead.split(' ').count()..];
        }
        let is = |phrases: &[&str]| phrases.iter().any(|phrase| before_end(rest, phrase).is_some_and(<[_]>::is_empty));
        let mut auxiliary = None;
        if verdict.is_some() && is(TAILS) {
            rest = &[];
        } else if verdict != Some(Verdict::Yes) && is(OVER) {
            (verdict, rest) = (Some(Verdict::Over), &[]);
        } else if let Some(answer) = ShortAnswer::of(rest).filter(|a| verdict.is_none_or(|v| (v == Verdict::Yes) != a.is_negated)) {
            verdict = Some(match (answer.is_negated, answer.is_over) {
                (true, true) => Verdict::Over,
                (true, false) => Verdict::No,
                (false, _) => Verdict::Yes,
            });
            (auxiliary, rest) = (Some(answer.auxiliary), &[]);
        }
        let first = rest.first().map_or_else(String::new, |w| w.norm.clone());
        Self { verdict, auxiliary, answer: joined(text, rest), first }
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

/// A subject with an auxiliary that stands for what was asked or said: "I don't", "she isn't any more".
pub(crate) struct ShortAnswer {
    /// "do", "am", "is", "have".
    pub(crate) auxiliary: String,
    pub(crate) is_negated: bool,
    is_over: bool,
    /// "I am too", "I don't either".
    pub(crate) has_addition: bool,
    /// The subject is "I".
    pub(crate) is_of_speaker: bool,
}

impl ShortAnswer {
    pub(crate) fn of(all: &[Word<'_>]) -> Option<Self> {
        let mut rest: Vec<&str> = all.iter().map(|w| w.norm.as_str()).collect();
        let over = OVER.iter().filter_map(|over| over.strip_prefix("not ")).find(|over| before_end(all, over).is_some());
        rest.truncate(rest.len() - over.map_or(0, |over| over.split(' ').count()));
        let has_addition = rest.last().is_some_and(|last| matches!(*last, "too" | "either"));
        rest.truncate(rest.len() - usize::from(has_addition));
        rest.retain(|word| !STRESS.contains(word));
        let (subject, auxiliary, negation) = match rest.as_slice() {
            [one] => {
                let (subject, be) = one.split_once('\'').or_else(|| (*one == "im").then_some(("i", "m")))?;
                // "I'm" alone is no answer.
                (subject, full_auxiliary(be)?, has_addition.then_some(false)?)
            }
            [one, "not"] if one.contains('\'') => {
                let (subject, be) = one.split_once('\'')?;
                (subject, full_auxiliary(be)?, true)
            }
            ["im", "not"] => ("i", "am", true),
            [subject, auxiliary] => match auxiliary.strip_suffix("n't").or_else(|| auxiliary.strip_suffix("nt")) {
                Some(auxiliary) => (*subject, full_auxiliary(auxiliary)?, true),
                None => (*subject, full_auxiliary(auxiliary)?, false),
            },
            [subject, auxiliary, "not"] => (*subject, full_auxiliary(auxiliary)?, true),
            _ => return None,
        };
        let is_of_speaker = matches!(subject, "i" | "we");
        let is_subject = is_of_speaker || matches!(subject, "he" | "she" | "they");
        let is_over = over.is_some();
        is_subject.then(|| Self { auxiliary: auxiliary.to_owned(), is_negated: negation, is_over, has_addition, is_of_speaker })
    }
}

/// Returns the auxiliary that a word is or is short for.
fn full_auxiliary(word: &str) -> Option<&'static str> {
    Some(match word {
        "m" | "am" => "am",
        "s" | "is" => "is",
        "re" | "are" => "are",
        "do" => "do",
        "does" => "does",
        "ve" | "have" => "have",
        "has" => "has",
        _ => return None,
    })
}

/// What a reply says of the speaker by what somebody said before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Echo {
    /// "So do I", "me too".
    Same,
    /// "Neither do I", "me neither".
    SameDenial,
    /// "I'm not", "I don't".
    Denial,
    /// "I do", "I am", after a denial.
    Affirmation,
}

/// Reads a reply that says of the speaker what somebody said of somebody, or the contrary.
pub(crate) fn echo(reply: &str) -> Option<Echo> {
    let all = words(reply);
    let skipped = all.iter().take_while(|w| matches!(w.norm.as_str(), "oh" | "haha" | "ah" | "yeah" | "well" | "hey" | "really")).count();
    let rest = &all[skipped..];
    let norms: Vec<&str> = rest.iter().map(|w| w.norm.as_str()).collect();
    let is_auxiliary = |word: &str| matches!(word, "do" | "am" | "have");
    match norms.as_slice() {
        ["me", "too"] | ["same"] | ["same", "here"] | ["likewise"] => Some(Echo::Same),
        ["so", auxiliary, "i"] if is_auxiliary(auxiliary) => Some(Echo::Same),
        ["me", "neither"] | ["nor", "me"] => Some(Echo::SameDenial),
        ["neither" | "nor", auxiliary, "i"] if is_auxiliary(auxiliary) => Some(Echo::SameDenial),
        _ => {
            let answer = ShortAnswer::of(rest).filter(|answer| answer.is_of_speaker && !reply.contains('?'))?;
            Some(match (answer.is_negated, answer.has_addition) {
                (false, true) => Echo::Same,
                (true, true) => Echo::SameDenial,
                (true, false) => Echo::Denial,
                (false, false) => Echo::Affirmation,
            })
        }
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

/// "Do you have kids?", "yes": "I have kids." "Are you allergic to anything?", "Yes, shellfish": "I am allergic to shellfish."
fn of_verdict(asked: &YesNoQuestion, reply: &Reply<'_>, is_question: bool) -> Option<String> {
    if reply.auxiliary.as_ref().is_some_and(|auxiliary| !asked.is_repeated_by(auxiliary)) {
        return None;
    }
    let open = asked.open_word();
    let has_any = asked.predicate.iter().any(|w| w == "any");
    match (reply.verdict, reply.answer) {
        // What the assistant states is not what it asks: "You have two options."
        (Some(Verdict::Yes), "") if open.is_none() && is_question => Some(asked.affirmed()),
        (Some(Verdict::No), "") if open.is_none() || asked.auxiliary == Auxiliary::Do => Some(asked.denied(asked.has_still)),
        (Some(Verdict::Over), "") if open.is_none() => Some(asked.denied(true)),
        // "Yes, two cats"
        (verdict, answer) if is_question && !answer.is_empty() && reply.is_noun_phrase() && verdict != Some(Verdict::No) => {
            let [verb, object @ ..] = asked.predicate.as_slice() else { return None };
            let is_plural = object.len() == 1 && object[0].ends_with('s');
            match (asked.auxiliary, open) {
                (Auxiliary::Do | Auxiliary::Does, _) if verdict.is_some() && (open.is_some() || has_any || is_plural) => {
                    Some(asked.with_predicate(&format!("{verb} {answer}")))
                }
                (Auxiliary::Be(_), Some(open)) => Some(asked.with_predicate(&format!("{} {answer}", asked.predicate[..open].join(" ")))),
                _ => None,
            }
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
            ("Your sister lives in Rome, right?", Some("My sister lives in Rome.")),
            ("Does your sister's husband still work at Bosch?", Some("My sister's husband works at Bosch.")),
            ("Have your kids got a dog?", Some("My kids have a dog.")),
            ("You have a dog, don't you?", Some("I have a dog.")),
            ("You want to go?", None),
            ("You know me?", None),
            ("Do you like tea or coffee?", None),
            ("Are you allergic to anything?", None),
            ("Do you work at Bosch?", Some("I work at Bosch.")),
            ("Where does your sister live?", None),
            ("Nice weather there?", None),
        ] {
            assert_eq!(assumption(asked).map(|a| a.statement).as_deref(), expected, "{asked}");
        }
    }

    #[test]
    fn short_answer_repeats_the_auxiliary() {
        for (asked, reply, expected) in [
            ("Are you still working at Bosch?", "no", Some("I am no longer working at Bosch.")),
            ("Are you still working at Bosch?", "Not anymore.", Some("I am no longer working at Bosch.")),
            ("Do you work at Bosch?", "no, not any more", Some("I no longer work at Bosch.")),
            ("Do you like jazz?", "I don't", Some("I do not like jazz.")),
            ("Do you like jazz?", "yes I really do", Some("I like jazz.")),
            ("Are you vegan?", "no I'm not", Some("I am not vegan.")),
            ("Does your sister live in Rome?", "she doesn't", Some("My sister does not live in Rome.")),
            ("Does your sister still study in Rome?", "no", Some("My sister no longer studies in Rome.")),
            ("Is Anna married?", "yes she is", Some("Anna is married.")),
            ("Have you ever been to Rome?", "I haven't", Some("I have not been to Rome.")),
            ("Have you got a car?", "yes", Some("I have a car.")),
            ("So you live in Paris?", "I don't", Some("I do not live in Paris.")),
            ("You're vegan.", "no", Some("I am not vegan.")),
            ("Are you vegan?", "I do", None),
            ("Do you like jazz?", "yes I don't", None),
            ("Are you still there?", "no", None),
            ("Are you still looking for a flat?", "no", None),
            ("I found two flats. You're vegan.", "no", None),
        ] {
            assert_eq!(statement(asked, reply).as_deref(), expected, "{asked} {reply}");
        }
    }

    #[test]
    fn echo_repeats_or_denies_what_was_said() {
        for (reply, expected) in [
            ("So do I!", Some(Echo::Same)),
            ("me too", Some(Echo::Same)),
            ("oh I am too", Some(Echo::Same)),
            ("Neither do I", Some(Echo::SameDenial)),
            ("I don't either", Some(Echo::SameDenial)),
            ("I'm not", Some(Echo::Denial)),
            ("I do", Some(Echo::Affirmation)),
            ("she is", None),
            ("I'm", None),
            ("So do you", None),
            ("me too please", None),
        ] {
            assert_eq!(echo(reply), expected, "{reply}");
        }
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
