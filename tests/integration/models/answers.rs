//! Answers from a model: streamed, cited, cancelled, and replaced when the model fails.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use recall_domain::{
    Caller, Message, MessageId, MessageStatus, ModelOperation, Ontology, Role, SessionId, Timestamp,
    context::{Context, RankedMessage},
};
use recall_models::{Dialect, Format, ModelAnswerer, ModelAnswererOptions};
use recall_ports::{AnswerDraft, AnswerError, AnswerSink, Answerer, Asked};
use recall_understand::default_ontology;
use uuid::Uuid;

use super::{
    budget, caller, client, client_with,
    server::{Abilities, ModelServer, Reaction},
};
use crate::server::within;

#[derive(Default)]
struct Heard(Mutex<String>);

impl AnswerSink for Heard {
    fn delta(&self, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }
}

/// Stands in for the answerer without a model.
struct Plain;

#[async_trait]
impl Answerer for Plain {
    fn name(&self) -> &str {
        "plain"
    }
    async fn answer(&self, _: &Caller, _: &Asked, _: &Context, _: &dyn AnswerSink) -> Result<AnswerDraft, AnswerError> {
        Ok(AnswerDraft { grounded: true, ..AnswerDraft::ungrounded("plainly") })
    }
}

fn message(n: u128, text: &str, score: f64) -> RankedMessage {
    let at = Timestamp::from_timestamp(1_700_000_000, 0).unwrap();
    let message = Message {
        id: MessageId(Uuid::from_u128(n)),
        session: SessionId(Uuid::from_u128(1)),
        position: 1,
        role: Role::User,
        speaker: None,
        text: text.into(),
        kind: None,
        status: MessageStatus::Processed,
        sent_at: at,
        created_at: at,
        source_metadata: None,
        external_id: None,
        answer_to: None,
        citations: Vec::new(),
        nearest: Vec::new(),
        remembered: true,
    };
    RankedMessage { message, score, methods: Vec::new(), shared: false }
}

fn context(messages: Vec<RankedMessage>) -> Context {
    Context { messages, ..Context::default() }
}

fn asked() -> Asked {
    let at = Timestamp::from_timestamp(1_700_086_400, 0).unwrap();
    Asked { message: Some(MessageId(Uuid::from_u128(77))), text: "Who?".into(), original: None, at }
}

fn three() -> Context {
    context(vec![message(1, "Mary moved to Ghent.", 0.8), message(2, "John likes tea.", 0.9), message(3, "It rained.", 0.7)])
}

fn answerer(server: &ModelServer, per_user: Option<u64>, options: ModelAnswererOptions) -> ModelAnswerer {
    answerer_over(client(server), per_user, options)
}

fn answerer_over(client: Arc<recall_models::ModelClient>, per_user: Option<u64>, options: ModelAnswererOptions) -> ModelAnswerer {
    let ontology = Arc::new(Ontology::parse(default_ontology()).unwrap());
    let (budget, _) = budget(per_user);
    ModelAnswerer::new(client, Arc::new(Plain), ontology, budget, options)
}

async fn ask(server: &ModelServer, context: &Context) -> (AnswerDraft, String) {
    let heard = Heard::default();
    let draft = answerer(server, None, ModelAnswererOptions::default()).answer(&caller(), &asked(), context, &heard).await.unwrap();
    (draft, heard.0.into_inner().unwrap())
}

fn say(text: &'static str) -> impl Fn(usize, &serde_json::Value) -> Reaction {
    move |_, _| Reaction::Say(text.to_owned())
}

#[tokio::test]
async fn streamed_answer_cites_only_existing_context() {
    let server = ModelServer::start(say("John likes tea [1]. Mary moved [2][9], long ago [7, 1].")).await;
    let (draft, heard) = ask(&server, &three()).await;
    assert_eq!(draft.text.as_str(), "John likes tea [1]. Mary moved [2], long ago [1].");
    assert_eq!(heard, draft.text.as_str(), "the stream contained a mark that points to nothing");
    assert_eq!((draft.grounded, draft.answerer.as_deref()), (true, None));
    let cited: Vec<_> = draft.citations.iter().map(|c| (c.index, c.message_id.unwrap().0.as_u128(), c.excerpt.as_str())).collect();
    assert_eq!(cited, [(1, 2, "John likes tea."), (2, 1, "Mary moved to Ghent.")]);
    let shown = server.shown(0);
    assert_eq!((shown["question"].as_str(), shown["items"].as_array().unwrap().len()), (Some("Who?"), 3));
    assert_eq!(shown["items"][0]["message"], "John likes tea.", "not sorted by score");
    assert_eq!(shown["today"], "Wednesday, 15 November 2023");
    assert_eq!(shown["items"][0]["on"], "Tuesday, 14 November 2023");
}

