//! Tagged words to phrases: noun phrases, verb groups, and the small words between them.

use super::lexicon::{Group, VerbForm, lexicon};
use super::tokens::{Pos, Token};

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
    fn at(i: usize) -> Self {
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
        let next = step(tokens, i, &mut p);
        i = next.max(i + 1);
    }
    listed_infinitives(tokens, &mut p);
    appositions(tokens, &mut p);
    p
}

fn step(tokens: &[Token], i: usize, p: &mut Phrases) -> usize {
    let t = &tokens[i];
    if t.is("\"") && let Some(next) = quotation(tokens, i, p) {
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
    if t.is("not") && opens && tokens.get(i + 1).is_some_and(|n| matches!(n.pos, Pos::Det | Pos::Adj | Pos::Adv | Pos::Adp)) {
        p.verbs.push(VerbGroup { lemma: "be".to_owned(), negated: true, be: Some(i), end: i + 1, ..VerbGroup::at(i) });
        p.chunks.push(Chunk { kind: ChunkKind::Verb(p.verbs.len() - 1), start: i, end: i + 1 });
        return i + 1;
    }
    if let Some((mut group, end)) = verb_group(tokens, i) {
        // "Still loving it": so too.
        if group.kind == VerbKind::Gerund && opens && group.start < group.main {
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

/// "to play soccer, hang out, and play games": bare verbs of a list that began with "to" belong to it.
fn listed_infinitives(tokens: &[Token], p: &mut Phrases) {
    let mut governed = false;
    for c in 0..p.chunks.len() {
        let ChunkKind::Verb(v) = p.chunks[c].kind else {
            if matches!(p.chunks[c].kind, ChunkKind::Mark | ChunkKind::Sub | ChunkKind::Rel) {
                governed = false;
            }
            continue;
        };
        let listed = c > 0 && matches!(p.chunks[c - 1].kind, ChunkKind::Conj | ChunkKind::Comma) && !tokens[p.chunks[c - 1].start].is("but");
        let g = &mut p.verbs[v];
        let bare = g.start == g.main && tokens[g.main].form == Some(VerbForm::Base) && !lexicon().in_set("stative", &g.lemma);
        match g.kind {
            VerbKind::Infinitive => governed = true,
            VerbKind::Finite if listed && bare && governed => g.kind = VerbKind::Infinitive,
            VerbKind::Finite => governed = false,
            VerbKind::Gerund => {}
        }
    }
}

/// A quotation is not mined; a short one in title case is a name.
fn quotation(tokens: &[Token], i: usize, p: &mut Phrases) -> Option<usize> {
    let close = (i + 1..tokens.len()).find(|&k| tokens[k].is("\""))?;
    if close == i + 1 {
        return None;
    }
    let inner = &tokens[i + 1..close];
    let words: Vec<&Token> = inner.iter().filter(|t| t.pos != Pos::Punct).collect();
    let small = |t: &&&Token| !t.capital && !matches!(t.pos, Pos::Adp | Pos::Det | Pos::Cconj | Pos::Part | Pos::Num);
    let lone_small_word = words.len() == 1 && matches!(words[0].pos, Pos::Pron | Pos::Det | Pos::Sconj | Pos::Intj);
    let title = !words.is_empty() && !lone_small_word && words.len() <= 8 && words.iter().filter(small).count() == 0 && !matches!(words[0].norm.as_str(), "i");
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

fn is_no_longer(tokens: &[Token], i: usize) -> bool {
    tokens[i].is("no") && tokens.get(i + 1).is_some_and(|t| t.is("longer") || t.is("more"))
}

#[allow(clippy::too_many_lines)]
fn verb_group(tokens: &[Token], i: usize) -> Option<(VerbGroup, usize)> {
    let mut g = VerbGroup::at(i);
    let mut k = i;
    let mut aux: Vec<usize> = Vec::new();
    let mut main = None;
    let mut infinitive = false;
    while let Some(t) = tokens.get(k) {
        if is_no_longer(tokens, k) {
            g.no_longer = true;
            k += 2;
        } else if t.is("not") {
            g.negated = true;
            g.cannot |= k > 0 && tokens[k - 1].is("can") || k > 0 && tokens[k - 1].is("could");
            // "not only", "not just" deny nothing
            if tokens.get(k + 1).is_some_and(|n| n.is("only") || n.is("just")) {
                g.negated = false;
            }
            k += 1;
        } else if t.pos == Pos::Adv && !t.clitic && !(t.is("back") || t.is("away") || t.is("together")) {
            match t.norm.as_str() {
                "never" => (g.never, g.negated) = (true, true),
                "hardly" | "rarely" | "barely" => g.almost = true,
                "almost" | "nearly" => g.almost = true,
                _ => {}
            }
            k += 1;
        } else if t.pos == Pos::Part && t.is("to") {
            let after = aux.last().is_some_and(|&a| tokens[a].lemma == "have");
            if aux.is_empty() && k == i {
                infinitive = true;
            } else if after {
                g.modal = Some("have to".to_owned());
            } else {
                break;
            }
            k += 1;
        } else if t.pos == Pos::Aux {
            match t.norm.as_str() {
                "will" | "would" | "can" | "could" | "shall" | "should" | "may" | "might" | "must" => {
                    // "'d" before a participle is "had".
                    let participle = tokens.get(k + 1).is_some_and(|n| n.is("been") || n.is("better"));
                    if !(t.is("would") && t.clitic && participle) {
                        g.modal = Some(t.norm.clone());
                    }
                }
                "was" | "were" | "did" | "had" => g.past = true,
                _ => {}
            }
            if t.lemma == "be" {
                g.be = Some(k);
            }
            aux.push(k);
            k += 1;
        } else if t.pos == Pos::Verb {
            let to_follows = tokens.get(k + 1).is_some_and(|n| n.is("to") && n.pos == Pos::Part);
            let after_be = aux.last().is_some_and(|&a| tokens[a].lemma == "be");
            if t.is("used") && to_follows && !after_be {
                g.used_to = true;
                g.past = true;
                k += 2;
                continue;
            }
            if t.is("going") && to_follows && (after_be || aux.is_empty()) {
                g.modal = Some("going to".to_owned());
                k += 2;
                continue;
            }
            // "got hired": a passive.
            if t.lemma == "get" && tokens.get(k + 1).is_some_and(|n| n.pos == Pos::Verb && matches!(n.form, Some(VerbForm::Past | VerbForm::Participle)) && !n.is("got")) {
                g.be = Some(k);
                g.past |= t.form == Some(VerbForm::Past);
                aux.push(k);
                k += 1;
                continue;
            }
            main = Some(k);
            k += 1;
            break;
        } else {
            break;
        }
    }
    let verb = match (main, aux.last()) {
        (Some(m), _) => m,
        (None, Some(&a)) if !infinitive || tokens[a].lemma == "be" || tokens[a].lemma == "have" || tokens[a].lemma == "do" => a,
        _ => return None,
    };
    if main.is_none() {
        // Adverbs after a lone auxiliary belong to what follows only when an article or noun does.
        aux.pop();
    }
    let form = tokens[verb].form.unwrap_or(VerbForm::Base);
    let after_be = aux.iter().any(|&a| matches!(tokens[a].lemma.as_str(), "be" | "get"));
    g.passive = main.is_some() && after_be && matches!(form, VerbForm::Past | VerbForm::Participle);
    g.progressive = main.is_some() && after_be && form == VerbForm::Gerund;
    g.past |= form == VerbForm::Past && aux.is_empty();
    g.kind = if infinitive {
        VerbKind::Infinitive
    } else if aux.is_empty() && form == VerbForm::Gerund && g.modal.is_none() {
        VerbKind::Gerund
    } else {
        VerbKind::Finite
    };
    if main.is_none() && tokens[verb].lemma == "be" {
        g.be = Some(verb);
    }
    g.lemma.clone_from(&tokens[verb].lemma);
    g.main = verb;
    g.end = k;
    Some((g, k))
}

const PARTITIVES: &[&str] = &[
    "lot", "lots", "couple", "bunch", "few", "pair", "ton", "tons", "number", "kind", "kinds", "sort", "bit", "piece", "type", "types", "one", "some", "all",
    "most", "many", "half", "each", "both", "plenty", "loads", "rest", "variety", "cup", "glass", "slice", "set", "any",
];

/// "a lot of", "one of": the position after it.
fn partitive(tokens: &[Token], i: usize) -> Option<usize> {
    for skip in 0..3 {
        let t = tokens.get(i + skip)?;
        if PARTITIVES.contains(&t.norm.as_str()) && tokens.get(i + skip + 1).is_some_and(|n| n.is("of")) {
            return tokens.get(i + skip + 2).is_some_and(|n| !matches!(n.pos, Pos::Punct | Pos::Pron | Pos::Verb)).then_some(i + skip + 2);
        }
        if !matches!(t.pos, Pos::Det | Pos::Adj | Pos::Adv) {
            return None;
        }
    }
    None
}

fn owner_of(word: &str) -> Owner {
    match word {
        "my" | "our" => Owner::Speaker,
        "your" => Owner::Addressee,
        "his" | "her" | "its" | "their" | "whose" => Owner::Third,
        _ => Owner::Nobody,
    }
}

/// Whether a common noun may stand before a name and say what it is: "my friend Joao", "project Phoenix".
pub(crate) fn is_title(lemma: &str) -> bool {
    let lex = lexicon();
    lex.get(lemma).iter().any(|e| matches!(e.group, Group::Person | Group::Animal))
        || lex.head(lemma).is_some()
        || super::cues::is_person_noun(lemma)
}

#[allow(clippy::too_many_lines)]
fn noun_phrase(tokens: &[Token], i: usize, p: &mut Phrases) -> Option<(NounPhrase, usize)> {
    let mut np = NounPhrase {
        start: i,
        end: i + 1,
        core: i,
        head: i,
        owner: Owner::Nobody,
        det: None,
        pronoun: false,
        opaque: false,
        title: false,
        given: None,
        apposition: None,
    };
    let t = &tokens[i];
    if t.pos == Pos::Sym {
        np.opaque = true;
        return Some((np, i + 1));
    }
    if t.pos == Pos::Pron {
        np.pronoun = true;
        return Some((np, i + 1));
    }
    let mut k = partitive(tokens, i).unwrap_or(i);
    let mut determined = k > i;
    while let Some(t) = tokens.get(k).filter(|t| t.pos == Pos::Det) {
        np.det = Some(k);
        if owner_of(&t.norm) != Owner::Nobody {
            np.owner = owner_of(&t.norm);
        }
        determined = true;
        k += 1;
    }
    np.core = k;
    let mut last: Option<usize> = None;
    let mut any_adjective = false;
    while let Some(t) = tokens.get(k) {
        if t.unit > 0 {
            if last.is_some_and(|l| breaks(&tokens[l], t)) {
                break;
            }
            last = Some(k + t.unit - 1);
            k += t.unit;
            continue;
        }
        match t.pos {
            Pos::Noun | Pos::Propn => {
                if last.is_some_and(|l| breaks(&tokens[l], t)) {
                    break;
                }
                last = Some(k);
            }
            Pos::Num => {}
            Pos::Adj if last.is_none() => {
                any_adjective = true;
            }
            Pos::Adj if t.capital && last.is_some() => last = Some(k),
            Pos::Adv if last.is_none() && (determined || k > np.core) && tokens.get(k + 1).is_some_and(|n| n.pos == Pos::Adj || n.pos == Pos::Adv) => {}
            Pos::Verb if last.is_none() && determined && tokens.get(k + 1).is_some_and(Token::nominal) && matches!(t.form, Some(VerbForm::Gerund | VerbForm::Past | VerbForm::Participle)) => {}
            // "Lord of the Rings", "University of Ghent"
            Pos::Adp if t.is("of") && last == k.checked_sub(1) && tokens[k - 1].pos == Pos::Propn && tokens[k - 1].capital => {
                let n = k + 1 + usize::from(tokens.get(k + 1).is_some_and(|n| n.is("the")));
                if !tokens.get(n).is_some_and(|n| n.pos == Pos::Propn && n.capital) {
                    break;
                }
                k = n;
                continue;
            }
            Pos::Part if t.is("'s") && last.is_some() => {
                let mut inner = np.clone();
                inner.end = k;
                inner.head = last.unwrap_or(k);
                p.nouns.push(inner);
                np.owner = Owner::Phrase(p.nouns.len() - 1);
                np.core = k + 1;
                np.det = None;
                last = None;
                determined = true;
            }
            // "the kids' room"
            Pos::Punct if t.is("'") && last == k.checked_sub(1) && tokens.get(k + 1).is_some_and(Token::nominal) => break,
            _ => break,
        }
        k += 1;
    }
    let Some(head) = last else {
        if let Owner::Phrase(n) = np.owner {
            // "at Dave's": the owner alone.
            let inner = p.nouns[n].clone();
            return Some((inner, np.core));
        }
        if determined && np.core > i || tokens[i].pos == Pos::Num {
            np.head = k.max(i + 1) - 1;
            np.end = k.max(i + 1);
            np.pronoun = !any_adjective && tokens[i].pos == Pos::Det;
            return Some((np.clone(), np.end));
        }
        return None;
    };
    np.head = head;
    np.end = head + 1;
    named(tokens, &mut np);
    let end = np.end;
    Some((np, end))
}

/// Whether a noun phrase ends between two nouns: "last week Sarah", "I told mum Berlin".
fn breaks(before: &Token, next: &Token) -> bool {
    let lex = lexicon();
    if matches!(next.norm.as_str(), "yesterday" | "today" | "tomorrow" | "tonight") {
        return true;
    }
    if lex.in_set("time", &before.norm) && next.pos == Pos::Propn {
        return true;
    }
    if before.pos == Pos::Noun && next.pos == Pos::Propn {
        return !is_title(&before.lemma);
    }
    // A time noun after a name starts an adverbial: "Kyoto one day", "Sarah last week".
    before.pos == Pos::Propn && next.pos == Pos::Noun && lex.in_set("time", &next.norm)
}

/// "a lab named Trooper", "a dog called Rex".
fn named(tokens: &[Token], np: &mut NounPhrase) {
    let mut k = np.end;
    if tokens.get(k).is_some_and(|t| t.is(",")) {
        k += 1;
    }
    if !tokens.get(k).is_some_and(|t| matches!(t.norm.as_str(), "named" | "called" | "nicknamed")) {
        return;
    }
    let start = k + 1;
    let mut end = start;
    while tokens.get(end).is_some_and(|t| t.pos == Pos::Propn || (t.capital && t.pos != Pos::Punct)) {
        end += 1;
    }
    if end == start && tokens.get(start).is_some_and(Token::nominal) {
        end += 1;
    }
    if end > start {
        np.given = Some((start, end));
        np.end = end;
    }
}

/// Joins phrases that stand for the same thing: "my sister, Anna," and "Anna, my sister,".
fn appositions(tokens: &[Token], p: &mut Phrases) {
    let mut i = 0;
    while i + 2 < p.chunks.len() {
        let (ChunkKind::Noun(a), ChunkKind::Comma | ChunkKind::Mark, ChunkKind::Noun(b)) = (p.chunks[i].kind, p.chunks[i + 1].kind, p.chunks[i + 2].kind) else {
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
        let separator_comma = p.chunks[i + 1].kind == ChunkKind::Comma || tokens[p.chunks[i + 1].start].norm.starts_with('—') || tokens[p.chunks[i + 1].start].is("(");
        if !closed || list || !separator_comma || p.nouns[a].pronoun || p.nouns[b].pronoun || p.nouns[b].opaque {
            i += 1;
            continue;
        }
        let proper = |n: &NounPhrase| tokens[n.head].pos == Pos::Propn && n.owner == Owner::Nobody && (n.core..n.end).all(|k| tokens[k].pos == Pos::Propn || tokens[k].pos == Pos::Adp);
        let role = |n: &NounPhrase| tokens[n.head].pos == Pos::Noun && n.given.is_none() && (n.owner != Owner::Nobody || n.det.is_some()) && is_title(&tokens[n.head].lemma);
        if role(&p.nouns[a]) && proper(&p.nouns[b]) && p.nouns[a].owner != Owner::Addressee {
            p.nouns[a].given = Some((p.nouns[b].start, p.nouns[b].end));
        } else if proper(&p.nouns[a]) && describes(tokens, p, b) {
            p.nouns[a].apposition = Some(b);
        } else {
            i += 1;
            continue;
        }
        let gone = if after.is_some_and(|c| c.kind == ChunkKind::Comma || (c.kind == ChunkKind::Mark && !tokens[c.start].is("("))) && p.chunks.get(i + 4).is_none_or(|c| c.kind != ChunkKind::Conj) { 3 } else { 2 };
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
    let own = n.owner == Owner::Speaker && is_title(&tokens[n.head].lemma) || matches!(n.owner, Owner::Phrase(_)) && is_title(&tokens[n.head].lemma);
    let the = n.det.is_some_and(|d| tokens[d].is("the")) && lexicon().has(Group::Person, &tokens[n.head].lemma);
    tokens[n.head].pos == Pos::Noun && (indefinite || own || the)
}
