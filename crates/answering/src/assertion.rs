//! Checks whether a sentence asserts the answer to a question, about the right subject.
//!
//! Similar words may say something else. "Rafael owes me" does not say what I owe, and "I would love to visit Japan" does
//! not say that I was there.

use std::collections::HashSet;

use super::{
    answer_type::AnswerType,
    lexicon::{is_function_word, is_occupation, is_particle},
    names::NameMention,
    question::{Question, QuestionKind, Tense},
    words::{Word, is_first_person, is_first_person_subject, is_past_form, is_we, words},
};
use recall_domain::{Entity, Message, context::SHARED_SPEAKER};

const WISHES: &str = "want wants wanna wish wishes hope hopes hoping would i'd we'd he'd she'd they'd might maybe perhaps could should if \
    unless dream dreams dreaming dreamt consider considering considered thinking someday hopefully supposed \
    wondering wonder whether tempted";
const FUTURE: &str = "will i'll we'll he'll she'll they'll it'll going gonna won't plan plans planning planned";
const NEGATIONS: &str = "not never no don't doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't can't cannot couldn't won't \
    wouldn't nobody nothing neither nor without hardly dont doesnt didnt cant isnt arent \
    wasnt werent hasnt havent wont mustn't shouldn't needn't ain't mustnt shouldnt couldnt wouldnt";

/// Words that negate or weaken what a sentence would say without them: "quit smoking", "almost missed", "everyone except Karl", "Bob said that".
const QUALIFIERS: &str = "stop stops stopped stopping quit quits quitting refuse refuses refused refusing forget forgets forgot forgotten almost \
    nearly barely pretend pretends pretended pretending doubt doubts doubted fail fails failed avoid avoids avoided decline declines declined \
    cancel cancels cancelled canceled postponed except instead rather former formerly ex unlikely supposedly allegedly apparently claims claimed \
    denies denied said says heard rumour rumor thought considered offered tried dream dreamt dreamed dreams dreaming imagine imagined suppose think thinks \
    believe believes hypothetically joking kidding joke unless";

fn list_contains(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|w| w == word)
}

/// Whether a sentence begins with a word that opens questions.
pub(super) fn opens_like_question(sentence: &str) -> bool {
    const OPENERS: &str =
        "who whom whose what which when where why how do does did is are am was were has have had can could will would should may";
    words(sentence).iter().take(2).any(|w| list_contains(OPENERS, &w.plain))
}

/// Whether a sentence has the form of a question and states what follows: "Did I tell you that I passed?"
fn states_in_question(sentence: &str) -> bool {
    const OPENERS: [&str; 7] = [
        "did i tell you",
        "did i mention",
        "have i told you",
        "have i mentioned",
        "did you know",
        "can you remember",
        "could you remember",
    ];
    let lower = sentence.trim_start().to_lowercase();
    OPENERS.iter().filter_map(|opener| lower.strip_prefix(opener)).any(|rest| {
        let told = words(rest);
        let asks = |w: &Word| list_contains("who whom whose what which when where why how if whether", &w.plain);
        told.len() > 3 && !told.first().is_some_and(asks)
    })
}

/// Whether a sentence is a question. "Theo loves swimming now??" is none.
pub(super) fn is_question(sentence: &str) -> bool {
    let sentence = sentence.trim_end();
    sentence.ends_with('?') && !states_in_question(sentence) && (!sentence.ends_with("??") || opens_like_question(sentence))
}

/// Whether a word negates.
pub(super) fn is_negation(word: &str) -> bool {
    list_contains(NEGATIONS, word)
}

/// Whether a word negates or weakens the sentence that it stands in.
pub(super) fn is_qualifier(word: &str) -> bool {
    list_contains(QUALIFIERS, word) || is_wish(word)
}

/// Whether a word marks a wish or a guess.
pub(super) fn is_wish(word: &str) -> bool {
    list_contains(WISHES, word)
}

/// Returns the person that "you" refers to in a message between two named speakers.
pub(super) fn addressee<'a>(message: &Message, speakers: &HashSet<&'a str>) -> Option<&'a str> {
    let speaker = message.speaker.as_deref()?;
    let mut others = speakers.iter().filter(|s| **s != speaker);
    let other = others.next()?;
    others.next().is_none().then_some(*other)
}

/// Whether a sentence denies its verb.
pub(super) fn is_negated(sentence: &[Word], verb: Option<usize>) -> bool {
    let before = verb.map_or(sentence, |v| &sentence[v.saturating_sub(3)..v.min(sentence.len())]);
    before.iter().any(|w| list_contains(NEGATIONS, &w.plain))
}

/// Whether a sentence has no word that negates or weakens it. One that has may still answer a question, but not with a yes.
pub(super) fn is_plain(sentence: &[Word]) -> bool {
    let is_of_past = |pair: &[Word]| matches!((pair[0].plain.as_str(), pair[1].plain.as_str()), ("used", "to") | ("gave" | "given", "up"));
    !sentence.windows(2).any(is_of_past) && !sentence.iter().any(|w| list_contains(QUALIFIERS, &w.plain))
}

