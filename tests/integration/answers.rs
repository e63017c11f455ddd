//! Answers without a model, end to end.
//! Each test tells a server composed conversations, asks questions as messages, and compares the answers with
//! accepted ones. Every third question is held out: its answer is never printed, so that nobody tunes for it.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::server::{Server, TIMEOUT};

/// Minimum share of right answers over all answerable questions.
const LEAST_RIGHT: f64 = 0.94;
/// Minimum share of right answers over the held-out questions.
const LEAST_RIGHT_HELD: f64 = 0.87;
/// Maximum number of answers to unanswerable questions.
const MOST_FALSE: usize = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    /// When the questions are asked.
    asked: String,
    /// Imported as a recorded conversation; otherwise sent message by message.
    #[serde(default)]
    recorded: bool,
    told: Vec<Statement>,
    ask: Vec<Ask>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    on: String,
    by: Option<String>,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    kind: String,
    q: String,
    /// The answer contains at least one of these.
    #[serde(default)]
    gold: Vec<String>,
    /// The answer contains all of these.
    #[serde(default)]
    all: Vec<String>,
    /// The answer contains none of these.
    #[serde(default)]
    never: Vec<String>,
}

impl Ask {
    fn is_right(&self, answer: &Answer) -> bool {
        let has = |s: &String| has_words(&answer.text, s);
        let told = (self.gold.is_empty() || self.gold.iter().any(has)) && self.all.iter().all(has);
        answer.cited && told && !self.never.iter().any(has)
    }
}

/// Whether a text contains these words as whole words ("no" is not in "know").
pub(crate) fn has_words(text: &str, words: &str) -> bool {
    let (text, words) = (text.to_lowercase(), words.to_lowercase());
    let inside = |c: Option<char>, edge: Option<char>| c.is_some_and(char::is_alphanumeric) && edge.is_some_and(char::is_alphanumeric);
    text.match_indices(&words).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + words.len()..].chars().next());
        !inside(before, words.chars().next()) && !inside(after, words.chars().next_back())
    })
}

pub(crate) struct Answer {
    pub(crate) text: String,
    /// Whether the answer cites at least one source.
    pub(crate) cited: bool,
}

