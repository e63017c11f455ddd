//! Manual changes, end to end: merging, renaming, retracting and deleting.

use serde_json::{Value, json};

use crate::chat::Chat;

impl Chat {
    async fn entity(&self, name: &str) -> String {
        let data = self.server.graphql("{ entities(first: 100) { nodes { id name } } }", json!({})).await;
        let nodes = data["entities"]["nodes"].as_array().unwrap().clone();
        let found = nodes.iter().find(|n| n["name"] == name).unwrap_or_else(|| panic!("no {name} in {nodes:?}"));
        found["id"].as_str().unwrap().to_owned()
    }

    async fn merge(&self, into: &str, from: &str) -> Value {
        let query = "mutation($into: ID!, $from: ID!) { mergeEntities(input: { intoId: $into, fromId: $from }) {
            entity { name aliases isViewer } errors { code message } } }";
        let (into, from) = (self.entity(into).await, self.entity(from).await);
        let data = self.server.graphql(query, json!({ "into": into, "from": from })).await;
        assert_eq!(data["mergeEntities"]["errors"], json!([]));
        data["mergeEntities"]["entity"].clone()
    }

    /// Returns facts as "subject relation object status belief".
    async fn beliefs(&self) -> Vec<String> {
        self.server.facts().await.into_iter().map(|(words, _, belief, status)| format!("{words} {status} {belief:.2}")).collect()
    }
}

#[tokio::test]
async fn preview_of_a_merge_counts_what_the_merge_then_changes() {
    let told = Chat::of(&["John knows Johnny.", "Johnny likes Mary.", "John likes Mary.", "Johnny works at Siemens."]).await;
    let (into, from) = (told.entity("John").await, told.entity("Johnny").await);
    let merge = async |dry_run: bool| {
        let query =
            "mutation($into: ID!, $from: ID!, $dryRun: Boolean) { mergeEntities(input: { intoId: $into, fromId: $from, dryRun: $dryRun }) {
            entity { name aliases mentionCount } mentionsMoved factsMoved factsJoined factsRemoved errors { code } } }";
        let variables = json!({ "into": into, "from": from, "dryRun": dry_run });
        told.server.graphql(query, variables).await["mergeEntities"].clone()
    };
    let before = told.beliefs().await;
    let preview = merge(true).await;
    assert_eq!(told.beliefs().await, before, "a preview changed something");
    let counts = ["mentionsMoved", "factsMoved", "factsJoined", "factsRemoved"].map(|count| preview[count].as_u64().unwrap());
    assert_eq!(counts, [3, 1, 1, 1], "{preview:#}");
    assert_eq!(preview["entity"]["aliases"], json!(["Johnny"]));
    assert_eq!(merge(false).await, preview);
    assert_eq!(told.beliefs().await.len(), 2);
}

#[tokio::test]
async fn name_that_the_server_joined_is_separated_with_what_was_said_under_it() {
    let told = Chat::of(&["Anna Schmidt works at Siemens.", "Anna likes tea.", "Anna Schmidt lives in Ghent."]).await;
    let id = told.entity("Anna Schmidt").await;
    let separate = async |name: &str, dry_run: bool| {
        let query = "mutation($id: ID!, $name: String, $dryRun: Boolean) { unmergeEntities(input: { entityId: $id, name: $name, dryRun: $dryRun }) {
            entity { name aliases mentionCount } from { name aliases mentionCount } mentionsMoved factsMoved errors { code path } } }";
        told.server.graphql(query, json!({ "id": id, "name": name, "dryRun": dry_run })).await["unmergeEntities"].clone()
    };
    let before = told.beliefs().await;
    assert!(before.iter().any(|f| f.starts_with("Anna Schmidt LIKES tea")), "the names were not joined: {before:?}");
    let error = |code: &str| json!([{ "code": code, "path": ["input", "name"] }]);
    assert_eq!(separate("Boris", true).await["errors"], error("NOT_AN_ALIAS"));
    assert_eq!(separate("anna schmidt", true).await["errors"], error("NOT_AN_ALIAS"), "the name of the entity itself");
    let preview = separate("Anna", true).await;
    assert_eq!(told.beliefs().await, before, "a preview changed something");
    let expected = json!({
        "entity": { "name": "Anna", "aliases": [], "mentionCount": 1 }, "from": { "name": "Anna Schmidt", "aliases": [], "mentionCount": 2 },
        "mentionsMoved": 1, "factsMoved": 1, "errors": [],
    });
    assert_eq!(preview, expected);
    assert_eq!(separate("Anna", false).await, expected);
    let words = async || told.server.facts().await.into_iter().map(|(words, ..)| words).collect::<Vec<_>>();
    let separated = words().await;
    assert!(
        separated.contains(&"Anna LIKES tea".to_owned()) && separated.contains(&"Anna Schmidt LIVES_IN Ghent".to_owned()),
        "{separated:?}"
    );
    // Later messages tell the two apart.
    told.say("Anna likes chess.").await;
    told.say("Anna Schmidt likes coffee.").await;
    let later = words().await;
    assert!(later.contains(&"Anna LIKES chess".to_owned()), "{later:?}");
    assert!(later.contains(&"Anna Schmidt LIKES coffee".to_owned()), "{later:?}");
    assert_eq!(separate("Anna", false).await["errors"], error("NOT_AN_ALIAS"));
}

