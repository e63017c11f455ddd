//! Words that leave a new fact open, which the network does not see: who has an interview has no job yet, and who almost sold the car has it.

use recall_domain::{
    Polarity,
    time_words::{has_day_to_come, is_of_some_days, is_weekday_or_month},
};

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
/// Words of what the speaker thought before, and of what is only told.
const MISTAKES: &[&str] = &[
    "i thought",
    "i always thought",
    "we thought",
    "used to think",
    "i assumed",
    "i always assumed",
    "used to believe",
    "in my dream",
    "in my novel",
    "in my story",
    "in my game",
    "feel like i 'm",
    "feels like i 'm",
];
/// Verbs that change where somebody works or lives, as plans in the progressive: "I'm starting there in March".
const CHANGES: &[&str] = &["starting", "joining", "leaving", "quitting", "moving", "retiring", "relocating"];
/// Forms of "be" in the present.
const BE: &[&str] = &["am", "'m", "is", "'s", "are", "'re"];
/// The same verbs in the present tense.
const CHANGES_TO_COME: &[&str] = &["start", "starts", "join", "joins", "leave", "leaves", "move", "moves", "begin", "begins"];
/// Words that say where somebody works, which may be another place than the home.
const WORKING: &[&str] = &["work in", "works in", "worked in", "working in", "studied in", "study in"];
const LIVING_AND_WORKING: &[&str] = &["live and work", "lives and works", "lived and worked", "living and working"];
/// Words of somebody who has not been at an event yet.
const TICKETS: &[&str] = &["ticket for", "tickets for", "ticket to", "tickets to"];
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
    let is_of_life = matches!(relation, "WORKS_FOR" | "LIVES_IN");
    let is_planned = || {
        let is_change_to_come = || has_one(CHANGES_TO_COME) && has_day_to_come(&words, is_weekday_or_month);
        is_of_life && (has_pair(BE, CHANGES) || is_change_to_come())
    };
    match polarity {
        Polarity::Affirmed if has_one(MISTAKES) => true,
        // "I live in Reading but work in London"
        Polarity::Affirmed if relation == "LIVES_IN" && has_one(WORKING) && !has_one(LIVING_AND_WORKING) => true,
        Polarity::Affirmed if relation == "VISITED" && has_one(TICKETS) => true,
        // "Two sisters and no brothers", "a bike but no car"
        Polarity::Affirmed if matches!(relation, "OWNS" | "FAMILY_OF") && has_pair(&["and", "but"], &["no"]) => true,
        Polarity::Affirmed => relation == "WORKS_FOR" && has_one(APPLICATIONS) || is_planned(),
        // What crashed can be repaired.
        Polarity::Ended if relation == "OWNS" && has_one(&["crashed"]) => true,
        Polarity::Ended if relation == "WORKS_FOR" && has("left") && has_one(&["without the", "without my"]) => true,
        Polarity::Ended if has_one(&["pages", "chapters", "episodes"]) => true,
        Polarity::Ended if is_planned() => true,
        // What breaks is still there. The rules read that an animal died.
        Polarity::Ended if relation == "OWNS" && has("died") => true,
        Polarity::Ended => {
            is_of_some_days(&words)
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
    fn beliefs_and_plans_are_no_facts() {
        for (text, relation) in [
            ("I always thought we lived in Kent", "LIVES_IN"),
            ("In my dream I had a tiger", "OWNS"),
            ("I'm starting at Ikea in March", "WORKS_FOR"),
            ("I start my new job at Deloitte on Monday", "WORKS_FOR"),
            ("Tomorrow I move into my new flat in Salford", "LIVES_IN"),
            ("I live in Reading but work in London", "LIVES_IN"),
            ("tickets for Glastonbury are £360", "VISITED"),
            ("I have three sisters and no brothers", "FAMILY_OF"),
        ] {
            assert!(is_unsettled(text, relation, Polarity::Affirmed), "{text}");
        }
        for (text, relation) in [
            ("I think we live in Kent", "LIVES_IN"),
            ("I started at Ikea in March", "WORKS_FOR"),
            ("I moved to Leeds on Friday", "LIVES_IN"),
            ("I live and work in London", "LIVES_IN"),
            ("I have a dog and no time", "LIKES"),
        ] {
            assert!(!is_unsettled(text, relation, Polarity::Affirmed), "{text}");
        }
        for text in ["I'm leaving Ikea in March", "I leave Ikea on Friday", "I left Tesco without the milk"] {
            assert!(is_unsettled(text, "WORKS_FOR", Polarity::Ended), "{text}");
        }
        assert!(is_unsettled("I crashed my bike", "OWNS", Polarity::Ended));
    }

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
