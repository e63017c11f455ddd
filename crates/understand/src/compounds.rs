//! Joins words for kin that are written apart: "mother in law", "ex wife", "great aunt".

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{normalise::clean, tokens::tokenise};

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
