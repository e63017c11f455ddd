//! Derives name and type of a noun phrase whose head is a common noun.

use recall_domain::EntityType;

use super::lexicon::{Entry, WordList, lexicon};
use super::mentions::{Named, build, phrase, singular_phrase};
use super::phrases::{NounPhrase, Possessor};
use super::proper_names::proper_name;
use super::tokens::{Pos, Token};

/// Returns the name that the first rule gives; `None` if the phrase names nothing worth keeping.
pub(super) fn common_name(tokens: &[Token], np: &NounPhrase, is_role: &dyn Fn(&str) -> bool) -> Option<Named> {
    let noun = CommonNoun::new(tokens, np, is_role);
    match RULES.iter().find_map(|(_, rule)| rule(&noun)) {
        Some(Verdict::Keep(named)) => Some(named),
        Some(Verdict::Drop) => None,
        None => Some(noun.name_by_head()),
    }
}

/// What a rule says about a phrase.
enum Verdict {
    Keep(Named),
    /// It names nothing worth keeping.
    Drop,
}

type Rule = fn(&CommonNoun<'_>) -> Option<Verdict>;

/// The rules with their names. The first that applies wins.
const RULES: &[(&str, Rule)] = &[
    ("name_before_class", name_before_class),
    ("name_before_vague_word", name_before_vague_word),
    ("generic_place_of_two_words", generic_place_of_two_words),
    ("fan", fan),
    ("unspecific_people", unspecific_people),
    ("person", person),
    ("listed_phrase", listed_phrase),
    ("vague_word", vague_word),
    ("vague_head", vague_head),
    ("generic_place", generic_place),
    ("generic_place_as_head", generic_place_as_head),
    ("not_a_noun", not_a_noun),
    ("kind_of_music", kind_of_music),
];

/// A noun phrase with the properties that the rules read.
struct CommonNoun<'a> {
    tokens: &'a [Token],
    np: &'a NounPhrase,
    is_role: &'a dyn Fn(&str) -> bool,
    /// First word of the name: the phrase without plain adjectives ("new", "big").
    start: usize,
    /// The name in lower case.
    joined: String,
    /// The name in lower case and the singular.
    singular: String,
    /// How many words the name has.
    words: usize,
    /// The list entry of the whole name.
    whole: Option<Entry>,
    /// All words before the head are a name: "the Phoenix project".
    name_inside: bool,
    /// Somebody owns it: "my bike".
    owned: bool,
}

impl<'a> CommonNoun<'a> {
    fn new(tokens: &'a [Token], np: &'a NounPhrase, is_role: &'a dyn Fn(&str) -> bool) -> Self {
        let lex = lexicon();
        let plain = |t: &Token| {
            t.unit == 0 && (lex.in_set("plain_adjectives", &t.norm) || lex.in_set("plain_adjectives", &t.lemma))
                || matches!(t.pos, Pos::Num | Pos::Adv | Pos::Det)
                || t.norm.len() == 1 && t.pos != Pos::Propn
        };
        let core = np.core.min(np.head);
        let start = (core..np.head).find(|&k| !plain(&tokens[k])).unwrap_or(np.head);
        let joined = phrase(tokens, start, np.head + 1);
        let singular = singular_phrase(tokens, start, np.head + 1);
        let whole = lex.get(&joined).iter().chain(lex.get(&singular)).find(|e| e.common || tokens[start].unit > 0).copied();
        let words = np.head + 1 - start;
        let name_inside = words > 1 && tokens[start..np.head].iter().all(|t| t.pos == Pos::Propn);
        let owned = np.possessor != Possessor::Unmarked;
        Self { tokens, np, is_role, start, joined, singular, words, whole, name_inside, owned }
    }

    fn head(&self) -> &Token {
        &self.tokens[self.np.head]
    }

    /// Whether the head is in a named set of the lexicon, as written.
    fn head_in(&self, set: &str) -> bool {
        lexicon().in_set(set, &self.head().norm)
    }

    /// Makes a name of the tokens from `from` to the head.
    fn named_from(&self, from: usize, ty: EntityType, strength: f64, list: Option<WordList>) -> Named {
        build(self.tokens, from, self.np.head + 1, ty, strength, false, list)
    }

