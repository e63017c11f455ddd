//! What a question asks for: which thing, which relation, which side of it. Reads the question and the names in
//! its context, and looks at no fact.

use super::{
    cues::{CueBook, CueMatch},
    words::{Word, class_of, is_asking, is_first_person, is_function, words},
};
use crate::domain::{Entity, EntityId, EntityType};

/// The question word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asks {
    Who,
    Where,
    What,
    When,
    /// Why and how: facts do not answer these, messages may.
    Reason,
    /// "Does…", "Is…".
    Whether,
}

/// Which time is asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tense {
    /// Now, or at any time.
    Open,
    /// What was and is no more.
    Past,
}

/// A name in the question.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Named {
    /// All entities that go by it.
    pub(super) entities: Vec<EntityId>,
    /// First word and one past the last.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) possessive: bool,
}

/// A question, read.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) words: Vec<Word>,
    pub(super) asks: Asks,
    pub(super) tense: Tense,
    pub(super) named: Vec<Named>,
    pub(super) cues: Vec<CueMatch>,
    /// Types that a class noun asks for ("which city"), when there is one.
    pub(super) class: Option<&'static [EntityType]>,
    /// The class noun itself.
    pub(super) class_word: Option<String>,
    /// Places of class nouns and what stands between them and the question word.
    pub(super) class_places: Vec<usize>,
}

/// The part of a message that asks: its last sentence with a question mark, or all of it.
fn asking_part(text: &str) -> &str {
    let Some(end) = text.rfind('?') else { return text };
    let before = &text[..end];
    let start = before.rfind(['.', '!', '?', '\n', ';']).filter(|i| before[i + 1..].split_whitespace().count() >= 2).map_or(0, |i| i + 1);
    &before[start..]
}

fn asks(words: &[Word]) -> Asks {
    for word in words {
        match word.plain.as_str() {
            "who" | "whom" | "whose" | "who'd" | "who've" => return Asks::Who,
            "where" | "whereabouts" => return Asks::Where,
            "what" | "which" => return Asks::What,
            "when" => return Asks::When,
            "why" | "how" => return Asks::Reason,
            _ => {}
        }
    }
    match words.first().map(|w| w.plain.as_str()) {
        Some("tell" | "show" | "list" | "name" | "describe" | "remind" | "give") => Asks::What,
        Some(_) => Asks::Whether,
        None => Asks::What,
    }
}

impl Question {
    /// Reads a question. `known` are the things whose names may be in it, the viewer among them.
    pub(super) fn read(text: &str, known: &[&Entity], book: &CueBook) -> Self {
        let words = words(asking_part(text));
        let mut asks = asks(&words);
        let mut taken = vec![false; words.len()];
        let mut named = names(&words, known, &mut taken);
        let viewer: Vec<EntityId> = known.iter().filter(|e| e.is_viewer).map(|e| e.id).collect();
        for (i, word) in words.iter().enumerate() {
            // In "tell me" and "remind me" it is the one to be answered, not the one asked about.
            let addressee = i > 0 && matches!(words[i - 1].plain.as_str(), "tell" | "remind" | "give" | "show");
            if !taken[i] && is_first_person(&word.plain) && !addressee {
                let possessive = matches!(word.plain.as_str(), "my" | "our");
                named.push(Named { entities: viewer.clone(), start: i, end: i + 1, possessive });
                taken[i] = true;
            }
        }
        named.sort_by_key(|n| n.start);
        let cues = book.find(&words, &taken, asks == Asks::Where);
        let in_cue = |i: usize| cues.iter().any(|c| c.places.contains(&i));
        let opener = words.iter().position(|w| matches!(w.plain.as_str(), "what" | "which" | "whose"));
        let mut class = None;
        let mut class_places = Vec::new();
        if let Some(opener) = opener {
            // "which programming language": up to the class noun nearest after the question word, unless a verb or a name comes first.
            let reach = (opener + 1..words.len())
                .take_while(|i| *i <= opener + 3 && !taken[*i] && (!is_function(&words[*i]) || words[*i].plain == "of"));
            let nouns: Vec<usize> = reach.collect();
            if let Some(last) =
                nouns.iter().rposition(|i| class_of(&words[*i]).is_some() && !(in_cue(*i) && nouns.len() == 1 && *i + 1 == words.len()))
            {
                class = class_of(&words[nouns[last]]);
                class_places = nouns[..=last].to_vec();
            }
        }
        if class.is_none()
            && let Some(after_noun) = cues
                .iter()
                .find(|c| matches!(c.form, super::cues::Form::Noun | super::cues::Form::InverseNoun))
                .and_then(|c| c.places.last())
            && let Some(next) = words.get(after_noun + 1)
        {
            // "my favourite food".
            class = class_of(next);
            class_places.extend(class.is_some().then_some(after_noun + 1));
        }
        if asks == Asks::What && class == Some(&[EntityType::Place]) {
            asks = Asks::Where;
        }
        let class_word = class_places.last().filter(|_| class.is_some()).map(|i| words[*i].plain.clone());
        let has = |w: &str| words.iter().any(|x| x.plain == w);
        let past = has("before")
            || has("previously")
            || has("formerly")
            || has("earlier")
            || (has("used") && has("to") && !has("is") && !has("are"));
        let tense = if past { Tense::Past } else { Tense::Open };
        let cues = if asks == Asks::Where { book.find(&words, &taken, true) } else { cues };
        Self { words, asks, tense, named, cues, class, class_places, class_word }
    }

