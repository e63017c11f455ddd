//! The OpenAPI description of the HTTP endpoints other than GraphQL: the content of `openapi.json`.
//!
//! Each handler describes itself. The parts that all operations share are added here.

use std::sync::LazyLock;

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use utoipa::{
    OpenApi,
    openapi::{
        Content, OpenApi as Document, PathItem, Ref, RefOr, ResponseBuilder,
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

use crate::{error::Problem, event_stream, export, operations, rest, whip};

/// What clients read before they look for an operation.
const DESCRIPTION: &str = "A self-hosted memory server for chat applications. GraphQL at `POST /graphql` offers more; schema.graphql \
    describes it. Without a login the server accepts requests of its own machine, and no token is needed.";

#[derive(OpenApi)]
#[openapi(
    info(title = "Relevantic Recall", description = DESCRIPTION, license(name = "Apache-2.0", identifier = "Apache-2.0")),
    paths(
        describe,
        export::get,
        event_stream::events,
        event_stream::memory_events,
        whip::options,
        whip::post,
        whip::patch,
        whip::delete,
        operations::healthz,
        operations::readyz,
        operations::metrics,
    ),
    components(schemas(Problem)),
    tags(
        (name = "messages", description = "Conversations and their messages."),
        (name = "memory", description = "What is known, and what is relevant to a question."),
        (name = "documents", description = "Files, their chunks and their progress."),
        (name = "events", description = "Changes, as they happen."),
        (name = "operations", description = "For operators and monitoring."),
    )
)]
struct Description;

/// Returns the description as JSON.
pub fn openapi() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let mut document = Description::openapi().merge_from(rest::Description::openapi());
        add_common_parts(&mut document);
        let mut text = document.to_pretty_json().unwrap_or_default();
        text.push('\n');
        text
    });
    &TEXT
}

/// Adds the security scheme, and to every operation the form of its errors.
fn add_common_parts(document: &mut Document) {
    let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer);
    let token = token.description(Some("An access token of the login provider, a personal access token, or the server's static token."));
    document.components.get_or_insert_default().add_security_scheme("token", SecurityScheme::Http(token.build()));
    let problem = Content::new(Some(RefOr::Ref(Ref::from_schema_name("Problem"))));
    let refused = ResponseBuilder::new().description("The request is refused or has failed.").content("application/problem+json", problem);
    let refused = refused.build();
    for item in document.paths.paths.values_mut() {
        let PathItem { get, post, options, patch, delete, .. } = item;
        for operation in [get, post, options, patch, delete].into_iter().flatten() {
            operation.responses.responses.insert("default".to_owned(), RefOr::T(refused.clone()));
        }
    }
}

/// Returns this description.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "describe", tag = "operations", security(()),
    responses((status = 200, description = "The description of the HTTP endpoints, in OpenAPI 3.1.", body = Object))
)]
pub(crate) async fn describe() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], openapi()).into_response()
}
