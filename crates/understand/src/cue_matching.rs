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

impl Reader<'_> {
    /// Matches the words of a cue after its verb.
    ///
    /// Returns the token after them, a factor for the confidence, and the object if it is between the words.
    pub(crate) fn match_cue(
        &self,
        cue: &Cue,
        anchor: usize,
        g: &VerbGroup,
        clause: &Clause,
        limit: usize,
    ) -> Option<(usize, f64, Option<Object>)> {
        let tokens = self.tokens;
        let mut k = anchor + 1;
        let mut factor = 1.0;
        if cue.rest.is_empty() {
            return (anchor == g.main).then_some((g.end, 1.0, None));
        }
        let mut object = None;
        for (n, w) in cue.rest.iter().enumerate() {
            if matches!(w.as_str(), "*" | "_") {
                let chunk = self.phrases.chunks[self.chunk_at(k)?];
                let ChunkKind::Noun(np) = chunk.kind else { return None };
                if w == "*" {
                    object = Some((self.referents[np]?, chunk.end));
                }
                k = chunk.end;
                continue;
            }
            let is = |k: usize| tokens[k].norm == *w || tokens[k].lemma == *w;
            let start = k;
            let mut jumps = 0;
            loop {
                if k >= limit {
                    return None;
                }
                if is(k) {
                    break;
                }
                let t = &tokens[k];
                if matches!(t.pos, Pos::Adv | Pos::Det | Pos::Adj | Pos::Num) && k < start + 5 || t.is("not") {
                    k += 1;
                    continue;
                }
                // "put the bike away", "gave it up"
                let particle = matches!(w.as_str(), "away" | "up" | "off" | "out" | "down" | "back" | "over" | "home");
                if let Some(c) = self.chunk_at(k) {
                    let chunk = self.phrases.chunks[c];
                    if particle
                        && n + 1 == cue.rest.len()
                        && let ChunkKind::Noun(np) = chunk.kind
                        && tokens.get(chunk.end).is_some_and(|t| t.is(w))
                        && let Some(referent) = self.referents[np]
                    {
                        return Some((chunk.end + 1, 1.0, Some((referent, chunk.end + 1))));
                    }
                    // "work as a nurse at", "spent four years at", "live with my wife in"
                    let preposition = preposition(w);
                    if preposition && jumps < 2 && c < clause.end {
                        // "I do my mockups in Figma": only if the object certainly has the right type.
                        let rel = &self.cues.relations[cue.relation];
                        let across =
                            !cue.weak && rel.object_types.first().is_some_and(|&ty| self.is_followed_by_type(chunk.end, w, ty, limit));
                        if let ChunkKind::Noun(np) = chunk.kind
                            && (self.is_skippable(np, rel) || g.lemma == "spend" || across)
                        {
                            k = chunk.end;
                            jumps += 1;
                            factor *= 0.95;
                            continue;
                        }
                        if chunk.kind == ChunkKind::Prep
                            && let Some(ChunkKind::Noun(np)) = self.phrases.chunks.get(c + 1).map(|c| c.kind)
                            && (!matches!(tokens[chunk.start].norm.as_str(), "to" | "from" | "in" | "at" | "on" | "for")
                                // "grew up on a farm in Kansas"
                                || tokens[chunk.start].is("on") && lexicon().in_set("generic_places", &tokens[self.phrases.nouns[np].head].norm))
                        {
                            k = self.phrases.chunks[c + 1].end;
                            jumps += 1;
                            factor *= 0.9;
                            continue;
                        }
                    }
                }
                return None;
            }
            k += 1;
        }
        Some((k, factor, object))
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
