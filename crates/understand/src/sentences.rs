//! Splits tokens into sentences.

use super::tokens::{Pos, Token};

/// Longest sentence, in tokens. Text without punctuation is cut here, so that the work stays linear in its length.
const MAX_TOKENS: usize = 120;

#[derive(Debug)]
pub(crate) struct Sentence {
    pub(crate) tokens: Vec<Token>,
    /// Ends with a question mark.
    pub(crate) question_mark: bool,
    /// Begins with "remember that" or the like.
    pub(crate) to_remember: bool,
}

pub(crate) fn split(tokens: Vec<Token>) -> Vec<Sentence> {
    let mut out = Vec::new();
    let mut current: Vec<Token> = Vec::new();
    let mut iter = tokens.into_iter().peekable();
    while let Some(token) = iter.next() {
        let next_capital = iter.peek().is_none_or(|t| t.capital);
        let next_space = iter.peek().is_none_or(|t| t.space_before || t.pos == Pos::Break);
        let ends = match token.pos {
            Pos::Break => {
                next_capital
                    || token.norm == "\n" && current.last().is_some_and(|t| t.pos == Pos::Punct)
                    || token.norm == "\n" && current.len() > 3
            }
            Pos::Punct if token.norm.starts_with(['!', '?']) => next_space || iter.peek().is_some_and(|t| t.pos == Pos::Punct),
            Pos::Punct if token.norm == "." => next_space || next_capital,
            Pos::Punct if token.norm.starts_with("..") || token.norm == "…" => next_capital || iter.peek().is_some_and(|t| t.is("i")),
            _ => false,
        };
        let question = token.pos == Pos::Punct && token.norm.contains('?');
        let quote_follows = iter.peek().is_some_and(|t| (t.is("\"") || t.is(")")) && !t.space_before);
        if token.pos != Pos::Break {
            current.push(token);
        }
        if ends
            && quote_follows
            && let Some(t) = iter.next()
        {
            current.push(t);
        }
        if ends || current.len() >= MAX_TOKENS {
            finish(&mut current, question, &mut out);
        }
    }
    finish(&mut current, false, &mut out);
    out
}

fn finish(current: &mut Vec<Token>, question: bool, out: &mut Vec<Sentence>) {
    let mut tokens = std::mem::take(current);
    // "I live in Leeds, where do you live?": a statement and then a question.
    if let Some(at) = question_after(&tokens, question) {
        let asked = tokens.split_off(at);
        close(tokens, false, out);
        close(asked, true, out);
    } else if let Some(at) = statement_after(&tokens) {
        let told = tokens.split_off(at);
        close(tokens, true, out);
        close(told, false, out);
    } else {
        close(std::mem::take(&mut tokens), question, out);
    }
}

/// Finds a question to the addressee that is joined to a statement, and returns its first token.
fn question_after(tokens: &[Token], question: bool) -> Option<usize> {
    let is = |k: usize, words: &[&str]| tokens.get(k).is_some_and(|t| words.contains(&t.norm.as_str()));
    let word = |k: usize| tokens.get(k).is_some_and(|t| t.pos != Pos::Punct);
    (2..tokens.len()).find(|&i| {
        let comma = is(i - 1, &[",", ";", "—", "–", "-", ":", "..", "...", ")"]);
        // After these no relative clause begins.
        let stops = |k: usize| is(k, &[";", "—", "–", "-", "so", "and", "but", "..", "...", ")"]);
        let joined = comma || is(i - 1, &["and", "but", "so"]);
        if !joined || !word(0) || tokens[..i - 1].iter().filter(|t| t.pos != Pos::Punct).nth(1).is_none() {
            return false;
        }
        let aux = |k: usize| {
            is(k, &["do", "are", "have", "did", "can", "could", "would", "will", "is", "was", "were", "does", "should", "shall", "has"])
        };
        let you = |k: usize| is(k, &["you", "your", "yours", "anyone", "anybody"]);
        let anybody = |k: usize| is(k, &["i", "we", "he", "she", "it", "they", "that", "this", "there", "someone", "somebody"]);
        let wh = |k: usize| is(k, &["what", "where", "how", "who", "when", "which", "why", "whose", "whom", "what's", "where's", "who's"]);
        // "… in June, is that too early?", "…, how do I reset it?"
        let marked =
            question && (aux(i) && (anybody(i + 1) || you(i + 1)) || wh(i) && (stops(i - 1) || !is(i, &["which", "who", "where", "when"])));
        let asks = marked
            || aux(i) && you(i + 1)
            || is(i, &["what", "where", "how", "who", "when", "which", "why"]) && (aux(i + 1) || is(i + 1, &["'s", "about"])) && you(i + 2)
            || is(i, &["hbu", "wbu"])
            || is(i, &["how", "what"]) && is(i + 1, &["kind", "sort", "type", "many", "much", "long", "old", "about"]) && question
            || you(i) && question && !word(i + 1) && i + 2 >= tokens.len();
        // Without a question mark, a comma and the word order of a question are required.
        asks && (question || comma)
    })
}