/// Whether a sentence states the name or the occupation of the speaker.
pub(super) fn is_self_description(sentence: &[Word], answer_type: &AnswerType) -> bool {
    let plain = |i: usize| sentence.get(i).map_or("", |w| w.plain.as_str());
    let named = |i: usize| sentence.get(i).is_some_and(|w| w.capital);
    (0..sentence.len()).any(|i| {
        let am = plain(i) == "i'm" || (plain(i) == "i" && plain(i + 1) == "am") || (plain(i) == "i've" && plain(i + 1) == "been");
        let after = i + if plain(i) == "i'm" { 1 } else { 2 };
        let my_name = plain(i) == "my" && plain(i + 1) == "name" && named(i + 3);
        let call_me = plain(i) == "call" && plain(i + 1) == "me" && named(i + 2);
        match answer_type {
            AnswerType::Name => (am && named(after)) || my_name || call_me,
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

/// A message, checked against a question.
pub(super) struct Statement<'a> {
    pub(super) question: &'a Question,
    pub(super) entities: &'a [Entity],
    pub(super) message: &'a Message,
    pub(super) addressee: Option<&'a str>,
}

impl Statement<'_> {
    /// Whether a sentence asserts the answer about the right subject. `verb` is the position of the question's verb.
    ///
    /// `has_subject` says that the subject is known to be the right one.
    pub(super) fn asserts_answer(&self, sentence: &[Word], verb: Option<usize>, has_subject: bool) -> bool {
        self.is_factual(sentence)
            && self.has_fitting_tense(sentence)
            && (has_subject || self.is_of_subject(sentence, verb))
            && self.asserts_possession(sentence, verb)
            && !self.is_denied(sentence, verb)
    }

    /// Whether the tense fits: "Where did I live before" is not answered by the present home.
    fn has_fitting_tense(&self, sentence: &[Word]) -> bool {
        let now = |w: &Word| matches!(w.plain.as_str(), "now" | "currently" | "nowadays" | "presently");
        let past = |w: &Word| is_past_form(&w.plain) && !matches!(w.plain.as_str(), "is" | "are" | "am" | "has" | "does");
        self.question.tense == Tense::Open || (sentence.iter().any(past) && !sentence.iter().any(now))
    }

    /// Whether the sentence asserts possession, if the question asks for it.
    ///
    /// "Do I have a dog" is not answered by every mention of dogs.
    fn asserts_possession(&self, sentence: &[Word], object: Option<usize>) -> bool {
        let asks_for_possession =
            self.question.kind == QuestionKind::YesNo && self.question.cues.iter().any(|c| c.weak && c.stem == "have");
        let has = |w: &Word| matches!(w.stem.as_str(), "have" | "own" | "get" | "got" | "adopt" | "buy" | "keep" | "inherit");
        let own = |i: usize| {
            (1..=2).any(|n| {
                i.checked_sub(n)
                    .and_then(|j| sentence.get(j))
                    .is_some_and(|w| matches!(w.plain.as_str(), "my" | "our" | "his" | "her" | "their") || w.possessive)
            })
        };
        !asks_for_possession || sentence.iter().any(has) || object.is_some_and(own)
    }

    /// Whether the sentence is no wish and no condition, unless the question asks for those.
    fn is_factual(&self, sentence: &[Word]) -> bool {
        let question_has = |list: &str| self.question.words.iter().any(|w| list_contains(list, &w.plain));
        let opinion = "think thinks thought say said suggest suggested propose proposed recommend recommended believe opinion idea";
        if question_has(WISHES) || question_has(opinion) || self.question.answer_type == AnswerType::Reason {
            return true;
        }
        let has = |list: &str| sentence.iter().any(|w| list_contains(list, &w.plain));
        let past = self.question.words.iter().any(|w| matches!(w.plain.as_str(), "did" | "have" | "has" | "been" | "was" | "were"));
        let future = has(FUTURE) && !question_has(FUTURE) && (past || self.question.kind == QuestionKind::YesNo);
        !has(WISHES) && !future
    }

    /// Whether the sentence is a denial, or the question asks for one and the sentence is none. A yes-or-no question allows both.
    fn is_denied(&self, sentence: &[Word], verb: Option<usize>) -> bool {
        let open = matches!(self.question.kind, QuestionKind::Who | QuestionKind::What | QuestionKind::Where | QuestionKind::When);
        match self.question.asks_for_denials {
            true => open && !is_negated(sentence, None),
            false => open && verb.is_some() && is_negated(sentence, verb),
        }
    }

    /// Whether question and sentence have the same subject.
    fn is_of_subject(&self, sentence: &[Word], verb: Option<usize>) -> bool {
        let Some(verb) = verb else { return true };
        let (before, after) = sentence.split_at(verb.min(sentence.len()));
        let Some(subject) = self.question.named.iter().find(|n| !n.possessive && self.is_subject(n)) else {
            // "Who manages Yuki" is not answered by a person that Yuki manages.
            // "Who was in the team with me": "me" is no object.
            let is_company = |n: &NameMention| matches!(self.question.words[n.start - 1].plain.as_str(), "with" | "besides");
            let object = self.question.named.last();
            let object = object.filter(|n| self.question.kind == QuestionKind::Who && !n.possessive && n.start >= 2 && !is_company(n));
            let passive =
                after.iter().any(|w| w.plain == "by") || before.iter().any(|w| matches!(w.plain.as_str(), "is" | "was" | "are" | "were"));
            return passive
                || object.is_none_or(|o| {
                    after.iter().any(|w| self.refers_to(o, w))
                        || !before.iter().any(|w| self.refers_to(o, w)) && !o.is_capital(&self.question.words)
                });
        };
        let saying = self.question.words.iter().any(|w| matches!(w.stem.as_str(), "say" | "tell" | "mention"));
        if saying && self.is_said_by(subject) {
            return true;
        }
        // The subject is the nearest one before the verb, except across a conjunction: "I love Rome and visited it".
        let mut clause = before.len();
        for i in (0..before.len()).rev() {
            let Some(word) = before.get(i) else { continue };
            if matches!(word.plain.as_str(), "and" | "then" | "but") {
                clause = i;
            } else if self.refers_to(subject, word) {
                return true;
            } else if is_subject_like(sentence, i) && clause == before.len() {
                // "Leila and I went": both are the subject.
                let joined = i >= 2 && before.get(i - 1).is_some_and(|w| w.plain == "and");
                if !(joined && before.get(i - 2).is_some_and(|w| self.refers_to(subject, w))) {
                    return passive_by(after);
                }
                return true;
            }
        }
        // "Lost my sunglasses": the speaker is the implied subject. In "my sister works at Siemens", the sister is.
        let is_noun_phrase = before.iter().any(|w| is_owner_or_article(&w.plain));
        passive_by(after)
            || self.is_said_by(subject) && !is_noun_phrase && !before.iter().enumerate().any(|(i, _)| is_subject_like(sentence, i))
    }

    /// Whether a name is the subject of the question: it follows an auxiliary, as in "what did I say".
    fn is_subject(&self, named: &NameMention) -> bool {
        let plain = |n: usize| named.start.checked_sub(n).map_or("", |i| self.question.words[i].plain.as_str());
        // "Who gave me the scarf": an article does not make a subject.
        let before = if plain(1) == "the" && self.question.kind == QuestionKind::Who { plain(2) } else { plain(1) };
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

    /// Whether the named person is the speaker of the message.
    fn is_said_by(&self, named: &NameMention) -> bool {
        match &self.message.speaker {
            None => self.question.words.get(named.start).is_some_and(|w| is_first_person(&w.plain)),
            Some(name) => {
                let viewer = self.entities.iter().any(|e| e.is_viewer && named.entities.contains(&e.id) && e.name == *name);
                let of_all = name == SHARED_SPEAKER && self.question.words.get(named.start).is_some_and(|w| is_we(&w.plain));
                viewer || of_all || self.is_name(named, name)
            }
        }
    }

    fn is_name(&self, named: &NameMention, name: &str) -> bool {
        let parts = words(name);
        self.question.words.get(named.start..named.end).unwrap_or_default().iter().any(|w| parts.iter().any(|p| p.plain == w.plain))
    }

    /// Whether a word of the message refers to the named person.
    fn refers_to(&self, named: &NameMention, word: &Word) -> bool {
        if self.is_said_by(named) && is_first_person_subject(&word.plain) {
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

fn is_owner_or_article(word: &str) -> bool {
    matches!(word, "my" | "our" | "his" | "her" | "their" | "your" | "the" | "a" | "an" | "this" | "that" | "these" | "those")
}

/// Whether the text after the verb has "by", as in "It was painted by Ada".
fn passive_by(after: &[Word]) -> bool {
    after.iter().any(|w| w.plain == "by")
}

/// Whether a word may be a subject: a pronoun, or a proper name without a preposition before it.
fn is_subject_like(sentence: &[Word], i: usize) -> bool {
    let Some(word) = sentence.get(i) else { return false };
    if is_first_person_subject(&word.plain) || matches!(word.plain.as_str(), "he" | "she" | "they" | "you" | "he's" | "she's" | "they're") {
        return true;
    }
    let before = i.checked_sub(1).and_then(|j| sentence.get(j));
    if word.possessive || before.is_some_and(|w| is_particle(&w.plain) || matches!(w.plain.as_str(), "the" | "a" | "an")) {
        return false;
    }
    // Every first word has a capital; a verb after it indicates a name.
    let next = sentence.get(i + 1).is_some_and(|w| {
        is_past_form(&w.plain) || matches!(w.plain.as_str(), "is" | "was" | "has" | "had" | "will" | "can") || w.plain.ends_with('s')
    });
    word.proper || (i == 0 && word.capital && next && !is_function_word(word) && !is_past_form(&word.plain))
}
