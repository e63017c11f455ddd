//! Measures pronoun resolution on composed dialogues.

use super::*;

#[derive(serde::Deserialize)]
struct File {
    dialogue: Vec<Dialogue>,
}

#[derive(serde::Deserialize)]
struct Dialogue {
    previous: Vec<String>,
    text: String,
    means: Vec<String>,
}

/// Least precision and recall of resolved pronouns.
const PRECISION: f64 = 0.9;
const RECALL: f64 = 0.8;

#[test]
fn pronouns_refer_to_the_expected_mentions() {
    let file: File = toml::from_str(include_str!("../../../../tests/data/dialogues.toml")).unwrap();
    let (mut right, mut resolved, mut resolvable, mut all) = (0, 0, 0, 0);
    for d in &file.dialogue {
        let previous = d.previous.iter().map(|t| UserText::from(t.as_str())).collect();
        let reading = pipeline().reading_of(&ExtractInput { previous, ..input(&d.text) });
        let found: Vec<String> = reading
            .registry
            .referred
            .iter()
            .map(|who| who.iter().map(|&i| reading.registry.mentions[i].name.as_str()).collect::<Vec<_>>().join(" + "))
            .collect();
        assert_eq!(found.len(), d.means.len(), "{}: {found:?}", d.text);
        for (found, means) in found.iter().zip(&d.means) {
            all += 1;
            resolved += usize::from(!found.is_empty());
            resolvable += usize::from(!means.is_empty());
            right += usize::from(!found.is_empty() && found == means);
            if found != means {
                println!("{}: {found:?} for {means:?}", d.text);
            }
        }
    }
    let (precision, recall) = (right as f64 / resolved as f64, right as f64 / resolvable as f64);
    println!("{all} pronouns: precision {precision:.3}, recall {recall:.3}");
    assert!(all >= 60 && precision >= PRECISION && recall >= RECALL);
}

fn facts_after(previous: &[&str], text: &str) -> Extraction {
    let previous = previous.iter().map(|&t| UserText::from(t)).collect();
    pipeline().extract(&ExtractInput { previous, ..input(text) })
}

#[test]
fn evidence_of_a_pronoun_stays_in_its_message() {
    let text = "She works at Airbus.";
    let found = facts_after(&["Hello.", "My sister Clara moved to Lyon, and everybody there is kind to newcomers."], text);
    assert_eq!(fact_lines(&found), ["Clara WORKS_FOR Airbus affirmed"]);
    check_sound(text, &found);
    assert!(found.mentions.iter().all(|m| m.name != "Lyon"), "a mention of an earlier message must not appear in this one");
}

#[test]
fn earlier_messages_give_no_facts() {
    assert_eq!(fact_lines(&facts_after(&["I love Rome."], "It is old.")), Vec::<String>::new());
    assert_eq!(fact_lines(&facts_after(&["I love Rome.", "I love Bath."], "I like tea.")), ["user LIKES tea affirmed"]);
}

#[test]
fn name_in_the_message_precedes_earlier_names() {
    let found = facts_after(&["My sister Clara is ill."], "Vera called. She lives in Ulm.");
    assert_eq!(fact_lines(&found), ["Vera LIVES_IN Ulm affirmed"]);
}
