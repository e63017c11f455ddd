//! Products of activations with int8 weights, where nearly all time of the network goes.
//!
//! Weights stay int8 where they are mapped from the binary. A row of activations becomes int16, so that sums are exact in int32.

/// Largest activation after quantisation. 1,536 products of it with int8 stay below 2^31.
const TOP: f32 = 8191.0;
/// Rows of activations in one pass over the weights.
const BLOCK: usize = 4;

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
            let largest = row.iter().fold(0.0_f32, |a, v| a.max(v.abs()));
            *step = largest / TOP;
            let inverse = if largest > 0.0 { TOP / largest } else { 0.0 };
            for (v, q) in row.iter().zip(out) {
                // The cast rounds towards zero, so half a step is added first.
                *q = (v * inverse + 0.5_f32.copysign(*v)) as i16;
            }
        }
        let mut y = vec![0.0; rows * outputs];
        let mut sums = vec![0_i32; outputs * BLOCK];
        for (block, activations) in quantised.chunks_exact(BLOCK * self.inputs).enumerate() {
            products(self.weights, activations, self.inputs, &mut sums);
            for (r, (out, step)) in y.chunks_exact_mut(outputs).zip(&steps).skip(block * BLOCK).take(BLOCK).enumerate() {
                for (((value, sum), scale), bias) in out.iter_mut().zip(sums.chunks_exact(BLOCK)).zip(&self.scales).zip(&self.bias) {
                    *value = sum[r] as f32 * (scale * step) + bias;
                }
            }
        }
        y
    }
}

/// Writes the products of every row of weights with the [`BLOCK`] rows of activations, [`BLOCK`] sums per row of weights.
fn products(weights: &[u8], activations: &[i16], inputs: usize, sums: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if avx2::products(weights, activations, inputs, sums) {
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

/// The loop with the instructions of AVX2, which is twice as fast as what the compiler makes of the plain one.
///
/// This is the only unsafe code of the crate: it calls a function that needs AVX2, and loads whole vectors from arrays.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_shuffle_epi32, _mm256_add_epi32, _mm256_castsi256_si128,
        _mm256_cvtepi8_epi16, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_setzero_si256,
    };

    use super::BLOCK;

    /// Values in one vector.
    const LANES: usize = 16;

    /// Does the same as [`super::portable`]. Returns false if the processor or the shape does not fit.
    pub(super) fn products(weights: &[u8], activations: &[i16], inputs: usize, sums: &mut [i32]) -> bool {
        if !inputs.is_multiple_of(LANES) || !sums.len().is_multiple_of(2 * BLOCK) || !std::arch::is_x86_feature_detected!("avx2") {
            return false;
        }
        // SAFETY: the processor has AVX2, which was just checked.
        unsafe { pairs_of_rows(weights, activations, inputs, sums) };
        true
    }

    #[target_feature(enable = "avx2")]
    fn pairs_of_rows(weights: &[u8], activations: &[i16], inputs: usize, sums: &mut [i32]) {
        let parts = inputs / LANES;
        let (activations, _) = activations.as_chunks::<LANES>();
        for (rows, out) in weights.chunks_exact(2 * inputs).zip(sums.chunks_exact_mut(2 * BLOCK)) {
            let (rows, _) = rows.as_chunks::<LANES>();
            let (upper, lower) = rows.split_at(parts);
            let mut totals = [_mm256_setzero_si256(); 2 * BLOCK];
            for (i, (upper, lower)) in upper.iter().zip(lower).enumerate() {
                let (upper, lower) = (widen(upper), widen(lower));
                for r in 0..BLOCK {
                    let x = load(&activations[r * parts + i]);
                    totals[r] = _mm256_add_epi32(totals[r], _mm256_madd_epi16(upper, x));
                    totals[BLOCK + r] = _mm256_add_epi32(totals[BLOCK + r], _mm256_madd_epi16(lower, x));
                }
            }
            for (sum, total) in out.iter_mut().zip(totals) {
                *sum = total_of(total);
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn widen(bytes: &[u8; LANES]) -> __m256i {
        // SAFETY: the array has the 16 bytes that are loaded, and the load needs no alignment.
        _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(values: &[i16; LANES]) -> __m256i {
        // SAFETY: the array has the 32 bytes that are loaded, and the load needs no alignment.
        unsafe { _mm256_loadu_si256(values.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn total_of(v: __m256i) -> i32 {
        let half = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v));
        let quarter = _mm_add_epi32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
        _mm_cvtsi128_si32(_mm_add_epi32(quarter, _mm_shuffle_epi32::<0b10_11_00_01>(quarter)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_code_gives_the_sums_of_plain_code() {
        let inputs = 48;
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
