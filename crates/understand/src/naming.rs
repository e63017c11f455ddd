//! Derives name and type of a noun phrase.

use recall_domain::EntityType;

use super::common_nouns::common_name;
use super::lexicon::{WordList, lexicon};
use super::mentions::{Named, build, head_type, singular_phrase, time_expression};
use super::phrases::NounPhrase;
use super::proper_names::proper_name;
use super::tokens::{Pos, Token};

/// Returns name and type of a noun phrase; `None` if it names nothing worth keeping.
pub(crate) fn describe(tokens: &[Token], np: &NounPhrase, is_role: &dyn Fn(&str) -> bool) -> Option<Named> {
    if np.pronoun || np.opaque {
        return None;
    }
    let lex = lexicon();
    if np.title {
        return Some(build(tokens, np.start + 1, np.end - 1, EntityType::Thing, 0.5, true, Some(WordList::Work)));
    }
    if let Some((s, e)) = np.proper_name {
        let head = tokens[np.head].lemma.clone();
        let (ty, strength) = head_type(&head, is_role).unwrap_or((EntityType::Thing, 0.4));
        // A library may be a building or code, so the noun does not settle the type.
        let strength = if matches!(head.as_str(), "library" | "station" | "platform") { 0.5 } else { strength.max(0.7) };
        // "a German shepherd named Duke": an unlisted thing with a name counts as an object, which can be owned.
        let phrase = singular_phrase(tokens, np.core.min(np.head), np.head + 1);
        let listed = lex.get(&phrase).iter().chain(lex.get(&head)).next().map(|e| e.group);
        let group = listed.or((ty == EntityType::Thing && lex.head(&head).is_none()).then_some(WordList::Object));
        let mut named = build(tokens, s, e, ty, strength, true, group);
        if ty == EntityType::Person {
            named.role = Some(head);
        }
        return Some(named);
    }
    if time_expression(tokens, np) {
        return None;
    }
    if tokens[np.head].pos == Pos::Propn {
        return proper_name(tokens, np, is_role).map(|named| with_number(tokens, np, named));
    }
    common_name(tokens, np, is_role)
}

/// Adds the number of a model to its name: "a Pixel 7". "A Vespa 2 years ago" has none.
fn with_number(tokens: &[Token], np: &NounPhrase, mut named: Named) -> Named {
    let number = tokens.get(np.head + 1).filter(|t| {
        let is_short = t.text.len() <= 2 && t.text.chars().all(|c| c.is_ascii_digit());
        t.pos == Pos::Num && is_short && t.space_before
    });
    let is_closed = tokens.get(np.head + 2).is_none_or(|t| matches!(t.pos, Pos::Punct | Pos::Cconj | Pos::Adv | Pos::Sconj | Pos::Pron));
    let is_thing = named.ty == EntityType::Thing && np.determiner.is_some() && np.proper_name.is_none();
    if let Some(number) = number.filter(|_| is_closed && is_thing) {
        named.name = format!("{} {}", named.name, number.text);
        named.span.end = number.end;
    }
    named
}