#[tokio::test]
async fn name_is_separated_only_if_both_sides_are_whole_afterwards() {
    let told =
        Chat::of(&["Petra Nowak lives in Ghent.", "Petra Nowak came by, and Petra likes tea.", "Carl lives in Oslo.", "Zeno likes plums."])
            .await;
    let separate = async |id: &str, name: &str| {
        let query = "mutation($id: ID!, $name: String) { unmergeEntities(input: { entityId: $id, name: $name }) {
            entity { mentionCount } from { mentionCount } factsMoved errors { code } } }";
        told.server.graphql(query, json!({ "id": id, "name": name })).await["unmergeEntities"].clone()
    };
    // A message that names both has words for each.
    let petra = separate(&told.entity("Petra Nowak").await, "Petra").await;
    let expected = json!({ "entity": { "mentionCount": 1 }, "from": { "mentionCount": 2 }, "factsMoved": 1, "errors": [] });
    assert_eq!(petra, expected);
    let facts: Vec<String> = told.server.facts().await.into_iter().map(|(words, ..)| words).collect();
    assert!(facts.contains(&"Petra LIKES tea".to_owned()), "{facts:?}");
    // A description goes with the name that was described.
    told.say("Vera Klein works at Siemens.").await;
    told.say("Vera is my neighbour.").await;
    separate(&told.entity("Vera Klein").await, "Vera").await;
    let query = "{ entities(filter: { text: \"vera\" }) { nodes { name description } } }";
    let described = told.server.graphql(query, json!({})).await["entities"]["nodes"].clone();
    let of = |name: &str| described.as_array().unwrap().iter().find(|e| e["name"] == name).unwrap()["description"].clone();
    assert_eq!((of("Vera"), of("Vera Klein")), (json!("neighbour"), Value::Null), "{described:#}");
    // Nothing was said of Karl by this name, so nothing would be left of him.
    let carl = told.entity("Carl").await;
    let rename = "mutation($id: ID!) { renameEntity(input: { id: $id, name: \"Karl\" }) { errors { code } } }";
    told.server.graphql(rename, json!({ "id": carl })).await;
    assert_eq!(separate(&carl, "Carl").await["errors"][0]["code"], "NOTHING_STAYS");
    // A recorded merge knows more than the name.
    told.merge("Petra Nowak", "Zeno").await;
    assert_eq!(separate(&told.entity("Petra Nowak").await, "Zeno").await["errors"][0]["code"], "NAME_OF_MERGE");
}

#[tokio::test]
async fn fact_is_denied_and_ended_by_hand() {
    let told = Chat::of(&["Sarah lives in Lyon.", "Sarah uses Emacs."]).await;
    let session = told.session.clone();
    let state = async |object: &str, relation: &str, stance: &str| {
        let query = "mutation($session: ID!, $object: String!, $relation: String!, $stance: EvidenceStance!) {
            assertFact(input: { sessionId: $session, subject: \"Sarah\", relation: $relation, object: $object, stance: $stance }) {
                fact { status belief evidence { nodes { stance message { text } } } } errors { code } } }";
        let variables = json!({ "session": session, "object": object, "relation": relation, "stance": stance });
        let data = told.server.graphql(query, variables).await["assertFact"].clone();
        assert_eq!(data["errors"], json!([]), "{data:#}");
        data["fact"].clone()
    };
    let denied = state("Lyon", "LIVES_IN", "OPPOSES").await;
    assert_eq!(denied["status"], "ACTIVE");
    assert!((0.4..0.55).contains(&denied["belief"].as_f64().unwrap()), "one voice for it, one against: {denied:#}");
    let said = denied["evidence"]["nodes"].as_array().unwrap().iter().find(|e| e["stance"] == "OPPOSES").unwrap().clone();
    assert_eq!(said["message"]["text"], "I deny that Sarah lives in Lyon.");
    let ended = state("Emacs", "USES", "ENDS").await;
    assert_eq!(ended["status"], "ENDED", "{ended:#}");
    let confirmed = state("Lyon", "LIVES_IN", "SUPPORTS").await;
    assert!(confirmed["belief"].as_f64().unwrap() > 0.55, "{confirmed:#}");
}

