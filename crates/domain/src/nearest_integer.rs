//! Rounds numbers in a way that the compiler turns into vector instructions.

/// Added to a value below 2^22, it leaves the nearest integer in the last bits of the sum.
const ROUNDING: f32 = 12_582_912.0;

/// Returns the nearest integer. Unlike a cast, which has to check for values out of range, it becomes vector instructions.
///
/// The value must be between -2^22 and 2^22.
#[inline]
pub fn nearest_integer(v: f32) -> i32 {
    (v + ROUNDING).to_bits().cast_signed() - ROUNDING.to_bits().cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_integer_is_that_of_the_standard_library() {
        for i in -40_000..40_000 {
            let v = i as f32 * 0.37;
            assert_eq!(nearest_integer(v), v.round_ties_even() as i32);
        }
        assert_eq!([4_194_303.0, -4_194_303.0, -0.0, 0.5].map(nearest_integer), [4_194_303, -4_194_303, 0, 0]);
    }
}
