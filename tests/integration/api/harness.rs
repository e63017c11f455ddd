//! Starts servers for tests and talks to them.
//! A header names the user; only the tests' authenticator reads it. No worker runs unless a test starts one,
//! so nothing is extracted or answered, and tests assert facts themselves.

use std::{net::SocketAddr, sync::Arc};

use async_trait::async_trait;
use metrics_exporter_prometheus::PrometheusBuilder;
use recall::{
    originals::OriginalsFolder,
    spool::FolderSpool,
    system::{RandomIds, SystemClock},
};
use recall_answering::{ExtractiveAnswerer, Networks};
use recall_api::{
    self as api, ApiConfig, ApiState, Authenticator, Identity, Logins, OpenAi, OpenAiSettings, ProtectedResource, Visits,
    auth::AuthError,
    event_log::{HubAnnouncer, LogSource},
};
use recall_comparing::AlignmentComparer;
use recall_documents::{ChildLimits, ChildParser};
use recall_domain::{
    Caller, Comparison, ComparisonId, ComparisonStatus, DocumentId, EventId, MessageId, Ontology, Role, TokenDigest, UserId, ViewerRole,
    Visit, VisitLimits,
};
use recall_embedding::LocalEmbedder;
use recall_facts::{Processor, ProcessorConfig};
use recall_ports::{Chunking, Embedder, FollowUp, Ids, IndexEntry, NewComparison, NewMessage, Store};
use recall_retrieval::{RecallIndex, RecallIndexOptions};
use recall_text::{SensitiveKind, SensitivePatterns};
use recall_understand::{LocalExtractor, Pipeline};
use recall_usecases::{DocumentSettings, MessageWork, OriginalSettings, Parts, RetentionTimes, UseCases};
use serde_json::{Value, json};
use signaling::{Bye, ByeCode, Hub, HubConfig, Signaling, SignalingConfig};
use tokio::{net::TcpListener, sync::Notify};
use tokio_util::sync::CancellationToken;

use crate::stored::Stored;

/// Two users that every server has.
pub(crate) const ANNA: &str = "00000000-0000-4000-8000-00000000000a";
pub(crate) const BORIS: &str = "00000000-0000-4000-8000-00000000000b";

/// An administrator, and a visitor without an account.
pub(crate) const ADMIN: &str = "00000000-0000-4000-8000-0000000000ad";
pub(crate) const VISITOR: &str = "00000000-0000-4000-8000-0000000000fe";

const ONTOLOGY: &str = r#"
[[relation]]
name = "LIKES"
phrase = "likes"
description = "Is fond of."
opposite = "DISLIKES"
half_life_days = 365
[[relation]]
name = "DISLIKES"
phrase = "dislikes"
description = "Is not fond of."
opposite = "LIKES"
half_life_days = 365
[[relation]]
name = "LIVES_IN"
phrase = "lives in"
description = "Has their home in."
functional = true
half_life_days = 730
"#;

struct ByHeader;

#[async_trait]
impl Authenticator for ByHeader {
    async fn authenticate(&self, parts: &axum::http::request::Parts) -> Result<Identity, AuthError> {
        let user = parts.headers.get("x-test-user").ok_or(AuthError::Missing)?;
        let user = user.to_str().ok().and_then(|u| u.parse::<UserId>().ok()).ok_or(AuthError::Invalid)?;
        // A front end is noted once a minute. Tests that count statements would depend on when that is.
        Ok(Identity { program: None, ..caller(user).into() })
    }
}

/// Returns the caller that the authenticator makes for a user.
fn caller(user: UserId) -> Caller {
    let role = match user.to_string().as_str() {
        ADMIN => ViewerRole::Admin,
        VISITOR => ViewerRole::Anonymous,
        _ => ViewerRole::User,
    };
    Caller::verified(user, role)
}

/// Takes files of up to 100,000 bytes, in chunks of 200 characters.
fn documents(data: &std::path::Path, in_folder: bool) -> DocumentSettings {
    let limits = ChildLimits { memory: 512 << 20, seconds: 60, children: 2 };
    let parser = Arc::new(ChildParser::new(env!("CARGO_BIN_EXE_recall").into(), limits));
    let spool = Arc::new(FolderSpool::new(data.join("spool")));
    let folder = OriginalsFolder::new(data.join("originals"));
    if in_folder {
        folder.prepare().unwrap();
    }
    let originals = OriginalSettings { folder: Arc::new(folder), in_folder };
    DocumentSettings { parser, spool, originals, max_bytes: 100_000, chunking: Chunking { size: 200, overlap: 0 } }
}

