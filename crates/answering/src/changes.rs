//! Recognises what changes an earlier statement in other words: "Yoga got moved to 7", "He quit football", "Wait no, it's in my backpack".
//!
//! Both statements are quoted then, the newer one first.

use std::collections::HashSet;

use super::{
    lexicon::{is_function_word, is_person_noun},
    times::is_time,
    words::Word,
};

/// Stems of what is done to an appointment, a price or a habit that becomes another or ends.
const CHANGES: [&str; 23] = [
    "move",
    "chang",
    "reschedul",
    "postpon",
    "shift",
    "push",
    "switch",
    "swap",
    "replac",
    "stop",
    "quit",
    "drop",
    "cancel",
    "finish",
    "end",
    "rais",
    "increas",
    "lower",
    "reduc",
    "extend",
    "delay",
    "renam",
    "reloc",
];
/// Verbs of giving away, with what is gone then: "sold the Skoda" after "my car is a red Skoda".
const LOSSES: [&str; 7] = ["sold", "lost", "scrapped", "returned", "donated", "ditched", "traded"];
/// Verbs of making more or less of something: "upped my dose to 40 mg".
const AMOUNTS: [&str; 6] = ["upped", "doubled", "halved", "bumped", "tripled", "adjusted"];
/// Verbs before what somebody has again: "got my glasses back".
const RETRIEVALS: [&str; 8] = ["got", "have", "has", "took", "picked", "found", "brought", "gave"];
/// Words of somebody's death.
const DEATHS: [&str; 3] = ["died", "dead", "passed"];
/// Nouns of events with the stems of the verbs that announce them: "postponed the wedding" after "Gaz is getting married on 5 May".
const EVENTS: [(&str, &str); 1] = [("wedding", "marri")];
/// Words of what goes another way without an object: "The rent went up".
const DIRECTIONS: [&str; 6] = ["up", "down", "back", "forward", "online", "elsewhere"];
/// Words between a thing and what is done to it: "has been moved", "is now".
const LINKS: [&str; 12] = ["got", "gets", "is", "was", "are", "were", "has", "have", "been", "be", "just", "being"];
/// Verbs before what something is now, and the most words of it.
const BEING: [&str; 4] = ["is", "are", "became", "becomes"];
const MOST_VALUE_WORDS: usize = 2;
/// Words between a change and its object: "stopped taking the aspirin".
const BEFORE_OBJECTS: [&str; 12] = ["the", "my", "our", "his", "her", "their", "a", "an", "all", "playing", "doing", "taking"];
/// Words at the beginning of what corrects the statement before.
const TURNS: [&str; 5] = ["no", "wait", "sorry", "oops", "nope"];
/// Words that go on after such a turn with what is so: "no, it's in my bag", "sorry, not Friday", "no, we'll call him Elias".
const CORRECTED: [&str; 16] =
    ["it's", "it", "that's", "its", "thats", "not", "i'm", "we're", "we'll", "i'll", "he's", "she's", "they're", "i", "we", "actually"];
/// States from which people come back, and words of what they are then: "Leo is better again" after "Leo is ill".
const STATES: [&str; 13] =
    ["ill", "sick", "unwell", "injured", "hospital", "vegetarian", "vegan", "single", "separated", "unemployed", "off", "leave", "sober"];
const RETURNS: [&str; 14] = [
    "better", "well", "fine", "healthy", "home", "eat", "eats", "eating", "drinks", "drinking", "smokes", "smoking", "together", "working",
];
/// Most words of a message that only corrects the one before.
const SHORT: usize = 16;
/// Most words of a text that are looked at.
const MOST_WORDS: usize = 200;

