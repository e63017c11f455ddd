//! Finds coordinated people: what is said of one member is said of all.

use recall_domain::Span;

/// Whether two spans are members of one coordination: "Lena and Tom", "Solveig, Saff and I".
pub(crate) fn are_coordinated(text: &str, a: Span, b: Span) -> bool {
    let (first, second) = if a.start < b.start { (a, b) } else { (b, a) };
    if second.start < first.end || second.start - first.end > 40 {
        return false;
    }
    let between: String = text.chars().skip(first.end as usize).take((second.start - first.end) as usize).collect();
    let mut words = between.split(|c: char| c.is_whitespace() || c == ',').filter(|w| !w.is_empty()).peekable();
    let joins = between.contains(',') || words.peek().is_some();
    joins
        && words.all(|w| matches!(w, "and" | "&" | "+") || w.chars().next().is_some_and(char::is_uppercase))
        && (between.contains(" and ") || between.contains('&') || between.contains('+') || between.trim() == ",")
}

/// Returns the place of the speaker next to a span in a coordination: "Lena and I", "me and Lena".
pub(crate) fn is_coordinated_with_speaker(text: &str, span: Span) -> bool {
    let chars: Vec<char> = text.chars().collect();
    let words = |part: &[char]| part.iter().collect::<String>().to_lowercase().split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (start, end) = ((span.start as usize).min(chars.len()), (span.end as usize).min(chars.len()));
    let (before, after) = (words(&chars[start.saturating_sub(12)..start]), words(&chars[end..(end + 12).min(chars.len())]));
    let speaker = |w: &str| matches!(w.trim_matches(|c: char| !c.is_alphanumeric()), "i" | "me" | "myself");
    let after = matches!(after.as_slice(), [and, who, ..] if matches!(and.as_str(), "and" | "&") && speaker(who));
    let before = matches!(before.as_slice(), [.., who, and] if matches!(and.as_str(), "and" | "&") && speaker(who));
    after || before
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(text: &str, word: &str) -> Span {
        let start = text.find(word).map_or(0, |at| text[..at].chars().count()) as u32;
        Span { start, end: start + word.chars().count() as u32 }
    }

    #[test]
    fn members_of_a_coordination_are_found() {
        for (text, a, b, expected) in [
            ("Lena and Tom went to Oaxaca", "Lena", "Tom", true),
            ("Lena, Marisol and Jo were there", "Lena", "Jo", true),
            ("Lena told Tom", "Lena", "Tom", false),
            ("Lena left and then Tom", "Lena", "Tom", false),
        ] {
            assert_eq!(are_coordinated(text, span(text, a), span(text, b)), expected, "{text}");
        }
        for (text, a, expected) in [("Lena and I went", "Lena", true), ("me and Lena went", "Lena", true), ("Lena met me", "Lena", false)] {
            assert_eq!(is_coordinated_with_speaker(text, span(text, a)), expected, "{text}");
        }
    }
}
