//! Recognises sentences that ask for something without a question mark: requests, and questions by their word order.

use super::lexicon::lexicon;
use super::tokens::{Pos, Token};

/// Whether the words ask the addressee for content or action: "Summarise the minutes", "write me a note", "could you draft a reply".
pub(super) fn is_request(words: &[&str]) -> bool {
    let words = match words {
        ["do", "me", "a", "favour" | "favor", ..] | ["kindly", _, ..] => return true,
        ["please" | "pls" | "plz" | "just" | "quick" | "now" | "and" | "also" | "then", rest @ ..] => rest,
        words => words,
    };
    match words {
        // "Forget it" takes something back; "forget that I have a dog" asks for it.
        ["forget", "it" | "me", ..] | ["forget"] => false,
        ["forget", "that" | "about" | "everything" | "all" | "what" | "anything" | "my" | "the" | "our" | "where" | "i" | "any", _, ..] => {
            true
        }
        ["delete" | "erase" | "remove" | "clear", "everything" | "all" | "my" | "what" | "the" | "any" | "that", _, ..] => words.len() <= 8,
        ["tell" | "give" | "show", "me" | "us", "about", "it" | "that" | "this", ..] => false,
        [
            "tell" | "remind" | "show" | "give" | "send" | "forward" | "find" | "make" | "write" | "bring" | "draw" | "get",
            "me" | "us",
            _,
            ..,
        ] => true,
        ["list" | "name", "all" | "every" | "everything" | "everyone" | "the" | "my" | "our" | "some" | "two" | "three", ..] => true,
        ["turn" | "put" | "make" | "rewrite" | "convert" | "reword", "this" | "these" | "it" | "my" | "that" | "the" | "a", _, ..] => {
            words.len() > 3
        }
        [first, second, ..] => lexicon().in_set("requests", first) && !matches!(*second, "up" | "by" | "down" | "out"),
        _ => false,
    }
}

/// Whether the word order is that of a question: "does he sing", "is Sheila still your GP", "how many eggs", "who sings that".
pub(super) fn is_inverted(content: &[&Token], exclaims: bool) -> bool {
    let (Some(a), Some(b)) = (content.first(), content.get(1)) else { return false };
    let is = |t: &Token, words: &[&str]| words.contains(&t.norm.as_str());
    let pronoun =
        is(b, &["you", "i", "we", "they", "he", "she", "it", "there", "anyone", "anybody", "someone", "somebody", "your", "people", "u"]);
    let auxiliary = is(
        a,
        &[
            "do", "does", "did", "is", "are", "was", "were", "can", "could", "would", "will", "should", "shall", "have", "has", "am",
            "might",
        ],
    );
    let permission = is(a, &["may", "must"]) && is(b, &["i", "we", "they", "he", "she", "my", "our"])
        // "May I introduce Ann, she lives in Rome": it tells.
        && !content.get(2).is_some_and(|t| is(t, &["introduce", "say", "add", "mention", "remind", "present"]));
    let noun = is(a, &["does", "is", "are", "did", "was", "were", "can", "could", "should", "would", "will", "has"])
        && (b.pos == Pos::Propn
            || is(b, &["the", "my", "our", "this", "that", "any", "his", "her", "their"]) && !is(a, &["did", "was", "were", "has"]));
    let mass = is(a, &["does", "do", "is", "are"]) && b.pos == Pos::Noun && content.len() > 3;
    if (permission || auxiliary && (pronoun || noun || mass)) && !exclaims {
        return true;
    }
    let rest = |k: usize| content.get(k).map_or("", |t| t.norm.as_str());
    match (a.norm.as_str(), b.norm.as_str()) {
        ("how", "many" | "much" | "long" | "far" | "often" | "old" | "to" | "do" | "does" | "is" | "are" | "can" | "come") => !exclaims,
        ("any", "idea" | "ideas" | "tips" | "tip" | "advice" | "suggestions" | "recommendations" | "chance" | "news") => true,
        ("anyone" | "anybody", _) => b.pos == Pos::Verb || b.pos == Pos::Aux || is(b, &["else", "here", "got", "know"]),
        ("who", _) => b.pos == Pos::Verb || is(b, &["the", "is", "on"]),
        ("why" | "where", "on") => rest(2) == "earth",
        ("i", "wonder") => matches!(rest(2), "if" | "whether" | "how" | "what" | "where" | "who" | "when" | "why"),
        ("wondering", "if" | "whether" | "how" | "what" | "where") => true,
        ("i", "would") => {
            rest(2) == "like"
                && rest(3) == "to"
                && rest(4) == "know"
                && matches!(rest(5), "if" | "whether" | "how" | "what" | "where" | "who")
        }
        ("what", "about" | "if") => rest(1) == "about",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::tagged;

    #[test]
    fn requests_are_recognized() {
        for (text, expected) in [
            ("summarise the minutes", true),
            ("write me a polite note", true),
            ("please translate this into Dutch", true),
            ("forget that i have a dog", true),
            ("forget it", false),
            ("turn this into a list", true),
            ("bought a bike", false),
        ] {
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(is_request(&words), expected, "{text}");
        }
    }

    #[test]
    fn word_order_of_questions_is_recognized() {
        for (text, expected) in [
            ("does paracetamol go with antihistamines", true),
            ("is Sheila still your GP", true),
            ("how many eggs are too many", true),
            ("who sings that song", true),
            ("i wonder if it rains", true),
            ("i wonder at it", false),
            ("did the dishes", false),
            ("was at the gym", false),
        ] {
            let tokens = tagged(text);
            let content: Vec<&Token> = tokens.iter().collect();
            assert_eq!(is_inverted(&content, false), expected, "{text}");
        }
    }
}
