//! Writes the selected facts as sentences with citation marks.
//!
//! Facts that differ in one side share a sentence. Facts that contradict each other are stated with their shares.

use super::{
    answer_type::AnswerType,
    citations::CitationList,
    cues::{CueIndex, Form},
    endings::{Ending, ending, since, told_beginning},
    evidence::sentences_of,
    excerpts::shorten,
    facts::{FactAnswer, Verdict, holds, is_denied},
    grammar::{
        Mood, VerbNumber, capital, day, determined, is_plural, list, month, name, noun_phrase, owner, plural, predicate, with_article,
    },
    question::{Question, QuestionKind},
    words::words,
};
use recall_domain::{
    Entity, EntityId, EntityType, Evidence, Fact, FactStatus, Relation, Stance, Timestamp,
    belief::half_life,
    context::{RankedFact, RankedMessage},
};

/// Writes facts as sentences.
pub(super) struct FactWriter<'a> {
    pub(super) cue_index: &'a CueIndex,
    pub(super) question: &'a Question,
    pub(super) found: &'a FactAnswer<'a>,
    /// The messages found with the question. Evidence has only a part of their words.
    pub(super) messages: &'a [RankedMessage],
}

impl FactWriter<'_> {
    /// Returns the sentences for all selected facts.
    pub(super) fn write(&self, cited: &mut CitationList<'_>) -> Vec<String> {
        let mut left: Vec<&RankedFact> = self.found.facts.clone();
        let mut sentences = Vec::new();
        while let Some(first) = left.first().copied() {
            let rivals: Vec<&RankedFact> =
                left.iter().filter(|f| f.fact.id != first.fact.id && self.are_rivals(first, f)).copied().collect();
            // "No, you no longer live in Lyon. You live in Ghent.": the fact asked about comes first, alone.
            let (said, used) = if rivals.is_empty() || (self.found.verdict == Some(Verdict::No) && mood(first) == Mood::Ended) {
                let group: Vec<&RankedFact> = left.iter().filter(|f| self.shares_sentence(first, f)).copied().collect();
                (self.write_group(&group, cited), group)
            } else {
                (self.write_rivals(first, &rivals, cited), std::iter::once(first).chain(rivals).collect())
            };
            sentences.extend(said);
            left.retain(|f| !used.iter().any(|u| u.fact.id == f.fact.id));
        }
        // If both sides are stated, their shares are the answer.
        let verdict = self.found.verdict.filter(|_| !self.is_contested());
        if let (Some(verdict), Some(first)) = (verdict, sentences.first_mut()) {
            let word = match verdict {
                Verdict::Yes => "Yes",
                Verdict::No => "No",
            };
            *first = format!("{word}, {first}");
        } else if let (AnswerType::Count(_), Some(first), false) = (&self.question.answer_type, sentences.first_mut(), self.has_plural()) {
            *first = format!("I know of {}: {first}", self.found.facts.len());
        }
        sentences.iter().map(|s| format!("{}.", capital(s))).collect()
    }

    /// Whether facts that hold contradict each other.
    pub(super) fn is_contested(&self) -> bool {
        self.found.facts.iter().any(|a| self.found.facts.iter().any(|b| self.are_rivals(a, b) && holds(a) && holds(b)))
    }

    /// Whether an object is a plural. "Two rabbits" is one entity, so the number of facts is no count.
    fn has_plural(&self) -> bool {
        self.found.facts.iter().any(|f| is_plural(&f.object.name))
    }

    /// Writes facts that differ in one side: "John likes Mary [1], sushi [2] and hiking [3]".
    fn write_group(&self, group: &[&RankedFact], cited: &mut CitationList<'_>) -> Option<String> {
        let first = group.first()?;
        let relation = self.cue_index.relation_by_name(&first.fact.relation)?;
        if let Some(said) = self.write_names(group, relation, cited).or_else(|| self.write_by_role(group, relation, cited)) {
            return Some(said);
        }
        if self.found.cue.is_none() && self.cue_index.is_collective_name(&relation.name) && mood(first) == Mood::Ended {
            // The message describes the end better: "Rafael broke up with Mirela".
            if let Some(words) = self.words_of_end(first) {
                let at = match self.ending(first) {
                    Ending::Bound(end) => format!(" ({})", month(end)),
                    Ending::Told(_) | Ending::Unknown => String::new(),
                };
                return Some(format!("I was told: “{words}” {}{at}", cited.cite_fact(first, &relation.phrase)));
            }
        }
        // "Who manages Tom": several subjects of one object.
        let many_subjects = group.iter().any(|f| f.fact.subject != first.fact.subject);
        let when = |f: &RankedFact| match (self.question.kind, mood(f), f.fact.valid_to) {
            (_, Mood::Ended, Some(_)) => self.ending(f).until(),
            (QuestionKind::When, Mood::Holds, _) => {
                since(told_beginning(&f.fact)).or_else(|| evidence_date(f).map(|at| format!(" (told on {})", day(at)))).unwrap_or_default()
            }
            _ if f.fact.flagged => " (not certain)".to_owned(),
            _ => String::new(),
        };
        let mut parts = Vec::new();
        for f in group {
            let side = if many_subjects { subject_phrase(f) } else { self.object_phrase(f) };
            let mark = cited.cite_fact(f, relation.phrase.as_str());
            parts.push(format!("{side} {mark}{}", when(f)));
        }
        if many_subjects {
            return Some(format!(
                "{} {} {}",
                list(&parts),
                predicate(&phrase_of(first, relation), self.mood(first), VerbNumber::Plural),
                self.object_phrase(first)
            ));
        }
        Some(self.clause(first, relation, &list(&parts), self.mood(first)))
    }

    /// Writes facts by role, if the question or the evidence uses one: "Your sister is Maren [1]".
    fn write_by_role(&self, group: &[&RankedFact], relation: &Relation, cited: &mut CitationList<'_>) -> Option<String> {
        let first = group.first()?;
        let cue = self.found.cue.as_ref();
        let by_noun = cue.filter(|c| matches!(c.form, Form::Noun | Form::InverseNoun) && !matches!(mood(first), Mood::Denied));
        let named = |id: EntityId| self.question.named.iter().any(|n| n.entities.contains(&id));
        let (role, subject_owns) = if let Some(cue) = by_noun {
            let positions = || cue.positions.iter().chain(self.question.class.positions.iter().filter(|p| **p > cue.start));
            let to = *positions().max()?;
            let owner = self.question.named.iter().filter(|n| n.possessive && n.end <= cue.start).map(|n| n.end).max();
            let from = owner.or_else(|| positions().min().copied())?;
            // "my favourite Italian food": words in between belong to the role.
            let role: Vec<&str> = self.question.words.get(from..=to)?.iter().map(|w| w.plain.as_str()).collect();
            let subject_owns =
                if relation.symmetric { !named(first.fact.object) || named(first.fact.subject) } else { cue.form == Form::Noun };
            (role.join(" "), subject_owns)
        } else if cue.is_none()
            && let Some(said) = self.write_told_role(group, relation, cited)
        {
            return Some(said);
        } else if self.cue_index.is_collective_name(&relation.name) && group.len() == 1 && mood(first) != Mood::Ended {
            let has_no_name = first.object.entity_type == EntityType::Person && first.object.name.starts_with(char::is_lowercase);
            if has_no_name {
                // "You have two kids".
                let kin = excerpts(first)
                    .iter()
                    .find_map(|t| determined(&first.object.name, t))
                    .filter(|n| !n.starts_with("your "))
                    .unwrap_or_else(|| with_article(&first.object.name));
                let have = predicate("has", mood(first), VerbNumber::of(&first.subject));
                return Some(format!("{} {have} {kin} {}", subject_phrase(first), cited.cite_fact(first, &relation.phrase)));
            }
            let role = first.object.description.clone().filter(|_| mood(first) == Mood::Holds)?;
            let said =
                excerpts(first).iter().any(|t| t.to_lowercase().split(|c: char| !c.is_alphanumeric() && c != '-').any(|w| w == role));
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
        let mut number = VerbNumber::Singular;
        let mut unnamed = false;
        for f in group {
            let (_, thing) = sides(f);
            unnamed |= thing.entity_type == EntityType::Person && thing.name.starts_with(char::is_lowercase);
            number = if group.len() > 1 || VerbNumber::of(&thing) == VerbNumber::Plural && !thing.is_viewer {
                VerbNumber::Plural
            } else {
                VerbNumber::Singular
            };
            let until = if mood(f) == Mood::Ended { self.ending(f).until() } else { String::new() };
            let called = if thing.is_viewer { "you".to_owned() } else { noun_phrase(&thing, &whose, &excerpts(f)) };
            parts.push((called, format!("{}{until}", cited.cite_fact(f, &relation.phrase))));
        }
        if unnamed {
            // Without a name, only the existence can be stated.
            let have = if whose.is_viewer { "you have".to_owned() } else { format!("{} has", name(&whose, other_side(first, &whose))) };
            let marks: Vec<&str> = parts.iter().map(|(_, mark)| mark.as_str()).collect();
            return Some(format!("{have} {}, but I was not told a name {}", with_article(&role), marks.join(" ")));
        }
        // "Your hobbies are hiking".
        let number = if is_plural(&role) { VerbNumber::Plural } else { number };
        let be = if mood(first) == Mood::Ended { number.was() } else { number.is() };
        let whose = owner(&whose, other_side(first, &whose));
        let role = if parts.len() > 1 { plural(&role) } else { role };
        if let ([(called, mark)], true) = (parts.as_slice(), matches!(self.question.kind, QuestionKind::YesNo) || by_noun.is_none()) {
            let be = if called == "you" { "are" } else { be };
            return Some(format!("{called} {be} {whose} {role} {mark}"));
        }
        let parts: Vec<String> = parts.into_iter().map(|(called, mark)| format!("{called} {mark}")).collect();
        Some(format!("{whose} {role} {be} {}", list(&parts)))
    }

    /// Returns the words that tell the end of a fact: a clause, and never a bare name.
    fn words_of_end(&self, f: &RankedFact) -> Option<String> {
        let evidence = best_evidence(f)?;
        let is_clause = |text: &String| text.split_whitespace().count() >= 3;
        let excerpt = Some(evidence.excerpt.as_str().trim().to_owned()).filter(is_clause);
        excerpt.or_else(|| sentences_of(evidence, self.messages).into_iter().map(|s| shorten(&s)).find(is_clause))
    }

    /// Returns the start of a fact, if a fact before it ended at the same time.
    fn since(&self, fact: &Fact, ended: &[&RankedFact]) -> String {
        let is_end = |from: Timestamp, e: &&&RankedFact| e.fact.valid_to.is_some_and(|to| (to - from).num_hours().abs() <= 24);
        let before = fact.valid_from.and_then(|from| ended.iter().find(|e| is_end(from, e)));
        let begun = before.and_then(|e| match self.ending(e) {
            Ending::Bound(_) => fact.valid_from.map(month),
            told => told.words(),
        });
        since(told_beginning(fact).or(begun)).unwrap_or_default()
    }

    fn ending(&self, f: &RankedFact) -> Ending {
        ending(f, self.messages)
    }

    /// Returns what is told of a fact: the excerpts of its evidence, and the sentences that they come from.
    pub(super) fn told(&self, f: &RankedFact) -> Vec<String> {
        let sentences = f.evidence.iter().filter(|e| e.stance != Stance::Opposes || f.fact.support == 0.0);
        let sentences = sentences.flat_map(|e| sentences_of(e, self.messages));
        excerpts(f).into_iter().map(str::to_owned).chain(sentences).collect()
    }

    /// Returns the object of a fact with the article that its evidence has.
    fn object_phrase(&self, f: &RankedFact) -> String {
        let told = self.told(f);
        noun_phrase(&f.object, &f.subject, &told.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Writes facts that cannot all hold: active ones with their shares, then ended ones.
    fn write_rivals(&self, first: &RankedFact, rivals: &[&RankedFact], cited: &mut CitationList<'_>) -> Option<String> {
        let mut held: Vec<&RankedFact> = std::iter::once(first).chain(rivals.iter().copied()).collect();
        // All rivals have the same half-life, so any common moment gives the same shares.
        let latest = held.iter().map(|f| f.fact.weighed_at).max()?;
        let weight = |f: &RankedFact| f.fact.support_at(latest, half_life(self.cue_index.relation_by_name(&f.fact.relation)));
        let (mut ended, mut active): (Vec<&RankedFact>, Vec<&RankedFact>) =
            held.drain(..).partition(|f| f.fact.status == FactStatus::Ended);
        active.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        ended.sort_by_key(|f| std::cmp::Reverse(f.fact.valid_to));
        let mut said = Vec::new();
        let total: f64 = active.iter().map(|f| weight(f)).sum();
        let share = |f: &RankedFact| (100.0 * weight(f) / total.max(f64::MIN_POSITIVE)).round();
        let even = active.first().zip(active.get(1)).is_some_and(|(a, b)| share(a) - share(b) < 10.0);
        for (i, f) in active.iter().enumerate() {
            let relation = self.cue_index.relation_by_name(&f.fact.relation)?;
            let mark = cited.cite_fact(f, relation.phrase.as_str());
            let alone = self.clause(f, relation, &self.object_phrase(f), mood(f));
            said.push(match (active.len(), even, i) {
                (1, ..) => format!("{alone}{} {mark}", self.since(&f.fact, &ended)),
                (_, true, 0) => format!("I was told both that {alone} ({}%) {mark}", share(f)),
                (_, true, _) => format!("and that {alone} ({}%) {mark}", share(f)),
                (_, false, 0) => format!("most likely {alone} ({}%) {mark}", share(f)),
                (_, false, _) => format!("less likely {alone} ({}%) {mark}", share(f)),
            });
        }
        let mut text = said.join(if even { " " } else { "; " });
        for f in ended {
            let relation = self.cue_index.relation_by_name(&f.fact.relation)?;
            let mark = cited.cite_fact(f, relation.phrase.as_str());
            let object = self.object_phrase(f);
            if !text.is_empty() {
                text.push_str("; ");
            }
            text.push_str(&match (self.ending(f).words(), said.is_empty()) {
                (Some(end), false) => format!("until {end} it was {object} {mark}"),
                (None, false) => format!("before that, it was {object} {mark}"),
                (Some(end), true) => format!("{} until {end} {mark}", self.clause(f, relation, &object, Mood::Was)),
                (None, true) => format!("{} {mark}", self.clause(f, relation, &object, Mood::Was)),
            });
            said.push(String::new());
        }
        Some(text)
    }

    /// Writes one clause: "John likes Mary". Uses the adjective of the question if there is one: "John is fond of Mary".
    fn clause(&self, f: &RankedFact, relation: &Relation, object: &str, mood: Mood) -> String {
        let adjective =
            self.found.cue.as_ref().filter(|c| c.form == Form::Verb && self.cue_index.relation(c.relation).name == relation.name);
        let adjective = adjective.and_then(|c| {
            let phrase: Vec<&str> = c.positions.iter().filter_map(|i| self.question.words.get(*i)).map(|w| w.plain.as_str()).collect();
            let is_stated =
                self.cue_index.is_collective_name(&relation.name) || excerpts(f).iter().any(|t| words(t).iter().any(|w| w.stem == c.stem));
            let phrase = phrase.join(" ");
            (is_stated && relation.cues.adjectives.contains(&phrase)).then(|| format!("is {phrase}"))
        });
        let phrase = adjective.unwrap_or_else(|| phrase_of(f, relation));
        format!("{} {} {object}", subject_phrase(f), predicate(&phrase, mood, VerbNumber::of(&f.subject)))
    }

    /// Returns the mood of a fact for this question: an ended fact is in the past tense if the question is.
    fn mood(&self, f: &RankedFact) -> Mood {
        let past = if self.question.kind == QuestionKind::YesNo { self.question.is_past } else { self.question.is_about_past() };
        let is_over = mood(f) == Mood::Ended || (mood(f) == Mood::Holds && !self.question.successor.is_empty());
        if is_over && past { Mood::Was } else { mood(f) }
    }

    /// Whether two facts contradict each other.
    fn are_rivals(&self, a: &RankedFact, b: &RankedFact) -> bool {
        let Some(relation) = self.cue_index.relation_by_name(&a.fact.relation) else { return false };
        let same_subject = a.fact.subject == b.fact.subject;
        let functional = relation.functional && a.fact.relation == b.fact.relation && same_subject && a.fact.object != b.fact.object;
        let opposite = relation.opposite.as_ref() == Some(&b.fact.relation) && same_subject && a.fact.object == b.fact.object;
        (functional && !is_denied(a) && !is_denied(b)) || (opposite && !is_denied(a) && !is_denied(b))
    }

    /// Whether two facts share a sentence: the same side, relation and mood.
    fn shares_sentence(&self, a: &RankedFact, b: &RankedFact) -> bool {
        let asked_subject = self.found.cue.is_some() && a.fact.object == b.fact.object && self.question.kind != QuestionKind::YesNo;
        // Each member of a family has a sentence with the role: "Leo is your husband".
        let apart = self.found.cue.is_none() && self.cue_index.is_collective_name(&a.fact.relation) && a.fact.id != b.fact.id;
        !apart && (a.fact.subject == b.fact.subject || asked_subject) && a.fact.relation == b.fact.relation && mood(a) == mood(b)
    }
}

/// Returns the side of a fact that is not `entity`.
pub(super) fn other_side<'f>(f: &'f RankedFact, entity: &Entity) -> &'f Entity {
    if f.subject.id == entity.id { &f.object } else { &f.subject }
}

