//! Reads from the words of a message when a fact began or ended: "since March", "until 2019", "I moved there last month". Pure.

use recall_domain::{
    SaidPeriod, Span, Stance, Timestamp,
    value::{ValueDate, past_date, past_year},
};

/// Verbs that tell a beginning: the date next to them is that of the beginning.
const BEGINNINGS: &[&str] = &[
    "adopted", "became", "began", "begun", "bought", "changed", "founded", "got", "gotten", "hired", "joined", "married", "met", "moved",
    "opened", "signed", "started", "switched", "took",
];
/// Words after which a date is neither the beginning nor the end.
const OTHER_TIMES: &[&str] = &["after", "around", "before", "by", "next", "than", "to"];
/// Words that begin another clause.
const CLAUSES: &[&str] = &["and", "because", "but", "so", "then", "when", "where", "which", "while", "who"];

/// What a date is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cue {
    /// "Since March", "for two years".
    Since,
    /// "Until March".
    Until,
    /// "In March", "last month".
    At,
}

struct Word {
    plain: String,
    /// Place of the first code point, and one past the last.
    span: (usize, usize),
    /// Whether a comma or the like follows.
    ends_clause: bool,
}

struct Date {
    first: usize,
    end: usize,
    cue: Cue,
    date: ValueDate,
}

/// Returns when the fact that a span of a message states or ends began and ended, as far as its sentence tells.
pub(super) fn said_period(text: &str, span: Span, stance: Stance, at: Timestamp) -> SaidPeriod {
    let chars: Vec<char> = text.chars().collect();
    let sentence = span.sentence(&chars);
    let words = words(&chars[sentence.clone()], sentence.start);
    let fits = |d: &&Date| d.first == 0 || is_of_clause(&words, d, span);
    let dates = dates(&words, at);
    let find = |cue| dates.iter().filter(fits).find(|d| d.cue == cue).map(|d| d.date.clone());
    match stance {
        Stance::Supports => {
            let begins = || words.iter().any(|w| BEGINNINGS.contains(&w.plain.as_str()));
            SaidPeriod { from: find(Cue::Since).or_else(|| find(Cue::At).filter(|_| begins())), to: None }
        }
        Stance::Ends => match (find(Cue::Until), find(Cue::Since)) {
            (Some(until), since) => SaidPeriod { from: since, to: Some(until) },
            // "We have not used it since May."
            (None, since) => SaidPeriod { from: None, to: find(Cue::At).or(since) },
        },
        Stance::Opposes => SaidPeriod::default(),
    }
}

/// Whether no other clause begins between a date and a span.
fn is_of_clause(words: &[Word], date: &Date, span: Span) -> bool {
    let (start, end) = (span.start as usize, span.end as usize);
    let first = words.iter().position(|w| w.span.1 > start).unwrap_or(words.len());
    let last = words.iter().rposition(|w| w.span.0 < end).unwrap_or(0);
    let (from, to) = if date.first > last { (last, date.first) } else { (date.end - 1, first) };
    let between = words.get(from..to).unwrap_or_default();
    !between.iter().any(|w| w.ends_clause) && !between.iter().skip(1).any(|w| CLAUSES.contains(&w.plain.as_str()))
}

fn words(sentence: &[char], offset: usize) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = 0;
    for part in sentence.split(|c| c.is_whitespace()) {
        let plain: String = part.iter().filter(|c| c.is_alphanumeric() || matches!(c, '\'' | '’')).collect::<String>().to_lowercase();
        if !plain.is_empty() {
            let ends_clause = part.last().is_some_and(|c| matches!(c, ',' | ':' | ')' | '–' | '—'));
            words.push(Word { plain, span: (offset + start, offset + start + part.len()), ends_clause });
        }
        start += part.len() + 1;
    }
    words
}