#[tokio::test]
async fn sentences_that_deny_a_fact_are_no_statement_of_it() {
    let told = Chat::of(&["Rita lives in Faro.", "Rita uses Emacs.", "Rita likes tea."]).await;
    told.say("I deny that Rita lives in Faro.").await;
    told.say("It is no longer true that Rita uses Emacs.").await;
    told.say("It's not true that Rita likes tea.").await;
    told.say("It is false that Rita likes chess.").await;
    let facts = told.server.facts().await;
    let find = |words: &str| facts.iter().find(|(w, ..)| w == words).unwrap_or_else(|| panic!("{facts:?}"));
    assert!(find("Rita LIVES_IN Faro").2 < 0.55, "{facts:?}");
    assert_eq!(find("Rita USES Emacs").3, "ENDED", "{facts:?}");
    let (_, _, belief, status) = find("Rita LIKES tea");
    assert!(*belief < 0.55 || status == "RETRACTED", "{facts:?}");
    assert!(facts.iter().all(|(w, _, belief, _)| w != "Rita LIKES chess" || *belief < 0.5), "{facts:?}");
    // A beginning that is later than the first statement is none.
    told.say_at("Anna is my neighbour.", Some("2026-03-02T12:00:00Z")).await;
    told.say_at("I met Anna yesterday.", Some("2026-06-02T12:00:00Z")).await;
    let query = "{ facts(filter: { relation: \"KNOWS\" }) { nodes { validFrom validFromPrecision } } }";
    let known = told.server.graphql(query, json!({})).await;
    assert_eq!(known["facts"]["nodes"][0]["validFromPrecision"], "UNKNOWN", "{known:#}");
}

#[tokio::test]
async fn facts_that_changed_between_two_times_are_listed() {
    let told = Chat::of(&[]).await;
    for (text, at) in [
        ("Sarah lives in Lyon.", "2024-01-10T12:00:00Z"),
        ("Sarah uses Emacs.", "2024-02-10T12:00:00Z"),
        ("Sarah no longer uses Emacs.", "2024-04-10T12:00:00Z"),
        ("Sarah likes chess.", "2024-05-10T12:00:00Z"),
    ] {
        told.say_at(text, Some(at)).await;
    }
    let between = async |from: &str, until: Option<&str>| {
        let query = "query($span: TimeSpanInput!) { facts(filter: { differsBetween: $span }) { totalCount nodes { object { name } } } }";
        let data = told.server.graphql(query, json!({ "span": { "from": from, "until": until } })).await;
        let mut names: Vec<String> =
            data["facts"]["nodes"].as_array().unwrap().iter().map(|f| f["object"]["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        assert_eq!(data["facts"]["totalCount"], names.len());
        names
    };
    assert_eq!(between("2024-03-01T00:00:00Z", None).await, ["Emacs", "chess"]);
    assert_eq!(between("2024-03-01T00:00:00Z", Some("2024-05-01T00:00:00Z")).await, ["Emacs"]);
    assert_eq!(between("2024-01-01T00:00:00Z", Some("2024-03-01T00:00:00Z")).await, ["Emacs", "Lyon"]);
}

#[tokio::test]
async fn type_that_the_user_gives_survives_later_mentions() {
    let told = Chat::of(&["John works at Basel Rowing."]).await;
    let id = told.entity("Basel Rowing").await;
    let retype = "mutation($id: ID!, $type: EntityType!) { retypeEntity(input: { id: $id, type: $type }) {
        entity { name type confidence } errors { code path } } }";
    let data = told.server.graphql(retype, json!({ "id": id, "type": "EVENT" })).await;
    assert_eq!(data["retypeEntity"]["entity"], json!({ "name": "Basel Rowing", "type": "EVENT", "confidence": 1.0 }), "{data:#}");
    told.say("John works at Basel Rowing.").await;
    assert_eq!(told.entity("Basel Rowing").await, id, "it is another entity now");
    let data = told.server.graphql("query($id: ID!) { entity(id: $id) { type } }", json!({ "id": id })).await;
    assert_eq!(data["entity"]["type"], "EVENT");
    // The user stays a person.
    told.say("I like tea.").await;
    let viewer = told.server.graphql("{ viewer { entity { id } } }", json!({})).await["viewer"]["entity"]["id"].clone();
    let data = told.server.graphql(retype, json!({ "id": viewer, "type": "PLACE" })).await;
    assert_eq!(data["retypeEntity"]["errors"][0]["code"], "OWN_ENTITY", "{data:#}");
}

