//! Parses one noun phrase: determiners, possessor, modifiers, head, and the name after "named".

use super::lexicon::{VerbForm, WordList, lexicon};
use super::phrases::{NounPhrase, Phrases, Possessor, is_title};
use super::tokens::{Pos, Token};

#[allow(clippy::too_many_lines)]
pub(crate) fn parse_noun_phrase(tokens: &[Token], i: usize, p: &mut Phrases) -> Option<(NounPhrase, usize)> {
    let mut np = NounPhrase {
        start: i,
        end: i + 1,
        core: i,
        head: i,
        possessor: Possessor::Unmarked,
        determiner: None,
        pronoun: false,
        opaque: false,
        title: false,
        proper_name: None,
        appositive: None,
    };
    let t = &tokens[i];
    if t.pos == Pos::Sym {
        np.opaque = true;
        return Some((np, i + 1));
    }
    if t.pos == Pos::Pron && partitive(tokens, i).is_none() {
        np.pronoun = true;
        return Some((np, i + 1));
    }
    let mut k = partitive(tokens, i).unwrap_or(i);
    let mut determined = k > i;
    // "my favorite type of music" keeps the possessor.
    if let Some(d) = (i..k).find(|&d| possessor_of(&tokens[d].norm) != Possessor::Unmarked) {
        np.determiner = Some(d);
        np.possessor = possessor_of(&tokens[d].norm);
    }
    while let Some(t) = tokens.get(k).filter(|t| t.pos == Pos::Det) {
        np.determiner = Some(k);
        if possessor_of(&t.norm) != Possessor::Unmarked {
            np.possessor = possessor_of(&t.norm);
        }
        determined = true;
        k += 1;
    }
    np.core = k;
    let mut last: Option<usize> = None;
    let mut any_adjective = false;
    while let Some(t) = tokens.get(k) {
        if t.unit > 0 {
            if last.is_some_and(|l| breaks(&tokens[l], t)) {
                break;
            }
            last = Some(k + t.unit - 1);
            k += t.unit;
            continue;
        }
        match t.pos {
            Pos::Noun | Pos::Propn => {
                if last.is_some_and(|l| breaks(&tokens[l], t)) {
                    break;
                }
                last = Some(k);
            }
            Pos::Num => {}
            Pos::Adj if last.is_none() => {
                any_adjective = true;
            }
            Pos::Adj if t.capital && last.is_some() => last = Some(k),
            // "the color green": the head is "green".
            Pos::Adj
                if last.is_some_and(|l| l + 1 == k && matches!(tokens[l].norm.as_str(), "color" | "colour"))
                    && lexicon().has(WordList::Concept, &t.norm) =>
            {
                np.core = k;
                last = Some(k);
            }
            Pos::Adv
                if last.is_none()
                    && (determined || k > np.core)
                    && tokens.get(k + 1).is_some_and(|n| n.pos == Pos::Adj || n.pos == Pos::Adv) => {}
            Pos::Verb
                if last.is_none()
                    && determined
                    && tokens.get(k + 1).is_some_and(Token::nominal)
                    && matches!(t.form, Some(VerbForm::Gerund | VerbForm::Past | VerbForm::Participle)) => {}
            // "Lord of the Rings", "University of Ghent"
            Pos::Adp if t.is("of") && last == k.checked_sub(1) && tokens[k - 1].pos == Pos::Propn && tokens[k - 1].capital => {
                let n = k + 1 + usize::from(tokens.get(k + 1).is_some_and(|n| n.is("the")));
                if !tokens.get(n).is_some_and(|n| n.pos == Pos::Propn && n.capital) {
                    break;
                }
                k = n;
                continue;
            }
            // "St. Mary's Hospital"
            Pos::Part
                if t.is("'s")
                    && last.is_some_and(|l| tokens[l].pos == Pos::Propn)
                    && tokens.get(k + 1).is_some_and(|n| n.capital && lexicon().head(&n.norm).is_some()) => {}
            Pos::Part if t.is("'s") && last.is_some() => {
                let mut inner = np.clone();
                inner.end = k;
                inner.head = last.unwrap_or(k);
                p.nouns.push(inner);
                np.possessor = Possessor::Phrase(p.nouns.len() - 1);
                np.core = k + 1;
                np.determiner = None;
                last = None;
                determined = true;
            }
            // "the kids' room"
            Pos::Punct if t.is("'") && last == k.checked_sub(1) && tokens.get(k + 1).is_some_and(Token::nominal) => break,
            _ => break,
        }
        k += 1;
    }
    let Some(head) = last else {
        if let Possessor::Phrase(n) = np.possessor {
            // "at Dave's": the possessor alone.
            let inner = p.nouns[n].clone();
            return Some((inner, np.core));
        }
        if determined && np.core > i || tokens[i].pos == Pos::Num {
            np.head = k.max(i + 1) - 1;
            np.end = k.max(i + 1);
            np.pronoun = !any_adjective && tokens[i].pos == Pos::Det;
            return Some((np.clone(), np.end));
        }
        return None;
    };
    np.head = head;
    np.end = head + 1;
    named(tokens, &mut np);
    let end = np.end;
    Some((np, end))
}

