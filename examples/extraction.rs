//! Measures the quality of extraction: `cargo run --example extraction [-- [--wrong] [FILE.jsonl]]`.
//!
//! FILE contains labelled messages. Without it, the example measures the composed messages of `tests/data/grammar`:
//! the development set and the held-out set separately. `--wrong` lists missed and invented facts, except for the
//! held-out set.

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
            let (held_out, development): (Vec<_>, Vec<_>) = all.into_iter().partition(|l| l.held);
            vec![("development".to_owned(), development), ("held out".to_owned(), held_out)]
        }
    };
    for (name, labelled) in &sets {
        println!("== {name}\n{}", score::table(labelled, &read).1);
        println!("{}", score::Calibration::of(labelled, &read).table());
        if list_errors && name != "held out" {
            println!("{}", score::complaints(labelled, &read));
        }
    }
    Ok(())
}
