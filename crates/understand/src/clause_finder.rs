//! Finds clauses: each finite verb group with its subject and the extent of its complements.

use recall_domain::FirstPerson;

use super::chunker::chunk;
use super::clauses::{Clause, Subject};
use super::lexicon::lexicon;
use super::phrases::{Chunk, ChunkKind, Phrases, Possessor, VerbGroup, VerbKind};
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
        clause.unasserted |= is_doubted(&tokens[..clause.start_token]) || is_dreamt(&tokens[..clause.start_token]);
        out.push(clause);
    }
    share_objects(tokens, p, &mut out);
    continue_contrasts(tokens, p, &mut out);
    out
}

/// Whether words are a clause of their own with its subject in front: "I park on level 3", but not "what I said" and "my name".
pub(crate) fn is_clause(tokens: &[Token]) -> bool {
    let p = chunk(tokens);
    let asks = tokens.first().is_none_or(|t| {
        matches!(t.norm.as_str(), "what" | "where" | "who" | "why" | "how" | "when" | "which" | "whose" | "if" | "whether" | "about")
    });
    !asks && find_clauses(tokens, &p).first().is_some_and(|c| matches!(c.subject, Subject::Nouns(_)) && c.start_token == 0)
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
    // "In the movie, …", "in my novel I …"
    let opens = |t: &Token| t.is(",") || t.pos == Pos::Pron;
    noun.is_some_and(|n| lexicon().in_set("fiction", &n.norm)) && tokens.get(3).is_some_and(opens)
        || tokens.windows(2).any(|w| w[0].pos == Pos::Det && lexicon().in_set("figures", &w[1].norm))
}

/// Whether the words before "that" doubt the clause after it: "Jim's doubts that …". The tagger takes such a verb for a noun after a name.
fn is_doubted(before: &[Token]) -> bool {
    let [rest @ .., doubt, that] = before else { return false };
    let is_doubt = lexicon().in_set("doubt", &doubt.lemma) || doubt.lemma == "deny";
    that.is("that") && is_doubt && !rest.last().is_some_and(|t| t.is("no"))
}

