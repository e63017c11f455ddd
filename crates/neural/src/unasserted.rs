//! Recognises what a text names together without stating it: wishes, conditions, doubts, samples and what nobody does.
//!
//! The rules know this from their clauses. The network sees only words, so its new facts are checked against them.

use recall_domain::{Polarity, Span, number_word};

use crate::sentences::{are_joined, is_one, sentence_start, words};

/// Verbs before what may, should or will be.
const MODALS: &[&str] = &["may", "might", "could", "should", "would", "must", "shall", "will", "'ll"];
/// Verbs of what somebody has: who may sell a car has it.
const GIVING_UP: &[&str] = &["sell", "quit", "leave", "lose", "give", "drop", "stop", "keep", "stay"];
/// Verbs of wishing and planning.
const WISHES: &[&str] = &[
    "want",
    "wants",
    "wanted",
    "hope",
    "hopes",
    "hoped",
    "hoping",
    "wish",
    "wishes",
    "wished",
    "plan",
    "plans",
    "planned",
    "planning",
    "intend",
    "intends",
    "intended",
    "considers",
    "considering",
    "thinking",
    "dreams",
    "dreaming",
    "dreamt",
    "dreamed",
    "aims",
];
/// Words before a clause that holds only in a case.
const CONDITIONS: &[&str] = &["if", "unless", "whether", "suppose", "supposing", "imagine", "assuming"];
/// Words before a clause that somebody doubts or wishes.
const DOUBTS: &[&str] = &[
    "doubt",
    "doubts",
    "doubted",
    "deny",
    "denies",
    "denied",
    "wonder",
    "wonders",
    "wondered",
    "hope",
    "hopes",
    "hoped",
    "wish",
    "wishes",
    "wished",
    "pretend",
    "pretends",
    "pretended",
    "unlikely",
    "unclear",
];
/// Verbs of what is only dreamt, imagined or told as a joke.
const UNREAL: &[&str] = &[
    "dreamt",
    "dreamed",
    "dream",
    "dreaming",
    "daydream",
    "daydreamed",
    "imagined",
    "fantasised",
    "fantasized",
    "hallucinated",
    "pretend",
    "pretends",
    "pretended",
    "pretending",
    "joked",
    "lied",
];
/// Verbs of what somebody says or thinks.
const SAYING: &[&str] = &[
    "says",
    "said",
    "say",
    "thinks",
    "think",
    "thought",
    "believes",
    "believed",
    "knows",
    "knew",
    "heard",
    "hears",
    "tells",
    "told",
    "claims",
    "claimed",
    "reckons",
    "reckoned",
    "guesses",
    "guessed",
    "swears",
    "swore",
    "insists",
    "insisted",
    "assumes",
    "assumed",
    "suspects",
    "suspected",
];
/// The same of what somebody takes for true, which the speaker may know better.
const OPINIONS: &[&str] =
    &["thinks", "think", "believes", "believe", "believed", "reckons", "reckon", "guesses", "assumes", "assume", "assumed", "suspects"];
/// Subjects of a clause that are not the one who says it.
const OTHERS: &[&str] = &["i", "i'm", "i've", "i'd", "we", "we're", "you", "you're", "my", "our", "your", "it", "it's"];
/// Words before a verb of what did not happen.
const NEAR_MISSES: &[&str] = &["almost", "nearly"];
/// Words after them that are no verb: "almost always", "nearly ten years".
const DEGREES: &[&str] = &[
    "a",
    "an",
    "the",
    "all",
    "any",
    "always",
    "every",
    "everyone",
    "everybody",
    "everything",
    "each",
    "never",
    "no",
    "nobody",
    "exclusively",
    "entirely",
    "only",
    "daily",
    "as",
    "half",
    "twice",
    "certainly",
    "finished",
    "done",
    "ready",
    "there",
    "impossible",
    "too",
];
/// Subjects that make a verb untrue of everybody or of most.
const NOBODY: &[&str] = &["nobody", "none", "neither", "few", "nothing"];
/// Words before "few" that make it some.
const SOME: &[&str] = &["a", "the", "last", "past", "next", "first"];
/// Words that begin another clause.
const BREAKS: &[&str] = &[
    ",", "who", "which", "that", "whose", "where", "when", "while", "and", "but", "or", "because", "so", "since", "as", "although",
    "though", "except", "besides",
];
/// Words of orders to write the example after them.
const FILLING: &[&str] = &["fill", "enter", "write", "type", "insert"];

