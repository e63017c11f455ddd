//! Facts that were chosen, in sentences with marks. What can be said in one sentence is; what cannot all hold is weighed.

use std::collections::HashMap;

use super::{
    cues::{CueBook, Form},
    facts::{Found, Verdict, holds, is_denied},
    question::{Asks, Question, Tense},
    sentence::{Mood, Person, capital, day, determined, list, month, name, noun_phrase, owner, plural, predicate, with_article},
    want::Want,
    words::words,
};
use recall_domain::{
    Citation, Entity, EntityId, EntityType, Evidence, Fact, FactStatus, Relation, Stance, UserText,
    context::{Context, RankedFact},
};

/// Says facts.
pub(super) struct Teller<'a> {
    pub(super) book: &'a CueBook,
    pub(super) question: &'a Question,
    pub(super) found: &'a Found<'a>,
}

impl Teller<'_> {
    /// The facts found, in sentences.
    pub(super) fn state(&self, page: &mut Page<'_>) -> Vec<String> {
        let mut left: Vec<&RankedFact> = self.found.facts.clone();
        let mut sentences = Vec::new();
        while let Some(first) = left.first().copied() {
            let rivals: Vec<&RankedFact> =
                left.iter().filter(|f| f.fact.id != first.fact.id && self.are_rivals(first, f)).copied().collect();
            // "No, you no longer live in Lyon. You live in Ghent.": what was asked for goes first, on its own.
            let (said, used) = if rivals.is_empty() || (self.found.verdict == Some(Verdict::No) && mood(first) == Mood::Ended) {
                let group: Vec<&RankedFact> = left.iter().filter(|f| self.belongs(first, f)).copied().collect();
                (self.together(&group, page), group)
            } else {
                (self.rivalry(first, &rivals, page), std::iter::once(first).chain(rivals).collect())
            };
            sentences.extend(said);
            left.retain(|f| !used.iter().any(|u| u.fact.id == f.fact.id));
        }
        let weighed = self.found.facts.iter().any(|a| self.found.facts.iter().any(|b| self.are_rivals(a, b) && holds(a) && holds(b)));
        // Where both sides are told, their shares are the answer.
        let verdict = self.found.verdict.filter(|_| !weighed);
        if let (Some(verdict), Some(first)) = (verdict, sentences.first_mut()) {
            let word = match verdict {
                Verdict::Yes => "Yes",
                Verdict::No => "No",
            };
            *first = format!("{word}, {first}");
        } else if let (Want::Count(_), Some(first), false) = (&self.question.want, sentences.first_mut(), self.has_plural()) {
            *first = format!("I know of {}: {first}", self.found.facts.len());
        }
        sentences.iter().map(|s| format!("{}.", capital(s))).collect()
    }

    /// "Two rabbits" is one thing to the memory, and more than one to who asks.
    fn has_plural(&self) -> bool {
        self.found.facts.iter().any(|f| super::sentence::is_plural(&f.object.name))
    }

    /// Facts that differ in one side only: "John likes Mary [1], sushi [2] and hiking [3]".
    fn together(&self, group: &[&RankedFact], page: &mut Page<'_>) -> Option<String> {
        let first = group.first()?;
        let relation = self.book.by_name(&first.fact.relation)?;
        if let Some(said) = self.by_role(group, relation, page) {
            return Some(said);
        }
        if self.found.cue.is_none() && self.book.is_collective_name(&relation.name) && mood(first) == Mood::Ended {
            // What it was that ended, the words say better: "Rafael broke up with Mirela".
            let words = best_evidence(first).map(|e| e.excerpt.as_str().to_owned()).filter(|e| !e.is_empty());
            if let Some(words) = words {
                let until = first.fact.valid_to.map_or_else(String::new, |end| format!(" ({})", month(end)));
                return Some(format!("I was told: “{words}” {}{until}", page.cite_fact(first, &relation.phrase)));
            }
        }
        // "Who manages Tom": several subjects of one object.
        let many_subjects = group.iter().any(|f| f.fact.subject != first.fact.subject);
        let when = |f: &RankedFact| match (self.question.asks, mood(f), f.fact.valid_to) {
            (_, Mood::Ended, Some(end)) => format!(" (until {})", month(end)),
            (Asks::When, Mood::Holds, _) => page_date(f).map_or_else(String::new, |at| format!(" (told on {})", day(at))),
            _ if f.fact.flagged => " (not certain)".to_owned(),
            _ => String::new(),
        };
        let mut parts = Vec::new();
        for f in group {
            let side = if many_subjects { subject_phrase(f) } else { noun_phrase(&f.object, &f.subject, &told(f)) };
            let mark = page.cite_fact(f, relation.phrase.as_str());
            parts.push(format!("{side} {mark}{}", when(f)));
        }
        if many_subjects {
            return Some(format!(
                "{} {} {}",
                list(&parts),
                predicate(&relation.phrase, self.mood(first), Person::Many),
                noun_phrase(&first.object, &first.subject, &told(first))
            ));
        }
        Some(self.clause(first, relation, &list(&parts), self.mood(first)))
    }

    /// "Your sister is Maren [1]": where the question calls the thing by what it is to someone, or the message did.
    fn by_role(&self, group: &[&RankedFact], relation: &Relation, page: &mut Page<'_>) -> Option<String> {
        let first = group.first()?;
        let cue = self.found.cue.as_ref();
        let by_noun = cue.filter(|c| matches!(c.form, Form::Noun | Form::InverseNoun) && !matches!(mood(first), Mood::Denied));
        let named = |id: EntityId| self.question.named.iter().any(|n| n.entities.contains(&id));
        let (role, subject_owns) = if let Some(cue) = by_noun {
            let places = || cue.places.iter().chain(self.question.class_places.iter().filter(|p| **p > cue.start));
            let to = *places().max()?;
            let owner = self.question.named.iter().filter(|n| n.possessive && n.end <= cue.start).map(|n| n.end).max();
            let from = owner.or_else(|| places().min().copied())?;
            // "my favourite Italian food": what stands between belongs to it.
            let role: Vec<&str> = self.question.words.get(from..=to)?.iter().map(|w| w.plain.as_str()).collect();
            let subject_owns =
                if relation.symmetric { !named(first.fact.object) || named(first.fact.subject) } else { cue.form == Form::Noun };
            (role.join(" "), subject_owns)
        } else if self.book.is_collective_name(&relation.name) && group.len() == 1 && mood(first) == Mood::Holds {
            let has_no_name = first.object.entity_type == EntityType::Person && first.object.name.starts_with(char::is_lowercase);
            if has_no_name {
                // "You have two kids".
                let kin = told(first)
                    .iter()
                    .find_map(|t| determined(&first.object.name, t))
                    .filter(|n| !n.starts_with("your "))
                    .unwrap_or_else(|| with_article(&first.object.name));
                let have = predicate("has", Mood::Holds, Person::of(&first.subject));
                return Some(format!("{} {have} {kin} {}", subject_phrase(first), page.cite_fact(first, &relation.phrase)));
            }
            let role = first.object.description.clone()?;
            let said = told(first).iter().any(|t| words(t).iter().any(|w| w.plain == role));
            if !said || !relation.cues.nouns.contains(&role) {
                return None;
            }
            (role, true)
        } else {
            return None;
        };
        let sides =
            |f: &'_ RankedFact| if subject_owns { (f.subject.clone(), f.object.clone()) } else { (f.object.clone(), f.subject.clone()) };
        let (whose, _) = sides(first);
        if group.iter().any(|f| sides(f).0.id != whose.id) {
            return None;
        }
        let mut parts = Vec::new();
        let mut person = Person::One;
        let mut unnamed = false;
        for f in group {
            let (_, thing) = sides(f);
            unnamed |= thing.entity_type == EntityType::Person && thing.name.starts_with(char::is_lowercase);
            person = if group.len() > 1 || Person::of(&thing) == Person::Many && !thing.is_viewer { Person::Many } else { Person::One };
            let until =
                f.fact.valid_to.filter(|_| mood(f) == Mood::Ended).map_or_else(String::new, |end| format!(" (until {})", month(end)));
            let called = if thing.is_viewer { "you".to_owned() } else { noun_phrase(&thing, &whose, &told(f)) };
            parts.push((called, format!("{}{until}", page.cite_fact(f, &relation.phrase))));
        }
        if unnamed {
            // "Your sister is your sister" says nothing, but that there is one.
            let have = if whose.is_viewer { "you have".to_owned() } else { format!("{} has", name(&whose, first_other(first, &whose))) };
            let marks: Vec<&str> = parts.iter().map(|(_, mark)| mark.as_str()).collect();
            return Some(format!("{have} {}, but I was not told a name {}", with_article(&role), marks.join(" ")));
        }
        let be = if mood(first) == Mood::Ended { person.was() } else { person.is() };
        let whose = owner(&whose, first_other(first, &whose));
        let role = if parts.len() > 1 { plural(&role) } else { role };
        if let ([(called, mark)], true) = (parts.as_slice(), matches!(self.question.asks, Asks::Whether) || by_noun.is_none()) {
            let be = if called == "you" { "are" } else { be };
            return Some(format!("{called} {be} {whose} {role} {mark}"));
        }
        let parts: Vec<String> = parts.into_iter().map(|(called, mark)| format!("{called} {mark}")).collect();
        Some(format!("{whose} {role} {be} {}", list(&parts)))
    }

    /// Facts that cannot all hold. What has ended is told as such; what holds is weighed.
    fn rivalry(&self, first: &RankedFact, rivals: &[&RankedFact], page: &mut Page<'_>) -> Option<String> {
        let mut held: Vec<&RankedFact> = std::iter::once(first).chain(rivals.iter().copied()).collect();
        // Compared at one moment; with one half-life for all rivals any moment gives the same shares.
        let latest = held.iter().map(|f| f.fact.weighed_at).max()?;
        let weight = |f: &RankedFact| {
            let half_life = self.book.by_name(&f.fact.relation).map_or(365.0, |r| r.half_life_days);
            let days = (latest - f.fact.weighed_at).num_seconds() as f64 / 86_400.0;
            f.fact.support * (-days / half_life).exp2()
        };
        let (mut ended, mut active): (Vec<&RankedFact>, Vec<&RankedFact>) =
            held.drain(..).partition(|f| f.fact.status == FactStatus::Ended);
        active.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        ended.sort_by_key(|f| std::cmp::Reverse(f.fact.valid_to));
        let mut said = Vec::new();
        let total: f64 = active.iter().map(|f| weight(f)).sum();
        let share = |f: &RankedFact| (100.0 * weight(f) / total.max(f64::MIN_POSITIVE)).round();
        let even = active.first().zip(active.get(1)).is_some_and(|(a, b)| share(a) - share(b) < 10.0);
        for (i, f) in active.iter().enumerate() {
            let relation = self.book.by_name(&f.fact.relation)?;
            let mark = page.cite_fact(f, relation.phrase.as_str());
            let alone = self.clause(f, relation, &noun_phrase(&f.object, &f.subject, &told(f)), mood(f));
            said.push(match (active.len(), even, i) {
                (1, ..) => format!("{alone}{} {mark}", since(&f.fact, &ended)),
                (_, true, 0) => format!("I was told both that {alone} ({}%) {mark}", share(f)),
                (_, true, _) => format!("and that {alone} ({}%) {mark}", share(f)),
                (_, false, 0) => format!("most likely {alone} ({}%) {mark}", share(f)),
                (_, false, _) => format!("less likely {alone} ({}%) {mark}", share(f)),
            });
        }
        let mut text = said.join(if even { " " } else { "; " });
        for f in ended {
            let relation = self.book.by_name(&f.fact.relation)?;
            let mark = page.cite_fact(f, relation.phrase.as_str());
            let object = noun_phrase(&f.object, &f.subject, &told(f));
            if !text.is_empty() {
                text.push_str("; ");
            }
            text.push_str(&match (f.fact.valid_to, said.is_empty()) {
                (Some(end), false) => format!("until {} it was {object} {mark}", month(end)),
                (None, false) => format!("before that, it was {object} {mark}"),
                (Some(end), true) => format!("{} until {} {mark}", self.clause(f, relation, &object, Mood::Was), month(end)),
                (None, true) => format!("{} {mark}", self.clause(f, relation, &object, Mood::Was)),
            });
            said.push(String::new());
        }
        Some(text)
    }

    /// "John likes Mary", "you live in Ghent"; by the question's own adjective where the relation says too little.
    fn clause(&self, f: &RankedFact, relation: &Relation, object: &str, mood: Mood) -> String {
        let adjective = self.found.cue.as_ref().filter(|c| c.form == Form::Verb && self.book.relation(c.relation).name == relation.name);
        let adjective = adjective.and_then(|c| {
            let phrase: Vec<&str> = c.places.iter().filter_map(|i| self.question.words.get(*i)).map(|w| w.plain.as_str()).collect();
            let told = self.book.is_collective_name(&relation.name) || told(f).iter().any(|t| words(t).iter().any(|w| w.stem == c.stem));
            let phrase = phrase.join(" ");
            (told && relation.cues.adjectives.contains(&phrase)).then(|| format!("is {phrase}"))
        });
        let phrase = adjective.as_deref().unwrap_or(&relation.phrase);
        format!("{} {} {object}", subject_phrase(f), predicate(phrase, mood, Person::of(&f.subject)))
    }

    /// How a fact is told for this question: what ended is told as past where the past was asked for.
    fn mood(&self, f: &RankedFact) -> Mood {
        let past = if self.question.asks == Asks::Whether { self.question.is_past } else { self.question.tense == Tense::Past };
        if mood(f) == Mood::Ended && past { Mood::Was } else { mood(f) }
    }

    fn are_rivals(&self, a: &RankedFact, b: &RankedFact) -> bool {
        let Some(relation) = self.book.by_name(&a.fact.relation) else { return false };
        let same_subject = a.fact.subject == b.fact.subject;
        let functional = relation.functional && a.fact.relation == b.fact.relation && same_subject && a.fact.object != b.fact.object;
        let opposite = relation.opposite.as_ref() == Some(&b.fact.relation) && same_subject && a.fact.object == b.fact.object;
        (functional && !is_denied(a) && !is_denied(b)) || (opposite && !is_denied(a) && !is_denied(b))
    }

    /// Whether two facts are told in one sentence: one side, relation and mood.
    fn belongs(&self, a: &RankedFact, b: &RankedFact) -> bool {
        let asked_subject = self.found.cue.is_some() && a.fact.object == b.fact.object && self.question.asks != Asks::Whether;
        // Each of the family is told as what they are: "Leo is your husband".
        let apart = self.found.cue.is_none() && self.book.is_collective_name(&a.fact.relation) && a.fact.id != b.fact.id;
        !apart && (a.fact.subject == b.fact.subject || asked_subject) && a.fact.relation == b.fact.relation && mood(a) == mood(b)
    }
}

