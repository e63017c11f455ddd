//! Going on without a login: what visitors may, how a visit ends, and how what was told on it comes into an account and into no other.

use recall::system::RandomIds;
use recall_api::{Limits, RateLimit, VisitConfig, Visits};
use recall_domain::{Caller, UserId, ViewerRole};
use recall_ports::Clock;

use super::{super::streams::until, *};

const LASTS: i64 = 3_600;
const VISIT: &str = "__Host-recall-visit";

async fn world() -> (Arc<Issuer>, Server) {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let server = open(&issuer, Stored::sqlite().await).await;
    (issuer, server)
}

/// A server that lets people go on without a login.
async fn open(issuer: &Arc<Issuer>, stored: Stored) -> Server {
    open_within(issuer, stored, Limits::default(), 50).await
}

/// The same with bounds of its own, and so many visits from one address.
async fn open_within(issuer: &Arc<Issuer>, stored: Stored, limits: Limits, most_of_origin: u64) -> Server {
    let who = |store: Arc<dyn Store>, address| {
        let logins = logins(issuer, &store, address);
        let lasts = Duration::from_secs(LASTS.unsigned_abs());
        let config = VisitConfig { lasts, most: 100, most_of_origin, messages: 20, sessions: 3 };
        let visits = Visits::new(config, Arc::new(logins.clone()), store, issuer.clock.clone(), Arc::new(RandomIds::default()));
        (logins, visits)
    };
    Server::start_for_visitors(stored, who, resource(&[issuer]), limits).await
}

impl Browser {
    async fn visit(&self) -> Response {
        self.send(self.request(Method::POST, "/auth/visit")).await
    }

    /// One that goes on without a login.
    async fn visiting(server: &Server) -> Self {
        let browser = Self::at(server);
        assert_eq!(browser.visit().await.status(), 201);
        browser
    }

    async fn adopt(&self) -> (u16, Value) {
        let request = self.request(Method::POST, "/auth/adopt").header("x-csrf-token", self.csrf().await);
        let response = self.send(request).await;
        (response.status().as_u16(), response.json().await.unwrap())
    }

