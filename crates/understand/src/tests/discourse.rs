//! Tests what a sentence says together with the sentences and messages before it.

use super::*;

fn facts_after(previous: &[&str], text: &str) -> Vec<String> {
    let previous = previous.iter().map(|&t| UserText::from(t)).collect();
    fact_lines(&pipeline().extract(&ExtractInput { previous, ..input(text) }))
}

#[test]
fn omitted_subject_continues_the_sentence_before() {
    for (text, expected) in [
        (
            "Rima has quit Rijkswaterstaat. Starts at Deltares now.",
            vec!["Rima WORKS_FOR Deltares affirmed", "Rima WORKS_FOR Rijkswaterstaat ended"],
        ),
        ("Clara moved to Lyon. Works at Airbus.", vec!["Clara LIVES_IN Lyon affirmed", "Clara WORKS_FOR Airbus affirmed"]),
        (
            "I met Wren Calloway. Lives in Montville.",
            vec!["Wren Calloway LIVES_IN Montville affirmed", "user KNOWS Wren Calloway affirmed"],
        ),
        ("Clara moved to Lyon. Left Nestlé last year.", vec!["Clara LIVES_IN Lyon affirmed", "Clara WORKS_FOR Nestlé ended"]),
        ("Clara moved to Lyon. Sold my bike.", vec!["Clara LIVES_IN Lyon affirmed", "user OWNS bike ended"]),
        ("I moved to Lyon. Left Nestlé last year.", vec!["user LIVES_IN Lyon affirmed", "user WORKS_FOR Nestlé ended"]),
    ] {
        assert_eq!(facts(text), expected, "{text}");
    }
}

#[test]
fn omitted_third_person_continues_the_message_before() {
    assert_eq!(facts_after(&["My sister Clara moved to Lyon."], "Works at Airbus."), ["Clara WORKS_FOR Airbus affirmed"]);
    // A past form in a new message is about the speaker.
    assert_eq!(facts_after(&["My sister Clara moved to Lyon."], "Left Nestlé last year."), ["user WORKS_FOR Nestlé ended"]);
}

#[test]
fn there_means_the_place_or_group_named_before() {
    let expected = ["Clara WORKS_FOR Airbus affirmed", "Tom WORKS_FOR Airbus affirmed"];
    assert_eq!(facts("Clara works at Airbus. Tom works there too."), expected);
    assert_eq!(
        facts_after(&["Clara lives in Lyon."], "My brother Tom lives there too."),
        ["Tom LIVES_IN Lyon affirmed", "user FAMILY_OF Tom affirmed"]
    );
}

#[test]
fn description_after_a_name_tells_what_and_where_it_is() {
    for text in ["I work for Havenlab, the museum in Rotterdam.", "I work for Havenlab. Havenlab is a museum in Rotterdam."] {
        assert!(facts(text).contains(&"Havenlab LOCATED_IN Rotterdam affirmed".to_owned()), "{text}: {:?}", facts(text));
    }
}

#[test]
fn what_replaces_something_is_read_with_its_end() {
    for (text, expected) in [
        ("Tom doesn't live in Oulu anymore, Tampere now.", vec!["Tom LIVES_IN Oulu ended", "Tom LIVES_IN Tampere affirmed"]),
        ("Samir is neither my manager nor my colleague now.", vec!["Samir MANAGES user ended", "user WORKS_WITH Samir ended"]),
        ("Friday was my last day at Airbus.", vec!["user WORKS_FOR Airbus ended"]),
        ("Anna left Marco in March.", vec!["Anna FAMILY_OF Marco ended"]),
        ("Anna left Marco with Jules for the weekend.", vec![]),
    ] {
        assert_eq!(facts(text), expected, "{text}");
    }
}
