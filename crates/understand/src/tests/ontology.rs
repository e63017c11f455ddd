//! Tests that each relation is found by each of its cues, with sentences made from the ontology file.

use super::*;
use crate::lexicon::{VerbForm, lexicon};
use recall_domain::ontology::Relation;

/// Least share of the sentences of a relation that must give their fact.
///
/// The other sentences use cues of two relations, or are not English with the sample nouns.
const LEAST: f64 = 0.8;

fn sample(types: &[EntityType], other: bool) -> &'static str {
    match types.first().copied().unwrap_or(if other { EntityType::Concept } else { EntityType::Person }) {
        EntityType::Person if other => "Omar",
        EntityType::Person => "Anna",
        EntityType::Organization => "Nokia",
        EntityType::Place => "Oslo",
        EntityType::Project if other => "Project Falcon",
        EntityType::Project => "Project Lynx",
        EntityType::Tool => "Kafka",
        EntityType::Concept => "chess",
        EntityType::Event => "FOSDEM",
        EntityType::Thing => "kayaks",
    }
}

fn bare(name: &str) -> &str {
    name.trim_start_matches("Project ")
}

/// Inflects a verb phrase: "depend on" to "depends on", "be into" to "is into".
fn inflect(cue: &str, form: VerbForm, object: &str) -> Option<String> {
    let (verb, rest) = cue.split_once(' ').unwrap_or((cue, ""));
    let e = verb.ends_with('e');
    let y = verb.ends_with('y') && !verb.ends_with("ay") && !verb.ends_with("oy") && !verb.ends_with("ey");
    let doubled = crate::lemma::gerund(verb).strip_suffix("ing").unwrap_or_default().to_owned();
    let word = match (verb, form) {
        ("can't", _) => "can't".to_owned(),
        ("be", VerbForm::Past) => "was".to_owned(),
        ("be", _) => "is".to_owned(),
        ("have", VerbForm::ThirdPerson) => "has".to_owned(),
        (_, VerbForm::ThirdPerson) if y => format!("{}ies", verb.trim_end_matches('y')),
        (_, VerbForm::ThirdPerson) if ["s", "sh", "ch", "x", "z", "o"].iter().any(|s| verb.ends_with(s)) => format!("{verb}es"),
        (_, VerbForm::ThirdPerson) => format!("{verb}s"),
        (_, form) => match lexicon().inflected(verb, form) {
            Some(word) => word,
            None if e => format!("{verb}d"),
            None if y => format!("{}ied", verb.trim_end_matches('y')),
            None => format!("{doubled}ed"),
        },
    };
    let rest = rest.replace("myself", "herself").replace(" my ", " her ");
    match (rest.contains('*'), rest.contains('_')) {
        (true, _) => Some(format!("{word} {} Omar", rest.replace('*', object))),
        (_, true) => Some(format!("{word} {} {object}", rest.replace('_', "the kids"))),
        _ if rest.is_empty() => Some(format!("{word} {object}")),
        _ => Some(format!("{word} {rest} {object}")),
    }
}

