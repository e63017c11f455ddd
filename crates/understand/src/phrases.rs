//! Tagged words to phrases: noun phrases, verb groups, and the small words between them.

use super::appositions::appositions;
use super::lexicon::{Group, VerbForm, lexicon};
use super::noun_phrases::noun_phrase;
use super::steps;
use super::tokens::{Pos, Token};
use super::verb_groups::{listed_infinitives, verb_group};

/// To whom a noun phrase belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    Nobody,
    /// "my", "our"
    Speaker,
    /// "your"
    Addressee,
    /// "his", "her", "its", "their"
    Third,
    /// "Dave's": an entry of [`Phrases::nouns`].
    Phrase(usize),
}

/// A noun phrase. Indexes are of tokens.
#[derive(Clone, Debug)]
pub(crate) struct NounPhrase {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// First word after determiners and possessives.
    pub(crate) core: usize,
    pub(crate) head: usize,
    pub(crate) owner: Owner,
    /// The determiner, if one stands there.
    pub(crate) det: Option<usize>,
    pub(crate) pronoun: bool,
    /// Not to be mined: a quotation, a URL.
    pub(crate) opaque: bool,
    /// A name in quotes.
    pub(crate) title: bool,
    /// The name after "named", "called", or in apposition.
    pub(crate) given: Option<(usize, usize)>,
    /// A phrase in apposition that describes this one ("Anna, my sister").
    pub(crate) apposition: Option<usize>,
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
    /// "would", "will", "going to": what is said is not (yet) so.
    pub(crate) modal: Option<String>,
    pub(crate) used_to: bool,
    pub(crate) passive: bool,
    pub(crate) progressive: bool,
    pub(crate) past: bool,
    /// The last form of "be" or "get" in it.
    pub(crate) be: Option<usize>,
}

impl VerbGroup {
    /// An empty group at a token.
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
    /// who, which, that after a noun.
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

pub(crate) fn chunk(tokens: &[Token]) -> Phrases {
    let mut p = Phrases::default();
    let mut i = 0;
    while i < tokens.len() {
        steps::count(1);
        let next = step(tokens, i, &mut p);
        i = next.max(i + 1);
    }
    listed_infinitives(tokens, &mut p);
    appositions(tokens, &mut p);
    p
}

fn step(tokens: &[Token], i: usize, p: &mut Phrases) -> usize {
    let t = &tokens[i];
    if t.is("\"")
        && let Some(next) = quotation(tokens, i, p)
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
    // "Not a fan of X": "I am" is left out.
    let opens = p.chunks.iter().all(|c| matches!(c.kind, ChunkKind::Other | ChunkKind::Comma | ChunkKind::Adverb));
    if t.is("not")
        && opens
        && only_verb(&tokens[..clause_end(tokens, i)], i + 1)
        && tokens.get(i + 1).is_some_and(|n| matches!(n.pos, Pos::Det | Pos::Adj | Pos::Adv | Pos::Adp))
    {
        p.verbs.push(VerbGroup { lemma: "be".to_owned(), negated: true, be: Some(i), end: i + 1, ..VerbGroup::at(i) });
        p.chunks.push(Chunk { kind: ChunkKind::Verb(p.verbs.len() - 1), start: i, end: i + 1 });
        return i + 1;
    }
    if let Some((mut group, end)) = verb_group(tokens, i) {
        // "Still loving it": so too.
        let alone = group.kind == VerbKind::Gerund && opens && only_verb(tokens, end) && lexicon().in_set("diary", &group.lemma);
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
        && let Some((np, end)) = noun_phrase(tokens, i, p)
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

/// "Using Emacs since 1998": no other verb makes it a subject.
fn only_verb(tokens: &[Token], from: usize) -> bool {
    !tokens[from..].iter().any(|t| t.pos == Pos::Aux || t.pos == Pos::Verb && t.form != Some(VerbForm::Gerund))
}

/// A quotation is not mined; a short one in title case is a name.
fn quotation(tokens: &[Token], i: usize, p: &mut Phrases) -> Option<usize> {
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
        owner: Owner::Nobody,
        det: None,
        pronoun: false,
        opaque: !title,
        title,
        given: None,
        apposition: None,
    });
    p.chunks.push(Chunk { kind: ChunkKind::Noun(p.nouns.len() - 1), start: i, end: close + 1 });
    Some(close + 1)
}

/// Whether a common noun may stand before a name and say what it is: "my friend Joao", "project Phoenix".
pub(crate) fn is_title(lemma: &str) -> bool {
    let lex = lexicon();
    lex.get(lemma).iter().any(|e| matches!(e.group, Group::Person | Group::Animal))
        || lex.head(lemma).is_some()
        || super::cues::is_person_noun(lemma)
}
