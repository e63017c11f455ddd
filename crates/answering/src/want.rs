//! What sort of answer a question wants (a number, a time, a reason), and whether some words give one. A message that
//! speaks of the right things but has no number in it does not say how many.

use super::{
    classes::{is_first_person_subject, is_function, is_occupation, is_person_noun},
    words::{Word, same_noun, words},
};

/// The sort of answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Want {
    /// Nothing in particular.
    Any,
    /// A person.
    Person,
    /// A place.
    Place,
    /// "How many": a number of what the word names.
    Count(String),
    /// "How much", "how far": a number with a unit or a sum of money.
    Amount,
    /// "How old".
    Age,
    /// "How long".
    Duration,
    /// "How often".
    Frequency,
    /// "When", "what time", "since when".
    Time,
    /// "Why".
    Reason,
    /// Any other "how".
    Manner,
    /// "What is … called".
    Name,
    /// "What does … do for a living".
    Occupation,
}

const NUMBERS: &str = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen \
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred hundreds thousand thousands million dozen dozens \
    couple several few half both twice";
const UNITS_OF_TIME: &str = "second minute hour day night week weekend fortnight month year decade semester term season min mins hrs";
const TIMES: &str = "january february march april may june july august september october november december jan feb mar apr jun jul aug sep \
    sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays \
    sundays yesterday today tonight tomorrow morning afternoon evening noon midnight night weekend weekends spring summer autumn fall \
    winter christmas easter halloween thanksgiving ramadan hanukkah birthday ago daily weekly monthly o'clock am pm lunchtime";
const FREQUENCIES: &str = "every each daily weekly monthly yearly annually once twice always never usually often sometimes rarely seldom \
    regularly times nightly mondays tuesdays wednesdays thursdays fridays saturdays sundays weekends mornings evenings";
const MONEY: &str = "euro euros dollar dollars pound pounds buck bucks cent cents yen franc francs crown crowns rupee rupees quid eur usd gbp \
    chf grand k";
const MEASURES: &str = "kilo kilos kg gram grams g pound pounds lb lbs ton tons tonnes litre litres liter liters l km kilometre kilometres \
    kilometer kilometers mile miles metre metres meter meters m cm feet foot inches gb mb tb percent degrees";
const REASONS: &str = "because since cause cuz reason due owing thanks so therefore hence after wanted";
const PLACES: &str = "in at to from near on into onto around outside inside by across behind between beside opposite off under along \
    through over here there home abroad upstairs downstairs via";
fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|w| w == word)
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) || is_in(NUMBERS, word)
}

fn is_unit_of_time(word: &str) -> bool {
    UNITS_OF_TIME.split_whitespace().any(|u| same_noun(u, word))
}

