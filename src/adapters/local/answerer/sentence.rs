//! Facts as plain English. Only words: what to say and whether it is supported is decided elsewhere.

use chrono::Datelike;

use crate::domain::{Entity, EntityType, Relation, Timestamp};

/// How a fact is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mood {
    /// "likes"
    Holds,
    /// "does not like"
    Denied,
    /// "no longer likes"
    Ended,
}

/// The plain form of a verb in the third person singular; `None` for a past tense, which has one form for all persons.
fn base(verb: &str) -> Option<String> {
    match verb {
        "is" => return Some("be".to_owned()),
        "has" => return Some("have".to_owned()),
        "was" => return None,
        _ => {}
    }
    let stem = verb.strip_suffix('s').filter(|stem| !stem.ends_with('s') && stem.len() > 1)?;
    if let Some(short) = stem.strip_suffix("ie").filter(|short| short.len() > 1) {
        return Some(format!("{short}y"));
    }
    let sibilant = ["she", "che", "xe", "zze", "sse", "oe"].iter().any(|end| stem.ends_with(end));
    Some(if sibilant { stem[..stem.len() - 1].to_owned() } else { stem.to_owned() })
}

/// The predicate for "you" or a third person: "like", "does not live in", "are no longer part of".
pub(super) fn predicate(phrase: &str, mood: Mood, second_person: bool) -> String {
    let (verb, rest) = phrase.split_once(' ').map_or((phrase, String::new()), |(verb, rest)| (verb, format!(" {rest}")));
    let said = match (base(verb), mood) {
        (Some(b), _) if b == "be" => {
            let be = if second_person { "are" } else { "is" };
            match mood {
                Mood::Holds => be.to_owned(),
                Mood::Denied => format!("{be} not"),
                Mood::Ended => format!("{be} no longer"),
            }
        }
        (Some(b), Mood::Holds) => {
            if second_person {
                b
            } else {
                verb.to_owned()
            }
        }
        (Some(b), Mood::Denied) => format!("{} not {b}", if second_person { "do" } else { "does" }),
        (Some(b), Mood::Ended) => format!("no longer {}", if second_person { b } else { verb.to_owned() }),
        (None, Mood::Holds) => verb.to_owned(),
        (None, Mood::Denied) => format!("{} not {verb}", if second_person { "have" } else { "has" }),
        (None, Mood::Ended) => format!("once {verb}"),
    };
    format!("{said}{rest}")
}

/// How a thing is called: the viewer is "you", and a person who has no name but a role is one's own ("your sister").
pub(super) fn name(entity: &Entity, other: &Entity) -> String {
    if entity.is_viewer {
        return "you".to_owned();
    }
    let unnamed = entity.entity_type == EntityType::Person && entity.name.starts_with(|c: char| c.is_lowercase());
    match (unnamed, other.is_viewer) {
        (true, true) => format!("your {}", entity.name),
        (true, false) => format!("the {}", entity.name),
        (false, _) => entity.name.clone(),
    }
}

/// "John likes Mary", "you live in Ghent".
pub(super) fn clause(subject: &Entity, relation: &Relation, object: &str, mood: Mood) -> String {
    let anyone = if subject.is_viewer { "you".to_owned() } else { name(subject, subject) };
    format!("{anyone} {} {object}", predicate(&relation.phrase, mood, subject.is_viewer))
}

/// "a", "a and b", "a, b and c".
pub(super) fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The first letter large, as at the start of a sentence.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// "March 2026".
pub(super) fn month(moment: Timestamp) -> String {
    format!("{} {}", moment.format("%B"), moment.year())
}

/// "8 March 2026".
pub(super) fn day(moment: Timestamp) -> String {
    format!("{} {}", moment.day(), month(moment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicates_fit_person_and_mood() {
        for (phrase, third, second, denied, you_denied, ended) in [
            ("likes", "likes", "like", "does not like", "do not like", "no longer likes"),
            ("lives in", "lives in", "live in", "does not live in", "do not live in", "no longer lives in"),
            ("is part of", "is part of", "are part of", "is not part of", "are not part of", "is no longer part of"),
            ("visited", "visited", "visited", "has not visited", "have not visited", "once visited"),
            ("decided on", "decided on", "decided on", "has not decided on", "have not decided on", "once decided on"),
            ("relies on", "relies on", "rely on", "does not rely on", "do not rely on", "no longer relies on"),
            ("teaches", "teaches", "teach", "does not teach", "do not teach", "no longer teaches"),
            ("has", "has", "have", "does not have", "do not have", "no longer has"),
            ("uses", "uses", "use", "does not use", "do not use", "no longer uses"),
            ("knows", "knows", "know", "does not know", "do not know", "no longer knows"),
        ] {
            assert_eq!(predicate(phrase, Mood::Holds, false), third);
            assert_eq!(predicate(phrase, Mood::Holds, true), second);
            assert_eq!(predicate(phrase, Mood::Denied, false), denied);
            assert_eq!(predicate(phrase, Mood::Denied, true), you_denied);
            assert_eq!(predicate(phrase, Mood::Ended, false), ended);
        }
    }

    #[test]
    fn lists_read_naturally() {
        let parts = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(list(&parts), "a, b and c");
        assert_eq!(list(&parts[..2]), "a and b");
        assert_eq!(capital("écoute"), "Écoute");
    }
}
