//! Vectors as 8-bit integers, scanned whole. Exact over all rows up to the quantisation, so that nothing is lost
//! to an approximate search; knows nothing of messages.

/// Rows of one chunk. Chunks are filled one after the other, so that growing never copies what is there and
/// memory follows the number of rows.
const CHUNK_ROWS: usize = 1024;
/// Rows for which a chunk has room at first.
const FIRST_ROWS: usize = 32;
/// What a component of 0 is kept as. Without a sign the processor widens a component in half the instructions.
const ZERO: i16 = 128;

/// A growing table of unit vectors, one byte per component and one scale per row. The first vector says how long all are.
#[derive(Debug, Default)]
pub(super) struct Vectors {
    dimension: usize,
    chunks: Vec<Vec<u8>>,
    scales: Vec<f32>,
}

/// A question's vector in the form in which rows are compared with it.
#[derive(Debug)]
pub(super) struct Probe {
    /// Wider than a row's components, so that the compiler uses 16-bit multiply-add.
    values: Vec<i16>,
    scale: f32,
    /// What a row's product comes out too large, because its components are kept larger by [`ZERO`].
    excess: i32,
}

/// What the largest component of a row is kept as.
const ROW_STEPS: f32 = 127.0;
/// The same of a question, as long as the sum of all products fits: its rounding would count as much as that of all rows.
const PROBE_STEPS: usize = 8191;

/// Symmetric quantisation: the largest component becomes `steps`. `None` when nothing is left of the vector.
fn quantised(vector: &[f32], steps: f32) -> Option<(f32, impl Iterator<Item = i16>)> {
    let largest = vector.iter().fold(0.0_f32, |m, v| if v.is_finite() { m.max(v.abs()) } else { m });
    let scale = largest / steps;
    // Rounds by hand, since `round` is a call for each component where the processor's instruction is not certain to be
    // there. The saturating cast maps what is not a number to 0.
    let near = move |v: &f32| (v / scale + 0.5_f32.copysign(*v)).clamp(-steps, steps) as i16;
    (scale > 0.0).then(|| (scale, vector.iter().map(near)))
}

impl Probe {
    /// `None` for a zero vector, with which nothing can be compared.
    pub(super) fn new(vector: &[f32]) -> Option<Self> {
        let steps = (i32::MAX as usize / 256 / vector.len().max(1)).min(PROBE_STEPS);
        let (scale, values) = quantised(vector, steps as f32)?;
        let values: Vec<i16> = values.collect();
        let excess = values.iter().map(|v| i32::from(*v) * i32::from(ZERO)).sum();
        Some(Self { values, scale, excess })
    }

    /// Number of components.
    pub(super) fn dimension(&self) -> usize {
        self.values.len()
    }

    fn product(&self, row: &[u8]) -> i32 {
        dot(&self.values, row) - self.excess
    }
}

