//! Reads a bare correction: "No, I meant Tuesday", "make that 4pm", "it's 42, not 41". It says only what a value should have been.
//!
//! The message before it is read again with the right words in place of the wrong ones. What that reading adds holds, and what it lacks does not.
//! So a correction works for every relation, and needs exactly one value of its kind in that message.

mod values;

use std::ops::Range;

use self::values::{Kind, MAX_VALUE_WORDS, day_and_time, is_amount, kind_of_all, number_in_place_of, values};
use super::{
    closed_classes::closed_class,
    plain_words::{Word, before_end, begin_with, joined, places_of, words},
    tokens::Pos,
};

/// Most words of a correction.
const MAX_WORDS: usize = 12;
/// Most bytes of a message that is read again.
const MAX_CORRECTED: usize = 1_000;
/// Least words of a statement that is made again.
const LEAST_RESTATED: usize = 3;
/// Words of a statement that adds to the one before.
const ADDITIONS: &[&str] = &["also", "too", "well", "another", "other", "both", "second", "more", "besides", "forgot", "and"];
/// Messages that end what the one before states.
const ENDINGS: &[&str] = &["not anymore", "not any more", "not any longer", "no longer", "not these days"];
/// Most replacements that are tried for one correction.
const MAX_PLACES: usize = 6;

/// What a beginning says about earlier words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// Earlier words were wrong, and nothing else can be meant.
    Certain,
    /// Something said or written is replaced.
    Replacement,
    /// Something was wrong, or a question gets a negative reply.
    Denial,
    /// The speaker hesitates or stresses.
    Turn,
    /// What is wanted, which may differ from what is.
    Wish,
    /// Something has changed.
    Change,
    /// Nothing.
    Interjection,
}

/// Beginnings with what they say. A beginning stands before the shorter ones that it begins with.
const BEGINNINGS: &[(Sign, &[&str])] = &[
    (Sign::Certain, &["i meant to say", "i meant to write", "i meant", "i should have said", "correction", "typo"]),
    (Sign::Replacement, &["i mean", "make that", "make it", "that should have been", "scratch that"]),
    (Sign::Denial, &["no", "nope", "sorry", "oops", "whoops", "my bad", "my mistake", "apologies"]),
    (Sign::Turn, &["wait", "actually"]),
    (Sign::Change, MOVES),
    (Sign::Wish, &["that should be", "it should be", "should be"]),
    (Sign::Interjection, &["oh", "ah", "argh", "ugh", "hm", "hmm", "well", "er", "um"]),
];
/// Beginnings that say what has changed.
const MOVES: &[&str] = &[
    "it's been moved to",
    "it's been changed to",
    "it has been moved to",
    "it was moved to",
    "it got moved to",
    "it's moved to",
    "they moved it to",
];
/// Ends that say the same as a beginning.
const ENDS: &[(Sign, &[&str])] = &[
    (Sign::Certain, &["i meant"]),
    (Sign::Replacement, &["i mean"]),
    (Sign::Denial, &["sorry", "my mistake", "my bad"]),
    (Sign::Turn, &["actually", "instead"]),
    (Sign::Change, &["now", "these days"]),
];
/// Words that lead to the value.
const LEADS: &[&str] =
    &["it's", "it is", "its", "it was", "that's", "that is", "on", "in", "at", "to", "for", "by", "a", "an", "the", "my", "our"];
/// Beginnings that repeat wrong words: "I said York but it's Hull".
const REPEATS: &[&str] = &["i said", "i wrote", "i typed", "i put", "i told you"];
/// Subjects of a value: "sorry, she's 63".
const PRONOUNS: &[&str] = &["he's", "she's", "they're", "he is", "she is", "they are"];

/// Subjects of a clause that says why something is corrected.
const CLAUSES: &[&str] = &["i", "i've", "we", "we've", "he", "he's", "she", "she's", "they", "they've", "because"];
/// Beginnings of what was so and of what is so now.
const WAS: &[&str] = &["it used to be", "it was", "used to be"];
const IS: &[&str] = &["now it's", "now it is", "it's now", "it is now", "it's", "it is", "now"];

/// How far before a correction the message may be that it corrects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Directly before, because "no" may reply to any message between.
    Directly,
    /// Before messages that ask nothing, because "make it 8" may reply to a question.
    PastStatements,
    /// Before any messages of others.
    Anywhere,
}