/// Makes sentences for the cues of a relation, each with cue, subject, object and polarity of its fact.
fn sentences(r: &Relation) -> Vec<(String, String, String, String, &'static str)> {
    let (s, o) = (sample(&r.subject_types, false), sample(&r.object_types, true));
    let mut out = Vec::new();
    let c = &r.cues;
    let mut say = |cue: &str, text: Option<String>, s: &str, o: &str, polarity: &'static str| {
        if let Some(text) = text {
            out.push((cue.to_owned(), text, bare(s).to_owned(), bare(o).to_owned(), polarity));
        }
    };
    for v in &c.verbs {
        // Cues in the first person ("be my jam") need the speaker as subject, and modal verbs have no other form.
        if v.contains(" my") || v.starts_with("would ") || v == "call home" || v == "love at first" {
            continue;
        }
        // A visit is over: "Anna travels to Oslo" tells of a habit.
        let form = if r.name == "VISITED" { VerbForm::Past } else { VerbForm::ThirdPerson };
        say(v, inflect(v, form, o).map(|p| format!("{s} {p}.")), s, o, "affirmed");
        if !v.contains(' ') {
            say(v, inflect(v, VerbForm::Participle, "").map(|p| format!("{o} is {} by {s}.", p.trim())), s, o, "affirmed");
        }
    }
    for v in &c.inverse_verbs {
        say(v, inflect(v, VerbForm::ThirdPerson, s).map(|p| format!("{o} {p}.")), s, o, "affirmed");
    }
    for a in &c.adjectives {
        say(a, Some(format!("{s} is {a} {o}.")), s, o, "affirmed");
    }
    for n in &c.nouns {
        say(n, Some(format!("{s}'s {n} is {o}.")), s, o, "affirmed");
    }
    for n in &c.inverse_nouns {
        say(n, Some(format!("{o}'s {n} is {s}.")), s, o, "affirmed");
    }
    // Only an own thing can be lost or sold.
    let own = if c.possessed.is_empty() { o.to_owned() } else { format!("her {o}") };
    for v in &c.ending_verbs {
        say(v, inflect(v, VerbForm::Past, &own).map(|p| format!("{s} {p}.")), s, o, "ended");
    }
    for v in &c.negating_verbs {
        say(v, inflect(v, VerbForm::Past, o).map(|p| format!("{s} {p}.")), s, o, "negated");
    }
    out
}

#[test]
fn cues_of_the_ontology_are_found_in_text() {
    let ontology = Ontology::parse(default_ontology()).unwrap();
    let mut poor = Vec::new();
    for r in ontology.iter().filter(|r| !r.has_values()) {
        let all = sentences(r);
        let mut missed = Vec::new();
        for (cue, text, s, o, polarity) in &all {
            let found = facts(text);
            // A cue of several relations may state any of them: "leave", "move to".
            let shared = |other: &Relation| {
                let c = &other.cues;
                [&c.verbs, &c.weak_verbs, &c.inverse_verbs, &c.ending_verbs, &c.nouns, &c.inverse_nouns, &c.adjectives, &c.switch_verbs]
                    .iter()
                    .any(|l| l.iter().any(|w| w == cue || *w == format!("be {cue}")))
            };
            let right = ontology.iter().filter(|other| other.name == r.name || shared(other)).any(|other| {
                found.contains(&format!("{s} {} {o} {polarity}", other.name))
                    || other.symmetric && found.contains(&format!("{o} {} {s} {polarity}", other.name))
            });
            if !right {
                missed.push(format!("    {text} -> {found:?}"));
            }
        }
        let share = 1.0 - missed.len() as f64 / all.len().max(1) as f64;
        println!("{:12} {:3} sentences, {:.2} found", r.name, all.len(), share);
        println!("{}", missed.join("\n"));
        if share < LEAST {
            poor.push(format!("{} {share:.2}", r.name));
        }
    }
    assert!(poor.is_empty(), "{poor:?}");
}

#[test]
fn direction_and_polarity_follow_the_construction() {
    for (text, fact) in [
        ("Mary is liked by John.", "John LIKES Mary affirmed"),
        ("John's boss is Ellen.", "Ellen MANAGES John affirmed"),
        ("John reports to Ellen.", "Ellen MANAGES John affirmed"),
        ("Nokia employs Anna.", "Anna WORKS_FOR Nokia affirmed"),
        ("Anna isn't employed by Nokia.", "Anna WORKS_FOR Nokia negated"),
        ("Kafka is no longer used by Anna.", "Anna USES Kafka ended"),
        ("The choir is led by Agnes.", "Agnes MANAGES choir affirmed"),
        ("Anna rejected Oracle.", "Anna DECIDED Oracle negated"),
    ] {
        assert_eq!(facts(text), [fact], "{text}");
    }
}
