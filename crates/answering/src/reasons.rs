//! Finds reasons that stand in a clause of their own, without a "because".

use unicode_segmentation::UnicodeSegmentation;

use super::{
    answer_type::list_contains,
    assertion::is_negation,
    lexicon::is_function_word,
    words::{Word, words},
};

/// Whether a sentence says in a clause of its own why something is over or not so: "Lisbon is off, flights were too expensive", "I don't drink coffee, it
/// gives me headaches".
pub(super) fn tells_reason_of_end(text: &str, question_words: &[Word]) -> bool {
    const ENDS: &str = "off cancelled canceled postponed anymore stopped quit over";
    const CONJUNCTIONS: &str = "so but and or";
    /// Most words of a sentence that are looked at: each comma costs a look at all of them.
    const MOST_WORDS: usize = 200;
    let content: Vec<&Word> = question_words.iter().filter(|w| !is_function_word(w) && !is_negation(&w.plain)).collect();
    text.unicode_sentences().any(|sentence| {
        let said: Vec<Word> = words(sentence).into_iter().take(MOST_WORDS).collect();
        let gap = |i: &usize| sentence.get(said[i - 1].span.1..said[*i].span.0).unwrap_or_default();
        (1..said.len()).filter(|i| gap(i).contains([',', ';'])).any(|i| {
            let (what, why) = said.split_at(i);
            let is_end = what.iter().any(|w| list_contains(ENDS, &w.plain) || is_negation(&w.plain));
            let is_asked = content.iter().all(|asked| what.iter().any(|w| w.stem == asked.stem));
            let tells_excess = || why.windows(2).any(|pair| pair[0].plain == "too" && !is_function_word(&pair[1]));
            let tells_effect = why.len() > 2 && list_contains("it it's that that's they they're", &why[0].plain);
            let is_other =
                || list_contains(CONJUNCTIONS, &why[0].plain) || why.iter().any(|w| matches!(w.plain.as_str(), "now" | "instead"));
            is_end && is_asked && (tells_effect || tells_excess()) && !is_other()
        })
    })
}
