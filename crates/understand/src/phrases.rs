//! Chunks tagged tokens into noun phrases, verb groups and the words between them.

use super::appositions::join_appositions;
use super::lexicon::{VerbForm, WordList, lexicon};
use super::noun_phrases::parse_noun_phrase;
use super::steps;
use super::tokens::{Pos, Token};
use super::verb_groups::{mark_listed_infinitives, parse_verb_group};

/// The possessor of a noun phrase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Possessor {
    Unmarked,
    /// "my", "our"
    Speaker,
    /// "your"
    Addressee,
    /// "his", "her", "its", "their"
    ThirdPerson,
    /// "Dave's": an entry of [`Phrases::nouns`].
    Phrase(usize),
}

/// A noun phrase. All numbers are token indexes.
#[derive(Clone, Debug)]
pub(crate) struct NounPhrase {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// First word after determiners and possessives.
    pub(crate) core: usize,
    pub(crate) head: usize,
    pub(crate) possessor: Possessor,
    /// The last determiner.
    pub(crate) determiner: Option<usize>,
    pub(crate) pronoun: bool,
    /// Skipped by extraction: a quotation, a URL.
    pub(crate) opaque: bool,
    /// A name in quotes.
    pub(crate) title: bool,
    /// Range of the name after "named" or "called", or of an appositive name.
    pub(crate) proper_name: Option<(usize, usize)>,
    /// The appositive that describes this phrase ("Anna, my sister").
    pub(crate) appositive: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VerbKind {
    Finite,
    Infinitive,
    Gerund,
}

/// A verb with its auxiliaries, negation and adverbs.
#[derive(Clone, Debug)]
pub(crate) struct VerbGroup {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) main: usize,
    pub(crate) lemma: String,
    pub(crate) kind: VerbKind,
    pub(crate) negated: bool,
    /// The negation is "can't".
    pub(crate) cannot: bool,
    pub(crate) never: bool,
    pub(crate) no_longer: bool,
    pub(crate) almost: bool,
    /// The modal verb ("would", "will", "going to"), if any: the clause is not a fact.
    pub(crate) modal: Option<String>,
    pub(crate) used_to: bool,
    pub(crate) passive: bool,
    pub(crate) progressive: bool,
    pub(crate) past: bool,
    /// The last form of "be" or "get" in the group.
    pub(crate) be: Option<usize>,
}