#[tokio::test]
async fn merge_removes_fact_between_merged_entities() {
    let told = Chat::of(&["John knows Johnny.", "Johnny likes Mary."]).await;
    let merged = told.merge("John", "Johnny").await;
    assert_eq!(merged["aliases"], json!(["Johnny"]));
    assert_eq!(told.beliefs().await, ["John LIKES Mary ACTIVE 0.67"]);
    told.say("Johnny likes Mary.").await;
    assert_eq!(told.beliefs().await, ["John LIKES Mary ACTIVE 0.75"]);
}

#[tokio::test]
async fn repeated_renames_keep_latest_aliases() {
    let told = Chat::of(&["John likes Mary."]).await;
    let john = told.entity("John").await;
    let query = "mutation($id: ID!, $name: String!) { renameEntity(input: { id: $id, name: $name }) {
        entity { aliases } errors { code message } } }";
    let mut renamed = json!(null);
    for n in 0..25 {
        let data = told.server.graphql(query, json!({ "id": john, "name": format!("John {}", char::from(b'A' + n)) })).await;
        assert_eq!(data["renameEntity"]["errors"], json!([]));
        renamed = data["renameEntity"]["entity"]["aliases"].clone();
    }
    let latest: Vec<String> = (4..24).map(|n| format!("John {}", char::from(b'A' + n))).collect();
    assert_eq!(renamed, json!(latest));
}

#[tokio::test]
async fn viewer_entity_can_be_merged_into_own_name() {
    let told = Chat::of(&["I like tea.", "Anna likes coffee."]).await;
    let merged = told.merge("Anna", "You").await;
    assert_eq!((merged["isViewer"].clone(), merged["aliases"].clone()), (json!(true), json!([])));
    told.say("I like tea.").await;
    told.say("Anna likes tea.").await;
    assert_eq!(told.beliefs().await, ["Anna LIKES coffee ACTIVE 0.67", "Anna LIKES tea ACTIVE 0.80"]);
}

#[tokio::test]
async fn merged_place_names_no_longer_contradict() {
    let told = Chat::of(&["I live in Gent.", "I live in Ghent."]).await;
    assert_eq!(told.beliefs().await, ["You LIVES_IN Gent ACTIVE 0.50", "You LIVES_IN Ghent ACTIVE 0.50"]);
    told.merge("Ghent", "Gent").await;
    assert_eq!(told.beliefs().await, ["You LIVES_IN Ghent ACTIVE 0.75"]);
}

#[tokio::test]
async fn retracted_fact_is_restored_when_stated_again() {
    let told = Chat::of(&["John likes Mary."]).await;
    let data = told.server.graphql("{ facts(first: 1) { nodes { id } } }", json!({})).await;
    let id = data["facts"]["nodes"][0]["id"].clone();
    let retract = "mutation($id: ID!) { retractFact(input: { id: $id }) { fact { status } errors { code } } }";
    for _ in 0..2 {
        let data = told.server.graphql(retract, json!({ "id": id })).await;
        assert_eq!(data["retractFact"], json!({ "fact": { "status": "RETRACTED" }, "errors": [] }));
    }
    told.say("John likes Mary.").await;
    assert_eq!(told.beliefs().await, ["John LIKES Mary ACTIVE 0.75"]);
    let changes: Vec<Value> =
        told.server.events(&told.session).await.iter().filter(|e| e["type"] == "fact_update").map(|e| e["change"].clone()).collect();
    assert_eq!(changes, [json!("added"), json!("retracted"), json!("restored")]);
}

#[tokio::test]
async fn deleted_session_leaves_no_facts_or_entities() {
    let told = Chat::of(&["I live in Paris."]).await;
    let other = told.server.create_session().await;
    told.server.send(json!({ "sessionId": other, "text": "I live in Lyon." })).await.unwrap();
    told.server.settle(&other).await;
    let delete = "mutation($id: ID!) { deleteSession(input: { id: $id }) { errors { code } } }";
    told.server.graphql(delete, json!({ "id": told.session })).await;
    let facts: Vec<String> = told.server.facts().await.into_iter().map(|f| f.0).collect();
    assert_eq!(facts, ["You LIVES_IN Lyon"]);
    let data = told.server.graphql("{ entities(first: 10) { nodes { name } } }", json!({})).await;
    assert!(!data.to_string().contains("Paris"), "{data}");
}

