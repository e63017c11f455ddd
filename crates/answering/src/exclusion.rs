//! Finds out whether a text speaks of something that excludes what the question asks for.
//!
//! Words near in meaning may replace each other. But a wife is no husband, the second jab is not the first, Emma's dog is not mine, and
//! what Jess gave me is not what I gave her.

use unicode_segmentation::UnicodeSegmentation;

use super::{
    lexicon::{are_siblings, class_named, classes_of, entity_types_of, is_answered_by, is_function_word},
    question::{Question, QuestionKind},
    times::is_time,
    words::{Word, is_first_person, is_first_person_subject, words},
};
use recall_domain::FirstPerson;

/// Classes with members that exclude each other wherever they stand. What is asked for may be another member of other classes.
const EXCLUSIVE: [&str; 5] = ["kin", "ordinal", "weekday", "month", "season"];
/// Fewest words of a sentence that can answer by itself.
const MIN_SENTENCE: usize = 4;
/// Words before a month: "in may", "until march".
const BEFORE_MONTH: [&str; 18] = [
    "in", "of", "last", "this", "next", "since", "until", "till", "by", "early", "late", "mid", "during", "from", "before", "after",
    "every", "each",
];
/// Words after which a verb has another subject.
const CONJUNCTIONS: [&str; 5] = ["and", "but", "so", "because", "then"];

/// Whether a text speaks only of something that excludes what the question asks for.
///
/// Another sentence of it may answer: "Nekesa moved in May. My nieces love it."
pub(super) fn is_excluded(question: &Question, text: &str) -> bool {
    let sentences = text.unicode_sentences().map(words).filter(|said| said.len() >= MIN_SENTENCE);
    excludes(question, &words(text)) && sentences.into_iter().all(|said| excludes(question, &said))
}

fn excludes(question: &Question, text: &[Word]) -> bool {
    has_other_member(question, text)
        || has_other_noun(question, text)
        || has_other_favourite(question, text)
        || has_other_object(question, text)
        || is_of_possession(question, text)
        || is_of_others(question, text)
        || is_reversed(question, text)
}

/// Whether a text has another member of a class than the question: "my wife" and not "my husband", "the second" and not "the first".
fn has_other_member(question: &Question, text: &[Word]) -> bool {
    EXCLUSIVE.iter().any(|class| {
        let is_member = |words: &[Word], i: usize| *class != "month" || is_month(words, i);
        let in_class = |i: usize| classes_of(&question.words[i].plain).contains(class) && is_member(&question.words, i);
        let is_asked = |i: &usize| !question.in_period(*i) && in_class(*i);
        // "My mum's brother" is also called an uncle.
        let asked: Vec<usize> = (0..question.words.len()).filter(is_asked).collect();
        let [at] = asked.as_slice() else { return false };
        let asked = &question.words[*at];
        let is_same = |w: &Word| is_answered_by(&asked.plain, &w.plain) || is_answered_by(&w.plain, &asked.plain);
        // Who is Greta's husband has a wife.
        let owner = |words: &[Word], at: usize| at.checked_sub(1).and_then(|i| words.get(i)).cloned();
        let has_same_owner = |at_text: usize| match (*class == "kin", owner(&question.words, *at), owner(text, at_text)) {
            (false, ..) => true,
            (true, Some(a), Some(b)) => a.stem == b.stem || [a, b].iter().all(|w| FirstPerson::is_determiner(&w.plain)),
            _ => false,
        };
        let is_other = |i: usize| are_siblings(&asked.plain, &text[i].plain) && has_same_owner(i) && is_member(text, i);
        !text.iter().any(|w| w.stem == asked.stem || is_same(w)) && (0..text.len()).any(is_other)
    })
}

/// Whether the name of a month means one where it stands. "May" and "march" are more often verbs: they are months after a preposition, next to a number, with
/// a capital inside a sentence, or before "is".
pub(super) fn is_month(words: &[Word], at: usize) -> bool {
    let word = &words[at];
    let before = at.checked_sub(1).map(|i| &words[i]);
    let after = words.get(at + 1);
    let is_number = |w: Option<&Word>| w.is_some_and(|w| w.plain.starts_with(|c: char| c.is_ascii_digit()));
    !matches!(word.plain.as_str(), "may" | "march")
        || word.proper
        || is_number(before)
        || is_number(after)
        || before.is_some_and(|w| BEFORE_MONTH.contains(&w.plain.as_str()))
        || before.is_none() && after.is_some_and(|w| matches!(w.plain.as_str(), "is" | "was" | "has"))
}

