//! Finds what class the answer belongs to: "which city", "what kind of dog", "the clubs and choirs".

use super::{
    cues::{CueMatch, Form},
    lexicon::{entity_types_of, is_function_word, is_particle, names_class_of_things},
    words::Word,
};
use recall_domain::{EntityType, FirstPerson};

/// The class that the answer belongs to: "which city", "what kind of dog", "the clubs and choirs".
#[derive(Clone, Default, Debug)]
pub(super) struct Class {
    /// The entity types of its members; empty if the nouns do not say.
    pub(super) types: Vec<EntityType>,
    /// The nouns that name it.
    pub(super) nouns: Vec<String>,
    /// Positions of the nouns and of the words between them and the question word.
    pub(super) positions: Vec<usize>,
}

/// Finds the class nouns of a question.
pub(super) fn find_class(words: &[Word], taken: &[bool], cues: &[CueMatch]) -> Class {
    let in_cue = |i: usize| cues.iter().any(|c| !c.weak && c.positions.contains(&i));
    let opener = words.iter().position(|w| matches!(w.plain.as_str(), "what" | "which" | "whose" | "all" | "list" | "name"));
    if let Some(opener) = opener {
        // "which programming language": the words up to the class noun, unless a verb or a name comes first.
        let filler = |w: &Word| {
            is_function_word(w)
                && entity_types_of(w).is_none()
                && !matches!(w.plain.as_str(), "of" | "the" | "all" | "kind" | "type" | "sort" | "breed" | "kinds" | "types")
        };
        let nouns: Vec<usize> = (opener + 1..words.len()).take_while(|i| *i <= opener + 4 && !taken[*i] && !filler(&words[*i])).collect();
        let is_class = |i: usize| entity_types_of(&words[i]).is_some() && !(in_cue(i) && nouns.len() == 1 && i + 1 == words.len());
        if let Some(last) = nouns.iter().rposition(|i| is_class(*i)) {
            return Class::of(words, nouns[..=last].to_vec());
        }
        // "what kind of dog": a class without entity types.
        let is_kind = |n: usize| matches!(words[nouns[n]].plain.as_str(), "kind" | "type" | "sort" | "breed" | "kinds" | "types");
        let of = nouns.iter().position(|i| words[*i].plain == "of").filter(|n| *n > 0 && *n + 1 < nouns.len() && is_kind(*n - 1));
        if let Some(of) = of {
            let positions = nouns[..=of + 1].to_vec();
            let noun = words[nouns[of + 1]].plain.clone();
            return Class { types: Vec::new(), nouns: vec![noun], positions };
        }
    }
    // "my favourite food".
    let noun = cues.iter().find(|c| matches!(c.form, Form::Noun | Form::InverseNoun)).and_then(|c| c.positions.last());
    let next = noun.map(|i| i + 1).filter(|i| words.get(*i).is_some_and(|w| entity_types_of(w).is_some()));
    // "my hobbies": the noun of the relation names a class itself.
    let own = noun.copied().filter(|i| words.get(*i).is_some_and(|w| names_class_of_things(&w.plain)));
    next.or(own).map_or_else(Class::default, |position| Class::of(words, vec![position]))
}

impl Class {
    /// Whether an auxiliary follows: "which trade fairs did I go to".
    pub(super) fn is_object(&self, words: &[Word]) -> bool {
        let next = self.positions.last().and_then(|last| words.get(last + 1)).map_or("", |w| w.plain.as_str());
        matches!(next, "do" | "does" | "did" | "have" | "has" | "had" | "am" | "are" | "is" | "was" | "were")
    }

    /// Builds the class of the noun at the last position, with the nouns that "and" and "or" add: "companies or institutions".
    fn of(words: &[Word], mut positions: Vec<usize>) -> Self {
        let Some(mut last) = positions.last().copied() else { return Self::default() };
        let mut at = vec![last];
        while words.get(last + 1).is_some_and(|w| matches!(w.plain.as_str(), "and" | "or"))
            && words.get(last + 2).is_some_and(|w| w.plain.ends_with('s') && !is_function_word(w))
        {
            positions.extend([last + 1, last + 2]);
            last += 2;
            at.push(last);
        }
        let mut types = Vec::new();
        for class in at.iter().filter_map(|i| entity_types_of(&words[*i])).flatten() {
            if !types.contains(class) {
                types.push(*class);
            }
        }
        Self { types, nouns: at.iter().map(|i| words[*i].plain.clone()).collect(), positions }
    }
}

/// Returns the position of the noun in "what breed is the dog". "What city is the office in" asks for a place of its own.
pub(super) fn attribute(words: &[Word]) -> Option<usize> {
    let at = words.iter().position(|w| matches!(w.plain.as_str(), "what" | "which"))? + 1;
    let is_noun = words.get(at).is_some_and(|w| !is_function_word(w));
    let is_copula = words.get(at + 1).is_some_and(|w| matches!(w.plain.as_str(), "is" | "are" | "was" | "were"));
    let is_open = words.last().is_some_and(|w| is_particle(&w.plain) || is_function_word(w));
    (is_noun && is_copula && !is_open).then_some(at).or_else(|| owned_noun(words, at))
}

/// Returns the position of the noun in "what is my role" and "what is Ann's personal best".
fn owned_noun(words: &[Word], at: usize) -> Option<usize> {
    let is_owner = |w: &Word| w.possessive || FirstPerson::is_determiner(&w.plain);
    // In "what's my role", the copula is a part of the question word.
    let start = match words.get(at)?.plain.as_str() {
        "is" | "are" | "was" | "were" => at + 1,
        _ if is_owner(&words[at]) => at,
        _ => return None,
    };
    let ends = |i: &usize| is_function_word(&words[*i]) && !is_owner(&words[*i]);
    let end = (start..words.len()).find(ends).unwrap_or(words.len());
    let owner = (start..end).rev().find(|i| is_owner(&words[*i]))?;
    // "My phone is 0171…" tells the number of a phone without the word.
    (owner + 1..end).next_back().filter(|i| words[*i].plain != "number")
}
