//! The verb of a sentence in which the tagger found none: "Anna mentors Ben".

use super::lexicon::VerbForm;
use super::tokens::{Pos, Token};

/// A sentence with a subject and no verb hides one in a noun: "Anna mentors Ben".
pub(crate) fn missing_verb(tokens: &mut [Token], known: &[Option<(String, VerbForm)>]) {
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
        // "Sara, who I met at PyCon, now works …": what is finite there is the relative clause.
        let relative = (start..end).any(|k| tokens[k].is("who") && k > start && tokens[k - 1].is(","));
        let finite = finite && !(relative && tokens[start..end].iter().filter(|t| matches!(t.pos, Pos::Verb | Pos::Aux)).count() == 1);
        if !finite && end > start {
            let candidate = (start + 1..end).find(|&k| {
                let before = &tokens[k - 1];
                matches!(tokens[k].pos, Pos::Noun | Pos::Adj)
                    && tokens[k].unit == 0
                    && matches!(known[k], Some((_, VerbForm::Third | VerbForm::Past | VerbForm::Base)))
                    && (before.nominal()
                        || before.pos == Pos::Adv
                            && k >= 2
                            && (tokens[k - 2].nominal() || tokens[k - 2].is(",") && matches!(known[k], Some((_, VerbForm::Third))))
                        || before.is(",")
                            && matches!(known[k], Some((_, VerbForm::Third)))
                            && tokens[start..k - 1].iter().any(|t| t.pos == Pos::Propn))
                    && (before.pos == Pos::Propn || before.is(",") || !matches!(known[k], Some((_, VerbForm::Base))) || plural(before))
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

fn plural(t: &Token) -> bool {
    t.norm.ends_with('s') || matches!(t.norm.as_str(), "people" | "kids" | "children")
}