/// Whether a text changes what an earlier one of the same speaker says. `is_next`: it follows at once.
pub(super) fn changes(text: &[Word], earlier: &[Word], is_next: bool) -> bool {
    let (text, earlier) = (&text[..text.len().min(MOST_WORDS)], &earlier[..earlier.len().min(MOST_WORDS)]);
    let said: HashSet<&str> = earlier.iter().map(|e| e.stem.as_str()).collect();
    let is_told = |w: &Word| said.contains(w.stem.as_str()) || EVENTS.iter().any(|(noun, stem)| w.plain == *noun && said.contains(stem));
    let is_shared = |i: usize| is_thing(text, i) && is_told(&text[i]);
    // Who is moved to a time is an appointment: "they moved the dentist to 19 March".
    let is_appointment =
        |i: usize| said.contains(text[i].stem.as_str()) && is_person_noun(&text[i].plain) && has_time(&text[i..]) && has_time(earlier);
    (0..text.len()).any(|i| is_shared(i) && (is_changed(text, i) || is_given_up(text, i) || is_back(text, i)))
        || (0..text.len()).any(|i| is_appointment(i) && (is_changed(text, i) || is_given_up(text, i)))
        || (0..text.len()).any(|i| said.contains(text[i].stem.as_str()) && (is_lost(text, i) || dies(text, i)))
        || replaces(text, &said)
        || returns(text, earlier)
        || is_next && (corrects_itself(text) || changes_it(text) && (!has_time(text) || has_time(earlier)))
}

/// Whether a text changes what was said before it, without saying what that is.
pub(super) fn is_bare_change(text: &[Word]) -> bool {
    changes_it(text) || corrects_itself(text)
}

/// Whether a word names what is moved or given up. People move otherwise: "My sister has moved to Rome" leaves what she likes.
fn is_thing(text: &[Word], at: usize) -> bool {
    let w = &text[at];
    let is_number = w.plain.starts_with(|c: char| c.is_ascii_digit());
    !is_function_word(w) && !w.proper && !is_person_noun(&w.plain) && w.plain.len() > 2 && !is_number
}

fn is_change(w: &Word) -> bool {
    CHANGES.contains(&w.stem.as_str())
}

/// Whether a thing is moved or raised: "yoga got moved", "the rent went up", "the meeting is now on Tuesdays".
fn is_changed(text: &[Word], at: usize) -> bool {
    let after = &text[at + 1..];
    let verbs = after.iter().take_while(|w| LINKS.contains(&w.plain.as_str())).count();
    let next = |i: usize| after.get(verbs + i);
    let is = |i: usize, word: &str| next(i).is_some_and(|w| w.plain == word);
    let has_verb = verbs > 0 || text[at].possessive;
    let goes = is(0, "went") || is(0, "goes") || is(0, "gone");
    // "My favourite colour is green now", but not "the soup is ready, come now".
    let ends_with_now = (1..=MOST_VALUE_WORDS).any(|i| is(i, "now") && next(i + 1).is_none());
    let becomes = after.first().is_some_and(|w| BEING.contains(&w.plain.as_str()));
    (has_verb && (next(0).is_some_and(is_change) || is(0, "now") && next(1).is_some_and(|w| w.plain != "due")))
        || becomes && ends_with_now && !is(0, "due") && !is(0, "paid")
        || is(0, "changed")
        || goes && next(1).is_some_and(|w| DIRECTIONS.contains(&w.plain.as_str()))
}

/// Returns the word before the object at a position and its determiners, and the number of these: "sold" of "sold the Skoda".
fn verb_before(text: &[Word], at: usize) -> (Option<&Word>, usize) {
    let between = text[..at].iter().rev().take_while(|w| BEFORE_OBJECTS.contains(&w.plain.as_str())).count();
    ((at - between).checked_sub(1).map(|i| &text[i]), between)
}

/// Whether somebody moves or gives up a thing: "moved the passport", "stopped taking aspirin".
fn is_given_up(text: &[Word], at: usize) -> bool {
    let (verb, between) = verb_before(text, at);
    verb.is_some_and(|verb| is_change(verb) || between > 0 && AMOUNTS.contains(&verb.plain.as_str()))
}

/// Whether somebody sells or loses a thing: "sold the Skoda", but not "lost the dog's lead".
fn is_lost(text: &[Word], at: usize) -> bool {
    let (verb, between) = verb_before(text, at);
    let is_noun = !is_function_word(&text[at]) && !is_person_noun(&text[at].plain) && !text[at].possessive && text[at].plain.len() > 2;
    is_noun && between > 0 && verb.is_some_and(|verb| LOSSES.contains(&verb.plain.as_str()))
}