/// A running server. Dropping it stops it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) http: reqwest::Client,
    stop: CancellationToken,
    serving: Option<tokio::task::JoinHandle<()>>,
    pub(crate) stored: Stored,
    /// The use cases behind the server.
    pub(crate) usecases: UseCases,
    announcer: Arc<HubAnnouncer>,
    data: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_with(api::ServerConfig::default()).await
    }

    pub(crate) async fn start_with(connections: api::ServerConfig) -> Self {
        Self::start_as(connections, Arc::new(ByHeader), None).await
    }

    /// Starts a server with this authenticator.
    pub(crate) async fn start_as(
        connections: api::ServerConfig,
        authenticator: Arc<dyn Authenticator>,
        login: Option<ProtectedResource>,
    ) -> Self {
        Self::build(Stored::sqlite().await, connections, |_, _| (authenticator, None, None), login, api::Limits::default()).await
    }

    /// Starts a server with these limits.
    pub(crate) async fn start_within(limits: api::Limits) -> Self {
        Self::start_bounded(api::ServerConfig::default(), limits).await
    }

    /// Starts a server with these connection settings and limits.
    pub(crate) async fn start_bounded(connections: api::ServerConfig, limits: api::Limits) -> Self {
        Self::build(Stored::sqlite().await, connections, |_, _| (Arc::new(ByHeader), None, None), None, limits).await
    }

    /// Starts a server on this store.
    pub(crate) async fn start_on(stored: Stored) -> Self {
        Self::build(stored, api::ServerConfig::default(), |_, _| (Arc::new(ByHeader), None, None), None, api::Limits::default()).await
    }

    /// Starts a server on this store, which holds files of documents there or in a folder.
    pub(crate) async fn start_with_originals(mut stored: Stored, in_folder: bool) -> Self {
        stored.originals_in_folder = in_folder;
        Self::start_on(stored).await
    }

    /// The folder for files of documents.
    pub(crate) fn originals(&self) -> std::path::PathBuf {
        self.data.path().join("originals")
    }

    /// Like [`Server::start_as`], with an authenticator that needs the store.
    pub(crate) async fn start_over(
        connections: api::ServerConfig,
        authenticator: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Authenticator>,
        login: Option<ProtectedResource>,
    ) -> Self {
        Self::build(Stored::sqlite().await, connections, |store, _| (authenticator(store), None, None), login, api::Limits::default()).await
    }

    /// Starts a server with browser logins; `logins` receives the server's address.
    pub(crate) async fn start_for_people(
        stored: Stored,
        logins: impl FnOnce(Arc<dyn Store>, SocketAddr) -> Logins,
        login: ProtectedResource,
    ) -> Self {
        let build = |store, address| {
            let logins = logins(store, address);
            (Arc::new(logins.clone()) as Arc<dyn Authenticator>, Some(logins), None)
        };
        Self::build(stored, api::ServerConfig::default(), build, Some(login), api::Limits::default()).await
    }

    /// Like [`Server::start_for_people`], and visitors may also use the server without a login.
    pub(crate) async fn start_for_visitors(
        stored: Stored,
        who: impl FnOnce(Arc<dyn Store>, SocketAddr) -> (Logins, Visits),
        login: ProtectedResource,
        limits: api::Limits,
    ) -> Self {
        let build = |store, address| {
            let (logins, visits) = who(store, address);
            (Arc::new(visits.clone()) as Arc<dyn Authenticator>, Some(logins), Some(visits))
        };
        Self::build(stored, api::ServerConfig::default(), build, Some(login), limits).await
    }

    async fn build(
        stored: Stored,
        connections: api::ServerConfig,
        authenticator: impl FnOnce(Arc<dyn Store>, SocketAddr) -> (Arc<dyn Authenticator>, Option<Logins>, Option<Visits>),
        login: Option<ProtectedResource>,
        limits: api::Limits,
    ) -> Self {
        let store = stored.store.clone();
        let clock = Arc::new(SystemClock);
        let embedder = LocalEmbedder::load().unwrap();
        let ontology = Arc::new(Ontology::parse(ONTOLOGY).unwrap());
        let openai = OpenAi {
            upstream: None,
            answerer: Arc::new(ExtractiveAnswerer::new(&ontology, embedder.clone(), Networks::default())),
            extractor: Arc::new(LocalExtractor::new(Arc::new(Pipeline::new(ontology.clone())))),
            settings: OpenAiSettings::default(),
        };
        let data = tempfile::tempdir().unwrap();
        // Nothing may depend on the poll: a commit that is not reported is never seen.
        let hub_config = HubConfig { poll: std::time::Duration::from_secs(24 * 3600), ..HubConfig::default() };
        let hub = Hub::new(LogSource::new(store.clone()), hub_config);
        let announcer = Arc::new(HubAnnouncer(hub.clone()));
        store.report_to(Arc::downgrade(&announcer) as _);
        let usecases = UseCases::new(Parts {
            passages: None,
            store: store.clone(),
            index: Arc::new(RecallIndex::new(store.clone(), &embedder, RecallIndexOptions::default())),
            extractor: openai.extractor.clone(),
            answerer: openai.answerer.clone(),
            comparer: Arc::new(AlignmentComparer::new(embedder.clone())),
            embedder: Arc::new(embedder),
            announcer: announcer.clone(),
            ontology,
            clock: clock.clone(),
            ids: Arc::new(RandomIds::default()),
            wake: Arc::new(Notify::new()),
            session_limits: recall_facts::SessionLimits::default(),
            never_stored: Arc::new(SensitivePatterns::new(SensitiveKind::ALL, &[]).unwrap()),
            retention: RetentionTimes::default(),
            documents: Some(documents(data.path(), stored.originals_in_folder)),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut config = ApiConfig::at(address);
        let turn = api::TurnConfig {
            urls: vec!["turn:turn.example.org:3478".to_owned()],
            secret: "shared with the TURN server".to_owned(),
            lasts: std::time::Duration::from_secs(600),
        };
        config.ice_servers = api::IceServers::new(vec!["stun:stun.example.org:3478".to_owned()], Some(turn), clock.clone());
        config.login = login;
        config.limits = limits;
        let (authenticator, logins, visits) = authenticator(store.clone(), address);
        (config.logins, config.visits) = (logins, visits);
        let router = api::router(ApiState {
            usecases: usecases.clone(),
            store: store.clone(),
            signaling: Signaling::bind(SignalingConfig::default(), hub.clone()).await.unwrap(),
            hub,
            authenticator,
            config,
            metrics: PrometheusBuilder::new().build_recorder().handle(),
            graph: Arc::new(recall_projection::StoreGraph::new(store.clone(), "sqlite")),
            openai,
            checks: Vec::new(),
            allowances: None,
        });
        let stop = CancellationToken::new();
        let serving = tokio::spawn(api::serve(listener, router, connections, stop.clone().cancelled_owned()));
        let http = reqwest::Client::new();
        Self { serving: Some(serving), address, store, http, stop, stored, usecases, announcer, data }
    }

    /// The event streams.
    pub(crate) fn hub(&self) -> &Arc<recall_api::event_log::EventHub> {
        &self.announcer.0
    }

    /// Stops as the program does, and waits until all connections end or the grace period is over.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        self.hub().shutdown(Bye::from(ByeCode::Restart));
        if let Some(serving) = self.serving.take() {
            serving.await.unwrap();
        }
    }

    /// Processes and answers messages until dropped.
    pub(crate) fn work(&self) -> Processor {
        Processor::start(
            self.store.clone(),
            MessageWork::new(self.usecases.clone()),
            Arc::new(SystemClock),
            Arc::new(Notify::new()),
            ProcessorConfig::default(),
        )
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn get(&self, user: &str, path: &str) -> reqwest::RequestBuilder {
        self.http.get(self.url(path)).header("x-test-user", user)
    }

    pub(crate) fn post(&self, user: &str, path: &str) -> reqwest::RequestBuilder {
        self.http.post(self.url(path)).header("x-test-user", user)
    }

    /// Returns the whole GraphQL response.
    pub(crate) async fn graphql(&self, user: &str, query: &str, variables: Value) -> Value {
        let body = json!({ "query": query, "variables": variables });
        self.post(user, "/graphql").json(&body).send().await.unwrap().json().await.unwrap()
    }

    /// Returns the data of a GraphQL response that must succeed.
    pub(crate) async fn data(&self, user: &str, query: &str, variables: Value) -> Value {
        let response = self.graphql(user, query, variables).await;
        assert!(response.get("errors").is_none(), "{response:#}");
        response["data"].clone()
    }

    /// Returns the error code of a GraphQL response that must fail.
    pub(crate) async fn code(&self, user: &str, query: &str, variables: Value) -> String {
        let response = self.graphql(user, query, variables).await;
        response["errors"][0]["extensions"]["code"].as_str().unwrap_or_else(|| panic!("no error with a code: {response:#}")).to_owned()
    }

    pub(crate) async fn session(&self, user: &str) -> String {
        let data = self.data(user, "mutation { createSession(input: {}) { session { id } errors { code } } }", json!({})).await;
        text(&data["createSession"]["session"]["id"])
    }

    /// Uploads a document with these form fields, and returns the response.
    pub(crate) async fn upload(&self, user: &str, filename: &str, content: &[u8], fields: &[(&str, &str)]) -> reqwest::Response {
        let mut body = Vec::new();
        for (name, value) in fields {
            body.extend(format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").bytes());
        }
        body.extend(format!("--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{filename}\"\r\n\r\n").bytes());
        body.extend(content);
        body.extend(b"\r\n--b--\r\n");
        let request = self.post(user, "/documents").header("content-type", "multipart/form-data; boundary=b").body(body);
        request.send().await.unwrap()
    }

    /// Creates a session of shared memory.
    pub(crate) async fn shared_session(&self) -> String {
        let query = "mutation { createSession(input: { shared: true, title: \"Handbook\" }) { session { id shared } errors { code } } }";
        let data = self.data(ADMIN, query, json!({})).await;
        assert_eq!(data["createSession"]["session"]["shared"], true, "{data}");
        text(&data["createSession"]["session"]["id"])
    }

    /// Returns the payload of `sendMessage`.
    pub(crate) async fn send(&self, user: &str, input: Value) -> Value {
        let query = "mutation($input: SendMessageInput!) { sendMessage(input: $input) {
            status message { id text status role externalId } errors { code message path } } }";
        self.data(user, query, json!({ "input": input })).await["sendMessage"].clone()
    }

    pub(crate) async fn say(&self, user: &str, session: &str, words: &str) -> String {
        text(&self.send(user, json!({ "sessionId": session, "text": words })).await["message"]["id"])
    }

    /// Stores a comparison of a document with another one, and returns its id. Nothing compares them.
    pub(crate) async fn comparison(&self, user: &str, document: &str, question: &str) -> String {
        let ids = RandomIds::default();
        let (now, id) = (self.usecases.now(), ComparisonId(ids.fresh()));
        let embedder = LocalEmbedder::load().unwrap();
        let (model, embedding) = (embedder.model().to_owned(), embedder.vector(question));
        let comparison = Comparison {
            id,
            question: Some(question.into()),
            documents: vec![document.parse().unwrap(), DocumentId(ids.fresh())],
            status: ComparisonStatus::Pending,
            error: None,
            done: 0,
            total: 0,
            comparer: None,
            groups: Vec::new(),
            points: Vec::new(),
            created_at: now,
            updated_at: now,
        };
        let message = NewMessage {
            id: MessageId(ids.fresh()),
            session: id.session(),
            role: Role::Document,
            speaker: None,
            text: question.into(),
            sent_at: now,
            created_at: now,
            source_metadata: None,
            external_id: None,
            resources: Vec::new(),
            prepared: IndexEntry { terms: Vec::new(), model, embedding, further: Vec::new() },
            mining: FollowUp::Compare,
            answer_from: Default::default(),
            kind: None,
            event: EventId(ids.fresh()),
            title: None,
            answers: None,
        };
        let new = NewComparison { comparison, message, epoch: "sweep".to_owned(), event: EventId(ids.fresh()) };
        self.store.add_comparison(&caller(user.parse().unwrap()), new).await.unwrap();
        id.to_string()
    }

    /// Begins a visit, so that [`VISITOR`] can store data.
    pub(crate) async fn begin_visit(&self) {
        let now = self.usecases.now();
        let visit = Visit {
            digest: TokenDigest([7; 32]),
            messages_left: 1_000,
            sessions_left: 1_000,
            created_at: now,
            ends_at: now + std::time::Duration::from_secs(3_600),
            empty_until: None,
        };
        let visitor = Caller::verified(UserId(VISITOR.parse().unwrap()), ViewerRole::Anonymous);
        assert!(self.store.begin_visit(&visitor, &visit, &VisitLimits { most: 1_000, origin: None, most_of_origin: 0 }).await.unwrap());
    }

    /// Asserts a fact and returns its id.
    pub(crate) async fn fact(&self, user: &str, session: &str, [subject, relation, object]: [&str; 3]) -> String {
        let query = "mutation($input: AssertFactInput!) { assertFact(input: $input) { fact { id } errors { code message } } }";
        let input = json!({ "sessionId": session, "subject": subject, "relation": relation, "object": object });
        let data = self.data(user, query, json!({ "input": input })).await;
        assert_eq!(data["assertFact"]["errors"], json!([]));
        text(&data["assertFact"]["fact"]["id"])
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}")).to_owned()
}
