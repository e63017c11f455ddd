//! Tests which parts of a proposal pass the check.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use recall_understand::default_ontology;

fn ontology() -> Ontology {
    Ontology::parse(default_ontology()).unwrap()
}

fn checked(text: &str, answer: Value) -> Checked {
    check(text, serde_json::from_value(answer).unwrap(), &ontology())
}

/// Returns the facts as lines of text.
fn fact_lines(c: &Checked) -> Vec<String> {
    let name = |p: Party| match p {
        Party::Speaker => "I".to_owned(),
        Party::Mention(i) => c.extraction.mentions[i].name.clone(),
    };
    c.extraction.facts.iter().map(|f| format!("{} {} {} {}", name(f.subject), f.relation, name(f.object), f.polarity.word())).collect()
}

fn fact(subject: &str, relation: &str, object: &str, quote: &str) -> Value {
    json!({ "subject": subject, "relation": relation, "object": object, "polarity": "affirmed", "quote": quote })
}

#[test]
fn facts_of_the_message_pass_with_their_spans() {
    let text = "Met José at the fair; he says JOSÉ's sister Mary works for Acme.";
    let c = checked(
        text,
        json!({
            "kind": "statement",
            "entities": [{ "name": "mary", "type": "person" }, { "name": "Acme", "type": "organization" }, { "name": "José", "type": "person" }],
            "facts": [fact("Mary", "WORKS_FOR", "Acme", "Mary works for Acme"), fact("SPEAKER", "KNOWS", "josé", "Met José")],
        }),
    );
    assert_eq!(c.refused, []);
    assert_eq!(fact_lines(&c), ["I KNOWS José affirmed", "Mary WORKS_FOR Acme affirmed"]);
    let place = |s: Span| text.chars().skip(s.start as usize).take((s.end - s.start) as usize).collect::<String>();
    assert_eq!(c.extraction.mentions.iter().map(|m| place(m.span)).collect::<Vec<_>>(), ["José", "Mary", "Acme"]);
    assert_eq!(place(c.extraction.facts[1].span), "Mary works for Acme");
}

#[test]
fn role_is_named_without_its_possessive() {
    let entities = json!([{ "name": "My sister", "type": "person" }, { "name": "the lake", "type": "place" }]);
    let c = checked(
        "My sister moved to the lake.",
        json!({ "kind": "statement", "entities": entities, "facts": [fact("my sister", "LIVES_IN", "the lake", "")] }),
    );
    assert_eq!(fact_lines(&c), ["sister LIVES_IN lake affirmed"]);
    assert_eq!(c.extraction.mentions[0].span, Span { start: 3, end: 9 });
}

#[test]
fn facts_outside_the_message_are_refused() {
    let text = "I moved to Ghent with Tom last May.";
    for (answer, refusal) in [
        (fact("SPEAKER", "LIVES_IN", "Paris", ""), Refusal::Name),
        (fact("SPEAKER", "LIVES_IN", "Ghen", ""), Refusal::Name),
        (fact("SPEAKER", "MURDERED", "Tom", ""), Refusal::Relation),
        (fact("Ghent", "LIVES_IN", "Tom", ""), Refusal::Type),
        (fact("he", "LIVES_IN", "Ghent", ""), Refusal::Nobody),
        (fact("Tom", "KNOWS", "Tom", ""), Refusal::SameSides),
        (fact("SPEAKER", "KNOWS", "me", ""), Refusal::SameSides),
        (fact("", "LIVES_IN", "Ghent", ""), Refusal::Name),
        (json!({ "subject": "SPEAKER", "relation": "LIVES_IN", "object": "Ghent", "polarity": "maybe" }), Refusal::Polarity),
    ] {
        let entities = json!([{ "name": "Ghent", "type": "place" }, { "name": "Tom", "type": "person" }]);
        let c = checked(text, json!({ "kind": "statement", "entities": entities, "facts": [answer] }));
        assert_eq!((c.refused.as_slice(), c.extraction.facts.len()), (&[refusal][..], 0), "{answer}");
        assert_eq!(c.extraction.mentions.len(), 2);
        assert!(c.problems().iter().all(|p| !p.contains("Ghent") && !p.contains("Paris")));
    }
}

#[test]
fn invented_quote_lowers_the_confidence() {
    let entities = json!([{ "name": "Ghent", "type": "place" }]);
    let c = checked(
        "I moved to Ghent.",
        json!({ "kind": "statement", "entities": entities, "facts": [fact("I", "LIVES_IN", "Ghent", "I have always loved it")] }),
    );
    assert_eq!((c.refused.as_slice(), fact_lines(&c)), (&[Refusal::Quote][..], vec!["I LIVES_IN Ghent affirmed".to_owned()]));
    assert!(c.extraction.facts[0].confidence < WITH_QUOTE);
}

#[test]
fn questions_state_nothing() {
    let c = checked("Does Tom live in Ghent?", json!({ "kind": "question", "facts": [fact("Tom", "LIVES_IN", "Ghent", "")] }));
    assert!(fact_lines(&c).is_empty());
}

#[test]
fn excess_facts_are_cut() {
    let text: String = (0..500).map(|i| format!("Tool{i} ")).collect();
    let facts: Vec<Value> = (0..500).map(|i| fact("SPEAKER", "USES", &format!("Tool{i}"), "")).collect();
    let c = checked(&text, json!({ "kind": "statement", "entities": [], "facts": facts }));
    assert_eq!((c.extraction.facts.len(), c.refused.as_slice()), (MAX_ITEMS, &[Refusal::TooMany][..]));
}

proptest! {
    /// For any reply, accepted mentions have a span in the message and accepted facts a relation of the ontology.
    #[test]
    fn accepted_parts_come_from_message_and_ontology(
        text in "(Ann|Bob|Ghent|likes|İ|ß|東京|[ .,’]){0,20}",
        items in prop::collection::vec(("\\PC{0,8}|Ann|Bob|Ghent|SPEAKER|you", "LIKES|LIVES_IN|KNOWS|X", "\\PC{0,8}|Ann|Ghent|東京", "\\PC{0,8}|likes"), 0..8),
    ) {
        let facts: Vec<Value> = items.iter().map(|(s, r, o, q)| fact(s, r, o, q)).collect();
        let entities: Vec<Value> = items.iter().map(|(s, r, _, _)| json!({ "name": s, "type": r })).collect();
        let ontology = ontology();
        let c = check(&text, serde_json::from_value(json!({ "kind": "x", "entities": entities, "facts": facts })).unwrap(), &ontology);
        let length = text.chars().count() as u32;
        let inside = |s: Span| s.start < s.end && s.end <= length;
        for m in &c.extraction.mentions {
            prop_assert!(inside(m.span));
            prop_assert_eq!(&text.chars().skip(m.span.start as usize).take((m.span.end - m.span.start) as usize).collect::<String>(), &m.name);
        }
        prop_assert!(c.extraction.mentions.is_sorted_by_key(|m| m.span));
        for f in &c.extraction.facts {
            prop_assert!(inside(f.span) && ontology.get(&f.relation).is_some() && f.subject != f.object);
            for p in [f.subject, f.object] {
                prop_assert!(!matches!(p, Party::Mention(i) if i >= c.extraction.mentions.len()));
            }
        }
    }
}
