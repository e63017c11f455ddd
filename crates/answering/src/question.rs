//! What a question asks for: which thing, which relation, which side of it. Reads the question and the names in
//! its context, and looks at no fact.

use super::{
    classes::{class_of, is_asking, is_first_person, is_function},
    cues::{CueBook, CueMatch, Form},
    names::{Named, names},
    period::{self, Found},
    want::Want,
    words::{Word, words},
};
use recall_domain::{Entity, EntityId, EntityType, Timestamp};

/// The question word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asks {
    Who,
    Where,
    What,
    When,
    /// Why, how and how much: facts do not answer these, messages may.
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

/// A question, read.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) words: Vec<Word>,
    pub(super) asks: Asks,
    pub(super) want: Want,
    pub(super) tense: Tense,
    pub(super) named: Vec<Named>,
    /// A thing that only says which time is meant: "before Ghent".
    pub(super) anchor: Vec<EntityId>,
    pub(super) cues: Vec<CueMatch>,
    /// Types that a class noun asks for ("which city"), when there is one.
    pub(super) class: Option<&'static [EntityType]>,
    /// The class noun itself.
    pub(super) class_word: Option<String>,
    /// Places of class nouns and what stands between them and the question word.
    pub(super) class_places: Vec<usize>,
    /// The days it asks about.
    pub(super) period: Option<Found>,
    /// It asks which of two.
    pub(super) is_choice: bool,
    /// It asks whether something was, by the form of its verb.
    pub(super) is_past: bool,
    /// Places of words that are glue here: the question word's own, alternatives.
    glue: Vec<usize>,
}

/// The part of a message that asks, as a range of bytes: its last sentence with a question mark, or all of it.
pub(super) fn asking_part(text: &str) -> std::ops::Range<usize> {
    let Some(end) = text.rfind('?') else { return 0..text.len() };
    let before = &text[..end];
    let start = before.rfind(['.', '!', '?', '\n', ';']).filter(|i| before[i + 1..].split_whitespace().count() >= 2).map_or(0, |i| i + 1);
    start..end
}

fn asks(words: &[Word], want: &Want) -> Asks {
    match want {
        Want::Person => return Asks::Who,
        Want::Place => return Asks::Where,
        Want::Time => return Asks::When,
        Want::Count(_) | Want::Name | Want::Occupation => return Asks::What,
        Want::Amount | Want::Age | Want::Duration | Want::Frequency | Want::Reason | Want::Manner => return Asks::Reason,
        Want::Any => {}
    }
    if words.iter().any(|w| matches!(w.plain.as_str(), "what" | "what's" | "which" | "whose")) {
        return Asks::What;
    }
    match words.first().map(|w| w.plain.as_str()) {
        Some("tell" | "show" | "list" | "name" | "describe" | "remind" | "give") | None => Asks::What,
        Some(_) => Asks::Whether,
    }
}

impl Question {
    /// Reads a question asked at a moment. `known` are the things whose names may be in it, the viewer among
    /// them, each with a tier: those of a lower one take their words first.
    pub(super) fn read(text: &str, now: Timestamp, known: &[(u8, &Entity)], book: &CueBook) -> Self {
        let words = words(&text[asking_part(text)]);
        let (want, mut glue) = Want::of(&words);
        let mut asks = asks(&words, &want);
        let mut taken = vec![false; words.len()];
        let mut named = names(&words, known, &mut taken);
        // "June" is a month unless something is known of one who is called so.
        let told = |n: &Named| known.iter().any(|(tier, e)| *tier == 0 && n.entities.contains(&e.id));
        let covers = |p: &Found, n: &Named| n.start < p.end && p.start < n.end;
        let period = period::asked(&words, now).filter(|p| !named.iter().any(|n| covers(p, n) && told(n)));
        named.retain(|n| !period.is_some_and(|p| covers(&p, n)));
        let viewer: Vec<EntityId> = known.iter().filter(|(_, e)| e.is_viewer).map(|(_, e)| e.id).collect();
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
        let (class, class_places) = class(&words, &taken, &cues);
        if asks == Asks::What && class == Some(&[EntityType::Place]) {
            asks = Asks::Where;
        }
        let class_word = class_places.last().map(|i| words[*i].plain.clone());
        let cues = if asks == Asks::Where { book.find(&words, &taken, true) } else { cues };

        let has = |w: &str| words.iter().any(|x| x.plain == w);
        let used_to = words.windows(2).any(|w| w[0].plain == "used" && w[1].plain == "to") && !has("is") && !has("are");
        let used_to = used_to || words.windows(2).any(|w| w[0].plain == "use" && w[1].plain == "to");
        let past = ["before", "previously", "formerly", "earlier", "previous", "former"].into_iter().any(has) || used_to;
        let is_past = words.iter().take(3).any(|w| matches!(w.plain.as_str(), "did" | "was" | "were" | "had"));
        let tense = if past { Tense::Past } else { Tense::Open };
        let is_before = |n: &Named| n.start > 0 && matches!(words[n.start - 1].plain.as_str(), "before" | "after");
        let anchor =
            named.iter().filter(|n| is_before(n) && !is_first_person(&words[n.start].plain)).flat_map(|n| n.entities.clone()).collect();
        named.retain(|n| !is_before(n) || is_first_person(&words[n.start].plain));

        // "tea or coffee": the alternatives themselves need not be explained.
        let or = words.iter().position(|w| w.plain == "or").filter(|i| *i > 0 && i + 1 < words.len());
        let is_choice = or.is_some() && matches!(asks, Asks::Whether | Asks::What);
        if let Some(or) = or.filter(|_| is_choice) {
            glue.extend([or - 1, or + 1]);
            asks = Asks::What;
        }
        glue.extend(words.iter().enumerate().filter(|(_, w)| matches!(w.plain.as_str(), "previous" | "former")).map(|(i, _)| i));
        // "List everything I like", "do you remember who".
        glue.extend((0..words.len()).take_while(|i| is_asking(&words[*i]) || (is_function(&words[*i]) && !taken[*i])));
        Self { words, asks, want, tense, named, anchor, cues, class, class_places, class_word, period, is_choice, is_past, glue }
    }

