//! Detects sentences that are not English. The rules are for English, so other sentences give only listed names.

use super::lexicon::{WordList, lexicon};
use super::mentions::{self, Named};
use super::registry::Registry;
use super::sentences::Sentence;
use super::tokens::{Pos, Token};

/// Longest sentence, in words, that one foreign word makes foreign.
const SHORT: usize = 5;

/// Whether a sentence is not English. `before` is the result for the previous sentence. It decides if this sentence has
/// no English word and at least one foreign word.
pub(crate) fn is_foreign(sentence: &Sentence, before: bool) -> bool {
    let words: Vec<&Token> = sentence.tokens.iter().filter(|t| t.text.chars().any(char::is_alphabetic)).collect();
    let letters = words.iter().flat_map(|t| t.text.chars()).filter(|c| c.is_alphabetic());
    let (latin, other) = letters.fold((0, 0), |(l, o), c| if c < '\u{250}' { (l + 1, o) } else { (l, o + 1) });
    if other > latin {
        return true;
    }
    let lex = lexicon();
    let english = words.iter().filter(|t| lex.in_set("english", &t.norm)).count();
    // "Los Angeles" is not Spanish: a function word has no capital, except as the first word.
    let foreign = words
        .iter()
        .enumerate()
        .filter(|(i, t)| (!t.capital || *i == 0 && !words.get(1).is_some_and(|n| n.capital)) && foreign_word(&t.text.to_lowercase()))
        .count();
    foreign > english && (foreign > 1 || words.len() <= SHORT && english == 0) || before && english == 0 && foreign > 0
}

fn foreign_word(word: &str) -> bool {
    let elided =
        word.split_once('\'').is_some_and(|(a, b)| matches!(a, "j" | "l" | "d" | "qu" | "c" | "n" | "s" | "m") && b.chars().count() > 2);
    let accented = word.chars().any(|c| c.is_alphabetic() && !c.is_ascii());
    elided || accented || lexicon().in_set("foreign", word)
}

/// Adds the listed names of a foreign sentence.
pub(crate) fn add_listed_names(tokens: &[Token], registry: &mut Registry) {
    let mut i = 0;
    while i < tokens.len() {
        let words: Vec<&str> =
            tokens[i..].iter().take(6).take_while(|t| !matches!(t.pos, Pos::Punct | Pos::Sym)).map(|t| t.norm.as_str()).collect();
        let n = lexicon().longest(&words, 1).unwrap_or(1);
        let phrase = words.get(..n).map(|w| w.join(" ")).unwrap_or_default();
        let listed = lexicon().get(&phrase).iter().find(|e| {
            !e.common && !e.ambiguous && matches!(e.group, WordList::Place | WordList::Tool | WordList::Organization | WordList::Event)
        });
        if let Some(e) = listed.filter(|_| tokens[i].capital) {
            let named = Named {
                name: mentions::text_of(tokens, i, i + n),
                ty: e.group.entity_type(),
                strength: 1.0,
                proper: true,
                group: Some(e.group),
                role: None,
                plural: false,
                span: mentions::span(tokens, i, i + n),
            };
            registry.add(&named, true);
        }
        i += n;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::{normalise::clean, sentences, tokens::tokenise};

    #[test]
    fn sentences_in_other_languages_are_foreign() {
        for (text, foreign) in [
            ("Ich wohne in Berlin.", true),
            ("J'habite à Lyon avec ma sœur.", true),
            ("Mi piace la pizza.", true),
            ("Eu moro em Lisboa com a minha mãe.", true),
            ("Ik hou van fietsen.", true),
            ("Tengo dos perros y un gato.", true),
            ("我喜欢吃苹果", true),
            ("Я живу в Москве.", true),
            ("I live in Los Angeles.", false),
            ("Los Angeles!", false),
            ("My favorite is crème brûlée.", false),
            ("we use slack", false),
            ("Pizza!", false),
            ("Going to La Paz with Juan de la Cruz.", false),
        ] {
            assert_eq!(is_foreign(&sentences::split(tokenise(&clean(text)))[0], false), foreign, "{text}");
        }
    }
}
