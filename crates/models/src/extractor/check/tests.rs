//! Tests which parts of a proposal pass the check.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use recall_domain::{MessageId, Role};
use recall_ports::{Background, EarlierMessage, Known, KnownFact, KnownName};
use recall_understand::default_ontology;

fn ontology() -> Ontology {
    Ontology::parse(default_ontology()).unwrap()
}

fn checked(text: &str, answer: Value) -> Checked {
    checked_after(Background::default(), text, answer)
}

fn checked_after(background: Background, text: &str, answer: Value) -> Checked {
    let input = ExtractInput { text: text.into(), background, ..ExtractInput::default() };
    check(text, &input, serde_json::from_value(answer).unwrap(), &ontology())
}

/// A session that told of Maren, the pub The Heron and a planned move, and knows Sam Nowak.
fn background() -> Background {
    let known = |name: &str, entity_type, alias: &str| KnownName {
        name: name.to_owned(),
        entity_type,
        aliases: vec![alias.to_owned()],
        description: None,
    };
    let fact = |subject: Option<&str>, relation: &str, object: &str| KnownFact {
        subject: subject.map(str::to_owned),
        relation: relation.to_owned(),
        object: Some(object.to_owned()),
    };
    let earlier = ["Maren Voss called, from the yard at the Kade.", "She owns The Heron."].map(|text| EarlierMessage {
        id: MessageId(uuid::Uuid::nil()),
        role: Role::User,
        speaker: None,
        text: text.into(),
    });
    let known = Known {
        names: vec![known("Sam Nowak", EntityType::Person, "Sam N"), known("Duluth", EntityType::Place, "Dulut")],
        facts: vec![fact(None, "PLANS", "Duluth"), fact(Some("Sam Nowak"), "LIVES_IN", "Spokane")],
    };
    Background { earlier: earlier.to_vec(), known: Arc::new(known) }
}

fn entity(name: &str, entity_type: &str, words: &str) -> Value {
    json!({ "name": name, "type": entity_type, "words": words })
}