    /// Whether a word belongs to a name.
    pub(super) fn in_name(&self, place: usize) -> bool {
        self.named.iter().any(|n| n.start <= place && place < n.end)
    }

    /// Whether a word belongs to the days asked about.
    pub(super) fn in_period(&self, place: usize) -> bool {
        self.period.is_some_and(|p| p.start <= place && place < p.end)
    }

    /// Whether a word says nothing about what an answer must have.
    pub(super) fn is_glue(&self, place: usize) -> bool {
        self.glue.contains(&place) || self.words.get(place).is_none_or(is_function)
    }

    /// Words that carry the question besides names, the cue and glue. What is found must explain them, or it
    /// answers another question.
    pub(super) fn rest(&self, cue: Option<&CueMatch>) -> Vec<&Word> {
        let explained = |i: usize| self.in_name(i) || self.class_places.contains(&i) || cue.is_some_and(|c| c.places.contains(&i));
        // The thing in "before Ghent" is known by its entity, not by its words.
        let anchor = |i: usize| !self.anchor.is_empty() && i > 0 && matches!(self.words[i - 1].plain.as_str(), "before" | "after");
        let glue = |i: usize, w: &Word| self.is_glue(i) || (cue.is_none() && is_asking(w)) || anchor(i);
        let rest = self.words.iter().enumerate().filter(|(i, w)| !(explained(*i) || glue(*i, w)));
        rest.map(|(_, w)| w).collect()
    }

    /// Whether it asks for all that is known of a thing: "who is John", "tell me about John", "what do you know about me".
    pub(super) fn is_general(&self) -> bool {
        let [named] = self.named.as_slice() else { return false };
        if !matches!(self.asks, Asks::Who | Asks::What) || named.possessive || !self.rest(None).is_empty() || self.class.is_some() {
            return false;
        }
        let before = |n: usize| named.start.checked_sub(n).map_or("", |i| self.words[i].plain.as_str());
        let is = |w: &str| matches!(w, "is" | "are" | "was" | "were" | "am" | "who" | "who's" | "what's" | "what");
        let last = named.end == self.words.len();
        let about = before(1) == "about" || (before(1) == "the" && before(2) == "about") || matches!(before(1), "describe" | "of");
        let first_person = is_first_person(&self.words[named.start].plain);
        let who = last && named.start <= 3 && (is(before(1)) || is(before(2))) || (first_person && self.words.len() <= 3 && is(before(1)));
        (about && last) || who
    }
}

/// The class noun of a question, as the types it stands for and the places of its words.
fn class(words: &[Word], taken: &[bool], cues: &[CueMatch]) -> (Option<&'static [EntityType]>, Vec<usize>) {
    let in_cue = |i: usize| cues.iter().any(|c| !c.weak && c.places.contains(&i));
    let opener = words.iter().position(|w| matches!(w.plain.as_str(), "what" | "which" | "whose" | "all" | "list" | "name"));
    if let Some(opener) = opener {
        // "which programming language": up to the class noun nearest after the question word, unless a verb or a name comes first.
        let glue = |w: &Word| {
            is_function(w)
                && class_of(w).is_none()
                && !matches!(w.plain.as_str(), "of" | "the" | "all" | "kind" | "type" | "sort" | "breed" | "kinds" | "types")
        };
        let nouns: Vec<usize> = (opener + 1..words.len()).take_while(|i| *i <= opener + 4 && !taken[*i] && !glue(&words[*i])).collect();
        let is_class = |i: usize| class_of(&words[i]).is_some() && !(in_cue(i) && nouns.len() == 1 && i + 1 == words.len());
        if let Some(last) = nouns.iter().rposition(|i| is_class(*i)) {
            return (class_of(&words[nouns[last]]), nouns[..=last].to_vec());
        }
        // "what kind of dog": a class, though not one that says a type.
        let of = nouns.iter().position(|i| words[*i].plain == "of").filter(|n| *n > 0 && *n + 1 < nouns.len());
        if let Some(of) = of {
            return (None, nouns[..=of + 1].to_vec());
        }
    }
    // "my favourite food".
    let noun = cues.iter().find(|c| matches!(c.form, Form::Noun | Form::InverseNoun)).and_then(|c| c.places.last());
    match noun.map(|i| i + 1).and_then(|i| Some((i, class_of(words.get(i)?)?))) {
        Some((place, types)) => (Some(types), vec![place]),
        None => (None, Vec::new()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_last_question_is_read() {
        let part = |text: &'static str| &text[asking_part(text)];
        assert_eq!(part("I moved. Where does John live?"), " Where does John live");
        assert_eq!(part("tell me about Mary"), "tell me about Mary");
        assert_eq!(part("Who is he? Really?"), "Who is he? Really");
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
            ("Is my cat called Pixel?", Asks::Whether),
        ] {
            let words = words(text);
            assert_eq!(asks(&words, &Want::of(&words).0), expected, "{text}");
        }
    }
}