/// Finds a statement that is joined to a question, and returns its first token: "What can I cook for Ann, she's vegan?"
fn statement_after(tokens: &[Token]) -> Option<usize> {
    let is = |k: usize, words: &[&str]| tokens.get(k).is_some_and(|t| words.contains(&t.norm.as_str()));
    let asks = is(0, &["what", "where", "how", "who", "when", "which", "why", "should", "can", "could", "do", "does", "is", "are"]);
    let tells = |i: usize| {
        is(i, &["i", "we", "he", "she", "they"]) && is(i + 1, &["am", "'m", "is", "'s", "are", "'re", "have", "'ve", "has"])
            // "Should I say, I'm vegan?"
            && is(i - 1, &[","]) && !is(i - 2, &["say", "think", "know", "mean", "tell", "believe", "me", "write"])
    };
    (4..tokens.len()).find(|&i| asks && tells(i))
}

fn close(mut tokens: Vec<Token>, question: bool, out: &mut Vec<Sentence>) {
    if tokens.iter().all(|t| t.pos == Pos::Punct) {
        if question && let Some(last) = out.last_mut() {
            last.question_mark = true;
        }
        return;
    }
    // In a sentence of capitals, capitals do not mark names.
    let words: Vec<&Token> = tokens.iter().filter(|t| t.text.chars().any(char::is_alphabetic) && t.text.chars().count() > 1).collect();
    let shouted = words.iter().filter(|t| !t.text.chars().any(char::is_lowercase)).count();
    if words.len() >= 3 && shouted * 10 > words.len() * 7 {
        for t in &mut tokens {
            t.capital = false;
        }
    }
    out.push(Sentence { tokens, question_mark: question, to_remember: false });
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::{normalise::clean, tokens::tokenise};

    fn question_marks(s: &str) -> Vec<bool> {
        split(tokenise(&clean(s))).iter().map(|s| s.question_mark).collect()
    }

    #[test]
    fn sentence_ends_are_found() {
        assert_eq!(question_marks("I like it. Do you? Yes!"), [false, true, false]);
        assert_eq!(question_marks("Dr. Smith uses Node.js daily."), [false]);
        assert_eq!(question_marks("so cool 😀 I love it"), [false, false]);
        assert_eq!(question_marks("Some words here\n- Two things\n- Three"), [false, false, false]);
        assert_eq!(question_marks("well... maybe not"), [false]);
        assert_eq!(question_marks("..."), Vec::<bool>::new());
    }

    #[test]
    fn statements_after_questions_are_split() {
        assert_eq!(question_marks("What should I cook for my wife, she's vegan"), [true, false]);
        assert_eq!(question_marks("Can we eat there, I'm coeliac?"), [true, false]);
        assert_eq!(question_marks("Should I say, I'm vegan?"), [true]);
        assert_eq!(question_marks("What is that, a lemon?"), [true]);
    }

    #[test]
    fn text_without_punctuation_is_cut() {
        let sentences = split(tokenise(&clean(&"word ".repeat(5000))));
        assert!(sentences.len() > 10 && sentences.iter().all(|s| s.tokens.len() <= MAX_TOKENS + 1));
    }
}
