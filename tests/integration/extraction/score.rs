//! Scores extractions against labels: precision, recall and F1 of kind, entities and facts, and calibration.
//! Calibration uses bins and the Brier score. The test and `cargo run --example extraction` share this file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use recall_domain::{EntityType, Extraction, MessageKind, Party, Word};
use serde::Deserialize;

/// A labelled message.
#[derive(Clone, Debug)]
pub(crate) struct Labelled {
    /// The phenomenon that the example tests.
    pub(crate) phenomenon: String,
    /// Held out while rules are written.
    pub(crate) held: bool,
    pub(crate) text: String,
    /// Absent where the example does not state it.
    pub(crate) kind: Option<MessageKind>,
    pub(crate) entities: Option<BTreeSet<(String, String)>>,
    pub(crate) facts: BTreeSet<Stated>,
}

/// Subject, relation, object, polarity.
pub(crate) type Stated = (String, String, String, String);

const SYMMETRIC: [&str; 3] = ["KNOWS", "FAMILY_OF", "WORKS_WITH"];

/// Composed examples of one file, in sections, with `text`, `kind`, `entities` and `facts`.
#[derive(Deserialize)]
struct Composed {
    text: String,
    kind: Option<MessageKind>,
    entities: Option<BTreeMap<String, EntityType>>,
    #[serde(default)]
    facts: Vec<String>,
}

/// Parses the composed examples of a TOML file, by section. Every third is held out; `seen` counts across files.
pub(crate) fn composed(toml: &str, seen: &mut usize) -> Result<Vec<Labelled>, String> {
    let sections: BTreeMap<String, Vec<Composed>> = toml::from_str(toml).map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    for (phenomenon, examples) in sections {
        for example in examples {
            *seen += 1;
            let mut facts = BTreeSet::new();
            for fact in &example.facts {
                facts.insert(stated(fact).ok_or_else(|| format!("not a fact: {fact}"))?);
            }
            out.push(Labelled {
                phenomenon: phenomenon.clone(),
                held: seen.is_multiple_of(3),
                text: example.text,
                entities: example.entities.map(|e| e.into_iter().map(|(n, t)| (norm(&n), type_name(t))).collect()),
                kind: example.kind,
                facts,
            });
        }
    }
    Ok(out)
}

/// Parses "Sam OWNS two bikes negated"; the word in capitals is the relation.
fn stated(fact: &str) -> Option<Stated> {
    let words: Vec<&str> = fact.split(' ').collect();
    let is_relation = |w: &str| w.len() > 3 && w.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let relations = ["LIKES", "DISLIKES", "PREFERS", "KNOWS", "MANAGES", "VISITED", "USES", "DECIDED", "OWNS"];
    let at = words.iter().position(|w| is_relation(w) && (w.contains('_') || relations.contains(w)))?;
    let polarity = words.last()?;
    let (subject, object) = (words.get(..at)?.join(" "), words.get(at + 1..words.len() - 1)?.join(" "));
    (!subject.is_empty() && !object.is_empty()).then(|| ordered(&subject, words[at], &object, polarity))
}

/// Parses JSON lines of the evaluation set: id, text, kind, entities, facts.
pub(crate) fn lines(jsonl: &str) -> Result<Vec<Labelled>, String> {
    #[derive(Deserialize)]
    struct Line {
        id: String,
        #[serde(default)]
        source: String,
        text: String,
        kind: MessageKind,
        entities: Vec<Entity>,
        facts: Vec<Fact>,
    }
    #[derive(Deserialize)]
    struct Entity {
        name: String,
        #[serde(rename = "type")]
        ty: String,
    }
    #[derive(Deserialize)]
    struct Fact {
        subject: String,
        relation: String,
        object: String,
        polarity: String,
    }
    let mut out = Vec::new();
    for line in jsonl.lines().filter(|l| !l.trim().is_empty()) {
        let l: Line = serde_json::from_str(line).map_err(|e| e.to_string())?;
        let source = l.source.split([':', '-']).next().unwrap_or_default();
        out.push(Labelled {
            phenomenon: if source.is_empty() { l.id } else { source.to_owned() },
            held: false,
            text: l.text,
            kind: Some(l.kind),
            entities: Some(l.entities.into_iter().map(|e| (norm(&e.name), e.ty)).collect()),
            facts: l.facts.iter().map(|f| ordered(&f.subject, &f.relation, &f.object, &f.polarity)).collect(),
        });
    }
    Ok(out)
}

fn ordered(subject: &str, relation: &str, object: &str, polarity: &str) -> Stated {
    let (mut s, mut o) = (norm(subject), norm(object));
    if SYMMETRIC.contains(&relation) && o < s {
        std::mem::swap(&mut s, &mut o);
    }
    (s, relation.to_owned(), o, polarity.to_owned())
}

