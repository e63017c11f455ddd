//! Tags parts of speech: closed classes by table, other words by the Brill tagger, then corrections by the neighbours.
//!
//! The tagger was trained on edited text. Chat has lower-case names, missing words and "like" as a verb.

use harper_brill::{Tagger, UPOS};

use super::closed_classes::closed_class;
use super::lemma;
use super::lexicon::{VerbForm, WordList, lexicon};
use super::missing_verbs::restore_missing_verb;
use super::sentences::Sentence;
use super::singular::singular;
use super::tag_conditions::{is_companion, is_name_after_role};
use super::tag_repairs::repair_tags;
use super::tokens::{Pos, Token, inside_unit};

/// Whether a lemma is a verb of the ontology, beyond the word list.
pub(crate) type ExtraVerb<'a> = &'a dyn Fn(&str) -> bool;

/// Sets part of speech, lemma and verb form of each token.
pub(crate) fn tag(sentence: &mut Sentence, extra: ExtraVerb<'_>) {
    let tokens = &mut sentence.tokens;
    tag_words(tokens);
    mark_units(tokens);
    tag_proper_nouns(tokens);
    tag_versions(tokens);
    tag_months(tokens);
    tag_given_names(tokens, extra);
    let known: Vec<Option<(String, VerbForm)>> =
        tokens.iter().map(|t| if t.pos == Pos::Punct { None } else { lemma::known_verb(&t.norm, extra) }).collect();
    repair_tags(tokens, &known);
    restore_missing_verb(tokens, &known);
    resolve_clitic_s(tokens);
    set_lemmas(tokens, extra);
}

/// Tags closed classes by table and other words by the tagger.
fn tag_words(tokens: &mut [Token]) {
    // The tagger expects "don't" as one word.
    let mut words: Vec<String> = Vec::with_capacity(tokens.len());
    let mut index = Vec::with_capacity(tokens.len());
    for t in tokens.iter() {
        if t.clitic
            && t.norm == "not"
            && t.text.to_lowercase() == "n't"
            && let Some(last) = words.last_mut()
        {
            last.push_str("n't");
        } else {
            words.push(t.norm.clone());
        }
        index.push(words.len() - 1);
    }
    let tags = harper_brill::brill_tagger().tag_sentence(&words);
    for (t, i) in tokens.iter_mut().zip(index) {
        if matches!(t.pos, Pos::Punct | Pos::Sym) {
            continue;
        }
        let tag = tags.get(i).copied().flatten();
        t.unknown = tag.is_none_or(|t| t == UPOS::PROPN);
        t.pos = closed_class(&t.norm).unwrap_or_else(|| tag.map_or_else(|| guess_pos(&t.norm), from_upos));
        if t.pos == Pos::Punct {
            t.pos = Pos::Noun;
        }
    }
}

fn from_upos(tag: UPOS) -> Pos {
    match tag {
        UPOS::ADJ => Pos::Adj,
        UPOS::ADP => Pos::Adp,
        UPOS::ADV => Pos::Adv,
        UPOS::AUX => Pos::Verb,
        UPOS::CCONJ => Pos::Cconj,
        UPOS::DET => Pos::Det,
        UPOS::INTJ => Pos::Intj,
        UPOS::NOUN => Pos::Noun,
        UPOS::NUM => Pos::Num,
        UPOS::PART => Pos::Part,
        UPOS::PRON => Pos::Pron,
        UPOS::PROPN => Pos::Propn,
        UPOS::PUNCT => Pos::Punct,
        UPOS::SCONJ => Pos::Sconj,
        UPOS::SYM => Pos::Sym,
        UPOS::VERB => Pos::Verb,
    }
}

fn guess_pos(word: &str) -> Pos {
    if word.chars().next().is_some_and(char::is_numeric) {
        Pos::Num
    } else if word.ends_with("ing") && word.len() > 5 {
        Pos::Verb
    } else if word.ends_with("ly") {
        Pos::Adv
    } else if word.ends_with("ed") && word.len() > 4 {
        Pos::Verb
    } else if word.ends_with("ful") || word.ends_with("ous") || word.ends_with("ish") {
        Pos::Adj
    } else {
        Pos::Noun
    }
}

