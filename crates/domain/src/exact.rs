//! Numbers in JSON that read back bit for bit. The parser of `serde_json` may be off by the last bit.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Writes the shortest text that names this number.
pub(super) fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&number.to_string())
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| D::Error::custom("not a number"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    struct Number(#[serde(with = "super")] f64);

    proptest! {
        #[test]
        fn numbers_read_back_bit_for_bit(number in proptest::num::f64::NORMAL | proptest::num::f64::ZERO | proptest::num::f64::SUBNORMAL) {
            let json = serde_json::to_string(&Number(number)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Number>(&json).unwrap().0.to_bits(), number.to_bits());
        }
    }
}
