//! Reads which messages and documents a search or an answer may use.

use async_graphql::ID;

use super::{model::SearchSource, page::MAX_PAGE, scope::read_id};
use crate::error::ApiError;
use recall_domain::{
    context::SearchSources,
    document::{MAX_COLLECTION_BYTES, is_collection_name},
};
use recall_usecases::UseCaseError;

/// Reads the arguments `sources`, `collections` and `documentIds` of an input.
pub(crate) fn read_sources(
    sources: Option<Vec<SearchSource>>,
    collections: Option<Vec<String>>,
    document_ids: Option<Vec<ID>>,
) -> Result<SearchSources, ApiError> {
    let (documents, collections) = (document_ids.unwrap_or_default(), collections.unwrap_or_default());
    reject_many(documents.len().max(collections.len()), "input.documentIds")?;
    collections.iter().try_for_each(|name| check_collection(name, "input.collections"))?;
    let documents = documents.iter().map(|id| read_id(id, "input.documentIds")).collect::<Result<_, _>>()?;
    let of = sources.unwrap_or_default().into_iter().map(Into::into).collect();
    Ok(SearchSources { of, collections, documents })
}

/// Refuses more documents or collections than a search takes.
pub(crate) fn reject_many(count: usize, path: &str) -> Result<(), ApiError> {
    if count <= MAX_PAGE as usize {
        return Ok(());
    }
    let message = format!("Too many documents or collections are named. Name at most {MAX_PAGE} of each.");
    Err(ApiError::invalid("TOO_MANY_DOCUMENTS", message, path))
}

/// Refuses what no collection can be named. `path` names the argument.
pub(crate) fn check_collection(name: &str, path: &str) -> Result<(), ApiError> {
    if is_collection_name(name) {
        return Ok(());
    }
    let message = format!("The name of a collection has letters, digits, hyphens and underscores, at most {MAX_COLLECTION_BYTES} bytes.");
    Err(ApiError::invalid("COLLECTION_NAME", message, path))
}

/// Names the argument of a document that is not known. An unknown session is named elsewhere.
pub(crate) fn at_document(error: UseCaseError, path: &str) -> ApiError {
    let is_document = matches!(error, UseCaseError::NotFound { noun: "document" });
    let error = ApiError::from(error);
    if is_document { error.at(path) } else { error }
}
