//! Documents that the operator has named: clients send an id instead of the text, and a server may run nothing else. What a client
//! sends is never remembered.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use async_graphql::{Request, Value, Variables};
use axum::http::StatusCode;
use ring::digest::{SHA256, digest};

use super::document::{self, DocumentLimits};
use crate::error::ApiError;

/// What the bundled pages send; made by `scripts/generate`.
const BUNDLED: &str = include_str!("../../../../web-demo/documents.json");
/// The extension that names a document, as Apollo's clients write it.
const EXTENSION: &str = "persistedQuery";

/// Why a list of documents cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DocumentsError {
    /// Not an object of ids and texts.
    #[error("is no JSON object of ids and documents: {0}")]
    Shape(#[from] serde_json::Error),
    /// A document that could never run.
    #[error("the document {id} cannot be run: {problem}")]
    Document {
        /// As in the list.
        id: String,
        /// What the parser said.
        problem: String,
    },
}

/// Documents by id, and by the SHA-256 of their text, which also tells a listed text: an id may look like the hash of another one.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    texts: HashMap<String, Arc<str>>,
    listed: HashSet<String>,
    is_closed: bool,
}

impl Documents {
    /// The documents of a list in JSON, `{"id": "query …"}`, besides those of the bundled pages. When `is_closed`, nothing else is
    /// run.
    ///
    /// # Errors
    /// When it is no such list, or a document cannot be parsed.
    pub fn of(list: Option<&str>, is_closed: bool) -> Result<Self, DocumentsError> {
        let mut documents = Self { is_closed, ..Self::default() };
        for list in [Some(BUNDLED), list].into_iter().flatten() {
            for (id, text) in serde_json::from_str::<HashMap<String, String>>(list)? {
                if let Err(error) = document::admit(&text, &Variables::default(), &DocumentLimits::default()) {
                    return Err(DocumentsError::Document { id, problem: error.message().to_owned() });
                }
                let text: Arc<str> = text.into();
                documents.listed.insert(hash(&text));
                documents.texts.entry(hash(&text)).or_insert_with(|| text.clone());
                documents.texts.insert(id, text);
            }
        }
        Ok(documents)
    }

    /// Puts the text in the place of an id.
    ///
    /// # Errors
    /// `PERSISTED_QUERY_NOT_FOUND` for an unknown id, `DOCUMENT_NOT_LISTED` for a text that the operator has not named where
    /// only such texts are run.
    pub(super) fn resolve(&self, request: &mut Request) -> Result<(), ApiError> {
        if request.query.is_empty()
            && let Some(id) = named(request)
        {
            let text = self.texts.get(id.strip_prefix("sha256:").unwrap_or(id));
            request.query = text.ok_or_else(unknown)?.to_string();
            return Ok(());
        }
        if self.is_closed && !self.listed.contains(&hash(&request.query)) {
            let message = "This server runs only documents that its operator has listed.";
            return Err(ApiError::refused(StatusCode::FORBIDDEN, "DOCUMENT_NOT_LISTED", message));
        }
        Ok(())
    }
}

/// Names a document in a request.
pub(super) fn name(request: &mut Request, id: String) {
    let named = [(async_graphql::Name::new("sha256Hash"), Value::String(id))];
    request.extensions.0.insert(EXTENSION.to_owned(), Value::Object(named.into_iter().collect()));
}

/// The id of the document that is meant, if one is.
pub(super) fn named(request: &Request) -> Option<&str> {
    let Some(Value::Object(extension)) = request.extensions.0.get(EXTENSION) else { return None };
    match extension.get("sha256Hash") {
        Some(Value::String(id)) => Some(id),
        _ => None,
    }
}

fn unknown() -> ApiError {
    let message = "PersistedQueryNotFound: this server knows no document of that id. Send its text, or have the operator list it.";
    ApiError::refused(StatusCode::NOT_FOUND, "PERSISTED_QUERY_NOT_FOUND", message)
}

fn hash(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn resolved(documents: &Documents, query: &str, id: Option<&str>) -> Result<String, &'static str> {
        let mut request = Request::new(query);
        if let Some(id) = id {
            name(&mut request, id.to_owned());
        }
        documents.resolve(&mut request).map(|()| request.query).map_err(|e| e.code())
    }

    #[test]
    fn ids_and_hashes_stand_for_texts_and_nothing_else_does() {
        let text = "{ viewer { id } }";
        let open = Documents::of(Some(&format!(r#"{{"who": "{text}"}}"#)), false).unwrap();
        let by_hash = format!("sha256:{}", hash(text));
        for id in ["who", &hash(text), &by_hash] {
            assert_eq!(resolved(&open, "", Some(id)).unwrap(), text, "{id}");
        }
        assert_eq!(resolved(&open, "", Some("other")), Err("PERSISTED_QUERY_NOT_FOUND"));
        assert_eq!(resolved(&open, "{ relations { name } }", None).unwrap(), "{ relations { name } }");
        // A text that comes with an id is not remembered under it.
        assert_eq!(resolved(&open, "{ relations { name } }", Some("new")).unwrap(), "{ relations { name } }");
        assert_eq!(resolved(&open, "", Some("new")), Err("PERSISTED_QUERY_NOT_FOUND"));
    }

    #[test]
    fn a_closed_server_runs_what_is_listed_and_what_its_own_pages_send() {
        let closed = Documents::of(Some(r#"{"who": "{ viewer { id } }"}"#), true).unwrap();
        assert!(resolved(&closed, "{ viewer { id } }", None).is_ok());
        assert!(resolved(&closed, "", Some("who")).is_ok());
        for other in ["{ viewer { id} }", "{ viewer { id } } ", "{ relations { name } }", ""] {
            assert_eq!(resolved(&closed, other, Some("who")).err(), (!other.is_empty()).then_some("DOCUMENT_NOT_LISTED"), "{other}");
        }
        let lying = Documents::of(Some(&format!(r#"{{"{}": "{{ viewer {{ id }} }}"}}"#, hash("{ relations { name } }"))), true).unwrap();
        assert_eq!(resolved(&lying, "{ relations { name } }", None), Err("DOCUMENT_NOT_LISTED"), "an id is no text");
        let bundled: HashMap<String, String> = serde_json::from_str(BUNDLED).unwrap();
        assert!(bundled.len() > 10);
        for (id, text) in bundled {
            assert_eq!(id, hash(&text));
            assert!(resolved(&closed, &text, None).is_ok());
        }
    }

    #[test]
    fn a_list_that_cannot_be_used_says_why() {
        for (list, expected) in [("[]", "no JSON object"), (r#"{"a": 1}"#, "no JSON object"), (r#"{"broken": "{ viewer {"}"#, "broken")] {
            assert!(Documents::of(Some(list), true).unwrap_err().to_string().contains(expected), "{list}");
        }
    }
}
