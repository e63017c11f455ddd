//! Writes facts by the roles and the names that their evidence tells: "Pete is your brother-in-law", "Your dog is called Biscuit".

use super::{
    called,
    citations::CitationList,
    cues::{CueIndex, CueMatch, Form},
    evidence::sentences_of,
    facts::is_denied,
    grammar::{Mood, VerbNumber, determined, is_plural, list, name, plural},
    lexicon::{is_function_word, is_particle, is_person_noun},
    phrasing::{FactWriter, mood, other_side, subject_owner},
    question::{Question, Tense},
    words::{Word, words},
};
use recall_domain::{
    Entity, EntityType, FirstPerson, Relation,
    context::{RankedFact, RankedMessage},
};

/// Most words of a role: "younger brother-in-law".
const MAX_ROLE: usize = 4;

/// A role that the evidence of a fact tells.
struct ToldRole<'f> {
    owner: &'f Entity,
    holder: &'f Entity,
    role: String,
}

impl FactWriter<'_> {
    /// Writes a fact with the role that its evidence tells: "Pete is your brother-in-law [1]", "Kai is your son's best friend [1]".
    pub(super) fn write_told_role(&self, group: &[&RankedFact], relation: &Relation, cited: &mut CitationList<'_>) -> Option<String> {
        let [f] = group else { return None };
        let texts = self.told(f);
        let told = role_told(f, relation, &texts).filter(|_| !is_denied(f))?;
        // Somebody remains an ex. Another role is over with the fact.
        if mood(f) == Mood::Ended && words(&told.role).first().is_none_or(|w| w.plain != "ex") {
            return None;
        }
        let is_unnamed = told.owner.name.starts_with(char::is_lowercase);
        let owner = is_unnamed.then(|| texts.iter().find_map(|text| determined(&told.owner.name, text))).flatten();
        let owner = owner.unwrap_or_else(|| name(told.owner, other_side(f, told.owner)));
        let owner = if told.owner.is_viewer { "your".to_owned() } else { format!("{owner}'s") };
        let mark = cited.cite_fact(f, &relation.phrase);
        Some(format!("{} is {owner} {} {mark}", told.holder.name, told.role))
    }

    /// Writes possessions by their names, if the question asks for them: "Your dog is called Biscuit [1]".
    pub(super) fn write_names(&self, group: &[&RankedFact], relation: &Relation, cited: &mut CitationList<'_>) -> Option<String> {
        let first = group.first()?;
        let noun = called::noun_of_name(self.question).filter(|_| self.cue_index.is_possession(&relation.name))?;
        let is_named = |f: &&RankedFact| mood(f) == Mood::Holds && f.object.name.starts_with(char::is_uppercase);
        if !group.iter().all(is_named) || group.iter().any(|f| f.fact.subject != first.fact.subject) {
            return None;
        }
        let (noun, number) = match group {
            [_] if !is_plural(&noun) => (noun, VerbNumber::Singular),
            _ => (plural(&noun), VerbNumber::Plural),
        };
        let parts: Vec<String> = group.iter().map(|f| format!("{} {}", f.object.name, cited.cite_fact(f, &relation.phrase))).collect();
        Some(format!("{} {noun} {} called {}", subject_owner(first), number.is(), list(&parts)))
    }
}

/// Leaves out facts whose evidence tells another role than the question asks for, if one tells that role: "my team lead is Ana, my line manager is Bob".
pub(super) fn keep_asked_role<'a>(
    found: Vec<&'a RankedFact>,
    question: &Question,
    cue: Option<&CueMatch>,
    cue_index: &CueIndex,
    messages: &[RankedMessage],
) -> Vec<&'a RankedFact> {
    // Roles change: who is my manager now may have been told as a boss.
    let is_of_past = question.is_past || question.is_perfect || question.tense == Tense::Past || question.period.is_some();
    let is_role = |c: &&CueMatch| matches!(c.form, Form::Noun | Form::InverseNoun);
    let Some(cue) = cue.filter(is_role).filter(|_| found.len() > 1 && !is_of_past) else { return found };
    let relation = cue_index.relation(cue.relation);
    let nouns = if cue.form == Form::Noun { &relation.cues.nouns } else { &relation.cues.inverse_nouns };
    // The longest noun of the relation that the question has: "line manager", of which "manager" is a cue too.
    let asked: Vec<&str> = question.words.iter().map(|w| w.plain.as_str()).collect();
    let asked = format!(" {} ", asked.join(" "));
    let Some(role) = nouns.iter().filter(|noun| asked.contains(&format!(" {noun} "))).max_by_key(|noun| noun.len()) else { return found };
    let told = |f: &RankedFact| {
        let (owner, holder) = if cue.form == Form::Noun { (&f.subject, &f.object) } else { (&f.object, &f.subject) };
        let excerpts = f.evidence.iter().map(|e| e.excerpt.as_str().to_owned());
        let mut texts = excerpts.chain(f.evidence.iter().flat_map(|e| sentences_of(e, messages)));
        texts.find_map(|text| {
            role_in(&text, owner, holder, nouns).or_else(|| role_in(&text, holder, owner, nouns).filter(|_| relation.symmetric))
        })
    };
    let is_asked = |told: &String| told == role || told.ends_with(&format!(" {role}"));
    let roles: Vec<Option<String>> = found.iter().map(|f| told(f)).collect();
    if !roles.iter().flatten().any(is_asked) {
        return found;
    }
    found.into_iter().zip(roles).filter(|(_, told)| told.as_ref().is_none_or(is_asked)).map(|(f, _)| f).collect()
}

