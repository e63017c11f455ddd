//! Closed classes of words that matter for reading a question, and kinds of things. No facts here.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use super::words::{Word, same_noun, singular};
use recall_domain::EntityType;

/// Words that open a question or glue it together. They say nothing about what is asked for.
const FUNCTION: &str = "\
    a about all also am an and any anyone anybody anything are aren't as at be been being but by can could currently days did didn't \
    do does doesn't doing don't else ever exactly for from had has hasn't have haven't he her hers him his how i i'm i've if in into is \
    isn't it it's its just many me mine moment much my myself nowadays now of off on or our ours out please presently really recently \
    right she should so some someone somebody something still than that the their theirs them then there these they this those to \
    today too up us usually was wasn't we were weren't what what's when where where's whereabouts which who who's whom whose why \
    will with would yet you your yours again actually anymore longer no not never before previously formerly earlier used present \
    time times everything every each both one ones thing things kind type sort lately already always once until till since during \
    after anywhere ago come comes old long often far hey hi ok okay well";

/// What a person does who only asks for what is known.
const ASKING: &str =
    "know tell remember recall remind say said mention mentioned inform info fact facts learn told list name show describe give";

/// Prepositions and particles that belong to a verb.
const PARTICLES: &str = "\
    in on at to for with of from into over up down about against upon off out by away through under near after using alongside";

/// Prepositions whose place "where" takes.
const PLACE_PARTICLES: [&str; 6] = ["in", "at", "to", "near", "from", "on"];

/// Nouns that name a class of things: "which city", "what tools".
const CLASSES: &[(&str, &[EntityType])] = &[
    ("person people man men woman women guy girl boy folk human", &[EntityType::Person]),
    (
        "company companies organization organisation employer firm team school university college club band department guild group choir",
        &[EntityType::Organization],
    ),
    (
        "city cities town country countries village place region state area location neighborhood neighbourhood district continent venue",
        &[EntityType::Place],
    ),
    ("project product initiative repository repo app application service", &[EntityType::Project, EntityType::Tool]),
    (
        "tool language database framework library software editor stack technology tech technologies platform program programming system browser network messenger queue",
        &[EntityType::Tool, EntityType::Thing, EntityType::Concept],
    ),
    ("event conference concert festival", &[EntityType::Event]),
    ("hobby hobbies activity activities sport sports topic subject genre music", &[EntityType::Concept, EntityType::Thing]),
    (LOOSE, &[EntityType::Thing, EntityType::Concept, EntityType::Tool]),
    ("thing things item object", &[EntityType::Thing, EntityType::Concept]),
];

/// Kinds of things that share one type, so that the type does not say whether a car or a cake was meant.
const LOOSE: &str = "\
    pet animal animals food dish meal drink book movie film song game car vehicle bike instrument colour color language database framework \
    library editor browser network messenger queue flower plant fruit vegetable dessert series show band music sport sports hobby country";

fn set(text: &'static str) -> HashSet<&'static str> {
    text.split_whitespace().collect()
}

static FUNCTION_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(FUNCTION));
static ASKING_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(ASKING));
static PARTICLE_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(PARTICLES));

/// Whether a word only holds a question together.
pub(super) fn is_function(word: &Word) -> bool {
    FUNCTION_WORDS.contains(word.plain.as_str())
}

/// Whether a word only says that something is asked.
pub(super) fn is_asking(word: &Word) -> bool {
    ASKING_WORDS.contains(word.plain.as_str())
}

/// Whether a verb, by its stem, says too little to look for.
pub(super) fn is_light(stem: &str) -> bool {
    matches!(stem, "happen" | "go" | "get" | "take" | "make" | "give" | "tri" | "come" | "put" | "let")
}

/// Whether a word is a preposition or particle that may belong to a verb.
pub(super) fn is_particle(word: &str) -> bool {
    PARTICLE_WORDS.contains(word)
}

/// Whether "where" may stand in for the preposition.
pub(super) fn is_place_particle(word: &str) -> bool {
    PLACE_PARTICLES.contains(&word)
}

/// Whether a word stands for the person who asks.
pub(super) fn is_first_person(word: &str) -> bool {
    matches!(
        word,
        "i" | "me"
            | "my"
            | "mine"
            | "myself"
            | "we"
            | "us"
            | "our"
            | "ours"
            | "i'm"
            | "i've"
            | "i'd"
            | "i'll"
            | "we're"
            | "we've"
            | "we'd"
            | "we'll"
    )
}

/// Whether a word is "I" or "we" as one who does something.
/// Whether a word means who asks with others: in shared memory, everybody.
pub(super) fn is_we(word: &str) -> bool {
    matches!(word, "we" | "us" | "our" | "ours" | "we're" | "we've")
}

pub(super) fn is_first_person_subject(word: &str) -> bool {
    is_first_person(word) && !matches!(word, "me" | "my" | "mine" | "myself" | "us" | "our" | "ours")
}

/// Types that a class noun stands for.
pub(super) fn class_of(word: &Word) -> Option<&'static [EntityType]> {
    let singular = singular(&word.plain);
    CLASSES.iter().find(|(nouns, _)| nouns.split_whitespace().any(|n| n == word.plain || n == singular)).map(|(_, types)| *types)
}

/// Whether a class noun says more than its types do.
pub(super) fn is_loose(word: &str) -> bool {
    LOOSE.split_whitespace().any(|n| same_noun(n, word))
}

/// Names of kinds to what is of that kind, and back.
struct Kinds {
    members: HashMap<&'static str, HashSet<&'static str>>,
    of: HashMap<&'static str, Vec<&'static str>>,
}

