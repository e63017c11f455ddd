//! Numbers the found items for the prompt, as many as fit.

use serde_json::{Value, json};

use recall_domain::{
    Citation, Evidence, FactStatus, Ontology, Stance, Timestamp,
    context::{Context, RankedChunk, RankedFact, RankedMessage},
};
use recall_ports::Asked;

/// Most bytes of one message in the prompt. A message also takes at most one part in `SHARE` of the prompt, so that a
/// long message leaves room for others.
const MAX_MESSAGE: usize = 1_600;
const SHARE: usize = 4;
/// Most bytes of a message in a citation.
const MAX_EXCERPT: usize = 300;

/// The items of the prompt, numbered from 1.
pub(super) struct Items {
    shown: Vec<Value>,
    citations: Vec<Citation>,
}

impl Items {
    /// Selects the best items up to `room` bytes. Facts and messages have comparable scores, 0 to 1.
    pub(super) fn of(context: &Context, ontology: &Ontology, room: usize) -> Self {
        let facts = context.facts.iter().filter(|f| f.fact.status != FactStatus::Retracted).map(|f| (f.score, Found::Fact(f)));
        let messages = context.messages.iter().map(|m| (m.score, Found::Message(m)));
        let chunks = context.chunks.iter().map(|c| (c.score, Found::Chunk(c)));
        let mut found: Vec<(f64, Found<'_>)> = facts.chain(messages).chain(chunks).collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
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
        json!({ "question": asked.text.as_str(), "today": day(asked.at), "items": self.shown }).to_string()
    }
}

enum Found<'a> {
    Fact(&'a RankedFact),
    Message(&'a RankedMessage),
    Chunk(&'a RankedChunk),
}

fn fact(n: usize, f: &RankedFact, ontology: &Ontology) -> (Value, Citation) {
    let phrase = ontology.get(&f.fact.relation).map_or(f.fact.relation.as_str(), |r| r.phrase.as_str());
    let name = |e: &recall_domain::Entity| if e.is_viewer { "SPEAKER".to_owned() } else { e.name.clone() };
    let fact_lines = format!("{} {phrase} {}", name(&f.subject), name(&f.object));
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
        let dates = [("since", f.fact.valid_from), ("until", f.fact.valid_to), ("said_on", evidence.map(|e| e.created_at))];
        fields.extend(dates.into_iter().filter_map(|(k, at)| Some((k.to_owned(), json!(day(at?))))));
        fields.extend(words.iter().map(|w| ("words".to_owned(), json!(w.as_str()))));
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
    let mut citation = Citation { index: number(n), message_id: None, chunk: None, fact_id: None, excerpt: text.into(), shared: false };
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
