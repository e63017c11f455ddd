//! Allergies: "S has a peanut allergy", "S is lactose intolerant".

use recall_domain::Polarity;

use super::{ValueFrame, ValueRelation};
use crate::clauses::Clause;
use crate::lexicon::lexicon;
use crate::mentions::text_of;
use crate::reader::Reader;

impl Reader<'_> {
    /// Reads an allergen in front of "allergy", "allergic" or "intolerant". "Allergic to" is a cue of the ontology.
    pub(super) fn read_allergy(&mut self, relation: &ValueRelation, clause: &Clause, frame: &ValueFrame) {
        let g = &self.phrases.verbs[clause.verb];
        let limit = self.phrases.chunks[clause.end.max(1) - 1].end;
        let words: &[&str] = match g.lemma.as_str() {
            "have" | "get" | "suffer" | "develop" => &["allergy", "allergies", "intolerance", "intolerances"],
            "be" => &["intolerant", "allergic"],
            _ => return,
        };
        let Some(at) = (g.end..limit.min(self.tokens.len())).find(|&i| words.contains(&self.tokens[i].norm.as_str())) else { return };
        let no = self.tokens[g.end..at].iter().any(|t| t.is("no"));
        let polarity = if no { Polarity::Negated } else { frame.polarity };
        let frame = ValueFrame { polarity, ..frame.clone() };
        let mut i = g.end;
        while i < at {
            let two = || (i + 1 < at).then(|| text_of(self.tokens, i, i + 2)).filter(|w| lexicon().in_set("allergens", &w.to_lowercase()));
            let one = || Some(text_of(self.tokens, i, i + 1)).filter(|w| lexicon().in_set("allergens", &w.to_lowercase()));
            let (found, length) = two().map_or_else(|| (one(), 1), |w| (Some(w), 2));
            if let Some(allergen) = found {
                self.add_text(relation, &frame, &plural(&allergen), at + 1);
            }
            i += length;
        }
    }
}

/// Returns the allergen as people name it: "peanut" in "a peanut allergy" is an allergy to peanuts.
fn plural(allergen: &str) -> String {
    let counted = [
        "nut",
        "egg",
        "berry",
        "peanut",
        "almond",
        "walnut",
        "cashew",
        "hazelnut",
        "pistachio",
        "cat",
        "dog",
        "horse",
        "apple",
        "banana",
        "tomato",
        "kiwi",
        "avocado",
        "mite",
        "pet",
    ];
    let lower = allergen.to_lowercase();
    match counted.iter().any(|c| lower.ends_with(c)) {
        true if lower.ends_with("tomato") => format!("{allergen}es"),
        true => format!("{allergen}s"),
        false if lower.ends_with("berry") => format!("{}ies", allergen.trim_end_matches('y')),
        false => allergen.to_owned(),
    }
}
