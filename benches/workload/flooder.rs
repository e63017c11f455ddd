//! A user over HTTP, and the floods with which one user tries to block others.
//! Floods run in a separate process of the lowest priority, so that their own cost does not affect the measurement.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{sentences::Writer, server::TIMEOUT};

pub(crate) const SEND: &str =
    "mutation($s: ID!, $t: String!) { sendMessage(input: { sessionId: $s, text: $t }) { message { id } errors { code } } }";
const SESSION: &str = "mutation { createSession(input: {}) { session { id head } } }";
const IMPORT: &str = "mutation($i: ImportMessagesInput!) { importMessages(input: $i) { messages { id } errors { code } } }";
/// An expensive operation within the limit.
const EXPENSIVE: &str = "{ sessions(first: 20) { nodes { messages(first: 50) { nodes { id text status facts { id belief } } } } }
    entities(first: 50) { nodes { name facts(first: 20) { nodes { id belief weight } } } } }";
const OFFER: &str = "v=0\r\no=- 4611731400430051336 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
    a=msid-semantic: WMS\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=ice-ufrag:abcd\r\n\
    a=ice-pwd:abcdefghijklmnopqrstuvwx\r\na=ice-options:trickle\r\na=fingerprint:sha-256 \
    00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF\r\n\
    a=setup:actpass\r\na=mid:0\r\na=sctp-port:5000\r\na=max-message-size:262144\r\n";
/// Number of concurrent requests.
const AT_ONCE: usize = 64;
/// Number of sessions for messages and offers, in turn.
const SESSIONS: usize = 20;
/// Number of messages to list.
const LISTED: usize = 500;

/// The kind of flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Requests,
    Queries,
    Messages,
    Offers,
    Fragments,
    Rivals,
    Variables,
    Operations,
    Counts,
    Searches,
    Names,
}

impl Kind {
    pub(crate) const ALL: [Self; 11] = [
        Self::Requests,
        Self::Queries,
        Self::Messages,
        Self::Offers,
        Self::Fragments,
        Self::Rivals,
        Self::Variables,
        Self::Operations,
        Self::Counts,
        Self::Searches,
        Self::Names,
    ];

    /// The maximum factor by which others may wait longer than without the flood.
    pub(crate) fn bound(self) -> f64 {
        match self {
            Self::Requests | Self::Queries | Self::Messages | Self::Offers => 2.0,
            _ => 20.0,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Queries => "queries",
            Self::Messages => "messages",
            Self::Offers => "offers",
            Self::Fragments => "fragments",
            Self::Rivals => "rivals",
            Self::Variables => "variables",
            Self::Operations => "operations",
            Self::Counts => "counts",
            Self::Searches => "searches",
            Self::Names => "names",
        }
    }
}

/// Documents that are expensive for their size: some at the limit, some beyond it.
fn expensive(kind: Kind) -> Option<(String, Value)> {
    let many = |one: &str, count: usize| (0..count).map(|n| one.replace('#', &n.to_string())).collect::<String>();
    let plain = |query: String| Some((query, json!({})));
    match kind {
        Kind::Fragments => {
            let spread = |n: usize| format!("fragment F{n} on Viewer {{ ...F{0} ...F{0} }} ", n + 1);
            let fragments: String = (0..25).map(spread).collect();
            plain(format!("{{ viewer {{ ...F0 }} }} {fragments} fragment F25 on Viewer {{ ...Unknown }}"))
        }
        Kind::Rivals => plain("{ facts(first: 50) { nodes { relativeWeight rivals { relativeWeight rivals { id } } } } }".to_owned()),
        Kind::Variables => {
            let query = format!("query($x: String) {{ context(input: {{ query: [{}] }}) {{ methodsUsed }} }}", "$x ".repeat(4_000));
            Some((query, json!({ "x": "x".repeat(1_000) })))
        }
        Kind::Operations => plain(many("query Q# { facts(filter: { text: [$a $b $c $d $e $f] }) { totalCount } } ", 45)),
        Kind::Counts => plain(format!("{{ {} }}", many("a#: facts(first: 1) { totalCount } ", 900))),
        Kind::Searches => plain(format!("{{ {} }}", many("a#: context(input: { query: \"Where is everybody?\" }) { methodsUsed } ", 180))),
        Kind::Names => plain(format!("{{ {} }}", many(&format!("{}# ", "unknown".repeat(15)), 1_500))),
        Kind::Requests | Kind::Queries | Kind::Messages | Kind::Offers => None,
    }
}

/// A user with a token and an address.
#[derive(Clone)]
pub(crate) struct Person {
    http: Client,
    server: String,
    token: String,
    address: String,
}