/// Whether a text has another class noun after the same adjective: "my favourite film" and not "my favourite book".
fn has_other_noun(question: &Question, text: &[Word]) -> bool {
    let is_class = |w: &Word| entity_types_of(w).is_some();
    let pairs = |words: &[Word]| -> Vec<(Word, Word)> {
        let all = words.windows(2).filter(|pair| !is_function_word(&pair[0]) && is_class(&pair[1]));
        all.map(|pair| (pair[0].clone(), pair[1].clone())).collect()
    };
    let said = pairs(text);
    pairs(&question.words).iter().any(|(adjective, noun)| {
        let is_same = |other: &Word| {
            is_answered_by(&noun.plain, &other.plain)
                || class_named(&noun.plain).is_some_and(|class| class_named(&other.plain) == Some(class))
        };
        let mut others = said.iter().filter(|(a, _)| a.stem == adjective.stem).peekable();
        others.peek().is_some() && others.all(|(_, other)| !is_same(other))
    })
}

/// Whether a text calls only something else a favourite: "my favourite film" for "my favourite song" or "my favourite actor".
fn has_other_favourite(question: &Question, text: &[Word]) -> bool {
    let favourites = |words: &[Word]| -> Vec<Vec<Word>> {
        let places = (0..words.len()).filter(|i| matches!(words[*i].stem.as_str(), "favorit" | "fave"));
        places.map(|i| words[i + 1..].iter().take_while(|w| !is_function_word(w)).take(3).cloned().collect()).collect()
    };
    let asked = favourites(&question.words);
    let Some(noun) = asked.first().and_then(|phrase| phrase.last()) else { return false };
    let class = class_named(&noun.plain);
    let is_same = |w: &Word| {
        w.stem == noun.stem
            || is_answered_by(&noun.plain, &w.plain)
            || class.is_some_and(|class| class_named(&w.plain) == Some(class) || classes_of(&w.plain).contains(&class))
    };
    // "Paddington is my favourite" may be any favourite.
    let mut said = favourites(text).into_iter().peekable();
    said.peek().is_some() && said.all(|phrase| !phrase.is_empty() && !phrase.iter().any(is_same))
}

/// Whether a text tells of another object of the verb of a yes-or-no question: "I don't drink coffee" for "Do I drink alcohol?"
fn has_other_object(question: &Question, text: &[Word]) -> bool {
    let words = &question.words;
    let is_auxiliary = words.first().is_some_and(|w| matches!(w.plain.as_str(), "do" | "does" | "did"));
    if question.kind != QuestionKind::YesNo || !is_auxiliary {
        return false;
    }
    let is_content = |w: &Word| !is_function_word(w) && !is_time(&w.plain);
    // Only "do I drink alcohol": a question with more words may be answered by any of them.
    let content: Vec<&Word> = words.iter().enumerate().filter(|(i, w)| is_content(w) && !question.in_name(*i)).map(|(_, w)| w).collect();
    let [verb, object] = content.as_slice() else { return false };
    let class = class_named(&object.plain);
    let is_same = |w: &Word| {
        w.stem == object.stem
            || is_answered_by(&object.plain, &w.plain)
            || is_answered_by(&w.plain, &object.plain)
            || class.is_some_and(|class| classes_of(&w.plain).contains(&class))
    };
    let has_object = |at: usize| text[at + 1..].iter().take(3).any(is_content);
    // "Remotely" may be told as "from home".
    let is_manner = object.plain.ends_with("ly");
    !is_manner && text.iter().enumerate().any(|(i, w)| w.stem == verb.stem && has_object(i)) && !text.iter().any(is_same)
}

/// Whether a text measures only something that belongs to the speaker, who is to be measured: "my boots are size 9" for "how tall am I".
fn is_of_possession(question: &Question, text: &[Word]) -> bool {
    const MEASURES: [&str; 6] = ["height", "weight", "size", "age", "bmi", "birthday"];
    let is_measure = |w: &Word| matches!(w.plain.as_str(), "tall" | "old" | "heavy" | "big" | "high" | "large");
    let is_own_measure =
        |w: &[Word]| w[0].plain == "how" && is_measure(&w[1]) && matches!(w[2].plain.as_str(), "am" | "was") && w[3].plain == "i";
    let plain = |i: usize| text.get(i).map_or("", |w| w.plain.as_str());
    let is_possession =
        |i: usize| plain(i) == "my" && !MEASURES.contains(&plain(i + 1)) && matches!(plain(i + 2), "is" | "are" | "was" | "were");
    question.words.windows(4).any(is_own_measure)
        && (0..text.len()).any(is_possession)
        && !text.iter().any(|w| is_first_person_subject(&w.plain))
}

