//! Tests how people write in a chat: without capitals, with fragments, and with namesakes.

use super::*;

#[test]
fn kin_with_one_name_are_two_people() {
    let found = pipeline().read("my mum Anna lives in Leeds and my daughter Anna likes tea");
    let people: Vec<_> = found.mentions.iter().filter(|m| m.name == "Anna").map(|m| m.description.as_deref()).collect();
    assert_eq!(people, [Some("mum"), Some("daughter")]);
    let of = |relation: &str| found.facts.iter().find(|f| f.relation == relation).unwrap().subject;
    assert_ne!(of("LIVES_IN"), of("LIKES"));
    assert_eq!(found.facts.iter().filter(|f| f.relation == "FAMILY_OF").count(), 2);
    // One role in other words, or none, means the same person.
    for text in ["my mum Anna lives in Leeds and my mother Anna likes tea", "my mum Anna lives in Leeds and Anna likes tea"] {
        assert_eq!(pipeline().read(text).mentions.iter().filter(|m| m.name == "Anna").count(), 1, "{text}");
    }
    // A name alone means neither of two.
    let found = pipeline().read("my mum Anna and my daughter Anna live in Leeds. Anna likes tea.");
    assert_eq!(found.mentions.iter().filter(|m| m.name == "Anna").count(), 3);
}

#[test]
fn word_between_a_role_and_a_verb_is_a_name() {
    assert_eq!(facts("my niece rose is 4"), ["user FAMILY_OF rose affirmed"]);
    assert_eq!(values("my niece rose is 4"), ["rose AGE 4 affirmed"]);
    assert_eq!(values("our daughter lily is lactose intolerant"), ["lily ALLERGIC_TO lactose affirmed"]);
    assert_eq!(facts("my grandma rose lives in Hull").len(), 2);
    assert_eq!(facts("my grandma rose early today"), ["user FAMILY_OF grandma affirmed"]);
    assert!(pipeline().read("my vet bill is 200 euros").mentions.iter().all(|m| m.name != "bill"));
}

#[test]
fn names_after_with_are_people() {
    let expected = ["user WORKS_ON project falcon affirmed", "user WORKS_WITH raj affirmed", "user WORKS_WITH wei affirmed"];
    assert_eq!(facts("im working on project falcon with raj and wei"), expected);
}

#[test]
fn limit_of_another_noun_ends_nothing() {
    assert_eq!(facts("bought a laptop, warranty until march"), ["user OWNS laptop affirmed"]);
    assert_eq!(facts("I worked at Tesco until May"), ["user WORKS_FOR Tesco ended"]);
    assert_eq!(facts("I worked at Tesco, until May"), ["user WORKS_FOR Tesco ended"]);
}

#[test]
fn pronoun_after_a_visit_is_not_who_is_visited() {
    assert_eq!(values("we took pickle to the vet on tuesday and she weighs 4.2 kg"), Vec::<String>::new());
}

#[test]
fn preposition_of_another_noun_is_no_cue() {
    let previous = vec![UserText::from("the meeting is at 3pm")];
    let found = pipeline().extract(&ExtractInput { previous, ..input("it's with the people from acme") });
    assert_eq!(fact_lines(&found), Vec::<String>::new());
    assert_eq!(facts("I'm Fiona, from Glasgow"), ["user LIVES_IN Glasgow affirmed"]);
}

#[test]
fn progressive_of_bringing_is_a_plan() {
    assert_eq!(facts("I'm bringing a cake to Kate's party"), Vec::<String>::new());
}

#[test]
fn job_at_an_employer_is_read() {
    for (text, job) in [
        ("I'm now a logistics planner at DHL", "logistics planner"),
        ("i work at Tesco as a shift manager", "shift manager"),
        ("I work at Tesco as a nurse", "nurse"),
    ] {
        assert_eq!(values(text), [format!("user OCCUPATION {job} affirmed")], "{text}");
    }
    assert_eq!(values("I'm a customer at DHL"), Vec::<String>::new());
}

#[test]
fn records_are_kept_as_notes() {
    for text in ["hotel confirmation number is QX7781", "the meeting is at 3pm on thursday"] {
        let found = pipeline().read(text);
        let is_note = found.facts.iter().any(|f| matches!(f.value, Some(CandidateValue::Note(_))));
        assert!(is_note && found.kind == MessageKind::Statement, "{text}");
    }
}
