//! The form in which names and titles are compared, the same for every store.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Latin letters with one of the common accents, each after its plain form. Migration 0044 has the same ones.
///
/// Marks of other scripts tell letters apart: Cyrillic "й" is no "и".
pub const ACCENTED: [(char, &str); 19] = [
    ('a', "àáâãäåāăą"),
    ('c', "çćĉċč"),
    ('d', "ď"),
    ('e', "èéêëēĕėęě"),
    ('g', "ĝğġģ"),
    ('h', "ĥ"),
    ('i', "ìíîïĩīĭį"),
    ('j', "ĵ"),
    ('k', "ķ"),
    ('l', "ĺļľ"),
    ('n', "ñńņň"),
    ('o', "òóôõöōŏő"),
    ('r', "ŕŗř"),
    ('s', "śŝşš"),
    ('t', "ţť"),
    ('u', "ùúûüũūŭůűų"),
    ('w', "ŵ"),
    ('y', "ýÿŷ"),
    ('z', "źżž"),
];

/// Returns the text in Unicode lower case, with the plain letters of [`ACCENTED`]. Two stacked accents ("ế") and "ș" stay.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    let mut is_plain = false;
    for c in text.to_lowercase().nfc() {
        // A second accent would make the letter an accented one again.
        if is_plain && is_combining_mark(c) {
            continue;
        }
        let plain = ACCENTED.iter().find(|(_, accented)| accented.contains(c)).map(|(plain, _)| *plain);
        is_plain = plain.is_some();
        folded.push(plain.unwrap_or(c));
    }
    folded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn folded_text_stays_as_it_is(text in "([a-zé]|\\PC|[\u{300}-\u{304}]){0,12}") {
            prop_assert_eq!(fold(&fold(&text)), fold(&text));
        }
    }

    #[test]
    fn case_and_accents_are_ignored() {
        for (name, form) in [
            ("José Núñez", "jose nunez"),
            ("Jose\u{301} Nu\u{301}n\u{303}ez", "jose nunez"),
            ("ŽIŽEK", "zizek"),
            ("Łódź", "łodz"),
            ("Straße", "straße"),
            ("Anna", "anna"),
            ("हिन्दी", "हिन्दी"),
            ("한글", "한글"),
            ("Андрей", "андрей"),
        ] {
            assert_eq!(fold(name), form);
        }
    }
}
