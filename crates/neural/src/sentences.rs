//! Divides a text into sentences and words.

/// Abbreviations before a name or an example.
const ABBREVIATIONS: &[&str] = &["dr", "mr", "mrs", "ms", "st", "prof", "e.g", "i.e", "vs"];

/// Returns the place where the sentence at a place begins.
pub(crate) fn sentence_start(text: &[char], at: u32) -> usize {
    let at = (at as usize).min(text.len());
    (0..at).rev().find(|&i| closes(text, i)).map_or(0, |i| i + 1)
}

/// Whether a sentence ends with a character.
fn closes(text: &[char], at: usize) -> bool {
    let ends_word = || text.get(at + 1).is_none_or(|c| c.is_whitespace() || matches!(c, '"' | '”' | ')'));
    let is_short = || {
        let from = text[..at].iter().rposition(|c| c.is_whitespace() || *c == '(').map_or(0, |i| i + 1);
        let word: String = text[from..at].iter().collect::<String>().to_lowercase();
        ABBREVIATIONS.contains(&word.as_str()) || word.chars().count() == 1
    };
    match text[at] {
        '\n' | ';' => true,
        '!' | '?' => ends_word(),
        '.' => ends_word() && !is_short(),
        _ => false,
    }
}

/// Returns the words in lower case, with a comma for each mark that ends a clause.
pub(crate) fn words(text: &[char]) -> Vec<String> {
    let plain = text.iter().collect::<String>().to_lowercase().replace('’', "'").replace("'ll", " 'll");
    let mut found = Vec::new();
    for word in plain.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'');
        if !bare.is_empty() {
            found.push(bare.to_owned());
        }
        if bare.is_empty() || word.ends_with([',', ';', ':', ')', '—', '–']) {
            found.push(if word.ends_with(':') { ":" } else { "," }.to_owned());
        }
    }
    found
}

pub(crate) fn is_one(words: &[String], of: &[&str]) -> bool {
    words.iter().any(|w| of.contains(&w.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_begin_after_marks_and_not_after_abbreviations() {
        for (text, expected) in [("Hi. Al is", 3), ("Ask Mrs. Hale", 0), ("Use e.g. Vim", 0), ("a\nb", 2), ("Hi! Al", 3)] {
            assert_eq!(sentence_start(&text.chars().collect::<Vec<_>>(), text.len() as u32), expected, "{text}");
        }
    }
}