fn first_other<'f>(f: &'f RankedFact, entity: &Entity) -> &'f Entity {
    if f.subject.id == entity.id { &f.object } else { &f.subject }
}

/// The subject, with "the" where it is a thing without a name.
fn subject_phrase(f: &RankedFact) -> String {
    if f.subject.is_viewer {
        return "you".to_owned();
    }
    let plain = name(&f.subject, &f.subject);
    let told = told(f);
    if f.subject.entity_type == EntityType::Person && f.subject.name.starts_with(char::is_lowercase) {
        // "My parents live in Bergamo".
        return told.iter().find_map(|t| determined(&f.subject.name, t)).unwrap_or(plain);
    }
    let common = f.subject.name.starts_with(char::is_lowercase) && f.subject.entity_type != EntityType::Person;
    if !common {
        return plain;
    }
    let phrase = noun_phrase(&f.subject, &f.object, &told);
    // "a server" that was told of is "the server" when it is spoken of again.
    match phrase.strip_prefix("a ").or_else(|| phrase.strip_prefix("an ")) {
        Some(rest) => format!("the {rest}"),
        None if phrase == plain && !super::sentence::is_plural(&plain) => format!("the {plain}"),
        None => phrase,
    }
}

/// Since when it holds, where that is known: what was before ended then.
fn since(fact: &Fact, ended: &[&RankedFact]) -> String {
    let begun = fact.valid_from.filter(|from| ended.iter().any(|e| e.fact.valid_to.is_some_and(|to| (to - *from).num_hours().abs() <= 24)));
    begun.map_or_else(String::new, |from| format!(" (since {})", month(from)))
}

