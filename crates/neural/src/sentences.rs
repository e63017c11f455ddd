//! Divides a text into sentences and words, and finds out whether something links names of different sentences.

use recall_domain::Span;

/// Abbreviations before a name or an example.
const ABBREVIATIONS: &[&str] = &["dr", "mr", "mrs", "ms", "st", "prof", "e.g", "i.e", "vs"];

/// Words that refer to what was named before, or to the speaker.
const LINKS: &[&str] = &[
    "he",
    "she",
    "they",
    "it",
    "his",
    "her",
    "their",
    "him",
    "them",
    "its",
    "hers",
    "theirs",
    "himself",
    "herself",
    "themselves",
    "there",
    "here",
    "who",
    "whom",
    "whose",
    "which",
    "that",
    "this",
    "these",
    "those",
    "both",
    "one",
    "same",
    "other",
    "another",
    "either",
    "neither",
    "everyone",
    "former",
    "latter",
    "then",
    "now",
    "too",
    "also",
    "i",
    "me",
    "my",
    "mine",
    "we",
    "us",
    "our",
];
const AUXILIARIES: &[&str] = &[
    "is", "are", "was", "were", "has", "have", "had", "can", "may", "will", "must", "do", "does", "did", "should", "would", "could",
    "might",
];
/// Endings of verbs that begin a sentence without its subject: "Hosted on Hetzner", "Loves Beckett".
const VERB_ENDINGS: &[&str] = &["ed", "en", "ing", "s", "lt", "de"];
/// Whether two names are in one sentence, or the words of the later one refer to something before or leave its subject out.
pub(crate) fn are_joined(text: &[char], first: Span, second: Span) -> bool {
    let between = &text[(first.end.min(second.start)) as usize..second.start as usize];
    if between.contains(&'|') {
        return false;
    }
    let (own, begin) = (sentence_start(text, first.start), sentence_start(text, second.start));
    if own == begin {
        return true;
    }
    let lead = &text[begin..second.start as usize];
    let lead_words = words(lead);
    let end = sentence_end(text, second.end);
    let sentence = words(&text[(first.end as usize).max(sentence_end(text, first.end)).min(end)..end]);
    let (one, other) = (lead_words.first(), lead_words.get(1));
    let lacks_subject = one.is_some_and(|w| VERB_ENDINGS.iter().any(|ending| w.ends_with(ending)))
        && !other.is_some_and(|w| AUXILIARIES.contains(&w.as_str()));
    // "The hospital is in Viseu" after "the Santa Clara hospital".
    let told = words(&text[own..begin]);
    let name = words(&text[first.start as usize..(first.end as usize).min(text.len())]);
    let repeats = lead_words.windows(2).any(|w| w[0] == "the" && told.contains(&w[1])) || lead_words.iter().any(|w| name.contains(w));
    // "Python, with numpy", "Name: Vortex", "Otis."
    let is_fragment = lead.iter().any(|c| matches!(c, ',' | ':' | '(' | '–' | '—'))
        || lead_words.len() < 2 && text.get(second.end as usize).is_none_or(|c| !c.is_whitespace());
    let is_link = |word: &String| word.split('\'').next().is_some_and(|bare| LINKS.contains(&bare));
    sentence.iter().any(is_link) || lacks_subject || repeats || is_fragment
}

/// Returns the place where the sentence at a place begins.
pub(crate) fn sentence_start(text: &[char], at: u32) -> usize {
    let at = (at as usize).min(text.len());
    (0..at).rev().find(|&i| closes(text, i)).map_or(0, |i| i + 1)
}

/// Returns the place where the sentence at a place ends.
fn sentence_end(text: &[char], at: u32) -> usize {
    let at = (at as usize).min(text.len());
    (at..text.len()).find(|&i| closes(text, i)).unwrap_or(text.len())
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
    fn names_of_different_sentences_need_a_link() {
        for (text, a, b, expected) in [
            ("Our bank is Revolut in Riga. Bug reports go to Mantis.", "Revolut", "Mantis", false),
            ("Our bank is Revolut. Cards are made by Thales.", "Revolut", "Thales", false),
            ("Our bank is Revolut. Thales makes cards.", "Revolut", "Thales", false),
            ("| Revolut | Mantis |", "Revolut", "Mantis", false),
            ("Mia is back. She lives in Rome.", "Mia", "Rome", true),
            ("Mia Berg is back. Berg lives in Rome.", "Mia Berg", "Rome", true),
            ("Mia is back. Loves jazz.", "Mia", "jazz", true),
            ("Mia got cats. First one's Kluski.", "Mia", "Kluski", true),
            ("Mia had a boy. Otis.", "Mia", "Otis", true),
            ("Our shop is called Fig. Python, with numpy.", "Fig", "numpy", true),
            ("The hospital is Santa Clara. The hospital is in Viseu", "Santa Clara", "Viseu", true),
            ("Ask Mrs. Hale about Rome", "Hale", "Rome", true),
        ] {
            let span = |name: &str| {
                let start = text.find(name).map_or(0, |at| text[..at].chars().count()) as u32;
                Span { start, end: start + name.chars().count() as u32 }
            };
            // The last place of the second name.
            let second = text.rfind(b).map_or(0, |at| text[..at].chars().count()) as u32;
            let second = Span { start: second, end: second + b.chars().count() as u32 };
            assert_eq!(are_joined(&text.chars().collect::<Vec<_>>(), span(a), second), expected, "{text}");
        }
    }

    #[test]
    fn sentences_begin_after_marks_and_not_after_abbreviations() {
        for (text, expected) in [("Hi. Al is", 3), ("Ask Mrs. Hale", 0), ("Use e.g. Vim", 0), ("a\nb", 2), ("Hi! Al", 3)] {
            assert_eq!(sentence_start(&text.chars().collect::<Vec<_>>(), text.len() as u32), expected, "{text}");
        }
    }
}
