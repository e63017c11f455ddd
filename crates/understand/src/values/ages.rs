//! Ages and measures: "Leo is 7", "she turned 34", "our 7-year-old son", "Leo (7)", "he is 1.80 m tall".

use recall_domain::{CandidateValue, EntityType, FactValue, Polarity, ValueData, value::Decimal};

use super::parse::{digits, digits_of_word};
use super::{ValueFrame, ValueRelation};
use crate::clauses::Clause;
use crate::mentions::{WEAK, text_of};
use crate::reader::{Reader, Referent};
use crate::tokens::Pos;

/// Oldest age of a person or an animal without "years old".
const OLDEST: f64 = 115.0;

impl Reader<'_> {
    /// Reads "S is 7", "S is 7 years old", "S turned 7".
    pub(super) fn read_age(&mut self, relation: &ValueRelation, clause: &Clause, frame: &ValueFrame) {
        let g = &self.phrases.verbs[clause.verb];
        let lemma = g.lemma.as_str();
        // "Was 7" is an age of that time.
        if !matches!(lemma, "be" | "turn" | "become") || g.passive || (lemma == "be" && g.past) || frame.polarity != Polarity::Affirmed {
            return;
        }
        // "Turns 7 on Friday" is still to come.
        let is_perfect = self.tokens[g.start].lemma == "have" && g.main > g.start;
        if lemma != "be" && !g.past && !is_perfect && !self.tokens.iter().any(|t| t.is("today")) {
            return;
        }
        let mut at = g.end;
        while self.tokens.get(at).is_some_and(|t| {
            matches!(t.norm.as_str(), "now" | "only" | "just" | "already" | "almost" | "nearly" | "about" | "currently" | "actually")
        }) {
            // "Almost 7" is not 7.
            if matches!(self.tokens[at].norm.as_str(), "almost" | "nearly") {
                return;
            }
            at += 1;
        }
        let Some(number) = self.tokens.get(at).and_then(digits) else { return };
        let mut end = at + 1;
        let unit = self.tokens.get(end).and_then(|t| match t.norm.as_str() {
            "year" | "years" | "yrs" | "yr" | "yo" | "y/o" => Some("year"),
            "month" | "months" => Some("month"),
            "week" | "weeks" => Some("week"),
            _ => None,
        });
        let old = |e: usize| self.tokens.get(e).is_some_and(|t| t.is("old"));
        if let Some(unit) = unit {
            end += 1;
            let years = unit == "year" && matches!(self.tokens[end - 1].norm.as_str(), "yo" | "y/o");
            if !old(end) && !years {
                return;
            }
            end += usize::from(old(end));
            if self.ends_value(end) {
                self.add_age(relation, frame, &number, unit, end);
            }
            return;
        }
        let living = frame.subjects.iter().all(|s| match *s {
            Referent::Speaker => true,
            Referent::Entity(i, _) => {
                let (entity_type, strength) = self.registry.type_of(i);
                entity_type == EntityType::Person && strength >= WEAK || self.registry.traits[i].animal
            }
        });
        if living && is_age(&number) && self.ends_value(end) && !self.is_clock(end) {
            self.add_age(relation, frame, &number, "year", end);
        }
    }

    /// Whether what follows a bare number makes it something else than an age: "I am 2 in the queue", "7 on a scale".
    fn is_clock(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|t| t.pos == Pos::Adp && !matches!(t.norm.as_str(), "in" | "on" | "since" | "at" | "with"))
            || self.tokens.get(at).is_some_and(|t| {
                matches!(t.norm.as_str(), "on" | "at") && self.tokens.get(at + 1).is_some_and(|n| n.is("a") || n.is("the"))
            })
            || self
                .tokens
                .get(at)
                .is_some_and(|t| t.is("in") && self.tokens.get(at + 1).is_some_and(|n| matches!(n.norm.as_str(), "the" | "a" | "line")))
    }

    /// Reads "our 7-year-old son", "a 7 year old dog named Rex" and "my son Leo (7)".
    pub(super) fn read_age_adjectives(&mut self, relation: &ValueRelation) {
        if self.is_doubtful() {
            return;
        }
        for n in 0..self.phrases.nouns.len() {
            let np = &self.phrases.nouns[n];
            let Some(referent @ Referent::Entity(..)) = self.referents[n].filter(|_| !np.pronoun) else { continue };
            let inside = (np.start..np.end).find_map(|i| Some((self.age_word(i)?, np.end)));
            // A colour of a proper name: "Leo (7)", "my son Leo, 7, goes to Oakwood".
            let after = || {
                let person = self.type_of(referent).0 == EntityType::Person && self.type_of(referent).1 >= WEAK;
                let open = self.tokens.get(np.end).filter(|t| person && (t.is("(") || t.is(",")))?;
                let age = self.tokens.get(np.end + 1).filter(|t| t.pos == Pos::Num || Decimal::parse(&t.norm).is_some())?;
                let close = self.tokens.get(np.end + 2)?;
                let number = Decimal::parse(&age.norm).filter(is_age)?;
                let closed = open.is("(") && close.is(")") || open.is(",") && close.is(",");
                closed.then_some(((number, "year"), np.end + 3))
            };
            let Some(((number, unit), end)) = inside.or_else(after) else { continue };
            let frame = ValueFrame { subjects: vec![referent], polarity: Polarity::Affirmed, confidence: 0.9, start: np.start };
            self.add_age(relation, &frame, &number, unit, end);
        }
    }

    /// Returns the age of "7-year-old", in one token or several.
    fn age_word(&self, at: usize) -> Option<(Decimal, &'static str)> {
        let words: Vec<String> = self.tokens[at..(at + 5).min(self.tokens.len())].iter().map(|t| t.norm.clone()).collect();
        let joined = words.join("-").replace("---", "-").replace("--", "-");
        let (number, rest) = joined.split_once('-')?;
        let number = Decimal::parse(number).or_else(|| Decimal::parse(&digits_of_word(number)?))?;
        let unit = ["year", "month", "week"].into_iter().find(|u| rest.starts_with(&format!("{u}-old")))?;
        Some((number, unit))
    }

    fn add_age(&mut self, relation: &ValueRelation, frame: &ValueFrame, number: &Decimal, unit: &str, end: usize) {
        let text = match unit {
            "year" => number.as_str().to_owned(),
            unit if number.as_str() == "1" => format!("1 {unit}"),
            unit => format!("{} {unit}s", number.as_str()),
        };
        let value = FactValue::new(&text, ValueData::Number { number: number.clone(), unit: Some(unit.to_owned()) });
        self.add_value(relation, frame, &CandidateValue::Known(value), end);
    }

    /// Adds an age in years if the number can be one.
    pub(super) fn add_bare_age(&mut self, relation: &ValueRelation, frame: &ValueFrame, number: &Decimal, end: usize) {
        if is_age(number) {
            self.add_age(relation, frame, number, "year", end);
        }
    }

    /// Reads "S is 1.80 m tall".
    pub(super) fn read_measure(&mut self, relation: &ValueRelation, clause: &Clause, frame: &ValueFrame) {
        let g = &self.phrases.verbs[clause.verb];
        if g.lemma != "be" || g.passive {
            return;
        }
        let start =
            g.end + usize::from(self.tokens.get(g.end).is_some_and(|t| matches!(t.norm.as_str(), "about" | "around" | "only" | "just")));
        let Some(at) = (start + 1..(start + 5).min(self.tokens.len()))
            .find(|&i| matches!(self.tokens[i].norm.as_str(), "tall" | "long" | "wide" | "deep" | "high" | "heavy" | "large"))
        else {
            return;
        };
        let label = match self.tokens[at].norm.as_str() {
            "tall" | "high" => "height",
            "long" => "length",
            "wide" => "width",
            "deep" => "depth",
            "heavy" => "weight",
            _ => "size",
        };
        let Some(value) = FactValue::parse_number(&text_of(self.tokens, start, at)) else { return };
        let measured = matches!(&value.data, ValueData::Number { unit: Some(unit), .. } if !matches!(unit.as_str(), "hour" | "minute" | "day" | "week" | "year"));
        if measured && self.ends_value(at + 1) {
            self.add_value(relation, frame, &CandidateValue::Known(value.labelled(Some(label))), at + 1);
        }
    }
}

/// Whether a number without a unit can be an age in years.
fn is_age(number: &Decimal) -> bool {
    (1.0..=OLDEST).contains(&number.as_f64()) && !number.as_str().contains('.')
}