/// Returns the role that one side of a symmetric relation has for the other, by the words of the evidence.
fn role_told<'f>(f: &'f RankedFact, relation: &Relation, texts: &[String]) -> Option<ToldRole<'f>> {
    if !relation.symmetric {
        return None;
    }
    [(&f.subject, &f.object), (&f.object, &f.subject)].into_iter().find_map(|(owner, holder)| {
        // "My sister" without a name is no holder of another role.
        let is_unnamed = words(&holder.name).last().is_none_or(|w| !w.capital && is_person_noun(&w.plain));
        if holder.is_viewer || holder.entity_type != EntityType::Person || is_unnamed {
            return None;
        }
        let role = texts.iter().find_map(|text| role_in(text, owner, holder, &relation.cues.nouns))?;
        Some(ToldRole { owner, holder, role })
    })
}

/// Returns the role in "my brother-in-law Pete", "Josh is my roommate", "Pete, my brother-in-law,".
fn role_in(text: &str, owner: &Entity, holder: &Entity, nouns: &[String]) -> Option<String> {
    let (said, own, named) = (words(text), words(&owner.name), words(&holder.name));
    let is_owner = |w: &Word| match owner.is_viewer {
        true => FirstPerson::is_determiner(&w.plain),
        false => w.possessive && own.last().is_some_and(|o| o.plain == w.plain),
    };
    let is_named_at = |i: usize| named.iter().enumerate().all(|(k, n)| said.get(i + k).is_some_and(|w| w.plain == n.plain));
    let gap = |left: usize, right: usize| match (said.get(left), said.get(right)) {
        (Some(left), Some(right)) => text.get(left.span.1..right.span.0).unwrap_or_default(),
        _ => "",
    };
    let is_one_clause = |left: usize, right: usize| !gap(left, right).contains(['.', ';', '!', '?', ':']);
    let is_copula = |w: &Word| matches!(w.plain.as_str(), "is" | "was" | "called" | "named");
    (0..said.len()).filter(|at| is_owner(&said[*at])).find_map(|at| {
        let (last, role) = role_after(text, &said, at, nouns)?;
        let is_before = (last + 1..said.len().min(last + 4))
            .find(|i| is_named_at(*i))
            .is_some_and(|i| said[last + 1..i].iter().all(is_copula) && is_one_clause(last, i));
        let end = |start: usize| start + named.len();
        let is_after = || {
            let start = (at.saturating_sub(named.len() + 1)..at).find(|i| is_named_at(*i) && end(*i) <= at)?;
            let link = said.get(end(start)..at)?;
            let is_stated = !link.is_empty() || said.get(end(start) - 1)?.possessive;
            // "Josh, my roommate, called", but not "I told Josh my roommate is ill".
            let closes = said.get(last + 1).is_none_or(|w| is_particle(&w.plain)) || gap(last, last + 1).contains([',', '.']);
            let is_apposition = gap(end(start) - 1, at).contains(',') && closes;
            Some(link.iter().all(is_copula) && is_one_clause(end(start) - 1, at) && (is_stated || is_apposition))
        };
        (is_before || is_after().unwrap_or(false)).then_some(role)
    })
}

/// Returns the longest role after its owner, with the position of its last word.
fn role_after(text: &str, said: &[Word], owner: usize, nouns: &[String]) -> Option<(usize, String)> {
    let first = said.get(owner + 1)?;
    let mut found = None;
    for at in owner + 1..said.len().min(owner + 1 + MAX_ROLE) {
        let word = said.get(at)?;
        let is_joined = at > owner + 1 && text.get(said[at - 1].span.1..word.span.0) == Some("-");
        // "My mum and my brother Tim", "my sister's husband Tim".
        if word.possessive || (!is_joined && (is_function_word(word) || is_particle(&word.plain))) {
            break;
        }
        let role = text.get(first.span.0..word.span.1)?.to_lowercase();
        let is_noun = |noun: &String| role == *noun || role.strip_suffix(noun.as_str()).is_some_and(|rest| rest.ends_with(' '));
        if nouns.iter().any(is_noun) {
            found = Some((at, role));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{person, viewer};

    #[test]
    fn role_is_that_of_the_named_person() {
        let nouns = ["brother", "brother-in-law", "sister", "husband", "friend", "best friend", "ex", "roommate"].map(str::to_owned);
        for (text, owner, holder, expected) in [
            ("My brother-in-law Pete is a plumber", viewer(), "Pete", Some("brother-in-law")),
            ("Josh is my roommate from college", viewer(), "Josh", Some("roommate")),
            ("Josh, my roommate, is ill", viewer(), "Josh", Some("roommate")),
            ("my ex Dean still texts me", viewer(), "Dean", Some("ex")),
            ("my son's best friend Kai came", person("son"), "Kai", Some("best friend")),
            ("Ann's sister Bea came", person("Ann"), "Bea", Some("sister")),
            ("Ann's sister Bea came", person("Bea"), "Ann", None),
            ("Ann's sister Bea came", viewer(), "Bea", None),
            ("my sister's husband Tim", viewer(), "Tim", None),
            ("I told Josh my sister is ill", viewer(), "Josh", None),
            ("my sister called Pete a fool. My brother laughed", viewer(), "Ben", None),
        ] {
            assert_eq!(role_in(text, &owner, &person(holder), &nouns).as_deref(), expected, "{text}");
        }
    }
}