/// A bare correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Correction<'t> {
    /// The right words.
    pub(crate) right: &'t str,
    /// The wrong ones, if they are named.
    pub(crate) wrong: Option<&'t str>,
    /// Where the corrected message may be.
    pub(crate) reach: Reach,
    /// Whether the message was right when it was said: "it's £950 now".
    pub(crate) is_change: bool,
}

impl Correction<'_> {
    /// Whether the right words are exactly one value.
    pub(crate) fn is_value(&self) -> bool {
        kind_of_all(self.right).is_some() || day_and_time(self.right).is_some()
    }
}

/// Whether a text has a date, a time of day, a number or a contact.
pub(crate) fn has_value(text: &str) -> bool {
    !values(text).is_empty()
}

/// Whether a message begins by saying that the one before was wrong and then says all of it again: "No, I live in York".
pub(crate) fn restates(text: &str) -> bool {
    let all = words(text);
    let (rest, signs) = without_signs(&all);
    // "No one lives in York", "make that work", "sorry I'm late"
    let has_mark = all[..all.len() - rest.len()].last().is_some_and(|w| w.closes);
    let is_denial = signs.contains(&Sign::Certain) || has_mark && (signs.contains(&Sign::Replacement) || signs.contains(&Sign::Denial));
    // "I meant to tell you that …"
    let adds = rest.first().is_some_and(|w| w.norm == "to") || rest.iter().any(|w| ADDITIONS.contains(&w.norm.as_str()));
    is_denial && !adds && rest.len() >= LEAST_RESTATED && !text.contains('?')
}

/// Whether a message says only that the one before no longer holds: "Not anymore."
pub(crate) fn ends_statement(text: &str) -> bool {
    let all = words(text);
    let ends = |words: &[Word<'_>]| ENDINGS.contains(&words.iter().map(|w| w.norm.as_str()).collect::<Vec<_>>().join(" ").as_str());
    (ends(&all) || ends(without_signs(&all).0)) && !text.contains('?')
}

/// Reads a message as a bare correction.
pub(crate) fn correction(text: &str) -> Option<Correction<'_>> {
    if text.contains(['\n', '?']) {
        return None;
    }
    let all = words(text);
    if all.len() > MAX_WORDS {
        return None;
    }
    let (rest, mut signs) = without_signs(&all);
    signs.extend(is_marked_as_typo(text).then_some(Sign::Certain));
    let rest = without_reason(rest, &signs);
    let is_moved = signs.contains(&Sign::Change);
    let contrast = contrast(rest);
    signs.extend(contrast.map(|_| Sign::Change));
    let (right, wrong) = contrast.map_or_else(|| sides(rest), |(right, wrong)| Some((right, Some(wrong))))?;
    let of_person = without_beginning(right, PRONOUNS);
    // "It's Calvin now", but not "Calvin now".
    let is_renamed = without_beginning(right, &["it's", "it is", "its"]).is_some();
    let (right, end) = without_end(without_leads(of_person.unwrap_or(right)));
    signs.extend(end);
    let wrong = wrong.map(|wrong| without_end(without_leads(wrong)).0);
    let is_one = |words: &[Word<'_>]| (1..=MAX_VALUE_WORDS).contains(&words.len());
    // "And Tom" adds to what was said.
    let adds = right.first().is_some_and(|first| closed_class(&first.norm) == Some(Pos::Cconj));
    if !is_one(right) || adds || wrong.is_some_and(|wrong| !is_one(wrong)) {
        return None;
    }
    // "She's a nurse, not a doctor" is a statement.
    if of_person.is_some() && values(joined(text, right)).is_empty() {
        return None;
    }
    let reach = if wrong.is_some() { Reach::Anywhere } else { reach_of(&signs)? };
    let is_change = signs.contains(&Sign::Change);
    let correction = Correction { right: joined(text, right), wrong: wrong.map(|w| joined(text, w)), reach, is_change };
    // "It's 9 now" tells the time, and "Leeds now" is no value.
    let says_what = is_moved || is_amount(correction.right);
    let is_name = || is_renamed && values(correction.right).is_empty() && right.iter().all(|w| w.text.starts_with(char::is_uppercase));
    (!is_change || correction.wrong.is_some() || correction.is_value() && says_what || is_name()).then_some(correction)
}

/// Removes a clause that says why: "Make that four, we adopted another one".
fn without_reason<'w, 't>(words: &'w [Word<'t>], signs: &[Sign]) -> &'w [Word<'t>] {
    let corrects = signs.iter().any(|sign| matches!(sign, Sign::Certain | Sign::Replacement | Sign::Denial));
    let is_clause = |rest: &[Word<'_>]| rest.len() >= LEAST_RESTATED && rest.first().is_some_and(|w| CLAUSES.contains(&w.norm.as_str()));
    let end = (1..words.len()).find(|&i| corrects && words[i - 1].closes && is_clause(&words[i..]));
    end.map_or(words, |end| &words[..end])
}

/// Splits what is so from what was so: "it's Calvin now, it was Greg before", "it used to be Greg but now it's Calvin".
fn contrast<'w, 't>(words: &'w [Word<'t>]) -> Option<(&'w [Word<'t>], &'w [Word<'t>])> {
    let before = |words: &'w [Word<'t>]| {
        let rest = without_beginning(words, WAS)?;
        Some(["before", "previously", "until now"].iter().find_map(|end| before_end(rest, end)).unwrap_or(rest))
    };
    let after = |words: &'w [Word<'t>]| without_beginning(words, IS);
    // "It was great but it's late" has two subjects.
    if !words.iter().any(|w| matches!(w.norm.as_str(), "now" | "before" | "previously" | "used")) {
        return None;
    }
    (1..words.len()).find_map(|i| {
        let is_but = matches!(words[i].norm.as_str(), "but" | "and");
        let second = if is_but { words.get(i + 1..)? } else { &words[i..] };
        if !is_but && !words[i - 1].closes {
            return None;
        }
        let first = &words[..i];
        let (right, wrong) = after(first).zip(before(second)).or_else(|| after(second).zip(before(first)))?;
        (!right.is_empty() && !wrong.is_empty()).then_some((right, wrong))
    })
}