    /// Returns the name with the type that its head indicates.
    fn name_by_head(&self) -> Named {
        let lex = lexicon();
        let head = self.head();
        let (ty, strength, list) = if let Some(e) = self.whole {
            (e.group.entity_type(), 0.9, Some(e.group))
        } else if let Some(ty) = self.type_of_head() {
            (ty, 0.85, lex.get(&head.lemma).iter().find(|e| e.common).map(|e| e.group))
        } else if let Some(e) = lex.get(&head.norm).iter().chain(lex.get(&head.lemma)).find(|e| e.common) {
            (e.group.entity_type(), 0.8, Some(e.group))
        } else if let Some(e) = lex.get(&head.norm).iter().find(|e| e.ambiguous && e.group == WordList::Tool) {
            (EntityType::Tool, 0.55, Some(e.group))
        } else if has_concept_ending(&head.norm) {
            (EntityType::Concept, 0.6, None)
        } else {
            (EntityType::Thing, 0.4, None)
        };
        let is_proper = self.name_inside && self.tokens[self.start].capital;
        build(self.tokens, self.start, self.np.head + 1, ty, strength, is_proper, list)
    }

    /// Returns the type that the last two words, or the last, indicate.
    fn type_of_head(&self) -> Option<EntityType> {
        let lex = lexicon();
        let head = self.head();
        let two = (self.np.head > self.np.core).then(|| format!("{} {}", self.tokens[self.np.head - 1].norm, head.norm));
        two.and_then(|t| lex.head(&t)).or_else(|| lex.head(&head.norm)).or_else(|| lex.head(&head.lemma))
    }
}

/// "the Phoenix project" is named Phoenix; "the Adyen API" keeps its noun.
fn name_before_class(n: &CommonNoun<'_>) -> Option<Verdict> {
    let class = matches!(
        n.head().lemma.as_str(),
        "project" | "initiative" | "city" | "conference" | "festival" | "app" | "language" | "framework" | "database" | "editor"
    );
    (n.name_inside && class).then(|| {
        let ty = lexicon().head(&n.head().lemma).unwrap_or(EntityType::Project);
        Verdict::Keep(build(n.tokens, n.start, n.np.head, ty, 0.9, true, None))
    })
}

/// "Does Redis support it", "Google stuff": the name is before a vague word.
fn name_before_vague_word(n: &CommonNoun<'_>) -> Option<Verdict> {
    (n.head_in("vague") && n.whole.is_none() && n.name_inside).then(|| {
        let name = NounPhrase { head: n.np.head - 1, end: n.np.head, ..n.np.clone() };
        proper_name(n.tokens, &name, n.is_role).map_or(Verdict::Drop, Verdict::Keep)
    })
}

/// "in high school"
fn generic_place_of_two_words(n: &CommonNoun<'_>) -> Option<Verdict> {
    let generic = lexicon().in_set("generic_places", &n.joined) && !lexicon().has(WordList::Object, &n.joined);
    (n.words > 1 && !n.owned && !n.name_inside && generic).then_some(Verdict::Drop)
}

/// "an Elvis fan" is not a thing; see `Reader::read_fan`.
fn fan(n: &CommonNoun<'_>) -> Option<Verdict> {
    lexicon().in_set("fans", &n.head().lemma).then_some(Verdict::Drop)
}

/// "friends" and "family" name no specific person.
fn unspecific_people(n: &CommonNoun<'_>) -> Option<Verdict> {
    let head = n.head();
    let people = (n.is_role)(&head.lemma) && (head.norm != head.lemma || head.is("family"));
    (n.words == 1 && n.head_in("vague") && people).then_some(Verdict::Drop)
}

/// "my sister", "the plumber", "two kids", but not "sister" alone.
fn person(n: &CommonNoun<'_>) -> Option<Verdict> {
    let head = n.head();
    let by_lemma = (n.is_role)(&head.lemma);
    let determined = n.owned || n.np.determiner.is_some();
    let is_person = by_lemma || (n.is_role)(&head.norm) || lexicon().has(WordList::Person, &n.singular) && determined;
    if !is_person {
        return None;
    }
    let bare_kin = matches!(head.norm.as_str(), "dad" | "mom" | "mum" | "grandma" | "grandpa");
    let counted = n.tokens[n.np.core.min(n.np.head)..n.np.head].iter().any(|t| t.pos == Pos::Num);
    if !determined && !bare_kin && !counted {
        return Some(Verdict::Drop);
    }
    let from = if by_lemma { n.np.head } else { n.start };
    let named = n.named_from(from, EntityType::Person, 0.9, Some(WordList::Person));
    Some(Verdict::Keep(Named { role: Some(head.lemma.clone()), ..named }))
}

