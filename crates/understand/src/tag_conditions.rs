//! Conditions on the neighbours of a word, for the rules in `tag_repairs`.

use super::closed_classes::closed_class;
use super::lemma;
use super::lexicon::{VerbForm, WordList, lexicon};
use super::namesakes::precedes_names;
use super::tokens::{Pos, Token};

/// Whether a base form ends a compound noun: after a determiner and a singular noun, without an object.
pub(super) fn compound(tokens: &[Token], i: usize) -> bool {
    let closed_off = tokens.get(i + 1).is_none_or(|n| matches!(n.pos, Pos::Punct | Pos::Cconj | Pos::Adp));
    let singular = i >= 2 && tokens[i - 1].pos == Pos::Noun && !tokens[i - 1].norm.ends_with('s') && tokens[i - 2].pos == Pos::Det;
    let driven = tokens[..i.saturating_sub(1)].iter().any(|t| {
        is_modal(&t.norm)
            || matches!(
                t.norm.as_str(),
                "make"
                    | "makes"
                    | "made"
                    | "let"
                    | "help"
                    | "helped"
                    | "see"
                    | "saw"
                    | "watch"
                    | "watched"
                    | "hear"
                    | "heard"
                    | "have"
                    | "had"
            )
    });
    closed_off && singular && !driven
}

/// Whether an adjective is where only a noun can be: after a number or a verb of having or liking, with no noun after it.
pub(super) fn noun_slot(tokens: &[Token], i: usize, verbish: Option<VerbForm>) -> bool {
    let Some(b) = i.checked_sub(1).map(|b| &tokens[b]) else { return false };
    let alone = tokens.get(i + 1).is_none_or(|n| matches!(n.pos, Pos::Punct | Pos::Cconj | Pos::Adp | Pos::Sconj | Pos::Intj));
    let listed = lexicon().get(&tokens[i].norm).iter().any(|e| {
        e.common
            && matches!(
                e.group,
                WordList::Animal | WordList::Object | WordList::Food | WordList::Activity | WordList::Concept | WordList::Person
            )
    });
    let colour = lexicon().in_set("plain_adjectives", &tokens[i].norm);
    let transitive =
        b.pos == Pos::Verb && lemma::known_verb(&b.norm, &|_| false).is_some_and(|(lemma, _)| lexicon().in_set("takes_noun", &lemma));
    let listed_concept = transitive && lexicon().has(WordList::Concept, &tokens[i].norm);
    let of_colour = matches!(b.norm.as_str(), "color" | "colour") && lexicon().has(WordList::Concept, &tokens[i].norm);
    if alone && (listed_concept || of_colour) {
        return true;
    }
    // "Farah from legal"
    let department = lexicon().head(&tokens[i].norm) == Some(recall_domain::EntityType::Organization);
    if alone && department && matches!(b.norm.as_str(), "from" | "in" | "with") {
        return true;
    }
    alone
        && !colour
        && verbish.is_none()
        && (b.pos == Pos::Num || transitive || listed && matches!(b.pos, Pos::Det | Pos::Cconj | Pos::Adp | Pos::Adj))
}

pub(super) fn names_colour(tokens: &[Token]) -> bool {
    tokens.iter().any(|t| matches!(t.norm.as_str(), "color" | "colour" | "colors" | "colours"))
}

pub(super) fn takes_object(tokens: &[Token], i: usize) -> bool {
    let Some(next) = tokens.get(i + 1) else { return false };
    match next.pos {
        Pos::Det => !matches!(next.norm.as_str(), "this" | "that"),
        Pos::Adj => tokens.get(i + 2).is_some_and(Token::nominal),
        _ => false,
    }
}

pub(super) fn object_follows(tokens: &[Token], i: usize) -> bool {
    tokens.get(i + 1).is_some_and(|n| matches!(n.pos, Pos::Det | Pos::Propn | Pos::Adp | Pos::Part | Pos::Pron | Pos::Sym) || n.is("to"))
        && !tokens.get(i + 1).is_some_and(|n| n.is("'s") || matches!(n.norm.as_str(), "i" | "we" | "he" | "she" | "they"))
}

/// Returns the word before `i`, skipping adverbs and "not".
pub(super) fn previous_content(tokens: &[Token], i: usize) -> Option<usize> {
    (0..i).rev().take(4).find(|&k| tokens[k].pos != Pos::Adv && !tokens[k].is("not"))
}

pub(super) fn subject_pronoun(t: &Token) -> bool {
    matches!(t.norm.as_str(), "i" | "we" | "you" | "they" | "he" | "she" | "it" | "who")
}

pub(super) fn agrees(pronoun: &str, form: VerbForm) -> bool {
    match form {
        VerbForm::Base => matches!(pronoun, "i" | "we" | "you" | "they" | "who"),
        VerbForm::ThirdPerson => matches!(pronoun, "he" | "she" | "it" | "who"),
        VerbForm::Past => true,
        VerbForm::Participle | VerbForm::Gerund => false,
    }
}

pub(super) fn is_modal(word: &str) -> bool {
    matches!(word, "will" | "would" | "can" | "could" | "shall" | "should" | "may" | "might" | "must" | "do" | "does" | "did")
}

