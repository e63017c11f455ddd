//! Runs operations: every transport hands its requests here, and here every limit applies. A document's work is bounded before
//! it is validated, an operation has a cost, a budget and a time limit, and every error leaves with a stable code.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use async_graphql::{
    Data, Executor, Request, Response, Schema,
    parser::types::{ExecutableDocument, OperationType},
};
use axum::http::StatusCode;
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};

use super::{
    answer::{self, refusal},
    budget::AnswerBudget,
    cost::Cost,
    cpu::CpuBound,
    document::{self, Admitted},
    documents::Documents,
    model::{AuditEntryNode, EntityNode, EvidenceNode, FactNode, MessageNode, SessionNode},
    mutation::Mutation,
    page::Connection,
    query::Query,
    scope::Scope,
    subscription::Subscription,
};
use crate::{
    IceServers, Limits, RateLimit,
    audit::Auditor,
    auth::{AuthError, Identity},
    error::ApiError,
    rate::CallerLimits,
    streaming::EventHub,
};
use recall_ports::{GraphQueries, asked_by};
use recall_usecases::UseCases;

/// The schema of the API.
pub(crate) type ApiSchema = Schema<Query, Mutation, Subscription>;

/// What operations on event streams need.
pub(crate) struct Streams {
    pub(crate) hub: Arc<EventHub>,
    pub(crate) signaling: Arc<crate::Signaling>,
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
        // `cost` compares depth and complexity with their limits, and says by how much they are exceeded.
        .limit_directives(limits.document.directives)
        .limit_recursive_depth(limits.document.nesting)
        .override_output_type_description::<Connection<SessionNode>>("A page of sessions.")
        .override_output_type_description::<Connection<MessageNode>>("A page of messages.")
        .override_output_type_description::<Connection<EntityNode>>("A page of entities.")
        .override_output_type_description::<Connection<FactNode>>("A page of facts.")
        .override_output_type_description::<Connection<EvidenceNode>>("A page of evidence.")
        .override_output_type_description::<Connection<AuditEntryNode>>("A page of the audit log.")
}

/// Bytes of a text that take as long to parse as a step of validation.
const BYTES_PER_STEP: usize = 4;

/// Runs operations on behalf of callers.
#[derive(Clone)]
pub(crate) struct Engine {
    schema: ApiSchema,
    usecases: UseCases,
    limits: Arc<Limits>,
    limiter: Arc<CallerLimits>,
    documents: Arc<Documents>,
    cpu: CpuBound,
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
    pub(crate) fn new(usecases: UseCases, behind: Behind, limits: Arc<Limits>, limiter: Arc<CallerLimits>, admission: Admission) -> Self {
        let cpu = CpuBound::new();
        let mut schema = schema(&limits)
            .data(behind.streams)
            .data(behind.issuers)
            .data(behind.auditor)
            .data(behind.graph)
            .data(limiter.clone())
            .extension(Cost { limit: limits.query_complexity, depth: limits.query_depth, cpu: cpu.clone() });
        if !admission.introspection {
            schema = schema.disable_introspection().disable_suggestions();
        }
        Self { schema: schema.finish(), usecases, limits, limiter, documents: admission.documents, cpu }
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

    /// Bounds what the request costs and gives it what its fields need.
    async fn prepare(&self, identity: Option<&Identity>, mut request: Request) -> Result<AdmittedOperation, ApiError> {
        let identity = identity.ok_or(AuthError::Missing)?.clone();
        // A connection outlives its token by a moment.
        if identity.has_expired() {
            return Err(AuthError::Invalid.into());
        }
        self.documents.resolve(&mut request)?;
        let limits = self.limits.document;
        if request.operation_name.as_ref().is_some_and(|name| name.len() > limits.name_bytes) {
            let message = format!("`operationName` may have at most {} bytes.", limits.name_bytes);
            return Err(ApiError::refused(StatusCode::BAD_REQUEST, "QUERY_TOO_LARGE", message));
        }
        let request_bytes = request.query.len() / BYTES_PER_STEP;
        let admit = move || (document::admit(&request.query, &request.variables, &limits), request);
        let (admitted, mut request) = self.cpu.run(request_bytes, admit).await.ok_or_else(panicked)?;
        let Admitted { document, work } = admitted?;
        let kind = operation_type(&document, request.operation_name.as_deref());
        request.set_parsed_query(document);
        let budget = AnswerBudget::new(self.limits.answer, work.typenames);
        let scope = Scope::new(identity, self.usecases.clone(), budget);
        Ok(AdmittedOperation { request: request.data(scope.clone()).data(work), scope, kind })
    }

    /// Runs a query or a mutation to its end.
    async fn run(&self, prepared: AdmittedOperation) -> Response {
        let AdmittedOperation { request, scope, .. } = prepared;
        let operation = scope.batches.clone().drive(scope.budget.clone(), self.schema.execute(request));
        match tokio::time::timeout(self.limits.operation_timeout, asked_by(scope.caller.user(), operation)).await {
            Ok(Ok(response)) => answer::finish(response),
            Ok(Err(error)) => refusal(error),
            Err(_) => refusal(ApiError::timeout()),
        }
    }
}

impl Engine {
    /// The answers of a subscription.
    fn follow(&self, prepared: AdmittedOperation, session_data: Option<Arc<Data>>) -> BoxStream<'static, Response> {
        let AdmittedOperation { request, scope, .. } = prepared;
        let responses = self.schema.execute_stream_with_session_data(request, session_data.unwrap_or_default());
        let responses = scope.batches.clone().drive_stream(scope.budget.clone(), responses);
        responses.map(|response| response.map_or_else(refusal, answer::finish)).boxed()
    }
}

