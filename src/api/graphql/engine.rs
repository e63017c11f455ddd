//! Runs operations: every transport hands its requests here, and here every limit applies. Documents are checked before
//! they are parsed, an operation has a time limit, and every error leaves with a stable code.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_graphql::{
    Data, ErrorExtensionValues, Executor, Request, Response, Schema, ServerError,
    parser::types::{ExecutableDocument, OperationType},
};
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};

use super::{
    batch::Batches,
    cost::Cost,
    document,
    documents::Documents,
    model::{AuditEntryNode, EntityNode, EvidenceNode, FactNode, MessageNode, SessionNode},
    mutation::Mutation,
    page::Connection,
    query::Query,
    scope::Scope,
    subscription::Subscription,
};
use crate::{
    api::{
        IceServers, Limits, RateLimit,
        audit::Auditor,
        auth::{AuthError, Identity},
        error::ApiError,
        rate::CallerLimits,
    },
    conversation::Conversation,
    ports::GraphQueries,
    streaming::EventHub,
};

/// The schema of the API.
pub(crate) type ApiSchema = Schema<Query, Mutation, Subscription>;

/// What operations on event streams need.
pub(crate) struct Streams {
    pub(crate) hub: Arc<EventHub>,
    pub(crate) signaling: Arc<crate::api::Signaling>,
    pub(crate) ice_servers: IceServers,
}

/// Whose tokens are accepted.
pub(crate) struct Issuers(pub(crate) Vec<String>);

/// What stands behind the fields, besides the use cases.
pub(crate) struct Behind {
    pub(crate) graph: Arc<dyn GraphQueries>,
    pub(crate) streams: Streams,
    pub(crate) issuers: Issuers,
    pub(crate) auditor: Auditor,
}

/// The schema with its limits.
pub(crate) fn schema(limits: &Limits) -> async_graphql::SchemaBuilder<Query, Mutation, Subscription> {
    Schema::build(Query::default(), Mutation::default(), Subscription)
        .limit_depth(limits.query_depth)
        .limit_complexity(limits.query_complexity)
        .limit_directives(8)
        .limit_recursive_depth(48)
        .override_output_type_description::<Connection<SessionNode>>("A page of sessions.")
        .override_output_type_description::<Connection<MessageNode>>("A page of messages.")
        .override_output_type_description::<Connection<EntityNode>>("A page of entities.")
        .override_output_type_description::<Connection<FactNode>>("A page of facts.")
        .override_output_type_description::<Connection<EvidenceNode>>("A page of evidence.")
        .override_output_type_description::<Connection<AuditEntryNode>>("A page of the audit log.")
}

/// Runs operations on behalf of callers.
#[derive(Clone)]
pub(crate) struct Engine {
    schema: ApiSchema,
    conversation: Conversation,
    limits: Arc<Limits>,
    limiter: Arc<CallerLimits>,
    documents: Arc<Documents>,
}

/// What may be run.
#[derive(Clone, Debug)]
pub struct Admission {
    /// Whether clients may ask for the schema, and are told of names like those that they got wrong.
    pub introspection: bool,
    /// Documents that have an id.
    pub documents: Arc<Documents>,
}

impl Default for Admission {
    fn default() -> Self {
        Self { introspection: true, documents: Arc::default() }
    }
}

impl Engine {
    pub(crate) fn new(
        conversation: Conversation,
        behind: Behind,
        limits: Arc<Limits>,
        limiter: Arc<CallerLimits>,
        admission: Admission,
    ) -> Self {
        let mut schema = schema(&limits)
            .data(behind.streams)
            .data(behind.issuers)
            .data(behind.auditor)
            .data(behind.graph)
            .data(limiter.clone())
            .extension(Cost { limit: limits.query_complexity });
        if !admission.introspection {
            schema = schema.disable_introspection().disable_suggestions();
        }
        Self { schema: schema.finish(), conversation, limits, limiter, documents: admission.documents }
    }

    /// How fast frames of one WebSocket are read.
    pub(super) fn websocket_frames(&self) -> Option<RateLimit> {
        self.limits.websocket_frames
    }

    /// An executor for one caller, which runs at most `concurrent` operations at once.
    pub(crate) fn on_behalf_of(&self, identity: Identity, concurrent: usize) -> Operations {
        self.on_behalf_of_whom(Arc::new(OnceLock::from(identity)), concurrent)
    }

    /// As [`Self::on_behalf_of`], for a caller who may become known later; until then nothing runs.
    pub(crate) fn on_behalf_of_whom(&self, identity: Arc<OnceLock<Identity>>, concurrent: usize) -> Operations {
        Operations { engine: self.clone(), identity, concurrent, running: Arc::default() }
    }

    fn prepare(&self, identity: Option<&Identity>, mut request: Request) -> Result<(Request, Batches, Option<OperationType>), ApiError> {
        let identity = identity.ok_or(AuthError::Missing)?;
        // A connection outlives its token by a moment.
        if identity.has_expired() {
            return Err(AuthError::Invalid.into());
        }
        self.documents.resolve(&mut request)?;
        let document = document::parse(&request.query, &self.limits.document)?;
        let kind = operation_type(&document, request.operation_name.as_deref());
        request.set_parsed_query(document);
        let scope = Scope::new(identity.clone(), self.conversation.clone());
        let batches = scope.batches.clone();
        Ok((request.data(scope), batches, kind))
    }
}