/// Whether a determiner, a possessive or an adjective after one directly precedes `i`.
pub(super) fn determined(tokens: &[Token], i: usize) -> bool {
    let Some(b) = i.checked_sub(1) else { return false };
    match tokens[b].pos {
        Pos::Det => true,
        Pos::Adj | Pos::Noun => (b.saturating_sub(2)..b).rev().any(|k| tokens[k].pos == Pos::Det) && tokens[b].pos == Pos::Adj,
        _ => tokens[b].is("'s") && i >= 2 && tokens[i - 2].pos != Pos::Pron && !tokens[i - 2].is("there"),
    }
}

pub(super) fn like_is_verb(tokens: &[Token], before: Option<usize>) -> bool {
    let Some(b) = before else { return false };
    let t = &tokens[b];
    subject_pronoun(t)
        || is_modal(&t.norm)
        || t.is("to") && tokens[b].pos == Pos::Part
        || t.is("to")
        || t.pos == Pos::Cconj && tokens[..b].iter().any(|t| t.is("like") || t.pos == Pos::Verb)
        || (t.nominal() && !tokens[..=b].iter().any(|t| matches!(t.pos, Pos::Verb | Pos::Aux)))
}

/// Whether no finite clause follows: "since 2019", "before lunch".
pub(super) fn clause_free(tokens: &[Token], i: usize) -> bool {
    let rest = &tokens[i + 1..];
    let end = rest.iter().position(|t| t.pos == Pos::Punct || t.pos == Pos::Cconj).unwrap_or(rest.len()).min(5);
    !rest[..end].iter().enumerate().any(|(k, t)| {
        t.pos == Pos::Aux
            || (k > 0 && subject_pronoun(&rest[k - 1]) && t.pos != Pos::Punct)
            || subject_pronoun(t)
            || (k > 0 && t.pos == Pos::Verb)
    })
}

/// Whether an ambiguous tool name is where a tool is likely: after "use", or after the preposition of a switch.
pub(super) fn tool_slot(tokens: &[Token], i: usize) -> bool {
    let Some(before) = i.checked_sub(1).map(|b| &tokens[b]) else { return false };
    let listed = lexicon().get(&tokens[i].norm).iter().any(|e| e.group == WordList::Tool && e.ambiguous);
    let free = tokens.get(i + 1).is_none_or(|n| !n.nominal());
    let using = matches!(before.norm.as_str(), "use" | "using" | "used" | "uses");
    let switched = matches!(before.norm.as_str(), "to" | "from")
        && tokens[..i].iter().any(|t| t.norm.starts_with("switch") || t.norm.starts_with("migrat"));
    listed && free && (using || switched)
}

pub(super) fn listed_infinitive(tokens: &[Token], i: usize, b: usize) -> bool {
    if !(tokens[b].pos == Pos::Cconj || tokens[b].is(",")) || matches!(tokens[i].pos, Pos::Adj | Pos::Adp) {
        return false;
    }
    let from = i.saturating_sub(14);
    let governed = (from + 1..i).any(|k| tokens[k].pos == Pos::Verb && (tokens[k - 1].is("to") && tokens[k - 1].pos == Pos::Part));
    let broken = tokens[from..i].iter().any(|t| matches!(t.norm.as_str(), ";" | "." | "—"));
    governed && !broken && !lexicon().has(WordList::Activity, &tokens[i].norm) && !lexicon().has(WordList::Food, &tokens[i].norm)
}

/// Whether a given name in lower case that is also a word stands between a role and a verb: "my niece rose is 4", but not "my niece rose early".
pub(super) fn is_name_after_role(tokens: &[Token], i: usize) -> bool {
    let is_role = |t: &Token| t.pos == Pos::Noun && precedes_names(&t.norm);
    let is_own = |t: &Token| t.pos == Pos::Det && !matches!(t.norm.as_str(), "a" | "an" | "the") || t.is("'s");
    let after_role = i > 1 && is_role(&tokens[i - 1]) && (is_own(&tokens[i - 2]) || i > 2 && is_own(&tokens[i - 3]));
    let t = &tokens[i];
    let is_name = after_role && !t.capital && lexicon().has(WordList::Given, &t.norm) && closed_class(&t.norm).is_none();
    is_name && is_finite(&tokens[i + 1])
}

/// Whether a word is a verb that a name in the singular can have: "is", "has", "lives", "moved".
fn is_finite(t: &Token) -> bool {
    let of_name = ["is", "was", "has", "had", "'s", "does", "did", "will", "can", "isn't", "wasn't"];
    let form = lemma::known_verb(&t.norm, &|_| false).map(|(_, form)| form);
    of_name.contains(&t.norm.as_str()) || form == Some(VerbForm::ThirdPerson) || form == Some(VerbForm::Past) && t.pos == Pos::Verb
}

/// Whether a given name in lower case follows "with", or another name of a list: "with raj and wei".
pub(super) fn is_companion(tokens: &[Token], i: usize) -> bool {
    let is_given = |t: &Token| !t.capital && lexicon().has(WordList::Given, &t.norm);
    let listed = i > 1 && (tokens[i - 1].is("and") || tokens[i - 1].is(",")) && tokens[i - 2].pos == Pos::Propn && is_given(&tokens[i - 2]);
    let ends = tokens.get(i + 1).is_none_or(|n| !n.nominal());
    i > 0 && tokens[i].pos == Pos::Noun && is_given(&tokens[i]) && ends && (tokens[i - 1].is("with") || listed)
}
