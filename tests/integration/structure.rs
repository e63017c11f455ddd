//! What the compiler does not check of the structure: which crate may depend on which, that files say what they are for and stay
//! small, that statements are checked, and that metrics are described.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// The crates of the workspace that each crate may depend on, lowest layer first. A crate that is not listed fails the test.
const LAYERS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("text", &[]),
    ("ports", &["domain"]),
    ("understand", &["domain", "ports"]),
    ("facts", &["domain", "ports"]),
    ("usecases", &["domain", "ports", "facts", "text"]),
    ("projection", &["domain", "ports"]),
    ("documents", &["domain", "ports"]),
    ("embedding", &["domain", "ports"]),
    ("retrieval", &["domain", "ports", "text"]),
    ("answering", &["domain", "ports", "embedding", "text"]),
    ("comparing", &["domain", "ports", "embedding", "text"]),
    ("models", &["domain", "ports"]),
    ("neural", &["domain", "ports", "text"]),
    ("store", &["domain", "ports"]),
    ("store-sqlite", &["domain", "ports", "store"]),
    ("store-postgres", &["domain", "ports", "store"]),
    ("graph-neo4j", &["domain", "ports"]),
    ("mcp", &["domain", "ports", "facts", "usecases"]),
    ("api", &["domain", "ports", "facts", "usecases", "mcp"]),
];

/// Crates without input or output, and what their manifests must not name.
const PURE: &[&str] = &["domain", "text", "ports", "store", "understand", "facts", "usecases"];
const IO: &[&str] = &["sqlx", "axum", "async-graphql", "signaling", "openai-http", "neo4rs"];

/// Longest file, in lines before its unit tests.
const MAX_LINES: usize = 400;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Code without comments and without what follows `#[cfg(test)]`.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Every Rust file of the program: the binary, the crates and `signaling`.
fn sources() -> Vec<PathBuf> {
    let crates = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let folders = crates.chain([root().join("src"), root().join("signaling/src")]);
    folders.flat_map(|folder| rust_files(&folder)).collect()
}

/// What the manifest of a crate depends on, outside of its tests.
fn dependencies(name: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = text.parse().unwrap();
    manifest["dependencies"].as_table().unwrap().keys().cloned().collect()
}

