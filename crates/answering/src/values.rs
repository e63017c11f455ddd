//! Answers about values: "How old is Leo?", "What am I allergic to?", "When is the report due?".
//!
//! A value answers if its subject is named, its relation is asked for by a word of the ontology, and no other content word of the
//! question is left over.

use std::collections::HashSet;

use super::{
    citations::CitationList,
    cues::{CueMatch, Form},
    evidence::sentences_of,
    facts::{holds, is_denied},
    grammar::{Mood, VerbNumber, capital, day, list, predicate, with_article},
    lexicon::{classes_of, is_function_word, is_particle},
    names::NameMention,
    phrasing::{mood, subject_owner, subject_phrase},
    question::{Question, QuestionKind},
    times::{is_time, is_unit_of_time},
    words::{Word, is_first_person, stem, words},
};
use recall_domain::{
    FactStatus, Ontology, Relation, Stance, Timestamp, ValueData, ValueType,
    context::{RankedFact, RankedMessage},
};

/// Maximum number of values in one answer.
const MAX_VALUES: usize = 12;
/// A value that changes is dated if it was told before so many days.
const DATED_AFTER_DAYS: i64 = 180;

/// The relations with values, with the words that ask for them.
#[derive(Clone, Debug)]
pub(super) struct ValueIndex {
    relations: Vec<(Relation, Vec<Vec<String>>)>,
}

impl ValueIndex {
    /// Prepares the relations of an ontology.
    pub(super) fn new(ontology: &Ontology) -> Self {
        let stems = |cue: &String| {
            let words: Vec<String> = words(cue).into_iter().map(|w| w.stem).collect();
            let bare = words.first().is_some_and(|w| *w == stem("be") || *w == stem("have")) && words.len() > 1;
            if bare { words[1..].to_vec() } else { words }
        };
        let of = |r: &Relation| {
            let c = &r.cues;
            let mut cues: Vec<Vec<String>> = [&c.questions, &c.nouns, &c.verbs, &c.adjectives].into_iter().flatten().map(stems).collect();
            cues.sort_by_key(|c| std::cmp::Reverse(c.len()));
            (r.clone(), cues)
        };
        Self { relations: ontology.iter().filter(|r| r.has_values()).map(of).collect() }
    }

    fn relation(&self, name: &str) -> Option<&Relation> {
        self.relations.iter().map(|(r, _)| r).find(|r| r.name == name)
    }

    /// Returns the relations that the question asks for, with the positions of the words that do.
    fn asked_for(&self, question: &Question) -> Vec<(&Relation, Vec<usize>)> {
        let at = |cue: &[String]| {
            let free = |i: usize| !question.in_name(i);
            let mut starts = 0..(question.words.len() + 1).saturating_sub(cue.len());
            // "What do I do at Acme" has a verb "do", and "what pets do I have" an auxiliary.
            let ends = |s: usize| question.words.get(s + 1).is_none_or(|next| is_function_word(next) && !is_first_person(&next.plain));
            let is_verb = |s: usize| cue != [stem("do")] || ends(s) && s > 1;
            starts.find(|s| cue.iter().enumerate().all(|(k, w)| question.words[s + k].stem == *w && free(s + k)) && is_verb(*s))
        };
        let find = |cues: &[Vec<String>]| cues.iter().filter(|c| !c.is_empty()).find_map(|c| at(c).map(|s| (s..s + c.len()).collect()));
        self.relations.iter().filter(|(r, _)| !r.notes).filter_map(|(r, cues)| Some((r, find(cues)?))).collect()
    }

