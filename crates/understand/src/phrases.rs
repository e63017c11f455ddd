//! Defines the phrases of a sentence: noun phrases, verb groups and the words between them.

use super::cues;
use super::lexicon::{WordList, lexicon};

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

impl NounPhrase {
    /// Makes a phrase of one token.
    pub(crate) fn at(i: usize) -> Self {
        Self {
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
        }
    }
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

/// Whether a common noun can be the title of a name: "my friend Joao", "project Phoenix".
pub(crate) fn is_title(lemma: &str) -> bool {
    let lex = lexicon();
    lex.get(lemma).iter().any(|e| matches!(e.group, WordList::Person | WordList::Animal))
        || lex.head(lemma).is_some()
        || cues::is_person_noun(lemma)
}
