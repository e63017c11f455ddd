//! Picks sentences of a text that stand for the rest.
//!
//! A sentence is a vector of its index terms, each weighted by how few sentences have it. Sentences near the sum of all vectors say
//! what the text is about (centroid method), and a sentence that repeats a chosen one counts for less (maximal marginal relevance).

use std::collections::{HashMap, HashSet};

use unicode_segmentation::UnicodeSegmentation;

use super::terms;

/// Most sentences that are compared. A longer text is about what it begins with.
const MAX_SENTENCES: usize = 400;
/// Most sentences of a summary.
const MAX_CHOSEN: usize = 3;
/// Sentences with fewer terms say little alone.
const FEW_TERMS: usize = 4;
/// How much a sentence without a final mark, such as a heading or a row of a table, and how much a question counts.
const FRAGMENT: f64 = 0.6;
const QUESTION: f64 = 0.5;
/// How much a sentence counts that continues another one.
const CONTINUATION: f64 = 0.7;
/// First words of such sentences, in small letters.
const CONTINUES: &[&str] = &[
    "and",
    "but",
    "he",
    "however",
    "it",
    "its",
    "or",
    "otherwise",
    "she",
    "so",
    "that",
    "their",
    "then",
    "these",
    "they",
    "this",
    "those",
];
/// The share of similarity to chosen sentences in the choice of the next one.
const REDUNDANCY: f64 = 0.4;
/// Words with a full stop behind which no sentence ends.
const ABBREVIATIONS: &[&str] = &[
    "Dr.", "Fig.", "Jr.", "Mr.", "Mrs.", "Ms.", "No.", "Nr.", "Prof.", "Sr.", "St.", "approx.", "ca.", "cf.", "ch.", "e.g.", "ed.", "eds.",
    "i.e.", "p.", "pp.", "sec.", "vol.", "vs.",
];
/// The share of sentences that begin with a capital letter from which on one with a small letter is the rest of another one.
const CAPITALISED: f64 = 0.6;

/// A sentence with its weighted terms, in the order of the ids.
struct Sentence {
    text: String,
    terms: Vec<(usize, f64)>,
    weight: f64,
}

/// Returns up to three sentences of the texts in their order, with at most `most_chars` characters. `None` if there is no word.
///
/// The same texts always have the same summary.
pub fn summarize<'t>(texts: impl IntoIterator<Item = &'t str>, most_chars: usize) -> Option<String> {
    let mut sentences = sentences(texts, most_chars);
    let all = centroid(&mut sentences);
    keep_whole(&mut sentences);
    let relevance: Vec<f64> = sentences.iter().map(|s| s.weight * cosine(&s.terms, &all)).collect();
    let mut chosen: Vec<usize> = Vec::new();
    let mut room = most_chars;
    while chosen.len() < MAX_CHOSEN {
        let value = |n: usize| {
            let repeats = chosen.iter().map(|&c| cosine(&sentences[n].terms, &sentences[c].terms)).fold(0.0, f64::max);
            relevance[n] - REDUNDANCY * repeats
        };
        let fits = (0..sentences.len()).filter(|n| !chosen.contains(n) && sentences[*n].text.chars().count() <= room);
        let best = fits.map(|n| (n, value(n))).max_by(|(a, x), (b, y)| x.total_cmp(y).then(b.cmp(a)));
        // A sentence that only repeats what is chosen is left out.
        let Some((next, _)) = best.filter(|(_, value)| chosen.is_empty() || *value > 0.0) else { break };
        room = room.saturating_sub(sentences[next].text.chars().count() + 1);
        chosen.push(next);
    }
    chosen.sort_unstable();
    let words: Vec<&str> = chosen.iter().map(|&n| sentences[n].text.as_str()).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Removes rows of tables and rests of sentences, unless there is nothing else.
fn keep_whole(sentences: &mut Vec<Sentence>) {
    let begins = |of: fn(char) -> bool| move |s: &Sentence| s.text.trim_start_matches(['"', '“', '„', '(']).starts_with(of);
    let (capital, small) = (begins(char::is_uppercase), begins(char::is_lowercase));
    let capitals = sentences.iter().filter(|s| capital(s)).count() as f64;
    let cased = capitals + sentences.iter().filter(|s| small(s)).count() as f64;
    let is_cased = capitals >= CAPITALISED * cased;
    let is_rest = |s: &Sentence| is_cased && small(s);
    let is_whole = |s: &Sentence| !s.text.contains(" | ") && !is_rest(s);
    if sentences.iter().any(is_whole) {
        sentences.retain(is_whole);
    }
}

/// Returns the different sentences of texts. Those that are too long are cut at a word.
fn sentences<'t>(texts: impl IntoIterator<Item = &'t str>, most_chars: usize) -> Vec<Sentence> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut ids: HashMap<String, usize> = HashMap::new();
    for text in texts.into_iter().flat_map(split) {
        if found.len() >= MAX_SENTENCES {
            break;
        }
        let text = shortened(text, most_chars);
        let counts = terms(&text);
        if counts.is_empty() || !seen.insert(text.to_lowercase()) {
            continue;
        }
        let weight = weight(&text, counts.len(), found.len());
        let mut terms: Vec<(usize, f64)> = Vec::with_capacity(counts.len());
        for (term, count) in counts {
            let next = ids.len();
            terms.push((*ids.entry(term).or_insert(next), 1.0 + f64::from(count).ln()));
        }
        terms.sort_unstable_by_key(|(id, _)| *id);
        found.push(Sentence { text, terms, weight });
    }
    found
}

