//! Finds names and quotes of a model's reply in the original text.

use recall_domain::Span;

/// Articles and possessives, which are not part of a name.
pub(super) const DETERMINERS: [&str; 9] = ["the", "a", "an", "my", "our", "your", "his", "her", "their"];

/// A text that can be searched by code point, ignoring case and the kind of white space.
pub(super) struct SearchableText {
    chars: Vec<char>,
    folded: Vec<char>,
}

impl SearchableText {
    pub(super) fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let folded = chars.iter().map(|c| fold(*c)).collect();
        Self { chars, folded }
    }

    /// Finds the first occurrence of a name as whole words.
    pub(super) fn find(&self, name: &str) -> Option<Span> {
        self.search(name, true)
    }

    /// Finds the first occurrence of a passage, also within words.
    pub(super) fn find_passage(&self, passage: &str) -> Option<Span> {
        self.search(passage.trim(), false)
    }

    /// Returns the text of a span as written.
    pub(super) fn piece(&self, span: Span) -> String {
        self.chars.get(span.start as usize..span.end as usize).map(|c| c.iter().collect()).unwrap_or_default()
    }

    /// Returns a span without leading articles and possessives, which models may add despite the instructions.
    ///
    /// A capitalised determiner before a capitalised word belongs to the name ("The Hague").
    pub(super) fn without_determiners(&self, mut span: Span) -> Span {
        loop {
            let piece = self.piece(span);
            let Some((first, rest)) = piece.split_once(char::is_whitespace) else { return span };
            let of_name = first.starts_with(char::is_uppercase) && rest.trim_start().starts_with(char::is_uppercase);
            if of_name || rest.trim().is_empty() || !DETERMINERS.contains(&first.to_lowercase().as_str()) {
                return span;
            }
            let removed = piece.chars().count() - rest.trim_start().chars().count();
            span.start = span.start.saturating_add(u32::try_from(removed).unwrap_or(u32::MAX));
        }
    }

    /// Returns the word before a position in lower case, including a possessive ending.
    pub(super) fn word_before(&self, start: u32) -> Option<String> {
        let before = self.folded.get(..start as usize)?;
        let end = before.iter().rposition(|c| *c != ' ')? + 1;
        let of_word = |c: &char| c.is_alphanumeric() || matches!(c, '\'' | '-');
        let begin = before.get(..end)?.iter().rposition(|c| !of_word(c)).map_or(0, |i| i + 1);
        let word: String = before.get(begin..end)?.iter().collect();
        (!word.is_empty()).then_some(word)
    }

    fn search(&self, wanted: &str, whole: bool) -> Option<Span> {
        let wanted: Vec<char> = wanted.chars().map(fold).collect();
        let (first, last) = (*wanted.first()?, *wanted.last()?);
        let at = self.folded.windows(wanted.len()).enumerate().find(|(i, window)| {
            let before = i.checked_sub(1).and_then(|b| self.folded.get(b));
            let after = self.folded.get(i + wanted.len());
            *window == wanted.as_slice() && (!whole || (!is_same_word(before, first) && !is_same_word(after, last)))
        })?;
        Some(Span { start: u32::try_from(at.0).ok()?, end: u32::try_from(at.0 + wanted.len()).ok()? })
    }
}

/// Folds case, quotes and white space to one code point, so that positions stay valid.
fn fold(c: char) -> char {
    match c {
        '’' | '‘' => '\'',
        '“' | '”' => '"',
        c if c.is_whitespace() => ' ',
        c => {
            let mut lower = c.to_lowercase();
            match (lower.next(), lower.next()) {
                (Some(l), None) => l,
                _ => c,
            }
        }
    }
}

/// Whether a neighbour belongs to the same word as the edge of a name. Scripts without spaces have no such words.
fn is_same_word(neighbour: Option<&char>, edge: char) -> bool {
    let of_word = |c: char| c.is_alphanumeric() && u32::from(c) < 0x2e80;
    neighbour.is_some_and(|n| of_word(*n) && of_word(edge))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_found_as_whole_words_in_any_case() {
        let text = SearchableText::new("Émile’s friend ann met Joanna in  New\nYork. 東京に行った。");
        let found = |name: &str| text.find(name).map(|s| text.piece(s));
        assert_eq!(found("Ann").as_deref(), Some("ann"));
        assert_eq!(found("New York").as_deref(), Some("New\nYork"));
        assert_eq!(found("émile's").as_deref(), Some("Émile’s"));
        assert_eq!(found("東京").as_deref(), Some("東京"));
        for absent in ["Anna", "Joann", "York City", "", "İ"] {
            assert_eq!(found(absent), None, "{absent}");
        }
        assert!(text.find_passage("oann").is_some());
    }

    #[test]
    fn articles_and_possessives_are_removed_from_names() {
        for (text, name) in [
            ("My sister called", "sister"),
            ("my  little sister", "little sister"),
            ("The Hague", "The Hague"),
            ("the Hague", "Hague"),
            ("the the dog", "dog"),
            ("a", "a"),
            ("the ", "the "),
            ("theatre", "theatre"),
            ("", ""),
        ] {
            let located = SearchableText::new(text);
            let all = Span { start: 0, end: text.split(" called").next().unwrap().chars().count() as u32 };
            assert_eq!(located.piece(located.without_determiners(all)), name);
        }
    }

    proptest! {
        #[test]
        fn found_span_equals_the_wanted_text(text in "\\PC{0,60}", at in 0usize..60, len in 1usize..10) {
            let chars: Vec<char> = text.chars().collect();
            let wanted: String = chars.iter().skip(at).take(len).collect();
            let located = SearchableText::new(&text);
            if !wanted.is_empty() {
                let span = located.search(&wanted, false).unwrap();
                prop_assert_eq!(located.piece(span).chars().map(fold).collect::<String>(), wanted.chars().map(fold).collect::<String>());
            }
            if let Some(span) = located.find("a") {
                prop_assert!((span.end as usize) <= chars.len());
            }
        }
    }
}
