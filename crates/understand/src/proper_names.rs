//! Derives name and type of a noun phrase whose head is a proper noun.

use recall_domain::EntityType;

use super::lexicon::{Entry, WordList, lexicon};
use super::mentions::{Named, build, head_type, phrase};
use super::name_types::{Name, TypeGuess, guess_type};
use super::phrases::NounPhrase;
use super::tokens::{Pos, Token};

/// Returns name and type; `None` for a placeholder and a vague word.
pub(super) fn proper_name(tokens: &[Token], np: &NounPhrase, is_role: &dyn Fn(&str) -> bool) -> Option<Named> {
    let lex = lexicon();
    let first = first_name_word(tokens, np);
    let head = &tokens[np.head];
    let all_words: Vec<&str> = tokens[first..=np.head].iter().map(|t| t.norm.as_str()).collect();
    let title = title_of(&tokens[first], &all_words);
    let (words, start) = match &title {
        Some(title) if !title.in_name => (&all_words[1..], first + 1),
        _ => (&all_words[..], with_article(tokens, np, first)),
    };
    if words[0] == "user" && words.get(1).is_none_or(|w| w.chars().all(char::is_numeric)) {
        return None;
    }
    let joined = words.join(" ");
    if words.len() == 1 && lex.in_set("vague", &joined) && !lex.get(&joined).iter().any(|e| !e.common) {
        return None;
    }
    let entries = entries_of(&joined, np.determiner.is_some_and(|d| tokens[d].is("the")));
    let noun_before = tokens[np.core.min(first)..first].iter().rev().find(|t| t.pos == Pos::Noun);
    let (ty, strength, list) = if let Some(title) = &title {
        (title.ty, title.strength, None)
    } else if let Some((noun, (ty, strength))) = noun_before.and_then(|t| Some((t, head_type(&t.lemma, is_role)?))) {
        (ty, strength, lex.get(&noun.lemma).first().map(|e| e.group))
    } else {
        let guess = guess_type(&Name { joined: &joined, words, entries, head, is_role });
        let before = np.start.checked_sub(1).map(|k| tokens[k].norm.as_str());
        let guess = type_after_preposition(guess, before, words.len());
        let indefinite = np.determiner.is_some_and(|d| matches!(tokens[d].norm.as_str(), "a" | "an"));
        let initials = head.text.chars().all(|c| c.is_uppercase());
        match guess {
            // "a Gazelle", "an Aga": one of several things of this make.
            (EntityType::Person | EntityType::Thing, strength, None) if indefinite && !initials && strength < 0.5 => {
                (EntityType::Thing, 0.75, Some(WordList::Object))
            }
            (EntityType::Organization, _, Some(_)) if indefinite => (EntityType::Thing, 0.8, Some(WordList::Possession)),
            (EntityType::Tool, strength, Some(_)) if indefinite => (EntityType::Tool, strength, Some(WordList::Possession)),
            guess => guess,
        }
    };
    let mut named = build(tokens, start, np.head + 1, ty, strength, true, list);
    if ty == EntityType::Person {
        named.role = noun_before.map(|t| t.lemma.clone()).or(title.and_then(|t| t.role));
    }
    // An unlisted word without a capital is not a proper name.
    named.proper = head.capital || !entries.is_empty();
    Some(named)
}

/// Returns the first token of the longest sequence of name words that ends at the head.
fn first_name_word(tokens: &[Token], np: &NounPhrase) -> usize {
    let belongs = |k: usize| {
        let t = &tokens[k];
        t.pos == Pos::Propn
            || t.is("of")
            || t.is("'s") && k > np.core
            || t.capital && matches!(t.pos, Pos::Adj | Pos::Num | Pos::Noun | Pos::Verb | Pos::Adv)
            || is_inner_article(tokens, k, np)
    };
    let words = (np.core..np.head).rev().take_while(|&k| belongs(k)).count();
    let first = np.head - words;
    first + tokens[first..np.head].iter().take_while(|t| t.is("of") || t.is("'s")).count()
}

fn is_inner_article(tokens: &[Token], k: usize, np: &NounPhrase) -> bool {
    matches!(tokens[k].norm.as_str(), "the" | "and" | "de" | "la" | "van" | "von" | "der" | "&")
        && k > np.core
        && (tokens[k - 1].pos == Pos::Propn || tokens[k - 1].is("of"))
}

/// Returns the first token of a name with its article: in "The Office", a capitalised article inside a sentence belongs to it.
fn with_article(tokens: &[Token], np: &NounPhrase, first: usize) -> usize {
    let article = np.determiner.filter(|&d| d > 0 && d + 1 == first && tokens[d].is("the") && tokens[d].capital);
    let place = || lexicon().has(WordList::Place, &phrase(tokens, first, np.head + 1));
    article.filter(|_| !place()).unwrap_or(first)
}

