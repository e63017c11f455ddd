//! Replaces descriptions in a question by names: "my sister", "the mother of Saff", "the bakery I work for", "that man".
//!
//! A description asks a question of its own ("Which bakery do I work for?"), and the facts answer it. So a question of several steps is
//! answered from the inside out. Each name leads to another search, because other facts and messages use the name.

use super::{
    answer_type::AnswerType,
    asking::asking_part,
    facts::{FactAnswer, holds},
    grammar::is_plural,
    lexicon::{is_asking_word, is_function_word, is_particle, is_person_noun},
    parts,
    question::{Question, QuestionKind},
    words::{Word, is_first_person, is_first_person_subject},
};
use recall_domain::{Entity, EntityId};

/// Parses a question and selects its facts.
pub(super) trait Ask<'a> {
    fn parse(&self, text: &str) -> Question;
    fn find(&self, question: &Question) -> FactAnswer<'a>;
}

/// Returns the question with a description replaced by a name. `None` if there is none, or if it does not fit exactly one entity.
pub(super) fn replace_description<'a>(text: &str, question: &Question, ask: &impl Ask<'a>) -> Option<String> {
    let part = asking_part(text);
    let asking = text.get(part.clone())?;
    let replaced =
        of_owner(asking, question).or_else(|| relative_clause(asking, question, ask)).or_else(|| answer_of_first(asking, ask))?;
    Some(format!("{}{replaced}{}", text.get(..part.start)?, text.get(part.end..)?))
}

/// Turns "the mother of Saff" into "Saff's mother".
fn of_owner(asking: &str, question: &Question) -> Option<String> {
    let words = &question.words;
    let plain = |i: usize| words.get(i).map_or("", |w| w.plain.as_str());
    let (of, owner) = question.named.iter().filter(|n| !n.possessive).find_map(|n| {
        let of = n.start.checked_sub(1).filter(|i| plain(*i) == "of" && !is_first_person(plain(n.start)))?;
        Some((of, n))
    })?;
    let role = of.checked_sub(1).filter(|i| is_person_noun(plain(*i)) || plain(*i) == "owner")?;
    let the = role.checked_sub(1).filter(|i| plain(*i) == "the")?;
    let name = asking.get(span(words, owner.start, owner.end)?)?;
    let (before, after) = (asking.get(..words[the].span.0)?, asking.get(words[owner.end - 1].span.1..)?);
    Some(format!("{before}{name}'s {}{after}", asking.get(span(words, role, of)?)?))
}

/// Returns the facts that say who or what is described, if a question asks for nothing else: "what is the name of the man with the parrot".
pub(super) fn find_described<'a>(text: &str, question: &Question, ask: &impl Ask<'a>) -> Option<(Question, FactAnswer<'a>)> {
    let asking = text.get(asking_part(text))?;
    descriptions(asking, question).into_iter().filter(|d| asks_for_description(question, d.the)).find_map(|d| {
        let asked = ask.parse(&d.asked);
        // "The bosses I had" may be many.
        let is_list = is_plural(&question.words[d.noun].plain);
        let found = ask.find(&asked);
        let fits = if is_list { found.cue.is_some() && !found.facts.is_empty() } else { one_answer(&asked, ask).is_some() };
        fits.then_some((asked, found))
    })
}

/// Replaces a noun with a relative clause: "the bakery I work for", "the sister who moved to Inverness", "the neighbour with the parrot".
fn relative_clause<'a>(asking: &str, question: &Question, ask: &impl Ask<'a>) -> Option<String> {
    let words = &question.words;
    let all = descriptions(asking, question).into_iter().filter(|d| !asks_for_description(question, d.the));
    let (description, entity) = all.into_iter().find_map(|d| Some((one_answer(&ask.parse(&d.asked), ask)?, d))).map(|(e, d)| (d, e))?;
    let between = asking.get(words[description.noun].span.1..words[description.head].span.1)?;
    let rest = asking.get(words[description.end - 1].span.1..)?;
    Some(format!("{}{}{between}{rest}", asking.get(..words[description.the].span.0)?, entity.name))
}

/// A noun with a relative clause, by the positions of its words.
struct Description {
    /// The article.
    the: usize,
    /// The noun, and the last word before the clause: "the company located that Ann works for".
    noun: usize,
    head: usize,
    /// One past the last word of the clause.
    end: usize,
    /// The question that it answers.
    asked: String,
}

fn is_article(word: &Word) -> bool {
    matches!(word.plain.as_str(), "the" | "a" | "an")
}

/// Returns the descriptions in a question. Where a clause ends is not known, so shorter ones come first.
fn descriptions(asking: &str, question: &Question) -> Vec<Description> {
    let words = &question.words;
    let plain = |i: usize| words.get(i).map_or("", |w| w.plain.as_str());
    let is_head = |i: usize| !(is_function_word(&words[i]) || is_particle(plain(i)) || (words[i].capital && question.in_name(i)));
    let mut all = Vec::new();
    for the in (0..words.len()).filter(|i| is_article(&words[*i])) {
        let Some(head) = (the + 1..words.len().min(the + 4)).take_while(|i| is_head(*i)).last() else { continue };
        let noun = if matches!(plain(head), "located" | "based") { head.saturating_sub(1) } else { head };
        let Some((kind, from)) = clause_after(question, head).filter(|_| noun > the) else { continue };
        let is_person = is_person_noun(plain(noun)) || matches!(plain(noun), "man" | "woman" | "person" | "guy");
        let Some(class) = span(words, the + 1, noun + 1).and_then(|range| asking.get(range)) else { continue };
        let who = if is_person { "Who".to_owned() } else { format!("Which {class}") };
        for end in from + 1..=words.len() {
            let Some(clause) = span(words, from, end).and_then(|range| asking.get(range)) else { continue };
            let asked = match kind {
                Clause::OfSubject => format!("{who} {clause}?"),
                // "the bosses I have had": a role, not a possession.
                Clause::OfObject if is_person && is_having(&words[from + 1..end]) => {
                    format!("Who are or were {} {class}?", owner(&words[from], clause))
                }
                Clause::OfObject => format!("{who} did {clause}?"),
                Clause::With => format!("{who} has {clause}?"),
            };
            all.push(Description { the, noun, head, end, asked });
        }
    }
    all
}

