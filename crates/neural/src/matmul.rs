//! Products of activations with int8 weights, where nearly all time of the network goes.
//!
//! Weights stay int8 where they are mapped from the binary. A row of activations becomes int16, so that sums are exact in int32.

use multiversion::multiversion;

use recall_domain::nearest_integer;

/// Largest activation after quantisation. 1,536 products of it with int8 stay below 2^31.
const TOP: f32 = 8191.0;
/// Rows of activations in one pass over the weights.
const BLOCK: usize = 4;
/// Rows of weights that the vector code multiplies together.
const PAIR: usize = 2;
/// Bytes of weights that meet all activations before the next ones are read.
const TILE: usize = 16 * 1024;

/// Weights with one scale per output, and a bias.
#[derive(Debug)]
pub(crate) struct Linear {
    /// One row of `inputs` bytes per output, as two's complement.
    pub(crate) weights: &'static [u8],
    pub(crate) scales: Vec<f32>,
    pub(crate) bias: Vec<f32>,
    pub(crate) inputs: usize,
}

impl Linear {
    /// Multiplies rows of activations, and adds the bias. The result has one row of outputs per row.
    pub(crate) fn apply(&self, x: &[f32]) -> Vec<f32> {
        let (rows, outputs) = (x.len() / self.inputs, self.scales.len());
        let mut quantised = vec![0_i16; rows.next_multiple_of(BLOCK) * self.inputs];
        let mut steps = vec![0.0_f32; rows];
        for ((row, out), step) in x.chunks_exact(self.inputs).zip(quantised.chunks_exact_mut(self.inputs)).zip(&mut steps) {
            *step = quantise(row, out);
        }
        let mut y = vec![0.0; rows * outputs];
        // Few rows of weights at a time meet all activations, because they stay in the nearest cache. All weights do not.
        let tile = (TILE / self.inputs).max(1).next_multiple_of(PAIR);
        let mut sums = vec![0_i32; tile * BLOCK];
        for (number, weights) in self.weights.chunks(tile * self.inputs).enumerate() {
            let first = number * tile;
            let count = weights.len() / self.inputs;
            let sums = &mut sums[..count * BLOCK];
            for (block, activations) in quantised.chunks_exact(BLOCK * self.inputs).enumerate() {
                products(weights, activations, self.inputs, sums);
                for (r, (out, step)) in y.chunks_exact_mut(outputs).zip(&steps).skip(block * BLOCK).take(BLOCK).enumerate() {
                    let parts = out[first..].iter_mut().zip(&self.scales[first..]).zip(&self.bias[first..]);
                    for (((value, scale), bias), sum) in parts.zip(sums.chunks_exact(BLOCK)) {
                        *value = sum[r] as f32 * (scale * step) + bias;
                    }
                }
            }
        }
        y
    }
}

/// Quantises a row, and returns the size of a step.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn quantise(row: &[f32], out: &mut [i16]) -> f32 {
    // Of several values at once, because the compiler keeps the order of operations on floats.
    let (parts, rest) = row.as_chunks::<16>();
    let mut largest = [0.0_f32; 16];
    for part in parts {
        largest.iter_mut().zip(part).for_each(|(a, v)| *a = a.max(v.abs()));
    }
    let largest = largest.iter().chain(rest).fold(0.0_f32, |a, v| a.max(v.abs()));
    let inverse = if largest > 0.0 { TOP / largest } else { 0.0 };
    for (v, q) in row.iter().zip(out) {
        // It is at most TOP, so the other bits are those of the sign.
        *q = nearest_integer(v * inverse) as i16;
    }
    largest / TOP
}

/// Writes the products of every row of weights with the [`BLOCK`] rows of activations, [`BLOCK`] sums per row of weights.
fn products(weights: &[u8], activations: &[i16], inputs: usize, sums: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if x86::products(weights, activations, inputs, sums) {
        return;
    }
    portable(weights, activations, inputs, sums);
}

