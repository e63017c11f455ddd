//! Counts what an operation costs: before it runs by its estimate, while it runs against its budget.
//!
//! The estimate is in the `extensions` of the answer, so that clients see how near the limit they are, and counts as that many
//! requests, so that few expensive ones do not keep others waiting.

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

use super::{budget::AnswerBudget, cpu::CpuBound, document::Work, scope::Scope};
use crate::{error::ApiError, rate::CallerLimits};

/// An operation that costs more counts as another request for each so many.
const COST_PER_REQUEST: usize = 2_500;
/// Errors of validation that are kept: nobody reads more.
pub(super) const MOST_ERRORS: usize = 20;

/// Adds `cost`: `{requested, limit, depth}`.
pub(super) struct Cost {
    /// Most that an operation may cost.
    pub(super) limit: usize,
    /// Most fields within fields.
    pub(super) depth: usize,
    /// Runs validation of large documents.
    pub(super) cpu: CpuBound,
}

impl ExtensionFactory for Cost {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Counted {
            limit: self.limit,
            deepest: self.depth,
            cpu: self.cpu.clone(),
            requested: AtomicUsize::new(0),
            depth: AtomicUsize::new(0),
            budget: OnceLock::new(),
        })
    }
}

/// The cost of one operation; 0 until it was estimated.
struct Counted {
    limit: usize,
    deepest: usize,
    cpu: CpuBound,
    requested: AtomicUsize,
    depth: AtomicUsize,
    budget: OnceLock<Arc<AnswerBudget>>,
}

#[async_trait::async_trait]
impl Extension for Counted {
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
            errors.truncate(MOST_ERRORS + 1);
            errors.shrink_to_fit();
            errors
        })?;
        self.requested.store(result.complexity, Ordering::Relaxed);
        self.depth.store(result.depth, Ordering::Relaxed);
        if let Some(scope) = context.data_opt::<Arc<Scope>>() {
            let _ = self.budget.set(scope.budget.clone());
        }
        self.admit(&result).map_err(refused)?;
        count(context, result.complexity).await.map_err(refused)?;
        Ok(result)
    }

    async fn resolve(&self, context: &ExtensionContext<'_>, info: ResolveInfo<'_>, next: NextResolve<'_>) -> ServerResult<Option<Value>> {
        let Some(budget) = self.budget.get() else { return next.run(context, info).await };
        let is_object = !info.field.selection_set.node.items.is_empty();
        budget.enter(info.alias.unwrap_or(info.name), is_object).await;
        let value = next.run(context, info).await?;
        if let Some(value) = value.as_ref().filter(|_| !is_object) {
            budget.value(value);
        }
        Ok(value)
    }
}

impl Counted {
    /// The library compares with the same limits, but does not say by how much they are exceeded.
    fn admit(&self, result: &ValidationResult) -> Result<(), ApiError> {
        let refuse = |code, message| Err(ApiError::refused(StatusCode::BAD_REQUEST, code, message));
        if result.complexity > self.limit {
            let message = format!(
                "The query costs {} (estimated); the limit is {}. Ask for smaller pages (`first`) or fewer fields.",
                result.complexity, self.limit
            );
            return refuse("QUERY_TOO_COMPLEX", message);
        }
        if result.depth > self.deepest {
            let message = format!("The query nests fields {} deep; the limit is {}. Ask in two steps.", result.depth, self.deepest);
            return refuse("QUERY_TOO_DEEP", message);
        }
        Ok(())
    }
}

fn refused(error: ApiError) -> Vec<ServerError> {
    vec![async_graphql::Error::from(error).into_server_error(Pos::default())]
}

async fn count(context: &ExtensionContext<'_>, cost: usize) -> Result<(), ApiError> {
    let (Some(scope), Some(limits)) = (context.data_opt::<Arc<Scope>>(), context.data_opt::<Arc<CallerLimits>>()) else { return Ok(()) };
    let more = u32::try_from(cost.saturating_sub(1) / COST_PER_REQUEST).unwrap_or(u32::MAX);
    limits.charge_extra(scope.caller, more).await
}
