//! Derives name and type of a noun phrase.

use recall_domain::{EntityType, Span};

use super::lemma;
use super::lexicon::{VerbForm, WordList, lexicon};
use super::name_types::guess_type;
use super::phrases::{NounPhrase, Possessor, is_title};
use super::tokens::{Pos, Token};

/// A name with its type and properties.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) ty: EntityType,
    /// How sure the type is, 0 to 1. Below [`WEAK`] the relation may change it.
    pub(crate) strength: f64,
    /// A proper name, kept even if no fact uses it.
    pub(crate) proper: bool,
    /// The word list that has it.
    pub(crate) group: Option<WordList>,
    /// The role next to the name ("my manager Dave").
    pub(crate) role: Option<String>,
    pub(crate) plural: bool,
    pub(crate) span: Span,
}

/// A type with less strength than this may be replaced by the type that a relation requires.
pub(crate) const WEAK: f64 = 0.6;

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
        let head = role_head(tokens, np);
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
        return proper(tokens, np, is_role);
    }
    common(tokens, np, is_role)
}

fn build(tokens: &[Token], s: usize, e: usize, ty: EntityType, strength: f64, is_proper: bool, group: Option<WordList>) -> Named {
    Named {
        name: text_of(tokens, s, e),
        ty,
        strength,
        proper: is_proper,
        group,
        role: None,
        plural: plural(tokens, s, e),
        span: span(tokens, s, e),
    }
}

/// Returns the tokens as written, with single spaces.
pub(crate) fn text_of(tokens: &[Token], s: usize, e: usize) -> String {
    let mut out = String::new();
    for t in &tokens[s..e] {
        if !out.is_empty() && t.space_before {
            out.push(' ');
        }
        out.push_str(&t.text);
    }
    out.trim_matches('"').to_owned()
}

pub(crate) fn span(tokens: &[Token], s: usize, e: usize) -> Span {
    let part = &tokens[s..e.max(s + 1).min(tokens.len())];
    Span { start: part.iter().map(|t| t.start).min().unwrap_or(0), end: part.iter().map(|t| t.end).max().unwrap_or(0) }
}

fn plural(tokens: &[Token], s: usize, e: usize) -> bool {
    tokens[s..e].last().is_some_and(|t| t.pos == Pos::Noun && t.lemma != t.norm)
}

/// Whether a phrase names a time: "last week", "March", "two years".
pub(crate) fn time_expression(tokens: &[Token], np: &NounPhrase) -> bool {
    let head = &tokens[np.head];
    // "Baby One More Time" is a name.
    let in_name = head.capital && np.head > np.core && tokens[np.head - 1].capital && tokens[np.head - 1].pos == Pos::Propn;
    // "aunt June", "April likes"
    let person = head.capital
        && lexicon().in_set("name_homonyms", &head.norm)
        && (np.head > np.core && is_title(&tokens[np.head - 1].lemma)
            || tokens.get(np.head + 1).is_some_and(|n| n.form == Some(VerbForm::ThirdPerson) && n.pos == Pos::Verb));
    lexicon().in_set("time", &head.norm) && !in_name && !person
        || head.pos == Pos::Num
        || head.norm.chars().next().is_some_and(char::is_numeric) && head.norm.chars().all(|c| c.is_numeric() || "-:/.,stndrhk".contains(c))
}

/// Returns the noun that describes the name after "named".
fn role_head(tokens: &[Token], np: &NounPhrase) -> String {
    tokens[np.head].lemma.clone()
}

fn head_type(head: &str, is_role: &dyn Fn(&str) -> bool) -> Option<(EntityType, f64)> {
    let lex = lexicon();
    if is_role(head) || lex.has(WordList::Person, head) {
        return Some((EntityType::Person, 0.95));
    }
    if let Some(e) = lex.get(head).iter().find(|e| e.common) {
        return Some((e.group.entity_type(), 0.9));
    }
    lex.head(head).map(|ty| (ty, 0.9))
}

