//! Comparing documents: points with citations from both sides, progress, deletion, interruption, and a model.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    api::harness::{ADMIN, ANNA, BORIS, Server, text},
    models::server::{KEY, MODEL, ModelServer, Reaction},
    server::within,
    stored::Stored,
};

const OLD: &str = "# Leave\n\nEmployees have 30 days of paid leave a year. Teresa Almeida works at Lumen Labs.\n\n\
    # Trips\n\nExpense reports are due within two weeks of the trip.\n\n# Parking\n\nThe parking garage closes at 22:00 on weekdays.\n";
const NEW: &str = "# Holidays\n\nEmployees have 25 days of paid leave each year. Teresa Almeida lives in Lisbon.\n\n\
    # Travel\n\nExpense reports are due within 14 days of the trip.\n";

const READ: &str = "query($id: ID!) { comparison(id: $id) { id status error done total comparer question documents { id filename }
    similarities { ...P } differences { ...P } insights { ...P } } }
    fragment P on ComparisonPoint { text citations { index excerpt shared document { id } chunk { id text } } silent { filename } }";
const COMPARE: &str =
    "mutation($input: CompareDocumentsInput!) { compareDocuments(input: $input) { comparison { id status } errors { code path } } }";

/// Adds a text and waits until it is searchable. Returns its id.
async fn add(server: &Server, user: &str, name: &str, content: &str, fields: &[(&str, &str)]) -> String {
    let added: Value = server.upload(user, name, content.as_bytes(), fields).await.json().await.unwrap();
    let id = text(&added["id"]);
    within("the document is not processed", async {
        loop {
            let document: Value = server.get(user, &format!("/documents/{id}")).send().await.unwrap().json().await.unwrap();
            if document["status"] == "completed" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    id
}

/// Compares documents and waits for the end.
async fn compare(server: &Server, user: &str, documents: &[&str], question: Option<&str>) -> Value {
    let input = json!({ "documentIds": documents, "question": question });
    let begun = server.data(user, COMPARE, json!({ "input": input })).await["compareDocuments"].clone();
    assert_eq!(begun["errors"], json!([]), "{begun}");
    let id = &begun["comparison"]["id"];
    within("the documents are not compared", async {
        loop {
            let found = server.data(user, READ, json!({ "id": id })).await["comparison"].clone();
            if ["COMPLETED", "FAILED"].contains(&found["status"].as_str().unwrap()) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}

fn texts(points: &Value) -> Vec<&str> {
    points.as_array().unwrap().iter().map(|p| p["text"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comparison_cites_both_documents_and_goes_with_them() {
    for stored in Stored::all().await {
        let server = Server::start_on(stored).await;
        let _work = server.work();
        let (old, new) = (add(&server, ANNA, "old.md", OLD, &[]).await, add(&server, ANNA, "new.md", NEW, &[]).await);
        let found = compare(&server, ANNA, &[&old, &new], None).await;
        assert_eq!(
            (&found["status"], &found["comparer"], &found["done"]),
            (&json!("COMPLETED"), &json!("alignment"), &found["total"]),
            "{found:#}"
        );
        assert_eq!(found["documents"], json!([{ "id": old, "filename": "old.md" }, { "id": new, "filename": "new.md" }]));
        let differences = texts(&found["differences"]);
        assert!(
            differences.iter().any(|t| t.contains("30 days of paid leave") && t.ends_with("[2]: 30 days against 25 days")),
            "{differences:?}"
        );
        let alone = differences.iter().position(|t| t.starts_with("Only old.md says “The parking garage closes")).unwrap();
        assert_eq!(found["differences"][alone]["silent"], json!([{ "filename": "new.md" }]));
        let similarities = texts(&found["similarities"]);
        assert!(similarities.iter().any(|t| t.contains("two weeks") && t.contains("14 days")), "{similarities:?}");
        assert_eq!(texts(&found["insights"])[0], "old.md and new.md both name Teresa Almeida [1] [2]");
        for kind in ["similarities", "differences", "insights"] {
            for point in found[kind].as_array().unwrap() {
                let cited: std::collections::BTreeSet<String> =
                    point["citations"].as_array().unwrap().iter().map(|c| text(&c["document"]["id"])).collect();
                assert!(cited.len() + point["silent"].as_array().unwrap().len() >= 2, "{point:#}");
                for citation in point["citations"].as_array().unwrap() {
                    let excerpt = citation["excerpt"].as_str().unwrap().trim_end_matches('…');
                    assert!(
                        excerpt.chars().count() <= 100 && citation["chunk"]["text"].as_str().unwrap().contains(excerpt),
                        "{citation:#}"
                    );
                }
            }
        }
        // Its session is no conversation, and its log tells the progress.
        let seen =
            server.data(ANNA, "query($id: ID!) { sessions { totalCount } session(id: $id) { head } }", json!({ "id": found["id"] })).await;
        assert_eq!(seen["sessions"]["totalCount"], 0);
        assert!(seen["session"]["head"].as_str().unwrap().ends_with(&format!(":{}", found["total"].as_u64().unwrap() + 1)), "{seen}");
        let context = server.data(ANNA, "{ context(input: { query: \"Compare old.md and new.md\" }) { messages { message { text } } chunks { chunk { document { id } } } } }", json!({})).await;
        assert!(!context.to_string().contains("Compare old.md"), "a comparison is no source: {context:#}");

        // A question chooses the passages.
        let asked = compare(&server, ANNA, &[&new, &old], Some("How many days of paid leave do employees have?")).await;
        assert!(texts(&asked["differences"])[0].ends_with("[2]: 25 days against 30 days"), "{asked:#}");

        let list = "query($d: ID) { comparisons(documentId: $d) { totalCount nodes { id question } } }";
        let listed = server.data(ANNA, list, json!({ "d": old })).await["comparisons"].clone();
        assert_eq!((&listed["totalCount"], &listed["nodes"][0]["id"]), (&json!(2), &asked["id"]));
        assert_eq!(server.data(BORIS, list, json!({ "d": old })).await["comparisons"]["totalCount"], 0);
        let delete = "mutation($id: ID!) { deleteComparison(input: { id: $id }) { deletedId errors { code } } }";
        let foreign = server.data(BORIS, delete, json!({ "id": asked["id"] })).await;
        assert_eq!(foreign["deleteComparison"]["errors"][0]["code"], "NOT_FOUND");
        let deleted = server.data(ANNA, delete, json!({ "id": asked["id"] })).await;
        assert_eq!((&deleted["deleteComparison"]["deletedId"], &deleted["deleteComparison"]["errors"]), (&asked["id"], &json!([])));
        assert_eq!(server.data(ANNA, list, json!({})).await["comparisons"]["totalCount"], 1);

        // Points whose words are forgotten are left out, and return when that is undone.
        let leave = found["differences"].as_array().unwrap().iter().find(|p| p["text"].as_str().unwrap().contains("paid leave")).unwrap();
        let chunk = &leave["citations"][0]["chunk"]["id"];
        let forget = "mutation($id: ID!) { forget(input: { messageIds: [$id], dryRun: false }) { token errors { code } } }";
        let forgotten = server.data(ANNA, forget, json!({ "id": chunk })).await["forget"].clone();
        let read = async || server.data(ANNA, READ, json!({ "id": found["id"] })).await["comparison"].to_string();
        assert!(!read().await.contains("30 days"), "{forgotten}");
        let undo = "mutation($token: ID!) { undoForget(input: { token: $token }) { errors { code } } }";
        server.data(ANNA, undo, json!({ "token": forgotten["token"] })).await;
        assert!(read().await.contains("30 days"));
        // What is deleted for good is quoted nowhere.
        let delete_message = "mutation($id: ID!) { deleteMessage(input: { messageId: $id }) { errors { code } } }";
        let again = compare(&server, ANNA, &[&old, &new], None).await;
        let deleted = server.data(ANNA, delete_message, json!({ "id": chunk })).await;
        assert_eq!(deleted["deleteMessage"]["errors"], json!([]));
        assert_eq!(server.data(ANNA, READ, json!({ "id": again["id"] })).await["comparison"], Value::Null);
        let found = compare(&server, ANNA, &[&old, &new], None).await;
        assert!(!found.to_string().contains("30 days"), "{found:#}");

        // What quotes a document is deleted with it.
        let gone = server.http.delete(server.url(&format!("/documents/{old}"))).header("x-test-user", ANNA).send().await.unwrap();
        assert_eq!(gone.status(), 204);
        assert_eq!(server.data(ANNA, READ, json!({ "id": found["id"] })).await["comparison"], Value::Null);
        assert_eq!(server.data(ANNA, list, json!({})).await["comparisons"]["totalCount"], 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_searchable_documents_of_the_caller_are_compared() {
    let server = Server::start().await;
    let waiting = text(&server.upload(ANNA, "a.md", OLD.as_bytes(), &[]).await.json::<Value>().await.unwrap()["id"]);
    let other = text(&server.upload(ANNA, "b.md", NEW.as_bytes(), &[]).await.json::<Value>().await.unwrap()["id"]);
    let foreign = text(&server.upload(BORIS, "c.md", NEW.as_bytes(), &[]).await.json::<Value>().await.unwrap()["id"]);
    let unknown = uuid::Uuid::from_u128(7).to_string();
    let six = vec![waiting.as_str(); 6];
    let refused = async |ids: &[&str], question: Option<&str>| {
        let answer = server.data(ANNA, COMPARE, json!({ "input": { "documentIds": ids, "question": question } })).await;
        assert_eq!(answer["compareDocuments"]["comparison"], Value::Null);
        text(&answer["compareDocuments"]["errors"][0]["code"])
    };
    assert_eq!(refused(&[&waiting], None).await, "COMPARED_DOCUMENTS");
    assert_eq!(refused(&[&waiting, &waiting], None).await, "COMPARED_DOCUMENTS");
    assert_eq!(refused(&six, None).await, "COMPARED_DOCUMENTS");
    assert_eq!(refused(&[&waiting, "x"], None).await, "INVALID_ID");
    assert_eq!(refused(&[&waiting, &other], Some(&"x".repeat(5_000))).await, "QUERY_TOO_LONG");
    assert_eq!(refused(&[&waiting, &other], None).await, "DOCUMENT_IN_PROGRESS");
    assert_eq!(refused(&[&waiting, &foreign], None).await, "NOT_FOUND");
    assert_eq!(refused(&[&waiting, &unknown], None).await, "NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_document_is_compared_with_an_own_one() {
    let server = Server::start().await;
    let _work = server.work();
    let shared = add(&server, ADMIN, "rules.md", OLD, &[("shared", "true")]).await;
    let own = add(&server, BORIS, "mine.md", NEW, &[]).await;
    let found = compare(&server, BORIS, &[&shared, &own], None).await;
    let leave = found["differences"].as_array().unwrap().iter().find(|p| p["text"].as_str().unwrap().contains("paid leave")).unwrap();
    assert_eq!((&leave["citations"][0]["shared"], &leave["citations"][1]["shared"]), (&json!(true), &json!(false)));
    // When the shared document is deleted, nothing of it can be read any longer.
    let deleted = server.http.delete(server.url(&format!("/documents/{shared}"))).header("x-test-user", ADMIN).send().await.unwrap();
    assert_eq!(deleted.status(), 204);
    let left = server.data(BORIS, READ, json!({ "id": found["id"] })).await["comparison"].clone();
    assert_eq!(left["documents"], json!([{ "id": own, "filename": "mine.md" }]));
    assert!(!left.to_string().contains("30 days"), "{left:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusal_names_the_field_and_the_failed_document() {
    let server = Server::start().await;
    let _work = server.work();
    let read = add(&server, ANNA, "a.md", OLD, &[]).await;
    let added: Value = server.upload(ANNA, "broken.pdf", b"%PDF-1.7\nnothing", &[]).await.json().await.unwrap();
    let broken = text(&added["id"]);
    within("the document does not fail", async {
        loop {
            let document: Value = server.get(ANNA, &format!("/documents/{broken}")).send().await.unwrap().json().await.unwrap();
            if document["status"] == "failed" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let compare = "mutation($input: CompareDocumentsInput!) { compareDocuments(input: $input) { errors { code path message } } }";
    let refused = async |question: Option<&str>| {
        let input = json!({ "documentIds": [read, broken], "question": question });
        server.data(ANNA, compare, json!({ "input": input })).await["compareDocuments"]["errors"][0].clone()
    };
    let failed = refused(None).await;
    assert_eq!((&failed["code"], &failed["path"]), (&json!("DOCUMENT_FAILED"), &json!(["input", "documentIds"])), "{failed}");
    assert!(failed["message"].as_str().unwrap().contains("broken.pdf"), "{failed}");
    let long = refused(Some(&"x ".repeat(501))).await;
    assert_eq!((&long["code"], &long["path"]), (&json!("QUERY_TOO_LONG"), &json!(["input", "question"])), "{long}");
}

/// Rules of `sections` rooms that open at an hour and later ones at later hours, and further rules.
fn rules(sections: usize, hour: usize, further: &str) -> String {
    let names = "garden kitchen library office canteen workshop garage terrace cellar attic lobby stairwell sauna gym pool lounge studio theatre \
                 chapel stable barn harbour station tunnel";
    let room = |(n, name): (usize, &str)| format!("## The {name}\n\nThe {name} is open until {}:00.\n\n", hour + n % 12);
    names.split_whitespace().take(sections).enumerate().map(room).collect::<String>() + further
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_sections_survive_many_changes_and_the_rest_is_counted() {
    let server = Server::start().await;
    let _work = server.work();
    let further =
        "## AI tools\n\nCustomer data must never be entered into public AI services.\n\n## Bees\n\nThe beekeeper feeds them in winter.\n";
    let old = add(&server, ANNA, "old.md", &rules(24, 8, ""), &[]).await;
    let new = add(&server, ANNA, "new.md", &rules(24, 9, further), &[]).await;
    let whole = compare(&server, ANNA, &[&old, &new], None).await;
    let differences = texts(&whole["differences"]);
    assert_eq!(differences.iter().filter(|text| text.contains(", but new.md says")).count(), 20, "{differences:#?}");
    assert!(differences.iter().any(|text| text.contains("Customer data")) && differences.iter().any(|text| text.contains("beekeeper")));
    let last = *texts(&whole["insights"]).last().unwrap();
    assert!(last.contains("leaves out less important points: 4 contradictions"), "{last}");
    // A question for changes is no narrowing.
    let asked = compare(&server, ANNA, &[&old, &new], Some("What has changed?")).await;
    assert_eq!(asked["differences"], whole["differences"]);
    // A question without words finds nothing, and the report says so.
    let nothing = compare(&server, ANNA, &[&old, &new], Some(&"x".repeat(900))).await;
    assert_eq!((&nothing["status"], &nothing["error"]), (&json!("COMPLETED"), &Value::Null));
    assert!(texts(&nothing["insights"])[0].starts_with("Nothing about “xxx"), "{nothing:#}");
}

const LEASE: &str = "# Elm Court\n\n## Pets\n\nCats are allowed in the flat. Dogs stay outside.\n\n\
    ## Rent\n\nThe monthly rent of 900 euros is due on the first working day.\n\n## Bicycles\n\nBicycles are kept in the cellar of the house.\n";
const NEW_LEASE: &str = "# Elm Court\n\n## Pets\n\nCats are not allowed in the flat. Dogs stay outside.\n\n\
    ## Rent\n\nThe monthly rent of 980 euros is due on the first working day.\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn question_narrows_the_report_and_silence_is_told() {
    use crate::server::Server;
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let mut ids = Vec::new();
    for (path, content) in [("old.md", LEASE), ("new.md", NEW_LEASE)] {
        let add = "mutation($t: String!, $p: String!) { addDocument(input: { text: $t, path: $p }) { document { id } } }";
        let added = server.graphql(add, json!({ "t": content, "p": path })).await;
        ids.push(text(&added["addDocument"]["document"]["id"]));
    }
    within("the documents are not processed", async {
        while server.graphql("{ documents(filter: { status: COMPLETED }) { totalCount } }", json!({})).await["documents"]["totalCount"] != 2
        {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    let compared = async |question: &str| {
        let begun = server.graphql(COMPARE, json!({ "input": { "documentIds": ids, "question": question } })).await;
        let id = text(&begun["compareDocuments"]["comparison"]["id"]);
        within("the documents are not compared", async {
            loop {
                let found = server.graphql(READ, json!({ "id": id })).await["comparison"].clone();
                if found["status"] == "COMPLETED" {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
    };
    // In other words than the documents.
    let pets = compared("May I have a kitten?").await;
    let differences = texts(&pets["differences"]);
    assert!(differences[0].ends_with(": allowed against not allowed"), "{pets:#}");
    assert!(!pets.to_string().contains("rent of") && !pets.to_string().contains("Bicycles are"), "{pets:#}");
    assert_eq!(pets["differences"][0]["citations"][0]["excerpt"], "Cats are allowed in the flat.");

    let bicycles = compared("Are bikes allowed in the cellar?").await;
    assert_eq!(texts(&bicycles["differences"]), ["Only old.md says “Bicycles are kept in the cellar of the house” [1]"], "{bicycles:#}");

    let pool = compared("How deep is the swimming pool?").await;
    assert_eq!((&pool["similarities"], &pool["differences"]), (&json!([]), &json!([])), "{pool:#}");
    let said = "Nothing about “How deep is the swimming pool?” was found in old.md or new.md";
    assert_eq!(texts(&pool["insights"]), [said]);
    assert_eq!(pool["insights"][0]["citations"], json!([]));
    assert_eq!(pool["insights"][0]["silent"], json!([{ "filename": "old.md" }, { "filename": "new.md" }]));
}

/// A text with `sections` sections of different content.
fn long_text(sections: usize, days: usize) -> String {
    let section = |n: usize| {
        format!("# Rule {n}\n\nRule number{n} about thing{n} takes {} days for each colleague{n}. {}\n\n", days + n, "More. ".repeat(20))
    };
    (0..sections).map(section).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_nine_during_a_comparison_repeats_no_step() {
    use crate::server::Server;
    let kills: u64 = std::env::var("CRASH_KILLS").ok().and_then(|v| v.parse().ok()).unwrap_or(6);
    let data = tempfile::tempdir().unwrap();
    let start = || Server::start_with(data.path(), &[("RECALL_ATTEMPTS", "100")]);
    let mut server = start();
    let mut ids = Vec::new();
    for (name, days) in [("a.md", 3), ("b.md", 9)] {
        let added = server
            .graphql(
                "mutation($t: String!, $p: String!) { addDocument(input: { text: $t, path: $p }) { document { id } } }",
                json!({ "t": long_text(120, days), "p": name }),
            )
            .await;
        ids.push(text(&added["addDocument"]["document"]["id"]));
    }
    within("the documents are not processed", async {
        while server.graphql("{ documents(filter: { status: COMPLETED }) { totalCount } }", json!({})).await["documents"]["totalCount"] != 2
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    let begun = server.graphql(COMPARE, json!({ "input": { "documentIds": ids } })).await;
    let id = text(&begun["compareDocuments"]["comparison"]["id"]);
    for n in 0..kills {
        tokio::time::sleep(Duration::from_millis(5 + 41 * n % 150)).await;
        assert!(std::process::Command::new("kill").args(["-9", &server.pid().to_string()]).status().unwrap().success());
        drop(server);
        server = start();
    }
    let found = within("the documents are not compared", async {
        loop {
            let found = server.graphql(READ, json!({ "id": id })).await["comparison"].clone();
            match found["status"].as_str().unwrap() {
                "COMPLETED" => break found,
                "FAILED" => panic!("{found}"),
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    })
    .await;
    assert_eq!(found["done"], found["total"]);
    // Each step is told once, in order: `pending`, then one event for each.
    let head = server.graphql("query($id: ID!) { session(id: $id) { head } }", json!({ "id": id })).await;
    let steps = found["total"].as_u64().unwrap();
    assert!(head["session"]["head"].as_str().unwrap().ends_with(&format!(":{}", steps + 1)), "{head} after {steps} steps");
    assert!(steps > 3, "{steps}");
    let all = texts(&found["differences"]);
    let unique: std::collections::BTreeSet<&&str> = all.iter().collect();
    assert_eq!((unique.len(), all.len()), (20, 20), "{all:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn model_compares_with_checked_points_and_is_replaced_when_it_fails() {
    use crate::server::Server;
    let point = |text: &str, silent: &[&str]| {
        let quotes = json!([{ "passage": 1, "words": "30 days of paid leave" }, { "passage": 2, "words": "25 days of paid leave" }]);
        json!({ "kind": "difference", "text": text, "quotes": quotes, "silent": silent })
    };
    let reply =
        json!({ "points": [point("old.md grants 30 days [1], new.md only 25 [2].", &[]), point("Only one side [1].", &[])] }).to_string();
    let model = ModelServer::start(move |_, request| {
        let system = request["messages"][0]["content"].as_str().unwrap_or_default();
        match system.starts_with("You compare passages") {
            true if request.to_string().contains("Fail now") => Reaction::Fail(500),
            true => Reaction::Say(reply.clone()),
            false => Reaction::Fail(500),
        }
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let url = model.url();
    let settings =
        [("RECALL_MODEL_URL", url.as_str()), ("RECALL_MODEL_KEY", KEY), ("RECALL_MODEL_NAME", MODEL), ("RECALL_EXTRACTION", "local")];
    let server = Server::start_with(folder.path(), &settings);
    let mut ids = Vec::new();
    for (name, content) in [
        ("old.md", "Employees have 30 days of paid leave a year. Teresa Almeida works at Lumen Labs."),
        ("new.md", "Employees have 25 days of paid leave a year. Teresa Almeida lives in Lisbon."),
    ] {
        let added = server
            .graphql(
                "mutation($t: String!, $p: String!) { addDocument(input: { text: $t, path: $p }) { document { id } } }",
                json!({ "t": content, "p": name }),
            )
            .await;
        ids.push(text(&added["addDocument"]["document"]["id"]));
    }
    within("the documents are not processed", async {
        while server.graphql("{ documents(filter: { status: COMPLETED }) { totalCount } }", json!({})).await["documents"]["totalCount"] != 2
        {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    let compared = async |question: Option<&str>| {
        let begun = server.graphql(COMPARE, json!({ "input": { "documentIds": ids, "question": question } })).await;
        let id = text(&begun["compareDocuments"]["comparison"]["id"]);
        within("the documents are not compared", async {
            loop {
                let found = server.graphql(READ, json!({ "id": id })).await["comparison"].clone();
                if found["status"] == "COMPLETED" {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
    };
    let found = compared(None).await;
    assert_eq!(found["comparer"], MODEL);
    assert_eq!(texts(&found["differences"]), ["old.md grants 30 days [1], new.md only 25 [2]."], "{found:#}");
    assert_eq!(found["differences"][0]["citations"][1]["excerpt"], "25 days of paid leave");
    let insights = texts(&found["insights"]);
    let said = "old.md says that Teresa Almeida works for Lumen Labs [1], and new.md that Teresa Almeida lives in Lisbon [2]";
    assert!(insights.contains(&said), "{insights:?}");
    let instead = compared(Some("Fail now: how many days of leave?")).await;
    assert_eq!(instead["comparer"], "alignment");
    assert!(texts(&instead["differences"])[0].ends_with("30 days against 25 days"), "{instead:#}");
}