impl Want {
    /// Reads what is wanted off the question's words, and the places of the words that say so.
    pub(super) fn of(question: &[Word]) -> (Self, Vec<usize>) {
        let plain = |i: usize| question.get(i).map_or("", |w| w.plain.as_str());
        let find = |list: &[&str]| question.iter().position(|w| list.contains(&w.plain.as_str()));
        if let Some(how) = find(&["how"]) {
            let want = match plain(how + 1) {
                // "How much RAM", not "how much was it".
                "much"
                    if how + 3 < question.len()
                        && question.get(how + 2).is_some_and(|w| !is_function(w) && !w.plain.starts_with("cost")) =>
                {
                    Self::Count(plain(how + 2).to_owned())
                }
                "many" if plain(how + 2) == "times" => Self::Frequency,
                "many" => Self::Count(question.get(how + 2).map(|w| w.plain.clone()).unwrap_or_default()),
                "much" | "far" | "tall" | "big" | "large" | "heavy" | "high" | "deep" | "wide" | "fast" | "expensive" => Self::Amount,
                "old" => Self::Age,
                "long" => Self::Duration,
                "often" | "frequently" => Self::Frequency,
                "come" => Self::Reason,
                "soon" | "late" | "early" => Self::Time,
                _ => Self::Manner,
            };
            let places = if want == Self::Manner { vec![how] } else { vec![how, how + 1] };
            return (want, places);
        }
        if let Some(why) = find(&["why"]) {
            return (Self::Reason, vec![why]);
        }
        if let Some(what) = find(&["what", "what's", "which"]) {
            let near = |list: &[&str]| (what + 1..(what + 5).min(question.len())).find(|i| list.contains(&plain(*i)));
            if let Some(i) = near(&["time", "date", "day", "year", "month", "weekday", "season"]).filter(|i| *i <= what + 1) {
                return (Self::Time, vec![i]);
            }
            if let Some(i) = near(&["age"]) {
                return (Self::Age, vec![i]);
            }
            if let Some(i) = near(&["reason"]) {
                return (Self::Reason, vec![i]);
            }
            if let Some(i) = near(&["price", "cost", "salary", "rent", "budget"]).filter(|i| plain(i + 1) != "for") {
                // The word itself is part of what the answer is about.
                let _ = i;
                return (Self::Amount, Vec::new());
            }
            let job = find(&["job", "occupation", "profession"]).filter(|i| *i + 1 == question.len());
            let living = find(&["living"]).filter(|i| *i >= 2 && plain(*i - 2) == "for");
            let for_work = find(&["work"]).filter(|i| *i >= 2 && plain(*i - 1) == "for" && plain(*i - 2) == "do");
            let does = (plain(question.len().wrapping_sub(1)) == "do").then(|| question.len() - 1);
            let does = does.filter(|_| matches!(plain(what + 1), "does" | "do"));
            if let Some(i) = job.or(living).or(for_work).or(does) {
                return (Self::Occupation, vec![i]);
            }
        }
        let opened = find(&["what", "what's", "which", "tell", "remind", "give"]).is_some();
        if let Some(i) = find(&["called", "named", "name", "names"]).filter(|i| *i > 0 && opened) {
            return (Self::Name, vec![i]);
        }
        // "when" inside a longer question opens a clause: "what do I drink when I am ill".
        let when =
            find(&["when"]).filter(|i| *i <= 3 || matches!(plain(i.wrapping_sub(1)), "know" | "remember" | "me" | "since" | "until"));
        match question.iter().find(|w| matches!(w.plain.as_str(), "who" | "whom" | "whose" | "where" | "whereabouts" | "what" | "which")) {
            _ if when.is_some_and(|i| !question[..i].iter().any(|w| matches!(w.plain.as_str(), "who" | "where" | "what" | "which"))) => {
                (Self::Time, when.into_iter().collect())
            }
            Some(w) if w.plain.starts_with("where") => (Self::Place, Vec::new()),
            Some(w) if w.plain.starts_with("who") && w.plain != "whose" => (Self::Person, Vec::new()),
            _ => (Self::Any, Vec::new()),
        }
    }

    /// Whether facts can give it. Numbers, reasons and ways stand in no fact.
    pub(super) fn is_in_facts(&self) -> bool {
        matches!(self, Self::Any | Self::Person | Self::Place | Self::Time | Self::Name | Self::Count(_))
    }

