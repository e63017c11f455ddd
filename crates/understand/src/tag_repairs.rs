//! Corrects part-of-speech tags by the neighbours of a word. Each rule has an example of its mistake.

use super::lexicon::{VerbForm, WordList, lexicon};
use super::tags::{closed_class, inside_unit};
use super::tokens::{Pos, Token};

pub(crate) fn repair_tags(tokens: &mut [Token], known: &[Option<(String, VerbForm)>]) {
    for i in 0..tokens.len() {
        if tokens[i].unit > 0 || inside_unit(tokens, i) {
            continue;
        }
        let before = previous_content(tokens, i);
        let next = tokens.get(i + 1).map(|t| (t.pos, t.norm.clone()));
        let norm = tokens[i].norm.clone();
        let pos = tokens[i].pos;
        let verbish = known[i].as_ref().map(|(_, f)| *f);
        let next_nominal = next.as_ref().is_some_and(|(p, _)| matches!(p, Pos::Noun | Pos::Propn | Pos::Adj));
        let new = match norm.as_str() {
            "to" => {
                let verb_next = (i + 1..tokens.len().min(i + 3)).find(|&k| tokens[k].pos != Pos::Adv).is_some_and(|k| {
                    matches!(known[k], Some((_, VerbForm::Base))) && !matches!(tokens[k].pos, Pos::Propn | Pos::Det) || tokens[k].is("be")
                });
                if verb_next { Pos::Part } else { Pos::Adp }
            }
            // "her" before a noun is a determiner, alone a pronoun.
            "her" if !next_nominal && !next.as_ref().is_some_and(|(p, _)| *p == Pos::Num) => Pos::Pron,
            "this" | "these" | "those" | "all" | "both" | "some" | "any" | "each" | "either"
                if !next_nominal && !matches!(next.as_ref().map(|n| n.0), Some(Pos::Num | Pos::Det | Pos::Verb)) =>
            {
                Pos::Pron
            }
            "that" if before.is_some_and(|b| matches!(tokens[b].pos, Pos::Adp | Pos::Verb)) && next_nominal => Pos::Det,
            "that" if i == 0 || before.is_some_and(|b| tokens[b].pos == Pos::Punct && b + 1 == i) => {
                if next_nominal {
                    Pos::Det
                } else {
                    Pos::Pron
                }
            }
            "that" if next.as_ref().is_none_or(|(p, _)| *p == Pos::Punct) => Pos::Pron,
            // "both love and hate"
            "both"
                if next.as_ref().is_some_and(|(p, _)| *p == Pos::Verb)
                    || before.is_some_and(|b| subject_pronoun(&tokens[b]))
                        && matches!(known.get(i + 1), Some(Some((_, VerbForm::Base)))) =>
            {
                Pos::Adv
            }
            "so" if next.as_ref().is_some_and(|(p, _)| matches!(p, Pos::Adj | Pos::Adv)) => Pos::Adv,
            "since" | "until" | "till" | "before" | "after" | "as" | "than" if clause_free(tokens, i) => Pos::Adp,
            "around" | "over" if next.as_ref().is_some_and(|(p, _)| *p == Pos::Num) => Pos::Adv,
            "no" if i == 0 && next.as_ref().is_none_or(|(p, _)| *p == Pos::Punct || *p == Pos::Intj) => Pos::Intj,
            "like" if like_is_verb(tokens, before) => Pos::Verb,
            "like" => Pos::Adp,
            "have" | "has" | "had" | "do" | "does" | "did" | "is" | "are" | "am" | "was" | "were" | "be" | "been" => Pos::Aux,
            // "Cooking is my passion"
            _ if verbish == Some(VerbForm::Gerund)
                && pos == Pos::Verb
                && tokens[..i].iter().all(|t| t.pos == Pos::Punct || t.pos == Pos::Intj)
                && next.as_ref().is_some_and(|(_, w)| matches!(w.as_str(), "is" | "was")) =>
            {
                Pos::Noun
            }
            // "fell in love with"
            "love" if i > 0 && tokens[i - 1].is("in") => Pos::Noun,
            // "Anna's favorite is chess"
            _ if pos == Pos::Adj
                && i > 0
                && (tokens[i - 1].is("'s") || tokens[i - 1].pos == Pos::Det)
                && next.as_ref().is_some_and(|n| n.0 == Pos::Aux) =>
            {
                Pos::Noun
            }
            // "my bro"
            _ if pos == Pos::Intj && i > 0 && tokens[i - 1].pos == Pos::Det => Pos::Noun,
            _ if verbish.is_some() && i > 1 && tokens[i - 1].is("longer") && tokens[i - 2].is("no") => Pos::Verb,
            _ if matches!(
                pos,
                Pos::Aux | Pos::Punct | Pos::Sym | Pos::Pron | Pos::Cconj | Pos::Part | Pos::Intj | Pos::Num | Pos::Sconj | Pos::Det
            ) && (pos != Pos::Det || closed_class(&norm).is_some()) =>
            {
                continue;
            }
            // "listen to music", "to podcasts": a preposition does not precede a verb.
            _ if pos == Pos::Verb
                && i > 0
                && tokens[i - 1].pos == Pos::Adp
                && matches!(verbish, None | Some(VerbForm::Base | VerbForm::ThirdPerson))
                && !matches!(tokens[i - 1].norm.as_str(), "up" | "out" | "off" | "down" | "over" | "around" | "in" | "on") =>
            {
                Pos::Noun
            }
            // "my favourite colour is blue"
            _ if pos == Pos::Adj
                && i > 0
                && tokens[i - 1].pos == Pos::Aux
                && lexicon().has(WordList::Concept, &norm)
                && names_colour(tokens) =>
            {
                Pos::Noun
            }
            // "I collect vinyl", "three goldfish": no noun follows that the adjective could modify.
            _ if pos == Pos::Adj && noun_slot(tokens, i, verbish) => Pos::Noun,
            // "in a spike": a noun follows an article.
            _ if pos == Pos::Verb
                && i > 0
                && tokens[i - 1].pos == Pos::Det
                && closed_class(&tokens[i - 1].norm).is_some()
                && !matches!(tokens[i - 1].norm.as_str(), "all" | "both" | "that" | "this" | "these" | "those" | "some" | "any")
                && !next_nominal =>
            {
                Pos::Noun
            }
            // "the billing rewrite": a base form does not agree with a singular noun.
            _ if pos == Pos::Verb && verbish == Some(VerbForm::Base) && compound(tokens, i) => Pos::Noun,
            // "Still loving it"
            _ if pos == Pos::Adj
                && verbish == Some(VerbForm::Gerund)
                && i > 0
                && tokens[..i].iter().all(|t| t.pos == Pos::Adv)
                && next_nominal =>
            {
                Pos::Verb
            }
            // "we use slack": the position requires a tool.
            _ if !tokens[i].capital && pos != Pos::Propn && tool_slot(tokens, i) => Pos::Noun,
            _ => match (verbish, before) {
                // "i love", "she works": a verb form after its subject.
                (Some(form), Some(b)) if subject_pronoun(&tokens[b]) && agrees(&tokens[b].norm, form) && pos != Pos::Adp => Pos::Verb,
                (Some(VerbForm::Base), Some(b))
                    if (tokens[b].pos == Pos::Aux && is_modal(&tokens[b].norm))
                        || (tokens[b].pos == Pos::Part && tokens[b].is("to")) && pos != Pos::Propn =>
                {
                    Pos::Verb
                }
                (Some(VerbForm::Base), Some(b)) if is_modal(&tokens[b].norm) => Pos::Verb,
                (Some(VerbForm::Past | VerbForm::Participle | VerbForm::Gerund), Some(b))
                    if tokens[b].pos == Pos::Aux && !determined(tokens, i) && pos != Pos::Propn =>
                {
                    Pos::Verb
                }
                // "been using", "keep using"
                (Some(VerbForm::Gerund), Some(b))
                    if tokens[b].pos == Pos::Verb
                        && pos == Pos::Noun
                        && next.as_ref().is_some_and(|(p, _)| matches!(p, Pos::Det | Pos::Propn | Pos::Noun | Pos::Adj | Pos::Pron)) =>
                {
                    Pos::Verb
                }
                // "meeting new people", "visiting the zoo"
                (Some(VerbForm::Gerund), _) if pos == Pos::Noun && !determined(tokens, i) && takes_object(tokens, i) => Pos::Verb,
                // "Sam handles the app", "Joao swears by it": a verb after a name, before its object.
                (Some(VerbForm::ThirdPerson), _)
                    if matches!(pos, Pos::Noun | Pos::Propn)
                        && !tokens[i].capital
                        && i > 0
                        && tokens[i - 1].pos == Pos::Propn
                        && object_follows(tokens, i) =>
                {
                    Pos::Verb
                }
                // "I work at X and report to Y"
                (Some(VerbForm::Base), Some(b))
                    if pos == Pos::Noun
                        && tokens[b].pos == Pos::Cconj
                        && object_follows(tokens, i)
                        && tokens[..b].iter().any(|t| t.pos == Pos::Verb)
                        && tokens[..b].iter().any(|t| matches!(t.norm.as_str(), "i" | "we" | "they"))
                        && !lexicon().has(WordList::Food, &norm) =>
                {
                    Pos::Verb
                }
                // "Wei leads the team and reports to Jo"
                (Some(VerbForm::ThirdPerson), Some(b))
                    if matches!(pos, Pos::Noun)
                        && tokens[b].pos == Pos::Cconj
                        && b + 1 == i
                        && object_follows(tokens, i)
                        && tokens[..b].iter().rev().find(|t| t.pos == Pos::Verb).is_some_and(|t| t.norm.ends_with('s'))
                        && lexicon().get(&norm).is_empty() =>
                {
                    Pos::Verb
                }
                // "my work", "the love": a noun after its determiner.
                (Some(VerbForm::Base | VerbForm::ThirdPerson), _) if pos == Pos::Verb && determined(tokens, i) => Pos::Noun,
                (Some(VerbForm::Gerund), _) if pos == Pos::Verb && determined(tokens, i) => Pos::Noun,
                (Some(VerbForm::Past | VerbForm::Participle), _) if pos == Pos::Verb && determined(tokens, i) && next_nominal => Pos::Adj,
                // "to cook, travel, and eat": bare verbs of a list that began with "to".
                (Some(VerbForm::Base), Some(b)) if pos != Pos::Propn && listed_infinitive(tokens, i, b) => Pos::Verb,
                _ => continue,
            },
        };
        if new != pos {
            tokens[i].repaired = !matches!(new, Pos::Part | Pos::Adp | Pos::Pron | Pos::Aux) && norm != "like";
            tokens[i].pos = new;
        }
    }
}

