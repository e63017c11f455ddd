//! Joins noun phrases in apposition: adjacent phrases with the same referent.

use super::cues;
use super::lexicon::{WordList, lexicon};
use super::phrases::{Chunk, ChunkKind, NounPhrase, Phrases, Possessor, is_title};
use super::tokens::{Pos, Token};

/// Joins a noun phrase with its appositive: "my sister, Anna," and "Anna, my sister,".
pub(crate) fn join_appositions(tokens: &[Token], p: &mut Phrases) {
    absorb_owners(tokens, p);
    join_distant_names(tokens, p);
    join_lists_of_names(tokens, p);
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
            || after.is_some_and(|c| c.kind == ChunkKind::Comma) && continues_list(p, i + 4) && !describes(tokens, p, b);
        let separator_comma = p.chunks[i + 1].kind == ChunkKind::Comma
            || tokens[p.chunks[i + 1].start].norm.starts_with('—')
            || tokens[p.chunks[i + 1].start].is("(");
        if !closed || list || !separator_comma || p.nouns[a].pronoun || p.nouns[b].pronoun || p.nouns[b].opaque {
            i += 1;
            continue;
        }
        let proper = |n: &NounPhrase| is_plain_name(tokens, n);
        let role = |n: &NounPhrase| {
            tokens[n.head].pos == Pos::Noun
                && n.proper_name.is_none()
                && (n.possessor == Possessor::Speaker
                    || (n.possessor != Possessor::Unmarked || n.determiner.is_some()) && is_title(&tokens[n.head].lemma))
        };
        if role(&p.nouns[a]) && proper(&p.nouns[b]) && p.nouns[a].possessor != Possessor::Addressee {
            p.nouns[a].proper_name = Some((p.nouns[b].core.min(p.nouns[b].head), p.nouns[b].end));
        } else if proper(&p.nouns[a]) && describes(tokens, p, b) {
            p.nouns[a].appositive = Some(b);
        } else {
            i += 1;
            continue;
        }
        let closing = after.is_some_and(|c| tokens[c.start].is(")"));
        let removed = if closing
            || after.is_some_and(|c| c.kind == ChunkKind::Comma || (c.kind == ChunkKind::Mark && !tokens[c.start].is("(")))
                && p.chunks.get(i + 4).is_none_or(|c| c.kind != ChunkKind::Conj)
        {
            3
        } else {
            2
        };
        let end = p.chunks[i + removed.min(p.chunks.len() - 1 - i)].end;
        p.chunks[i].end = end.min(p.chunks[i + 2].end);
        p.chunks.drain(i + 1..(i + 1 + removed).min(p.chunks.len()));
        i += 1;
    }
}

/// Whether a list goes on at a chunk. A pronoun begins a new clause: "a hound, Tolstoy, and he eats books".
fn continues_list(p: &Phrases, at: usize) -> bool {
    let noun = |c: usize| match p.chunks.get(c).map(|c| c.kind) {
        Some(ChunkKind::Noun(n)) => !p.nouns[n].pronoun,
        Some(ChunkKind::Conj) => true,
        _ => false,
    };
    noun(at) && (p.chunks[at].kind != ChunkKind::Conj || noun(at + 1))
}

/// Moves an owner after the noun into the noun phrase: "a colleague of mine".
fn absorb_owners(tokens: &[Token], p: &mut Phrases) {
    let mut i = 0;
    while i + 2 < p.chunks.len() {
        if let (ChunkKind::Noun(a), ChunkKind::Prep, ChunkKind::Noun(b)) = (p.chunks[i].kind, p.chunks[i + 1].kind, p.chunks[i + 2].kind)
            && tokens[p.chunks[i + 1].start].is("of")
            && p.nouns[b].pronoun
            && matches!(tokens[p.nouns[b].head].norm.as_str(), "mine" | "ours")
            && p.nouns[a].possessor == Possessor::Unmarked
        {
            p.nouns[a].possessor = Possessor::Speaker;
            p.chunks[i].end = p.chunks[i + 2].end;
            p.chunks.drain(i + 1..i + 3);
        }
        i += 1;
    }
}

