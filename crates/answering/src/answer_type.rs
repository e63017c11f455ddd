//! Finds the type of answer that a question expects, and checks whether a text gives such an answer.
//!
//! A message about the right entities but without a number does not answer "how many".

use super::{
    lexicon::{is_function_word, is_occupation, is_particle, is_person_noun},
    reasons,
    times::{is_time, is_time_phrase, is_unit_of_time, tells_time},
    words::{Word, is_first_person_subject, same_noun, words},
};

/// The type of answer that a question expects.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AnswerType {
    Any,
    Person,
    Place,
    /// "How many": a number of the things that the word names.
    Count(String),
    /// "How much", "how far": a number with a unit, or an amount of money.
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
const FREQUENCIES: &str = "every each daily weekly monthly yearly annually once twice always never usually often sometimes rarely seldom \
    regularly times nightly mondays tuesdays wednesdays thursdays fridays saturdays sundays weekends mornings evenings";
const MONEY: &str = "euro euros dollar dollars pound pounds buck bucks cent cents yen franc francs crown crowns rupee rupees quid eur usd gbp \
    chf grand k kr sek nok dkk pln czk huf inr aud cad nzd zł zloty krone krona kronor";
const MEASURES: &str = "kilo kilos kg gram grams g pound pounds lb lbs ton tons tonnes litre litres liter liters l km kilometre kilometres \
    kilometer kilometers mile miles metre metres meter meters m cm feet foot inches gb mb tb percent degrees";
const REASONS: &str = "because since cause cuz coz cos bc reason due owing thanks so therefore hence after wanted";
const PLACES: &str = "in at to from near on into onto around outside inside by across behind between beside opposite off under along \
    through over here there home abroad upstairs downstairs via";

/// Whether a list of words separated by spaces has a word.
pub(super) fn list_contains(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|w| w == word)
}

/// Whether a word is a number.
pub(super) fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) || list_contains(NUMBERS, word)
}

/// Whether a word names a currency or an amount of it.
pub(super) fn is_money(word: &str) -> bool {
    list_contains(MONEY, word)
}

