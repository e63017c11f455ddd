//! What the rules read, as marks on the tokens.
//!
//! Each mark has a row in a table of embeddings, which is added to the embedding of the token. The training uses the same code, see
//! `examples/prepare.rs` in the root, so the numbers here and the rows of the table change together.

use recall_domain::{EntityType, Extraction, MessageKind, Party, Polarity, Span};

use crate::tokens::{Case, Token};

/// The types of entities, in the order of the network.
pub const TYPES: [EntityType; 8] = [
    EntityType::Person,
    EntityType::Organization,
    EntityType::Place,
    EntityType::Project,
    EntityType::Tool,
    EntityType::Concept,
    EntityType::Event,
    EntityType::Thing,
];

/// The kinds of messages, in the order of the network.
pub const KINDS: [MessageKind; 4] = [MessageKind::Statement, MessageKind::Question, MessageKind::Mixed, MessageKind::Other];

/// The polarities of facts, in the order of the network.
pub const POLARITIES: [Polarity; 3] = [Polarity::Affirmed, Polarity::Negated, Polarity::Ended];

/// The relations that the network knows, in its order.
pub const RELATIONS: [&str; 17] = [
    "LIKES",
    "DISLIKES",
    "PREFERS",
    "KNOWS",
    "FAMILY_OF",
    "WORKS_WITH",
    "WORKS_FOR",
    "WORKS_ON",
    "MANAGES",
    "LIVES_IN",
    "LOCATED_IN",
    "VISITED",
    "PART_OF",
    "USES",
    "DEPENDS_ON",
    "DECIDED",
    "OWNS",
];

const CAPITAL: usize = 0;
const UPPER: usize = 1;
const OPENS: usize = 2;
const MENTION_BEGINS: usize = 3;
const MENTION_CONTINUES: usize = MENTION_BEGINS + TYPES.len();
const SUBJECT: usize = MENTION_CONTINUES + TYPES.len();
const OBJECT: usize = SUBJECT + RELATIONS.len();
const POLARITY: usize = OBJECT + RELATIONS.len();
const KIND: usize = POLARITY + POLARITIES.len();
const SURE: usize = KIND + KINDS.len();
/// Number of different marks.
pub const MARKS: usize = SURE + 1;
/// Confidence from which a mention of the rules has a type that a word list or the text itself gives.
pub(crate) const SURE_TYPE: f64 = 0.9;

/// Returns the place of a value in one of the lists above.
pub(crate) fn place<T: PartialEq>(list: &[T], value: &T) -> Option<usize> {
    list.iter().position(|v| v == value)
}

/// Returns the numbers of the marks of each token.
pub fn marks(tokens: &[Token], rules: &Extraction) -> Vec<Vec<u8>> {
    let mut marks: Vec<Vec<u8>> = tokens.iter().map(|_| Vec::new()).collect();
    let mut set = |token: usize, mark: usize| {
        if let (Some(list), Ok(mark)) = (marks.get_mut(token), u8::try_from(mark))
            && !list.contains(&mark)
        {
            list.push(mark);
        }
    };
    for (i, token) in tokens.iter().enumerate().skip(1) {
        match token.case {
            Case::Lower => {}
            Case::Capital => set(i, CAPITAL),
            Case::Upper => set(i, UPPER),
        }
        if token.opens {
            set(i, OPENS);
        }
    }
    if let Some(kind) = place(&KINDS, &rules.kind) {
        set(0, KIND + kind);
    }
    for mention in &rules.mentions {
        let (Some((first, end)), Some(ty)) = (covered(tokens, mention.span), place(&TYPES, &mention.entity_type)) else { continue };
        set(first, MENTION_BEGINS + ty);
        if mention.confidence >= SURE_TYPE {
            set(first, SURE);
        }
        for token in first + 1..end {
            set(token, MENTION_CONTINUES + ty);
        }
    }
    for fact in &rules.facts {
        let Some(relation) = RELATIONS.iter().position(|r| *r == fact.relation) else { continue };
        let Some(polarity) = place(&POLARITIES, &fact.polarity) else { continue };
        for (party, base) in [(fact.subject, SUBJECT), (fact.object, OBJECT)] {
            let Some((first, end)) = party_tokens(tokens, rules, party) else { continue };
            for token in first..end {
                set(token, base + relation);
                if base == OBJECT {
                    set(token, POLARITY + polarity);
                }
            }
        }
    }
    marks
}

/// Returns the tokens of a party: the first one for the speaker.
pub(crate) fn party_tokens(tokens: &[Token], rules: &Extraction, party: Party) -> Option<(usize, usize)> {
    match party {
        Party::Speaker => Some((0, 1)),
        Party::Mention(i) => covered(tokens, rules.mentions.get(i)?.span),
    }
}

/// Returns the tokens whose words overlap a span: the first, and one past the last. `None` if there are none.
pub fn covered(tokens: &[Token], span: Span) -> Option<(usize, usize)> {
    let overlaps = |t: &Token| t.span.start < span.end && span.start < t.span.end;
    let first = tokens.iter().position(overlaps)?;
    let last = tokens.iter().rposition(overlaps)?;
    Some((first, last + 1))
}
/// Whether a party of the rules is a pronoun in the text, for somebody or something that an earlier message names.
pub(crate) fn is_pronoun(text: &str, rules: &Extraction, party: Party) -> bool {
    const PRONOUNS: [&str; 13] = ["he", "she", "they", "it", "him", "her", "them", "his", "their", "its", "there", "this", "that"];
    let Party::Mention(i) = party else { return false };
    let Some(span) = rules.mentions.get(i).map(|m| m.span) else { return false };
    let words: String = text.chars().skip(span.start as usize).take((span.end - span.start) as usize).collect();
    PRONOUNS.contains(&words.to_lowercase().as_str())
}
