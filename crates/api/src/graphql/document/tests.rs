//! Tests of accepted documents, refused documents, and the cost of accepted ones.
#![allow(clippy::unwrap_used, clippy::panic)]

mod library;

use async_graphql::Variables;
use futures_util::FutureExt;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn admitted(text: &str) -> Result<Work, ApiError> {
    admit(text, &Variables::default(), &DocumentLimits::default()).map(|admitted| admitted.work)
}

fn refusal(text: &str) -> &'static str {
    match admitted(text) {
        Ok(work) => panic!("accepted: {work:?}"),
        Err(e) => e.code(),
    }
}

fn message(text: &str) -> String {
    admitted(text).unwrap_err().message().to_owned()
}

#[test]
fn ordinary_documents_pass() {
    for text in [
        "{ a(x: \"}}}}\") { b } } # {{{{{",
        "query Q($x: [Int!]!) { a(x: $x) { ...F } } fragment F on A { b c { d } }",
        "mutation { a(t: \"\"\"block \" \\\"\"\" { \"\"\") { b } }",
        "{ a(x: \"\\u00e9 \\\\ud800 \\\"\") }",
    ] {
        assert!(admitted(text).is_ok(), "{text}");
    }
}

#[test]
fn bundled_documents_stay_far_below_the_limits() {
    let bundled: std::collections::HashMap<String, String> =
        serde_json::from_str(include_str!("../../../../../web-demo/documents.json")).unwrap();
    let limits = DocumentLimits::default();
    for text in bundled.values().map(String::as_str).chain([crate::graphql::tests::INTROSPECTION]) {
        let work = admitted(text).unwrap();
        assert!(work.steps * 10 < limits.steps && work.typenames * 4 < limits.typenames, "{work:?} for {text}");
    }
}

#[test]
fn deep_documents_are_refused_before_parsing() {
    assert_eq!(refusal(&"{a".repeat(10_000)), "QUERY_TOO_DEEP");
    assert_eq!(refusal(&format!("{{a(x:{})}}", "[".repeat(100_000))), "QUERY_TOO_DEEP");
    assert_eq!(refusal(&format!("query($x:{}Int{}){{a}}", "[".repeat(5_000), "]".repeat(5_000))), "QUERY_TOO_DEEP");
}