/// Whether what is the speaker's in the question is only somebody else's in a text: "my son's birthday" is not "my birthday".
pub(super) fn is_of_others(question: &Question, text: &[Word]) -> bool {
    let is_own = |i: usize| question.words.get(i).is_some_and(|w| is_first_person(&w.plain));
    let of_other = |i: usize| {
        let before = text.get(i.saturating_sub(3)..i).unwrap_or_default();
        let owner = before.iter().rev().find(|w| w.possessive || FirstPerson::is_determiner(&w.plain) || is_determiner(&w.plain));
        owner.is_some_and(|w| w.possessive || matches!(w.plain.as_str(), "his" | "her" | "their" | "your"))
    };
    let owned = question.named.iter().filter(|n| n.possessive && is_own(n.start)).map(|n| n.end);
    // "What car do I have?"
    let has = question.words.iter().any(|w| matches!(w.stem.as_str(), "have" | "own"));
    let has = has && question.named.iter().any(|n| !n.possessive && is_own(n.start));
    let had = question.words.iter().position(|w| matches!(w.plain.as_str(), "what" | "which")).map(|i| i + 1).filter(|_| has);
    owned.chain(had).filter_map(|i| question.words.get(i)).any(|noun| {
        let said: Vec<usize> = (0..text.len()).filter(|i| text[*i].stem == noun.stem).collect();
        !said.is_empty() && said.into_iter().all(of_other)
    })
}

fn is_determiner(word: &str) -> bool {
    matches!(word, "his" | "her" | "their" | "your" | "the" | "a" | "an" | "this" | "that" | "these" | "those")
}

/// Whether the verb of the question has its subject as object in a text, and its object as subject: "Jess gave me" and not "I gave Jess".
fn is_reversed(question: &Question, text: &[Word]) -> bool {
    let words = &question.words;
    let is_auxiliary = |w: &Word| matches!(w.plain.as_str(), "do" | "does" | "did" | "have" | "has" | "had");
    // Many people write names without a capital, so any word may be a name.
    let is_name = |w: &&Word| !w.possessive && (is_first_person(&w.plain) || !is_function_word(w));
    let is_determiner = |w: &Word| FirstPerson::is_determiner(&w.plain) || is_determiner(&w.plain);
    let skip_determiners = |from: usize| (from..words.len()).find(|i| !is_determiner(&words[*i]));
    let subject_at = words.iter().position(is_auxiliary).and_then(|i| skip_determiners(i + 1));
    let Some((subject_at, subject)) = subject_at.map(|i| (i, &words[i])).filter(|(_, w)| is_name(w)) else { return false };
    let is_content = |i: &usize| !words[*i].proper && !is_function_word(&words[*i]);
    let Some(verb_at) = (subject_at + 1..words.len()).find(is_content) else { return false };
    let object_at = verb_at + 1 + usize::from(words.get(verb_at + 1).is_some_and(|w| w.plain == "to"));
    let Some(object) = skip_determiners(object_at).map(|i| &words[i]).filter(is_name) else { return false };
    let is_called = |w: &Word, named: &Word| !w.possessive && (w.stem == named.stem || is_answered_by(&named.plain, &w.plain));
    let is_subject = |w: &Word, named: &Word| match is_first_person(&named.plain) {
        true => is_first_person_subject(&w.plain),
        false => is_called(w, named),
    };
    let is_object = |w: &Word, named: &Word| match is_first_person(&named.plain) {
        true => matches!(w.plain.as_str(), "me" | "us"),
        false => is_called(w, named),
    };
    let is_reversed_at = |at: usize| {
        let clause = text[..at].iter().rposition(|w| CONJUNCTIONS.contains(&w.plain.as_str())).map_or(0, |i| i + 1);
        let (before, after) = (&text[clause..at], &text[at + 1..text.len().min(at + 5)]);
        // "I was given a mug by Jess".
        let is_passive = || before.iter().any(|w| matches!(w.plain.as_str(), "was" | "were" | "been" | "got" | "is" | "are"));
        let has_subject = before.iter().any(|w| is_subject(w, subject));
        let has_object = before.iter().any(|w| is_subject(w, object));
        !has_subject && has_object && after.iter().any(|w| is_object(w, subject)) && !is_passive()
    };
    let mut verbs = (0..text.len()).filter(|i| text[*i].stem == words[verb_at].stem).peekable();
    verbs.peek().is_some() && verbs.all(is_reversed_at)
}

