//! Word classes for parsing questions, and classes of things.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use super::words::{Word, same_noun, singular};
use recall_domain::{EntityType, word_list::entries};

/// Function words, which do not restrict the answer.
const FUNCTION_WORD_LIST: &str = "\
    a about all also am an and any anyone anybody anything are aren't as at be been being but by can could currently days did didn't \
    do does doesn't doing don't else ever exactly for from had has hasn't have haven't he her hers him his how i i'm i've if in into is \
    isn't it it's its just many me mine moment much my myself nowadays now of off on or our ours out please presently really recently \
    right she should so some someone somebody something still than that the their theirs them then there these they this those to \
    today too up us usually was wasn't we were weren't what what's when where where's whereabouts which who who's whom whose why \
    will with would yet you your yours again actually anymore longer no not never before previously formerly earlier used present \
    time times everything every each both one ones thing things kind type sort lately already always once until till since during \
    after anywhere ago come comes old long often far hey hi ok okay well actual really currently far yet altogether overall";

/// Words that only express the request: "tell", "remember".
const ASKING_WORD_LIST: &str = "know tell remember recall remind say said mention mentioned inform info fact facts learn told list name show describe give summarise summarize summary recap overview";

/// Prepositions and particles that belong to a verb.
const PARTICLE_LIST: &str = "\
    in on at to for with of from into over up down about against upon off out by away through under near after using alongside";

/// Prepositions that "where" replaces.
const PLACE_PARTICLES: [&str; 6] = ["in", "at", "to", "near", "from", "on"];

/// Class nouns with their entity types: "which city", "what tools".
const CLASS_NOUNS: &[(&str, &[EntityType])] = &[
    ("person people man men woman women guy girl boy folk human", &[EntityType::Person]),
    (
        "company companies organization organisation employer firm team school university college club band department guild group choir \
         hospital shop store bakery restaurant bank museum council orchestra church",
        &[EntityType::Organization],
    ),
    (
        "city cities town country countries village region state area neighborhood neighbourhood district continent suburb",
        &[EntityType::Place],
    ),
    ("place location venue institution", &[EntityType::Place, EntityType::Organization, EntityType::Event]),
    ("project product initiative repository repo app application service", &[EntityType::Project, EntityType::Tool]),
    (
        "tool language database framework library software editor stack technology tech technologies platform program programming system browser network messenger queue engine",
        &[EntityType::Tool, EntityType::Thing, EntityType::Concept],
    ),
    ("event conference concert festival fair", &[EntityType::Event]),
    ("hobby hobbies activity activities sport sports topic subject genre music", &[EntityType::Concept, EntityType::Thing]),
    (SPECIFIC_CLASSES, &[EntityType::Thing, EntityType::Concept, EntityType::Tool]),
    ("thing things item object", &[EntityType::Thing, EntityType::Concept]),
];

/// Class nouns that are more specific than their entity types, which do not distinguish a car from a cake.
const SPECIFIC_CLASSES: &str = "\
    pet animal animals food dish meal drink book movie film song game car vehicle bike instrument colour color language database framework \
    library editor browser network messenger queue engine flower plant fruit vegetable dessert series show band music sport sports hobby country";

fn set(text: &'static str) -> HashSet<&'static str> {
    text.split_whitespace().collect()
}

static FUNCTION_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(FUNCTION_WORD_LIST));
static ASKING_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(ASKING_WORD_LIST));
static PARTICLE_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(PARTICLE_LIST));

/// Whether a word is a function word.
pub(super) fn is_function_word(word: &Word) -> bool {
    FUNCTION_WORDS.contains(word.plain.as_str())
}

/// Whether a word opens a question for something: "who", "where".
pub(super) fn is_question_word(word: &str) -> bool {
    matches!(word, "who" | "whom" | "whose" | "what" | "which" | "where" | "when" | "why" | "how")
}

/// Whether a word only expresses the request.
pub(super) fn is_asking_word(word: &Word) -> bool {
    ASKING_WORDS.contains(word.plain.as_str())
}

/// Whether a verb, given by its stem, has too little meaning to match.
pub(super) fn is_light_verb(stem: &str) -> bool {
    matches!(stem, "happen" | "go" | "get" | "take" | "make" | "give" | "tri" | "come" | "put" | "let")
}

/// Whether a word only says that something was arranged for a time.
pub(super) fn is_appointment(word: &str) -> bool {
    matches!(word, "appointment" | "appt" | "booking" | "slot")
}

/// Whether a verb, given by its stem, tells by what means somebody moved.
pub(super) fn is_manner_of_moving(stem: &str) -> bool {
    matches!(stem, "drive" | "fli" | "fly" | "sail" | "cycl" | "ride" | "walk" | "hike" | "swim" | "run" | "hitchhik")
}

/// Whether a word is a preposition or particle that may belong to a verb.
pub(super) fn is_particle(word: &str) -> bool {
    PARTICLE_WORDS.contains(word)
}

/// Whether "where" may replace the preposition.
pub(super) fn is_place_particle(word: &str) -> bool {
    PLACE_PARTICLES.contains(&word)
}

/// Returns the entity types of a class noun.
pub(super) fn entity_types_of(word: &Word) -> Option<&'static [EntityType]> {
    let singular = singular(&word.plain);
    CLASS_NOUNS.iter().find(|(nouns, _)| nouns.split_whitespace().any(|n| n == word.plain || n == singular)).map(|(_, types)| *types)
}

/// Whether a class noun is more specific than its entity types.
pub(super) fn is_specific_class(word: &str) -> bool {
    SPECIFIC_CLASSES.split_whitespace().any(|n| same_noun(n, word))
}

