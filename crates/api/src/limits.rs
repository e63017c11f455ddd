//! Limits of requests, GraphQL documents and responses.

use std::time::Duration;

/// Limits of single requests.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum size of a body in bytes.
    pub body_bytes: usize,
    /// Maximum nesting of fields in a GraphQL operation.
    pub query_depth: usize,
    /// Maximum cost of a GraphQL operation.
    ///
    /// A field costs 1, a list its page size times the cost of an item, and a field with its own SQL statement 40.
    pub query_complexity: usize,
    /// Limits of a document before it is validated.
    pub document: DocumentLimits,
    /// Limits of a GraphQL response.
    pub answer: ResponseLimits,
    /// Maximum time of one operation.
    pub operation_timeout: Duration,
    /// Maximum rate of requests of one caller.
    pub requests: Option<RateLimit>,
    /// Maximum rate at which frames of one WebSocket are read.
    pub websocket_frames: Option<RateLimit>,
    /// Maximum number of concurrent requests of one caller; more wait.
    pub requests_at_once: Option<usize>,
    /// Maximum rate of requests from one address, for all callers together.
    pub address_requests: Option<RateLimit>,
    /// Maximum number of messages of one caller in a minute.
    pub messages_by_minute: Option<RateLimit>,
    /// Maximum number of messages of one caller in a day.
    pub messages_by_day: Option<RateLimit>,
    /// Maximum number of messages of one visitor in a day.
    pub visitor_messages_by_day: Option<RateLimit>,
    /// Maximum number of open event streams of one caller at this server.
    pub streams_per_caller: Option<u32>,
    /// Maximum number of open event streams of one visitor at this server.
    pub streams_per_visitor: Option<u32>,
    /// Maximum rate of logins, callbacks and new visits from one address.
    pub logins: Option<RateLimit>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1024 * 1024,
            query_depth: 15,
            query_complexity: 50_000,
            document: DocumentLimits::default(),
            answer: ResponseLimits::default(),
            operation_timeout: Duration::from_secs(20),
            requests: None,
            websocket_frames: None,
            requests_at_once: None,
            address_requests: None,
            messages_by_minute: None,
            messages_by_day: None,
            visitor_messages_by_day: None,
            streams_per_caller: None,
            streams_per_visitor: None,
            logins: None,
        }
    }
}

/// A rate of requests with a burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    /// Average rate.
    pub per_second: f64,
    /// Maximum number of requests in a burst.
    pub burst: u32,
}

impl RateLimit {
    /// `count` requests a minute, with a burst of a tenth of them.
    pub fn per_minute(count: u32) -> Self {
        Self { per_second: f64::from(count.max(1)) / 60.0, burst: (count / 10).max(1) }
    }

    /// `count` requests a day, with a burst of all of them.
    pub fn per_day(count: u32) -> Self {
        Self { per_second: f64::from(count.max(1)) / 86_400.0, burst: count.max(1) }
    }
}

/// Limits of a GraphQL document before it is validated.
#[derive(Clone, Copy, Debug)]
pub struct DocumentLimits {
    /// Bytes of the text.
    pub bytes: usize,
    /// Nested brackets, of any kind.
    pub nesting: usize,
    /// Names, numbers, strings and punctuation marks.
    pub tokens: usize,
    /// Bytes of a name or a number.
    pub name_bytes: usize,
    /// Operations.
    pub operations: usize,
    /// Fragment definitions.
    pub fragments: usize,
    /// Variable definitions of all operations together.
    pub variables: usize,
    /// Arguments of one field or directive.
    pub arguments: usize,
    /// Directives at one location.
    pub directives: usize,
    /// Fields, spreads and inline fragments of all operations, with every spread replaced by its fragment.
    pub selections: usize,
    /// `__typename` fields of one object. The library resolves them without calling a resolver.
    pub typenames: usize,
    /// Bytes of all arguments, with variables counted at every use, because the library clones them there.
    pub argument_bytes: usize,
    /// Bytes of the arguments of one field below the root. Such a field is resolved once per list item.
    pub nested_argument_bytes: usize,
    /// Steps of validation, as `graphql::document` counts them.
    pub steps: usize,
}

impl Default for DocumentLimits {
    fn default() -> Self {
        // An import of 500 messages without variables has about 10,000 tokens. The documents of the bundled pages and GraphiQL's
        // introspection query need less than a tenth of the steps, which a test checks.
        Self {
            bytes: 256 * 1024,
            nesting: 48,
            tokens: 20_000,
            name_bytes: 128,
            operations: 50,
            fragments: 200,
            variables: 200,
            arguments: 32,
            directives: 8,
            selections: 3_000,
            typenames: 32,
            argument_bytes: 8 * 1024 * 1024,
            nested_argument_bytes: 4 * 1024,
            steps: 50_000,
        }
    }
}

/// Limits of one GraphQL response.
#[derive(Clone, Copy, Debug)]
pub struct ResponseLimits {
    /// Fields and list items.
    pub nodes: usize,
    /// Estimated bytes of JSON.
    pub bytes: usize,
}

impl Default for ResponseLimits {
    fn default() -> Self {
        // GraphiQL's introspection query passes; the browser tests run it.
        Self { nodes: 50_000, bytes: 2_000_000 }
    }
}
