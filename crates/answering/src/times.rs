//! Finds the time that a text tells: a date, an hour, or an event that dates another one.

use unicode_segmentation::UnicodeSegmentation;

use super::{
    answer_type::{is_money, is_number, list_contains},
    lexicon::{classes_of, is_function_word, is_particle, is_person_noun},
    words::{Word, is_first_person_subject, is_past_form, same_noun, words},
};

const UNITS_OF_TIME: &str = "second minute hour day night week weekend fortnight month year decade semester term season min mins hrs";
const TIMES: &str = "january february march april may june july august september october november december jan feb mar apr jun jul aug sep \
    sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays \
    sundays yesterday today tonight tomorrow morning afternoon evening noon midnight night weekend weekends spring summer autumn fall \
    winter christmas easter halloween thanksgiving ramadan hanukkah birthday ago daily weekly monthly o'clock am pm lunchtime dawn dusk \
    sunrise sunset bedtime";
/// Prepositions before an hour: "around 6", "from nine to five".
const BEFORE_HOURS: &str = "at around about by before after past from until till";
/// Prepositions before a day of the month: "on the 9th".
const BEFORE_DAYS: &str = "on by until till from since before after is was";
/// Words before an event that dates another one: "after breakfast", "when I was six".
const BEFORE_EVENTS: &str = "when while during after before since";

/// Whether a word names a month, a day or another time.
pub(super) fn is_time(word: &str) -> bool {
    list_contains(TIMES, word)
}

/// Whether a word is a unit of time, such as "weeks".
pub(super) fn is_unit_of_time(word: &str) -> bool {
    UNITS_OF_TIME.split_whitespace().any(|u| same_noun(u, word))
}

/// Whether a text tells a time. Words of the question, `asked`, tell none.
pub(super) fn tells_time(text: &str, asked: &[Word]) -> bool {
    let said = words(text);
    let is_told = |i: usize| {
        let word = &said[i];
        (is_time(&word.plain) && !asked.iter().any(|a| a.stem == word.stem))
            || is_year_or_hour(text, &said, i)
            || is_hour(&said, i)
            || is_day_of_month(&said, i)
            || is_relative(&said, i)
    };
    (0..said.len()).any(is_told) || is_dated_by_event(text, asked)
}

/// Whether the words from a position, after a preposition, are a time and no place: "at 3pm", "in the morning", "to next April", "in two weeks".
pub(super) fn is_time_phrase(said: &[Word], from: usize) -> bool {
    const BEFORE_TIMES: &str = "the a an next last this that every each about around half early late mid my";
    let start = (from..said.len()).find(|i| !list_contains(BEFORE_TIMES, &said[*i].plain)).unwrap_or(said.len());
    let Some(word) = said.get(start) else { return false };
    let is_digits = word.plain.starts_with(|c: char| c.is_ascii_digit());
    let is_unit = is_unit_of_time(&word.plain) || classes_of(&word.plain).contains(&"meal");
    let is_span = is_number(&word.plain) && is_unit_of_time(plain(said, start + 1));
    let ends = |i: usize| ends_number(said, i) || plain(said, i).starts_with(|c: char| c.is_ascii_digit());
    // "Spring Gardens" and "10 Downing Street" are places.
    is_span || ((is_digits || is_unit || is_time(&word.plain)) && ends(start + 1))
}

fn plain(said: &[Word], i: usize) -> &str {
    said.get(i).map_or("", |w| w.plain.as_str())
}

/// Whether nothing is counted after a number: "at 6", but not "at 6 shops".
fn ends_number(said: &[Word], i: usize) -> bool {
    said.get(i).is_none_or(|w| w.plain != "of" && (is_function_word(w) || is_particle(&w.plain) || is_time(&w.plain)))
}

/// Whether a word is a year, "9:30", or "7pm".
fn is_year_or_hour(text: &str, said: &[Word], i: usize) -> bool {
    let word = &said[i];
    let is_digit = word.plain.starts_with(|c: char| c.is_ascii_digit());
    let is_year = word.plain.len() == 4 && word.plain.starts_with(['1', '2']) && word.plain.chars().all(|c| c.is_ascii_digit());
    let is_clock = is_digit && text[word.span.1..].starts_with([':', 'h']) && plain(said, i + 1).len() == 2;
    is_year || is_clock || (is_digit && (word.plain.ends_with("am") || word.plain.ends_with("pm")))
}

/// Whether an hour follows a preposition: "at 6", "around six".
fn is_hour(said: &[Word], i: usize) -> bool {
    const HOURS: &str = "one two three four five six seven eight nine ten eleven twelve";
    let (before, next) = (plain(said, i), plain(said, i + 1));
    if !list_contains(BEFORE_HOURS, before) || is_money(plain(said, i + 2)) {
        return false;
    }
    let is_digit = next.parse::<u32>().is_ok_and(|n| n <= 24);
    (before == "at" && is_digit) || ((is_digit || list_contains(HOURS, next)) && ends_number(said, i + 2))
}

/// Whether a word is a day of a month: "on the 9th", but not "on the 9th floor".
fn is_day_of_month(said: &[Word], i: usize) -> bool {
    let number = ["st", "nd", "rd", "th"].iter().find_map(|end| plain(said, i).strip_suffix(end));
    let is_day = number.and_then(|n| n.parse::<u32>().ok()).is_some_and(|n| (1..=31).contains(&n));
    let before = |n: usize| i.checked_sub(n).map_or("", |i| plain(said, i));
    let preposition = if before(1) == "the" { before(2) } else { before(1) };
    is_day && list_contains(BEFORE_DAYS, preposition) && (ends_number(said, i + 1) || plain(said, i + 1) == "of")
}