/// Normalizes a name: no case, articles or possessives.
fn norm(name: &str) -> String {
    let lower = name.to_lowercase();
    let mut rest = lower.trim().trim_matches(['.', ',', '!', '?', '"', '\'']);
    for word in ["the ", "a ", "an ", "my ", "our ", "his ", "her ", "their ", "project "] {
        if let Some(r) = rest.strip_prefix(word) {
            rest = r;
            break;
        }
    }
    rest.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn type_name(ty: EntityType) -> String {
    serde_json::to_value(ty).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Returns the extracted facts with their confidence.
pub(crate) fn found_facts(e: &Extraction) -> BTreeMap<Stated, f64> {
    let name = |p: Party| match p {
        Party::Speaker => "user",
        Party::Mention(i) => e.mentions.get(i).map_or("", |m| m.name.as_str()),
    };
    // The labels have no values and no notes.
    let entity_facts = e.facts.iter().filter(|f| f.value.is_none());
    entity_facts.map(|f| (ordered(name(f.subject), &f.relation, name(f.object), f.polarity.word()), f.confidence)).collect()
}

/// Numbers of right, found and expected items.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Count {
    pub(crate) right: usize,
    pub(crate) found: usize,
    pub(crate) expected: usize,
}

impl Count {
    fn add<T: Ord>(&mut self, expected: &BTreeSet<T>, found: &BTreeSet<T>) {
        self.right += expected.intersection(found).count();
        self.found += found.len();
        self.expected += expected.len();
    }

    pub(crate) fn precision(&self) -> f64 {
        ratio(self.right, self.found)
    }

    pub(crate) fn recall(&self) -> f64 {
        ratio(self.right, self.expected)
    }

    pub(crate) fn f1(&self) -> f64 {
        let (p, r) = (self.precision(), self.recall());
        if p + r > 0.0 { 2.0 * p * r / (p + r) } else { 0.0 }
    }
}

fn ratio(a: usize, b: usize) -> f64 {
    if b == 0 { 1.0 } else { a as f64 / b as f64 }
}

/// Scores of a set of messages.
#[derive(Clone, Default, Debug)]
pub(crate) struct Score {
    pub(crate) examples: usize,
    pub(crate) kinds: Count,
    pub(crate) entities: Count,
    pub(crate) typed: Count,
    pub(crate) facts: Count,
    pub(crate) polarity: Count,
    /// Facts read as ended or negated although the label affirms them.
    pub(crate) turned: usize,
}

impl Score {
    pub(crate) fn add(&mut self, gold: &Labelled, found: &Extraction) {
        self.examples += 1;
        if let Some(kind) = gold.kind {
            self.kinds.expected += 1;
            self.kinds.found += 1;
            self.kinds.right += usize::from(kind == found.kind);
        }
        if let Some(expected) = &gold.entities {
            let values: BTreeSet<String> = found.facts.iter().filter_map(|f| f.value.as_ref()).map(|v| norm(v.text().as_str())).collect();
            // What is only a value, such as an allergen, is not labelled either.
            let in_fact = |i: usize| found.facts.iter().any(|f| f.value.is_none() && [f.subject, f.object].contains(&Party::Mention(i)));
            let labelled = found
                .mentions
                .iter()
                .enumerate()
                .filter(|(i, m)| in_fact(*i) || !values.contains(&norm(&m.name)) || expected.iter().any(|e| e.0 == norm(&m.name)));
            let typed: BTreeSet<(String, String)> = labelled.map(|(_, m)| (norm(&m.name), type_name(m.entity_type))).collect();
            self.typed.add(expected, &typed);
            let bare = |s: &BTreeSet<(String, String)>| s.iter().map(|e| e.0.clone()).collect::<BTreeSet<_>>();
            self.entities.add(&bare(expected), &bare(&typed));
        }
        let facts: BTreeSet<Stated> = found_facts(found).into_keys().collect();
        self.polarity.add(&gold.facts, &facts);
        let bare = |s: &BTreeSet<Stated>| s.iter().map(|f| (f.0.clone(), f.1.clone(), f.2.clone())).collect::<BTreeSet<_>>();
        self.facts.add(&bare(&gold.facts), &bare(&facts));
        self.turned += facts
            .iter()
            .filter(|f| f.3 != "affirmed" && gold.facts.contains(&(f.0.clone(), f.1.clone(), f.2.clone(), "affirmed".to_owned())))
            .count();
    }

    fn row(&self, name: &str) -> String {
        format!(
            "{name:24} {:4}  {:.3}  {:.3} {:.3}  {:.3} {:.3} {:.3}  {:.3}",
            self.examples,
            self.kinds.precision(),
            self.entities.f1(),
            self.typed.f1(),
            self.facts.precision(),
            self.facts.recall(),
            self.facts.f1(),
            self.polarity.f1()
        )
    }
}

/// Scores all labelled messages, by phenomenon and in total.
pub(crate) fn table(labelled: &[Labelled], read: &dyn Fn(&str) -> Extraction) -> (Score, String) {
    let mut sections: BTreeMap<&str, Score> = BTreeMap::new();
    let mut total = Score::default();
    for l in labelled {
        let found = read(&l.text);
        sections.entry(&l.phenomenon).or_default().add(l, &found);
        total.add(l, &found);
    }
    let mut out = format!("{:24} {:>4}  {:5}  {:11}  {:17}  {}\n", "phenomenon", "n", "kind", "entities", "facts P R F1", "+polarity");
    for (name, score) in &sections {
        let _ = writeln!(out, "{}", score.row(name));
    }
    let _ = writeln!(out, "{}  turned {}", total.row("total"), total.turned);
    (total, out)
}

/// Compares the predicted confidence with the share of right facts.
#[derive(Clone, Default, Debug)]
pub(crate) struct Calibration {
    /// For each tenth from 0.5: number of facts, right facts, and sum of confidences.
    bins: [(usize, usize, f64); 5],
    squares: f64,
}

impl Calibration {
    pub(crate) fn of(labelled: &[Labelled], read: &dyn Fn(&str) -> Extraction) -> Self {
        let mut c = Self::default();
        for l in labelled {
            for (fact, confidence) in found_facts(&read(&l.text)) {
                let right = l.facts.contains(&fact);
                // The top bin covers 0.95 to 1, the next 0.85 to 0.95, and so on.
                let bin = (((confidence - 0.55) * 10.0).floor().max(0.0) as usize).min(4);
                c.bins[bin].0 += 1;
                c.bins[bin].1 += usize::from(right);
                c.bins[bin].2 += confidence;
                c.squares += (confidence - f64::from(u8::from(right))).powi(2);
            }
        }
        c
    }

    pub(crate) fn brier(&self) -> f64 {
        self.squares / (self.bins.iter().map(|b| b.0).sum::<usize>().max(1)) as f64
    }

    /// Returns the mean distance of confidence from precision, weighted by the facts per bin.
    pub(crate) fn error(&self) -> f64 {
        let total: usize = self.bins.iter().map(|b| b.0).sum();
        self.bins.iter().map(|b| (b.2 - b.1 as f64).abs()).sum::<f64>() / total.max(1) as f64
    }

    pub(crate) fn table(&self) -> String {
        let mut out = "confidence  facts  mean   precision\n".to_owned();
        for (i, (n, right, sum)) in self.bins.iter().enumerate() {
            let from = if i == 0 { 0.5 } else { 0.55 + 0.1 * i as f64 };
            let to = (0.65 + 0.1 * i as f64).min(1.0);
            let _ = writeln!(out, "{from:.2}-{to:.2}   {n:5}  {:.3}  {:.3}", sum / (*n).max(1) as f64, ratio(*right, *n));
        }
        let _ = writeln!(out, "Brier score {:.3}, calibration error {:.3}", self.brier(), self.error());
        out
    }
}

/// Lists the errors of each message.
pub(crate) fn complaints(labelled: &[Labelled], read: &dyn Fn(&str) -> Extraction) -> String {
    let mut out = String::new();
    for l in labelled {
        let e = read(&l.text);
        let facts = found_facts(&e);
        let mut wrong = Vec::new();
        if l.kind.is_some_and(|k| k != e.kind) {
            wrong.push(format!("kind {:?}, is {:?}", e.kind, l.kind));
        }
        if let Some(expected) = &l.entities {
            let found: BTreeSet<(String, String)> = e.mentions.iter().map(|m| (norm(&m.name), type_name(m.entity_type))).collect();
            wrong.extend(expected.difference(&found).map(|e| format!("entity missed {e:?}")));
            wrong.extend(found.difference(expected).map(|e| format!("entity invented {e:?}")));
        }
        wrong.extend(l.facts.iter().filter(|f| !facts.contains_key(*f)).map(|f| format!("fact missed {f:?}")));
        wrong.extend(facts.iter().filter(|(f, _)| !l.facts.contains(*f)).map(|(f, c)| format!("fact invented {f:?} {c}")));
        if !wrong.is_empty() {
            let _ = writeln!(out, "{}: {}\n    {}", l.phenomenon, l.text.replace('\n', "\\n"), wrong.join("\n    "));
        }
    }
    out
}