fn proper(tokens: &[Token], np: &NounPhrase, is_role: &dyn Fn(&str) -> bool) -> Option<Named> {
    let lex = lexicon();
    // The name is the longest sequence of name words that ends at the head.
    let mut s = np.head;
    while s > np.core
        && (matches!(tokens[s - 1].pos, Pos::Propn)
            || tokens[s - 1].is("of")
            || tokens[s - 1].is("'s") && s - 1 > np.core
            || (tokens[s - 1].capital && matches!(tokens[s - 1].pos, Pos::Adj | Pos::Num | Pos::Noun | Pos::Verb | Pos::Adv))
            || inner_article(tokens, s - 1, np))
    {
        s -= 1;
    }
    while s < np.head && (tokens[s].is("of") || tokens[s].is("'s")) {
        s += 1;
    }
    let mut name_start = s;
    // "The Office": a capitalised article inside a sentence belongs to the name.
    if let Some(d) = np.determiner
        && d + 1 == s
        && tokens[d].is("the")
        && tokens[d].capital
        && d > 0
        && !lex.has(WordList::Place, &phrase(tokens, s, np.head + 1))
    {
        name_start = d;
    }
    let before: Option<&Token> = (np.core..s).rev().map(|k| &tokens[k]).find(|t| t.pos == Pos::Noun);
    let mut words: Vec<&str> = tokens[s..=np.head].iter().map(|t| t.norm.as_str()).collect();
    // "Project Apollo", "Lake Como", "Dr. Smith"
    let mut ty_from_title = None;
    let mut title: Option<String> = None;
    if words.len() > 1 {
        match words[0] {
            "project" => {
                ty_from_title = Some((EntityType::Project, 0.95));
                name_start = s + 1;
                words.remove(0);
            }
            // "CTO Renee"
            w if lex.has(WordList::Person, w) && tokens[s].text.chars().all(char::is_uppercase) => {
                ty_from_title = Some((EntityType::Person, 0.9));
                title = Some(w.to_owned());
                name_start = s + 1;
                words.remove(0);
            }
            "dr." | "mr." | "mrs." | "ms." | "dr" | "mr" | "mrs" | "aunt" | "uncle" | "grandma" | "grandpa" | "professor" | "prof."
            | "sir" | "captain" | "coach" | "saint" => {
                ty_from_title = Some((EntityType::Person, 0.95));
            }
            "university" | "college" | "institute" | "bank" | "church" if words.get(1) == Some(&"of") => {
                ty_from_title = Some((EntityType::Organization, 0.95));
            }
            "lake" | "mount" | "mt." | "cape" | "port" | "fort" | "san" | "santa" | "saint-" | "isle" | "north" | "south" | "new" => {
                ty_from_title = Some((EntityType::Place, 0.8));
            }
            _ => {}
        }
    }
    if words[0] == "user" && (words.len() == 1 || words[1].chars().all(char::is_numeric)) {
        return None;
    }
    let joined = words.join(" ");
    let lone = tokens[np.head].clone();
    if words.len() == 1 && lex.in_set("vague", &joined) && !lex.get(&joined).iter().any(|e| !e.common) {
        return None;
    }
    // "the Beatles" are listed with their article.
    let entries = lex.get(&joined);
    let with_article = format!("the {joined}");
    let entries = if entries.is_empty() && np.determiner.is_some_and(|d| tokens[d].is("the")) { lex.get(&with_article) } else { entries };
    let (ty, strength, group) = if let Some((ty, st)) = ty_from_title {
        (ty, st, None)
    } else if let Some((ty, st)) = before.and_then(|t| head_type(&t.lemma, is_role)) {
        (ty, st, before.and_then(|t| lex.get(&t.lemma).first()).map(|e| e.group))
    } else {
        let guessed = guess_type(&joined, entries, &words, &lone, is_role);
        let before = np.start.checked_sub(1).map(|k| tokens[k].norm.as_str());
        match (guessed, before) {
            // "in Kiel", "at Lidl": the preposition gives the type of an unknown name.
            ((EntityType::Person, st, None), Some("in")) if st < 0.5 && words.len() == 1 => (EntityType::Place, 0.45, None),
            ((EntityType::Person, st, None), Some("at")) if st < 0.5 => (EntityType::Organization, 0.45, None),
            (g, _) => g,
        }
    };
    let mut named = build(tokens, name_start, np.head + 1, ty, strength, true, group);
    if ty == EntityType::Person {
        named.role = before.map(|t| t.lemma.clone()).or(title);
    }
    // An unlisted word without a capital is not a proper name.
    if !lone.capital && entries.is_empty() {
        named.proper = false;
    }
    Some(named)
}

