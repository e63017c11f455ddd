//! Facts with values, and notes, end to end.

use serde_json::{Value, json};

use crate::chat::Chat;

const FACT: &str = "fragment F on Fact { id relation status phrase belief relativeWeight subject { name isViewer } object { name }
    value { type text label number unit currency date contact address } rivals { value { text } } evidence { nodes { excerpt } } }";

impl Chat {
    /// Returns the answer to a question, and the number of its citations.
    async fn ask_cited(&self, question: &str) -> (String, usize) {
        let answer = self.answer(question).await;
        (answer["text"].as_str().unwrap_or_default().to_owned(), answer["citations"].as_array().map_or(0, Vec::len))
    }

    async fn facts_with(&self, filter: Value) -> Vec<Value> {
        let query = format!("query($f: FactFilter) {{ facts(first: 100, filter: $f) {{ nodes {{ ...F }} }} }} {FACT}");
        self.server.graphql(&query, json!({ "f": filter })).await["facts"]["nodes"].as_array().cloned().unwrap_or_default()
    }

    async fn change(&self, name: &str, input: Value) -> Value {
        let upper = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
        let result = if name == "forget" || name == "undoForget" { "facts(first: 100) { ...F } token" } else { "fact { ...F }" };
        let query = format!("mutation($i: {upper}Input!) {{ {name}(input: $i) {{ {result} errors {{ code path }} }} }} {FACT}");
        self.server.graphql(&query, json!({ "i": input })).await[name].clone()
    }
}

#[tokio::test]
async fn own_name_and_what_bears_on_a_question_are_told() {
    let chat = Chat::of(&["My name is Oliver.", "I have a peanut allergy.", "My mum's birthday is on 3 March."]).await;
    assert!(chat.facts_with(json!({ "relation": "OWNS" })).await.is_empty(), "an allergy is no possession");
    for (question, expected) in [
        ("What is my name?", "You are called Oliver [1]."),
        ("Do you know my name?", "You are called Oliver [1]."),
        // Neither yes nor no.
        ("Can I eat peanuts?", "You are allergic to peanuts [1]."),
        ("When is my mother's birthday?", "Your mum's birthday is 3 March [1]."),
    ] {
        assert_eq!(chat.ask_cited(question).await, (expected.to_owned(), 1), "{question}");
    }
}

#[tokio::test]
async fn reason_of_asserted_fact_is_kept_and_no_fact_is_read_from_it() {
    let chat = Chat::of(&["I like sushi."]).await;
    let ramen =
        |reason: &str| json!({ "sessionId": chat.session, "subject": "I", "relation": "LIKES", "object": "ramen", "reason": reason });
    let stated = chat.change("assertFact", ramen("I no longer like sushi since March 2021, after the trip to Japan.")).await;
    let query = "query($id: ID!) { fact(id: $id) { validFromPrecision evidence { nodes { excerpt message { text } } } } }";
    let fact = chat.server.graphql(query, json!({ "id": stated["fact"]["id"] })).await["fact"].clone();
    let evidence = &fact["evidence"]["nodes"][0];
    assert!(evidence["message"]["text"].as_str().unwrap().ends_with("after the trip to Japan."), "{fact}");
    assert!(!evidence["excerpt"].as_str().unwrap().contains("Japan"), "{fact}");
    assert_eq!(fact["validFromPrecision"], "UNKNOWN", "the date is of the reason");
    chat.server.settle(&chat.session).await;
    assert_eq!(chat.facts_with(json!({ "status": "ACTIVE" })).await.len(), 2, "sushi and ramen");
    for (reason, code) in [(" ", "REASON_EMPTY"), (&"x".repeat(501), "REASON_TOO_LONG")] {
        let refused = chat.change("assertFact", ramen(reason)).await;
        assert_eq!((&refused["errors"][0]["code"], &refused["errors"][0]["path"][1]), (&json!(code), &json!("reason")), "{refused}");
    }
}

#[tokio::test]
async fn diet_answers_what_can_be_eaten() {
    let chat = Chat::of(&["I'm vegan."]).await;
    for question in ["What can I eat?", "What can I eat, I'm vegan?", "Can I eat cheese?"] {
        assert_eq!(chat.ask_cited(question).await.0, "Your diet is vegan [1].", "{question}");
    }
    assert_eq!(chat.ask_cited("Am I vegan?").await.0, "Yes, your diet is vegan [1].");
    for question in ["Am I vegetarian?", "Can I eat out?", "Should I cook for Ann?"] {
        let (answer, _) = chat.ask_cited(question).await;
        assert!(!answer.starts_with("Yes") && !answer.contains("diet"), "{question} {answer}");
    }
}

