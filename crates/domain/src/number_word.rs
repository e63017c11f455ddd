//! Reads numbers in words.

const BELOW_TWENTY: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// Returns the number that a word below one hundred names, in small letters or not: "seven", "Twenty-five".
pub fn number_word(word: &str) -> Option<u32> {
    let lower = word.to_lowercase();
    let place = |list: &[&str], word: &str| list.iter().position(|w| *w == word).and_then(|n| u32::try_from(n).ok());
    if let Some(n) = place(&BELOW_TWENTY, &lower) {
        return Some(n);
    }
    let (ten, one) = lower.split_once('-').unwrap_or((&lower, ""));
    let tens = (place(&TENS, ten)? + 2) * 10;
    if one.is_empty() { Some(tens) } else { place(&BELOW_TWENTY, one).filter(|n| (1..10).contains(n)).map(|n| tens + n) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_below_one_hundred_are_read() {
        for (word, expected) in [
            ("zero", Some(0)),
            ("Nineteen", Some(19)),
            ("twenty", Some(20)),
            ("twenty-five", Some(25)),
            ("ninety-nine", Some(99)),
            ("twenty-eleven", None),
            ("twenty-zero", None),
            ("five-twenty", None),
            ("tent", None),
        ] {
            assert_eq!(number_word(word), expected, "{word}");
        }
    }
}
