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

/// An address of the web, without the place in its page.
fn accept(link: &str) -> Option<String> {
    let link = link.trim();
    let link = link.split_once('#').map_or(link, |(page, _)| page);
    let scheme = link.split_once("://")?.0.to_ascii_lowercase();
    let valid = ["http", "https", "ftp"].contains(&scheme.as_str());
    (valid && link.len() <= MAX_LENGTH && !link.contains(|c: char| c.is_whitespace() || c.is_control())).then(|| link.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_collected_once_and_in_order() {
        let linked = ["https://b.example/x#part", "javascript:alert(1)", "file:///etc/passwd", "mailto:a@b.example", "page.html"];
        let found = collect(linked.map(str::to_owned), ["See https://a.example/y. Or (http://c.example), or https://b.example/x."]);
        assert_eq!(found, ["https://b.example/x", "https://a.example/y", "http://c.example"]);
    }
}