#[tokio::test]
async fn new_number_replaces_the_old_one_and_a_further_one_does_not() {
    let chat = Chat::of(&["My phone number is 0171 555 1234.", "My new phone number is 0160 999 4321."]).await;
    assert_eq!(chat.ask_cited("What's my phone number?").await.0, "Your phone number is 0160 999 4321 [1].");
    chat.say("My new work number is 030 555 777.").await;
    let holding = chat.facts_with(json!({ "relation": "PHONE", "status": "ACTIVE" })).await;
    assert_eq!(holding.len(), 2, "{holding:?}");
}

#[tokio::test]
async fn corrected_value_replaces_the_wrong_one() {
    let chat = Chat::of(&["My number is 0171 555 1234.", "My work number is 0160 999 4321.", "I meant 0160 999 4322"]).await;
    let (answer, _) = chat.ask_cited("What is my phone number?").await;
    assert!(answer.contains("4322") && answer.contains("1234") && !answer.contains("4321"), "{answer}");
    let chat = Chat::of(&["My shoe size is 41.", "actually it's 42, not 41"]).await;
    let (answer, _) = chat.ask_cited("What is my shoe size?").await;
    assert!(answer.contains("42") && !answer.contains("is 41"), "{answer}");
}

#[tokio::test]
async fn age_is_stored_as_value_and_answered_with_source() {
    let chat = Chat::of(&["My son Leo is 7."]).await;
    let facts = chat.facts_with(json!({ "relation": "AGE" })).await;
    assert_eq!(facts.len(), 1, "{facts:?}");
    let age = &facts[0];
    assert_eq!((&age["subject"]["name"], &age["object"]), (&json!("Leo"), &json!(null)));
    let value = &age["value"];
    assert_eq!(
        (&value["type"], &value["text"], &value["number"], &value["unit"]),
        (&json!("NUMBER"), &json!("7"), &json!(7.0), &json!("year"))
    );
    let (answer, cited) = chat.ask_cited("How old is Leo?").await;
    assert_eq!((answer.as_str(), cited), ("Leo is 7 [1].", 1));
    let (unknown, cited) = chat.ask_cited("How old is my brother?").await;
    assert_eq!(cited, 0, "{unknown}");
}

#[tokio::test]
async fn same_value_reinforces_and_another_one_is_a_rival() {
    let chat = Chat::of(&["My son Leo is 7.", "Leo is seven years old."]).await;
    let once = chat.facts_with(json!({ "relation": "AGE" })).await;
    assert_eq!(once.len(), 1, "{once:?}");
    assert_eq!(once[0]["evidence"]["nodes"].as_array().map(Vec::len), Some(2));
    chat.say("Leo is 8.").await;
    let both = chat.facts_with(json!({ "relation": "AGE" })).await;
    let shares: Vec<_> = both.iter().map(|f| (f["value"]["text"].as_str(), f["rivals"].as_array().map(Vec::len))).collect();
    assert_eq!(shares, [(Some("8"), Some(1)), (Some("7"), Some(1))]);
    let rents = Chat::of(&["My rent is €900.", "My salary is €3,000."]).await;
    let rents = rents.facts_with(json!({ "relation": "AMOUNT" })).await;
    assert!(rents.len() == 2 && rents.iter().all(|f| f["rivals"] == json!([])), "different measures: {rents:?}");
}

#[tokio::test]
async fn values_are_asserted_checked_and_retracted() {
    let chat = Chat::of(&[]).await;
    let of = |relation: &str, more: Value| {
        let mut input = json!({ "sessionId": chat.session, "subject": "me", "relation": relation });
        input.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        input
    };
    let stated = chat.change("assertFact", of("EMAIL", json!({ "value": { "text": "Ann@Example.ORG" } }))).await;
    assert_eq!(stated["errors"], json!([]));
    assert_eq!(stated["fact"]["value"]["address"], "ann@example.org");
    assert_eq!(stated["fact"]["subject"]["isViewer"], true);
    for (input, code) in [
        (of("EMAIL", json!({ "object": "Ann" })), "VALUE_EXPECTED"),
        (of("EMAIL", json!({ "value": { "text": "no address" } })), "VALUE_NOT_ALLOWED"),
        (of("LIKES", json!({ "value": { "text": "tea" } })), "OBJECT_EXPECTED"),
        (of("LIKES", json!({})), "OBJECT_EXPECTED"),
    ] {
        assert_eq!(chat.change("assertFact", input.clone()).await["errors"][0]["code"], code, "{input}");
    }
    let retracted = chat.change("retractFact", json!({ "id": stated["fact"]["id"] })).await;
    assert_eq!(retracted["fact"]["status"], "RETRACTED");
}

