//! Finds clauses: each finite verb group with its subject and the extent of its complements.

use super::lexicon::{VerbForm, lexicon};
use super::phrases::{Chunk, ChunkKind, Phrases, VerbGroup, VerbKind};
use super::steps;
use super::tokens::{Pos, Token};

/// The subject of a clause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// Entries of [`Phrases::nouns`].
    Nouns(Vec<usize>),
    /// Omitted; the form of the verb implies the speaker ("Sold the bike.").
    Implied,
    /// Omitted or not found; the clause states no fact.
    Unknown,
}

/// A finite verb with its subject and complements.
#[derive(Clone, Debug)]
pub(crate) struct Clause {
    pub(crate) subject: Subject,
    /// Entry of [`Phrases::verbs`].
    pub(crate) verb: usize,
    /// Index of the verb's chunk.
    pub(crate) at: usize,
    /// One past the last chunk of its complements.
    pub(crate) end: usize,
    /// First token of the subject, or of the verb without one.
    pub(crate) start_token: usize,
    /// Conditional, fictional or doubted, so it states no fact.
    pub(crate) unasserted: bool,
    /// Lemma of the verb of thinking or saying that governs this clause.
    pub(crate) hedged: Option<String>,
    /// The governing verb is negated ("I don't think …").
    pub(crate) denied: bool,
    /// Antecedent of a relative clause that lacks its object ("the book that I love").
    pub(crate) gap: Option<usize>,
    /// A relative clause separates it from its subject.
    pub(crate) distant: bool,
    /// It shares the objects of the next verb ("love and hate Berlin"): one past that verb's last token.
    pub(crate) shares: Option<usize>,
}

const CONDITIONS: &[&str] = &["if", "unless", "whether", "suppose", "imagine"];