#[tokio::test]
async fn both_rival_facts_of_one_message_are_added() {
    let told = Chat::of(&["I live in Paris and I live in Lyon."]).await;
    let added = told.server.events(&told.session).await.iter().filter(|e| e["type"] == "fact_update" && e["change"] == "added").count();
    assert_eq!(added, 2);
}

#[tokio::test]
async fn undated_imported_messages_keep_their_order() {
    let told = Chat::of(&[]).await;
    let query = "mutation($s: ID!, $m: [ImportedMessage!]!) { importMessages(input: { sessionId: $s, messages: $m }) { errors { code } } }";
    let texts = ["I use Vim.", "I no longer use Vim.", "I use Vim."];
    let messages: Vec<Value> = texts.iter().map(|t| json!({ "text": t })).collect();
    told.server.graphql(query, json!({ "s": told.session, "m": messages })).await;
    told.server.settle(&told.session).await;
    assert!(told.beliefs().await[0].starts_with("You USES Vim ACTIVE"), "{:?}", told.beliefs().await);
}

#[tokio::test]
async fn retracted_fact_no_longer_weakens_rivals() {
    let told = Chat::of(&["I live in Lyon.", "I live in Ghent."]).await;
    assert_eq!(told.beliefs().await, ["You LIVES_IN Ghent ACTIVE 0.50", "You LIVES_IN Lyon ACTIVE 0.50"]);
    let data = told.server.graphql("{ facts(first: 10) { nodes { id object { name } } } }", json!({})).await;
    let nodes = data["facts"]["nodes"].as_array().unwrap();
    let ghent = nodes.iter().find(|n| n["object"]["name"] == "Ghent").unwrap()["id"].clone();
    let retract = "mutation($id: ID!) { retractFact(input: { id: $id }) { fact { status } errors { code } } }";
    told.server.graphql(retract, json!({ "id": ghent })).await;
    let lyon = told.beliefs().await.into_iter().find(|f| f.contains("Lyon")).unwrap();
    assert_eq!(lyon, "You LIVES_IN Lyon ACTIVE 0.67");
    let events = told.server.events(&told.session).await;
    let last: Vec<Value> = events.iter().rev().take(2).map(|e| json!([e["target"], e["change"]])).collect();
    assert_eq!(last, [json!(["Lyon", "revised"]), json!(["Ghent", "retracted"])]);
}

#[tokio::test]
async fn restoring_a_fact_undoes_its_retraction() {
    let told = Chat::of(&["I live in Lyon.", "I live in Ghent."]).await;
    let contents = "{ facts(first: 10, orderBy: LATEST_LEARNED) { nodes { id status belief relativeWeight validFrom validTo object { name }
        evidence(first: 10) { totalCount nodes { stance excerpt confidence createdAt message { id } } } } } }";
    let before = told.server.graphql(contents, json!({})).await;
    let ghent = before["facts"]["nodes"].as_array().unwrap().iter().find(|n| n["object"]["name"] == "Ghent").unwrap()["id"].clone();
    let change = async |mutation: &str| {
        let query =
            format!("mutation($id: ID!) {{ result: {mutation}(input: {{ id: $id }}) {{ fact {{ status }} errors {{ code path }} }} }}");
        told.server.graphql(&query, json!({ "id": ghent })).await["result"].clone()
    };
    let refused = |code: &str| json!({ "fact": null, "errors": [{ "code": code, "path": ["input", "id"] }] });
    assert_eq!(change("restoreFact").await, refused("NOT_RETRACTED"));
    change("retractFact").await;
    assert_ne!(told.server.graphql(contents, json!({})).await, before);
    assert_eq!(change("restoreFact").await, json!({ "fact": { "status": "ACTIVE" }, "errors": [] }));
    assert_eq!(told.server.graphql(contents, json!({})).await, before);
    let events = told.server.events(&told.session).await;
    let last: Vec<Value> = events.iter().rev().take(2).map(|e| json!([e["target"], e["change"], e["relative_weight"]])).collect();
    assert_eq!(last, [json!(["Lyon", "revised", 0.5]), json!(["Ghent", "restored", 0.5])]);
    assert_eq!(change("restoreFact").await, refused("NOT_RETRACTED"));

    // A message that corrects the fact is evidence against it, which an undo would contradict.
    told.say("Actually, I don't live in Ghent, I live in Bruges.").await;
    assert_eq!(change("restoreFact").await, refused("RETRACTED_BY_MESSAGE"));
}

