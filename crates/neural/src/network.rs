//! The forward pass: a transformer encoder of few layers, and a head for each question about the message.
//!
//! The first layer sees the text alone: `stem`. Then the marks of the rules are added, and the other layers see both.

use crate::activation::{sigmoid, softmax};
use crate::layer::{HIDDEN, Layer, add};
use crate::marks::{KINDS, MARKS, POLARITIES, RELATIONS, TYPES};
use crate::matmul::Linear;
use crate::stem::{READER, Stem};
use crate::tokens::Token;
use crate::vocabulary::Vocabulary;
use crate::weights::{Weights, WeightsError};

/// Layers after the marks, behind the one of the stem.
const UPPER: usize = 3;
/// Length of the state of a pair.
const PAIR: usize = 256;
/// Tags of a word: none, begins an entity of a type, continues one.
pub(crate) const TAGS: usize = 1 + 2 * TYPES.len();

/// The network with its weights, which stay in the binary.
#[derive(Debug)]
pub struct Network {
    stem: &'static Stem,
    layers: Vec<Layer>,
    marks: Vec<f32>,
    kind: Linear,
    tags: Linear,
    subject: Linear,
    object: Linear,
    said: Vec<f32>,
    facts: Linear,
}

/// The states of all tokens of a message.
pub(crate) struct States(Vec<f32>);

/// What the network says about a pair of candidates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairScores {
    /// Probability of each relation.
    pub(crate) relations: [f32; RELATIONS.len()],
    /// Probability of each polarity, if there is a fact.
    pub(crate) polarities: [f32; POLARITIES.len()],
}

impl Network {
    /// Reads the network that is part of the binary.
    ///
    /// # Errors
    /// Fails if the files of this version do not fit together.
    pub fn load() -> Result<Self, WeightsError> {
        let w = Weights::new(READER)?;
        Ok(Self {
            stem: Stem::shared()?,
            layers: (1..=UPPER).map(|i| Layer::read(&w, i)).collect::<Result<_, _>>()?,
            marks: w.floats("marks", MARKS * HIDDEN)?,
            kind: w.linear("kind", 2 * HIDDEN, KINDS.len())?,
            tags: w.linear("tags", HIDDEN, TAGS)?,
            subject: w.linear("subject", HIDDEN, 2 * PAIR)?,
            object: w.linear("object", HIDDEN, 2 * PAIR)?,
            said: w.floats("said", (RELATIONS.len() + POLARITIES.len()) * PAIR)?,
            facts: w.linear("facts", PAIR, RELATIONS.len() + POLARITIES.len())?,
        })
    }

    /// Returns the vocabulary of the network.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.stem.vocabulary
    }

    /// Runs the layers over a message.
    pub(crate) fn states(&self, tokens: &[Token], marks: &[Vec<u8>]) -> States {
        let mut x = self.stem.states(tokens.iter().map(|token| token.id));
        for (row, marks) in x.chunks_exact_mut(HIDDEN).zip(marks) {
            for &mark in marks {
                add(row, &self.marks[usize::from(mark) * HIDDEN..][..HIDDEN]);
            }
        }
        for layer in &self.layers {
            layer.apply(&mut x);
        }
        States(x)
    }

    /// Returns the probability of each kind of message.
    pub(crate) fn kinds(&self, states: &States) -> [f32; KINDS.len()] {
        let mut x = states.0[..HIDDEN].to_vec();
        x.extend(states.mean(0, states.0.len() / HIDDEN));
        let mut kinds = [0.0; KINDS.len()];
        kinds.copy_from_slice(&self.kind.apply(&x));
        softmax(&mut kinds);
        kinds
    }

    /// Returns the probability of each tag for each token.
    pub(crate) fn tags(&self, states: &States) -> Vec<[f32; TAGS]> {
        let mut tags = self.tags.apply(&states.0);
        let (rows, _) = tags.as_chunks_mut::<TAGS>();
        rows.iter_mut().for_each(|row| softmax(row));
        rows.to_vec()
    }

    /// Prepares candidates for [`Network::pairs`]. Each is a range of tokens.
    pub(crate) fn candidates(&self, states: &States, candidates: &[(usize, usize)]) -> Candidates {
        let x: Vec<f32> = candidates.iter().flat_map(|&(first, end)| states.mean(first, end)).collect();
        Candidates { subjects: self.subject.apply(&x), objects: self.object.apply(&x) }
    }

    /// Returns what holds between two candidates each.
    pub(crate) fn pairs(&self, candidates: &Candidates, pairs: &[Pair<'_>]) -> Vec<PairScores> {
        let mut z = Vec::with_capacity(pairs.len() * PAIR);
        for pair in pairs {
            // Each has one part that is added, and one that is multiplied with that of the other.
            let (s, s_fit) = candidates.subjects[pair.subject * 2 * PAIR..][..2 * PAIR].split_at(PAIR);
            let (o, o_fit) = candidates.objects[pair.object * 2 * PAIR..][..2 * PAIR].split_at(PAIR);
            let start = z.len();
            z.extend(s_fit.iter().zip(o_fit).map(|(a, b)| a * b));
            let row = &mut z[start..];
            add(row, s);
            add(row, o);
            for &mark in pair.said {
                add(row, &self.said[mark * PAIR..][..PAIR]);
            }
            row.iter_mut().for_each(|v| *v = v.max(0.0));
        }
        let out = self.facts.apply(&z);
        out.chunks_exact(RELATIONS.len() + POLARITIES.len())
            .map(|row| {
                let mut scores = PairScores { relations: [0.0; RELATIONS.len()], polarities: [0.0; POLARITIES.len()] };
                for (p, v) in scores.relations.iter_mut().zip(row) {
                    *p = sigmoid(*v);
                }
                scores.polarities.copy_from_slice(&row[RELATIONS.len()..]);
                softmax(&mut scores.polarities);
                scores
            })
            .collect()
    }
}