/// Splits a text into sentences without surplus space and marks of lists.
fn split(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open = false;
    for piece in text.unicode_sentences() {
        let words = piece.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = if open { words.as_str() } else { words.trim_start_matches(['-', '*', '•', '#', '>', ' ']) };
        if words.is_empty() {
            continue;
        }
        match found.last_mut().filter(|_| open) {
            Some(last) => *last = format!("{last} {words}"),
            None => found.push(words.to_owned()),
        }
        // A line ends a sentence, whatever its last word.
        open = !piece.ends_with('\n') && words.rsplit(' ').next().is_some_and(|word| ABBREVIATIONS.contains(&word));
    }
    found
}

/// How much a sentence counts by its form, apart from what it says.
fn weight(text: &str, terms: usize, place: usize) -> f64 {
    let end = text.trim_end_matches(['"', '\'', '”', '’', '»', ')']).chars().last();
    let form = match end {
        Some('?' | '？') => QUESTION,
        Some('.' | '!' | '…' | '。' | '！') if !text.contains(" | ") => 1.0,
        _ => FRAGMENT,
    };
    let first = text.split_whitespace().next().unwrap_or_default().trim_end_matches(',').to_lowercase();
    let form = if CONTINUES.contains(&first.as_str()) { form * CONTINUATION } else { form };
    // What a text is about is often said first.
    let place = 1.0 + 0.5 / (1.0 + place as f64);
    form * place * (terms.min(FEW_TERMS) as f64 / FEW_TERMS as f64)
}

/// Weights the terms by how few sentences have them, makes the vectors unit vectors, and returns their sum.
fn centroid(sentences: &mut [Sentence]) -> Vec<(usize, f64)> {
    let mut holders: Vec<f64> = Vec::new();
    for (id, _) in sentences.iter().flat_map(|s| &s.terms) {
        if holders.len() <= *id {
            holders.resize(id + 1, 0.0);
        }
        holders[*id] += 1.0;
    }
    let mut sum = vec![0.0; holders.len()];
    let count = sentences.len() as f64;
    for sentence in sentences {
        for (id, weight) in &mut sentence.terms {
            *weight *= (1.0 + count / holders[*id]).ln();
        }
        let length = sentence.terms.iter().map(|(_, w)| w * w).sum::<f64>().sqrt();
        for (id, weight) in &mut sentence.terms {
            *weight /= length;
            sum[*id] += *weight;
        }
    }
    sum.into_iter().enumerate().collect()
}

/// The cosine of two vectors whose terms are in the order of their ids.
fn cosine(a: &[(usize, f64)], b: &[(usize, f64)]) -> f64 {
    let (mut product, mut n) = (0.0, 0);
    for (id, weight) in a {
        while b.get(n).is_some_and(|(other, _)| other < id) {
            n += 1;
        }
        product += b.get(n).filter(|(other, _)| other == id).map_or(0.0, |(_, other)| weight * other);
    }
    let length = |v: &[(usize, f64)]| v.iter().map(|(_, w)| w * w).sum::<f64>().sqrt();
    let lengths = length(a) * length(b);
    if lengths > 0.0 { product / lengths } else { 0.0 }
}