    /// Whether a text gives an answer of this sort. `asked` are the question's words: what it says itself is no answer.
    pub(super) fn is_met(&self, text: &str, asked: &[Word]) -> bool {
        let said = words(text);
        let any = |test: &dyn Fn(usize, &Word) -> bool| said.iter().enumerate().any(|(i, w)| test(i, w));
        let at = |i: usize| said.get(i).map_or("", |w| w.plain.as_str());
        let is_asked = |w: &Word| asked.iter().any(|a| a.stem == w.stem);
        match self {
            Self::Any | Self::Manner => true,
            Self::Person => any(&|_, w| (w.capital && !is_asked(w)) || is_first_person_subject(&w.plain) || is_person_noun(&w.plain)),
            Self::Place => {
                any(&|i, w| is_in(PLACES, &w.plain) && i + 1 < said.len() + usize::from(is_in("here there home abroad", &w.plain)))
            }
            Self::Count(noun) => any(&|i, w| {
                // "two rabbits", "a hundred photos", "three of my vases".
                let counts = is_number(&w.plain) || (matches!(w.plain.as_str(), "a" | "an" | "no") && same_noun(at(i + 1), noun));
                counts && (noun.is_empty() || (i + 1..i + 4).any(|j| same_noun(at(j), noun)))
            }),
            Self::Amount => {
                text.contains(['€', '$', '£', '¥', '%'])
                    || any(&|i, w| is_number(&w.plain) && !is_in(TIMES, at(i + 1)) && !is_counted(at(i + 1), &said, i, asked))
            }
            Self::Age => any(&|i, w| {
                let years = is_number(&w.plain) && matches!(at(i + 1), "year" | "years" | "yr" | "yrs" | "yo" | "months" | "weeks");
                let turned = matches!(w.plain.as_str(), "turned" | "turns" | "turning" | "aged" | "age" | "is" | "am" | "i'm" | "are")
                    && is_number(at(i + 1))
                    && !is_unit(at(i + 2));
                let old = years
                    && (at(i + 2) == "old" || at(i + 1).starts_with('y') && i > 0 && matches!(at(i - 1), "turned" | "is" | "am" | "i'm"));
                turned || old
            }),
            Self::Duration => any(&|i, w| {
                w.plain == "since"
                    || w.plain == "forever"
                    || (is_unit_of_time(&w.plain)
                        && i > 0
                        && (is_number(at(i - 1)) || matches!(at(i - 1), "a" | "an" | "all" | "whole" | "entire"))
                        && at(i + 1) != "ago")
            }),
            Self::Frequency => any(&|_, w| is_in(FREQUENCIES, &w.plain)),
            Self::Time => any(&|i, w| {
                let year = w.plain.len() == 4 && w.plain.starts_with(['1', '2']) && w.plain.chars().all(|c| c.is_ascii_digit());
                let hour =
                    w.plain.starts_with(|c: char| c.is_ascii_digit()) && text[w.span.1..].starts_with([':', 'h']) && at(i + 1).len() == 2;
                let half = w.plain.starts_with(|c: char| c.is_ascii_digit()) && (w.plain.ends_with("am") || w.plain.ends_with("pm"));
                let relative = matches!(w.plain.as_str(), "last" | "next" | "this") && is_unit_of_time(at(i + 1));
                let oclock = w.plain == "at" && at(i + 1).parse::<u32>().is_ok_and(|n| n <= 24) && !is_in(MONEY, at(i + 2));
                (is_in(TIMES, &w.plain) && !is_asked(w)) || oclock || year || hour || half || relative
            }),
            Self::Reason => any(&|i, w| {
                (is_in(REASONS, &w.plain) && !(w.plain == "so" && is_adjective_after_so(&said, i)))
                    || (w.plain == "to" && i > 0 && matches!(at(i - 1), "order"))
            }),
            Self::Name => any(&|_, w| w.proper && !is_asked(w)),
            Self::Occupation => any(&|i, w| is_work(&said, i, &w.plain)),
        }
    }
}

/// "is a carpenter", "works at", "runs a bakery", "got promoted to".
fn is_work(said: &[Word], i: usize, word: &str) -> bool {
    let at = |i: usize| said.get(i).map_or("", |w| w.plain.as_str());
    match word {
        "is" | "am" | "i'm" | "he's" | "she's" | "was" | "as" | "became" | "are" => {
            matches!(at(i + 1), "a" | "an" | "the" | "our" | "my") && (i + 2..i + 6).any(|j| is_occupation(at(j)))
        }
        "work" | "works" | "working" | "worked" => matches!(at(i + 1), "as" | "at" | "for" | "in" | "nights" | "shifts" | "from"),
        "teaches" | "teach" | "taught" | "studies" | "freelances" | "self-employed" | "retired" | "unemployed" => true,
        "runs" | "run" | "owns" | "manages" | "leads" | "opened" => {
            matches!(at(i + 1), "a" | "an" | "the" | "his" | "her" | "their" | "my" | "our")
        }
        "promoted" | "hired" => matches!(at(i + 1), "to" | "as" | "at" | "by"),
        "job" => matches!(at(i + 1), "as" | "at" | "is" | "in" | "with"),
        "career" => true,
        _ => false,
    }
}

