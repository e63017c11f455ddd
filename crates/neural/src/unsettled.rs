//! Words that leave a new fact open, which the network does not see: who has an interview has no job yet, and who almost sold the car has it.

use recall_domain::Polarity;

/// Words of somebody who does not work somewhere yet.
const APPLICATIONS: &[&str] =
    &["interview", "interviews", "interviewed", "interviewing", "applied", "applying", "application", "applications", "shortlisted"];
/// Words of what is still to come.
const PLANS: &[&str] =
    &["will", "'ll", "going to", "gonna", "plan to", "planning to", "at the end of", "by the end of", "next", "tomorrow", "soon"];
/// Words before the verb of an end that did not happen: "almost sold", "haven't sold".
const DENIALS: &[&str] =
    &["almost", "nearly", "haven't", "hasn't", "hadn't", "have not", "has not", "had not", "has never", "have never", "didn't", "did not"];
/// Forms of verbs that end something.
const ENDING_VERBS: &[&str] = &[
    "sold", "sell", "quit", "left", "leave", "moved", "move", "broken", "broke", "break", "given", "gave", "give", "lost", "lose",
    "retired", "retire", "stopped", "stop",
];
/// Verbs before "used to" that tell of a habit and not of the past.
const ACCUSTOMED: &[&str] = &["am", "'m", "is", "'s", "are", "'re", "was", "were", "be", "get", "got", "getting"];
/// Words of a wish, a dream, a short absence, or another sense of a verb.
const NO_ENDS: &[&str] = &[
    "wish",
    "dreamt",
    "dreamed",
    "had a dream",
    "stopped by",
    "broke up a",
    "broke up the",
    "broke up with laughter",
    "for the weekend",
    "my shift",
    "turned up again",
    "came back",
    "got it back",
    "got him back",
    "got her back",
    "got them back",
    "found it",
    "found him",
    "found her",
    "found them",
];
/// Days and times of day to which a statement is limited: "I don't work there on Fridays".
const SOME_DAYS: &[&str] = &[
    "on mondays",
    "on tuesdays",
    "on wednesdays",
    "on thursdays",
    "on fridays",
    "on saturdays",
    "on sundays",
    "on weekends",
    "at weekends",
    "at night",
    "in the mornings",
    "in the afternoons",
    "in the evenings",
];

/// Whether the words of a sentence leave a fact of a relation open.
pub(crate) fn is_unsettled(sentence: &str, relation: &str, polarity: Polarity) -> bool {
    let mut plain = sentence.to_lowercase().replace('’', "'");
    for verb in ["'ll", "'m", "'s", "'re"] {
        plain = plain.replace(verb, &format!(" {verb}"));
    }
    let words: Vec<&str> = plain.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|w| !w.is_empty()).collect();
    let spoken = format!(" {} ", words.join(" "));
    let has = |phrase: &str| spoken.contains(&format!(" {phrase} "));
    let has_one = |phrases: &[&str]| phrases.iter().any(|phrase| has(phrase));
    let has_pair = |firsts: &[&str], seconds: &[&str]| firsts.iter().any(|a| seconds.iter().any(|b| has(&format!("{a} {b}"))));
    match polarity {
        Polarity::Affirmed => relation == "WORKS_FOR" && has_one(APPLICATIONS),
        // What breaks is still there. The rules read that an animal died.
        Polarity::Ended if relation == "OWNS" && has("died") => true,
        Polarity::Ended => {
            has_one(SOME_DAYS)
                || has_one(PLANS)
                || has_one(NO_ENDS)
                || has_pair(DENIALS, ENDING_VERBS)
                || has_pair(ACCUSTOMED, &["used to"])
        }
        Polarity::Negated => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_did_not_happen_are_left_open() {
        for text in [
            "I almost sold the car.",
            "I haven't sold the car yet.",
            "My sister hasn’t quit Asos.",
            "I wish I had sold the car.",
            "I'm used to Slack by now.",
            "I got used to Figma quickly.",
            "I stopped by Deloitte on Saturday.",
            "Karl and I broke up a fight at the pub.",
            "I'll sell the car.",
            "I lost the car keys but found them.",
            "I no longer drive the car on Fridays.",
            "My car died this morning.",
        ] {
            assert!(is_unsettled(text, "OWNS", Polarity::Ended), "{text}");
        }
        for text in
            ["I sold the car.", "I don't work at Acme any more.", "Left Bradford in 2020, haven't looked back.", "I used to use Slack."]
        {
            assert!(!is_unsettled(text, "OWNS", Polarity::Ended), "{text}");
        }
    }
}