/// Cuts a text at a word.
fn shortened(text: String, most_chars: usize) -> String {
    if text.chars().count() <= most_chars {
        return text;
    }
    let cut: String = text.chars().take(most_chars.saturating_sub(1)).collect();
    let at_word = cut.rsplit_once(' ').map_or(cut.as_str(), |(head, _)| head);
    format!("{}…", at_word.trim_end())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HANDBOOK: &str = "Employee handbook\n\
        Dogs are welcome in the office if the team agrees. Every dog needs a place in the office where it can rest. \
        The kitchen is cleaned on Fridays.\n\
        Who has a dog pays the cleaning of the office carpet. Ask Dr. Brown if your dog is ill.\n\
        Printers are on the second floor.";

    #[test]
    fn summary_says_what_most_sentences_are_about() {
        let summary = summarize([HANDBOOK], 220).unwrap();
        assert!(summary.contains("Dogs are welcome in the office if the team agrees."), "{summary}");
        assert!(!summary.contains("Printers") && !summary.contains("kitchen"), "{summary}");
    }

    #[test]
    fn abbreviations_do_not_end_sentences() {
        assert!(split(HANDBOOK).contains(&"Ask Dr. Brown if your dog is ill.".to_owned()));
        assert_eq!(split("- One  thing.\n* Another\n"), ["One thing.", "Another"]);
    }

    #[test]
    fn sentence_that_continues_another_counts_for_less() {
        let text = "It reaches the customer in Oslo with the parcel. A parcel for the customer in Oslo costs nine euros.";
        assert_eq!(summarize([text], 60).unwrap(), "A parcel for the customer in Oslo costs nine euros.");
        assert!(weight("This is a long red brick wall.", 4, 3) < weight("Here is a long red brick wall.", 4, 3));
    }

    #[test]
    fn rows_and_rests_of_sentences_are_left_out() {
        let text = "Week | Subject | Reading\n1 | The history of banking | Dollinger, ch. 3\nof banking in the city and the history of its banks.\n\
            The course is about the history of banking. Read Dollinger, ch. 3 about banking before the course.";
        let whole = "The course is about the history of banking. Read Dollinger, ch. 3 about banking before the course.";
        assert_eq!(summarize([text], 500).unwrap(), whole);
        assert_eq!(summarize(["a | b\nc | d"], 500).unwrap(), "a | b c | d");
        assert_eq!(summarize(["my dog is called max\nHe eats a lot."], 500).unwrap(), "my dog is called max He eats a lot.");
    }

    #[test]
    fn repeated_sentence_is_chosen_once() {
        let repeated = "The contract ends in May. The contract ends in May. The rent rises each year.";
        assert_eq!(summarize([repeated], 500).unwrap(), "The contract ends in May. The rent rises each year.");
    }

    #[test]
    fn text_without_words_has_no_summary() {
        for text in ["", " \n", "the of and", "--- | ---"] {
            assert_eq!(summarize([text], 500), None, "{text:?}");
        }
    }

    #[test]
    fn long_sentence_is_cut_at_a_word() {
        let summary = summarize([" granite".repeat(200).as_str()], 50).unwrap();
        assert!(summary.ends_with("granite…") && summary.chars().count() <= 50, "{summary}");
    }

    proptest! {
        #[test]
        fn summary_is_bounded_repeatable_and_made_of_the_text(texts in proptest::collection::vec("([A-Za-zäé]{1,8}[ .?\n]{0,2}){0,40}|.{0,60}", 0..6), most in 20usize..400) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let summary = summarize(texts.iter().copied(), most);
            prop_assert_eq!(&summary, &summarize(texts.iter().copied(), most));
            let Some(summary) = summary else { return Ok(()) };
            prop_assert!(summary.chars().count() <= most, "{}", summary);
            let words: HashSet<&str> = texts.iter().flat_map(|text| text.split_whitespace()).collect();
            let unknown = summary.split_whitespace().find(|word| !word.ends_with('…') && !words.iter().any(|w| w.contains(word)));
            prop_assert_eq!(unknown, None);
        }
    }
}
