//! Keeps the facts whose open side belongs to the class of the question: "which pets", "which clubs and choirs".

use super::{
    answer_type::AnswerType,
    evidence::{evidence_has_word, sentences_of},
    lexicon::{class_named, classes_of, is_specific_class},
    question::Question,
    words::words,
};
use recall_domain::{
    Entity, EntityId, EntityType, Stance,
    context::{RankedFact, RankedMessage},
};
use recall_embedding::LocalEmbedder;

/// Cosine similarity of class noun and name from which the name belongs to the class ("pet", "cat": 0.75).
const CLASS_SIMILARITY: f32 = 0.5;

/// Whether an entity belongs to a class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ClassMembership {
    No,
    Unknown,
    Yes,
}

/// Keeps the facts whose open side belongs to the class of the question.
///
/// If words do not decide for any fact, the types do, unless the class is too broad for them.
pub(super) fn keep_class_members<'a>(
    matching: Vec<&'a RankedFact>,
    question: &Question,
    ranked: &[RankedMessage],
    embedder: &LocalEmbedder,
) -> Vec<&'a RankedFact> {
    let counted: Vec<String> = match &question.answer_type {
        AnswerType::Count(noun) => vec![noun.clone()],
        _ => Vec::new(),
    };
    let nouns = if question.class.nouns.is_empty() { &counted } else { &question.class.nouns };
    if nouns.is_empty() {
        return matching;
    }
    let named = |id: EntityId| question.named.iter().any(|n| n.entities.contains(&id));
    let judge = |f: &RankedFact| {
        let open_side = if named(f.fact.subject) { &f.object } else { &f.subject };
        nouns.iter().map(|noun| membership(f, open_side, noun, ranked, embedder)).max().unwrap_or(ClassMembership::Unknown)
    };
    let judged: Vec<(ClassMembership, &RankedFact)> = matching.into_iter().map(|f| (judge(f), f)).collect();
    let is_sure = judged.iter().any(|(k, _)| *k == ClassMembership::Yes);
    // "Which city": the type says enough. A thing or a concept may be anything.
    let broad = question
        .class
        .types
        .iter()
        .any(|t| !matches!(t, EntityType::Place | EntityType::Organization | EntityType::Person | EntityType::Event));
    let narrow = !counted.is_empty() || nouns.iter().all(|noun| is_specific_class(noun));
    let is_decided = narrow || (is_sure && (broad || question.class.types.is_empty()));
    let least = if is_decided { ClassMembership::Yes } else { ClassMembership::Unknown };
    judged.into_iter().filter(|(k, _)| *k >= least).map(|(_, f)| f).collect()
}

/// Whether the open side of a fact belongs to the class that a noun names.
fn membership(f: &RankedFact, open_side: &Entity, noun: &str, ranked: &[RankedMessage], embedder: &LocalEmbedder) -> ClassMembership {
    let wanted_class = class_named(noun);
    let supports = || f.evidence.iter().filter(|e| e.stance != Stance::Opposes);
    let excerpts = || supports().flat_map(|e| words(e.excerpt.as_str()));
    // "Waffles, beagle mix, 6": what stands right after the name says what it is.
    let apposition = || {
        let sentences = supports().flat_map(|e| sentences_of(e, ranked));
        sentences.flat_map(|s| s.split_once(open_side.name.as_str()).map(|(_, rest)| words(rest)).unwrap_or_default().into_iter().take(3))
    };
    let classes = classes_of(&open_side.name);
    let similarity = || {
        let class_vector = embedder.vector(noun).0;
        embedder.vector(&open_side.name).0.iter().zip(&class_vector).map(|(a, b)| a * b).sum::<f32>()
    };
    if wanted_class.is_some_and(|k| classes.contains(&k)) || evidence_has_word(f, noun, "") {
        ClassMembership::Yes
    } else if wanted_class.is_some() && !classes.is_empty() {
        ClassMembership::No
    } else if wanted_class.is_some_and(|k| {
        excerpts().chain(apposition()).any(|w| classes_of(&w.plain).contains(&k)) && open_side.name.starts_with(char::is_uppercase)
    }) || similarity() >= CLASS_SIMILARITY
    {
        // "a cat called Pixel".
        ClassMembership::Yes
    } else {
        ClassMembership::Unknown
    }
}
