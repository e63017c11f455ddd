//! Recognises what changes an earlier statement in other words: "Yoga got moved to 7", "He quit football", "Wait no, it's in my backpack".
//!
//! Both statements are quoted then, the newer one first.

use super::{lexicon::is_function_word, words::Word};

/// Stems of what is done to an appointment, a price or a habit that becomes another or ends.
const CHANGES: [&str; 23] = [
    "move",
    "change",
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
    "relocat",
];
/// Words of what goes another way without an object: "The rent went up".
const DIRECTIONS: [&str; 6] = ["up", "down", "back", "forward", "online", "elsewhere"];
/// Words between a thing and what is done to it: "has been moved", "is now".
const AUXILIARIES: [&str; 12] = ["got", "gets", "is", "was", "are", "were", "has", "have", "been", "be", "just", "being"];
/// Words between a change and its object: "stopped taking the aspirin".
const BEFORE_OBJECTS: [&str; 12] = ["the", "my", "our", "his", "her", "their", "a", "an", "all", "playing", "doing", "taking"];
/// Words at the beginning of what puts the statement before right.
const TURNS: [&str; 5] = ["no", "wait", "sorry", "oops", "nope"];
/// Words of a state to which people come back.
const RETURNS: [&str; 14] = [
    "better", "well", "fine", "healthy", "home", "eat", "eats", "eating", "drinks", "drinking", "smokes", "smoking", "together", "working",
];
/// Most words of a message that only puts right the one before.
const SHORT: usize = 16;

/// Whether a text changes what an earlier one of the same speaker says. `is_next`: it follows at once.
pub(super) fn changes(text: &[Word], earlier: &[Word], is_next: bool) -> bool {
    let is_shared = |w: &Word| is_thing(w) && earlier.iter().any(|e| e.stem == w.stem);
    (0..text.len()).any(|i| is_shared(&text[i]) && (is_changed(text, i) || is_given_up(text, i)))
        || returns(text, earlier)
        || is_next && (puts_right(text) || changes_it(text))
}

/// Whether a word can name what changes. People change otherwise: "My sister moved to Rome" leaves what she likes.
fn is_thing(w: &Word) -> bool {
    !is_function_word(w) && !w.capital && w.plain.len() > 2 && !w.plain.starts_with(|c: char| c.is_ascii_digit())
}

fn is_change(w: &Word) -> bool {
    CHANGES.iter().any(|change| w.stem == *change || w.stem.strip_prefix(change).is_some_and(|rest| rest.len() < 3))
}

/// Whether a thing is moved or raised: "yoga got moved", "the rent went up", "the meeting is now on Tuesdays".
fn is_changed(text: &[Word], at: usize) -> bool {
    let after = &text[at + 1..];
    let verbs = after.iter().take_while(|w| AUXILIARIES.contains(&w.plain.as_str())).count();
    let next = |i: usize| after.get(verbs + i);
    let is = |i: usize, word: &str| next(i).is_some_and(|w| w.plain == word);
    let has_verb = verbs > 0 || text[at].possessive;
    let goes = is(0, "went") || is(0, "goes") || is(0, "gone");
    (has_verb && (next(0).is_some_and(is_change) || is(0, "now")))
        || is(0, "changed")
        || goes && next(1).is_some_and(|w| DIRECTIONS.contains(&w.plain.as_str()))
}

/// Whether somebody moves or gives up a thing: "moved the passport", "stopped taking aspirin".
fn is_given_up(text: &[Word], at: usize) -> bool {
    let between = text[..at].iter().rev().take_while(|w| BEFORE_OBJECTS.contains(&w.plain.as_str())).count();
    (at - between).checked_sub(1).is_some_and(|i| is_change(&text[i]))
}

/// Whether the subject of both texts is back in an old state: "Leo is better again" after "Leo is ill", or had the child that was expected.
fn returns(text: &[Word], earlier: &[Word]) -> bool {
    let subject = |words: &[Word]| words.iter().find(|w| !is_function_word(w) || w.plain == "i").map(|w| w.stem.clone());
    let has = |word: &str| text.iter().any(|w| w.plain == word);
    let is_back = has("again") && text.iter().any(|w| RETURNS.contains(&w.plain.as_str()));
    let expected = earlier.iter().any(|w| matches!(w.plain.as_str(), "pregnant" | "expecting"));
    let is_born = expected && has("baby") && (has("had") || has("lost") || has("born"));
    (is_back || is_born || has("recovered")) && subject(text).is_some_and(|s| subject(earlier) == Some(s))
}

/// Whether a short text begins as people do who put right what they said just before: "Wait no, that's Kate", "Changed our minds, it's Greece".
fn puts_right(text: &[Word]) -> bool {
    let word = |i: usize| text.get(i).map_or("", |w| w.plain.as_str());
    let changes_mind = (0..3).any(|i| word(i) == "changed" && text.iter().skip(i).take(4).any(|w| w.stem.starts_with("mind")));
    let scratches = word(0) == "scratch" && word(1) == "that";
    let turns = TURNS.contains(&word(0)) && (text.len() > 2);
    (2..=SHORT).contains(&text.len()) && (changes_mind || scratches || turns)
}

/// Whether somebody changes what was spoken of just before: "Rajesh moved it to Tuesdays".
fn changes_it(text: &[Word]) -> bool {
    text.windows(2).any(|pair| is_change(&pair[0]) && matches!(pair[1].plain.as_str(), "it" | "that"))
        || text.windows(3).any(|w| matches!(w[0].plain.as_str(), "it's" | "it") && w.iter().any(is_change))
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
        ] {
            assert!(!changes(&words(text), &words(earlier), true), "{text}");
        }
    }
}