/// Marks listed names and nouns of several words as units.
fn mark_units(tokens: &mut [Token]) {
    let lex = lexicon();
    let mut i = 0;
    while i < tokens.len() {
        if matches!(tokens[i].pos, Pos::Punct | Pos::Sym) {
            i += 1;
            continue;
        }
        let reach =
            tokens[i..].iter().take(6).take_while(|t| t.pos != Pos::Sym && !matches!(t.norm.as_str(), "," | "." | "!" | "?" | ";")).count();
        let found = {
            let words: Vec<&str> = tokens[i..i + reach].iter().map(|t| t.norm.as_str()).collect();
            lex.longest(&words, 2).map(|n| (n, words[..n].join(" ")))
        };
        // "working group", "team lead": a listed head of two words.
        if found.is_none() && reach >= 2 && lex.head(&format!("{} {}", tokens[i].norm, tokens[i + 1].norm)).is_some() {
            for t in &mut tokens[i..i + 2] {
                t.pos = Pos::Noun;
            }
            tokens[i].unit = 2;
            i += 2;
            continue;
        }
        if let Some((n, phrase)) = found {
            let named = lex.get(&phrase).iter().any(|e| !e.common) && n > 1;
            let tag_proper_nouns = tokens[i..i + n].iter().filter(|t| t.capital).count();
            // "The Office" is a name, "the office" is not: a name with an article needs its capitals.
            let article = matches!(tokens[i].norm.as_str(), "the" | "a");
            if !article || named && tag_proper_nouns >= 2 && tokens[i].capital {
                for t in &mut tokens[i..i + n] {
                    t.pos = if named { Pos::Propn } else { Pos::Noun };
                }
                tokens[i].unit = n;
                i += n;
                continue;
            }
        }
        i += 1;
    }
}

/// Tags capitalised words and listed names as proper nouns, and unlisted lower-case words as common nouns.
fn tag_proper_nouns(tokens: &mut [Token]) {
    let lex = lexicon();
    for i in 0..tokens.len() {
        if tokens[i].unit > 0 || matches!(tokens[i].pos, Pos::Punct | Pos::Sym) || (i > 0 && inside_unit(tokens, i)) {
            continue;
        }
        let first = tokens[..i].iter().all(|t| t.pos == Pos::Punct || t.is("\""));
        let t = &tokens[i];
        let entries = lex.get(&t.norm);
        let clear_name = entries.iter().any(|e| !e.common && !e.ambiguous && e.group != WordList::Given);
        let a_name = entries.iter().any(|e| !e.common);
        let is_closed = closed_class(&t.norm).is_some();
        let next_capital = tokens.get(i + 1).is_some_and(|n| n.capital && !n.is("i") && n.nominal_or_unknown());
        // "Setbacks are …": an unknown plural at the start of a sentence is a common noun.
        let generic_plural = t.norm.ends_with('s') && tokens.get(i + 1).is_some_and(|n| n.is("are") || n.is("were"));
        // "Will Smith is", "April likes": the next word decides about a name that is also a common word.
        let homonym = t.capital
            && lex.in_set("name_homonyms", &t.norm)
            && tokens.get(i + 1).is_some_and(|n| {
                n.capital && !n.is("i") && closed_class(&n.norm).is_none() && lex.get(&n.norm).iter().all(|e| !e.common)
                    || n.pos == Pos::Verb && matches!(lemma::known_verb(&n.norm, &|_| false), Some((_, VerbForm::ThirdPerson)))
            });
        // "an Italian restaurant": a demonym is an adjective before a lower-case noun.
        let demonym = t.capital
            && lex.in_set("demonyms", &t.norm)
            && tokens.get(i + 1).is_some_and(|n| !n.capital && matches!(n.pos, Pos::Noun | Pos::Adj));
        if demonym {
            tokens[i].pos = Pos::Adj;
            continue;
        }
        let new = if homonym || t.capital && !first && !is_closed && t.norm != "i" {
            Pos::Propn
        } else if t.capital && first && !is_closed {
            let plain_word =
                lemma::known_verb(&t.norm, &|_| false).is_some() || matches!(t.pos, Pos::Adv | Pos::Intj | Pos::Adj | Pos::Num);
            if entries.iter().any(|e| !e.common && !e.ambiguous)
                || (a_name && (t.unknown || t.pos == Pos::Propn))
                || (a_name && tokens.get(i + 1).is_some_and(|n| matches!(n.norm.as_str(), "and" | "is" | "has" | "'s" | "was" | ",")))
                || (t.unknown && !plain_word && !generic_plural)
                || (next_capital && !plain_word && (t.pos == Pos::Noun || a_name))
            {
                Pos::Propn
            } else {
                continue;
            }
        } else if !t.capital && clear_name && !is_closed && t.norm.len() > 1 {
            Pos::Propn
        } else if !t.capital && t.pos == Pos::Propn {
            if lex.has(WordList::Given, &t.norm) && !is_plain_word(&t.norm) { Pos::Propn } else { Pos::Noun }
        } else if is_companion(tokens, i) && !is_plain_word(&t.norm) {
            Pos::Propn
        } else {
            continue;
        };
        tokens[i].pos = new;
    }
}

