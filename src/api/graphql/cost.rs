//! What an operation was reckoned to cost: in the `extensions` of its answer, so that clients see how near the limit they are, and
//! counted as so many requests, so that nobody keeps others waiting with few that ask for much.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_graphql::{
    Pos, Response, ServerError, ValidationResult,
    extensions::{Extension, ExtensionContext, ExtensionFactory, NextRequest, NextValidation},
    value,
};

use super::scope::Scope;
use crate::api::{error::ApiError, rate::CallerLimits};

/// What costs more counts as another request for each so many.
const OF_ONE_REQUEST: usize = 1_000;

/// Adds `cost`: `{requested, limit, depth}`.
pub(super) struct Cost {
    /// Most that an operation may cost.
    pub(super) limit: usize,
}

impl ExtensionFactory for Cost {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Reckoned { limit: self.limit, requested: AtomicUsize::new(0), depth: AtomicUsize::new(0) })
    }
}

/// Of one operation; 0 until it was reckoned.
struct Reckoned {
    limit: usize,
    requested: AtomicUsize,
    depth: AtomicUsize,
}

#[async_trait::async_trait]
impl Extension for Reckoned {
    async fn request(&self, context: &ExtensionContext<'_>, next: NextRequest<'_>) -> Response {
        let response = next.run(context).await;
        let (requested, depth) = (self.requested.load(Ordering::Relaxed), self.depth.load(Ordering::Relaxed));
        if requested == 0 {
            return response;
        }
        response.extension("cost", value!({ "requested": requested, "limit": self.limit, "depth": depth }))
    }

    async fn validation(&self, context: &ExtensionContext<'_>, next: NextValidation<'_>) -> Result<ValidationResult, Vec<ServerError>> {
        let result = next.run(context).await?;
        self.requested.store(result.complexity, Ordering::Relaxed);
        self.depth.store(result.depth, Ordering::Relaxed);
        counted(context, result.complexity).await.map_err(|e| vec![async_graphql::Error::from(e).into_server_error(Pos::default())])?;
        Ok(result)
    }
}

async fn counted(context: &ExtensionContext<'_>, cost: usize) -> Result<(), ApiError> {
    let (Some(scope), Some(limits)) = (context.data_opt::<Arc<Scope>>(), context.data_opt::<Arc<CallerLimits>>()) else { return Ok(()) };
    let more = u32::try_from(cost.saturating_sub(1) / OF_ONE_REQUEST).unwrap_or(u32::MAX);
    limits.further(scope.caller, more).await
}