/// Two candidates, by their places in a list, and what the rules said about them: relations, and polarities behind them.
pub(crate) struct Pair<'a> {
    pub(crate) subject: usize,
    pub(crate) object: usize,
    pub(crate) said: &'a [usize],
}

/// The states of candidates as subjects and as objects of facts.
pub(crate) struct Candidates {
    subjects: Vec<f32>,
    objects: Vec<f32>,
}

impl States {
    /// Returns the mean state of a range of tokens.
    fn mean(&self, first: usize, end: usize) -> Vec<f32> {
        let mut sum = vec![0.0; HIDDEN];
        for row in self.0[first * HIDDEN..end * HIDDEN].chunks_exact(HIDDEN) {
            add(&mut sum, row);
        }
        let count = (end - first).max(1) as f32;
        sum.iter_mut().for_each(|v| *v /= count);
        sum
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::tokens::tokenise;

    /// What the training program computes with the same weights, see `training/train.py reference`.
    #[derive(Deserialize)]
    struct Reference {
        text: String,
        ids: Vec<u32>,
        marks: Vec<Vec<u8>>,
        kinds: Vec<f32>,
        tags: Vec<Vec<f32>>,
        pairs: Vec<ReferencePair>,
    }

    #[derive(Deserialize)]
    struct ReferencePair {
        subject: (usize, usize),
        object: (usize, usize),
        said: Vec<usize>,
        relations: Vec<f32>,
        polarities: Vec<f32>,
    }

    fn assert_close(what: &str, found: &[f32], expected: &[f32]) {
        assert_eq!(found.len(), expected.len(), "{what}");
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() < 5e-3, "{what}: {found:?}, not {expected:?}");
        }
    }

    #[test]
    fn results_are_those_of_the_training_program() {
        let network = Network::load().unwrap();
        let references: Vec<Reference> = serde_json::from_str(include_str!("reference.json")).unwrap();
        assert!(references.iter().any(|r| r.pairs.len() > 5 && r.pairs.iter().any(|p| !p.said.is_empty())));
        for r in references {
            let tokens = tokenise(&r.text, network.vocabulary());
            assert_eq!(tokens.iter().map(|t| t.id).collect::<Vec<_>>(), r.ids, "{}", r.text);
            let states = network.states(&tokens, &r.marks);
            assert_close("kinds", &network.kinds(&states), &r.kinds);
            for (found, expected) in network.tags(&states).iter().zip(&r.tags) {
                assert_close("tags", found, expected);
            }
            for pair in &r.pairs {
                let candidates = network.candidates(&states, &[pair.subject, pair.object]);
                let scores = network.pairs(&candidates, &[Pair { subject: 0, object: 1, said: &pair.said }])[0];
                assert_close("relations", &scores.relations, &pair.relations);
                assert_close("polarities", &scores.polarities, &pair.polarities);
            }
        }
    }
}