/// "guinea pig"
fn listed_phrase(n: &CommonNoun<'_>) -> Option<Verdict> {
    let entry = n.whole.filter(|_| n.words > 1)?;
    Some(Verdict::Keep(n.named_from(n.start, entry.group.entity_type(), 0.9, Some(entry.group))))
}

/// "things", "stuff"; but an activity stays.
fn vague_word(n: &CommonNoun<'_>) -> Option<Verdict> {
    let vague = n.head_in("vague") || lexicon().in_set("vague", &n.head().lemma);
    (n.words == 1 && vague && n.whole.is_none_or(|e| e.group != WordList::Activity)).then_some(Verdict::Drop)
}

/// "some weird things"
fn vague_head(n: &CommonNoun<'_>) -> Option<Verdict> {
    let typed = lexicon().head(&n.head().lemma).is_some() || n.whole.is_some() || n.head_in("generic_places");
    (n.head_in("vague") && !typed && !matches!(n.head().norm.as_str(), "mornings" | "love")).then_some(Verdict::Drop)
}

/// A house can be owned; `Reader::add_fact` rejects other facts about it.
fn generic_place(n: &CommonNoun<'_>) -> Option<Verdict> {
    let ownable = lexicon().has(WordList::Object, &n.head().lemma);
    (n.words == 1 && n.head_in("generic_places")).then(|| match ownable {
        true => Verdict::Keep(n.named_from(n.start, EntityType::Thing, 0.8, Some(WordList::Object))),
        false => Verdict::Drop,
    })
}

/// "the local pub"
fn generic_place_as_head(n: &CommonNoun<'_>) -> Option<Verdict> {
    let organization = lexicon().head(&n.head().lemma) == Some(EntityType::Organization);
    (n.head_in("generic_places") && !n.name_inside && !organization).then_some(Verdict::Drop)
}

fn not_a_noun(n: &CommonNoun<'_>) -> Option<Verdict> {
    (n.head().pos != Pos::Noun).then_some(Verdict::Drop)
}

/// "jazz music" is named jazz.
fn kind_of_music(n: &CommonNoun<'_>) -> Option<Verdict> {
    let kind = n.head().norm == "music" && n.words == 2 && lexicon().has(WordList::Concept, &n.tokens[n.start].norm);
    let list = Some(WordList::Concept);
    kind.then(|| Verdict::Keep(build(n.tokens, n.start, n.start + 1, EntityType::Concept, 0.9, false, list)))
}

fn has_concept_ending(word: &str) -> bool {
    ["ing", "ism", "ology", "ics", "ness", "ity", "tion", "sion", "ance", "ence", "ship", "phy"]
        .iter()
        .any(|s| word.len() > s.len() + 2 && word.ends_with(s))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fixture::last_noun_phrase;

    #[test]
    fn rules_name_their_examples() {
        for (rule, text, expected) in [
            ("name_before_class", "the Phoenix project", Some("Phoenix")),
            ("name_before_vague_word", "Google stuff", Some("Google")),
            ("generic_place_of_two_words", "in high school", None),
            ("fan", "an Elvis fan", None),
            ("unspecific_people", "my friends", None),
            ("person", "my older sister", Some("sister")),
            ("listed_phrase", "a guinea pig", Some("guinea pig")),
            ("vague_word", "some stuff", None),
            ("vague_head", "paper stuff", None),
            ("generic_place", "my house", Some("house")),
            ("generic_place_as_head", "the corner shop", None),
            ("kind_of_music", "jazz music", Some("jazz")),
        ] {
            let (tokens, np) = last_noun_phrase(text);
            let is_role = |word: &str| matches!(word, "sister" | "friend");
            let noun = CommonNoun::new(&tokens, &np, &is_role);
            let (name, verdict) = RULES.iter().find_map(|(name, rule)| Some((*name, rule(&noun)?))).unwrap();
            let found = match &verdict {
                Verdict::Keep(named) => Some(named.name.as_str()),
                Verdict::Drop => None,
            };
            assert_eq!((name, found), (rule, expected), "{text}");
        }
    }

    #[test]
    fn other_nouns_have_the_type_of_their_head() {
        for (text, name, ty) in [
            ("my new bike", "bike", EntityType::Thing),
            ("the backend team", "backend team", EntityType::Organization),
            ("my zorgleness", "zorgleness", EntityType::Concept),
        ] {
            let (tokens, np) = last_noun_phrase(text);
            let named = common_name(&tokens, &np, &|_| false).unwrap();
            assert_eq!((named.name.as_str(), named.ty), (name, ty), "{text}");
        }
    }
}
