//! Mutations. Each takes one `input`, calls one use case, and returns the result or typed `errors`.

mod access_tokens;
mod account_deletion;
mod comparisons;
mod documents;
mod entities;
mod facts;
mod forget;
mod messages;
mod sessions;
mod stream;
mod viewer;

use async_graphql::MergedObject;

/// The mutations of the API.
#[derive(MergedObject, Default)]
pub(crate) struct Mutation(
    sessions::SessionMutations,
    messages::MessageMutations,
    documents::DocumentMutations,
    comparisons::ComparisonMutations,
    facts::FactMutations,
    forget::ForgetMutations,
    entities::EntityMutations,
    stream::StreamMutations,
    viewer::ViewerMutations,
    access_tokens::AccessTokenMutations,
    account_deletion::DeletionMutations,
);
