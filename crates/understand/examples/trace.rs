//! Shows how the built-in extractor reads each argument: `cargo run -p recall-understand --example trace -- "Ann likes tea."`
//! Without arguments, it reads lines of JSON as `recall extract` does.

use std::io;
use std::sync::Arc;

use recall_domain::Ontology;
use recall_understand::{Pipeline, default_ontology, jsonl};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pipeline = Pipeline::new(Arc::new(Ontology::parse(default_ontology())?));
    let texts: Vec<String> = std::env::args().skip(1).collect();
    if texts.is_empty() {
        let extract = |inputs: &[recall_ports::ExtractInput]| inputs.iter().map(|i| pipeline.extract(i)).collect::<Vec<_>>();
        jsonl::run(io::stdin().lock(), io::stdout().lock(), io::stderr(), 64, &extract)?;
    }
    for text in &texts {
        let found = pipeline.read(text);
        println!("{}{:?}", pipeline.trace(text), found.kind);
        for m in &found.mentions {
            println!("  {} ({:?}, {:.2}) {}", m.name, m.entity_type, m.confidence, m.description.as_deref().unwrap_or(""));
        }
        for f in &found.facts {
            println!("  {:?} {} {:?} {:?} {}", f.subject, f.relation, f.object, f.polarity, f.confidence);
        }
    }
    Ok(())
}
