//! Finds the verb of a clause that the tagger tagged as a noun: "Anna mentors Ben".

use super::lexicon::{VerbForm, lexicon};
use super::tokens::{Pos, Token};

/// Retags one noun or adjective as a verb in each clause that has no finite verb.
pub(crate) fn restore_missing_verb(tokens: &mut [Token], known: &[Option<(String, VerbForm)>]) {
    let mut start = 0;
    for end in 0..=tokens.len() {
        let boundary = end == tokens.len()
            || tokens[end].is(";")
            || (tokens[end].pos == Pos::Cconj && end > start + 2)
            || tokens[end].pos == Pos::Sconj
            || matches!(tokens[end].norm.as_str(), "—" | ":" | "(" | ")");
        if !boundary {
            continue;
        }
        let finite =
            (start..end).any(|k| matches!(tokens[k].pos, Pos::Aux) || tokens[k].pos == Pos::Verb && !(k > 0 && tokens[k - 1].is("to")));
        // "Sara, who I met at PyCon, now works …": the only finite verb belongs to the relative clause.
        let relative = (start..end).any(|k| tokens[k].is("who") && k > start && tokens[k - 1].is(","));
        let finite = finite && !(relative && tokens[start..end].iter().filter(|t| matches!(t.pos, Pos::Verb | Pos::Aux)).count() == 1);
        // "Jim doubts that …"
        let tells = |k: usize| {
            let is_telling =
                known[k].as_ref().is_some_and(|(lemma, form)| *form == VerbForm::ThirdPerson && lexicon().in_set("say", lemma));
            k + 1 == end && is_telling && tokens[k - 1].pos == Pos::Propn && tokens.get(end).is_some_and(|t| t.is("that"))
        };
        if !finite && end > start {
            let candidate = (start + 1..end).find(|&k| {
                let before = &tokens[k - 1];
                if tells(k) && tokens[k].pos == Pos::Noun {
                    return true;
                }
                matches!(tokens[k].pos, Pos::Noun | Pos::Adj)
                    && tokens[k].unit == 0
                    && matches!(known[k], Some((_, VerbForm::ThirdPerson | VerbForm::Past | VerbForm::Base)))
                    && (before.nominal()
                        || before.pos == Pos::Adv
                            && k >= 2
                            && (tokens[k - 2].nominal() || tokens[k - 2].is(",") && matches!(known[k], Some((_, VerbForm::ThirdPerson))))
                        || before.is(",")
                            && matches!(known[k], Some((_, VerbForm::ThirdPerson)))
                            && tokens[start..k - 1].iter().any(|t| t.pos == Pos::Propn))
                    && (before.pos == Pos::Propn || before.is(",") || !matches!(known[k], Some((_, VerbForm::Base))) || is_plural(before))
                    && tokens.get(k + 1).is_none_or(|n| {
                        matches!(
                            n.pos,
                            Pos::Det
                                | Pos::Noun
                                | Pos::Propn
                                | Pos::Adp
                                | Pos::Pron
                                | Pos::Adj
                                | Pos::Num
                                | Pos::Part
                                | Pos::Adv
                                | Pos::Verb
                        )
                    })
                    && k + 1 < end
            });
            if let Some(k) = candidate {
                tokens[k].pos = Pos::Verb;
                tokens[k].repaired = tokens[k - 1].pos != Pos::Propn && !tokens[k - 1].is(",");
            }
        }
        start = end + 1;
    }
}

fn is_plural(t: &Token) -> bool {
    t.norm.ends_with('s') || matches!(t.norm.as_str(), "people" | "kids" | "children")
}
