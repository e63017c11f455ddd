//! Phrases that stand for the same thing, side by side.

use super::lexicon::{Group, lexicon};
use super::phrases::{ChunkKind, NounPhrase, Owner, Phrases, is_title};
use super::tokens::{Pos, Token};

/// Joins phrases that stand for the same thing: "my sister, Anna," and "Anna, my sister,".
pub(crate) fn appositions(tokens: &[Token], p: &mut Phrases) {
    let mut i = 0;
    while i + 2 < p.chunks.len() {
        let (ChunkKind::Noun(a), ChunkKind::Comma | ChunkKind::Mark, ChunkKind::Noun(b)) =
            (p.chunks[i].kind, p.chunks[i + 1].kind, p.chunks[i + 2].kind)
        else {
            i += 1;
            continue;
        };
        let after = p.chunks.get(i + 3);
        let closed = after.is_none_or(|c| matches!(c.kind, ChunkKind::Comma | ChunkKind::Mark | ChunkKind::Other | ChunkKind::Rel));
        // "X, Y, and Z" is a list unless Y describes X.
        let list = after.is_some_and(|c| c.kind == ChunkKind::Conj)
            || after.is_some_and(|c| c.kind == ChunkKind::Comma)
                && p.chunks.get(i + 4).is_some_and(|c| matches!(c.kind, ChunkKind::Conj | ChunkKind::Noun(_)))
                && !describes(tokens, p, b);
        let separator_comma = p.chunks[i + 1].kind == ChunkKind::Comma
            || tokens[p.chunks[i + 1].start].norm.starts_with('—')
            || tokens[p.chunks[i + 1].start].is("(");
        if !closed || list || !separator_comma || p.nouns[a].pronoun || p.nouns[b].pronoun || p.nouns[b].opaque {
            i += 1;
            continue;
        }
        let proper = |n: &NounPhrase| {
            tokens[n.head].pos == Pos::Propn
                && n.owner == Owner::Nobody
                && (n.core..n.end).all(|k| tokens[k].pos == Pos::Propn || tokens[k].pos == Pos::Adp)
        };
        let role = |n: &NounPhrase| {
            tokens[n.head].pos == Pos::Noun
                && n.given.is_none()
                && (n.owner == Owner::Speaker || (n.owner != Owner::Nobody || n.det.is_some()) && is_title(&tokens[n.head].lemma))
        };
        if role(&p.nouns[a]) && proper(&p.nouns[b]) && p.nouns[a].owner != Owner::Addressee {
            p.nouns[a].given = Some((p.nouns[b].core.min(p.nouns[b].head), p.nouns[b].end));
        } else if proper(&p.nouns[a]) && describes(tokens, p, b) {
            p.nouns[a].apposition = Some(b);
        } else {
            i += 1;
            continue;
        }
        let gone = if after.is_some_and(|c| c.kind == ChunkKind::Comma || (c.kind == ChunkKind::Mark && !tokens[c.start].is("(")))
            && p.chunks.get(i + 4).is_none_or(|c| c.kind != ChunkKind::Conj)
        {
            3
        } else {
            2
        };
        let end = p.chunks[i + gone.min(p.chunks.len() - 1 - i)].end;
        p.chunks[i].end = end.min(p.chunks[i + 2].end);
        p.chunks.drain(i + 1..(i + 1 + gone).min(p.chunks.len()));
        i += 1;
    }
}

/// "my sister", "an internal dashboard", "the CTO": says what the phrase before it is.
fn describes(tokens: &[Token], p: &Phrases, b: usize) -> bool {
    let n = &p.nouns[b];
    let indefinite = n.det.is_some_and(|d| matches!(tokens[d].norm.as_str(), "a" | "an"));
    let own = n.owner == Owner::Speaker && is_title(&tokens[n.head].lemma)
        || matches!(n.owner, Owner::Phrase(_)) && is_title(&tokens[n.head].lemma);
    let the = n.det.is_some_and(|d| tokens[d].is("the")) && lexicon().has(Group::Person, &tokens[n.head].lemma);
    // "our CTO" is written like a name.
    let office = tokens[n.head].pos == Pos::Propn && lexicon().has(Group::Person, &tokens[n.head].norm) && n.owner == Owner::Speaker;
    tokens[n.head].pos == Pos::Noun && (indefinite || own || the) || office
}