/// What the noun is in its relative clause.
#[derive(Clone, Copy)]
enum Clause {
    /// "who moved to Inverness"
    OfSubject,
    /// "I work for"
    OfObject,
    /// "with the parrot"
    With,
}

/// Returns the kind and the start of the relative clause after a noun.
fn clause_after(question: &Question, head: usize) -> Option<(Clause, usize)> {
    let words = &question.words;
    let plain = |i: usize| words.get(i).map_or("", |w| w.plain.as_str());
    let is_subject =
        |i: usize| is_first_person_subject(plain(i)) || question.named.iter().any(|n| n.start == i && !n.possessive && n.is_capital(words));
    match plain(head + 1) {
        "who" | "that" | "which" if is_subject(head + 2) => Some((Clause::OfObject, head + 2)),
        "who" | "that" | "which" if head + 3 < words.len() => Some((Clause::OfSubject, head + 2)),
        "with" if matches!(plain(head + 2), "the" | "a" | "an") => Some((Clause::With, head + 2)),
        _ if is_subject(head + 1) => Some((Clause::OfObject, head + 1)),
        _ => None,
    }
}

/// Whether words say only that somebody has or had something.
fn is_having(rest: &[Word]) -> bool {
    rest.iter().all(|w| is_function_word(w) || w.stem == "have") && rest.iter().any(|w| w.stem == "have")
}

/// Returns the possessive of the subject of a clause.
fn owner(subject: &Word, clause: &str) -> String {
    match subject.plain.as_str() {
        "i" | "i've" => "my".to_owned(),
        "we" | "we've" => "our".to_owned(),
        _ => format!("{}'s", clause.split_whitespace().next().unwrap_or_default()),
    }
}

/// Whether a question asks for nothing but what is described: "who is the man I met", "what is the name of the place I like".
fn asks_for_description(question: &Question, the: usize) -> bool {
    let before = &question.words[..the];
    let is_asking = |(i, w): (usize, &Word)| is_function_word(w) || question.is_filler(i) || question.answer_type == AnswerType::Name;
    let is_verb = |w: &Word| matches!(w.plain.as_str(), "has" | "have" | "had" | "do" | "does" | "did");
    question.kind != QuestionKind::Where
        && !before.iter().any(is_verb)
        && before.iter().enumerate().all(is_asking)
        && !before.iter().any(|w| is_particle(&w.plain) && w.plain != "of")
        && (question.kind == QuestionKind::Who || question.answer_type == AnswerType::Name || before.first().is_some_and(is_asking_word))
}

/// Replaces "that man", "it" or "its" in the second of two questions by the answer to the first.
fn answer_of_first<'a>(asking: &str, ask: &impl Ask<'a>) -> Option<String> {
    let parts = parts::find(asking, |text| ask.parse(text))?;
    let second = ask.parse(&parts.second);
    let plain = |i: usize| second.words.get(i).map_or("", |w| w.plain.as_str());
    let is_it = |i: usize| matches!(plain(i), "it" | "its");
    let is_that = |i: usize| plain(i) == "that" && second.words.get(i + 1).is_some_and(|w| !is_function_word(w));
    let is_person = |i: usize| parts.first_asks_who() && matches!(plain(i), "he" | "she" | "his" | "her");
    let at = (0..second.words.len()).find(|i| is_it(*i) || is_that(*i) || is_person(*i))?;
    let entity = one_answer(&parts.one, ask)?;
    let end = at + 1 + usize::from(is_that(at));
    let owner = if matches!(plain(at), "its" | "his" | "her") || second.words[end - 1].possessive { "'s" } else { "" };
    let (before, after) = (parts.second.get(..second.words[at].span.0)?, parts.second.get(second.words[end - 1].span.1..)?);
    Some(format!("{}, and {before}{}{owner}{after}", parts.first, entity.name))
}

/// Returns the one entity with a name that answers a question by facts.
fn one_answer<'a>(question: &Question, ask: &impl Ask<'a>) -> Option<&'a Entity> {
    let found = ask.find(question);
    found.cue.as_ref()?;
    let is_named = |id: EntityId| question.named.iter().any(|n| n.entities.contains(&id));
    let open = |e: &Entity| !is_named(e.id) && !e.is_viewer && e.name.starts_with(|c: char| !c.is_lowercase() || c.is_numeric());
    let facts: Vec<_> =
        if found.facts.iter().any(|f| holds(f)) { found.facts.iter().filter(|f| holds(f)).collect() } else { found.facts.iter().collect() };
    let mut all: Vec<&'a Entity> = Vec::new();
    for entity in facts.iter().flat_map(|f| [&f.subject, &f.object]).filter(|e| open(e)) {
        if !all.iter().any(|known| known.id == entity.id) {
            all.push(entity);
        }
    }
    all.pop().filter(|_| all.is_empty())
}

/// Returns the bytes from a word up to another.
fn span(words: &[Word], from: usize, to: usize) -> Option<std::ops::Range<usize>> {
    let end = to.checked_sub(1)?;
    Some(words.get(from)?.span.0..words.get(end)?.span.1)
}
