//! Quantized vectors: 8 bits per component for a full scan, and 2 more bits for comparing the best rows.
//!
//! The scan covers all rows, so the only loss is that of the quantization.

use multiversion::multiversion;
use recall_domain::nearest_integer;

/// Rows of one chunk. Chunks are filled one after the other, so growth copies no full chunk and memory follows the
/// number of rows.
const CHUNK_ROWS: usize = 1024;
/// Initial capacity of a chunk, in rows.
const FIRST_ROWS: usize = 32;
/// Stored value of a component of 0. The processor widens unsigned components with half the instructions.
const ZERO: i16 = 128;

/// Number of components whose fine bits share a byte.
const FINE_PER_BYTE: usize = 4;
/// Number of parts of a step that two more bits distinguish.
const FINE_STEPS: f32 = 4.0;

/// A growing table of unit vectors, with ten bits per component and one scale per row.
///
/// The first vector sets the dimension.
#[derive(Debug, Default)]
pub(super) struct Vectors {
    dimension: usize,
    chunks: Vec<Chunk>,
    scales: Vec<f32>,
}

/// A block of rows. The fine bits are separate, so that a scan reads only the bytes it needs.
#[derive(Debug, Default)]
struct Chunk {
    coarse: Vec<u8>,
    /// For each component the part of its step, 0 to 3. Among many messages, the nearest are closer together than bytes
    /// can distinguish.
    fine: Vec<u8>,
}

/// The quantized vector of a question.
#[derive(Debug)]
pub(super) struct Probe {
    /// Wider than the components of rows, so that the compiler uses 16-bit multiply-add.
    values: Vec<i16>,
    scale: f32,
    /// Sum of the values.
    sum: i32,
}

/// Components that are quantized together.
const QUANTIZED_AT_ONCE: usize = 64;
/// Quantized value of the largest component of a row.
const ROW_STEPS: f32 = 127.0;
/// Quantized value of the largest component of a question, if the sum of all products fits.
///
/// It is larger than for rows, because its rounding affects every comparison.
const PROBE_STEPS: usize = 8191;

/// Returns the size of a step, so that the largest component of a vector has `steps` of them; `None` for a zero vector.
#[inline]
fn step_of(vector: &[f32], steps: f32) -> Option<f32> {
    // Magnitudes of finite numbers have the order of their bits, and integers are compared by vector instructions.
    let magnitude = |v: &f32| v.abs().to_bits();
    let largest = vector.iter().map(magnitude).map(|bits| if bits < f32::INFINITY.to_bits() { bits } else { 0 }).max().unwrap_or(0);
    let step = f32::from_bits(largest) / steps;
    (step > 0.0).then_some(step)
}

/// Returns a value, or 0 for one that is no number and so has no nearest integer.
#[inline]
fn or_zero(v: f32) -> f32 {
    if v.is_nan() { 0.0 } else { v }
}

impl Probe {
    /// Quantizes a question's vector. Returns `None` for a zero vector, which is similar to nothing.
    pub(super) fn new(vector: &[f32]) -> Option<Self> {
        let steps = (i32::MAX as usize / 256 / vector.len().max(1)).min(PROBE_STEPS);
        let scale = step_of(vector, steps as f32)?;
        let largest = steps as f32;
        let values: Vec<i16> = vector.iter().map(|v| nearest_integer(or_zero((v / scale).clamp(-largest, largest))) as i16).collect();
        let sum = values.iter().map(|v| i32::from(*v)).sum();
        Some(Self { values, scale, sum })
    }

    /// Returns the number of components.
    pub(super) fn dimension(&self) -> usize {
        self.values.len()
    }

    /// Returns the dot product with the bytes of a row, in steps of both.
    fn product(&self, coarse: &[u8]) -> i32 {
        self.without_zero(dot_of_row(&self.values, coarse))
    }

    /// Corrects a dot product: each component of the row is stored with [`ZERO`] added.
    fn without_zero(&self, dot: i32) -> i32 {
        dot - self.sum * i32::from(ZERO)
    }

    /// Returns the correction of [`Self::product`] by the fine bits of a row.
    ///
    /// A component is assumed in the middle of its part of a step; the rounded value is in the middle of all parts.
    fn refinement(&self, fine: &[u8]) -> f32 {
        let sum = fine_dot_of_row(&self.values, fine);
        (sum as f32 - self.sum as f32 * (FINE_STEPS - 1.0) / 2.0) / FINE_STEPS
    }
}

impl Chunk {
    /// Reserves space for a row. Most users have few messages, so a chunk doubles until it has its full size.
    fn reserve_row(&mut self, dimension: usize) {
        for (bytes, row) in [(&mut self.coarse, dimension), (&mut self.fine, fine_bytes(dimension))] {
            if bytes.len() == bytes.capacity() {
                let (first, whole) = (FIRST_ROWS * row, CHUNK_ROWS * row);
                bytes.reserve_exact(bytes.len().max(first).min(whole.saturating_sub(bytes.len())));
            }
        }
    }