/// Other names of kinds.
const KIND_NAMES: &[(&str, &str)] = &[
    ("pet", "animal"),
    ("dish", "food"),
    ("meal", "food"),
    ("color", "colour"),
    ("vehicle", "car"),
    ("db", "database"),
    ("tongue", "language"),
    ("beverage", "drink"),
    ("bicycle", "bike"),
    ("activity", "sport"),
    ("hobby", "sport"),
    ("day", "weekday"),
];

static KINDS: LazyLock<Kinds> = LazyLock::new(|| {
    let mut kinds = Kinds { members: HashMap::new(), of: HashMap::new() };
    let lists = [("animal", include_str!("../../../data/lexicon/animals.txt")), ("food", include_str!("../../../data/lexicon/foods.txt"))];
    let own = include_str!("kinds.txt").lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split_once(':'));
    for (kind, list) in lists.into_iter().chain(own) {
        let entries = list.lines().filter(|l| !l.starts_with('#')).flat_map(|l| l.split(','));
        for entry in entries.map(|e| e.trim().trim_end_matches('~')).filter(|e| !e.is_empty()) {
            kinds.members.entry(kind).or_default().insert(entry);
            kinds.of.entry(entry).or_default().push(kind);
        }
    }
    kinds
});

/// The kind that a class noun names.
pub(super) fn kind_named(noun: &str) -> Option<&'static str> {
    let noun = singular(noun);
    let noun = KIND_NAMES.iter().find(|(other, _)| same_noun(other, noun)).map_or(noun, |(_, kind)| kind);
    KINDS.members.get_key_value(noun).map(|(kind, _)| *kind)
}

/// The kinds that a thing is known to be of, by its name or the last word of it.
pub(super) fn kinds_of(name: &str) -> Vec<&'static str> {
    let name = name.to_lowercase();
    let last = name.rsplit(' ').next().unwrap_or_default();
    let known = |n: &str| KINDS.of.get(n).or_else(|| KINDS.of.get(singular(n)));
    known(&name).or_else(|| known(last)).cloned().unwrap_or_default()
}

/// Whether two words name different things of one kind (a cat and a dog, Monday and Tuesday), which are near in
/// meaning and never stand for one another.
pub(super) fn are_siblings(a: &str, b: &str) -> bool {
    if is_called(a, b) || is_called(b, a) {
        return false;
    }
    let others = kinds_of(b);
    kinds_of(a).iter().any(|kind| others.contains(kind))
}

/// Words of one list that mean the same.
const SYNONYMS: &[&str] = &[
    "puppy pup dog",
    "kitten kitty cat",
    "bunny rabbit",
    "bicycle bike",
    "autumn fall",
    "mother mom mum mama",
    "father dad papa",
    "grandmother grandma granny",
    "grandfather grandpa granddad",
    "child children kid kids",
    "spouse partner",
];

/// Words that take in others of the list: who asks for the first may be told of the others.
const BROADER: &[&str] = &[
    "sibling sister brother twin",
    "parent mother father mom mum dad",
    "child son daughter baby",
    "children son daughter baby",
    "kid son daughter baby",
    "spouse wife husband",
    "partner wife husband girlfriend boyfriend fiancé fiancée",
    "grandparent grandmother grandfather grandma grandpa",
    "grandchild grandson granddaughter",
    "grandchildren grandson granddaughter",
];

/// Whether something called by one word is asked for by another.
pub(super) fn is_called(asked: &str, said: &str) -> bool {
    let in_group = |group: &&str, word: &str| group.split(' ').any(|w| same_noun(w, word));
    same_noun(asked, said)
        || SYNONYMS.iter().any(|g| in_group(g, asked) && in_group(g, said))
        || BROADER.iter().any(|g| g.split(' ').next().is_some_and(|first| same_noun(first, asked)) && in_group(g, said))
}

static OCCUPATIONS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let lines = include_str!("../../../data/lexicon/people.txt").lines().filter(|l| !l.starts_with('#'));
    lines.flat_map(|l| l.split(',')).map(str::trim).collect()
});

/// Whether a noun says what a person does or is to someone.
pub(super) fn is_person_noun(word: &str) -> bool {
    OCCUPATIONS.contains(word) || OCCUPATIONS.contains(singular(word)) || kinds_of(word).contains(&"kin")
}

/// Whether a noun says what a person does.
pub(super) fn is_occupation(word: &str) -> bool {
    const TIES: &str =
        "boss colleague coworker teammate friend buddy neighbor neighbour mate pal flatmate classmate roommate crush idol hero";
    let word = singular(word);
    OCCUPATIONS.contains(word) && !TIES.split_whitespace().any(|t| t == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::words;

    #[test]
    fn class_nouns_name_types() {
        assert_eq!(class_of(&words("sunset")[0]), None);
        assert!(class_of(&words("city")[0]).is_some_and(|t| t.contains(&EntityType::Place)));
        assert!(class_of(&words("tools")[0]).is_some_and(|t| t.contains(&EntityType::Tool)));
    }

    #[test]
    fn things_of_one_kind_are_told_apart() {
        assert!(are_siblings("dogs", "cat") && are_siblings("monday", "friday") && are_siblings("kotlin", "rust"));
        assert!(are_siblings("brother", "sister") && are_siblings("son", "daughter") && !are_siblings("kids", "daughter"));
        assert!(!are_siblings("mom", "mother") && is_person_noun("uncle") && is_occupation("nurses") && !is_occupation("friend"));
        assert!(!are_siblings("dog", "dogs") && !are_siblings("puppy", "dog") && !are_siblings("dog", "walk"));
        assert_eq!(kind_named("pets"), Some("animal"));
        assert!(kinds_of("PostgreSQL").contains(&"database") && kinds_of("orange cargo bike").contains(&"bike"));
    }
}