    async fn new_session(&self) -> String {
        let (_, made) = self.graphql("mutation { createSession(input: {}) { session { id } errors { code } } }").await;
        made["data"]["createSession"]["session"]["id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
    }

    async fn say(&self, session: &str, text: &str) -> Value {
        let query = format!("mutation {{ sendMessage(input: {{ sessionId: \"{session}\", text: \"{text}\" }}) {{ errors {{ code }} }} }}");
        self.graphql(&query).await.1
    }

    async fn state(&self, session: &str, [subject, relation, object]: [&str; 3]) {
        let input = format!("sessionId: \"{session}\", subject: \"{subject}\", relation: \"{relation}\", object: \"{object}\"");
        let (_, said) = self.graphql(&format!("mutation {{ assertFact(input: {{ {input} }}) {{ errors {{ code }} }} }}")).await;
        assert_eq!(said["data"]["assertFact"]["errors"], json!([]), "{said}");
    }

    /// All facts as "subject relation object" with relative weight and the number of messages behind each.
    async fn facts(&self) -> BTreeMap<String, (f64, u64)> {
        let query = "{ facts(first: 50) { nodes { subject { name } relation object { name } relativeWeight evidence(first: 50) { nodes { stance } } } } }";
        let (_, all) = self.graphql(query).await;
        let nodes = all["data"]["facts"]["nodes"].as_array().unwrap_or_else(|| panic!("{all}")).clone();
        let count = nodes.len();
        let fact = |f: &Value| {
            let name = |v: &Value| v["name"].as_str().unwrap().to_owned();
            let said = format!("{} {} {}", name(&f["subject"]), f["relation"].as_str().unwrap(), name(&f["object"]));
            (said, (f["relativeWeight"].as_f64().unwrap(), f["evidence"]["nodes"].as_array().unwrap().len() as u64))
        };
        let facts: BTreeMap<_, _> = nodes.iter().map(fact).collect();
        assert_eq!(facts.len(), count, "one fact per statement: {nodes:?}");
        facts
    }

    async fn sessions(&self) -> u64 {
        self.graphql("{ sessions { totalCount } }").await.1["data"]["sessions"]["totalCount"].as_u64().unwrap()
    }

    fn plant(&self, name: &str, value: &str) {
        self.jar.lock().unwrap().insert(name.to_owned(), value.to_owned());
    }
}

#[tokio::test]
async fn who_goes_on_without_a_login_gets_a_memory_of_their_own_and_little_else() {
    let (_issuer, server) = world().await;
    let browser = Browser::at(&server);
    let before = browser.session().await;
    assert_eq!(before["methods"], json!(["oidc", "visit", "token"]));
    assert_eq!((&before["user"], &before["visit"]), (&Value::Null, &Value::Null));
    let refused = server.http.post(server.url("/graphql")).json(&json!({ "query": "{ viewer { id } }" })).send().await.unwrap();
    assert_eq!(refused.status(), 401, "asking makes no visitor");
    assert!(refused.headers().contains_key("www-authenticate") && !refused.headers().contains_key("set-cookie"));

    let begun = browser.visit().await;
    let cookie = begun.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.starts_with("__Host-recall-visit="), "{cookie}");
    for attribute in ["; Path=/", "; Secure", "; HttpOnly", "; SameSite=Strict", "; Max-Age=3600"] {
        assert!(cookie.contains(attribute) && !cookie.contains("Domain"), "{cookie}");
    }
    let said: Value = begun.json().await.unwrap();
    assert!(!said.to_string().contains(&browser.cookie(VISIT).unwrap()));
    let session = browser.session().await;
    assert_eq!((&session["user"], &session["csrfToken"]), (&said["user"], &said["csrfToken"]));
    assert_eq!((&session["user"]["role"], &session["visit"]["messages"]), (&json!("ANONYMOUS"), &json!(0)));
    let (_, viewer) = browser.graphql("{ viewer { id role } }").await;
    assert_eq!(viewer["data"]["viewer"], json!({ "id": said["user"]["id"], "role": "ANONYMOUS" }));

    let own = browser.new_session().await;
    assert_eq!(browser.say(&own, "Mine.").await["data"]["sendMessage"]["errors"], json!([]));
    assert_eq!(browser.session().await["visit"]["messages"], 1);
    let other = Browser::visiting(&server).await;
    assert_ne!(other.viewer().await, browser.viewer().await);
    assert_eq!(other.sessions().await, 0);
    let foreign = other.say(&own, "Not mine.").await;
    assert_eq!(foreign["data"]["sendMessage"]["errors"][0]["code"], "NOT_FOUND", "{foreign}");

    for (query, code) in [
        ("mutation { createAccessToken(input: { name: \"x\", scopes: [\"recall.read\"] }) { secret errors { code } } }", "FORBIDDEN"),
        ("mutation { revokeToken(input: { issuer: \"x\", tokenId: \"y\" }) { errors { code } } }", "INSUFFICIENT_SCOPE"),
    ] {
        let (_, answer) = browser.graphql(query).await;
        assert!(answer.to_string().contains(code), "{query}: {answer}");
    }
    for path in ["/metrics", "/export"] {
        assert_eq!(browser.get(path).await.status(), 403, "{path}");
    }
}

#[tokio::test]
async fn a_visitor_keeps_no_more_than_the_quota() {
    let (_issuer, server) = world().await;
    let browser = Browser::visiting(&server).await;
    let session = browser.new_session().await;
    for n in 0..20 {
        assert_eq!(browser.say(&session, &format!("m{n}")).await["data"]["sendMessage"]["errors"], json!([]));
    }
    assert!(browser.say(&session, "one more").await.to_string().contains("VISIT_FULL"));
    let (_, imported) = browser
        .graphql(&format!(
            "mutation {{ importMessages(input: {{ sessionId: \"{session}\", messages: [{{ text: \"x\" }}] }}) {{ errors {{ code }} }} }}"
        ))
        .await;
    assert!(imported.to_string().contains("VISIT_FULL"), "{imported}");
    let request = browser.request(Method::POST, "/chat").header("x-csrf-token", browser.csrf().await);
    let (status, code) = code_of(request.json(&json!({ "session_id": session, "message": "x" })).send().await.unwrap()).await;
    assert_eq!((status, code.as_str()), (409, "VISIT_FULL"));
    for _ in 0..2 {
        browser.new_session().await;
    }
    let (_, fourth) = browser.graphql("mutation { createSession(input: {}) { session { id } errors { code } } }").await;
    assert!(fourth.to_string().contains("VISIT_FULL"), "{fourth}");
    assert_eq!(browser.sessions().await, 3, "reading goes on");
}