    /// Adds a row. Returns the size of its step, or `None` for a zero vector, which it does not add.
    fn push(&mut self, vector: &[f32]) -> Option<f32> {
        let (coarse, fine) = (self.coarse.len(), self.fine.len());
        self.coarse.resize(coarse + vector.len(), ZERO as u8);
        self.fine.resize(fine + fine_bytes(vector.len()), 0);
        let step = quantize(vector, &mut self.coarse[coarse..], &mut self.fine[fine..]);
        if step.is_none() {
            self.coarse.truncate(coarse);
            self.fine.truncate(fine);
        }
        step
    }

    /// Fills up to `rows` rows with zero vectors.
    fn fill_with_zeros(&mut self, rows: usize, dimension: usize) {
        self.coarse.resize(rows * dimension, ZERO as u8);
        self.fine.resize(rows * fine_bytes(dimension), 0);
    }
}

/// Returns the range of a row in a table with `row_bytes` bytes per row.
fn row_range(row: usize, row_bytes: usize) -> std::ops::Range<usize> {
    row * row_bytes..(row + 1) * row_bytes
}

/// Returns the bytes for the fine bits of a row.
fn fine_bytes(dimension: usize) -> usize {
    dimension.div_ceil(FINE_PER_BYTE)
}

impl Vectors {
    /// Returns the length of the vectors; 0 if no row has a vector.
    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Adds a row. A vector of another length, from another model, becomes a zero vector, which is similar to nothing.
    pub(super) fn push(&mut self, vector: &[f32]) {
        if self.dimension == 0 {
            self.set_dimension(vector.len());
        }
        if self.scales.len().is_multiple_of(CHUNK_ROWS) {
            self.chunks.push(Chunk::default());
        }
        let before = self.scales.len() % CHUNK_ROWS;
        let Some(chunk) = self.chunks.last_mut() else { return };
        chunk.reserve_row(self.dimension);
        let step = if vector.len() == self.dimension { chunk.push(vector) } else { None };
        if step.is_none() {
            chunk.fill_with_zeros(before + 1, self.dimension);
        }
        self.scales.push(step.unwrap_or(0.0));
    }

    /// Sets the dimension and fills the rows before the first vector with zeros.
    fn set_dimension(&mut self, dimension: usize) {
        self.dimension = dimension;
        for (chunk, rows) in self.chunks.iter_mut().zip(self.scales.chunks(CHUNK_ROWS)) {
            chunk.fill_with_zeros(rows.len(), dimension);
        }
    }

    /// Returns the cosine similarity with a row, -1 to 1, from all bits; `None` if the row has no vector.
    pub(super) fn similarity(&self, row: u32, probe: &Probe) -> Option<f32> {
        let (coarse, fine, scale) = self.row(row)?;
        Some((probe.product(coarse) as f32 + probe.refinement(fine)) * (probe.scale * scale))
    }

    /// Returns the cosine similarity from the bytes alone, as [`Vectors::scan`] does.
    ///
    /// It is several times faster and exact enough to choose candidates.
    pub(super) fn rough_similarity(&self, row: u32, probe: &Probe) -> Option<f32> {
        let (coarse, _, scale) = self.row(row)?;
        Some(probe.product(coarse) as f32 * (probe.scale * scale))
    }

    /// Returns bytes, fine bits and scale of a row that has a vector.
    fn row(&self, row: u32) -> Option<(&[u8], &[u8], f32)> {
        let row = row as usize;
        let scale = self.scales.get(row).copied().filter(|scale| *scale > 0.0)?;
        let (chunk, at) = (self.chunks.get(row / CHUNK_ROWS)?, row % CHUNK_ROWS);
        let coarse = chunk.coarse.get(row_range(at, self.dimension))?;
        Some((coarse, chunk.fine.get(row_range(at, fine_bytes(self.dimension)))?, scale))
    }

    /// Calls `found` with each row that has a vector, ascending, and its cosine similarity from the bytes alone.
    pub(super) fn scan(&self, probe: &Probe, mut found: impl FnMut(u32, f32)) {
        let mut row = 0_u32;
        let mut dots = Vec::with_capacity(CHUNK_ROWS);
        for (chunk, scales) in self.chunks.iter().zip(self.scales.chunks(CHUNK_ROWS)) {
            dots.clear();
            dots_of_rows(&probe.values, &chunk.coarse, &mut dots);
            for (dot, scale) in dots.iter().zip(scales) {
                if *scale > 0.0 {
                    found(row, probe.without_zero(*dot) as f32 * (probe.scale * scale));
                }
                row += 1;
            }
        }
    }

    /// Returns the bytes held.
    pub(super) fn bytes(&self) -> usize {
        let chunks: usize = self.chunks.iter().map(|c| c.coarse.capacity() + c.fine.capacity()).sum();
        chunks + self.scales.capacity() * size_of::<f32>()
    }
}

