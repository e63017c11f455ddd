//! Collects the addresses that a document links to or names.

use std::collections::HashSet;

use linkify::{LinkFinder, LinkKind};

/// Largest number of addresses that are kept.
const MAX_LINKS: usize = 5_000;
/// Longest address that is kept, in bytes.
const MAX_LENGTH: usize = 2_048;

/// Joins the addresses of links with those that the text names, in order and without repetition.
pub(crate) fn collect<'a>(linked: impl IntoIterator<Item = String>, texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]);
    let named = texts.into_iter().flat_map(|text| finder.links(text).map(|link| link.as_str().to_owned()).collect::<Vec<_>>());
    let mut seen = HashSet::new();
    let all = linked.into_iter().chain(named).filter_map(|link| accept(&link));
    all.filter(|link| seen.insert(link.clone())).take(MAX_LINKS).collect()
}

/// An address without the place in its page, or the path of a file on Windows.
fn accept(link: &str) -> Option<String> {
    let link = link.trim();
    if is_path(link) {
        return (link.len() <= MAX_LENGTH && !link.contains(char::is_control)).then(|| link.to_owned());
    }
    let link = link.split_once('#').map_or(link, |(page, _)| page);
    let (scheme, rest) = link.split_once(':')?;
    let valid = match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" | "ftp" => rest.starts_with("//"),
        "file" => rest.starts_with('/'),
        _ => false,
    };
    (valid && link.len() <= MAX_LENGTH && !link.contains(|c: char| c.is_whitespace() || c.is_control())).then(|| link.to_owned())
}

/// Whether a link is an absolute path on Windows. One that begins with `/` may be a path of a site.
fn is_path(link: &str) -> bool {
    let is_drive = matches!(link.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    is_drive || link.starts_with("\\\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_collected_once_and_in_order() {
        let linked = [
            "https://b.example/x#part",
            "javascript:alert(1)",
            "file:///home/a b.md",
            "FILE:/notes/a.md#2",
            "D:\\a b.pdf",
            "\\\\server\\x#1",
            "mailto:a@b.example",
            "page.html",
            "/site/page",
        ];
        let found = collect(linked.map(str::to_owned), ["See https://a.example/y. Or (http://c.example), or https://b.example/x."]);
        let expected =
            ["https://b.example/x", "FILE:/notes/a.md", "D:\\a b.pdf", "\\\\server\\x#1", "https://a.example/y", "http://c.example"];
        assert_eq!(found, expected);
    }
}