/// Finds the clauses of a sentence.
pub(crate) fn find_clauses(tokens: &[Token], p: &Phrases) -> Vec<Clause> {
    let mut out: Vec<Clause> = Vec::new();
    let conditional = tokens.iter().any(|t| CONDITIONS.contains(&t.norm.as_str())) || is_fiction(tokens);
    for (at, c) in p.chunks.iter().enumerate() {
        let ChunkKind::Verb(v) = c.kind else { continue };
        if p.verbs[v].kind != VerbKind::Finite {
            continue;
        }
        let mut clause = Clause {
            subject: Subject::Unknown,
            verb: v,
            at,
            end: p.chunks.len(),
            start_token: c.start,
            unasserted: conditional,
            hedged: None,
            denied: false,
            gap: None,
            distant: false,
            shares: None,
        };
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

/// Whether a sentence retells fiction: "In the movie, …".
fn is_fiction(tokens: &[Token]) -> bool {
    let noun = match tokens {
        [a, b, c, ..] if a.is("in") && b.pos == Pos::Det => Some(c),
        _ => None,
    };
    noun.is_some_and(|n| lexicon().in_set("fiction", &n.norm)) && tokens.get(3).is_some_and(|t| t.is(","))
        || tokens.windows(2).any(|w| w[0].pos == Pos::Det && lexicon().in_set("figures", &w[1].norm))
}

/// Sets the subject of a clause and returns the chunk where the clause begins.
fn find_subject(tokens: &[Token], p: &Phrases, before: &[Clause], clause: &mut Clause) -> usize {
    let chunks = &p.chunks;
    let verb = &p.verbs[clause.verb];
    let mut b = clause.at;
    while b > 0 && matches!(chunks[b - 1].kind, ChunkKind::Adverb) {
        b -= 1;
    }
    if b == 0 {
        clause.subject = omitted_subject(tokens, p, clause, before);
        return b;
    }
    match chunks[b - 1].kind {
        ChunkKind::Noun(_) => {
            if let Some(host) = relative_clause_host(p, before, b - 1) {
                clause.start_token = p.nouns[host].start;
                clause.subject = Subject::Nouns(vec![host]);
                return b;
            }
            let (first, group) = coordinated_nouns(tokens, p, before, b - 1);
            // "Not a single person likes it", "not everyone"
            if first > 0 && chunks[first - 1].kind == ChunkKind::Not || disagrees(tokens, p, before, verb, first, &group) {
                return first;
            }
            // The moved object of a relative clause: "the book that I love".
            if first > 0 && matches!(chunks[first - 1].kind, ChunkKind::Rel) {
                clause.gap = antecedent(p, first - 1);
            }
            // "when I go", "next time I go": the present tense of what is to come.
            if first > 0 && !verb.past {
                let earlier = &tokens[chunks[first - 1].start..chunks[first - 1].end];
                clause.unasserted |=
                    earlier.iter().any(|t| matches!(t.norm.as_str(), "when" | "whenever" | "once" | "until" | "next" | "wherever"));
            }
            clause.start_token = chunks[first].start;
            clause.subject = Subject::Nouns(group);
            first
        }
        ChunkKind::Verb(v) if p.verbs[v].kind == VerbKind::Infinitive && verb.lemma == "be" && before.is_empty() && b >= 2 => {
            // "My favorite thing to eat is pizza"
            if let ChunkKind::Noun(n) = chunks[b - 2].kind {
                clause.start_token = chunks[b - 2].start;
                clause.subject = Subject::Nouns(vec![n]);
            }
            b - 2
        }
        ChunkKind::Rel => {
            if let Some(noun) = antecedent(p, b - 1) {
                clause.subject = Subject::Nouns(vec![noun]);
                // "a novel about two sisters who own a lighthouse": told, not so.
                let start = p.nouns[noun].start;
                clause.unasserted |= start > 0 && tokens[start - 1].is("about");
            }
            b - 1
        }
        ChunkKind::Conj | ChunkKind::Comma | ChunkKind::Mark => {
            let conj = chunks[b - 1].kind == ChunkKind::Conj;
            let comma = chunks[b - 1].kind == ChunkKind::Comma || b >= 2 && chunks[b - 2].kind == ChunkKind::Comma;
            let mark = chunks[b - 1].kind == ChunkKind::Mark;
            let base_form = tokens[verb.main].form == Some(VerbForm::Base) && verb.start == verb.main;
            if let Some(previous) = before.last().filter(|_| !mark) {
                let relative = previous.at > 0 && matches!(chunks[previous.at - 1].kind, ChunkKind::Rel);
                let host = if relative && comma { before.len().checked_sub(2).map(|k| &before[k]) } else { Some(previous) };
                clause.subject = match host {
                    // "X, who …, and likes": the noun that the relative clause belongs to.
                    None => previous.subject.clone(),
                    Some(h) if relative && comma && h.at < previous.at && subject_of_relative_is_subjectless(p, previous) => {
                        previous.subject.clone()
                    }
                    Some(h) => h.subject.clone(),
                };
                // "I love it, try it": a bare verb after a mere comma is an order.
                if !conj && base_form && !matches!(tokens[verb.main].lemma.as_str(), "be") {
                    let list_of_verbs = p.chunks[clause.at..].iter().any(|c| c.kind == ChunkKind::Conj);
                    if !list_of_verbs {
                        clause.subject = Subject::Unknown;
                    }
                }
                // "Sara, who I met there, works …": "I" does not go with "works".
                let third = tokens[verb.start].form == Some(VerbForm::ThirdPerson);
                let not_third = matches!(&clause.subject, Subject::Nouns(n)
                    if matches!(n[..], [n] if p.nouns[n].pronoun && matches!(tokens[p.nouns[n].head].norm.as_str(), "i" | "we" | "you" | "they")));
                if third && not_third {
                    clause.subject = previous.gap.map_or(Subject::Unknown, |n| Subject::Nouns(vec![n]));
                }
                if matches!(clause.subject, Subject::Nouns(_)) {
                    clause.distant = relative;
                }
                clause.gap = if conj { previous.gap } else { None };
            } else {
                let noun_before = (0..b - 1).any(|k| matches!(chunks[k].kind, ChunkKind::Noun(_)));
                // "Anya, our CTO, picked …": somebody was named, and more than called.
                let read_named_description = match (chunks.first().map(|c| c.kind), chunks.get(2).map(|c| c.kind)) {
                    (Some(ChunkKind::Noun(n)), Some(ChunkKind::Noun(_))) if b == 4 && chunks[1].kind == ChunkKind::Comma => Some(n),
                    _ => None,
                };
                if let Some(n) = read_named_description.filter(|_| comma && !conj) {
                    clause.subject = Subject::Nouns(vec![n]);
                } else if !noun_before || mark || comma {
                    clause.subject = omitted_subject(tokens, p, clause, before);
                }
            }
            let mut edge = b - 1;
            while edge > 0 && matches!(chunks[edge - 1].kind, ChunkKind::Comma | ChunkKind::Conj) {
                edge -= 1;
            }
            edge
        }
        ChunkKind::Verb(_) if before.last().is_some_and(|c| c.gap.is_some() && c.at + 1 == b) => {
            // "the dog that my neighbor has is called Rex"
            clause.subject = Subject::Nouns(before.last().and_then(|c| c.gap).into_iter().collect());
            b
        }
        ChunkKind::Other => {
            // "Thanks, got it", "lol love it"
            clause.subject = omitted_subject(tokens, p, clause, before);
            b
        }
        _ => b,
    }
}

/// Returns the noun that a relative clause before the verb modifies, if that noun has no verb yet.
///
/// "The team that maintains the parser is in Oslo": the noun before "is" is the object of the relative clause.
fn relative_clause_host(p: &Phrases, before: &[Clause], last: usize) -> Option<usize> {
    let [relative] = before else { return None };
    let rel = relative.at.checked_sub(1)?;
    let plain = (relative.at + 1..=last).all(|k| matches!(p.chunks[k].kind, ChunkKind::Noun(_) | ChunkKind::Prep | ChunkKind::Adverb));
    (matches!(p.chunks[rel].kind, ChunkKind::Rel) && plain && last > relative.at).then(|| antecedent(p, rel)).flatten()
}

/// Whether a base form cannot have a singular name as its subject: "I saw Coldplay live in Denver".
fn disagrees(tokens: &[Token], p: &Phrases, before: &[Clause], verb: &VerbGroup, first: usize, group: &[usize]) -> bool {
    let [n] = group else { return false };
    let np = &p.nouns[*n];
    let bare = verb.start == verb.main && tokens[verb.main].form == Some(VerbForm::Base) && tokens[verb.main].pos == Pos::Verb;
    let one = tokens[np.head].pos == Pos::Propn && !tokens[np.head].norm.ends_with('s');
    bare && one && before.last().is_some_and(|c| c.at + 1 == first)
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

fn subject_of_relative_is_subjectless(p: &Phrases, relative: &Clause) -> bool {
    relative.at > 0 && matches!(p.chunks[relative.at - 1].kind, ChunkKind::Rel)
}

/// Returns the noun before a relative pronoun.
fn antecedent(p: &Phrases, rel: usize) -> Option<usize> {
    p.chunks[..rel].iter().rev().find_map(|c| match c.kind {
        ChunkKind::Noun(n) => Some(n),
        _ => None,
    })
}

/// Returns the first chunk and the nouns of the coordinated subject that ends at chunk `last`.
fn coordinated_nouns(tokens: &[Token], p: &Phrases, before: &[Clause], last: usize) -> (usize, Vec<usize>) {
    let chunks = &p.chunks;
    let noun = |k: usize| match chunks[k].kind {
        ChunkKind::Noun(n) => Some(n),
        _ => None,
    };
    let mut first = last;
    // "the book about Buddhism is": the subject is the book.
    while first >= 2 && chunks[first - 1].kind == ChunkKind::Prep && noun(first - 2).is_some() {
        let earlier = chunks[first - 2];
        let taken = before.last().is_some_and(|c| c.at < first - 2 && !is_reporting(p, c));
        if taken || lexicon().in_set("time", &tokens[earlier.end - 1].norm) && first != last {
            break;
        }
        first -= 2;
    }
    let mut group: Vec<usize> = noun(first).into_iter().collect();
    // After a verb only the last conjunct is the subject: "I met Tom and Mary likes sushi".
    let verb_before = before.last().is_some_and(|c| c.at < first);
    let open = !verb_before
        || before.last().is_some_and(|c| {
            is_reporting(p, c)
                && (c.at + 1..first).all(|k| !matches!(chunks[k].kind, ChunkKind::Verb(_)))
                && is_complement_subject(p, c, first)
        });
    if open {
        let mut k = first;
        let mut joined = false;
        loop {
            let mut s = k;
            let mut conj = false;
            while s > 0 && matches!(chunks[s - 1].kind, ChunkKind::Conj | ChunkKind::Comma) {
                conj |= chunks[s - 1].kind == ChunkKind::Conj && !tokens[chunks[s - 1].start].is("but");
                s -= 1;
            }
            if s == k || s == 0 || !(conj || joined) {
                break;
            }
            let Some(n) = noun(s - 1) else { break };
            joined = true;
            k = s - 1;
            group.insert(0, n);
        }
        if joined {
            first = k;
        }
    }
    (first, group)
}

fn is_reporting(p: &Phrases, c: &Clause) -> bool {
    lexicon().in_set("say", &p.verbs[c.verb].lemma)
}

fn is_complement_subject(p: &Phrases, c: &Clause, first: usize) -> bool {
    // "I think John and Mary …": nothing but nouns between.
    (c.at + 1..first)
        .all(|k| matches!(p.chunks[k].kind, ChunkKind::Noun(_) | ChunkKind::Conj | ChunkKind::Comma | ChunkKind::Sub | ChunkKind::Adverb))
}

/// Returns the subject of a verb without one: the speaker for past forms and verbs of liking, none for imperatives.
fn omitted_subject(tokens: &[Token], p: &Phrases, clause: &Clause, before: &[Clause]) -> Subject {
    let verb = &p.verbs[clause.verb];
    let main = &tokens[verb.main];
    let first_word = &tokens[verb.start];
    if before.iter().any(|c| c.subject == Subject::Unknown) && !before.is_empty() {
        return Subject::Unknown;
    }
    let has_object = p
        .chunks
        .get(clause.at + 1)
        .is_some_and(|c| matches!(c.kind, ChunkKind::Noun(_) | ChunkKind::Verb(_) | ChunkKind::Prep | ChunkKind::Adverb));
    let speaks = first_word.is("not")
        || verb.progressive && verb.no_longer
        || verb.progressive && (first_word.pos == Pos::Adv || first_word.form == Some(VerbForm::Gerund))
        || verb.past && main.lemma != "be" && first_word.pos != Pos::Aux
        || (lexicon().in_set("stative", &verb.lemma) || matches!(verb.lemma.as_str(), "want" | "need" | "miss" | "wish"))
            && verb.modal.is_none()
            && has_object
            && main.form == Some(VerbForm::Base)
            && !verb.negated
        || (first_word.is("been") || first_word.is("have") || first_word.is("am")) && verb.main > verb.start
        || first_word.is("can") && verb.cannot
        || first_word.is("do") && verb.negated && lexicon().in_set("stative", &verb.lemma)
        || verb.never && main.form != Some(VerbForm::Base);
    if speaks && has_object { Subject::Implied } else { Subject::Unknown }
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
        let open = clause.denied && !matches!(lemma.as_str(), "think" | "believe" | "feel" | "guess" | "suppose" | "reckon" | "figure");
        clause.unasserted |= lexicon().in_set("doubt", lemma) || host.unasserted || modal || asks || open;
    } else if host.hedged.is_some() && edge > host.at && p.chunks[edge.min(p.chunks.len() - 1)].kind == ChunkKind::Conj {
        clause.hedged.clone_from(&host.hedged);
        clause.unasserted |= host.unasserted;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::{normalise::clean, phrases, sentences, tags, tokens::tokenise};

    /// "subject words / verb lemma" of each clause.
    fn parse(text: &str) -> Vec<String> {
        let mut all = sentences::split(tokenise(&clean(text)));
        tags::tag(&mut all[0], &|_| false);
        let tokens = &all[0].tokens;
        let p = phrases::chunk(tokens);
        find_clauses(tokens, &p)
            .iter()
            .map(|c| {
                let subject = match &c.subject {
                    Subject::Nouns(n) => n.iter().map(|&n| tokens[p.nouns[n].head].text.clone()).collect::<Vec<_>>().join("+"),
                    other => format!("{other:?}"),
                };
                format!("{subject}/{}", p.verbs[c.verb].lemma)
            })
            .collect()
    }

    #[test]
    fn clauses_find_their_subjects() {
        for (text, expected) in [
            ("John likes Mary.", vec!["John/like"]),
            ("I like hiking and John hates swimming.", vec!["I/like", "John/hate"]),
            ("John and Mary like sushi.", vec!["John+Mary/like"]),
            ("I think John likes Mary.", vec!["I/think", "John/like"]),
            ("My boss Ingrid, who lives in Oslo, loves chess.", vec!["Ingrid/live", "Ingrid/love"]),
            ("My nephew Felix likes trains and hates broccoli.", vec!["Felix/like", "Felix/hate"]),
            ("The book about Buddhism is great.", vec!["book/be"]),
            ("Sold the bike last week.", vec!["Implied/sell"]),
            ("Use Vim for that.", vec!["Unknown/use"]),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
