//! Titles of people. Pure; the lists are data.

/// Titles before a family name. "Mr" and "Mrs" exclude each other, and so do a doctor and a nurse. One person can be "Dr" and "Mrs".
const MALE: [&str; 4] = ["mr", "mister", "sir", "herr"];
const FEMALE: [&str; 5] = ["mrs", "ms", "miss", "madam", "frau"];
const NEUTRAL: [&str; 1] = ["mx"];
const ACADEMIC: [&str; 4] = ["dr", "doctor", "prof", "professor"];
const OFFICES: [&str; 14] = [
    "nurse",
    "officer",
    "captain",
    "judge",
    "coach",
    "detective",
    "sergeant",
    "pastor",
    "rabbi",
    "imam",
    "senator",
    "chef",
    "mayor",
    "president",
];

/// Whether a word is a title.
pub(super) fn is_title(word: &str) -> bool {
    [&MALE[..], &FEMALE, &NEUTRAL, &ACADEMIC, &OFFICES].iter().any(|titles| titles.contains(&word))
}

/// Whether one person is unlikely to have both titles.
pub(super) fn titles_exclude(a: &str, b: &str) -> bool {
    let is = |titles: &[&str], x: &str, y: &str| titles.contains(&x) && !titles.contains(&y);
    let sexes = (MALE.contains(&a) && FEMALE.contains(&b)) || (FEMALE.contains(&a) && MALE.contains(&b));
    let works = |x: &str, y: &str| is(&OFFICES, x, y) && ACADEMIC.contains(&y);
    sexes || works(a, b) || works(b, a) || (OFFICES.contains(&a) && OFFICES.contains(&b) && a != b)
}

/// Whether a title tells the sex.
pub(super) fn is_gendered(title: &str) -> bool {
    MALE.contains(&title) || FEMALE.contains(&title)
}
