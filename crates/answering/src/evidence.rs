//! What the evidence of a fact says beyond its sides and relation.

use unicode_segmentation::UnicodeSegmentation;

use super::{
    cues::CueMatch,
    excerpts::without_quotations,
    lexicon::{class_named, classes_of, is_answered_by},
    words::{Word, stem, words},
};
use recall_domain::{
    EntityType, Evidence, MessageId, Stance,
    context::{RankedFact, RankedMessage},
};

/// Whether a message is evidence of a fact.
pub(super) fn is_told_by(f: &RankedFact, message: MessageId) -> bool {
    f.evidence.iter().any(|e| e.message == message)
}

/// Whether names, descriptions and the sentences that tell the fact have the other content words, and the words that narrow the cue.
///
/// Of a message that was not found with the question, only the excerpt is known. What a message quotes of others is no evidence.
pub(super) fn covers_words(f: &RankedFact, ranked: &[RankedMessage], rest: &[&Word], cue: &CueMatch) -> bool {
    if rest.is_empty() && cue.manner.is_empty() {
        return true;
    }
    let names = [f.subject.name.as_str(), &f.object.name].into_iter();
    let excerpts = f.evidence.iter().map(|e| e.excerpt.as_str());
    let described = [&f.subject.description, &f.object.description].into_iter().flatten().map(String::as_str);
    let sentences = f.evidence.iter().flat_map(|e| sentences_of(e, ranked));
    let known = names.chain(excerpts).chain(described).flat_map(words);
    let known: Vec<Word> = known.chain(sentences.flat_map(|s| words(&s))).collect();
    rest.iter().all(|w| known.iter().any(|k| k.stem == w.stem || is_answered_by(&w.plain, &k.plain)))
        && cue.manner.iter().all(|stem| known.iter().any(|k| k.stem == *stem))
}

/// Whether a word of the question names a side of a fact, or what that side is.
pub(super) fn is_side_named(f: &RankedFact, word: &Word) -> bool {
    let described = [&f.subject.description, &f.object.description].into_iter().flatten().map(String::as_str);
    let names = [f.subject.name.as_str(), &f.object.name].into_iter();
    let aliases = f.subject.aliases.iter().chain(&f.object.aliases).map(String::as_str);
    let is_member = |name: &str| class_named(&word.plain).is_some_and(|class| classes_of(name).contains(&class));
    let is_named = f.object.name.starts_with(char::is_uppercase);
    // "A dog called Rex".
    let told = || is_named && f.evidence.iter().flat_map(|e| words(e.excerpt.as_str())).any(|w| w.stem == word.stem);
    names.clone().any(is_member)
        || names.chain(described).chain(aliases).flat_map(words).any(|k| k.stem == word.stem || is_answered_by(&word.plain, &k.plain))
        || told()
}

/// Returns the sentences that tell the fact in the message of the evidence, if the message was found with the question.
pub(super) fn sentences_of(evidence: &Evidence, ranked: &[RankedMessage]) -> Vec<String> {
    let excerpt = evidence.excerpt.as_str().trim();
    let Some(found) = ranked.iter().find(|m| m.message.id == evidence.message).filter(|_| !excerpt.is_empty()) else { return Vec::new() };
    let text = without_quotations(found.message.text.as_str());
    text.unicode_sentences().filter(|s| s.contains(excerpt)).map(str::to_owned).collect()
}

/// Words that say more than the relation of which they are cues: what somebody hates is not what frightens them, and who is
/// engaged is not married.
const NARROWER: [&[&str]; 4] = [
    &["afraid", "scared", "terrified", "frightened", "petrified", "phobia", "fear", "dread", "scare", "terrify", "frighten"],
    &["tired", "sick", "bored", "fed"],
    &["annoyed", "annoy", "annoying", "peeve"],
    &["wedding", "wed", "marry", "marriage", "husband", "wife", "spouse", "partner", "anniversary"],
];
/// Words of people who have a home in common.
const SHARE_HOME: &[&str] = &["live", "move", "share", "flatmate", "roommate", "housemate", "lodger"];

/// Whether the evidence of a fact tells what a word of the question says, if that is more than the relation.
pub(super) fn tells_narrower(f: &RankedFact, word: &str) -> bool {
    let described = [&f.subject.description, &f.object.description].into_iter().flatten().map(String::as_str);
    let told: Vec<Word> = f.evidence.iter().map(|e| e.excerpt.as_str()).chain(described).flat_map(words).collect();
    // The words may be forgotten, or be synonyms: "my girlfriend" is a partner.
    if told.is_empty() || told.iter().any(|w| is_answered_by(word, &w.plain)) {
        return true;
    }
    let shares_home = f.object.entity_type != EntityType::Person || has_group_of(&[SHARE_HOME], word, &told);
    shares_home && has_narrower(word, &told)
}

/// Whether a text has a word of the narrower group that a word of the question belongs to, if it belongs to one.
pub(super) fn has_narrower(word: &str, text: &[Word]) -> bool {
    has_group_of(&NARROWER, word, text)
}

fn has_group_of(groups: &[&[&str]], word: &str, text: &[Word]) -> bool {
    let asked = stem(word);
    let group = groups.iter().find(|group| group.iter().any(|w| stem(w) == asked));
    group.is_none_or(|group| text.iter().any(|said| group.iter().any(|w| stem(w) == said.stem)))
}

/// Whether evidence, names or descriptions contain the word, a word with this stem, or a narrower word.
pub(super) fn evidence_has_word(f: &RankedFact, word: &str, stem: &str) -> bool {
    let excerpts = f.evidence.iter().filter(|e| e.stance != Stance::Opposes).map(|e| e.excerpt.as_str());
    let described = [&f.subject.description, &f.object.description].into_iter().flatten().map(String::as_str);
    let names = [f.subject.name.as_str(), f.object.name.as_str()];
    excerpts.chain(described).chain(names).any(|text| words(text).iter().any(|w| w.stem == stem || is_answered_by(word, &w.plain)))
}
