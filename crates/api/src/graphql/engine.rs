//! Runs GraphQL operations. All transports use this engine, which applies every limit.
//!
//! The work of a document is bounded before validation. An operation has a cost, a response budget and a time limit. Every error
//! gets a stable code.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use async_graphql::{
    Data, Executor, Request, Response,
    parser::types::{ExecutableDocument, OperationType},
};
use axum::http::StatusCode;
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};

use super::{
    budget::ResponseBudget,
    cost::CostExtension,
    cpu::CpuLimiter,
    document::{self, Admitted},
    documents::{Admission, Documents},
    response::{self, error_response},
    schema::{self, ApiSchema},
    scope::OperationScope,
    services::Services,
};
use crate::{
    auth::{AuthError, Identity},
    error::ApiError,
    limits::{Limits, RateLimit},
    rate::CallerLimits,
};
use recall_ports::asked_by;
use recall_usecases::UseCases;

/// Bytes of a document that take as long to parse as one step of validation.
const BYTES_PER_STEP: usize = 4;

/// Runs operations for callers.
#[derive(Clone)]
pub(crate) struct Engine {
    schema: ApiSchema,
    usecases: UseCases,
    limits: Arc<Limits>,
    limiter: Arc<CallerLimits>,
    documents: Arc<Documents>,
    cpu: CpuLimiter,
}

impl Engine {
    pub(crate) fn new(
        usecases: UseCases,
        services: Services,
        limits: Arc<Limits>,
        limiter: Arc<CallerLimits>,
        admission: Admission,
    ) -> Self {
        let cpu = CpuLimiter::new();
        let mut schema = schema::builder(&limits)
            .data(services.streams)
            .data(services.access_tokens)
            .data(services.front_ends)
            .data(services.revocations)
            .data(services.auditor)
            .data(services.graph)
            .data(limiter.clone())
            .extension(CostExtension { limit: limits.query_complexity, depth: limits.query_depth, cpu: cpu.clone() });
        if !admission.introspection {
            schema = schema.disable_introspection().disable_suggestions();
        }
        Self { schema: schema.finish(), usecases, limits, limiter, documents: admission.documents, cpu }
    }

    /// Returns the rate limit for frames of one WebSocket.
    pub(super) fn websocket_frames(&self) -> Option<RateLimit> {
        self.limits.websocket_frames
    }

    /// Returns an executor for one caller, which runs at most `concurrent` operations at once.
    pub(crate) fn for_caller(&self, identity: Identity, concurrent: usize) -> Operations {
        self.for_pending_caller(Arc::new(OnceLock::from(identity)), concurrent)
    }

    /// Like [`Self::for_caller`], for a caller who is authenticated later. Until then, every operation is refused.
    pub(crate) fn for_pending_caller(&self, identity: Arc<OnceLock<Identity>>, concurrent: usize) -> Operations {
        Operations { engine: self.clone(), identity, concurrent, running: Arc::default() }
    }

    /// Checks a request against the limits and adds the data that its resolvers need.
    async fn prepare(&self, identity: Option<&Identity>, mut request: Request) -> Result<AdmittedOperation, ApiError> {
        let identity = identity.ok_or(AuthError::Missing)?.clone();
        // A connection outlives its token for a moment.
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
        let (admitted, mut request) = self.cpu.run(request_bytes, admit).await.ok_or_else(panic_error)?;
        let Admitted { document, work } = admitted?;
        let kind = operation_type(&document, request.operation_name.as_deref());
        request.set_parsed_query(document);
        let budget = ResponseBudget::new(self.limits.answer, work.typenames);
        let scope = OperationScope::new(identity, self.usecases.clone(), budget);
        Ok(AdmittedOperation { request: request.data(scope.clone()).data(work), scope, kind })
    }

    /// Runs a query or a mutation to its end.
    async fn run(&self, prepared: AdmittedOperation) -> Response {
        let AdmittedOperation { request, scope, .. } = prepared;
        let operation = scope.batches.clone().drive(scope.budget.clone(), self.schema.execute(request));
        match tokio::time::timeout(self.limits.operation_timeout, asked_by(scope.caller.user(), operation)).await {
            Ok(Ok(response)) => response::finish(response),
            Ok(Err(error)) => error_response(error),
            Err(_) => error_response(ApiError::timeout()),
        }
    }
}

