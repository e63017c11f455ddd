//! Functions of single values and of rows.
//!
//! Those of many values are compiled for several sets of vector instructions. The results are the same with each.

use multiversion::multiversion;
use recall_domain::nearest_integer;

/// Values of a row that are added to sums of their own, because the compiler keeps the order of operations on floats.
const SUMS: usize = 16;

/// Returns the sum of a function of the values.
#[inline]
fn sum_of(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let (parts, rest) = values.as_chunks::<SUMS>();
    let mut sums = [0.0_f32; SUMS];
    for part in parts {
        sums.iter_mut().zip(part).for_each(|(sum, v)| *sum += of(*v));
    }
    sums.iter().sum::<f32>() + rest.iter().map(|v| of(*v)).sum::<f32>()
}

/// Scales a row to a sum of one, as probabilities.
#[inline]
pub(crate) fn softmax(row: &mut [f32]) {
    let top = row.iter().fold(f32::NEG_INFINITY, |a, v| a.max(*v));
    row.iter_mut().for_each(|v| *v = exp(*v - top));
    let sum: f32 = row.iter().sum();
    row.iter_mut().for_each(|v| *v /= sum);
}

/// Returns the probability of a score.
pub(crate) fn sigmoid(v: f32) -> f32 {
    1.0 / (1.0 + (-v).exp())
}

/// Applies the Gaussian error linear unit in its usual approximation with tanh, written with one exponential.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(crate) fn gelu(x: &mut [f32]) {
    for v in x {
        let inner = 2.0 * 0.797_884_6 * (*v + 0.044_715 * *v * *v * *v);
        *v /= 1.0 + exp(-inner);
    }
}

/// Scales each row to mean zero and variance one, and then by learned factors.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(crate) fn layer_norm(x: &mut [f32], scale: &[f32], shift: &[f32]) {
    let width = scale.len();
    for row in x.chunks_exact_mut(width) {
        let mean = sum_of(row, |v| v) / width as f32;
        let variance = sum_of(row, |v| (v - mean) * (v - mean)) / width as f32;
        let inverse = 1.0 / (variance + 1e-12).sqrt();
        for ((v, s), b) in row.iter_mut().zip(scale).zip(shift) {
            *v = (*v - mean) * inverse * s + b;
        }
    }
}

/// Approximates the exponential with a relative error below 1e-6. Unlike that of the standard library, it becomes vector
/// instructions.
#[inline]
fn exp(v: f32) -> f32 {
    // e^v = 2^whole * e^rest, with |rest| <= ln(2) / 2.
    let v = v.clamp(-87.0, 88.0);
    let exponent = nearest_integer(v * std::f32::consts::LOG2_E);
    let whole = exponent as f32;
    let rest = (v - whole * 0.693_359_4) + whole * 2.121_944_4e-4;
    let series = 1.0 + rest * (1.0 + rest * (0.5 + rest * (1.0 / 6.0 + rest * (1.0 / 24.0 + rest * (1.0 / 120.0 + rest / 720.0)))));
    series * f32::from_bits(((exponent + 127) << 23).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_is_close_to_that_of_the_standard_library() {
        for i in -8600..8700 {
            let v = i as f32 / 100.0;
            let (found, expected) = (f64::from(exp(v)), f64::from(v).exp());
            assert!((found / expected - 1.0).abs() < 1e-6, "exp({v}) is {expected}, not {found}");
        }
        assert!(exp(-1e9) < 1e-37 && exp(f32::NEG_INFINITY) < 1e-37);
    }

    #[test]
    fn rows_have_mean_zero_and_variance_one() {
        // 35 values: two parts of sixteen, and a rest.
        let mut row: Vec<f32> = (0..35).map(|i| (i * i % 17) as f32).collect();
        layer_norm(&mut row, &[1.0; 35], &[0.0; 35]);
        let mean = row.iter().sum::<f32>() / 35.0;
        let variance = row.iter().map(|v| v * v).sum::<f32>() / 35.0;
        assert!(mean.abs() < 1e-5 && (variance - 1.0).abs() < 1e-4, "{mean} {variance}");
    }

    #[test]
    fn softmax_sums_to_one_even_for_large_scores() {
        let mut row = [1000.0, 1001.0, -1000.0];
        softmax(&mut row);
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6 && row[1] > row[0] && row[2] < 1e-6, "{row:?}");
    }

    #[test]
    fn gelu_has_its_known_values() {
        let mut x = [0.0, 1.0, -1.0, 3.0, -20.0, 20.0];
        gelu(&mut x);
        for (found, expected) in x.iter().zip([0.0, 0.841_2, -0.158_8, 2.996_4, 0.0, 20.0]) {
            assert!((found - expected).abs() < 1e-3, "{found}, not {expected}");
        }
    }
}