/// Whether a base form ends a compound noun: after a determiner and a singular noun, without an object.
fn compound(tokens: &[Token], i: usize) -> bool {
    let closed_off = tokens.get(i + 1).is_none_or(|n| matches!(n.pos, Pos::Punct | Pos::Cconj | Pos::Adp));
    let singular = i >= 2 && tokens[i - 1].pos == Pos::Noun && !tokens[i - 1].norm.ends_with('s') && tokens[i - 2].pos == Pos::Det;
    let driven = tokens[..i.saturating_sub(1)].iter().any(|t| {
        is_modal(&t.norm)
            || matches!(
                t.norm.as_str(),
                "make"
                    | "makes"
                    | "made"
                    | "let"
                    | "help"
                    | "helped"
                    | "see"
                    | "saw"
                    | "watch"
                    | "watched"
                    | "hear"
                    | "heard"
                    | "have"
                    | "had"
            )
    });
    closed_off && singular && !driven
}

/// Whether an adjective is where only a noun can be: after a number or a verb of having or liking, with no noun after it.
fn noun_slot(tokens: &[Token], i: usize, verbish: Option<VerbForm>) -> bool {
    let Some(b) = i.checked_sub(1).map(|b| &tokens[b]) else { return false };
    let alone = tokens.get(i + 1).is_none_or(|n| matches!(n.pos, Pos::Punct | Pos::Cconj | Pos::Adp | Pos::Sconj | Pos::Intj));
    let listed = lexicon().get(&tokens[i].norm).iter().any(|e| {
        e.common
            && matches!(
                e.group,
                WordList::Animal | WordList::Object | WordList::Food | WordList::Activity | WordList::Concept | WordList::Person
            )
    });
    let colour = lexicon().in_set("plain_adjectives", &tokens[i].norm);
    let transitive = b.pos == Pos::Verb
        && super::lemma::known_verb(&b.norm, &|_| false).is_some_and(|(lemma, _)| lexicon().in_set("takes_noun", &lemma));
    let listed_concept = transitive && lexicon().has(WordList::Concept, &tokens[i].norm);
    let of_colour = matches!(b.norm.as_str(), "color" | "colour") && lexicon().has(WordList::Concept, &tokens[i].norm);
    if alone && (listed_concept || of_colour) {
        return true;
    }
    // "Farah from legal"
    let department = lexicon().head(&tokens[i].norm) == Some(recall_domain::EntityType::Organization);
    if alone && department && matches!(b.norm.as_str(), "from" | "in" | "with") {
        return true;
    }
    alone
        && !colour
        && verbish.is_none()
        && (b.pos == Pos::Num || transitive || listed && matches!(b.pos, Pos::Det | Pos::Cconj | Pos::Adp | Pos::Adj))
}

