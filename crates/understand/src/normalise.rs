//! Converts chat text to plain text and keeps the offset of each character in the original.
//!
//! Code blocks, block quotes and URLs are removed, because they are not the speaker's own words. Emoji become breaks.
//!
//! A Markdown parser does not fit: in CommonMark the line after a quote belongs to the quote and an indented line is code,
//! but in chat both are the speaker's own words.

use super::steps;

/// Plain text with the offsets of its characters.
pub(crate) struct Clean {
    pub(crate) chars: Vec<char>,
    /// For each of `chars`, its offset in the original, in code points.
    pub(crate) at: Vec<u32>,
}

/// Replaces an emoji: a sentence break if a new sentence follows, else a space.
pub(crate) const SOFT_BREAK: char = '\u{2029}';
/// Replaces removed text (URL, code) and acts as a noun that extraction skips.
pub(crate) const OPAQUE: char = '\u{FFFC}';

/// Longest inline code that can be a name ("`serde`"), in characters.
const MAX_INLINE_NAME: usize = 40;

/// Converts chat text to plain text.
pub(crate) fn clean(text: &str) -> Clean {
    let raw: Vec<char> = text.chars().collect();
    let mut out = Clean { chars: Vec::with_capacity(raw.len()), at: Vec::with_capacity(raw.len()) };
    let mut i = 0;
    let mut line_start = true;
    while i < raw.len() {
        steps::count(1);
        if line_start {
            if starts(&raw, i, "```") || starts(&raw, i, "~~~") {
                i = after_fence(&raw, i);
                out.push('\n', i);
                continue;
            }
            if let Some(next) = line_marker(&raw, i, &mut out) {
                i = next;
                line_start = i > 0 && raw.get(i - 1) == Some(&'\n');
                continue;
            }
        }
        let c = raw[i];
        line_start = c == '\n' || (line_start && c == ' ');
        if let Some(end) = url_end(&raw, i) {
            out.push(OPAQUE, i);
            i = end;
            continue;
        }
        if starts(&raw, i, "```") {
            i = after_fence(&raw, i);
            out.push(OPAQUE, i);
            continue;
        }
        if c == '`' {
            i = inline_code(&raw, i, &mut out);
            continue;
        }
        if c == '['
            && let Some((label_end, link_end)) = link(&raw, i)
        {
            for (k, &l) in raw.iter().enumerate().take(label_end).skip(i + 1) {
                out.push(plain(l), k);
            }
            i = link_end;
            continue;
        }
        if matches!(c, '*' | '_' | '~') && emphasis(&raw, i) {
            i += 1;
            continue;
        }
        if is_emoji(c) {
            out.push(SOFT_BREAK, i);
        } else if !is_joiner(c) {
            out.push(plain(c), i);
        }
        i += 1;
    }
    out
}

impl Clean {
    fn push(&mut self, c: char, at: usize) {
        self.chars.push(c);
        self.at.push(u32::try_from(at).unwrap_or(u32::MAX));
    }
}

fn starts(raw: &[char], i: usize, what: &str) -> bool {
    what.chars().enumerate().all(|(k, c)| raw.get(i + k) == Some(&c))
}

fn line_end(raw: &[char], i: usize) -> usize {
    let end = raw[i..].iter().position(|&c| c == '\n').map_or(raw.len(), |n| i + n + 1);
    steps::count(end - i);
    end
}

/// Returns the end of the fenced block that opens at `i`, or of the text if no fence closes it.
fn after_fence(raw: &[char], i: usize) -> usize {
    let fence = raw[i];
    let mut k = i + 3;
    while k < raw.len() {
        steps::count(1);
        if raw[k] == fence && raw.get(k + 1) == Some(&fence) && raw.get(k + 2) == Some(&fence) {
            return k + 3;
        }
        k += 1;
    }
    raw.len()
}

/// Returns the position after a heading, list or quote marker at the start of a line. A quoted line is removed.
fn line_marker(raw: &[char], i: usize, out: &mut Clean) -> Option<usize> {
    if raw[i] == '>' {
        out.push('\n', i);
        return Some(line_end(raw, i));
    }
    let mut k = i;
    while raw.get(k) == Some(&'#') {
        k += 1;
    }
    if k > i && raw.get(k) == Some(&' ') {
        out.push('\n', i);
        return Some(k + 1);
    }
    if matches!(raw[i], '-' | '*' | '+' | '•') && raw.get(i + 1) == Some(&' ') {
        out.push('\n', i);
        return Some(i + 2);
    }
    None
}

