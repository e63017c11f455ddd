//! What people say over time, end to end: corrections, moves, contradictions, commands, and names that come later.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Connection, Executor, SqliteConnection};

use crate::chat::Chat;

impl Chat {
    /// "subject RELATION object: STATUS share%" of each fact, in order.
    async fn shares(&self) -> Vec<String> {
        let query = "{ facts(first: 100) { nodes { subject { name } relation object { name } status relativeWeight } } }";
        let data = self.server.graphql(query, Value::Null).await;
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let mut facts: Vec<String> = data["facts"]["nodes"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|f| {
                let share = (f["relativeWeight"].as_f64().unwrap_or_default() * 100.0).round();
                format!(
                    "{} {} {}: {} {share}%",
                    text(&f["subject"]["name"]),
                    text(&f["relation"]),
                    text(&f["object"]["name"]),
                    text(&f["status"])
                )
            })
            .collect();
        facts.sort();
        facts
    }

    async fn names(&self) -> Vec<String> {
        let data = self.server.graphql("{ entities(first: 100) { nodes { name } } }", Value::Null).await;
        let nodes = data["entities"]["nodes"].as_array().cloned().unwrap_or_default();
        let mut names: Vec<String> = nodes.iter().filter_map(|e| e["name"].as_str().map(str::to_owned)).collect();
        names.sort();
        names
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn move_ends_the_home_before() {
    let chat = Chat::of(&["Tom lives in Berlin.", "Tom moved to Hamburg."]).await;
    assert_eq!(chat.shares().await, ["Tom LIVES_IN Berlin: ENDED 0%", "Tom LIVES_IN Hamburg: ACTIVE 100%"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn correction_takes_back_what_it_corrects() {
    let chat = Chat::of(&["I live in Porto.", "Correction: I don't live in Porto, I live in Lisbon."]).await;
    assert_eq!(chat.shares().await, ["You LIVES_IN Lisbon: ACTIVE 100%", "You LIVES_IN Porto: RETRACTED 0%"]);
    assert!(chat.ask("Where do I live?").await.contains("Lisbon"));
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_contradiction_keeps_both_with_shares() {
    let chat = Chat::of(&["Mia lives in Leeds.", "Mia lives in York."]).await;
    let facts = chat.shares().await;
    assert!(facts.len() == 2 && facts.iter().all(|f| f.contains("ACTIVE") && f.contains("50%")), "{facts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn command_to_forget_forgets_and_leaves_no_words() {
    let chat = Chat::of(&["I own a drone.", "Nadia lives in Bergen."]).await;
    let reply = chat.ask("Forget that I own a drone.").await;
    assert!(reply.starts_with("Done. I forgot 1 fact") && !reply.contains("drone"), "{reply}");
    assert_eq!(chat.shares().await, ["Nadia LIVES_IN Bergen: ACTIVE 100%"]);
    let query = "query($s: ID!) { session(id: $s) { messages(first: 100) { nodes { text } } } }";
    // The words are removed after the reply is stored.
    crate::server::within("the words of the command stay", async {
        while chat.server.graphql(query, json!({ "s": chat.session })).await.to_string().contains("drone") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reply_to_command_says_how_to_undo_until_it_is_undone() {
    let chat = Chat::of(&["I own a drone."]).await;
    let reply = chat.ask("Forget that I own a drone.").await;
    assert_eq!(reply, "Done. I forgot 1 fact and 1 message. This can be undone for 10 minutes.");
    let query =
        "query($s: ID!) { session(id: $s) { messages(last: 2) { nodes { text forgetting { token undoUntil } forgettingUndoneAt } } } }";
    let told = async || {
        let data = chat.server.graphql(query, json!({ "s": chat.session })).await;
        let nodes = data["session"]["messages"]["nodes"].as_array().cloned().unwrap_or_default();
        nodes.into_iter().find(|m| m["text"] == reply.as_str()).unwrap_or_default()
    };
    let Value::Object(before) = told().await else { panic!("no reply") };
    let forgetting = &before["forgetting"];
    assert!(forgetting["undoUntil"].is_string() && before["forgettingUndoneAt"].is_null(), "{before:?}");
    let undo = "mutation($t: String!) { undoForget(input: { token: $t }) { factCount messageCount errors { code } } }";
    let undone = chat.server.graphql(undo, json!({ "t": forgetting["token"] })).await;
    assert_eq!(undone["undoForget"], json!({ "factCount": 1, "messageCount": 1, "errors": [] }));
    let after = told().await;
    assert!(after["forgetting"].is_null() && after["forgettingUndoneAt"].is_string(), "{after}");
    assert_eq!(chat.shares().await, ["You OWNS drone: ACTIVE 100%"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_command_reports_what_the_first_attempt_forgot() {
    let chat = Chat::of(&["I own a drone.", "Nadia lives in Bergen."]).await;
    let url = format!("sqlite:{}", chat.folder.path().join("recall.db").display());
    let mut db = SqliteConnection::connect(&url).await.unwrap();
    let refuse = "CREATE TRIGGER no_reply BEFORE INSERT ON messages WHEN NEW.role = 'assistant' BEGIN SELECT RAISE(ABORT, 'refused'); END";
    db.execute(refuse).await.unwrap();
    let command = chat.say("Forget that I own a drone.").await;
    let failed = async {
        let failures = "SELECT COUNT(*) FROM jobs WHERE lane = 'answer' AND code IS NOT NULL";
        while sqlx::query_scalar::<_, i64>(failures).fetch_one(&mut db).await.unwrap() == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    crate::server::within("the reply is stored", failed).await;
    assert_eq!(chat.shares().await, ["Nadia LIVES_IN Bergen: ACTIVE 100%"]);
    db.execute("DROP TRIGGER no_reply").await.unwrap();
    let query = "query($id: ID!) { message(id: $id) { answer { text forgetting { token } } } }";
    let replied = async {
        loop {
            let data = chat.server.graphql(query, json!({ "id": command })).await["message"]["answer"].clone();
            if !data.is_null() {
                return data;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let reply = crate::server::within("the command gets no reply", replied).await;
    assert_eq!(reply["text"], "Done. I forgot 1 fact and 1 message. This can be undone for 10 minutes.");
    let undo = "mutation($t: String!) { undoForget(input: { token: $t }) { factCount messageCount errors { code } } }";
    let undone = chat.server.graphql(undo, json!({ "t": reply["forgetting"]["token"] })).await;
    assert_eq!(undone["undoForget"], json!({ "factCount": 1, "messageCount": 1, "errors": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn client_that_writes_the_metadata_of_a_reply_gets_no_token() {
    let chat = Chat::of(&[]).await;
    let forged = json!({ "forgetting": { "token": "0190b0d4-7d7c-7000-8000-000000000000", "undo_until": "2999-01-01T00:00:00Z" } });
    chat.server.send(json!({ "sessionId": chat.session, "text": "Hello.", "sourceMetadata": forged })).await.unwrap();
    let query = "query($s: ID!) { session(id: $s) { messages(first: 1) { nodes { text forgetting { token } } } } }";
    let data = chat.server.graphql(query, json!({ "s": chat.session })).await;
    assert_eq!(data["session"]["messages"]["nodes"], json!([{ "text": "Hello.", "forgetting": null }]));
}

#[tokio::test(flavor = "multi_thread")]
async fn unclear_command_to_forget_asks_back() {
    let chat = Chat::of(&["I like sushi.", "I like hiking."]).await;
    let reply = chat.ask("Forget what I like.").await;
    assert!(reply.contains("sushi") && reply.contains("hiking") && reply.contains("Which of them"), "{reply}");
    assert_eq!(chat.shares().await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_and_requests_create_no_entities() {
    let chat = Chat::of(&["Nadia lives in Bergen."]).await;
    let before = chat.names().await;
    chat.ask("Where does Nadia Holm live?").await;
    chat.ask("Summarise what you know about Oakwood.").await;
    assert_eq!(chat.names().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn corrected_name_is_the_same_person() {
    let chat = Chat::of(&["Derek owns a parrot.", "Correction: he's Desmond, not Derek."]).await;
    assert_eq!(chat.shares().await, ["Desmond OWNS parrot: ACTIVE 100%"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn bare_correction_replaces_what_was_just_said() {
    let chat = Chat::of(&["I live in Porto.", "No, I meant Lisbon"]).await;
    assert_eq!(chat.shares().await, ["You LIVES_IN Lisbon: ACTIVE 100%", "You LIVES_IN Porto: RETRACTED 0%"]);
    assert!(chat.ask("Where do I live?").await.contains("Lisbon"));
    let chat = Chat::of(&["I own a kayak and a tent.", "sorry, a canoe, not a kayak"]).await;
    assert_eq!(chat.shares().await, ["You OWNS canoe: ACTIVE 100%", "You OWNS kayak: RETRACTED 100%", "You OWNS tent: ACTIVE 100%"]);
    // Which of the two is meant is not clear.
    let chat = Chat::of(&["I own a kayak and a tent.", "I mean a canoe"]).await;
    assert_eq!(chat.shares().await, ["You OWNS kayak: ACTIVE 100%", "You OWNS tent: ACTIVE 100%"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn statement_made_again_after_a_denial_replaces_the_one_before() {
    let chat = Chat::of(&["I live in Leeds.", "No, I live in York."]).await;
    assert_eq!(chat.shares().await, ["You LIVES_IN Leeds: RETRACTED 0%", "You LIVES_IN York: ACTIVE 100%"]);
    let chat = Chat::of(&["I live in Leeds.", "I own a kayak.", "No, I live in York."]).await;
    assert!(chat.shares().await.contains(&"You LIVES_IN Leeds: ENDED 0%".to_owned()));
    let chat = Chat::of(&["I live in Leeds.", "Not anymore."]).await;
    assert_eq!(chat.shares().await, ["You LIVES_IN Leeds: ENDED 100%"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn later_sentence_corrects_an_earlier_one_of_the_message() {
    let chat = Chat::of(&["I love olives. Actually scratch that, I hate them."]).await;
    assert_eq!(chat.shares().await, ["You DISLIKES olives: ACTIVE 100%"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_value_ends_the_one_before() {
    let chat = Chat::of(&["My appointment is on Monday at 10.", "It's been moved to Wednesday."]).await;
    assert!(chat.ask("When is my appointment?").await.contains("Wednesday"));
}

#[tokio::test(flavor = "multi_thread")]
async fn short_reply_states_what_was_asked() {
    let chat = Chat::of(&[]).await;
    let asked = json!({ "sessionId": chat.session, "messages": [{ "text": "What is your sister's name?", "role": "ASSISTANT" }] });
    let import = "mutation($input: ImportMessagesInput!) { importMessages(input: $input) { errors { code } } }";
    chat.server.graphql(import, json!({ "input": asked })).await;
    chat.say("Miriam").await;
    assert_eq!(chat.ask("Who is my sister?").await, "Your sister is Miriam [1].");
    let asked = json!({ "sessionId": chat.session, "messages": [{ "text": "When is your flight?", "role": "ASSISTANT" }] });
    chat.server.graphql(import, json!({ "input": asked })).await;
    chat.say("tomorrow at 7am").await;
    let answer = chat.ask("When is my flight?").await;
    assert!(answer.contains("“[My flight is] tomorrow at 7am” [1]"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn retracted_statement_answers_nothing() {
    let chat = Chat::of(&["I live in Leeds. I own a kayak."]).await;
    let facts = chat.server.graphql("{ facts(first: 9) { nodes { id relation } } }", Value::Null).await;
    let home = facts["facts"]["nodes"].as_array().unwrap().iter().find(|f| f["relation"] == "LIVES_IN").unwrap()["id"].clone();
    let retract = "mutation($id: ID!) { retractFact(input: { id: $id }) { errors { code } } }";
    chat.server.graphql(retract, json!({ "id": home })).await;
    for question in ["Do I live in Leeds?", "Where do I live?"] {
        assert_eq!(chat.ask(question).await, "I don't know: nothing I was told answers that.");
    }
    assert!(chat.ask("Do I own a kayak?").await.starts_with("Yes"));
}

#[tokio::test(flavor = "multi_thread")]
async fn denial_of_an_unknown_home_leaves_a_move_a_move() {
    let chat = Chat::of(&["I live in Leeds.", "I moved to York, I don't live in Hull."]).await;
    let facts = chat.shares().await;
    assert!(facts.iter().any(|f| f.starts_with("You LIVES_IN Leeds: ENDED")), "{facts:?}");
    assert!(facts.iter().any(|f| f.starts_with("You LIVES_IN York: ACTIVE")), "{facts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn correction_leaves_an_older_rival_alone() {
    let chat = Chat::of(&["Mia lives in Leeds.", "Mia lives in York.", "I meant Bergen"]).await;
    let facts = chat.shares().await;
    assert!(facts.iter().any(|f| f.starts_with("Mia LIVES_IN Leeds: ACTIVE")), "{facts:?}");
    assert!(facts.iter().any(|f| f.starts_with("Mia LIVES_IN York: RETRACTED")), "{facts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn end_without_relation_reaches_only_what_it_names() {
    let chat = Chat::of(&["I own a boat.", "I own a van.", "We gave up the boat."]).await;
    assert_eq!(chat.shares().await, ["You OWNS boat: ENDED 100%", "You OWNS van: ACTIVE 100%"]);
    let chat = Chat::of(&["My brother is Ivo.", "I'm dating Rob.", "We broke up."]).await;
    assert_eq!(chat.shares().await, ["You FAMILY_OF Ivo: ACTIVE 100%", "You FAMILY_OF Rob: ENDED 100%"]);
    let chat =
        Chat::of(&["My dog is called Monty.", "My gran Edith lives in Leeds.", "Monty had to be put to sleep.", "Edith passed away."])
            .await;
    let facts = chat.shares().await;
    assert!(
        facts.contains(&"You OWNS Monty: ENDED 100%".to_owned()) && facts.contains(&"You FAMILY_OF Edith: ACTIVE 100%".to_owned()),
        "{facts:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn quote_comes_with_its_bare_correction() {
    let chat = Chat::of(&["My call with Ana is at 3pm on Friday.", "make that 4pm"]).await;
    let answer = chat.ask("When is my call with Ana?").await;
    assert!(answer.contains("“[My call with Ana is at] 4pm [on Friday]” [1]") && answer.contains("3pm"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn last_message_is_forgotten_once_and_other_places_are_not_the_memory() {
    let chat = Chat::of(&["I live in Porto.", "I own a kayak.", "My account was hacked last week."]).await;
    let nothing = "I found nothing that this names, so I forgot nothing. Try the words in which it was told.";
    let before = chat.shares().await;
    assert_eq!(chat.ask("Delete my account").await, nothing);
    assert_eq!(chat.shares().await, before);
    let chat = Chat::of(&["I live in Porto.", "I own a kayak."]).await;
    assert!(chat.ask("Scratch that.").await.starts_with("Done. I forgot 1 fact and 1 message."));
    // As when the first reply fails and the command is carried out again.
    assert_eq!(chat.ask("Scratch that.").await, nothing);
    assert_eq!(chat.shares().await, ["You LIVES_IN Porto: ACTIVE 100%"]);
}