/// Whether the words before a clause make it the contents of a dream: "a dream where …", "the nightmare in which …".
fn is_dreamt(before: &[Token]) -> bool {
    // "A dream last night that …"
    let is_time = |t: &Token| lexicon().in_set("time", &t.norm) || matches!(t.norm.as_str(), "last" | "the" | "other");
    let is_link = |t: &&Token| matches!(t.norm.as_str(), "that" | "where" | "in" | "which" | "," | ":" | "about" | "when") || is_time(t);
    let links = before.iter().rev().take_while(is_link).count();
    let noun = before[..before.len() - links].last();
    noun.is_some_and(|t| t.nominal() && matches!(t.lemma.as_str(), "dream" | "nightmare" | "daydream"))
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

/// Whether a clause says that its subject has another value: "my number changed, it's …".
fn is_change(old: &VerbGroup) -> bool {
    matches!(old.lemma.as_str(), "change" | "update") && !old.negated && !old.progressive && old.modal.is_none()
}

/// Gives "it" the subject of the clause before, which says what is no longer so: "My boss used to be Greg but it's Calvin".
fn continue_contrasts(tokens: &[Token], p: &Phrases, clauses: &mut [Clause]) {
    for i in 1..clauses.len() {
        let [before, clause] = [&clauses[i - 1], &clauses[i]];
        let (old, new) = (&p.verbs[before.verb], &p.verbs[clause.verb]);
        let is_copula = |g: &VerbGroup| g.lemma == "be" && !g.passive && !g.progressive && g.modal.is_none();
        let (Subject::Nouns(subjects), Subject::Nouns(it)) = (&before.subject, &clause.subject) else { continue };
        let ([subject], [it]) = (subjects.as_slice(), it.as_slice()) else { continue };
        let noun = &p.nouns[*subject];
        let is_described = !noun.pronoun && noun.possessor != Possessor::Unmarked;
        // "It's a lovely practice" says nothing of who the dentist was.
        let between = tokens.get(old.end..new.start).unwrap_or_default();
        let denies_name = old.negated && between.first().is_some_and(|t| t.pos == Pos::Propn);
        let turns = old.used_to
            || denies_name
            || between.iter().any(|t| t.is("but") || t.is("now"))
            || tokens[new.end..].iter().any(|t| t.is("now"));
        let is_contrast = turns && (old.used_to || old.past || old.negated) && !new.past && !new.used_to && !new.negated;
        let follows_change = is_change(old) && is_copula(new) && is_described && !new.negated && !new.past;
        if follows_change && p.nouns[*it].pronoun && tokens[p.nouns[*it].head].is("it") {
            clauses[i].subject = before.subject.clone();
            continue;
        }
        if is_copula(old) && is_copula(new) && is_described && is_contrast && p.nouns[*it].pronoun && tokens[p.nouns[*it].head].is("it") {
            let subject = before.subject.clone();
            clauses[i - 1].is_over = !old.negated;
            clauses[i].subject = subject;
        }
    }
}

/// Whether a verb says what somebody takes for true.
fn is_opinion(lemma: &str) -> bool {
    matches!(lemma, "think" | "believe" | "feel" | "guess" | "suppose" | "reckon" | "figure")
}

/// Whether a verb says what somebody took for true before: "I thought", "I used to believe".
fn is_former_opinion(host: &VerbGroup) -> bool {
    host.past && (is_opinion(&host.lemma) || host.lemma == "assume")
}

/// Whether the sentence corrects what somebody said by a name or a number: "I said Kim leads it but it's Ann", but not "but it's a secret".
fn is_corrected(tokens: &[Token], host: &VerbGroup) -> bool {
    let after = tokens.get(host.end..).unwrap_or_default();
    let Some(but) = after.iter().position(|t| t.is("but")) else { return false };
    let mut words = after[but + 1..].iter().filter(|t| t.pos != Pos::Adv);
    let is_it = words.next().is_some_and(|t| t.is("it")) && words.next().is_some_and(|t| t.lemma == "be" || t.is("'s"));
    let is_said = host.past && host.lemma == "say";
    is_said && is_it && words.next().is_some_and(|t| matches!(t.pos, Pos::Propn | Pos::Num))
}

/// Whether the words after a verb compare: "I feel like I'm 80", "it looks as if I own the place".
fn compares(tokens: &[Token], host: &VerbGroup, between: &[Chunk]) -> bool {
    let is_like = |c: &Chunk| matches!(tokens[c.start].norm.as_str(), "like" | "as" | "though");
    matches!(host.lemma.as_str(), "feel" | "look" | "sound" | "seem" | "act")
        && !between.is_empty()
        && between.iter().all(|c| matches!(c.kind, ChunkKind::Adverb) || is_like(c))
}

/// Whether a conjunction at a chunk continues what somebody says or thinks. "But" leads to what is so.
fn is_joined_by_and(tokens: &[Token], p: &Phrases, at: usize) -> bool {
    let chunk = p.chunks[at.min(p.chunks.len() - 1)];
    chunk.kind == ChunkKind::Conj && !tokens[chunk.start].is("but")
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
    let says_i = |subject: &Subject| match subject {
        Subject::Nouns(nouns) => nouns.iter().any(|&n| FirstPerson::is_subject(&tokens[p.nouns[n].head].norm)),
        _ => false,
    };
    let group = &p.verbs[host.verb];
    let lemma = &group.lemma;
    clause.unasserted |= compares(tokens, group, between);
    if plain && lexicon().in_set("say", lemma) {
        clause.hedged = Some(lemma.clone());
        clause.denied = group.negated || says_i(&host.subject) && is_corrected(tokens, group);
        let modal = group.modal.is_some();
        let asks = tokens[group.main].norm == "let";
        // "I don't think she likes it" denies that she does; "I didn't say …" says nothing of it.
        let open = group.negated && !is_opinion(lemma);
        // "People think I sold my bike": the speaker knows better.
        let is_of_others = is_opinion(lemma) && !says_i(&host.subject) && says_i(&clause.subject);
        let is_over = is_former_opinion(group) && (says_i(&host.subject) || host.subject == Subject::Implied);
        clause.unasserted |= lexicon().in_set("doubt", lemma) || host.unasserted || modal || asks || open || is_of_others || is_over;
    } else if host.hedged.is_some() && edge > host.at && is_joined_by_and(tokens, p, edge) {
        clause.hedged.clone_from(&host.hedged);
        clause.unasserted |= host.unasserted;
    }
}
