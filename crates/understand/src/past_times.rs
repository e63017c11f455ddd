//! Finds the words that place a state in a past that is over: "as a child", "from 1979 to 1994", "back in the nineties". Pure.

use super::phrases::VerbGroup;
use super::tokens::Token;

/// Verbs of states. What they said of such a past has ended; "bought" and "met" tell what happened then and may still hold.
const STATES: &[&str] = &[
    "live", "reside", "work", "own", "have", "keep", "use", "study", "teach", "manage", "lead", "run", "play", "like", "love", "enjoy",
    "hate", "date", "share", "speak", "drive", "prefer", "belong", "rent",
];
const CHILDREN: &[&str] = &["child", "kid", "boy", "girl", "teenager", "teen", "toddler", "baby", "student", "youngster", "pupil"];
const KIN: &[&str] = &["son", "daughter", "baby", "twins", "sons", "daughters"];
const DECADES: &[&str] =
    &["fifties", "sixties", "seventies", "eighties", "nineties", "twenties", "thirties", "teens", "youth", "childhood"];

/// Whether a sentence says that a state in the past tense is over.
pub(super) fn is_of_past_time(sentence: &[Token], g: &VerbGroup) -> bool {
    let is_perfect = sentence.get(g.start).is_some_and(|t| t.lemma == "have") && g.main > g.start;
    if !g.past || g.negated || g.progressive || is_perfect || !STATES.contains(&g.lemma.as_str()) {
        return false;
    }
    let word = |i: usize| sentence.get(i).map_or("", |t| t.norm.as_str());
    let is_year = |i: usize| word(i).len() == 4 && word(i).starts_with(['1', '2']) && word(i).bytes().all(|b| b.is_ascii_digit());
    let is_number = |i: usize| word(i).bytes().all(|b| b.is_ascii_digit()) && !word(i).is_empty();
    let is_decade = |i: usize| {
        DECADES.contains(&word(i)) || word(i).strip_suffix('s').is_some_and(|n| n.ends_with('0') && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let is_pronoun = |i: usize| matches!(word(i), "i" | "we" | "he" | "she" | "they");
    // "When I was in Rome" is no time of life.
    let is_of_youth = |i: usize| {
        matches!(word(i), "young" | "younger" | "little" | "small" | "tiny")
            || (word(i) == "a" && CHILDREN.contains(&word(i + 1)))
            || is_number(i)
    };
    let names_past = |i: usize| match word(i) {
        "as" => matches!(word(i + 1), "a" | "an" | "kids" | "children") && (CHILDREN.contains(&word(i + 2)) || word(i + 1).len() > 2),
        "when" => is_pronoun(i + 1) && matches!(word(i + 2), "was" | "were") && is_of_youth(i + 3),
        "back" => word(i + 1) == "then" || (word(i + 1) == "in" && (is_year(i + 2) || word(i + 2) == "the" || is_decade(i + 2))),
        "at" => word(i + 1) == "the" && word(i + 2) == "time",
        "in" => (i + 1..i + 4).any(is_decade),
        "from" | "between" => is_year(i + 1) && matches!(word(i + 2), "to" | "until" | "till" | "and") && is_year(i + 3),
        "years" | "decades" => word(i + 1) == "ago",
        "growing" => word(i + 1) == "up",
        "for" => matches!(word(i + 2), "years" | "months") && (is_number(i + 1) || word(i + 1) == "many" || word(i + 1) == "several"),
        "once" => i < g.start,
        _ => false,
    };
    let is_present = sentence.iter().any(|t| t.is("been"));
    // "I had my son when I was 23": he is there.
    let is_birth = |i: usize| g.lemma == "have" && !matches!(word(i), "as" | "back" | "growing") && (word(i) != "when" || is_number(i + 3));
    let is_kin = sentence.iter().any(|t| KIN.contains(&t.norm.as_str()));
    let is_open = is_present || (g.lemma == "have" && is_kin);
    !is_open && (0..sentence.len()).any(|i| names_past(i) && !is_birth(i))
}
