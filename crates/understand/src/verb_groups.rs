//! Parses one verb group (auxiliaries, negation, adverbs, verb), and marks bare verbs in lists of infinitives.

use super::lexicon::{VerbForm, lexicon};
use super::phrases::{ChunkKind, Phrases, VerbGroup, VerbKind};
use super::tokens::{Pos, Token};

fn is_no_longer(tokens: &[Token], i: usize) -> bool {
    tokens[i].is("no") && tokens.get(i + 1).is_some_and(|t| t.is("longer") || t.is("more"))
}

#[allow(clippy::too_many_lines)]
pub(crate) fn parse_verb_group(tokens: &[Token], i: usize) -> Option<(VerbGroup, usize)> {
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
            g.cannot |= k > 0 && (tokens[k - 1].is("can") || tokens[k - 1].is("could"));
            // "not only" and "not just" do not negate.
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
        } else if t.pos == Pos::Aux
            && aux.last().is_some_and(|&a| tokens[a].lemma == "have" || tokens[a].lemma == "be")
            && matches!(t.norm.as_str(), "is" | "are" | "was" | "were" | "am")
        {
            // "the dog that my neighbor has is called Rex": two verbs.
            break;
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
            if t.lemma == "get"
                && tokens
                    .get(k + 1)
                    .is_some_and(|n| n.pos == Pos::Verb && matches!(n.form, Some(VerbForm::Past | VerbForm::Participle)) && !n.is("got"))
            {
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

/// Marks bare verbs of a list after "to" as infinitives: "to play soccer, hang out, and play games".
pub(crate) fn mark_listed_infinitives(tokens: &[Token], p: &mut Phrases) {
    let mut governed = false;
    for c in 0..p.chunks.len() {
        let ChunkKind::Verb(v) = p.chunks[c].kind else {
            if matches!(p.chunks[c].kind, ChunkKind::Mark | ChunkKind::Sub | ChunkKind::Rel) {
                governed = false;
            }
            continue;
        };
        let listed =
            c > 0 && matches!(p.chunks[c - 1].kind, ChunkKind::Conj | ChunkKind::Comma) && !tokens[p.chunks[c - 1].start].is("but");
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