fn url_end(raw: &[char], i: usize) -> Option<usize> {
    if i > 0 && raw[i - 1].is_alphanumeric() {
        return None;
    }
    if !(starts(raw, i, "http://") || starts(raw, i, "https://") || starts(raw, i, "www.") || starts(raw, i, "ftp://")) {
        return None;
    }
    let mut end = raw[i..].iter().position(|c| c.is_whitespace() || "<>\"".contains(*c)).map_or(raw.len(), |n| i + n);
    steps::count(end - i);
    while end > i && ".,;:!?)]}'*".contains(raw[end - 1]) {
        end -= 1;
    }
    Some(end)
}

fn inline_code(raw: &[char], i: usize, out: &mut Clean) -> usize {
    let limit = raw.len().min(i + 400);
    match raw[i + 1..limit].iter().position(|&c| c == '`' || c == '\n') {
        Some(n) if raw[i + 1 + n] == '`' => {
            let inner = &raw[i + 1..i + 1 + n];
            if n <= MAX_INLINE_NAME && inner.iter().all(|c| c.is_alphanumeric() || "-_.+#/@".contains(*c)) {
                for (k, &c) in inner.iter().enumerate() {
                    out.push(c, i + 1 + k);
                }
            } else {
                out.push(OPAQUE, i);
            }
            i + 2 + n
        }
        _ => i + 1,
    }
}

/// Returns the ends of label and link of `[label](address)`.
fn link(raw: &[char], i: usize) -> Option<(usize, usize)> {
    let limit = raw.len().min(i + 200);
    let label_end = i + raw[i..limit].iter().position(|&c| c == ']')?;
    if raw.get(label_end + 1) != Some(&'(') {
        return None;
    }
    let limit = raw.len().min(label_end + 2000);
    let end = label_end + raw[label_end..limit].iter().position(|&c| c == ')')?;
    Some((label_end, end + 1))
}

/// Whether a `*`, `_` or `~` marks emphasis: a word is on one side only, or the same character is next to it.
fn emphasis(raw: &[char], i: usize) -> bool {
    let word = |c: Option<&char>| c.is_some_and(|c| c.is_alphanumeric());
    let before = i.checked_sub(1).and_then(|k| raw.get(k));
    let after = raw.get(i + 1);
    before == Some(&raw[i]) || after == Some(&raw[i]) || (word(before) != word(after))
}

/// Maps typographic quotes, dashes and spaces to one character of their kind.
fn plain(c: char) -> char {
    match c {
        '‘' | '’' | '‛' | '´' | 'ʼ' | '′' => '\'',
        '“' | '”' | '„' | '‟' | '«' | '»' | '″' => '"',
        '–' | '—' | '―' | '−' => '—',
        '‐' | '‑' => '-',
        '…' => '…',
        '\n' => '\n',
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{a0}' => ' ',
        '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        c => c,
    }
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{1F000}'..='\u{1FAFF}' | '\u{2600}'..='\u{27BF}' | '\u{2B00}'..='\u{2BFF}' | '\u{E000}'..='\u{F8FF}' | '\u{2028}' | '\u{2029}' | '\u{FFFC}')
}

/// Whether a character joins or modifies emoji, or is invisible.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    fn text(s: &str) -> String {
        clean(s).chars.into_iter().filter(|&c| c != OPAQUE && c != SOFT_BREAK).collect()
    }

    #[test]
    fn markdown_code_and_links_are_removed_but_names_stay() {
        assert_eq!(text("I use `serde` and **Tokio**."), "I use serde and Tokio.");
        assert_eq!(text("see https://a.example/x?y=1, ok"), "see , ok");
        assert_eq!(text("a\n```\nI love C\n```\nb"), "a\n\n\nb");
        assert_eq!(text("I read [The Book](https://x.example)."), "I read The Book.");
        assert_eq!(text("snake_case and 2*3"), "snake_case and 2*3");
        assert!(!text("> I hate Go\nme too").contains("Go"));
    }

    #[test]
    fn line_after_a_quote_and_indented_line_stay() {
        assert_eq!(text("> I use Emacs\nI use Vim").trim(), "I use Vim");
        assert_eq!(text("    I use Vim").trim(), "I use Vim");
    }

    #[test]
    fn offsets_point_into_the_original() {
        let source = "“Hi” 😀 **Ann**";
        let c = clean(source);
        let original: Vec<char> = source.chars().collect();
        for (ch, at) in c.chars.iter().zip(&c.at) {
            if ch.is_alphabetic() {
                assert_eq!(original[*at as usize], *ch);
            }
        }
    }

    #[test]
    fn unclosed_fence_ends_with_the_text() {
        assert_eq!(text("x\n```\nI like Go").trim(), "x");
    }
}