#[tokio::test]
async fn undone_merge_restores_entity_and_emits_events() {
    let told = Chat::of(&["Hannah likes tea.", "Susanna likes tea.", "Susanna lives in Ghent."]).await;
    let susanna = told.entity("Susanna").await;
    told.merge("Hannah", "Susanna").await;
    let merged = "{ entities(first: 10, filter: { text: \"Hannah\" }) { nodes { id merged { id name score reason } } } }";
    let data = told.server.graphql(merged, json!({})).await;
    let node = &data["entities"]["nodes"][0];
    assert_eq!(node["merged"], json!([{ "id": susanna, "name": "Susanna", "score": 1.0, "reason": "by hand" }]));
    let unmerge = "mutation($id: ID!) { unmergeEntities(input: { entityId: $id }) {
        entity { id name mentionCount } from { name aliases } errors { code path } } }";
    let data = told.server.graphql(unmerge, json!({ "id": susanna })).await;
    let back = json!({ "entity": { "id": susanna, "name": "Susanna", "mentionCount": 2 }, "from": { "name": "Hannah", "aliases": [] },
        "errors": [] });
    assert_eq!(data["unmergeEntities"], back);
    let facts = told.beliefs().await;
    assert_eq!(&facts[..2], ["Hannah LIKES tea ACTIVE 0.67", "Susanna LIKES tea ACTIVE 0.67"]);
    assert!(facts[2].starts_with("Susanna LIVES_IN Ghent ACTIVE"), "{facts:?}");
    let changes: Vec<Value> = told.server.events(&told.session).await.iter().rev().take(5).map(|e| e["change"].clone()).collect();
    assert!(changes.contains(&json!("unmerged")) && changes.contains(&json!("restored")), "{changes:?}");
    // A second undo finds nothing.
    let data = told.server.graphql(unmerge, json!({ "id": susanna })).await;
    assert_eq!(data["unmergeEntities"]["errors"], json!([{ "code": "NOT_MERGED", "path": ["input", "entityId"] }]));
}

#[tokio::test]
async fn user_name_identifies_viewer_but_not_namesakes() {
    let told = Chat::of(&["I'm John.", "I like tea.", "John called me.", "John likes coffee.", "Call me Jo."]).await;
    let data = told.server.graphql("{ viewer { entity { name aliases } } }", json!({})).await;
    assert_eq!(data["viewer"]["entity"], json!({ "name": "John", "aliases": ["Jo"] }));
    assert_eq!(told.beliefs().await, ["John LIKES coffee ACTIVE 0.67", "John LIKES tea ACTIVE 0.67"]);
    let data = told.server.graphql("{ entities(first: 10) { nodes { name isViewer } } }", json!({})).await;
    let johns: Vec<&Value> = data["entities"]["nodes"].as_array().unwrap().iter().filter(|n| n["name"] == "John").collect();
    assert_eq!(johns.len(), 2, "{data}");
}

#[tokio::test]
async fn resolved_name_has_reason() {
    let told = Chat::of(&["My brother John plays chess.", "Anna Schmidt likes tea."]).await;
    let other = told.server.create_session().await;
    told.server.send(json!({ "sessionId": other, "text": "John from accounting likes coffee." })).await.unwrap();
    told.server.settle(&other).await;
    let resolve = "query($m: String!) { resolveEntity(input: { mention: $m }) { canonicalForm confidence
        candidates { entity { description } confidence reason } } }";
    let of = async |mention: &str| told.server.graphql(resolve, json!({ "m": mention })).await["resolveEntity"].clone();
    let brother = of("my brother John").await;
    assert_eq!(brother["candidates"][0]["entity"]["description"], "brother");
    assert_eq!(brother["candidates"][0]["reason"], "same name, same role");
    let colleague = of("John from accounting").await;
    assert_eq!(colleague["candidates"][0]["entity"]["description"], "from accounting");
    assert_eq!(of("my brother").await["canonicalForm"], "John");
    let anna = of("Anna").await;
    assert_eq!(
        (&anna["canonicalForm"], &anna["candidates"][0]["reason"]),
        (&json!("Anna Schmidt"), &json!("given name of a known full name"))
    );
}
