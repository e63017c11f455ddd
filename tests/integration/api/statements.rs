//! The number of SQL statements of a nested query does not grow with the number of items (no N+1).

use serde_json::json;

use super::harness::{ANNA, Server, text};
use crate::stored::Stored;
use recall_domain::{Caller, TopicId, ViewerRole};
use recall_ports::{SessionTopics, TopicPart};

#[tokio::test]
async fn nested_queries_take_constant_number_of_statements() {
    for stored in Stored::all().await {
        assert_constant_statements(stored).await;
    }
}

async fn assert_constant_statements(stored: Stored) {
    let server = Server::start_on(stored).await;
    let session = server.session(ANNA).await;
    for n in 0..40 {
        server.fact(ANNA, &session, [&format!("Person {n}"), ["LIKES", "DISLIKES"][n % 2], &format!("Thing {}", n / 2)]).await;
        server.fact(ANNA, &session, [&format!("Person {n}"), "LIVES_IN", &format!("Town {n}")]).await;
    }
    for n in 0..12u128 {
        let added = server.upload(ANNA, &format!("Report {n}.txt"), format!("All about {n}.").as_bytes(), &[]).await;
        let id = text(&added.json::<serde_json::Value>().await.unwrap()["id"]);
        let caller = Caller::verified(ANNA.parse().unwrap(), ViewerRole::User);
        let first = server.store.messages_before(&caller, id.parse().unwrap(), 2, 1).await.unwrap().remove(0);
        let part = TopicPart {
            fresh: TopicId(uuid::Uuid::from_u128(n + 1)),
            name: format!("topic {n}").into(),
            terms: vec![format!("topic {n}")],
            centroid: vec![1.0],
            messages: vec![first.id],
        };
        let topics = SessionTopics { session: first.session, model: "test".to_owned(), parts: vec![part], now: first.created_at };
        server.store.replace_topics(&caller, &topics).await.unwrap();
    }
    let messages = "query($id: ID!, $n: Int!) { session(id: $id) { messages(first: $n) { nodes {
        id session { title } answer { id } answerTo { id } citations(first: 2) { index message { id } fact { id } }
        entities(first: 3) { name type } mentions(first: 3) { surface entity { name } score reason }
        facts(first: 3) { relation relativeWeight rivals(first: 3) { object { name } } subject { name } object { name }
                evidence(first: 1) { nodes { message { text session { id } } } } } } } } }";
    let facts = "query($n: Int!) { facts(first: $n) { nodes { belief subject { name } object { name } relativeWeight
        rivals(first: 3) { id subject { name } } evidence(first: 2) { nodes { stance message { text entities(first: 3) { name } } } } } } }";
    let entities =
        "query($n: Int!) { entities(first: $n) { nodes { id name type aliases description mentionCount confidence createdAt updatedAt
        merged(first: 2) { id name mergedAt score reason } } } }";
    let documents =
        "query($n: Int!) { documents(first: $n) { nodes { id filename path collection status summary viewedAt createdAt updatedAt
        topics(first: 3) { id name size } } } }";
    for (name, query, few, many) in
        [("messages", messages, 4, 40), ("facts", facts, 4, 80), ("entities", entities, 4, 80), ("documents", documents, 4, 12)]
    {
        let mut counts = Vec::new();
        for first in [few, many] {
            let before = server.stored.statements().await;
            let data = server.data(ANNA, query, json!({ "id": session, "n": first })).await;
            assert!(data.to_string().len() > 200 * first, "the query did not find the stored items: {}", data.to_string().len());
            counts.push(server.stored.statements().await - before);
        }
        println!("{}, {name}: {} statements for {few} items, {} for {many}", server.store.engine(), counts[0], counts[1]);
        // Two branches of a query that need the same rows share a statement if the rows above them arrive together. So single
        // statements come and go; a statement for each item adds as many as there are items more.
        let more_items = u64::try_from(many - few).unwrap();
        assert!(counts[1].saturating_sub(counts[0]) < more_items / 2, "{name}: {counts:?}");
    }
}