/// An operation that may run.
struct AdmittedOperation {
    request: Request,
    scope: Arc<Scope>,
    kind: Option<OperationType>,
}

fn panicked() -> ApiError {
    ApiError::internal(Arc::new(std::io::Error::other("reading a document panicked")) as Arc<_>)
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
        let prepared = match self.engine.prepare(self.identity.get(), request).await {
            Ok(prepared) => prepared,
            Err(error) => return Ok(refusal(error)),
        };
        if prepared.kind.is_some_and(|kind| kind != OperationType::Query) {
            let message = "Only queries are run by GET; send this by POST.";
            return Err(ApiError::refused(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message));
        }
        Ok(self.engine.run(prepared).await)
    }
}

impl Executor for Operations {
    async fn execute(&self, request: Request) -> Response {
        let prepared = match self.engine.prepare(self.identity.get(), request).await {
            Ok(prepared) => prepared,
            Err(error) => return refusal(error),
        };
        if prepared.kind == Some(OperationType::Subscription) {
            let message = "Subscriptions are served over `/graphql/ws`.";
            return refusal(ApiError::refused(StatusCode::BAD_REQUEST, "SUBSCRIPTION_NEEDS_WEBSOCKET", message));
        }
        self.engine.run(prepared).await
    }

    fn execute_stream(&self, request: Request, session_data: Option<Arc<Data>>) -> BoxStream<'static, Response> {
        let Some(running) = self.start() else {
            let message = format!("A connection runs at most {} operations at once.", self.concurrent);
            return one(refusal(ApiError::refused(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_OPERATIONS", message)));
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
                Err(error) => one(refusal(error)),
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
    /// What comes of an operation that was counted.
    fn respond(&self, request: Request, session_data: Option<Arc<Data>>) -> BoxStream<'static, Response> {
        let this = self.clone();
        let begin = async move {
            let prepared = match this.engine.prepare(this.identity.get(), request).await {
                Ok(prepared) => prepared,
                Err(error) => return one(refusal(error)),
            };
            if prepared.kind == Some(OperationType::Subscription) {
                return this.engine.follow(prepared, session_data);
            }
            let caller = prepared.scope.caller;
            let _turn = this.engine.limiter.acquire_slot(caller).await;
            one(this.engine.run(prepared).await)
        };
        stream::once(begin).flatten().boxed()
    }
}

fn one(response: Response) -> BoxStream<'static, Response> {
    stream::once(std::future::ready(response)).boxed()
}
