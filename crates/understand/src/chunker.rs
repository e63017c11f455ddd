//! Chunks tagged tokens into noun phrases, verb groups and the words between them.

use super::appositions::join_appositions;
use super::lexicon::{VerbForm, lexicon};
use super::noun_phrases::parse_noun_phrase;
use super::phrases::{Chunk, ChunkKind, NounPhrase, Phrases, VerbGroup, VerbKind};
use super::steps;
use super::tokens::{Pos, Token};
use super::verb_groups::{mark_listed_infinitives, parse_verb_group};

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
    p.nouns.push(NounPhrase { end: close + 1, core: i + 1, head: close - 1, opaque: !title, title, ..NounPhrase::at(i) });
    p.chunks.push(Chunk { kind: ChunkKind::Noun(p.nouns.len() - 1), start: i, end: close + 1 });
    Some(close + 1)
}
