//! Routes and answers on the questions of labelled dialogues (`training/dialogues`). `--nocapture` prints the shares by author.
//!
//! Only the dialogues set aside have limits, so only they are played. `ALL=1` plays the others too, and `SHOW=1` also prints their questions that take a
//! wrong route or get no right answer. `DIALOGUES` names a folder with further dialogues of the same form.
//!
//! The right route follows from the labels, not from the words of a question: which facts and messages its answer needs. An answer is right
//! if it has the labelled words and cites something. What only comes nearest to an answer is counted apart. See docs/evaluation.md.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    answers::{Answer, ask, has_words},
    server::Server,
};

/// Authors whose dialogues are for measuring only.
const SET_ASIDE: [&str; 5] = ["dalia", "farid", "gia", "kano", "lior"];
/// Least share of right routes on their questions.
const ROUTES_FLOOR: f64 = 0.85;
/// Least share of the messages with the answers that are among the first ten.
const EVIDENCE_FLOOR: f64 = 0.8;
/// Least share of right answers to them.
const ANSWERS_FLOOR: f64 = 0.38;
/// Most of their questions without an answer that are answered, as a share.
const FALSE_CEILING: f64 = 0.2;

const MONTHS: [&str; 12] =
    ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];
const FIRST_PERSON: [&str; 9] = ["i", "me", "my", "mine", "myself", "we", "us", "our", "ours"];
const POLAR: [&str; 19] = [
    "am", "are", "can", "could", "did", "do", "does", "had", "has", "have", "is", "was", "were", "will", "would", "don", "doesn", "isn",
    "haven",
];

#[derive(Deserialize)]
struct Dialogue {
    sessions: Vec<Talk>,
    final_facts: Vec<GoldFact>,
    entities: Vec<GoldEntity>,
    questions: Vec<Question>,
}

#[derive(Deserialize)]
struct Talk {
    title: String,
    messages: Vec<Said>,
}

#[derive(Deserialize)]
struct Said {
    id: String,
    #[serde(rename = "sentAt")]
    sent_at: String,
    text: String,
}

#[derive(Deserialize)]
struct GoldFact {
    subject: String,
    object: String,
    since: Option<String>,
    until: Option<String>,
    evidence: Vec<String>,
}

#[derive(Deserialize)]
struct GoldEntity {
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
}

#[derive(Deserialize)]
struct Question {
    text: String,
    asked_after: String,
    answerable: bool,
    gold: Vec<String>,
    #[serde(default)]
    any_of: bool,
    evidence: Vec<String>,
    r#type: String,
}

/// The words of a text, in lower case.
fn words(text: &str) -> Vec<String> {
    text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

fn contains(text: &[String], part: &[String]) -> bool {
    !part.is_empty() && text.windows(part.len()).any(|window| window == part)
}

impl Dialogue {
    fn names<'d>(&'d self, of: &'d str) -> impl Iterator<Item = &'d str> {
        let aliases = self.entities.iter().filter(move |e| e.name == of).flat_map(|e| &e.aliases).map(String::as_str);
        std::iter::once(of).chain(aliases)
    }

    /// Whether a question names one side of a fact: a name, or the last word of one in singular or plural.
    fn is_named(&self, question: &[String], side: &str) -> bool {
        let singular = |word: &str| word.strip_suffix('s').unwrap_or(word).to_owned();
        let by_last_word = |name: &str| words(name).last().is_some_and(|last| question.iter().any(|w| singular(w) == singular(last)));
        match side {
            "user" => question.iter().any(|w| FIRST_PERSON.contains(&w.as_str())),
            side => by_last_word(side) || self.names(side).any(|name| contains(question, &words(name))),
        }
    }

    /// Returns the route that fits what the answer needs.
    fn right_route(&self, question: &Question) -> &'static str {
        // The fact and the message that states it.
        if question.r#type == "how_do_you_know" {
            return "COMBINED";
        }
        let is_near = |fact: &&GoldFact| fact.evidence.iter().any(|message| question.evidence.contains(message));
        let near: Vec<&GoldFact> = self.final_facts.iter().filter(is_near).collect();
        if near.is_empty() {
            return "VECTOR";
        }
        let asked = words(&question.text);
        let is_polar = asked.iter().take(2).any(|word| POLAR.contains(&word.as_str()));
        if is_polar && near.iter().any(|fact| self.is_named(&asked, &fact.subject) && self.is_named(&asked, &fact.object)) {
            return "GRAPH";
        }
        let texts: Vec<Vec<String>> = near.iter().map(|fact| self.content(fact)).collect();
        let is_in_facts = |gold: &String| texts.iter().any(|text| contains(text, &words(gold)));
        let answered = if question.any_of { question.gold.iter().any(is_in_facts) } else { question.gold.iter().all(is_in_facts) };
        if answered { "GRAPH" } else { "COMBINED" }
    }

    /// Returns the names of both sides of a fact, and the months since and until when it held.
    fn content(&self, fact: &GoldFact) -> Vec<String> {
        let mut all: Vec<String> = self.names(&fact.subject).chain(self.names(&fact.object)).flat_map(words).collect();
        for date in [&fact.since, &fact.until].into_iter().flatten() {
            let month = date.get(5..7).and_then(|m| m.parse::<usize>().ok()).and_then(|m| MONTHS.get(m.checked_sub(1)?));
            all.extend(words(date));
            all.extend(month.map(|m| (*m).to_owned()));
        }
        all
    }
}