/// The first word of a name, which gives its type.
struct Title {
    ty: EntityType,
    strength: f64,
    /// "Dr. Smith" and "Lake Como" keep their title, "Project Apollo" does not.
    in_name: bool,
    role: Option<String>,
}

/// Returns the title that a name of several words begins with.
fn title_of(first: &Token, words: &[&str]) -> Option<Title> {
    let [word, second, ..] = words else { return None };
    let title = |ty, strength, in_name| Some(Title { ty, strength, in_name, role: None });
    match *word {
        "project" => title(EntityType::Project, 0.95, false),
        // "CTO Renee"
        w if lexicon().has(WordList::Person, w) && first.text.chars().all(char::is_uppercase) => {
            Some(Title { ty: EntityType::Person, strength: 0.9, in_name: false, role: Some(w.to_owned()) })
        }
        "dr." | "mr." | "mrs." | "ms." | "dr" | "mr" | "mrs" | "ms" | "miss" | "professor" | "prof." | "prof" | "sir" | "captain"
        | "coach" | "saint" | "father" | "reverend" | "rev." | "frau" | "herr" | "signora" | "signor" | "señor" | "señora" | "mevrouw"
        | "madame" | "père" | "consul" | "judge" | "councillor" => title(EntityType::Person, 0.95, true),
        // "Aunt Perpetua" is named Perpetua.
        w if lexicon().in_set("kin_titles", w) => {
            Some(Title { ty: EntityType::Person, strength: 0.95, in_name: false, role: Some(w.to_owned()) })
        }
        "university" | "college" | "institute" | "bank" | "church" if *second == "of" => title(EntityType::Organization, 0.95, true),
        "lake" | "mount" | "mt." | "cape" | "port" | "fort" | "san" | "santa" | "saint-" | "isle" | "north" | "south" | "new" => {
            title(EntityType::Place, 0.8, true)
        }
        _ => None,
    }
}

/// Returns the list entries of a name; "the Beatles" are listed with their article.
fn entries_of(joined: &str, with_article: bool) -> &'static [Entry] {
    match lexicon().get(joined) {
        [] if with_article => lexicon().get(&format!("the {joined}")),
        entries => entries,
    }
}

/// "in Kiel", "at Lidl": the preposition gives the type of an unknown name.
fn type_after_preposition(guess: TypeGuess, before: Option<&str>, words: usize) -> TypeGuess {
    match (guess, before) {
        ((EntityType::Person, strength, None), Some("in")) if strength < 0.5 && words == 1 => (EntityType::Place, 0.45, None),
        ((EntityType::Person, strength, None), Some("at")) if strength < 0.5 => (EntityType::Organization, 0.45, None),
        _ => guess,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fixture::{last_noun_phrase, tagged_as};

    #[test]
    fn names_have_the_type_of_their_title() {
        for (text, name, ty) in [
            ("Project Apollo", "Apollo", EntityType::Project),
            ("CTO Renee", "Renee", EntityType::Person),
            ("Dr. Zorgle", "Dr. Zorgle", EntityType::Person),
            ("University of Zorgle", "University of Zorgle", EntityType::Organization),
            ("Lake Zorgle", "Lake Zorgle", EntityType::Place),
        ] {
            let (tokens, np) = last_noun_phrase(text);
            let named = proper_name(&tokens, &np, &|_| false).unwrap();
            assert_eq!((named.name.as_str(), named.ty), (name, ty), "{text}");
        }
    }

    #[test]
    fn words_before_a_name_give_type_and_role() {
        for (text, name, ty, role) in [
            ("my manager Zorgle", "Zorgle", EntityType::Person, Some("manager")),
            ("I live in Zorgle", "Zorgle", EntityType::Place, None),
            ("I work at Zorgle", "Zorgle", EntityType::Organization, None),
            ("I watched The Office", "The Office", EntityType::Thing, None),
        ] {
            let (tokens, np) = last_noun_phrase(text);
            let named = proper_name(&tokens, &np, &|word| word == "manager").unwrap();
            assert_eq!((named.name.as_str(), named.ty, named.role.as_deref()), (name, ty, role), "{text}");
        }
    }

    #[test]
    fn placeholder_is_no_name() {
        let tokens = tagged_as(&[("User", Pos::Propn), ("2", Pos::Propn)]);
        let np = NounPhrase { head: 1, end: 2, ..NounPhrase::at(0) };
        assert!(proper_name(&tokens, &np, &|_| false).is_none());
    }
}
