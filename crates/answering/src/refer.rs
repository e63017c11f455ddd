//! Who is meant by "my sister" or "Maren's husband": the name under which the rest is known. A question about a thing
//! that is called by what it is to another is put anew with its name, so that what is known of that thing can be found.

use super::{
    classes::{is_called, is_first_person, is_function, is_person_noun, kinds_of},
    cues::{CueBook, Form},
    names::Named,
    question::{Asks, Question, asking_part},
    sentence::capital,
    want::Want,
    words::words,
};
use recall_domain::{Entity, FactStatus, Stance, context::RankedFact};

/// The question with the first such role replaced by a name; `None` when there is none, or no single one is known.
pub(super) fn by_name(text: &str, question: &Question, facts: &[RankedFact], book: &CueBook) -> Option<String> {
    let part = asking_part(text);
    for owner in question.named.iter().filter(|n| n.possessive) {
        let Some(role) = question.words.get(owner.end) else { continue };
        if !is_person_noun(&role.plain) {
            continue;
        }
        // "Who is my sister", "what is my sister called", "my daughter's name": it is the name that is asked for.
        let next = question.words.get(owner.end + 1).map(|w| w.plain.as_str());
        let whole = next.is_none()
            && matches!(question.asks, Asks::Who | Asks::What)
            && question.words.iter().take(owner.start).all(|w| w.plain != "about" && is_function(w));
        if whole || (question.want == Want::Name && (!role.possessive || matches!(next, Some("name" | "names")))) {
            continue;
        }
        let cues = question.cues.iter().map(|c| (c.relation, c.form, c.start));
        let all = book.nouns(&role.plain).into_iter().map(|(relation, form)| (relation, form, owner.end)).chain(cues);
        let of_role = all.filter(|(_, form, start)| *start == owner.end && matches!(form, Form::Noun | Form::InverseNoun));
        let mut candidates: Vec<&Entity> = Vec::new();
        for (relation, form, _) in of_role {
            for f in facts {
                if let Some(thing) = side(f, owner, &book.relation(relation).name, book.relation(relation).symmetric, form)
                    && tells_role(f, &role.plain)
                    && !candidates.iter().any(|c| c.id == thing.id)
                {
                    candidates.push(thing);
                }
            }
        }
        if let [thing] = candidates.as_slice()
            && !words(&thing.name).iter().any(|w| w.plain == role.plain)
        {
            let start = part.start + question.words.get(owner.start)?.span.0;
            let end = part.start + role.span.1;
            let possessive = if role.possessive { "'s" } else { "" };
            return Some(format!("{}{}{possessive}{}", text.get(..start)?, thing.name, text.get(end..)?));
        }
    }
    None
}

/// What someone does is told by words that the question does not have: "What does Ada do?", "Ada works as a vet."
pub(super) fn by_occupation(question: &Question) -> Option<String> {
    let [who] = question.named.as_slice() else { return None };
    if question.want != Want::Occupation || question.words.iter().any(|w| w.stem == "work") {
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

/// The side of a fact that is something to the owner, by this relation.
fn side<'f>(f: &'f RankedFact, owner: &Named, relation: &str, symmetric: bool, form: Form) -> Option<&'f Entity> {
    if f.fact.relation != relation || f.fact.status != FactStatus::Active {
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

/// Whether the words that state the fact call it so; "my boss Ada" is not told by "I report to Ada", yet she is the boss.
fn tells_role(f: &RankedFact, role: &str) -> bool {
    let told = f.evidence.iter().filter(|e| e.stance == Stance::Supports).map(|e| e.excerpt.as_str());
    let described = f.object.description.iter().chain(&f.subject.description).map(String::as_str);
    let kin = kinds_of(role).contains(&"kin");
    let mut all = told.chain(described);
    all.any(|text| words(text).iter().any(|w| is_called(role, &w.plain))) || !kin && is_person_noun(role)
}