fn told(f: &RankedFact) -> Vec<&str> {
    f.evidence.iter().filter(|e| e.stance != Stance::Opposes || f.fact.support == 0.0).map(|e| e.excerpt.as_str()).collect()
}

pub(super) fn mood(f: &RankedFact) -> Mood {
    match f.fact.status {
        FactStatus::Ended => Mood::Ended,
        _ if is_denied(f) => Mood::Denied,
        _ => Mood::Holds,
    }
}

/// The evidence that shows best why the fact is told the way it is.
fn best_evidence(f: &RankedFact) -> Option<&Evidence> {
    let wanted = match mood(f) {
        Mood::Holds | Mood::Was => Stance::Supports,
        Mood::Denied => Stance::Opposes,
        Mood::Ended => Stance::Ends,
    };
    let rank = |e: &&Evidence| (e.stance == wanted, e.span.is_some(), (e.confidence * 1000.0) as i64, e.created_at);
    f.evidence.iter().max_by_key(rank)
}

fn page_date(f: &RankedFact) -> Option<recall_domain::Timestamp> {
    best_evidence(f).map(|e| e.created_at).or(f.fact.valid_from)
}

/// The citations of one answer.
pub(super) struct Page<'a> {
    context: &'a Context,
    pub(super) citations: Vec<Citation>,
    facts: HashMap<(EntityId, String, EntityId), u32>,
}