/// Whether somebody has a thing again: "got my glasses back".
fn is_back(text: &[Word], at: usize) -> bool {
    let (verb, _) = verb_before(text, at);
    let follows = text.get(at + 1).is_some_and(|w| w.plain == "back");
    follows && verb.is_some_and(|verb| RETRIEVALS.contains(&verb.plain.as_str()))
}

/// Whether somebody dies: "Rex died last week", "my gran passed away".
fn dies(text: &[Word], at: usize) -> bool {
    // "My uncle in Leeds died" is not of Leeds.
    let is_subject = at.checked_sub(1).is_none_or(|i| BEFORE_OBJECTS.contains(&text[i].plain.as_str()) || is_person_noun(&text[i].plain));
    let after = &text[at + 1..];
    let verbs = after.iter().take_while(|w| LINKS.contains(&w.plain.as_str())).count();
    let is = |i: usize, wanted: &[&str]| after.get(verbs + i).is_some_and(|w| wanted.contains(&w.plain.as_str()));
    is_subject && !is_function_word(&text[at]) && is(0, &DEATHS) && (!is(0, &["passed"]) || is(1, &["away"]))
}

/// Whether something is done in place of something else that was said of the same time: "booked a cottage in Wales for June instead".
fn replaces(text: &[Word], said: &HashSet<&str>) -> bool {
    let is_of = |i: usize| text.get(i + 1).is_some_and(|w| w.plain == "of");
    let is_instead = |(i, w): (usize, &Word)| w.plain == "instead" && !is_of(i);
    text.iter().enumerate().any(is_instead) && text.iter().any(|w| is_time(&w.plain) && said.contains(w.stem.as_str()))
}