/// A question with what the server made of it.
struct Asked<'d> {
    question: &'d Question,
    right_route: &'static str,
    taken_route: String,
    /// The labels of the ten best messages of the context.
    found: Vec<String>,
    answer: Answer,
}

impl Asked<'_> {
    /// Whether the answer cites something and has the labelled words; without any, whether it cites nothing.
    fn is_right(&self) -> bool {
        self.answer.cited == self.question.answerable && (!self.question.answerable || self.has_gold())
    }

    /// Whether the answer does not know, but says the labelled words as what comes nearest.
    fn is_near(&self) -> bool {
        !self.answer.cited && self.has_gold()
    }

    fn has_gold(&self) -> bool {
        let has = |gold: &String| has_words(&self.answer.text, gold);
        if self.question.any_of { self.question.gold.iter().any(has) } else { self.question.gold.iter().all(has) }
    }
}

/// Tells the dialogue to a new server, and asks each question when its message has come.
async fn play(dialogue: &Dialogue) -> Vec<Asked<'_>> {
    const IMPORT: &str = "mutation($input: ImportMessagesInput!) { importMessages(input: $input) { errors { code } } }";
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut asked = Vec::new();
    for talk in &dialogue.sessions {
        let created =
            server.graphql("mutation($t: String) { createSession(input: { title: $t }) { session { id } } }", json!({ "t": talk.title }));
        let session = created.await["createSession"]["session"]["id"].as_str().unwrap().to_owned();
        let mut waiting = Vec::new();
        for said in &talk.messages {
            waiting.push(json!({ "text": said.text, "sentAt": said.sent_at, "externalId": said.id }));
            let due: Vec<&Question> = dialogue.questions.iter().filter(|q| q.asked_after == said.id).collect();
            let is_last = std::ptr::eq(said, talk.messages.last().unwrap());
            if due.is_empty() && !is_last {
                continue;
            }
            let input = json!({ "sessionId": session, "messages": std::mem::take(&mut waiting) });
            let stored = server.graphql(IMPORT, json!({ "input": input })).await;
            assert_eq!(stored["importMessages"]["errors"], json!([]), "{stored}");
            server.settle(&session).await;
            for question in due {
                let query = "query($q: String!) { context(input: { query: $q, first: 10 }) {
                    route { chosen } messages { message { externalId } } } }";
                let context = server.graphql(query, json!({ "q": question.text })).await["context"].clone();
                let taken_route = context["route"]["chosen"].as_str().unwrap().to_owned();
                let label = |hit: &Value| hit["message"]["externalId"].as_str().map(str::to_owned);
                let found = context["messages"].as_array().unwrap().iter().filter_map(label).collect();
                let answer = ask(&server, &server.create_session().await, &question.text, &said.sent_at).await;
                asked.push(Asked { question, right_route: dialogue.right_route(question), taken_route, found, answer });
            }
        }
    }
    asked
}

/// How many of how many.
#[derive(Clone, Copy, Default)]
struct Share {
    part: usize,
    all: usize,
}