/// Returns the subject of a fact, with "the" for a common noun.
pub(super) fn subject_phrase(f: &RankedFact) -> String {
    if f.subject.is_viewer {
        return "you".to_owned();
    }
    let plain = name(&f.subject, &f.subject);
    let excerpts = excerpts(f);
    if f.subject.entity_type == EntityType::Person && f.subject.name.starts_with(char::is_lowercase) {
        // "My parents live in Bergamo".
        return excerpts.iter().find_map(|t| determined(&f.subject.name, t)).unwrap_or(plain);
    }
    let common = f.subject.name.starts_with(char::is_lowercase) && f.subject.entity_type != EntityType::Person;
    if !common {
        return plain;
    }
    let phrase = noun_phrase(&f.subject, &f.object, &excerpts);
    // "a server" in the evidence becomes "the server".
    match phrase.strip_prefix("a ").or_else(|| phrase.strip_prefix("an ")) {
        Some(rest) => format!("the {rest}"),
        None if phrase == plain && !is_plural(&plain) => format!("the {plain}"),
        None => phrase,
    }
}

/// Returns the phrase of the relation that fits the words of the evidence.
fn phrase_of(f: &RankedFact, relation: &Relation) -> String {
    let texts = excerpts(f);
    let is_origin = !texts.is_empty() && texts.iter().all(|text| relation.tells_origin(text));
    if let Some(phrase) = relation.origin_phrase.as_ref().filter(|_| is_origin) {
        return phrase.clone();
    }
    // "I teach at the School of Art": the name says nothing about what is done there.
    let name = words(&f.object.name);
    let said: Vec<_> = excerpts(f).into_iter().flat_map(words).filter(|w| !name.iter().any(|n| n.plain == w.plain)).collect();
    relation.phrase_for(said.iter().map(|w| w.plain.as_str())).to_owned()
}