fn operation_type(document: &ExecutableDocument, name: Option<&str>) -> Option<OperationType> {
    let wanted = |n: Option<&str>| name.is_none() || n == name;
    document.operations.iter().find(|(n, _)| wanted(n.map(|n| n.as_str()))).map(|(_, o)| o.node.ty)
}

/// Operations of one caller over one connection.
#[derive(Clone)]
pub(crate) struct Operations {
    engine: Engine,
    identity: Arc<OnceLock<Identity>>,
    concurrent: usize,
    running: Arc<AtomicUsize>,
}

/// Counts an operation as running until dropped.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Operations {
    fn start(&self) -> Option<Running> {
        let before = self.running.fetch_add(1, Ordering::AcqRel);
        let running = Running(self.running.clone());
        (before < self.concurrent).then_some(running)
    }
}

impl Operations {
    /// Runs a request that must only read.
    ///
    /// # Errors
    /// When it is another operation than a query.
    pub(crate) async fn query(&self, request: Request) -> Result<Response, ApiError> {
        let (request, batches, kind) = match self.engine.prepare(self.identity.get(), request) {
            Ok(prepared) => prepared,
            Err(error) => return Ok(refusal(error)),
        };
        if kind.is_some_and(|kind| kind != OperationType::Query) {
            let message = "Only queries are run by GET; send this by POST.";
            return Err(ApiError::refused(axum::http::StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message));
        }
        Ok(within(self.engine.limits.operation_timeout, batches.drive(self.engine.schema.execute(request))).await)
    }
}

impl Executor for Operations {
    async fn execute(&self, request: Request) -> Response {
        let (request, batches, kind) = match self.engine.prepare(self.identity.get(), request) {
            Ok(prepared) => prepared,
            Err(error) => return refusal(error),
        };
        if kind == Some(OperationType::Subscription) {
            let status = axum::http::StatusCode::BAD_REQUEST;
            return refusal(ApiError::refused(status, "SUBSCRIPTION_NEEDS_WEBSOCKET", "Subscriptions are served over `/graphql/ws`."));
        }
        within(self.engine.limits.operation_timeout, batches.drive(self.engine.schema.execute(request))).await
    }

    fn execute_stream(&self, request: Request, session_data: Option<Arc<Data>>) -> BoxStream<'static, Response> {
        let one = |error| stream::once(async move { refusal(error) }).boxed();
        let Some(running) = self.start() else {
            let status = axum::http::StatusCode::TOO_MANY_REQUESTS;
            let message = format!("A connection runs at most {} operations at once.", self.concurrent);
            return one(ApiError::refused(status, "TOO_MANY_OPERATIONS", message));
        };
        // A request over HTTP has been counted as such; what comes over a connection is counted here.
        let (this, limiter) = (self.clone(), self.engine.limiter.clone());
        let begin = async move {
            let counted = match this.identity.get() {
                Some(identity) => limiter.request(identity.caller).await,
                None => Ok(()),
            };
            match counted {
                Ok(()) => this.respond(request, session_data),
                Err(error) => stream::once(async move { refusal(error) }).boxed(),
            }
        };
        stream::once(begin)
            .flatten()
            .map(move |response| {
                let _held = &running;
                response
            })
            .boxed()
    }
}

impl Operations {
    /// What comes of an operation that may run.
    fn respond(&self, request: Request, session_data: Option<Arc<Data>>) -> BoxStream<'static, Response> {
        let one = |error| stream::once(async move { refusal(error) }).boxed();
        let (request, batches, kind) = match self.engine.prepare(self.identity.get(), request) {
            Ok(prepared) => prepared,
            Err(error) => return one(error),
        };
        if kind != Some(OperationType::Subscription) {
            let (engine, identity) = (self.engine.clone(), self.identity.clone());
            let run = async move {
                let operation = async {
                    let _turn = match identity.get() {
                        Some(identity) => engine.limiter.turn(identity.caller).await,
                        None => None,
                    };
                    batches.drive(engine.schema.execute(request)).await
                };
                within(engine.limits.operation_timeout, operation).await
            };
            return stream::once(run).boxed();
        }
        let responses = match session_data {
            Some(data) => self.engine.schema.execute_stream_with_session_data(request, data).boxed(),
            None => self.engine.schema.execute_stream(request).boxed(),
        };
        batches.drive_stream(responses).map(coded).boxed()
    }
}

async fn within(limit: Duration, operation: impl Future<Output = Response>) -> Response {
    match tokio::time::timeout(limit, operation).await {
        Ok(response) => coded(response),
        Err(_) => refusal(ApiError::timeout()),
    }
}

/// A response that says only why nothing was run.
pub(super) fn refusal(error: ApiError) -> Response {
    Response::from_errors(vec![async_graphql::Error::from(error).into_server_error(Default::default())])
}

/// Gives each error that has no code yet the one of the stage in which it arose. Resolvers always set their own.
fn coded(mut response: Response) -> Response {
    for error in &mut response.errors {
        if error.extensions.as_ref().is_none_or(|e| e.get("code").is_none()) {
            let code = stage(error);
            error.extensions.get_or_insert_with(ErrorExtensionValues::default).set("code", code);
        }
    }
    response
}

fn stage(error: &ServerError) -> &'static str {
    match error.message.as_str() {
        "Query is too complex." => "QUERY_TOO_COMPLEX",
        "Query is nested too deep." => "QUERY_TOO_DEEP",
        // An argument that does not fit its type; everything else with a path comes from a resolver.
        _ if !error.path.is_empty() => "INVALID_ARGUMENT",
        _ => "GRAPHQL_VALIDATION_FAILED",
    }
}
