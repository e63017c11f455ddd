//! Login: tokens of issuers, what they allow, how long streams last, and what attackers try.

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

/// The table of attacks names tests, here and in the browser; each of them must exist.
#[test]
fn every_attack_in_the_table_has_its_test() {
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
            assert!(exists, "{row}: there is no test {name}");
        }
        assert!(tests.contains('`'), "{row} names no test");
    }
    assert!(count > 40, "only {count} tests are named");
}
