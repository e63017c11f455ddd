//! Writes the names of a question with the accents with which they were told: "Zoe" as "Zoë".

use std::collections::BTreeSet;

use super::{
    lexicon::is_function_word,
    words::{Word, words},
};
use recall_domain::{context::Context, fold};

/// Returns a question with its names as they were told; `None` if it has them so already.
///
/// A word stays if it is the word of a name, or if it may be several words of names.
pub(super) fn restore(question: &str, context: &Context) -> Option<String> {
    let names = context.entities.iter().flat_map(|e| std::iter::once(&e.name).chain(&e.aliases));
    let told: Vec<(String, &str)> = names
        .flat_map(|name| {
            words(name).into_iter().map(move |word| {
                let spelled = bare(name, &word);
                (word.plain, spelled)
            })
        })
        .collect();
    let mut restored = question.to_owned();
    for word in words(question).iter().rev().filter(|word| !is_function_word(word)) {
        if told.iter().any(|(plain, _)| *plain == word.plain) {
            continue;
        }
        let folded = fold(&word.plain);
        let meant: BTreeSet<&str> = told.iter().filter(|(plain, _)| fold(plain) == folded).map(|(_, spelled)| *spelled).collect();
        if let (1, Some(spelled)) = (meant.len(), meant.first()) {
            let (start, written) = (word.span.0, bare(question, word));
            restored.replace_range(start..start + written.len(), &with_initial_of(written, spelled));
        }
    }
    (restored != question).then_some(restored)
}

/// Returns a word as a text spells it, without a possessive ending.
fn bare<'t>(text: &'t str, word: &Word) -> &'t str {
    let spelled = text.get(word.span.0..word.span.1).unwrap_or_default();
    let owner = word.possessive.then(|| ["'s", "’s", "'S", "’S"].iter().find_map(|ending| spelled.strip_suffix(ending))).flatten();
    owner.unwrap_or(spelled)
}

/// Writes a word with a small letter at its beginning if another one has that: "the cafe" is not "the Café".
fn with_initial_of(written: &str, spelled: &str) -> String {
    let mut rest = spelled.chars();
    match rest.next() {
        Some(first) if written.starts_with(char::is_lowercase) => first.to_lowercase().chain(rest).collect(),
        _ => spelled.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tests::person;

    #[test]
    fn names_are_written_as_they_were_told() {
        let known = |names: &[&str]| Context { entities: names.iter().map(|name| person(name)).collect(), ..Context::default() };
        for (names, question, expected) in [
            (&["Zoë"][..], "What does Zoe like?", Some("What does Zoë like?")),
            (&["Zoë"], "Where is Zoe's tent, and where is Zoe?", Some("Where is Zoë's tent, and where is Zoë?")),
            (&["José Núñez"], "Where does Jose Nunez work?", Some("Where does José Núñez work?")),
            (&["Zoe"], "What does Zoë like?", Some("What does Zoe like?")),
            (&["Zoë"], "WHERE IS ZOE'S TENT?", Some("WHERE IS Zoë'S TENT?")),
            (&["Café Müller"], "Where is the cafe?", Some("Where is the café?")),
            (&["Zoë"], "What does Zoë like?", None),
            (&["Zoë", "Zoe"], "What does Zoe like?", None),
            (&["Zoé", "Zoë"], "What does Zoe like?", None),
            (&["Thé"], "Who likes the tea?", None),
        ] {
            assert_eq!(restore(question, &known(names)).as_deref(), expected, "{names:?}: {question}");
        }
    }
}
