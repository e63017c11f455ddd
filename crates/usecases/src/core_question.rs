//! Finds what a message really asks, and in which document. Pure.
//!
//! "Hi, can you tell me how much the deposit is, please?" asks "how much the deposit is", and "What does the lease say about dogs?" asks about
//! dogs, in the lease. Words of politeness would be searched for, and judged, like those of the question.

use super::forget_command::{after, before};

/// A question without what surrounds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CoreQuestion {
    /// What is asked.
    pub(super) text: String,
    /// The words that name the document to look in, and the question without them.
    pub(super) named_source: Option<NamedSource>,
}

/// A document that a question names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedSource {
    /// The words: "lease", "handbook.pdf".
    pub(super) name: String,
    /// The question without them.
    pub(super) question: String,
}

/// Words before a question that say nothing about it. A beginning before another one that it starts with comes later.
const GREETINGS: &[&str] = &[
    "good morning",
    "good afternoon",
    "good evening",
    "hi there",
    "hello there",
    "hey there",
    "hi",
    "hello",
    "hey",
    "excuse me",
    "sorry",
    "please",
    "pls",
    "ok",
    "okay",
    "so",
    "quick question",
    "one question",
    "question",
    "just wondering",
];
/// Words that ask for an answer to the question after them.
const REQUESTS: &[&str] = &[
    "can you please tell me",
    "could you please tell me",
    "would you please tell me",
    "can you tell me",
    "could you tell me",
    "would you tell me",
    "can you remind me",
    "could you remind me",
    "can you show me",
    "please tell me",
    "tell me",
    "remind me",
    "let me know",
    "do you happen to know",
    "do you know",
    "i'd like to know",
    "i would like to know",
    "i want to know",
    "i need to know",
    "i was wondering",
    "i wonder",
    "i'm wondering",
    "any idea",
];
/// Words after a question that say nothing about it.
const TAILS: &[&str] =
    &["thank you very much", "thank you so much", "thank you", "many thanks", "thanks a lot", "thanks", "thx", "cheers", "please", "pls"];
/// Words for the text that a question is about, if it has no other name.
const THIS_TEXT: &[&str] = &["document", "file", "text", "pdf", "page"];
/// Most words of the name of a document.
const MAX_NAME_WORDS: usize = 5;

/// Returns what a message asks.
pub(super) fn core_of(message: &str) -> CoreQuestion {
    let asked = without_lead(message.trim());
    let text = without_tail(asked, asked.len() < message.trim().len());
    let named_source = said_of(&text).or_else(|| according_to(&text)).or_else(|| in_file(&text));
    match named_source {
        // "According to the document" names the one that is asked about anyway.
        Some(source) if THIS_TEXT.contains(&source.name.to_lowercase().as_str()) => {
            CoreQuestion { text: source.question, named_source: None }
        }
        named_source => CoreQuestion { text, named_source },
    }
}

/// Removes greetings, and requests before a question word.
fn without_lead(text: &str) -> &str {
    let mut rest = text;
    loop {
        let greeting = GREETINGS.iter().find_map(|words| after(rest, words)).filter(|next| !next.is_empty());
        let request = REQUESTS.iter().find_map(|words| after(rest, words)).filter(|next| opens_question(next));
        match request.or(greeting) {
            Some(next) => rest = next.trim_start_matches(['!', '-', '.', ' ']),
            None => break,
        }
    }
    // What remains is a question, or the words were a part of it: "So is life".
    if opens_question(rest) || rest.contains('?') { rest } else { text }
}

/// Removes thanks after a question: after a sentence or a comma, or anywhere at the end of a request. "Who said thanks?" has them in it.
fn without_tail(text: &str, is_request: bool) -> String {
    let asks = text.trim_end().ends_with('?');
    let mut rest = text.trim_end();
    loop {
        let bare = rest.trim_end_matches(['.', '!', '?', ',', ' ']);
        let tail = TAILS.iter().find(|tail| before(bare, tail).is_some());
        let is_apart = |tail: &&&str| {
            let head = bare[..bare.len() - tail.len()].trim_end();
            is_request || head.ends_with(['?', '.', '!', ',']) || matches!(**tail, "please" | "pls")
        };
        let Some(shorter) = tail.filter(is_apart).and_then(|tail| before(bare, tail)) else { break };
        if shorter.is_empty() {
            break;
        }
        rest = shorter;
    }
    // The mark tells the question from what is told before it.
    if asks && !rest.contains('?') { format!("{}?", rest.trim_end_matches(['.', '!', ','])) } else { rest.to_owned() }
}

