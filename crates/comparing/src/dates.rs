//! Reads dates and clock times.

/// The kind of a date.
pub(super) const KIND: &str = "date";
const MONTHS: &[&str] =
    &["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];
/// Words before a year that stands alone.
const BEFORE_YEAR: &[&str] = &["in", "since", "from", "until", "till", "by", "of", "year", "to", "before", "after", "during", "for"];

/// A day, a month or a year; parts that are not said are missing.
#[derive(Clone, Copy, Default)]
struct Date {
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
}

impl Date {
    fn written(self) -> String {
        let part = |n: Option<u32>, width: usize| n.map_or_else(|| "?".repeat(width), |n| format!("{n:0width$}"));
        format!("{}-{}-{}", part(self.year, 4), part(self.month, 2), part(self.day, 2))
    }
}

fn month(text: &str) -> Option<u32> {
    let is_month = |name: &str| name == text || (name.starts_with(text) && (text.len() == 3 || text == "sept"));
    MONTHS.iter().position(|name| is_month(name)).and_then(|m| u32::try_from(m + 1).ok())
}

fn day(text: &str) -> Option<u32> {
    let bare = ["st", "nd", "rd", "th"].iter().find_map(|ending| text.strip_suffix(ending)).unwrap_or(text);
    bare.parse().ok().filter(|d| bare.len() <= 2 && (1..=31).contains(d))
}

fn year(text: &str) -> Option<u32> {
    text.parse().ok().filter(|y| text.len() == 4 && (1_900..2_200).contains(y))
}

/// Reads a date at the beginning of words: "12 March 2024", "March 12, 2024", "March 2024", "2024-03-12", "12.03.2024", "in 2024".
pub(super) fn read(words: &[String], before: &str) -> Option<(String, String, usize)> {
    let word = |n: usize| words.get(n).map_or("", String::as_str);
    let found = |date: Date, length: usize| Some((KIND.to_owned(), date.written(), length));
    let of = usize::from(word(1) == "of");
    if let (Some(d), Some(m)) = (day(word(0)), month(word(1 + of))) {
        let y = year(word(2 + of));
        return found(Date { year: y, month: Some(m), day: Some(d) }, 2 + of + usize::from(y.is_some()));
    }
    if let Some(m) = month(word(0)) {
        let (d, y) = (day(word(1)), year(word(2)));
        return match (d, year(word(1))) {
            (Some(_), _) => found(Date { year: y, month: Some(m), day: d }, 2 + usize::from(y.is_some())),
            (None, Some(y)) => found(Date { year: Some(y), month: Some(m), day: None }, 2),
            // "May" and "March" alone are ambiguous words.
            _ => None,
        };
    }
    if let Some(amount) = in_digits(word(0)) {
        return Some((KIND.to_owned(), amount, 1));
    }
    match year(word(0)) {
        Some(y) if BEFORE_YEAR.contains(&before) => found(Date { year: Some(y), ..Date::default() }, 1),
        _ => None,
    }
}

/// Reads "2024-03-12", "12.03.2024", "12/03/24" or "12-Mar-2024". A date with slashes is read in both orders if both are possible.
fn in_digits(text: &str) -> Option<String> {
    let mark = text.chars().find(|c| matches!(c, '-' | '/' | '.'))?;
    let parts: Vec<&str> = text.split(mark).collect();
    let [first, second, third] = parts.as_slice() else { return None };
    let number = |text: &str| text.parse::<u32>().ok().filter(|_| text.len() <= 2);
    let (month_of, day_of) =
        (|text: &str| number(text).filter(|m| (1..=12).contains(m)), |text: &str| number(text).filter(|d| (1..=31).contains(d)));
    let date = |y: u32, m: u32, d: u32| Date { year: Some(y), month: Some(m), day: Some(d) }.written();
    if let Some(y) = year(first) {
        return Some(date(y, month_of(second)?, day_of(third)?));
    }
    // Two digits are a year only if the other parts have two, too: "1.2.24" may be a version.
    let is_full = first.len() == 2 && second.len() == 2;
    let y = year(third).or_else(|| number(third).filter(|_| third.len() == 2 && is_full).map(|y| 2_000 + y))?;
    if let Some(m) = month(second) {
        return Some(date(y, m, day_of(first)?));
    }
    let day_first = day_of(first).zip(month_of(second)).map(|(d, m)| date(y, m, d));
    let month_first = month_of(first).zip(day_of(second)).filter(|_| mark == '/').map(|(m, d)| date(y, m, d));
    match (day_first, month_first) {
        (Some(a), Some(b)) if a != b => Some(format!("{a}|{b}")),
        (a, b) => a.or(b),
    }
}

/// Reads a clock time: "22:00", "10 pm", "10:30am", "noon". Returns it with 24 hours, and how many words it took.
pub(super) fn clock(words: &[String]) -> Option<(String, usize)> {
    let word = |n: usize| words.get(n).map_or("", String::as_str);
    match word(0) {
        "noon" | "midday" => return Some(("12:00".to_owned(), 1)),
        "midnight" => return Some(("00:00".to_owned(), 1)),
        _ => {}
    }
    let half = |text: &str| match text.replace('.', "").as_str() {
        "am" => Some(0),
        "pm" => Some(12),
        _ => None,
    };
    let end = word(0).find(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.')).unwrap_or(word(0).len());
    let (time, attached) = word(0).split_at_checked(end)?;
    let (hours, minutes) = time.split_once([':', '.']).unwrap_or((time, ""));
    let number = |text: &str, limit: u32| text.parse::<u32>().ok().filter(|n| text.len() <= 2 && *n < limit);
    let (after, length) = match (half(attached), half(word(1))) {
        (Some(after), _) => (Some(after), 1),
        (None, Some(after)) if attached.is_empty() => (Some(after), 2),
        (None, _) if word(1) == "o'clock" || word(1) == "o’clock" => (None, 2),
        (None, _) if attached.is_empty() && time.contains(':') => (None, 1),
        _ => return None,
    };
    let (h, m) = (number(hours, 25)?, if minutes.is_empty() { 0 } else { number(minutes, 60)? });
    let h = match after {
        Some(after) if h <= 12 => h % 12 + after,
        _ => h % 24,
    };
    Some((format!("{h:02}:{m:02}"), length))
}
