//! Records through which programs users use the server, so that they see what is connected to their memory.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::http::{HeaderMap, header};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::auth::{Identity, Program};
use recall_domain::{FrontEnd, UserId};
use recall_ports::FrontEndStore;
use recall_usecases::UseCases;

/// How often the time of the last use is updated. Updating it on every request would make every request write.
const PRECISION: Duration = Duration::from_secs(60);
/// When the next request tries again for a user who had no data yet.
const RETRY_AFTER: Duration = Duration::from_secs(2);
/// Number of front ends whose last update is cached.
const MAX_REMEMBERED: usize = 10_000;
/// The name of a program that gives none.
const UNNAMED: &str = "unnamed program";
/// Browsers by the part of `User-Agent` that only they send, the more special ones first: all claim to be several others.
const BROWSERS: [(&str, &str); 5] =
    [("Firefox/", "Firefox"), ("Edg/", "Edge"), ("OPR/", "Opera"), ("Chrome/", "Chrome"), ("Safari/", "Safari")];

/// Records the front ends of users.
pub(crate) struct FrontEnds {
    store: Arc<dyn FrontEndStore>,
    usecases: UseCases,
    /// When each may be recorded again.
    waiting: Mutex<HashMap<(UserId, FrontEnd), Instant>>,
}

impl FrontEnds {
    pub(crate) fn new(store: Arc<dyn FrontEndStore>, usecases: UseCases) -> Self {
        Self { store, usecases, waiting: Mutex::default() }
    }

    /// Records the program of a request, at most once a minute. If the store fails, the request continues.
    pub(crate) async fn note(&self, identity: &Identity, headers: &HeaderMap) {
        let Some(program) = &identity.program else { return };
        let front_end = front_end_of(program, headers);
        let key = (identity.caller.user(), front_end);
        {
            let mut waiting = self.waiting.lock();
            if waiting.get(&key).is_some_and(|until| Instant::now() < *until) {
                return;
            }
            if waiting.len() >= MAX_REMEMBERED {
                waiting.clear();
            }
            waiting.insert(key.clone(), Instant::now() + PRECISION);
        }
        match self.store.note_front_end(&identity.caller, &key.1, self.usecases.now()).await {
            Ok(true) => {}
            // The first request of a user is often the one that creates their data.
            Ok(false) => {
                self.waiting.lock().insert(key, Instant::now() + RETRY_AFTER);
            }
            Err(error) => tracing::warn!(%error, "cannot record the use of a front end"),
        }
    }
}

fn front_end_of(program: &Program, headers: &HeaderMap) -> FrontEnd {
    let agent = || headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).map(product_of);
    let name = program.name.as_deref().map(str::trim).filter(|name| !name.is_empty());
    let name = name.map(str::to_owned).or_else(|| agent().map(str::to_owned)).unwrap_or_else(|| UNNAMED.to_owned());
    FrontEnd { kind: program.kind, name: name.chars().filter(|c| !c.is_control()).take(FrontEnd::MAX_NAME_CHARS).collect() }
}

/// Returns the product that a `User-Agent` names (RFC 9110, section 10.1.5), without its version.
fn product_of(agent: &str) -> &str {
    if let Some((_, browser)) = BROWSERS.iter().find(|(part, _)| agent.starts_with("Mozilla/") && agent.contains(part)) {
        return browser;
    }
    let product = agent.split([' ', '/', ';', '(']).next().unwrap_or_default();
    if product.is_empty() { UNNAMED } else { product }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use recall_domain::FrontEndKind;

    #[test]
    fn program_has_the_name_of_its_credential_or_of_its_user_agent() {
        let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
        let edge = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36 Edg/126.0";
        for (name, agent, expected) in [
            (Some("laptop"), Some(firefox), "laptop"),
            (Some(" "), Some(firefox), "Firefox"),
            (None, Some(firefox), "Firefox"),
            (None, Some(edge), "Edge"),
            (None, Some("OpenAI/Python 1.99.1"), "OpenAI"),
            (None, Some("python-httpx/0.28.1"), "python-httpx"),
            (None, Some("Mozilla/5.0"), "Mozilla"),
            (None, Some("/"), UNNAMED),
            (None, None, UNNAMED),
        ] {
            let mut headers = HeaderMap::new();
            headers.extend(agent.map(|agent| (header::USER_AGENT, agent.parse().unwrap())));
            let program = Program { kind: FrontEndKind::Open, name: name.map(str::to_owned) };
            assert_eq!(front_end_of(&program, &headers).name, expected, "{name:?} {agent:?}");
        }
        let long = Program { kind: FrontEndKind::Client, name: Some("é".repeat(500)) };
        assert_eq!(front_end_of(&long, &HeaderMap::new()).name.chars().count(), FrontEnd::MAX_NAME_CHARS);
    }
}
