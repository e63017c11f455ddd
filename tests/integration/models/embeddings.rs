//! Vectors from a server.

use std::time::Duration;

use recall_domain::UserText;
use recall_models::{ModelEmbedder, ModelEmbedderOptions};
use recall_ports::{EmbedError, Embedder};

use super::{
    client, client_with,
    server::{Abilities, DIMENSION, ModelServer, Reaction, vector},
};

fn fine(_: usize, _: &serde_json::Value) -> Reaction {
    Reaction::Say(String::new())
}

async fn embedder(server: &ModelServer, options: ModelEmbedderOptions) -> ModelEmbedder {
    ModelEmbedder::connect(client(server), options).await.unwrap()
}

fn unit(text: &str) -> Vec<f32> {
    let v = vector(text, DIMENSION);
    let norm = v.iter().map(|x| x * x).sum::<f32>().sqrt();
    v.into_iter().map(|x| x / norm).collect()
}

fn assert_like(a: &[f32], b: &[f32]) {
    let dot: f32 = a.iter().zip(b).map(|(x, y)| x * y).sum();
    assert!((dot - 1.0).abs() < 1e-4, "{dot}");
}

#[tokio::test]
async fn texts_get_unit_vectors_in_order_and_in_batches() {
    let server = ModelServer::start(fine).await;
    let embedder = embedder(&server, ModelEmbedderOptions { batch: 4, ..Default::default() }).await;
    assert_eq!((embedder.dimension(), embedder.model()), (DIMENSION, "test-model/384"));
    let texts: Vec<UserText> = (0..10).map(|i| UserText::from(format!("word{i} sea walk"))).collect();
    let vectors = embedder.embed(&texts).await.unwrap();
    assert_eq!(vectors.len(), 10);
    for (t, v) in texts.iter().zip(&vectors) {
        assert_like(&v.0, &unit(t.as_str()));
    }
    let sizes: Vec<usize> = server.seen().iter().map(|(_, r)| r["input"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [1, 4, 4, 2]);
}

#[tokio::test]
async fn blank_texts_are_not_sent_and_long_ones_are_cut_until_they_fit() {
    let server = ModelServer::start(fine).await;
    let embedder = embedder(&server, ModelEmbedderOptions { dimension: Some(DIMENSION), ..Default::default() }).await;
    assert!(server.seen().is_empty(), "with a known dimension nothing is asked at start");
    let long = "é walk by the sea ".repeat(2_000);
    let texts: Vec<UserText> = ["", "Mary", " \u{0}\n", &long, "John"].map(UserText::from).into();
    let vectors = embedder.embed(&texts).await.unwrap();
    for blank in [0, 2] {
        assert!(vectors[blank].0.iter().all(|x| *x == 0.0) && vectors[blank].0.len() == DIMENSION);
    }
    assert_like(&vectors[1].0, &unit("Mary"));
    assert_like(&vectors[4].0, &unit("John"));
    assert!((vectors[3].0.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-4);
}

#[tokio::test]
async fn a_server_that_changes_its_mind_about_the_length_is_refused() {
    let server = ModelServer::with(Abilities { dimension_changes: true, ..Default::default() }, fine).await;
    let embedder = embedder(&server, ModelEmbedderOptions::default()).await;
    let e = embedder.embed(&["Mary".into()]).await.unwrap_err();
    assert!(matches!(&e, EmbedError::Permanent(m) if m.contains("length")), "{e}");
}

#[tokio::test]
async fn what_may_pass_is_repeated_and_a_wait_asked_for_is_kept() {
    let server = ModelServer::start(|n, _| match n {
        0 => Reaction::Wait("1"),
        1 => Reaction::Fail(500),
        _ => Reaction::Say(String::new()),
    })
    .await;
    let embedder = embedder(&server, ModelEmbedderOptions { dimension: Some(DIMENSION), ..Default::default() }).await;
    embedder.embed(&["Mary".into()]).await.unwrap();
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert!(seen[1].0 - seen[0].0 >= Duration::from_secs(1), "{:?}", seen[1].0 - seen[0].0);
}

#[tokio::test]
async fn failures_say_what_and_never_quote() {
    let secret = "Xylophagia";
    for (reaction, transient) in
        [(Reaction::Fail(500), true), (Reaction::Fail(400), false), (Reaction::Garbage, false), (Reaction::Wait("3600"), true)]
    {
        let script = reaction.clone();
        let server = ModelServer::start(move |_, _| script.clone()).await;
        let embedder = embedder(&server, ModelEmbedderOptions { dimension: Some(DIMENSION), ..Default::default() }).await;
        let e = embedder.embed(&[secret.into()]).await.unwrap_err();
        assert_eq!(matches!(e, EmbedError::Transient(_)), transient, "{reaction:?}: {e}");
        assert!(!format!("{e} {e:?}").contains(secret), "{e}");
    }
}

#[tokio::test]
async fn a_wrong_key_or_model_or_nobody_there_is_told_apart() {
    let server = ModelServer::start(fine).await;
    let connect = |change: fn(&mut recall_models::Endpoint)| {
        let client = client_with(&server, change);
        async move { ModelEmbedder::connect(client, ModelEmbedderOptions::default()).await.err().unwrap() }
    };
    assert!(connect(|e| e.key = Some("wrong".into())).await.to_string().contains("status 401, code invalid_api_key"));
    assert!(connect(|e| e.model = "other".to_owned()).await.to_string().contains("status 404, code model_not_found"));
    let gone = connect(|e| e.url = "http://127.0.0.1:9/v1".to_owned()).await;
    assert!(gone.may_pass() && gone.to_string().contains("cannot be connected to"), "{gone}");
}