impl Person {
    pub(crate) fn new(server: &str, token: &str, n: usize) -> anyhow::Result<Self> {
        let http = Client::builder().timeout(TIMEOUT).tcp_nodelay(true).build()?;
        let address = format!("10.1.{}.{}", n / 250, n % 250 + 1);
        Ok(Self { http, server: server.to_owned(), token: token.to_owned(), address })
    }

    fn post(&self, path: &str) -> RequestBuilder {
        let request = self.http.post(format!("http://{}{path}", self.server));
        request.bearer_auth(&self.token).header("x-forwarded-for", &self.address)
    }

    fn operation(&self, query: &str, variables: &Value) -> RequestBuilder {
        self.post("/graphql").json(&json!({ "query": query, "variables": variables }))
    }

    /// Runs an operation that must succeed.
    pub(crate) async fn graphql(&self, query: &str, variables: Value) -> anyhow::Result<Value> {
        let answer: Value = self.operation(query, &variables).send().await?.json().await?;
        match answer {
            Value::Object(mut answer) if answer.contains_key("data") && !answer.contains_key("errors") => {
                Ok(answer.remove("data").unwrap_or_default())
            }
            answer => bail!("the server refused: {answer}"),
        }
    }

    /// Creates a session; returns its id and the cursor before its first event.
    pub(crate) async fn session(&self) -> anyhow::Result<(String, String)> {
        let data = self.graphql(SESSION, json!({})).await?;
        let text = |v: &Value| v.as_str().map(str::to_owned).context("no session");
        let session = &data["createSession"]["session"];
        Ok((text(&session["id"])?, text(&session["head"])?))
    }
}

/// Stores the messages that are listed later.
pub(crate) async fn prepare(person: &Person) -> anyhow::Result<()> {
    let mut writer = Writer::another(7);
    let (session, _) = person.session().await?;
    let messages: Vec<_> = (0..LISTED).map(|_| json!({ "text": writer.statement().1 })).collect();
    person.graphql(IMPORT, json!({ "i": { "sessionId": session, "messages": messages } })).await?;
    for _ in 1..SESSIONS {
        person.session().await?;
    }
    Ok(())
}

/// Sends requests of `kind` for this many seconds and prints the result.
pub(crate) async fn run(words: &[&str]) -> anyhow::Result<()> {
    let [server, token, kind, seconds] = words else { bail!("flooder SERVER TOKEN KIND SECONDS") };
    let kind = Kind::ALL.into_iter().find(|k| k.name() == *kind).context("what kind?")?;
    let person = Person::new(server, token, 0)?;
    let listed = person.graphql("{ sessions(first: 20) { nodes { id } } }", json!({})).await?;
    let sessions = listed["sessions"]["nodes"].as_array().context("no sessions")?.iter();
    let sessions: Arc<[String]> = sessions.filter_map(|s| s["id"].as_str().map(str::to_owned)).collect();
    let end = Instant::now() + Duration::from_secs(seconds.parse()?);
    let document: Arc<Option<(String, Value)>> = Arc::new(expensive(kind));
    let counts = Arc::new([const { AtomicU64::new(0) }; 2]);
    let mut flood = JoinSet::new();
    for n in 0..AT_ONCE {
        let (person, sessions, counts, document) = (person.clone(), sessions.clone(), counts.clone(), document.clone());
        flood.spawn(async move {
            let mut writer = Writer::another(n as u64);
            for turn in n.. {
                if Instant::now() >= end {
                    break;
                }
                let session = sessions.get(turn % sessions.len().max(1)).map_or("", String::as_str);
                let request = match (document.as_ref(), kind) {
                    (Some((query, variables)), _) => person.operation(query, variables),
                    (None, Kind::Queries) => person.operation(EXPENSIVE, &json!({})),
                    (None, Kind::Messages) => person.operation(SEND, &json!({ "s": session, "t": writer.statement().1 })),
                    (None, Kind::Offers) => {
                        person.post(&format!("/signaling/{session}")).header("content-type", "application/sdp").body(OFFER)
                    }
                    (None, _) => person.operation("{ viewer { id } }", &json!({})),
                };
                // A closed connection counts as a refusal.
                let served = match request.send().await {
                    Ok(answer) => {
                        let good = [StatusCode::OK, StatusCode::CREATED].contains(&answer.status());
                        good && answer.text().await.is_ok_and(|text| !text.contains("\"errors\":[{\"message\""))
                    }
                    Err(_) => false,
                };
                counts[usize::from(!served)].fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    while flood.join_next().await.is_some() {}
    let [served, refused] = [&counts[0], &counts[1]].map(|count| count.load(Ordering::Relaxed));
    println!("{}", json!({ "served": served, "refused": refused }));
    Ok(())
}
