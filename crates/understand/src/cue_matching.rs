//! Matches the words of a cue in a clause and finds where the object begins.

use recall_domain::EntityType;

use super::clauses::Clause;
use super::cues::{Cue, Rel};
use super::lexicon::{WordList, lexicon};
use super::mentions;
use super::objects::Object;
use super::phrases::{ChunkKind, Possessor, VerbGroup};
use super::reader::Reader;
use super::tokens::Pos;

/// The match of a cue in a clause.
#[derive(Clone, Copy)]
pub(crate) struct CueMatch {
    /// The token after the words of the cue.
    pub(crate) next: usize,
    /// A factor for the confidence.
    pub(crate) factor: f64,
    /// The object, if it is between the words.
    pub(crate) object: Option<Object>,
}

/// What a cue is matched with.
struct CueSearch<'a> {
    cue: &'a Cue,
    g: &'a VerbGroup,
    clause: &'a Clause,
    /// One past the last token of the clause.
    limit: usize,
}

impl Reader<'_> {
    /// Matches the words of a cue after its verb, which is at the token `anchor`.
    pub(crate) fn match_cue(&self, cue: &Cue, anchor: usize, g: &VerbGroup, clause: &Clause, limit: usize) -> Option<CueMatch> {
        if cue.rest.is_empty() {
            return (anchor == g.main).then_some(CueMatch { next: g.end, factor: 1.0, object: None });
        }
        let search = CueSearch { cue, g, clause, limit };
        let mut found = CueMatch { next: anchor + 1, factor: 1.0, object: None };
        for (n, word) in cue.rest.iter().enumerate() {
            found = match word.as_str() {
                "*" | "_" => self.match_gap(word == "*", found)?,
                _ => self.match_word(&search, word, n + 1 == cue.rest.len(), found)?,
            };
        }
        Some(found)
    }

    /// Matches the noun phrase in a gap of the cue. The gap "*" holds the object.
    fn match_gap(&self, is_object: bool, found: CueMatch) -> Option<CueMatch> {
        let chunk = self.phrases.chunks[self.chunk_at(found.next)?];
        let ChunkKind::Noun(np) = chunk.kind else { return None };
        let object = if is_object { Some((self.referents[np]?, chunk.end)) } else { found.object };
        Some(CueMatch { next: chunk.end, object, ..found })
    }

    /// Matches one word of the cue, after the words that may stand before it.
    fn match_word(&self, search: &CueSearch<'_>, word: &str, is_last: bool, mut found: CueMatch) -> Option<CueMatch> {
        let start = found.next;
        let mut jumps = 0;
        while found.next < search.limit {
            let t = &self.tokens[found.next];
            if t.norm == word || t.lemma == word {
                return Some(CueMatch { next: found.next + 1, ..found });
            }
            // "works there": the pronoun stands for the preposition and its object.
            if is_last && t.is("there") && matches!(word, "in" | "at" | "to" | "for") && !search.cue.weak {
                let place = self.place_meant(&self.cues.relations[search.cue.relation])?;
                return Some(CueMatch { next: found.next + 1, factor: found.factor * 0.9, object: Some((place, found.next + 1)) });
            }
            if matches!(t.pos, Pos::Adv | Pos::Det | Pos::Adj | Pos::Num) && found.next < start + 5 || t.is("not") {
                found.next += 1;
                continue;
            }
            let is_from = search.g.lemma == "be" && word == "from";
            // The comma of "I'm Fiona, from Glasgow"
            if is_from && is_last && t.is(",") && self.tokens.get(found.next + 1).is_some_and(|t| t.is(word)) {
                found.next += 1;
                continue;
            }
            let chunk = self.chunk_at(found.next)?;
            if is_last && let Some(object) = self.object_before_particle(chunk, word) {
                return Some(CueMatch { next: object.1, factor: 1.0, object: Some(object) });
            }
            if !preposition(word) || jumps == 2 || chunk >= search.clause.end {
                return None;
            }
            let (next, factor) = self.jump_noun(search, word, chunk).or_else(|| if is_from { None } else { self.jump_adjunct(chunk) })?;
            found = CueMatch { next, factor: found.factor * factor, ..found };
            jumps += 1;
        }
        None
    }

    /// Returns the object between a verb and its particle: "put the bike away", "gave it up".
    fn object_before_particle(&self, chunk: usize, word: &str) -> Option<Object> {
        let chunk = self.phrases.chunks[chunk];
        let ChunkKind::Noun(np) = chunk.kind else { return None };
        let particle = matches!(word, "away" | "up" | "off" | "out" | "down" | "back" | "over" | "home");
        // "got it off a man": a preposition.
        let governs = self.tokens.get(chunk.end + 1).is_some_and(|t| t.pos == Pos::Det);
        let follows = particle && self.tokens.get(chunk.end).is_some_and(|t| t.is(word)) && !governs;
        Some((self.referents[np].filter(|_| follows)?, chunk.end + 1))
    }

    /// Jumps over a noun before a preposition: "work as a nurse at", "spent four years at".
    fn jump_noun(&self, search: &CueSearch<'_>, word: &str, chunk: usize) -> Option<(usize, f64)> {
        let chunk = self.phrases.chunks[chunk];
        let ChunkKind::Noun(np) = chunk.kind else { return None };
        let rel = &self.cues.relations[search.cue.relation];
        // "I do my mockups in Figma": only if the object certainly has the right type.
        let across = || {
            let ty = rel.object_types.first().filter(|_| !search.cue.weak);
            // "I'm Fiona, from Glasgow"
            let comma = usize::from(search.g.lemma == "be" && word == "from" && self.tokens.get(chunk.end).is_some_and(|t| t.is(",")));
            ty.is_some_and(|&ty| self.is_followed_by_type(chunk.end + comma, word, ty, search.limit))
        };
        (self.is_skippable(np, rel) || search.g.lemma == "spend" || across()).then_some((chunk.end, 0.95))
    }

    /// Jumps over another preposition with its noun: "live with my wife in", "grew up on a farm in". In "it's with the people from", "from" is
    /// about the people.
    fn jump_adjunct(&self, chunk: usize) -> Option<(usize, f64)> {
        let (prep, noun) = (self.phrases.chunks[chunk], self.phrases.chunks.get(chunk + 1)?);
        let (ChunkKind::Prep, ChunkKind::Noun(np)) = (prep.kind, noun.kind) else { return None };
        let word = &self.tokens[prep.start];
        let of_cues = matches!(word.norm.as_str(), "to" | "from" | "in" | "at" | "on" | "for");
        let on_farm = || word.is("on") && lexicon().in_set("generic_places", &self.tokens[self.phrases.nouns[np].head].norm);
        (!of_cues || on_farm()).then_some((noun.end, 0.9))
    }

    /// Whether the word `w` at `k` precedes a noun phrase that certainly has the type.
    fn is_followed_by_type(&self, k: usize, w: &str, ty: EntityType, limit: usize) -> bool {
        if k + 1 >= limit || !self.tokens[k].is(w) {
            return false;
        }
        let Some(c) = self.chunk_at(k + 1) else { return false };
        let ChunkKind::Noun(n) = self.phrases.chunks[c].kind else { return false };
        self.referents[n].is_some_and(|s| self.type_of(s).0 == ty && (self.type_of(s).1 > 0.8 || ty == EntityType::Tool))
    }

    /// Returns the chunk that contains a token.
    pub(crate) fn chunk_at(&self, token: usize) -> Option<usize> {
        let at = self.phrases.chunks.partition_point(|c| c.end <= token);
        self.phrases.chunks.get(at).filter(|c| c.start <= token).map(|_| at)
    }

    /// Whether a noun phrase can be between a verb and its preposition: a time, an occupation.
    fn is_skippable(&self, np: usize, rel: &Rel) -> bool {
        let n = &self.phrases.nouns[np];
        let head = &self.tokens[n.head];
        mentions::time_expression(self.tokens, n)
            || rel.object_types.contains(&EntityType::Organization)
                && lexicon().has(WordList::Person, &head.lemma)
                && n.possessor == Possessor::Unmarked
                && head.pos == Pos::Noun
    }
}

pub(crate) fn preposition(word: &str) -> bool {
    matches!(
        word,
        "in" | "at" | "on" | "for" | "with" | "to" | "of" | "from" | "by" | "as" | "into" | "near" | "about" | "over" | "between" | "under"
    )
}