/// Reads "What does the lease say about dogs?" and "Does the lease say anything about dogs?".
fn said_of(text: &str) -> Option<NamedSource> {
    let bare = text.trim_end_matches(['?', '.', '!', ' ']);
    let rest = after(bare, "what does").or_else(|| after(bare, "what do")).or_else(|| after(bare, "does"))?;
    let (name, rest) = split_at_word(rest, "say")?;
    let rest = after(rest, "anything").or_else(|| after(rest, "something")).unwrap_or(rest);
    let subject = after(rest, "about").or_else(|| after(rest, "on")).or_else(|| after(rest, "regarding"))?;
    let name = name_of(name)?;
    (!subject.is_empty()).then(|| NamedSource { name, question: subject.to_owned() })
}

/// Reads "What is the rent according to the lease?" and "According to the lease, what is the rent?".
fn according_to(text: &str) -> Option<NamedSource> {
    let bare = text.trim_end_matches(['?', '.', '!', ' ']);
    let mark = if bare.len() < text.len() { "?" } else { "" };
    if let Some(rest) = after(bare, "according to") {
        let (name, question) = rest.split_once(',')?;
        return Some(NamedSource { name: name_of(name)?, question: format!("{}{mark}", question.trim()) });
    }
    let at = bare.to_lowercase().find(" according to ")?;
    let (question, name) = (bare.get(..at)?, bare.get(at + " according to ".len()..)?);
    Some(NamedSource { name: name_of(name)?, question: format!("{}{mark}", question.trim_end_matches([',', ' '])) })
}

/// Reads "How high is the rent in lease.md?".
fn in_file(text: &str) -> Option<NamedSource> {
    let bare = text.trim_end_matches(['?', '!', ' ']);
    let (question, name) = bare.rsplit_once(' ')?;
    let is_file = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && (2..=5).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_alphanumeric())
    });
    let question = before(question, "in").or_else(|| before(question, "of"))?;
    is_file.then(|| NamedSource { name: name.to_owned(), question: format!("{}?", question.trim_end()) })
}

/// Returns the words of a name without its article; `None` if it is a person, or too long for a name.
fn name_of(words: &str) -> Option<String> {
    let words = words.trim();
    let bare = ["the", "my", "our", "this", "that", "your"].iter().find_map(|article| after(words, article));
    let is_person = bare.is_none() && !words.contains('.');
    let name = bare.unwrap_or(words);
    (!is_person && !name.is_empty() && name.split_whitespace().count() <= MAX_NAME_WORDS).then(|| name.to_owned())
}

/// Splits a text at the first such word.
fn split_at_word<'t>(text: &'t str, word: &str) -> Option<(&'t str, &'t str)> {
    let at = text.to_lowercase().find(&format!(" {word} "))?;
    Some((text.get(..at)?, text.get(at + word.len() + 2..)?))
}

/// Whether a text begins with a question word: "who", "what's".
fn opens_question(text: &str) -> bool {
    let first = text.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    is_question_word(first)
}

/// Whether a word asks for something.
pub(super) fn is_question_word(word: &str) -> bool {
    const WORDS: [&str; 9] = ["who", "whom", "whose", "what", "which", "where", "when", "why", "how"];
    WORDS.iter().any(|asking| asking.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn politeness_is_no_part_of_a_question() {
        for (said, asked) in [
            ("Hi, can you tell me how much the deposit is please?", "how much the deposit is?"),
            ("How much is the deposit? Thanks!", "How much is the deposit?"),
            ("Question: how much is the deposit?", "how much is the deposit?"),
            ("Hello! Do you know when the pool opens?", "when the pool opens?"),
            ("How much is the deposit, according to the document?", "How much is the deposit?"),
            ("Do you know my name?", "Do you know my name?"),
            ("Tell me about Mary", "Tell me about Mary"),
            ("Can you tell me if dogs are allowed?", "Can you tell me if dogs are allowed?"),
            ("So is life", "So is life"),
            ("Thanks", "Thanks"),
            ("Is it free, please?", "Is it free?"),
            ("I lost my key. What does a new one cost, please?", "I lost my key. What does a new one cost?"),
            ("Who said thanks?", "Who said thanks?"),
            ("Do you remember when I moved?", "Do you remember when I moved?"),
        ] {
            assert_eq!(core_of(said).text, asked, "{said}");
        }
    }

    #[test]
    fn a_question_names_its_document() {
        for (said, name, question) in [
            ("What does the lease say about dogs?", "lease", "dogs"),
            ("Does our staff handbook say anything about parking?", "staff handbook", "parking"),
            ("What is the rent according to the lease?", "lease", "What is the rent?"),
            ("According to my contract, how long is the notice period?", "contract", "how long is the notice period?"),
            ("Hi, how high is the rent in lease.md?", "lease.md", "how high is the rent?"),
        ] {
            let expected = NamedSource { name: name.to_owned(), question: question.to_owned() };
            assert_eq!(core_of(said).named_source, Some(expected), "{said}");
        }
        for said in ["What does Anna say about dogs?", "What did I say about dogs?", "Who lives in St. Ives?", "According to Tom, who won?"]
        {
            assert_eq!(core_of(said).named_source, None, "{said}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,60}") {
            core_of(&text);
        }
    }
}
