//! Every metric is described, and the documentation names only existing metrics.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Names that only look like metrics: a database role, the prefix of personal access tokens, and a file.
const OTHERS: [&str; 3] = ["recall_server", "recall_pat_", "recall_filter"];

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
    found
}

/// Collects the first strings in calls of these macros.
fn named(macros: &[&str]) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = BTreeSet::new();
    let sources = ["src", "crates", "signaling/src"].map(|folder| files(&root.join(folder), "rs"));
    for path in sources.into_iter().flatten() {
        let text = std::fs::read_to_string(path).unwrap();
        for called in macros {
            for (at, _) in text.match_indices(called) {
                let rest = text[at + called.len()..].trim_start();
                names.extend(rest.strip_prefix('"').and_then(|rest| rest.split('"').next()).map(str::to_owned));
            }
        }
    }
    names
}

/// Collects words of the documentation that look like metrics.
fn mentioned() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = files(&root.join("docs"), "md");
    pages.push(root.join("README.md"));
    let mut names = BTreeSet::new();
    for page in pages {
        let text = std::fs::read_to_string(page).unwrap();
        for prefix in ["recall_", "process_"] {
            for (at, _) in text.match_indices(prefix) {
                let before = text[..at].chars().next_back();
                if before.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.')) {
                    continue;
                }
                names.insert(text[at..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect());
            }
        }
    }
    names
}

#[test]
fn docs_name_only_existing_metrics() {
    let calls = ["gauge!(", "counter!(", "histogram!("];
    let exist = named(&calls);
    assert!(exist.len() > 30, "{exist:?}");
    let mentioned = mentioned();
    assert!(mentioned.contains("recall_jobs_oldest_seconds"), "{mentioned:?}");
    for name in mentioned.iter().filter(|name| !OTHERS.contains(&name.as_str())) {
        // A name that ends with an underscore stands for several.
        let is_there = exist.contains(name) || (name.ends_with('_') && exist.iter().any(|e| e.starts_with(name)));
        assert!(is_there, "{name} does not exist");
    }
}

#[test]
fn every_server_metric_is_described() {
    let used = named(&["metrics::gauge!(", "metrics::counter!(", "metrics::histogram!("]);
    let described = named(&["describe_gauge!(", "describe_counter!(", "describe_histogram!(", " gauge!(", " counter!(", " histogram!("]);
    let missing: Vec<_> = used.difference(&described).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
