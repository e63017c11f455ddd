//! Reads from the words of a message when a fact began or ended: "since March", "until 2019", "I moved there last month". Pure.
//!
//! A wrong date is worse than none. So a date counts only next to the words of the fact, and without "since" or "until" only with a verb that begins or ends
//! facts of this relation.

use recall_domain::{
    SaidPeriod, Span, Stance, Timestamp,
    value::{ValueDate, past_date, past_year},
};

/// Verbs that tell an end.
const ENDINGS: &[&str] = &[
    "broke",
    "cancelled",
    "canceled",
    "deleted",
    "died",
    "divorced",
    "dropped",
    "ended",
    "finished",
    "gave",
    "left",
    "lost",
    "quit",
    "resigned",
    "retired",
    "separated",
    "sold",
    "split",
    "stopped",
    "uninstalled",
];
/// Participles of what lasts: "have lived there for two years".
const LASTING: &[&str] = &["had", "known", "lived", "living", "owned", "used", "using", "worked", "working"];
/// Words after "been" for what lasts.
const AFTER_BEEN: &[&str] =
    &["a", "an", "at", "dating", "in", "living", "married", "my", "playing", "seeing", "the", "together", "using", "with", "working"];
/// Words after which a date is neither the beginning nor the end.
const OTHER_TIMES: &[&str] = &["after", "before", "by", "next", "than", "to"];
/// Words that begin another clause.
const CLAUSES: &[&str] = &["and", "because", "but", "so", "that", "then", "when", "where", "which", "while", "who"];
/// Verbs whose object has a time of its own: "I heard she left. That was yesterday."
const REPORTS: &[&str] = &["believe", "guess", "hear", "heard", "learned", "learnt", "read", "said", "says", "think", "thought", "told"];
/// Words that may follow the year of "in 2019": "in 2000 condition" is no year.
const AFTER_YEARS: &[&str] = &["as", "at", "for", "he", "i", "on", "she", "they", "to", "we", "with"];
/// Short forms of months, which have a full stop.
const ABBREVIATIONS: [&str; 12] = ["jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"];

/// What a date is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cue {
    /// "Since March", "for two years".
    Since,
    /// The first date of "from 2015 to 2019", "between 2015 and 2019".
    From,
    /// "Until March", the last date of a range.
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

/// Returns when the fact that a span of a message states or ends began and ended, as far as its sentence tells. `beginnings` are those of its relation.
pub(super) fn said_period(text: &str, span: Span, beginnings: &[String], stance: Stance, at: Timestamp) -> SaidPeriod {
    let chars: Vec<char> = text.chars().collect();
    let sentence = sentence_of(span, &chars);
    let words = words(&chars[sentence.clone()], sentence.start);
    let dates: Vec<(Date, std::ops::Range<usize>)> =
        dates(&words, at).into_iter().filter_map(|date| clause_of(&words, &date, span).map(|clause| (date, clause))).collect();
    let later = next_sentence_date(&chars, sentence.end, &words, at);
    let find = |cue| dates.iter().find(|(d, _)| d.cue == cue).map(|(d, _)| d.date.clone());
    let with_verb = |is_verb: &dyn Fn(&str) -> bool| {
        let has_verb = |clause: &std::ops::Range<usize>| words[clause.clone()].iter().any(|w| is_verb(&w.plain));
        let here = dates.iter().find(|(d, clause)| d.cue == Cue::At && has_verb(clause)).map(|(d, _)| d.date.clone());
        here.or_else(|| later.clone().filter(|_| has_verb(&(0..words.len()))))
    };
    // "I sold it between 2010 and 2012": it ended at one moment of these.
    let is_uncertain = words.iter().any(|w| w.plain == "between") && words.iter().any(|w| ENDINGS.contains(&w.plain.as_str()));
    match stance {
        Stance::Supports => {
            let begins = |word: &str| beginnings.iter().any(|verb| verb == word);
            SaidPeriod { from: find(Cue::Since).or_else(|| with_verb(&begins)), to: None }
        }
        Stance::Ends => match find(Cue::Until).filter(|_| !is_uncertain) {
            Some(until) => SaidPeriod { from: find(Cue::From), to: Some(until) },
            // "We have not used it since May."
            None => SaidPeriod {
                from: None,
                to: with_verb(&|word| ENDINGS.contains(&word)).or_else(|| find(Cue::Since).filter(|_| is_negated_perfect(&words))),
            },
        },
        Stance::Opposes => SaidPeriod::default(),
    }
}

