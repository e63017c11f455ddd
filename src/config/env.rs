//! Environment variables and the settings that they set.

use super::ConfigError;
use recall_domain::{Similarity, nearest};

/// The prefix of all variables.
const PREFIX: &str = "RECALL_";

/// An environment variable.
#[derive(Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// The setting that it sets, as `section.name`.
    pub key: &'static str,
}

macro_rules! variables {
    ($($name:literal => $key:literal),+ $(,)?) => {
        &[$(Variable { name: $name, key: $key }),+]
    };
}

/// All environment variables.
pub const VARIABLES: &[Variable] = variables! {
    "RECALL_LISTEN" => "server.listen",
    "RECALL_PUBLIC_URL" => "server.public_url",
    "RECALL_CORS_ORIGINS" => "http.cors_origins",
    "RECALL_TRUSTED_PROXIES" => "http.trusted_proxies",
    "RECALL_TLS_CERTIFICATE" => "http.tls_certificate",
    "RECALL_TLS_KEY" => "http.tls_key",
    "RECALL_GRAPHQL_INTROSPECTION" => "graphql.introspection",
    "RECALL_GRAPHQL_DOCUMENTS" => "graphql.documents",
    "RECALL_GRAPHQL_DOCUMENTS_ONLY" => "graphql.documents_only",
    "RECALL_DATA" => "storage.data",
    "RECALL_DATABASE_URL" => "storage.database_url",
    "RECALL_MIGRATE" => "storage.migrate",
    "RECALL_DATABASE_CONNECTIONS" => "storage.connections",
    "RECALL_DATABASE_CONNECT_SECONDS" => "storage.connect_seconds",
    "RECALL_DATABASE_STATEMENT_SECONDS" => "storage.statement_seconds",
    "RECALL_DATABASE_LOCK_SECONDS" => "storage.lock_seconds",
    "RECALL_DATABASE_POOLER" => "storage.pooler",
    "RECALL_DATABASE_REQUIRE_ROW_SECURITY" => "storage.require_row_security",
    "RECALL_UDP_LISTEN" => "stream.udp_listen",
    "RECALL_UDP_PUBLIC_ADDRESSES" => "stream.udp_public_addresses",
    "RECALL_MAX_PEERS" => "stream.max_peers",
    "RECALL_MAX_PEERS_PER_SESSION" => "stream.max_peers_per_session",
    "RECALL_EVENTS_KEPT" => "stream.events_kept",
    "RECALL_EVENTS_KEPT_HOURS" => "stream.events_kept_hours",
    "RECALL_STUN_URLS" => "webrtc.stun_urls",
    "RECALL_TURN_URLS" => "webrtc.turn_urls",
    "RECALL_TURN_SECRET" => "webrtc.turn_secret",
    "RECALL_TURN_TTL_SECONDS" => "webrtc.turn_ttl_seconds",
    "RECALL_WORKERS" => "processing.workers",
    "RECALL_ATTEMPTS" => "processing.attempts",
    "RECALL_LEASE_SECONDS" => "processing.lease_seconds",
    "RECALL_INDEX_MEGABYTES" => "retrieval.index_megabytes",
    "RECALL_DOCUMENTS_MAX_BYTES" => "documents.max_bytes",
    "RECALL_DOCUMENTS_ORIGINALS" => "documents.originals",
    "RECALL_DOCUMENTS_FOLDER" => "documents.folder",
    "RECALL_DOCUMENTS_CHUNK_CHARS" => "documents.chunk_chars",
    "RECALL_DOCUMENTS_CHUNK_OVERLAP" => "documents.chunk_overlap",
    "RECALL_DOCUMENTS_PARSERS" => "documents.parsers",
    "RECALL_DOCUMENTS_ENCODER" => "documents.encoder",
    "RECALL_DOCUMENTS_PARSER_MEGABYTES" => "documents.parser_megabytes",
    "RECALL_DOCUMENTS_PARSER_SECONDS" => "documents.parser_seconds",
    "RECALL_EXTRACTION" => "understanding.extraction",
    "RECALL_EXTRACTION_LEARNED" => "understanding.learned",
    "RECALL_ONTOLOGY" => "understanding.ontology",
    "RECALL_NEO4J_URL" => "neo4j.url",
    "RECALL_NEO4J_USER" => "neo4j.user",
    "RECALL_NEO4J_PASSWORD" => "neo4j.password",
    "RECALL_NEO4J_DATABASE" => "neo4j.database",
    "RECALL_MODEL_URL" => "model.url",
    "RECALL_MODEL_KEY" => "model.key",
    "RECALL_MODEL_NAME" => "model.name",
    "RECALL_MODEL_TIMEOUT_SECONDS" => "model.timeout_seconds",
    "RECALL_MODEL_SILENCE_SECONDS" => "model.silence_seconds",
    "RECALL_MODEL_CONCURRENCY" => "model.concurrency",
    "RECALL_MODEL_USER_TOKENS_PER_DAY" => "model.user_tokens_per_day",
    "RECALL_MODEL_TOKENS_PER_DAY" => "model.tokens_per_day",
    "RECALL_MODEL_CONTEXT_TOKENS" => "model.context_tokens",
    "RECALL_MODEL_ANSWER_TOKENS" => "model.answer_tokens",
    "RECALL_EMBEDDINGS_URL" => "embeddings.url",
    "RECALL_EMBEDDINGS_KEY" => "embeddings.key",
    "RECALL_EMBEDDINGS_MODEL" => "embeddings.model",
    "RECALL_EMBEDDINGS_DIMENSION" => "embeddings.dimension",
    "RECALL_EMBEDDINGS_BATCH" => "embeddings.batch",
    "RECALL_EMBEDDINGS_TIMEOUT_SECONDS" => "embeddings.timeout_seconds",
    "RECALL_EMBEDDINGS_CONCURRENCY" => "embeddings.concurrency",
    "RECALL_OIDC_ISSUER" => "auth.issuers",
    "RECALL_OIDC_AUDIENCE" => "auth.audiences",
    "RECALL_OIDC_ALGORITHMS" => "auth.algorithms",
    "RECALL_OIDC_TOKEN_TYPES" => "auth.token_types",
    "RECALL_OIDC_ROLE_CLAIM" => "auth.role_claim",
    "RECALL_OIDC_ADMIN_ROLE" => "auth.admin_role",
    "RECALL_OIDC_CLOCK_SKEW_SECONDS" => "auth.clock_skew_seconds",
    "RECALL_OIDC_INTROSPECTION_CLIENT_ID" => "auth.introspection_client_id",
    "RECALL_OIDC_INTROSPECTION_CLIENT_SECRET" => "auth.introspection_client_secret",
    "RECALL_OIDC_INTROSPECTION_ISSUER" => "auth.introspection_issuer",
    "RECALL_OIDC_CLIENT_ID" => "login.client_id",
    "RECALL_OIDC_CLIENT_SECRET" => "login.client_secret",
    "RECALL_OIDC_CLIENT_ISSUER" => "login.issuer",
    "RECALL_OIDC_CLIENT_SCOPES" => "login.scopes",
    "RECALL_LOGIN_IDLE_MINUTES" => "login.idle_minutes",
    "RECALL_LOGIN_HOURS" => "login.hours",
    "RECALL_TOKEN" => "auth.token",
    "RECALL_FRONTEND_KEY" => "frontend.key",
    "RECALL_FRONTEND_USER_HEADER" => "frontend.user_header",
    "RECALL_FRONTEND_USER_SECRET" => "frontend.user_secret",
    "RECALL_FRONTEND_UNSIGNED_USER" => "frontend.unsigned_user",
    "RECALL_FRONTEND_CITATIONS" => "frontend.citations",
    "RECALL_FRONTEND_CONTEXT_TOKENS" => "frontend.context_tokens",
    "RECALL_FRONTEND_TASK_PROMPTS" => "frontend.task_prompts",
    "RECALL_FRONTEND_BODY_MEGABYTES" => "frontend.body_megabytes",
    "RECALL_FRONTEND_BODIES_MEGABYTES" => "frontend.bodies_megabytes",
    "RECALL_FRONTEND_TIMEOUT_SECONDS" => "frontend.timeout_seconds",
    "RECALL_FRONTEND_SILENCE_SECONDS" => "frontend.silence_seconds",
    "RECALL_FRONTEND_CONCURRENCY" => "frontend.concurrency",
    "RECALL_REQUESTS_PER_MINUTE" => "limits.requests_per_minute",
    "RECALL_ADDRESS_REQUESTS_PER_MINUTE" => "limits.address_requests_per_minute",
    "RECALL_MESSAGES_PER_MINUTE" => "limits.messages_per_minute",
    "RECALL_MESSAGES_PER_DAY" => "limits.messages_per_day",
    "RECALL_STREAMS_PER_CALLER" => "limits.streams_per_caller",
    "RECALL_CONNECTIONS_PER_ADDRESS" => "limits.connections_per_address",
    "RECALL_ENTITIES_PER_SESSION" => "limits.entities_per_session",
    "RECALL_FACTS_PER_SESSION" => "limits.facts_per_session",
    "RECALL_LOGINS_PER_MINUTE" => "limits.logins_per_minute",
    "RECALL_ANONYMOUS" => "anonymous.enabled",
    "RECALL_ANONYMOUS_VISITS" => "anonymous.visits",
    "RECALL_ANONYMOUS_VISITS_PER_ADDRESS" => "anonymous.visits_per_address",
    "RECALL_ANONYMOUS_MESSAGES" => "anonymous.messages",
    "RECALL_ANONYMOUS_MESSAGES_PER_DAY" => "anonymous.messages_per_day",
    "RECALL_ANONYMOUS_SESSIONS" => "anonymous.sessions",
    "RECALL_ANONYMOUS_STREAMS" => "anonymous.streams",
    "RECALL_ANONYMOUS_MODEL_TOKENS_PER_DAY" => "anonymous.model_tokens_per_day",
    "RECALL_ANONYMOUS_HOURS" => "retention.anonymous_hours",
    "RECALL_SESSION_DAYS" => "retention.session_days",
    "RECALL_FORGET_UNDO_MINUTES" => "retention.forget_undo_minutes",
    "RECALL_AUDIT_DAYS" => "retention.audit_days",
    "RECALL_NEVER_STORE" => "privacy.never_store",
    "RECALL_NEVER_STORE_PATTERNS" => "privacy.patterns",
    "RECALL_LOG" => "log.filter",
    "RECALL_LOG_FORMAT" => "log.format",
};