/// Writes the bytes and the fine bits of a vector. Returns the size of its step, or `None` for a zero vector.
///
/// Compiled for several sets of vector instructions, with the same results: an index of many messages is built in one go.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn quantize(vector: &[f32], coarse: &mut [u8], fine: &mut [u8]) -> Option<f32> {
    let step = step_of(vector, ROW_STEPS)?;
    for ((values, bytes), fine) in
        vector.chunks(QUANTIZED_AT_ONCE).zip(coarse.chunks_mut(QUANTIZED_AT_ONCE)).zip(fine.chunks_mut(QUANTIZED_AT_ONCE / FINE_PER_BYTE))
    {
        let mut parts = [0_u8; QUANTIZED_AT_ONCE];
        for ((v, byte), part) in values.iter().zip(bytes).zip(&mut parts) {
            let v = (v / step).clamp(-ROW_STEPS, ROW_STEPS);
            // The nearest integer to half a part below is the part that the value lies in. Those of step 0 begin half a step below 0.
            let of_row = nearest_integer(or_zero(v * FINE_STEPS + (FINE_STEPS - 1.0) / 2.0));
            *byte = (of_row.div_euclid(FINE_STEPS as i32) + i32::from(ZERO)) as u8;
            *part = of_row.rem_euclid(FINE_STEPS as i32) as u8;
        }
        // The parts of consecutive components are in consecutive bytes, so that vector instructions take them apart.
        for (part, i) in parts.chunks(fine.len()).take(FINE_PER_BYTE).zip(0..) {
            fine.iter_mut().zip(part).for_each(|(byte, part)| *byte |= part << (2 * i));
        }
    }
    Some(step)
}

/// Appends the dot product with each row. Compiled for several sets of vector instructions, with the same results.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn dots_of_rows(probe: &[i16], rows: &[u8], dots: &mut Vec<i32>) {
    dots.extend(rows.chunks_exact(probe.len().max(1)).map(|row| dot(probe, row)));
}

/// Returns the dot product with a row.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn dot_of_row(probe: &[i16], row: &[u8]) -> i32 {
    dot(probe, row)
}

/// Returns the dot product with the fine bits of a row.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn fine_dot_of_row(probe: &[i16], fine: &[u8]) -> i32 {
    let mut sum = 0;
    for (probe, fine) in probe.chunks(QUANTIZED_AT_ONCE).zip(fine.chunks(QUANTIZED_AT_ONCE / FINE_PER_BYTE)) {
        for (probe, i) in probe.chunks(fine.len()).zip(0..) {
            sum += probe.iter().zip(fine).map(|(v, byte)| i32::from(*v) * i32::from(byte >> (2 * i) & 3)).sum::<i32>();
        }
    }
    sum
}

/// Returns the dot product.
///
/// The loop runs over blocks of fixed length, because only then the compiler keeps the sums in vector registers. A call would use the
/// instructions that every processor has. The choice of a question's steps guarantees that the sum fits.
#[inline(always)]
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
        fn similarity_is_the_cosine_up_to_quantization(rows in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 40), 1..40)) {
            let rows: Vec<_> = rows.iter().map(|r| unit(r)).collect();
            let mut table = Vectors::default();
            rows.iter().for_each(|r| table.push(r));
            let Some(probe) = Probe::new(&rows[0]) else { return Ok(()) };
            let mut seen = 0;
            table.scan(&probe, |row, found| {
                let exact: f32 = rows[0].iter().zip(&rows[row as usize]).map(|(a, b)| a * b).sum();
                assert!((found - exact).abs() < 0.01, "{found} for {exact}");
                assert_eq!(table.rough_similarity(row, &probe), Some(found));
                let finer = table.similarity(row, &probe).unwrap();
                assert!((finer - exact).abs() < 0.0025, "{finer} for {exact}");
                seen += 1;
            });
            prop_assert_eq!(seen, rows.len());
        }
    }

    #[test]
    fn fine_bits_distinguish_rows_that_the_scan_cannot() {
        // The rows differ by less than a step of rounding, so the scan cannot order them.
        let mut random = 7_u32;
        let mut drawn = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) as f32 / 16_777_216.0 - 0.5
        };
        let query = unit(&(0..63).map(|_| drawn()).collect::<Vec<_>>());
        let rows: Vec<_> = (0..400).map(|_| unit(&query.iter().map(|x| x + 0.06 * drawn()).collect::<Vec<_>>())).collect();
        let mut table = Vectors::default();
        rows.iter().for_each(|r| table.push(r));
        let probe = Probe::new(&query).unwrap();
        let (mut coarse, mut fine) = (0.0, 0.0);
        table.scan(&probe, |row, found| {
            let exact: f32 = query.iter().zip(&rows[row as usize]).map(|(a, b)| a * b).sum();
            coarse += (found - exact).powi(2);
            fine += (table.similarity(row, &probe).unwrap() - exact).powi(2);
        });
        assert!(fine.sqrt() < coarse.sqrt() / 3.0, "{fine} {coarse}");
    }

    #[test]
    fn sum_of_the_largest_products_fits() {
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
    fn scan_covers_all_chunks_and_skips_rows_without_a_vector() {
        let mut table = Vectors::default();
        for i in 0..2500_u32 {
            // The first chunk and a few more rows have no vector; others have one of another dimension.
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
