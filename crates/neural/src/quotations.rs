//! Finds quotations of the first person, which are somebody else's words.

use recall_domain::{FirstPerson, Span};

/// Returns the quotations in which somebody says "I" or "my", without their marks.
pub(crate) fn quotations(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut open: Option<u32> = None;
    let mut inner = String::new();
    for (at, c) in (0..).zip(text.chars()) {
        match (open, c) {
            (None, '"' | '“') => {
                open = Some(at + 1);
                inner.clear();
            }
            (Some(start), '"' | '”') => {
                let words: Vec<String> = inner.to_lowercase().split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect();
                let own = words.iter().any(|w| FirstPerson::of(w).is_some_and(FirstPerson::acts_or_owns));
                if own && words.len() > 2 {
                    found.push(Span { start, end: at });
                }
                open = None;
            }
            (Some(_), c) => inner.push(c),
            (None, _) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_of_the_first_person_are_found() {
        for (text, expected) in [
            ("She said “I own a boat” and read \"The Sea\".", vec![Span { start: 10, end: 22 }]),
            ("I read \"The Sea\".", vec![]),
            ("a 5\" pipe", vec![]),
        ] {
            assert_eq!(quotations(text), expected, "{text}");
        }
    }
}