impl<'a> Page<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        Self { context, citations: Vec::new(), facts: HashMap::new() }
    }

    pub(super) fn cite(&mut self, mut citation: Citation) -> String {
        citation.index = u32::try_from(self.citations.len() + 1).unwrap_or(u32::MAX);
        let mark = format!("[{}]", citation.index);
        self.citations.push(citation);
        mark
    }

    /// A mark for a fact, the same one if it was cited before.
    fn cite_fact(&mut self, f: &RankedFact, phrase: &str) -> String {
        let key = (f.fact.subject, f.fact.relation.clone(), f.fact.object);
        if let Some(index) = self.facts.get(&key) {
            return format!("[{index}]");
        }
        let evidence = best_evidence(f);
        let words = evidence.map(|e| e.excerpt.clone()).filter(|e| !e.as_str().is_empty());
        // Evidence without words of its own: the message's, if it is at hand; else the fact itself.
        let message = evidence.and_then(|e| self.context.messages.iter().find(|m| m.message.id == e.message));
        let excerpt = words
            .or_else(|| message.map(|m| m.message.text.clone()))
            .unwrap_or_else(|| UserText::from(format!("{} {phrase} {}", f.subject.name, f.object.name)));
        let mark =
            self.cite(Citation { index: 0, message_id: evidence.map(|e| e.message), fact_id: Some(f.fact.id), excerpt, shared: false });
        self.facts.insert(key, u32::try_from(self.citations.len()).unwrap_or(u32::MAX));
        mark
    }
}