/// Removes the beginnings that say something about earlier words, and returns what they say.
fn without_signs<'w, 't>(mut words: &'w [Word<'t>]) -> (&'w [Word<'t>], Vec<Sign>) {
    let mut signs = Vec::new();
    while let Some((sign, next)) = BEGINNINGS.iter().find_map(|(sign, beginnings)| Some((*sign, without_beginning(words, beginnings)?))) {
        words = next;
        signs.push(sign);
    }
    (words, signs)
}

/// Whether a text is marked as people mark the right spelling in a chat: "*Osaka", "Osaka*".
fn is_marked_as_typo(text: &str) -> bool {
    let text = text.trim();
    let marked = text.strip_prefix('*').or_else(|| text.strip_suffix('*'));
    marked.is_some_and(|rest| !rest.contains('*') && rest == rest.trim())
}

/// Returns how far a correction reaches that begins or ends like this; `None` if the signs deny nothing.
fn reach_of(signs: &[Sign]) -> Option<Reach> {
    // "Actually it should be 70" is a wish; "sorry, it should be 70" corrects.
    let is_wish = signs.contains(&Sign::Wish);
    let reaches = signs.iter().filter_map(|sign| match sign {
        Sign::Certain => Some(Reach::Anywhere),
        Sign::Denial => Some(Reach::Directly),
        Sign::Replacement if !is_wish => Some(Reach::PastStatements),
        Sign::Turn | Sign::Change if !is_wish => Some(Reach::Directly),
        Sign::Replacement | Sign::Turn | Sign::Change | Sign::Wish | Sign::Interjection => None,
    });
    reaches.max()
}