/// Returns the possessive of the subject of a fact: "your", "your mum's", "Anna's".
pub(super) fn subject_owner(f: &RankedFact) -> String {
    if f.subject.is_viewer { "your".to_owned() } else { format!("{}'s", subject_phrase(f)) }
}

/// Returns the excerpts of the evidence, without opposing evidence if the fact has support.
fn excerpts(f: &RankedFact) -> Vec<&str> {
    f.evidence.iter().filter(|e| e.stance != Stance::Opposes || f.fact.support == 0.0).map(|e| e.excerpt.as_str()).collect()
}

/// Returns the mood that expresses the state of a fact.
pub(super) fn mood(f: &RankedFact) -> Mood {
    match f.fact.status {
        FactStatus::Ended => Mood::Ended,
        _ if is_denied(f) => Mood::Denied,
        _ => Mood::Holds,
    }
}

/// Returns the evidence that best supports the stated mood.
pub(super) fn best_evidence(f: &RankedFact) -> Option<&Evidence> {
    let wanted = match mood(f) {
        Mood::Holds | Mood::Was => Stance::Supports,
        Mood::Denied => Stance::Opposes,
        Mood::Ended => Stance::Ends,
    };
    let rank = |e: &&Evidence| (e.stance == wanted, e.span.is_some(), (e.confidence * 1000.0) as i64, e.created_at);
    f.evidence.iter().max_by_key(rank)
}

fn evidence_date(f: &RankedFact) -> Option<recall_domain::Timestamp> {
    best_evidence(f).map(|e| e.created_at).or(f.fact.valid_from)
}
