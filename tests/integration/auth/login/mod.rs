//! Login with a browser: what a browser goes through, and what attackers make of it.

mod attacks;
mod binary;
mod csrf;
mod flow;
mod renewal;
mod streams;
mod visits;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use jsonwebtoken::Algorithm;
use recall::http_client::WebDocuments;
use recall_api::{LoginConfig, Logins, TokenConfig, Tokens};
use recall_ports::{Fetch, Store};
use reqwest::{Method, RequestBuilder, Response, redirect::Policy};
use serde_json::{Value, json};

use super::{
    issuer::{Issuer, Key, resource, token_config},
    op::{CLIENT, CLIENT_SECRET},
};
use crate::{api::harness::Server, stored::Stored};

const IDLE: i64 = 3_600;
const LIFETIME: i64 = 24 * 3_600;

async fn world() -> (Arc<Issuer>, Server) {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let server = server(&issuer, Stored::sqlite().await).await;
    (issuer, server)
}

/// A server that people log in to by way of the issuer.
async fn server(issuer: &Arc<Issuer>, stored: Stored) -> Server {
    let store = stored.store.clone();
    server_with(issuer, stored, store).await
}

/// One whose logins are kept elsewhere, as those of several servers of one store are.
async fn server_with(issuer: &Arc<Issuer>, stored: Stored, store: Arc<dyn Store>) -> Server {
    let logins = |_: Arc<dyn Store>, address| logins(issuer, &store, address);
    Server::start_for_people(stored, logins, resource(&[issuer])).await
}

/// Logins by way of the issuer, kept in a store, at an address.
fn logins(issuers: &Arc<Issuer>, store: &Arc<dyn Store>, address: std::net::SocketAddr) -> Logins {
    let documents = Arc::new(WebDocuments::new().unwrap());
    let clock = issuers.clock.clone();
    let fetch: Arc<dyn Fetch> = documents.clone();
    let config = TokenConfig { personal: Some(store.clone()), revoked: Some(store.clone()), ..token_config(&[issuers]) };
    let tokens = Arc::new(Tokens::new(config, Some(&fetch), clock.clone()).unwrap());
    let config = LoginConfig {
        issuer: issuers.url.clone(),
        client_id: CLIENT.to_owned(),
        client_secret: Some(CLIENT_SECRET.to_owned()),
        scopes: ["openid", "profile"].map(str::to_owned).to_vec(),
        address: format!("http://{address}"),
        idle: Duration::from_secs(IDLE.unsigned_abs()),
        lifetime: Duration::from_secs(LIFETIME.unsigned_abs()),
    };
    Logins::new(config, tokens, documents, store.clone(), clock).unwrap()
}

pub(super) fn parameters(address: &str) -> BTreeMap<String, String> {
    let query = address.split_once('?').map_or("", |(_, query)| query);
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

fn location(response: &Response) -> String {
    response.headers()["location"].to_str().unwrap().to_owned()
}

/// What a browser keeps between requests. It follows no redirect by itself.
struct Browser {
    http: reqwest::Client,
    base: String,
    jar: Mutex<BTreeMap<String, String>>,
}

impl Browser {
    fn of(base: String) -> Self {
        Self { http: reqwest::Client::builder().redirect(Policy::none()).build().unwrap(), base, jar: Mutex::default() }
    }

    fn at(server: &Server) -> Self {
        Self::of(server.url(""))
    }

    /// A request with the cookies.
    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let jar = self.jar.lock().unwrap();
        let cookies: Vec<_> = jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = self.http.request(method, format!("{}{path}", self.base));
        if cookies.is_empty() { request } else { request.header("cookie", cookies.join("; ")) }
    }

    async fn send(&self, request: RequestBuilder) -> Response {
        let response = request.send().await.unwrap();
        let mut jar = self.jar.lock().unwrap();
        for cookie in response.headers().get_all("set-cookie") {
            let (name, rest) = cookie.to_str().unwrap().split_once('=').unwrap();
            let (value, attributes) = rest.split_once(';').unwrap();
            if attributes.contains("Max-Age=0") {
                jar.remove(name);
            } else {
                jar.insert(name.to_owned(), value.to_owned());
            }
        }
        drop(jar);
        response
    }

    async fn get(&self, path: &str) -> Response {
        self.send(self.request(Method::GET, path)).await
    }

    fn cookie(&self, name: &str) -> Option<String> {
        self.jar.lock().unwrap().get(name).cloned()
    }

    /// Goes to the issuer: with which parameters.
    async fn begin(&self, return_to: &str) -> BTreeMap<String, String> {
        let response = self.get(&format!("/auth/login?return_to={return_to}")).await;
        assert_eq!(response.status(), 303);
        parameters(&location(&response))
    }

    /// Comes back from the issuer.
    async fn back(&self, code: &str, state: &str, iss: &str) -> Response {
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs([("code", code), ("state", state), ("iss", iss)]).finish();
        self.get(&format!("/auth/callback?{query}")).await
    }

    /// Logs in as somebody.
    async fn log_in(&self, issuer: &Issuer, subject: &str, change: Value) -> Response {
        let asked = self.begin("").await;
        self.back(&issuer.op.code(subject, &asked, change), &asked["state"], &issuer.url).await
    }

    /// One who has logged in.
    async fn logged_in(server: &Server, issuer: &Issuer, subject: &str) -> Self {
        let browser = Self::at(server);
        let response = browser.log_in(issuer, subject, json!({})).await;
        assert_eq!(response.status(), 303, "{}", response.text().await.unwrap());
        browser
    }

    async fn session(&self) -> Value {
        self.get("/auth/session").await.json().await.unwrap()
    }

    async fn csrf(&self) -> String {
        self.session().await["csrfToken"].as_str().unwrap_or_default().to_owned()
    }

    /// A GraphQL operation as the page sends it: its status and answer.
    async fn graphql(&self, query: &str) -> (u16, Value) {
        let request = self.request(Method::POST, "/graphql").header("x-csrf-token", self.csrf().await);
        let response = self.send(request.json(&json!({ "query": query }))).await;
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Who the server takes the browser for.
    async fn viewer(&self) -> Option<String> {
        let (status, answer) = self.graphql("{ viewer { id } }").await;
        (status == 200).then(|| answer["data"]["viewer"]["id"].as_str().unwrap().to_owned())
    }

    async fn log_out(&self) -> Value {
        let request = self.request(Method::POST, "/auth/logout").header("x-csrf-token", self.csrf().await);
        self.send(request).await.json().await.unwrap()
    }
}

async fn code_of(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    let body: Value = response.json().await.unwrap();
    (status, body["code"].as_str().unwrap_or_default().to_owned())
}