/// "so cute", "so much": no reason.
fn is_adjective_after_so(said: &[Word], i: usize) -> bool {
    let next = said.get(i + 1).map_or("", |w| w.plain.as_str());
    !(is_first_person_subject(next)
        || matches!(next, "he" | "she" | "they" | "it" | "that" | "the" | "my" | "our" | "his" | "her" | "their" | "we")
        || said.get(i + 1).is_some_and(|w| w.capital))
}

/// A number that counts something else than what an amount is asked of: "a hundred steps".
fn is_counted(next: &str, said: &[Word], i: usize, asked: &[Word]) -> bool {
    let money_asked = asked.iter().any(|w| {
        matches!(
            w.stem.as_str(),
            "cost" | "pay" | "price" | "owe" | "spend" | "earn" | "rent" | "budget" | "salari" | "worth" | "much" | "expens"
        )
    });
    let priced = asked.iter().any(|w| matches!(w.stem.as_str(), "cost" | "pay" | "price" | "owe" | "spend" | "earn" | "rent"));
    if !priced && is_in(MEASURES, next) {
        return false;
    }
    // "12k a month".
    let number = said.get(i).map_or("", |w| w.plain.as_str());
    let thousands = number.len() > 1 && number.ends_with('k');
    let rate = matches!(next, "a" | "per") && said.get(i + 2).is_some_and(|w| is_unit_of_time(&w.plain));
    let money = thousands || rate || is_in(MONEY, next) || said.get(i + 2).is_some_and(|w| is_in(MONEY, &w.plain));
    money_asked && !money
}

fn is_unit(word: &str) -> bool {
    is_in(MONEY, word) || (is_unit_of_time(word) && word != "years" && word != "year" && word != "months")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_want_what_they_ask_for() {
        for (text, want) in [
            ("How many cats do I have?", Want::Count("cats".into())),
            ("how much was it", Want::Amount),
            ("How old is Ida", Want::Age),
            ("How long did it take", Want::Duration),
            ("By how long did it slip", Want::Duration),
            ("Since when do I live there", Want::Time),
            ("What time is the standup", Want::Time),
            ("Which day is it", Want::Time),
            ("What is the name of my cat", Want::Name),
            ("What is my cat called", Want::Name),
            ("What does Erik do", Want::Occupation),
            ("What do I do for a living", Want::Occupation),
            ("What is Ada's job", Want::Occupation),
            ("Who knows when it starts", Want::Person),
            ("Do you know where I live", Want::Place),
            ("How come I was late", Want::Reason),
            ("What do I drink when I am ill", Want::Any),
        ] {
            assert_eq!(Want::of(&words(text)).0, want, "{text}");
        }
    }

    #[test]
    fn only_an_answer_of_the_sort_meets_a_want() {
        let met = |question: &str, text: &str| {
            let asked = words(question);
            Want::of(&asked).0.is_met(text, &asked)
        };
        for (question, text) in [
            ("How many rabbits do I have?", "We keep two white rabbits."),
            ("How much did the chair cost?", "The chair was 80 euros."),
            ("How much did the chair cost?", "The chair cost $80."),
            ("How old is Ida?", "Ida turned seven."),
            ("How old is Ida?", "Ida is 7 years old."),
            ("How long was the flight?", "The flight took nine hours."),
            ("When is the exam?", "The exam is on 3 July."),
            ("When do we meet?", "We meet at 9:30."),
            ("Why was I late?", "The tram broke down, so I was late."),
            ("What is my cat called?", "We have a cat called Pixel."),
            ("What does Erik do?", "Erik is a carpenter."),
            ("How much does Tina weigh?", "Tina weighs 3.4 kilos."),
            ("How often was I there?", "I was there twice."),
        ] {
            assert!(met(question, text), "{question} {text}");
        }
        for (question, text) in [
            ("How many dogs do I have?", "We have a cat and two rabbits."),
            ("How much was the flat?", "The flat is up a hundred steps."),
            ("How old is Ida?", "Ida has two cats."),
            ("How long was the flight?", "The flight was three days ago."),
            ("When is the exam?", "The exam is hard."),
            ("Why was I late?", "I was so tired and late."),
            ("What is my cat called?", "My cat sleeps."),
            ("What does Erik do?", "Erik twisted his ankle."),
        ] {
            assert!(!met(question, text), "{question} {text}");
        }
    }
}
