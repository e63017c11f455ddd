//! Which sessions a search looks at: conversations, and documents. Sessions have numbers, in the order of their first rows.

use recall_domain::DocumentId;
use recall_ports::{IndexSources, IndexedDocuments};

/// Which sessions of an index store documents.
#[derive(Debug, Default)]
pub(super) struct DocumentSessions {
    /// By number of session.
    stores_document: Vec<bool>,
    is_used: bool,
}

impl DocumentSessions {
    /// Records a session, unless it is known.
    pub(super) fn note(&mut self, session: u32, stores_document: bool) {
        if self.stores_document.len() <= session as usize {
            self.stores_document.push(stores_document);
            self.is_used |= stores_document;
        }
    }

    /// Whether a session stores a document.
    pub(super) fn contains(&self, session: u32) -> bool {
        self.stores_document.get(session as usize).copied().unwrap_or_default()
    }

    /// Returns which sessions to search, by number; `None` if all. `number` finds the number of a document's session.
    pub(super) fn allowed(&self, sources: &IndexSources, number: impl Fn(DocumentId) -> Option<u32>) -> Option<Vec<bool>> {
        if sources.are_all() || (!self.is_used && sources.messages) {
            return None;
        }
        let all = matches!(sources.documents, IndexedDocuments::AllBut(_));
        let by_kind = |document: &bool| if *document { all } else { sources.messages };
        let mut allowed: Vec<bool> = self.stores_document.iter().map(by_kind).collect();
        let (named, is_allowed) = match &sources.documents {
            IndexedDocuments::None => (&[][..], false),
            IndexedDocuments::AllBut(documents) => (documents.as_slice(), false),
            IndexedDocuments::Only(documents) => (documents.as_slice(), true),
        };
        for number in named.iter().filter_map(|document| number(*document)).filter(|number| self.contains(*number)) {
            if let Some(allowed) = allowed.get_mut(number as usize) {
                *allowed = is_allowed;
            }
        }
        Some(allowed)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn sources_select_sessions() {
        let mut sessions = DocumentSessions::default();
        for (number, document) in [(0, false), (1, true), (1, true), (2, true), (3, false)] {
            sessions.note(number, document);
        }
        // The id of a document is its number here.
        let number = |id: DocumentId| u32::try_from(id.0.as_u128()).ok();
        let some = |ids: &[u128]| ids.iter().map(|id| DocumentId(Uuid::from_u128(*id))).collect::<Vec<_>>();
        let allowed = |messages, documents| sessions.allowed(&IndexSources { messages, documents }, number);
        assert_eq!(allowed(true, IndexedDocuments::AllBut(Vec::new())), None);
        assert_eq!(allowed(true, IndexedDocuments::None), Some(vec![true, false, false, true]));
        assert_eq!(allowed(false, IndexedDocuments::AllBut(some(&[2]))), Some(vec![false, true, false, false]));
        // A conversation and an unknown session are no documents.
        assert_eq!(allowed(false, IndexedDocuments::Only(some(&[2, 0, 9]))), Some(vec![false, false, true, false]));
        assert_eq!(allowed(true, IndexedDocuments::Only(some(&[1]))), Some(vec![true, true, false, true]));
        assert_eq!(DocumentSessions::default().allowed(&IndexSources { messages: true, documents: IndexedDocuments::None }, number), None);
    }
}