fn inner_article(tokens: &[Token], k: usize, np: &NounPhrase) -> bool {
    matches!(tokens[k].norm.as_str(), "the" | "and" | "de" | "la" | "van" | "von" | "der" | "&")
        && k > np.core
        && (tokens[k - 1].pos == Pos::Propn || tokens[k - 1].is("of"))
}

fn phrase(tokens: &[Token], s: usize, e: usize) -> String {
    tokens[s..e].iter().map(|t| t.norm.as_str()).collect::<Vec<_>>().join(" ")
}

fn common(tokens: &[Token], np: &NounPhrase, is_role: &dyn Fn(&str) -> bool) -> Option<Named> {
    let lex = lexicon();
    let head = &tokens[np.head];
    let mut s = np.core.min(np.head);
    while s < np.head
        && (tokens[s].unit == 0 && (lex.in_set("plain_adjectives", &tokens[s].norm) || lex.in_set("plain_adjectives", &tokens[s].lemma))
            || matches!(tokens[s].pos, Pos::Num | Pos::Adv | Pos::Det)
            || tokens[s].norm.len() == 1 && tokens[s].pos != Pos::Propn)
    {
        s += 1;
    }
    let joined = phrase(tokens, s, np.head + 1);
    let singular = singular_phrase(tokens, s, np.head + 1);
    let whole = lex.get(&joined).iter().chain(lex.get(&singular)).find(|e| e.common || tokens[s].unit > 0).copied();
    let words = np.head + 1 - s;
    // "the Phoenix project" is named Phoenix; "the Adyen API" keeps its noun.
    let name_inside = (s..np.head).all(|k| tokens[k].pos == Pos::Propn) && words > 1;
    if name_inside
        && matches!(
            head.lemma.as_str(),
            "project" | "initiative" | "city" | "conference" | "festival" | "app" | "language" | "framework" | "database" | "editor"
        )
    {
        let ty = lex.head(&head.lemma).unwrap_or(EntityType::Project);
        return Some(build(tokens, s, np.head, ty, 0.9, true, None));
    }
    let owned = np.possessor != Possessor::Unmarked;
    // "Does Redis support it", "Google stuff": the name is before a vague word.
    if lex.in_set("vague", &head.norm) && whole.is_none() && np.head > s && (s..np.head).all(|k| tokens[k].pos == Pos::Propn) {
        let name = NounPhrase { head: np.head - 1, end: np.head, ..np.clone() };
        return proper(tokens, &name, is_role);
    }
    // "in high school"
    if words > 1 && !owned && !name_inside && lex.in_set("generic_places", &joined) && !lex.has(WordList::Object, &joined) {
        return None;
    }
    // "an Elvis fan" is not a thing; see `Reader::read_fan`.
    if lex.in_set("fans", &head.lemma) {
        return None;
    }
    // "friends" and "family" name no specific person.
    if words == 1 && lex.in_set("vague", &head.norm) && is_role(&head.lemma) && (head.norm != head.lemma || head.is("family")) {
        return None;
    }
    if is_role(&head.lemma) || is_role(&head.norm) || (lex.has(WordList::Person, &singular) && (owned || np.determiner.is_some())) {
        let bare_kin = matches!(head.norm.as_str(), "dad" | "mom" | "mum" | "grandma" | "grandpa");
        let counted = (np.core..np.head).any(|k| tokens[k].pos == Pos::Num);
        if !owned && !bare_kin && np.determiner.is_none() && !counted {
            return None;
        }
        let keep = if is_role(&head.lemma) { np.head } else { s };
        let mut named = build(tokens, keep, np.head + 1, EntityType::Person, 0.9, false, Some(WordList::Person));
        named.role = Some(head.lemma.clone());
        return Some(named);
    }
    if let Some(e) = whole.filter(|_| words > 1) {
        return Some(build(tokens, s, np.head + 1, e.group.entity_type(), 0.9, false, Some(e.group)));
    }
    if words == 1
        && (lex.in_set("vague", &head.norm) || lex.in_set("vague", &head.lemma))
        && whole.is_none_or(|e| e.group != WordList::Activity)
    {
        return None;
    }
    if lex.in_set("vague", &head.norm)
        && lex.head(&head.lemma).is_none()
        && (whole.is_none() && !lex.in_set("generic_places", &head.norm))
        && !matches!(head.norm.as_str(), "mornings" | "love")
    {
        return None;
    }
    if words == 1 && lex.in_set("generic_places", &head.norm) {
        // A house can be owned; `Reader::add_fact` rejects other facts about it.
        let ownable = lex.has(WordList::Object, &head.lemma);
        return ownable.then(|| build(tokens, s, np.head + 1, EntityType::Thing, 0.8, false, Some(WordList::Object)));
    }
    if lex.in_set("generic_places", &head.norm) && !name_inside && lex.head(&head.lemma) != Some(EntityType::Organization) {
        return None;
    }
    if head.pos != Pos::Noun {
        return None;
    }
    // "jazz music" is named jazz.
    if head.norm == "music" && words == 2 && lex.has(WordList::Concept, &tokens[s].norm) {
        return Some(build(tokens, s, s + 1, EntityType::Concept, 0.9, false, Some(WordList::Concept)));
    }
    let (ty, strength, group) = if let Some(e) = whole {
        (e.group.entity_type(), 0.9, Some(e.group))
    } else if let Some(ty) = two_word_head(tokens, np) {
        (ty, 0.85, lex.get(&head.lemma).iter().find(|e| e.common).map(|e| e.group))
    } else if let Some(e) = lex.get(&head.norm).iter().chain(lex.get(&head.lemma)).find(|e| e.common) {
        (e.group.entity_type(), 0.8, Some(e.group))
    } else if let Some(e) = lex.get(&head.norm).iter().find(|e| e.ambiguous && e.group == WordList::Tool) {
        (EntityType::Tool, 0.55, Some(e.group))
    } else if let Some(ty) = concept_suffix(&head.norm) {
        (ty, 0.6, None)
    } else {
        (EntityType::Thing, 0.4, None)
    };
    Some(build(tokens, s, np.head + 1, ty, strength, name_inside && tokens[s].capital, group))
}

fn two_word_head(tokens: &[Token], np: &NounPhrase) -> Option<EntityType> {
    let lex = lexicon();
    let two = (np.head > np.core).then(|| format!("{} {}", tokens[np.head - 1].norm, tokens[np.head].norm));
    two.and_then(|t| lex.head(&t)).or_else(|| lex.head(&tokens[np.head].norm)).or_else(|| lex.head(&tokens[np.head].lemma))
}

fn singular_phrase(tokens: &[Token], s: usize, e: usize) -> String {
    let mut words: Vec<&str> = tokens[s..e].iter().map(|t| t.norm.as_str()).collect();
    let last = lemma::noun(words.pop().unwrap_or_default());
    words.push(&last);
    words.join(" ")
}

fn concept_suffix(word: &str) -> Option<EntityType> {
    ["ing", "ism", "ology", "ics", "ness", "ity", "tion", "sion", "ance", "ence", "ship", "phy"]
        .iter()
        .any(|s| word.len() > s.len() + 2 && word.ends_with(s))
        .then_some(EntityType::Concept)
}
