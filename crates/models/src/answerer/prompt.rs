//! Selects and numbers the found items for the prompt, as many as fit.
//!
//! Items without evidence for an answer cost tokens and distract the model: earlier questions, earlier answers of this server, weak hits,
//! and facts that share only the user with a question about something else.

use std::collections::HashSet;

use serde_json::{Value, json};

use recall_domain::{
    Citation, DatedMoment, EntityId, Evidence, FactStatus, MessageKind, Ontology, Stance, Timestamp,
    context::{Context, RankedChunk, RankedFact, RankedMessage},
};
use recall_ports::Asked;

/// Most bytes of one message in the prompt. A message also takes at most one part in `SHARE` of the prompt, so that a
/// long message leaves room for others.
const MAX_MESSAGE: usize = 1_600;
const SHARE: usize = 4;
/// Most bytes of a message in a citation.
const MAX_EXCERPT: usize = 300;

/// Most messages, and most facts.
const MAX_MESSAGES: usize = 12;
const MAX_FACTS: usize = 20;
const MAX_CHUNKS: usize = 12;
/// Least score of a message, as a share of the best score.
const MIN_SHARE: f64 = 0.75;

/// The items of the prompt, numbered from 1.
pub(super) struct Items {
    shown: Vec<Value>,
    citations: Vec<Citation>,
}

impl Items {
    /// Selects the best items up to `room` bytes. Facts and messages have comparable scores, 0 to 1.
    pub(super) fn of(context: &Context, ontology: &Ontology, room: usize) -> Self {
        let facts = best(relevant_facts(context).map(|f| (f.score, Found::Fact(f))), MAX_FACTS);
        let messages = best(relevant_messages(context).map(|m| (m.score, Found::Message(m))), MAX_MESSAGES);
        let chunks = best(context.chunks.iter().map(|c| (c.score, Found::Chunk(c))), MAX_CHUNKS);
        let found = best(facts.into_iter().chain(messages).chain(chunks), MAX_FACTS + MAX_MESSAGES + MAX_CHUNKS);
        let (mut shown, mut citations, mut used) = (Vec::new(), Vec::new(), 0);
        for (_, item) in found {
            let n = shown.len() + 1;
            let (value, citation) = match item {
                Found::Fact(f) => fact(n, f, ontology),
                Found::Chunk(c) => chunk(n, c, MAX_MESSAGE.min(room / SHARE)),
                Found::Message(m) => message(n, m, MAX_MESSAGE.min(room / SHARE)),
            };
            let size = value.to_string().len();
            // A smaller item with a lower score may still fit.
            if used + size <= room {
                used += size;
                shown.push(value);
                citations.push(citation);
            }
        }
        Self { shown, citations }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.shown.len()
    }

    /// What number `n` points to.
    pub(super) fn citation(&self, n: usize) -> Option<Citation> {
        self.citations.get(n.checked_sub(1)?).cloned()
    }

    /// Question and items as JSON: whatever people wrote stays inside its quotes.
    pub(super) fn shown(&self, asked: &Asked) -> String {
        let mut shown = json!({ "question": asked.text.as_str(), "today": day(asked.at), "items": self.shown });
        if let Some(original) = &asked.original {
            shown["original"] = json!(original.as_str());
        }
        shown.to_string()
    }
}

/// Returns the items with the best scores, best first.
fn best<'a>(items: impl Iterator<Item = (f64, Found<'a>)>, most: usize) -> Vec<(f64, Found<'a>)> {
    let mut items: Vec<_> = items.collect();
    items.sort_by(|a, b| b.0.total_cmp(&a.0));
    items.truncate(most);
    items
}

/// Returns the messages that can be evidence.
fn relevant_messages(context: &Context) -> impl Iterator<Item = &RankedMessage> {
    let can_state = |m: &&RankedMessage| m.message.kind != Some(MessageKind::Question) && m.message.answer_to.is_none();
    let least = context.messages.iter().filter(can_state).map(|m| m.score).fold(0.0, f64::max) * MIN_SHARE;
    context.messages.iter().filter(can_state).filter(move |m| m.score >= least)
}

