//! Reads the value at a token.

use recall_domain::{
    CandidateValue, FactValue, ValueData, ValueType, number_word,
    value::{ContactKind, Decimal, RelativeDate, SpokenDate, ValueDate},
};

use super::{Reading, ValueRelation};
use crate::lexicon::lexicon;
use crate::mentions::text_of;
use crate::phrases::ChunkKind;
use crate::reader::Reader;
use crate::tokens::{Pos, Token};

/// Most tokens of a number, an amount or a date.
const MAX_TOKENS: usize = 7;
/// Most characters of a contact.
const MAX_CONTACT: usize = 200;
/// Most values of one list.
const MAX_LIST: usize = 12;

/// Values in order, each with one past its last token.
pub(super) type Values = Vec<(CandidateValue, usize)>;

impl Reader<'_> {
    /// Returns the values of a relation at a token: one, or a list of words. `text` is the original message.
    pub(super) fn values_at(&mut self, relation: &ValueRelation, at: usize, text: &str) -> Values {
        let at = self.skip_fillers(at, relation);
        for value_type in &relation.types {
            let found = match value_type {
                ValueType::Text => return self.texts_at(relation, at),
                ValueType::Contact => self.contact_at(relation, at, text),
                ValueType::Date => self.date_at(relation, at),
                ValueType::Number => self.number_at(relation, at),
                ValueType::Money => self.longest(at, FactValue::parse_money).map(|(v, e)| (CandidateValue::Known(v), e)),
            };
            if let Some(found) = found {
                return vec![found];
            }
        }
        Vec::new()
    }

    /// Skips words that say how exact a value is, and prepositions of dates.
    fn skip_fillers(&self, mut at: usize, relation: &ValueRelation) -> usize {
        let date = relation.types.contains(&ValueType::Date);
        while let Some(t) = self.tokens.get(at) {
            let filler = matches!(
                t.norm.as_str(),
                "about"
                    | "around"
                    | "roughly"
                    | "approximately"
                    | "only"
                    | "just"
                    | "exactly"
                    | "now"
                    | "currently"
                    | "already"
                    | "actually"
                    | "still"
                    | ":"
            );
            let of_date = date && matches!(t.norm.as_str(), "on" | "by" | "at" | "in" | "before" | "back") && !self.is_in_phrase(at);
            if !filler && !of_date {
                break;
            }
            at += 1;
        }
        at
    }

    /// Whether "in" begins a date of its own: "in two weeks".
    fn is_in_phrase(&self, at: usize) -> bool {
        self.tokens[at].is("in") && self.longest(at, |words| SpokenDate::parse(words).map(|_| ())).is_some()
    }

    /// Parses the most tokens from `at` that are a value and end where a value may end.
    pub(super) fn longest<T>(&self, at: usize, parse: impl Fn(&str) -> Option<T>) -> Option<(T, usize)> {
        let most = MAX_TOKENS.min(self.tokens.len().saturating_sub(at));
        (1..=most).rev().find_map(|n| {
            let end = at + n;
            // A mark at the end belongs to the sentence.
            if self.tokens[end - 1].pos == Pos::Punct || !self.ends_value(end) {
                return None;
            }
            parse(&text_of(self.tokens, at, end)).map(|v| (v, end))
        })
    }

    /// Whether a value may end before this token.
    pub(super) fn ends_value(&self, at: usize) -> bool {
        let Some(t) = self.tokens.get(at) else { return true };
        let hyphen = t.is("-") && !t.space_before;
        let word = matches!(
            t.norm.as_str(),
            "now"
                | "already"
                | "today"
                | "yesterday"
                | "this"
                | "too"
                | "though"
                | "so"
                | "per"
                | "which"
                | "who"
                | "that"
                | "next"
                | "last"
                | "a"
                | "an"
                | "each"
                | "every"
                | "monthly"
                | "yearly"
                | "total"
        );
        !hyphen
            && !matches!(t.norm.as_str(), "%" | "/" | "of")
            && (matches!(t.pos, Pos::Punct | Pos::Cconj | Pos::Sconj | Pos::Break | Pos::Adp | Pos::Intj | Pos::Pron) || word)
    }

    fn date_at(&self, relation: &ValueRelation, at: usize) -> Option<(CandidateValue, usize)> {
        let (date, end) = self.longest(at, SpokenDate::parse)?;
        let words = text_of(self.tokens, at, end);
        let yearly = relation.reading == Some(Reading::Yearly);
        let value = match date {
            SpokenDate::Known(date) => CandidateValue::Known(FactValue::from(date)),
            SpokenDate::Relative(RelativeDate::DayOfYear { month, day }) if yearly => {
                CandidateValue::Known(FactValue::from(ValueDate::yearly(month, day)?))
            }
            // "My birthday is tomorrow" has no year, and "in March" no day.
            SpokenDate::Relative(_) if yearly => return None,
            SpokenDate::Relative(date) => CandidateValue::Relative { text: words.into(), date },
        };
        Some((value, end))
    }

    /// Returns a number with its unit.
    fn number_at(&self, relation: &ValueRelation, at: usize) -> Option<(CandidateValue, usize)> {
        let (mut value, end) = self.longest(at, |words| {
            FactValue::parse_number(words).or_else(|| {
                let (first, rest) = words.split_once(' ').unwrap_or((words, ""));
                FactValue::parse_number(format!("{} {rest}", digits_of_word(first)?).trim_end())
            })
        })?;
        if let ValueData::Number { unit, .. } = &mut value.data {
            *unit = unit.take().or_else(|| relation.unit.clone());
        }
        Some((CandidateValue::Known(value), end))
    }

    /// Returns the contact of the kind that the relation has, from the original text.
    pub(super) fn contact_at(&self, relation: &ValueRelation, at: usize, text: &str) -> Option<(CandidateValue, usize)> {
        let kind = match relation.reading? {
            Reading::Email => ContactKind::Email,
            Reading::Phone => ContactKind::Phone,
            Reading::Url => ContactKind::Url,
            _ => return None,
        };
        let first = self.tokens.get(at)?;
        let rest = text.chars().skip(first.start as usize).take(MAX_CONTACT);
        let words: String = match kind {
            ContactKind::Phone => rest.take_while(|c| c.is_ascii_digit() || " -()/.+\u{a0}".contains(*c)).collect(),
            _ => rest.take_while(|c| !c.is_whitespace() && !matches!(c, '>' | ')' | ']' | '"')).collect(),
        };
        let value = FactValue::parse_contact(words.trim().trim_end_matches(['.', ',', ';', '!', '?', '-', '(', ')']))?;
        let length = value.text.as_str().chars().count();
        let last = first.start + u32::try_from(length).ok()?;
        let end = at + self.tokens[at..].iter().take_while(|t| t.start < last).count();
        matches!(value.data, ValueData::Contact { contact, .. } if contact == kind).then_some((CandidateValue::Known(value), end))
    }

    /// Returns the words of noun phrases that are values: "peanuts and shellfish".
    fn texts_at(&mut self, relation: &ValueRelation, at: usize) -> Values {
        if relation.reading == Some(Reading::Version) {
            return self.version_at(at).into_iter().collect();
        }
        let mut values = Values::new();
        let mut next = self.chunk_at(at);
        while let Some(c) = next.filter(|_| values.len() < MAX_LIST) {
            let Some(chunk) = self.phrases.chunks.get(c).copied() else { break };
            let found = match chunk.kind {
                ChunkKind::Noun(n) => self.text_of_phrase(relation, n),
                // The tagger takes a language or "shellfish" for an adjective.
                ChunkKind::Adjective | ChunkKind::Other => self.listed_word(relation, chunk.start, chunk.end),
                _ => None,
            };
            let Some((text, end)) = found else { break };
            let value = FactValue::of_text(&text);
            if !value.is_valid() {
                break;
            }
            values.push((CandidateValue::Known(value), end));
            let joins = |c: usize| self.phrases.chunks.get(c).is_some_and(|x| matches!(x.kind, ChunkKind::Conj | ChunkKind::Comma));
            let mut after = c + 1;
            while joins(after) && after < c + 3 {
                after += 1;
            }
            // "peanuts, and I live in Leeds": a verb begins a new clause.
            let clause = self.phrases.chunks.get(after + 1).is_some_and(|x| matches!(x.kind, ChunkKind::Verb(_)));
            next = (after > c + 1 && !clause).then_some(after);
        }
        values
    }

    /// Returns the words of a noun phrase, if they can be a value of the relation. What one is allergic to is also a mention.
    fn text_of_phrase(&mut self, relation: &ValueRelation, n: usize) -> Option<(String, usize)> {
        let np = &self.phrases.nouns[n];
        if np.pronoun || np.opaque {
            return None;
        }
        let core = np.core.min(np.head);
        let text = text_of(self.tokens, core, np.head + 1);
        let end = np.head + 1;
        match relation.reading {
            Some(Reading::Language) => return self.listed_word(relation, core, end),
            Some(Reading::Occupation) => return self.job_of_phrase(n).map(|job| (job, end)),
            Some(Reading::Allergy) => {
                let head = &self.tokens[np.head].norm;
                // "Allergic to Mondays" is a joke.
                let vague = lexicon().in_set("vague", head) || lexicon().in_set("time", head) || np.proper_name.is_some();
                if vague {
                    return None;
                }
                if let Some(crate::reader::Referent::Entity(i, _)) = self.referents[n] {
                    self.registry.kept[i] = true;
                }
            }
            _ => {}
        }
        Some((text, end))
    }

    /// Returns the last of these words if it is in the list of the relation.
    fn listed_word(&self, relation: &ValueRelation, start: usize, end: usize) -> Option<(String, usize)> {
        let list = match relation.reading {
            Some(Reading::Language) => "tongues",
            Some(Reading::Allergy) => "allergens",
            _ => return None,
        };
        (start..end).find_map(|s| {
            let words: Vec<&str> = self.tokens[s..end].iter().map(|t| t.norm.as_str()).collect();
            lexicon().in_set(list, &words.join(" ")).then(|| (text_of(self.tokens, s, end), end))
        })
    }

    /// Returns a version: "2.3.1", "v16".
    pub(super) fn version_at(&self, at: usize) -> Option<(CandidateValue, usize)> {
        let end = (at + 1..=(at + 5).min(self.tokens.len())).rev().find(|&e| {
            let joined = self.tokens[at + 1..e].iter().all(|t| !t.space_before);
            joined && self.ends_value(e) && is_version(&text_of(self.tokens, at, e))
        })?;
        let text = text_of(self.tokens, at, end);
        let number = text.trim_start_matches(['v', 'V']).to_owned();
        Some((CandidateValue::Known(FactValue::of_text(&number)), end))
    }
}

fn is_version(text: &str) -> bool {
    let bare = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let mut parts = bare.split('.');
    bare.starts_with(|c: char| c.is_ascii_digit())
        && parts.clone().count() <= 4
        && parts.all(|p| {
            !p.is_empty() && p.len() <= 8 && p.chars().all(|c| c.is_ascii_alphanumeric()) && p.starts_with(|c: char| c.is_ascii_digit())
        })
}

/// Returns the digits of a number in words up to ninety-nine.
pub(super) fn digits_of_word(word: &str) -> Option<String> {
    number_word(word).map(|n| n.to_string())
}

/// Returns the digits of a number token.
pub(super) fn digits(token: &Token) -> Option<Decimal> {
    Decimal::parse(&token.norm).or_else(|| Decimal::parse(&digits_of_word(&token.norm)?))
}