    /// Returns the sentences that answer a question about a value; none if it asks for something else.
    ///
    /// What `is_changed` by a later message is said without a yes or a no.
    pub(super) fn answer(
        &self,
        question: &Question,
        facts: &[RankedFact],
        now: Timestamp,
        is_changed: &dyn Fn(&RankedFact) -> bool,
        cited: &mut CitationList<'_>,
    ) -> Vec<String> {
        if question.named.is_empty() || question.is_general() || question.kind == QuestionKind::Who {
            return Vec::new();
        }
        for (relation, positions) in self.asked_for(question) {
            // "Where do I work?" asks for no job, but for the employer.
            if question.kind == QuestionKind::Where && !relation.value_types.contains(&ValueType::Contact) {
                continue;
            }
            let is_asked_for =
                |f: &&RankedFact| f.fact.relation == relation.name && is_about(question, f) && (!question.asks_for_denials || is_denied(f));
            let values: Vec<&RankedFact> = facts.iter().filter(is_asked_for).collect();
            let cue = CueMatch {
                relation: 0,
                form: Form::Noun,
                start: positions.first().copied().unwrap_or_default(),
                head: positions.last().copied().unwrap_or_default(),
                positions,
                stem: String::new(),
                manner: Vec::new(),
                strength: 1.0,
                weak: false,
            };
            let rest = question.unexplained_words(Some(&cue));
            let asked: Vec<&RankedFact> = values.iter().filter(|f| covers(f, &rest, relation, question, &cue)).copied().collect();
            let said = match question.kind {
                // "Am I allergic to nuts?", "am I vegan?": only a value that the question names is a yes or a no.
                QuestionKind::YesNo if asked.iter().any(|f| !rest.is_empty() || names_value(question, f) || has_value(question, f)) => {
                    let is_named = |f: &&&RankedFact| !rest.is_empty() || names_value(question, f) || has_value(question, f);
                    let asked: Vec<&RankedFact> = asked.iter().filter(is_named).copied().collect();
                    let yes = asked.iter().any(|f| holds(f));
                    let said = self.write(relation, &asked, now, cited);
                    if asked.iter().any(|f| is_changed(f)) { said } else { verdict(yes, said) }
                }
                // "Is Leo 8?" is answered with his age.
                QuestionKind::YesNo if relation.functional && !rest.is_empty() && rest.iter().all(|w| is_value_like(w)) => {
                    let said = self.write(relation, &values, now, cited);
                    if excludes_month(&values, &rest) { verdict(false, said) } else { said }
                }
                QuestionKind::YesNo => continue,
                _ => self.write(relation, &asked, now, cited),
            };
            if !said.is_empty() {
                return said;
            }
        }
        let other = self.other_number(question, facts, now, cited);
        if other.is_empty() { self.concerned(question, facts, now, cited) } else { other }
    }

    /// Returns the number that is known, if the question asks for another one: "am I 35". It has no verdict, because an age changes.
    fn other_number(&self, question: &Question, facts: &[RankedFact], now: Timestamp, cited: &mut CitationList<'_>) -> Vec<String> {
        let is_asked = question.words.first().is_some_and(|w| matches!(w.plain.as_str(), "am" | "is" | "are"));
        let rest = question.unexplained_words(None);
        let ([named], [number]) = (question.named.as_slice(), rest.as_slice()) else { return Vec::new() };
        let follows = named.start == 1 && question.words.get(named.end).is_some_and(|w| w.span == number.span);
        if !is_asked || !follows || question.kind != QuestionKind::YesNo || number.plain.parse::<u32>().is_err() {
            return Vec::new();
        }
        // Without a noun, a number is that of a unit which goes without saying: years.
        let is_implied = |r: &&Relation| r.functional && !r.labels && r.unit.is_some() && r.value_types == [ValueType::Number];
        let relations = self.relations.iter().map(|(relation, _)| relation).filter(is_implied);
        let said = relations.flat_map(|relation| {
            let values: Vec<&RankedFact> = facts.iter().filter(|f| f.fact.relation == relation.name && is_about(question, f)).collect();
            let is_same = |f: &&RankedFact| f.fact.value.iter().flat_map(|v| words(v.text.as_str())).any(|w| w.plain == number.plain);
            if values.iter().any(is_same) { Vec::new() } else { self.write(relation, &values, now, cited) }
        });
        said.collect()
    }