#[tokio::test]
async fn ungrounded_answer_becomes_i_do_not_know() {
    let server = ModelServer::start(say("Certainly John, I am sure of it.")).await;
    let (draft, _) = ask(&server, &context(Vec::new())).await;
    assert!(server.seen().is_empty(), "the model was asked without context");
    assert_eq!(draft.answerer.as_deref(), Some("plain"));
    // A statement of the model without a valid citation may be invented.
    for text in ["Certainly John, I am sure of it.", "John [8].", "I don't know."] {
        let server = ModelServer::start(say(text)).await;
        let (draft, _) = ask(&server, &three()).await;
        assert!(draft.text.as_str().starts_with("I don't know") && !draft.grounded && draft.citations.is_empty(), "{text}");
    }
}

#[tokio::test]
async fn context_is_trimmed_by_score_to_token_budget() {
    let many = (0..200).map(|i| message(i, &format!("{i} {}", "long ago ".repeat(20)), 1.0 - i as f64 / 1_000.0));
    let context = context(many.chain([message(999, &"x".repeat(60_000), 0.999)]).collect());
    let server = ModelServer::start(say("It was [1].")).await;
    let options = ModelAnswererOptions { context_tokens: 500, ..Default::default() };
    answerer(&server, None, options).answer(&caller(), &asked(), &context, &Heard::default()).await.unwrap();
    let items = server.shown(0)["items"].as_array().unwrap().clone();
    assert!(items.len() >= 3 && serde_json::to_string(&items).unwrap().len() < 2_300, "{}", items.len());
    assert!(items[0]["message"].as_str().unwrap().starts_with("0 long"));
    assert!(items.iter().zip(1..).all(|(item, n)| item["n"] == n));
}

#[tokio::test]
async fn model_failure_before_first_token_is_retried() {
    for first in [
        Reaction::Fail(500),
        Reaction::Wait("1"),
        Reaction::Fail(503),
        Reaction::Late(Duration::from_secs(60), "Late [1].".to_owned()),
        Reaction::Complain(String::new()),
    ] {
        let script = first.clone();
        let server = ModelServer::start(move |n, _| if n == 0 { script.clone() } else { Reaction::Say("John [1].".to_owned()) }).await;
        let client = client_with(&server, |e| e.silence = Duration::from_millis(700));
        let draft = answerer_over(client, None, ModelAnswererOptions::default())
            .answer(&caller(), &asked(), &three(), &Heard::default())
            .await
            .unwrap();
        assert_eq!((draft.text.as_str(), server.seen().len()), ("John [1].", 2), "{first:?}");
        let seen = server.seen();
        assert!(!matches!(first, Reaction::Wait(_)) || seen[1].0 - seen[0].0 >= Duration::from_secs(1));
    }
}

#[tokio::test]
async fn model_failure_after_first_token_is_not_retried() {
    let begun = || "John likes".to_owned();
    for fault in
        [Reaction::Break(begun()), Reaction::Stop(begun()), Reaction::Hang(begun()), Reaction::Complain(begun()), Reaction::Garbage]
    {
        let script = fault.clone();
        let server = ModelServer::start(move |_, _| script.clone()).await;
        let client = client_with(&server, |e| e.silence = Duration::from_millis(500));
        let heard = Heard::default();
        let draft =
            answerer_over(client, None, ModelAnswererOptions::default()).answer(&caller(), &asked(), &three(), &heard).await.unwrap();
        assert_eq!(server.seen().len(), 1, "{fault:?}");
        assert_eq!((draft.text.as_str(), draft.answerer.as_deref()), ("plainly", Some("plain")), "{fault:?}");
        assert!(!heard.0.lock().unwrap().is_empty());
        server.idle().await;
    }
}

#[tokio::test]
async fn unavailable_model_falls_back_to_plain_answer() {
    for (fault, requests) in [
        (Reaction::Fail(500), 3),
        (Reaction::Fail(404), 1),
        (Reaction::Fail(400), 1),
        (Reaction::Refuse, 1),
        (Reaction::Wait("3600"), 1),
        (Reaction::Say(String::new()), 1),
    ] {
        let script = fault.clone();
        let server = ModelServer::start(move |_, _| script.clone()).await;
        let (draft, _) = ask(&server, &three()).await;
        assert_eq!(
            (draft.text.as_str(), draft.answerer.as_deref(), server.seen().len()),
            ("plainly", Some("plain"), requests),
            "{fault:?}"
        );
    }
}

#[tokio::test]
async fn failing_model_server_gets_one_attempt_per_request() {
    let server = ModelServer::start(|n, _| if n < 4 { Reaction::Fail(500) } else { Reaction::Say("John [1].".to_owned()) }).await;
    let answerer = answerer(&server, None, ModelAnswererOptions::default());
    for (requests, by) in [(3, "plain"), (4, "plain"), (5, "")] {
        let draft = answerer.answer(&caller(), &asked(), &three(), &Heard::default()).await.unwrap();
        assert_eq!((server.seen().len(), draft.answerer.as_deref().unwrap_or_default()), (requests, by));
    }
}

