//! What an operation was reckoned to cost, in the `extensions` of its answer, so that clients see how near the limit they are.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_graphql::{
    Response, ServerError, ValidationResult,
    extensions::{Extension, ExtensionContext, ExtensionFactory, NextRequest, NextValidation},
    value,
};

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
        Ok(result)
    }
}
