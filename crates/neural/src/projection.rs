//! Projects states to fewer dimensions.

use recall_ports::WordVectors;

use crate::layer::HIDDEN;

/// A matrix of random signs, which keeps the angles between vectors nearly (Achlioptas 2003). Each row has one bit per dimension of its result.
#[derive(Debug)]
pub(crate) struct Projection([u64; HIDDEN]);

const _: () = assert!(WordVectors::DIMENSION == u64::BITS as usize);

impl Projection {
    /// Returns the same matrix each time: vectors that were kept stay comparable.
    pub(crate) fn new() -> Self {
        let mut state = 0;
        Self(std::array::from_fn(|_| split_mix(&mut state)))
    }

    /// Projects a vector.
    pub(crate) fn apply(&self, x: &[f32; HIDDEN]) -> [f32; WordVectors::DIMENSION] {
        let mut projected = [0.0; WordVectors::DIMENSION];
        for (v, signs) in x.iter().zip(&self.0) {
            for (bit, sum) in projected.iter_mut().enumerate() {
                *sum += if signs >> bit & 1 == 1 { *v } else { -*v };
            }
        }
        projected
    }
}

/// The next number of SplitMix64 (Steele, Lea and Flood 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &[f32], b: &[f32]) -> f32 {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    }

    #[test]
    fn matrix_never_changes() {
        // The first numbers of SplitMix64 from 0.
        assert_eq!(Projection::new().0[..2], [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4]);
    }

    #[test]
    fn angles_are_nearly_kept() {
        let projection = Projection::new();
        let vector = |seed: usize| -> [f32; HIDDEN] { std::array::from_fn(|i| ((seed + 1) as f32 * (i + 1) as f32 * 0.37).sin()) };
        let mut errors = Vec::new();
        for seed in 0..40 {
            let (a, b) = (vector(seed), vector(seed + 3));
            let between: [f32; HIDDEN] = std::array::from_fn(|i| a[i] + 0.7 * b[i]);
            errors.push((cosine(&a, &between) - cosine(&projection.apply(&a), &projection.apply(&between))).abs());
        }
        let mean = errors.iter().sum::<f32>() / errors.len() as f32;
        // The error of a cosine c has the standard deviation (1 - c^2) / 8.
        assert!(mean < 0.07 && errors.iter().all(|e| *e < 0.25), "{mean} {errors:?}");
    }
}