/// Sends a question and waits for its answer.
pub(crate) async fn ask(server: &Server, session: &str, text: &str, at: &str) -> Answer {
    let sent = server.send(json!({ "sessionId": session, "text": text, "sentAt": at })).await.unwrap();
    let query = "query($id: ID!) { message(id: $id) { kind status answer { text citations { index excerpt } } } }";
    let started = std::time::Instant::now();
    loop {
        let message = server.graphql(query, json!({ "id": sent["id"] })).await["message"].clone();
        if let Some(text) = message["answer"]["text"].as_str() {
            let marks: Vec<u64> = message["answer"]["citations"].as_array().unwrap().iter().filter_map(|c| c["index"].as_u64()).collect();
            check_marks(text, &marks);
            return Answer { text: text.to_owned(), cited: !marks.is_empty() };
        }
        if message["status"] != "PROCESSING" && !["QUESTION", "MIXED"].contains(&message["kind"].as_str().unwrap_or_default()) {
            return Answer { text: "(was not taken for a question)".into(), cited: false };
        }
        assert!(started.elapsed() < TIMEOUT, "no answer to {text}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// Checks that marks are numbered from 1 in text order, each once in the list.
fn check_marks(text: &str, marks: &[u64]) {
    assert_eq!(marks, (1..=marks.len() as u64).collect::<Vec<_>>(), "{text}");
    let places: Vec<usize> = marks.iter().map(|m| text.find(&format!("[{m}]")).unwrap_or_else(|| panic!("no [{m}] in {text}"))).collect();
    assert!(places.is_sorted(), "{text}");
}

/// Starts a server, tells it the conversation, and asks the questions.
async fn play(scenario: &Scenario) -> Vec<Answer> {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let session = server.create_session().await;
    let moment = |day: &str| format!("{day}T12:00:00Z");
    if scenario.recorded {
        let query =
            "mutation($s: ID!, $m: [ImportedMessage!]!) { importMessages(input: { sessionId: $s, messages: $m }) { errors { code } } }";
        let messages: Vec<Value> =
            scenario.told.iter().map(|t| json!({ "text": t.text, "speaker": t.by, "sentAt": moment(&t.on) })).collect();
        let data = server.graphql(query, json!({ "s": session, "m": messages })).await;
        assert_eq!(data["importMessages"]["errors"], json!([]));
    } else {
        for told in &scenario.told {
            server.send(json!({ "sessionId": session, "text": told.text, "speaker": told.by, "sentAt": moment(&told.on) })).await.unwrap();
        }
    }
    server.settle(&session).await;
    let asking = server.create_session().await;
    let mut answers = Vec::new();
    for question in &scenario.ask {
        answers.push(ask(&server, &asking, &question.q, &moment(&scenario.asked)).await);
    }
    if std::env::var("ANSWERS_FACTS").is_ok() {
        for (words, ..) in server.facts().await {
            println!("    {words}");
        }
    }
    answers
}

#[derive(Default)]
struct Tally {
    right: usize,
    asked: usize,
}

impl Tally {
    fn share(&self) -> f64 {
        self.right as f64 / self.asked.max(1) as f64
    }
}

#[tokio::test]
async fn answers_are_right_and_not_invented() {
    let mut files: Vec<_> =
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/answers")).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let only = std::env::var("ANSWERS_ONLY").unwrap_or_default();
    let (mut number, mut kinds) = (0, BTreeMap::<String, Tally>::new());
    let mut parts = [Tally::default(), Tally::default()];
    let (mut unanswerable, mut made_up) = ([0, 0], [0, 0]);
    for path in files {
        let scenario: Scenario = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        if !path.to_string_lossy().contains(&only) {
            number += scenario.ask.len();
            continue;
        }
        println!("{}", path.file_stem().unwrap().to_string_lossy());
        for (question, answer) in scenario.ask.iter().zip(play(&scenario).await) {
            let held = usize::from(number % 3 == 2);
            number += 1;
            let show = held == 0;
            if question.kind == "unknown" {
                unanswerable[held] += 1;
                if answer.cited {
                    made_up[held] += 1;
                    if show {
                        println!("  FALSE   {}\n          {}", question.q, answer.text);
                    }
                }
                continue;
            }
            let right = question.is_right(&answer);
            for tally in [kinds.entry(question.kind.clone()).or_default(), &mut parts[held]] {
                tally.asked += 1;
                tally.right += usize::from(right);
            }
            if show {
                println!("  {}   {}\n          {}", if right { "right" } else { "WRONG" }, question.q, answer.text);
            }
        }
    }
    println!("{:<12} right of asked", "kind");
    for (kind, tally) in &kinds {
        println!("{kind:<12} {:>5} of {:>3}", tally.right, tally.asked);
    }
    for (name, i) in [("worked", 0), ("held", 1)] {
        println!(
            "{name:<8} answers with the gold {}/{} = {:.3}, false answers {}/{}",
            parts[i].right,
            parts[i].asked,
            parts[i].share(),
            made_up[i],
            unanswerable[i]
        );
    }
    let all = Tally { right: parts[0].right + parts[1].right, asked: parts[0].asked + parts[1].asked };
    println!("all      answers with the gold {:.3}, false answers {}", all.share(), made_up[0] + made_up[1]);
    assert!(only.is_empty() || all.asked > 0, "no scenario has that name");
    if only.is_empty() {
        assert!(all.share() >= LEAST_RIGHT && parts[1].share() >= LEAST_RIGHT_HELD, "too few right answers");
        assert!(made_up[0] + made_up[1] <= MOST_FALSE, "too many answers to unanswerable questions");
    }
}

#[tokio::test]
async fn fact_that_is_asked_for_is_found_among_many_stronger_ones() {
    let told = |text: String| Statement { on: "2025-03-01".into(), by: None, text };
    // Told twice, so that each is stronger than where the user lives. There are more of them than a context reads without being asked.
    const PARTS: [&str; 11] = ["ba", "ko", "li", "mu", "ra", "ne", "to", "si", "va", "du", "pe"];
    let names = PARTS.iter().flat_map(|a| PARTS.iter().map(move |b| format!("I like {}{}{b}rin.", a[..1].to_uppercase(), &a[1..])));
    let liked = names.flat_map(|text| [text.clone(), text]);
    let scenario = Scenario {
        asked: "2025-03-02".into(),
        recorded: false,
        told: liked.chain(["I live in Porto.".to_owned()]).map(told).collect(),
        ask: vec![Ask {
            kind: "single".into(),
            q: "Where do I live?".into(),
            gold: vec!["You live in Porto".into()],
            all: vec![],
            never: vec![],
        }],
    };
    let answers = play(&scenario).await;
    assert!(scenario.ask[0].is_right(&answers[0]), "{}", answers[0].text);
}