/// Whether a word begins an expression that depends on the day: "last week", "within two months".
fn is_relative(said: &[Word], i: usize) -> bool {
    match plain(said, i) {
        "last" | "next" | "this" => is_unit_of_time(plain(said, i + 1)),
        "within" => is_number(plain(said, i + 1)) && (2..=3).any(|n| is_unit_of_time(plain(said, i + n))),
        "at" | "over" => classes_of(plain(said, i + 1)).contains(&"meal"),
        _ => false,
    }
}

/// Whether a sentence dates what is asked by another event: "I moved to Wales when I was six", "I was six when I moved to Wales".
fn is_dated_by_event(text: &str, asked: &[Word]) -> bool {
    let content: Vec<&Word> = asked.iter().filter(|w| !is_function_word(w)).collect();
    let has = |words: &[Word], word: &Word| words.iter().any(|w| w.stem == word.stem);
    let whole = words(text);
    text.unicode_sentences().any(|sentence| {
        let said = words(sentence);
        (0..said.len()).any(|i| {
            let event = event_after(sentence, &said, i, asked);
            let (before, after) = (&said[..i], &said[i + 1 + event.len()..]);
            let is_asked_outside = |w: &&&Word| has(before, w) || has(after, w);
            if event.is_empty() {
                return false;
            }
            if content.iter().any(|w| has(event, w)) {
                let is_age = |pair: &[Word]| matches!(pair[0].plain.as_str(), "was" | "were") && is_number(&pair[1].plain);
                return plain(&said, i) == "when" && before.windows(2).any(is_age);
            }
            // "I met Ann when I was six. She died." does not date her death.
            let mut told = content.iter().filter(|w| has(&whole, w)).peekable();
            told.peek().is_some() && told.all(|w| is_asked_outside(&w))
        })
    })
}

/// Returns the words of the event after a word such as "after": up to the next mark or conjunction. It is empty if they tell no time.
fn event_after<'s>(sentence: &str, said: &'s [Word], i: usize, asked: &[Word]) -> &'s [Word] {
    let marker = plain(said, i);
    if !list_contains(BEFORE_EVENTS, marker) {
        return &[];
    }
    let is_end = |j: &usize| {
        let mark = sentence.get(said[*j - 1].span.1..said[*j].span.0).is_some_and(|between| between.contains([',', ';', ':', '(', ')']));
        mark || matches!(plain(said, *j), "and" | "but" | "so")
    };
    let end = (i + 1..said.len()).find(is_end).unwrap_or(said.len());
    let event = said.get(i + 1..end).unwrap_or_default();
    let is_clause = event.iter().any(|w| is_first_person_subject(&w.plain) || is_past_form(&w.plain) || w.plain == "is");
    let is_perfect = || said.iter().chain(asked).any(|w| matches!(w.plain.as_str(), "have" | "has" | "had" | "i've" | "we've"));
    // "Named after my grandmother", "I look after Emma's dog".
    let is_living = |w: &Word| (w.proper && !is_time(&w.plain)) || is_person_noun(&w.plain) || classes_of(&w.plain).contains(&"animal");
    let dates = match marker {
        "after" | "before" => is_clause || !event.iter().any(is_living),
        // Without the perfect it may be a reason.
        "since" => is_perfect(),
        _ => true,
    };
    if dates && event.iter().any(|w| !is_function_word(w)) { event } else { &[] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_many_words() {
        for (question, text) in [
            ("When is the plumber coming?", "The plumber is coming on the 9th"),
            ("When do I get paid?", "I get paid on the 25th"),
            ("When is rent due?", "Rent is due on the 1st of every month"),
            ("When did I move to Wales?", "I moved to Wales when I was six"),
            ("When did I move to Wales?", "I was six when I moved to Wales"),
            ("When do I take my pills?", "I take my pills after breakfast"),
            ("When do I shower?", "I shower before bed"),
            ("When does the baby wake up?", "The baby usually wakes up at dawn"),
            ("When did my grandpa die?", "my grandpa died during the war"),
            ("Since when have I had migraines?", "I've had migraines since I was a teenager"),
            ("What time do I wake up?", "I wake up around 6"),
            ("What time do I wake up?", "I wake up at six"),
            ("When did we leave?", "We left after Ann had called"),
        ] {
            assert!(tells_time(text, &words(question)), "{question} {text}");
        }
    }

    #[test]
    fn other_numbers_and_events_are_no_time() {
        for (question, text) in [
            ("When did I move to the flat?", "I moved to the flat on the 9th floor"),
            ("When did Rose die?", "I cried when Rose died"),
            ("When did Ann die?", "I met Ann when I was six. She died."),
            ("When was I born?", "I was born and named after my grandmother"),
            ("When do I work?", "I work with Ann and look after Emma's dog"),
            ("When did I move?", "I moved since I was bored"),
            ("When do I walk?", "I walk with around 6 dogs"),
            ("When did I meet Ann?", "I met Ann before that"),
        ] {
            assert!(!tells_time(text, &words(question)), "{question} {text}");
        }
    }
}