#[tokio::test]
async fn answer_at_token_limit_ends_with_ellipsis() {
    let server = ModelServer::start(|_, _| Reaction::Length("John likes tea [1] and".to_owned())).await;
    let (draft, _) = ask(&server, &three()).await;
    assert_eq!((draft.text.as_str(), draft.grounded), ("John likes tea [1] and…", true));
    // A server that ignores the limit is cut off.
    let server = ModelServer::start(|_, _| Reaction::Hang("John [1]. ".repeat(200))).await;
    let options = ModelAnswererOptions { answer_tokens: 20, ..Default::default() };
    let draft = answerer(&server, None, options).answer(&caller(), &asked(), &three(), &Heard::default()).await.unwrap();
    assert!(draft.text.as_str().len() < 400 && draft.text.as_str().ends_with('…'));
    server.idle().await;
}

#[tokio::test]
async fn cancelled_answer_ends_model_request_and_is_charged() {
    let server = ModelServer::start(|_, _| Reaction::Hang("John likes".to_owned())).await;
    let (budget, ledger) = budget(None);
    let ontology = Arc::new(Ontology::parse(default_ontology()).unwrap());
    let answerer = Arc::new(ModelAnswerer::new(client(&server), Arc::new(Plain), ontology, budget, ModelAnswererOptions::default()));
    let heard = Arc::new(Heard::default());
    let (a, h) = (answerer.clone(), heard.clone());
    let job = tokio::spawn(async move { a.answer(&caller(), &asked(), &three(), h.as_ref()).await.map(|_| ()) });
    let begun = async {
        while heard.0.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within("the answer does not begin", begun).await;
    assert_eq!(server.open(), 1);
    job.abort();
    server.idle().await;
    // The tokens used until then are charged.
    let charged = async {
        while ledger.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within("the cancelled request is not charged", charged).await;
    assert_eq!(ledger.requests(), [(ModelOperation::Answer, vec![77])]);
    assert!(ledger.total() > 0);
}

#[tokio::test]
async fn used_up_token_budget_stops_model_requests() {
    let server = ModelServer::start(say("John [1].")).await;
    let answerer = answerer(&server, Some(50), ModelAnswererOptions::default());
    let by = |d: AnswerDraft| d.answerer.unwrap_or("test-model".to_owned());
    assert_eq!(by(answerer.answer(&caller(), &asked(), &three(), &Heard::default()).await.unwrap()), "test-model");
    assert_eq!(by(answerer.answer(&caller(), &asked(), &three(), &Heard::default()).await.unwrap()), "plain");
    assert_eq!(server.seen().len(), 1);
    let other = Caller::verified(recall_domain::UserId(Uuid::from_u128(8)), recall_domain::ViewerRole::User);
    assert_eq!(by(answerer.answer(&other, &asked(), &three(), &Heard::default()).await.unwrap()), "test-model");
}

#[tokio::test]
async fn concurrent_model_requests_are_limited() {
    let server = ModelServer::start(|_, _| Reaction::Late(Duration::from_millis(150), "John [1].".to_owned())).await;
    let client = client_with(&server, |e| e.concurrency = 2);
    let answerer = Arc::new(answerer_over(client, None, ModelAnswererOptions::default()));
    let jobs = (0..6).map(|_| {
        let a = answerer.clone();
        tokio::spawn(async move { a.answer(&caller(), &asked(), &three(), &Heard::default()).await.unwrap() })
    });
    for job in jobs.collect::<Vec<_>>() {
        assert_eq!(job.await.unwrap().text.as_str(), "John [1].");
    }
    let moments: Vec<_> = server.seen().iter().map(|(at, _)| *at).collect();
    for (a, b) in moments.iter().zip(moments.iter().skip(2)) {
        assert!(*b - *a >= Duration::from_millis(140), "the third request did not wait for the first");
    }
}

#[tokio::test]
async fn probe_detects_model_server_abilities() {
    use Format::{JsonObject, JsonSchema, Plain};
    for (json_schema, json_object, modern, expected) in [
        (Some(true), Some(true), true, JsonSchema),
        (Some(false), Some(true), true, JsonObject),
        (None, Some(true), true, JsonObject),
        (Some(false), Some(false), true, Plain),
        (None, None, true, Plain),
        (Some(true), Some(true), false, JsonSchema),
        (Some(false), Some(false), false, Plain),
    ] {
        let abilities = Abilities { json_schema, json_object, modern, dimension_changes: false };
        let server = ModelServer::with(abilities, say("John [1].")).await;
        let client = client(&server);
        let dialect = client.probe().await.unwrap();
        assert_eq!(dialect.format, expected, "{abilities:?}");
        assert_eq!((dialect.temperature, dialect.max_completion_tokens), (modern, modern), "{abilities:?}");
        // The client learns on the way what the probe does not try.
        let draft = answerer_over(client.clone(), None, ModelAnswererOptions::default())
            .answer(&caller(), &asked(), &three(), &Heard::default())
            .await
            .unwrap();
        assert_eq!(draft.text.as_str(), "John [1].", "{abilities:?}");
        assert_eq!(client.dialect(), Dialect { usage_in_stream: modern, ..dialect });
    }
}
