//! Forgetting, end to end: what is forgotten is found nowhere, undoing restores it exactly, and it is deleted for good later.

use serde_json::{Value, json};

use crate::{
    chat::Chat,
    server::{Server, TIMEOUT},
};

const FORGET: &str = "mutation($input: ForgetInput!) { forget(input: $input) {
    facts(first: 100) { id status subject { name } relation object { name } } messages(first: 100) { id text } token undoUntil factCount messageCount
    errors { code message path } } }";

impl Chat {
    async fn forget(&self, input: Value) -> Value {
        self.server.graphql(FORGET, json!({ "input": input })).await["forget"].clone()
    }

    async fn undo(&self, token: &Value) -> Value {
        let query = "mutation($t: String!) { undoForget(input: { token: $t }) { facts { id status } messages { id } errors { code } } }";
        self.server.graphql(query, json!({ "t": token })).await["undoForget"].clone()
    }

    /// Everything that a client sees, in an order that does not change.
    async fn state(&self) -> Value {
        let query = "query($s: ID!) {
            session(id: $s) { title messages(first: 100) { totalCount nodes { id text kind status sourceMetadata citations { index excerpt }
                entities { name } facts { id } answer { id } } } }
            facts(first: 100) { nodes { id relation status weight belief uncertainty relativeWeight flagged validFrom validTo updatedAt
                subject { name } object { name } evidence { nodes { stance confidence excerpt message { id } } } } }
            entities(first: 100) { nodes { id name type aliases mentionCount facts { nodes { id } } mentions { nodes { id } } } }
            live: context(input: { query: \"Where do I live?\" }) { ...c } dog: context(input: { query: \"Do I have a dog in Oakwood?\" }) { ...c } }
            fragment c on Context { messages { message { id text } score methods } facts { fact { id } score } entities { id } }";
        self.server.graphql(query, json!({ "s": self.session })).await
    }
}

/// Returns facts as "subject relation object".
fn facts(found: &Value) -> Vec<String> {
    let side = |f: &Value, s: &str| f[s]["name"].as_str().unwrap().to_owned();
    let words = |f: &Value| format!("{} {} {}", side(f, "subject"), f["relation"].as_str().unwrap(), side(f, "object"));
    let mut facts: Vec<String> = found["facts"].as_array().unwrap().iter().map(words).collect();
    facts.sort();
    facts
}

fn texts(found: &Value) -> Vec<String> {
    found["messages"].as_array().unwrap().iter().map(|m| m["text"].as_str().unwrap().to_owned()).collect()
}

const TOLD: &[&str] = &["I live in Oakwood.", "John likes Mary.", "Mary lives in Oakwood and John likes coffee.", "John works with Peter."];

#[tokio::test]
async fn dry_run_changes_nothing_and_shows_what_is_meant() {
    let chat = Chat::of(TOLD).await;
    let before = chat.state().await;
    let found = chat.forget(json!({ "query": "Forget everything about Oakwood." })).await;
    assert_eq!(facts(&found), ["Mary LIVES_IN Oakwood", "You LIVES_IN Oakwood"], "{found:#}");
    assert_eq!(texts(&found), ["I live in Oakwood.", "Mary lives in Oakwood and John likes coffee."]);
    assert_eq!((&found["token"], &found["undoUntil"], &found["errors"]), (&Value::Null, &Value::Null, &json!([])));
    for (query, wanted) in [
        ("where I live", &["You LIVES_IN Oakwood"][..]),
        ("that John likes Mary", &["John LIKES Mary"]),
        ("Mary", &["John LIKES Mary", "Mary LIVES_IN Oakwood"]),
        ("that John likes Anna", &[]),
        ("that I like Mary", &[]),
        ("everything about Nobody", &[]),
        ("everything", &[]),
    ] {
        assert_eq!(facts(&chat.forget(json!({ "query": query })).await), wanted, "{query}");
    }
    assert_eq!(chat.state().await, before);
}

#[tokio::test]
async fn forgotten_messages_are_not_counted() {
    let chat = Chat::of(TOLD).await;
    let count = async || chat.state().await["session"]["messages"]["totalCount"].clone();
    assert_eq!(count().await, json!(4));
    let done = chat.forget(json!({ "query": "that I live in Oakwood", "dryRun": false })).await;
    assert_eq!((&done["messageCount"], count().await), (&json!(1), json!(3)));
    chat.undo(&done["token"]).await;
    assert_eq!(count().await, json!(4));
    let last = "query($s: ID!) { session(id: $s) { messages(last: 1) { nodes { id } } } }";
    let last = chat.server.graphql(last, json!({ "s": chat.session })).await["session"]["messages"]["nodes"][0]["id"].clone();
    let delete = "mutation($m: ID!) { deleteMessage(input: { messageId: $m }) { errors { code } } }";
    chat.server.graphql(delete, json!({ "m": last })).await;
    assert_eq!(count().await, json!(3));
}

#[tokio::test]
async fn possession_with_a_name_is_forgotten_by_what_it_is() {
    let chat = Chat::of(&["I have a dog called Rex.", "I own a bike.", "Anna has a dog."]).await;
    assert_eq!(facts(&chat.forget(json!({ "query": "my dog" })).await), ["You OWNS Rex"]);
    assert_eq!(facts(&chat.forget(json!({ "query": "my canary" })).await), [""; 0]);
}

#[tokio::test]
async fn name_without_its_accents_means_the_same() {
    let chat = Chat::of(&["José Núñez lives in Lima.", "Jose Nunez works for Siemens.", "I like rosé.", "Rose likes tea."]).await;
    assert!(chat.ask("Where does Jose Nunez live?").await.contains("Lima"));
    assert!(!chat.ask("Who is Rose?").await.contains("rosé"));
    let found = chat.forget(json!({ "query": "everything about José Nunez" })).await;
    assert_eq!(facts(&found), ["José Núñez LIVES_IN Lima", "José Núñez WORKS_FOR Siemens"]);
}

#[tokio::test]
async fn request_means_its_relation_only() {
    let chat = Chat::of(&[
        "I live in Rome.",
        "I like jazz.",
        "I know Anna.",
        "I work at Acme.",
        "I use Vim.",
        "Carol is my boss.",
        "I manage Bob.",
        "Dora is Anna's boss.",
    ])
    .await;
    for (query, wanted) in [
        ("where I live", &["You LIVES_IN Rome"][..]),
        ("where I work", &["You WORKS_FOR Acme"]),
        ("my boss", &["Carol MANAGES You"]),
        ("who I manage", &["You MANAGES Bob"]),
        ("who manages me", &["Carol MANAGES You"]),
        ("where I was born", &[]),
        ("Anna's boss", &["Dora MANAGES Anna"]),
        ("my sister's boss", &[]),
        ("my work", &[]),
    ] {
        assert_eq!(facts(&chat.forget(json!({ "query": query })).await), wanted, "{query}");
    }
    assert!(chat.ask("Forget where I live.").await.contains("I forgot 1 fact and 1 message"));
    assert!(chat.ask("What do I like?").await.contains("jazz"));
    let log = chat.server.graphql("{ auditLog(first: 5) { nodes { action target } } }", json!({})).await;
    assert!(log.to_string().contains(r#"{"action":"memory.forgotten","target":"1 fact, 1 message"}"#), "{log}");
}

#[tokio::test]
async fn messages_without_facts_are_forgotten_by_their_words() {
    let chat = Chat::of(&["The code of my locker is 4471.", "The locker is green.", "My oven broke yesterday."]).await;
    let found = chat.forget(json!({ "query": "my locker code" })).await;
    assert_eq!((texts(&found), facts(&found)), (vec!["The code of my locker is 4471.".to_owned()], vec![]));
    assert_eq!(texts(&chat.forget(json!({ "query": "that my oven broke" })).await), ["My oven broke yesterday."]);
    assert!(texts(&chat.forget(json!({ "query": "my locker number" })).await).is_empty(), "a word is missing");
    assert!(chat.ask("Forget my locker code.").await.contains("I forgot 1 message"));
    assert!(!chat.ask("What is my locker code?").await.contains("4471"));
    assert!(chat.ask("Forget my bicycle lock.").await.contains("forgot nothing"));
    for said in ["The oven timer beeps.", "The oven timer is new.", "Anna sang live last night.", "The heater does not leak."] {
        chat.say(said).await;
    }
    let reply = chat.ask("Forget my oven timer.").await;
    assert!(reply.contains("That could mean several messages: “The oven timer beeps.”; “The oven"), "{reply}");
    for (query, why) in [("where Anna lives", "it means a fact"), ("that the heater leaks", "the message says the contrary")] {
        assert!(texts(&chat.forget(json!({ "query": query })).await).is_empty(), "{why}");
    }
}

#[tokio::test]
async fn commands_in_other_words_are_carried_out() {
    let chat = Chat::of(&["My shoe size is 42.", "I weigh 72 kg.", "My brother Ben likes tea.", "My address is 5 Elm Street."]).await;
    for (command, reply) in [
        ("Delete my height", "forgot nothing"),
        ("Delete my weight, please", "I forgot 1 fact and 1 message"),
        ("You can forget what I said about Ben", "I forgot 2 facts and 1 message"),
        ("I want you to forget my address.", "1 message"),
    ] {
        assert!(chat.ask(command).await.contains(reply), "{command}");
    }
    assert!(chat.ask("What is my shoe size?").await.contains("42"), "another measure stays");
}

#[tokio::test]
async fn fact_goes_with_the_only_message_that_has_the_words() {
    let chat = Chat::of(&["My favourite colour is green.", "My favourite dish is ramen, and I own a wok."]).await;
    assert_eq!(facts(&chat.forget(json!({ "query": "my favourite colour" })).await), ["You LIKES green"]);
    let several = chat.forget(json!({ "query": "my favourite dish" })).await;
    assert_eq!(facts(&several), [""; 0], "the message states several facts");
}

#[tokio::test]
async fn address_goes_with_all_that_its_message_tells() {
    let chat = Chat::of(&["I live in 12 Rose Lane"]).await;
    assert!(chat.ask("Forget my address.").await.contains("1 message"));
    let answer = chat.ask("Where do I live?").await;
    assert!(!answer.contains("Rose Lane"), "{answer}");
}

#[tokio::test]
async fn last_message_is_taken_back() {
    let chat = Chat::of(&["I own a bike.", "I own a drone."]).await;
    assert!(chat.ask("Scratch that.").await.contains("I forgot 1 fact and 1 message"));
    assert_eq!(chat.server.facts().await.into_iter().map(|(words, ..)| words).collect::<Vec<_>>(), ["You OWNS bike"]);
    chat.ask("Do I own a bike?").await;
    assert!(chat.ask("Please don't remember that").await.contains("forgot nothing"), "a question tells nothing");
    assert_eq!(chat.server.facts().await.len(), 1);
}

#[tokio::test]
async fn forgotten_entity_is_unknown_until_it_returns() {
    let chat = Chat::of(&["I live in Oakwood."]).await;
    let listed = chat.server.graphql("{ entities(first: 10, filter: { text: \"Oakwood\" }) { nodes { id } } }", json!({})).await;
    let id = listed["entities"]["nodes"][0]["id"].as_str().unwrap().to_owned();
    let named = async || chat.server.graphql("query($id: ID!) { entity(id: $id) { name } }", json!({ "id": id })).await["entity"].clone();
    assert_eq!(named().await, json!({ "name": "Oakwood" }));
    let forgotten = chat.forget(json!({ "query": "everything about Oakwood", "dryRun": false })).await;
    assert_eq!(facts(&forgotten), ["You LIVES_IN Oakwood"], "the reply shows what it was");
    assert_eq!(named().await, Value::Null);
    let undo = "mutation($t: String!) { undoForget(input: { token: $t }) { errors { code } } }";
    let undone = chat.server.graphql(undo, json!({ "t": forgotten["token"] })).await;
    assert_eq!(undone["undoForget"]["errors"], json!([]));
    assert_eq!(named().await, json!({ "name": "Oakwood" }));
}

#[tokio::test]
async fn forgotten_words_are_found_nowhere() {
    let chat = Chat::of(TOLD).await;
    assert!(chat.ask("Where do I live?").await.contains("Oakwood"));
    let forgotten = chat.forget(json!({ "query": "everything about Oakwood", "dryRun": false })).await;
    assert_eq!(forgotten["errors"], json!([]));
    assert!(forgotten["facts"].as_array().unwrap().iter().all(|f| f["status"] == "RETRACTED"), "{forgotten:#}");
    assert!(texts(&forgotten).len() == 3, "the answer that cites it stays: {forgotten:#}");
    let state = chat.state().await.to_string();
    assert!(!state.contains("Oakwood"), "{state}");
    // The other fact of a message keeps its evidence.
    let kept = chat.server.facts().await.into_iter().map(|(words, ..)| words).collect::<Vec<_>>();
    assert!(kept.contains(&"John LIKES coffee".to_owned()), "{kept:?}");
    let events = chat.server.events(&chat.session).await;
    let told = |e: &Value| e["type"] == "fact_update" && e["change"] == "retracted";
    assert!(events.iter().any(|e| e["type"] == "message_forgotten") && events.iter().any(told), "{events:#?}");
    assert!(events.iter().filter(|e| !told(e)).all(|e| !e.to_string().contains("Oakwood")), "{events:#?}");
    assert!(!chat.ask("Where do I live?").await.contains("Oakwood"));
    let rest = chat.server.graphql("{ resolveEntity(input: { mention: \"Oakwood\" }) { entity { id } } }", json!({})).await;
    assert_eq!(rest["resolveEntity"]["entity"], Value::Null);
}

#[tokio::test]
async fn forgetting_and_undoing_is_the_identity() {
    let chat = Chat::of(&[TOLD, &["I moved from Oakwood to Ghent.", "I live in Lyon."]].concat()).await;
    chat.ask("Where does Mary live?").await;
    let before = chat.state().await;
    let ids = |list: &Value| list["nodes"].as_array().unwrap().iter().map(|n| n["id"].clone()).collect::<Vec<_>>();
    let facts = ids(&before["facts"]).into_iter().map(|id| json!({ "factIds": [id] }));
    let messages = ids(&before["session"]["messages"]).into_iter().map(|id| json!({ "messageIds": [id] }));
    let both = json!({ "factIds": ids(&before["facts"])[..2], "messageIds": ids(&before["session"]["messages"])[..2] });
    let queries = ["everything about Mary", "everything about me", "John"].map(|query| json!({ "query": query }));
    for mut input in facts.chain(messages).chain(queries).chain([both]) {
        input["dryRun"] = json!(false);
        let forgotten = chat.forget(input.clone()).await;
        assert!(forgotten["token"].is_string(), "{input}: {forgotten:#}");
        assert!(forgotten["undoUntil"].is_string(), "{input}: {forgotten:#}");
        assert_ne!(chat.state().await, before, "{input}");
        let undone = chat.undo(&forgotten["token"]).await;
        assert_eq!(undone["errors"], json!([]));
        assert_eq!(undone["messages"].as_array().unwrap().len(), forgotten["messages"].as_array().unwrap().len());
        let after = chat.state().await;
        assert_eq!(after, before, "{input}");
        assert_eq!(chat.undo(&forgotten["token"]).await["errors"][0]["code"], "NOT_FOUND");
    }
}

#[tokio::test]
async fn entity_is_forgotten_by_its_id() {
    let chat = Chat::of(TOLD).await;
    let before = chat.state().await;
    let ids = |name: &str| {
        let of = |e: &&Value| e["name"] == name;
        before["entities"]["nodes"].as_array().unwrap().iter().find(of).unwrap()["id"].clone()
    };
    let found = chat.forget(json!({ "entityIds": [ids("Oakwood")] })).await;
    assert_eq!(found, chat.forget(json!({ "query": "everything about Oakwood" })).await);
    let both = chat.forget(json!({ "entityIds": [ids("Oakwood"), ids("Peter")], "dryRun": false })).await;
    assert_eq!(facts(&both), ["John WORKS_WITH Peter", "Mary LIVES_IN Oakwood", "You LIVES_IN Oakwood"], "{both:#}");
    assert!(!chat.state().await.to_string().contains("Oakwood"));
    assert_eq!(chat.undo(&both["token"]).await["errors"], json!([]));
    assert_eq!(chat.state().await["entities"], before["entities"]);
    let unknown = chat.forget(json!({ "entityIds": [uuid::Uuid::from_u128(7)] })).await;
    assert_eq!(
        unknown["errors"],
        json!([{ "code": "NOT_FOUND", "message": unknown["errors"][0]["message"], "path": ["input", "entityIds"] }])
    );
}

#[tokio::test]
async fn session_and_time_name_messages_and_narrow_the_rest() {
    let chat = Chat::of(&["John likes Mary."]).await;
    let other = chat.server.create_session().await;
    for (text, day) in [("John likes Mary.", "2024-03-01"), ("I live in Oakwood.", "2024-03-02"), ("Peter lives in Oakwood.", "2024-05-01")]
    {
        let at = format!("{day}T10:00:00Z");
        chat.server.send(json!({ "sessionId": other, "text": text, "sentAt": at })).await.unwrap();
    }
    chat.server.settle(&other).await;
    let (before, march) = (chat.state().await, ("2024-03-01T10:00:00Z", "2024-04-01T00:00:00Z"));
    // The second session states one fact that the first states, too.
    let session = chat.forget(json!({ "sessionId": other })).await;
    assert_eq!((facts(&session), texts(&session).len()), (vec!["Peter LIVES_IN Oakwood".to_owned(), "You LIVES_IN Oakwood".to_owned()], 3));
    let range = json!({ "after": march.0, "before": march.1 });
    let found = chat.forget(range).await;
    assert_eq!(
        (facts(&found), texts(&found)),
        (vec!["You LIVES_IN Oakwood".to_owned()], vec!["John likes Mary.".to_owned(), "I live in Oakwood.".to_owned()])
    );
    let narrowed = chat.forget(json!({ "query": "everything about Oakwood", "before": march.1, "dryRun": false })).await;
    assert_eq!((facts(&narrowed), texts(&narrowed)), (vec!["You LIVES_IN Oakwood".to_owned()], vec!["I live in Oakwood.".to_owned()]));
    let left: Vec<String> = chat.server.facts().await.into_iter().map(|(words, ..)| words).collect();
    assert!(left.contains(&"Peter LIVES_IN Oakwood".to_owned()) && left.contains(&"John LIKES Mary".to_owned()), "{left:?}");
    assert_eq!(chat.undo(&narrowed["token"]).await["errors"], json!([]));
    assert_eq!(chat.state().await, before);

    let gone = chat.forget(json!({ "sessionId": other, "dryRun": false })).await;
    assert_eq!(gone["messageCount"], 3);
    let john = chat.server.facts().await.into_iter().find(|(words, ..)| words == "John LIKES Mary");
    assert!(john.is_some(), "a fact with evidence elsewhere is forgotten");
    assert_eq!(chat.undo(&gone["token"]).await["errors"], json!([]));
    assert_eq!(chat.state().await, before);
    for (input, code) in [
        (json!({ "after": march.1, "before": march.0 }), "EMPTY_RANGE"),
        (json!({ "sessionId": uuid::Uuid::from_u128(7) }), "NOT_FOUND"),
        (json!({}), "NOTHING_NAMED"),
    ] {
        assert_eq!(chat.forget(input.clone()).await["errors"][0]["code"], code, "{input}");
    }
    let rest = json!({ "session_id": other, "after": march.0, "before": march.1 });
    let rest: Value = chat.server.http.post(chat.server.url("/forget")).json(&rest).send().await.unwrap().json().await.unwrap();
    assert_eq!(rest["messages"].as_array().unwrap().len(), 2, "{rest}");
}

#[tokio::test]
async fn fact_that_is_stated_again_keeps_all_evidence_after_undoing() {
    let chat = Chat::of(&["John likes Mary."]).await;
    let forgotten = chat.forget(json!({ "query": "that John likes Mary", "dryRun": false })).await;
    chat.say("John likes Mary.").await;
    let believed = chat.server.facts().await;
    assert_eq!(believed.iter().map(|f| format!("{} {:.2}", f.0, f.2)).collect::<Vec<_>>(), ["John LIKES Mary 0.67"]);
    assert_eq!(chat.undo(&forgotten["token"]).await["errors"], json!([]));
    let sum: usize = chat.server.facts().await.len();
    // The entities were forgotten, too, so the new statement is about new ones.
    assert!((1..=2).contains(&sum), "{:?}", chat.server.facts().await);
}

#[tokio::test]
async fn expired_forgetting_is_deleted_for_good_after_restart() {
    let folder = tempfile::tempdir().unwrap();
    // Nothing can be undone.
    let env = [("RECALL_FORGET_UNDO_MINUTES", "0")];
    let server = Server::start_with(folder.path(), &env);
    let session = server.create_session().await;
    let chat = Chat { server, session, folder };
    for text in TOLD {
        chat.say(text).await;
    }
    let forgotten = chat.forget(json!({ "query": "everything about Oakwood", "dryRun": false })).await;
    assert_eq!(chat.undo(&forgotten["token"]).await["errors"][0]["code"], "NOT_FOUND");
    let Chat { server, session, folder } = chat;
    // Kills the process.
    drop(server);
    let chat = Chat { server: Server::start_with(folder.path(), &env), session, folder };
    chat.say("John likes tea.").await;
    // The events of the forgetting name it until it is deleted.
    let started = std::time::Instant::now();
    while chat.server.events(&chat.session).await.iter().any(|e| e.to_string().contains("Oakwood")) {
        assert!(started.elapsed() < TIMEOUT, "nothing deletes it");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert!(!chat.state().await.to_string().contains("Oakwood"));
}

#[tokio::test]
async fn deleted_message_takes_its_evidence_along() {
    let chat = Chat::of(&["John likes Mary."]).await;
    let second = chat.say("John likes Mary, and Peter likes tea.").await;
    let delete = "mutation($id: ID!) { deleteMessage(input: { messageId: $id }) { deletedId errors { code } } }";
    let deleted = chat.server.graphql(delete, json!({ "id": second })).await["deleteMessage"].clone();
    assert_eq!(deleted, json!({ "deletedId": second, "errors": [] }));
    let left = chat.server.facts().await;
    assert_eq!(left.iter().map(|f| format!("{} {:.2}", f.0, f.2)).collect::<Vec<_>>(), ["John LIKES Mary 0.67"]);
    let state = chat.state().await.to_string();
    assert!(!state.contains("Peter") && !state.contains(&second), "{state}");
    let again = chat.server.graphql(delete, json!({ "id": second })).await["deleteMessage"].clone();
    assert_eq!(again["errors"][0]["code"], "NOT_FOUND");
}

#[tokio::test]
async fn session_can_be_renamed() {
    let chat = Chat::of(&["John likes Mary."]).await;
    let rename =
        "mutation($s: ID!) { updateSession(input: { sessionId: $s, title: \" Plans  for May \" }) { session { title } errors { code } } }";
    let renamed = chat.server.graphql(rename, json!({ "s": chat.session })).await;
    assert_eq!(renamed["updateSession"], json!({ "session": { "title": "Plans for May" }, "errors": [] }));
    chat.say("John likes tea.").await;
    assert_eq!(chat.state().await["session"]["title"], "Plans for May");
}

#[tokio::test]
async fn rest_forgets_like_graphql() {
    let chat = Chat::of(TOLD).await;
    let http = reqwest::Client::new();
    let post = async |body: Value| {
        let answer = http.post(chat.server.url("/forget")).json(&body).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let (status, dry) = post(json!({ "query": "that John likes Mary" })).await;
    assert_eq!((status, dry["facts"][0]["relation"].as_str(), dry["token"].clone()), (200, Some("likes"), Value::Null), "{dry:#}");
    assert_eq!(dry["messages"][0]["text"], "John likes Mary.");
    let (status, done) = post(json!({ "fact_ids": [dry["facts"][0]["fact_id"]], "dry_run": false })).await;
    assert_eq!((status, done["facts"][0]["status"].as_str(), done["token"].is_string()), (200, Some("retracted"), true), "{done:#}");
    assert!(!chat.state().await.to_string().contains("John likes Mary."));
    assert_eq!(chat.undo(&done["token"]).await["errors"], json!([]));
    let (status, problem) = post(json!({ "fact_ids": ["x"] })).await;
    assert_eq!((status, problem["code"].as_str()), (400, Some("INVALID_ID")), "{problem:#}");
    let (status, problem) = post(json!({})).await;
    assert_eq!((status, problem["code"].as_str()), (400, Some("NOTHING_NAMED")), "{problem:#}");
}