/// Splits the right words from the wrong ones: "42, not 41", "not 41 but 42", "Ann instead of Bob", "I said York but it's Hull".
fn sides<'w, 't>(words: &'w [Word<'t>]) -> Option<(&'w [Word<'t>], Option<&'w [Word<'t>]>)> {
    let at = |norm: &str| words.iter().position(|w| w.norm == norm);
    if let Some(repeated) = without_beginning(words, REPEATS) {
        let but = repeated.iter().position(|w| w.norm == "but")?;
        return Some((
            without_signs(without_beginning(&repeated[but + 1..], &["meant"]).unwrap_or(&repeated[but + 1..])).0,
            Some(&repeated[..but]),
        ));
    }
    if at("not") == Some(0) {
        let wrong_first = &words[1..];
        let but = wrong_first.iter().position(|w| w.norm == "but");
        let comma = wrong_first.iter().position(|w| w.closes);
        return match (but, comma) {
            (Some(but), _) => Some((&wrong_first[but + 1..], Some(&wrong_first[..but]))),
            (None, Some(comma)) => Some((&wrong_first[comma + 1..], Some(&wrong_first[..=comma]))),
            (None, None) => None,
        };
    }
    let pair = |a: &str, b: &str| words.windows(2).position(|w| w[0].norm == a && w[1].norm == b);
    let found = at("not").map(|i| (i, i + 1)).or_else(|| pair("instead", "of").or_else(|| pair("rather", "than")).map(|i| (i, i + 2)));
    Some(found.map_or((words, None), |(end, start)| (&words[..end], Some(&words[start..]))))
}

/// Returns the text of a message with the right words in place of the wrong ones. `nouns` has the places of what its facts are about, for
/// corrections that are no values. Returns each text that the correction may mean; none if there are more than a few.
pub(crate) fn corrected(said: &str, correction: &Correction<'_>, nouns: &[Range<usize>]) -> Vec<String> {
    if said.len() > MAX_CORRECTED {
        return Vec::new();
    }
    if let (None, Some((day, time))) = (correction.wrong, day_and_time(correction.right)) {
        return Vec::from_iter(with_day_and_time(said, correction, day, time));
    }
    let right = kind_of_all(correction.right);
    // A value must be all that is said: "42 in the shade" is none.
    if right.is_none() && !values(correction.right).is_empty() {
        return Vec::new();
    }
    let places: Vec<Range<usize>> = match (correction.wrong, right) {
        (Some(wrong), _) => places_of(said, wrong),
        (None, Some(kind)) => values(said).into_iter().filter(|(_, k)| *k == kind).map(|(range, _)| range).collect(),
        (None, None) => nouns.to_vec(),
    };
    let most = if right.is_some() || correction.wrong.is_some() { 1 } else { MAX_PLACES };
    if places.len() > most {
        return Vec::new();
    }
    let texts = places.into_iter().filter_map(|place| {
        let old = said.get(place.clone())?;
        let wrong_kind = || values(old).first().filter(|(range, _)| *range == (0..old.len())).map(|(_, kind)| *kind);
        let new = match right {
            Some(Kind::Number) => number_in_place_of(old, said.get(place.end..)?, correction.right)?,
            kind if kind == wrong_kind() => correction.right.to_owned(),
            _ => return None,
        };
        Some(format!("{}{new}{}", said.get(..place.start)?, said.get(place.end..)?))
    });
    texts.filter(|text| text != said).collect()
}

/// Replaces the day and the time of a text, if it has one of each: "Wednesday at 11" for "Monday at 10". A text without a time gets one.
fn with_day_and_time(said: &str, correction: &Correction<'_>, day: &str, time: &str) -> Option<String> {
    let only = |said: &str, right| corrected(said, &Correction { right, ..*correction }, &[]).pop();
    let moved = only(said, day)?;
    let has_time = values(said).iter().any(|(_, kind)| *kind != Kind::Date);
    if has_time { only(&moved, time) } else { Some(moved.replacen(day, correction.right, 1)) }
}

fn without_beginning<'w, 't>(words: &'w [Word<'t>], beginnings: &[&str]) -> Option<&'w [Word<'t>]> {
    beginnings.iter().find_map(|beginning| {
        let rest = words.get(beginning.split(' ').count()..)?;
        (begin_with(words, beginning) && !rest.is_empty()).then_some(rest)
    })
}

fn without_leads<'w, 't>(mut words: &'w [Word<'t>]) -> &'w [Word<'t>] {
    while let Some(next) = without_beginning(words, LEADS) {
        words = next;
    }
    words
}

/// Removes how a name is spelled: "Johanna with an h".
fn without_spelling<'w, 't>(words: &'w [Word<'t>]) -> &'w [Word<'t>] {
    match words {
        [rest @ .., with, a, letter] if with.norm == "with" && matches!(a.norm.as_str(), "a" | "an") && letter.norm.len() == 1 => rest,
        _ => words,
    }
}

