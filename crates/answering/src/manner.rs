//! How a sentence tells something: of whom, as so or as a wish, or as not so. The same words in another manner are another
//! answer: "Rafael owes me" does not say what I owe, "I would love to visit Japan" does not say that I was there.

use std::collections::HashSet;

use super::{
    classes::{is_first_person, is_first_person_subject, is_function, is_occupation, is_particle, is_we},
    names::Named,
    question::{Asks, Question, Tense},
    want::Want,
    words::{Word, is_past_form, words},
};
use recall_domain::{Entity, Message, context::SHARED_SPEAKER};

const WISHES: &str = "want wants wanna wish wishes hope hopes hoping would i'd we'd he'd she'd they'd might maybe perhaps could should if \
    unless dream dreams dreaming dreamt consider considering considered thinking someday hopefully supposed \
    wondering wonder whether tempted";
const FUTURE: &str = "will i'll we'll he'll she'll they'll it'll going gonna won't plan plans planning planned";
const NEGATIONS: &str = "not never no don't doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't can't cannot couldn't won't \
    wouldn't nobody nothing neither nor without hardly dont doesnt didnt cant";

fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|w| w == word)
}

/// Whether a word makes a wish or a guess of what is said.
pub(super) fn is_wish(word: &str) -> bool {
    is_in(WISHES, word)
}

/// Whom "you" means in a message between two who are known by name.
pub(super) fn addressee<'a>(message: &Message, speakers: &HashSet<&'a str>) -> Option<&'a str> {
    let speaker = message.speaker.as_deref()?;
    let mut others = speakers.iter().filter(|s| **s != speaker);
    let other = others.next()?;
    others.next().is_none().then_some(*other)
}

/// Whether what a sentence says by the word at a place is denied.
pub(super) fn is_negated(sentence: &[Word], verb: Option<usize>) -> bool {
    let before = verb.map_or(sentence, |v| &sentence[v.saturating_sub(3)..v.min(sentence.len())]);
    before.iter().any(|w| is_in(NEGATIONS, &w.plain))
}

/// Whether a sentence says what the speaker is called, or does for a living.
pub(super) fn is_of_oneself(sentence: &[Word], want: &Want) -> bool {
    let plain = |i: usize| sentence.get(i).map_or("", |w| w.plain.as_str());
    let named = |i: usize| sentence.get(i).is_some_and(|w| w.capital);
    (0..sentence.len()).any(|i| {
        let am = plain(i) == "i'm" || (plain(i) == "i" && plain(i + 1) == "am") || (plain(i) == "i've" && plain(i + 1) == "been");
        let after = i + if plain(i) == "i'm" { 1 } else { 2 };
        let my_name = plain(i) == "my" && plain(i + 1) == "name" && named(i + 3);
        let call_me = plain(i) == "call" && plain(i + 1) == "me" && named(i + 2);
        match want {
            Want::Name => (am && named(after)) || my_name || call_me,
            _ => {
                let noun = (after..after + 4).any(|j| is_occupation(plain(j)));
                let works = is_first_person_subject(plain(i))
                    && (i + 1..i + 3).any(|j| matches!(plain(j), "work" | "teach" | "study" | "freelance" | "run"));
                (am && matches!(plain(after), "a" | "an" | "the" | "working") && noun)
                    || works
                    || (plain(i) == "my" && plain(i + 1) == "job")
            }
        }
    })
}

/// A message beside a question.
pub(super) struct Telling<'a> {
    pub(super) question: &'a Question,
    pub(super) entities: &'a [Entity],
    pub(super) message: &'a Message,
    pub(super) addressee: Option<&'a str>,
}

