//! Rephrases a question so that a second search finds more.
//!
//! A role such as "my sister" is replaced by the name of the entity, because other facts and messages use the name.

use super::{
    answer_type::AnswerType,
    asking::asking_part,
    cues::{CueIndex, Form},
    facts::is_denied,
    grammar::capital,
    lexicon::{classes_of, is_answered_by, is_function_word, is_person_noun},
    names::NameMention,
    question::{Question, QuestionKind},
    words::{is_first_person, words},
};
use recall_domain::{Entity, FactStatus, Stance, context::RankedFact};

/// Returns the question with the first role replaced by a name.
///
/// Returns `None` if the question has no role, or if no single entity has it.
pub(super) fn replace_role(text: &str, question: &Question, facts: &[RankedFact], cue_index: &CueIndex) -> Option<String> {
    let part = asking_part(text);
    for owner in question.named.iter().filter(|n| n.possessive) {
        let Some(at) = role_of(question, owner) else { continue };
        let role = &question.words[at];
        let is_former = question.words[owner.end..at].iter().any(|w| FORMER.contains(&w.plain.as_str()));
        // "Who is my sister", "what is my sister called", "my daughter's name": these ask for the name.
        let next = question.words.get(at + 1).map(|w| w.plain.as_str());
        let whole = next.is_none()
            && matches!(question.kind, QuestionKind::Who | QuestionKind::What)
            && question.words.iter().take(owner.start).all(|w| w.plain != "about" && is_function_word(w));
        // "Is my wife called Mary?"
        let is_naming = match next {
            Some("called" | "named") => !role.possessive,
            Some("name" | "names") => role.possessive,
            _ => false,
        };
        if whole || is_naming || (question.answer_type == AnswerType::Name && (!role.possessive || matches!(next, Some("name" | "names"))))
        {
            continue;
        }
        let cues = question.cues.iter().map(|c| (c.relation, c.form, c.start));
        let all = cue_index.nouns(&role.plain).into_iter().map(|(relation, form)| (relation, form, at)).chain(cues);
        let of_role = all.filter(|(_, form, start)| (owner.end..=at).contains(start) && matches!(form, Form::Noun | Form::InverseNoun));
        let mut candidates: Vec<&Entity> = Vec::new();
        for (relation, form, _) in of_role {
            for f in facts.iter().filter(|f| (f.fact.status == FactStatus::Ended) == is_former) {
                if let Some(thing) = side(f, owner, &cue_index.relation(relation).name, cue_index.relation(relation).symmetric, form)
                    && names_role(f, &role.plain)
                    && !candidates.iter().any(|c| c.id == thing.id)
                {
                    candidates.push(thing);
                }
            }
        }
        // Before the name was known, the role stood for one.
        candidates.retain(|c| !words(&c.name).iter().any(|w| w.plain == role.plain));
        // "My colleague Tom" has the name already.
        let is_named = question.named.iter().any(|n| n.start == at + 1);
        if let [thing] = candidates.as_slice()
            && !is_named
        {
            let start = part.start + question.words.get(owner.start)?.span.0;
            let end = part.start + role.span.1;
            let possessive = if role.possessive { "'s" } else { "" };
            // Of namesakes, only the role says which one is meant.
            let owner_and_role = format!("{}{} ", text.get(start..part.start + role.span.0)?, role.plain);
            let kept = if has_namesake(thing, facts) { owner_and_role.as_str() } else { "" };
            return Some(format!("{}{kept}{}{possessive}{}", text.get(..start)?, thing.name, text.get(end..)?));
        }
    }
    None
}

/// Whether another entity of the facts has the same first name.
fn has_namesake(entity: &Entity, facts: &[RankedFact]) -> bool {
    let first = |e: &Entity| words(&e.name).into_iter().next().map(|w| w.plain);
    let others = facts.iter().flat_map(|f| [&f.subject, &f.object]).filter(|e| e.id != entity.id && !e.is_viewer);
    first(entity).is_some_and(|name| others.into_iter().any(|e| first(e).as_deref() == Some(name.as_str())))
}

/// Words before a role that has ended.
const FORMER: [&str; 4] = ["former", "previous", "ex", "old"];
/// Other words before a role.
const ADJECTIVES: [&str; 12] = ["best", "new", "current", "present", "little", "big", "older", "younger", "elder", "good", "close", "dear"];

/// Returns the position of the role after its owner: "my sister", "my former boss".
fn role_of(question: &Question, owner: &NameMention) -> Option<usize> {
    let words = &question.words;
    let is_adjective = |i: usize| FORMER.contains(&words[i].plain.as_str()) || ADJECTIVES.contains(&words[i].plain.as_str());
    let at = (owner.end..words.len().min(owner.end + 3)).find(|i| !is_adjective(*i))?;
    (is_person_noun(&words[at].plain) || words[at].plain == "owner").then_some(at)
}

/// Returns a question about an occupation with words that the answer may contain.
///
/// "What does Ada do?" has no word of "Ada works as a vet."
pub(super) fn add_occupation_words(question: &Question) -> Option<String> {
    let [who] = question.named.as_slice() else { return None };
    if question.answer_type != AnswerType::Occupation || who.possessive || question.words.iter().any(|w| w.stem == "work") {
        return None;
    }
    let words = question.words.get(who.start..who.end)?;
    if words.iter().any(|w| is_first_person(&w.plain)) {
        return Some("What do I work as, what is my job?".to_owned());
    }
    let name: Vec<String> = words.iter().map(|w| if w.capital { capital(&w.plain) } else { w.plain.clone() }).collect();
    let name = name.join(" ");
    Some(format!("What does {name} work as, what is {name}'s job?"))
}

/// Returns the side of a fact that has this relation to the owner.
fn side<'f>(f: &'f RankedFact, owner: &NameMention, relation: &str, symmetric: bool, form: Form) -> Option<&'f Entity> {
    if f.fact.relation != relation || f.fact.status == FactStatus::Retracted || is_denied(f) {
        return None;
    }
    let owns = |e: &Entity| owner.entities.contains(&e.id);
    let (subject, object) = (owns(&f.subject), owns(&f.object));
    match form {
        _ if symmetric && subject != object => Some(if subject { &f.object } else { &f.subject }),
        Form::Noun if subject => Some(&f.object),
        Form::InverseNoun if object => Some(&f.subject),
        _ => None,
    }
}

/// Whether the evidence of a fact names the role. Roles other than kinship may follow from the relation alone.
fn names_role(f: &RankedFact, role: &str) -> bool {
    let excerpts = f.evidence.iter().filter(|e| e.stance == Stance::Supports).map(|e| e.excerpt.as_str());
    let described = f.object.description.iter().chain(&f.subject.description).map(String::as_str);
    let kin = classes_of(role).contains(&"kin");
    let mut all = excerpts.chain(described);
    all.any(|text| words(text).iter().any(|w| is_answered_by(role, &w.plain))) || !kin
}