/// Adds versions to names: "Python 3.8", "Node 20", but not "Rust 2 years ago".
fn tag_versions(tokens: &mut [Token]) {
    for i in 1..tokens.len() {
        let tool = tokens[i - 1].pos == Pos::Propn && lexicon().has(WordList::Tool, &tokens[i - 1].norm);
        let number = tokens[i].pos == Pos::Num && tokens[i].norm.starts_with(|c: char| c.is_ascii_digit());
        if tool && number && !tokens.get(i + 1).is_some_and(Token::nominal) {
            tokens[i].pos = Pos::Propn;
        }
    }
}

/// Tags the month in "in May" and "since march" as a noun.
fn tag_months(tokens: &mut [Token]) {
    for i in 1..tokens.len() {
        let month = matches!(tokens[i].norm.as_str(), "may" | "march");
        let ends = tokens.get(i + 1).is_none_or(|t| t.pos != Pos::Pron && t.pos != Pos::Verb);
        if month
            && ends
            && matches!(tokens[i - 1].norm.as_str(), "in" | "since" | "until" | "till" | "last" | "next" | "early" | "late" | "mid")
        {
            tokens[i].pos = if tokens[i].capital { Pos::Propn } else { Pos::Noun };
        }
    }
}

/// Tags names by the words around them: "Ikenna named her Suya", "bartek works at the smokehouse", "luka (my brother)".
fn tag_given_names(tokens: &mut [Token], extra: ExtraVerb<'_>) {
    for i in 0..tokens.len().saturating_sub(1) {
        let names = i > 0 && matches!(tokens[i - 1].norm.as_str(), "named" | "name" | "call" | "called");
        if names && tokens[i].is("her") && tokens[i + 1].pos == Pos::Propn {
            tokens[i].pos = Pos::Pron;
        } else if tokens[i].is("there") && tokens[i + 1].is("is") && is_own_noun(&tokens[..i]) {
            // "My boss there is Mihai", but not "in my garden there is a tree".
            tokens[i].pos = Pos::Adv;
        } else if i == 0 && is_verb_of_place(&tokens[0]) && tokens[1].pos == Pos::Adp {
            // "Lives in Oslo."
            tokens[0].pos = Pos::Verb;
        } else if is_name_after_role(tokens, i) {
            tokens[i].pos = Pos::Propn;
            tag_verb_after_name(&mut tokens[i + 1]);
        } else if is_unknown_word(&tokens[i], extra) && (is_described(tokens, i) || is_actor(tokens, i, extra)) {
            tokens[i].pos = Pos::Propn;
        }
    }
}

fn is_verb_of_place(t: &Token) -> bool {
    matches!(t.norm.as_str(), "lives" | "works" | "starts" | "studies" | "teaches" | "sings" | "plays") && t.pos == Pos::Noun
}

/// Whether a word in lower case is in no list.
fn is_unknown_word(t: &Token, extra: ExtraVerb<'_>) -> bool {
    let word = t.unknown && t.pos == Pos::Noun && !t.capital && t.norm.chars().count() > 3 && t.norm.chars().all(char::is_alphabetic);
    word && lexicon().get(&t.norm).is_empty() && lemma::known_verb(&t.norm, extra).is_none()
}

/// Whether a word opens a clause and does what people do.
fn is_actor(tokens: &[Token], i: usize, extra: ExtraVerb<'_>) -> bool {
    let opens = i == 0 || tokens[i - 1].is("and") || tokens[i - 1].is(",") || tokens[i - 1].pos == Pos::Intj;
    let verb = lemma::known_verb(&tokens[i + 1].norm, extra);
    let acts = matches!(verb, Some((word, VerbForm::ThirdPerson)) if word != "be" && word != "have");
    opens && acts && !tokens[i].norm.ends_with('s')
}

/// Tags the verb after a name, which the tagger takes for a plural: "rose lives".
fn tag_verb_after_name(t: &mut Token) {
    if t.pos == Pos::Noun && matches!(lemma::known_verb(&t.norm, &|_| false), Some((_, VerbForm::ThirdPerson))) {
        t.pos = Pos::Verb;
    }
}

/// Whether "(my …" follows a word.
fn is_described(tokens: &[Token], i: usize) -> bool {
    tokens[i + 1].is("(") && tokens.get(i + 2).is_some_and(|t| matches!(t.norm.as_str(), "my" | "our"))
}

