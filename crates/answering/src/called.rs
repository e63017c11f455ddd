//! Finds what somebody's things and people are called: "What is my dog called?", "Is my wife called Mary?"

use super::{
    answer_type::AnswerType,
    asking::asking_part,
    cues::CueIndex,
    evidence::{evidence_has_word, sentences_of},
    facts::{FactAnswer, Verdict, holds},
    lexicon::is_function_word,
    path::Ask,
    question::{Question, QuestionKind},
    words::{Word, same_noun, words},
};
use recall_domain::context::{RankedFact, RankedMessage};

/// Returns the noun of a question for a name: "dog" in "what is my dog called".
pub(super) fn noun_of_name(question: &Question) -> Option<String> {
    let owner = question.named.iter().filter(|n| n.possessive && question.answer_type == AnswerType::Name).min_by_key(|n| n.start)?;
    question.words.get(owner.end).filter(|w| !is_function_word(w)).map(|w| w.plain.clone())
}

/// Returns the possessions with a name of their own: "What is my cat called?" has no verb other than "is".
pub(super) fn find_named_possessions<'a>(
    question: &Question,
    usable: &[&'a RankedFact],
    ranked: &[RankedMessage],
    cue_index: &CueIndex,
) -> Vec<&'a RankedFact> {
    let (owner, others) = match question.named.as_slice() {
        [owner, others @ ..] if owner.possessive => (owner, others),
        _ => return Vec::new(),
    };
    let Some(noun) = question.words.get(owner.end).filter(|_| others.iter().all(|n| n.start == owner.end)) else { return Vec::new() };
    if question.unexplained_words(None).iter().any(|w| w.plain != noun.plain) {
        return Vec::new();
    }
    let is_possession = |f: &&&RankedFact| {
        holds(f)
            && owner.entities.contains(&f.fact.subject)
            && f.object.name.starts_with(char::is_uppercase)
            && !same_noun(&f.object.name.to_lowercase(), &noun.plain)
            && cue_index.is_possession(&f.fact.relation)
    };
    let all: Vec<&RankedFact> = usable.iter().filter(is_possession).copied().collect();
    let mut found: Vec<&RankedFact> = all.iter().filter(|f| evidence_has_word(f, &noun.plain, &noun.stem)).copied().collect();
    // "A dog called Rex and a cat called Tom": Tom is no dog.
    let is_of_other = |f: &RankedFact| {
        let mut others = found.iter().filter(|other| other.fact.id != f.fact.id);
        others.any(|other| f.evidence.iter().any(|e| is_name_between(e.excerpt.as_str(), &noun.stem, &other.object.name, &f.object.name)))
    };
    let of_other: Vec<_> = found.iter().filter(|f| is_of_other(f)).map(|f| f.fact.id).collect();
    found.retain(|f| !of_other.contains(&f.fact.id));
    // "My rabbits are called Fluff, Puff and Stuff": the noun stands only before the first name.
    for f in all {
        let is_known = found.iter().any(|known| known.fact.id == f.fact.id);
        if !is_known && found.iter().any(|known| are_listed(known, f, ranked)) {
            found.push(f);
        }
    }
    let place = |f: &&RankedFact| {
        let sentence = f.evidence.iter().find_map(|e| sentences_of(e, ranked).into_iter().next());
        sentence.and_then(|s| s.find(f.object.name.as_str()))
    };
    found.sort_by_key(place);
    found
}

/// Whether the last noun before a name belongs to another name between them.
fn is_name_between(text: &str, noun: &str, other: &str, name: &str) -> bool {
    let said = words(text);
    let at = |name: &str| text.find(name);
    let noun = at(name).and_then(|name| said.iter().rfind(|w| w.stem == noun && w.span.1 <= name));
    let (Some(noun), Some(other), Some(name)) = (noun, at(other).map(|at| (at, at + other.len())), at(name)) else { return false };
    let between = text.get(other.1..name).unwrap_or_default();
    noun.span.1 <= other.0 && other.1 <= name && !is_list(between)
}

/// Whether a text between two names has nothing but names.
fn is_list(between: &str) -> bool {
    let is_listed = |w: &Word| w.capital || w.plain == "and";
    !between.contains(['.', ';', ':', '(']) && words(between).iter().all(is_listed)
}

/// Whether a sentence has the object of one fact and then that of another, with nothing but names between them.
fn are_listed(first: &RankedFact, next: &RankedFact, ranked: &[RankedMessage]) -> bool {
    let sentences = first.evidence.iter().flat_map(|e| sentences_of(e, ranked));
    sentences.into_iter().any(|sentence| {
        let end = sentence.find(first.object.name.as_str()).map(|at| at + first.object.name.len());
        let start = end.and_then(|end| Some(end + sentence.get(end..)?.find(next.object.name.as_str())?));
        let between = end.zip(start).and_then(|(end, start)| sentence.get(end..start));
        between.is_some_and(is_list)
    })
}

/// Answers whether something is called so: "Is my wife called Mary?", "Is my dog's name Max?" Returns the open question with its facts.
pub(super) fn decide_name<'a>(text: &str, question: &Question, ask: &impl Ask<'a>) -> Option<(Question, FactAnswer<'a>)> {
    let is_asked = question.words.first().is_some_and(|w| matches!(w.plain.as_str(), "is" | "are"));
    let called = question.words.iter().position(|w| matches!(w.plain.as_str(), "called" | "named" | "name" | "names"))?;
    let name = question.words.get(called + 1..).filter(|name| !name.is_empty() && name.len() <= 3)?;
    let owner = question.named.iter().find(|n| n.possessive && n.start == 1 && n.end < called)?;
    if !is_asked || question.kind != QuestionKind::YesNo || name.iter().any(is_function_word) || owner.end + 3 < called {
        return None;
    }
    let part = text.get(asking_part(text))?;
    let described = part.get(question.words.get(1)?.span.0..question.words.get(called)?.span.1)?;
    let open = ask.parse(&format!("What is {described}"));
    let mut found = ask.find(&open);
    let other =
        |f: &RankedFact| if open.named.iter().any(|n| n.entities.contains(&f.fact.subject)) { f.object.clone() } else { f.subject.clone() };
    found.facts.retain(|f| holds(f) && other(f).name.starts_with(char::is_uppercase));
    if found.facts.is_empty() {
        return None;
    }
    let is_called = |f: &&RankedFact| {
        let entity = other(f);
        let mut names = std::iter::once(&entity.name).chain(&entity.aliases);
        names.any(|known| name.iter().all(|w| words(known).iter().any(|k| k.plain == w.plain)))
    };
    let so_called: Vec<&RankedFact> = found.facts.iter().copied().filter(is_called).collect();
    // Another sister may be called so, and a short name may mean the same one.
    found.verdict = (!so_called.is_empty()).then_some(Verdict::Yes);
    if !so_called.is_empty() {
        found.facts = so_called;
    }
    Some((open, found))
}