/// Returns the dates of a sentence that are not after the message, in order.
fn dates(words: &[Word], at: Timestamp) -> Vec<Date> {
    let today = at.date_naive();
    let plain: Vec<&str> = words.iter().map(|w| w.plain.as_str()).collect();
    let is_perfect =
        |i: usize| plain[..i].iter().any(|w| matches!(*w, "have" | "has" | "been") || w.ends_with("'ve") || w.ends_with("’ve"));
    let mut found: Vec<Date> = Vec::new();
    let mut i = 0;
    while i < plain.len() {
        let rest = |skipped: usize| plain.get(i + skipped..).unwrap_or_default();
        let dated = |skipped: usize| past_date(rest(skipped), today).or_else(|| past_year(rest(skipped), today));
        let follows_start = found.last().is_some_and(|d| d.cue == Cue::Since && d.end == i);
        let next = match plain[i] {
            "since" | "from" => dated(1).map(|(n, date)| (1 + n, Cue::Since, date)),
            "until" | "till" | "til" => dated(1).map(|(n, date)| (1 + n, Cue::Until, date)),
            "to" if follows_start => dated(1).map(|(n, date)| (1 + n, Cue::Until, date)),
            "for" if is_perfect(i) => match rest(1) {
                [count, unit, ..] => past_date(&[count, unit, "ago"], today).map(|(_, date)| (3, Cue::Since, date)),
                _ => None,
            },
            "in" | "during" => dated(1).map(|(n, date)| (1 + n, Cue::At, date)),
            word if OTHER_TIMES.contains(&word) => {
                i += dated(1).map_or(0, |(n, _)| n);
                None
            }
            // A month without "in" may be a name: "June", "April".
            word => past_date(rest(0), today)
                .filter(|(n, _)| *n > 1 || word == "yesterday" || word == "today" || word.ends_with("day"))
                .map(|(n, date)| (n, Cue::At, date)),
        };
        match next {
            Some((length, cue, date)) => {
                found.push(Date { first: i, end: i + length, cue, date });
                i += length;
            }
            None => i += 1,
        }
    }
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str, words: &str, stance: Stance) -> String {
        let start = text[..text.find(words).unwrap()].chars().count() as u32;
        let span = Span { start, end: start + words.chars().count() as u32 };
        // A Friday.
        said_period(text, span, stance, "2026-05-08T12:00:00Z".parse().unwrap()).into()
    }

    #[test]
    fn beginning_is_read_from_the_clause_of_the_fact() {
        for (text, words, expected) in [
            ("I live in Ghent since March.", "I live in Ghent", "2026-03/"),
            ("since 14 october i work at the Co-op", "i work at the Co-op", "2025-10-14/"),
            ("Duarte has left: since the first of October he has worked for Sondamar", "he has worked for Sondamar", "2025-10-01/"),
            ("I moved to Leipzig last month.", "I moved to Leipzig", "2026-04/"),
            ("In 2019 I moved to Rome and joined Fiat.", "joined Fiat", "2019/"),
            ("Ann has worked at Bosch for three years now", "Ann has worked at Bosch", "2023/"),
            ("We've had Rex for two months", "had Rex", "2026-03/"),
            ("I bought the bike yesterday", "I bought the bike", "2026-05-07/"),
            ("Marta and I moved on the nineteenth of July to Cacilhas", "to Cacilhas", "2025-07-19/"),
            ("I started at Barco on Monday", "I started at Barco", "2026-05-04/"),
        ] {
            assert_eq!(read(text, words, Stance::Supports), expected, "{text}");
        }
    }

    #[test]
    fn dates_of_something_else_are_no_beginning() {
        for (text, words) in [
            ("I live in Ghent.", "I live in Ghent"),
            ("I live in Ghent and Ann has been in Rome since May.", "I live in Ghent"),
            ("I moved to Ghent, and in March we go to Rome", "I moved to Ghent"),
            ("I met April", "I met April"),
            ("I bought 2 dogs", "I bought 2 dogs"),
            ("I moved to Ghent before March", "I moved to Ghent"),
            ("I moved to Ghent after last summer", "I moved to Ghent"),
            ("I start at Barco in June 2027", "I start at Barco"),
        ] {
            assert_eq!(read(text, words, Stance::Supports), "/", "{text}");
        }
    }

    #[test]
    fn end_is_read_from_the_clause_of_the_fact() {
        for (text, words, expected) in [
            ("I worked at Bosch until 2019.", "I worked at Bosch", "/2019"),
            ("I worked at Bosch from 2015 to 2019.", "I worked at Bosch", "2015/2019"),
            ("I left Helvora at the end of June.", "I left Helvora", "/2025-06"),
            ("We stopped using Trello in May", "We stopped using Trello", "/2026-05"),
            ("We have not used Jenkins since March", "We have not used Jenkins", "/2026-03"),
            ("Tom and I broke up on Saturday", "Tom and I", "/2026-05-02"),
            ("I no longer work at Bosch", "I no longer work at Bosch", "/"),
        ] {
            assert_eq!(read(text, words, Stance::Ends), expected, "{text}");
        }
        assert_eq!(read("I never worked at Bosch in May", "I never worked at Bosch", Stance::Opposes), "/");
    }
}
