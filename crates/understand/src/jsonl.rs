//! Extracts from lines of JSON for `recall extract`: reads one message per line, writes one extraction per line.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};

use recall_domain::{CandidateValue, Extraction, Party, UserText, Word};
use recall_ports::extract::ExtractInput;

#[derive(Deserialize)]
struct Line {
    id: serde_json::Value,
    #[serde(default)]
    speaker: Option<String>,
    text: String,
}

#[derive(Serialize)]
struct Answer<'a> {
    id: &'a serde_json::Value,
    kind: recall_domain::MessageKind,
    entities: Vec<Entity<'a>>,
    facts: Vec<Fact<'a>>,
    /// Facts whose object is a value, such as an age. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<Value<'a>>,
}

#[derive(Serialize)]
struct Entity<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    entity_type: recall_domain::EntityType,
}

#[derive(Serialize)]
struct Fact<'a> {
    subject: &'a str,
    relation: &'a str,
    object: &'a str,
    polarity: &'static str,
}

#[derive(Serialize)]
struct Value<'a> {
    subject: &'a str,
    relation: &'a str,
    value: &'a str,
    polarity: &'static str,
}

/// Counts the lines of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Lines answered.
    pub answered: usize,
    /// Lines that were not messages; each was reported on the error stream.
    pub refused: usize,
}

/// Reads messages and writes their extractions in the same order.
///
/// One call of `extract` gets up to `together` messages. A line that is not a message is reported on `errors` without its
/// text and skipped. Empty lines are skipped.
///
/// # Errors
/// If a stream cannot be read or written.
pub fn run(
    mut input: impl BufRead,
    mut output: impl Write,
    mut errors: impl Write,
    together: usize,
    extract: &dyn Fn(&[ExtractInput]) -> Vec<Extraction>,
) -> io::Result<Outcome> {
    let mut outcome = Outcome::default();
    let (mut ids, mut inputs) = (Vec::new(), Vec::new());
    let settle = |output: &mut dyn Write, ids: &mut Vec<serde_json::Value>, inputs: &mut Vec<ExtractInput>| -> io::Result<usize> {
        let found = extract(inputs);
        inputs.clear();
        let mut written = 0;
        for (id, found) in ids.drain(..).zip(&found) {
            serde_json::to_writer(&mut *output, &answer(&id, found))?;
            output.write_all(b"\n")?;
            written += 1;
        }
        Ok(written)
    };
    let mut raw = Vec::new();
    let mut number = 0_u64;
    loop {
        raw.clear();
        if input.read_until(b'\n', &mut raw)? == 0 {
            outcome.answered += settle(&mut output, &mut ids, &mut inputs)?;
            output.flush()?;
            return Ok(outcome);
        }
        number += 1;
        if raw.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let line: Line = match serde_json::from_slice(&raw) {
            Ok(line) => line,
            Err(error) => {
                outcome.refused += 1;
                writeln!(
                    errors,
                    "line {number}: not a message with \"id\" and \"text\" ({:?} at column {})",
                    error.classify(),
                    error.column()
                )?;
                continue;
            }
        };
        ids.push(line.id);
        inputs.push(ExtractInput { text: UserText::from(line.text), speaker: line.speaker, ..ExtractInput::default() });
        if inputs.len() >= together {
            outcome.answered += settle(&mut output, &mut ids, &mut inputs)?;
        }
    }
}

fn answer<'a>(id: &'a serde_json::Value, found: &'a Extraction) -> Answer<'a> {
    let name = |party: Party| match party {
        Party::Speaker => "user",
        Party::Mention(i) => found.mentions.get(i).map_or("", |m| m.name.as_str()),
    };
    Answer {
        id,
        kind: found.kind,
        entities: found.mentions.iter().map(|m| Entity { name: &m.name, entity_type: m.entity_type }).collect(),
        facts: (found.facts.iter().filter(|f| f.value.is_none()))
            .map(|f| Fact { subject: name(f.subject), relation: &f.relation, object: name(f.object), polarity: f.polarity.word() })
            .collect(),
        values: (found.facts.iter())
            .filter_map(|f| {
                let value = f.value.as_ref().filter(|v| !matches!(v, CandidateValue::Note(_)))?;
                Some(Value { subject: name(f.subject), relation: &f.relation, value: value.text().as_str(), polarity: f.polarity.word() })
            })
            .collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Pipeline, default_ontology};
    use recall_domain::Ontology;

    #[test]
    fn valid_lines_are_answered_and_invalid_ones_reported() {
        let pipeline = Pipeline::new(Arc::new(Ontology::parse(default_ontology()).unwrap()));
        let input = b"{\"id\":\"a\",\"speaker\":null,\"text\":\"I use Vim.\"}\n{\"id\":1}\n\n\xff\xfe\n{\"id\":2,\"text\":\"hi\"}\n";
        let extract = |inputs: &[ExtractInput]| inputs.iter().map(|i| pipeline.extract(i)).collect::<Vec<_>>();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let outcome = run(&input[..], &mut out, &mut err, 1, &extract).unwrap();
        assert_eq!(outcome, Outcome { answered: 2, refused: 2 });
        for together in [2, 3] {
            let mut again = Vec::new();
            assert_eq!(run(&input[..], &mut again, io::sink(), together, &extract).unwrap(), outcome);
            assert_eq!(again, out);
        }
        let lines: Vec<serde_json::Value> = String::from_utf8(out).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(lines[0]["facts"][0], serde_json::json!({"subject":"user","relation":"USES","object":"Vim","polarity":"affirmed"}));
        assert_eq!(lines[0]["entities"][0], serde_json::json!({"name":"Vim","type":"tool"}));
        assert_eq!((lines[1]["id"].as_i64(), lines[1]["kind"].as_str()), (Some(2), Some("other")));
        let err = String::from_utf8(err).unwrap();
        assert!(err.contains("line 2:") && err.contains("line 4:"));
    }
}
