//! When facts began and ended, as messages tell it, end to end.

use serde_json::{Value, json};

use crate::chat::Chat;

impl Chat {
    /// Returns the only fact of a relation, with its dates.
    async fn dated(&self, relation: &str) -> Value {
        let query = "query($f: FactFilter) { facts(first: 10, filter: $f) { nodes { status validFrom validFromPrecision validTo validToPrecision \
                     statedAt endStatedAt } } }";
        let found = self.server.graphql(query, json!({ "f": { "relation": relation } })).await;
        let nodes = found["facts"]["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), 1, "{relation}: {nodes:?}");
        nodes[0].clone()
    }
}

#[tokio::test]
async fn facts_have_the_dates_that_messages_tell() {
    let chat = Chat::of(&["I have lived in Ghent since March 2024.", "I like jazz.", "I worked at Bosch from 2015 to 2019."]).await;
    let home = chat.dated("LIVES_IN").await;
    assert_eq!((&home["validFrom"], &home["validFromPrecision"]), (&json!("2024-03-01T00:00:00+00:00"), &json!("MONTH")), "{home}");
    assert!(
        home["statedAt"].as_str() > home["validFrom"].as_str() && home["validTo"].is_null() && home["validToPrecision"].is_null(),
        "{home}"
    );
    let taste = chat.dated("LIKES").await;
    assert_eq!((&taste["validFrom"], &taste["validFromPrecision"]), (&taste["statedAt"], &json!("UNKNOWN")), "{taste}");
    let job = chat.dated("WORKS_FOR").await;
    assert_eq!(job["status"], "ENDED", "{job}");
    assert_eq!((&job["validFrom"], &job["validFromPrecision"]), (&json!("2015-01-01T00:00:00+00:00"), &json!("YEAR")), "{job}");
    assert_eq!((&job["validTo"], &job["validToPrecision"]), (&json!("2019-01-01T00:00:00+00:00"), &json!("YEAR")), "{job}");
    assert!(job["endStatedAt"].as_str() > job["validTo"].as_str(), "{job}");
    for (question, expected) in [("Since when have I lived in Ghent?", "March 2024"), ("Until when did I work at Bosch?", "2019")] {
        let answer = chat.answer(question).await;
        assert!(answer["text"].as_str().unwrap().contains(expected), "{answer}");
    }
}

#[tokio::test]
async fn what_begins_ends_what_it_replaces() {
    let chat = Chat::of(&["I live in Lyon.", "I moved to Ghent in March 2024."]).await;
    let query = "{ facts(first: 10, filter: { relation: \"LIVES_IN\", status: ENDED }) { nodes { validTo validToPrecision } } }";
    let ended = chat.server.graphql(query, json!({})).await["facts"]["nodes"].clone();
    assert_eq!(ended, json!([{ "validTo": "2024-03-01T00:00:00+00:00", "validToPrecision": "MONTH" }]));
}
