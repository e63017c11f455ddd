//! Measures the extraction of facts: `cargo run --example extraction [-- [--wrong] [FILE.jsonl]]`.
//!
//! With a file, it measures the labelled messages of the file. Without one, it measures the examples of
//! `tests/data/grammar` in two sets: examples used while the rules were written, and held-out ones. `--wrong` lists
//! missing and false results, except for held-out examples.

use std::sync::Arc;

use recall_domain::Ontology;
use recall_understand::{Pipeline, default_ontology};

#[path = "../tests/integration/extraction/score.rs"]
mod score;

fn main() -> anyhow::Result<()> {
    let pipeline = Pipeline::new(Arc::new(Ontology::parse(default_ontology())?));
    let read = |text: &str| pipeline.read(text);
    let mut list_errors = false;
    let mut file = None;
    for argument in std::env::args().skip(1) {
        if argument == "--wrong" {
            list_errors = true;
        } else {
            file = Some(argument);
        }
    }
    let sets = match file {
        Some(path) => vec![(path.clone(), score::lines(&std::fs::read_to_string(path)?).map_err(anyhow::Error::msg)?)],
        None => {
            let mut paths: Vec<_> = std::fs::read_dir("tests/data/grammar")?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
            paths.sort();
            let (mut all, mut seen) = (Vec::new(), 0);
            for path in paths {
                all.extend(score::composed(&std::fs::read_to_string(path)?, &mut seen).map_err(anyhow::Error::msg)?);
            }
            let (held, worked): (Vec<_>, Vec<_>) = all.into_iter().partition(|l| l.held);
            vec![("worked with".to_owned(), worked), ("set aside".to_owned(), held)]
        }
    };
    for (name, labelled) in &sets {
        println!("== {name}\n{}", score::table(labelled, &read).1);
        println!("{}", score::Calibration::of(labelled, &read).table());
        if list_errors && name != "set aside" {
            println!("{}", score::complaints(labelled, &read));
        }
    }
    Ok(())
}
