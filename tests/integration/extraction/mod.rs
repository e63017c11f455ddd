//! How well messages are understood, held to floors: over the composed examples, those worked with and those set aside.
//!
//! `cargo test --test integration extraction -- --nocapture` prints the tables; the floors stand just under what is reached.

mod score;

use std::sync::Arc;

use recall_domain::{Extraction, Ontology};
use recall_understand::{Pipeline, default_ontology};
use score::{Calibration, Labelled, Score};

fn examples() -> (Vec<Labelled>, Vec<Labelled>) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/grammar");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let (mut all, mut seen) = (Vec::new(), 0);
    for path in paths {
        all.extend(
            score::composed(&std::fs::read_to_string(&path).unwrap(), &mut seen).unwrap_or_else(|e| panic!("{}: {e}", path.display())),
        );
    }
    let (held, worked): (Vec<_>, Vec<_>) = all.into_iter().partition(|l| l.held);
    (worked, held)
}

struct Floors {
    kind: f64,
    entities: f64,
    typed: f64,
    precision: f64,
    facts: f64,
    polarity: f64,
}

fn hold(name: &str, labelled: &[Labelled], read: &dyn Fn(&str) -> Extraction, floors: &Floors) {
    let (score, table): (Score, String) = score::table(labelled, read);
    let calibration = Calibration::of(labelled, read);
    println!("== {name}\n{table}\n{}", calibration.table());
    let reached = [
        ("kind", score.kinds.precision(), floors.kind),
        ("entities", score.entities.f1(), floors.entities),
        ("typed entities", score.typed.f1(), floors.typed),
        ("precision of facts", score.facts.precision(), floors.precision),
        ("facts", score.facts.f1(), floors.facts),
        ("facts with polarity", score.polarity.f1(), floors.polarity),
    ];
    for (what, reached, floor) in reached {
        assert!(reached >= floor, "{name}: {what} {reached:.3}, at least {floor}\n{table}");
    }
    assert_eq!(score.turned, 0, "{name}: what is affirmed was read as ended or denied");
    assert!(calibration.brier() <= 0.12 && calibration.error() <= 0.1, "{name}:\n{}", calibration.table());
}

#[test]
fn understanding_stays_as_good_as_it_was() {
    let (worked, held) = examples();
    assert!(worked.len() + held.len() >= 500 && held.len() >= 170, "{} and {}", worked.len(), held.len());
    let pipeline = Pipeline::new(Arc::new(Ontology::parse(default_ontology()).unwrap()));
    let read = |text: &str| pipeline.read(text);
    let floors = Floors { kind: 0.96, entities: 0.95, typed: 0.93, precision: 0.97, facts: 0.95, polarity: 0.95 };
    hold("worked with", &worked, &read, &floors);
    let floors = Floors { kind: 0.91, entities: 0.9, typed: 0.85, precision: 0.9, facts: 0.86, polarity: 0.86 };
    hold("set aside", &held, &read, &floors);
}

#[test]
fn the_format_of_the_evaluation_set_is_read() {
    let line = r#"{"id":"x1","source":"made:1","text":"I use Vim.","kind":"statement","entities":[{"name":"Vim","type":"tool"}],"facts":[{"subject":"user","relation":"USES","object":"the Vim","polarity":"affirmed"}]}"#;
    let labelled = score::lines(line).unwrap();
    let pipeline = Pipeline::new(Arc::new(Ontology::parse(default_ontology()).unwrap()));
    let (score, table) = score::table(&labelled, &|text| pipeline.read(text));
    assert_eq!((score.facts.right, score.typed.right, score.kinds.right), (1, 1, 1), "{table}");
    assert_eq!(score::complaints(&labelled, &|text| pipeline.read(text)), "");
    assert!(score::lines("{}").is_err() && score::composed("[[a]]\ntext = 1", &mut 0).is_err());
}