impl Engine {
    /// Returns the responses of a subscription.
    fn run_subscription(&self, prepared: AdmittedOperation, session_data: Option<Arc<Data>>) -> BoxStream<'static, Response> {
        let AdmittedOperation { request, scope, .. } = prepared;
        let responses = self.schema.execute_stream_with_session_data(request, session_data.unwrap_or_default());
        let responses = scope.batches.clone().drive_stream(scope.budget.clone(), responses);
        responses.map(|response| response.map_or_else(error_response, response::finish)).boxed()
    }
}

/// An operation that passed the limits of documents.
struct AdmittedOperation {
    request: Request,
    scope: Arc<OperationScope>,
    kind: Option<OperationType>,
}

fn panic_error() -> ApiError {
    ApiError::internal(Arc::new(std::io::Error::other("reading a document panicked")) as Arc<_>)
}

fn operation_type(document: &ExecutableDocument, name: Option<&str>) -> Option<OperationType> {
    let wanted = |n: Option<&str>| name.is_none() || n == name;
    document.operations.iter().find(|(n, _)| wanted(n.map(|n| n.as_str()))).map(|(_, o)| o.node.ty)
}

/// Executes the operations of one caller over one connection.
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
    fn start_operation(&self) -> Option<Running> {
        let already_running = self.running.fetch_add(1, Ordering::AcqRel);
        let running = Running(self.running.clone());
        (already_running < self.concurrent).then_some(running)
    }
}

impl Operations {
    /// Runs a query.
    ///
    /// # Errors
    /// `METHOD_NOT_ALLOWED`, if the operation is not a query.
    pub(crate) async fn query(&self, request: Request) -> Result<Response, ApiError> {
        let prepared = match self.engine.prepare(self.identity.get(), request).await {
            Ok(prepared) => prepared,
            Err(error) => return Ok(error_response(error)),
        };
        if prepared.kind.is_some_and(|kind| kind != OperationType::Query) {
            let message = "GET runs only queries. Send this operation by POST.";
            return Err(ApiError::refused(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message));
        }
        Ok(self.engine.run(prepared).await)
    }
}

impl Executor for Operations {
    async fn execute(&self, request: Request) -> Response {
        let prepared = match self.engine.prepare(self.identity.get(), request).await {
            Ok(prepared) => prepared,
            Err(error) => return error_response(error),
        };
        if prepared.kind == Some(OperationType::Subscription) {
            let message = "Subscriptions are served over `/graphql/ws`.";
            return error_response(ApiError::refused(StatusCode::BAD_REQUEST, "SUBSCRIPTION_NEEDS_WEBSOCKET", message));
        }
        self.engine.run(prepared).await
    }

    fn execute_stream(&self, request: Request, session_data: Option<Arc<Data>>) -> BoxStream<'static, Response> {
        let Some(running) = self.start_operation() else {
            let message = format!("A connection runs at most {} operations at once.", self.concurrent);
            return single_response(error_response(ApiError::refused(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_OPERATIONS", message)));
        };
        // The HTTP layer counts requests over HTTP. Operations over a connection are counted here.
        let (this, limiter) = (self.clone(), self.engine.limiter.clone());
        let responses = async move {
            let counted = match this.identity.get() {
                Some(identity) => limiter.request(identity.caller).await,
                None => Ok(()),
            };
            match counted {
                Ok(()) => this.run_counted(request, session_data),
                Err(error) => single_response(error_response(error)),
            }
        };
        stream::once(responses)
            .flatten()
            .map(move |response| {
                let _held = &running;
                response
            })
            .boxed()
    }
}

impl Operations {
    /// Returns the responses of an operation that has been counted by the rate limiter.
    fn run_counted(&self, request: Request, session_data: Option<Arc<Data>>) -> BoxStream<'static, Response> {
        let this = self.clone();
        let responses = async move {
            let prepared = match this.engine.prepare(this.identity.get(), request).await {
                Ok(prepared) => prepared,
                Err(error) => return single_response(error_response(error)),
            };
            if prepared.kind == Some(OperationType::Subscription) {
                return this.engine.run_subscription(prepared, session_data);
            }
            let caller = prepared.scope.caller;
            let _slot = this.engine.limiter.acquire_slot(caller).await;
            single_response(this.engine.run(prepared).await)
        };
        stream::once(responses).flatten().boxed()
    }
}

fn single_response(response: Response) -> BoxStream<'static, Response> {
    stream::once(std::future::ready(response)).boxed()
}