#[test]
fn crates_depend_on_lower_layers_only() {
    let mut broken = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let allowed = LAYERS.iter().find(|(layer, _)| *layer == name).unwrap_or_else(|| panic!("{name} is not in LAYERS")).1;
        for dependency in dependencies(&name) {
            if dependency.strip_prefix("recall-").is_some_and(|inner| !allowed.contains(&inner)) {
                broken.push(format!("{name} depends on {dependency}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn pure_crates_do_no_input_or_output() {
    let mut broken = Vec::new();
    for name in PURE {
        broken.extend(dependencies(name).iter().filter(|d| IO.contains(&d.as_str())).map(|d| format!("{name} depends on {d}")));
        for path in rust_files(&root().join("crates").join(name).join("src")) {
            let code = code(&path);
            // clippy.toml forbids the clock and random ids.
            broken.extend(["std::fs", "tokio::net"].iter().filter(|f| code.contains(**f)).map(|f| format!("{} names {f}", path.display())));
        }
    }
    // Candidates arrive as data: `facts` calls no extractor, no embedder and no answerer.
    for path in rust_files(&root().join("crates/facts/src")) {
        let code = code(&path);
        broken.extend(
            ["Extractor", "Embedder", "Answerer"].iter().filter(|f| code.contains(**f)).map(|f| format!("{} names {f}", path.display())),
        );
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn signaling_knows_no_memory() {
    let forbidden = ["recall::", "Fact", "fact_", "Entity", "entity_", "Message "];
    let mut broken = Vec::new();
    for path in rust_files(&root().join("signaling/src")) {
        let code = code(&path);
        broken.extend(forbidden.iter().filter(|f| code.contains(**f)).map(|f| format!("{} names {f}", path.display())));
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_file_says_what_it_is_for_and_stays_small() {
    let mut broken = Vec::new();
    for dir in ["src", "crates", "signaling/src", "tests", "benches"] {
        for path in rust_files(&root().join(dir)) {
            let text = std::fs::read_to_string(&path).unwrap();
            if !text.starts_with("//!") {
                broken.push(format!("{} does not say what it is for", path.display()));
            }
            let lines = text.lines().take_while(|l| !l.starts_with("#[cfg(test)]")).count();
            let only_tests = dir == "tests" || path.file_stem().is_some_and(|s| s == "tests");
            if lines > MAX_LINES && !only_tests {
                broken.push(format!("{} has {lines} lines", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Put together at run time, each with a test that tries every form; and what reads the migrations' own table.
const NOT_CHECKED: &[&str] = &["archive/read.rs", "archive/write.rs", "account_deletion.rs", "list.rs", "statistics.rs", "migrate.rs"];

#[test]
fn statements_for_postgres_are_checked_when_they_are_compiled() {
    let folder = root().join("crates/store-postgres/src");
    let mut broken = Vec::new();
    for path in rust_files(&folder) {
        let inside = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
        if NOT_CHECKED.contains(&inside.as_str()) || inside.ends_with("tests.rs") {
            continue;
        }
        let code = code(&path);
        let unchecked =
            ["query(", "query::<", "query_as(", "query_as::<", "query_scalar(", "query_scalar::<", "_unchecked!", "QueryBuilder"];
        broken.extend(unchecked.iter().filter(|u| code.contains(**u)).map(|u| format!("{inside} has {u}")));
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Files that also read rows of sessions under deletion, of one store or both.
const READ_HIDDEN: &[(&str, &str)] = &[
    ("account_deletion.rs", "deletes all rows of a user"),
    ("archive/", "checks the counters of a restored account, and adopts only without hidden sessions"),
    ("delete.rs", "deletes sessions"),
    ("forget", "hides messages, and deletes them for good"),
    ("graph/feed.rs", "mirrors rows until their deletion is in the change feed"),
    ("knowledge/commit.rs", "keeps rows of hidden sessions in step with the facts and entities"),
    ("knowledge/merge.rs", "moves rows of hidden sessions, so that nothing is left without an entity"),
    ("session_deletion.rs", "deletes sessions in steps"),
    ("visits.rs", "locks all sessions of a visitor"),
];

/// The tables of READ_HIDDEN that a piece of code selects from; `visible_…` and `DELETE FROM` do not count.
fn selected_tables(code: &str) -> Vec<&str> {
    let words: Vec<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    let is = |word: Option<&&str>, wanted: &str| word.is_some_and(|word| word.eq_ignore_ascii_case(wanted));
    let selected = words.iter().enumerate().filter(|&(at, table)| {
        let before = |n: usize| at.checked_sub(n).and_then(|at| words.get(at));
        let selects = (is(before(1), "FROM") && !is(before(2), "DELETE")) || is(before(1), "JOIN");
        selects && ["sessions", "messages", "events", "mentions", "evidence", "resources"].contains(table)
    });
    selected.map(|(_, table)| *table).collect()
}

#[test]
fn statements_read_no_rows_of_sessions_under_deletion() {
    let (mut broken, mut excused) = (Vec::new(), BTreeSet::new());
    for name in ["store", "store-sqlite", "store-postgres"] {
        let folder = root().join("crates").join(name).join("src");
        for path in rust_files(&folder) {
            let inside = path.strip_prefix(&folder).unwrap().to_str().unwrap();
            let code = code(&path);
            let tables = selected_tables(&code);
            if tables.is_empty() || inside.ends_with("tests.rs") {
                continue;
            }
            match READ_HIDDEN.iter().find(|(file, _)| inside.starts_with(file)) {
                Some((file, _)) => _ = excused.insert(*file),
                None => broken.push(format!("{name}/{inside} reads {tables:?} instead of the views visible_… of migration 0022")),
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(excused.len() == READ_HIDDEN.len(), "not needed any more: {:?}", READ_HIDDEN.iter().filter(|(f, _)| !excused.contains(f)));
}

#[test]
fn the_scan_of_statements_finds_tables_and_no_views() {
    let code = r#""SELECT * FROM messages m JOIN sessions s", "DELETE FROM events", "SELECT 1 from visible_messages", "
        DELETE FROM mentions WHERE id IN (SELECT id
            FROM evidence)""#;
    assert_eq!(selected_tables(code), ["messages", "sessions", "evidence"]);
}

/// A checked row is read by the order of its columns, and where a migration's columns stand differs between databases.
#[test]
fn checked_statements_name_their_columns() {
    let mut statements = 0;
    for file in std::fs::read_dir(root().join(".sqlx")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
        let sql = answer["query"].as_str().unwrap();
        let starred = sql.starts_with("SELECT *") || sql.contains("RETURNING *") || sql.contains(".*");
        assert!(!starred, "{sql}");
        statements += 1;
    }
    assert!(statements > 100, "{statements}");
}

#[test]
fn the_image_is_given_every_file_that_the_program_is_made_of() {
    let ignore = std::fs::read_to_string(root().join(".dockerignore")).unwrap();
    let given: Vec<&str> = ignore.lines().filter_map(|l| l.strip_prefix('!')).collect();
    let (mut missing, mut read) = (Vec::new(), 0);
    for path in sources() {
        let code = code(&path);
        // What is read when the program is compiled: the first text after each of these, which may be a folder.
        let included = ["include_str!(", "include_bytes!("].into_iter().flat_map(|m| code.match_indices(m));
        let included = included.map(|(at, _)| path.parent().unwrap().join(code[at..].split('"').nth(1).unwrap()));
        // Relative to the crate, two levels below the root.
        let folders = ["#[folder = ", "sqlx::migrate!("].into_iter().flat_map(|m| code.match_indices(m));
        let folders = folders.map(|(at, _)| root().join("crates/api").join(code[at..].split('"').nth(1).unwrap()));
        for file in included.chain(folders) {
            let file = file.canonicalize().unwrap_or_else(|e| panic!("{} in {}: {e}", file.display(), path.display()));
            let file = file.strip_prefix(root().canonicalize().unwrap()).unwrap().to_path_buf();
            read += 1;
            // Files of unit tests read what is given to tests.
            if !given.iter().any(|g| file.starts_with(g)) && !file.starts_with("tests") {
                missing.push(file);
            }
        }
    }
    assert!(read > 20, "{read}");
    assert!(missing.is_empty(), "not in .dockerignore: {missing:#?}");
}

#[test]
fn no_module_is_called_utils() {
    let broken: Vec<_> = sources()
        .into_iter()
        .filter(|p| ["utils", "util", "helpers", "misc", "common"].iter().any(|n| p.file_stem().is_some_and(|s| s == *n)))
        .collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Names in calls of the metrics' macros, and whether the call describes the metric.
fn metrics_named(code: &str) -> Vec<(String, bool)> {
    let mut named = Vec::new();
    for call in ["counter!(", "gauge!(", "histogram!("] {
        for (at, _) in code.match_indices(call) {
            let mut literals = code[at + call.len()..].split('"');
            assert_eq!(literals.next().map(str::trim), Some(""), "a metric is named in its place: {}", &code[at..at + 60]);
            let name = literals.next().unwrap().to_owned();
            let between = literals.next().unwrap_or_default().trim();
            // Labels have a value behind their name, and a description ends the call.
            let text_ends_call =
                literals.nth(1).is_some_and(|rest| rest.trim_start().trim_start_matches(',').trim_start().starts_with(')'));
            named.push((name, between == "," && text_ends_call));
        }
    }
    named
}

#[test]
fn every_metric_has_a_description() {
    let (mut counted, mut described) = (BTreeSet::new(), BTreeSet::new());
    for file in sources() {
        for (name, describes) in metrics_named(&std::fs::read_to_string(file).unwrap()) {
            if describes {
                described.insert(name)
            } else {
                counted.insert(name)
            };
        }
    }
    assert!(counted.len() > 50, "the scan sees too few metrics: {counted:?}");
    assert_eq!(counted, described, "`promtool check metrics` wants HELP for each");
}

#[test]
fn the_scan_of_metrics_tells_descriptions_from_labels() {
    let code = r#"counter!("a", "A text"); metrics::gauge!("b").set(1); histogram!( "c", "kind" => "x").record(1);
        metrics::describe_counter!(
            "d",
            "Another",
        );"#;
    let mut named = metrics_named(code);
    named.sort();
    assert_eq!(named, [("a", true), ("b", false), ("c", false), ("d", true)].map(|(name, describes)| (name.to_owned(), describes)));
}
