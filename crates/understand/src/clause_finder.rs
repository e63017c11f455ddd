//! Finds clauses: each finite verb group with its subject and the extent of its complements.

use recall_domain::FirstPerson;

use super::clauses::{Clause, Subject};
use super::lexicon::lexicon;
use super::phrases::{Chunk, ChunkKind, Phrases, VerbKind};
use super::steps;
use super::subjects::find_subject;
use super::tokens::{Pos, Token};

const CONDITIONS: &[&str] = &["if", "unless", "whether", "suppose", "imagine"];

/// Finds the clauses of a sentence.
pub(crate) fn find_clauses(tokens: &[Token], p: &Phrases) -> Vec<Clause> {
    let mut out: Vec<Clause> = Vec::new();
    let conditional = tokens.iter().any(|t| CONDITIONS.contains(&t.norm.as_str())) || is_supposed(tokens) || is_fiction(tokens);
    for (at, c) in p.chunks.iter().enumerate() {
        let ChunkKind::Verb(v) = c.kind else { continue };
        if p.verbs[v].kind != VerbKind::Finite {
            continue;
        }
        let mut clause = Clause::at(at, c.start, v, p.chunks.len());
        clause.unasserted = conditional;
        steps::count(p.chunks.len());
        let edge = find_subject(tokens, p, &out, &mut clause);
        if let Some(previous) = out.last_mut() {
            previous.end = previous.end.min(edge.max(previous.at + 1));
            mark_complement_clause(tokens, p, previous, &mut clause, edge);
        }
        out.push(clause);
    }
    share_objects(tokens, p, &mut out);
    out
}

/// Whether a sentence begins as a thought experiment: "Let's say I live in Paris".
fn is_supposed(tokens: &[Token]) -> bool {
    let word = |i: usize| tokens.get(i).map_or("", |t| t.norm.as_str());
    let lets = if matches!(word(1), "'s" | "us" | "s") { 2 } else { 1 };
    matches!(word(0), "let" | "lets" | "let's") && matches!(word(lets), "say" | "pretend" | "assume")
        || (word(0) == "say" && word(1) == "i")
}

/// Whether a sentence retells fiction: "In the movie, …".
fn is_fiction(tokens: &[Token]) -> bool {
    let noun = match tokens {
        [a, b, c, ..] if a.is("in") && b.pos == Pos::Det => Some(c),
        _ => None,
    };
    noun.is_some_and(|n| lexicon().in_set("fiction", &n.norm)) && tokens.get(3).is_some_and(|t| t.is(","))
        || tokens.windows(2).any(|w| w[0].pos == Pos::Det && lexicon().in_set("figures", &w[1].norm))
}

/// Lets coordinated verbs share their objects: "love and hate Berlin".
fn share_objects(tokens: &[Token], p: &Phrases, clauses: &mut [Clause]) {
    for i in (1..clauses.len()).rev() {
        let (at, end) = (clauses[i].at, clauses[i].end);
        let first = &mut clauses[i - 1];
        let joined = first.at + 2 == at
            && p.chunks[first.at + 1].kind == ChunkKind::Conj
            && matches!(tokens[p.chunks[first.at + 1].start].norm.as_str(), "and" | "or")
            && tokens[p.chunks[at].start].pos == Pos::Verb;
        if joined {
            first.end = end;
            first.shares = Some(p.chunks[at].end);
        }
    }
}

/// Whether a verb says what somebody takes for true.
fn is_opinion(lemma: &str) -> bool {
    matches!(lemma, "think" | "believe" | "feel" | "guess" | "suppose" | "reckon" | "figure")
}

/// Marks a clause that is the complement of a verb of saying, thinking or doubting.
fn mark_complement_clause(tokens: &[Token], p: &Phrases, host: &Clause, clause: &mut Clause, edge: usize) {
    let between = &p.chunks[(host.at + 1).min(edge)..edge];
    let plain = between.iter().all(|c: &Chunk| match c.kind {
        ChunkKind::Sub => tokens[c.start].is("that") || tokens[c.start].is("how"),
        ChunkKind::Rel => tokens[c.start].is("that"),
        ChunkKind::Adverb => true,
        ChunkKind::Noun(n) => p.nouns[n].pronoun || p.verbs[host.verb].lemma == "tell",
        _ => false,
    });
    let lemma = &p.verbs[host.verb].lemma;
    if plain && lexicon().in_set("say", lemma) {
        clause.hedged = Some(lemma.clone());
        clause.denied = p.verbs[host.verb].negated;
        let modal = p.verbs[host.verb].modal.is_some();
        let asks = tokens[p.verbs[host.verb].main].norm == "let";
        // "I don't think she likes it" denies that she does; "I didn't say …" says nothing of it.
        let open = clause.denied && !is_opinion(lemma);
        // "People think I sold my bike": the speaker knows better.
        let says_i = |subject: &Subject| match subject {
            Subject::Nouns(nouns) => nouns.iter().any(|&n| FirstPerson::is_subject(&tokens[p.nouns[n].head].norm)),
            _ => false,
        };
        let is_of_others = is_opinion(lemma) && !says_i(&host.subject) && says_i(&clause.subject);
        clause.unasserted |= lexicon().in_set("doubt", lemma) || host.unasserted || modal || asks || open || is_of_others;
    } else if host.hedged.is_some() && edge > host.at && p.chunks[edge.min(p.chunks.len() - 1)].kind == ChunkKind::Conj {
        clause.hedged.clone_from(&host.hedged);
        clause.unasserted |= host.unasserted;
    }
}