impl VerbGroup {
    /// Makes an empty group at a token.
    pub(crate) fn at(i: usize) -> Self {
        Self {
            start: i,
            end: i,
            main: i,
            lemma: String::new(),
            kind: VerbKind::Finite,
            negated: false,
            cannot: false,
            never: false,
            no_longer: false,
            almost: false,
            modal: None,
            used_to: false,
            passive: false,
            progressive: false,
            past: false,
            be: None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChunkKind {
    Noun(usize),
    Verb(usize),
    Prep,
    Conj,
    Comma,
    Sub,
    /// A relative pronoun: who, which, that after a noun.
    Rel,
    Adverb,
    Adjective,
    /// Semicolon, colon, dash, bracket.
    Mark,
    Not,
    Other,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub(crate) kind: ChunkKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The phrases of one sentence.
#[derive(Debug, Default)]
pub(crate) struct Phrases {
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) nouns: Vec<NounPhrase>,
    pub(crate) verbs: Vec<VerbGroup>,
}

/// Chunks the tokens of one sentence.
pub(crate) fn chunk(tokens: &[Token]) -> Phrases {
    let mut p = Phrases::default();
    let mut i = 0;
    while i < tokens.len() {
        steps::count(1);
        let next = chunk_at(tokens, i, &mut p);
        i = next.max(i + 1);
    }
    mark_listed_infinitives(tokens, &mut p);
    join_appositions(tokens, &mut p);
    p
}

/// Adds the chunk that starts at token `i` and returns the token after it.
fn chunk_at(tokens: &[Token], i: usize, p: &mut Phrases) -> usize {
    let t = &tokens[i];
    if t.is("\"")
        && let Some(next) = parse_quotation(tokens, i, p)
    {
        return next;
    }
    let mut add = |kind, end: usize| {
        p.chunks.push(Chunk { kind, start: i, end });
        end
    };
    match t.pos {
        Pos::Punct => {
            return match t.norm.as_str() {
                "," => add(ChunkKind::Comma, i + 1),
                _ if t.norm.starts_with([';', ':', '—', '(', ')', '-', '…', '.']) => add(ChunkKind::Mark, i + 1),
                _ => add(ChunkKind::Other, i + 1),
            };
        }
        Pos::Cconj => return add(ChunkKind::Conj, i + 1),
        Pos::Intj => return add(ChunkKind::Other, i + 1),
        _ => {}
    }
    // "Not a fan of X": "I am" is omitted.
    let opens = p.chunks.iter().all(|c| matches!(c.kind, ChunkKind::Other | ChunkKind::Comma | ChunkKind::Adverb));
    if t.is("not")
        && opens
        && has_no_other_verb(&tokens[..clause_end(tokens, i)], i + 1)
        && tokens.get(i + 1).is_some_and(|n| matches!(n.pos, Pos::Det | Pos::Adj | Pos::Adv | Pos::Adp))
    {
        p.verbs.push(VerbGroup { lemma: "be".to_owned(), negated: true, be: Some(i), end: i + 1, ..VerbGroup::at(i) });
        p.chunks.push(Chunk { kind: ChunkKind::Verb(p.verbs.len() - 1), start: i, end: i + 1 });
        return i + 1;
    }
    if let Some((mut group, end)) = parse_verb_group(tokens, i) {
        // "Still loving it": "I am" is omitted here too.
        let alone = group.kind == VerbKind::Gerund && opens && has_no_other_verb(tokens, end) && lexicon().in_set("diary", &group.lemma);
        if group.kind == VerbKind::Gerund && opens && (group.start < group.main || alone) {
            group.kind = VerbKind::Finite;
            group.progressive = true;
        }
        p.verbs.push(group);
        p.chunks.push(Chunk { kind: ChunkKind::Verb(p.verbs.len() - 1), start: i, end });
        return end;
    }
    if matches!(t.norm.as_str(), "who" | "which" | "that" | "whom" | "where") && !matches!(t.pos, Pos::Det) {
        let after_noun = p.chunks.iter().rev().find(|c| c.kind != ChunkKind::Comma).is_some_and(|c| matches!(c.kind, ChunkKind::Noun(_)));
        if after_noun && t.norm != "where" {
            p.chunks.push(Chunk { kind: ChunkKind::Rel, start: i, end: i + 1 });
            return i + 1;
        }
        if t.pos == Pos::Sconj || t.norm == "where" {
            p.chunks.push(Chunk { kind: ChunkKind::Sub, start: i, end: i + 1 });
            return i + 1;
        }
    }
    if t.pos != Pos::Adp
        && let Some((np, end)) = parse_noun_phrase(tokens, i, p)
    {
        p.nouns.push(np);
        p.chunks.push(Chunk { kind: ChunkKind::Noun(p.nouns.len() - 1), start: i, end });
        return end;
    }
    let kind = match t.pos {
        _ if t.is("not") => ChunkKind::Not,
        Pos::Adp | Pos::Part => ChunkKind::Prep,
        Pos::Sconj => ChunkKind::Sub,
        Pos::Adv => ChunkKind::Adverb,
        Pos::Adj | Pos::Num => ChunkKind::Adjective,
        _ => ChunkKind::Other,
    };
    p.chunks.push(Chunk { kind, start: i, end: i + 1 });
    i + 1
}

fn clause_end(tokens: &[Token], from: usize) -> usize {
    (from..tokens.len()).find(|&k| tokens[k].is(",") || tokens[k].pos == Pos::Cconj).unwrap_or(tokens.len())
}

/// Whether no finite verb follows, so that a gerund is the verb of the clause: "Using Emacs since 1998".
fn has_no_other_verb(tokens: &[Token], from: usize) -> bool {
    !tokens[from..].iter().any(|t| t.pos == Pos::Aux || t.pos == Pos::Verb && t.form != Some(VerbForm::Gerund))
}

/// Parses a quotation. Extraction skips it, but a short one in title case is a name.
fn parse_quotation(tokens: &[Token], i: usize, p: &mut Phrases) -> Option<usize> {
    steps::count(tokens.len() - i);
    let close = (i + 1..tokens.len()).find(|&k| tokens[k].is("\""))?;
    if close == i + 1 {
        return None;
    }
    let inner = &tokens[i + 1..close];
    let words: Vec<&Token> = inner.iter().filter(|t| t.pos != Pos::Punct).collect();
    let small = |t: &&&Token| !t.capital && !matches!(t.pos, Pos::Adp | Pos::Det | Pos::Cconj | Pos::Part | Pos::Num);
    let lone_small_word = words.len() == 1 && matches!(words[0].pos, Pos::Pron | Pos::Det | Pos::Sconj | Pos::Intj);
    let title = !words.is_empty()
        && !lone_small_word
        && words.len() <= 8
        && words.iter().filter(small).count() == 0
        && !matches!(words[0].norm.as_str(), "i");
    p.nouns.push(NounPhrase {
        start: i,
        end: close + 1,
        core: i + 1,
        head: close - 1,
        possessor: Possessor::Unmarked,
        determiner: None,
        pronoun: false,
        opaque: !title,
        title,
        proper_name: None,
        appositive: None,
    });
    p.chunks.push(Chunk { kind: ChunkKind::Noun(p.nouns.len() - 1), start: i, end: close + 1 });
    Some(close + 1)
}

/// Whether a common noun can be the title of a name: "my friend Joao", "project Phoenix".
pub(crate) fn is_title(lemma: &str) -> bool {
    let lex = lexicon();
    lex.get(lemma).iter().any(|e| matches!(e.group, WordList::Person | WordList::Animal))
        || lex.head(lemma).is_some()
        || super::cues::is_person_noun(lemma)
}