/// Returns the variable that sets a key.
pub(super) fn variable_of(key: &str) -> Option<&'static str> {
    VARIABLES.iter().find(|v| v.key == key).map(|v| v.name)
}

/// Reads keys and values from the environment. `NAME_FILE` names a file that contains the value of `NAME`.
pub(super) fn collect(environment: impl Iterator<Item = (String, String)>) -> Result<Vec<(String, String)>, ConfigError> {
    let mut found = Vec::new();
    for (name, value) in environment.filter(|(n, _)| n.starts_with(PREFIX)) {
        if let Some(v) = VARIABLES.iter().find(|v| v.name == name) {
            found.push((v.key.to_owned(), value));
            continue;
        }
        let from_file = name.strip_suffix("_FILE").and_then(|n| VARIABLES.iter().find(|v| v.name == n));
        if let Some(v) = from_file {
            let text = std::fs::read_to_string(&value)
                .map_err(|e| ConfigError::Value { key: name.clone(), problem: format!("{value} cannot be read: {e}") })?;
            found.push((v.key.to_owned(), text.trim_end_matches(['\n', '\r']).to_owned()));
            continue;
        }
        let hint = closest(&name).map_or_else(String::new, |near| format!("; did you mean {near}?"));
        return Err(ConfigError::UnknownVariable(name, hint));
    }
    Ok(found)
}

/// Finds the variable with the most similar name, with `_FILE` if the given name has it.
fn closest(name: &str) -> Option<String> {
    // The common prefix is ignored, because it makes all names similar.
    let tail = |name: &'static str| name.strip_prefix(PREFIX).unwrap_or(name);
    let given = name.strip_prefix(PREFIX).unwrap_or(name);
    let near = |given: &str| nearest(given, VARIABLES.iter().map(|v| tail(v.name)), Similarity::Likely);
    let file = given.strip_suffix("_FILE").and_then(near).map(|near| format!("{PREFIX}{near}_FILE"));
    file.or_else(|| Some(format!("{PREFIX}{}", near(given)?)))
}
