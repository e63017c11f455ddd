//! Prints what the network sees of messages: `cargo run --example prepare < messages.jsonl > prepared.jsonl`.
//!
//! `training/train.py` reads the result, so that training and server agree on tokens and marks.

use std::io::{BufRead, Write};
use std::sync::Arc;

use anyhow::Context;
use recall_domain::{Ontology, Party};
use recall_neural::{MARKS, POLARITIES, RELATIONS, TYPES, Vocabulary, covered, marks, tokenise};
use recall_understand::{Pipeline, default_ontology};
use serde_json::{Value, json};

fn main() -> anyhow::Result<()> {
    let vocabulary = Vocabulary::new(include_str!("../models/minilm-reader/vocabulary.txt"));
    let pipeline = Pipeline::new(Arc::new(Ontology::parse(default_ontology())?));
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let mut message: Value = serde_json::from_str(&line?)?;
        let text = message["text"].as_str().context("a message without text")?.to_owned();
        let rules = pipeline.read(&text);
        let tokens = tokenise(&text, &vocabulary);
        let mentions: Vec<Value> = rules
            .mentions
            .iter()
            .map(|m| {
                let ty = TYPES.iter().position(|t| *t == m.entity_type);
                let words = covered(&tokens, m.span);
                json!({"name": m.name, "type": ty, "tokens": words, "confidence": m.confidence})
            })
            .collect();
        let party = |p: Party| match p {
            Party::Speaker => -1,
            Party::Mention(i) => i64::try_from(i).unwrap_or(i64::MAX),
        };
        let facts: Vec<Value> = rules
            .facts
            .iter()
            .map(|f| {
                let relation = RELATIONS.iter().position(|r| *r == f.relation);
                let polarity = POLARITIES.iter().position(|p| *p == f.polarity);
                json!({"subject": party(f.subject), "relation": relation, "object": party(f.object), "polarity": polarity,
                    "confidence": f.confidence})
            })
            .collect();
        message["seen"] = json!({
            "ids": tokens.iter().map(|t| t.id).collect::<Vec<_>>(),
            "spans": tokens.iter().map(|t| [t.span.start, t.span.end]).collect::<Vec<_>>(),
            "begins": tokens.iter().map(|t| t.begins).collect::<Vec<_>>(),
            "marks": marks(&tokens, &rules),
            "mark_count": MARKS,
            "relations": RELATIONS,
            "kind": rules.kind,
            "mentions": mentions,
            "facts": facts,
        });
        serde_json::to_writer(&mut out, &message)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