/// Whether a noun phrase ends between two adjacent nouns: "last week Sarah", "I told mum Berlin".
fn breaks(before: &Token, next: &Token) -> bool {
    let lex = lexicon();
    if matches!(next.norm.as_str(), "yesterday" | "today" | "tomorrow" | "tonight") {
        return true;
    }
    if lex.in_set("time", &before.norm) && next.pos == Pos::Propn {
        return true;
    }
    if before.pos == Pos::Noun && next.pos == Pos::Propn {
        return !is_title(&before.lemma);
    }
    // A time noun after a name starts an adverbial: "Kyoto one day", "Sarah last week".
    before.pos == Pos::Propn && next.pos == Pos::Noun && lex.in_set("time", &next.norm)
}

/// Adds the name after "named" or "called": "a lab named Trooper", "a dog called Rex".
fn named(tokens: &[Token], np: &mut NounPhrase) {
    let mut k = np.end;
    if tokens.get(k).is_some_and(|t| t.is(",")) {
        k += 1;
    }
    if !tokens.get(k).is_some_and(|t| matches!(t.norm.as_str(), "named" | "called" | "nicknamed")) {
        return;
    }
    let start = k + 1;
    let mut end = start;
    while tokens.get(end).is_some_and(|t| t.pos == Pos::Propn || (t.capital && t.pos != Pos::Punct)) {
        end += 1;
    }
    if end == start && tokens.get(start).is_some_and(Token::nominal) {
        end += 1;
    }
    if end > start {
        np.proper_name = Some((start, end));
        np.end = end;
    }
}

const PARTITIVES: &[&str] = &[
    "lot",
    "lots",
    "couple",
    "bunch",
    "few",
    "pair",
    "ton",
    "tons",
    "number",
    "kind",
    "kinds",
    "sort",
    "bit",
    "piece",
    "type",
    "types",
    "one",
    "some",
    "all",
    "most",
    "many",
    "half",
    "each",
    "both",
    "plenty",
    "loads",
    "rest",
    "variety",
    "cup",
    "glass",
    "slice",
    "set",
    "any",
    "collection",
];

/// Returns the token after a partitive: "a lot of", "one of".
fn partitive(tokens: &[Token], i: usize) -> Option<usize> {
    for skip in 0..3 {
        let t = tokens.get(i + skip)?;
        if PARTITIVES.contains(&t.norm.as_str()) && tokens.get(i + skip + 1).is_some_and(|n| n.is("of")) {
            return tokens
                .get(i + skip + 2)
                .is_some_and(|n| {
                    !matches!(n.pos, Pos::Punct | Pos::Pron) && (n.pos != Pos::Verb || tokens.get(i + skip + 3).is_some_and(Token::nominal))
                })
                .then_some(i + skip + 2);
        }
        if !matches!(t.pos, Pos::Det | Pos::Adj | Pos::Adv) {
            return None;
        }
    }
    None
}

fn possessor_of(word: &str) -> Possessor {
    match word {
        "my" | "our" => Possessor::Speaker,
        "your" => Possessor::Addressee,
        "his" | "her" | "its" | "their" | "whose" => Possessor::ThirdPerson,
        _ => Possessor::Unmarked,
    }
}
