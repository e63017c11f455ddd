//! Cuts the text to quote out of a message.

/// Maximum length of an excerpt, in characters.
pub(super) const MAX_EXCERPT: usize = 240;

/// Returns the range of sentences to quote around the best one: first those after it, while they fit.
pub(super) fn quoted_range(sentences: &[&str], best: usize) -> (usize, usize) {
    let length = |i: usize| sentences.get(i).map_or(0, |s| s.chars().count());
    let (mut first, mut last, mut all) = (best, best, length(best));
    while last + 1 < sentences.len() && all + length(last + 1) <= MAX_EXCERPT {
        last += 1;
        all += length(last);
    }
    while first > 0 && all + length(first - 1) <= MAX_EXCERPT {
        first -= 1;
        all += length(first);
    }
    (first, last)
}

/// Shortens a text to the maximum length of an excerpt, between words.
pub(super) fn shorten(text: &str) -> String {
    let text = text.trim();
    if text.chars().count() <= MAX_EXCERPT {
        return text.to_owned();
    }
    let mut cut = String::new();
    for word in text.split_inclusive(char::is_whitespace) {
        if cut.chars().count() + word.chars().count() > MAX_EXCERPT {
            break;
        }
        cut.push_str(word);
    }
    if cut.is_empty() {
        // The first word is longer than an excerpt.
        cut = text.chars().take(MAX_EXCERPT).collect();
    }
    format!("{}…", cut.trim_end())
}

/// Returns a text without what others said: longer passages in quotation marks.
pub(super) fn without_quotations(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(['"', '“']) {
        let inner = &rest[open..];
        let begin = inner.chars().next().map_or(1, char::len_utf8);
        let Some(length) = inner[begin..].find(['"', '”']) else { break };
        let quoted = &inner[begin..begin + length];
        let end = begin + length + inner[begin + length..].chars().next().map_or(0, char::len_utf8);
        out.push_str(&rest[..open]);
        if quoted.split_whitespace().count() <= 4 {
            out.push_str(&inner[..end]);
        }
        rest = &inner[end..];
    }
    out.push_str(rest);
    out
}
