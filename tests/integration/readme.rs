//! Runs the examples of the README, of docs/shared-memory.md, of docs/mcp.md and of docs/openai.md.

use std::process::Command;

use crate::server::Server;

/// A command that waits until the latest message contains a text.
fn wait_for(text: &str) -> String {
    let body = r#"{"query":"{ sessions(first: 1) { nodes { messages(last: 1) { nodes { role status } } } } }"}"#;
    let ask = format!("curl -s http://127.0.0.1:8080/graphql -H 'content-type: application/json' -d '{body}'");
    format!("until {ask} | grep -q '\"{text}\"'; do sleep 0.2; done\n")
}

/// Returns the script between the marks `<!-- mark -->` and `<!-- /mark -->` of a page.
fn script_of(page: &str, mark: &str) -> String {
    let block = page.split(&format!("<!-- {mark} -->")).nth(1).and_then(|t| t.split(&format!("<!-- /{mark} -->")).next());
    block.expect("the marks are there").trim().trim_start_matches("```sh").trim_end_matches("```").to_owned()
}

/// Runs a script against a new server. Returns the lines of its output that are JSON objects.
fn run(script: &str) -> Vec<serde_json::Value> {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let script = script.replace("127.0.0.1:8080", &server.address);
    let done = Command::new("bash").args(["-euo", "pipefail", "-c", &script]).output().expect("bash runs");
    let out = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{out}\n{}", String::from_utf8_lossy(&done.stderr));
    let objects = out.lines().filter(|line| line.starts_with('{'));
    objects.map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

#[test]
fn readme_examples_work_as_pasted() {
    let script = script_of(include_str!("../../README.md"), "examples");
    // One second is enough for a person; a slow machine may need more.
    let script = script.replacen("sleep 1\n", &wait_for("PROCESSED"), 1).replacen("sleep 1\n", &wait_for("ASSISTANT"), 1);
    // Compares values and not text, because GraphQL answers may order fields freely.
    let answers = run(&script);
    for a in &answers {
        assert!(a.get("errors").is_none() && a.get("code").is_none(), "{a}");
    }
    let at = |i: usize, path: &str| answers[i].pointer(path).unwrap_or_else(|| panic!("{path} of {}", answers[i])).clone();
    assert_eq!(at(0, "/data/sendMessage/status"), "PROCESSING");
    for (path, expected) in
        [("subject/name", "John"), ("relation", "LIKES"), ("object/name", "Mary"), ("evidence/nodes/0/excerpt", "John likes Mary")]
    {
        assert_eq!(at(1, &format!("/data/facts/nodes/0/{path}")), expected);
    }
    assert_eq!(at(1, "/data/facts/nodes/0/weight"), 1.0);
    assert_eq!(at(2, "/data/context/messages/0/message/text"), "John likes Mary.");
    assert_eq!(at(4, "/data/session/messages/nodes/0/text"), "John likes Mary [1].");
    assert_eq!(at(5, "/status"), "processing");
    assert_eq!(at(6, "/facts/0/fact/relation"), "likes");
    assert_eq!(at(7, "/canonical_form"), "Mary");
}

#[test]
fn readme_shared_memory_example_works_as_pasted() {
    let answers = run(&script_of(include_str!("../../docs/shared-memory.md"), "shared"));
    assert_eq!(answers[0]["data"]["sendMessage"], serde_json::json!({ "status": "PROCESSING", "errors": [] }));
    let found = &answers[1]["data"]["context"]["messages"][0];
    assert_eq!((&found["shared"], &found["message"]["session"]["title"]), (&serde_json::json!(true), &serde_json::json!("Handbook")));
}

#[test]
fn mcp_examples_work_as_pasted() {
    let answers = run(&script_of(include_str!("../../docs/mcp.md"), "mcp"));
    assert_eq!(answers.len(), 5, "{answers:?}");
    for answer in &answers {
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        assert!(answer["result"]["structuredContent"].to_string().contains("Ghent"), "{answer}");
    }
}

#[test]
fn openai_examples_work_as_pasted() {
    let script = script_of(include_str!("../../docs/openai.md"), "openai");
    let answers = run(&script.replacen("sleep 1\n", &wait_for("PROCESSED"), 1));
    let content = answers[1]["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(content.starts_with("John likes Mary [1].\n\nSources:\n[1] "), "{content}");
    assert_eq!(answers[2]["data"][0]["id"], "recall");
}