/// Returns the sentence of a span. Unlike [`Span::sentence`] it does not end behind "Sept." or "3.".
fn sentence_of(span: Span, chars: &[char]) -> std::ops::Range<usize> {
    let mut sentence = span.sentence(chars);
    while sentence.end < chars.len() && chars[sentence.end] == '.' {
        let before: String = chars[..sentence.end].iter().rev().take_while(|c| c.is_alphanumeric()).collect();
        let word: String = before.chars().rev().collect::<String>().to_lowercase();
        let is_inside =
            ABBREVIATIONS.contains(&word.as_str()) || (!word.is_empty() && word.len() < 3 && word.chars().all(|c| c.is_ascii_digit()));
        if !is_inside {
            break;
        }
        let next =
            Span { start: (sentence.end + 1).try_into().unwrap_or(u32::MAX), end: (sentence.end + 1).try_into().unwrap_or(u32::MAX) };
        sentence.end = next.sentence(chars).end.max(sentence.end + 1);
    }
    sentence
}

/// Returns the date that the next sentence tells of the one before, if that has one clause: "I moved to Ghent. That was in 2019."
fn next_sentence_date(chars: &[char], end: usize, told: &[Word], at: Timestamp) -> Option<ValueDate> {
    let start = end + chars[end..].iter().take_while(|c| !c.is_alphanumeric()).count();
    let is_apart = |w: &Word| w.ends_clause || CLAUSES.contains(&w.plain.as_str()) || REPORTS.contains(&w.plain.as_str());
    if start == chars.len() || told.iter().any(is_apart) {
        return None;
    }
    let first = u32::try_from(start).ok()?;
    let words = words(&chars[sentence_of(Span { start: first, end: first + 1 }, chars)], start);
    let mut plain = words.iter().map(|w| w.plain.as_str());
    let refers = matches!((plain.next(), plain.next()), (Some("that" | "it" | "this"), Some("was" | "happened")));
    let date = dates(&words, at).into_iter().find(|d| d.cue == Cue::At)?;
    let is_next = words[2.min(date.first)..date.first].iter().all(|w| matches!(w.plain.as_str(), "all" | "back" | "just" | "on" | "only"));
    // "It was yesterday that Ann called" is about something else.
    let is_all = date.end == words.len() || words[date.end - 1].ends_clause;
    (refers && date.first >= 2 && is_next && is_all).then_some(date.date)
}

/// Returns the words from a span to a date, if no other clause begins between them.
fn clause_of(words: &[Word], date: &Date, span: Span) -> Option<std::ops::Range<usize>> {
    let (start, end) = (span.start as usize, span.end as usize);
    let first = words.iter().position(|w| w.span.1 > start)?;
    let last = words.iter().rposition(|w| w.span.0 < end)?;
    let between = if date.first > last {
        last + 1..date.first
    } else if date.end <= first {
        date.end..first
    } else {
        // The date is among the words of the fact.
        return Some(first..last + 1);
    };
    // "In March 2024, I moved": a comma behind a date that opens the sentence.
    let opens = date.first == 0 && date.end <= first;
    let is_left = if date.first > last { words[last].ends_clause } else { words[date.end - 1].ends_clause && !opens };
    let begins_clause = |w: &Word| w.ends_clause || CLAUSES.contains(&w.plain.as_str());
    let is_apart = is_left || words[between].iter().any(begins_clause);
    (!is_apart).then(|| date.first.min(first)..date.end.max(last + 1))
}

