//! Rephrases a note about the user as a statement of the user: "Lives in Ghent" as "I live in Ghent".

/// Verbs with which notes begin, and what they are after "I".
const VERBS: &[(&str, &str)] = &[
    ("is", "am"),
    ("was", "was"),
    ("has", "have"),
    ("does", "do"),
    ("goes", "go"),
    ("doesn't", "don't"),
    ("isn't", "am not"),
    ("hasn't", "haven't"),
];

/// Other verbs with which a note without a subject may begin. Other words that end in "s" may be plural nouns.
const BEGINNINGS: &[&str] = &[
    "adores",
    "appreciates",
    "attends",
    "avoids",
    "believes",
    "builds",
    "collects",
    "comes",
    "cooks",
    "dislikes",
    "drinks",
    "drives",
    "eats",
    "enjoys",
    "feels",
    "follows",
    "hates",
    "holds",
    "hopes",
    "keeps",
    "knows",
    "lacks",
    "learns",
    "likes",
    "listens",
    "lives",
    "loves",
    "manages",
    "needs",
    "owns",
    "plans",
    "plays",
    "practices",
    "prefers",
    "reads",
    "runs",
    "speaks",
    "studies",
    "suffers",
    "supports",
    "teaches",
    "thinks",
    "travels",
    "uses",
    "visits",
    "wants",
    "watches",
    "wears",
    "wishes",
    "works",
    "writes",
];

/// Nouns with which a note may begin that says what something of the user is.
const NOUNS: &[&str] =
    &["name", "age", "birthday", "favorite", "favourite", "hobby", "hobbies", "job", "hometown", "nickname", "occupation"];

/// Returns the note in the first person, or unchanged if it does not speak of the user.
pub(super) fn in_first_person(note: &str) -> String {
    let note = note.trim();
    if let Some(rest) = strip_any(note, &["the user's ", "the user’s ", "user's ", "user’s "]) {
        return format!("My {rest}");
    }
    if let Some(rest) = strip_any(note, &["the user ", "user "]) {
        return after_i(rest, |verb| Some(without_ending(verb)));
    }
    let first = note.split_whitespace().next().unwrap_or_default().to_lowercase();
    if NOUNS.contains(&first.as_str()) && (note.contains(" is ") || note.contains(" are ")) {
        let mut letters = note.chars();
        let initial = letters.next().map(|c| c.to_lowercase().to_string()).unwrap_or_default();
        return format!("My {initial}{}", letters.as_str());
    }
    after_i(note, |verb| BEGINNINGS.contains(&verb).then(|| without_ending(verb)))
}

/// Puts "I" before a note that begins with a verb. `base` returns what a regular verb is after "I"; `None` if it is no verb.
fn after_i(note: &str, base: impl Fn(&str) -> Option<String>) -> String {
    let (first, rest) = note.split_once(' ').unwrap_or((note, ""));
    let verb = first.to_lowercase();
    let known = VERBS.iter().find(|(third, _)| *third == verb).map(|(_, base)| (*base).to_owned());
    match known.or_else(|| base(&verb)) {
        Some(base) => format!("I {base} {rest}").trim_end().to_owned(),
        None => note.to_owned(),
    }
}

/// Removes the ending of the third person: "studies", "watches", "likes".
fn without_ending(verb: &str) -> String {
    let sibilant = ["sses", "shes", "ches", "xes", "zzes"];
    match verb {
        v if v.ends_with("ies") && v.len() > 4 => format!("{}y", &v[..v.len() - 3]),
        v if sibilant.iter().any(|ending| v.ends_with(ending)) => v[..v.len() - 2].to_owned(),
        v if v.ends_with('s') && !v.ends_with("ss") => v[..v.len() - 1].to_owned(),
        v => v.to_owned(),
    }
}

/// Removes the first prefix that fits, ignoring case. The prefixes are in lower case.
fn strip_any<'n>(note: &'n str, prefixes: &[&str]) -> Option<&'n str> {
    prefixes
        .iter()
        .find_map(|prefix| note.get(..prefix.len()).filter(|start| start.to_lowercase() == **prefix).map(|_| &note[prefix.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_about_the_user_are_rephrased() {
        for (note, statement) in [
            ("Lives in Ghent", "I live in Ghent"),
            ("Is a software engineer.", "I am a software engineer."),
            ("User studies law in Lyon", "I study law in Lyon"),
            ("The user has two cats", "I have two cats"),
            ("User moved to Rome in 2024", "I moved to Rome in 2024"),
            ("User's sister is Maren", "My sister is Maren"),
            ("Favorite colour is blue", "My favorite colour is blue"),
            ("watches films", "I watch films"),
            ("User really", "I really"),
        ] {
            assert_eq!(in_first_person(note), statement);
        }
    }

    #[test]
    fn other_notes_stay() {
        for note in ["Maren works at Airbus", "Shoes are size 42", "", "Useful tips", "Ümläut", "I like tea", "Favorite", "Cats"] {
            assert_eq!(in_first_person(note), note);
        }
    }
}
