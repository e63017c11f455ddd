//! Says when a fact began, and when what has ended was over, by the words of the message that told it.
//!
//! The date of that message is only a bound: "My dog died in 2020" is told long after the end.

use chrono::Datelike;

use super::{
    evidence::sentences_of,
    grammar::month,
    past::is_verb_of_state,
    period::{self, Period},
    phrasing::best_evidence,
    words::{Word, words},
};
use recall_domain::{
    Fact, Timestamp,
    context::{RankedFact, RankedMessage},
};

/// Words that begin another clause, which may have a date of its own.
const CLAUSES: [&str; 12] = ["that", "which", "who", "where", "because", "but", "and", "so", "since", "although", "though", "before"];
/// Longest period that is named by its month, in days.
const MONTH: i64 = 31;

/// What is known of the end of a fact.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Ending {
    /// It was over when the message said so.
    Bound(Timestamp),
    /// The words tell when: "2020".
    Told(String),
    /// It was over long before, or nothing is known.
    Unknown,
}

impl Ending {
    /// Returns when it ended: "March 2026".
    pub(super) fn words(self) -> Option<String> {
        match self {
            Self::Bound(end) => Some(month(end)),
            Self::Told(words) => Some(words),
            Self::Unknown => None,
        }
    }

    /// Returns the end in brackets: " (until March 2026)".
    pub(super) fn until(self) -> String {
        self.words().map_or_else(String::new, |end| format!(" (until {end})"))
    }
}

/// Returns when a fact began, if a message tells it: "March 2026".
pub(super) fn told_beginning(fact: &Fact) -> Option<String> {
    fact.began()?.words()
}

/// Returns a beginning in brackets: " (since March 2026)".
pub(super) fn since(beginning: Option<String>) -> Option<String> {
    beginning.map(|from| format!(" (since {from})"))
}

/// Returns what is known of the end of a fact. `messages` are those found with the question.
pub(super) fn ending(f: &RankedFact, messages: &[RankedMessage]) -> Ending {
    let Some(end) = f.fact.valid_to else { return Ending::Unknown };
    if let Some(told) = f.fact.ended().and_then(|moment| moment.words()) {
        return Ending::Told(told);
    }
    let Some(evidence) = best_evidence(f) else { return Ending::Bound(end) };
    let said_at = messages.iter().find(|m| m.message.id == evidence.message).map_or(evidence.created_at, |m| m.message.sent_at);
    // An end on another day was resolved by the reader, or told by hand.
    if (end - said_at).num_hours().abs() > 24 {
        return Ending::Bound(end);
    }
    let excerpt = evidence.excerpt.as_str().trim();
    let sentences = sentences_of(evidence, messages);
    let sentence = sentences.first().map_or(excerpt, String::as_str);
    let clause = clause_at(sentence, sentence.find(excerpt).unwrap_or_default());
    told_end(clause, said_at).unwrap_or(Ending::Bound(end))
}

/// Returns the clause of a sentence that has the text at a position.
fn clause_at(sentence: &str, at: usize) -> &str {
    let (mut start, mut end) = (0, sentence.len());
    for word in words(sentence) {
        let is_mark = sentence.get(..word.span.0).is_some_and(|before| before.trim_end().ends_with([',', ';', ':', '(']));
        if !(CLAUSES.contains(&word.plain.as_str()) || is_mark) {
            continue;
        }
        // "Dan and I split up": what is joined after a name is still its subject.
        if word.span.0 <= at {
            start = word.span.0;
        } else if sentence.get(at..word.span.0).is_some_and(|text| text.split_whitespace().count() > 1) {
            end = word.span.0;
            break;
        }
    }
    sentence.get(start..end).unwrap_or(sentence)
}

/// Returns what a clause tells of the end. `None` if it tells no time.
fn told_end(clause: &str, said_at: Timestamp) -> Option<Ending> {
    let said = words(clause);
    let plain = |i: usize| said.get(i).map_or("", |w| w.plain.as_str());
    let year = |i: usize| plain(i).parse::<i32>().ok().filter(|y| (1900..2100).contains(y));
    let is_range =
        |i: usize| i > 0 && year(i - 1).is_some() && clause.get(said[i - 1].span.1..said[i].span.0).is_some_and(|s| s.trim() != "");
    let limits = |i: usize| i > 0 && matches!(plain(i - 1), "to" | "until" | "till" | "through");
    if let Some(last) = (0..said.len()).filter(|i| limits(*i) || is_range(*i)).find_map(year) {
        return Some(Ending::Told(last.to_string()));
    }
    // "I worked there in 2010" does not say when that ended.
    let is_state = |w: &Word| is_verb_of_state(&w.stem) || matches!(w.plain.as_str(), "had" | "was" | "were");
    let has_pair = |a: &str, b: &str| said.windows(2).any(|pair| pair[0].plain == a && pair[1].plain == b);
    let lasted = said.iter().any(is_state) || has_pair("used", "to");
    let relative = period::relatives(clause, said_at).pop();
    let named = || {
        let mention = period::find_in_question(&said, said_at)?;
        Some((plain(mention.start).to_owned(), mention.period))
    };
    if let Some((words, period)) = relative.or_else(named) {
        return Some(if lasted { Ending::Unknown } else { Ending::Told(end_of(&words, &period)) });
    }
    // "My ex is called Paul", "my former boss"
    let is_former = said.iter().any(|w| matches!(w.plain.as_str(), "ex" | "former" | "previous") || w.plain.starts_with("ex-"));
    let is_of_old = is_former
        || has_pair("used", "to")
        || has_pair("growing", "up")
        || (lasted && said.iter().any(|w| w.plain == "ago"))
        || ((0..said.len()).any(|i| matches!(plain(i), "when" | "while") && matches!(plain(i + 2), "was" | "were")));
    let in_youth = || (0..said.len()).any(|i| plain(i) == "as" && matches!(plain(i + 1), "a" | "an"));
    (is_of_old || (lasted && in_youth())).then_some(Ending::Unknown)
}

/// Names the end of a period: "October 2025", "autumn 2025", "2020".
fn end_of(words: &str, period: &Period) -> String {
    let days = (period.last - period.first).num_days();
    match words.rsplit(' ').next() {
        _ if days <= MONTH => period.last.format("%B %Y").to_string(),
        Some(season) if days <= 3 * MONTH + 7 => format!("{season} {}", period.first.year()),
        _ => period.last.year().to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_say_when_something_ended() {
        let said_at: Timestamp = "2026-11-29T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("My dog died in 2020", Some("2020")),
            ("I worked at KPMG from 2010 to 2014", Some("2014")),
            ("I worked at KPMG 2010-2014", Some("2014")),
            ("We moved to Hull from Leeds last autumn", Some("autumn 2025")),
            ("I sold my house two years ago", Some("2024")),
            ("Dan and I split up last month", Some("October 2026")),
            ("I quit Acme in March", Some("March 2026")),
            ("I sold the car that I bought in 2015", None),
            ("I sold my car", None),
        ] {
            let told = told_end(clause_at(text, 0), said_at).map(|end| end.words().unwrap_or_default());
            assert_eq!(told.as_deref(), expected, "{text}");
        }
        for text in [
            "I had a cat growing up",
            "I used to live in Bath",
            "I lived in Bath when I was 25",
            "I had a car in 2010",
            "My ex is called Paul",
        ] {
            assert_eq!(told_end(clause_at(text, 0), said_at), Some(Ending::Unknown), "{text}");
        }
    }
}
