//! Collects the citations of an answer, with their marks.

use std::collections::HashMap;

use super::phrasing::best_evidence;
use recall_domain::{
    Citation, EntityId, FactValue, UserText,
    context::{Context, RankedFact},
};

/// The citations of one answer.
pub(super) struct CitationList<'a> {
    pub(super) context: &'a Context,
    pub(super) citations: Vec<Citation>,
    facts: HashMap<(EntityId, String, EntityId, Option<String>), u32>,
}

impl<'a> CitationList<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        Self { context, citations: Vec::new(), facts: HashMap::new() }
    }

    pub(super) fn cite(&mut self, mut citation: Citation) -> String {
        citation.index = u32::try_from(self.citations.len() + 1).unwrap_or(u32::MAX);
        let mark = format!("[{}]", citation.index);
        self.citations.push(citation);
        mark
    }

    /// Returns the mark of a fact, which is the same for repeated citations.
    pub(super) fn cite_fact(&mut self, f: &RankedFact, phrase: &str) -> String {
        let key = (f.fact.subject, f.fact.relation.clone(), f.fact.object, f.fact.value.as_ref().map(FactValue::key));
        if let Some(index) = self.facts.get(&key) {
            return format!("[{index}]");
        }
        let evidence = best_evidence(f);
        let words = evidence.map(|e| e.excerpt.clone()).filter(|e| !e.as_str().is_empty());
        // Without an excerpt, the citation shows the message if the context has it, else the fact.
        let message = evidence.and_then(|e| self.context.messages.iter().find(|m| m.message.id == e.message));
        let excerpt = words
            .or_else(|| message.map(|m| m.message.text.clone()))
            .unwrap_or_else(|| UserText::from(format!("{} {phrase} {}", f.subject.name, f.object_name())));
        let mark = self.cite(Citation {
            index: 0,
            message_id: evidence.map(|e| e.message),
            fact_id: Some(f.fact.id),
            chunk: None,
            excerpt,
            shared: false,
        });
        self.facts.insert(key, u32::try_from(self.citations.len()).unwrap_or(u32::MAX));
        mark
    }
}
