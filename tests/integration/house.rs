//! The walls of the house, checked: who may know whom, that every file says what it is for, and that files stay small.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Which rooms a room may import. What is not listed may import nothing of the house.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("ports", &["domain"]),
    ("understand", &["domain", "ports"]),
    ("facts", &["domain", "ports"]),
    ("conversation", &["domain", "ports", "facts", "understand"]),
    ("streaming", &["domain", "ports"]),
    ("projection", &["domain", "ports"]),
    ("config", &["domain"]),
    ("adapters", &["domain", "ports", "understand"]),
    ("api", &["domain", "ports", "facts", "conversation", "streaming"]),
    ("app", &["domain", "ports", "facts", "understand", "conversation", "streaming", "projection", "config", "adapters", "api"]),
];

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

/// Names that follow `crate::`, also inside `use crate::{a::…, b::…}`.
fn rooms_named(code: &str) -> BTreeSet<String> {
    let mut rooms = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 1;
            let mut name = String::new();
            for c in group.chars() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
                if depth == 1 && (c.is_alphanumeric() || c == '_') {
                    name.push(c);
                } else if depth == 1 && c == ':' && !name.is_empty() {
                    rooms.insert(std::mem::take(&mut name));
                    depth = 1;
                } else if c == ',' && depth == 1 {
                    name.clear();
                }
            }
        } else {
            rooms.insert(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    rooms
}

#[test]
fn rooms_import_only_what_they_may_know() {
    let src = root().join("src");
    let mut broken = Vec::new();
    for path in rust_files(&src) {
        let inside = path.strip_prefix(&src).unwrap();
        let room = inside.components().next().unwrap().as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned();
        if room == "main" || room == "lib" {
            continue;
        }
        let allowed = MAY_KNOW.iter().find(|(r, _)| *r == room).unwrap_or_else(|| panic!("{room} is not in the plan of the house")).1;
        for named in rooms_named(&code(&path)) {
            let is_room = MAY_KNOW.iter().any(|(r, _)| *r == named);
            if is_room && named != room && !allowed.contains(&named.as_str()) {
                broken.push(format!("{} imports {named}", inside.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn adapters_do_not_import_each_other() {
    let adapters = root().join("src/adapters");
    let mut broken = Vec::new();
    for path in rust_files(&adapters) {
        let inside = path.strip_prefix(&adapters).unwrap();
        let own = inside.components().next().unwrap().as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned();
        let code = code(&path);
        for (at, _) in code.match_indices("adapters::") {
            let named: String = code[at + "adapters::".len()..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if named != own {
                broken.push(format!("{} imports {named}", inside.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_pure_rooms_have_no_engine_and_no_clock() {
    let src = root().join("src");
    let forbidden = ["sqlx", "axum", "async_graphql", "signaling", "reqwest", "Utc::now", "SystemTime", "new_v4", "std::fs", "tokio::net"];
    let mut broken = Vec::new();
    for room in ["domain", "understand", "facts", "conversation", "ports"] {
        for path in rust_files(&src.join(room)) {
            let code = code(&path);
            broken.extend(forbidden.iter().filter(|f| code.contains(**f)).map(|f| format!("{} names {f}", path.display())));
        }
    }
    // Candidates arrive as data: the room of facts calls no extractor, no embedder and no answerer.
    for path in rust_files(&src.join("facts")) {
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
    for dir in ["src", "signaling/src", "tests", "benches"] {
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
const NOT_CHECKED: &[&str] = &["archive/read.rs", "archive/write.rs", "erase.rs", "knowledge/list.rs", "statistics.rs", "migrate.rs"];

#[test]
fn statements_for_postgres_are_checked_when_they_are_compiled() {
    let room = root().join("src/adapters/postgres");
    let mut broken = Vec::new();
    for path in rust_files(&room) {
        let inside = path.strip_prefix(&room).unwrap().to_str().unwrap().to_owned();
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
    for path in rust_files(&root().join("src")).into_iter().chain(rust_files(&root().join("signaling/src"))) {
        let code = code(&path);
        // What is read when the program is compiled: the first text after each of these, which may be a folder.
        let included = ["include_str!(", "include_bytes!("].into_iter().flat_map(|m| code.match_indices(m));
        let included = included.map(|(at, _)| path.parent().unwrap().join(code[at..].split('"').nth(1).unwrap()));
        let folders = code.match_indices("#[folder = ").map(|(at, _)| root().join(code[at..].split('"').nth(1).unwrap()));
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
fn no_room_is_called_utils() {
    let all = rust_files(&root().join("src")).into_iter().chain(rust_files(&root().join("signaling/src")));
    let broken: Vec<_> =
        all.filter(|p| ["utils", "util", "helpers", "misc", "common"].iter().any(|n| p.file_stem().is_some_and(|s| s == *n))).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_scan_itself_sees_imports() {
    let seen = rooms_named("use crate::{domain::Fact, ports::{Store, Ids}};\nlet x = crate::facts::standing(y);");
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["domain", "facts", "ports"]);
}