impl Share {
    fn add(&mut self, is_part: bool) {
        *self = Self { part: self.part + usize::from(is_part), all: self.all + 1 };
    }

    fn value(self) -> f64 {
        self.part as f64 / self.all.max(1) as f64
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn routes_fit_and_answers_are_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("training/dialogues");
    let folders = [Some(root), std::env::var_os("DIALOGUES").map(PathBuf::from)];
    let list = |folder: PathBuf| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        folders.into_iter().flatten().flat_map(list).filter(|f| f.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    let is_set = |name: &str| std::env::var_os(name).is_some();
    if !["ALL", "SHOW", "DIALOGUES"].into_iter().any(is_set) {
        files.retain(|file| file.file_stem().is_some_and(|author| SET_ASIDE.iter().any(|name| author == *name)));
    }
    let mut shares = BTreeMap::<(&str, String), Share>::new();
    for file in &files {
        let author = file.file_stem().unwrap().to_str().unwrap();
        let group = if SET_ASIDE.contains(&author) { "set aside" } else { "others" };
        let dialogue: Dialogue = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        for asked in play(&dialogue).await {
            let Asked { question, right_route, taken_route, found, answer } = &asked;
            let is_shown = is_set("SHOW") && group == "others";
            let mut add = |name: String, is_part: bool| shares.entry((group, name)).or_default().add(is_part);
            if question.answerable {
                add("right routes".to_owned(), right_route == taken_route);
                add(format!("right routes of {right_route}"), right_route == taken_route);
                add("right answers".to_owned(), asked.is_right());
                add(format!("right answers, {}", question.r#type), asked.is_right());
                add("unknown, but nearest".to_owned(), asked.is_near());
                question.evidence.iter().for_each(|label| add("evidence among the first ten".to_owned(), found.contains(label)));
                if is_shown && right_route != taken_route {
                    println!("  {right_route}, took {taken_route}: {}", question.text);
                }
            } else {
                add("false answers".to_owned(), !asked.is_right());
                add("nearest shown without an answer".to_owned(), !answer.cited && answer.text.contains("Nearest to it"));
            }
            if is_shown && !asked.is_right() {
                println!("  {} {:?}: {}", question.text, question.gold, answer.text);
            }
        }
    }
    for ((group, name), share) in &shares {
        println!("{group}: {name} {} of {}, {:.3}", share.part, share.all, share.value());
    }
    let share = |name: &str| shares[&("set aside", name.to_owned())].value();
    assert!(share("right routes") >= ROUTES_FLOOR && share("right answers") >= ANSWERS_FLOOR, "too few are right");
    assert!(share("evidence among the first ten") >= EVIDENCE_FLOOR, "too few messages are found");
    assert!(share("false answers") <= FALSE_CEILING, "too many questions without an answer are answered");
}

#[test]
fn right_route_follows_from_facts_and_evidence() {
    let dialogue: Dialogue = serde_json::from_value(json!({
        "sessions": [],
        "entities": [{ "name": "Ghent", "type": "place", "aliases": [] }, { "name": "Rex", "type": "thing" }],
        "final_facts": [
            { "subject": "user", "object": "Ghent", "since": "2024-03", "until": null, "evidence": ["1"] },
            { "subject": "user", "object": "dog", "since": null, "until": null, "evidence": ["2"] },
        ],
        "questions": [],
    }))
    .unwrap();
    let route = |text: &str, gold: &str, evidence: &str, kind: &str| {
        let question = json!({ "text": text, "asked_after": "", "answerable": true, "gold": [gold], "evidence": [evidence], "type": kind });
        dialogue.right_route(&serde_json::from_value(question).unwrap())
    };
    assert_eq!(route("Where do I live?", "Ghent", "1", "single"), "GRAPH");
    assert_eq!(route("Since when?", "March", "1", "temporal"), "GRAPH");
    assert_eq!(route("How big is my flat?", "three rooms", "1", "single"), "COMBINED");
    assert_eq!(route("Do I have dogs?", "yes", "2", "negation"), "GRAPH");
    assert_eq!(route("What did I eat?", "soup", "3", "single"), "VECTOR");
    assert_eq!(route("How do you know where I live?", "Ghent", "1", "how_do_you_know"), "COMBINED");
}