/// Classes with their members, and members with their classes.
struct ClassIndex {
    members: HashMap<&'static str, HashSet<&'static str>>,
    of: HashMap<&'static str, Vec<&'static str>>,
}

/// Other names of classes.
const CLASS_SYNONYMS: &[(&str, &str)] = &[
    ("pet", "animal"),
    ("dish", "food"),
    ("meal", "food"),
    ("color", "colour"),
    ("vehicle", "car"),
    ("db", "database"),
    ("tongue", "language"),
    ("beverage", "drink"),
    ("bicycle", "bike"),
    ("activity", "hobby"),
    ("activities", "hobby"),
    ("hobbies", "hobby"),
    ("pastime", "hobby"),
    ("day", "weekday"),
];

static CLASS_INDEX: LazyLock<ClassIndex> = LazyLock::new(|| {
    let mut kinds = ClassIndex { members: HashMap::new(), of: HashMap::new() };
    let lists = [("animal", include_str!("../../../data/lexicon/animals.txt")), ("food", include_str!("../../../data/lexicon/foods.txt"))];
    let own = include_str!("classes.txt").lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split_once(':'));
    for (kind, list) in lists.into_iter().chain(own) {
        for (entry, _) in entries(list) {
            let others = entry.strip_prefix('+').and_then(|class| kinds.members.get(class)).cloned();
            for member in others.unwrap_or_else(|| HashSet::from([entry])) {
                kinds.members.entry(kind).or_default().insert(member);
                kinds.of.entry(member).or_default().push(kind);
            }
        }
    }
    kinds
});

/// Whether a noun names a class of what people like, own or use. Kin is a class of people.
pub(super) fn names_class_of_things(noun: &str) -> bool {
    class_named(noun).is_some_and(|class| class != "kin")
}

/// Returns the class that a noun names.
pub(super) fn class_named(noun: &str) -> Option<&'static str> {
    let noun = singular(noun);
    let noun = CLASS_SYNONYMS.iter().find(|(other, _)| same_noun(other, noun)).map_or(noun, |(_, kind)| kind);
    CLASS_INDEX.members.get_key_value(noun).map(|(kind, _)| *kind)
}

/// Returns the classes of a thing, by its name or the last word of the name.
pub(super) fn classes_of(name: &str) -> Vec<&'static str> {
    let name = name.to_lowercase();
    let last = name.rsplit(' ').next().unwrap_or_default();
    let known = |n: &str| CLASS_INDEX.of.get(n).or_else(|| CLASS_INDEX.of.get(singular(n)));
    known(&name).or_else(|| known(last)).cloned().unwrap_or_default()
}

/// Whether two words name different members of one class, such as cat and dog.
///
/// Their vectors are similar, but one never replaces the other.
pub(super) fn are_siblings(a: &str, b: &str) -> bool {
    if is_answered_by(a, b) || is_answered_by(b, a) {
        return false;
    }
    let others = classes_of(b);
    classes_of(a).iter().any(|kind| others.contains(kind))
}

/// Groups of synonyms.
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
    "doctor dr",
    "university uni college",
    "film movie",
    "flat apartment",
    "holiday vacation",
    "photo picture",
    "sofa couch",
];

/// Groups of a broader word and its narrower words. A question with the first may be answered with the others.
const BROADER: &[&str] = &[
    "alcohol wine beer cider whisky whiskey gin rum vodka cocktail prosecco champagne spirits",
    "meat chicken beef pork lamb ham bacon sausage steak turkey duck",
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
    "school academy primary secondary nursery kindergarten",
    "money cash quid pound euro dollar buck",
];

/// Whether a word of a message answers a word of the question: equal, synonymous or narrower.
pub(super) fn is_answered_by(question_word: &str, message_word: &str) -> bool {
    let in_group = |group: &&str, word: &str| group.split(' ').any(|w| same_noun(w, word));
    same_noun(question_word, message_word)
        || SYNONYMS.iter().any(|g| in_group(g, question_word) && in_group(g, message_word))
        || BROADER.iter().any(|g| g.split(' ').next().is_some_and(|first| same_noun(first, question_word)) && in_group(g, message_word))
}

static OCCUPATIONS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| entries(include_str!("../../../data/lexicon/people.txt")).map(|(word, _)| word).collect());

/// Whether a noun names a person by occupation or relationship.
pub(super) fn is_person_noun(word: &str) -> bool {
    OCCUPATIONS.contains(word) || OCCUPATIONS.contains(singular(word)) || classes_of(word).contains(&"kin")
}

/// Whether a noun is an occupation.
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
    fn class_nouns_have_entity_types() {
        assert_eq!(entity_types_of(&words("sunset")[0]), None);
        assert!(entity_types_of(&words("city")[0]).is_some_and(|t| t.contains(&EntityType::Place)));
        assert!(entity_types_of(&words("tools")[0]).is_some_and(|t| t.contains(&EntityType::Tool)));
    }

    #[test]
    fn members_of_one_class_are_distinguished() {
        assert!(are_siblings("dogs", "cat") && are_siblings("monday", "friday") && are_siblings("kotlin", "rust"));
        assert!(are_siblings("brother", "sister") && are_siblings("son", "daughter") && !are_siblings("kids", "daughter"));
        assert!(!are_siblings("mom", "mother") && is_person_noun("uncle") && is_occupation("nurses") && !is_occupation("friend"));
        assert!(!are_siblings("dog", "dogs") && !are_siblings("puppy", "dog") && !are_siblings("dog", "walk"));
        assert_eq!(class_named("pets"), Some("animal"));
        assert!(classes_of("PostgreSQL").contains(&"database") && classes_of("orange cargo bike").contains(&"bike"));
    }
}