/// Whether some words end with a possessive and its noun, without a preposition before them: "my boss".
fn is_own_noun(tokens: &[Token]) -> bool {
    let near = tokens.len().saturating_sub(3);
    let own = (near..tokens.len()).find(|&k| matches!(tokens[k].norm.as_str(), "my" | "our" | "his" | "her" | "their"));
    tokens.last().is_some_and(Token::nominal) && own.is_some_and(|k| k == 0 || tokens[k - 1].pos != Pos::Adp)
}

fn is_plain_word(word: &str) -> bool {
    lexicon().get(word).iter().any(|e| e.ambiguous || e.common) || lemma::known_verb(word, &|_| false).is_some()
}

impl Token {
    fn nominal_or_unknown(&self) -> bool {
        self.nominal() || self.unknown
    }
}

/// Decides whether "'s" is a possessive, "is" or "has".
fn resolve_clitic_s(tokens: &mut [Token]) {
    for i in 0..tokens.len() {
        if !tokens[i].is("'s") {
            // "its fine", "its Marcus": the apostrophe of "it's" is missing.
            if tokens[i].is("its")
                && tokens.get(i + 1).is_some_and(|t| matches!(t.pos, Pos::Adj | Pos::Det | Pos::Adv | Pos::Propn) || t.is("been"))
                && (i == 0 || !matches!(tokens[i - 1].pos, Pos::Verb | Pos::Adp | Pos::Aux))
                && !tokens.get(i + 2).is_some_and(Token::nominal)
            {
                tokens[i].pos = Pos::Pron;
                "it".clone_into(&mut tokens[i].norm);
            }
            continue;
        }
        let before = i.checked_sub(1).map(|k| (tokens[k].pos, tokens[k].norm.clone()));
        let next = tokens.get(i + 1);
        let pronoun = before
            .as_ref()
            .is_some_and(|(p, w)| matches!(p, Pos::Pron | Pos::Sconj | Pos::Adv) || matches!(w.as_str(), "that" | "this" | "here"));
        let noun_follows = next.is_some_and(|t| {
            t.nominal() && !(t.pos == Pos::Propn && before.as_ref().is_some_and(|b| b.0 != Pos::Propn))
                || t.pos == Pos::Num
                || t.pos == Pos::Adj && tokens.get(i + 2).is_some_and(Token::nominal)
        });
        if pronoun || !noun_follows {
            let participle = next.is_some_and(|t| matches!(t.norm.as_str(), "been" | "got") || t.is("had"));
            (if participle { "has" } else { "is" }).clone_into(&mut tokens[i].norm);
            tokens[i].pos = Pos::Aux;
            if let Some(t) = tokens.get_mut(i + 1)
                && t.norm.ends_with("ing")
                && t.pos == Pos::Noun
                && lemma::known_verb(&t.norm, &|_| false).is_some()
            {
                t.pos = Pos::Verb;
            }
        } else {
            tokens[i].pos = Pos::Part;
        }
    }
}

fn set_lemmas(tokens: &mut [Token], extra: ExtraVerb<'_>) {
    for t in tokens {
        match t.pos {
            Pos::Verb | Pos::Aux => {
                let (lemma, form) = lemma::verb(&t.norm, extra);
                t.lemma = lemma;
                t.form = Some(form);
            }
            Pos::Noun | Pos::Propn => t.lemma = singular(&t.norm),
            _ => t.lemma.clone_from(&t.norm),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::fixture::tagged_with;

    fn pos_of(text: &str, word: &str) -> Pos {
        tagged_with(text, &|w| w == "blorp").iter().find(|t| t.norm == word || t.text == word).unwrap().pos
    }

    #[test]
    fn verbs_and_nouns_are_distinguished() {
        for (text, word, pos) in [
            ("i love my work", "love", Pos::Verb),
            ("i love my work", "work", Pos::Noun),
            ("We like hiking.", "like", Pos::Verb),
            ("It looks like rain.", "like", Pos::Adp),
            ("Anna mentors Ben.", "mentors", Pos::Verb),
            ("Anna blorps Ben.", "blorps", Pos::Verb),
            ("Project Apollo uses PostgreSQL", "uses", Pos::Verb),
            ("I like to cook, draw, and eat food.", "draw", Pos::Verb),
            ("i switched from vim to zed", "to", Pos::Adp),
            ("John's boss left.", "'s", Pos::Part),
            ("Kat's into bouldering.", "is", Pos::Aux),
            ("my sister lives in munich", "munich", Pos::Propn),
        ] {
            assert_eq!(pos_of(text, word), pos, "{word} in {text}");
        }
    }
}