fn words(sentence: &[char], offset: usize) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = 0;
    for part in sentence.split(|c| c.is_whitespace()) {
        let plain: String = part.iter().filter(|c| c.is_alphanumeric() || matches!(c, '\'' | '’' | '-')).collect::<String>().to_lowercase();
        let plain = plain.trim_matches('-').replace('’', "'");
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
    let mut found: Vec<Date> = Vec::new();
    let mut i = 0;
    while i < plain.len() {
        let rest = |skipped: usize| plain.get(i + skipped..).unwrap_or_default();
        let dated = |skipped: usize| past_date(rest(skipped), today).or_else(|| past_year(rest(skipped), today));
        let ends_range = found.last().is_some_and(|d| d.cue == Cue::From && d.end == i);
        let next = match plain[i] {
            "since" => dated(1).map(|(n, date)| (1 + n, Cue::Since, date)),
            // "A bike from Jan", "from Monday": only a range tells when something began.
            "from" => dated(1)
                .filter(|(n, _)| matches!(rest(1 + n).first(), Some(&("to" | "until" | "till"))))
                .map(|(n, date)| (1 + n, Cue::From, date)),
            "between" => dated(1)
                .filter(|(n, from)| {
                    let is_later = |(_, to): (usize, ValueDate)| to.first_day() >= from.first_day();
                    rest(1 + n).first() == Some(&"and") && dated(2 + n).is_some_and(is_later)
                })
                .map(|(n, date)| (1 + n, Cue::From, date)),
            "to" | "and" if ends_range => dated(1).map(|(n, date)| (1 + n, Cue::Until, date)),
            "until" | "till" | "til" => dated(1).map(|(n, date)| (1 + n, Cue::Until, date)),
            "for" if lasts(&plain[..i]) => match rest(1) {
                [count, unit, ..] if unit.starts_with("year") || unit.starts_with("month") => {
                    past_date(&[count, unit, "ago"], today).map(|(_, date)| (3, Cue::Since, date))
                }
                _ => None,
            },
            "in" | "during" => past_date(rest(1), today)
                .or_else(|| past_year(rest(1), today).filter(|(n, _)| is_complete(words, i + n, rest(1 + n))))
                .map(|(n, date)| (1 + n, Cue::At, date)),
            word if OTHER_TIMES.contains(&word) => {
                i += dated(1).map_or(0, |(n, _)| n);
                None
            }
            // A month without "in" may be a name: "June", "April".
            // A fall may be an accident: "my last fall".
            _ if i > 0 && matches!(plain[i - 1], "my" | "our" | "his" | "her" | "their" | "your") => None,
            word => past_date(rest(0), today)
                .filter(|(n, _)| *n > 1 || word == "yesterday" || word == "today" || word.ends_with("day"))
                .map(|(n, date)| (n, Cue::At, date)),
        };
        match next {
            Some((length, cue, date)) => {
                // Both dates of a range are one part of the sentence.
                if let Some(from) = found.last_mut().filter(|_| ends_range) {
                    from.end = i + length;
                }
                found.push(Date { first: i, end: i + length, cue, date });
                i += length;
            }
            None => i += 1,
        }
    }
    found
}

/// Whether a year stands alone: nothing follows in its clause, or a word that begins another part of the sentence.
fn is_complete(words: &[Word], year: usize, rest: &[&str]) -> bool {
    let ends_clause = words.get(year).is_some_and(|w| w.ends_clause);
    ends_clause || rest.first().is_none_or(|next| AFTER_YEARS.contains(next) || CLAUSES.contains(next))
}

fn is_have(word: &str) -> bool {
    matches!(word, "have" | "has") || word.ends_with("'ve")
}

