//! Counts the cost of an operation: estimated before it runs, and against its budget while it runs.
//!
//! The response contains the estimate in `extensions`, so that clients see how close they are to the limit. An expensive operation
//! counts as several requests for the rate limiter.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use async_graphql::{
    Pos, Response, ServerError, ServerResult, ValidationResult, Value,
    extensions::{Extension, ExtensionContext, ExtensionFactory, NextRequest, NextResolve, NextValidation, ResolveInfo},
    value,
};
use axum::http::StatusCode;

use super::{budget::ResponseBudget, cpu::CpuLimiter, document::Work, scope::OperationScope};
use crate::{error::ApiError, rate::CallerLimits};

/// Cost that counts as one request. Each further multiple counts as another request.
const COST_PER_REQUEST: usize = 2_500;
/// Maximum number of validation errors in a response.
pub(super) const MAX_ERRORS: usize = 20;

/// Adds the extension `cost` to responses: `{requested, limit, depth}`.
pub(super) struct CostExtension {
    /// Maximum cost of an operation.
    pub(super) limit: usize,
    /// Maximum nesting of fields.
    pub(super) depth: usize,
    /// Limits concurrent validation of large documents.
    pub(super) cpu: CpuLimiter,
}

impl ExtensionFactory for CostExtension {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(OperationCost {
            limit: self.limit,
            max_depth: self.depth,
            cpu: self.cpu.clone(),
            requested: AtomicUsize::new(0),
            depth: AtomicUsize::new(0),
            budget: OnceLock::new(),
        })
    }
}

/// The cost of one operation; 0 until it is estimated.
struct OperationCost {
    limit: usize,
    max_depth: usize,
    cpu: CpuLimiter,
    requested: AtomicUsize,
    depth: AtomicUsize,
    budget: OnceLock<Arc<ResponseBudget>>,
}

#[async_trait::async_trait]
impl Extension for OperationCost {
    async fn request(&self, context: &ExtensionContext<'_>, next: NextRequest<'_>) -> Response {
        let response = next.run(context).await;
        let (requested, depth) = (self.requested.load(Ordering::Relaxed), self.depth.load(Ordering::Relaxed));
        if requested == 0 {
            return response;
        }
        response.extension("cost", value!({ "requested": requested, "limit": self.limit, "depth": depth }))
    }

    async fn validation(&self, context: &ExtensionContext<'_>, next: NextValidation<'_>) -> Result<ValidationResult, Vec<ServerError>> {
        let steps = context.data_opt::<Work>().map_or(0, |work| work.steps);
        let result = self.cpu.run_in_place(steps, next.run(context)).await;
        let result = result.map_err(|mut errors| {
            errors.truncate(MAX_ERRORS + 1);
            errors.shrink_to_fit();
            errors
        })?;
        self.requested.store(result.complexity, Ordering::Relaxed);
        self.depth.store(result.depth, Ordering::Relaxed);
        if let Some(scope) = context.data_opt::<Arc<OperationScope>>() {
            let _ = self.budget.set(scope.budget.clone());
        }
        self.check_limits(&result).map_err(to_server_errors)?;
        charge_caller(context, result.complexity).await.map_err(to_server_errors)?;
        Ok(result)
    }

    async fn resolve(&self, context: &ExtensionContext<'_>, info: ResolveInfo<'_>, next: NextResolve<'_>) -> ServerResult<Option<Value>> {
        let Some(budget) = self.budget.get() else { return next.run(context, info).await };
        let is_object = !info.field.selection_set.node.items.is_empty();
        budget.enter_field(info.alias.unwrap_or(info.name), is_object).await;
        let value = next.run(context, info).await?;
        if let Some(value) = value.as_ref().filter(|_| !is_object) {
            budget.count_value(value);
        }
        Ok(value)
    }
}

impl OperationCost {
    /// Checks cost and depth. The library has the same limits, but its errors do not contain the figures.
    fn check_limits(&self, result: &ValidationResult) -> Result<(), ApiError> {
        let refuse = |code, message| Err(ApiError::refused(StatusCode::BAD_REQUEST, code, message));
        if result.complexity > self.limit {
            let message = format!(
                "The query costs {} (estimated); the limit is {}. Ask for smaller pages (`first`) or fewer fields.",
                result.complexity, self.limit
            );
            return refuse("QUERY_TOO_COMPLEX", message);
        }
        if result.depth > self.max_depth {
            let message = format!("The query nests fields {} deep; the limit is {}. Ask in two steps.", result.depth, self.max_depth);
            return refuse("QUERY_TOO_DEEP", message);
        }
        Ok(())
    }
}

fn to_server_errors(error: ApiError) -> Vec<ServerError> {
    vec![async_graphql::Error::from(error).into_server_error(Pos::default())]
}

async fn charge_caller(context: &ExtensionContext<'_>, cost: usize) -> Result<(), ApiError> {
    let (Some(scope), Some(limits)) = (context.data_opt::<Arc<OperationScope>>(), context.data_opt::<Arc<CallerLimits>>()) else {
        return Ok(());
    };
    limits.charge_extra(scope.caller, extra_requests(cost)).await
}

/// Returns how many requests an operation of this cost counts as, besides itself.
pub(crate) fn extra_requests(cost: usize) -> u32 {
    u32::try_from(cost.saturating_sub(1) / COST_PER_REQUEST).unwrap_or(u32::MAX)
}