/// Whether a text names something only to say that another was chosen: "we picked Lofoten over Patagonia".
pub(super) fn is_passed_over(text: &[Word], name: &Word) -> bool {
    let mut places = (0..text.len()).filter(|i| text[*i].stem == name.stem).peekable();
    let passed = |i: usize| i > 0 && matches!(text[i - 1].plain.as_str(), "over" | "than") && i > 1;
    places.peek().is_some() && places.all(passed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use recall_domain::{Ontology, Timestamp};

    use super::*;
    use crate::cues::CueIndex;

    fn is_about_other(question: &str, text: &str) -> bool {
        let cues = CueIndex::new(&Ontology::parse(crate::tests::ONTOLOGY).unwrap());
        let viewer = crate::tests::viewer();
        let question = Question::read(question, Timestamp::default(), &[(0, &viewer)], &[], &cues);
        is_excluded(&question, text)
    }

    #[test]
    fn texts_about_something_else_are_excluded() {
        for (question, text) in [
            ("What is my favourite book?", "my favourite film is Paddington 2"),
            ("What did I buy my dad for christmas?", "I bought my mum a necklace for christmas"),
            ("What's my husband's name?", "My wife is called Jo"),
            ("When was my first covid jab?", "I got my second covid jab on 4 June"),
            ("What car do I have?", "My dad's car is a Jag"),
            ("What's my dog called?", "Emma's dog is called Waffles"),
            ("Who is my teacher?", "My daughter's teacher is Mrs Okafor"),
            ("What did I give Jess?", "Jess gave me a mug for christmas"),
            ("How much do I owe Rafael?", "Rafael owes me 50 pounds"),
            ("What did Jess give me?", "I gave Jess a mug"),
            ("What did dad give me?", "i gave dad a whisky for xmas"),
            ("What did my father give me?", "i gave my dad a whisky for xmas"),
            ("what did i give dad?", "dad gave me a watch"),
            ("what did sarah tell me?", "i told sarah a secret"),
            ("do i drink alcohol?", "i dont drink coffee anymore"),
            ("Do I speak Spanish?", "I speak a little French"),
            ("how tall am i?", "my boots are size 9"),
            ("What's my favourite song?", "my favorite film is Alien"),
            ("What is my favourite actor?", "my favourite film is Alien"),
            ("When is Leo's birthday, June or so?", "Leo's birthday is in may"),
        ] {
            assert!(is_about_other(question, text), "{question} {text}");
        }
    }

    #[test]
    fn texts_in_other_words_are_not_excluded() {
        for (question, text) in [
            ("What is my favourite film?", "my favourite movie is Paddington 2"),
            ("What did I buy my mum for christmas?", "I bought my mother a necklace, and my dad a book"),
            ("Who is my spouse?", "My wife is called Jo"),
            ("Who is my mum's brother?", "My uncle is called Jo"),
            ("When did my sister move?", "Nekesa moved to the coast in May. My nieces love it there."),
            ("Who is Ann's wife?", "Her husband Ann is here"),
            ("When was my first covid jab?", "I got my covid jab on 4 June"),
            ("What car do I have?", "My car is a Jag"),
            ("What did Jess give me?", "Jess gave me a mug for christmas"),
            ("What did Jess give me?", "I was given a mug by Jess"),
            ("what did dad give me?", "dad gave me a watch"),
            ("what did i give dad?", "i gave my father a whisky for xmas"),
            ("what did dad give me?", "i gave dad a whisky and dad gave me a watch"),
            ("Do I play an instrument?", "I play the piano"),
            ("Do I smoke cigarettes?", "I don't smoke anymore"),
            ("how tall am i?", "my height is 180 cm"),
            ("how tall am i?", "i'm 180 cm and my boots are size 9"),
            ("What is my favourite food?", "my favourite pizza is the one with figs"),
            ("What is my favourite film?", "Alien is my favourite of all films"),
            ("What did I give Jess?", "Jess gave me a mug and I gave Jess a book"),
            ("When is our flight, June or so?", "Our flight may be late this summer"),
            ("May I bring my dog to the office?", "I bring my dog to the office in June"),
        ] {
            assert!(!is_about_other(question, text), "{question} {text}");
        }
    }
}