fn names_colour(tokens: &[Token]) -> bool {
    tokens.iter().any(|t| matches!(t.norm.as_str(), "color" | "colour" | "colors" | "colours"))
}

fn takes_object(tokens: &[Token], i: usize) -> bool {
    let Some(next) = tokens.get(i + 1) else { return false };
    match next.pos {
        Pos::Det => !matches!(next.norm.as_str(), "this" | "that"),
        Pos::Adj => tokens.get(i + 2).is_some_and(Token::nominal),
        _ => false,
    }
}

fn object_follows(tokens: &[Token], i: usize) -> bool {
    tokens.get(i + 1).is_some_and(|n| matches!(n.pos, Pos::Det | Pos::Propn | Pos::Adp | Pos::Part | Pos::Pron) || n.is("to"))
        && !tokens.get(i + 1).is_some_and(|n| n.is("'s") || matches!(n.norm.as_str(), "i" | "we" | "he" | "she" | "they"))
}

/// Returns the word before `i`, skipping adverbs and "not".
fn previous_content(tokens: &[Token], i: usize) -> Option<usize> {
    (0..i).rev().take(4).find(|&k| tokens[k].pos != Pos::Adv && !tokens[k].is("not"))
}

fn subject_pronoun(t: &Token) -> bool {
    matches!(t.norm.as_str(), "i" | "we" | "you" | "they" | "he" | "she" | "it" | "who")
}