/// Whether a text does not state a relation between two parties, each given by its span; `None` is the speaker. What is denied or over
/// only needs a link between its names.
pub(crate) fn is_unasserted(text: &[char], subject: Option<Span>, object: Option<Span>, polarity: Polarity) -> bool {
    let (first, second) = match (subject, object) {
        (Some(a), Some(b)) if b.start < a.start => (Some(b), a),
        (Some(a), Some(b)) => (Some(a), b),
        (None, Some(only)) | (Some(only), None) => (None, only),
        (None, None) => return false,
    };
    if first.is_some_and(|f| !are_joined(text, f, second)) {
        return true;
    }
    let begin = sentence_start(text, second.start);
    let before = |end: u32| words(&text[begin..(end as usize).clamp(begin, text.len())]);
    let all = before(second.start);
    if polarity != Polarity::Negated && is_near_miss(last_clause(&all)) {
        return true;
    }
    if polarity != Polarity::Affirmed {
        return false;
    }
    if is_example(&all) || first.is_some_and(|f| is_example(&words(&text[sentence_start(text, f.start)..f.start as usize]))) {
        return true;
    }
    let Some(first) = first else {
        let own = ["i", "we", "my", "our"];
        let clause = last_clause(&all);
        // "My sister hopes Anna joins us"
        let is_doubted = clause.last().is_some_and(|w| DOUBTS.contains(&w.as_str())) && !clause.iter().any(|w| w == "no");
        return is_doubted
            || is_unreal(&all)
            || is_opinion_of_others(&all)
            || has_wish(clause)
            || clause.windows(2).any(|w| own.contains(&w[1].as_str()) && is_one(&w[..1], CONDITIONS));
    };
    if (first.start as usize) < begin {
        return false;
    }
    let head = before(first.start);
    let rest = words(&text[(first.end.min(second.start)) as usize..second.start as usize]);
    let (head_clause, between) = (last_clause(&head), last_clause(&rest));
    let is_doubted = || {
        let outer = match head.split_last() {
            Some((that, outer)) if matches!(that.as_str(), "that" | "whether" | "if") => outer,
            _ => &head[..],
        };
        outer.last().is_some_and(|w| DOUBTS.contains(&w.as_str())) && !outer.iter().any(|w| w == "no")
    };
    let is_open = is_one(between, MODALS) && !is_one(between, GIVING_UP);
    is_open
        || is_unreal(&head)
        || is_unreal(&rest)
        || is_said_of_others(&rest)
        || has_wish(between)
        || is_one(head_clause, CONDITIONS)
        || is_doubted()
        || has_nobody(head_clause)
        || has_nobody(between)
}

/// Returns the words of the clause at the end.
fn last_clause(words: &[String]) -> &[String] {
    let from = words.iter().rposition(|w| w == ":" || BREAKS.contains(&w.as_str())).map_or(0, |i| i + 1);
    &words[from..]
}

/// Whether a clause follows a verb of dreaming or pretending: "I dreamt I had", "she pretended that she lived".
fn is_unreal(words: &[String]) -> bool {
    let is_clause = |next: &str| !matches!(next, "." | "," | "and" | "but" | "last" | "to");
    words.windows(2).any(|w| UNREAL.contains(&w[0].as_str()) && is_clause(&w[1]))
        || words.last().is_some_and(|w| UNREAL.contains(&w.as_str()))
}

/// Whether somebody says something of another: "my brother thinks I bought".
fn is_said_of_others(words: &[String]) -> bool {
    (0..words.len()).any(|i| {
        let that = usize::from(words.get(i + 1).is_some_and(|w| w == "that"));
        SAYING.contains(&words[i].as_str()) && words.get(i + 1 + that).is_some_and(|w| OTHERS.contains(&w.as_str()))
    })
}

/// Whether others take something of the speaker for true: "my brother thinks I bought".
fn is_opinion_of_others(words: &[String]) -> bool {
    (1..words.len()).any(|i| {
        let that = usize::from(words.get(i + 1).is_some_and(|w| w == "that"));
        let is_own = matches!(words[i - 1].as_str(), "i" | "we" | "also" | "still" | "really" | "don't" | "to");
        let of_speaker = words.get(i + 1 + that).is_some_and(|w| matches!(w.as_str(), "i" | "i'm" | "i've" | "we" | "my" | "our"));
        OPINIONS.contains(&words[i].as_str()) && !is_own && of_speaker
    })
}

/// Whether a verb tells what nearly happened: "I nearly moved", "was almost fired".
fn is_near_miss(words: &[String]) -> bool {
    let is_degree = |w: &str| DEGREES.contains(&w) || number_word(w).is_some() || w.starts_with(|c: char| c.is_ascii_digit());
    words.windows(2).any(|w| NEAR_MISSES.contains(&w[0].as_str()) && !is_degree(&w[1]))
        || words.windows(3).any(|w| w[0] == "came" && w[1] == "close" && w[2] == "to")
}

/// "wants to", "is thinking of", "would like to"
fn has_wish(words: &[String]) -> bool {
    let is_wished = |w: &str| matches!(w, "to" | "of" | "about") || w.ends_with("ing");
    words.windows(2).any(|w| WISHES.contains(&w[0].as_str()) && is_wished(&w[1]))
        || words.windows(3).any(|w| matches!(w[0].as_str(), "would" | "i'd") && matches!(w[1].as_str(), "like" | "love") && w[2] == "to")
        || words.iter().any(|w| w == "gonna")
}

/// "nobody", "none", "no one", "few", but not "a few"
fn has_nobody(words: &[String]) -> bool {
    (0..words.len()).any(|i| {
        let is_some = i > 0 && SOME.contains(&words[i - 1].as_str());
        NOBODY.contains(&words[i].as_str()) && !is_some || words[i] == "no" && words.get(i + 1).is_some_and(|w| w == "one")
    })
}