/// Joins a role with a name after its place: "my manager at the garden centre, Lorraine, is off".
fn join_distant_names(tokens: &[Token], p: &mut Phrases) {
    let mut i = 0;
    while i + 4 < p.chunks.len() {
        if let [
            Chunk { kind: ChunkKind::Noun(a), .. },
            Chunk { kind: ChunkKind::Prep, start, .. },
            Chunk { kind: ChunkKind::Noun(_), .. },
            Chunk { kind: ChunkKind::Comma, .. },
            Chunk { kind: ChunkKind::Noun(b), .. },
        ] = p.chunks[i..i + 5]
            && matches!(tokens[start].norm.as_str(), "at" | "from" | "in" | "of")
            && p.nouns[a].possessor == Possessor::Speaker
            && p.nouns[a].proper_name.is_none()
            && tokens[p.nouns[a].head].pos == Pos::Noun
            && cues::is_person_noun(&tokens[p.nouns[a].head].lemma)
            && is_plain_name(tokens, &p.nouns[b])
            && p.chunks.get(i + 5).is_none_or(|c| c.kind == ChunkKind::Comma && !continues_list(p, i + 6))
        {
            p.nouns[a].proper_name = Some((p.nouns[b].core.min(p.nouns[b].head), p.nouns[b].end));
            let last = (i + 6).min(p.chunks.len());
            p.chunks.drain(i + 3..last);
        }
        i += 1;
    }
}

/// Lets the names after a plural stand for it: "my friends, Ann and Lou, moved" is "Ann and Lou moved", and both are friends of mine.
fn join_lists_of_names(tokens: &[Token], p: &mut Phrases) {
    let mut i = 0;
    while i + 1 < p.chunks.len() {
        let plural = match p.chunks[i].kind {
            ChunkKind::Noun(a) if p.chunks[i + 1].kind == ChunkKind::Comma => Some(a).filter(|a| {
                let head = &tokens[p.nouns[*a].head];
                head.pos == Pos::Noun && head.lemma != head.norm && p.nouns[*a].possessor == Possessor::Speaker && is_title(&head.lemma)
            }),
            _ => None,
        };
        if let Some((names, end)) = plural.and_then(|_| list_of_names(tokens, p, i + 2)) {
            names.into_iter().for_each(|name| p.nouns[name].appositive = plural);
            p.chunks.remove(end);
            p.chunks.drain(i..i + 2);
        }
        i += 1;
    }
}

/// Returns the names of a list that begins at a chunk and has an "and", and the comma that closes it.
fn list_of_names(tokens: &[Token], p: &Phrases, from: usize) -> Option<(Vec<usize>, usize)> {
    let (mut names, mut joined) = (Vec::new(), false);
    for (at, chunk) in p.chunks.iter().enumerate().skip(from) {
        match chunk.kind {
            ChunkKind::Noun(n) if is_plain_name(tokens, &p.nouns[n]) => names.push(n),
            ChunkKind::Conj if !joined && !names.is_empty() && tokens[chunk.start].is("and") => joined = true,
            ChunkKind::Comma if joined => {
                // "My friends, Ann and Lou, and my boss": without a verb, the list goes on.
                let has_verb = p.chunks.get(at + 1).is_some_and(|next| matches!(next.kind, ChunkKind::Verb(_)));
                return (names.len() > 1 && has_verb).then_some((names, at));
            }
            ChunkKind::Comma => {}
            _ => return None,
        }
    }
    None
}

/// Whether a phrase is a name and nothing else.
fn is_plain_name(tokens: &[Token], n: &NounPhrase) -> bool {
    tokens[n.head].pos == Pos::Propn
        && n.possessor == Possessor::Unmarked
        && (n.core..n.end).all(|k| tokens[k].pos == Pos::Propn || tokens[k].pos == Pos::Adp)
}

/// Whether a phrase describes the phrase before it: "my sister", "an internal dashboard", "the CTO".
fn describes(tokens: &[Token], p: &Phrases, b: usize) -> bool {
    let n = &p.nouns[b];
    let indefinite = n.determiner.is_some_and(|d| matches!(tokens[d].norm.as_str(), "a" | "an"));
    let own = n.possessor == Possessor::Speaker && is_title(&tokens[n.head].lemma)
        || matches!(n.possessor, Possessor::Phrase(_)) && is_title(&tokens[n.head].lemma);
    let the = n.determiner.is_some_and(|d| tokens[d].is("the")) && lexicon().has(WordList::Person, &tokens[n.head].lemma);
    // "our CTO" is written like a name.
    let office =
        tokens[n.head].pos == Pos::Propn && lexicon().has(WordList::Person, &tokens[n.head].norm) && n.possessor == Possessor::Speaker;
    tokens[n.head].pos == Pos::Noun && (indefinite || own || the) || office
}