#[test]
fn error_names_the_figure_and_its_limit() {
    let many = |one: &str, count: usize| (0..count).map(|n| one.replace('#', &n.to_string())).collect::<String>();
    for (text, expected) in [
        (format!("{{a}} #{}", "x".repeat(262_144)), "262149 bytes; the limit is 262144"),
        (format!("{{{}}}", many("x ", 20_000)), "20001 tokens or more; the limit is 20000"),
        (format!("{{{}}}", many("a#:x ", 3_001)), "3001 fields or more once fragments are spread; the limit is 3000"),
        (format!("{{ {} }}", "a".repeat(129)), "129 bytes in one name or number; the limit is 128"),
        (format!("{{ a(x: 1{}) }}", "0".repeat(128)), "129 bytes in one name or number"),
        (many("query Q#{a} ", 51), "51 operations; the limit is 50"),
        (format!("{{a}} {}", many("fragment F# on Q {a} ", 201)), "201 fragments; the limit is 200"),
        (format!("query({}){{a}}", many("$v#: Int ", 201)), "201 variables; the limit is 200"),
        (format!("{{ a({}) }}", many("x#:1 ", 33)), "33 arguments at one place; the limit is 32"),
        (format!("{{ ...F {} }} fragment F on Q {{a}}", many("@d# ", 9)), "9 directives at one place; the limit is 8"),
        (format!("{{ a {{ {} }} }}", many("t#:__typename ", 33)), "33 `__typename` fields on one object; the limit is 32"),
        (format!("{{ a {{ b(x: \"{}\") }} }}", "x".repeat(4_096)), "bytes of arguments on a nested field; the limit is 4096"),
    ] {
        assert_eq!(refusal(&text), "QUERY_TOO_LARGE", "{expected}");
        let message = message(&text);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn fragments_that_spread_each_other_twice_are_refused() {
    // The last fragment spreads an unknown one. A spread counts even if its fragment is unknown.
    for (depth, last) in [(30, "x"), (25, "...Unknown"), (22, "... on Q { x }")] {
        let laughs: String = (0..depth).map(|n| format!("fragment F{n} on Q {{ ...F{} ...F{} }} ", n + 1, n + 1)).collect();
        assert_eq!(refusal(&format!("{{...F0}} {laughs} fragment F{depth} on Q {{ {last} }}")), "QUERY_TOO_LARGE", "{last}");
    }
    assert_eq!(refusal("{...A} fragment A on Q {...B ...B} fragment B on Q {...A ...A}"), "GRAPHQL_VALIDATION_FAILED");
    let chain: String = (0..199).map(|n| format!("fragment F{n} on Q {{ ...F{} }} ", n + 1)).collect();
    assert_eq!(refusal(&format!("{{...F0}} {chain} fragment F199 on Q {{ x }}")), "QUERY_TOO_DEEP");
}

#[test]
fn fields_of_unused_operations_count() {
    let one: String = (0..100).map(|n| format!("a{n}:x ")).collect();
    let text: String = (0..40).map(|n| format!("query Q{n} {{ {one} }} ")).collect();
    assert!(message(&text).contains("4000 fields once fragments are spread; the limit is 3000"));
}

#[test]
fn repeatedly_compared_selection_sets_are_refused() {
    let fields: String = (0..500).map(|n| format!("a{n}:x ")).collect();
    let nested = format!("{{ {}{fields}{} }}", "... { ".repeat(30), "} ".repeat(30));
    assert!(admitted(&nested).unwrap().steps > 15_000, "each inline fragment compares all of them");
    let fields: String = (0..2_000).map(|n| format!("a{n}:x ")).collect();
    let nested = format!("{{ {}{fields}{} }}", "... { ".repeat(40), "} ".repeat(40));
    assert!(message(&nested).contains("steps of validation; the limit is 50000"));
}

#[test]
fn variable_counts_at_every_use() {
    let variables = Variables::from_json(serde_json::json!({ "x": "x".repeat(128 * 1024) }));
    let uses = |count: usize| format!("query($x: String) {{ a(list: [{}]) }}", "$x ".repeat(count));
    let limits = DocumentLimits::default();
    assert!(admit(&uses(1), &variables, &limits).is_ok());
    let error = admit(&uses(4_000), &variables, &limits).unwrap_err();
    assert!(error.message().contains("bytes of arguments once variables are put in; the limit is 8388608"), "{}", error.message());
    let nested = admit("query($x: String) { a { b(text: $x) } }", &variables, &limits).unwrap_err();
    assert!(nested.message().contains("bytes of arguments on a nested field"), "{}", nested.message());
    // A default counts like a value.
    let default = format!("query($x: [Int] = [{}]) {{ a {{ b(list: $x) }} }}", "1 ".repeat(1_000));
    assert_eq!(refusal(&default), "QUERY_TOO_LARGE");
}

#[test]
fn undefined_variables_count_for_every_operation() {
    let uses: String = (0..600).map(|n| format!("$v{n} ")).collect();
    let fragment = format!("fragment F on Q {{ a(list: [{uses}]) }}");
    let operations: String = (0..50).map(|n| format!("query Q{n}($a: Int $b: Int $c: Int) {{ ...F b(a: $a b: $b c: $c) }} ")).collect();
    assert!(message(&format!("{operations}{fragment}")).contains("steps of validation"));
}

/// Validates a document with the library and counts the allocations.
fn validated(text: &str, variables: Variables) -> (allocation_counter::AllocationInfo, usize) {
    let limits = crate::limits::Limits::default();
    let schema = crate::graphql::schema::builder(&limits).extension(library::ValidateOnly).finish();
    let request = async_graphql::Request::new(text).variables(variables);
    let mut errors = 0;
    let info = allocation_counter::measure(|| errors = schema.execute(request).now_or_never().unwrap().errors.len());
    (info, errors)
}

#[test]
fn worst_admitted_documents_need_little_memory() {
    let many = |one: &str, count: usize| (0..count).map(|n| one.replace('#', &n.to_string())).collect::<String>();
    let long = "u".repeat(120);
    let uses: String = (0..600).map(|n| format!("$v{n} ")).collect();
    for (name, text, variables) in [
        ("unknown fields with long names", format!("{{ {} }}", many(&format!("{long}# "), 1_500)), json!({})),
        ("conflicts", format!("{{ {} }}", many("a:x# ", 2_500)), json!({})),
        ("conflicts again and again", format!("{{ {}{}{} }}", "... { ".repeat(20), many("a:x# ", 1_500), "} ".repeat(20)), json!({})),
        (
            "undefined variables of every operation",
            format!("{} fragment F on Query {{ a(list: [{uses}]) }}", many("query Q#{...F} ", 40)),
            json!({}),
        ),
        (
            "a large variable at every use",
            format!(
                "query($x: String) {{ context(input: {{ query: $x }}) {{ __typename }} {} }}",
                many("a#: context(input: {query: $x}) { __typename } ", 7)
            ),
            json!({ "x": "x".repeat(1_000_000) }),
        ),
    ] {
        let variables = Variables::from_json(variables);
        let work =
            admit(&text, &variables, &DocumentLimits::default()).map(|a| a.work).unwrap_or_else(|e| panic!("{name}: {}", e.message()));
        let (info, errors) = validated(&text, variables);
        println!("{name}: {} steps, {errors} errors, {} bytes at once, {} allocations", work.steps, info.bytes_max, info.count_total);
        assert!(info.bytes_max < 40_000_000, "{name}: {} bytes", info.bytes_max);
    }
}

#[test]
fn surrogate_escapes_do_not_panic() {
    assert_eq!(refusal("{ a(x: \"\\uD800\") }"), "GRAPHQL_PARSE_FAILED");
    assert_eq!(refusal("{ a(x: \"\\udfff\") }"), "GRAPHQL_PARSE_FAILED");
}

#[test]
fn parsing_never_panics() {
    bolero::check!().with_iterations(2_000).for_each(|bytes: &[u8]| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            let _ = admitted(text);
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// The steps of the library for an admitted document do not exceed the counted steps.
    #[test]
    fn library_takes_no_more_steps_than_admitted(plan in library::plan()) {
        let (text, variables) = plan.document();
        if let Ok(Admitted { document, work }) = admit(&text, &variables, &DocumentLimits::default()) {
            let steps = library::steps(&document);
            prop_assert!(steps <= work.steps, "{steps} steps, {} admitted: {text}", work.steps);
            prop_assert!(work.steps <= DocumentLimits::default().steps);
            // Allocations of the library are proportional to the steps and to the size of text and variables.
            let (info, _) = validated(&text, variables);
            let allowed = 40 * (work.steps as u64 + text.len() as u64) + 2_000;
            prop_assert!(info.count_total <= allowed, "{} allocations for {} steps: {text}", info.count_total, work.steps);
        }
    }
}