fn marked(fact: Value, polarity: &str, mark: &str) -> Value {
    let mut fact = fact;
    (fact["polarity"], fact["mark"]) = (json!(polarity), json!(mark));
    fact
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

#[test]
fn pronoun_and_place_word_mean_known_names() {
    let text = "She moved there in May. Sam helped.";
    let entities = json!([entity("Maren Voss", "person", "She"), entity("Kade", "place", "there"), entity("Sam N", "thing", "Sam")]);
    let facts = json!([fact("Maren Voss", "LIVES_IN", "Kade", "She moved there"), fact("Sam Nowak", "KNOWS", "Maren Voss", "Sam helped")]);
    let c = checked_after(background(), text, json!({ "kind": "statement", "entities": entities, "facts": facts }));
    assert_eq!(c.refused, []);
    assert_eq!(fact_lines(&c), ["Maren Voss LIVES_IN Kade affirmed", "Sam Nowak KNOWS Maren Voss affirmed"]);
    let places: Vec<_> = c.extraction.mentions.iter().map(|m| (m.name.as_str(), m.span.start, m.span.end)).collect();
    assert_eq!(places, [("Maren Voss", 0, 3), ("Kade", 10, 15), ("Sam Nowak", 24, 27)]);
}

#[test]
fn short_name_of_one_known_organization_means_it() {
    for (known, entity_type, expected) in [
        (&["Tallgrass Software"][..], "organization", "I WORKS_FOR Tallgrass Software ended"),
        (&["Tallgrass Software", "Tallgrass Bank"], "organization", "I WORKS_FOR Tallgrass ended"),
        (&["Tallgrass Software", "Tallgrass"], "organization", "I WORKS_FOR Tallgrass ended"),
        (&["Tallgrasses"], "organization", "I WORKS_FOR Tallgrass ended"),
        (&["Tallgrass Software"], "place", "I WORKS_FOR Tallgrass ended"),
    ] {
        let name = |name: &&str| KnownName {
            name: (*name).to_owned(),
            entity_type: EntityType::Organization,
            aliases: Vec::new(),
            description: None,
        };
        let known = Arc::new(Known { names: known.iter().map(name).collect(), facts: Vec::new() });
        let fact = marked(fact("SPEAKER", "WORKS_FOR", "Tallgrass", "Tallgrass let me go"), "ended", "stated");
        let answer = json!({ "kind": "statement", "entities": [entity("Tallgrass", entity_type, "")], "facts": [fact] });
        let c = checked_after(Background { known, ..Background::default() }, "Tallgrass let me go.", answer);
        assert_eq!(fact_lines(&c), [expected], "{entity_type}");
    }
}

#[test]
fn unsaid_name_needs_a_quote() {
    let text = "Sold it, finally.";
    let fact = |quote: &str| marked(fact("Maren Voss", "OWNS", "The Heron", quote), "ended", "stated");
    for (quote, expected, refused) in [
        ("Sold it", &["Maren Voss OWNS The Heron ended"][..], &[][..]),
        ("", &[], &[Refusal::Unquoted]),
        ("She sold it", &[], &[Refusal::Unquoted]),
    ] {
        let answer = json!({ "kind": "statement", "entities": [entity("The Heron", "place", "")], "facts": [fact(quote)] });
        let c = checked_after(background(), text, answer);
        let expected: Vec<String> = expected.iter().map(|e| (*e).to_owned()).collect();
        assert_eq!((fact_lines(&c), c.refused.as_slice()), (expected, refused), "{quote}");
    }
    // Nothing is known without the session.
    let c = checked(text, json!({ "kind": "statement", "entities": [], "facts": [fact("Sold it")] }));
    assert_eq!((fact_lines(&c), c.refused.as_slice()), (Vec::<String>::new(), &[Refusal::Name][..]));
}

#[test]
fn hearsay_is_flagged_and_plan_has_its_own_relation() {
    let text = "Apparently Tom left Acme. We fly to Oaxaca in May, and Ghent is off.";
    let facts = json!([
        marked(fact("Tom", "WORKS_FOR", "Acme", "Tom left Acme"), "ended", "hearsay"),
        marked(fact("SPEAKER", "VISITED", "Oaxaca", "We fly to Oaxaca"), "affirmed", "plan"),
        marked(fact("SPEAKER", "VISITED", "Ghent", "Ghent is off"), "negated", "plan"),
    ]);
    let entities = json!([entity("Oaxaca", "place", ""), entity("Ghent", "place", "")]);
    let c = checked(text, json!({ "kind": "statement", "entities": entities, "facts": facts }));
    assert_eq!(fact_lines(&c), ["Tom WORKS_FOR Acme ended", "I PLANS Oaxaca affirmed", "I PLANS Ghent ended"]);
    assert!(c.extraction.facts[0].confidence < recall_domain::belief::FLAG_BELOW && c.extraction.facts[1].confidence >= WITH_QUOTE);
    assert_eq!(c.refused, []);
}

#[test]
fn plan_ends_when_its_object_comes_true() {
    let answer = |quote| json!({ "kind": "statement", "entities": [entity("Duluth", "place", "")], "facts": [fact("I", "LIVES_IN", "Duluth", quote)] });
    let c = checked_after(background(), "We live in Duluth!", answer("We live in Duluth"));
    assert_eq!(fact_lines(&c), ["I LIVES_IN Duluth affirmed", "I PLANS Duluth ended"]);
    assert_eq!(fact_lines(&checked("We live in Duluth!", answer("We live in Duluth"))).len(), 1);
}

#[test]
fn dislike_replaces_denied_liking() {
    let facts = json!([marked(fact("I", "LIKES", "cats", ""), "negated", "stated"), fact("I", "DISLIKES", "cats", "I hate cats")]);
    let c = checked("I hate cats.", json!({ "kind": "statement", "entities": [], "facts": facts }));
    assert_eq!(fact_lines(&c), ["I DISLIKES cats affirmed"]);
}

#[test]
fn types_are_strict_only_about_persons() {
    for (object, object_type, refused) in [("The Heron", "organization", false), ("The Heron", "place", false), ("Tom", "person", true)] {
        let text = "She owns The Heron. Tom too.";
        let entities = json!([entity("Maren Voss", "person", "She"), entity(object, object_type, "")]);
        let facts = json!([fact("Maren Voss", "OWNS", object, "She owns The Heron")]);
        let c = checked_after(background(), text, json!({ "kind": "statement", "entities": entities, "facts": facts }));
        assert_eq!(c.extraction.facts.is_empty(), refused, "{object_type}");
        assert_eq!(c.refused.contains(&Refusal::Type), refused);
    }
}

#[test]
fn statements_about_names_have_both_names() {
    let text = "Everyone calls Magdalena Lena. And call me Wes.";
    let name = |name: &str, of: &str, change: &str| json!({ "name": name, "of": of, "change": change });
    let names = json!([
        name("Lena", "Magdalena", "alias"),
        name("Wes", "SPEAKER", "alias"),
        name("Lena", "Maren Voss", "renamed"),
        name("Nobody", "Magdalena", "alias"),
        name("Magdalena", "the Magdalena", "alias"),
        name("Magdalena", "Lena", "nickname"),
    ]);
    let entities = json!([entity("Magdalena", "person", ""), entity("Lena", "thing", "")]);
    let c = checked_after(background(), text, json!({ "kind": "statement", "entities": entities, "facts": [], "names": names }));
    let e = &c.extraction;
    let lines: Vec<_> = e.names.iter().map(|n| (e.mentions[n.name].name.as_str(), n.of, n.change)).collect();
    assert_eq!(lines, [("Lena", Party::Mention(0), NameChange::Alias), ("Wes", Party::Speaker, NameChange::Alias)]);
    assert!(e.mentions.iter().all(|m| m.entity_type == EntityType::Person), "{:?}", e.mentions);
    assert_eq!(c.refused, [Refusal::Nobody, Refusal::SameSides, Refusal::Polarity]);
}

/// Names that the background knows or mentions.
const KNOWN: [&str; 5] = ["Sam Nowak", "Maren Voss", "Duluth", "Kade", "The Heron"];

proptest! {
    /// For any reply, accepted mentions have a span in the message and accepted facts a relation of the ontology.
    #[test]
    fn accepted_parts_come_from_message_and_ontology(
        text in "(Ann|Bob|Ghent|likes|İ|ß|東京|[ .,’]){0,20}",
        items in prop::collection::vec(("\\PC{0,8}|Ann|Bob|Ghent|SPEAKER|you|Maren Voss|Sam N", "LIKES|LIVES_IN|KNOWS|X", "\\PC{0,8}|Ann|Ghent|東京|Duluth|Kade", "\\PC{0,8}|likes"), 0..8),
    ) {
        let facts: Vec<Value> = items.iter().map(|(s, r, o, q)| fact(s, r, o, q)).collect();
        let entities: Vec<Value> = items.iter().map(|(s, r, _, _)| json!({ "name": s, "type": r })).collect();
        let ontology = ontology();
        let names: Vec<Value> = items.iter().map(|(s, _, o, _)| json!({ "name": s, "of": o, "change": "alias" })).collect();
        let answer = json!({ "kind": "x", "entities": entities, "facts": facts, "names": names });
        let input = ExtractInput { text: text.as_str().into(), background: background(), ..ExtractInput::default() };
        let c = check(&text, &input, serde_json::from_value(answer).unwrap(), &ontology);
        let length = text.chars().count() as u32;
        let inside = |s: Span| s.start < s.end && s.end <= length;
        for m in &c.extraction.mentions {
            prop_assert!(inside(m.span));
            let said = text.chars().skip(m.span.start as usize).take((m.span.end - m.span.start) as usize).collect::<String>();
            prop_assert!(said == m.name || KNOWN.contains(&m.name.as_str()), "{} is neither said nor known", m.name);
        }
        for n in &c.extraction.names {
            prop_assert!(n.name < c.extraction.mentions.len() && n.of != Party::Mention(n.name));
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