impl AnswerType {
    /// Returns the type of answer, and the positions of the words that indicate it.
    pub(super) fn of(question: &[Word]) -> (Self, Vec<usize>) {
        let plain = |i: usize| question.get(i).map_or("", |w| w.plain.as_str());
        let find = |list: &[&str]| question.iter().position(|w| list.contains(&w.plain.as_str()));
        if let Some(how) = find(&["how"]) {
            let is_paid = question.iter().any(|w| is_paid_verb(&w.stem));
            let answer_type = match plain(how + 1) {
                // "How much RAM", not "how much was it".
                "much"
                    if how + 3 < question.len()
                        && !is_paid
                        && question.get(how + 2).is_some_and(|w| !is_function_word(w) && !w.plain.starts_with("cost")) =>
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
            let positions = if answer_type == Self::Manner { vec![how] } else { vec![how, how + 1] };
            return (answer_type, positions);
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
            // "What does the Pro plan cost?"
            let cost = question.len().checked_sub(1).filter(|last| plain(*last) == "cost");
            if let Some(i) = near(&["price", "cost", "salary", "rent", "budget"])
                .or(cost)
                .filter(|i| plain(i + 1) != "for" && question.get(i + 1).is_none_or(is_function_word))
            {
                // The word itself is content of the question, so its position is not returned.
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
        // "when" inside a longer question starts a clause: "what do I drink when I am ill".
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

    /// Whether facts can give such an answer. They have no amounts, reasons or manners.
    pub(super) fn is_in_facts(&self) -> bool {
        matches!(self, Self::Any | Self::Person | Self::Place | Self::Time | Self::Name | Self::Count(_))
    }

    /// Whether a text has a number if one is asked for, and a sum of money if a price is. A number of the question, such as that of a model, is no answer.
    pub(super) fn has_number_if_wanted(&self, text: &str, question_words: &[Word]) -> bool {
        let is_wanted = matches!(self, Self::Count(_) | Self::Amount | Self::Age | Self::Duration);
        let is_asked = |w: &Word| question_words.iter().any(|asked| asked.plain == w.plain);
        let said = words(text);
        let is_price = *self == Self::Amount && question_words.iter().any(|w| matches!(w.stem.as_str(), "cost" | "price" | "expens"));
        let is_free = is_price && said.iter().any(|w| w.plain == "free");
        let has_price = || text.contains(['€', '$', '£', '¥', '₹']) || said.iter().any(|w| is_money(&w.plain));
        !is_wanted || is_free || said.iter().any(|w| is_number(&w.plain) && !is_asked(w)) && (!is_price || has_price())
    }

    /// Whether a text gives an answer of this type. Words of the question, `question_words`, are no answer.
    pub(super) fn is_given_in(&self, text: &str, question_words: &[Word]) -> bool {
        let said = words(text);
        let any = |test: &dyn Fn(usize, &Word) -> bool| said.iter().enumerate().any(|(i, w)| test(i, w));
        let at = |i: usize| said.get(i).map_or("", |w| w.plain.as_str());
        let is_asked = |w: &Word| question_words.iter().any(|a| a.stem == w.stem);
        match self {
            Self::Any | Self::Manner => true,
            Self::Person => {
                any(&|_, w| (w.capital && !is_asked(w)) || is_first_person_subject(&w.plain) || is_person_noun(&w.plain))
                    || tells_person_by_place(&said, question_words)
            }
            Self::Place => any(&|i, w| {
                let may_be_last = list_contains("here there home abroad", &w.plain);
                list_contains(PLACES, &w.plain) && i + 1 < said.len() + usize::from(may_be_last) && !is_time_phrase(&said, i + 1)
            }),
            Self::Count(noun) => any(&|i, w| {
                // "two rabbits", "a hundred photos", "three of my vases".
                let counts = is_number(&w.plain) || (matches!(w.plain.as_str(), "a" | "an" | "no") && same_noun(at(i + 1), noun));
                counts && (noun.is_empty() || (i + 1..i + 4).any(|j| same_noun(at(j), noun)))
            }),
            Self::Amount => {
                text.contains(['€', '$', '£', '¥', '%'])
                    || any(&|i, w| {
                        is_number(&w.plain)
                            // "My first full one" counts nothing.
                            && (w.plain != "one" || said.get(i + 1).is_some_and(|next| !is_function_word(next)))
                            && (!is_time(at(i + 1)) || is_day(at(i + 1)))
                            && !is_counted(at(i + 1), &said, i, question_words)
                    })
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
            Self::Frequency => any(&|_, w| list_contains(FREQUENCIES, &w.plain)),
            Self::Time => tells_time(text, question_words),
            Self::Reason => {
                any(&|i, w| {
                    (list_contains(REASONS, &w.plain) && !(w.plain == "so" && is_adjective_after_so(&said, i)))
                        || (w.plain == "to" && i > 0 && matches!(at(i - 1), "order"))
                }) || reasons::tells_reason_of_end(text, question_words)
            }
            Self::Name => {
                any(&|i, w| (w.proper && !is_asked(w) && is_naming(&said, i, question_words)) || is_called(&said, i, question_words))
            }
            Self::Occupation => any(&|i, w| is_work(&said, i, &w.plain)),
        }
    }
}

/// Housework, which is no occupation.
const CHORES: &str = "dishes dish laundry washing cleaning cooking shopping ironing hoovering vacuuming housework garden school groceries";

/// Whether the words at a position state an occupation: "is a carpenter", "works at", "got promoted to".
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
        // "Raj does the backend", but not the dishes.
        "does" | "do" => matches!(at(i + 1), "the" | "all" | "our") && !list_contains(CHORES, at(i + 2)),
        "career" => true,
        _ => false,
    }
}

/// Whether the words around a name say that somebody or something is called so: "a cat called Pixel", "my sister Maren", "Maren, my sister".
fn is_naming(said: &[Word], i: usize, question_words: &[Word]) -> bool {
    let near = |range: std::ops::Range<usize>, test: &dyn Fn(&Word) -> bool| said.get(range).unwrap_or_default().iter().any(test);
    let naming = |w: &Word| {
        matches!(
            w.plain.as_str(),
            "called"
                | "named"
                | "name"
                | "names"
                | "name's"
                | "is"
                | "are"
                | "i'm"
                | "am"
                | "call"
                | "calls"
                | "he's"
                | "she's"
                | "it's"
                | "nickname"
        )
    };
    let asked = |w: &Word| !is_function_word(w) && question_words.iter().any(|q| same_noun(&q.plain, &w.plain));
    let (from, to) = (i.saturating_sub(3), (i + 4).min(said.len()));
    near(from..i, &naming) || near(from..i, &asked) || near(i + 1..to, &asked)
}

/// Whether a word says that what follows is the name of what is asked for: "a band called the wet socks".
fn is_called(said: &[Word], i: usize, question_words: &[Word]) -> bool {
    let is_asked = |w: &Word| !is_function_word(w) && question_words.iter().any(|q| !q.possessive && same_noun(&q.plain, &w.plain));
    let is_last = i + 1 >= said.len();
    !is_last && matches!(said[i].plain.as_str(), "called" | "named") && said[i.saturating_sub(2)..i].iter().any(is_asked)
}

/// Whether a text has a word where it tells the person asked for, if its name has no capital: after the preposition in "who is Gaz getting married to",
/// and before the verb in "who gave me a book".
fn tells_person_by_place(said: &[Word], question_words: &[Word]) -> bool {
    let is_asked = |w: &Word| question_words.iter().any(|a| a.stem == w.stem);
    let may_name = |w: &Word| !(is_function_word(w) || is_particle(&w.plain) || is_time(&w.plain) || is_number(&w.plain) || is_asked(w));
    let starts_person = |i: usize| {
        let is_article = said.get(i).is_some_and(|w| matches!(w.plain.as_str(), "the" | "a" | "my" | "our" | "his" | "her" | "their"));
        said.get(i + usize::from(is_article)).is_some_and(may_name)
    };
    let preposition = question_words.last().filter(|w| is_particle(&w.plain));
    let is_told_after = |asked: &Word| (0..said.len()).any(|i| said[i].plain == asked.plain && starts_person(i + 1));
    let verb = question_words.iter().position(|w| w.plain == "who").and_then(|who| question_words.get(who + 1));
    let verb = verb.filter(|w| !is_function_word(w));
    let is_told_before = |asked: &Word| (1..said.len()).any(|i| said[i].stem == asked.stem && may_name(&said[i - 1]));
    preposition.is_some_and(is_told_after) || verb.is_some_and(is_told_before)
}

/// Whether "so" modifies the next word, as in "so cute", and gives no reason.
fn is_adjective_after_so(said: &[Word], i: usize) -> bool {
    let next = said.get(i + 1).map_or("", |w| w.plain.as_str());
    !(is_first_person_subject(next)
        || matches!(next, "he" | "she" | "they" | "it" | "that" | "the" | "my" | "our" | "his" | "her" | "their" | "we")
        || said.get(i + 1).is_some_and(|w| w.capital))
}

/// Whether a number counts something other than the amount asked for: "a hundred steps".
fn is_counted(next: &str, said: &[Word], i: usize, question_words: &[Word]) -> bool {
    let money_asked = question_words.iter().any(|w| {
        matches!(
            w.stem.as_str(),
            "cost" | "pay" | "price" | "owe" | "spend" | "earn" | "rent" | "budget" | "salari" | "worth" | "much" | "expens"
        )
    });
    let priced = question_words.iter().any(|w| matches!(w.stem.as_str(), "cost" | "pay" | "price" | "owe" | "spend" | "earn" | "rent"));
    if !priced && list_contains(MEASURES, next) {
        return false;
    }
    // "12k a month".
    let number = said.get(i).map_or("", |w| w.plain.as_str());
    let thousands = number.len() > 1 && number.ends_with('k');
    let rate = matches!(next, "a" | "per") && said.get(i + 2).is_some_and(|w| is_unit_of_time(&w.plain));
    let money = thousands || rate || is_money(next) || said.get(i + 2).is_some_and(|w| is_money(&w.plain));
    money_asked && !money && !is_bare_amount(said, i)
}

/// Whether a number without a unit is a price: "My rent is 900", "we spent 300 on food", but not "it is 3 years old" and not "iPhone 15".
fn is_bare_amount(said: &[Word], i: usize) -> bool {
    const BEFORE: &str = "is are was were it's for to about around nearly almost roughly over under just only";
    let is_digits = |w: &Word| w.plain.starts_with(|c: char| c.is_ascii_digit()) && w.plain.chars().all(|c| !c.is_alphabetic());
    let is_price = |w: &Word| list_contains(BEFORE, &w.plain) || is_paid_verb(&w.stem);
    // "I owe my mum 200", "Dave paid me back 20", but not "he paid me at 8".
    let is_object = || {
        let near = said.get(i.saturating_sub(4)..i).unwrap_or_default();
        let verb = near.iter().rposition(|w| is_paid_verb(&w.stem));
        verb.is_some_and(|v| near[v + 1..].iter().all(|w| w.plain == "back" || !is_particle(&w.plain)))
    };
    let counts_nothing = |w: &Word| {
        let is_dated = matches!(w.plain.as_str(), "last" | "next") || is_day(&w.plain);
        w.plain != "of" && (is_dated || is_function_word(w) || is_particle(&w.plain))
    };
    said.get(i).is_some_and(is_digits)
        && (i.checked_sub(1).and_then(|before| said.get(before)).is_some_and(is_price) || is_object())
        && said.get(i + 1).is_none_or(counts_nothing)
}

/// Whether a sentence tells a sum of money that is owed or paid.
pub(super) fn tells_sum(said: &[Word]) -> bool {
    let is_sum = |i: usize| is_number(&said[i].plain) && (is_bare_amount(said, i) || said.get(i + 1).is_some_and(|w| is_money(&w.plain)));
    said.iter().any(|w| is_paid_verb(&w.stem)) && (0..said.len()).any(is_sum)
}

/// Whether a word dates what was said before it: "he paid me 20 yesterday".
fn is_day(word: &str) -> bool {
    matches!(word, "yesterday" | "today" | "tonight" | "tomorrow")
}

/// Whether a verb, given by its stem, has a sum of money as its object.
fn is_paid_verb(stem: &str) -> bool {
    matches!(stem, "cost" | "pay" | "owe" | "spend" | "earn" | "charg" | "lend")
}

fn is_unit(word: &str) -> bool {
    is_money(word) || (is_unit_of_time(word) && word != "years" && word != "year" && word != "months")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_type_follows_from_the_question() {
        for (text, answer_type) in [
            ("How many cats do I have?", AnswerType::Count("cats".into())),
            ("how much was it", AnswerType::Amount),
            ("How old is Ida", AnswerType::Age),
            ("How long did it take", AnswerType::Duration),
            ("By how long did it slip", AnswerType::Duration),
            ("Since when do I live there", AnswerType::Time),
            ("What time is the standup", AnswerType::Time),
            ("Which day is it", AnswerType::Time),
            ("What is the name of my cat", AnswerType::Name),
            ("What is my cat called", AnswerType::Name),
            ("What does Erik do", AnswerType::Occupation),
            ("What do I do for a living", AnswerType::Occupation),
            ("What is Ada's job", AnswerType::Occupation),
            ("What does the big plan for teams cost?", AnswerType::Amount),
            ("Who knows when it starts", AnswerType::Person),
            ("Do you know where I live", AnswerType::Place),
            ("How come I was late", AnswerType::Reason),
            ("What do I drink when I am ill", AnswerType::Any),
        ] {
            assert_eq!(AnswerType::of(&words(text)).0, answer_type, "{text}");
        }
    }

    #[test]
    fn only_answers_of_the_expected_type_are_accepted() {
        let met = |question: &str, text: &str| {
            let question_words = words(question);
            AnswerType::of(&question_words).0.is_given_in(text, &question_words)
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
            ("How far is it?", "It is one mile away."),
            ("How big is my garden?", "My garden is one acre."),
            ("How much is my rent?", "My rent is 900."),
            ("How much rent do I pay?", "My rent is 900 now."),
            ("How much did we spend on groceries?", "we spent 300 on groceries in October"),
            ("How much was the sofa?", "I bought a sofa for 300"),
            ("How much was my bill?", "my bill was 112 last month"),
            ("how much did dave pay me back?", "dave paid me back 20 yesterday"),
            ("how much do i owe my mum?", "i owe my mum 200 for the car repair"),
            ("where is the meeting?", "the meeting is at the office at 3pm"),
            ("where is the meeting?", "the meeting is on thursday at 10 Downing Street"),
            ("where was it?", "it was in Spring Gardens"),
            ("who is gaz getting married to?", "gaz is getting married to steph on 5 september"),
            ("who is the meeting with?", "the meeting on thursday is with the people from acme"),
            ("who gave me a book?", "sarah gave me a book about bees"),
            ("what's finn's band called?", "finn plays drums in a band called the wet socks"),
            ("what does wei do?", "wei does the design"),
            ("why is lisbon off?", "lisbon is off, flights were too expensive"),
            ("why don't i drink coffee?", "i dont drink coffee anymore, it gives me headaches"),
            ("why is it cancelled?", "it is cancelled coz shes on holiday"),
        ] {
            assert!(met(question, text), "{question} {text}");
        }
        for (question, text) in [
            ("How many dogs do I have?", "We have a cat and two rabbits."),
            ("How much was the flat?", "The flat is up a hundred steps."),
            ("How much was the sofa?", "I bought the sofa in 2019."),
            ("How much was the phone?", "The phone is an iPhone 15."),
            ("How much was the sofa?", "The sofa is 3 years old."),
            ("How much was the party?", "The party was for 40 people."),
            ("How many kids do I have?", "The kids' shoes were 90."),
            ("How fast was I at the marathon?", "I signed up for the marathon in July, my first full one."),
            ("How old is Ida?", "Ida has two cats."),
            ("How long was the flight?", "The flight was three days ago."),
            ("When is the exam?", "The exam is hard."),
            ("Why was I late?", "I was so tired and late."),
            ("What is my cat called?", "My cat sleeps."),
            ("What does Erik do?", "Erik twisted his ankle."),
            ("how much did dave pay me?", "dave paid me at 8"),
            ("how much did dave pay?", "dave paid for 20 tickets"),
            ("where is the meeting?", "the meeting is at 3pm on thursday"),
            ("where is the party?", "the party is at christmas"),
            ("where is the party?", "the party was moved to next april"),
            ("where is the party?", "the party is in may at 10"),
            ("where is the party?", "the party is in two weeks"),
            ("who is gaz getting married to?", "gaz is getting married on 5 september"),
            ("who is the meeting with?", "the meeting is with us on thursday"),
            ("who gave me a book?", "she gave me a book"),
            ("what's finn's band called?", "finn called the band"),
            ("why is lisbon off?", "lisbon is off, it's Porto now"),
            ("why did i move to leeds?", "i moved to leeds, it rains a lot"),
        ] {
            assert!(!met(question, text), "{question} {text}");
        }
    }
}