    /// Returns what bears on a question: "can I eat peanuts" is answered with the allergy, and with neither yes nor no. "What can I eat" has no object, so all
    /// that the subject cannot eat bears on it.
    fn concerned(&self, question: &Question, facts: &[RankedFact], now: Timestamp, cited: &mut CitationList<'_>) -> Vec<String> {
        let has_word = |words: &[String]| words.iter().any(|word| question.words.iter().any(|w| w.stem == stem(word)));
        let asks_what_is_possible = question.words.iter().any(|w| matches!(w.plain.as_str(), "can" | "could" | "may" | "should" | "shall"));
        let is_yes_or_no = question.kind == QuestionKind::YesNo;
        let may_be_concerned = is_yes_or_no || question.kind == QuestionKind::What && asks_what_is_possible;
        if !may_be_concerned {
            return Vec::new();
        }
        let concerns = self.relations.iter().map(|(relation, _)| relation).filter(|r| has_word(&r.cues.concerns));
        let said = concerns.flat_map(|relation| {
            let is_concern = |w: &&Word| relation.cues.concerns.iter().any(|word| w.stem == stem(word));
            let is_open = !is_yes_or_no && question.unexplained_words(None).iter().all(is_concern);
            // What describes the subject bears on every object: who is vegan eats no cheese. "Eat out" and "cook for Ann" have none.
            let is_object =
                |i: usize| question.words.get(i).is_some_and(|w| !is_function_word(w) && !is_particle(&w.plain) && !is_time(&w.plain));
            let has_object = question.words.iter().enumerate().any(|(i, w)| is_concern(&w) && is_object(i + 1));
            let describes = asks_what_is_possible && is_yes_or_no && has_object && !relation.cues.adjectives.is_empty();
            let bears = |f: &&RankedFact| {
                f.fact.relation == relation.name
                    && holds(f)
                    && is_about(question, f)
                    && (is_open || describes || is_yes_or_no && has_value(question, f))
            };
            let values: Vec<&RankedFact> = facts.iter().filter(bears).collect();
            self.write(relation, &values, now, cited)
        });
        said.collect()
    }

    /// Describes the one entity that the question is about by its values and notes.
    pub(super) fn describe(&self, question: &Question, facts: &[RankedFact], now: Timestamp, cited: &mut CitationList<'_>) -> Vec<String> {
        let about: Vec<&RankedFact> = facts.iter().filter(|f| f.fact.value.is_some() && is_about(question, f)).collect();
        let mut done = HashSet::new();
        let mut said = Vec::new();
        for f in &about {
            let Some(relation) = self.relation(&f.fact.relation).filter(|r| done.insert((f.fact.subject, r.name.clone()))) else {
                continue;
            };
            let same = |o: &&&RankedFact| o.fact.relation == relation.name && o.fact.subject == f.fact.subject;
            let group: Vec<&RankedFact> = about.iter().filter(same).copied().collect();
            said.extend(self.write(relation, &group, now, cited));
        }
        said
    }

    /// Writes values of one relation as sentences, those that hold first.
    fn write(&self, relation: &Relation, values: &[&RankedFact], now: Timestamp, cited: &mut CitationList<'_>) -> Vec<String> {
        let mut left: Vec<&RankedFact> = values.iter().filter(|f| f.fact.status != FactStatus::Retracted).copied().collect();
        left.sort_by_key(|f| (!holds(f), std::cmp::Reverse(f.fact.last_support)));
        // What no longer holds is no answer while something else does.
        if left.iter().any(|f| holds(f)) {
            left.retain(|f| holds(f));
        }
        left.truncate(MAX_VALUES);
        let mut said = Vec::new();
        while let Some(first) = left.first().copied() {
            let measure = |f: &RankedFact| f.fact.value.as_ref().and_then(|v| v.label.clone());
            let alike = |f: &&&RankedFact| f.fact.subject == first.fact.subject && mood(f) == mood(first) && measure(f) == measure(first);
            let group: Vec<&RankedFact> = left.iter().filter(alike).copied().collect();
            said.extend(self.write_group(relation, &group, now, cited));
            left.retain(|f| !group.iter().any(|g| g.fact.id == f.fact.id));
        }
        said
    }