impl Telling<'_> {
    /// Whether the sentence tells it as so, and of the right one. `verb` is where it has the question's verb.
    pub(super) fn is_told(&self, sentence: &[Word], verb: Option<usize>) -> bool {
        self.is_real(sentence)
            && self.is_past(sentence)
            && self.is_of_subject(sentence, verb)
            && self.is_had(sentence, verb)
            && !self.is_denied(sentence, verb)
    }

    /// "Where did I live before" is not answered by where I live now.
    fn is_past(&self, sentence: &[Word]) -> bool {
        let now = |w: &Word| matches!(w.plain.as_str(), "now" | "currently" | "nowadays" | "presently");
        self.question.tense == Tense::Open || (sentence.iter().any(|w| is_past_form(&w.plain)) && !sentence.iter().any(now))
    }

    /// "Do I have a dog" is not answered by any word of dogs: someone has, gets or calls one their own.
    fn is_had(&self, sentence: &[Word], object: Option<usize>) -> bool {
        let asked = self.question.asks == Asks::Whether && self.question.cues.iter().any(|c| c.weak && c.stem == "have");
        let has = |w: &Word| matches!(w.stem.as_str(), "have" | "own" | "get" | "got" | "adopt" | "buy" | "keep" | "inherit");
        let own = |i: usize| {
            (1..=2).any(|n| {
                i.checked_sub(n)
                    .and_then(|j| sentence.get(j))
                    .is_some_and(|w| matches!(w.plain.as_str(), "my" | "our" | "his" | "her" | "their") || w.possessive)
            })
        };
        !asked || sentence.iter().any(has) || object.is_some_and(own)
    }

    /// No wish and no condition, unless those are asked for.
    fn is_real(&self, sentence: &[Word]) -> bool {
        let asks = |list: &str| self.question.words.iter().any(|w| is_in(list, &w.plain));
        let opinion = "think thinks thought say said suggest suggested propose proposed recommend recommended believe opinion idea";
        if asks(WISHES) || asks(opinion) || self.question.want == Want::Reason {
            return true;
        }
        let has = |list: &str| sentence.iter().any(|w| is_in(list, &w.plain));
        let past = self.question.words.iter().any(|w| matches!(w.plain.as_str(), "did" | "have" | "has" | "been" | "was" | "were"));
        let future = has(FUTURE) && !asks(FUTURE) && (past || self.question.asks == Asks::Whether);
        !has(WISHES) && !future
    }

    /// A denial answers a yes-or-no question, and no other.
    fn is_denied(&self, sentence: &[Word], verb: Option<usize>) -> bool {
        let open = matches!(self.question.asks, Asks::Who | Asks::What | Asks::Where | Asks::When);
        let asked = self.question.words.iter().any(|w| is_in(NEGATIONS, &w.plain));
        open && verb.is_some() && !asked && is_negated(sentence, verb)
    }

    /// The one who does it in the question does it in the sentence.
    fn is_of_subject(&self, sentence: &[Word], verb: Option<usize>) -> bool {
        let Some(verb) = verb else { return true };
        let (before, after) = sentence.split_at(verb.min(sentence.len()));
        let Some(subject) = self.question.named.iter().find(|n| !n.possessive && self.is_subject(n)) else {
            // "Who manages Yuki" is not answered by what Yuki manages.
            let object = self.question.named.last().filter(|n| self.question.asks == Asks::Who && !n.possessive && n.start >= 2);
            let passive =
                after.iter().any(|w| w.plain == "by") || before.iter().any(|w| matches!(w.plain.as_str(), "is" | "was" | "are" | "were"));
            return passive
                || object.is_none_or(|o| {
                    after.iter().any(|w| self.stands_for(o, w))
                        || !before.iter().any(|w| self.stands_for(o, w)) && !o.is_capital(&self.question.words)
                });
        };
        let saying = self.question.words.iter().any(|w| matches!(w.stem.as_str(), "say" | "tell" | "mention"));
        if saying && self.speaks(subject) {
            return true;
        }
        // The nearest one before the verb does it, unless a conjunction stands between: "I love Rome and visited it".
        let mut clause = before.len();
        for i in (0..before.len()).rev() {
            let Some(word) = before.get(i) else { continue };
            if matches!(word.plain.as_str(), "and" | "then" | "but") {
                clause = i;
            } else if self.stands_for(subject, word) {
                return true;
            } else if is_subject_like(sentence, i) && clause == before.len() {
                // "Leila and I went": each of them.
                let joined = i >= 2 && before.get(i - 1).is_some_and(|w| w.plain == "and");
                if !(joined && before.get(i - 2).is_some_and(|w| self.stands_for(subject, w))) {
                    return passive_by(after);
                }
                return true;
            }
        }
        // "Lost my sunglasses": who says it is not said.
        passive_by(after) || self.speaks(subject) && !before.iter().enumerate().any(|(i, _)| is_subject_like(sentence, i))
    }

    /// In "what did I say" and "does John like" the name stands before the verb, after nothing but glue.
    fn is_subject(&self, named: &Named) -> bool {
        let before = named.start.checked_sub(1).map_or("", |i| self.question.words[i].plain.as_str());
        matches!(
            before,
            "do" | "does"
                | "did"
                | "have"
                | "has"
                | "had"
                | "is"
                | "are"
                | "am"
                | "was"
                | "were"
                | "can"
                | "will"
                | "would"
                | "should"
                | "the"
        )
    }

    /// Whether the message is the named one's own.
    fn speaks(&self, named: &Named) -> bool {
        match &self.message.speaker {
            None => self.question.words.get(named.start).is_some_and(|w| is_first_person(&w.plain)),
            Some(name) => {
                let viewer = self.entities.iter().any(|e| e.is_viewer && named.entities.contains(&e.id) && e.name == *name);
                let of_all = name == SHARED_SPEAKER && self.question.words.get(named.start).is_some_and(|w| is_we(&w.plain));
                viewer || of_all || self.is_name(named, name)
            }
        }
    }

    fn is_name(&self, named: &Named, name: &str) -> bool {
        let parts = words(name);
        self.question.words.get(named.start..named.end).unwrap_or_default().iter().any(|w| parts.iter().any(|p| p.plain == w.plain))
    }

    fn stands_for(&self, named: &Named, word: &Word) -> bool {
        if self.speaks(named) && is_first_person_subject(&word.plain) {
            return true;
        }
        let own = self.question.words.get(named.start..named.end).unwrap_or_default();
        if own.iter().any(|w| is_first_person(&w.plain)) {
            return false;
        }
        let third =
            matches!(word.plain.as_str(), "he" | "she" | "they" | "it" | "who" | "which" | "he's" | "she's" | "it's" | "they're" | "we");
        let you = word.plain == "you" && self.addressee.is_some_and(|a| self.is_name(named, a));
        third || you || own.iter().any(|w| super::words::same_noun(&w.plain, &word.plain))
    }
}

/// "It was painted by Ada".
fn passive_by(after: &[Word]) -> bool {
    after.iter().any(|w| w.plain == "by")
}

/// Whether a word may be who does something: a pronoun, or a proper name that follows no preposition.
fn is_subject_like(sentence: &[Word], i: usize) -> bool {
    let Some(word) = sentence.get(i) else { return false };
    if is_first_person_subject(&word.plain) || matches!(word.plain.as_str(), "he" | "she" | "they" | "you" | "he's" | "she's" | "they're") {
        return true;
    }
    let before = i.checked_sub(1).and_then(|j| sentence.get(j));
    if word.possessive || before.is_some_and(|w| is_particle(&w.plain) || w.plain == "the") {
        return false;
    }
    // At the start of a sentence any word has a capital: a verb after it tells a name.
    let next = sentence.get(i + 1).is_some_and(|w| {
        is_past_form(&w.plain) || matches!(w.plain.as_str(), "is" | "was" | "has" | "had" | "will" | "can") || w.plain.ends_with('s')
    });
    word.proper || (i == 0 && word.capital && next && !is_function(word) && !is_past_form(&word.plain))
}