fn agrees(pronoun: &str, form: VerbForm) -> bool {
    match form {
        VerbForm::Base => matches!(pronoun, "i" | "we" | "you" | "they" | "who"),
        VerbForm::ThirdPerson => matches!(pronoun, "he" | "she" | "it" | "who"),
        VerbForm::Past => true,
        VerbForm::Participle | VerbForm::Gerund => false,
    }
}

fn is_modal(word: &str) -> bool {
    matches!(word, "will" | "would" | "can" | "could" | "shall" | "should" | "may" | "might" | "must" | "do" | "does" | "did")
}

/// Whether a determiner, a possessive or an adjective after one directly precedes `i`.
fn determined(tokens: &[Token], i: usize) -> bool {
    let Some(b) = i.checked_sub(1) else { return false };
    match tokens[b].pos {
        Pos::Det => true,
        Pos::Adj | Pos::Noun => (b.saturating_sub(2)..b).rev().any(|k| tokens[k].pos == Pos::Det) && tokens[b].pos == Pos::Adj,
        _ => tokens[b].is("'s") && i >= 2 && tokens[i - 2].pos != Pos::Pron && !tokens[i - 2].is("there"),
    }
}

fn like_is_verb(tokens: &[Token], before: Option<usize>) -> bool {
    let Some(b) = before else { return false };
    let t = &tokens[b];
    subject_pronoun(t)
        || is_modal(&t.norm)
        || t.is("to") && tokens[b].pos == Pos::Part
        || t.is("to")
        || t.pos == Pos::Cconj && tokens[..b].iter().any(|t| t.is("like") || t.pos == Pos::Verb)
        || (t.nominal() && !tokens[..=b].iter().any(|t| matches!(t.pos, Pos::Verb | Pos::Aux)))
}

/// Whether no finite clause follows: "since 2019", "before lunch".
fn clause_free(tokens: &[Token], i: usize) -> bool {
    let rest = &tokens[i + 1..];
    let end = rest.iter().position(|t| t.pos == Pos::Punct || t.pos == Pos::Cconj).unwrap_or(rest.len()).min(5);
    !rest[..end].iter().enumerate().any(|(k, t)| {
        t.pos == Pos::Aux
            || (k > 0 && subject_pronoun(&rest[k - 1]) && t.pos != Pos::Punct)
            || subject_pronoun(t)
            || (k > 0 && t.pos == Pos::Verb)
    })
}

/// Whether an ambiguous tool name is where a tool is likely: after "use", or after the preposition of a switch.
fn tool_slot(tokens: &[Token], i: usize) -> bool {
    let Some(before) = i.checked_sub(1).map(|b| &tokens[b]) else { return false };
    let listed = lexicon().get(&tokens[i].norm).iter().any(|e| e.group == WordList::Tool && e.ambiguous);
    let free = tokens.get(i + 1).is_none_or(|n| !n.nominal());
    let using = matches!(before.norm.as_str(), "use" | "using" | "used" | "uses");
    let switched = matches!(before.norm.as_str(), "to" | "from")
        && tokens[..i].iter().any(|t| t.norm.starts_with("switch") || t.norm.starts_with("migrat"));
    listed && free && (using || switched)
}

fn listed_infinitive(tokens: &[Token], i: usize, b: usize) -> bool {
    if !(tokens[b].pos == Pos::Cconj || tokens[b].is(",")) || matches!(tokens[i].pos, Pos::Adj | Pos::Adp) {
        return false;
    }
    let from = i.saturating_sub(14);
    let governed = (from + 1..i).any(|k| tokens[k].pos == Pos::Verb && (tokens[k - 1].is("to") && tokens[k - 1].pos == Pos::Part));
    let broken = tokens[from..i].iter().any(|t| matches!(t.norm.as_str(), ";" | "." | "—"));
    governed && !broken && !lexicon().has(WordList::Activity, &tokens[i].norm) && !lexicon().has(WordList::Food, &tokens[i].norm)
}