/// Whether a text has a day or an hour.
fn has_time(text: &[Word]) -> bool {
    text.iter().any(|w| is_time(&w.plain) || w.plain.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether the subject of both texts has left a state ("Leo is better again" after "Leo is ill"), or had the child that was expected.
fn returns(text: &[Word], earlier: &[Word]) -> bool {
    let subject = |words: &[Word]| words.iter().find(|w| !is_function_word(w) || w.plain == "i").map(|w| w.stem.clone());
    let has = |words: &[Word], wanted: &[&str]| words.iter().any(|w| wanted.contains(&w.plain.as_str()));
    let is_back = has(text, &["again"]) && has(text, &RETURNS) || has(text, &["recovered"]);
    let is_born = has(earlier, &["pregnant", "expecting"]) && has(text, &["baby"]) && has(text, &["had", "lost", "born"]);
    (is_born || is_back && has(earlier, &STATES)) && subject(text).is_some_and(|s| subject(earlier) == Some(s))
}

/// Whether a short text begins as people do who correct what they said just before: "Wait no, that's Kate", "Changed our minds, it's Greece".
fn corrects_itself(text: &[Word]) -> bool {
    let word = |i: usize| text.get(i).map_or("", |w| w.plain.as_str());
    let changes_mind = (0..3).any(|i| word(i) == "changed" && text.iter().skip(i).take(4).any(|w| w.stem.starts_with("mind")));
    let scratches = word(0) == "scratch" && word(1) == "that";
    let turns = text.iter().take_while(|w| TURNS.contains(&w.plain.as_str())).count();
    let goes_on =
        || CORRECTED.contains(&word(turns)) && !matches!(word(turns + 1), "gotta" | "got" | "have" | "need" | "can't" | "don't" | "didn't");
    text.len() <= SHORT && (changes_mind || scratches || turns > 0 && turns + 1 < text.len() && goes_on())
}

/// Whether somebody changes what was spoken of just before: "Rajesh moved it to Tuesdays", "it's moved to 21 March".
pub(super) fn changes_it(text: &[Word]) -> bool {
    let is_it = |w: &Word| w.plain == "it";
    let moved = |w: &Word| is_change(w) && !w.plain.ends_with("ing") && w.stem != "stop" && w.stem != "end";
    text.windows(2).any(|pair| moved(&pair[0]) && is_it(&pair[1]) || pair[0].plain == "it's" && moved(&pair[1]))
        || text.windows(3).any(|w| is_it(&w[0]) && LINKS.contains(&w[1].plain.as_str()) && moved(&w[2]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::words;

    #[test]
    fn change_in_other_words_is_recognised() {
        for (text, earlier) in [
            ("yoga got moved to 7", "yoga is at 6"),
            ("The team meeting is now on Tuesdays", "team meeting is mondays at 10"),
            ("rent went up to 990", "The rent is 950"),
            ("my favourite colour is green now", "My favourite colour is red"),
            ("they moved the dentist to 19 march 2:30pm", "dentist appointment is on 12 march at 10am"),
            ("dr patel upped my lisinopril to 40mg", "i take 20mg of lisinopril every morning"),
            ("booked a cottage in wales for june instead", "we're planning to go to Lisbon in june"),
            ("gaz and steph postponed the wedding to next april", "gaz is getting married to steph on 5 september in york"),
            ("sold the skoda, got a blue Honda Jazz", "my car is a red Skoda"),
            ("got my glasses back from nina", "left my glasses at Nina's"),
            ("Rex died last week", "Mrs Doyle has two dogs, Rex and Bella"),
            ("our cat passed away", "our cat sleeps on the sofa"),
            ("Rent went up to 990.", "The rent is 950"),
            ("The plan was changed", "The plan is to meet at 6"),
            ("I moved the passport to the safe", "my passport is in the drawer"),
            ("stopped the aspirin", "I take aspirin every day"),
            ("Anna stopped violin, she's doing cello now", "Anna plays the violin"),
            ("he quit football", "my son plays football"),
            ("Leo is better again", "Leo is ill"),
            ("Jo eats meat again", "Jo is vegetarian"),
            ("Eva lost the baby", "Eva is pregnant"),
        ] {
            assert!(changes(&words(text), &words(earlier), false), "{text}");
        }
        for (text, earlier) in [
            ("wait no, I put it in my backpack now", "epipen is in the kitchen drawer"),
            ("changed our minds, it's gonna be Greece", "we're going to Spain in summer"),
            ("Rajesh moved it to tuesdays 9:30", "team meeting is mondays at 10"),
            ("sorry, not friday, saturday", "dinner with Pam is on friday"),
            ("it's moved to 21 March", "I have a dentist appointment on 14 March"),
        ] {
            assert!(changes(&words(text), &words(earlier), true), "{text}");
            assert!(!changes(&words(text), &words(earlier), false), "{text}");
        }
    }

    #[test]
    fn other_news_of_the_same_people_changes_nothing() {
        for (text, earlier) in [
            ("My sister moved to Rome", "My sister likes chess"),
            ("Anna stopped smoking", "Anna plays the violin"),
            ("Leo plays chess again", "Leo is ill"),
            ("The yoga teacher is nice", "yoga is at 6"),
            ("I like football now", "my son plays football"),
            ("No.", "We went to Rome"),
            ("My sister has stopped smoking", "My sister likes chess"),
            ("My sister is now in Rome", "My sister likes chess"),
            ("I dropped my kids at school", "My kids like chess"),
            ("The rent is now due", "The rent is 950"),
            ("The rent is due now", "The rent is 950"),
            ("The rent is paid, call me now", "The rent is 950"),
            ("No plans for the weekend", "The passport is in the blue drawer"),
            ("Sorry, gotta go now", "The passport is in the blue drawer"),
            ("Sorry I have to go", "The passport is in the blue drawer"),
            ("Wait, what time is yoga", "The passport is in the blue drawer"),
            ("It stopped raining", "The passport is in the blue drawer"),
            ("I can't stop that", "The passport is in the blue drawer"),
            ("I recovered my old email account", "I live in Leeds"),
            ("I baked raisin bread", "I like bread"),
            ("they moved my dad to a home", "my dad likes chess at 5"),
            ("we had soup instead of bread", "I like bread"),
            ("Rex passed his exam", "Mrs Doyle has two dogs, Rex and Bella"),
            ("pick up my kids at 5", "my kids like chess"),
            ("got back from Rome", "We went to Rome"),
            ("My uncle in Leeds died", "I live in Leeds"),
            ("I cycled to work instead today", "I work at Acme"),
            ("I lost the dog's lead", "The dog is called Rex"),
            ("The rent is paid now", "The rent is 950"),
        ] {
            assert!(!changes(&words(text), &words(earlier), true), "{text}");
        }
    }
}