/// Returns the facts that can be evidence.
///
/// If the question asks for certain facts, a fact about the user is left out if nothing else in the question concerns it.
fn relevant_facts(context: &Context) -> impl Iterator<Item = &RankedFact> {
    let named: HashSet<EntityId> = context.entities.iter().filter(|e| !e.is_viewer).map(|e| e.id).collect();
    let facts = || context.facts.iter().filter(|f| f.fact.status != FactStatus::Retracted);
    let any_asked_for = facts().any(RankedFact::is_asked_for);
    facts().filter(move |f| !any_asked_for || f.is_asked_for() || named.contains(&f.fact.subject) || named.contains(&f.fact.object))
}

enum Found<'a> {
    Fact(&'a RankedFact),
    Message(&'a RankedMessage),
    Chunk(&'a RankedChunk),
}

fn fact(n: usize, f: &RankedFact, ontology: &Ontology) -> (Value, Citation) {
    let phrase = ontology.get(&f.fact.relation).map_or(f.fact.relation.as_str(), |r| r.phrase.as_str());
    let name = |e: &recall_domain::Entity| if e.is_viewer { "SPEAKER".to_owned() } else { e.name.clone() };
    let object = f.fact.value.as_ref().map_or_else(|| name(&f.object), |v| v.shown());
    let fact_lines = format!("{} {phrase} {object}", name(&f.subject));
    let (status, wanted) = match f.fact.status {
        FactStatus::Ended => ("ended", Stance::Ends),
        _ if f.fact.opposition > f.fact.support => ("denied", Stance::Opposes),
        _ => ("holds", Stance::Supports),
    };
    let rank = |e: &&Evidence| (e.stance == wanted, e.span.is_some(), e.created_at);
    let evidence = f.evidence.iter().max_by_key(rank);
    let words = evidence.map(|e| e.excerpt.clone()).filter(|e| !e.as_str().is_empty());
    let mut value = json!({ "n": n, "fact": fact_lines, "status": status, "belief": (f.fact.belief() * 100.0).round() / 100.0 });
    if let Some(fields) = value.as_object_mut() {
        // The date of a message is no date of the fact.
        let dated = |moment: Option<DatedMoment>, said: &str, bound: &str| {
            moment.map(|m| m.words().map_or_else(|| (bound.to_owned(), json!(day(m.at))), |words| (said.to_owned(), json!(words))))
        };
        fields.extend(dated(f.fact.began(), "since", "first_said_on"));
        fields.extend(dated(f.fact.ended(), "until", "ended_by"));
        fields.extend(evidence.map(|e| ("said_on".to_owned(), json!(day(e.created_at)))));
        fields.extend(words.iter().map(|w| ("words".to_owned(), json!(w.as_str()))));
        fields.extend(f.fact.flagged.then(|| ("unsure".to_owned(), json!(true))));
    }
    let excerpt = words.unwrap_or_else(|| fact_lines.into());
    (
        value,
        Citation {
            index: number(n),
            message_id: evidence.map(|e| e.message),
            fact_id: Some(f.fact.id),
            chunk: None,
            excerpt,
            shared: false,
        },
    )
}

fn message(n: usize, m: &RankedMessage, most: usize) -> (Value, Citation) {
    let text = m.message.text.as_str();
    let by = match (m.message.role, m.message.speaker.as_deref()) {
        (recall_domain::Role::Assistant, _) => "assistant",
        (recall_domain::Role::Document, _) => "document",
        (recall_domain::Role::User, Some(name)) => name,
        (recall_domain::Role::User, None) => "SPEAKER",
    };
    let value = json!({ "n": n, "message": truncate(text, most), "by": by, "on": day(m.message.sent_at) });
    let excerpt = truncate(text, MAX_EXCERPT).into();
    (value, Citation { index: number(n), message_id: Some(m.message.id), fact_id: None, chunk: None, excerpt, shared: false })
}

fn chunk(n: usize, c: &RankedChunk, most: usize) -> (Value, Citation) {
    let text = c.chunk.text.as_str();
    let mut value = json!({ "n": n, "document": c.document.filename.as_str(), "text": truncate(text, most) });
    if let Some(fields) = value.as_object_mut() {
        fields.extend(c.chunk.heading.iter().map(|heading| ("heading".to_owned(), json!(heading.as_str()))));
        fields.extend(c.chunk.pages.map(|pages| ("pages".to_owned(), json!([pages.first, pages.last]))));
    }
    let excerpt = c.chunk.without_headings(text).into();
    let mut citation = Citation { index: number(n), message_id: None, chunk: None, fact_id: None, excerpt, shared: false };
    citation.cite(c.cited());
    (value, citation)
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn day(at: Timestamp) -> String {
    at.format("%A, %-d %B %Y").to_string()
}

/// Returns the start of a text, cut between characters.
fn truncate(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use recall_domain::{Entity, EntityType, Fact, FactId, Message, MessageId, MessageStatus, Role, SaidPeriod, SessionId};
    use recall_understand::default_ontology;

    fn entity(n: u128, name: &str) -> Entity {
        Entity {
            id: EntityId(Uuid::from_u128(n)),
            name: name.to_owned(),
            entity_type: EntityType::Thing,
            aliases: Vec::new(),
            description: None,
            mention_count: 1,
            confidence: 1.0,
            is_viewer: n == 0,
            first_message: None,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn fact(subject: &Entity, relation: &str, object: &Entity, score: f64) -> RankedFact {
        let at = Timestamp::UNIX_EPOCH;
        let fact = Fact {
            id: FactId(Uuid::nil()),
            subject: subject.id,
            relation: relation.to_owned(),
            object: object.id,
            value: None,
            support: 1.0,
            opposition: 0.0,
            weighed_at: at,
            status: FactStatus::Active,
            flagged: relation == "KNOWS",
            valid_from: None,
            valid_to: None,
            said_period: SaidPeriod::default(),
            last_support: None,
            created_at: at,
            updated_at: at,
        };
        RankedFact { fact, subject: subject.clone(), object: object.clone(), evidence: Vec::new(), score, shared: false }
    }

    fn message(text: &str, kind: MessageKind, answer_to: Option<MessageId>, score: f64) -> RankedMessage {
        let message = Message {
            id: MessageId(Uuid::from_u128(u128::from(score.to_bits()))),
            session: SessionId(Uuid::nil()),
            position: 1,
            role: Role::User,
            speaker: None,
            text: text.into(),
            kind: Some(kind),
            status: MessageStatus::Processed,
            sent_at: Timestamp::UNIX_EPOCH,
            created_at: Timestamp::UNIX_EPOCH,
            source_metadata: None,
            external_id: None,
            answer_to,
            citations: Vec::new(),
            nearest: Vec::new(),
            remembered: true,
        };
        RankedMessage { message, score, methods: Vec::new(), shared: false }
    }

    fn shown(context: &Context) -> Vec<String> {
        let ontology = Ontology::parse(default_ontology()).unwrap();
        let items = Items::of(context, &ontology, 100_000);
        items.shown.iter().map(|i| i["fact"].as_str().or(i["message"].as_str()).unwrap().to_owned()).collect()
    }

    #[test]
    fn facts_that_share_only_the_user_are_left_out() {
        let (user, lena, york, tea) = (entity(0, "You"), entity(1, "Lena"), entity(2, "York"), entity(3, "tea"));
        let other = [fact(&user, "LIKES", &tea, 0.43), fact(&lena, "LIKES", &tea, 0.43), fact(&user, "KNOWS", &lena, 0.43)];
        let entities = vec![user.clone(), lena.clone()];
        let asked = Context { facts: other.to_vec(), entities, ..Context::default() };
        assert_eq!(shown(&asked).len(), 3, "no fact is asked for");
        let facts = [vec![fact(&user, "LIVES_IN", &york, 0.78)], other.to_vec()].concat();
        let asked = Context { facts, ..asked };
        assert_eq!(shown(&asked), ["SPEAKER lives in York", "Lena likes tea", "SPEAKER knows Lena"]);
        let ontology = Ontology::parse(default_ontology()).unwrap();
        let unsure: Vec<bool> = Items::of(&asked, &ontology, 100_000).shown.iter().map(|i| i["unsure"] == true).collect();
        assert_eq!(unsure, [false, false, true]);
    }

    #[test]
    fn questions_own_answers_and_weak_hits_are_left_out() {
        use MessageKind::{Mixed, Question, Statement};
        let own = Some(MessageId(Uuid::nil()));
        let messages = vec![
            message("Where do I live?", Question, None, 0.9),
            message("You live in York.", Statement, own, 0.8),
            message("We live in York, or do we?", Mixed, None, 0.6),
            message("York is wet.", Statement, None, 0.46),
            message("I like tea.", Statement, None, 0.44),
        ];
        let context = Context { messages, ..Context::default() };
        assert_eq!(shown(&context), ["We live in York, or do we?", "York is wet."]);
    }
}