impl Vectors {
    /// Length of the rows; 0 as long as none has a vector.
    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Adds a row. A vector of another length (another model's) is kept as zero, which is like nothing.
    pub(super) fn push(&mut self, vector: &[f32]) {
        if self.dimension == 0 {
            self.learn(vector.len());
        }
        if self.scales.len().is_multiple_of(CHUNK_ROWS) {
            self.chunks.push(Vec::new());
        }
        let Some(chunk) = self.chunks.last_mut() else { return };
        if chunk.len() == chunk.capacity() {
            // Most users have few messages: a chunk doubles until it has the size that it keeps.
            let (first, whole) = (FIRST_ROWS * self.dimension, CHUNK_ROWS * self.dimension);
            chunk.reserve_exact(chunk.len().max(first).min(whole.saturating_sub(chunk.len())));
        }
        if let Some((scale, values)) = quantised(vector, ROW_STEPS).filter(|_| vector.len() == self.dimension) {
            self.scales.push(scale);
            chunk.extend(values.map(|v| (v + ZERO) as u8));
        } else {
            self.scales.push(0.0);
            chunk.resize(chunk.len() + self.dimension, ZERO as u8);
        }
    }

    /// Gives the rows that came before the first vector their room.
    fn learn(&mut self, dimension: usize) {
        self.dimension = dimension;
        for (chunk, rows) in self.chunks.iter_mut().zip(self.scales.chunks(CHUNK_ROWS)) {
            chunk.resize(rows.len() * dimension, ZERO as u8);
        }
    }

    /// Cosine similarity with one row, -1 to 1; `None` when the row has no vector.
    pub(super) fn similarity(&self, row: u32, probe: &Probe) -> Option<f32> {
        let row = row as usize;
        let scale = *self.scales.get(row)?;
        let start = (row % CHUNK_ROWS) * self.dimension;
        let values = self.chunks.get(row / CHUNK_ROWS)?.get(start..start + self.dimension)?;
        (scale > 0.0).then(|| probe.product(values) as f32 * (probe.scale * scale))
    }

    /// Calls `found` with every row that has a vector, in order, with its cosine similarity.
    pub(super) fn scan(&self, probe: &Probe, mut found: impl FnMut(u32, f32)) {
        let mut row = 0_u32;
        for (chunk, scales) in self.chunks.iter().zip(self.scales.chunks(CHUNK_ROWS)) {
            for (values, scale) in chunk.chunks_exact(self.dimension.max(1)).zip(scales) {
                if *scale > 0.0 {
                    found(row, probe.product(values) as f32 * (probe.scale * scale));
                }
                row += 1;
            }
        }
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.iter().map(Vec::capacity).sum::<usize>() + self.scales.capacity() * size_of::<f32>()
    }
}

/// Dot product. Written over blocks of fixed length because only then does the compiler keep the sums in
/// vector registers. The sum fits by the choice of a question's steps.
fn dot(probe: &[i16], row: &[u8]) -> i32 {
    let (probe_blocks, probe_rest) = probe.as_chunks::<32>();
    let (row_blocks, row_rest) = row.as_chunks::<32>();
    let mut sum = 0_i32;
    for (a, b) in probe_blocks.iter().zip(row_blocks) {
        let mut part = 0_i32;
        for i in 0..32 {
            part += i32::from(a[i]) * i32::from(i16::from(b[i]));
        }
        sum += part;
    }
    sum + probe_rest.iter().zip(row_rest).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unit(v: &[f32]) -> Vec<f32> {
        let norm = v.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-6);
        v.iter().map(|x| x / norm).collect()
    }

    proptest! {
        #[test]
        fn similarity_is_the_cosine_up_to_quantisation(rows in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 40), 1..40)) {
            let rows: Vec<_> = rows.iter().map(|r| unit(r)).collect();
            let mut table = Vectors::default();
            rows.iter().for_each(|r| table.push(r));
            let Some(probe) = Probe::new(&rows[0]) else { return Ok(()) };
            let mut seen = 0;
            table.scan(&probe, |row, found| {
                let exact: f32 = rows[0].iter().zip(&rows[row as usize]).map(|(a, b)| a * b).sum();
                assert!((found - exact).abs() < 0.01, "{found} for {exact}");
                assert_eq!(table.similarity(row, &probe), Some(found));
                seen += 1;
            });
            prop_assert_eq!(seen, rows.len());
        }
    }

    #[test]
    fn the_sum_of_the_largest_products_fits() {
        for dimension in [1, 384, 4_096, 16_384] {
            let mut table = Vectors::default();
            let long = unit(&vec![1.0; dimension]);
            table.push(&long);
            table.push(&long.iter().map(|x| -x).collect::<Vec<_>>());
            let probe = Probe::new(&long).unwrap();
            let found: Vec<f32> = (0..2).filter_map(|row| table.similarity(row, &probe)).collect();
            assert!((found[0] - 1.0).abs() < 0.01 && (found[1] + 1.0).abs() < 0.01, "{dimension}: {found:?}");
        }
    }

    #[test]
    fn rows_across_chunks_are_found_and_strangers_are_skipped() {
        let mut table = Vectors::default();
        for i in 0..2500_u32 {
            // The first chunk and a little more have none, or one of a third model.
            if i < 1030 || i % 100 == 7 { table.push(if i > 1100 { &[1.0, 1.0, 1.0] } else { &[] }) } else { table.push(&[1.0, i as f32]) }
        }
        let probe = Probe::new(&[0.0, 1.0]).unwrap();
        let mut rows = Vec::new();
        table.scan(&probe, |row, _| rows.push(row));
        assert_eq!(rows.len(), 1470 - 14);
        assert!(rows.is_sorted() && !rows.contains(&1107) && rows[0] == 1030 && rows.contains(&2499));
        assert_eq!((table.similarity(5, &probe), table.similarity(1107, &probe)), (None, None));
        assert_eq!(table.similarity(2500, &probe), None);
        assert!(Probe::new(&[0.0, 0.0]).is_none() && Probe::new(&[f32::NAN]).is_none());
    }
}
