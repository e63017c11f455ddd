//! One layer of a transformer encoder.

use multiversion::multiversion;

use crate::activation::{gelu, layer_norm, softmax};
use crate::matmul::Linear;
use crate::weights::{Weights, WeightsError};

/// Length of the state of a token.
pub(crate) const HIDDEN: usize = 384;
const HEADS: usize = 12;
const HEAD: usize = HIDDEN / HEADS;
/// Length of the inner state of a layer.
const INNER: usize = 4 * HIDDEN;

/// Scales and shifts that follow the normalisation of a row.
#[derive(Debug)]
pub(crate) struct Norm {
    scale: Vec<f32>,
    shift: Vec<f32>,
}

/// Attention between the tokens, and a small network for each of them.
#[derive(Debug)]
pub(crate) struct Layer {
    qkv: Linear,
    out: Linear,
    norm1: Norm,
    up: Linear,
    down: Linear,
    norm2: Norm,
}

impl Norm {
    /// Reads the tensors `name.scale` and `name.shift`.
    pub(crate) fn read(w: &Weights, name: &str) -> Result<Self, WeightsError> {
        Ok(Self { scale: w.floats(&format!("{name}.scale"), HIDDEN)?, shift: w.floats(&format!("{name}.shift"), HIDDEN)? })
    }

    /// Normalises each row.
    pub(crate) fn apply(&self, x: &mut [f32]) {
        layer_norm(x, &self.scale, &self.shift);
    }
}

impl Layer {
    /// Reads the tensors of the layer with this number.
    pub(crate) fn read(w: &Weights, number: usize) -> Result<Self, WeightsError> {
        let name = |part: &str| format!("layer{number}.{part}");
        Ok(Self {
            qkv: w.linear(&name("qkv"), HIDDEN, 3 * HIDDEN)?,
            out: w.linear(&name("out"), HIDDEN, HIDDEN)?,
            norm1: Norm::read(w, &name("norm1"))?,
            up: w.linear(&name("up"), HIDDEN, INNER)?,
            down: w.linear(&name("down"), INNER, HIDDEN)?,
            norm2: Norm::read(w, &name("norm2"))?,
        })
    }

    /// Changes the states of all tokens of a text, one row of [`HIDDEN`] values each.
    pub(crate) fn apply(&self, x: &mut [f32]) {
        add(x, &self.out.apply(&attend(&self.qkv.apply(x))));
        self.norm1.apply(x);
        let mut inner = self.up.apply(x);
        gelu(&mut inner);
        add(x, &self.down.apply(&inner));
        self.norm2.apply(x);
    }
}

/// Mixes the values of all tokens, weighted by how their keys fit the queries. A row has queries, keys and values of all heads.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn attend(qkv: &[f32]) -> Vec<f32> {
    let rows = qkv.len() / (3 * HIDDEN);
    let mut mixed = vec![0.0; rows * HIDDEN];
    // The keys of a head as columns, so that a query is compared with all of them at once.
    let (mut keys, mut values) = (vec![0.0; HEAD * rows], vec![0.0; rows * HEAD]);
    let mut weights = vec![0.0; rows];
    let scale = 1.0 / (HEAD as f32).sqrt();
    for head in 0..HEADS {
        let part = |row: &'_ [f32], third: usize| -> [f32; HEAD] {
            let mut values = [0.0; HEAD];
            values.copy_from_slice(&row[third * HIDDEN + head * HEAD..][..HEAD]);
            values
        };
        for ((n, row), value) in qkv.chunks_exact(3 * HIDDEN).enumerate().zip(values.chunks_exact_mut(HEAD)) {
            value.copy_from_slice(&part(row, 2));
            keys.chunks_exact_mut(rows).zip(part(row, 1)).for_each(|(column, key)| column[n] = key);
        }
        for (row, out) in qkv.chunks_exact(3 * HIDDEN).zip(mixed.chunks_exact_mut(HIDDEN)) {
            weights.fill(0.0);
            for (query, column) in part(row, 0).into_iter().zip(keys.chunks_exact(rows)) {
                let query = query * scale;
                weights.iter_mut().zip(column).for_each(|(weight, key)| *weight += query * key);
            }
            softmax(&mut weights);
            let mut sum = [0.0; HEAD];
            for (weight, value) in weights.iter().zip(values.chunks_exact(HEAD)) {
                sum.iter_mut().zip(value).for_each(|(s, v)| *s += weight * v);
            }
            out[head * HEAD..][..HEAD].copy_from_slice(&sum);
        }
    }
    mixed
}

/// Adds `y` to `x`.
pub(crate) fn add(x: &mut [f32], y: &[f32]) {
    for (a, b) in x.iter_mut().zip(y) {
        *a += b;
    }
}