#[tokio::test]
async fn the_cookie_of_a_visit_alone_changes_nothing() {
    let (issuer, server) = world().await;
    let (browser, other) = (Browser::visiting(&server).await, Browser::visiting(&server).await);
    let foreign = other.csrf().await;
    let mutation = json!({ "query": "mutation { createSession(input: {}) { session { id } } }" });
    for shown in [None, Some(""), Some(foreign.as_str())] {
        for (method, path) in
            [(Method::POST, "/graphql"), (Method::POST, "/chat"), (Method::DELETE, "/auth/visit"), (Method::POST, "/auth/adopt")]
        {
            let mut request = browser.request(method.clone(), path).json(&mutation);
            if let Some(shown) = shown {
                request = request.header("x-csrf-token", shown);
            }
            let answer = code_of(request.send().await.unwrap()).await;
            assert_eq!(answer, (403, "CSRF_TOKEN_REQUIRED".to_owned()), "{method} {path} {shown:?}");
        }
    }
    assert_eq!(browser.sessions().await, 0);
    // A foreign page begins no visit, and ends none.
    for method in [Method::POST, Method::DELETE] {
        let request = browser.request(method, "/auth/visit").header("origin", "https://evil.example");
        assert_eq!(request.send().await.unwrap().status(), 403);
    }
    assert!(browser.viewer().await.is_some());
    // Who is logged in shows the token of the login, and takes nothing over without it.
    browser.log_in(&issuer, "anna", json!({})).await;
    let bare = browser.request(Method::POST, "/auth/adopt");
    assert_eq!(code_of(bare.send().await.unwrap()).await, (403, "CSRF_TOKEN_REQUIRED".to_owned()));
    assert_eq!(browser.session().await["visit"]["messages"], 0, "it is still there");
}