/// The loop in plain Rust, which the compiler turns into the vector instructions of the target.
fn portable(weights: &[u8], activations: &[i16], inputs: usize, sums: &mut [i32]) {
    let (a, rest) = activations.split_at(inputs);
    let (b, rest) = rest.split_at(inputs);
    let (c, d) = rest.split_at(inputs);
    let d = &d[..inputs];
    for (row, out) in weights.chunks_exact(inputs).zip(sums.chunks_exact_mut(BLOCK)) {
        let mut s = [0_i32; BLOCK];
        for i in 0..inputs {
            let w = i32::from(row[i].cast_signed());
            s[0] += w * i32::from(a[i]);
            s[1] += w * i32::from(b[i]);
            s[2] += w * i32::from(c[i]);
            s[3] += w * i32::from(d[i]);
        }
        out.copy_from_slice(&s);
    }
}

/// The loop with the vector instructions of x86: those of AVX-512 where the processor has them, else those of AVX2, which are twice as fast
/// as what the compiler makes of the plain loop.
///
/// This is the only unsafe code of the crate: it calls functions that need these instructions, and loads whole vectors from arrays.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    use std::arch::{is_x86_feature_detected, x86_64::*};

    use super::{BLOCK, PAIR};

    /// Values in one vector of AVX2, and of AVX-512.
    const LANES: usize = 16;
    const WIDE_LANES: usize = 32;

    /// Does the same as [`super::portable`]. Returns false if the processor or the shape does not fit.
    pub(super) fn products(weights: &[u8], activations: &[i16], inputs: usize, sums: &mut [i32]) -> bool {
        if !sums.len().is_multiple_of(PAIR * BLOCK) {
            return false;
        }
        if inputs.is_multiple_of(WIDE_LANES) && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vnni") {
            // SAFETY: the processor has these instructions, which was just checked.
            unsafe { pairs_with_avx512(weights, activations, inputs, sums) };
            return true;
        }
        if inputs.is_multiple_of(LANES) && is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, which was just checked.
            unsafe { pairs_with_avx2(weights, activations, inputs, sums) };
            return true;
        }
        false
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn pairs_with_avx512(weights: &[u8], activations: &[i16], inputs: usize, sums: &mut [i32]) {
        let parts = inputs / WIDE_LANES;
        let (activations, _) = activations.as_chunks::<WIDE_LANES>();
        for (rows, out) in weights.chunks_exact(PAIR * inputs).zip(sums.chunks_exact_mut(PAIR * BLOCK)) {
            let (rows, _) = rows.as_chunks::<WIDE_LANES>();
            let (upper, lower) = rows.split_at(parts);
            let mut totals = [_mm512_setzero_si512(); PAIR * BLOCK];
            for (i, (upper, lower)) in upper.iter().zip(lower).enumerate() {
                // SAFETY: the arrays have the 32 bytes that are loaded, and the loads need no alignment.
                let [upper, lower] = [upper, lower].map(|bytes| _mm512_cvtepi8_epi16(unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }));
                for r in 0..BLOCK {
                    // SAFETY: the array has the 64 bytes that are loaded, and the load needs no alignment.
                    let x = unsafe { _mm512_loadu_si512(activations[r * parts + i].as_ptr().cast()) };
                    totals[r] = _mm512_dpwssd_epi32(totals[r], upper, x);
                    totals[BLOCK + r] = _mm512_dpwssd_epi32(totals[BLOCK + r], lower, x);
                }
            }
            let halves = totals.map(|v| _mm256_add_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64::<1>(v)));
            write_totals(halves, out);
        }
    }

    #[target_feature(enable = "avx2")]
    fn pairs_with_avx2(weights: &[u8], activations: &[i16], inputs: usize, sums: &mut [i32]) {
        let parts = inputs / LANES;
        let (activations, _) = activations.as_chunks::<LANES>();
        for (rows, out) in weights.chunks_exact(PAIR * inputs).zip(sums.chunks_exact_mut(PAIR * BLOCK)) {
            let (rows, _) = rows.as_chunks::<LANES>();
            let (upper, lower) = rows.split_at(parts);
            let mut totals = [_mm256_setzero_si256(); PAIR * BLOCK];
            for (i, (upper, lower)) in upper.iter().zip(lower).enumerate() {
                // SAFETY: the arrays have the 16 bytes that are loaded, and the loads need no alignment.
                let [upper, lower] = [upper, lower].map(|bytes| _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }));
                for r in 0..BLOCK {
                    // SAFETY: the array has the 32 bytes that are loaded, and the load needs no alignment.
                    let x = unsafe { _mm256_loadu_si256(activations[r * parts + i].as_ptr().cast()) };
                    totals[r] = _mm256_add_epi32(totals[r], _mm256_madd_epi16(upper, x));
                    totals[BLOCK + r] = _mm256_add_epi32(totals[BLOCK + r], _mm256_madd_epi16(lower, x));
                }
            }
            write_totals(totals, out);
        }
    }

    /// Writes the sum of each vector.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn write_totals(totals: [__m256i; PAIR * BLOCK], out: &mut [i32]) {
        let (vectors, _) = totals.as_chunks::<BLOCK>();
        for ([a, b, c, d], out) in vectors.iter().zip(out.chunks_exact_mut(BLOCK)) {
            // Each addition of neighbours halves the number of vectors. Then the lower and the upper half have a part of each sum.
            let parts = _mm256_hadd_epi32(_mm256_hadd_epi32(*a, *b), _mm256_hadd_epi32(*c, *d));
            let sums = _mm_add_epi32(_mm256_castsi256_si128(parts), _mm256_extracti128_si256::<1>(parts));
            // SAFETY: the slice has the four values that are stored, and the store needs no alignment.
            unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), sums) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_code_gives_the_sums_of_plain_code() {
        // The first fits AVX-512, the second AVX2 only, the third neither.
        for inputs in [96, 48, 40] {
            let weights: Vec<u8> = (0..6 * inputs).map(|i| (i * 37 % 256) as u8).collect();
            let activations: Vec<i16> = (0..BLOCK * inputs).map(|i| ((i * 7919) % 16383) as i16 - 8191).collect();
            let (mut plain, mut vector) = (vec![0; 6 * BLOCK], vec![1; 6 * BLOCK]);
            portable(&weights, &activations, inputs, &mut plain);
            products(&weights, &activations, inputs, &mut vector);
            assert_eq!(plain, vector);
            let expected: i32 =
                weights[..inputs].iter().zip(&activations[..inputs]).map(|(w, x)| i32::from(w.cast_signed()) * i32::from(*x)).sum();
            assert_eq!(plain[0], expected);
        }
    }

    #[test]
    fn rows_in_several_tiles_and_blocks_are_all_multiplied() {
        let (inputs, outputs, rows) = (TILE / 16, 35, 2 * BLOCK + 1);
        let weights: &'static [u8] = Box::leak((0..inputs * outputs).map(|i| (i * 37 % 251) as u8).collect());
        let linear = Linear { weights, scales: vec![1.0; outputs], bias: vec![0.0; outputs], inputs };
        // Each row has the largest activation, so the others are rounded to themselves.
        let value = |i: usize| if i.is_multiple_of(inputs) { TOP } else { f32::from((i * 7919 % 16383) as i16 - 8191) };
        let x: Vec<f32> = (0..rows * inputs).map(value).collect();
        let y = linear.apply(&x);
        for (n, found) in y.iter().enumerate() {
            let (row, o) = (n / outputs, n % outputs);
            let dot: f64 = weights[o * inputs..][..inputs]
                .iter()
                .zip(&x[row * inputs..][..inputs])
                .map(|(w, x)| f64::from(w.cast_signed()) * f64::from(*x))
                .sum();
            assert!((f64::from(*found) - dot).abs() <= 1e-6 * dot.abs(), "{found}, not {dot}");
        }
    }

    #[test]
    fn product_is_close_to_that_of_floats() {
        let weights: &'static [u8] = &[100, 156, 3, 0, 50, 250, 127, 129];
        let linear = Linear { weights, scales: vec![0.01, 0.02], bias: vec![0.5, -0.5], inputs: 4 };
        let x = [0.3, -1.5, 2.0, 0.25, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.1, 0.2, 0.3, 0.4, -9.0, 0.0, 9.0, 1.0];
        let y = linear.apply(&x);
        for (row, out) in x.chunks(4).zip(y.chunks(2)) {
            for (o, found) in out.iter().enumerate() {
                let dot: f32 = weights[o * 4..][..4].iter().zip(row).map(|(w, x)| f32::from(w.cast_signed()) * x).sum();
                let expected = dot * linear.scales[o] + linear.bias[o];
                assert!((found - expected).abs() < 2e-3, "{found}, not {expected}");
            }
        }
    }
}
