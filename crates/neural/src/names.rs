//! Collects the mentions of an extraction.

use recall_domain::{CandidateFact, EntityType, Extraction, Mention, MessageKind, NameStatement, Party, PossibleEnd, Span};

use crate::marks::TYPES;
use crate::reading::{Range, SPEAKER, Tagged, span_of};
use crate::tokens::Token;

/// Confidence of a mention that no rule found.
const MENTION_CONFIDENCE: f64 = 0.8;

/// Codes of currencies, which are no names.
const CURRENCIES: &[&str] =
    &["EUR", "USD", "GBP", "CHF", "JPY", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "CAD", "AUD", "NZD", "CNY", "INR"];

/// Whether a part of the text can be a name that no rule knows: a code such as "E2", a currency, or a question word is none.
pub(crate) fn is_name(text: &str, span: Span) -> bool {
    let name: String = text.chars().skip(span.start as usize).take((span.end - span.start) as usize).collect();
    name.chars().filter(|c| c.is_alphabetic()).count() > 1
        && !CURRENCIES.contains(&name.as_str())
        && !matches!(name.as_str(), "Who" | "What" | "Which" | "Where" | "When" | "Why" | "How")
}

/// Collects mentions, one for each name.
pub(crate) struct Names<'a> {
    pub(crate) text: &'a str,
    pub(crate) tokens: &'a [Token],
    pub(crate) rules: &'a Extraction,
    pub(crate) of_rules: &'a [Option<Range>],
    pub(crate) tagged: &'a [Tagged],
    pub(crate) mentions: Vec<Mention>,
}

impl Names<'_> {
    /// Returns the party at a place, and adds its mention.
    pub(crate) fn party(&mut self, range: Range) -> Party {
        if range == SPEAKER {
            return Party::Speaker;
        }
        if let Some(i) = self.of_rules.iter().position(|r| *r == Some(range)) {
            return self.party_of_rules(Party::Mention(i));
        }
        let span = span_of(self.tokens, range);
        let name: String = self.text.chars().skip(span.start as usize).take((span.end - span.start) as usize).collect();
        if let Some(i) = self.namesake_at(&name, span) {
            return self.party_of_rules(Party::Mention(i));
        }
        self.add(Mention {
            name,
            entity_type: self.type_of(range).unwrap_or(EntityType::Thing),
            span,
            confidence: MENTION_CONFIDENCE,
            description: None,
        })
    }

    /// Returns a party of the rules among the mentions of the result.
    pub(crate) fn party_of_rules(&mut self, party: Party) -> Party {
        let Party::Mention(i) = party else { return Party::Speaker };
        let mention = self.rules.mentions[i].clone();
        let entity_type = self.of_rules[i].and_then(|range| self.type_of(range)).unwrap_or(mention.entity_type);
        self.add(Mention { entity_type, ..mention })
    }

    /// Returns an end of the rules, for the mentions of the result.
    pub(crate) fn end_of_rules(&mut self, end: &PossibleEnd) -> PossibleEnd {
        let object = end.object.map(|o| self.party_of_rules(o));
        PossibleEnd { subject: self.party_of_rules(end.subject), object, ..end.clone() }
    }

    /// Returns a statement of the rules about a name, for the mentions of the result.
    pub(crate) fn statement_of_rules(&mut self, statement: NameStatement) -> Option<NameStatement> {
        let of = self.party_of_rules(statement.of);
        match self.party_of_rules(Party::Mention(statement.name)) {
            Party::Mention(name) if of != Party::Mention(name) => Some(NameStatement { name, of, ..statement }),
            _ => None,
        }
    }

    /// Returns the type that the network gives to an entity.
    fn type_of(&self, range: Range) -> Option<EntityType> {
        self.tagged.iter().find(|t| t.range == range).map(|t| TYPES[t.entity_type])
    }

    /// Returns who of several people with this name the rules mean at a place: the last one named before it.
    fn namesake_at(&self, name: &str, span: Span) -> Option<usize> {
        let namesakes = self.namesakes(name);
        if namesakes.len() < 2 {
            return None;
        }
        let start = |i: &usize| self.rules.mentions[*i].span.start;
        namesakes.iter().copied().filter(|i| start(i) <= span.start).max_by_key(start).or(namesakes.first().copied())
    }

    /// Returns the mentions of the rules with a name. The rules have two only if two people share it.
    fn namesakes(&self, name: &str) -> Vec<usize> {
        let key = name.to_lowercase();
        (0..self.rules.mentions.len()).filter(|&i| self.rules.mentions[i].name.to_lowercase() == key).collect()
    }

    fn add(&mut self, mention: Mention) -> Party {
        let key = mention.name.to_lowercase();
        let is_shared = self.namesakes(&mention.name).len() > 1;
        let found = self.mentions.iter().position(|m| m.name.to_lowercase() == key && (!is_shared || m.span == mention.span));
        Party::Mention(found.unwrap_or_else(|| {
            self.mentions.push(mention);
            self.mentions.len() - 1
        }))
    }

    /// Puts mentions and facts in the order of the text.
    pub(crate) fn finish(
        self,
        kind: MessageKind,
        mut facts: Vec<CandidateFact>,
        possible_ends: Vec<PossibleEnd>,
        names: Vec<NameStatement>,
    ) -> Extraction {
        let mut order: Vec<usize> = (0..self.mentions.len()).collect();
        order.sort_by_key(|&i| self.mentions[i].span.start);
        let mut position = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            position[old] = new;
        }
        let moved = |party| match party {
            Party::Mention(i) => Party::Mention(position[i]),
            Party::Speaker => Party::Speaker,
        };
        for fact in &mut facts {
            (fact.subject, fact.object) = (moved(fact.subject), moved(fact.object));
        }
        let possible_ends = possible_ends.iter().filter_map(|e| e.moved(|party| Some(moved(party)))).collect();
        let names = names.into_iter().filter_map(|n| n.moved(|party| Some(moved(party)))).collect();
        facts.sort_by_key(|f| f.span.start);
        let mut mentions: Vec<Option<Mention>> = self.mentions.into_iter().map(Some).collect();
        Extraction { kind, mentions: order.into_iter().filter_map(|i| mentions[i].take()).collect(), facts, possible_ends, names }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_currencies_and_question_words_are_no_names() {
        for (name, expected) in [("Mia", true), ("WHO", true), ("E2", false), ("H", false), ("/", false), ("SEK", false), ("Who", false)] {
            assert_eq!(is_name(name, Span { start: 0, end: name.len() as u32 }), expected, "{name}");
        }
    }
}