    /// Writes values of one subject and measure: "You are allergic to peanuts [1] and shellfish [2]."
    fn write_group(&self, relation: &Relation, group: &[&RankedFact], now: Timestamp, cited: &mut CitationList<'_>) -> Option<String> {
        let first = group.first()?;
        let value = first.fact.value.as_ref()?;
        let part = |f: &RankedFact, cited: &mut CitationList<'_>| {
            let text = f.fact.value.as_ref().map_or("", |v| v.text.as_str());
            let text = text.trim_end_matches('.');
            let text = if relation.phrase.ends_with(" as") { with_article(text) } else { text.to_owned() };
            let text = rate_told(f, &text, &cited.context.messages).map_or(text.clone(), |rate| format!("{text} {rate}"));
            let told = f.evidence.iter().find(|e| e.stance == Stance::Supports).map(|e| e.created_at);
            let dated = told.filter(|t| relation.functional && (now - *t).num_days() > DATED_AFTER_DAYS);
            let dated = dated.map_or_else(String::new, |t| format!(" (told on {})", day(t)));
            format!("{text} {}{dated}", cited.cite_fact(f, &relation.phrase))
        };
        if relation.notes {
            let parts: Vec<String> = group.iter().map(|f| part(f, cited)).collect();
            return Some(format!("I noted: {}.", parts.join("; ")));
        }
        // Of a changed value, the latest one counts.
        let parts = match (relation.functional, group) {
            (true, [latest, earlier @ ..]) if !earlier.is_empty() => {
                let now_said = part(latest, cited);
                let before: Vec<String> = earlier.iter().map(|f| part(f, cited)).collect();
                format!("{now_said}; earlier I was told {}", list(&before))
            }
            _ => list(&group.iter().map(|f| part(f, cited)).collect::<Vec<_>>()),
        };
        let mood = mood(first);
        let noun =
            value.label.as_ref().map(|l| l.as_str().to_owned()).or_else(|| relation.phrase.strip_prefix("has the ").map(str::to_owned));
        let sentence = match (noun, mood) {
            (Some(noun), Mood::Holds) => format!("{} {noun} is {parts}", subject_owner(first)),
            (Some(noun), _) => format!("{} {noun} is not {parts}", subject_owner(first)),
            (None, _) => format!(
                "{} {} {parts}",
                subject_phrase(first),
                predicate(&phrase_told(first, relation), mood, VerbNumber::of(&first.subject))
            ),
        };
        Some(format!("{}.", capital(&sentence)))
    }
}

/// Returns the time for which an amount is due, if it was told with it: "a month".
fn rate_told(f: &RankedFact, value: &str, messages: &[RankedMessage]) -> Option<String> {
    let is_money = matches!(f.fact.value.as_ref()?.data, ValueData::Money { .. });
    let told = f.evidence.iter().flat_map(|e| std::iter::once(e.excerpt.as_str().to_owned()).chain(sentences_of(e, messages)));
    told.filter(|_| is_money).find_map(|text| {
        let after = text.get(text.find(value)? + value.len()..)?;
        let next = words(after);
        let (each, unit) = (next.first()?, next.get(1)?);
        let directly = after.get(..each.span.0).is_some_and(|gap| gap.trim().is_empty());
        let is_rate = directly && matches!(each.plain.as_str(), "a" | "an" | "per" | "each" | "every") && is_unit_of_time(&unit.plain);
        is_rate.then(|| format!("{} {}", each.plain, unit.plain))
    })
}

/// Returns the phrase of a relation with the verb and the preposition that fit its value: "weighs", "is due in".
fn phrase_told(f: &RankedFact, relation: &Relation) -> String {
    let phrase = relation.phrase.as_str();
    // "2027-04" and "2027" have no day.
    let is_day = |date: &str| date.len() == 10 || date.starts_with("--");
    if let (Some(ValueData::Date { date }), Some(verb)) = (f.fact.value.as_ref().map(|v| &v.data), phrase.strip_suffix(" on"))
        && !is_day(date.as_str())
    {
        return format!("{verb} in");
    }
    let said: HashSet<String> = f.evidence.iter().flat_map(|e| words(e.excerpt.as_str())).map(|w| w.stem).collect();
    let other = relation.cues.verbs.iter().find(|verb| !verb.contains(' ') && said.contains(&stem(verb)));
    match other.filter(|verb| !phrase.contains(' ') && stem(verb) != stem(phrase)) {
        Some(verb) => format!("{verb}s"),
        None => phrase.to_owned(),
    }
}

/// Whether all values have the name of a month, and none that of the question.
fn excludes_month(values: &[&RankedFact], asked: &[&Word]) -> bool {
    let months = |word: &Word| classes_of(&word.plain).contains(&"month");
    let in_value = |f: &RankedFact| -> Vec<Word> { f.fact.value.iter().flat_map(|v| words(v.text.as_str())).filter(months).collect() };
    let mut wanted = asked.iter().filter(|w| months(w)).peekable();
    let is_other = |month: &&&Word| values.iter().all(|f| in_value(f).first().is_some_and(|m| m.stem != month.stem));
    !values.is_empty() && wanted.peek().is_some() && wanted.all(|month| is_other(&month))
}