#[tokio::test]
async fn questions_about_values_are_answered() {
    let chat =
        Chat::of(&["I'm a nurse.", "I'm allergic to peanuts.", "My birthday is 3 March.", "My phone number is +49 30 1234567."]).await;
    chat.say_at("The deadline for Phoenix is Friday.", Some("2026-11-23T09:00:00Z")).await;
    for (question, expected) in [
        ("What do I do for a living?", "You work as a nurse [1]."),
        ("What am I allergic to?", "You are allergic to peanuts [1]."),
        ("Am I allergic to peanuts?", "Yes, you are allergic to peanuts [1]."),
        ("When is my birthday?", "Your birthday is 3 March [1]."),
        ("What is my phone number?", "Your phone number is +49 30 1234567 [1]."),
        ("When is Phoenix due?", "Phoenix is due on 27 November 2026 [1]."),
    ] {
        let (answer, cited) = chat.ask_cited(question).await;
        assert_eq!((answer.as_str(), cited), (expected, 1), "{question}");
    }
    let things = chat.server.graphql("{ entities(first: 10, filter: { text: \"peanut\" }) { nodes { name type } } }", json!({})).await;
    assert_eq!(things["entities"]["nodes"], json!([{ "name": "peanuts", "type": "THING" }]));
}

#[tokio::test]
async fn forgotten_value_is_gone_and_returns_unchanged() {
    let chat = Chat::of(&["I'm allergic to peanuts.", "My email is ann@example.org."]).await;
    let before = chat.facts_with(json!({})).await;
    let forgotten = chat.change("forget", json!({ "query": "that I'm allergic to peanuts", "dryRun": false })).await;
    assert_eq!(forgotten["facts"].as_array().map(Vec::len), Some(1), "{forgotten}");
    let left = chat.facts_with(json!({})).await;
    assert_eq!(left.iter().map(|f| f["relation"].as_str()).collect::<Vec<_>>(), [Some("EMAIL")]);
    let undone = chat.change("undoForget", json!({ "token": forgotten["token"] })).await;
    assert_eq!(undone["errors"], json!([]));
    let sorted = |mut facts: Vec<Value>| {
        facts.sort_by_key(|f| f["id"].to_string());
        facts
    };
    assert_eq!(sorted(chat.facts_with(json!({})).await), sorted(before));
}

#[tokio::test]
async fn statements_without_a_relation_are_notes_of_what_they_name() {
    let chat = Chat::of(&["My son Leo is 7.", "Leo plays the drums on Tuesdays."]).await;
    let query = "{ entities(first: 10, filter: { text: \"leo\" }) { nodes { name notes { nodes { id value { text } status } }
        facts { nodes { relation } } } } }";
    let found = chat.server.graphql(query, json!({})).await["entities"]["nodes"][0].clone();
    let notes = found["notes"]["nodes"].as_array().cloned().unwrap_or_default();
    assert_eq!(notes.len(), 1, "{found}");
    assert_eq!(notes[0]["value"]["text"], "Leo plays the drums on Tuesdays.");
    assert!(!found["facts"].to_string().contains("NOTE"), "notes are listed apart: {found}");
    assert!(!json!(chat.facts_with(json!({})).await).to_string().contains("drums"));
    assert_eq!(chat.facts_with(json!({ "relation": "NOTE" })).await.len(), 1);
    let (answer, _) = chat.ask_cited("What do you know about Leo?").await;
    assert!(answer.contains("7") && answer.contains("plays the drums on Tuesdays"), "{answer}");
    let retracted = chat.change("retractFact", json!({ "id": notes[0]["id"] })).await;
    assert_eq!(retracted["fact"]["status"], "RETRACTED");
}