    /// Whether a word belongs to a name.
    pub(super) fn in_name(&self, place: usize) -> bool {
        self.named.iter().any(|n| n.start <= place && place < n.end)
    }

    /// Words that carry the question besides names, the cue and glue. What is found must explain them, or it
    /// answers another question.
    pub(super) fn rest(&self, cue: Option<&CueMatch>) -> Vec<&Word> {
        let explained = |i: usize| self.in_name(i) || self.class_places.contains(&i) || cue.is_some_and(|c| c.places.contains(&i));
        let glue = |w: &Word| is_function(w) || (cue.is_none() && is_asking(w));
        let rest = self.words.iter().enumerate().filter(|(i, w)| !(explained(*i) || glue(w)));
        rest.map(|(_, w)| w).collect()
    }

    /// Whether it asks for all that is known of a thing.
    pub(super) fn is_general(&self) -> bool {
        matches!(self.asks, Asks::Who | Asks::What) && !self.named.is_empty() && self.rest(None).is_empty()
    }
}

/// Finds names, longest first. A person goes by the first name, too.
fn names(question: &[Word], known: &[&Entity], taken: &mut [bool]) -> Vec<Named> {
    let mut all: Vec<(Vec<String>, EntityId)> = Vec::new();
    for entity in known {
        for name in std::iter::once(&entity.name).chain(&entity.aliases) {
            let mut parts: Vec<String> = words(name).into_iter().map(|w| w.plain).collect();
            if parts.len() > 1 && matches!(parts[0].as_str(), "the" | "a" | "an" | "my" | "our") {
                parts.remove(0);
            }
            if entity.entity_type == EntityType::Person && parts.len() > 1 {
                all.push((parts[..1].to_vec(), entity.id));
            }
            // "You" is how the viewer is called, not a name to be found.
            if !(entity.is_viewer && matches!(parts.first().map(String::as_str), Some("you" | "i" | "me" | "user"))) {
                all.push((parts, entity.id));
            }
        }
    }
    all.retain(|(parts, _)| !parts.is_empty());
    all.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.0.cmp(&b.0)));
    let mut found: Vec<Named> = Vec::new();
    for (parts, id) in all {
        for start in 0..(question.len() + 1).saturating_sub(parts.len()) {
            let end = start + parts.len();
            let fits = parts.iter().zip(&question[start..end]).all(|(part, word)| same_noun(part, &word.plain));
            if let Some(there) = found.iter_mut().find(|n| fits && n.start == start && n.end == end) {
                if !there.entities.contains(&id) {
                    there.entities.push(id);
                }
            } else if fits && !taken[start..end].contains(&true) {
                taken[start..end].fill(true);
                found.push(Named { entities: vec![id], start, end, possessive: question[end - 1].possessive });
            }
        }
    }
    found
}

/// Equal up to a plural ending.
fn same_noun(a: &str, b: &str) -> bool {
    a == b || a.strip_suffix('s') == Some(b) || b.strip_suffix('s') == Some(a)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_last_question_is_read() {
        assert_eq!(asking_part("I moved. Where does John live?"), " Where does John live");
        assert_eq!(asking_part("tell me about Mary"), "tell me about Mary");
        assert_eq!(asking_part("Who is he? Really?"), "Who is he? Really");
    }

    #[test]
    fn question_words_are_told_apart() {
        for (text, expected) in [
            ("Who does John like?", Asks::Who),
            ("So where do I live?", Asks::Where),
            ("Does John like Mary", Asks::Whether),
            ("How did it go?", Asks::Reason),
            ("Tell me about Mary", Asks::What),
            ("When did I visit Rome?", Asks::When),
        ] {
            assert_eq!(asks(&words(text)), expected, "{text}");
        }
    }
}