#[tokio::test]
async fn a_visit_always_has_a_secret_that_nobody_knew_before() {
    let (_issuer, server) = world().await;
    let victim = Browser::at(&server);
    victim.plant(VISIT, &"0123456789abcdef".repeat(4));
    assert_eq!(victim.viewer().await, None, "an invented secret opens nothing");
    assert_eq!(victim.visit().await.status(), 201);
    assert_ne!(victim.cookie(VISIT).unwrap(), "0123456789abcdef".repeat(4));

    // One that an attacker holds: whoever begins a visit begins their own, and that of the attacker is over.
    let attacker = Browser::visiting(&server).await;
    let planted = attacker.cookie(VISIT).unwrap();
    let victim = Browser::at(&server);
    victim.plant(VISIT, &planted);
    victim.visit().await;
    assert_ne!(victim.cookie(VISIT).unwrap(), planted);
    let session = victim.new_session().await;
    victim.say(&session, "A secret.").await;
    assert_eq!(attacker.viewer().await, None);
    assert!(victim.viewer().await.is_some());

    // Two cookies, of which one was planted, are none.
    let both = format!("{VISIT}={planted}; {VISIT}={}", victim.cookie(VISIT).unwrap());
    let request = server.http.get(server.url("/graphql?query=%7Bviewer%7Bid%7D%7D")).header("cookie", both);
    assert_eq!(request.send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn a_visit_ends_unused_or_when_the_visitor_goes_and_everything_with_it() {
    let (issuer, server) = world().await;
    let browser = Browser::visiting(&server).await;
    let session = browser.new_session().await;
    browser.say(&session, "Mine.").await;
    issuer.clock.wait(LASTS - 10);
    let user = browser.viewer().await.unwrap();
    issuer.clock.wait(LASTS - 10);
    assert_eq!(browser.viewer().await, Some(user.clone()), "it was used meanwhile");
    let visitor = Caller::verified(user.parse::<UserId>().unwrap(), ViewerRole::Anonymous);
    assert!(server.store.ended_visits(issuer.clock.now(), 10).await.unwrap().is_empty());
    issuer.clock.wait(LASTS + 1);
    assert_eq!(browser.viewer().await, None);
    assert_eq!(server.store.ended_visits(issuer.clock.now(), 10).await.unwrap(), [visitor], "and is listed for whoever deletes it");

    let browser = Browser::visiting(&server).await;
    let session = browser.new_session().await;
    browser.say(&session, "Mine.").await;
    let visitor = Caller::verified(browser.viewer().await.unwrap().parse::<UserId>().unwrap(), ViewerRole::Anonymous);
    let before = browser.cookie(VISIT).unwrap();
    let leave = browser.request(Method::DELETE, "/auth/visit").header("x-csrf-token", browser.csrf().await);
    assert_eq!(browser.send(leave).await.status(), 204);
    assert_eq!(browser.cookie(VISIT), None);
    browser.plant(VISIT, &before);
    assert_eq!(browser.viewer().await, None);
    assert!(server.store.holdings(&visitor).await.unwrap().is_empty());

    // Nor does whoever logs out leave a visit behind.
    let browser = Browser::visiting(&server).await;
    let before = browser.cookie(VISIT).unwrap();
    browser.log_in(&issuer, "anna", json!({})).await;
    browser.log_out().await;
    browser.plant(VISIT, &before);
    assert_eq!(browser.viewer().await, None);
}

#[tokio::test]
async fn a_visit_on_which_nothing_is_said_ends_sooner_and_makes_room() {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let server = open_within(&issuer, Stored::sqlite().await, Limits::default(), 2).await;
    let (silent, speaks) = (Browser::visiting(&server).await, Browser::visiting(&server).await);
    let until = |session: &Value| session["expiresAt"].as_str().unwrap().parse::<recall_domain::Timestamp>().unwrap();
    let now = issuer.clock.now();
    let left = (until(&silent.session().await["visit"].clone()) - now).num_seconds();
    assert!((LASTS / 10 - 5..=LASTS / 10).contains(&left), "a tenth of the time: {left}");
    let session = speaks.new_session().await;
    speaks.say(&session, "Mine.").await;
    assert!((until(&speaks.session().await["visit"].clone()) - now).num_seconds() > LASTS - 10);

    // There is room for two from here, and whoever comes gets the place of the silent one.
    let third = Browser::visiting(&server).await;
    assert_eq!((silent.viewer().await, third.viewer().await.is_some(), speaks.viewer().await.is_some()), (None, true, true));
    let session = third.new_session().await;
    third.say(&session, "Mine.").await;
    let fourth = Browser::at(&server);
    assert_eq!(code_of(fourth.visit().await).await, (429, "TOO_MANY_VISITS".to_owned()));

    // Using it keeps it, leaving it open does not.
    issuer.clock.wait(LASTS + 1);
    let browser = Browser::visiting(&server).await;
    for _ in 0..3 {
        issuer.clock.wait(LASTS / 10 - 10);
        assert!(browser.viewer().await.is_some());
    }
    issuer.clock.wait(LASTS / 10 + 1);
    assert_eq!(browser.viewer().await, None);
}

#[tokio::test]
async fn what_comes_with_a_visit_counts_against_the_accounts_limit() {
    for stored in Stored::all().await {
        let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
        let limits = Limits { messages_by_day: Some(RateLimit { per_second: 1e-3, burst: 5 }), ..Limits::default() };
        let server = open_within(&issuer, stored, limits, 50).await;
        let anna = Browser::logged_in(&server, &issuer, "anna").await;
        let own = anna.new_session().await;
        for round in 1..=3 {
            let browser = Browser::visiting(&server).await;
            let session = browser.new_session().await;
            for n in 0..2 {
                browser.say(&session, &format!("m{n}")).await;
            }
            browser.log_in(&issuer, "anna", json!({})).await;
            let (status, answer) = browser.adopt().await;
            assert_eq!((status, &answer["adopted"]["messages"]), (200, &json!(2)), "nobody loses what they told: {answer}");
            assert_eq!(browser.sessions().await, round + 1);
        }
        let refused = anna.say(&own, "one more").await;
        assert!(refused.to_string().contains("RATE_LIMITED"), "six of five: {refused}");
        let other = Browser::logged_in(&server, &issuer, "boris").await;
        let own = other.new_session().await;
        assert_eq!(other.say(&own, "m").await["data"]["sendMessage"]["errors"], json!([]));
    }
}

#[tokio::test]
async fn a_login_that_has_ended_does_not_become_a_visit() {
    let (issuer, server) = world().await;
    let browser = Browser::visiting(&server).await;
    let session = browser.new_session().await;
    browser.say(&session, "Mine.").await;
    let visitor = browser.viewer().await.unwrap();
    browser.log_in(&issuer, "anna", json!({})).await;
    let anna = browser.viewer().await.unwrap();
    assert_ne!(anna, visitor, "the login counts");
    assert_eq!(code_of(browser.visit().await).await, (409, "ALREADY_LOGGED_IN".to_owned()));
    issuer.clock.wait(IDLE - 100);
    let kept = browser.cookie("__Host-recall").unwrap();
    browser.jar.lock().unwrap().remove("__Host-recall");
    assert_eq!(browser.viewer().await, Some(visitor.clone()));
    browser.plant("__Host-recall", &kept);
    issuer.clock.wait(200);
    assert_eq!(browser.viewer().await, None, "what is written now was meant for anna");
    let asked = browser.session().await;
    assert_eq!((&asked["user"], &asked["csrfToken"]), (&Value::Null, &Value::Null));
    // Only who asks for it goes on without a login, in a new visit.
    assert_eq!(browser.visit().await.status(), 201);
    assert_eq!(browser.cookie("__Host-recall"), None);
    let next = browser.viewer().await.unwrap();
    assert!(next != visitor && next != anna);
}

#[tokio::test]
async fn a_visit_is_taken_into_the_account_of_who_holds_both_and_weighed_with_what_is_there() {
    for stored in Stored::all().await {
        let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
        let server = open(&issuer, stored).await;
        let anna = Browser::logged_in(&server, &issuer, "anna").await;
        let own = anna.new_session().await;
        anna.state(&own, ["Maren", "LIVES_IN", "Bern"]).await;
        anna.state(&own, ["Maren", "LIKES", "Tea"]).await;

        let browser = Browser::visiting(&server).await;
        let theirs = browser.new_session().await;
        browser.state(&theirs, ["Maren", "LIVES_IN", "Bonn"]).await;
        browser.state(&theirs, ["Maren", "LIKES", "Tea"]).await;
        browser.state(&theirs, ["Tom", "DISLIKES", "Tea"]).await;
        let (_, alone) = browser.graphql("{ facts(first: 9, filter: { relation: \"DISLIKES\" }) { nodes { id } } }").await;
        let taken_back = alone["data"]["facts"]["nodes"][0]["id"].as_str().unwrap().to_owned();
        browser.graphql(&format!("mutation {{ retractFact(input: {{ id: \"{taken_back}\" }}) {{ errors {{ code }} }} }}")).await;
        let secret = browser.cookie(VISIT).unwrap();
        let visitor = Caller::verified(browser.viewer().await.unwrap().parse::<UserId>().unwrap(), ViewerRole::Anonymous);
        assert_eq!(browser.adopt().await.0, 403, "nobody is logged in");

        // Without the cookie of the visit there is nothing to take, whoever asks.
        assert_eq!(anna.adopt().await, (200, json!({ "adopted": null })));
        assert_eq!(anna.sessions().await, 1);

        browser.log_in(&issuer, "anna", json!({})).await;
        assert_eq!(browser.sessions().await, 1, "nothing comes into an account unasked");
        assert_eq!(browser.session().await["visit"]["messages"], 3);
        let (status, answer) = browser.adopt().await;
        assert_eq!(
            (status, &answer["adopted"]["messages"], &answer["adopted"]["sessions"]),
            (200, &json!(3), &json!([theirs])),
            "{answer}"
        );
        assert_eq!((browser.cookie(VISIT), browser.session().await["visit"].clone()), (None, Value::Null));

        let facts = browser.facts().await;
        let expected = ["Maren LIKES Tea", "Maren LIVES_IN Bern", "Maren LIVES_IN Bonn", "Tom DISLIKES Tea"];
        assert_eq!(facts.keys().map(String::as_str).collect::<Vec<_>>(), expected, "one Maren, one Tea");
        assert_eq!(facts["Maren LIKES Tea"].1, 2, "said in both places");
        assert!((facts["Maren LIVES_IN Bern"].0 + facts["Maren LIVES_IN Bonn"].0 - 1.0).abs() < 1e-3, "rivals: {facts:?}");
        // One message for, one against, as if both had been said here.
        let query = "{ facts(first: 9, filter: { relation: \"LIVES_IN\" }) { nodes { belief evidence(first: 9) { nodes { stance } } } } }";
        let (_, rivals) = browser.graphql(query).await;
        for rival in rivals["data"]["facts"]["nodes"].as_array().unwrap() {
            assert_eq!(
                (rival["belief"].as_f64().map(|b| (b * 100.0).round()), rival["evidence"]["nodes"].as_array().map(Vec::len)),
                (Some(50.0), Some(2)),
                "{rivals}"
            );
        }
        let (_, still) = browser.graphql(&format!("{{ fact(id: \"{taken_back}\") {{ status }} }}")).await;
        assert_eq!(still["data"]["fact"]["status"], "RETRACTED", "what was taken back stays so, under its id: {still}");
        let (_, found) = browser.graphql(&format!("{{ session(id: \"{theirs}\") {{ messages(first: 9) {{ totalCount }} }} }}")).await;
        assert_eq!(found["data"]["session"]["messages"]["totalCount"], 3, "{found}");
        assert!(server.store.adopted(&visitor, 10).await.unwrap().is_empty());

        // Again there is nothing, for nobody, and the secret opens nothing more.
        for subject in ["anna", "boris"] {
            let again = Browser::logged_in(&server, &issuer, subject).await;
            again.plant(VISIT, &secret);
            assert_eq!(again.adopt().await, (200, json!({ "adopted": null })));
        }
        let thief = Browser::at(&server);
        thief.plant(VISIT, &secret);
        assert_eq!(thief.viewer().await, None);
        assert_eq!(anna.facts().await, facts, "and nothing was doubled");
        let (_, log) = anna.graphql("{ auditLog(first: 50) { nodes { action target } } }").await;
        let noted = json!({ "action": "visit.adopted", "target": visitor.user().to_string() });
        assert!(log["data"]["auditLog"]["nodes"].as_array().unwrap().contains(&noted), "{log}");
    }
}

#[tokio::test]
async fn a_stream_of_a_visit_ends_with_its_adoption_and_goes_on_as_the_accounts() {
    let (issuer, server) = world().await;
    let browser = Browser::visiting(&server).await;
    let session = browser.new_session().await;
    let path = format!("/sessions/{session}/events");
    let mut events = browser.get(&path).await;
    browser.say(&session, "One.").await;
    browser.log_in(&issuer, "anna", json!({})).await;
    assert_eq!(browser.adopt().await.0, 200);
    let heard = until(&mut events, "bye").await;
    assert_eq!(heard.last().unwrap().2["code"], "auth_expired");
    assert!(heard.iter().any(|e| e.2["text"] == "One."), "{heard:?}");
    let cursor = heard.iter().rev().find(|e| !e.0.is_empty()).unwrap().0.clone();
    browser.say(&session, "Two.").await;
    let mut again = browser.send(browser.request(Method::GET, &path).header("last-event-id", cursor)).await;
    let heard = until(&mut again, "caught_up").await;
    let texts: Vec<_> = heard.iter().filter(|e| e.1 == "message_stored").map(|e| e.2["text"].clone()).collect();
    assert_eq!(texts, ["Two."], "nothing lost, nothing doubled");
}
