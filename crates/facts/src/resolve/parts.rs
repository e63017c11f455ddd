//! Parts of long names that stand for the whole: "Kirkgate" for "Kirkgate Museum". Pure.

use recall_domain::EntityType;

/// Words that many names have, so that they stand for none of them.
const COMMON: &str = "university museum studio studios hospital school college club bank group team games foods software systems church \
    choir society academy institute restaurant cafe bakery center centre company national royal international united american british saint \
    north south east west northern southern eastern western great city global general festival conference elementary primary high \
    department office library theatre theater garden gardens house street hotel";

/// Whether words are the beginning or the end of a longer name, and tell it from others.
pub(super) fn is_part(short: &[String], long: &[String], entity_type: EntityType) -> bool {
    let has_parts = matches!(entity_type, EntityType::Organization | EntityType::Project | EntityType::Event | EntityType::Thing);
    // The first word of a thing is its maker: "Toyota".
    let begins = entity_type != EntityType::Thing && long.starts_with(short);
    has_parts && !short.is_empty() && short.len() < long.len() && (begins || long.ends_with(short)) && short.iter().any(|w| tells_apart(w))
}

/// Returns the first and the last word of a name, as far as they can stand for it.
pub(super) fn telling_parts(words: &[String], entity_type: EntityType) -> Vec<String> {
    let ends = [words.first(), words.last()];
    ends.into_iter().flatten().filter(|w| is_part(std::slice::from_ref(*w), words, entity_type)).cloned().collect()
}

/// Whether a name is written as one: "Toyota Yaris", but not "green tea".
pub(super) fn is_capitalised(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

fn tells_apart(word: &str) -> bool {
    word.chars().count() > 3 && !COMMON.split_whitespace().any(|w| w == word)
}
