//! Joins words for kin that are written apart ("mother in law", "ex wife"), and shortens identifications in parentheses.

use super::tokens::{Pos, Token};

const IN_LAW: &[&str] = &["mother", "father", "sister", "brother", "son", "daughter", "parents", "sisters", "brothers"];
const AFTER_EX: &[&str] = &[
    "wife",
    "husband",
    "boyfriend",
    "girlfriend",
    "partner",
    "boss",
    "manager",
    "colleague",
    "coworker",
    "flatmate",
    "roommate",
    "fiancé",
    "fiancée",
    "fiance",
    "fiancee",
    "gf",
    "bf",
];
const AFTER_GREAT: &[&str] = &["aunt", "uncle", "auntie", "grandmother", "grandfather", "grandma", "grandpa", "gran", "nephew", "niece"];

/// Joins the words of each such compound into one token. It keeps the spelling and gets the hyphens of the listed word.
pub(super) fn join_compounds(tokens: &mut Vec<Token>) {
    let mut i = 0;
    while i < tokens.len() {
        let word = |k: usize| tokens.get(i + k).map_or("", |t| t.norm.as_str());
        let words = match word(0) {
            "ex" if AFTER_EX.contains(&word(1)) => 2,
            "great" if AFTER_GREAT.contains(&word(1)) => 2,
            w if IN_LAW.contains(&w) && word(1) == "in" && matches!(word(2), "law" | "laws") => 3,
            _ => 1,
        };
        if words > 1 {
            let part: Vec<Token> = tokens.drain(i + 1..i + words).collect();
            let first = &mut tokens[i];
            for t in part {
                first.text = format!("{} {}", first.text, t.text);
                first.norm = format!("{}-{}", first.norm, t.norm);
                first.end = t.end;
            }
            first.pos = Pos::Noun;
        }
        i += 1;
    }
}

/// Most words of an identification in parentheses.
const MAX_IDENTIFICATION: usize = 5;

/// Writes identifications in parentheses with commas: "Luca (that's my brother) sings" becomes "Luca, my brother, sings".
pub(super) fn shorten_identifications(tokens: &mut Vec<Token>) {
    let mut i = 0;
    while i < tokens.len() {
        let word = |k: usize| tokens.get(i + k).map_or("", |t| t.norm.as_str());
        let words = match (word(1), word(2)) {
            _ if word(0) != "(" => 0,
            ("that" | "this" | "he" | "she", "is" | "'s" | "was") => 2,
            ("thats" | "being" | "aka", _) => 1,
            _ => 0,
        };
        if word(0) == "(" && matches!(word(words + 1), "my" | "our" | "the" | "his" | "her") {
            tokens.drain(i + 1..=i + words);
            let close = (i + 2..tokens.len().min(i + 2 + MAX_IDENTIFICATION)).find(|&k| tokens[k].is(")"));
            if let Some(close) = close.filter(|_| i > 0 && tokens[i - 1].capital) {
                tokens[i].norm = ",".to_owned();
                tokens[close].norm = ",".to_owned();
            }
        }
        i += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{normalise::clean, tokens::tokenise};

    #[test]
    fn identifications_in_parentheses_are_shortened() {
        for (text, expected) in [
            ("Luca (that's my brother) sings", "luca|,|my|brother|,|sings"),
            ("Luca (being my brother) sings", "luca|,|my|brother|,|sings"),
            ("It rained (my guess) all day", "it|rained|(|my|guess|)|all|day"),
            ("Luca (that's right) sings", "luca|(|that|'s|right|)|sings"),
        ] {
            let mut tokens = tokenise(&clean(text));
            shorten_identifications(&mut tokens);
            assert_eq!(tokens.iter().map(|t| t.norm.as_str()).collect::<Vec<_>>().join("|"), expected);
        }
    }

    #[test]
    fn kin_written_apart_are_one_word() {
        for (text, expected) in [
            ("my mother in law sings", "my|mother-in-law|sings"),
            ("my ex wife sings", "my|ex-wife|sings"),
            ("a great aunt", "a|great-aunt"),
            ("a great day for the law", "a|great|day|for|the|law"),
        ] {
            let mut tokens = tokenise(&clean(text));
            join_compounds(&mut tokens);
            assert_eq!(tokens.iter().map(|t| t.norm.as_str()).collect::<Vec<_>>().join("|"), expected);
        }
    }
}
