//! Authentication: tokens, scopes, lifetime of streams, and attacks.

mod attacks;
mod edge;
mod issuer;
mod limits;
mod login;
mod op;
mod personal;
mod provider;
mod revocation;
mod scopes;
mod streams;

/// The attack table in docs/security.md names tests here and in the browser tests; each must exist.
#[test]
fn every_attack_in_security_docs_has_test() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut code = String::new();
    let mut open = vec![
        root.join("src"),
        root.join("crates"),
        root.join("tests/integration"),
        root.join("signaling"),
        root.join("web-demo/tests/browser"),
    ];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|e| e.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "rs" || e == "mjs") {
            code.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
    let page = std::fs::read_to_string(root.join("docs/security.md")).unwrap();
    let table = page.split("## Attacks").nth(1).unwrap();
    let rows = table.lines().filter(|l| l.starts_with('|')).skip(2);
    let mut count = 0;
    for row in rows {
        let tests = row.trim_end_matches('|').rsplit('|').next().unwrap();
        for name in tests.split('`').skip(1).step_by(2) {
            count += 1;
            let exists = code.contains(&format!("fn {name}(")) || code.contains(&format!("test(\"{name}\""));
            assert!(exists, "{row}: no test is named {name}");
        }
        assert!(tests.contains('`'), "{row} names no test");
    }
    assert!(count > 40, "only {count} tests are named");
}