/// Whether words say that something lasts until now: "have lived", "has been in". "Have to work" and "have signed" do not.
fn lasts(words: &[&str]) -> bool {
    let is_adverb = |word: &str| matches!(word, "also" | "already" | "always" | "both" | "now" | "only");
    (0..words.len()).filter(|i| is_have(words[*i]) || words[*i].ends_with("'s")).any(|i| {
        let mut after = words[i + 1..].iter().copied().skip_while(|w| is_adverb(w));
        match after.next() {
            Some("been") => after.next().is_some_and(|w| AFTER_BEEN.contains(&w)),
            Some(word) => LASTING.contains(&word),
            None => false,
        }
    })
}

/// Whether words deny something in the perfect: "have not used", "haven't lived".
fn is_negated_perfect(words: &[Word]) -> bool {
    let is_not = |w: &Word| matches!(w.plain.as_str(), "not" | "never");
    words.iter().any(|w| matches!(w.plain.as_str(), "haven't" | "hasn't"))
        || words.windows(2).any(|pair| is_have(&pair[0].plain) && is_not(&pair[1]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use recall_domain::Ontology;

    fn read(text: &str, words: &str, relation: &str, stance: Stance) -> String {
        let start = text[..text.find(words).unwrap()].chars().count() as u32;
        let span = Span { start, end: start + words.chars().count() as u32 };
        let ontology = Ontology::parse(include_str!("../../../data/ontology.toml")).unwrap();
        let beginnings = ontology.get(relation).map(|r| r.beginnings.clone()).unwrap_or_default();
        // A Friday.
        said_period(text, span, &beginnings, stance, "2026-05-08T12:00:00Z".parse().unwrap()).into()
    }

    #[test]
    fn beginning_is_read_from_the_clause_of_the_fact() {
        for (text, words, relation, expected) in [
            ("I live in Ghent since March.", "I live in Ghent", "LIVES_IN", "2026-03/"),
            ("since 14 october i work at the Co-op", "i work at the Co-op", "WORKS_FOR", "2025-10-14/"),
            (
                "Duarte has left: since the first of October he has worked for Sondamar",
                "he has worked for Sondamar",
                "WORKS_FOR",
                "2025-10-01/",
            ),
            ("I moved to Leipzig last month.", "I moved to Leipzig", "LIVES_IN", "2026-04/"),
            ("In March 2019, I moved to Rome.", "I moved to Rome", "LIVES_IN", "2019-03/"),
            ("Ann has worked at Bosch for three years now", "Ann has worked at Bosch", "WORKS_FOR", "2023/"),
            ("We've had Rex for two months", "had Rex", "OWNS", "2026-03/"),
            ("I bought the bike yesterday", "I bought the bike", "OWNS", "2026-05-07/"),
            (
                "Marta and I moved on the nineteenth of July to Cacilhas",
                "I moved on the nineteenth of July to Cacilhas",
                "LIVES_IN",
                "2025-07-19/",
            ),
            ("I started at Barco on Monday", "I started at Barco", "WORKS_FOR", "2026-05-04/"),
            ("I have lived in Riga since Sept. 2016", "I have lived in Riga", "LIVES_IN", "2016-09/"),
            ("Ida plays chess since Feb. 3, 2019. Nice!", "Ida plays chess", "LIKES", "2019-02-03/"),
            ("I live in Ghent since 2015-03-04", "I live in Ghent", "LIVES_IN", "2015-03-04/"),
            ("I live in Ghent since about 2005", "I live in Ghent", "LIVES_IN", "2005/"),
            ("I moved to Ghent last summer", "I moved to Ghent", "LIVES_IN", "2025/"),
            ("I live in Ghent since the spring of 2019", "I live in Ghent", "LIVES_IN", "2019/"),
            ("I moved to Ghent. That was back in March 2019, I think.", "I moved to Ghent", "LIVES_IN", "2019-03/"),
            ("We bought a Vespa! It was on 3 May.", "We bought a Vespa", "OWNS", "2026-05-03/"),
        ] {
            assert_eq!(read(text, words, relation, Stance::Supports), expected, "{text}");
        }
    }

    #[test]
    fn dates_of_something_else_are_no_beginning() {
        for (text, words, relation) in [
            ("I live in Ghent.", "I live in Ghent", "LIVES_IN"),
            ("I live in Ghent and Ann has been in Rome since May.", "I live in Ghent", "LIVES_IN"),
            ("I moved to Ghent, and in March we go to Rome", "I moved to Ghent", "LIVES_IN"),
            ("I met April", "I met April", "KNOWS"),
            ("I bought 2 dogs", "I bought 2 dogs", "OWNS"),
            ("I moved to Ghent before March", "I moved to Ghent", "LIVES_IN"),
            ("I moved to Ghent after last summer", "I moved to Ghent", "LIVES_IN"),
            ("I start at Barco in June 2027", "I start at Barco", "WORKS_FOR"),
            ("I have been to Rome for three days", "I have been to Rome", "VISITED"),
            ("Yesterday I met Sara who works at Philips", "Sara who works at Philips", "WORKS_FOR"),
            ("In 2019 I moved to Rome and now I live in Milan", "I live in Milan", "LIVES_IN"),
            ("My brother Max moved to Leeds in 2017", "My brother Max", "FAMILY_OF"),
            ("We took our dog Rocky to the vet on Tuesday", "our dog Rocky", "OWNS"),
            ("I got promoted at Bosch in March", "I got promoted at Bosch", "WORKS_FOR"),
            ("I got my bike from Jan", "I got my bike", "OWNS"),
            ("From June I work at Bosch", "I work at Bosch", "WORKS_FOR"),
            ("I own a Vespa from 1972", "I own a Vespa", "OWNS"),
            ("I have to work at Lufthansa for two years", "I have to work at Lufthansa", "WORKS_FOR"),
            ("I've been hired by Manpower for six months", "hired by Manpower", "WORKS_FOR"),
            ("I got an Audi A4 in 2000 condition", "I got an Audi A4", "OWNS"),
            ("I moved to Ghent. It was great in 2019.", "I moved to Ghent", "LIVES_IN"),
            ("I moved to Ghent. It was yesterday that Ann called.", "I moved to Ghent", "LIVES_IN"),
            ("I bought a house. It was last year valued at 300k.", "I bought a house", "OWNS"),
            ("I moved to Ghent when Ann left. That was in 2019.", "I moved to Ghent", "LIVES_IN"),
        ] {
            assert_eq!(read(text, words, relation, Stance::Supports), "/", "{text}");
        }
    }

    #[test]
    fn end_is_read_from_the_clause_of_the_fact() {
        for (text, words, expected) in [
            ("I worked at Bosch until 2019.", "I worked at Bosch", "/2019"),
            ("I worked at Bosch from 2015 to 2019.", "I worked at Bosch", "2015/2019"),
            ("Between May 2003 and 2006 I worked at Bosch.", "I worked at Bosch", "2003-05/2006"),
            ("I left Helvora. That was in June 2020.", "I left Helvora", "/2020-06"),
            ("I left Helvora between 2010 and 2012", "I left Helvora", "/"),
            ("I worked at Bosch between 2006 and 2003", "I worked at Bosch", "/"),
            ("I heard Ann left Bosch. That was yesterday.", "Ann left Bosch", "/"),
            ("I quit Bosch after my last fall", "I quit Bosch", "/"),
            ("I left Helvora at the end of June.", "I left Helvora", "/2025-06"),
            ("We stopped using Trello in May", "We stopped using Trello", "/2026-05"),
            ("We have not used Jenkins since March", "We have not used Jenkins", "/2026-03"),
            ("Tom and I broke up on Saturday", "Tom and I", "/2026-05-02"),
            ("I no longer work at Bosch", "I no longer work at Bosch", "/"),
            ("I left Varta after working there since 2010", "I left Varta", "/"),
            ("I took a day off from Bosch on Monday", "I took a day off from Bosch", "/"),
        ] {
            assert_eq!(read(text, words, "WORKS_FOR", Stance::Ends), expected, "{text}");
        }
        assert_eq!(read("I never worked at Bosch in May", "I never worked at Bosch", "WORKS_FOR", Stance::Opposes), "/");
    }
}