/// Whether words announce an example: "e.g.", "Example:", "Fill in your name:".
fn is_example(words: &[String]) -> bool {
    let word = |i: usize| words.get(i).map_or("", String::as_str);
    let first = usize::from(matches!(word(0), "then" | "please" | "and" | "now" | "for"));
    let order = &words[first.min(words.len())..words.iter().rposition(|w| w == ":").unwrap_or(0).max(first).min(words.len())];
    let is_filling = order.first().is_some_and(|w| FILLING.contains(&w.as_str()));
    matches!(word(0), "e.g")
        || matches!(word(first), "example" | "sample") && word(first + 1) == ":"
        || is_filling && (order.iter().any(|w| w == "your" || w == "in") || order.len() == 1 && word(first) != "type")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_unasserted_between(text: &str, a: &str, b: &str) -> bool {
        let span = |name: &str| {
            let start = text.find(name).map_or(0, |at| text[..at].chars().count()) as u32;
            (!name.is_empty()).then(|| Span { start, end: start + name.chars().count() as u32 })
        };
        is_unasserted(&text.chars().collect::<Vec<_>>(), span(a), span(b), Polarity::Affirmed)
    }

    #[test]
    fn wishes_conditions_doubts_and_examples_state_nothing() {
        for (text, a, b) in [
            ("Mia may join Nestlé in 2030.", "Mia", "Nestlé"),
            ("Mia would love to live in Rome.", "Mia", "Rome"),
            ("Mia is thinking of moving to Rome.", "Mia", "Rome"),
            ("If Mia works for Bosch, she gets a car.", "Mia", "Bosch"),
            ("I asked whether Mia works for Bosch.", "Mia", "Bosch"),
            ("If I join Bosch, I get a car.", "", "Bosch"),
            ("My sister hopes Anna joins Bosch.", "", "Anna"),
            ("Al denies that Mia works for Bosch.", "Mia", "Bosch"),
            ("No one at Bosch uses Emacs.", "Bosch", "Emacs"),
            ("Few people at Bosch use Emacs.", "Bosch", "Emacs"),
            ("Example: \"Mia works for Bosch.\"", "Mia", "Bosch"),
            ("I dreamt I lived in Rome.", "", "Rome"),
            ("I dreamed that Mia works for Bosch.", "Mia", "Bosch"),
            ("Mia dreamt she lived in Rome.", "Mia", "Rome"),
            ("I pretended I live in Rome.", "", "Rome"),
            ("I nearly moved to Rome.", "", "Rome"),
            ("I almost married Mia.", "", "Mia"),
            ("Mia came close to joining Bosch.", "Mia", "Bosch"),
            ("My sister Mia thinks I bought a Tesla.", "Mia", "Tesla"),
            ("My sister thinks I bought a Tesla.", "", "Tesla"),
            ("I'm gonna buy the Tesla.", "", "Tesla"),
            ("He is in Rome. Fill in the form: My name is Mia.", "Rome", "Mia"),
        ] {
            assert!(is_unasserted_between(text, a, b), "{text}");
        }
    }

    #[test]
    fn statements_next_to_them_are_asserted() {
        for (text, a, b) in [
            ("Mia works for Bosch.", "Mia", "Bosch"),
            ("Mia, who might come later, works for Bosch.", "Mia", "Bosch"),
            ("Mia might sell her Tesla.", "Mia", "Tesla"),
            ("If anyone asks, Mia works for Bosch.", "Mia", "Bosch"),
            ("No doubt Mia works for Bosch.", "Mia", "Bosch"),
            ("I have no doubt Mia is my best friend.", "", "Mia"),
            ("The tool that nobody likes except Mia, who works for Bosch.", "Mia", "Bosch"),
            ("A few people at Bosch use Emacs.", "Bosch", "Emacs"),
            ("If it rains I like jazz", "", "jazz"),
            ("I've worked for almost ten years at Bosch.", "", "Bosch"),
            ("I almost always use Emacs.", "", "Emacs"),
            ("Mia says she works for Bosch.", "Mia", "Bosch"),
            ("I think I like Emacs.", "", "Emacs"),
            ("Mia dreams big and works for Bosch.", "Mia", "Bosch"),
            ("Type: Mia works for Bosch", "Mia", "Bosch"),
        ] {
            assert!(!is_unasserted_between(text, a, b), "{text}");
        }
    }

    #[test]
    fn ends_need_a_link_between_their_names() {
        let text: Vec<char> = "Al may join Bosch. Mia quit Ford.".chars().collect();
        let span = |start, end| Some(Span { start, end });
        assert!(is_unasserted(&text, span(19, 22), span(12, 17), Polarity::Ended));
        assert!(!is_unasserted(&text, span(0, 2), span(12, 17), Polarity::Ended));
        let nearly: Vec<char> = "I was nearly fired from Aldi".chars().collect();
        assert!(is_unasserted(&nearly, None, span(24, 28), Polarity::Ended));
    }
}