/// Whether the fact is about what the question names last. "My sister Anna" is Anna and not the user.
fn is_about(question: &Question, f: &RankedFact) -> bool {
    let is_subject = |n: &NameMention| n.entities.contains(&f.fact.subject);
    let last = question.named.iter().filter(|n| is_subject(n) || !is_name_of_value(question, n, f)).max_by_key(|n| n.end);
    f.fact.value.is_some() && last.is_some_and(is_subject)
}

/// Whether a name in the question is the value: "peanuts" in "am I allergic to peanuts".
fn is_name_of_value(question: &Question, n: &NameMention, f: &RankedFact) -> bool {
    let said: Vec<String> = f.fact.value.iter().flat_map(|v| words(v.text.as_str())).map(|w| w.stem).collect();
    question.words.get(n.start..n.end).is_some_and(|own| own.iter().all(|w| said.contains(&w.stem)))
}

/// Whether the question has all words of the value.
fn has_value(question: &Question, f: &RankedFact) -> bool {
    let mut value = f.fact.value.iter().flat_map(|v| words(v.text.as_str())).map(|w| w.stem);
    value.all(|stem| question.words.iter().any(|w| w.stem == stem))
}

/// Whether the question has a name that is the value.
fn names_value(question: &Question, f: &RankedFact) -> bool {
    question.named.iter().any(|n| is_name_of_value(question, n, f))
}

/// Whether the value, its label or its evidence has all these words, and the label if the question asks for one measure of several.
fn covers(f: &RankedFact, rest: &[&Word], relation: &Relation, question: &Question, cue: &CueMatch) -> bool {
    let Some(value) = &f.fact.value else { return false };
    let said: HashSet<String> = words(&value.shown()).into_iter().map(|w| w.stem).collect();
    let label = value.label.as_ref().map(|l| words(l.as_str()));
    // "What is my rent" does not ask for the salary.
    let asked_label =
        || cue.positions.iter().any(|p| label.iter().flatten().any(|l| question.words.get(*p).is_some_and(|w| w.stem == l.stem)));
    let of_measure = !relation.labels || asks_for_measure(question, label.as_deref(), cue) || asked_label();
    let excerpt: HashSet<String> = f.evidence.iter().flat_map(|e| words(e.excerpt.as_str())).map(|w| w.stem).collect();
    of_measure && rest.iter().all(|w| said.contains(&w.stem) || excerpt.contains(&w.stem))
}

/// Whether "how tall" asks for this label.
fn asks_for_measure(question: &Question, label: Option<&[Word]>, cue: &CueMatch) -> bool {
    const MEASURES: &[(&str, &str)] = &[
        ("tall", "height"),
        ("high", "height"),
        ("long", "length"),
        ("wide", "width"),
        ("deep", "depth"),
        ("heavy", "weight"),
        ("weigh", "weight"),
        ("big", "size"),
        ("large", "size"),
    ];
    let asked = cue.positions.iter().filter_map(|p| question.words.get(*p));
    let measure = asked.filter_map(|w| MEASURES.iter().find(|(adjective, _)| stem(adjective) == w.stem)).map(|(_, noun)| *noun).next();
    match (measure, label) {
        (Some(measure), Some(label)) => label.iter().any(|w| w.plain == measure),
        (Some("weight" | "size"), None) => true,
        _ => false,
    }
}

/// Whether a word may be a value: a number or a time.
fn is_value_like(word: &Word) -> bool {
    is_time(&word.plain) || word.plain.starts_with(|c: char| c.is_ascii_digit())
}

fn verdict(yes: bool, mut said: Vec<String>) -> Vec<String> {
    if let Some(first) = said.first_mut() {
        let mut rest = first.chars();
        let lower: String = rest.next().into_iter().flat_map(char::to_lowercase).chain(rest).collect();
        let lower = if first.starts_with("You") { lower } else { first.clone() };
        *first = format!("{}, {lower}", if yes { "Yes" } else { "No" });
    }
    said
}