/// Removes an end that says the same as a beginning, and returns what it says.
fn without_end<'w, 't>(words: &'w [Word<'t>]) -> (&'w [Word<'t>], Option<Sign>) {
    let words = without_spelling(words);
    let without = |end: &str| before_end(words, end).filter(|rest| !rest.is_empty());
    let found = ENDS.iter().find_map(|(sign, ends)| Some((*sign, ends.iter().find_map(|end| without(end))?)));
    found.map_or((words, None), |(sign, rest)| (rest, Some(sign)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(&str, Option<&str>, Reach)> {
        correction(text).map(|c| (c.right, c.wrong, c.reach))
    }

    #[test]
    fn bare_corrections_are_recognized() {
        for (text, expected) in [
            ("No, I meant Tuesday", ("Tuesday", None, Reach::Anywhere)),
            ("make that 4pm.", ("4pm", None, Reach::PastStatements)),
            ("actually it's 42, not 41", ("42", Some("41"), Reach::Anywhere)),
            ("Sorry, Lisbon", ("Lisbon", None, Reach::Directly)),
            ("Lisbon, sorry!", ("Lisbon", None, Reach::Directly)),
            ("scratch that, in Lisbon", ("Lisbon", None, Reach::PastStatements)),
            ("not the kayak but a canoe", ("canoe", Some("kayak"), Reach::Anywhere)),
            ("not Oslo, Bergen", ("Bergen", Some("Oslo"), Reach::Anywhere)),
            ("wait, 5 May instead of 3 May", ("5 May", Some("3 May"), Reach::Anywhere)),
            ("it’s Bergen, not Oslo", ("Bergen", Some("Oslo"), Reach::Anywhere)),
            ("Sorry, she's 63", ("63", None, Reach::Directly)),
            ("Oh no, Lisbon", ("Lisbon", None, Reach::Directly)),
            ("Oh, Lisbon, not Porto", ("Lisbon", Some("Porto"), Reach::Anywhere)),
            ("Lisbon, I meant", ("Lisbon", None, Reach::Anywhere)),
            ("I mean Lisbon", ("Lisbon", None, Reach::PastStatements)),
            ("That should have been 70", ("70", None, Reach::PastStatements)),
            ("I should have said 70", ("70", None, Reach::Anywhere)),
            ("Sorry, should be 70", ("70", None, Reach::Directly)),
            ("*Osaka", ("Osaka", None, Reach::Anywhere)),
            ("Osaka*", ("Osaka", None, Reach::Anywhere)),
            ("I said York but it's Hull", ("Hull", Some("York"), Reach::Anywhere)),
            ("sorry, I wrote 5 May but I meant 6 May", ("6 May", Some("5 May"), Reach::Anywhere)),
            ("I said York, but meant Hull", ("Hull", Some("York"), Reach::Anywhere)),
            ("It's £950 now.", ("£950", None, Reach::Directly)),
            ("It's been moved to Wednesday", ("Wednesday", None, Reach::Directly)),
            ("Sorry, it's the 14th, not the 12th.", ("14th", Some("12th"), Reach::Anywhere)),
            ("Sorry I meant Johanna with an h", ("Johanna", None, Reach::Anywhere)),
            ("Typo: that should be 70", ("70", None, Reach::Anywhere)),
            ("It should be 70, not 72", ("70", Some("72"), Reach::Anywhere)),
            ("it's Calvin now, it was Greg before", ("Calvin", Some("Greg"), Reach::Anywhere)),
            ("It used to be Greg but now it's Calvin.", ("Calvin", Some("Greg"), Reach::Anywhere)),
            ("It's Calvin now", ("Calvin", None, Reach::Directly)),
            ("Make that four, we adopted another one", ("four", None, Reach::PastStatements)),
        ] {
            assert_eq!(read(text), Some(expected), "{text}");
        }
        for text in [
            "It's 42",
            "Tuesday",
            "no",
            "Is it Tuesday, not Monday?",
            "he's Desmond, not Derek",
            "She's 63",
            "* Osaka",
            "Leeds now",
            "It's lovely now",
            "It was great but it's late",
            "It's raining now",
            "It's 9 now",
            "It's 6pm now",
            "*Osaka*",
            "I said York",
            "I meant to call the dentist about my left knee before lunch",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn denied_statement_is_made_again() {
        for text in ["No, I live in York", "Scratch that, my dog is Max", "Sorry, wait, I live in York.", "I meant my sister lives in York"]
        {
            assert!(restates(text), "{text}");
        }
        for text in
            ["No one lives in York", "Sorry I live in York", "Oh, I live in York", "No, I live in York too", "No, do I live in York?"]
        {
            assert!(!restates(text), "{text}");
        }
    }

    #[test]
    fn short_endings_are_recognized() {
        for (text, expected) in
            [("Not anymore.", true), ("Well, not any more!", true), ("No longer", true), ("Not now", false), ("Not bad", false)]
        {
            assert_eq!(ends_statement(text), expected, "{text}");
        }
    }

    #[test]
    fn interjections_wishes_and_additions_are_no_corrections() {
        for interjection in ["oh", "ah", "argh", "ugh", "hm", "hmm", "well", "er", "um"] {
            assert_eq!(read(&format!("{interjection}, a car")), None, "{interjection}");
        }
        for text in [
            "Well, um, Portugal",
            "It should be 70",
            "That should be 70",
            "Ugh, should be 5000",
            "Actually it should be 70",
            "I mean, it should be 700",
            "It should be 700 instead",
            "Oh, and Tom",
            "Sorry, and Tom",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn values_of_the_same_kind_are_replaced() {
        for (said, correction_text, expected) in [
            ("The dentist is on Monday.", "No, I meant Tuesday", Some("The dentist is on Tuesday.")),
            ("My viva is on 3 March at 10am.", "sorry, 5 March", Some("My viva is on 5 March at 10am.")),
            ("The call is at 3 pm on Friday.", "make that 4pm", Some("The call is at 4pm on Friday.")),
            ("My shoe size is 41.", "actually it's 42, not 41", Some("My shoe size is 42.")),
            ("My rent is €900.", "sorry, 950", Some("My rent is €950.")),
            ("I weigh 72 kg.", "I mean 74 kg", Some("I weigh 74 kg.")),
            ("My son is seven.", "sorry, eight", Some("My son is 8.")),
            ("My rent is £900 a month.", "It's £950 now.", Some("My rent is £950 a month.")),
            ("The dentist is on Monday at 10.", "It's been moved to Wednesday at 11.", Some("The dentist is on Wednesday at 11.")),
            ("The dentist is on Monday.", "It's been moved to Wednesday at 11.", Some("The dentist is on Wednesday at 11.")),
            ("The dentist is on Monday at 10am.", "It's been moved to Wednesday at 11.", None),
            ("My flight leaves on the 1st.", "sorry, on the 2nd", Some("My flight leaves on the 2nd.")),
            ("My email is ann@example.org.", "Oops, anne@example.org", Some("My email is anne@example.org.")),
            ("Mum is 71 and dad is 75.", "sorry, 76, not 75", Some("Mum is 71 and dad is 76.")),
            ("Mum is 71 and dad is 75.", "sorry, 76", None),
            ("The dentist is on Monday.", "sorry, 42", None),
            ("I weigh 72 kg.", "I mean 160 pounds", None),
            ("I live in Porto.", "I mean Tuesday", None),
            ("I live in Porto.", "It's 42, not 41", None),
        ] {
            let found = correction(correction_text).map(|c| corrected(said, &c, &[])).unwrap_or_default();
            assert_eq!(found, expected.map(str::to_owned).into_iter().collect::<Vec<_>>(), "{said} {correction_text}");
        }
    }

    #[test]
    fn other_words_replace_what_facts_are_about() {
        let correction = correction("I mean Lisbon").map(|c| corrected("Tom lives in Porto.", &c, &[0..3, 13..18]));
        assert_eq!(correction.unwrap_or_default(), ["Lisbon lives in Porto.", "Tom lives in Lisbon."]);
    }

    #[test]
    fn correction_with_too_many_places_is_unclear() {
        let said = "a b c d e f g";
        let count = |n: usize| {
            let nouns: Vec<Range<usize>> = (0..n).map(|i| 2 * i..2 * i + 1).collect();
            correction("I mean Lisbon").map(|c| corrected(said, &c, &nouns).len())
        };
        assert_eq!((count(MAX_PLACES), count(MAX_PLACES + 1)), (Some(MAX_PLACES), Some(0)));
    }
}
